"""Triangle meshes on boundaries of regions: subdivision, cutting and the unit sphere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats, Ints, Mask, Points, unit_vectors
from ..tetrahedra import drop_degenerate

Midpoint = Callable[[Floats, Floats], Floats]
Placement = Callable[[Floats], Floats]


def mean_of(start: Floats, end: Floats) -> Floats:
    """Return the midpoints of straight edges."""
    return 0.5 * (start + end)


@dataclass(frozen=True, eq=False)
class Boundary:
    """A triangle mesh that can be refined: triangles (t, 3) between points (v, k).

    Triangles are counter-clockwise as seen from outside. Points are in coordinates of the boundary.
    `midpoint` returns the point of the boundary half way between two points, and `place` maps
    points to the chart. `kinked` is True if the boundary may bend inside a triangle with straight
    edges.
    """

    points: Floats
    triangles: Ints
    midpoint: Midpoint = mean_of
    place: Placement = np.asarray
    kinked: bool = False

    def halve(self) -> Boundary:
        """Return the boundary with every edge halved: four triangles for each one."""
        edges, sides = edges_of(self.triangles)
        middles = self.midpoint(self.points[edges[:, 0]], self.points[edges[:, 1]])
        return replace(
            self,
            points=np.concatenate([self.points, middles]),
            triangles=split_edges(self.triangles, len(self.points) + sides),
        )


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles on the boundary of a shape, as indices (t, 3) of vertices (v, d) in the chart."""

    vertices: Points
    triangles: Ints


def edges_of(triangles: Ints) -> tuple[Ints, Ints]:
    """Return the unique edges (e, 2), and the index of each triangle's three edges (t, 3).

    Side k of a triangle leads from corner k to the next.
    """
    start, end = triangles, triangles[:, [1, 2, 0]]
    step = int(triangles.max(initial=0)) + 1
    key = (np.minimum(start, end) * step + np.maximum(start, end)).ravel()
    keys, number = np.unique(key, return_inverse=True)
    return np.stack(np.divmod(keys, step), axis=1), number.reshape(-1, 3)


def rim_of(triangles: Ints) -> Ints:
    """Return the edges (e, 2) that only one triangle has, in its orientation."""
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    number = edges_of(triangles)[1].ravel()
    return np.asarray(sides[np.bincount(number, minlength=1)[number] == 1])


def drop_unused_points(triangles: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the indices of the points that are used, of `count`, and the renumbered triangles."""
    number = np.zeros(count, dtype=np.int64)
    number[triangles.ravel()] = 1
    kept = np.flatnonzero(number)
    number[kept] = np.arange(len(kept))
    return kept, number[triangles]


def split_edges(triangles: Ints, middles: Ints) -> Ints:
    """Return the triangles with edges split at `middles` (t, 3): indices of points, or -1.

    Adjacent triangles must agree on their common edge, so that no gap opens.
    """
    cut = middles >= 0
    code = cut[:, 0] + 2 * cut[:, 1] + 4 * cut[:, 2]
    parts = [triangles[code == 0]]
    for k in range(3):
        one, two = code == 1 << k, code == (1 << k) + (1 << (k + 1) % 3)
        a, b, c, ab, bc, _ = _rotate_corners(triangles, middles, one, k)
        parts += [np.stack([a, ab, c], axis=1), np.stack([ab, b, c], axis=1)]
        a, b, c, ab, bc, _ = _rotate_corners(triangles, middles, two, k)
        parts += [np.stack(each, axis=1) for each in ((ab, b, bc), (a, ab, bc), (a, bc, c))]
    a, b, c, ab, bc, ca = _rotate_corners(triangles, middles, code == 7, 0)
    for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)):
        parts.append(np.stack(corners, axis=1))
    return np.concatenate(parts)


def _rotate_corners(triangles: Ints, middles: Ints, which: Mask, k: int) -> Ints:
    """Return corners and edge midpoints (6, n) of the masked triangles, starting at corner `k`."""
    order = [k, (k + 1) % 3, (k + 2) % 3]
    return np.concatenate([triangles[which][:, order], middles[which][:, order]], axis=1).T


Hidden = Callable[[Floats], Mask]
"""Returns a mask (n,) of points, in the boundary's coordinates, that are hidden."""


def cut_off(
    points: Floats,
    triangles: Ints,
    midpoint: Midpoint,
    hidden: Hidden,
    halvings: int,
    mask: Mask | None = None,
) -> tuple[Floats, Ints]:
    """Return the points with new ones appended, and the visible part of the triangles.

    Edges are cut where they become hidden, found by bisection in `halvings` steps. `mask` is the
    result of `hidden` for the points, if known.
    """
    mask = hidden(points) if mask is None else mask
    outer = ~mask[triangles]
    count = outer.sum(axis=1)
    lone = (count == 1) | (count == 2)
    if not lone.any():
        return points, triangles[count == 3]
    # Rotate each triangle so that the corner that differs from the two others comes first.
    odd = outer[lone] == (count[lone] == 1)[:, None]
    turn = (odd.argmax(axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles[lone], turn, axis=1).T
    sides = np.concatenate([np.stack([a, b], axis=1), np.stack([a, c], axis=1)])
    longer, number = cut_edges(points, sides, mask, midpoint, hidden, halvings)
    ab, ac = np.split(number, 2)
    alone = count[lone] == 1
    parts = [
        triangles[count == 3],
        np.stack([a, ab, ac], axis=1)[alone],
        np.stack([ab, b, c], axis=1)[~alone],
        np.stack([ab, c, ac], axis=1)[~alone],
    ]
    return longer, drop_degenerate(np.concatenate(parts))


def cut_edges(
    points: Floats, edges: Ints, mask: Mask, midpoint: Midpoint, hidden: Hidden, halvings: int
) -> tuple[Floats, Ints]:
    """Return the points with new ones appended, and the index of the cut of each edge (e, 2).

    `mask` marks hidden points; each edge must have one hidden end.
    """
    ordered = np.sort(edges, axis=1)
    key, number = np.unique(ordered[:, 0] * len(points) + ordered[:, 1], return_inverse=True)
    ends = np.stack(np.divmod(key, len(points)), axis=1)
    ends = np.where(mask[ends[:, :1]], ends[:, ::-1], ends)  # visible end first
    seen, unseen = points[ends[:, 0]], points[ends[:, 1]]
    for _ in range(halvings):
        between = midpoint(seen, unseen)
        covered = hidden(between)[:, None]
        seen, unseen = np.where(covered, seen, between), np.where(covered, between, unseen)
    # An edge that is hidden from its visible end on is cut at that end, without a new point.
    moved = (seen != points[ends[:, 0]]).any(axis=1)
    cut = np.where(moved, len(points) + np.cumsum(moved) - 1, ends[:, 0])
    return np.concatenate([points, seen[moved]]), cut[number.ravel()]


def midpoint_on_sphere(start: Floats, end: Floats) -> Floats:
    """Return the midpoints of great arcs between unit vectors."""
    return unit_vectors(start + end)


def unit_sphere(detail: int) -> Boundary:
    """Return the unit sphere as an octahedron whose edges are halved `detail` times."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    triangles = np.array(
        [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    )
    sphere = Boundary(points, triangles, midpoint_on_sphere)
    for _ in range(detail):
        sphere = sphere.halve()
    return sphere
