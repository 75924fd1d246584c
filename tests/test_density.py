"""The saturating density: seconds nearby, capped, averaged over people; a level for a rejection."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import quat
from synovia.learn import Take, density, level_for
from synovia.learn.fields import DENSITY_CUTOFF, DENSITY_WIDTH, SATURATION_TIME


def takes(people=4, frames=400, seed=0, frame_time=0.05):
    rng = np.random.default_rng(seed)
    made = []
    for k in range(people):
        t = np.arange(frames)[:, None] * rng.uniform(0.01, 0.03, size=3) + rng.uniform(0, 6, 3)
        path = quat.exp(np.sin(t) * [0.6, 0.3, 0.2] + 0.05 * rng.normal(size=3))
        made.append(Take(path, frame_time, f"clip{k}", f"performer{k}"))
    return made


@pytest.fixture(scope="module")
def scores():
    return density(takes(), resolution=20)


def test_scores_are_capped_gaussian_seconds_averaged(scores):
    rng = np.random.default_rng(1)
    for node in rng.integers(0, scores.node_scores.shape, size=(60, 3)):
        point = scores.low + scores.spacing * node
        rotation = scores.chart.rotations(point)
        expected = []
        for take in takes():
            angle = quat.angle_between(take.rotations, rotation)
            weight = np.exp(-0.5 * (angle / DENSITY_WIDTH) ** 2) * (angle <= DENSITY_CUTOFF)
            expected.append(min(weight.sum() * take.frame_time / SATURATION_TIME, 1.0))
        # Frames are thinned to cells of two degrees, which moves them a little.
        np.testing.assert_allclose(scores.node_scores[tuple(node)], np.mean(expected), atol=0.06)


def test_the_field_is_what_scores_above_the_level(scores):
    level = 0.3
    field = scores.field(level)
    values = field.shape.values
    np.testing.assert_array_equal(values <= 0.0, scores.node_scores >= level)
    grown = field.shape.grow(0.1)
    assert grown.measure > field.shape.measure
    assert scores.field(0.6).volume() < field.volume()
    with pytest.raises(ValueError, match="level must be above 0"):
        scores.field(2.0)


def test_levels_are_chosen_by_leaving_performers_out(scores):
    strict, rejected, volume = level_for(0.3, scores)
    loose, less, more = level_for(0.05, scores)
    assert rejected <= 0.3
    assert less <= 0.05
    assert strict >= loose
    assert volume <= more
    others = density(takes()[1:], resolution=20, reference=scores.chart.reference)
    frames = takes()[0].rotations
    held = scores.leave_one_out()[0]
    inside = others.field(strict).contains(frames)
    assert abs(inside.mean() - (held >= strict).mean()) < 0.05


def test_people_count_once_however_long_they_stay():
    few = takes(3)
    long = [few[0], *[Take(few[0].rotations, 0.05, f"more{k}", "performer0") for k in range(5)]]
    a, b = density(few, resolution=16), density([*long, *few[1:]], resolution=16)
    assert b.times.max() <= 1.0
    assert a.performers == b.performers


def test_what_makes_no_density_is_refused(scores):
    with pytest.raises(ValueError, match="at least one take"):
        density([])
    with pytest.raises(ValueError, match="between 0 and 1"):
        level_for(0.0, scores)
    with pytest.raises(ValueError, match="two performers"):
        level_for(0.1, density(takes(1), resolution=16))
