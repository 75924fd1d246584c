"""Shapes: closed regions of a chart. `SHAPES` is the one registry."""

from .box import Box
from .convex import Convex
from .directional import Directional
from .distance_field import DistanceField
from .ellipsoid import Ellipsoid
from .field_sculpt import add_sample, move_sample, pull, push
from .kdop import KDop
from .product import Product
from .region import Region, Surface

Shape = Box | Ellipsoid | KDop | Product | DistanceField

SHAPES: dict[str, type[Shape]] = {
    shape.name: shape for shape in (Box, Ellipsoid, KDop, Product, DistanceField)
}
"""Every shape by its name."""

__all__ = [
    "SHAPES",
    "Box",
    "Convex",
    "Directional",
    "DistanceField",
    "Ellipsoid",
    "KDop",
    "Product",
    "Region",
    "Shape",
    "Surface",
    "add_sample",
    "move_sample",
    "pull",
    "push",
]
