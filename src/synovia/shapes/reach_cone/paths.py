"""Normals of a reach cone, and paths on the sphere that meet its boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints, Mask, Points, Scalars, Vectors, unit_vectors
from .packing import edge_rows


def nearest_on_edges(vertices: Vectors, directions: Vectors) -> tuple[Vectors, Ints]:
    """Return the point of the polygon's edges nearest to each direction, and its edge's number."""
    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    normals = unit_vectors(np.cross(starts, ends))
    feet = directions[..., None, :] - (directions @ normals.T)[..., None] * normals
    on_edge = np.sum(feet * np.cross(normals, starts), axis=-1) >= 0.0
    on_edge &= np.sum(feet * np.cross(ends, normals), axis=-1) >= 0.0
    length = np.linalg.norm(feet, axis=-1, keepdims=True)
    feet = feet / np.where(length > 0.0, length, 1.0)
    corner = np.where((directions @ starts.T >= directions @ ends.T)[..., None], starts, ends)
    feet = np.where(on_edge[..., None], feet, corner)
    number = np.linalg.norm(feet - directions[..., None, :], axis=-1).argmin(axis=-1)
    return np.take_along_axis(feet, number[..., None, None], axis=-2)[..., 0, :], number


SLACK = 1e-12  # how far past the end of an edge still counts as on it
AT_CORNER = 1e-10  # how far from a vertex, in radians, a crossing counts as being there
OPPOSITE = 1e-9  # chords that pass the centre closer than this have no direction there


@dataclass(frozen=True, eq=False)
class Exit:
    """Where ways first leave the legal directions: `points` (..., 4), and the share `t` (...)."""

    points: Points
    t: Scalars


def first_crossing(
    vertices: Vectors, start: Points, end: Points, inside: Mask, arrives: Mask
) -> Exit:
    """Return the first places where chords from `start` to `end` leave the polygon.

    `inside` and `arrives` tell whether the starts and the ends are legal directions.
    """
    start, end = start.astype(np.float64), end.astype(np.float64)
    t = _exit_shares(vertices, start[..., :3], end[..., :3]).min(axis=-1, initial=1.0)
    opposite = np.linalg.norm(start[..., :3] + end[..., :3], axis=-1) < OPPOSITE
    t = np.where(opposite, np.where(arrives, 1.0, 0.5), t)
    t = np.where(inside, t, 0.0)
    chord = start[..., :3] + t[..., None] * (end[..., :3] - start[..., :3])
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    direction = np.where(length > OPPOSITE, chord / np.maximum(length, OPPOSITE), start[..., :3])
    direction = np.where((t == 0.0)[..., None], start[..., :3], direction)
    direction = np.where((t == 1.0)[..., None], end[..., :3], direction)
    twist = start[..., 3] + t * (end[..., 3] - start[..., 3])
    return Exit(np.concatenate([direction, twist[..., None]], axis=-1), t)


def pull_points(vertices: Vectors, points: Points, rest: Vectors, inside: Mask) -> Points:
    """Return the points with outer directions moved to where their way to `rest` enters.

    Not a number where no such place is found.
    """
    directions = points[..., :3]
    aim = np.broadcast_to(rest, directions.shape)
    t = _crossings(vertices, directions, aim, 1.0).min(axis=-1)
    found = np.isfinite(t)
    chord = directions + np.where(found, t, 0.0)[..., None] * (aim - directions)
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    found &= length[..., 0] > OPPOSITE
    chord = np.where(found[..., None], chord / np.where(found[..., None], length, 1.0), np.nan)
    moved = np.where(inside[..., None], directions, chord)
    return np.concatenate([moved, points[..., 3:]], axis=-1)


def _exit_shares(vertices: Vectors, start: Vectors, end: Vectors) -> Floats:
    """Return where chords leave the polygon over each edge (..., n); infinite if they do not.

    At a vertex that points inwards, who crosses one edge leaves only if the other is left, too.
    """
    t = _crossings(vertices, start, end, -1.0)
    before, after = np.roll(vertices, 1, axis=0), np.roll(vertices, -1, axis=0)
    inward = np.einsum("ij,ij->i", np.cross(before, vertices), after) < 0.0
    if not inward.any():
        return t
    left = (end - start) @ edge_rows(vertices)[:, 6:9].T < 0.0
    crossing = np.isfinite(t)
    place = (
        start[..., None, :] + np.where(crossing, t, 0.0)[..., None] * (end - start)[..., None, :]
    )
    place /= np.maximum(np.linalg.norm(place, axis=-1, keepdims=True), OPPOSITE)
    for corner, other in ((vertices, 1), (after, -1)):
        turned = inward if other == 1 else np.roll(inward, -1)
        at_corner = np.linalg.norm(place - corner, axis=-1) < AT_CORNER
        stays = crossing & turned & at_corner & ~np.roll(left, other, axis=-1)
        t = np.where(stays, np.inf, t)
    return t


def _crossings(vertices: Vectors, start: Vectors, end: Vectors, side: float) -> Floats:
    """Return where chords cross each edge (..., n) outward (-1) or inward (1); infinite if not."""
    edges = edge_rows(vertices)
    normals = side * edges[:, 6:9]
    before, after = start @ normals.T, end @ normals.T
    rises = after - before
    crosses = (rises > 0.0) & (before <= SLACK) & (after > 0.0)
    t = np.where(crosses, np.clip(-before / np.where(crosses, rises, 1.0), 0.0, 1.0), np.inf)
    along, across = start @ edges[:, 0:3].T, start @ edges[:, 3:6].T
    share = np.where(crosses, t, 0.0)
    along = along + share * (end @ edges[:, 0:3].T - along)
    across = across + share * (end @ edges[:, 3:6].T - across)
    short = across * edges[:, 9] - along * edges[:, 10]
    return np.where((across >= -SLACK) & (short <= SLACK), t, np.inf)
