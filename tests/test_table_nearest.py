"""Theta-phi tables: the nearest legal direction, the depth, and twists between cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cones import angle_between
from oracles import EXHAUSTIVE
from synovia import kernels
from synovia.shapes.theta_phi.packing import WallLists, lists_for, pack_table
from tables import MASKS, TURN, directions, hard_directions, nearest_cell_point, table

ANYWHERE = 5000 if EXHAUSTIVE else 200  # directions, beside those at borders and corners
OF_HARD = 1 if EXHAUSTIVE else 4  # of these, every so-manieth


def beyond(shape, vectors):
    """Signed distances of directions alone, in the table's frame."""
    points = np.column_stack([vectors @ shape.frame, np.zeros(len(vectors))])
    return free(shape).distance(points)


def free(shape):
    """The same directions with any twist."""
    return replace(shape, low=0.0 * shape.low, high=0.0 * shape.high + TURN)


def tried_directions(cells, rng):
    """Directions all over, and some of those at poles, borders and corners of cells."""
    hard = rng.permutation(hard_directions(cells, rng))[::OF_HARD]
    return np.concatenate([directions(ANYWHERE, rng), np.eye(3), -np.eye(3), hard])


@pytest.fixture(params=MASKS)
def kind(request):
    return request.param


@pytest.mark.exhaustive
def test_no_cell_is_nearer_than_the_answer(kind, rng):
    shape = table(kind)
    cells = shape.counts.shape
    vectors = tried_directions(cells, rng)
    foot, expected = nearest_cell_point(vectors, shape.legal, cells)
    distance = beyond(shape, vectors)
    assert np.abs(np.maximum(distance, 0.0) - expected).max() < 1e-9
    points = np.column_stack([vectors @ shape.frame, np.zeros(len(vectors))])
    moved = free(shape).project(points)[:, :3] @ shape.frame.T
    assert np.abs(angle_between(vectors, moved) - expected).max() < 2e-9
    # Where one foot is clearly the nearest, it is the answer.
    away = angle_between(moved, foot)
    tied = np.abs(angle_between(vectors, foot) - angle_between(vectors, moved)) < 1e-9
    assert tied.all()
    assert (away < 1e-6).mean() > 0.9


@pytest.mark.exhaustive
def test_depth_is_never_overstated_and_exact_within_cells(kind, rng):
    shape = table(kind)
    if shape.legal.all():
        assert np.all(beyond(shape, directions(100, rng)) <= -np.pi)
        return
    cells = shape.counts.shape
    vectors = tried_directions(cells, rng)
    depth = -beyond(shape, vectors)
    _, to_illegal = nearest_cell_point(vectors, ~shape.legal, cells)
    inside = depth > 1e-9
    assert np.abs(depth - to_illegal)[inside].max(initial=0.0) < 1e-9


def test_twists_do_not_pop_anywhere(kind, rng):
    shape = table(kind)
    steepest = 1.0 / shape.packed[1 + 12]
    start, along = directions(20, rng), directions(20, rng)
    along -= np.sum(along * start, axis=1, keepdims=True) * start
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    way = np.linspace(0.0, 2.0 * np.pi, 20_000)[:, None]
    for a, b in zip(start, along, strict=True):
        # Great circles pass the seam, and the second half of them runs over the poles.
        path = np.cos(way) * a + np.sin(way) * b
        low, high = shape.twist_range(path).T
        legal = shape.contains_direction(path)
        both = legal[1:] & legal[:-1]
        step = 2.0 * np.pi / 19_999
        for ends in (low, high):
            assert np.abs(np.diff(ends))[both].max(initial=0.0) <= steepest * step * 1.001 + 1e-12


def test_directions_a_little_off_unit_length_count_as_unit(kind, rng):
    shape = table(kind)
    unit = np.column_stack([directions(2_000, rng), rng.uniform(-3.0, 3.0, 2_000)])
    off = unit * np.column_stack([*[rng.uniform(0.9992, 1.0008, 2_000)] * 3, np.ones(2_000)])
    np.testing.assert_allclose(shape.distance(off), shape.distance(unit), rtol=0.0, atol=1e-12)


def test_lists_of_walls_hold_the_nearest_of_all(kind, rng):
    legal = MASKS[kind]
    vectors = np.concatenate([directions(5_000, rng), hard_directions(legal.shape, rng)])
    lists = lists_for(legal)
    walls, places = len(lists.walls), lists.legal.size
    every = WallLists(
        legal,
        lists.walls,
        fine=1,
        start=np.arange(places + 1) * walls,
        number=np.tile(np.arange(walls), places),
        clearance=np.full(places, 0.0 if walls else np.pi),
    )
    # Two walls may have one corner, and its distance from them different roundings.
    assert np.abs(distances(lists, vectors) - distances(every, vectors)).max() < 2e-15


def distances(lists, vectors):
    """How far outside directions with any twist are, by lists of walls."""
    ends = (np.full(lists.legal.shape, value) for value in (-np.pi, np.pi))
    packed = pack_table(lists, *ends, np.eye(3))
    points = np.column_stack([vectors, np.zeros(len(vectors))]).ravel()
    found = np.empty(len(vectors))
    kernels.shapes.project_directions(points, packed, np.empty_like(points), found)
    return found
