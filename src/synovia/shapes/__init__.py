"""Shapes: closed regions of a chart. `SHAPES` is the one registry."""

from .box import Box
from .convex import Convex
from .directional import Directional
from .ellipsoid import Ellipsoid
from .kdop import KDop
from .product import Product
from .region import Region, Surface
from .theta_phi import ThetaPhi

Shape = Box | Ellipsoid | KDop | Product | ThetaPhi

SHAPES: dict[str, type[Shape]] = {
    shape.name: shape for shape in (Box, Ellipsoid, KDop, Product, ThetaPhi)
}
"""Every shape by its name."""

__all__ = [
    "SHAPES",
    "Box",
    "Convex",
    "Directional",
    "Ellipsoid",
    "KDop",
    "Product",
    "Region",
    "Shape",
    "Surface",
    "ThetaPhi",
]
