"""The extent of reach cones: grown, shrunk, their surface, measure and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from cones import TURN, angle_between, sphere, star
from synovia import ReachCone
from synovia.arrays import unit_vectors
from synovia.shapes.reach_cone.star import from_polar


def test_grown_contains_and_shrunk_is_contained(cone, rng):
    members = cone.scatter(1000, rng)
    for r in (1e-3, 0.05, 0.3):
        assert cone.grow(r).contains(members).all()
        assert cone.contains(cone.shrink(r).scatter(500, rng)).all()
    assert np.array_equal(cone.grow(0.0).points, cone.points)


@pytest.mark.parametrize("r", [0.01, 0.1, 0.4])
def test_a_grown_cone_holds_all_directions_within_r(cone, r, rng):
    wide, near = (ReachCone(c.points, visible=c.visible) for c in (cone.grow(r), cone))
    around = from_polar(
        rng.uniform(-np.pi, np.pi, 4000), rng.uniform(0.0, np.pi - 0.01, 4000), cone.visible
    )
    around = np.column_stack([around, np.zeros(4000)])
    distance = near.distance(around)
    opposite = angle_between(around[:, :3], -cone.visible) < 0.1
    assert wide.contains(around[(distance < r) & ~opposite]).all()


@pytest.mark.parametrize("r", [0.01, 0.05, 0.3])
def test_a_hinge_does_not_grow_far_beyond_its_ends(r, rng):
    angles = np.linspace(-1.0, 1.0, 400)
    line = np.stack([np.cos(angles), np.sin(angles), 0.003 * rng.normal(size=400)], axis=1)
    cone = ReachCone.fit(np.column_stack([unit_vectors(line), np.zeros(400)]))
    assert angle_between(cone.points, cone.visible).max() < 1.02
    assert angle_between(cone.grow(r).points, cone.visible).max() < 1.02 + r + 0.15


def test_growing_takes_in_what_is_beside_where_limits_slope(cone, rng):
    members, r = cone.scatter(1000, rng), 0.1
    move = rng.normal(size=members.shape)
    move[:, :3] -= np.sum(move[:, :3] * members[:, :3], axis=1, keepdims=True) * members[:, :3]
    move *= 0.9 * r / np.linalg.norm(move, axis=1, keepdims=True)
    angle = np.linalg.norm(move[:, :3], axis=1, keepdims=True)
    direction = np.cos(angle) * members[:, :3] + np.sinc(angle / np.pi) * move[:, :3]
    beside = np.column_stack([unit_vectors(direction), members[:, 3] + move[:, 3]])
    distance = cone.grow(r).distance(beside)
    assert distance.max() < 0.2 * r
    assert (distance > 1e-9).mean() < 0.005


def test_thin_twists_shrink_to_their_middle_and_hold_the_vertices():
    cone = star(10, 0.5, 1.2, 8, twist="none")
    assert np.array_equal(cone.shrink(0.1).points, cone.points)
    assert np.array_equal(cone.shrink(0.1).low, cone.low)
    level = ReachCone(cone.points, 0.2, 0.3, cone.visible)
    assert level.shrink(0.1).measure == 0.0
    assert level.shrink(0.1).low == pytest.approx(0.25)
    assert (level.shrink(0.1).points @ level.visible > level.points @ level.visible).all()


def test_the_surface_is_on_the_boundary(cone):
    for detail in (0, 2):
        surface = cone.surface(detail)
        assert np.abs(cone.distance(surface.vertices)).max() < 1e-9
        assert surface.triangles.max() == len(surface.vertices) - 1


def test_measure_and_scatter_agree_with_random_directions(cone, rng):
    members = cone.scatter(4000, rng)
    assert cone.contains(members).all()
    if cone.measure < 1e-4:
        return  # too few of the directions below would be in it
    directions = sphere(200_000, rng)
    directions = directions[cone.contains_direction(directions)]
    width = np.minimum(np.diff(cone.twist_range(directions))[:, 0], TURN)
    expected = 4.0 * np.pi * width.sum() / 200_000
    assert cone.measure == pytest.approx(expected, rel=0.03)
    mean = (directions * width[:, None]).sum(axis=0) / width.sum()
    assert np.abs(members[:, :3].mean(axis=0) - mean).max() < 0.05


def test_bounds_hold_all_members_and_no_more(cone, rng):
    members = cone.scatter(20_000, rng)
    low, high = cone.bounds
    assert (members[:, :3] >= low[:3] - 1e-12).all()
    assert (members[:, :3] <= high[:3] + 1e-12).all()
    assert (low[:3] >= members[:, :3].min(axis=0) - 0.2).all()
    assert (high[:3] <= members[:, :3].max(axis=0) + 0.2).all()
    assert low[3] == min(cone.low.min(), cone.visible_low)


def test_it_comes_back_from_its_fields(cone):
    again = ReachCone.from_dict({k: v for k, v in cone.to_dict().items() if k != "type"})
    lists = {k: np.asarray(v).tolist() for k, v in cone.to_dict().items() if k != "type"}
    for other in (again, ReachCone.from_dict(lists)):
        assert np.array_equal(other.packed, cone.packed)
    with pytest.raises(ValueError, match="read-only"):
        cone.points[0] = 0.0
