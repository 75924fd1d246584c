"""Boundary: the triangles on a region's boundary, and how their edges are halved on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Mask, Points, unit_vectors

if TYPE_CHECKING:
    from .region import Region

Midpoint = Callable[[Floats, Floats], Floats]
Placement = Callable[[Floats], Floats]


def mean_of(start: Floats, end: Floats) -> Floats:
    """Return the points half way on straight lines."""
    return 0.5 * (start + end)


@dataclass(frozen=True, eq=False)
class Boundary:
    """Triangles (t, 3) between points (v, k), counter-clockwise as seen from outside.

    Points are in coordinates of the boundary's own. `midpoint` returns the point of the boundary
    half way between two, `place` returns points in the chart. A boundary is `kinked` if it may
    bend within a triangle whose edges are straight.
    """

    points: Floats
    triangles: Ints
    midpoint: Midpoint = mean_of
    place: Placement = np.asarray
    kinked: bool = False

    def halve(self) -> Boundary:
        """Return the boundary with every edge halved: four triangles for one."""
        edges, sides = edges_of(self.triangles)
        middles = self.midpoint(self.points[edges[:, 0]], self.points[edges[:, 1]])
        return replace(
            self,
            points=np.concatenate([self.points, middles]),
            triangles=split_edges(self.triangles, len(self.points) + sides),
        )


def edges_of(triangles: Ints) -> tuple[Ints, Ints]:
    """Return the edges (e, 2), each once, and the numbers of each triangle's three (t, 3).

    Side k of a triangle leads from corner k to the next.
    """
    start, end = triangles, triangles[:, [1, 2, 0]]
    step = int(triangles.max(initial=0)) + 1
    key = (np.minimum(start, end) * step + np.maximum(start, end)).ravel()
    keys, number = np.unique(key, return_inverse=True)
    return np.stack(np.divmod(keys, step), axis=1), number.reshape(-1, 3)


def rim_of(triangles: Ints) -> Ints:
    """Return the edges (e, 2) of one triangle only, in that triangle's sense."""
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    number = edges_of(triangles)[1].ravel()
    return np.asarray(sides[np.bincount(number, minlength=1)[number] == 1])


def drop_unused_points(triangles: Ints, count: int) -> tuple[Ints, Ints]:
    """Return which of `count` points the triangles have, and the triangles between those alone."""
    number = np.zeros(count, dtype=np.int64)
    number[triangles.ravel()] = 1
    kept = np.flatnonzero(number)
    number[kept] = np.arange(len(kept))
    return kept, number[triangles]


def drop_degenerate(triangles: Ints) -> Ints:
    """Return the triangles whose three corners differ."""
    a, b, c = triangles.T
    return np.asarray(triangles[(a != b) & (b != c) & (c != a)])


def split_edges(triangles: Ints, middles: Ints) -> Ints:
    """Return the triangles with edges halved at `middles` (t, 3): numbers of points, or -1.

    Neighbours agree on the edges that they share, so no gap opens between them.
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
    """Return the three corners and the three middles of some triangles, from corner `k` on."""
    order = [k, (k + 1) % 3, (k + 2) % 3]
    return np.concatenate([triangles[which][:, order], middles[which][:, order]], axis=1).T


# What is left of triangles where a part of them is hidden.


Hidden = Callable[[Floats], Mask]
"""Tells which points, in the boundary's own coordinates, are hidden."""


def cut_off(
    points: Floats,
    triangles: Ints,
    midpoint: Midpoint,
    hidden: Hidden,
    halvings: int,
    mask: Mask | None = None,
) -> tuple[Floats, Ints]:
    """Return the points with more at the end, and what is left of the triangles between them.

    Edges are cut where they become hidden, which is looked for by so many halvings. `mask` tells
    which of the points are hidden, if that is known.
    """
    mask = hidden(points) if mask is None else mask
    outer = ~mask[triangles]
    count = outer.sum(axis=1)
    lone = (count == 1) | (count == 2)
    if not lone.any():
        return points, triangles[count == 3]
    # Turned so that the corner that differs from the two others comes first.
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
    """Return the points with more at the end, and at which each of some edges (e, 2) is cut.

    `mask` tells which of the points are hidden: of each edge one end is.
    """
    ordered = np.sort(edges, axis=1)
    key, number = np.unique(ordered[:, 0] * len(points) + ordered[:, 1], return_inverse=True)
    ends = np.stack(np.divmod(key, len(points)), axis=1)
    ends = np.where(mask[ends[:, :1]], ends[:, ::-1], ends)  # the end that is seen first
    seen, unseen = points[ends[:, 0]], points[ends[:, 1]]
    for _ in range(halvings):
        between = midpoint(seen, unseen)
        covered = hidden(between)[:, None]
        seen, unseen = np.where(covered, seen, between), np.where(covered, between, unseen)
    # An edge that is hidden at once is cut at its end, of which there is no second one.
    moved = (seen != points[ends[:, 0]]).any(axis=1)
    cut = np.where(moved, len(points) + np.cumsum(moved) - 1, ends[:, 0])
    return np.concatenate([points, seen[moved]]), cut[number.ravel()]


# The unit sphere.


def midpoint_on_sphere(start: Floats, end: Floats) -> Floats:
    """Return the unit vectors half way between two, along the great circle."""
    return unit_vectors(start + end)


def unit_sphere(detail: int) -> Boundary:
    """Return the unit sphere: an octahedron whose edges are halved `detail` times."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    triangles = np.array(
        [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    )
    sphere = Boundary(points, triangles, midpoint_on_sphere)
    for _ in range(detail):
        sphere = sphere.halve()
    return sphere


# Marching tetrahedra: the boundary between the nodes of a grid that are inside and the others.


def _tetrahedra() -> Ints:
    """Return the corners, last axis fastest, of six tetrahedra that fill a cell.

    Each goes from the first corner to the last along the three axes in another order, so that
    neighbouring cells agree on the diagonals of their faces.
    """
    steps = {0: 4, 1: 2, 2: 1}
    paths = [[0, *np.cumsum([steps[axis] for axis in order])] for order in permutations(range(3))]
    return np.array(paths)


TETRAHEDRA = _tetrahedra()
CORNERS = np.array(list(np.ndindex(2, 2, 2)))


def cell_corners(nodes: NDArray[Any]) -> NDArray[Any]:
    """Return the eight corner values of each cell: (8, I − 1, J − 1, K − 1), last axis fastest."""
    sizes = [n - 1 for n in nodes.shape]
    return np.stack(
        [
            nodes[tuple(slice(c, c + n) for c, n in zip(corner, sizes, strict=True))]
            for corner in CORNERS.tolist()
        ]
    )


def march_tetrahedra(inside: Mask) -> Ints:
    """Return triangles that part the nodes of a grid that are inside from the others.

    Each is given by three edges, each edge by the indices of its inner and its outer node:
    (t, 3, 2, 3).
    """
    corners = cell_corners(inside)
    cut = np.argwhere(corners.any(axis=0) & ~corners.all(axis=0))
    nodes = cut[:, None, None, :] + CORNERS[TETRAHEDRA]
    tetrahedra = np.ravel_multi_index(tuple(np.moveaxis(nodes, -1, 0)), inside.shape).reshape(-1, 4)
    edges = _cut_edges(tetrahedra, inside.ravel()[tetrahedra], inside.shape)
    return np.stack(np.unravel_index(edges, inside.shape), axis=-1)


def _cut_edges(tetrahedra: Ints, inside: Mask, shape: tuple[int, ...]) -> Ints:
    """Return triangles that part the inner corners of tetrahedra from the outer ones: (t, 3, 2)."""
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
    # Midpoints of the edges tell which way a triangle faces, wherever it will be cut.
    at = np.stack(np.unravel_index(triangles, shape), axis=-1).astype(float)
    one, two, three = np.moveaxis(at.mean(axis=2), 1, 0)
    outwards = (at[:, :, 1] - at[:, :, 0]).sum(axis=1)
    turned = np.einsum("ti,ti->t", np.cross(two - one, three - one), outwards) < 0.0
    triangles[turned] = triangles[turned][:, ::-1]
    return triangles


def number_edges(edges: Ints) -> tuple[Ints, Ints]:
    """Return the edges (e, 2, 3) of triangles (t, 3, 2, 3), each once, and the triangles (t, 3).

    Triangles without an area are left out.
    """
    nodes = edges.reshape(-1, 3)
    low = nodes.min(axis=0, initial=0)
    sides = nodes.max(axis=0, initial=0) - low + 1
    flat = np.ravel_multi_index(tuple((nodes - low).T), tuple(sides)).reshape(-1, 2)
    keys = flat[:, 0] * int(np.prod(sides)) + flat[:, 1]  # in the order of the edges themselves
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return edges.reshape(-1, 2, 3)[first], drop_degenerate(number.reshape(-1, 3))


CELLS = 8
"""Cells along the longest side of the grid, for each detail."""
HALVINGS = 8
"""How often the edges of the grid are halved where they cross the boundary."""
FARTHER, DOUBLINGS = 1.5, 40
"""How far an inner point is first moved to get outside, in depths, and how often twice as far."""


def boundary_by_distance(region: Region, detail: int) -> Boundary:
    """Return the boundary of a region of space, from its distances at the nodes of a grid."""
    if region.dimension != 3:
        raise ValueError(
            f"a {region.name} of {region.dimension} coordinates has no boundary of triangles"
        )
    low, high = region.bounds
    cell = max(float((high - low).max()), 1e-9) / (CELLS * (detail + 1))
    # A node beyond either side, and none in the sides themselves, where faces may lie.
    count = np.floor((high - low) / cell).astype(int) + 3
    first = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    nodes = first + cell * np.moveaxis(np.indices(tuple(count)), 0, -1)
    distance = region.distance(nodes)
    if distance.min() > 0.0:  # too thin for a node, and for triangles: where the nearest ones are
        near = region.project(nodes[distance <= distance.min() + cell])
        return Boundary(near, np.empty((0, 3), dtype=np.int64))
    edges, triangles = number_edges(march_tetrahedra(distance <= 0.0))
    inner, outer = np.moveaxis(first + cell * edges, 1, 0)
    for _ in range(HALVINGS):
        middle = 0.5 * (inner + outer)
        inside = (region.distance(middle) <= 0.0)[:, None]
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)

    def midpoint(start: Points, end: Points) -> Points:
        return nearby_boundary(region, 0.5 * (start + end))

    return Boundary(region.project(outer), triangles, midpoint)


def nearby_boundary(region: Region, points: Points) -> Points:
    """Return a point of the boundary close to each of `points` (n, d).

    It is the nearest member of an outer point. An inner point first goes outwards until it is one.
    """
    distance = region.distance(points)
    outer, inside = np.array(points), np.flatnonzero(distance <= 0.0)
    way = region.facing(points[inside])
    step = np.maximum(-FARTHER * distance[inside], 1e-9)[:, None]
    for _ in range(DOUBLINGS):
        if len(inside) == 0:
            break
        outer[inside] = points[inside] + step * way
        still = region.distance(outer[inside]) <= 0.0
        inside, way, step = inside[still], way[still], 2.0 * step[still]
    return region.project(outer)
