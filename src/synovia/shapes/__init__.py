"""Shapes: closed regions of a chart. `SHAPES` is the one registry."""

from .box import Box
from .convex import Convex, Surface
from .ellipsoid import Ellipsoid
from .kdop import KDop
from .product import Product

SHAPES: dict[str, type[Box] | type[Ellipsoid] | type[KDop] | type[Product]] = {
    shape.name: shape for shape in (Box, Ellipsoid, KDop, Product)
}
"""Every shape by its name."""

Shape = Box | Ellipsoid | KDop | Product

__all__ = ["SHAPES", "Box", "Convex", "Ellipsoid", "KDop", "Product", "Shape", "Surface"]
