"""Samples of a limit are legal and uniform, and its volume is a share of all rotations."""

from __future__ import annotations

import numpy as np
import pytest

from families import OTHERS, limit_of
from oracles import FEW_SEEN, placed, random_quats, region
from synovia import quat
from synovia.charts import RotationVector
from synovia.limit import Limit
from synovia.shapes import Box, Ellipsoid

EYE = np.eye(3)


def angles_from(rotations, center):
    return quat.angle_between(rotations, center)


NAMES = ("within pi", "beyond pi", "more than a whole turn", "far beyond 2 pi")
UNIFORM = [
    *((*family, name) for family in FEW_SEEN for name in NAMES),
    *((*family, kind) for family in OTHERS for kind in ("round", "wide", "islands")),
]


@pytest.mark.parametrize("name", UNIFORM, ids=" ".join)
def test_samples_are_uniform_and_volume_is_the_share_of_all_rotations(name, rng):
    case, chart, data = name
    of_vectors = data in NAMES
    limit = Limit(placed(chart), region(case, data, rng)) if of_vectors else limit_of(*name)
    n = 200_000
    everywhere = random_quats(n, rng)
    legal = everywhere[limit.contains(everywhere)]
    share = len(legal) / n
    # The rest is the error of the volume's own sampling.
    error = np.hypot(np.sqrt(share * (1.0 - share) / n), 0.006 * share)
    assert abs(limit.volume() - share) < 3.5 * error
    sample = limit.sample(4000, rng)
    assert sample.shape == (4000, 4)
    assert limit.contains(sample).all()
    assert np.abs(np.linalg.norm(sample, axis=1) - 1.0).max() < 1e-12
    assert len(legal) > 50
    centers = [limit.chart.reference, *random_quats(3, rng)]
    for center in centers:
        a, b = angles_from(legal, center), angles_from(sample, center)
        error = np.sqrt(a.var() / len(a) + b.var() / len(b))
        assert abs(a.mean() - b.mean()) < 4.5 * error
        middle = np.median(b)
        below = (a < middle).mean()
        assert abs(below - 0.5) < 4.5 * np.sqrt(0.25 / len(a) + 0.25 / len(b))


def test_everything_is_all_of_all_rotations():
    everything = Limit(RotationVector(), Ellipsoid(np.zeros(3), np.full(3, 3.3), EYE))
    assert everything.volume() == pytest.approx(1.0, abs=0.02)
    many_times = Limit(RotationVector(), Box(np.full(3, -9.0), np.full(3, 9.0), EYE))
    assert many_times.volume() == pytest.approx(1.0, abs=0.05)


def test_a_volume_needs_a_sample(rng):
    limit = Limit.fit(quat.exp(rng.normal(size=(50, 3))))
    with pytest.raises(ValueError, match="samples must be an integer of at least 1, got 0"):
        limit.volume(0)


def test_a_hinge_is_sampled_evenly_along_its_angle(rng):
    hinge = Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [2.0, 0.0, 0.0], EYE))
    angles = hinge.chart.points(hinge.sample(20_000, rng))[:, 0]
    counts, _ = np.histogram(angles, bins=6, range=(-1.0, 2.0))
    assert counts.sum() == 20_000
    assert np.abs(counts / 20_000 - 1.0 / 6.0).max() < 0.015
