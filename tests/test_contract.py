"""Promises of every shape and of every limit, over the registry and over many kinds of data."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Annotated

import numpy as np
import pytest

from clips import clamp_path
from families import LIMIT_CASES, SHAPE_CASES, asked_of, limit_of, points_of, samples_of
from oracles import BATCHES, EXHAUSTIVE, lengths, random_quats, smallest_angles
from synovia import Beyond, Inside, Limit, first_exit, quat
from synovia.arrays import TOLERANCE, TURN
from synovia.io.limits import FILES
from synovia.model import project_path
from synovia.model.clamp import step_bounds
from synovia.schema import decode, encode
from synovia.shapes import Convex, Directional, Region
from synovia.shapes.mesh import shape_surface

MEMBERS = 3000 if EXHAUSTIVE else 500


@pytest.fixture(params=SHAPE_CASES, ids=" ".join)
def shape_case(request):
    return request.param


@pytest.fixture
def shape(shape_case):
    return limit_of(*shape_case).shape


@pytest.fixture
def points(shape_case):
    return points_of(shape_case[0], limit_of(*shape_case))


@pytest.fixture(params=LIMIT_CASES, ids=" ".join)
def limit(request):
    return limit_of(*request.param)


@pytest.fixture
def rotations(limit):
    return asked_of(limit)


def moved(shape, points, length, rng):
    """Return points moved by `length` in random directions of the chart."""
    move = rng.normal(size=points.shape)
    if not isinstance(shape, Directional):
        return points + move * (length / lengths(move))[:, None]
    direction = points[:, :3]
    move[:, :3] -= (move[:, :3] * direction).sum(axis=1, keepdims=True) * direction
    move *= (length / lengths(move))[:, None]
    angle = lengths(move[:, :3])[:, None]
    turned = np.cos(angle) * direction + np.sinc(angle / np.pi) * move[:, :3]
    return np.concatenate([turned / lengths(turned)[:, None], points[:, 3:] + move[:, 3:]], axis=1)


# Shapes.


def test_projected_points_are_members_and_members_stay_bit_for_bit(shape, points):
    once = shape.project(points)
    assert shape.contains(once).all()
    members = np.concatenate([points[shape.contains(points)], once])
    assert len(members) > len(once) + 100
    assert shape.project(members).tobytes() == members.tobytes()


def test_distance_is_positive_exactly_outside_and_the_length_of_the_move(shape, points):
    distance, outside = shape.distance(points), ~shape.contains(points)
    move = lengths(shape.moves(points, shape.project(points)))
    assert 0 < outside.sum() < len(points)
    assert np.array_equal(distance > TOLERANCE, outside)
    assert np.array_equal(move > 0.0, outside)
    slack = 1e-13 * (1.0 + move.max()) if isinstance(shape, Convex) else 1e-9
    assert np.abs(distance - move)[outside].max() <= slack


def test_the_depth_inside_is_never_overstated(shape, points, rng):
    inner = points[shape.distance(points) < 0.0]
    depth = -shape.distance(inner)
    slack = 1e-12 if isinstance(shape, Convex) else 1e-8
    for factor in [1.0] * 20 + [0.999] * 10 + [0.5] * 10:
        assert (shape.distance(moved(shape, inner, factor * depth, rng)) <= slack).all()


def test_no_sampled_member_is_nearer_than_promised(shape, points, rng):
    members = shape.scatter(MEMBERS, rng)
    outside = points[~shape.contains(points)][::3]
    if shape.name == "union":
        return  # the nearest of its parts, each by itself
    if isinstance(shape, Directional):  # the nearest direction, then the nearest twist
        nearest = np.arccos(np.clip(outside[:, :3] @ members[:, :3].T, -1.0, 1.0)).min(axis=1)
        angle = lengths(shape.moves(outside, shape.project(outside))[:, :3])
        assert (angle <= nearest + 1e-7).all()
        return
    nearest = np.min([lengths(shape.moves(outside, m)) for m in members[:, None]], axis=0)
    slack = getattr(shape, "half_diagonal", 0.0)  # a field's promise
    assert (shape.distance(outside) <= nearest + slack + TOLERANCE).all()


def test_twists_go_to_the_nearest_legal_one_whatever_their_whole_turns(shape, points):
    if not isinstance(shape, Directional):
        return
    projected = shape.project(points)
    low, high = shape.twist_range(projected[:, :3]).T
    twists = points[:, 3] + TURN * np.arange(-3, 4)[:, None]
    gap = np.maximum(np.maximum(low - twists, twists - high), 0.0).min(axis=0)
    moved = np.abs(shape.moves(points, projected)[:, 3])
    if shape.name != "union":  # whose ranges of parts have gaps between them
        assert np.abs(moved - gap).max() < 1e-8
    turned = shape.distance(points + np.array([0.0, 0.0, 0.0, 2.0 * TURN]))
    assert np.abs(turned - shape.distance(points)).max() < 1e-9


def test_the_normal_is_unit_and_the_direction_of_the_move(shape, points):
    assert np.abs(lengths(shape.normal(points)) - 1.0).max() < 1e-6
    outside = points[shape.distance(points) > 1e-5]
    move = shape.moves(outside, shape.project(outside))
    cosine = -(move * shape.normal(outside)).sum(axis=1) / lengths(move)
    assert cosine.min() > 1.0 - (1e-9 if isinstance(shape, Convex) else 1e-6)


def test_bounds_reach_and_scatter_hold_members(shape, points, rng):
    scattered = shape.scatter(1000, rng)
    assert scattered.shape == (1000, shape.dimension)
    assert shape.contains(scattered).all()
    assert shape.scatter(0, rng).shape == (0, shape.dimension)
    members, (low, high) = np.concatenate([scattered, shape.project(points)]), shape.bounds
    if shape.measure > 0.0:
        assert shape.distance(scattered).min() < -1e-4 * (high - low)[:3].min()
    assert (members[:, :3] >= low[:3] - 1e-8).all()
    assert (members[:, :3] <= high[:3] + 1e-8).all()
    for columns in ((0,), (2,), (0, 1), (0, 1, 2)):
        assert lengths(members[:, columns]).max() <= shape.reach(columns) + 1e-8


def test_the_surface_is_on_the_boundary(shape):
    surface = shape_surface(shape)
    assert surface.vertices.shape[1] == shape.dimension
    assert surface.triangles.max(initial=-1) < len(surface.vertices)
    assert len(surface.triangles) > 0 or shape.measure == 0.0
    slack = TOLERANCE if isinstance(shape, Convex) else 1e-7
    assert np.abs(shape.distance(surface.vertices)).max(initial=0.0) <= slack


def uniform_points(shape, n, rng):
    """Return points, uniform in a domain that holds the shape, and the domain's volume."""
    low, high = shape.bounds
    if not isinstance(shape, Directional):
        return rng.uniform(low, high, size=(n, 3)), float(np.prod(high - low))
    axis = int((high - low)[:3].argmin())  # equal heights have equal areas of the sphere
    height, angle = rng.uniform(low[axis], high[axis], n), rng.uniform(0.0, TURN, n)
    ring = np.sqrt(1.0 - height**2)
    directions = np.stack([height, ring * np.cos(angle), ring * np.sin(angle)], axis=1)
    twist = rng.uniform(-np.pi, np.pi, (n, 1))
    points = np.concatenate([np.roll(directions, axis, axis=1), twist], axis=1)
    return points, float(TURN * TURN * (high - low)[axis])


def test_the_measure_is_the_volume_and_members_are_scattered_evenly(shape, rng):
    points, volume = uniform_points(shape, 60_000, rng)
    members = points[shape.contains(points)]
    if shape.measure == 0.0 or len(members) < 300:
        assert shape.measure <= 0.02 * volume
        return
    share = len(members) / len(points)
    error = np.sqrt(share * (1.0 - share) / len(points))
    # Shapes that are not convex are integrated to 1 % or better.
    slack = 1e-9 if isinstance(shape, Convex) else 0.01 * share
    assert abs(shape.measure / volume - share) <= 4.5 * error + slack
    one, other = (
        np.column_stack([rows[:, :3], np.cos(rows[:, 3:]), np.sin(rows[:, 3:])])
        for rows in (members, shape.scatter(20_000, rng))
    )
    for power in (1, 2):
        a, b = one**power, other**power
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        slack = 0.0 if isinstance(shape, Convex) else 0.02 * a.std(axis=0)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 4.5 * error + slack + 1e-12).all()


def test_the_surface_is_closed_and_encloses_the_measure(shape):
    if shape.name == "union" or np.any(getattr(shape, "wraps", 0.0)):
        return  # with seams between parts, or open where an axis wraps
    surface = shape_surface(shape, 5 if len(getattr(shape, "values", ())) < 8 else 3)
    if isinstance(shape, Directional):
        widths = np.diff(shape.twist_range(surface.vertices[:, :3]), axis=1)
        if widths.max(initial=0.0) >= TURN - 1e-9:
            return  # where every twist is legal the wall has no ends
    sides = np.sort(surface.triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=-1).reshape(-1, 2)
    _, count = np.unique(sides, axis=0, return_counts=True)
    assert (count % 2 == 0).all()
    if shape.dimension == 3 and shape.measure > 0.0:
        a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
        enclosed = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
        assert enclosed == pytest.approx(shape.measure, rel=0.04)  # both are off by up to 2 %


def test_fields_make_the_shape_again(shape, points):
    twin = decode(Annotated[Region, shape.dimension], encode(shape, FILES), FILES)
    assert type(twin) is type(shape)
    assert twin.project(points).tobytes() == shape.project(points).tobytes()
    assert twin.distance(points).tobytes() == shape.distance(points).tobytes()


def test_points_of_any_batch_shape_and_float_type(shape, points):
    for batch in BATCHES:
        given = np.broadcast_to(points[5], (*batch, shape.dimension))
        assert shape.contains(given).shape == shape.distance(given).shape == batch
        assert shape.contains(given).dtype == bool
        assert shape.project(given).shape == shape.normal(given).shape == given.shape
    few = points[np.abs(shape.distance(points) - TOLERANCE) > 1e-12][:: len(points) // 7]
    for verb in (shape.contains, shape.distance, shape.project):
        one_by_one = np.stack([verb(point) for point in few])
        assert np.allclose(verb(few[None])[0], one_by_one, rtol=0.0, atol=1e-12)
        assert np.array_equal(verb(few.tolist()), verb(few))
    single = points.astype(np.float32)
    projected = shape.project(single)
    assert projected.dtype == shape.distance(single).dtype == shape.normal(single).dtype == "f4"
    if isinstance(shape, Directional) and 0.0 < shape.measure < 1e-4:
        return  # twists change faster than float32 directions resolve
    assert shape.contains(projected).all()
    assert np.array_equal(shape.project(projected), projected)
    if isinstance(shape, Convex):
        assert shape.distance(projected.astype(np.float64)).max() < 1.1e-5
        assert lengths(projected - shape.project(points)).max() < 1e-4


def test_a_shape_owns_its_arrays_and_changes_nothing_given(shape, points):
    given = points.copy()
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        verb(given)
    assert given.tobytes() == points.tobytes()
    values = {each.name: getattr(shape, each.name) for each in fields(shape)}
    arrays = {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
    twin = type(shape)(**{**values, **arrays})
    for array in arrays.values():
        array += 100.0
    assert np.array_equal(twin.distance(points[:9]), shape.distance(points[:9]))


def test_bad_points_are_refused(shape, points):
    verbs = (shape.contains, shape.distance, shape.project, shape.normal)
    for bad in (np.nan, np.inf, -np.inf):
        given = points[:4].copy()
        given[2, 1] = bad
        for verb in (*verbs, type(shape).fit):
            with pytest.raises(ValueError, match=r"points must be finite.*\[2, 1\]"):
                verb(given)
    for wrong in ((), (2,), (5,), (3, 5), (3, 0)):
        for verb in verbs:
            with pytest.raises(ValueError, match=r"points must have shape \(..., \d\)"):
                verb(np.zeros(wrong))
    with pytest.raises(ValueError, match="at least one"):
        type(shape).fit(points[:0])
    with pytest.raises(ValueError, match="points to fit must have shape"):
        type(shape).fit(points[0])
    for margin in (-0.1, np.nan, np.inf) if type(shape).fits_margin else ():
        with pytest.raises(ValueError, match="margin must be at least 0"):
            type(shape).fit(points[:2], margin=margin)


# Limits.


@pytest.mark.parametrize("case", LIMIT_CASES, ids=" ".join)
def test_a_fit_contains_its_samples_and_a_margin_more(case):
    narrow, wide, samples = limit_of(*case), limit_of(*case, margin=0.1), samples_of(*case)
    assert narrow.contains(samples).all()
    rng = np.random.default_rng(0)
    near = quat.mul(samples, quat.exp(0.05 * random_quats(len(samples), rng)[:, 1:]))
    assert wide.contains(near).mean() > 0.95
    assert wide.volume() > narrow.volume()


def test_projected_rotations_are_legal_and_legal_ones_stay_sign_included(limit, rotations):
    legal, once = limit.contains(rotations), limit.project(rotations)
    assert limit.contains(once).all()
    assert np.abs(lengths(once) - 1.0).max() < 1e-12
    assert limit.project(once).tobytes() == once.tobytes()
    assert legal.sum() >= 300
    assert (rotations[legal, 0] < 0.0).any()
    assert once[legal].tobytes() == rotations[legal].tobytes()
    outside = (once != rotations).any(axis=1)
    assert np.array_equal(outside, ~legal)
    assert np.array_equal(limit.distance(rotations) > TOLERANCE, outside)
    assert np.array_equal(limit.violation(rotations) > 0.0, outside)
    angle, correction = quat.angle_between(rotations, once), limit.correction(rotations)
    assert np.abs(correction - angle)[outside].max() < 1e-7
    assert (limit.violation(rotations) <= correction + 1e-12).all()


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_violations_are_angles_to_the_nearest_legal_rotation(limit, rotations, margin):
    """Within 1 % or 0.1 degrees of brute force; of rugged shapes with at most one exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some reach the direction opposite the axis
        limit = replace(limit, margin=limit.margin + margin)
    outside = rotations[~limit.contains(rotations)][:: 40 if margin == 0.0 else 120]
    found, least = limit.violation(outside), smallest_angles(limit, outside)
    exceeds = found > np.maximum(1.01 * least, least + np.radians(0.1))
    assert len(outside) >= 2
    assert exceeds.sum() <= (not isinstance(limit.shape, Convex))
    nearest = limit.nearest_rotation(outside)
    assert limit.contains(nearest).all()
    assert np.abs(quat.angle_between(outside, nearest) - found).max() < 1e-9


def test_opposite_quaternions_agree(limit, rotations):
    slack = 1e-12 if isinstance(limit.shape, Convex) else 1e-8
    np.testing.assert_allclose(limit.distance(-rotations), limit.distance(rotations), atol=slack)
    one, other = limit.project(rotations), limit.project(-rotations)
    assert ((one * rotations).sum(axis=1) >= 0.0).all()
    assert ((other * -rotations).sum(axis=1) >= 0.0).all()
    if isinstance(limit.shape, Convex):
        covers = [limit.shape.distance(cover) for cover in limit.covers(rotations)]
        tied = np.ptp(np.sort(covers, axis=0)[:2], axis=0) <= 1e-9
        assert quat.angle_between(one, other)[~tied].max() < 1e-9


def test_no_sampled_legal_rotation_is_nearer(limit, rotations, rng):
    if isinstance(limit.shape, Directional):
        return
    members, rotations = limit.shape.scatter(200, rng), rotations[::6]
    distance = limit.distance(rotations) - getattr(limit.shape, "half_diagonal", 0.0)
    for cover in limit.covers(rotations):
        nearest = lengths(limit.shape.moves(cover[:, None], members)).min(axis=1)
        assert (nearest >= distance - TOLERANCE).all()


def test_rotations_of_any_batch_shape_float_type_and_layout(limit, rotations):
    for batch in BATCHES:
        given = np.broadcast_to(rotations[3], (*batch, 4))
        assert limit.contains(given).shape == limit.distance(given).shape == batch
        assert limit.violation(given).shape == batch
        assert limit.project(given).shape == (*batch, 4)
        assert limit.normal(given).shape == (*batch, limit.shape.dimension)
    for other in (np.repeat(rotations, 2, axis=0)[::2], np.asfortranarray(rotations)):
        assert np.array_equal(limit.project(other), limit.project(rotations))
        assert np.array_equal(limit.distance(other), limit.distance(rotations))
    single = rotations.astype(np.float32)
    projected = limit.project(single)
    assert projected.dtype == limit.distance(single).dtype == limit.violation(single).dtype == "f4"
    # Where the chart is steep, rounding a rotation to float32 moves its point farther.
    projected = projected[limit.chart.stretch(limit.chart.points(projected)) < 100.0]
    assert len(projected) > 0.8 * len(rotations)
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    if isinstance(limit.shape, Convex):
        assert limit.distance(projected.astype(np.float64)).max() < 1.1e-5


def test_a_limit_is_stored_by_the_names_of_its_parts(limit, rotations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        twin = decode(Limit, encode(limit, FILES), FILES)
    assert np.array_equal(twin.project(rotations[:50]), limit.project(rotations[:50]))


@pytest.mark.parametrize("softening", [Beyond(0.1), Inside(0.1)], ids=["beyond", "inside"])
def test_softened_rotations_are_near_or_inside(limit, rotations, softening):
    softened = limit.soften(rotations, softening)
    assert limit.soften(rotations[:9].astype(np.float32), softening).dtype == np.float32
    distance = limit.distance(softened)
    if isinstance(softening, Inside):
        assert (distance <= 1e-8).all()
        return
    slack = max(0.06, getattr(limit.shape, "half_diagonal", 0.0))
    slack = 1e-8 if isinstance(limit.shape, Convex) else slack
    steep = limit.chart.stretch(limit.chart.points(softened)) > 1e4  # twist is not defined
    assert (distance <= 0.1 + slack)[~steep].all()
    legal = limit.contains(rotations)
    assert np.array_equal(softened[legal], rotations[legal])


def test_a_clip_is_clamped_to_legal_rotations(limit):
    rng = np.random.default_rng(5)
    steps = np.cumsum(0.12 * rng.normal(size=(240, 3)), axis=0)
    steps = np.apply_along_axis(lambda v: np.convolve(v, np.ones(15) / 15, "same"), 0, steps)
    path = quat.mul(limit.sample(1, rng)[0], quat.exp(steps))
    clamped = clamp_path(limit, path, step_bounds(path, 1 / 60))
    assert limit.contains(clamped.rotations).all()
    changed = (clamped.rotations != path).any(axis=1)
    assert np.array_equal(np.flatnonzero(changed & limit.contains(path)), clamped.moved)
    assert limit.contains(project_path(limit, path, 1 / 60, softening=Inside(0.05))).all()


def test_the_first_exit_is_where_a_fine_walk_leaves(limit, rng):
    start, end = limit.sample(15, rng), random_quats(15, rng)
    walk = np.linspace(0.0, 1.0, 2001)
    for one, other, found in zip(start, end, first_exit(limit, start, end), strict=True):
        on = limit.distance(quat.slerp(one, other, walk)) <= TOLERANCE
        first = 1.0 if on.all() else walk[on.argmin() - 1] if on.argmin() else 0.0
        assert found <= first + 1e-3
        before = quat.slerp(one, other, np.linspace(0.0, found, 300))
        assert (limit.distance(before) <= TOLERANCE).all()
        if found < first - 1e-3:  # the walk stepped over a gap: there must be one
            beyond = quat.slerp(one, other, np.linspace(found, found + 1e-4, 200)[1:])
            assert (limit.distance(beyond) > 0.0).any()
