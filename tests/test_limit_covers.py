"""Limits take the nearest of all covers; along paths, the one that follows."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import (
    CONVEX,
    FEW_SEEN,
    REGIONS,
    VECTORS,
    over_covers,
    placed,
    random_quats,
    region,
)
from synovia import quat
from synovia.arrays import TURN
from synovia.charts import RotationVector
from synovia.kernels import runtime_file
from synovia.limit import Limit
from synovia.shapes import Box

EYE = np.eye(3)


@pytest.mark.parametrize(("case", "chart"), FEW_SEEN)
@pytest.mark.parametrize("name", REGIONS)
def test_the_nearest_of_all_covers_is_taken(case, chart, name, rng):
    limit = Limit(placed(chart), region(case, name, rng))
    rotations = random_quats(2000, rng)
    distance, projected, tied = over_covers(limit, rotations)
    assert np.abs(limit.distance(rotations) - distance).max() < 1e-9
    outside = distance > 1e-9
    apart = quat.angle_between(limit.project(rotations), projected)
    assert tied.mean() < 0.5
    assert apart[outside & ~tied].max() < 1e-9
    assert np.array_equal(limit.contains(rotations), ~outside)
    if chart == "rotation-vector":  # a straight line is never shorter than the true angle
        assert (limit.violation(rotations) <= np.maximum(distance, 0.0) + 1e-9).all()


@pytest.mark.parametrize("name", REGIONS)
def test_wide_swings_have_covers_of_their_own(name, rng):
    low, high = REGIONS[name]
    shape = Box(np.roll(low, 1), np.roll(high, 1) + 4.0 * EYE[0], EYE)
    with pytest.warns(UserWarning, match="opposite the bone's axis"):
        limit = Limit(placed("swing-twist"), shape)
    rotations = random_quats(2000, rng)
    distance, projected, tied = over_covers(limit, rotations)
    assert np.abs(limit.distance(rotations) - distance).max() < 1e-9
    apart = quat.angle_between(limit.project(rotations), projected)
    assert apart[(distance > 1e-9) & ~tied].max() < 1e-9


@pytest.mark.parametrize("chart", VECTORS)
def test_rotations_at_and_around_the_reference_and_half_turns_have_covers(chart, rng):
    limit = Limit(placed(chart), Box([-0.1, -0.1, 4.0], [0.1, 0.1, 6.0], EYE))
    tiny = 10.0 ** rng.uniform(-17, -3, size=(200, 1)) * rng.normal(size=(200, 3))
    half = np.pi * rng.normal(size=(200, 3))
    half *= np.pi / np.linalg.norm(half, axis=1, keepdims=True)
    points = np.concatenate([np.zeros((1, 3)), tiny, half])
    rotations = limit.chart.rotations(points)
    projected = limit.project(rotations)
    assert np.isfinite(projected).all()
    assert limit.contains(projected).all()
    distance, _, _ = over_covers(limit, rotations)
    # Shorter vectors have no direction to speak of, nor has the twist at a half turn of swing.
    sure = np.linalg.norm(points[:, : 2 if chart == "swing-twist" else 3], axis=1) > 1e-8
    sure[201:] &= chart == "rotation-vector"
    assert sure.sum() > 50
    assert np.abs(limit.distance(rotations) - distance)[sure].max() < 1e-6


def test_a_knee_at_111_degrees_the_wrong_way_goes_to_140_the_right_way():
    knee = Limit(RotationVector(), Box(np.radians([-140.0, 0.0, 0.0]), np.zeros(3), EYE))
    bent = quat.exp(np.radians([111.0, 0.0, 0.0]))
    limit = quat.exp(np.radians([-140.0, 0.0, 0.0]))
    for sign in (1.0, -1.0):
        assert quat.angle_between(knee.project(sign * bent), limit) < 1e-12
    assert np.degrees(knee.distance(bent)) == pytest.approx(109.0)
    assert np.degrees(knee.violation(bent)) == pytest.approx(109.0)
    straight = quat.exp(np.radians([109.0, 0.0, 0.0]))
    assert quat.angle_between(knee.project(straight), quat.IDENTITY) < 1e-12


@pytest.mark.parametrize("chart", VECTORS)
@pytest.mark.parametrize("name", [name for name in CONVEX if name != "product"])
def test_paths_are_followed_beyond_pi(chart, name):
    angles = np.radians(np.linspace(-20.0, 200.0, 300))
    path = quat.exp(angles[:, None] * EYE[2])
    limit = Limit.fit([path], name, chart, reference=quat.IDENTITY, margin=0.01)
    inside = quat.exp(np.radians([0.0, 0.0, 190.0]))
    outside = quat.exp(np.radians([0.0, 0.0, 270.0]))
    assert limit.contains(path).all()
    assert limit.contains(inside)
    assert not limit.contains(outside)
    assert np.degrees(limit.violation(outside)) == pytest.approx(69.4, abs=0.3)
    flipped = Limit.fit(
        [path * np.where(np.arange(300) % 3, 1, -1)[:, None]],
        name,
        chart,
        reference=quat.IDENTITY,
        margin=0.01,
    )
    assert np.allclose(flipped.shape.bounds, limit.shape.bounds)


def test_samples_in_no_order_are_folded():
    angles = np.radians(np.linspace(-20.0, 200.0, 300))
    limit = Limit.fit(quat.exp(angles[:, None] * EYE[2]), "box", reference=quat.IDENTITY)
    assert limit.contains(quat.exp(np.radians([0.0, 0.0, 270.0])))


def test_each_path_is_placed_nearest_to_the_reference():
    up = quat.exp(np.linspace(3.0, 4.5, 100)[:, None] * EYE[2])
    limit = Limit.fit([up, up[::-1]], "box", "swing-twist", reference=quat.IDENTITY, margin=0.0)
    # 4.5 is nearer to the reference as 4.5 - 2 pi: the path lies from 3 - 2 pi to 4.5 - 2 pi.
    assert limit.shape.bounds[:, 2] == pytest.approx([3.0 - TURN, 4.5 - TURN])


def test_a_limit_reaches_five_whole_turns_at_most():
    def bar(turns):
        return Limit(RotationVector(), Box([0.0, 0.0, 0.0], [turns * TURN, 0.0, 0.0], np.eye(3)))

    assert runtime_file.check_limit(bar(4.999).packed, 0)
    with pytest.raises(ValueError, match=r"within 5 whole turns of its reference, got one that"):
        bar(5.001)
