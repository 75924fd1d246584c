"""Marching tetrahedra: triangles between the nodes of a grid that are inside and the others."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints, Mask


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
    """Return triangles (t, 3, 2, 3) that separate the nodes `inside` a region from the others.

    Each triangle has three edges of the grid, each edge the indices of its inner and outer node.
    """
    corners = cell_corners(inside)
    cut = np.argwhere(corners.any(axis=0) & ~corners.all(axis=0))
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
