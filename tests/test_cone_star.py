"""Which points make a reach cone: stars about a visible point, which is searched for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cones import NORTH, TURN, ring
from synovia import ReachCone
from synovia.arrays import unit_vectors
from synovia.shapes.reach_cone.star import from_polar


def test_a_pentagram_is_refused():
    with pytest.raises(ValueError, match=r"edge 2 .* goes around the visible point a second time"):
        ReachCone(ring(144.0 * np.arange(5), np.full(5, 60.0)), visible=NORTH)


def test_what_is_no_star_is_refused_by_its_edge():
    with pytest.raises(ValueError, match=r"edge 1 \(from point 1 to point 2\)"):
        ReachCone(ring([0, 120, 60, 240], np.full(4, 50.0)), visible=NORTH)
    corners = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 2), (3, 2), (3, 3), (0, 3)]
    horseshoe = unit_vectors(np.array([(0.2 * x, 0.2 * y, 1.0) for x, y in corners]))
    with pytest.raises(ValueError, match="no visible point: no direction sees edges"):
        ReachCone(horseshoe)


def test_a_visible_point_is_searched_for_where_the_sum_is_none():
    # An arrowhead: the sum of its points is outside.
    points = unit_vectors(np.array([[0.6, 0, 1], [-0.1, 0.9, 1], [0.3, 0, 1], [-0.1, -0.9, 1]]))
    with pytest.raises(ValueError, match="must make a star"):
        ReachCone(points, visible=unit_vectors(points.sum(axis=0)))
    assert ReachCone(points).contains_direction(unit_vectors(np.array([0.45, 0.0, 1.0])))


@pytest.mark.parametrize("seed", range(20))
def test_a_visible_point_is_found_or_edges_that_conflict_are_named(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 12))
    azimuth = np.sort(rng.uniform(0.0, TURN, count))
    points = from_polar(azimuth, rng.uniform(0.05, 2.6, count), NORTH)
    if seed % 2:
        points = points[rng.permutation(count)]
    normals = unit_vectors(np.cross(points, np.roll(points, -1, axis=0)))
    if depth_seen(normals) < 1e-9:
        with pytest.raises(ValueError, match="no direction sees edges") as refused:
            ReachCone(points)
        edges = [int(edge) for edge in re.findall(r"(\d+)(?=[, ].*at once)", str(refused.value))]
        assert 2 <= len(edges) <= 4
        assert depth_seen(normals[edges]) < 1e-9
        for left_out in edges:  # and none of them is named in vain
            assert depth_seen(normals[[edge for edge in edges if edge != left_out]]) > 1e-9
    elif seed % 2 == 0:
        assert (normals @ ReachCone(points).visible > 0.0).all()


def depth_seen(normals):
    """The least product with the normals that some direction has with all, by a linear program."""
    from scipy.optimize import linprog

    found = linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=np.column_stack([-normals, np.ones(len(normals))]),
        b_ub=np.zeros(len(normals)),
        bounds=[(-1.0, 1.0)] * 3 + [(None, 1.0)],
    )
    return -found.fun


@pytest.mark.parametrize("edge", range(4))
def test_equal_points_are_named_by_their_edge(edge):
    points = np.roll(ring([0, 0, 120, 240], [50, 50, 50, 50]), edge, axis=0)
    with pytest.raises(ValueError, match=f"edge {edge} has no length"):
        ReachCone(points)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"points": np.zeros((2, 3)) + NORTH}, r"shape \(n, 3\), n at least 3"),
        ({"points": 2.0 * ring([0, 120, 240], [50, 50, 50])}, "unit directions"),
        ({"low": 1.0, "high": 0.0}, "low must not exceed .* at point 0"),
        ({"visible_low": 2.0, "visible_high": 1.0}, "visible_low must not exceed"),
        ({"low": [0.0, 1.0]}, r"ReachCone.low must have shape \(3\)"),
        ({"high": [np.nan, 1.0, 1.0]}, "finite"),
        ({"visible": -NORTH}, "must make a star"),
    ],
)
def test_what_makes_no_cone_is_refused(fields, message):
    good = {"points": ring([0, 120, 240], [50, 50, 50]), "low": -1.0, "high": 1.0}
    with pytest.raises(ValueError, match=message):
        ReachCone(**{**good, **fields})
