"""What cones, tables and fields promise: the design's "Words and promises", family by family."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

from oracles import BATCHES, CONVEX, EXHAUSTIVE, placed, random_quats
from synovia import Beyond, Inside, first_exit, quat
from synovia.arrays import TOLERANCE
from synovia.limit import Limit
from synovia.model import clamp_path, project_path
from synovia.shapes import SHAPES, Directional

FAMILIES = [
    (name, chart)
    for name, shape in SHAPES.items()
    if name not in CONVEX and name != "union"
    for chart in shape.charts
]
KINDS = ("elongated", "wide", "islands", "one")
if EXHAUSTIVE:
    KINDS += ("round", "hinge")
# Softening packs a field anew for each of its levels, which takes long where cells are many.
OPTIONS = {} if EXHAUSTIVE else {"distance-field": {"resolution": 20}}


@cache
def cloud(kind):
    """Rotations, as samples of a fit, about a reference that is nothing special."""
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(300, 3))
    side = np.where(np.arange(300) % 2 == 0, 1.0, -1.0)[:, None]
    vectors = {
        "round": lambda: 0.3 * normal,
        "elongated": lambda: normal * [0.7, 0.15, 0.3],
        "wide": lambda: normal * [0.9, 0.8, 0.6],
        "islands": lambda: 0.12 * normal + side * [0.8, 0.0, 0.0],
        "hinge": lambda: normal[:, :1] * [0.5, 0.1, 0.2],
        "one": lambda: np.array([[0.2, -0.1, 0.4]]),
    }[kind]()
    rotations = quat.mul(placed("rotation-vector").reference, quat.exp(vectors))
    rotations.flags.writeable = False
    return rotations


@cache
def fitted(family, kind, margin=0.0):
    name, chart = family
    axis = placed(chart).axis if hasattr(placed(chart), "axis") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some contain the direction opposite the axis
        return Limit.fit(
            cloud(kind), name, chart, margin=margin, axis=axis, **OPTIONS.get(name, {})
        )


@cache
def asked(family, kind):
    """Rotations all over, near the limit, on it, just outside and inside; locked."""
    limit, rng = fitted(family, kind), np.random.default_rng(11)
    everywhere = random_quats(600, rng)
    legal = limit.chart.rotations(limit.shape.scatter(200, rng))
    near = quat.mul(legal, quat.exp(0.2 * rng.normal(size=(200, 3))))
    rim = limit.project(everywhere[:200])
    beyond = quat.slerp(rim, everywhere[:200], 10.0 ** rng.uniform(-10, -1, size=200))
    rotations = np.concatenate([everywhere, legal, near, rim, beyond, -legal])
    rotations = quat.normalize(rotations)
    rotations.flags.writeable = False
    return rotations


@pytest.fixture(params=FAMILIES, ids=" in ".join)
def family(request):
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def limit(family, kind):
    return fitted(family, kind)


@pytest.fixture
def shape(limit):
    return limit.shape


@pytest.fixture
def rotations(family, kind):
    return asked(family, kind)


@pytest.fixture
def points(limit, rotations):
    points = limit.chart.points(rotations)
    points.flags.writeable = False
    return points


def lengths(vectors):
    return np.linalg.norm(vectors, axis=-1)


def moved(shape, points, length, rng):
    """Points moved by `length` in any direction of the chart."""
    move = rng.normal(size=points.shape)
    if isinstance(shape, Directional):
        direction = points[:, :3]
        move[:, :3] -= (move[:, :3] * direction).sum(axis=1, keepdims=True) * direction
        move *= (length / lengths(move))[:, None]
        angle = lengths(move[:, :3])[:, None]
        turned = np.cos(angle) * direction + np.sinc(angle / np.pi) * move[:, :3]
        turned /= lengths(turned)[:, None]
        return np.concatenate([turned, points[:, 3:] + move[:, 3:]], axis=1)
    return points + move * (length / lengths(move))[:, None]


def test_a_fit_contains_every_sample(limit, kind):
    assert limit.contains(cloud(kind)).all()


def test_projected_points_are_inside_and_stay(shape, points):
    once = shape.project(points)
    assert shape.contains(once).all()
    assert shape.project(once).tobytes() == once.tobytes()


def test_a_member_comes_back_bit_for_bit(shape, points):
    members = points[shape.contains(points)]
    assert len(members) > 100
    assert shape.project(members).tobytes() == members.tobytes()


def test_distance_is_positive_exactly_outside_and_the_length_of_the_move(shape, points):
    distance = shape.distance(points)
    move = lengths(shape.moves(points, shape.project(points)))
    outside = ~shape.contains(points)
    assert outside.any()
    assert (distance[outside] > TOLERANCE).all()
    assert (distance[~outside] <= TOLERANCE).all()
    assert (move[~outside] == 0.0).all()
    assert np.abs(distance - move)[outside].max() < 1e-9


def test_the_depth_inside_is_never_overstated(shape, points, rng):
    distance = shape.distance(points)
    inner = points[distance < 0.0]
    depth = -distance[distance < 0.0]
    for share in (1.0, 0.999, 0.5):
        for _ in range(20):
            assert (shape.distance(moved(shape, inner, share * depth, rng)) <= 1e-8).all()


def test_thick_shapes_have_members_deep_inside(family, rng):
    shape = fitted(family, "round").shape
    assert shape.distance(shape.scatter(3000, rng)).min() < -0.02


def test_no_sampled_member_is_nearer_than_promised(shape, points, rng):
    members = shape.scatter(3000, rng)
    outside = points[~shape.contains(points)][::3]
    if isinstance(shape, Directional):
        nearest = np.arccos(np.clip(outside[:, :3] @ members[:, :3].T, -1.0, 1.0)).min(axis=1)
        angle = lengths(shape.moves(outside, shape.project(outside))[:, :3])
        assert (angle <= nearest + 1e-7).all()
    else:
        nearest = np.min([lengths(shape.moves(outside, m)) for m in members[:, None]], axis=0)
        missed = getattr(shape, "half_diagonal", 0.0)  # by a field
        assert (shape.distance(outside) <= nearest + missed + 1e-9).all()


@pytest.mark.parametrize("batch", BATCHES)
def test_answers_keep_the_batch_shape(family, batch):
    limit = fitted(family, "round")
    shape, rotations = limit.shape, np.broadcast_to(cloud("wide")[5], (*batch, 4))
    points = np.broadcast_to(limit.chart.points(cloud("wide")[5]), (*batch, shape.dimension))
    for who, given, width in ((shape, points, shape.dimension), (limit, rotations, 4)):
        assert who.contains(given).shape == who.distance(given).shape == batch
        assert who.project(given).shape == (*batch, width)
        assert who.normal(given).shape == (*batch, shape.dimension)


def test_a_batch_gets_the_answers_of_its_items(shape, points):
    few = points[:: len(points) // 9]
    for verb in (shape.contains, shape.distance, shape.project):
        one_by_one = np.stack([verb(point) for point in few])
        assert np.allclose(verb(few), one_by_one, rtol=0.0, atol=1e-12)


def test_float32_stays_float32(limit, rotations):
    single = rotations.astype(np.float32)
    projected = limit.project(single)
    assert projected.dtype == limit.distance(single).dtype == np.float32
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)


def test_grow_contains_the_shape_and_shrink_is_contained(shape, rng):
    members = shape.scatter(500, rng)
    assert shape.grow(0.1).contains(members).all()
    assert (shape.grow(0.1).distance(members) < 1e-9).all()
    for r in (1e-3, 0.05, 5.0):
        assert shape.contains(shape.shrink(r).scatter(300, rng)).all()


def test_margin_widens(family, kind):
    narrow, wide = fitted(family, kind), fitted(family, kind, margin=0.1)
    rng = np.random.default_rng(0)
    nearby = quat.mul(cloud(kind), quat.exp(0.05 * random_quats(len(cloud(kind)), rng)[:, 1:]))
    assert wide.contains(nearby).mean() > 0.97
    assert wide.volume() > narrow.volume()


def test_the_normal_is_unit_and_the_direction_of_the_move(shape, points):
    normal = shape.normal(points)
    assert np.abs(lengths(normal) - 1.0).max() < 1e-6
    outside = points[shape.distance(points) > 1e-5]
    move = shape.moves(outside, shape.project(outside))
    cosine = -(move * shape.normal(outside)).sum(axis=1) / lengths(move)
    assert cosine.min() > 1.0 - 1e-6


def test_bounds_contain_all_members(shape, points, rng):
    low, high = shape.bounds
    members = np.concatenate([shape.scatter(1000, rng), shape.project(points)])[:, :3]
    assert (members >= low[:3] - 1e-8).all()
    assert (members <= high[:3] + 1e-8).all()


def test_the_surface_is_on_the_boundary(shape):
    surface = shape.surface()
    assert surface.vertices.shape[1] == shape.dimension
    assert surface.triangles.max(initial=-1) < len(surface.vertices)
    assert len(surface.triangles) > 0 or shape.measure == 0.0
    assert np.abs(shape.distance(surface.vertices)).max(initial=0.0) < 1e-7


def test_what_to_dict_writes_from_dict_reads(shape, points):
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value.tolist() if isinstance(value, np.ndarray) else value

    for fields in (shape.to_dict(), plain(shape.to_dict())):
        assert fields.pop("type") == shape.name
        twin = type(shape).from_dict(fields)
        assert twin.project(points).tobytes() == shape.project(points).tobytes()


def test_scattered_points_are_members(shape, rng):
    scattered = shape.scatter(500, rng)
    assert scattered.shape == (500, shape.dimension)
    assert shape.contains(scattered).all()
    assert shape.scatter(0, rng).shape == (0, shape.dimension)


@pytest.mark.parametrize("kind", ["round", "wide", "islands"])
def test_volume_and_sample_agree_with_uniform_rotations(family, kind, rng):
    limit = fitted(family, kind)
    everywhere = random_quats(200_000, rng)
    legal = everywhere[limit.contains(everywhere)]
    share = len(legal) / len(everywhere)
    error = np.hypot(np.sqrt(share * (1.0 - share) / len(everywhere)), 0.006 * share)
    assert abs(limit.volume() - share) < 4.0 * error
    sample = limit.sample(4000, rng)
    assert limit.contains(sample).all()
    for center in (limit.chart.reference, *random_quats(2, rng)):
        a, b = quat.angle_between(legal, center), quat.angle_between(sample, center)
        assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(a.var() / len(a) + b.var() / len(b))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_points_must_be_finite_and_of_the_right_width(family, bad):
    limit = fitted(family, "round")
    points = np.tile(limit.chart.points(cloud("round")[0]), (4, 1))
    points[2, 1] = bad
    for verb in (limit.shape.contains, limit.shape.distance, limit.shape.project):
        with pytest.raises(ValueError, match="points must be finite"):
            verb(points)
        with pytest.raises(ValueError, match="points must have shape"):
            verb(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="finite"):
        type(limit.shape).fit(points)
    with pytest.raises(ValueError, match="at least one"):
        type(limit.shape).fit(points[:0])
    if limit.shape.fits_margin:
        with pytest.raises(ValueError, match="margin must be at least 0"):
            type(limit.shape).fit(points[:2], margin=-1.0)


# Limits.


def test_projected_rotations_are_legal_and_stay(limit, rotations):
    once = limit.project(rotations)
    assert limit.contains(once).all()
    assert np.array_equal(limit.project(once), once)
    assert np.abs(lengths(once) - 1.0).max() < 1e-12


def test_a_legal_rotation_comes_back_bit_for_bit_sign_included(limit, rotations):
    legal = rotations[limit.contains(rotations)]
    assert len(legal) >= 300
    assert (legal[:, 0] < 0.0).any()
    assert limit.project(legal).tobytes() == legal.tobytes()
    assert (limit.violation(legal) == 0.0).all()


def test_legal_is_what_moves_nowhere(limit, rotations):
    legal = limit.contains(rotations)
    moved_ = (limit.project(rotations) != rotations).any(axis=1)
    assert np.array_equal(legal, ~moved_)
    assert np.array_equal(limit.distance(rotations) <= TOLERANCE, legal)
    assert np.array_equal(limit.violation(rotations) > 0.0, moved_)


def test_a_rotation_and_its_negative_agree(limit, rotations):
    assert np.allclose(limit.distance(-rotations), limit.distance(rotations), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("softening", [Beyond(0.1), Inside(0.1)], ids=["beyond", "inside"])
def test_softened_rotations_are_near_or_inside(limit, rotations, softening):
    softened = limit.soften(rotations, softening)
    distance = limit.distance(softened)
    if isinstance(softening, Inside):
        assert (distance <= 1e-8).all()
    else:
        missed = max(0.06, getattr(limit.shape, "half_diagonal", 0.0))  # by a field
        assert (distance <= 0.1 + missed).all()
        legal = limit.contains(rotations)
        assert np.array_equal(softened[legal], rotations[legal])


def test_a_clip_is_clamped_to_legal_rotations(limit, kind):
    rng = np.random.default_rng(5)
    steps = np.cumsum(0.12 * rng.normal(size=(240, 3)), axis=0)
    steps = np.apply_along_axis(lambda v: np.convolve(v, np.ones(15) / 15, "same"), 0, steps)
    path = quat.mul(cloud(kind)[0], quat.exp(steps))
    clamped = clamp_path(limit, path, 1 / 60)
    assert limit.contains(clamped.rotations).all()
    changed = (clamped.rotations != path).any(axis=1)
    assert np.array_equal(np.flatnonzero(changed & limit.contains(path)), clamped.moved)
    assert limit.contains(project_path(limit, path, 1 / 60, softening=Inside(0.05))).all()


def test_the_first_exit_is_where_a_fine_walk_leaves(limit, rng):
    start = limit.sample(25, rng)
    end = random_quats(25, rng)
    exits = first_exit(limit, start, end)
    walk = np.linspace(0.0, 1.0, 2001)
    for k in range(len(start)):
        on = limit.distance(quat.slerp(start[k], end[k], walk)) <= TOLERANCE
        first = 1.0 if on.all() else walk[on.argmin() - 1] if on.argmin() else 0.0
        assert exits[k] <= first + 1e-3
        before = quat.slerp(start[k], end[k], np.linspace(0.0, exits[k], 300))
        assert (limit.distance(before) <= TOLERANCE).all()
        if exits[k] < first - 1e-3:  # the walk stepped over a gap: there must be one
            beyond = quat.slerp(start[k], end[k], np.linspace(exits[k], exits[k] + 1e-4, 200)[1:])
            assert (limit.distance(beyond) > 0.0).any()


def test_a_limit_saves_the_names_of_its_parts(limit):
    fields = limit.to_dict()
    chart, shape = dict(fields["chart"]), dict(fields["shape"])
    assert chart.pop("type") == limit.chart.name
    assert shape.pop("type") == limit.shape.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        twin = Limit(type(limit.chart)(**chart), type(limit.shape).from_dict(shape))
    rotations = random_quats(50, np.random.default_rng(0))
    assert np.array_equal(twin.project(rotations), limit.project(rotations))
