"""Theta-phi tables keep the promises of shapes, and say what is wrong with what is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synovia import ThetaPhi
from tables import MASKS, ONE_TURN, TURN, angles, points_around, table

KINDS = ("blob", "single", "polar", "islands", "ring", "whole")


@pytest.fixture(params=KINDS)
def shape(request):
    return table(request.param)


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


def test_the_surface_is_on_the_boundary(shape):
    for detail in (1, 2):
        surface = shape.surface(detail)
        assert np.abs(shape.distance(surface.vertices)).max(initial=0.0) <= 1e-9
        assert surface.triangles.max(initial=-1) < len(surface.vertices)
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


@pytest.mark.parametrize("kind", MASKS)
def test_batches_keep_their_shape(kind):
    shape = table(kind)
    for batch in [(), (0,), (3, 1, 2)]:
        points = np.broadcast_to([1.0, 0.0, 0.0, 0.5], (*batch, 4))
        assert shape.distance(points).shape == batch
        assert shape.project(points).shape == (*batch, 4)
        assert shape.normal(points).shape == (*batch, 4)


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
    with pytest.raises(ValueError, match="directions must be unit"):
        table("blob").distance([[2.0, 0.0, 0.0, 0.0]])


def test_arrays_are_copied_and_locked():
    counts = np.ones((4, 8))
    shape = ThetaPhi(counts, counts, counts)
    counts[0, 0] = 9.0
    assert shape.counts[0, 0] == 1.0
    assert not shape.low.flags.writeable
