"""Star polygons on the sphere: whether a point sees every vertex, and how to find one that does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import TURN, Floats, Ints, Scalars, Vectors, cross, unit_vectors
from ..extent import tangent_basis

ORIGIN = 1e-13  # product with a normal that counts as 0
LEAST = 1e-13  # triple products below this, for their size, are rounding


class StarError(ValueError):
    """Raised where a polygon is no star about its visible point; `broken` is the edge at fault."""

    def __init__(self, message: str, broken: BrokenEdge) -> None:
        super().__init__(message)
        self.broken = broken


@dataclass(frozen=True, eq=False)
class BrokenEdge:
    """An edge that a star may not have: its number, its two ends (2, 3), and why, in words."""

    edge: int
    ends: Vectors
    why: str


def polar(directions: Vectors, visible: Vectors) -> tuple[Scalars, Scalars]:
    """Return the azimuth of directions about `visible`, from -π to π, and the angle from it."""
    u, v = np.moveaxis(directions @ tangent_basis(visible).T, -1, 0)
    return np.arctan2(v, u), np.arctan2(np.hypot(u, v), directions @ visible)


def from_polar(azimuth: Scalars, angle: Scalars, visible: Vectors) -> Vectors:
    """Return the unit directions (..., 3) at these azimuths and angles from `visible`."""
    across = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=-1) @ tangent_basis(visible)
    angle = np.asarray(angle)[..., None]
    return np.asarray(np.cos(angle) * visible + np.sin(angle) * across)


def argmax_by_group(group: Ints, values: Scalars) -> Ints:
    """Return which item has the greatest value of each group, in order of the groups."""
    top = np.full(int(group.max()) + 1, -np.inf)
    np.maximum.at(top, group, values)
    holders = np.flatnonzero(values == top[group])
    return np.asarray(holders[np.unique(group[holders], return_index=True)[1]])


def broken_edge(points: Vectors, visible: Vectors) -> BrokenEdge | None:
    """Return the edge for which the polygon is no star about `visible`; None if it is one.

    That every triple product V × P · Q is positive is not enough: a pentagram passes. The steps
    of azimuth must also make one turn.
    """
    following = np.roll(points, -1, axis=0)
    triple = cross(points, following - points) @ visible
    size = np.linalg.norm(points - visible, axis=1)
    if not (triple > LEAST * size * np.roll(size, -1)).all():
        fault = "does not run counter-clockwise as seen from the visible point"
        return _describe_edge(points, int(triple.argmin()), fault)
    azimuth = polar(points, visible)[0]
    steps = np.diff(azimuth, append=azimuth[:1]) % TURN
    turns = np.cumsum(steps)
    if round(float(turns[-1]) / TURN) != 1:
        fault = "goes around the visible point a second time"
        return _describe_edge(points, int(np.argmax(turns > TURN + 1e-9)), fault)
    return None


def _describe_edge(points: Vectors, edge: int, fault: str) -> BrokenEdge:
    end = (edge + 1) % len(points)
    why = f"edge {edge} (from point {edge} to point {end}) {fault}"
    return BrokenEdge(edge, points[[edge, end]], why)


def visible_point(points: Vectors) -> Vectors:
    """Return a direction that sees every vertex: the points' sum, or else the one that sees best.

    What sees edge i has a positive product with P × Q. The best direction v has the greatest least
    product with these unit normals, by a linear program over |v| <= 1 by component. If that is 0,
    the multipliers name edges that no direction sees at once.
    """
    total = points.sum(axis=0)
    if np.linalg.norm(total) > 1e-9 and broken_edge(points, unit_vectors(total)) is None:
        return unit_vectors(total)
    from scipy.optimize import linprog

    normals = np.cross(points, np.roll(points, -1, axis=0))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.asarray(normals / np.where(length > 0.0, length, 1.0))
    rule = "ReachCone.points have no visible point"
    if (length == 0.0).any():
        why = f"edge {int(length.argmin())} has no length, or half a turn"
        raise ValueError(f"{rule}: {why}; edge i goes from point i to the next")
    # Variables are v and the least product t: t − normal · v <= 0.
    found = linprog(
        [0.0, 0.0, 0.0, -1.0],
        np.column_stack([-normals, np.ones(len(points))]),
        np.zeros(len(points)),
        bounds=[(-1.0, 1.0)] * 4,
    )
    best = found.x[:3]
    if found.x[3] < ORIGIN:
        edges = ", ".join(map(str, np.flatnonzero(found.ineqlin.marginals < -1e-9)))
        why = f"no direction sees edges {edges} at once"
        raise ValueError(f"{rule}: {why}; edge i goes from point i to the next")
    broken = broken_edge(points, unit_vectors(best))
    if broken:
        raise StarError(f"{rule}: {broken.why}", broken)
    return unit_vectors(best)


def slice_rows(points: Vectors, visible: Vectors, low: Floats, high: Floats) -> Floats:
    """Return for each slice the normals of its two sides and its edge, and the limits there."""
    following = np.roll(points, -1, axis=0)
    rows = np.zeros((len(points), 16))
    # Products with differences: those of a small cone's directions would lose half the digits.
    rows[:, 0:3] = cross(visible, points - visible)
    rows[:, 3:6] = np.roll(rows[:, 0:3], -1, axis=0)
    rows[:, 6:9] = cross(points, following - points)
    rows[:, 9:13] = np.stack([low, high, np.roll(low, -1), np.roll(high, -1)], axis=1)
    return rows


def twist_gradients(points: Vectors, visible: Vectors) -> Floats:
    """Return the gradients (n, 2, 2) in each slice, for a twist limit of 1 at its start or end.

    Rows are the two vertices, columns two coordinates across the direction. A limit of 1 at the
    visible point has minus their sum. Limits are linear on the plane triangle of a slice, so that
    per radian of direction they change fastest where that is nearest to the centre.
    """
    rows = slice_rows(points, visible, np.zeros(len(points)), np.zeros(len(points)))
    normal = rows[:, 0:3] - rows[:, 3:6] + rows[:, 6:9]
    size, depth = np.linalg.norm(normal, axis=1), rows[:, 6:9] @ visible
    frames = tangent_basis(normal / size[:, None])
    both = np.stack([-rows[:, 3:6], rows[:, 0:3]], axis=1)
    return np.asarray(both @ np.swapaxes(frames, 1, 2) * (size / depth**2)[:, None, None])


def nearest_on_edges(vertices: Vectors, directions: Vectors) -> tuple[Vectors, Ints]:
    """Return the nearest point of the polygon's edges to each direction, and the edge's index."""
    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    normals = unit_vectors(np.cross(starts, ends))
    feet = directions[..., None, :] - (directions @ normals.T)[..., None] * normals
    on_edge = np.sum(feet * np.cross(normals, starts), axis=-1) >= 0.0
    on_edge &= np.sum(feet * np.cross(ends, normals), axis=-1) >= 0.0
    length = np.linalg.norm(feet, axis=-1, keepdims=True)
    feet = feet / np.where(length > 0.0, length, 1.0)
    corner = np.where((directions @ starts.T >= directions @ ends.T)[..., None], starts, ends)
    feet = np.where(on_edge[..., None], feet, corner)
    edge = np.linalg.norm(feet - directions[..., None, :], axis=-1).argmin(axis=-1)
    return np.take_along_axis(feet, edge[..., None, None], axis=-2)[..., 0, :], edge
