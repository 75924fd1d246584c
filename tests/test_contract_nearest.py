"""What every shape promises of members, the nearest of them, the distance and the normal."""

from __future__ import annotations

import numpy as np

from oracles import CASES, CLOUDS, CONVEX, cloud, directions, lengths, support
from synovia.arrays import TOLERANCE


def test_a_fit_contains_every_sample(shape, kind):
    assert shape.contains(cloud(kind)).all()


def test_projected_points_are_inside(shape, points):
    assert shape.contains(shape.project(points)).all()


def test_projecting_twice_changes_nothing(shape, points):
    once = shape.project(points)
    assert np.array_equal(shape.project(once), once)


def test_a_member_comes_back_bit_for_bit(shape, points):
    members = np.concatenate([points[shape.contains(points)], shape.project(points)])
    assert len(members) > 100
    assert shape.project(members).tobytes() == members.tobytes()


def test_distance_is_positive_exactly_outside_and_the_length_of_the_move(shape, points):
    distance, move = shape.distance(points), lengths(points - shape.project(points))
    outside = ~shape.contains(points)
    assert outside.any()
    assert (distance[outside] > TOLERANCE).all()
    assert (move[outside] > 0.0).all()
    assert (move[~outside] == 0.0).all()
    assert (distance[~outside] <= TOLERANCE).all()
    assert np.abs(distance - move)[outside].max() <= 1e-13 * (1.0 + move.max())


def test_the_depth_inside_is_never_overstated(shape, points, rng):
    inner = points[shape.distance(points) < 0.0]
    depth = -shape.distance(inner)
    for direction in [*directions(40, rng), shape.normal(inner), -shape.normal(inner)]:
        reached = inner + depth[:, None] * direction
        assert (shape.distance(reached) <= 1e-12).all()


def test_thick_shapes_have_members_deep_inside(thick):
    middle = thick.scatter(4000, np.random.default_rng(0))
    size = np.ptp(thick.bounds, axis=0).min()
    assert thick.distance(middle).min() < -1e-3 * size


def test_no_sampled_member_is_nearer(shape, points, rng):
    members = np.concatenate([shape.scatter(300, rng), shape.project(6.0 * directions(200, rng))])
    nearest = lengths(points[:, None] - members).min(axis=1)
    assert (nearest >= shape.distance(points) - TOLERANCE).all()


def test_nothing_moves_apart(shape, points, rng):
    pairs = rng.integers(len(points), size=(2, 4000))
    a, b = points[pairs]
    close = a + 1e-3 * rng.normal(size=a.shape)
    for other in (b, close):
        apart = lengths(shape.project(a) - shape.project(other))
        assert (apart <= lengths(a - other) + 3 * TOLERANCE).all()


def test_the_normal_is_unit(shape, points):
    assert np.abs(lengths(shape.normal(points)) - 1.0).max() < 1e-9


def test_the_normal_is_the_direction_of_the_move(shape, points):
    outside = points[shape.distance(points) > 1e-6]
    move = outside - shape.project(outside)
    cosine = (move * shape.normal(outside)).sum(axis=1) / lengths(move)
    assert len(outside)
    assert cosine.min() > 1.0 - 1e-9


def test_at_the_boundary_nothing_lies_beyond_the_normal(shape, rng):
    rim = shape.project(6.0 * directions(400, rng))
    normal = shape.normal(rim)
    assert (support(shape, normal) - (normal * rim).sum(axis=1)).max() < 1e-7


def test_every_case_is_a_registered_shape():
    assert {name for name, _ in CASES.values()} == set(CONVEX)
    assert len(CLOUDS) == 7
