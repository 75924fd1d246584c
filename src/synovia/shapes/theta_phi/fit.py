"""Tables from samples: the frame, the cells, and ranges of twists that hold every sample."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors
from . import grid

ROUNDS = 40  # of widening, before the rest is given to all cells alike
FINEST = np.radians(0.25)
FEW = 3.0  # cells that ranges are spread over at a time

Places = tuple[Scalars, Scalars]  # rows and columns, as real numbers


def grid_for(cell: float) -> tuple[int, int]:
    """Return how many rows and columns of cells, at most `cell` radians wide, there are."""
    if not FINEST <= cell <= 0.5 * np.pi:
        raise ValueError(
            f"cell must be between {FINEST:.4g} and {0.5 * np.pi:.4g} radians (0.25 and 90 "
            f"degrees), got {cell:.4g} radians"
        )
    count = int(np.ceil(np.pi / cell - 1e-9))
    return count, 2 * count


def fitting_frame(directions: Vectors) -> Floats:
    """Return axes that put the directions (n, 3) at the equator, about longitude 0.

    The pole is the direction across which they spread least.
    """
    _, axes = np.linalg.eigh(directions.T @ directions)
    mean = directions.mean(axis=0)
    pole = axes[:, 0]
    forward = mean - (mean @ pole) * pole
    if np.linalg.norm(forward) < 1e-3:
        forward = axes[:, 2]
    elif abs(mean @ pole) > np.linalg.norm(forward):  # a ring about the pole
        pole = axes[:, 1] - (axes[:, 1] @ mean) / (mean @ mean) * mean
        pole /= np.linalg.norm(pole)
        forward = mean
    forward = forward / np.linalg.norm(forward)
    return np.stack([forward, np.cross(pole, forward), pole])


def unwrap(twists: Scalars) -> Scalars:
    """Return the twists plus multiples of 2π, within π of their circular mean."""
    mean = np.angle(np.exp(1j * twists).mean())
    return np.asarray(mean + np.remainder(twists - mean + np.pi, TURN) - np.pi)


def collect(cells: Ints, twists: Scalars, shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """Return counts, least and greatest twist for each cell; +inf and −inf where none is."""
    size = shape[0] * shape[1]
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, cells, twists)
    np.maximum.at(high, cells, twists)
    counts = np.bincount(cells, minlength=size).astype(np.float64)
    return counts.reshape(shape), low.reshape(shape), high.reshape(shape)


def fit_table(
    points: Points,
    cell: float,
    holes: Literal["filled", "open"],
    least: float,
    spread: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return counts, low, high and frame of the table of `points` (n, 4)."""
    if holes not in ("filled", "open"):
        raise ValueError(f"holes must be 'filled' or 'open', got {holes!r}")
    check_spread(spread)
    shape, frame = grid_for(cell), fitting_frame(points[:, :3])
    places, twists = grid.places_of(points[:, :3] @ frame.T, shape), unwrap(points[:, 3])
    cells = grid.cells_at(*places, shape)
    counts, low, high = collect(cells, twists, shape)
    legal = grid.supported_cells(counts, least)
    if not legal.any():
        raise ValueError(f"no cell has the evidence asked for: least {least:g}")
    seen = legal
    if holes == "filled":
        hole = find_holes(legal)
        counts, legal = np.where(hole, np.maximum(least, 1.0), counts), legal | hole
    low, high = spread_out(legal, legal, np.where(seen, [-low, high], -np.inf), spread)
    low = -low
    inside = legal.ravel()[cells]
    if not inside.all():
        places, twists = (places[0][inside], places[1][inside]), twists[inside]
    low, high = widen(legal, low, high, places, twists)
    return counts, low, high, frame


def spread_out(asked: Mask, legal: Mask, high: Floats, spread: float) -> Floats:
    """Return ends (n, rows, columns) that vary smoothly, nowhere less than `high`; 0 if not asked.

    For each legal cell the greatest `high`, of the same shape, within `spread` radians, of cells
    that were seen: the others have −inf. Then a mean of these over the same cells: each of them
    counted this cell, so each, and their mean, is at least its own. Far to spread, both are done in
    as many steps as keep each to a few cells, so that fine tables take no longer for each cell.
    What is `asked` for, legal cells, must hold all that was seen within `spread` of it.
    """
    shape, every = legal.shape, grid.centres(legal.shape).reshape(-1, 3)
    seen = np.isfinite(high[0])
    steps = int(np.ceil(spread * shape[0] / np.pi / FEW))
    if steps == 0:
        return np.where(asked, grid.fill_from_nearest(seen, *high), 0.0)
    cells = np.flatnonzero(within_angle(every, every[asked.ravel()], spread))
    start, near = neighbours(every[cells], spread / steps)
    most = own = high.reshape(len(high), -1)[:, cells]
    for _ in range(steps):
        most = np.maximum.reduceat(most[:, near], start, axis=1)
    # What is farther than that from all that was seen takes what is nearest.
    known = np.isfinite(most[0])
    source = np.arange(len(cells))
    source[~known] = np.searchsorted(cells, grid.nearest_cells(shape, cells[~known], cells[known]))
    most = most[:, source]
    weight = legal.ravel()[cells].astype(np.float64)
    total = np.vstack([weight * most, weight])
    for _ in range(steps):
        total = np.add.reduceat(total[:, near], start, axis=1)
    ends = np.zeros((len(high), legal.size))
    ends[:, cells] = np.maximum(total[:-1] / np.maximum(total[-1], 1.0), own)
    return np.where(asked, ends.reshape(high.shape), 0.0)


def within_angle(directions: Vectors, others: Vectors, angle: float) -> Mask:
    """Return which directions are within `angle` of any of the others."""
    from scipy.spatial import cKDTree

    away, _ = cKDTree(others).query(directions, distance_upper_bound=chord(angle) + 1e-9)
    return np.asarray(np.isfinite(away))


def neighbours(directions: Vectors, angle: float) -> tuple[Ints, Ints]:
    """Return where each direction's list begins, and all lists: what is within `angle` of it."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(directions).query_pairs(chord(angle), output_type="ndarray")
    each = np.arange(len(directions))
    here = np.concatenate([each, pairs[:, 0], pairs[:, 1]])
    there = np.concatenate([each, pairs[:, 1], pairs[:, 0]])
    return np.searchsorted(np.sort(here), each), there[np.argsort(here, kind="stable")]


def chord(angle: float) -> float:
    """Return how far unit vectors are apart that enclose an angle."""
    return float(2.0 * np.sin(0.5 * min(angle, np.pi)))


def find_holes(legal: Mask) -> Mask:
    """Return the cells that are not legal, and not connected with the largest such area."""
    label = np.where(legal, -1, np.arange(legal.size).reshape(legal.shape))
    while True:
        spread = label.copy()
        for row in (0, -1):  # the cells of the last row meet at the pole
            spread[row] = spread[row].max()
        spread[1:] = np.maximum(spread[1:], label[:-1])
        spread[:-1] = np.maximum(spread[:-1], label[1:])
        for step in (1, -1):
            spread = np.maximum(spread, np.roll(label, step, axis=1))
        spread[legal] = -1
        if np.array_equal(spread, label):
            break
        label = spread
    if legal.all():
        return np.zeros_like(legal)
    area = np.bincount(label[~legal], weights=grid.areas(legal.shape)[~legal])
    return np.asarray(~legal & (label != area.argmax()))


def widen(
    legal: Mask, low: Floats, high: Floats, places: Places, twists: Scalars
) -> tuple[Floats, Floats]:
    """Return ranges that hold the `twists` of samples in legal cells, after interpolation.

    A cell whose samples stick out is widened by as much, over the weight of its own centre, again
    and again; ranges only grow, so what is inside stays inside. At last all are widened alike by
    the little that is left.
    """
    low = -_raise_ends(legal, -low, places, -twists)
    return low, _raise_ends(legal, high, places, twists)


def _raise_ends(legal: Mask, high: Floats, places: Places, twists: Scalars) -> Floats:
    source, high = grid.nearest_legal(legal), high.copy()
    row, column = places
    cells = grid.cells_at(row, column, legal.shape)
    weight = (1.0 - np.abs(row % 1.0 - 0.5)) * (1.0 - np.abs(column % 1.0 - 0.5))
    for _ in range(ROUNDS):
        missing = twists - grid.interpolate(grid.pad(high.ravel()[source]), row, column)
        out = missing > 0.0
        if not out.any():
            return high
        row, column, cells, twists = row[out], column[out], cells[out], twists[out]
        weight = weight[out]
        lift = np.zeros(high.size)
        np.maximum.at(lift, cells, missing[out] / np.maximum(weight, 0.5))
        high += lift.reshape(high.shape)
    missing = twists - grid.interpolate(grid.pad(high.ravel()[source]), row, column)
    return np.asarray(high + max(float(missing.max()), 0.0))


def add_samples(
    counts: Floats,
    low: Floats,
    high: Floats,
    least: float,
    vectors: Vectors,
    twists: Scalars,
    spread: float,
) -> tuple[Floats, Floats, Floats]:
    """Return counts, low and high with more samples: the table holds what it held, and these.

    Their twists count within `spread` radians, as in a fit.
    """
    check_spread(spread)
    legal, shape = grid.supported_cells(counts, least), counts.shape
    bounds, places = grid.fill_from_nearest(legal, low, high), grid.places_of(vectors, shape)
    middle = grid.interpolate(grid.pad(0.5 * (bounds[0] + bounds[1])), *places)
    twists = middle + np.remainder(twists - middle + np.pi, TURN) - np.pi
    cells = grid.cells_at(*places, shape)
    more, least_seen, most_seen = collect(cells, twists, shape)
    seen = counts > 0.0
    low = np.minimum(np.where(seen, low, np.inf), least_seen)
    high = np.maximum(np.where(seen, high, -np.inf), most_seen)
    counts = counts + more
    low, high = np.where(counts > 0.0, low, 0.0), np.where(counts > 0.0, high, 0.0)
    # Where a cell becomes legal, its own range takes the place of the nearest one's, for itself
    # and for the cells that it is nearest to: it must hold what they held.
    now = grid.supported_cells(counts, least)
    source, held = grid.nearest_legal(now).ravel(), grid.touching(legal).ravel()
    low, high = low.ravel(), high.ravel()
    np.minimum.at(low, source[held], bounds[0].ravel()[held])
    np.maximum.at(high, source[held], bounds[1].ravel()[held])
    low, high = low.reshape(shape), high.reshape(shape)
    new = now & (more > 0.0)
    if new.any():
        ends = np.where(new, [-least_seen, most_seen], -np.inf)
        near, every = now.copy(), grid.centres(shape)
        near[now] = within_angle(every[now], every[new], spread)
        wide = spread_out(near, now, ends, spread)
        low = np.where(near, np.minimum(low, -wide[0]), low)
        high = np.where(near, np.maximum(high, wide[1]), high)
    inside = now.ravel()[cells]
    row, column = places
    low, high = widen(now, low, high, (row[inside], column[inside]), twists[inside])
    return counts, low, high


def check_spread(spread: float) -> None:
    """Raise ValueError unless `spread` is an angle of at least 0."""
    if not 0.0 <= spread < np.inf:
        raise ValueError(f"spread must be at least 0, got {spread}")
