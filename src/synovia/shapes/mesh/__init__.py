"""Boundaries of shapes as triangles in their chart."""

from .boundary import shape_boundary, shape_surface
from .directional import free_ends, pieces
from .triangles import Boundary, Surface

__all__ = [
    "Boundary",
    "Surface",
    "free_ends",
    "pieces",
    "shape_boundary",
    "shape_surface",
]
