"""Theta-phi tables keep the promises of shapes, and say what is wrong with what is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synovia import ThetaPhi
from synovia.shapes.mesh import shape_surface
from tables import ONE_TURN, TURN, angles, points_around, table

KINDS = ("blob", "single", "polar", "islands", "ring", "whole")


@pytest.fixture(params=KINDS)
def shape(request):
    return table(request.param)


def test_directions_come_first_then_the_nearest_twist_there(shape, rng):
    points = points_around(1000, rng)
    projected = shape.project(points)
    vectors = points[:, :3] @ shape.frame.T
    away = np.maximum(shape.angle_beyond(vectors), 0.0)
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


def test_members_are_scattered_evenly(shape, rng):
    members = shape.scatter(20_000, rng)
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


def test_a_surface_is_closed(shape):
    triangles = shape_surface(shape).triangles
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, count = np.unique(sides, axis=0, return_counts=True)
    assert (count % 2 == 0).all()


def test_normals_point_outwards(shape, rng):
    inner = shape.scatter(200, rng)
    normal = shape.facing(inner)
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < 1e-6
    assert np.abs(np.sum(normal[:, :3] * inner[:, :3], axis=1)).max() < 1e-6


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
