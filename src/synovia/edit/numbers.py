"""What users read and type of a shape: its family, its numbers, and intervals along a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..arrays import Floats, Vectors
from ..shapes import Box, Ellipsoid, KDop, Product, Region, ThetaPhi, Union
from ..shapes.derived import Derived
from ..shapes.polytope import Polytope

SWING = "swing."  # prefix of the fields of a product's swing
ALIGNED = 1.0 - 1e-9  # cosine from which an axis lies along a coordinate
ALONG_CHART = 1e-9  # largest difference between the axes of a box and those of the chart
ALONG = 1e-9  # sine of the angle up to which a direction is along an axis


@dataclass(frozen=True)
class Number:
    """A number of a shape in radians: its field and index, and its position in a table."""

    row: str
    column: str
    field: str
    index: int
    value: float
    least: float = -np.inf
    most: float = np.inf
    """Range of values that are valid while the other numbers stay."""


@singledispatch
def numbers(shape: Region, coordinates: Sequence[str]) -> list[Number]:
    """Return the numbers that describe the shape, by default none.

    `coordinates` are the names of the chart's coordinates.
    """
    return []


@numbers.register
def _(shape: Polytope, coordinates: Sequence[str]) -> list[Number]:
    ranges = zip(shape.axes, shape.low, shape.high, strict=True)
    return [
        number
        for k, (axis, low, high) in enumerate(ranges)
        for number in _range_numbers(_label_axis(axis, coordinates, k), k, low, high)
    ]


@numbers.register
def _(shape: Ellipsoid, coordinates: Sequence[str]) -> list[Number]:
    centers = [
        Number(name, "centre", "center", k, float(shape.center[k]))
        for k, name in enumerate(coordinates)
    ]
    radii = [
        Number(_label_axis(axis, coordinates, k), "radius", "radii", k, float(radius), least=0.0)
        for k, (axis, radius) in enumerate(zip(shape.axes, shape.radii, strict=True))
    ]
    return [*centers, *radii]


@numbers.register
def _(shape: Product, coordinates: Sequence[str]) -> list[Number]:
    swing = [
        replace(number, field=f"{SWING}{number.field}")
        for number in numbers(shape.swing, coordinates[:2])
    ]
    return [*swing, *_range_numbers(coordinates[2], 0, shape.low, shape.high)]


def _label_axis(axis: Floats, coordinates: Sequence[str], index: int) -> str:
    """Return the coordinate that an axis lies along, or that it is closest to, in words."""
    nearest = int(np.abs(axis).argmax())
    if abs(axis[nearest]) > ALIGNED:
        return coordinates[nearest]
    return f"axis {index + 1}, mostly {coordinates[nearest]}"


def _range_numbers(row: str, index: int, low: float, high: float) -> list[Number]:
    """Return both ends of a range, at `index` of the fields `low` and `high`."""
    return [
        Number(row, "from", "low", index, float(low), most=float(high)),
        Number(row, "to", "high", index, float(high), least=float(low)),
    ]


@singledispatch
def with_number(shape: Region, field: str, index: int, value: float) -> Region:
    """Return the shape with `value`, in radians, at `index` of the flattened field."""
    values = np.array(getattr(shape, field), dtype=np.float64)
    values.reshape(-1)[index] = value
    changed = {field: float(values) if values.ndim == 0 else values}
    return replace(shape, **changed)  # type: ignore[type-var]


@with_number.register
def _(shape: Product, field: str, index: int, value: float) -> Region:
    if not field.startswith(SWING):
        return with_number.dispatch(object)(shape, field, index, value)
    swing = with_number(shape.swing, field.removeprefix(SWING), index, value)
    return replace(shape, swing=swing)  # type: ignore[arg-type]


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


@singledispatch
def interval_along(shape: Region, direction: Vectors) -> tuple[float, float] | None:
    """Return the ends of the interval along a unit direction (d,), in radians.

    None if the shape is not an interval along it times a shape across.
    """
    return None


@interval_along.register
def _(shape: Box, direction: Vectors) -> tuple[float, float] | None:
    axis, sign = _axis_along(shape, direction)
    if sign == 0.0:
        return None
    low, high = sorted((sign * shape.low[axis], sign * shape.high[axis]))
    return float(low), float(high)


@interval_along.register
def _(shape: Product, direction: Vectors) -> tuple[float, float] | None:
    if abs(direction[2]) < ALONG:
        return interval_along(shape.swing, direction[:2])
    if np.linalg.norm(direction[:2]) >= ALONG:
        return None
    return (shape.low, shape.high) if direction[2] > 0.0 else (-shape.high, -shape.low)


@singledispatch
def with_interval(shape: Region, direction: Vectors, low: float, high: float) -> Region:
    """Return the shape with other ends, in radians, along a direction of `interval_along`."""
    raise ValueError(f"a {shape.name} is not an interval along {np.round(direction, 4).tolist()}")


@with_interval.register
def _(shape: Box, direction: Vectors, low: float, high: float) -> Region:
    axis, sign = _axis_along(shape, direction)
    if sign == 0.0:
        return with_interval.dispatch(object)(shape, direction, low, high)
    lows, highs = shape.low.copy(), shape.high.copy()
    lows[axis], highs[axis] = sorted((sign * low, sign * high))
    return replace(shape, low=lows, high=highs)


@with_interval.register
def _(shape: Product, direction: Vectors, low: float, high: float) -> Region:
    if abs(direction[2]) < ALONG:
        swing: Any = with_interval(shape.swing, direction[:2], low, high)
        return replace(shape, swing=swing)
    if interval_along(shape, direction) is None:
        return with_interval.dispatch(object)(shape, direction, low, high)
    low, high = (low, high) if direction[2] > 0.0 else (-high, -low)
    return replace(shape, low=low, high=high)


def _axis_along(box: Box, direction: Vectors) -> tuple[int, float]:
    """Return the index of the axis along a unit direction, and its sign there, 0 if none is."""
    cosines = box.axes @ direction
    axis = int(np.abs(cosines).argmax())
    across = np.linalg.norm(direction - cosines[axis] * box.axes[axis])
    return axis, float(np.sign(cosines[axis])) if across < ALONG else 0.0
