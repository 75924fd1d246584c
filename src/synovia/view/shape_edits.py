"""Limits as numbers to type: sides, centres and radii of convex shapes, in degrees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .. import quat, shapes
from ..arrays import Floats, Points, Quats, unit_quats
from ..limit import Limit
from ..shapes import (
    Box,
    DistanceField,
    Ellipsoid,
    KDop,
    Product,
    ReachCone,
    Shape,
    ThetaPhi,
    Union,
    add_sample,
)
from .messages import Request, degrees, row, vectors
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
            row = _axis_label(axis, words, index)
            yield _number(row, "from", f"{within}low", index, shape.low[index])
            yield _number(row, "to", f"{within}high", index, shape.high[index])
    elif isinstance(shape, Ellipsoid):
        for index, word in enumerate(words):
            yield _number(word, "centre", f"{within}center", index, shape.center[index])
        for index, axis in enumerate(shape.axes):
            row = _axis_label(axis, words, index)
            yield _number(row, "radius", f"{within}radii", index, shape.radii[index])


def _number(row: str, column: str, field: str, index: int, value: float) -> ShapeNumber:
    deg = round(float(np.degrees(value)), 6)
    return {"row": row, "column": column, "field": field, "index": index, "deg": deg}


def _axis_label(axis: Floats, words: tuple[str, ...], index: int) -> str:
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
        plane = _set_angle(shape.swing, field.removeprefix("swing."), index, angle)
        return replace(limit, shape=replace(shape, swing=plane))
    return replace(limit, shape=_set_angle(shape, field, index, angle))


def _set_angle(shape: Any, field: str, index: int, angle: float) -> Any:
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


NUMBER_EDITS = {"number": with_number}
"""Edits by name."""


# Limits worked by hand: a brush on distance fields, and the present pose as one more sample.


Convexes = Box | KDop | Ellipsoid
MOST_TOUCHES = 32
"""Places that one request may brush."""


def brush_limit(limit: Limit, asked: Request) -> Limit:
    """Return the field pushed out around each of `centers`, one after the other.

    These are rotation vectors from the limit's reference; `radiusDeg` is the brush's, and
    `amountDeg` what it pushes at its center, negative to pull in. In the middle of a drag, which
    `settle` ends, a `draft` is soon made, whose values are no distances.
    """
    if not isinstance(limit.shape, DistanceField):
        raise ValueError(f"only a distance field can be sculpted, got {limit.shape.name}")
    radius, amount = (float(np.radians(degrees(asked, of))) for of in ("radiusDeg", "amountDeg"))
    field, stroke = limit.shape, shapes.brush if asked.get("draft") is True else shapes.push
    for vector in vectors(asked, "centers", MOST_TOUCHES):
        rotation = quat.mul(limit.chart.reference, quat.exp(vector))
        field = stroke(field, near_boundary(limit, field, rotation), radius, amount)
    return replace(limit, shape=field)


def restore_distances(limit: Limit, asked: Request) -> Limit:
    """Return the field with its values made distances again, after drafts."""
    if not isinstance(limit.shape, DistanceField):
        raise ValueError(f"only a distance field can be sculpted, got {limit.shape.name}")
    return replace(limit, shape=shapes.redistance_field(limit.shape))


def near_boundary(limit: Limit, field: DistanceField, rotation: Quats) -> Points:
    """Return the point of a rotation (4,) in that cover of the chart where Φ is least: (3,)."""
    points = np.stack(limit.covers(rotation))
    return np.asarray(points[np.argmin(field.value(points))])


def with_sample(limit: Limit, asked: Request) -> Limit:
    """Return the limit with the rotation (4,) of the request in it, as its shape takes samples in.

    Fields and tables take it as evidence. A cone (of a union the nearest one) gets a point there
    and twists as wide as that. Boxes, k-DOPs and products move the faces that are in its way, and
    an ellipsoid becomes larger in the same proportions. These have nothing to take in of a pose
    that is inside, and refuse it, so that no step to undo does nothing.
    """
    rotation = unit_quats("rotation", row(asked, "rotation", 4))
    if not isinstance(limit.shape, DistanceField | ThetaPhi) and limit.contains(rotation):
        raise ValueError("this pose is inside already")
    point = limit.nearest_cover(rotation)
    return replace(limit, shape=_include(limit.shape, point))


def _include(shape: Shape, point: Points) -> Shape:
    if isinstance(shape, DistanceField):
        return add_sample(shape, point)
    if isinstance(shape, ThetaPhi | ReachCone | Union):
        return shape.add(point[None])
    if isinstance(shape, Product):
        low, high = min(shape.low, float(point[2])), max(shape.high, float(point[2]))
        return replace(shape, swing=_grow_to(shape.swing, point[:2]), low=low, high=high)
    return _grow_to(shape, point)


def _grow_to(shape: Convexes, point: Points) -> Convexes:
    """Return the shape, of the same axes, just so much larger that it has the point."""
    if isinstance(shape, Ellipsoid):
        along: Floats = np.abs(shape.axes @ (point - shape.center))
        if (shape.radii[along > 1e-9] <= 1e-9).any():
            raise ValueError("the ellipsoid is flat, and the pose is beside it: refit it instead")
        shares = np.divide(along, shape.radii, out=np.zeros_like(along), where=along > 1e-9)
        return replace(shape, radii=shape.radii * max(1.0, float(np.linalg.norm(shares))))
    along = shape.axes @ point
    low, high = np.minimum(shape.low, along), np.maximum(shape.high, along)
    return replace(shape, low=low, high=high)


SCULPT_EDITS = {"brush": brush_limit, "settle": restore_distances, "add-sample": with_sample}
"""Edits by name."""
