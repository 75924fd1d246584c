"""ReachCone: slices, twist limits, the nearest member and the depth, against slow plain answers."""

from __future__ import annotations

import numpy as np

from cones import (
    NORTH,
    angle_between,
    inside_by_slices,
    nearest_by_edges,
    queries,
    ring,
    sphere,
)
from synovia import ReachCone
from synovia.arrays import cross
from synovia.shapes.reach_cone.star import from_polar


def test_inclusion_and_limits_are_those_of_the_slices(cone, rng):
    points = queries(cone, rng)
    inside, limits = inside_by_slices(cone, points[:, :3])
    clear = nearest_by_edges(cone, points[:, :3])[0] > 2e-9
    assert (cone.contains_direction(points[:, :3]) == inside)[clear].all()
    found = cone.twist_range(points[:, :3])
    assert np.abs(found - limits)[inside].max() < 1e-9
    slices = cone.slices(points[:, :3])
    p, q = cone.points[slices], np.roll(cone.points, -1, axis=0)[slices]
    assert (np.sum(np.cross(cone.visible, p) * points[:, :3], axis=1) >= -1e-12).all()
    assert (np.sum(np.cross(cone.visible, q) * points[:, :3], axis=1) <= 1e-12).all()


def test_cross_products_are_those_of_numpy(rng):
    a, b = rng.normal(size=(5, 1, 3)), rng.normal(size=(4, 3))
    np.testing.assert_array_equal(cross(a, b), np.cross(a, b))
    np.testing.assert_array_equal(cross(a[0, 0], b[0]), np.cross(a[0, 0], b[0]))


def test_the_nearest_direction_is_that_of_the_slow_search(cone):
    rng = np.random.default_rng(8)
    points = np.concatenate([queries(cone, rng), queries(cone, rng, 10_000)])
    angle, _ = nearest_by_edges(cone, points[:, :3])
    legal, clear = cone.contains_direction(points[:, :3]), angle > 2e-9
    outside, inside = ~legal & clear, legal & clear
    moved = cone.project(points)[:, :3]
    assert np.abs(angle_between(moved, points[:, :3]) - angle)[outside].max() < 1e-9
    assert np.array_equal(moved[inside], points[inside, :3])


def test_vertices_almost_at_one_azimuth_share_a_bucket():
    azimuth = np.array([0.0, 1e-9, 2e-9, 2.0, 4.0])
    cone = ReachCone(from_polar(azimuth, np.array([0.5, 1.0, 0.7, 0.8, 0.6]), NORTH), -1.0, 1.0)
    directions = sphere(2000, np.random.default_rng(0))
    inside, _ = inside_by_slices(cone, directions)
    assert np.array_equal(cone.contains_direction(directions), inside)


def test_ties_go_to_the_lowest_edge():
    cone = ReachCone(ring([45.0, 135.0, 225.0, 315.0], np.full(4, 60.0)), -1.0, 1.0)
    moved = cone.project(np.array([*-NORTH, 0.0]))
    assert angle_between(moved[:3], cone.points[0]) < 1e-12
    assert cone.contains(np.array([*NORTH, 0.0]))
    assert not cone.contains_direction(-NORTH)


def test_bounds_are_tight(cone, rng):
    members = cone.scatter(20_000, rng)
    low, high = cone.bounds
    assert (low[:3] >= members[:, :3].min(axis=0) - 0.2).all()
    assert (high[:3] <= members[:, :3].max(axis=0) + 0.2).all()
    assert low[3] == min(cone.low.min(), cone.visible_low)
