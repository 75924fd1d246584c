"""Limits as numbers to type: sides, centres and radii of convex shapes, in degrees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..limit import Limit
from ..shapes import Box, Ellipsoid, KDop, Product, Shape
from .given import degrees
from .messages import Request
from .protocol import ShapeNumber

COORDINATES = {
    "rotation-vector": ("about x", "about y", "about z"),
    "swing-twist": ("swing about x", "swing about y", "twist"),
}
"""What the coordinates of charts are, in words; a swing is about axes across the bone."""
WIDEST_DEG = 1800.0


def numbers_of(limit: Limit) -> list[ShapeNumber]:
    """Return the numbers of a convex limit, in rows and columns; of others none."""
    words = COORDINATES.get(limit.chart.name, ())
    return list(_numbers(limit.shape, words, ""))


def _numbers(shape: Shape, words: tuple[str, ...], within: str) -> Iterator[ShapeNumber]:
    if isinstance(shape, Product):
        yield from _numbers(shape.swing, words[:2], "swing.")
        for column, end in (("from", "low"), ("to", "high")):
            yield _number("twist", column, end, 0, getattr(shape, end))
    elif isinstance(shape, Box | KDop):
        for index, axis in enumerate(shape.axes):
            row = _direction(axis, words, index)
            yield _number(row, "from", f"{within}low", index, shape.low[index])
            yield _number(row, "to", f"{within}high", index, shape.high[index])
    elif isinstance(shape, Ellipsoid):
        for index, word in enumerate(words):
            yield _number(word, "centre", f"{within}center", index, shape.center[index])
        for index, axis in enumerate(shape.axes):
            row = _direction(axis, words, index)
            yield _number(row, "radius", f"{within}radii", index, shape.radii[index])


def _number(row: str, column: str, field: str, index: int, value: float) -> ShapeNumber:
    deg = round(float(np.degrees(value)), 6)
    return {"row": row, "column": column, "field": field, "index": index, "deg": deg}


def _direction(axis: Floats, words: tuple[str, ...], index: int) -> str:
    """Return in words which way an axis points: along a coordinate, or mostly along one."""
    most = int(np.abs(axis).argmax())
    if abs(axis[most]) > 1.0 - 1e-9:
        return words[most]
    return f"axis {index + 1}, mostly {words[most]}"


def with_number(limit: Limit, asked: Request) -> Limit:
    """Return the limit with `deg` degrees at place `index` of the `field`, by its name."""
    field, index, deg = asked["field"], asked["index"], degrees(asked, "deg")
    known = {(each["field"], each["index"]) for each in numbers_of(limit)}
    if (field, index) not in known:
        raise ValueError(f"a {limit.shape.name} has no number {field!r:.40} [{index!r:.10}]")
    if abs(deg) > WIDEST_DEG:
        raise ValueError(f"a number must be from -1800 to 1800 degrees, got {deg:g}")
    angle, shape = float(np.radians(deg)), limit.shape
    if field.startswith("swing.") and isinstance(shape, Product):
        plane = _set(shape.swing, field.removeprefix("swing."), index, angle)
        return replace(limit, shape=replace(shape, swing=plane))
    return replace(limit, shape=_set(shape, field, index, angle))


def _set(shape: Any, field: str, index: int, angle: float) -> Any:
    """Return the shape with an angle, in radians, at a place of one of its fields."""
    if field == "radii" and angle < 0.0:
        raise ValueError(f"a radius must be at least 0 degrees, got {np.degrees(angle):.6g}")
    values = np.array(getattr(shape, field), dtype=np.float64)
    values.reshape(-1)[index] = angle
    changed: dict[str, Any] = {field: float(values) if values.ndim == 0 else values}
    if field in ("low", "high"):
        low, high = (
            np.atleast_1d(changed.get(end, getattr(shape, end)))[index] for end in ("low", "high")
        )
        if low > high:
            raise ValueError(
                f"a range must not end before it starts: {np.degrees(low):.6g} to "
                f"{np.degrees(high):.6g} degrees"
            )
    return replace(shape, **changed)


NUMBERED = {"number": with_number}
"""Edits by name."""
