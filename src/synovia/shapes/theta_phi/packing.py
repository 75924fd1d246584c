"""The packed form of a table: twists at all centres, walls, and which to look at where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import kernels
from ...arrays import TURN, Floats, Ints, Mask, Scalars
from ...kernels.layout import TABLE
from . import grid

WIDEST = 0.25 * np.pi  # radians; largest first nodes of the search; larger ones have poor bounds
MANY = 5_000  # cells; for fewer, the places of lists are finer than the cells
LONGEST = 0.75 * np.pi  # of walls along a parallel
FREE = 1e6  # radians; half a range of twists that nothing bounds


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
    """Walls that can be nearest to a point, by node of a grid `fine` times as fine as the cells.

    Node k has the walls `number[start[k] : start[k + 1]]`, in order, and none is nearer to any
    point of it than `clearance[k]`, in radians.
    """

    legal: Mask
    walls: Floats
    fine: int
    start: Ints
    number: Ints
    clearance: Scalars


def lists_for(legal: Mask) -> WallLists:
    """Return the walls of each node; nodes are quartered from an eighth of a turn down."""
    # Uncompiled, or of many cells, few nodes with longer lists are made sooner.
    fine = 4 if legal.size <= MANY and kernels.jit.COMPILED else 1
    walls, (rows, columns) = walls_between(legal), (fine * n for n in legal.shape)
    size = 1
    while 2 * size * TURN / columns <= WIDEST:
        size *= 2
    nodes = -(-rows // (2 * size)) * -(-columns // (2 * size))
    start = np.arange(nodes + 1) * len(walls)
    number = np.tile(np.arange(len(walls)), nodes)
    while size >= 1:
        nodes = -(-rows // size) * -(-columns // size)
        finer, finer_number = np.empty(nodes + 1, np.int64), np.empty(4 * len(number), np.int64)
        clearance = np.empty(nodes)
        given = walls.ravel(), np.array([rows, columns, size]), start, number
        count = kernels.theta_phi.prune(*given, finer, finer_number, clearance)
        start, number = finer, finer_number[:count]
        size //= 2
    return WallLists(legal, walls, fine, start, number, clearance)


def pack_table(lists: WallLists, low: Floats, high: Floats, frame: Floats) -> Floats:
    """Return the kind and the parameters, as `kernels.theta_phi` reads them.

    `low` and `high` are the ends of the twists at the centres of all cells.
    """
    legal = lists.legal
    slope = np.maximum(grid.slopes(low, legal), grid.slopes(high, legal))
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # A quarter of a cell from the walls the depth is exact; where the twist is free, anywhere.
    deep = 0.25 * np.pi / len(legal)
    if (half >= 0.5 * TURN).all():
        half, deep = np.full_like(half, FREE), np.pi
    gentle = 1.0 / np.hypot(1.0, grid.slopes_around(slope))
    rooms = np.broadcast_to(grid.clearance_around(middle.shape)[:, None], gentle.shape)
    around = np.stack([gentle, rooms], axis=-1).ravel()
    twists = np.stack([grid.pad(middle), grid.pad(half)], axis=-1).ravel()
    layout = kernels.theta_phi.HEADER
    around_at = layout.SIZE + len(twists)
    walls_at = around_at + len(around)
    nodes, entries = _entries(lists, walls_at, deep)
    header = layout.pack(
        frame=frame,
        rows=middle.shape[0],
        columns=middle.shape[1],
        fine=lists.fine,
        gentle=gentle.min(),
        twists=layout.SIZE,
        around=around_at,
        nodes=walls_at + lists.walls.size,
    )
    return np.concatenate([[TABLE], header, twists, around, lists.walls.ravel(), nodes, entries])


def _entries(lists: WallLists, walls_at: int, deep: float) -> tuple[Floats, Floats]:
    """Return the code of each node, and the entries of walls that the codes refer to.

    A code is the offset of the node's entry, negative if illegal. Legal nodes that are at least
    `deep` inside, in radians, have the lower bound of their depth instead. An entry is a number of
    walls and their offsets; consecutive nodes with the same walls share one.
    """
    start, number = lists.start, lists.number
    count = np.diff(start)
    new = np.ones(len(count), dtype=bool)
    if len(number):
        ahead = np.arange(len(number)) - np.repeat(count, count)
        same = number == number[np.maximum(ahead, 0)]
        new[1:] = ~np.logical_and.reduceat(same, start[:-1])[1:] | (count[1:] != count[:-1])
    first = np.cumsum(count[new] + 1) - (count[new] + 1)
    entries = np.empty(int((count[new] + 1).sum()))
    entries[first] = count[new]
    is_wall = np.ones(len(entries), dtype=bool)
    is_wall[first] = False
    offsets = walls_at + lists.walls.shape[1] * np.arange(len(lists.walls))
    entries[is_wall] = offsets[number[np.repeat(new, count)]]
    begin = walls_at + lists.walls.size + len(count)
    codes = begin + first[np.cumsum(new) - 1].astype(np.float64)
    legal = np.repeat(np.repeat(lists.legal, lists.fine, axis=0), lists.fine, axis=1).ravel()
    codes = np.where(legal & (lists.clearance >= deep), lists.clearance, codes)
    return np.where(legal, codes, -codes), entries
