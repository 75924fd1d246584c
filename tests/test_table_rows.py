"""Tables made by hand, of rows or an outline: what is legal, and what two have in common."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cones import CONES
from oracles import random_frame
from synovia import ThetaPhi
from synovia.shapes.theta_phi.grid import centres, vectors_at
from synovia.shapes.theta_phi.table import _crossings
from tables import TURN, directions, points_around, table


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


def test_an_arc_through_a_vertex_of_an_outline_crosses_it_once():
    corners = vectors_at(np.zeros(2), np.array([0.4, -0.4]))
    across = vectors_at(np.array([0.4, -0.4]), np.zeros(2))
    outline = np.stack([corners[0], across[0], corners[1], across[1]])
    inside, beyond = vectors_at(np.zeros(1), np.zeros(1)), vectors_at(np.zeros(1), np.array([1.0]))
    assert (np.cross(inside, beyond) @ outline.T == 0.0).any()  # exactly through a vertex
    assert _crossings(outline, inside, beyond) == 1


def test_an_outline_leaves_out_what_is_opposite(rng):
    turn = np.arange(24) * TURN / 24
    for theta, phi in np.radians(rng.integers(0, 36, (40, 2)) * [10.0, 5.0] + [2.5, -87.5]):
        inside = vectors_at(theta, phi)  # the centre of a cell, and the opposite is one, too
        across = np.cross(inside, [0.0, 0.0, 1.0])
        across /= np.linalg.norm(across)
        around = np.cos(turn)[:, None] * across + np.sin(turn)[:, None] * np.cross(inside, across)
        shape = ThetaPhi.from_outline(np.cos(0.4) * inside + np.sin(0.4) * around, inside, -1, 1)
        away = np.arccos(np.clip(centres(shape.legal.shape) @ inside, -1.0, 1.0))
        assert shape.legal[away < 0.39].all()
        assert not shape.legal[away > 0.4 + 1e-9].any()


def test_free_twists_and_none(rng):
    wide = ThetaPhi.from_rows([[0.0, -1.0, 1.0]], -np.pi, np.pi)
    points = points_around(500, rng)
    points[:, :3] = vectors_at(rng.uniform(-0.9, 0.9, 500), rng.uniform(0.0, 0.05, 500))
    assert wide.contains(points).all()
    none = ThetaPhi.from_rows([[0.0, -1.0, 1.0]], 0.3, 0.3)
    assert np.abs(none.project(points)[:, 3] - 0.3).max() % TURN < 1e-9
    assert none.measure == 0.0
    assert none.contains(none.scatter(100, rng)).all()


def test_walking_back_crosses_the_seam_the_short_way():
    shape = ThetaPhi.from_rows(np.radians([[-30.0, 160.0, 175.0], [30.0, 160.0, 175.0]]), -1.0, 1.0)
    start, end = (np.append(vectors_at(np.radians(t), 0.0), 0.0) for t in (170.0, -150.0))
    theta = np.degrees(np.arctan2(*shape.walk_back(start, end, 100)[[1, 0]]))
    assert 174.0 < theta <= 175.0 + 1e-6


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
    with pytest.raises(ValueError, match="only tables intersect a table, got ReachCone"):
        a & CONES["convex"]()
    with pytest.raises(ValueError, match="the same frame to intersect"):
        a.intersect(dataclasses.replace(a, frame=np.eye(3)))
    with pytest.raises(ValueError, match="nothing in common"):
        a.intersect(dataclasses.replace(a, counts=(~a.legal).astype(float)))
