"""Shapes: closed regions of a chart. `SHAPES` is the one registry."""

from .derived import Offset, Turned
from .directional import Directional, as_directional
from .distance_field.field import DistanceField
from .ellipsoid import Ellipsoid
from .polytope import Box, KDop
from .product import Product
from .reach_cone.cone import ReachCone
from .region import Convex, Region
from .theta_phi.table import ThetaPhi
from .union import Union

Shape = Region

SHAPES: dict[str, type[Region]] = {
    "box": Box,
    "ellipsoid": Ellipsoid,
    "kdop": KDop,
    "product": Product,
    "reach-cone": ReachCone,
    "theta-phi": ThetaPhi,
    "distance-field": DistanceField,
    "union": Union,
}
"""Every shape by its name: those that can be fitted."""


__all__ = [
    "SHAPES",
    "Box",
    "Convex",
    "Directional",
    "DistanceField",
    "Ellipsoid",
    "KDop",
    "Offset",
    "Product",
    "ReachCone",
    "Region",
    "Shape",
    "ThetaPhi",
    "Turned",
    "Union",
    "as_directional",
]
