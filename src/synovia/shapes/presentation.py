"""What shapes tell pictures and editors about themselves, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Scalars


@dataclass(frozen=True)
class Family:
    """A shape with the options of its fit, by a name and a label for people to choose."""

    name: str
    label: str
    shape: str
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Number:
    """A number of a shape, in radians: its field and place, and where a table has it."""

    row: str
    column: str
    field: str
    index: int
    value: float
    least: float = -np.inf
    most: float = np.inf
    """The values that it can take while the others stay."""


def label_axis(axis: Floats, coordinates: Sequence[str], index: int) -> str:
    """Return in words which way an axis points: along a coordinate, or mostly along one."""
    most = int(np.abs(axis).argmax())
    if abs(axis[most]) > 1.0 - 1e-9:
        return coordinates[most]
    return f"axis {index + 1}, mostly {coordinates[most]}"


def range_numbers(row: str, index: int, low: float, high: float) -> list[Number]:
    """Return the two ends of a range, at a place of the fields `low` and `high`."""
    return [
        Number(row, "from", "low", index, float(low), most=float(high)),
        Number(row, "to", "high", index, float(high), least=float(low)),
    ]


@dataclass(frozen=True, eq=False)
class CellMap:
    """The range of twist in each cell of the sphere, by longitude and latitude.

    `widths` (rows, columns) are in radians, NaN where no twist is legal: rows from the south,
    columns from longitude −π on. `frame` holds the axes as rows: the first is at longitude 0 and
    latitude 0, the third is the pole.
    """

    widths: Floats
    frame: Floats


@dataclass(frozen=True, eq=False)
class CrossSection:
    """Signed distances in a plane of the chart, across the coordinate number `across`.

    `distances` (rows, columns) are in radians; `along` (columns,) are values of the first of the
    other coordinates, `up` (rows,) those of the second, and `at` is that of the plane.
    """

    across: int
    at: float
    along: Scalars
    up: Scalars
    distances: Floats
