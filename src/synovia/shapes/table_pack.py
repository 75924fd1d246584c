"""The packed form of a table: twists at all centres, walls, and which to look at where."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Floats, Mask, Vectors
from .table_grid import TURN, centres, padded, radii, rooms_around, slopes, slopes_around, sources
from .table_walls import Lists, lists_for, quick_lists_for

KIND = 5.0
HEADER = 19  # numbers before the table of twists
FREE = 1e6  # half a range of twists that nothing bounds


def packed_table(legal: Mask, low: Floats, high: Floats, frame: Floats, margin: float) -> Floats:
    """Return the kind and the parameters, as `kernels.table` reads them.

    `low` and `high` are the ends of the twists at the centres of all cells.
    """
    cells = reached(legal, margin)
    slope = np.maximum(slopes(low, cells), slopes(high, cells))
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # A quarter of a cell from the walls the depth is exact; where the twist is free, anywhere.
    deep = 0.25 * np.pi / len(legal)
    if (half >= 0.5 * TURN).all():
        half, deep = np.full_like(half, FREE), np.pi
    gentle = 1.0 / np.hypot(1.0, slopes_around(slope))
    return packed_with(lists_for(legal), middle, half, gentle, frame, margin, deep)


def packed_directions(legal: Mask, frame: Floats, margin: float) -> Floats:
    """Return what `packed_table` does for free twists, soon made: for few questions."""
    middle, half, gentle = (np.full(legal.shape, value) for value in (0.5 * TURN, FREE, 1.0))
    return packed_with(quick_lists_for(legal), middle, half, gentle, frame, margin, np.pi)


def packed_with(
    lists: Lists,
    middle: Floats,
    half: Floats,
    gentle: Floats,
    frame: Floats,
    margin: float,
    deep: float,
) -> Floats:
    """Return the packed form with these lists of walls, and values at the centres of all cells.

    Those are the middle and the half of the range of twists, and how gently its ends slope around.
    """
    rooms = np.broadcast_to(rooms_around(middle.shape)[:, None], gentle.shape)
    around = np.stack([gentle, rooms], axis=-1).ravel()
    twists = np.stack([padded(middle), padded(half)], axis=-1).ravel()
    around_at = HEADER + len(twists)
    walls_at = around_at + len(around)
    places, entries = _entries(lists, walls_at, deep)
    header = [
        *frame.ravel(),
        *middle.shape,
        lists.fine,
        margin,
        np.cos(margin),
        np.sin(margin),
        gentle.min(),
        HEADER,
        around_at,
        walls_at + lists.walls.size,
    ]
    return np.concatenate([[KIND], header, twists, around, lists.walls.ravel(), places, entries])


@lru_cache(maxsize=16)
def _entries(lists: Lists, walls_at: int, deep: float) -> tuple[Floats, Floats]:
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


def reached(legal: Mask, margin: float) -> Mask:
    """Return the legal cells, and all that directions within `margin` of them may lie in."""
    if margin == 0.0:
        return legal
    every: Vectors = centres(legal.shape)
    near = every.reshape(-1, 3)[sources(legal)]
    apart = 2.0 * np.arcsin(np.minimum(0.5 * np.linalg.norm(every - near, axis=-1), 1.0))
    # From a centre, over such a direction and the legal cell, to that one's centre.
    widest = radii(legal.shape)
    return np.asarray(legal | (apart <= margin + widest[:, None] + widest.max()))
