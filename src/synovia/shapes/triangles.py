"""Triangle meshes: edges, subdivision, cutting, the unit sphere, and marching tetrahedra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ..arrays import Floats, Ints, Mask, Points, unit_vectors

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


def bisect(
    seen: Floats, unseen: Floats, hidden: Hidden, halvings: int, midpoint: Midpoint = mean_of
) -> tuple[Floats, Floats]:
    """Return the ends (n, k) of edges from visible to hidden points after so many halvings."""
    for _ in range(halvings):
        between = midpoint(seen, unseen)
        covered = hidden(between)[:, None]
        seen, unseen = np.where(covered, seen, between), np.where(covered, between, unseen)
    return seen, unseen


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
    seen, _ = bisect(points[ends[:, 0]], points[ends[:, 1]], hidden, halvings, midpoint)
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


def drop_degenerate(triangles: Ints) -> Ints:
    """Return the triangles with three different corners."""
    a, b, c = triangles.T
    return np.asarray(triangles[(a != b) & (b != c) & (c != a)])


def _tetrahedra() -> Ints:
    """Return the corners (6, 4) of six tetrahedra that fill a cell, last axis fastest.

    Each follows the three axes from the first corner to the last in a different order, so that
    adjacent cells agree on the diagonals of their faces (Kuhn's subdivision).
    """
    steps = {0: 4, 1: 2, 2: 1}
    paths = [[0, *np.cumsum([steps[axis] for axis in order])] for order in permutations(range(3))]
    return np.array(paths)


TETRAHEDRA = _tetrahedra()
CORNERS = np.array(list(np.ndindex(2, 2, 2)))


def march_tetrahedra(inside: Mask) -> Ints:
    """Return triangles (t, 3, 2, 3) that separate the nodes `inside` a region from the others.

    Each triangle has three edges of the grid, each edge the indices of its inner and outer node.
    """
    corners = np.lib.stride_tricks.sliding_window_view(inside, (2, 2, 2))
    cut = np.argwhere(corners.any(axis=(3, 4, 5)) & ~corners.all(axis=(3, 4, 5)))
    nodes = cut[:, None, None, :] + CORNERS[TETRAHEDRA]
    tetrahedra = np.ravel_multi_index(tuple(np.moveaxis(nodes, -1, 0)), inside.shape).reshape(-1, 4)
    edges = _cut_edges(tetrahedra, inside.ravel()[tetrahedra], inside.shape)
    return np.stack(np.unravel_index(edges, inside.shape), axis=-1)


def _cut_edges(tetrahedra: Ints, inside: Mask, shape: tuple[int, ...]) -> Ints:
    """Return triangles (t, 3, 2) between the inner and the outer corners of tetrahedra."""
    count = inside.sum(axis=1)
    order = np.argsort(~inside, axis=1, kind="stable")  # inner corners first
    a, b, c, d = np.take_along_axis(tetrahedra, order, axis=1).T
    parts = []
    for inner, edges in (
        (1, [((a, b), (a, c), (a, d))]),
        (2, [((a, c), (a, d), (b, d)), ((a, c), (b, d), (b, c))]),
        (3, [((a, d), (b, d), (c, d))]),
    ):
        for three in edges:
            parts.append(np.stack([np.stack(e, -1) for e in three], 1)[count == inner])
    triangles = np.concatenate(parts)
    # The midpoints of the edges give the orientation, wherever the edges will be cut.
    at = np.stack(np.unravel_index(triangles, shape), axis=-1).astype(float)
    one, two, three = np.moveaxis(at.mean(axis=2), 1, 0)
    outwards = (at[:, :, 1] - at[:, :, 0]).sum(axis=1)
    turned = np.einsum("ti,ti->t", np.cross(two - one, three - one), outwards) < 0.0
    triangles[turned] = triangles[turned][:, ::-1]
    return triangles


def number_edges(edges: Ints) -> tuple[Ints, Ints]:
    """Return the unique edges (e, 2, 3) of triangles (t, 3, 2, 3), and the triangles (t, 3).

    Triangles are indices of edges. Those without area are dropped.
    """
    nodes = edges.reshape(-1, 3)
    low = nodes.min(axis=0, initial=0)
    sides = nodes.max(axis=0, initial=0) - low + 1
    flat = np.ravel_multi_index(tuple((nodes - low).T), tuple(sides)).reshape(-1, 2)
    keys = flat[:, 0] * int(np.prod(sides)) + flat[:, 1]  # in the order of the edges themselves
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return edges.reshape(-1, 2, 3)[first], drop_degenerate(number.reshape(-1, 3))
