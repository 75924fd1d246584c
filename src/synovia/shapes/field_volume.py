"""The inside of a distance field: its volume, its extent, and members at random."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Points

SPECK = 1e-6
"""A region with a volume of less than this share of a cell is thin."""
FINEST, LINES = 24, 400_000  # lines a side of a cell, and in all, along which volume is measured


def cell_corners(nodes: Floats) -> Floats:
    """Return the eight corner values of each cell: (8, I − 1, J − 1, K − 1), last axis fastest."""
    sizes = [n - 1 for n in nodes.shape]
    return np.stack(
        [
            nodes[tuple(slice(c, c + n) for c, n in zip(corner, sizes, strict=True))]
            for corner in np.ndindex(2, 2, 2)
        ]
    )


def volume_of(nodes: Floats, threshold: float, spacing: Floats, side: int | None = None) -> float:
    """Return the volume of {Φ <= threshold}, in the unit of the spacing; 0 for a speck.

    Along a line of the third axis Φ is linear in a cell, so the line's share inside is exact;
    lines are spread evenly over the cells that the boundary goes through: `side` × `side` in each,
    or as many as give the volume to about a thousandth.
    """
    if side is None:
        cut = kernels.field_extent.cut(nodes, threshold)
        side = int(np.clip(np.sqrt(LINES / max(cut, 1)), 4, FINEST))
    volume = float(kernels.field_extent.volume(nodes, threshold, side))
    return volume * float(spacing.prod()) if volume > SPECK else 0.0


def member_cells(nodes: Floats, threshold: float) -> Ints:
    """Return the cells that have members, by the numbers of their first corners: (m, 3)."""
    return np.argwhere(least_at_corners(nodes) <= threshold)


def bounds_of(nodes: Floats, threshold: float, low: Floats, spacing: Floats) -> Points:
    """Return the least and greatest coordinates of the cells that have members: (2, 3)."""
    cells = member_cells(nodes, threshold)
    return np.asarray(low + spacing * np.stack([cells.min(axis=0), cells.max(axis=0) + 1]))


def least_at_corners(nodes: Floats) -> Floats:
    """Return the least value at the corners of each cell."""
    for axis in range(3):
        along = np.moveaxis(nodes, axis, 0)
        nodes = np.moveaxis(np.minimum(along[:-1], along[1:]), 0, axis)
    return nodes


def reach_of(
    nodes: Floats, threshold: float, low: Floats, spacing: Floats, columns: tuple[int, ...]
) -> float:
    """Return a bound on how far members are from the origin, in these coordinates alone."""
    weights = np.zeros(3)
    weights[list(columns)] = 1.0
    square = kernels.field_extent.farthest(nodes, threshold, low, spacing, weights)
    return float(np.sqrt(square))


def scattered(
    n: int,
    rng: np.random.Generator,
    nodes: Floats,
    threshold: float,
    low: Floats,
    spacing: Floats,
    thin: bool,
) -> Points:
    """Return `n` members, uniform: points at random in the cells that have any, those inside."""
    if thin:
        members = np.argwhere(nodes <= threshold)
        return low + spacing * members[rng.integers(len(members), size=n)]
    corners = cell_corners(nodes).reshape(8, -1)
    cells = np.flatnonzero(corners.min(axis=0) <= threshold)
    kept: list[Points] = [np.empty((0, 3))]
    while sum(map(len, kept)) < n:
        chosen = cells[rng.integers(len(cells), size=2 * n + 64)]
        at = rng.random((len(chosen), 3))
        value = np.zeros(len(chosen))
        for number, corner in enumerate(np.ndindex(2, 2, 2)):
            weight = np.where(np.array(corner) == 1, at, 1.0 - at).prod(axis=1)
            value += weight * corners[number, chosen]
        first = np.stack(np.unravel_index(chosen, [m - 1 for m in nodes.shape]), axis=1)
        inside = value <= threshold
        kept.append(low + spacing * (first + at)[inside])
    return np.concatenate(kept)[:n]
