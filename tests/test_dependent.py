"""What limits that depend on another joint promise, for every family on either side."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cones import ring
from oracles import BATCHES, random_quats, smallest_angles
from synovia import quat
from synovia.charts import DirectionTwist, Hinges, RotationVector, SwingTwist
from synovia.io.limits import FILES
from synovia.kernels.dependent import values_at
from synovia.kernels.vector import Quat
from synovia.limit import (
    DependentLimit,
    DependentMargin,
    DependentRange,
    Limit,
    mirror_rotations,
)
from synovia.limit.node_grid import NodeGrid, _lattice
from synovia.model import Coupled
from synovia.schema import decode, encode
from synovia.shapes import SHAPES, Box, Product, ReachCone

AXIS = np.array([0.0, -1.0, 0.0])
NORMAL = np.array([0.6, 0.0, 0.8])
REST = np.tile(quat.IDENTITY, (2, 1))
FARTHER, AND = 1.02, np.radians(0.1)  # than the nearest, at most


@cache
def own_limit(family: str) -> Limit:
    """A limit of this family that reaches half a radian or so, more along one axis."""
    rng = np.random.default_rng(4)
    samples = quat.exp(rng.normal(size=(300, 3)) * [0.4, 0.25, 0.3])
    if family == "hinges":
        return Limit.fit(samples, "box", chart="hinges", along="chart", margin=0.1)
    chart = SHAPES[family].charts[0]
    axis = {"axis": AXIS} if chart in (SwingTwist.name, DirectionTwist.name) else {}
    return Limit.fit(samples, family, margin=0.1, **axis)


@cache
def hinge() -> DependentRange:
    """A knee with a little play to its sides, whose ends vary with the hip."""
    rng = np.random.default_rng(1)
    box = Box(low=[-0.3, -0.05, -0.1], high=[2.6, 0.05, 0.1], axes=np.eye(3))
    low, high = rng.uniform(-0.3, 0.6, 18), rng.uniform(1.0, 2.6, 18)
    turned = quat.exp(np.array([0.2, 0.5, -0.3]))
    return DependentRange(
        Limit(RotationVector(), box), "Hip", AXIS, low, high, [1, 0, 0], frame=turned
    )


def twisted() -> DependentRange:
    """A ball joint whose twist is narrower at some rotations of the other."""
    swing = Box(low=[-0.5, -0.4], high=[0.6, 0.3], axes=np.eye(2))
    limit = Limit(SwingTwist(axis=AXIS), Product(swing, -0.9, 0.8))
    rng = np.random.default_rng(2)
    low, high = rng.uniform(-0.9, -0.1, 66), rng.uniform(0.0, 0.8, 66)
    return DependentRange(limit, "Hip", AXIS, low, high, [0, 0, 1])


@cache
def hinge_by_rotation() -> DependentRange:
    """A knee whose ends vary with the hip's twist as well."""
    rng, turned = np.random.default_rng(4), quat.exp(np.array([0.2, 0.5, -0.3]))
    low, high = rng.uniform(-0.3, 0.6, 44), rng.uniform(1.0, 2.6, 44)
    return replace(hinge(), low=low, high=high, bone_frame=quat.inverse(turned))


@cache
def narrower(family: str) -> DependentMargin:
    limit = replace(own_limit(family), margin=0.2)
    margin = np.random.default_rng(3).uniform(0.0, 0.2, 18)
    return DependentMargin(limit, "Hip", AXIS, margin)


PAIRS = {
    **{f"a box drives a {name}": ("box", name) for name in SHAPES},
    "a distance-field drives a hinge": ("distance-field", "range"),
    "a reach-cone drives a twist": ("reach-cone", "twist"),
    "a kdop drives a hinge, by its twist too": ("kdop", "by rotation"),
    "hinges drive a hinge": ("hinges", "range"),
    "what is free drives a hinge": (None, "range"),
}


@cache
def pair_of(name: str) -> Coupled:
    driver, kind = PAIRS[name]
    dependent = {"range": hinge, "twist": twisted, "by rotation": hinge_by_rotation}.get(
        kind, lambda: narrower(kind)
    )()
    return coupled(None if driver is None else own_limit(driver), dependent)


def coupled(driver: Limit | None, dependent: DependentLimit) -> Coupled:
    return Coupled("Hip", driver, {"Knee": dependent})


@cache
def rotations_of(name: str):
    """Pairs (28, 2, 4): many are legal, others a little or far outside; some with w < 0."""
    rng = np.random.default_rng(5)
    some = pair_of(name).sample(12, rng, REST)
    near = quat.mul(some, quat.exp(0.3 * rng.normal(size=(12, 2, 3))))
    return np.concatenate([some, near, random_quats(8, rng).reshape(4, 2, 4)])


@cache
def projected(name: str):
    return pair_of(name).project(rotations_of(name))


@pytest.fixture(params=PAIRS)
def name(request):
    return request.param


@pytest.fixture
def pair(name):
    return pair_of(name)


@pytest.fixture
def dependent(pair):
    return pair.followers["Knee"]


@pytest.fixture
def rotations(name):
    return rotations_of(name)


def test_projected_pairs_are_legal_and_stay(pair, name):
    once = projected(name)
    assert pair.contains(once).all()
    assert pair.project(once).tobytes() == once.tobytes()


def test_legal_pairs_come_back_bit_for_bit_and_only_these(pair, rotations, name):
    legal = pair.contains(rotations)
    assert 10 < legal.sum() < len(legal) - 3
    assert rotations[legal].tobytes() == projected(name)[legal].tobytes()
    assert np.array_equal((rotations != projected(name)).any(axis=(1, 2)), ~legal)


def driver_move(pair, driver, tried):
    """How far rotations of the driver are from one of them, in its chart."""
    if pair.driver_limit is None:
        return quat.angle_between(np.broadcast_to(driver, tried.shape), tried)
    chart, shape = pair.driver_limit.chart, pair.driver_limit.shape
    here, shifts = chart.points(driver), chart.shifts(chart.points(tried), 1)
    return np.min([np.linalg.norm(shape.moves(here, each), axis=-1) for each in shifts], axis=0)


def brute_force(pair, driver, rotation, rng):
    """The least distance over thousands of legal rotations of the driver."""
    far = np.repeat([2.0, 0.5, 0.1, 0.02], 2000)[:, None]
    tried = quat.mul(driver, quat.exp(far * rng.uniform(-1.0, 1.0, size=(len(far), 3))))
    tried = tried if pair.driver_limit is None else pair.driver_limit.project(tried)
    gap = pair.followers["Knee"].distance(np.broadcast_to(rotation, tried.shape), tried)
    return np.hypot(driver_move(pair, driver, tried), np.maximum(gap, 0.0)).min()


def test_no_legal_pair_is_much_nearer(pair, dependent, rotations, name):
    rng = np.random.default_rng(6)
    outside = np.flatnonzero(~pair.contains(rotations))
    for k in rng.choice(outside, 4, replace=False):
        (driver, rotation), (moved, own) = rotations[k], projected(name)[k]
        if pair.driver_limit is not None:
            nearest = pair.driver_limit.project(driver)
            if dependent.contains(rotation, nearest):  # it is enough that the driver moves
                assert np.array_equal(moved, nearest)
                continue
        gap = max(dependent.distance(rotation, moved), 0.0)
        distance = np.hypot(driver_move(pair, driver, moved), gap)
        assert distance <= FARTHER * brute_force(pair, driver, rotation, rng) + AND
        assert dependent.contains(own, moved)


def test_violations_of_a_follower_are_angles_to_its_nearest_legal_rotation(dependent):
    rng = np.random.default_rng(6)
    driver, rotations = random_quats(4, rng), random_quats(4, rng)
    found = dependent.violation(rotations, driver)
    limits = [dependent.limit_at(each) for each in driver]
    seen = zip(limits, rotations, strict=True)
    least = np.array([smallest_angles(limit, each[None])[0] for limit, each in seen])
    assert (found <= np.maximum(1.01 * least, least + np.radians(0.1))).all()
    assert (found >= 0.99 * least - np.radians(0.1)).all()


def test_samples_are_legal_and_part_of_what_both_could_do_alone(pair):
    assert pair.contains(pair.sample(50, np.random.default_rng(9), REST)).all()
    share = pair.share_of_product(2000)
    assert 0.05 < share < 1.0


def test_a_mirror_shows_what_is_legal_of_the_other_side(dependent, rotations):
    shown = dependent.mirror(NORMAL, "RightHip")
    assert shown.driver == "RightHip"
    pairs = (shown, mirror_rotations(rotations, NORMAL)), (dependent, rotations)
    distances = [limit.distance(both[:, 1], both[:, 0]) for limit, both in pairs]
    exact = dependent.limit.shape.name != "distance-field"  # whose nodes are elsewhere
    assert np.allclose(*distances, atol=1e-9 if exact else 0.1)


def test_what_is_legal_at_one_rotation_of_the_driver_is_a_limit(dependent, rotations):
    driver, own = rotations[:, 0], rotations[:, 1]
    for k in (0, 14, 27):
        at = dependent.limit_at(driver[k])
        near = np.abs(dependent.distance(own, driver[k])) < 0.02
        same = at.contains(own) == dependent.contains(own, driver[k])
        assert same[~near].all()


@pytest.mark.parametrize("make", [hinge, hinge_by_rotation])
def test_other_frames_of_the_driver_are_the_same_limit(make, rng):
    parent, child, driver, own = (random_quats(1 if k < 2 else 50, rng) for k in range(4))
    there = make().in_frames(parent[0], child[0])
    turned = quat.mul(quat.mul(parent, driver), quat.inverse(child))
    assert np.allclose(there.distance(own, turned), make().distance(own, driver), atol=1e-12)
    at_nodes = there.values_at(there.nodes) if there.by_rotation else there.values
    assert np.allclose(at_nodes, make().values, atol=1e-12)


def test_a_dependent_limit_is_what_it_was_from_its_fields():
    for one in (hinge(), hinge_by_rotation(), narrower("kdop")):
        given = encode(one, FILES)
        assert given["type"] == one.name
        assert "limit" not in given
        again = decode(DependentLimit, given, FILES)(limit=one.limit)
        assert np.array_equal(again.values, one.values)
        assert np.array_equal(again.bone_frame, one.bone_frame)


@pytest.mark.parametrize("batch", BATCHES)
def test_pairs_keep_the_shape_of_a_batch(batch):
    pair = coupled(own_limit("box"), hinge())
    ones = np.broadcast_to(quat.exp(np.array([0.9, 0.9, 0.9])), (*batch, 2, 4))
    assert pair.distance(ones).shape == (*batch, 2)
    assert pair.project(ones).shape == (*batch, 2, 4)


def test_single_precision_stays():
    pair = coupled(own_limit("box"), hinge())
    rotations = random_quats(100, np.random.default_rng(0)).reshape(50, 2, 4).astype(np.float32)
    projected = pair.project(rotations)
    assert projected.dtype == np.float32
    assert pair.contains(projected).all()


@pytest.mark.parametrize("make", [hinge, twisted, lambda: narrower("box")])
def test_what_is_shrunk_is_inside_by_as_much_where_there_is_room(make, rng):
    each, r = make(), 0.01
    smaller = each.shrink(r)
    driver, far = random_quats(300, rng), random_quats(300, rng)
    depth = -each.distance(smaller.project(far, driver), driver)
    room = -each.distance(smaller.limit_at(driver[0]).sample(300, rng), driver[0])
    assert min(depth.min(), room.min()) > -1e-9
    assert np.median(depth) > 0.9 * r


def test_the_deepest_direction_is_in_the_middle_of_a_cone():
    points = ring(np.arange(8) * 45.0, np.full(8, 40.0))
    cone = ReachCone(points, -2.0, 2.0)
    exact = np.arctan(np.tan(np.radians(40.0)) * np.cos(np.pi / 8))
    assert -cone.distance(cone.deepest) == pytest.approx(exact, abs=1e-6)


def test_hinges_that_cannot_make_all_rotations_are_refused():
    box = Box([-0.5] * 3, [0.5] * 3, np.eye(3))
    folding = Limit(Hinges(axes=[[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]]), box)
    with pytest.raises(ValueError, match="must be in a chart that has all rotations, got hinges"):
        DependentMargin(replace(folding, margin=0.1), "Hip", AXIS, np.full(6, 0.1))
    ends = {"low": np.zeros(6), "high": np.full(6, 0.3)}
    with pytest.raises(ValueError, match="must be in a chart that has all rotations, got hinges"):
        DependentRange(folding, "Hip", AXIS, **ends, along=[1, 0, 0])
    DependentRange(replace(folding, chart=Hinges()), "Hip", AXIS, **ends, along=[1, 0, 0])


def test_what_cannot_be_is_refused():
    limit, ends = hinge().limit, {"low": np.zeros(6), "high": np.ones(6)}
    with pytest.raises(ValueError, match="interval along"):
        DependentRange(own_limit("kdop"), "Hip", AXIS, **ends, along=[1, 0, 0])
    with pytest.raises(ValueError, match="4 n² \\+ 2 numbers"):
        DependentRange(limit, "Hip", AXIS, np.zeros(7), np.ones(7), [1, 0, 0])
    with pytest.raises(ValueError, match="must not exceed"):
        DependentRange(limit, "Hip", AXIS, np.ones(6), np.zeros(6), [1, 0, 0])
    with pytest.raises(ValueError, match=r"margin must be from 0 to that of the limit, 0\.2"):
        DependentMargin(replace(own_limit("box"), margin=0.2), "Hip", AXIS, np.full(6, 3.0))
    with pytest.raises(ValueError, match="name a joint"):
        DependentRange(limit, "", AXIS, **ends, along=[1, 0, 0])


# Grids of nodes.


@pytest.mark.parametrize("size", [(3, 1), (3, 2), (3, 8), (4, 2), (4, 5)])
def test_values_are_linear_between_nodes_and_continuous(size, rng):
    grid = NodeGrid(*size)
    d, nodes = grid.dimension, grid.nodes
    assert len(nodes) == grid.count
    assert NodeGrid.with_count(len(nodes)) == grid
    values = rng.normal(size=(len(nodes), 2))

    def at(vectors):
        around, weights = grid.locate(vectors)
        assert weights.min() >= 0.0
        return np.einsum("nc,nck->nk", weights, values[around])

    assert np.allclose(at(nodes), values, atol=1e-12)
    simplices = {tuple(sorted(each)) for each in grid.simplices.tolist()}
    assert len(simplices) == 8 * grid.divisions ** (d - 1) or grid == NodeGrid(4, 2)
    some = rng.normal(size=(5000, d))
    some /= np.linalg.norm(some, axis=1, keepdims=True)
    near = some + 1e-5 * rng.normal(size=some.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    apart = np.linalg.norm(some - near, axis=1) * (1 if d == 3 else 2)
    rate = np.abs(at(some) - at(near)).max(axis=1) / apart
    assert rate.max() < 10.0 * grid.divisions  # a jump between simplices gives 1e5
    edge = np.where(np.abs(some) == np.abs(some).min(axis=1, keepdims=True), 1e-14, some)
    other = np.where(edge == 1e-14, -1e-14, edge)  # on the other side of a facet's face
    assert np.allclose(at(edge), at(other), atol=1e-10)
    if d == 3:
        around, weights = grid.locate(some * [-1, 1, 1])
        shown = np.einsum("nc,nck->nk", weights, values[grid.mirrored][around])
        assert np.allclose(shown, at(some), atol=1e-12)
        corners = nodes[grid.simplices]
        assert (np.linalg.det(corners) > 0.0).all()
    else:
        assert np.allclose(at(some), at(-some), atol=1e-12)


def test_numbers_of_nodes_that_no_grid_has():
    counts = (0, 2, 4, 5, 6, 7, 16, 18, 44, 65, 66, 704)
    found = [NodeGrid.with_count(count) for count in counts]
    sizes = [None if grid is None else (grid.dimension, grid.divisions) for grid in found]
    assert sizes == [
        None, None, (4, 1), None, (3, 1), None, (4, 2), (3, 2), (4, 3), None, (3, 4), (4, 8)
    ]  # fmt: skip


# Numbers that are set at one rotation of the driver.


@pytest.mark.parametrize("nodes", [66, 96])
@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_a_number_is_what_it_was_set_to_and_only_nodes_around_change(nodes, radius, rng):
    own = Limit(RotationVector(), Box([-0.2, 0, 0], [2.5, 0, 0], np.eye(3)))
    low, high = rng.uniform(0.0, 1.0, nodes), rng.uniform(1.0, 2.4, nodes)
    each = DependentRange(own, "UpLeg", [0.0, -1.0, 0.0], low, high, [1.0, 0.0, 0.0])
    for driver in random_quats(8, rng):
        here = each.values_at(driver)
        around = np.unique(each.locate(driver)[0])
        for name, value in (("high", here[0] + 0.1), ("low", here[1] - 0.05), ("high", 2.45)):
            made = each.with_value_at(driver, name, value, radius=radius)
            at = made.values_at(driver)
            assert at[made.at_nodes.index(name)] == pytest.approx(value, abs=1e-9)
            assert (made.low <= made.high).all()
            other = "low" if name == "high" else "high"
            assert np.array_equal(getattr(made, other), getattr(each, other))
            changed = np.flatnonzero(getattr(made, name) != getattr(each, name))
            away = (
                quat.angle_between(each.nodes, driver)
                if each.by_rotation
                else np.arccos(np.clip(each.nodes @ quat.rotate(driver, each.axis), -1, 1))
            )
            assert away[changed].max() <= max(radius, 1.01 * away[around].max())
            assert set(changed) & set(around.tolist())
        with pytest.raises(ValueError, match="high can go to"):
            each.with_value_at(driver, "high", here[0] - 0.01, radius=radius)


def test_numbers_for_a_rotation_make_it_legal(rng):
    own = Limit(RotationVector(), Box([-0.2, -0.3, -0.3], [2.5, 0.3, 0.3], np.eye(3)))
    axis = [0.0, -1.0, 0.0]
    some = [
        DependentRange(own, "UpLeg", axis, np.zeros(66), np.full(66, 1.0), [1.0, 0.0, 0.0]),
        DependentMargin(replace(own, margin=0.3), "UpLeg", axis, rng.uniform(0.05, 0.2, 66)),
    ]
    for each in some:
        drivers, rotations = random_quats(20, rng), each.limit.sample(20, rng)
        outside = ~each.contains(rotations, drivers)
        assert outside.any()
        for driver, rotation in zip(drivers[outside], rotations[outside], strict=True):
            made, numbers = each, each.values_for(rotation, driver)
            for name, value in numbers.items():
                made = made.with_value_at(driver, name, value)
            assert made.distance(rotation, driver) < 1e-9


def test_kernels_number_nodes_as_tables_do():
    from synovia.kernels.dependent import direction_node, rotation_node

    for n in (1, 2, 3, 8):
        nodes = _lattice(NodeGrid(3, n))[0].tolist()
        assert [direction_node(n, *node) for node in nodes] == list(range(len(nodes)))
        nodes = _lattice(NodeGrid(4, n))[0].tolist()
        for side in (1, -1):
            numbers = [rotation_node(n, *(side * k for k in node)) for node in nodes]
            assert numbers == list(range(len(nodes)))


def test_kernels_interpolate_as_numpy_does(dependent):
    driver = random_quats(20, np.random.default_rng(8))
    found = [
        values_at(dependent.packed, 0, Quat(*map(float, each)))[: len(dependent.at_nodes)]
        for each in driver
    ]
    np.testing.assert_allclose(found, dependent.values_at(driver), atol=1e-12)
