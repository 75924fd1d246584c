"""Tables made by hand or from tables: rows, outlines, intersections, grown and shrunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Scalars, Vectors
from ..directional import angle_between
from ..extent import tangent_pair
from . import grid
from .packing import reachable_cells

if TYPE_CHECKING:
    from .table import ThetaPhi


OPPOSITE = 0.99
"""The cosine of how nearly opposite a cell is for the way to it to go over a third place."""


def inside_rows(boundary: Floats, shape: tuple[int, int]) -> Mask:
    """Return the cells between the ends of each row of `boundary`: phi, theta from, theta to.

    A row whose theta goes down runs over ±π. Rows of cells in between take ends in between; a row
    of cells that no two given rows enclose, but one lies in, takes that one's. At least the cell
    in the middle is inside.
    """
    if boundary.ndim != 2 or len(boundary) == 0:
        raise ValueError(f"boundary must have shape (n, 3), n > 0, got {boundary.shape}")
    order = np.argsort(boundary[:, 0], kind="stable")
    phi, start, end = boundary[order].T
    width = np.where(end >= start, end - start, end - start + TURN)
    middle = np.unwrap(start + 0.5 * width)
    rows, columns = shape
    inside = np.zeros(shape, dtype=bool)
    given = np.clip(((phi / np.pi + 0.5) * rows).astype(np.int64), 0, rows - 1)
    for row in range(given.min(), given.max() + 1):
        here = np.clip(((row + 0.5) / rows - 0.5) * np.pi, phi[0], phi[-1])
        centre, half = np.interp(here, phi, middle), 0.5 * np.interp(here, phi, width)
        theta = (np.arange(columns) + 0.5) * TURN / columns - np.pi
        off = np.remainder(theta - centre + np.pi, TURN) - np.pi
        inside[row] = np.abs(off) <= half + 1e-12
        inside[row, np.abs(off).argmin()] = True
    return inside


def inside_outline(outline: Vectors, inside: Vectors, shape: tuple[int, int]) -> Mask:
    """Return the cells whose centres the closed `outline` (n, 3) has on the side of `inside` (3,).

    All in the table's frame. A great circle from there to the centre crosses an even number of
    the outline's arcs; to what is opposite there are many, and the way goes over a third place.
    """
    if outline.ndim != 2 or len(outline) < 3 or inside.ndim != 1:
        raise ValueError(
            f"an outline must have shape (n, 3), n > 2, and one direction be inside, got "
            f"{outline.shape} and {inside.shape}"
        )
    outline, inside = grid.unit_directions(outline), grid.unit_directions(inside)
    points = grid.centres(shape).reshape(-1, 3)
    crossings = _crossings(outline, inside[None], points)
    behind = points @ inside < -OPPOSITE
    if behind.any():
        # Somewhere across, where hardly an outline has a corner in the way.
        third = np.cross(inside, [0.3, -0.8, 0.53])
        third /= np.linalg.norm(third)
        there = _crossings(outline, inside[None], third[None])
        crossings[behind] = there + _crossings(outline, third[None], points[behind])
    mask = crossings % 2 == 0
    mask[grid.cells_of(inside[None], shape)] = True
    return np.asarray(mask.reshape(shape))


def _crossings(outline: Vectors, start: Vectors, end: Vectors) -> Ints:
    """Return how many arcs of a closed outline the great arcs from `start` to `end` cross: (n,).

    A vertex on the great circle from `start` to `end` counts as left of it for both of its arcs,
    so that an arc through a vertex has the same parity as one just beside it.
    """
    following = np.roll(outline, -1, axis=0)
    across, way = np.cross(outline, following), np.cross(start, end)
    apart = (start @ across.T >= 0.0) != (end @ across.T >= 0.0)
    sides = way @ outline.T >= 0.0
    ends_apart = sides != np.roll(sides, -1, axis=1)
    # Both great circles cross at two opposite points: on the arcs it must be the same one.
    meet = np.cross(way[:, None], across[None])
    towards = np.einsum("ijk,ijk->ij", meet, (start + end)[:, None])
    same = towards * np.einsum("ijk,jk->ij", meet, outline + following) > 0.0
    return np.asarray((apart & ends_apart & same).sum(axis=1))


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


def intersect_tables(
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
        kept, least, most = restrict_ranges(legal, low, high, margin)
        if kept.any():
            return kept, least, most, margin
    raise ValueError("the tables have nothing in common")


def restrict_ranges(
    legal: Mask, low: Floats, high: Floats, margin: float
) -> tuple[Mask, Floats, Floats]:
    """Return cells and ranges such that, interpolated, they stay within `low` and `high`.

    These are given at all centres. Where a cell is not legal, the range of the nearest legal one
    stands, so that must be within the range given there, too, as far as `margin` goes. Cells that
    are left without any twist are dropped, and all is done again.
    """
    while legal.any():
        needed = grid.touching(reachable_cells(legal, margin)).ravel()
        source = grid.nearest_legal(legal).ravel()
        least, most = low.copy(), high.copy()
        np.maximum.at(least.reshape(-1), source[needed], low.ravel()[needed])
        np.minimum.at(most.reshape(-1), source[needed], high.ravel()[needed])
        kept = legal & (least <= most)
        if np.array_equal(kept, legal):
            return legal, np.where(legal, least, 0.0), np.where(legal, most, 0.0)
        legal = kept
    return legal, low, high


def shrink_cells(
    legal: Mask, ends: tuple[Floats, Floats], depth: Scalars, inward: float, r: float
) -> tuple[Mask, Floats, Floats]:
    """Return the cells all of whose points are `inward` deep, and ranges `r` shorter at each end.

    `depth` (rows, columns) is that of the centres, and `ends` are low and high at all of them.
    Where no cell is deep enough, the deepest is left; none, where the ranges leave no twist.
    """
    deep = legal & (depth - grid.radii(legal.shape)[:, None] >= inward)
    if not deep.any():
        deep = np.zeros_like(legal)
        deep.flat[np.where(legal, depth, -np.inf).argmax()] = True
    low, high = ends
    step = np.minimum(r, 0.5 * (high - low))
    return restrict_ranges(deep, low + step, np.maximum(high - step, low + step), 0.0)


def steps_inward(ends: Floats, cells: Mask, r: float) -> Floats:
    """Return by how much ends at the centres move in, so that all between them is `r` inside.

    That is r √(1 + G²), with G the steepest that the ends of `cells` are within `r` of what a
    centre has a part in: of the patches around it, or of the cap at a pole.
    """
    (rows, columns), slope = cells.shape, grid.slopes(ends, cells)
    tall, wide = np.pi / rows, TURN / columns
    up, steepest = int(1.0 + r / tall), np.zeros(cells.shape)
    for row in range(rows):
        along = slope[max(row - up, 0) : row + up + 2].max(axis=0)
        # At the highest latitude that is within r, what is r around spans most of a parallel.
        latitude = min(abs((row + 0.5) * tall - 0.5 * np.pi) + tall + r, 0.5 * np.pi)
        span = np.sin(min(r, 0.5 * np.pi)) / max(np.cos(latitude), 1e-9)
        aside = int(1.0 + np.arcsin(span) / wide) if span < 1.0 else columns
        if 2 * aside + 2 >= columns or not along.any():
            steepest[row] = along.max()
            continue
        ring = np.concatenate([along[-aside:], along, along[: aside + 1]])
        steepest[row] = np.lib.stride_tricks.sliding_window_view(ring, 2 * aside + 2).max(axis=1)
    return np.asarray(r * np.hypot(1.0, steepest))


def approximate_volume(legal: Mask, low: Floats, high: Floats, margin: float) -> float:
    """Return about the volume of these cells, with a margin around: cell by cell, soon."""
    source = grid.nearest_legal(legal)
    centres = grid.centres(legal.shape)
    away = angle_between(centres, centres.reshape(-1, 3)[source])
    inside = legal | (away <= margin + 0.5 * np.pi / len(legal))
    widths = np.minimum(high - low, TURN).ravel()[source]
    return float(np.sum(np.where(inside, widths * grid.areas(legal.shape), 0.0)))


def grow_ranges(legal: Mask, ends: tuple[Floats, Floats], r: float) -> tuple[Floats, Floats]:
    """Return low and high of legal cells, 0 elsewhere, so that centres hold all within `r`.

    `ends` are low and high at all centres. A member whose direction is `d` away reaches
    √(r² − d²) in twist. Ends that slope go by more than r, for those of directions around count.
    """
    shape = legal.shape
    here = grid.centres(shape)[legal]
    across = tangent_pair(here)
    values = np.stack([grid.pad(-ends[0]), grid.pad(ends[1])])
    most = np.stack([-ends[0][legal], ends[1][legal]]) + r
    if r > 0.0:
        shares, turns = np.asarray(RINGS)[:, None, None, None], np.asarray(AROUND)[:, None, None]
        angle, reach = np.minimum(shares * r, np.pi), r * np.sqrt(1.0 - shares * shares)
        way = np.cos(turns) * across[:, 0] + np.sin(turns) * across[:, 1]
        there = np.cos(angle) * here + np.sin(angle) * way
        around = grid.interpolate(values, *grid.places_of(there, shape)) + reach[..., 0]
        most = np.maximum(most, around.max(axis=(1, 2)))
    low, high = np.zeros(shape), np.zeros(shape)
    low[legal], high[legal] = -most[0], most[1]
    return low, high
