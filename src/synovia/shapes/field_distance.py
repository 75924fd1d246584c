"""Distances anew: from any function on a grid to the signed distance from one of its levels."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..arrays import Floats, Mask, Points, Scalars
from .field_build import node_points
from .field_surface import boundary
from .region import Surface

NEIGHBOURS = 12  # triangles looked at for each node


def redistanced(values: Floats, level: float, low: Floats, spacing: Floats, wraps: Mask) -> Floats:
    """Return at each node the distance, in radians, to where `values` are `level`; inside negative.

    Inside is where values are at most `level`; there, and outside, they may be anything. The
    sides of the box bound nothing. Distances are those to the triangles of the surface.
    """
    inside = values <= level
    if inside.all() or not inside.any():
        raise ValueError(
            f"the level must part the nodes, some inside and some outside, got {level} for values "
            f"from {values.min():.6g} to {values.max():.6g}"
        )
    surface = boundary(values, level, low, spacing, wraps, 2, capped=False)
    period = np.where(wraps, spacing * values.shape, 0.0)
    nodes = node_points(low, spacing, values.shape).reshape(-1, 3)
    distance = distance_to_surface(nodes, surface, period).reshape(values.shape)
    return np.where(inside, -distance, distance)


def distance_to_surface(points: Points, surface: Surface, period: Floats) -> Scalars:
    """Return how far (n, 3) points are from the nearest triangle, across the ends of periods."""
    from scipy.spatial import cKDTree

    corners = surface.vertices[surface.triangles]
    for axis in np.flatnonzero(period > 0.0):
        shift = np.zeros(3)
        shift[axis] = period[axis]
        corners = np.concatenate([corners - shift, corners, corners + shift])
    count = min(NEIGHBOURS, len(corners))
    nearest = cKDTree(corners.mean(axis=1)).query(points, k=count)[1].reshape(len(points), count)
    distance = np.empty(len(points))
    kernels.triangles.nearest_distances(points, np.ascontiguousarray(corners), nearest, distance)
    return distance
