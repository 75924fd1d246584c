"""Walls: where legal and illegal cells meet, and which walls can be nearest to where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Scalars
from .table_grid import TURN, edges

WIDEST = 0.25 * np.pi  # of the first nodes that are looked at; wider ones would have poor bounds
MANY = 10_000  # cells; for fewer, the places of lists are finer than the cells
LONGEST = 0.75 * np.pi  # of walls along a parallel


def walls_between(legal: Mask) -> Floats:
    """Return the walls (w, 8) between the legal cells (rows, columns) and the others.

    Each is an arc of a meridian, or of a parallel and less than half a turn: cosine and sine of
    the longitudes where it begins and ends, then of the latitudes. Runs of edges are one wall.
    """
    phi, theta = edges(legal.shape)
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
class Lists:
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


def lists_for(legal: Mask) -> Lists:
    """Return the walls that can be nearest to any point of each place.

    Kept for the masks that were seen last: growing a table leaves its cells as they are.
    """
    return _lists(np.packbits(legal).tobytes(), *legal.shape)


def quick_lists_for(legal: Mask) -> Lists:
    """As `lists_for`, soon made and longer: for few questions. No place is clear of walls."""
    return _quick_lists(np.packbits(legal).tobytes(), *legal.shape)


@lru_cache(maxsize=64)
def _lists(bits: bytes, rows: int, columns: int) -> Lists:
    legal = _unpacked(bits, rows, columns)
    walls = walls_between(legal)
    fine = 4 if rows * columns <= MANY else 2
    if not kernels.jit.COMPILED:  # uncompiled, few places with longer lists are soon made
        fine = 1
    shape = (rows * fine, columns * fine)
    # Half a place has closer bounds; a place then has the walls of all four.
    halves = _nearby(walls, (2 * shape[0], 2 * shape[1]))
    start, number = np.empty(shape[0] * shape[1] + 1, np.int64), np.empty_like(halves[1])
    count = kernels.table_lists.united(shape, *halves, start, number)
    number = number[:count]
    clearance = np.empty(shape[0] * shape[1])
    kernels.table_lists.clearances(walls, shape, start, number, clearance)
    return Lists(legal, walls, fine, start, number, clearance)


@lru_cache(maxsize=64)
def _quick_lists(bits: bytes, rows: int, columns: int) -> Lists:
    legal = _unpacked(bits, rows, columns)
    walls = walls_between(legal)
    clearance = np.full(rows * columns, 0.0 if len(walls) else np.pi)
    return Lists(legal, walls, 1, *_nearby(walls, (rows, columns)), clearance)


def _unpacked(bits: bytes, rows: int, columns: int) -> Mask:
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=rows * columns)
    return np.asarray(flags.astype(bool).reshape(rows, columns))


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
        count = kernels.table_lists.prune(walls, shape, size, start, number, finer, room)
        start, number = finer, room[:count]
        size //= 2
    return start, number
