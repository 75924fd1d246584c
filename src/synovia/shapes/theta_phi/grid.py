"""Cells over longitude and latitude: places, sizes, values between them, and ways through."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors

# Cells are numbered row by row from the south, columns from longitude −π on. Values given at the
# centres of cells (rows, columns) are continued everywhere: bilinear between centres, across the
# seam, and from the last row to one value at the pole, the mean of that row.

GRIDS = 8  # shapes of tables whose cells are cached; nobody may write to them
ALIKE = 1e-12  # cosines that differ by less are the same
CHUNK = 1_000_000  # cosines computed at once, 8 MB


def angles_of(vectors: Vectors) -> tuple[Scalars, Scalars]:
    """Return longitude in [−π, π] and latitude of vectors (..., 3) in the table's frame."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))


def vectors_at(theta: Scalars, phi: Scalars) -> Vectors:
    """Return the unit vectors (..., 3), in the table's frame, at longitude and latitude."""
    c = np.cos(phi)
    return np.stack(np.broadcast_arrays(c * np.cos(theta), c * np.sin(theta), np.sin(phi)), axis=-1)


def places_of(vectors: Vectors, shape: tuple[int, int]) -> tuple[Scalars, Scalars]:
    """Return in which row and column vectors lie, as real numbers from 0 to their count."""
    theta, phi = angles_of(vectors)
    rows, columns = shape
    return (phi / np.pi + 0.5) * rows, (theta / TURN + 0.5) * columns


def cells_of(vectors: Vectors, shape: tuple[int, int]) -> Ints:
    """Return the number of the cell that each vector lies in."""
    return cells_at(*places_of(vectors, shape), shape)


def cells_at(row: Scalars, column: Scalars, shape: tuple[int, int]) -> Ints:
    """Return the number of the cell that each place lies in."""
    row = np.clip(row.astype(np.int64), 0, shape[0] - 1)
    column = np.clip(column.astype(np.int64), 0, shape[1] - 1)
    return np.asarray(row * shape[1] + column)


@lru_cache(maxsize=GRIDS)
def edges(shape: tuple[int, int]) -> tuple[Scalars, Scalars]:
    """Return the latitudes between rows (rows + 1) and the longitudes between columns."""
    rows, columns = shape
    phi = np.linspace(-0.5 * np.pi, 0.5 * np.pi, rows + 1)
    return phi, np.linspace(-np.pi, np.pi, columns + 1)


@lru_cache(maxsize=GRIDS)
def centres(shape: tuple[int, int]) -> Vectors:
    """Return the centres of the cells in the table's frame: (rows, columns, 3)."""
    phi, theta = edges(shape)
    middle_phi, middle_theta = 0.5 * (phi[1:] + phi[:-1]), 0.5 * (theta[1:] + theta[:-1])
    return vectors_at(middle_theta, middle_phi[:, None])


@lru_cache(maxsize=GRIDS)
def areas(shape: tuple[int, int]) -> Floats:
    """Return the area of each cell on the unit sphere, in steradians: (rows, columns)."""
    phi, _ = edges(shape)
    band = np.diff(np.sin(phi)) * TURN / shape[1]
    return np.repeat(band[:, None], shape[1], axis=1)


def nearest_legal(legal: Mask) -> Ints:
    """Return for each cell (rows, columns) the number of the legal cell whose centre is nearest."""
    number = np.arange(legal.size)
    lost = np.flatnonzero(~legal)
    if len(lost):
        rim = np.flatnonzero(legal & ~_inner_cells(legal))
        number[lost] = nearest_cells(legal.shape, lost, rim)
    return number.reshape(legal.shape)


def _inner_cells(legal: Mask) -> Mask:
    """Return the cells whose four neighbours are legal: none is nearest to one that is not.

    A centre comes nearer to that by a step along its parallel, the short way round, or along the
    meridian that they share.
    """
    tall = np.pad(legal, ((1, 1), (0, 0)), constant_values=True)
    beside = np.roll(legal, 1, axis=1) & np.roll(legal, -1, axis=1)
    return np.asarray(beside & tall[2:] & tall[:-2])


def nearest_cells(shape: tuple[int, int], cells: Ints, others: Ints) -> Ints:
    """Return for each of some cells which of the others has the nearest centre, by numbers.

    Of centres equally near, but for rounding, the first is taken.
    """
    every, found = centres(shape).reshape(-1, 3), np.empty_like(cells)
    rows = max(CHUNK // max(len(others), 1), 1)
    for first in range(0, len(cells), rows):
        cosines = every[cells[first : first + rows]] @ every[others].T
        nearest = cosines >= cosines.max(axis=1, keepdims=True) - ALIKE
        found[first : first + rows] = others[nearest.argmax(axis=1)]
    return found


def pad(values: Floats) -> Floats:
    """Return (rows + 2, columns + 2) values: the seam's neighbours, and a row beyond each pole.

    The row beyond is such that half-way to it, at the pole, lies the mean of the last row.
    """
    south, north = values[:1], values[-1:]
    beyond = [2.0 * row.mean() - row for row in (south, north)]
    tall = np.concatenate([beyond[0], values, beyond[1]])
    return np.concatenate([tall[:, -1:], tall, tall[:, :1]], axis=1)


def interpolate(values: Floats, row: Scalars, column: Scalars) -> Scalars:
    """Return padded values (…, rows + 2, columns + 2) at places, as real rows and columns."""
    rows, columns = values.shape[-2] - 2, values.shape[-1] - 2
    flat = values.reshape(*values.shape[:-2], -1)
    below = np.clip((row + 0.5).astype(np.int64), 0, rows)
    left = np.clip((column + 0.5).astype(np.int64), 0, columns)
    a, b = column + 0.5 - left, row + 0.5 - below
    at = below * (columns + 2) + left
    above = at + columns + 2
    south = (1.0 - a) * flat.take(at, axis=-1) + a * flat.take(at + 1, axis=-1)
    north = (1.0 - a) * flat.take(above, axis=-1) + a * flat.take(above + 1, axis=-1)
    return np.asarray((1.0 - b) * south + b * north)


def touching(cells: Mask) -> Mask:
    """Return the cells whose centres take part in values within any of `cells`.

    Those are the eight around, and the whole of the last row, whose mean stands at the pole.
    """
    wide = cells | np.roll(cells, 1, axis=1) | np.roll(cells, -1, axis=1)
    tall = wide.copy()
    tall[1:] |= wide[:-1]
    tall[:-1] |= wide[1:]
    for row in (0, -1):
        tall[row] |= bool(cells[row].any())
    return tall


def slopes(values: Floats, cells: Mask) -> Floats:
    """Return bounds (rows + 1, columns) on the slope of values (rows, columns) between centres.

    One for each patch between four of them, in units per radian on the sphere; 0 where it lies in
    none of `cells`. Along a parallel the slope in longitude, over the cosine of the latitude, is
    greatest at the centres' parallels: in between, and on to the pole, the differences mix in
    proportions in which the cosine, being concave, is at least as large.
    """
    rows, columns = values.shape
    wide = pad(values)[:, :-1]
    northward = np.abs(np.diff(wide, axis=0)) * rows / np.pi
    middle = (np.arange(rows) + 0.5) * np.pi / rows - 0.5 * np.pi
    eastward = np.zeros((rows + 2, columns))
    eastward[1:-1] = np.abs(np.diff(wide, axis=1))[1:-1] * columns / TURN / np.cos(middle)[:, None]
    up = np.maximum(northward[:, :-1], northward[:, 1:])
    right = np.maximum(eastward[:-1], eastward[1:])
    ringed = np.pad(cells | np.roll(cells, 1, axis=1), ((1, 1), (0, 0)))
    return np.where(ringed[:-1] | ringed[1:], np.hypot(up, right), 0.0)


def slopes_around(slope: Floats) -> Floats:
    """Return for each cell (rows, columns) the greatest of `slopes` in it and the eight around."""
    wide = np.max([np.roll(slope, shift, axis=1) for shift in (1, 0, -1, -2)], axis=0)
    tall = np.pad(wide, ((1, 1), (0, 0)))
    rows = len(slope) - 1
    return np.asarray(np.max([tall[k : k + rows] for k in range(4)], axis=0))


@lru_cache(maxsize=GRIDS)
def clearance_around(shape: tuple[int, int]) -> Scalars:
    """Return for each row how far, at least, the cells beyond the eight around a cell are."""
    phi, _ = edges(shape)
    narrowest = np.minimum(np.cos(phi[1:]), np.cos(phi[:-1]))
    side = np.arcsin(np.clip(narrowest * np.sin(TURN / shape[1]), 0.0, 1.0))
    return np.asarray(np.minimum(side, np.pi / shape[0]))


def supported_cells(counts: Floats, least: float) -> Mask:
    """Return the cells whose evidence, for their area, is that of `least` in the largest cell."""
    area = areas(counts.shape)
    return np.asarray((counts > 0.0) & (counts * (area.max() / area) >= least))


def fill_from_nearest(legal: Mask, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the ends of legal cells, and elsewhere those of the nearest legal cell."""
    source = nearest_legal(legal)
    return low.ravel()[source], high.ravel()[source]


def walk_back(
    contains: Callable[[Points], Mask], start: Points, end: Points, frame: Floats, steps: int
) -> Points:
    """Return the first members met on the way from `end` back to `start`, which are members.

    The way goes straight in theta, phi and twist, each the short way round, in equal steps.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    first, last = (
        np.stack([*angles_of(points[..., :3] @ frame.T), points[..., 3]], axis=-1)
        for points in (start, end)
    )
    way = first - last
    way -= TURN * np.rint(way / TURN)
    met, walking = np.array(end), ~contains(end)
    for k in range(1, steps):
        if not walking.any():
            break
        theta, phi, twist = np.moveaxis(last + way * (k / steps), -1, 0)
        here = np.concatenate([vectors_at(theta, phi) @ frame, twist[..., None]], axis=-1)
        met = np.where(walking[..., None], here, met).astype(end.dtype)
        walking &= ~contains(met)
    return np.where(walking[..., None], start, met).astype(end.dtype)
