"""Samples added to reach cones and unions: what was legal stays, and as little as can be is new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cones import (
    CONES,
    NORTH,
    TURN,
    angle_between,
    inside_by_slices,
    nearest_by_edges,
    queries,
    sphere,
)
from synovia import ReachCone, Union
from synovia.arrays import unit_vectors
from synovia.edit import add
from synovia.edit.reach_cone import THIN
from synovia.shapes.reach_cone.star import from_polar, polar


def samples(cone, rng, n):
    """Points all over, with any twist; members twisted too far; and some behind vertices."""
    everywhere = np.column_stack([sphere(n, rng), rng.uniform(-7.0, 7.0, n)])
    twisted = cone.scatter(n, rng)
    twisted[:, 3] += rng.uniform(-3.0, 3.0, n)
    outer = cone.points[rng.integers(len(cone.points), size=n)] - rng.random((n, 1)) * cone.visible
    outer += 10.0 ** rng.uniform(-16.0, -1.0, (n, 1)) * sphere(n, rng)
    return np.concatenate(
        [everywhere, twisted, np.column_stack([unit_vectors(outer), twisted[:, 3]])]
    )


def beside(more, cone, directions):
    """How much of the twists that a cone has in directions of its own another lacks, by slices."""
    inside, ours = inside_by_slices(cone, directions)
    there, theirs = inside_by_slices(more, directions)
    # Slice by slice nothing is tolerated: on planes between slices rounding loses directions.
    assert there[inside].mean() > 0.98
    both = inside & there
    lack = np.maximum(theirs[both, 0] - ours[both, 0], ours[both, 1] - theirs[both, 1])
    return lack.max(initial=0.0)


def test_all_that_was_legal_stays_and_the_sample_is_legal(cone, rng):
    members = cone.scatter(300, rng)
    directions = queries(cone, rng, 300)[:, :3]
    for sample in samples(cone, rng, 8):
        more = add(cone, sample[None])
        assert more.contains(sample)
        assert more.contains(members).all()
        # Of a small cone, a far vertex has thousands of times the rounding.
        assert beside(more, cone, directions) < 1e-9
        inside = cone.contains_direction(directions)
        assert more.contains_direction(directions[inside]).all()
        assert (more is cone) == cone.contains(sample)
        assert more.is_free == cone.is_free


def test_many_at_once_are_all_legal(cone, rng):
    many = samples(cone, rng, 12)
    more = add(cone, many)
    assert more.contains(many).all()
    assert more.contains(cone.scatter(300, rng)).all()
    assert add(more, many) is more


def test_a_direction_beyond_an_edge_becomes_a_vertex_of_it():
    cone = CONES["convex"]()
    edge = unit_vectors(cone.points[2] + cone.points[3])
    sample = np.array([*unit_vectors(edge - 0.2 * cone.visible), 0.3])
    more = add(cone, sample[None])
    assert np.array_equal(more.points, np.insert(cone.points, 3, sample[:3], axis=0))
    assert more.low == pytest.approx(np.full(9, -1.0))
    assert more.high == pytest.approx(np.full(9, 1.0))
    sample[3] = 1.2
    assert add(cone, sample[None]).high == pytest.approx([1.0] * 3 + [1.2] + [1.0] * 5)
    sample[3] = -1.2 + 3.0 * TURN
    assert add(cone, sample[None]).low == pytest.approx([-1.0] * 3 + [-1.2] + [-1.0] * 5)


@pytest.mark.parametrize("aside", [0.0, 0.5 * THIN, -0.5 * THIN])
def test_a_vertex_of_the_same_azimuth_is_moved_out(aside):
    cone = CONES["convex"]()
    azimuth, angle = polar(cone.points[5], cone.visible)
    sample = np.array([*from_polar(azimuth + aside, angle + 0.3, cone.visible), 0.3])
    more = add(cone, sample[None])
    assert len(more.points) == 8
    kept = np.delete(np.arange(8), 5)
    assert np.array_equal(more.points[kept], cone.points[kept])
    assert polar(more.points[5], cone.visible)[0] == pytest.approx(azimuth)
    assert nearest_by_edges(more, sample[None, :3])[0] < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_a_new_vertex_has_the_narrowest_limits(seed):
    """With any less, a twist that was legal beside it would not be."""
    rng = np.random.default_rng(seed)
    n = 5
    points = from_polar(np.arange(n) * TURN / n, rng.uniform(0.6, 1.2, n), NORTH)
    low, high = rng.uniform(-1.2, -1.0, n), rng.uniform(1.0, 1.2, n)
    cone = ReachCone(points, low, high, NORTH, -1.3, 1.3)
    sample = np.array([*unit_vectors(points[0] + points[1] - 0.1 * NORTH), 0.0])
    more = add(cone, sample[None])
    assert len(more.points) == n + 1
    assert (more.visible_low, more.visible_high) == (cone.visible_low, cone.visible_high)
    share = 10.0 ** rng.uniform(-3.0, 0.0, (4000, 3))
    directions = unit_vectors(share @ np.stack([NORTH, points[0], points[1]]))
    assert beside(more, cone, directions) < 1e-12
    for name, less in (("low", 1e-3), ("high", -1e-3)):
        limits = getattr(more, name).copy()
        limits[1] += less
        assert beside(replace(more, **{name: limits}), cone, directions) > 1e-9


def test_twists_are_widened_by_as_little_as_will_do(rng):
    cone = CONES["convex"]()
    share = np.array([0.2, 0.5, 0.3])
    corners = np.stack([cone.visible, cone.points[2], cone.points[3]])
    sample = np.array([*unit_vectors(share @ corners), 1.4])
    more = add(cone, sample[None])
    assert np.array_equal(more.points, cone.points)
    assert np.array_equal(more.low, cone.low)
    rises = np.array([more.visible_high, *more.high[[2, 3]]]) - 1.0
    assert share @ rises == pytest.approx(0.4)
    for _ in range(200):  # whatever else would do is more
        other = rng.random(3)
        other *= 0.4 / (share @ other)
        assert np.linalg.norm(rises) <= np.linalg.norm(other) + 1e-12


def test_a_far_sample_of_a_small_cone_does_not_make_its_twists_leap():
    cone = CONES["tiny"]()
    sample = np.array([*from_polar(np.array(1.0), np.array(1.5), cone.visible), 0.3])
    more = add(cone, sample[None])
    assert np.ptp([more.low.min(), more.high.max()]) < 3.0 * np.ptp(
        [cone.low.min(), cone.high.max()]
    )


def test_opposite_the_visible_point_is_refused():
    cone = CONES["convex"]()
    with pytest.raises(ValueError, match="opposite the visible point"):
        add(cone, np.array([[*-cone.visible, 0.0]]))
    nearly = np.array([*from_polar(np.array(1.0), np.array(np.pi - 1e-4), cone.visible), 0.0])
    assert add(cone, nearly[None]).contains(nearly)
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        add(cone, nearly)


def test_a_union_gives_a_sample_to_the_nearest_part(rng):
    near, far = CONES["convex"](), replace(CONES["three"]())
    union = Union((near, far))
    members = union.scatter(500, rng)
    for sample in samples(near, rng, 6):
        more = add(union, sample[None])
        assert more.contains(sample)
        assert more.contains(members).all()
        if union.contains(sample):
            assert more is union
            continue
        nearest = int(np.argmin([part.distance(sample) for part in union.parts]))
        assert more.parts[1 - nearest] is union.parts[1 - nearest]
        assert more.parts[nearest] is not union.parts[nearest]


def test_where_the_nearest_part_refuses_the_next_takes_the_sample():
    wide = ReachCone(from_polar(np.arange(6) * TURN / 6, np.full(6, 2.8), NORTH), -1.0, 1.0, NORTH)
    small = ReachCone(from_polar(np.arange(4) * TURN / 4, np.full(4, 0.3), NORTH), -1.0, 1.0)
    sample = np.array([*-NORTH, 0.0])
    aside = unit_vectors(np.array([1.0, 0.0, -0.6]))
    other = ReachCone(from_polar(np.arange(4) * TURN / 4, np.full(4, 0.3), aside), -1.0, 1.0)
    more = add(Union((wide, other)), sample[None])
    assert more.parts[0] is wide
    assert more.contains(sample)
    assert angle_between(more.parts[1].points, -NORTH).min() < 1e-12
    with pytest.raises(ValueError, match="opposite the visible point"):
        add(Union((wide, small)), sample[None])
