"""Families: a shape with options of its fit, as users choose between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from ..shapes import Box, KDop, Product, Region, ThetaPhi, Union
from ..shapes.derived import Derived

ALONG_CHART = 1e-9  # largest difference between the axes of a box and those of the chart


@dataclass(frozen=True)
class Family:
    """A shape with options of its fit, by a name and a label for users."""

    name: str
    label: str
    shape: str
    options: tuple[tuple[str, Any], ...] = ()


_FAMILIES = {
    Box.name: (
        Family("box", "Box", Box.name, (("along", "chart"),)),
        Family("oriented-box", "Oriented box", Box.name, (("along", "data"),)),
    ),
    KDop.name: (Family(KDop.name, "k-DOP", KDop.name),),
    Product.name: (Family(Product.name, "Swing ellipse and twist", Product.name),),
    ThetaPhi.name: (Family(ThetaPhi.name, "Theta-phi table", ThetaPhi.name),),
    Union.name: (Family(Union.name, "Two reach cones", Union.name),),
}


def families(kind: Region | type[Region]) -> tuple[Family, ...]:
    """Return the families of a shape or of a class of shapes, by default one."""
    words = kind.name.replace("-", " ")
    default = Family(kind.name, words[:1].upper() + words[1:], kind.name)
    return _FAMILIES.get(kind.name, (default,))


@singledispatch
def family_of(shape: Region) -> str:
    """Return the name of the family that the shape belongs to."""
    return shape.name


@family_of.register
def _(shape: Box) -> str:
    along_chart = np.abs(shape.axes - np.eye(shape.dimension)).max() <= ALONG_CHART
    return "box" if along_chart else "oriented-box"


@family_of.register
def _(shape: Derived) -> str:
    return family_of(shape.shape)


def label(kind: Region | type[Region]) -> str:
    """Return the name of a shape, or of a class of shapes, as users write it."""
    return {KDop.name: "k-DOP"}.get(kind.name, kind.name)
