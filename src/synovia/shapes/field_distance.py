"""Distances anew: from any function on a grid to the signed distance from one of its levels."""

from __future__ import annotations

import numpy as np

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
    best = np.full(len(points), np.inf)
    for column in nearest.T:
        best = np.minimum(best, triangle_distance(points, corners[column]))
    return best


def triangle_distance(points: Points, corners: Points) -> Scalars:
    """Return how far each of (n, 3) points is from its own triangle (n, 3 corners, 3)."""
    a, b, c = np.moveaxis(corners, 1, 0)
    distance = np.minimum(_to_edge(points, a, b), _to_edge(points, b, c))
    distance = np.minimum(distance, _to_edge(points, c, a))
    # Above the face, if the point is on the inner side of all three edges.
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    unit = normal / np.maximum(size, 1e-300)[:, None]
    above = size > 1e-30
    for start, end in ((a, b), (b, c), (c, a)):
        side = np.einsum("ni,ni->n", np.cross(unit, end - start), points - start)
        above &= side >= 0.0
    height = np.abs(np.einsum("ni,ni->n", points - a, unit))
    return np.where(above, height, distance)


def _to_edge(points: Points, start: Points, end: Points) -> Scalars:
    way = end - start
    square = np.maximum(np.einsum("ni,ni->n", way, way), 1e-300)
    share = np.clip(np.einsum("ni,ni->n", points - start, way) / square, 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - start - share[:, None] * way, axis=1))
