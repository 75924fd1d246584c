"""Reach cones whose members are all at least so far inside another shape: cores of margins.

Walls of the smaller cone are measured exactly. The ends of its twists are those of the larger one,
less r √(1 + G²), with G how steep they are: however direction and twist share a way of r, it stays
between them. Steep ends lose much by that: ends that are cut off first, to be less steep, may leave
more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import TURN, Floats, Scalars, Vectors, unit_vectors
from ..directional import SPECK, angle_between
from .offset import interpolation_slack
from .packing import steepest
from .paths import nearest_on_edges
from .star import broken_edge, from_polar, polar

if TYPE_CHECKING:
    from ..directional import Directional
    from .cone import ReachCone

SPOKES = 24  # of a cone about one point
STEPS, HALVINGS = 128, 40  # along a meridian, to where it ends
PULL, PULLS = 0.95, 200  # of vertices whose edges come too near, and how often
GENTLER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.07)  # shares of the slope that there is
ROUNDS = 8  # in which vertices without any twist move in


def speck_within(shape: Directional, r: float) -> ReachCone:
    """Return a cone about the deepest member, as large as its members are sure to be `r` inside."""
    from .cone import ReachCone

    direction, twist = unit_vectors(shape.deepest[:3]), float(shape.deepest[3])
    room = max(-float(shape.distance(shape.deepest)) - r, 0.5 * SPECK) * np.sqrt(0.5)
    turns = np.arange(SPOKES) * TURN / SPOKES
    points = from_polar(turns, np.full(SPOKES, min(room, 1.0)), direction)
    return ReachCone(points, twist - room, twist + room, direction)


def erode_cone(cone: ReachCone, r: float) -> ReachCone:
    """Return a cone whose members are at least `r` inside `cone`: of several, the largest."""
    found, walls = [speck_within(cone, r)], dict[bytes, Scalars | None]()
    for each in _within(cone):
        about = each.visible.tobytes()
        wall = walls[about] if about in walls else _wall(each, r)
        walls[about] = wall
        core = None if wall is None else _narrow(each, wall, r)
        found += [] if core is None else [core]
    return max(found, key=lambda core: core.measure)


def _within(cone: ReachCone) -> Iterator[ReachCone]:
    """Yield cones of the same directions within one: itself, and others with ends less steep.

    Of those with ends that are the same everywhere, one is about the deepest direction, if that
    sees all vertices.
    """
    yield cone
    low, high = (_at_corners(cone, name) for name in ("low", "high"))
    if not cone.is_free:
        corners = np.concatenate([cone.points, cone.visible[None]])
        apart = angle_between(corners[:, None], corners)
        slopes = [_steepness(cone, name) for name in ("low", "high")]
        for share in GENTLER:
            above = (low - share * slopes[0] * apart).max(axis=1)
            below = (high + share * slopes[1] * apart).min(axis=1)
            if (above <= below).all():
                yield _with_ends(cone, above, below)
        low, high = np.full_like(low, low.max()), np.full_like(high, high.min())
        if low[0] > high[0]:
            return
        yield _with_ends(cone, low, high)
    deepest = unit_vectors(cone.deepest[:3])
    if broken_edge(cone.points, deepest) is None:
        yield replace(_with_ends(cone, low, high), visible=deepest)


def _at_corners(cone: ReachCone, name: str) -> Floats:
    """Return the least or greatest twists (n + 1,) at the vertices and the visible point."""
    return np.append(getattr(cone, name), getattr(cone, f"visible_{name}"))


def _with_ends(cone: ReachCone, low: Floats, high: Floats) -> ReachCone:
    """Return the cone with other ends of the twist at the vertices and the visible point."""
    return replace(cone, low=low[:-1], high=high[:-1], visible_low=low[-1], visible_high=high[-1])


def _steepness(cone: ReachCone, name: str) -> float:
    """Return a bound on how fast the least or the greatest twists change with the direction."""
    ends = _at_corners(cone, name)
    return steepest(cone.points, cone.visible, ends[:-1], ends[:-1], (ends[-1], ends[-1]))


def _wall(cone: ReachCone, r: float) -> Scalars | None:
    """Return how far from the visible point vertices go for their polygon to be `r` inside.

    Two arcs that do not cross are nearest at an end of one of them: it is enough that the vertices
    of the smaller polygon are so far inside the larger, and those of the larger outside the
    smaller. None if the visible point is too near to the boundary, or it takes too long.
    """
    from .cone import ReachCone

    azimuth, angle = polar(cone.points, cone.visible)
    ways = np.linspace(0.0, 1.0, STEPS + 1)
    along = from_polar(azimuth[:, None], ways * angle[:, None], cone.visible)
    deep = _boundary_angles(cone, along) >= r
    if not deep[:, 0].all():
        return None
    deep[:, -1] = False
    first = deep.argmin(axis=1)
    low, high = ways[first - 1] * angle, ways[first] * angle
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        deep = _boundary_angles(cone, from_polar(azimuth, middle, cone.visible)) >= r
        low, high = np.where(deep, middle, low), np.where(deep, high, middle)
    moved = np.maximum(low, 0.5 * SPECK)
    for _ in range(PULLS):
        polygon = ReachCone(from_polar(azimuth, moved, cone.visible), visible=cone.visible)
        near = cone.points[_boundary_angles(polygon, cone.points) > -r]
        if not len(near):
            return np.asarray(moved)
        edges = nearest_on_edges(polygon.points, near)[1]
        ends = np.unique(np.concatenate([edges, edges + 1]) % len(moved))
        moved[ends] = np.maximum(PULL * moved[ends], 0.5 * SPECK)
    return None


def _boundary_angles(cone: ReachCone, directions: Vectors) -> Scalars:
    """Return how far directions (..., 3) are from the boundary, negative outside."""
    without = np.zeros((*directions.shape[:-1], 1))
    return np.asarray(cone.left(np.concatenate([directions, without], axis=-1))[..., 0])


def _narrow(cone: ReachCone, moved: Scalars, r: float) -> ReachCone | None:
    """Return the cone with its vertices so far from the visible point, and ends `r` inside.

    Vertices at which no twist is left move in further; None if the visible point has none left.
    """
    azimuth, angle = polar(cone.points, cone.visible)
    if cone.is_free:
        return replace(cone, points=from_polar(azimuth, moved, cone.visible))
    steps = [r * np.hypot(1.0, _steepness(cone, name)) for name in ("low", "high")]
    for _ in range(ROUNDS):
        back, out = np.sin(angle - moved), np.sin(moved)
        slack = interpolation_slack((back + out) / np.sin(angle))
        ends = []
        for name, step, sign in zip(("low", "high"), steps, (1.0, -1.0), strict=True):
            given = _at_corners(cone, name)
            there = (out * given[:-1] + back * given[-1]) / (out + back)
            inward = sign * (step + slack * (given.max() - given.min()))
            ends.append(np.append(there, given[-1]) + inward)
        room = ends[1] - ends[0]
        if room[-1] < 0.0:
            return None
        if (room >= 0.0).all():
            points = from_polar(azimuth, moved, cone.visible)
            return replace(_with_ends(cone, *ends), points=points)
        # Along a meridian, by the shares of the ends: where nothing is left, or a little before.
        share = np.where(room[:-1] < 0.0, room[-1] / (room[-1] - room[:-1]), 1.0)
        nearer = np.arctan2(share * np.sin(moved), 1.0 - share + share * np.cos(moved))
        nearer = np.where(room[:-1] < 0.0, 0.98 * nearer, moved)
        moved = np.minimum(np.maximum(nearer, 0.5 * SPECK), moved)
    return None
