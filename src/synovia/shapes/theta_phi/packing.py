"""The packed form of a table: twists at all centres, walls, and which to look at where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ... import kernels
from ...arrays import TURN, Floats, Ints, Mask, Scalars
from ...kernels.layout import TABLE
from . import grid

# Walls: where legal and illegal cells meet, and which walls can be nearest to where.

WIDEST = 0.25 * np.pi  # of the first nodes that are looked at; wider ones would have poor bounds
MANY = 5_000  # cells; for fewer, the places of lists are finer than the cells
LONGEST = 0.75 * np.pi  # of walls along a parallel


def walls_between(legal: Mask) -> Floats:
    """Return the walls (w, 8) between the legal cells (rows, columns) and the others.

    Each is an arc of a meridian, or of a parallel and less than half a turn: cosine and sine of
    the longitudes where it begins and ends, then of the latitudes. Runs of edges are one wall.
    """
    phi, theta = grid.edges(legal.shape)
    step = TURN / legal.shape[1]
    # The row of no change, which a gap makes of the ring, keeps runs from passing a pole.
    beside = np.pad((legal != np.roll(legal, 1, axis=1)).T, ((0, 0), (0, 1)))
    column, first, last = runs_around(beside)
    meridians = np.stack([theta[column], theta[column], phi[first], phi[last]], axis=1)
    row, first, last = runs_around(legal[1:] != legal[:-1])
    longest = int(LONGEST / step)
    parts = -(-(last - first) // longest)
    row, end = np.repeat(row, parts) + 1, np.repeat(last, parts)
    part = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = np.repeat(first, parts) + longest * part
    last = np.minimum(first + longest, end)
    parallels = np.stack([first * step - np.pi, last * step - np.pi, phi[row], phi[row]], axis=1)
    angles = np.concatenate([meridians, parallels])
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 8)


def runs_around(flags: Mask) -> tuple[Ints, Ints, Ints]:
    """Return the row, the start and the end (one beyond) of each run of true flags (rows, n).

    Rows are rings: a run may end beyond the last flag.
    """
    n = flags.shape[1]
    starts = flags & ~np.roll(flags, 1, axis=1)
    starts[:, 0] |= flags.all(axis=1)
    row, start = np.nonzero(starts)
    # Twice around, every run that starts in the first round has its end.
    twice = np.pad(np.concatenate([flags, flags], axis=1), ((0, 0), (0, 1)))
    ends = np.flatnonzero(twice[:, :-1] & ~twice[:, 1:])
    end = ends[np.searchsorted(ends, row * 2 * n + start)] + 1 - row * 2 * n
    return row, start, np.minimum(end, start + n)


@dataclass(frozen=True, eq=False)
class WallLists:
    """For each place of a grid `fine` times as fine as the cells, the walls to look at.

    Place k has the walls `number[start[k] : start[k + 1]]`, in order, and none is nearer to any
    point of it than `clearance[k]`.
    """

    legal: Mask
    walls: Floats
    fine: int
    start: Ints
    number: Ints
    clearance: Scalars


@grid.cache_by_mask
def lists_for(legal: Mask) -> WallLists:
    """Return the walls that can be nearest to any point of each place."""
    walls, (rows, columns) = walls_between(legal), legal.shape
    # Uncompiled, or of many cells, few places with longer lists are made sooner.
    fine = 4 if rows * columns <= MANY and kernels.jit.COMPILED else 1
    shape = (rows * fine, columns * fine)
    # Half a place has closer bounds; a place then has the walls of all four.
    halves = _nearby(walls, (2 * shape[0], 2 * shape[1]))
    start, number = np.empty(shape[0] * shape[1] + 1, np.int64), np.empty_like(halves[1])
    count = kernels.theta_phi.unite(*shape, *halves, start, number)
    number = number[:count]
    clearance = np.empty(shape[0] * shape[1])
    kernels.theta_phi.clearances(walls, *shape, start, number, clearance)
    return WallLists(legal, walls, fine, start, number, clearance)


@grid.cache_by_mask
def quick_lists_for(legal: Mask) -> WallLists:
    """As `lists_for`, soon made and longer: for few questions. No place is clear of walls."""
    walls = walls_between(legal)
    clearance = np.full(legal.size, 0.0 if len(walls) else np.pi)
    return WallLists(legal, walls, 1, *_nearby(walls, legal.shape), clearance)


def _nearby(walls: Floats, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Return the start of each place's list, and the walls of all lists.

    Nodes are quartered from an eighth of a turn down to the places.
    """
    rows, columns = shape
    size = 1
    while 2 * size * TURN / columns <= WIDEST:
        size *= 2
    nodes = -(-rows // (2 * size)) * -(-columns // (2 * size))
    start = np.arange(nodes + 1) * len(walls)
    number = np.tile(np.arange(len(walls)), nodes)
    while size >= 1:
        nodes = -(-rows // size) * -(-columns // size)
        finer, room = np.empty(nodes + 1, np.int64), np.empty(4 * len(number), np.int64)
        count = kernels.theta_phi.prune(walls, *shape, size, start, number, finer, room)
        start, number = finer, room[:count]
        size //= 2
    return start, number


FREE = 1e6  # half a range of twists that nothing bounds


def pack_table(legal: Mask, low: Floats, high: Floats, frame: Floats) -> Floats:
    """Return the kind and the parameters, as `kernels.theta_phi` reads them.

    `low` and `high` are the ends of the twists at the centres of all cells.
    """
    slope = np.maximum(grid.slopes(low, legal), grid.slopes(high, legal))
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # A quarter of a cell from the walls the depth is exact; where the twist is free, anywhere.
    deep = 0.25 * np.pi / len(legal)
    if (half >= 0.5 * TURN).all():
        half, deep = np.full_like(half, FREE), np.pi
    gentle = 1.0 / np.hypot(1.0, grid.slopes_around(slope))
    return pack_lists(lists_for(legal), middle, half, gentle, frame, deep)


def pack_directions(legal: Mask, frame: Floats) -> Floats:
    """Return what `pack_table` does for free twists, soon made: for few questions."""
    middle, half, gentle = (np.full(legal.shape, value) for value in (0.5 * TURN, FREE, 1.0))
    return pack_lists(quick_lists_for(legal), middle, half, gentle, frame, np.pi)


def pack_lists(
    lists: WallLists,
    middle: Floats,
    half: Floats,
    gentle: Floats,
    frame: Floats,
    deep: float,
) -> Floats:
    """Return the packed form with these lists of walls, and values at the centres of all cells.

    Those are the middle and the half of the range of twists, and how gently its ends slope around.
    """
    rooms = np.broadcast_to(grid.clearance_around(middle.shape)[:, None], gentle.shape)
    around = np.stack([gentle, rooms], axis=-1).ravel()
    twists = np.stack([grid.pad(middle), grid.pad(half)], axis=-1).ravel()
    layout = kernels.theta_phi.HEADER
    around_at = layout.SIZE + len(twists)
    walls_at = around_at + len(around)
    places, entries = _entries(lists, walls_at, deep)
    header = layout.pack(
        frame=frame,
        rows=middle.shape[0],
        columns=middle.shape[1],
        fine=lists.fine,
        gentle=gentle.min(),
        twists=layout.SIZE,
        around=around_at,
        places=walls_at + lists.walls.size,
    )
    return np.concatenate([[TABLE], header, twists, around, lists.walls.ravel(), places, entries])


@lru_cache(maxsize=16)
def _entries(lists: WallLists, walls_at: int, deep: float) -> tuple[Floats, Floats]:
    """Return for each place where its entry stands, negative if illegal, and the entries.

    Legal places that are `deep` have their depth, at least, instead.

    An entry is the number of walls, and where each stands. Neighbours with the same walls share
    one, so that few numbers serve many places. Kept, as the lists are.
    """
    start, number = lists.start, lists.number
    count = np.diff(start)
    new = np.ones(len(count), dtype=bool)
    if len(number):
        ahead = np.arange(len(number)) - np.repeat(count, count)
        same = number == number[np.maximum(ahead, 0)]
        new[1:] = ~np.logical_and.reduceat(same, start[:-1])[1:] | (count[1:] != count[:-1])
    stands = walls_at + lists.walls.shape[1] * np.arange(len(lists.walls))
    # The kernel takes two walls of every entry at once: one alone stands there twice.
    own = count[new]
    size = np.where(own == 1, 2, own) + 1
    first = np.cumsum(size) - size
    entries = np.empty(int(size.sum()))
    entries[first] = own
    walls = np.repeat(first + 1 - (np.cumsum(own) - own), own) + np.arange(own.sum())
    entries[walls] = stands[number[np.repeat(new, count)]]
    single = first[own == 1]
    entries[single + 2] = entries[single + 1]
    begin = walls_at + lists.walls.size + len(count)
    places = begin + first[np.cumsum(new) - 1].astype(np.float64)
    fine = np.repeat(np.repeat(lists.legal, lists.fine, axis=0), lists.fine, axis=1).ravel()
    places = np.where(fine & (lists.clearance >= deep), lists.clearance, places)
    return np.where(fine, places, -places), entries
