"""Tables from tables: what two have in common, and one grown or shrunk by a distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Mask, Scalars
from .table_grid import TURN, between, centres, padded, places_of, radii, sources, touching
from .table_moves import tangents
from .table_pack import reached

if TYPE_CHECKING:
    from .theta_phi import ThetaPhi

# Directions that are looked at around a centre: how far, as shares of the radius, and where.
RINGS = np.sin(np.radians([22.5, 45.0, 67.5, 90.0]))
AROUND = np.arange(12) * TURN / 12


def check_alike(table: ThetaPhi, other: ThetaPhi) -> None:
    """Raise ValueError unless both are tables, with the same cells and axes."""
    if not isinstance(other, type(table)):
        raise ValueError(f"only tables intersect a table, got {type(other).__name__}")
    ours, theirs = table.counts.shape, other.counts.shape
    if ours != theirs:
        raise ValueError(f"tables must have the same cells to intersect, got {ours} and {theirs}")
    if np.abs(table.frame - other.frame).max() > 1e-12:
        raise ValueError("tables must have the same frame to intersect")


def common(
    legal: Mask,
    ours: tuple[Floats, Floats],
    theirs: tuple[Floats, Floats],
    margins: tuple[float, ...],
) -> tuple[Mask, Floats, Floats, float]:
    """Return the cells of `legal` in which both have twists in common, these ranges, and a margin.

    `ours` and `theirs` are low and high at all centres. Of two ranges on a circle that meet twice,
    the part about the middles that are nearest is taken. The margin is the first around which
    anything is in common; ValueError if none is.
    """
    middle, other = 0.5 * (ours[0] + ours[1]), 0.5 * (theirs[0] + theirs[1])
    turns = TURN * np.rint((middle - other) / TURN)
    low = np.maximum(ours[0], theirs[0] + turns)
    high = np.minimum(ours[1], theirs[1] + turns)
    for margin in margins:
        kept, least, most = within(legal, low, high, margin)
        if kept.any():
            return kept, least, most, margin
    raise ValueError("the tables have nothing in common")


def within(legal: Mask, low: Floats, high: Floats, margin: float) -> tuple[Mask, Floats, Floats]:
    """Return cells and ranges such that, interpolated, they stay within `low` and `high`.

    These are given at all centres. Where a cell is not legal, the range of the nearest legal one
    stands, so that must be within the range given there, too, as far as `margin` goes. Cells that
    are left without any twist are dropped, and all is done again.
    """
    while legal.any():
        needed = touching(reached(legal, margin)).ravel()
        source = sources(legal).ravel()
        least, most = low.copy(), high.copy()
        np.maximum.at(least.reshape(-1), source[needed], low.ravel()[needed])
        np.minimum.at(most.reshape(-1), source[needed], high.ravel()[needed])
        kept = legal & (least <= most)
        if np.array_equal(kept, legal):
            return legal, np.where(legal, least, 0.0), np.where(legal, most, 0.0)
        legal = kept
    return legal, low, high


def eroded(
    legal: Mask, ends: tuple[Floats, Floats], depth: Scalars, inward: float, r: float
) -> tuple[Mask, Floats, Floats]:
    """Return the cells all of whose points are `inward` deep, and ranges `r` shorter at each end.

    `depth` (rows, columns) is that of the centres, and `ends` are low and high at all of them.
    Where no cell is deep enough, the deepest is left; none, where the ranges leave no twist.
    """
    deep = legal & (depth - radii(legal.shape)[:, None] >= inward)
    if not deep.any():
        deep = np.zeros_like(legal)
        deep.flat[np.where(legal, depth, -np.inf).argmax()] = True
    low, high = ends
    step = np.minimum(r, 0.5 * (high - low))
    return within(deep, low + step, np.maximum(high - step, low + step), 0.0)


def outgrown(legal: Mask, ends: tuple[Floats, Floats], r: float) -> tuple[Floats, Floats]:
    """Return low and high of legal cells, 0 elsewhere, so that centres hold all within `r`.

    `ends` are low and high at all centres. A member whose direction is `d` away reaches
    √(r² − d²) in twist. Ends that slope go by more than r, for those of directions around count.
    """
    shape = legal.shape
    here = centres(shape)[legal]
    across = tangents(here)
    values = np.stack([padded(-ends[0]), padded(ends[1])])
    most = np.stack([-ends[0][legal], ends[1][legal]]) + r
    if r > 0.0:
        shares, turns = np.asarray(RINGS)[:, None, None, None], np.asarray(AROUND)[:, None, None]
        angle, reach = np.minimum(shares * r, np.pi), r * np.sqrt(1.0 - shares * shares)
        way = np.cos(turns) * across[:, 0] + np.sin(turns) * across[:, 1]
        there = np.cos(angle) * here + np.sin(angle) * way
        around = between(values, *places_of(there, shape)) + reach[..., 0]
        most = np.maximum(most, around.max(axis=(1, 2)))
    low, high = np.zeros(shape), np.zeros(shape)
    low[legal], high[legal] = -most[0], most[1]
    return low, high
