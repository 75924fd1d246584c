"""Building distance fields: a grid around samples, exact distances, holes filled."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..arrays import Floats, Mask, Points, Scalars
from .field_tables import nearest_sites

FEW = 1_000
"""Up to so many samples are compared one by one; more go into a tree."""
LEAST_CELL = 0.01
"""Cells are no smaller than this, in radians, so that a single sample has a region."""
EDGE = 0.05
"""Beside axes that wrap (Euler angles), the box ends so many radians from 0 and π, their ends.

At ψ from there, φ and θ of a rotation that was rounded are off by ε/ψ: in float32 4e-6, less than
its tolerance. The box ends nearer to 0 or π only where samples are nearer.
"""


def grid_around(
    points: Points, margin: float, cells: float, resolution: int, periods: tuple[float, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return low, spacing and counts of a grid with `margin` and so many `cells` around points.

    An axis with a period is covered whole, from −half of it on. Beside such axes (Euler angles)
    the others stay between 0 and π, and `EDGE` away from both unless points are nearer.
    """
    period = np.asarray(periods, dtype=np.float64)
    if period.shape != (3,) or not ((period >= 0.0) & np.isfinite(period)).all():
        raise ValueError(f"periods must be 3 numbers, 0 where an axis has none, got {periods}")
    wraps = period > 0.0
    least, most = points.min(axis=0) - margin, points.max(axis=0) + margin
    extent = np.where(wraps, 0.0, most - least)
    cell = max(
        float(extent.max()) / (resolution - 1.0 - 2.0 * cells),
        float(period.max()) / resolution,
        LEAST_CELL,
    )
    low, high = least - cells * cell, most + cells * cell
    if wraps.any():
        angles = points[:, ~wraps]
        if angles.min(initial=0.0) < 0.0 or angles.max(initial=0.0) > np.pi:
            raise ValueError(
                f"beside axes that wrap, points must be from 0 to π, got {angles.min():.6g} to "
                f"{angles.max():.6g}"
            )
        near, far = np.minimum(EDGE, least + margin), np.maximum(np.pi - EDGE, most - margin)
        low, high = np.maximum(low, near), np.minimum(high, far)
    count = np.where(wraps, np.ceil(period / cell - 1e-9), np.ceil((high - low) / cell - 1e-9) + 1)
    count = np.maximum(count, 2).astype(int)
    if wraps.any():  # cells that end where the box must
        spacing = np.where(wraps, period / count, (high - low) / (count - 1))
    else:
        spacing = np.full(3, cell)
        low = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    return np.where(wraps, -0.5 * period, low), spacing, tuple(int(n) for n in count)


def node_points(low: Floats, spacing: Floats, count: tuple[int, ...]) -> Points:
    """Return the points of the nodes of a grid: (I, J, K, 3)."""
    axes = [a + h * np.arange(n) for a, h, n in zip(low, spacing, count, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def sample_distance(
    points: Points, low: Floats, spacing: Floats, count: tuple[int, ...], period: Floats
) -> Scalars:
    """Return how far each node is from the nearest of `points` (n, 3), exactly: (I, J, K)."""
    nodes = node_points(low, spacing, count).reshape(-1, 3)
    if len(points) <= FEW:
        distance = np.empty(len(nodes))
        x, y, z = (np.ascontiguousarray(column) for column in points.T)
        kernels.field_tables.distance_to_samples(nodes, x, y, z, period, distance)
    else:
        from scipy.spatial import cKDTree

        local, at = _wrapped(points - low, period), _wrapped(nodes - low, period)
        tree = cKDTree(local, boxsize=period if period.any() else None, leafsize=32)
        distance = tree.query(at)[0]
    return np.asarray(distance).reshape(count)


def _wrapped(points: Points, period: Floats) -> Points:
    """Return the points from 0 to below the period of each axis that has one."""
    turn = np.where(period > 0.0, period, 1.0)
    wrapped = points - turn * np.floor(points / turn)
    return np.where(period > 0.0, np.where(wrapped < turn, wrapped, 0.0), points)


def filled(distance: Scalars, r: float, spacing: Floats, wraps: Mask) -> Scalars:
    """Return distances from samples with their holes filled, negative inside: (I, J, K).

    Outside is what can be reached from the box's sides, node by node, always more than `r` from
    all samples (without sides: from the node that is farthest from them). Elsewhere the result is
    r less the distance to the outside, if that is less: a ball of radius `r` that rolls around
    the samples does not get in. No value exceeds the distance it was.
    """
    wall = distance <= r
    if wall.all():
        return np.asarray(distance - r)
    reached = np.zeros(distance.shape, dtype=bool)
    for axis, wrap in enumerate(wraps):
        if not wrap:
            np.moveaxis(reached, axis, 0)[[0, -1]] = True
    reached &= ~wall
    if not reached.any():
        reached[np.unravel_index(distance.argmax(), distance.shape)] = True
    outside = reached.astype(np.int64)
    queue = np.empty(outside.size, dtype=np.int64)
    kernels.field_tables.flood(wall.astype(np.int64), wraps.astype(np.int64), outside, queue)
    period = np.where(wraps, spacing * distance.shape, 0.0)
    places = [h * np.arange(n) for h, n in zip(spacing, distance.shape, strict=True)]
    nearest = nearest_sites(outside == 1, spacing, period, places)
    out = np.empty(distance.shape)
    ways = wraps.astype(np.int64)
    kernels.field_tables.fill_inside(distance, outside, nearest, r, spacing, ways, out)
    return out
