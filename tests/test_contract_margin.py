"""Margins of every family: the grown region against brute force, and limits that vary with it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from families import LIMITS
from oracles import random_quats
from synovia import load_limits, quat, save_limits
from synovia.limit import DependentMargin, Limit
from synovia.model import LimitModel
from synovia.shapes import SHAPES, Convex
from synovia.shapes.extent import tangents
from synovia.skeleton import Skeleton

MARGIN = 0.15  # radians
AXIS = np.array([0.0, 1.0, 0.0])
FIRST_CHARTS = {shape: (shape, kind.charts[0]) for shape, kind in SHAPES.items()}


def with_margin(case: tuple[str, str], margin: float = MARGIN) -> Limit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some have the direction opposite the axis
        return replace(LIMITS[case](), margin=margin)


@pytest.fixture(params=LIMITS, ids=" in ".join)
def grown(request):
    return with_margin(request.param)


def everywhere(shape, n, rng):
    """Points of the chart, uniform in what is within the margin of a shape's bounds."""
    low, high = shape.bounds
    if shape.dimension == 3:
        return rng.uniform(low - MARGIN, high + MARGIN, size=(n, 3))
    directions = rng.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    width = min(high[3] - low[3] + 2.0 * MARGIN, 2.0 * np.pi)
    return np.column_stack([directions, low[3] - MARGIN + width * rng.random(n)])


def nearest_sample(shape, points, members):
    """Return the distance of each point from the nearest of some members."""
    found = []
    for part in np.array_split(points, max(len(points) // 50, 1)):
        moves = shape.moves(part[:, None], members[None])
        found.append(np.sqrt(np.square(moves).sum(axis=-1).min(axis=1)))
    return np.concatenate(found)


def covered(grown, rng):
    """Return the share of the shape's true neighbourhood that the grown region covers."""
    shape, region = grown.shape, grown.region
    points = everywhere(shape, 6000, rng)
    inside = region.contains(points)
    assert 0 < inside.sum() < len(points)
    feet = shape.project(points[inside])
    assert shape.contains(feet).all()
    moves = np.linalg.norm(shape.moves(points[inside], feet), axis=-1)
    assert moves.max() <= MARGIN + 1e-9
    members = np.concatenate([shape.scatter(3000, rng), shape.project(points)])
    near = shape.distance(points[~inside]) < 4.0 * MARGIN
    missed = nearest_sample(shape, points[~inside][near], members) <= MARGIN
    return inside.sum() / (inside.sum() + missed.sum())


def test_the_grown_region_is_within_the_true_neighbourhood_and_covers_it(grown, rng):
    assert covered(grown, rng) >= (0.98 if isinstance(grown.shape, Convex) else 0.9)


@pytest.mark.parametrize("shape", ["reach-cone", "union"])
def test_cones_around_few_rotations_cover_it_too(shape, rng):
    rotations = quat.exp(rng.normal(size=(300, 3)) * [0.7, 0.3, 0.4])
    limit = Limit.fit(rotations, shape, "direction-twist", axis=AXIS)
    assert covered(replace(limit, margin=MARGIN), rng) >= 0.9


def test_the_grown_union_is_the_union_of_its_grown_parts(rng):
    grown = with_margin(FIRST_CHARTS["union"])
    points = everywhere(grown.shape, 6000, rng)
    parts = [replace(grown, shape=part).region.contains(points) for part in grown.shape.parts]
    np.testing.assert_array_equal(grown.region.contains(points), np.any(parts, axis=0))


def test_projections_are_members_and_stay_and_members_come_back(grown, rng):
    near = quat.mul(grown.sample(300, rng), quat.exp(0.4 * rng.normal(size=(300, 3))))
    rotations = np.concatenate([near, random_quats(300, rng)])
    legal = grown.contains(rotations)
    assert 0 < legal.sum() < len(legal)
    found = grown.project(rotations)
    assert grown.contains(found).all()
    np.testing.assert_array_equal(found[legal], rotations[legal])
    np.testing.assert_array_equal(grown.project(found), found)


def test_the_distance_is_the_length_of_the_move(grown, rng):
    rotations = random_quats(300, rng)
    distance, projected = grown.distance(rotations), grown.project(rotations)
    moves = [
        np.linalg.norm(grown.region.moves(start, end), axis=-1)
        for start in grown.covers(rotations)
        for end in grown.covers(projected)
    ]
    outside = distance > 1e-9
    assert outside.sum() > 100
    assert np.abs(np.min(moves, axis=0) - distance)[outside].max() < 1e-6


def test_legal_means_as_near_to_the_shape_as_the_margin_says(grown, rng):
    rotations = random_quats(2000, rng)
    narrow = replace(grown, margin=0.0)
    legal = narrow.distance(rotations) <= MARGIN + 1e-9
    np.testing.assert_array_equal(grown.contains(rotations), legal)
    assert grown.shrink(0.05).margin == pytest.approx(MARGIN - 0.05)
    inner = grown.shrink(MARGIN + 0.02)
    assert narrow.contains(inner.sample(200, rng)).all()


def test_depths_are_never_overstated(grown, rng):
    region = grown.region
    members = np.repeat(region.scatter(300, rng), 10, axis=0)
    depth = -region.distance(members)
    assert (depth > 0.01).sum() > 100
    ways = rng.normal(size=(len(members), 1, 3))
    ways *= depth[:, None, None] / np.linalg.norm(ways, axis=-1, keepdims=True)
    there = region.shift(members, (ways @ tangents(region, members))[:, 0])
    assert region.distance(there).max() < 1e-9


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dependent_margin_at_its_widest_is_the_joints_own_limit(shape, rng):
    limit = with_margin(FIRST_CHARTS[shape])
    margins = np.linspace(0.0, MARGIN, 6)
    each = DependentMargin(limit, "Hip", AXIS, margins)
    widest, narrowest = (quat.between(AXIS, each.nodes[k]) for k in (5, 0))
    rotations = random_quats(1_000_000, rng)
    own = limit.contains(rotations)
    assert int((each.contains(rotations, widest) != own).sum()) == 0
    some = rotations[:20_000]
    assert (each.contains(some, narrowest) == replace(limit, margin=0.0).contains(some)).all()
    drivers = random_quats(500, rng)
    found = each.project(rotations[:500], drivers)
    assert each.contains(found, drivers).all()
    assert limit.contains(found).all()


def test_files_keep_the_margin(tmp_path):
    grown = with_margin(FIRST_CHARTS["kdop"])
    skeleton = Skeleton(("A", "B"), [-1, 0], np.zeros((2, 3)))
    path = tmp_path / "one.limits.json"
    save_limits(LimitModel({"B": grown}, skeleton), path)
    assert load_limits(path).limits["B"].margin == grown.margin


def test_a_margin_is_at_least_0():
    with pytest.raises(ValueError, match=r"margin must be at least 0 radians, got -0\.1"):
        with_margin(FIRST_CHARTS["box"], -0.1)
