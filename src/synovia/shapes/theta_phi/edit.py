"""Tables made by hand or from tables: rows, outlines, intersections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Vectors
from . import grid

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
) -> tuple[Mask, Floats, Floats]:
    """Return the cells of `legal` in which both have twists in common, and these ranges.

    `ours` and `theirs` are low and high at all centres. Of two ranges on a circle that meet twice,
    the part about the middles that are nearest is taken. ValueError if nothing is in common.
    """
    middle, other = 0.5 * (ours[0] + ours[1]), 0.5 * (theirs[0] + theirs[1])
    turns = TURN * np.rint((middle - other) / TURN)
    low = np.maximum(ours[0], theirs[0] + turns)
    high = np.minimum(ours[1], theirs[1] + turns)
    kept, least, most = restrict_ranges(legal, low, high)
    if not kept.any():
        raise ValueError("the tables have nothing in common")
    return kept, least, most


def restrict_ranges(legal: Mask, low: Floats, high: Floats) -> tuple[Mask, Floats, Floats]:
    """Return cells and ranges such that, interpolated, they stay within `low` and `high`.

    These are given at all centres. Where a cell is not legal, the range of the nearest legal one
    stands, so that must be within the range given there, too. Cells that are left without any twist
    are dropped, and all is done again.
    """
    while legal.any():
        needed = grid.touching(legal).ravel()
        source = grid.nearest_legal(legal).ravel()
        least, most = low.copy(), high.copy()
        np.maximum.at(least.reshape(-1), source[needed], low.ravel()[needed])
        np.minimum.at(most.reshape(-1), source[needed], high.ravel()[needed])
        kept = legal & (least <= most)
        if np.array_equal(kept, legal):
            return legal, np.where(legal, least, 0.0), np.where(legal, most, 0.0)
        legal = kept
    return legal, low, high
