"""The boundary of a distance field as triangles: marching tetrahedra, six to a cell.

Vertices lie where Φ is the threshold along edges of the tetrahedra, found to rounding; a region
that the box cuts off is closed by triangles in the box's side.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..arrays import Floats, Ints, Mask, Points, Scalars
from .field_tables import closed, halved
from .field_volume import cell_corners
from .region import Surface

COARSEST = 2
"""The detail at which the cells are the field's own."""


def _tetrahedra() -> Ints:
    """Return the corners, numbered as in `cell_corners`, of six tetrahedra that fill a cell.

    Each goes from the first corner to the last along the three axes in another order, so that
    neighbouring cells agree on the diagonals of their faces.
    """
    steps = {0: 4, 1: 2, 2: 1}
    paths = [[0, *np.cumsum([steps[axis] for axis in order])] for order in permutations(range(3))]
    return np.array(paths)


TETRAHEDRA = _tetrahedra()


def boundary(
    values: Floats,
    threshold: float,
    low: Floats,
    spacing: Floats,
    wraps: Mask,
    detail: int,
    *,
    capped: bool = True,
) -> Surface:
    """Return triangles where Φ is `threshold`, facing outwards.

    Where the box ends the region they close it, if `capped`.
    """
    nodes = closed(values, wraps)
    for _ in range(max(detail - COARSEST, 0)):
        nodes = closed(halved(nodes, wraps), wraps)
        spacing = 0.5 * spacing
    # One more node beyond each side that does not wrap, high enough to be outside.
    high = max(float(nodes.max()), threshold) + 1.0
    pads = [(0, 0) if wrap or not capped else (1, 1) for wrap in wraps]
    wide = np.pad(nodes, pads, constant_values=high)
    first = np.array([before for before, _ in pads])

    corners = cell_corners(wide) <= threshold
    cut = np.argwhere(corners.any(axis=0) & ~corners.all(axis=0))
    numbers = cut[:, None, None, :] + np.array(list(np.ndindex(2, 2, 2)))[TETRAHEDRA]
    tets = np.ravel_multi_index(tuple(np.moveaxis(numbers, -1, 0)), wide.shape).reshape(-1, 4)
    edges = _cut_edges(tets, wide.ravel()[tets] <= threshold, wide.shape)
    # To a node beyond the side no edge goes anywhere: the region ends where it starts.
    start, end = (np.stack(np.unravel_index(edges[..., k], wide.shape), -1) - first for k in (0, 1))
    beyond = ((end < 0) | (end >= nodes.shape)).any(axis=-1, keepdims=True)
    end = np.where(beyond, start, end)
    lines = np.concatenate([start, end], axis=-1).reshape(-1, 6)
    lines, number = np.unique(lines, axis=0, return_inverse=True)
    triangles = number.reshape(-1, 3)
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    vertices = _crossings(nodes, threshold, lines[:, :3], lines[:, 3:])
    return Surface(low + spacing * vertices, triangles)


def _cut_edges(tets: Ints, inside: Mask, shape: tuple[int, ...]) -> Ints:
    """Return triangles that part the inner corners of tetrahedra from the outer ones.

    Each is given by three edges, each edge by its inner and its outer node: (t, 3, 2).
    """
    count = inside.sum(axis=1)
    order = np.argsort(~inside, axis=1, kind="stable")  # inner corners first
    a, b, c, d = np.take_along_axis(tets, order, axis=1).T
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


def _crossings(nodes: Floats, threshold: float, inner: Ints, outer: Ints) -> Points:
    """Return where Φ reaches the threshold between nodes of one cell, in numbers of nodes.

    On the way by a share t along some of the axes at once Φ is a cubic in t, whose coefficients
    are sums and differences of the corners on the way. Bisected, and ended inside.
    """
    way = outer - inner
    parts = {}
    for corner in np.ndindex(2, 2, 2):
        i, j, k = (inner + way * np.array(corner)).T
        parts[corner] = nodes[i, j, k] - threshold
    coefficients = np.zeros((4, len(inner)))
    for corner, part in parts.items():
        for above in np.ndindex(2, 2, 2):
            if all(u >= c for u, c in zip(above, corner, strict=True)):
                coefficients[sum(above)] += (-1) ** (sum(above) - sum(corner)) * part
    low, high = np.zeros(len(inner)), np.ones(len(inner))
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = _polynomial(coefficients, middle) <= 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    still = (way == 0).all(axis=1)
    return inner + way * np.where(still, 0.0, low)[:, None]


def _polynomial(coefficients: Floats, t: Scalars) -> Scalars:
    a, b, c, d = coefficients
    return np.asarray(a + t * (b + t * (c + t * d)))
