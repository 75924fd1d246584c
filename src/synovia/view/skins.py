"""The boundary of a shape of vectors, so that any edge of its triangles can be halved on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Points, Scalars
from ..shapes import Box, Ellipsoid, KDop, Product, Shape
from ..shapes.ellipsoid import sphere_surface
from .mesh import Middle, Placed, edges_of, halved

DETAIL = 2
FEWEST = 150
"""Flat faces, whose triangles are few, are halved at once until there are so many."""
ON_THE_EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Skin:
    """Triangles (t, 3) between points (v, k), in coordinates of the boundary's own.

    `middle` gives the point half way between two; `placed` points of the chart.
    """

    points: Floats
    triangles: Ints
    middle: Middle
    placed: Placed


def skin_of(shape: Shape) -> Skin:
    """Return the boundary of a shape of vectors, with the few triangles that it needs at least."""
    if isinstance(shape, Ellipsoid):
        sphere = sphere_surface(DETAIL)
        return Skin(
            sphere.vertices,
            sphere.triangles,
            _on_sphere,
            lambda points: np.asarray((points * shape.radii) @ shape.axes + shape.center),
        )
    surface = shape.surface(DETAIL)
    points: Points = surface.vertices
    triangles: Ints = surface.triangles.astype(np.int64)
    while isinstance(shape, Box | KDop) and 0 < len(triangles) < FEWEST:
        edges, sides = edges_of(triangles)
        triangles = halved(triangles, len(points) + sides)
        points = np.concatenate([points, points[edges].mean(axis=1)])
    middle = _straight
    if isinstance(shape, Product) and isinstance(shape.swing, Ellipsoid):
        swing = shape.swing
        middle = lambda start, end: _around(swing, start, end)  # noqa: E731
    return Skin(points, triangles, middle, lambda points: points)


def _straight(start: Floats, end: Floats) -> Floats:
    return 0.5 * (start + end)


def _on_sphere(start: Floats, end: Floats) -> Floats:
    total = start + end
    return np.asarray(total / np.linalg.norm(total, axis=-1, keepdims=True))


def _around(swing: Ellipsoid, start: Points, end: Points) -> Points:
    """Return points half way; between two on the ellipse of the swing, on it."""
    middle = _straight(start, end)
    around = (_level(swing, start) > 1.0 - ON_THE_EDGE) & (_level(swing, end) > 1.0 - ON_THE_EDGE)
    level = np.where(around, np.maximum(_level(swing, middle), 1e-300), 1.0)
    middle[:, :2] = swing.center + (middle[:, :2] - swing.center) / level[:, None]
    return middle


def _level(swing: Ellipsoid, points: Points) -> Scalars:
    """Return how far out points are in the ellipse, as a share of the way to its boundary."""
    along = (points[:, :2] - swing.center) @ swing.axes.T
    return np.asarray(np.linalg.norm(along / np.maximum(swing.radii, 1e-150), axis=-1))
