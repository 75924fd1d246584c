"""Distance fields from samples: grids, exact distances, holes filled; and distances anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Points, Scalars
from ..boundary import TETRAHEDRA
from .packing import close_axes, nearest_sites

FEW = 8_000
"""Up to so many samples are sorted out cube by cube of nodes; more go into a tree."""
LEAST_NODES, LARGEST = 8, 256
"""Nodes along the longest side of a grid, at least and at most."""
LEAST_CELL = 0.01
"""Cells are no smaller than this, in radians, so that a single sample has a region."""
EDGE = 0.05
"""Beside axes that wrap (Euler angles), the box ends so many radians from 0 and π, their ends.

At ψ from there, φ and θ of a rotation that was rounded are off by ε/ψ: in float32 4e-6, less than
its tolerance. The box ends nearer to 0 or π only where samples are nearer.
"""


def grid_around(
    points: Points, margin: float, cells: float, resolution: int, periods: tuple[float, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return low, spacing and counts of a grid with `margin` and so many `cells` around points.

    An axis with a period is covered whole, from −half of it on. Beside such axes (Euler angles)
    the others stay between 0 and π, and `EDGE` away from both unless points are nearer.
    """
    if not LEAST_NODES <= resolution <= LARGEST:
        raise ValueError(
            f"resolution must be from {LEAST_NODES} to {LARGEST} nodes, got {resolution}"
        )
    across = resolution - 1.0 - 2.0 * cells
    if not across >= 1.0:
        raise ValueError(
            f"resolution must be at least {np.ceil(2.0 + 2.0 * cells):.0f} nodes where {cells:g} "
            f"cells are free on each side, got {resolution}"
        )
    period = np.asarray(periods, dtype=np.float64)
    if period.shape != (3,) or not ((period >= 0.0) & np.isfinite(period)).all():
        raise ValueError(f"periods must be 3 numbers, 0 where an axis has none, got {periods}")
    wraps = period > 0.0
    least, most = points.min(axis=0) - margin, points.max(axis=0) + margin
    extent = np.where(wraps, 0.0, most - least)
    cell = max(
        float(extent.max()) / across,
        float(period.max()) / resolution,
        LEAST_CELL,
    )
    low, high = least - cells * cell, most + cells * cell
    if wraps.any():
        angles = points[:, ~wraps]
        if angles.min(initial=0.0) < 0.0 or angles.max(initial=0.0) > np.pi:
            raise ValueError(
                f"beside axes that wrap, points must be from 0 to π, got {angles.min():.6g} to "
                f"{angles.max():.6g}"
            )
        near, far = np.minimum(EDGE, least + margin), np.maximum(np.pi - EDGE, most - margin)
        low, high = np.maximum(low, near), np.minimum(high, far)
    count = np.where(wraps, np.ceil(period / cell - 1e-9), np.ceil((high - low) / cell - 1e-9) + 1)
    count = np.maximum(count, 2).astype(int)
    if wraps.any():  # cells that end where the box must
        spacing = np.where(wraps, period / count, (high - low) / (count - 1))
    else:
        spacing = np.full(3, cell)
        low = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    return np.where(wraps, -0.5 * period, low), spacing, tuple(int(n) for n in count)


def node_points(low: Floats, spacing: Floats, count: tuple[int, ...]) -> Points:
    """Return the points of the nodes of a grid: (I, J, K, 3)."""
    axes = [a + h * np.arange(n) for a, h, n in zip(low, spacing, count, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def sample_distance(
    points: Points, low: Floats, spacing: Floats, count: tuple[int, ...], period: Floats
) -> Scalars:
    """Return how far each node is from the nearest of `points` (n, 3), exactly: (I, J, K)."""
    if len(points) <= FEW:
        found, samples = np.empty(count), np.ascontiguousarray(points.T, np.float64)
        grid = np.concatenate([low, spacing, period])
        kernels.distance_field_packing.distance_to_samples(grid, samples, found)
        return found
    from scipy.spatial import cKDTree

    nodes = node_points(low, spacing, count).reshape(-1, 3)
    local, at = _wrap(points - low, period), _wrap(nodes - low, period)
    # One that is neither balanced nor compact answers in half the time.
    box = period if period.any() else None
    tree = cKDTree(local, 32, compact_nodes=False, balanced_tree=False, boxsize=box)
    return np.asarray(tree.query(at)[0]).reshape(count)


def _wrap(points: Points, period: Floats) -> Points:
    """Return the points from 0 to below the period of each axis that has one."""
    turn = np.where(period > 0.0, period, 1.0)
    wrapped = points - turn * np.floor(points / turn)
    return np.where(period > 0.0, np.where(wrapped < turn, wrapped, 0.0), points)


def fill_holes(distance: Scalars, r: float, spacing: Floats, wraps: Mask) -> Scalars:
    """Return distances from samples with their holes filled, negative inside: (I, J, K).

    Outside is what can be reached from the box's sides, node by node, always more than `r` from
    all samples (without sides: from the node that is farthest from them). Elsewhere the result is
    r less the distance to the outside, if that is less: a ball of radius `r` that rolls around
    the samples does not get in. No value exceeds the distance it was.
    """
    wall = distance <= r
    if wall.all():
        return np.asarray(distance - r)
    reached = np.zeros(distance.shape, dtype=bool)
    for axis, wrap in enumerate(wraps):
        if not wrap:
            np.moveaxis(reached, axis, 0)[[0, -1]] = True
    reached &= ~wall
    if not reached.any():
        reached[np.unravel_index(distance.argmax(), distance.shape)] = True
    outside = reached.astype(np.int64)
    queue = np.empty(outside.size, dtype=np.int64)
    kernels.distance_field_packing.flood(
        wall.astype(np.int64), wraps.astype(np.int64), outside, queue
    )
    period = np.where(wraps, spacing * distance.shape, 0.0)
    places = [h * np.arange(n) for h, n in zip(spacing, distance.shape, strict=True)]
    nearest = nearest_sites(outside == 1, spacing, period, places)
    out = np.empty(distance.shape)
    ways = wraps.astype(np.int64)
    kernels.distance_field_packing.fill_inside(distance, outside, nearest, r, spacing, ways, out)
    return out


# Distances anew: from any function on a grid to the signed distance from one of its levels.


THREADS = 2


@dataclass(frozen=True, eq=False)
class Triangles:
    """The surface of a level, in blocks; `kernels.distance_field_build` says what the rows are."""

    rows: Floats
    cells: Floats
    blocks: Floats


@dataclass(frozen=True, eq=False)
class LevelSet:
    """Where values on a grid are `level`; what is at most that is inside."""

    values: Floats
    level: float
    low: Floats
    spacing: Floats
    wraps: Mask

    @cached_property
    def nodes(self) -> Floats:
        """The values, with the first repeated at the end of each axis that wraps."""
        return np.ascontiguousarray(close_axes(self.values, self.wraps))

    def triangles(self, wanted: Mask) -> Triangles:
        """Return the surface in the wanted cells, of all that there are between the nodes."""
        inside = self.nodes <= self.level
        cut = wanted & some_corner(inside) & ~every_corner(inside)
        most = int(cut.sum())
        rows, cells, blocks = np.empty((12 * most, 15)), np.empty((most, 9)), np.empty((most, 8))
        t, c, b = kernels.distance_field_build.level_surface(
            self.nodes, self.level, cut, self.grid(), TETRAHEDRA, rows, cells, blocks
        )
        return Triangles(rows[:t], cells[:c], blocks[:b])

    def grid(self, row: int = 0) -> Floats:
        """Return where the grid begins, its spacing, and its first row, as the kernels read it."""
        return np.array([*self.low, *self.spacing, row], dtype=np.float64)

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

    def signed(self, level: LevelSet) -> Scalars:
        """Return the distances in radians, negative inside."""
        distance = np.sqrt(self.squares)
        return np.where(level.values <= level.level, -distance, distance)


def redistance(values: Floats, level: float, low: Floats, spacing: Floats, wraps: Mask) -> Floats:
    """Return at each node the distance, in radians, to where `values` are `level`; inside negative.

    Inside is where values are at most `level`; there, and outside, they may be anything. The
    sides of the box bound nothing. Distances are those to the triangles of the surface, exactly.
    """
    of = LevelSet(values, level, low, spacing, wraps)
    return np.asarray(nearest(of).signed(of))


def depths_inside(
    values: Floats, level: float, low: Floats, spacing: Floats, wraps: Mask
) -> Scalars:
    """Return how far nodes inside are from where `values` are `level`, in radians; others are 0.

    Infinite where all are inside: as `redistance` has it, the sides of the box bound nothing.
    """
    values = np.ascontiguousarray(values)
    of, inside = LevelSet(values, level, low, spacing, wraps), values <= level
    every = np.ones(np.array(of.nodes.shape) - 1, bool)
    start = Nearest(np.where(inside, np.inf, 0.0), np.zeros(values.shape, np.int64))
    return np.asarray(np.sqrt(_lower(of, start, inside, of.triangles(every)).squares))


def node_range(inside: Mask, wraps: Mask) -> tuple[Ints, Ints]:
    """Return the first nodes (3,) around all that are inside, and those after the last.

    One more on either side, if there is one; all of axes that wrap.
    """
    found = np.argwhere(inside)
    first, last = np.maximum(found.min(axis=0) - 1, 0), found.max(axis=0) + 2
    return np.where(wraps, 0, first), np.where(wraps, inside.shape, np.minimum(last, inside.shape))


def nearest(of: LevelSet) -> Nearest:
    """Return how far all nodes are from the level's surface, and where it is nearest."""
    inside = of.values <= of.level
    if inside.all() or not inside.any():
        raise ValueError(
            f"the level must part the nodes, some inside and some outside, got {of.level} for "
            f"values from {of.values.min():.6g} to {of.values.max():.6g}"
        )
    every = np.ones(np.array(of.nodes.shape) - 1, bool)
    start = Nearest(np.full(inside.shape, np.inf), np.zeros(inside.shape, np.int64))
    return _lower(of, start, np.ones(inside.shape, bool), of.triangles(every))


def update_nearest(of: LevelSet, before: LevelSet, known: Nearest) -> Nearest:
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
        start = _lower(of, start, ~lost & _within(of, least, most, squares), there)
    every = np.ones(changed.shape, bool)
    return _lower(of, start, lost, of.triangles(every)) if lost.any() else start


def _within(of: LevelSet, least: Floats, most: Floats, squares: Scalars) -> Mask:
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


def _lower(of: LevelSet, start: Nearest, wanted: Mask, there: Triangles) -> Nearest:
    """Return what is nearest to the wanted nodes, with these triangles beside what was known."""
    from concurrent.futures import ThreadPoolExecutor

    squares, owners = np.array(start.squares), np.array(start.owners)

    side = kernels.distance_field_build.BLOCK_SIDE

    def run(first: int) -> None:
        rows = slice(first, first + side)
        kernels.distance_field_build.nearest(
            *(wanted[rows], of.grid(first), of.shifts, there.rows, there.cells, there.blocks),
            *(squares[rows], owners[rows]),
        )

    slabs = [first for first in range(0, len(wanted), side) if wanted[first : first + side].any()]
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
