"""Numbers that describe a shape, to be shown and typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from ..arrays import Floats
from ..shapes import Ellipsoid, Product, Region
from ..shapes.polytope import Polytope

SWING = "swing."  # prefix of the fields of a product's swing
ALIGNED = 1.0 - 1e-9  # cosine from which an axis lies along a coordinate


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
