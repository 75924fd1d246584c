"""What every shape promises, and every limit made of one: the design's "Words and promises"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles import CASES, CLOUDS, CONVEX, THIN, cloud, fitted, queries, spanned, support
from synovia import quat
from synovia.arrays import TOLERANCE, tolerance
from synovia.charts import CHARTS
from synovia.limit import Limit
from synovia.shapes import SHAPES, Ellipsoid, Product

BATCHES = [(), (0,), (1,), (3, 1, 2)]
COLUMNS = [(0,), (1,), (2,), (0, 1), (0, 1, 2)]


def lengths(vectors):
    return np.linalg.norm(vectors, axis=-1)


def directions(n, rng, width=3):
    v = rng.normal(size=(n, width))
    return v / lengths(v)[:, None]


def curved(shape):
    return isinstance(shape, Ellipsoid) or (isinstance(shape, Product) and curved(shape.swing))


# Shapes.


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


@pytest.mark.parametrize("batch", BATCHES)
def test_answers_keep_the_batch_shape(shape, batch):
    points = np.full((*batch, 3), 0.7)
    assert shape.contains(points).shape == batch
    assert shape.contains(points).dtype == bool
    assert shape.distance(points).shape == batch
    assert shape.project(points).shape == (*batch, 3)
    assert shape.normal(points).shape == (*batch, 3)


def test_a_batch_gets_the_answers_of_its_items(shape, points):
    points = points[np.abs(shape.distance(points) - TOLERANCE) > 1e-12]
    few = points[:: len(points) // 7]
    for verb in (shape.contains, shape.distance, shape.project):
        one_by_one = np.stack([verb(point) for point in few])
        assert np.allclose(verb(few.reshape(1, -1, 3))[0], one_by_one, rtol=0.0, atol=1e-12)


def test_float32_stays_float32(shape, points):
    single = points.astype(np.float32)
    projected = shape.project(single)
    assert projected.dtype == shape.distance(single).dtype == shape.normal(single).dtype == "f4"
    assert shape.contains(projected).all()
    assert (shape.distance(projected.astype(np.float64)) <= tolerance(np.float32)).all()
    assert np.array_equal(shape.project(projected), projected)
    assert lengths(projected - shape.project(points)).max() < 1e-4


def test_integers_and_lists_are_numbers_too(shape):
    assert shape.distance([3, 0, 0]) == shape.distance(np.array([3.0, 0.0, 0.0]))


def test_nothing_given_is_changed(case, kind):
    shape = fitted(case, kind)
    points = queries(shape).copy()
    samples = cloud(kind).copy()
    before, samples_before = points.tobytes(), samples.tobytes()
    packed = shape.packed.tobytes()
    name, options = CASES[case]
    SHAPES[name].fit(samples, margin=0.1, **options)
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        verb(points)
    assert points.tobytes() == before
    assert samples.tobytes() == samples_before
    assert shape.packed.tobytes() == packed


def test_arrays_given_to_a_shape_can_be_changed_afterwards(case, rng):
    shape = fitted(case, "tilted")
    fields = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in vars(replace(shape)).items()
        if key in shape.__dataclass_fields__
    }
    twin = type(shape)(**fields)
    before = twin.distance(np.ones(3))
    for value in fields.values():
        if isinstance(value, np.ndarray):
            value += 100.0
    assert replace(twin).distance(np.ones(3)) == before


def test_margin_widens(case, kind, rng):
    narrow, wide = fitted(case, kind), fitted(case, kind, margin=0.1)
    points = queries(narrow)
    outside = narrow.distance(points) > TOLERANCE
    assert (wide.distance(points) <= narrow.distance(points) + 1e-12)[outside].all()
    assert (wide.distance(points) < narrow.distance(points) - 0.01)[
        narrow.distance(points) > 0.2
    ].all()
    assert (wide.bounds[0] <= narrow.bounds[0] - 0.1 + 1e-9).all() or curved(narrow)
    assert (wide.bounds[0] < narrow.bounds[0]).all()
    assert (wide.bounds[1] > narrow.bounds[1]).all()
    assert wide.contains(narrow.scatter(300, rng)).all()


def test_grow_contains_the_shape(shape, rng):
    assert shape.grow(0.1).contains(shape.scatter(500, rng)).all()
    assert shape.grow(0.1).contains(shape.project(6.0 * directions(500, rng))).all()
    assert (shape.grow(0.1).distance(shape.scatter(500, rng)) < 0.0).all()


def test_shrink_is_contained(shape, rng):
    for r in (1e-3, 0.1, 5.0):
        less = shape.shrink(r)
        assert shape.contains(less.scatter(300, rng)).all()
        assert shape.contains(less.project(6.0 * directions(300, rng))).all()


def test_shrink_moves_faces_in_by_r_and_shortens_radii_by_r(thick, rng):
    outwards = directions(3000, rng)
    r = 0.3 * float((support(thick, outwards) + support(thick, -outwards)).min()) / 2.0
    less = thick.shrink(r)
    round_part = getattr(thick, "swing", thick)
    if isinstance(round_part, Ellipsoid):
        shorter = getattr(less, "swing", less)
        assert np.allclose(shorter.radii, round_part.radii - r, atol=1e-12)
        return
    edge = np.concatenate([less.project(20.0 * outwards), less.scatter(1000, rng)])
    for _ in range(10):
        assert thick.contains(edge + r * directions(len(edge), rng)).all()
    assert thick.contains(edge[:3000] + r * less.normal(20.0 * outwards)).all()


def test_shrinking_by_nothing_changes_nothing(shape, points):
    same = shape.shrink(0.0).distance(points), shape.grow(0.0).distance(points)
    assert np.allclose(same, shape.distance(points), rtol=0.0, atol=1e-12)


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


def test_bounds_contain_all_members_and_no_more(shape, rng):
    low, high = shape.bounds
    assert low.shape == high.shape == (3,)
    members = np.concatenate([shape.scatter(1000, rng), shape.project(6.0 * directions(1000, rng))])
    assert (members >= low - 1e-8).all()
    assert (members <= high + 1e-8).all()
    assert np.allclose(high, support(shape, np.eye(3)), atol=1e-8)
    assert np.allclose(low, -support(shape, -np.eye(3)), atol=1e-8)


@pytest.mark.parametrize("columns", COLUMNS)
def test_no_member_is_beyond_reach(shape, columns, rng):
    members = np.concatenate(
        [shape.scatter(1000, rng), shape.project(20.0 * directions(1000, rng))]
    )
    reach = shape.reach(columns)
    farthest = lengths(members[:, columns]).max()
    assert farthest <= reach + 1e-8
    assert reach <= 2.0 * farthest + 1e-8


def test_the_surface_is_on_the_boundary(shape, rng):
    surface = shape.surface()
    distance = shape.distance(surface.vertices)
    assert np.abs(distance).max() <= TOLERANCE
    triangles = surface.vertices[surface.triangles]
    assert triangles.shape[1:] == (3, 3)
    inner = np.einsum("ntk,tki->nti", rng.dirichlet(np.ones(3), (5, len(triangles))), triangles)
    assert shape.contains(inner).all()
    if not curved(shape):
        assert np.abs(shape.distance(inner)).max(initial=0.0) <= TOLERANCE


def test_triangles_face_outwards(thick):
    surface = thick.surface()
    a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
    normal = np.cross(b - a, c - a)
    area = lengths(normal) / 2.0
    middle = surface.vertices.mean(axis=0)
    assert ((normal * (a - middle)).sum(axis=1) >= -1e-12).all()
    normal = normal[area > 1e-9] / (2.0 * area[area > 1e-9, None])
    gap = support(thick, normal) - (normal * a[area > 1e-9]).sum(axis=1)
    assert gap.min() >= -1e-9
    if not curved(thick):
        assert gap.max() < 1e-7


def test_the_surface_is_closed_and_encloses_the_measure(thick):
    def volume(surface):
        a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
        return float((np.cross(a, b) * c).sum()) / 6.0

    surface = thick.surface(detail=4)
    edges = surface.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    forward = {tuple(edge) for edge in edges.tolist()}
    assert len(forward) == len(edges)
    assert {(b, a) for a, b in forward} == forward
    assert volume(surface) == pytest.approx(thick.measure, rel=0.02 if curved(thick) else 1e-6)


def test_more_detail_comes_nearer_to_a_curved_boundary(thick, rng):
    if not curved(thick):
        assert len(thick.surface(4).vertices) == len(thick.surface(2).vertices)
        return

    def sag(detail):
        surface = thick.surface(detail)
        return -thick.distance(surface.vertices[surface.triangles].mean(axis=1)).min()

    if isinstance(thick, Ellipsoid):
        assert sag(4) < sag(3) / 3 < sag(2) / 9
    assert len(thick.surface(4).vertices) > 2 * len(thick.surface(2).vertices)


def test_what_to_dict_writes_from_dict_reads(shape, points):
    fields = shape.to_dict()
    assert fields.pop("type") == shape.name
    twin = type(shape).from_dict(fields)
    assert type(twin) is type(shape)
    assert twin.project(points).tobytes() == shape.project(points).tobytes()
    assert twin.distance(points).tobytes() == shape.distance(points).tobytes()


def test_to_dict_survives_plain_lists(shape, points):
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value.tolist() if isinstance(value, np.ndarray) else value

    fields = plain(shape.to_dict())
    del fields["type"]
    assert np.array_equal(type(shape).from_dict(fields).project(points), shape.project(points))


def test_scattered_points_are_members(shape, rng):
    points = shape.scatter(500, rng)
    assert points.shape == (500, 3)
    assert shape.contains(points).all()
    assert shape.scatter(0, rng).shape == (0, 3)


def test_scattered_points_span_what_the_shape_spans(shape, kind, rng):
    rim = shape.project(20.0 * directions(400, rng))
    assert spanned(shape.scatter(400, rng)) == spanned(rim)
    if shape.measure > 0.0:
        assert spanned(rim) == 3


@pytest.mark.parametrize("name", [name for name in CONVEX if name != "product"])
@pytest.mark.parametrize(("kind", "dimensions"), list(zip(THIN, (0, 1, 2), strict=True)))
def test_thin_data_make_thin_shapes(name, kind, dimensions, rng):
    shape = SHAPES[name].fit(cloud(kind))
    assert spanned(shape.scatter(400, rng)) == dimensions
    assert shape.measure == 0.0
    assert SHAPES[name].fit(cloud(kind), margin=0.01).measure > 0.0


def test_scattered_points_are_uniform(thick, rng):
    low, high = thick.bounds
    inside = rng.uniform(low, high, size=(60_000, 3))
    inside = inside[thick.contains(inside)]
    assert len(inside) > 100
    scattered = thick.scatter(20_000, rng)
    for power in (1, 2):
        a, b = inside**power, scattered**power
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4.5 * error).all()


def test_the_measure_is_the_volume(thick, rng):
    low, high = thick.bounds
    n = 60_000
    share = thick.contains(rng.uniform(low, high, size=(n, 3))).mean()
    error = np.sqrt(share * (1.0 - share) / n)
    assert abs(thick.measure / np.prod(high - low) - share) < 4.0 * error + 1e-9


# Errors.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_points_must_be_finite(case, bad):
    shape = fitted(case, "round")
    points = np.zeros((4, 3))
    points[2, 1] = bad
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        with pytest.raises(ValueError, match=r"points must be finite.*\[2, 1\]"):
            verb(points)
    with pytest.raises(ValueError, match="points must be finite"):
        type(shape).fit(points)


@pytest.mark.parametrize("wrong", [(), (2,), (4,), (3, 4), (3, 0)])
def test_points_must_have_the_right_width(case, wrong):
    shape = fitted(case, "round")
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        with pytest.raises(ValueError, match=r"points must have shape \(..., 3\)"):
            verb(np.zeros(wrong))


def test_a_fit_needs_points(case):
    name, options = CASES[case]
    with pytest.raises(ValueError, match="at least one point"):
        SHAPES[name].fit(np.zeros((0, 3)), **options)
    with pytest.raises(ValueError, match=r"points to fit must have shape .*, got \(3,\)"):
        SHAPES[name].fit(np.zeros(3), **options)
    with pytest.raises(ValueError, match=r"points to fit must have shape"):
        SHAPES[name].fit(np.zeros((5, 4)), **options)


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf])
def test_margin_must_be_at_least_zero(case, margin):
    name, options = CASES[case]
    with pytest.raises(ValueError, match="margin must be at least 0"):
        SHAPES[name].fit(cloud("round"), margin=margin, **options)


# Limits: shapes seen through charts.


def test_projected_rotations_are_legal(limit, rotations):
    projected = limit.project(rotations)
    assert limit.contains(projected).all()
    assert np.abs(lengths(projected) - 1.0).max() < 1e-12


def test_projecting_rotations_twice_changes_nothing(limit, rotations):
    once = limit.project(rotations)
    assert np.array_equal(limit.project(once), once)


def test_a_legal_rotation_comes_back_bit_for_bit_sign_included(limit, rotations):
    legal = rotations[limit.contains(rotations)]
    assert len(legal) >= 200
    assert (legal[:, 0] < 0.0).any()
    assert limit.project(legal).tobytes() == legal.tobytes()


def test_a_rotation_and_its_negative_agree(limit, rotations):
    assert np.allclose(limit.distance(-rotations), limit.distance(rotations), rtol=0.0, atol=1e-12)
    apart = quat.angle_between(limit.project(-rotations), limit.project(rotations))
    distances = np.sort([limit.shape.distance(cover) for cover in limit.covers(rotations)], axis=0)
    tied = distances[1] - distances[0] <= 1e-9
    assert apart[~tied].max() < 1e-9
    same_side = (limit.project(-rotations) * -rotations).sum(axis=1)
    assert (same_side >= 0.0).all()


def test_legal_is_what_moves_nowhere(limit, rotations):
    legal = limit.contains(rotations)
    moved = (limit.project(rotations) != rotations).any(axis=1)
    assert np.array_equal(legal, ~moved)
    assert np.array_equal(limit.distance(rotations) <= TOLERANCE, legal)
    assert np.array_equal(limit.violation(rotations) > 0.0, moved)


def test_no_sampled_legal_rotation_is_nearer(limit, rotations):
    members = limit.shape.scatter(200, np.random.default_rng(1))
    distance = limit.distance(rotations)
    for cover in limit.covers(rotations):
        nearest = lengths(cover[:, None] - members).min(axis=1)
        assert (nearest >= distance - TOLERANCE).all()


@pytest.mark.parametrize("batch", BATCHES)
def test_limits_keep_the_batch_shape(limit, batch):
    rotations = np.broadcast_to(quat.exp(np.array([1.0, 2.0, 0.5])), (*batch, 4))
    assert limit.contains(rotations).shape == batch
    assert limit.distance(rotations).shape == batch
    assert limit.violation(rotations).shape == batch
    assert limit.project(rotations).shape == (*batch, 4)
    assert limit.normal(rotations).shape == (*batch, 3)


def test_limits_keep_float32(limit, rotations):
    single = rotations.astype(np.float32)
    projected = limit.project(single)
    assert projected.dtype == np.float32
    assert limit.distance(single).dtype == limit.violation(single).dtype == np.float32
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    assert (limit.distance(projected.astype(np.float64)) <= 1e-5).all()


def test_limits_change_nothing_they_are_given(limit, rotations):
    given = rotations.copy()
    for verb in (limit.contains, limit.distance, limit.project, limit.violation, limit.normal):
        verb(given)
    assert given.tobytes() == rotations.tobytes()


def test_strided_rotations_give_the_same_answers(limit, rotations):
    wide = np.repeat(rotations, 2, axis=0)[::2]
    fortran = np.asfortranarray(rotations)
    for other in (wide, fortran):
        assert np.array_equal(limit.project(other), limit.project(rotations))
        assert np.array_equal(limit.distance(other), limit.distance(rotations))


def test_a_limit_saves_the_names_of_its_parts(limit):
    fields = limit.to_dict()
    assert fields["chart"].pop("type") in CHARTS
    chart = type(limit.chart).from_dict(fields["chart"])
    shape = dict(fields["shape"])
    twin = Limit(chart, SHAPES[shape.pop("type")].from_dict(shape))
    rotations = quat.exp(np.random.default_rng(0).normal(size=(50, 3)))
    assert np.array_equal(twin.project(rotations), limit.project(rotations))


def test_every_case_is_a_registered_shape():
    assert {name for name, _ in CASES.values()} == set(CONVEX)
    assert len(CLOUDS) == 7
