"""Grids of nodes over all directions or all rotations, with values that are linear in between.

Unit vectors are mapped to the vectors whose absolute values add up to 1: an octahedron for
directions, its counterpart in four dimensions for quaternions. Each facet is cut into simplices by
Kuhn's triangulation of the partial sums, so that rounding finds the simplex around a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np

from ..arrays import Floats, Ints, Scalars, unit_vectors


@dataclass(frozen=True)
class NodeGrid:
    """Nodes at directions (`dimension` 3) or rotations (4), edges cut into `divisions` parts.

    There are 4 n² + 2 directions, 11 degrees apart for n = 8, or (4 n³ + 8 n)/3 rotations, 28
    degrees apart. Nodes are in the order of their coordinates; q and -q are one node.
    """

    dimension: int
    divisions: int

    @classmethod
    def with_count(cls, count: int) -> NodeGrid | None:
        """Return the grid with so many nodes; None if there is none."""
        most = round(np.sqrt(max(count, 0))) + 1
        grids = [cls(dimension, n) for dimension in (3, 4) for n in range(1, most)]
        return next((grid for grid in grids if grid.count == count), None)

    @property
    def count(self) -> int:
        """Number of nodes."""
        n = self.divisions
        return 4 * n * n + 2 if self.dimension == 3 else (4 * n**3 + 8 * n) // 3

    @property
    def nodes(self) -> Floats:
        """The nodes: unit vectors (count, dimension)."""
        return unit_vectors(_lattice(self)[0].astype(np.float64))

    def locate(self, vectors: Floats) -> tuple[Ints, Scalars]:
        """Return the nodes (..., d) around unit vectors (..., d), and their weights."""
        d, n = self.dimension, self.divisions
        size = np.abs(vectors)
        sums = np.cumsum(size / np.maximum(size.sum(axis=-1, keepdims=True), 1e-300), axis=-1)
        place = n * np.minimum(sums[..., :-1], 1.0)
        whole = np.floor(place)
        part = place - whole
        # From the corner below, one step along each axis, the largest part first, and of equal
        # parts the last, so that sums stay in order.
        order = d - 2 - np.argsort(-part[..., ::-1], axis=-1, kind="stable")
        parts = np.take_along_axis(part, order, axis=-1)
        weights = np.concatenate(
            [1.0 - parts[..., :1], parts[..., :-1] - parts[..., 1:], parts[..., -1:]], axis=-1
        )
        steps = np.cumsum(np.eye(d - 1)[order], axis=-2)
        below = np.zeros_like(steps[..., :1, :])
        corners = whole[..., None, :] + np.concatenate([below, steps], axis=-2)
        corners = np.where(weights[..., None] > 0.0, corners, whole[..., None, :])
        steps = corners[..., 1:] - corners[..., :-1]
        sizes = np.concatenate([corners[..., :1], steps, n - corners[..., -1:]], axis=-1)
        signs = np.where(vectors < 0.0, -1, 1)
        index = (sizes * signs[..., None, :]).astype(np.int64) + n
        return _lattice(self)[1][tuple(np.moveaxis(index, -1, 0))], weights

    @property
    def simplices(self) -> Ints:
        """The corners of all triangles (8 n², 3), counter-clockwise, or tetrahedra (8 n³, 4)."""
        d, n = self.dimension, self.divisions
        squares = np.meshgrid(*[np.arange(n)] * (d - 1), indexing="ij")
        base = np.stack(squares, axis=-1).reshape(-1, 1, d - 1)
        inner = np.array(list(permutations(np.arange(1, d) / d)))
        sums = (base + inner).reshape(-1, d - 1)
        sums = sums[(np.diff(sums, axis=1) >= 0.0).all(axis=1)]
        middles = np.diff(sums, axis=1, prepend=0.0, append=float(n))
        first = (1.0,) if d == 4 else (-1.0, 1.0)
        signs = np.array(list(product(first, *[(-1.0, 1.0)] * (d - 1))))
        middles = (middles * signs[:, None]).reshape(-1, d)
        corners, _ = self.locate(middles)
        if d == 3:
            reversed_ = np.linalg.det(_lattice(self)[0][corners]) < 0.0
            corners[reversed_] = corners[reversed_, ::-1]
        return corners

    @property
    def mirrored(self) -> Ints:
        """By node, the one that a mirror across the first coordinate shows in its place."""
        nodes, index = _lattice(self)
        flipped = nodes * np.append(-1, np.ones(self.dimension - 1, np.int64))
        return np.asarray(index[tuple((flipped + self.divisions).T)])


@cache
def _lattice(grid: NodeGrid) -> tuple[Ints, Ints]:
    """Return the nodes (m, d) as whole numbers whose sizes add up to n, and a table of indices."""
    d, n = grid.dimension, grid.divisions
    axis = np.arange(-n, n + 1)
    every = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    nodes = every[np.abs(every).sum(axis=1) == n]
    if d == 4:  # of q and -q the one whose first number is positive
        nodes = nodes[nodes[np.arange(len(nodes)), (nodes != 0).argmax(axis=1)] > 0]
    index = np.zeros((2 * n + 1,) * d, dtype=np.int64)
    for side in (nodes, -nodes) if d == 4 else (nodes,):
        index[tuple((side + n).T)] = np.arange(len(nodes))
    return nodes, index
