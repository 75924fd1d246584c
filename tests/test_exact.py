"""Projections are the nearest points: conditions of optimality, and slow solvers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from oracles import (
    CASES,
    EXHAUSTIVE,
    cloud,
    fitted,
    halfspaces,
    lengths,
    random_frame,
    random_quats,
    support,
)
from synovia.arrays import TOLERANCE
from synovia.charts import RotationVector
from synovia.shapes import Box, Ellipsoid, KDop, Product

MANY = 10**6 if EXHAUSTIVE else 20_000
SOLVED = 10**4 if EXHAUSTIVE else 500

RADII = [
    (1.0, 0.5, 0.2),
    (0.7, 0.7, 0.7),
    (1.0, 0.5, 1e-3),
    (1.0, 0.5, 1e-6),
    (1.0, 0.5, 1e-12),
    (1.0, 0.5, 0.0),
    (1.0, 1e-3, 1e-3),
    (1.0, 1e-6, 1e-12),
    (1.0, 1e-12, 0.0),
    (1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0),
    (3.0, 1e-3, 1e-9),
]


def flat_ellipsoid(radii):
    rng = np.random.default_rng(1)
    return Ellipsoid(np.array([0.1, -0.2, 0.3]), np.array(radii), random_frame(rng))


def needle(widths):
    low = np.array([-0.4, 0.1, -0.2])
    return Box(low, low + widths, random_frame(np.random.default_rng(2)))


def many_axes(k, kind):
    axes = np.random.default_rng(3).normal(size=(k, 3))
    return KDop.fit(cloud(kind), axes=axes)


def close_axes(angle):
    """A roof so flat that its two sides are almost one."""
    tilts = np.array([0.0, angle, 0.3 * angle])
    roof = np.stack([np.sin(tilts), np.zeros(3), np.cos(tilts)], axis=1)
    axes = np.concatenate([np.eye(3), roof])
    return KDop(axes, np.full(6, -1.0), np.array([1.0, 1.0, 0.6, 0.5, 0.5 + 0.2 * angle, 0.5]))


SPECIAL = {
    **{f"ellipsoid {radii}": lambda radii=radii: flat_ellipsoid(radii) for radii in RADII},
    "needle": lambda: needle([1.0, 1e-9, 1e-12]),
    "blade": lambda: needle([1.0, 0.5, 0.0]),
    "dot": lambda: needle([0.0, 0.0, 0.0]),
    "kdop of a plane": lambda: fitted("kdop", "plane"),
    "kdop of a line": lambda: fitted("kdop", "line"),
    "kdop of a line along the chart": lambda: fitted("kdop chart", "line"),
    "kdop of one": lambda: fitted("kdop", "one"),
    "kdop of 25 axes": lambda: many_axes(25, "tilted"),
    "kdop of 25 axes, plane": lambda: many_axes(25, "plane"),
    "kdop of 60 axes": lambda: many_axes(60, "round"),
    "kdop of a thin plane": lambda: fitted("kdop", "plane").grow(1e-7),
    "kdop of close axes": lambda: close_axes(1e-2),
    "kdop of very close axes": lambda: close_axes(1e-4),
    "flat product": lambda: fitted("product", "plane"),
    "product with a flat swing": lambda: Product(
        Ellipsoid(np.zeros(2), np.array([0.8, 1e-9]), np.eye(2)), -0.3, 0.3
    ),
}
EXACT = {**{case: lambda case=case: fitted(case, "tilted") for case in CASES}, **SPECIAL}


@cache
def made(name):
    return EXACT[name]()


@pytest.fixture(params=EXACT)
def shape(request):
    return made(request.param)


@cache
def turned(n):
    """The points of random rotations, some of them in farther covers."""
    rng = np.random.default_rng(n)
    points = RotationVector().points(random_quats(n, rng))
    points[::7] *= 3.0
    points.flags.writeable = False
    return points


@pytest.mark.exhaustive
def test_no_member_lies_beyond_the_foot(shape):
    # (point - foot) · (member - foot) <= 0 for all members: so the foot is the nearest.
    # The square of the foot's error is at most what is left, so 1e-13 leaves 3e-7.
    points = turned(MANY)
    moves = points - (feet := shape.project(points))
    assert shape.distance(feet).max() <= TOLERANCE
    if (planes := halfspaces(shape)) is not None:
        assert max((feet @ a - b).max() for a, b in zip(*planes, strict=True)) <= TOLERANCE
    outside = lengths(moves) > 0.0
    moves, feet = moves[outside], feet[outside]
    beyond = support(shape, moves) - (moves * feet).sum(axis=1)
    assert outside.sum() > MANY // 2
    assert beyond.max() < 1e-13 * 100.0
    assert (beyond / lengths(moves)).max() < TOLERANCE


@pytest.mark.parametrize("angle", [1e-2, 1e-5, 1e-7, 1e-9, 1e-11])
def test_a_wedge_may_be_as_sharp_as_you_like(angle):
    # z <= 0 and z >= angle · x, so x <= 0: the two faces are almost opposite.
    axes = np.concatenate([np.eye(3), [[np.sin(angle), 0.0, -np.cos(angle)]]])
    shape = KDop(axes, [-1.0, -1.0, -1.0, -3.0], [1.0, 1.0, 0.0, 0.0])
    points = turned(SOLVED)
    feet = shape.project(points)
    assert max((feet @ a - c).max() for a, c in zip(*halfspaces(shape), strict=True)) <= TOLERANCE
    if angle <= 1e-7:
        flat = np.clip(points, [-1.0, -1.0, 0.0], [0.0, 1.0, 0.0])
        # Below 1e-10 the edge is beyond what numbers can tell; the faces still hold.
        assert angle < 1e-10 or lengths(feet - flat).max() < 1e-6
