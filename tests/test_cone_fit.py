"""Cones fitted to samples, and unions of cones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cones import CONES, NORTH, TURN, angle_between, queries, sphere, star
from synovia import (
    Limit,
    ReachCone,
    Union,
    quat,
)
from synovia.arrays import unit_vectors
from synovia.io.limits import FILES
from synovia.schema import decode
from synovia.shapes import Region
from synovia.shapes.mesh import shape_surface
from synovia.shapes.reach_cone.star import from_polar


@pytest.mark.parametrize("case", ["three", "convex", "concave", "beyond a hemisphere", "past π"])
@pytest.mark.parametrize("n", [1, 3, 3000])
def test_every_sample_is_contained(case, n, rng):
    samples = CONES[case]().scatter(n, rng)
    for options in ({}, {"vertices": 7}, {"vertices": 60}):
        cone = ReachCone.fit(samples, **options)
        assert len(cone.points) == options.get("vertices", 25)
        assert cone.contains(samples).all()


def test_many_samples_give_back_the_cone_they_came_from(rng):
    truth = ReachCone(
        from_polar(np.arange(12) * TURN / 12, np.tile([0.6, 0.9], 6), NORTH), -0.8, 0.4
    )
    cone = ReachCone.fit(truth.scatter(60_000, rng), vertices=36)
    assert 0.9 < cone.measure / truth.measure < 1.15
    assert truth.grow(0.08).contains(cone.scatter(2000, rng)).mean() > 0.99


def test_twist_limits_follow_the_direction(rng):
    directions = unit_vectors(rng.normal(size=(5000, 3)) * [0.3, 0.3, 0.0] + NORTH)
    twists = 2.0 * directions[:, 0] + rng.uniform(-0.2, 0.2, 5000)
    samples = np.column_stack([directions, twists])
    cone = ReachCone.fit(samples)
    width = np.diff(cone.twist_range(directions))[:, 0]
    assert width.mean() < 0.8
    assert np.ptp(twists) > 2.0


@pytest.mark.parametrize(
    "samples",
    [
        np.tile([0.0, 0.0, 1.0, 0.4], (5, 1)),
        np.array([[0.0, 0.6, 0.8, -3.0]]),
        np.array([[np.cos(t), np.sin(t), 0.0, 0.3 * t] for t in np.linspace(-1.0, 1.0, 40)]),
    ],
)
def test_thin_data_give_thin_cones(samples):
    cone = ReachCone.fit(samples)
    assert cone.contains(samples).all()
    assert angle_between(cone.points, cone.visible).min() >= 0.99e-4
    assert cone.measure < 2e-3
    assert ReachCone.fit(samples).grow(0.01).measure > 0.0
    assert cone.contains(cone.scatter(20, np.random.default_rng(0))).all()


def test_twists_all_around_are_free_and_past_pi_are_joined(rng):
    directions = unit_vectors(0.2 * rng.normal(size=(4000, 3)) + NORTH)
    around = ReachCone.fit(np.column_stack([directions, rng.uniform(-np.pi, np.pi, 4000)]))
    assert around.is_free
    past = (np.pi + rng.uniform(-0.3, 0.3, 4000) + np.pi) % TURN - np.pi
    joined = ReachCone.fit(np.column_stack([directions, past]))
    assert (joined.high - joined.low).max() < 0.7


def test_directions_all_around_but_a_gap_are_seen_from_opposite_the_gap(rng):
    directions = sphere(4000, rng)
    directions = np.concatenate([directions[directions @ NORTH > -0.9], [NORTH]])
    samples = np.column_stack([directions, np.zeros(len(directions))])
    assert ReachCone.fit(samples).contains(samples).all()
    with pytest.raises(ValueError, match=r"cannot reach .* give another visible point"):
        ReachCone.fit(samples, visible=-NORTH)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (np.zeros((0, 4)), {}, "at least one point"),
        (np.zeros((4, 3)), {}, r"\(n, 4\)"),
        (np.zeros((4, 4)), {}, "unit directions"),
        (np.tile([0.0, 0.0, 1.0, np.nan], (3, 1)), {}, "finite"),
        (np.tile([0.0, 0.0, 1.0, 0.0], (3, 1)), {"vertices": 2}, "vertices must be at least 3"),
    ],
)
def test_what_cannot_be_fitted_is_refused(samples, options, message):
    for shape in (ReachCone, Union):
        with pytest.raises(ValueError, match=message):
            shape.fit(samples, **options)


# Unions.


@pytest.fixture
def union():
    return Union((star(8, 0.5, 0.9, 41), star(6, 0.4, 0.8, 42), star(5, 0.3, 0.6, 41)))


def test_a_union_holds_what_any_part_holds(union, rng):
    points = np.concatenate([queries(part, rng) for part in union.parts])
    each = np.stack([part.distance(points) for part in union.parts])
    assert np.array_equal(union.distance(points), each.min(axis=0))
    assert np.array_equal(union.contains(points), (each <= 1e-9).any(axis=0))
    projected = union.project(points)
    assert union.contains(projected).all()
    nearest = np.stack([part.project(points) for part in union.parts])
    assert np.array_equal(projected, nearest[each.argmin(axis=0), np.arange(len(points))])


def test_the_surface_of_a_union_has_no_inner_walls(union):
    surface = shape_surface(union, 3)
    alone = sum(len(shape_surface(part, 3).triangles) for part in union.parts)
    assert 0 < len(surface.triangles) < alone


def test_unions_shrink_and_have_cones_alone(union, rng):
    assert union.contains(union.shrink(0.05).scatter(300, rng)).all()
    with pytest.raises(ValueError, match="one or more reach cones"):
        Union(())
    with pytest.raises(ValueError, match=r"parts\[0\]\.type: expected one of reach-cone"):
        decode(Region, {"type": "union", "parts": [{"type": "box"}]}, FILES)


def test_two_clusters_make_two_cones(rng):
    away = unit_vectors(np.array([1.0, 0.0, 0.3]))
    directions = unit_vectors(
        np.concatenate(
            [NORTH + 0.1 * rng.normal(size=(400, 3)), away + 0.1 * rng.normal(size=(400, 3))]
        )
    )
    samples = np.column_stack([directions, rng.uniform(-0.5, 0.5, 800)])
    two, one = Union.fit(samples), ReachCone.fit(samples)
    assert len(two.parts) == 2
    assert two.contains(samples).all()
    assert two.measure < 0.7 * one.measure


@pytest.mark.parametrize("kind", ["one", "two", "line", "a dot that twists", "wide"])
def test_projections_in_float32_are_members_also_of_thin_fits(kind, rng):
    normal = rng.normal(size=(200, 3))
    vectors = {
        "one": normal[:1],
        "two": 0.4 * normal[:2],
        "line": normal[:, :1] * [0.5, 0.1, 0.2],
        "a dot that twists": normal[:, :1] * NORTH + 1e-6 * normal,
        "wide": normal * [0.9, 0.8, 0.6],
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # wide ones contain the opposite of the axis
        limit = Limit.fit(quat.exp(vectors), "reach-cone", axis=NORTH, margin=0.0)
    near = quat.mul(limit.sample(3000, rng), quat.exp(0.05 * rng.normal(size=(3000, 3))))
    given = np.concatenate([near, quat.exp(2.0 * rng.normal(size=(3000, 3)))]).astype(np.float32)
    projected = limit.project(given)
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
