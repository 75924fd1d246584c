"""First exit from a reach cone, and pull into it, along chords, as Wilhelms & Van Gelder do it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Points, Scalars, Vectors
from ..directional import unit_directions
from .cone import ReachCone, edge_rows

SLACK = 1e-12  # distance beyond the end of an edge that still counts as on it
AT_CORNER = 1e-10  # distance, in radians, at which a crossing is at a vertex
OPPOSITE = 1e-9  # a chord that passes the centre closer than this has no direction there


@dataclass(frozen=True, eq=False)
class Exit:
    """Points (..., 4) where chords first leave the legal directions, and their shares `t` (...)."""

    points: Points
    t: Scalars


def exit_along_chord(cone: ReachCone, start: Points, end: Points) -> Exit:
    """Return where the chords from `start` to `end` (..., 4) first leave the legal directions.

    A chord is the straight line between two directions, seen from the centre; the twist changes in
    proportion to it. The share t is 1 if the boundary is not met, and 0 if the start is illegal.
    Between opposite directions it is ½ unless both are legal. `first_exit` is exact along the
    rotation instead.
    """
    start, end = np.broadcast_arrays(start, end)
    before, after = (unit_directions("directions", points[..., :3]) for points in (start, end))
    t = _exit_shares(cone, before, after).min(axis=-1, initial=1.0)
    opposite = np.linalg.norm(before + after, axis=-1) < OPPOSITE
    t = np.where(opposite, np.where(cone.contains_direction(after), 1.0, 0.5), t)
    t = np.where(cone.contains_direction(before), t, 0.0)
    chord = before + t[..., None] * (after - before)
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    direction = np.where(length > OPPOSITE, chord / np.maximum(length, OPPOSITE), before)
    direction = np.where((t == 0.0)[..., None], before, direction)
    direction = np.where((t == 1.0)[..., None], after, direction)
    twist = start[..., 3] + t * (end[..., 3] - start[..., 3])
    return Exit(np.concatenate([direction, twist[..., None]], axis=-1), t)


def pull_to_rest(cone: ReachCone, points: Points, rest: Vectors | None = None) -> Points:
    """Return points (..., 4) with illegal directions moved towards `rest` until they are legal.

    They follow the great circle to `rest`, a legal direction (the visible point by default), and
    stop at the boundary; then the twist becomes the nearest legal one. Members stay. The result is
    not the nearest member: see `project`. ValueError if `rest` is illegal.
    """
    aim = cone.visible if rest is None else unit_directions("rest", rest)
    if not cone.contains_direction(aim):
        raise ValueError(f"rest must be a legal direction, got {aim.tolist()}")
    directions = unit_directions("directions", points[..., :3])
    outside = ~cone.contains_direction(directions)
    t = _crossings(cone, directions, np.broadcast_to(aim, directions.shape), 1.0).min(axis=-1)
    chord = directions + np.where(np.isfinite(t), t, 0.0)[..., None] * (aim - directions)
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    moves = (outside & np.isfinite(t) & (length[..., 0] > OPPOSITE))[..., None]
    moved = np.where(moves, chord / np.maximum(length, OPPOSITE), directions)
    return np.asarray(cone.project(np.concatenate([moved, points[..., 3:]], axis=-1)))


def _exit_shares(cone: ReachCone, start: Vectors, end: Vectors) -> Floats:
    """Return where chords leave the polygon over each edge (..., n); infinite if they do not.

    At a vertex that points inwards, a chord leaves only if it leaves over both of its edges.
    """
    vertices = cone.points
    t = _crossings(cone, start, end, -1.0)
    before, after = np.roll(vertices, 1, axis=0), np.roll(vertices, -1, axis=0)
    inward = np.einsum("ij,ij->i", np.cross(before, vertices), after) < 0.0
    leaves = (end - start) @ edge_rows(vertices)[:, 6:9].T < 0.0
    crosses = np.isfinite(t)
    points = (
        start[..., None, :] + np.where(crosses, t, 0.0)[..., None] * (end - start)[..., None, :]
    )
    points /= np.maximum(np.linalg.norm(points, axis=-1, keepdims=True), OPPOSITE)
    for corner, is_inward, neighbour in ((vertices, inward, 1), (after, np.roll(inward, -1), -1)):
        at_corner = np.linalg.norm(points - corner, axis=-1) < AT_CORNER
        stays = crosses & is_inward & at_corner & ~np.roll(leaves, neighbour, axis=-1)
        t = np.where(stays, np.inf, t)
    return t


def _crossings(cone: ReachCone, start: Vectors, end: Vectors, side: float) -> Floats:
    """Return where chords cross each edge (..., n) outwards (-1) or inwards (1); else infinite."""
    edges = edge_rows(cone.points)
    normals = side * edges[:, 6:9]
    before, after = start @ normals.T, end @ normals.T
    rises = after - before
    crosses = (rises > 0.0) & (before <= SLACK) & (after > 0.0)
    t = np.where(crosses, np.clip(-before / np.where(crosses, rises, 1.0), 0.0, 1.0), np.inf)
    share = np.where(crosses, t, 0.0)
    along, across = (
        (1.0 - share) * (start @ axes.T) + share * (end @ axes.T)
        for axes in (edges[:, 0:3], edges[:, 3:6])
    )
    short = across * edges[:, 9] - along * edges[:, 10]
    return np.where((across >= -SLACK) & (short <= SLACK), t, np.inf)
