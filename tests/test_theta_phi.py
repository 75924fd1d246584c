"""Theta-phi tables keep the promises of shapes, and those of their own."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from oracles import random_frame, random_quats
from synovia import Beyond, DirectionTwist, Inside, Limit, ThetaPhi, first_exit, quat
from synovia.shapes.table_grid import areas, vectors_at
from tables import MASKS, TURN, angles, directions, table

ONE_TURN = np.array([0.0, 0.0, 0.0, TURN])
KINDS = ("blob", "single", "polar", "islands", "ring", "whole")


def points_around(n, rng):
    return np.column_stack([directions(n, rng), rng.uniform(-TURN, TURN, n)])


@pytest.fixture(params=[(kind, margin) for kind in KINDS for margin in (0.0, 0.13)], ids=str)
def shape(request):
    kind, margin = request.param
    return table(kind, margin=margin)


def cloud(n, rng, spread=0.5):
    """Directions about the x axis of some frame, with twists that depend on them."""
    frame = random_frame(rng)
    v = np.column_stack([np.ones(n), spread * rng.normal(size=(n, 2))])
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    twist = 3.0 + 0.5 * v[:, 1] + 0.3 * rng.normal(size=n)
    return np.column_stack([v @ frame, np.remainder(twist + np.pi, TURN) - np.pi])


def test_projections_are_members_as_far_away_as_the_distance_says(shape, rng):
    points = points_around(2000, rng)
    distance, projected = shape.distance(points), shape.project(points)
    assert shape.contains(projected).all()
    assert np.array_equal(shape.contains(points), distance <= 1e-9)
    moves = np.linalg.norm(shape.moves(points, projected), axis=1)
    outside = distance > 1e-9
    assert np.abs(moves - distance)[outside].max(initial=0.0) < 1e-9
    assert np.array_equal(projected[~outside], points[~outside])
    assert np.array_equal(shape.project(projected), projected)


def test_directions_come_first_then_the_nearest_twist_there(shape, rng):
    points = points_around(1000, rng)
    projected = shape.project(points)
    vectors = points[:, :3] @ shape.frame.T
    away = np.maximum(shape._beyond(vectors), 0.0)
    assert np.abs(angles(points[:, :3], projected[:, :3]) - away).max() < 2e-9
    low, high = shape.twist_range(projected[:, :3]).T
    off = np.remainder(points[:, 3] - 0.5 * (low + high) + np.pi, TURN) - np.pi
    turn = np.maximum(np.abs(off) - 0.5 * (high - low), 0.0)
    moved = shape.moves(points, projected)[:, 3]
    assert np.abs(np.abs(moved) - turn).max() < 1e-8


def test_whole_turns_of_the_twist_change_nothing(shape, rng):
    points = points_around(300, rng)
    turned = points + ONE_TURN
    assert np.abs(shape.distance(points) - shape.distance(turned)).max() < 1e-9


def test_depth_is_never_overstated(shape, rng):
    points = shape.scatter(400, rng)
    depth = -shape.distance(points)
    assert (depth >= -1e-9).all()
    for _ in range(40):
        move = rng.normal(size=(len(points), 4))
        move[:, :3] -= np.sum(move[:, :3] * points[:, :3], axis=1, keepdims=True) * points[:, :3]
        move *= (0.999 * np.minimum(depth, 3.0) / np.linalg.norm(move, axis=1))[:, None]
        angle = np.linalg.norm(move[:, :3], axis=1, keepdims=True)
        ahead = np.cos(angle) * points[:, :3] + np.sinc(angle / np.pi) * move[:, :3]
        moved = np.column_stack([ahead, points[:, 3] + move[:, 3]])
        assert shape.contains(moved).all()


def test_members_are_scattered_evenly(shape, rng):
    members = shape.scatter(20_000, rng)
    assert members.shape == (20_000, 4)
    assert shape.contains(members).all()
    # A ball's share of all members, about a few of them, goes by its volume.
    share = (members[:, :3] @ members[0, :3] > np.cos(0.3)).mean()
    sphere = points_around(200_000, rng)
    legal = shape.contains(sphere)
    inside = legal & (sphere[:, :3] @ members[0, :3] > np.cos(0.3))
    if legal.sum() > 2000:
        assert share == pytest.approx(inside.sum() / legal.sum(), abs=0.03)


def test_measure_is_the_volume(shape, rng):
    legal = shape.contains(points_around(400_000, rng)).mean()
    error = 4.0 / np.sqrt(max(400_000 * legal, 1.0))
    assert shape.measure == pytest.approx(legal * 2.0 * TURN * TURN, rel=error + 0.01)


def test_grown_contains_and_shrunk_is_contained(shape, rng):
    members = shape.scatter(1500, rng)
    for r in (1e-3, 0.07, 0.4):
        grown, shrunk = shape.grow(r), shape.shrink(r)
        assert grown.contains(members).all()
        assert shape.contains(shrunk.scatter(1500, rng)).all()
        around = points_around(3000, rng)
        assert shape.contains(around[shrunk.contains(around)]).all()


def test_growing_is_exact_in_direction():
    shape = table("blob")
    rng = np.random.default_rng(0)
    vectors = directions(2000, rng)
    before = shape._beyond(vectors)
    out = before > 0.1
    assert np.abs(shape.grow(0.1)._beyond(vectors) - before + 0.1)[out].max() < 1e-9


def test_the_surface_is_on_the_boundary(shape):
    for detail in (1, 2):
        surface = shape.surface(detail)
        if shape.name and len(surface.vertices):
            assert np.abs(shape.distance(surface.vertices)).max() <= 1e-9
            assert surface.triangles.max() < len(surface.vertices)
    assert len(surface.triangles) > 0


def test_a_surface_is_closed(shape):
    triangles = shape.surface().triangles
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, count = np.unique(sides, axis=0, return_counts=True)
    assert (count % 2 == 0).all()


def test_bounds_hold_all_members(shape, rng):
    low, high = shape.bounds
    members = shape.scatter(5000, rng)
    assert (members >= low - 1e-9).all()
    assert (members <= high + 1e-9).all()


def test_normals_point_outwards(shape, rng):
    points = points_around(500, rng)
    normal = shape.normal(points)
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < 1e-9
    inner = shape.scatter(200, rng)
    normal = shape.facing(inner)
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < 1e-6
    assert np.abs(np.sum(normal[:, :3] * inner[:, :3], axis=1)).max() < 1e-6


def test_it_comes_back_from_its_fields(shape, rng):
    fields = shape.to_dict()
    assert fields.pop("type") == "theta-phi"
    points = points_around(500, rng)
    for given in (fields, {k: np.asarray(v).tolist() for k, v in fields.items()}):
        twin = ThetaPhi.from_dict(given)
        assert np.array_equal(twin.packed, shape.packed)
        assert np.array_equal(twin.distance(points), shape.distance(points))


def test_single_precision_comes_back(shape, rng):
    points = points_around(200, rng).astype(np.float32)
    assert shape.project(points).dtype == shape.distance(points).dtype == np.float32
    assert shape.contains(shape.project(points)).all()


# Fits.


@pytest.mark.parametrize("n", [1, 2, 30, 5000])
@pytest.mark.parametrize("cell", [np.radians(5.0), np.radians(11.0)])
@pytest.mark.parametrize("spread", [1e-6, 0.5, 5.0])
def test_a_fit_contains_every_sample(n, cell, spread, rng):
    points = cloud(n, rng, spread)
    for options in ({}, {"holes": "open"}, {"margin": 0.1}):
        shape = ThetaPhi.fit(points, cell=cell, **options)
        assert shape.contains(points).all()
        assert shape.contains(points + ONE_TURN).all()
    assert ThetaPhi.fit(points, margin=0.1).measure > 0.0


def test_twists_seen_around_count_for_a_cell():
    points, others = cloud(600, np.random.default_rng(1)), cloud(4000, np.random.default_rng(1))
    own, smooth = (ThetaPhi.fit(points, spread=spread) for spread in (0.0, np.radians(15.0)))
    assert np.array_equal(own.legal, smooth.legal)
    assert (smooth.high - smooth.low)[own.legal].min() > 0.5
    assert smooth.contains(points).all()
    assert smooth.packed[1 + 15] > 2.0 * own.packed[1 + 15]  # far gentler slopes
    inside = own.contains_direction(others[:, :3])
    assert own.contains(others[inside]).mean() < 0.8
    assert smooth.contains(others[inside]).mean() > 0.95


def test_ranges_of_fine_cells_spread_as_far_in_steps(rng):
    points = cloud(300, rng, 0.3)
    coarse, fine = (ThetaPhi.fit(points, cell=np.radians(cell)) for cell in (5.0, 1.5))
    here = points[coarse.contains_direction(points[:, :3]), :3]
    widths = [np.ptp(shape.twist_range(here), axis=1).mean() for shape in (coarse, fine)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
    with pytest.raises(ValueError, match="spread must be at least 0"):
        ThetaPhi.fit(points, spread=-0.1)


def test_growing_follows_the_slopes_of_the_twists(rng):
    shape = table("blob")
    members = shape.scatter(2000, rng)
    move = rng.normal(size=members.shape)
    move[:, :3] -= np.sum(move[:, :3] * members[:, :3], axis=1, keepdims=True) * members[:, :3]
    move *= 0.1 / np.linalg.norm(move, axis=1, keepdims=True)
    moved = members + move
    moved[:, :3] /= np.linalg.norm(moved[:, :3], axis=1, keepdims=True)
    assert shape.grow(0.1).contains(moved).mean() > 0.99


def test_one_sample_gives_one_cell(rng):
    points = cloud(1, rng)
    shape = ThetaPhi.fit(points)
    assert shape.legal.sum() == 1
    assert shape.measure == 0.0
    assert shape.contains(points).all()
    members = shape.scatter(50, rng)
    assert shape.contains(members).all()
    assert np.ptp(members[:, :3], axis=0).max() > 1e-3


def test_samples_lie_about_the_middle_of_the_table(rng):
    points = cloud(4000, rng, 0.2)
    rows, columns = np.nonzero(ThetaPhi.fit(points).legal)
    assert rows.min() > 36 // 4
    assert rows.max() < 36 * 3 // 4
    assert columns.min() > 72 // 4
    assert columns.max() < 72 * 3 // 4


def test_holes_are_filled_unless_open(rng):
    points = cloud(20_000, rng, 0.6)
    middle = points[:, :3].mean(axis=0)
    middle /= np.linalg.norm(middle)
    away = points[:, :3] @ middle < np.cos(0.2)
    filled, opened = (ThetaPhi.fit(points[away], holes=holes) for holes in ("filled", "open"))
    assert filled.contains_direction(middle)
    assert not opened.contains_direction(middle)
    assert filled.share > opened.share


def test_every_one_of_very_many_samples_is_contained(rng):
    points = cloud(300_000, rng)
    assert ThetaPhi.fit(points).contains(points).all()


# Evidence.


def test_more_evidence_widens(rng):
    first, second = cloud(400, rng), cloud(400, np.random.default_rng(9))
    shape = ThetaPhi.fit(first, holes="open")
    more = shape.add(second)
    assert more.counts.sum() == 800
    assert more.contains(first).all()
    assert more.contains(second).all()
    assert more.contains(shape.scatter(3000, rng)).all()
    assert shape.counts.sum() == 400


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_what_was_seen_already_changes_nothing_but_counts(rng, margin):
    points = cloud(400, rng)
    table = ThetaPhi.fit(points, margin=margin)
    again = table.add(points)
    assert np.allclose(again.low, table.low, atol=1e-12)
    assert np.allclose(again.high, table.high, atol=1e-12)
    assert again.counts.sum() == table.counts.sum() + 400


def test_twists_of_more_evidence_count_for_cells_around(rng):
    points = cloud(400, rng)
    table = ThetaPhi.fit(points)
    more = points[:1].copy()
    more[:, 3] += 1.5
    wider, alone = table.add(more), table.add(more, spread=0.0)
    raised = [(new.high > table.high + 0.1).sum() for new in (wider, alone)]
    assert raised[0] > 10 > raised[1]
    far = np.arccos(np.clip(points[:, :3] @ points[0, :3], -1.0, 1.0)) > 0.6
    unchanged = wider.twist_range(points[far, :3]) == table.twist_range(points[far, :3])
    assert far.sum() > 10
    assert unchanged.all()
    with pytest.raises(ValueError, match="spread must be at least 0"):
        table.add(more, spread=-1.0)


def test_rare_cells_are_trimmed_by_density(rng):
    shape = ThetaPhi.fit(cloud(5000, rng), holes="open")
    trimmed = shape.trimmed(5.0)
    assert 0 < trimmed.legal.sum() < shape.legal.sum()
    area = areas(shape.counts.shape)
    assert (shape.density[trimmed.legal] >= 5.0 / area.max() - 1e-9).all()
    assert shape.contains_direction(trimmed.scatter(500, rng)[:, :3]).all()
    with pytest.raises(ValueError, match="a table needs a legal cell: no evidence reaches"):
        shape.trimmed(1e6)


def test_the_share_is_by_area():
    counts = np.zeros((36, 72))
    counts[18:] = 1.0
    shape = ThetaPhi(counts, counts, counts)
    assert shape.share == pytest.approx(0.5)
    counts[:] = 0.0
    counts[-1] = 1.0
    assert ThetaPhi(counts, counts, counts).share == pytest.approx(
        0.5 * (1.0 - np.sin(np.radians(85.0)))
    )


def test_what_two_tables_have_in_common(rng):
    a = table("blob")
    b = dataclasses.replace(table("blob", seed=8), frame=a.frame)
    b = dataclasses.replace(b, counts=np.where(np.roll(a.legal, 4, axis=1), 2.0, 0.0))
    both = a & b
    members = both.scatter(4000, rng)
    assert a.contains(members).all()
    assert b.contains(members).all()
    around = points_around(20_000, rng)
    inside = both.contains(around)
    assert (a.contains(around) & b.contains(around))[inside].all()
    assert inside.any()


def test_only_tables_of_the_same_grid_have_something_in_common():
    a = table("blob")
    with pytest.raises(ValueError, match=r"the same cells to intersect, got \(18, 36\) and"):
        a.intersect(ThetaPhi.fit(np.array([[1.0, 0.0, 0.0, 0.0]])))
    with pytest.raises(ValueError, match="the same frame to intersect"):
        a.intersect(dataclasses.replace(a, frame=np.eye(3)))
    with pytest.raises(ValueError, match="nothing in common"):
        a.intersect(dataclasses.replace(a, counts=(~a.legal).astype(float)))


# By hand.


def test_rows_from_theta_to_theta():
    rows = np.radians([[-30.0, -40.0, 40.0], [0.0, -60.0, 60.0], [30.0, -10.0, 20.0]])
    shape = ThetaPhi.from_rows(rows, -0.5, 0.5)

    def legal(theta, phi):
        return bool(shape.contains_direction(vectors_at(*np.radians([theta, phi]))))

    assert legal(0.0, 0.0)
    assert legal(55.0, 0.0)
    assert legal(-38.0, -28.0)
    assert legal(10.0, 28.0)
    assert not legal(70.0, 0.0)
    assert not legal(-30.0, 28.0)
    assert not legal(0.0, 45.0)


def test_rows_over_the_seam_do_not_invert():
    rows = np.radians([[-20.0, 150.0, -160.0], [20.0, 170.0, -140.0]])
    shape = ThetaPhi.from_rows(rows, -0.5, 0.5)
    theta = np.radians([175.0, 180.0, -175.0, 0.0, 90.0, -90.0])
    legal = shape.contains_direction(vectors_at(theta, np.zeros(6)))
    assert legal.tolist() == [True, True, True, False, False, False]
    assert shape.share < 0.1


def test_a_row_with_one_theta_is_one_cell():
    assert ThetaPhi.from_rows([[0.1, 0.5, 0.5]], 0.0, 0.0).legal.sum() == 1


def test_an_outline_on_the_sphere(rng):
    around = np.linspace(0.0, TURN, 40, endpoint=False)
    frame = random_frame(rng)
    outline = vectors_at(0.7 * np.cos(around), 0.5 * np.sin(around)) @ frame
    shape = ThetaPhi.from_outline(outline, frame[0], -1.0, 1.0, cell=np.radians(3.0), frame=frame)
    u = directions(3000, rng)
    theta, phi = np.arctan2(u[:, 1], u[:, 0]), np.arcsin(u[:, 2])
    level = np.hypot(theta / 0.7, phi / 0.5)
    legal = shape.contains_direction(u @ frame)
    assert legal[level < 0.9].all()
    assert not legal[level > 1.15].any()
    other = ThetaPhi.from_outline(outline, -frame[0], -1.0, 1.0, cell=np.radians(3.0), frame=frame)
    assert other.share + shape.share == pytest.approx(1.0)


def test_walking_back_ends_at_the_first_member_met(rng):
    shape = table("islands")
    start = shape.scatter(300, rng)
    end = points_around(300, rng)
    met = shape.walk_back(start, end, 200)
    assert shape.contains(met).all()
    inside = shape.contains(end)
    assert np.array_equal(met[inside], end[inside])
    finer = shape.walk_back(start, end, 2000)
    assert shape.contains(finer).all()
    with pytest.raises(ValueError, match="must be members"):
        shape.walk_back(end[~inside], start[~inside])
    with pytest.raises(ValueError, match="steps must be at least 1"):
        shape.walk_back(start, end, 0)


def test_walking_back_crosses_the_seam_the_short_way():
    shape = ThetaPhi.from_rows(np.radians([[-30.0, 160.0, 175.0], [30.0, 160.0, 175.0]]), -1.0, 1.0)
    start, end = (np.append(vectors_at(np.radians(t), 0.0), 0.0) for t in (170.0, -150.0))
    theta = np.degrees(np.arctan2(*shape.walk_back(start, end, 100)[[1, 0]]))
    assert 174.0 < theta <= 175.0 + 1e-6


# Limits.


@pytest.fixture
def limit(rng):
    rotations = quat.exp(0.5 * rng.normal(size=(3000, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Limit.fit(rotations, "theta-phi", axis=[1.0, 0.0, 0.0])


def test_through_a_limit_every_verb_works(limit, rng):
    rotations = random_quats(1500, rng)
    projected = limit.project(rotations)
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    inside = limit.contains(rotations)
    assert np.array_equal(projected[inside], rotations[inside])
    points = limit.chart.points(rotations)
    away = limit.chart.stretch(points) < 100.0
    assert np.abs(limit.distance(rotations) - limit.shape.distance(points))[away].max() < 1e-9
    expected = limit.chart.rotations(limit.shape.project(points))
    assert quat.angle_between(projected, expected)[away].max() < 1e-8
    assert limit.contains(limit.sample(200, rng)).all()
    legal = limit.contains(random_quats(40_000, rng)).mean()
    assert limit.volume() == pytest.approx(legal, abs=0.01)
    assert limit.violation(rotations).shape == (1500,)
    assert np.abs(np.linalg.norm(limit.normal(rotations), axis=1) - 1.0).max() < 1e-6
    assert limit.contains(limit.soften(rotations[:200], Inside(0.1))).all()
    softened = limit.soften(rotations[:200], Beyond(0.1))
    assert limit.distance(softened).max() < 0.11
    exits = first_exit(limit, limit.sample(20, rng), rotations[:20])
    assert ((exits >= 0.0) & (exits <= 1.0)).all()


def test_many_limits_share_one_table(limit):
    twin = Limit(DirectionTwist(axis=np.array([0.0, 1.0, 0.0])), limit.shape)
    assert twin.shape is limit.shape
    assert twin.shape.packed is limit.shape.packed


def test_single_precision_rotations_stay_so(limit, rng):
    rotations = random_quats(300, rng).astype(np.float32)
    projected = limit.project(rotations)
    assert projected.dtype == np.float32
    assert limit.contains(projected).all()


def test_free_twists_and_none(rng):
    wide = ThetaPhi.from_rows([[0.0, -1.0, 1.0]], -np.pi, np.pi)
    points = points_around(500, rng)
    points[:, :3] = vectors_at(rng.uniform(-0.9, 0.9, 500), rng.uniform(0.0, 0.05, 500))
    assert wide.contains(points).all()
    none = ThetaPhi.from_rows([[0.0, -1.0, 1.0]], 0.3, 0.3)
    assert np.abs(none.project(points)[:, 3] - 0.3).max() % TURN < 1e-9
    assert none.measure == 0.0
    assert none.contains(none.scatter(100, rng)).all()


# Errors.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros((18, 36))}, "a table needs a legal cell"),
        ({"counts": -np.ones((18, 36))}, "counts must be at least 0"),
        ({"counts": np.ones((1, 36))}, r"counts must be at least \(2, 4\)"),
        ({"low": np.ones((18, 36)), "high": np.zeros((18, 36))}, "low must not exceed"),
        ({"low": np.full((18, 36), np.nan)}, "low must be finite"),
        ({"low": np.zeros((3, 3))}, r"low must have shape \(18, 36\)"),
        ({"frame": np.ones((3, 3))}, "frame must be orthonormal"),
        ({"least": -1.0}, "least must be at least 0"),
        ({"margin": np.inf}, "margin must be at least 0"),
    ],
)
def test_wrong_fields_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(table("blob"), **change)


def test_wrong_samples_are_named():
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        ThetaPhi.fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="at least one point"):
        ThetaPhi.fit(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="directions must be unit"):
        ThetaPhi.fit(np.zeros((5, 4)))
    with pytest.raises(ValueError, match="cell must be between"):
        ThetaPhi.fit(np.eye(4)[:1], cell=5.0)
    with pytest.raises(ValueError, match="holes must be"):
        ThetaPhi.fit(np.eye(4)[:1], holes="some")
    with pytest.raises(ValueError, match="margin must be at least 0"):
        ThetaPhi.fit(np.eye(4)[:1], margin=-1.0)
    with pytest.raises(ValueError, match="directions must be unit"):
        table("blob").distance([[2.0, 0.0, 0.0, 0.0]])


def test_arrays_are_copied_and_locked():
    counts = np.ones((4, 8))
    shape = ThetaPhi(counts, counts, counts)
    counts[0, 0] = 9.0
    assert shape.counts[0, 0] == 1.0
    assert not shape.low.flags.writeable


@pytest.mark.parametrize("kind", MASKS)
def test_batches_keep_their_shape(kind):
    shape = table(kind)
    for batch in [(), (0,), (3, 1, 2)]:
        points = np.broadcast_to([1.0, 0.0, 0.0, 0.5], (*batch, 4))
        assert shape.distance(points).shape == batch
        assert shape.project(points).shape == (*batch, 4)
        assert shape.normal(points).shape == (*batch, 4)
