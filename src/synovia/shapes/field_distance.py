"""Distances anew: from any function on a grid to the signed distance from one of its levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Scalars
from .field_surface import TETRAHEDRA
from .field_tables import closed

SIDE = 4
"""Cells of a block, along each axis: blocks are searched before their cells."""
THREADS = 2


@dataclass(frozen=True, eq=False)
class Triangles:
    """The surface of a level, in blocks; `kernels.level_surface` says what the rows are."""

    corners: Floats
    boxes: Floats
    cells: Floats
    blocks: Floats


@dataclass(frozen=True, eq=False)
class Level:
    """Where values on a grid are `level`; what is at most that is inside."""

    values: Floats
    level: float
    low: Floats
    spacing: Floats
    wraps: Mask

    @cached_property
    def nodes(self) -> Floats:
        """The values, with the first repeated at the end of each axis that wraps."""
        return np.ascontiguousarray(closed(self.values, self.wraps))

    def triangles(self, wanted: Mask) -> Triangles:
        """Return the surface in the wanted cells, of all that there are between the nodes."""
        inside = self.nodes <= self.level
        cut = wanted & some_corner(inside) & ~every_corner(inside)
        most = int(cut.sum())
        corners, boxes = np.empty((12 * most, 9)), np.empty((12 * most, 6))
        cells, blocks, counts = np.empty((most, 9)), np.empty((most, 8)), np.empty(3, np.int64)
        kernels.level_surface.level_surface(
            *(self.nodes, self.level, cut, self.low, self.spacing, TETRAHEDRA, SIDE),
            *(corners, boxes, cells, blocks, counts),
        )
        t, c, b = counts
        return Triangles(corners[:t], boxes[:t], cells[:c], blocks[:b])

    @property
    def shifts(self) -> Floats:
        """The moves, in radians, by which a point meets what goes on beyond the ends: (n, 3)."""
        period = np.where(self.wraps, self.spacing * self.values.shape, 0.0)
        turns = [(0.0, -1.0, 1.0) if wraps else (0.0,) for wraps in self.wraps]
        return np.array(list(product(*turns))) * period


@dataclass(frozen=True, eq=False)
class Nearest:
    """By node, the squared distance from a surface, and the number of the cell it is nearest in."""

    squares: Scalars
    owners: Ints

    def signed(self, level: Level) -> Scalars:
        """Return the distances in radians, negative inside."""
        distance = np.sqrt(self.squares)
        return np.where(level.values <= level.level, -distance, distance)


def redistanced(values: Floats, level: float, low: Floats, spacing: Floats, wraps: Mask) -> Floats:
    """Return at each node the distance, in radians, to where `values` are `level`; inside negative.

    Inside is where values are at most `level`; there, and outside, they may be anything. The
    sides of the box bound nothing. Distances are those to the triangles of the surface, exactly.
    """
    of = Level(values, level, low, spacing, wraps)
    return np.asarray(nearest(of).signed(of))


def nearest(of: Level) -> Nearest:
    """Return how far all nodes are from the level's surface, and where it is nearest."""
    inside = of.values <= of.level
    if inside.all() or not inside.any():
        raise ValueError(
            f"the level must part the nodes, some inside and some outside, got {of.level} for "
            f"values from {of.values.min():.6g} to {of.values.max():.6g}"
        )
    every = np.ones(np.array(of.nodes.shape) - 1, bool)
    start = Nearest(np.full(inside.shape, np.inf), np.zeros(inside.shape, np.int64))
    return _lowered(of, start, np.ones(inside.shape, bool), of.triangles(every))


def nearest_after(of: Level, before: Level, known: Nearest) -> Nearest:
    """Return the same as `nearest`, from what was known before some of the values changed.

    What was nearest in a cell that changed is looked for anew; elsewhere the surface can only have
    come nearer, in such a cell.
    """
    changed = some_corner(of.nodes != before.nodes)
    lost = changed.ravel()[known.owners]
    squares = np.where(lost, np.inf, known.squares)
    start, there = Nearest(squares, known.owners.copy()), of.triangles(changed)
    if len(there.blocks):
        least, most = there.blocks[:, :3].min(axis=0), there.blocks[:, 3:6].max(axis=0)
        start = _lowered(of, start, ~lost & _within(of, least, most, squares), there)
    every = np.ones(changed.shape, bool)
    return _lowered(of, start, lost, of.triangles(every)) if lost.any() else start


def _within(of: Level, least: Floats, most: Floats, squares: Scalars) -> Mask:
    """Tell which nodes a box is nearer to than the square roots of `squares`."""
    nearer = np.full(squares.shape, np.inf)
    for shift in of.shifts:
        total = np.zeros(())
        for axis, n in enumerate(squares.shape):
            at = of.low[axis] + of.spacing[axis] * np.arange(n) + shift[axis]
            beyond = np.maximum(np.maximum(least[axis] - at, at - most[axis]), 0.0) ** 2
            total = total + beyond.reshape([-1 if k == axis else 1 for k in range(3)])
        nearer = np.minimum(nearer, total)
    return np.asarray(nearer < squares)


def _lowered(of: Level, start: Nearest, wanted: Mask, there: Triangles) -> Nearest:
    """Return what is nearest to the wanted nodes, with these triangles beside what was known."""
    from concurrent.futures import ThreadPoolExecutor

    squares, owners = np.array(start.squares), np.array(start.owners)

    def run(first: int) -> None:
        kernels.surface_distance.nearest(
            *(wanted, first, min(first + SIDE, len(wanted)), of.low, of.spacing, of.shifts, SIDE),
            *(there.corners, there.boxes, there.cells, there.blocks, squares, owners),
        )

    slabs = [first for first in range(0, len(wanted), SIDE) if wanted[first : first + SIDE].any()]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, slabs))
    return Nearest(squares, owners)


def some_corner(nodes: Mask) -> Mask:
    """Tell of each cell of a grid whether some node at its corners is true."""
    return ~every_corner(~nodes)


def every_corner(nodes: Mask) -> Mask:
    """Tell of each cell of a grid whether all nodes at its corners are true."""
    for axis in range(3):
        along = np.moveaxis(nodes, axis, 0)
        nodes = np.moveaxis(along[:-1] & along[1:], 0, axis)
    return np.asarray(nodes)
