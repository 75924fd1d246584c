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
    arcs = []
    for column, changes in enumerate((legal != np.roll(legal, 1, axis=1)).T):
        for first, last in runs(changes):
            arcs.append([theta[column], theta[column], phi[first], phi[last]])
    step = TURN / legal.shape[1]
    longest = int(LONGEST / step)
    for row, changes in enumerate(legal[1:] != legal[:-1], start=1):
        for first, last in runs_around(changes):
            for start in range(first, last, longest):
                ends = [start * step - np.pi, min(start + longest, last) * step - np.pi]
                arcs.append([*ends, phi[row], phi[row]])
    angles = np.reshape(arcs, (-1, 4))
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 8)


def runs(flags: Mask) -> list[tuple[int, int]]:
    """Return the start and the end (one beyond) of each run of true flags."""
    change = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in change.reshape(-1, 2)]


def runs_around(flags: Mask) -> list[tuple[int, int]]:
    """As `runs`, for flags in a ring: a run may end beyond the last flag."""
    if flags.all():
        return [(0, len(flags))]
    gap = int(flags.argmin())
    turned = [(a + gap, b + gap) for a, b in runs(np.roll(flags, -gap))]
    n = len(flags)
    return sorted((a % n, a % n + b - a) for a, b in turned)


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


@lru_cache(maxsize=64)
def _lists(bits: bytes, rows: int, columns: int) -> Lists:
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=rows * columns)
    legal = flags.astype(bool).reshape(rows, columns)
    walls = walls_between(legal)
    fine = 4 if rows * columns <= MANY else 2
    if not kernels.jit.COMPILED:  # uncompiled, few places with longer lists are soon made
        fine = 1
    shape = (rows * fine, columns * fine)
    start, number = _nearby(walls, shape)
    clearance = np.empty(rows * columns * fine * fine)
    kernels.table_lists.clearances(walls, shape, start, number, clearance)
    return Lists(legal, walls, fine, start, number, clearance)


def _nearby(walls: Floats, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Return the start of each place's list, and the walls of all lists.

    Nodes are quartered from an eighth of a turn down to half a place, where the bounds are close;
    a place then has the walls of all four.
    """
    rows, columns = halves = (2 * shape[0], 2 * shape[1])
    size = 1
    while 2 * size * TURN / columns <= WIDEST:
        size *= 2
    nodes = -(-rows // (2 * size)) * -(-columns // (2 * size))
    start = np.arange(nodes + 1) * len(walls)
    number = np.tile(np.arange(len(walls)), nodes)
    while size >= 1:
        nodes = -(-rows // size) * -(-columns // size)
        finer, room = np.empty(nodes + 1, np.int64), np.empty(4 * len(number), np.int64)
        count = kernels.table_lists.prune(walls, halves, size, start, number, finer, room)
        start, number = finer, room[:count]
        size //= 2
    node = np.repeat(np.arange(rows * columns), np.diff(start))
    place = node // columns // 2 * shape[1] + node % columns // 2
    pairs = np.unique(place * max(len(walls), 1) + number)
    place, number = np.divmod(pairs, max(len(walls), 1))
    return np.searchsorted(place, np.arange(shape[0] * shape[1] + 1)), number
