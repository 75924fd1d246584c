"""Tables of a field's nodes looked up between them, and slopes at the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Mask, Points
from .field_tables import closed

if TYPE_CHECKING:
    from .distance_field import DistanceField


def central_slopes(values: Floats, spacing: Floats, wraps: Mask) -> Any:
    """Return the gradient at the nodes by central differences: (i, j, k, 3); one-sided at sides."""
    slopes = []
    for axis, (h, wrap) in enumerate(zip(spacing, wraps, strict=True)):
        if wrap:
            ahead, behind = np.roll(values, -1, axis), np.roll(values, 1, axis)
            slopes.append((ahead - behind) / (2.0 * h))
        else:
            slopes.append(np.gradient(values, h, axis=axis))
    return np.stack(slopes, axis=-1)


def places_in(field: DistanceField, points: Points) -> Points:
    """Return points (..., 3) of a chart counted in nodes, those beyond the box at its sides."""
    places = (np.asarray(points, np.float64) - field.low) / field.spacing
    count = np.array(field.values.shape, float)
    turned = places - count * np.floor(places / count)
    return np.where(field.wrapping, turned, np.clip(places, 0.0, count - 1.0))


def interpolated(points: Points, field: DistanceField, table: Floats) -> Floats:
    """Return a table of node values (I, J, K, m) at the points, trilinear between the nodes."""
    nodes = closed(table, np.append(field.wrapping, False))
    cells = places_in(field, points)
    below = np.minimum(cells.astype(int), nodes.shape[0:3] - np.array(2))
    share: Any = cells - below
    total = np.zeros((*points.shape[:-1], table.shape[-1]))
    for corner in np.ndindex(2, 2, 2):
        weight = np.where(np.array(corner) == 1, share, 1.0 - share).prod(axis=-1)
        i, j, k = np.moveaxis(below + np.array(corner), -1, 0)
        total += weight[..., None] * nodes[i, j, k]
    return total
