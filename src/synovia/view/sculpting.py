"""Limits worked by hand: a brush on distance fields, and the present pose as one more sample."""

from __future__ import annotations

from dataclasses import replace

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
from .given import degrees, row, vectors
from .messages import Request

Convexes = Box | KDop | Ellipsoid
MOST_TOUCHES = 32
"""Places that one request may brush."""


def brushed(limit: Limit, asked: Request) -> Limit:
    """Return the field pushed out around each of `centers`, one after the other.

    These are rotation vectors from the limit's reference; `radiusDeg` is the brush's, and
    `amountDeg` what it pushes at its center, negative to pull in. In the middle of a drag, which
    `settle` ends, a `draft` is soon made, whose values are no distances.
    """
    if not isinstance(limit.shape, DistanceField):
        raise ValueError(f"only a distance field can be sculpted, got {limit.shape.name}")
    radius, amount = (float(np.radians(degrees(asked, of))) for of in ("radiusDeg", "amountDeg"))
    field, stroke = limit.shape, shapes.brushed if asked.get("draft") is True else shapes.push
    for vector in vectors(asked, "centers", MOST_TOUCHES):
        rotation = quat.mul(limit.chart.reference, quat.exp(vector))
        field = stroke(field, near_boundary(limit, field, rotation), radius, amount)
    return replace(limit, shape=field)


def settled(limit: Limit, asked: Request) -> Limit:
    """Return the field with its values made distances again, after drafts."""
    if not isinstance(limit.shape, DistanceField):
        raise ValueError(f"only a distance field can be sculpted, got {limit.shape.name}")
    return replace(limit, shape=shapes.settled(limit.shape))


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
    return replace(limit, shape=_holding(limit.shape, point))


def _holding(shape: Shape, point: Points) -> Shape:
    if isinstance(shape, DistanceField):
        return add_sample(shape, point)
    if isinstance(shape, ThetaPhi | ReachCone | Union):
        return shape.add(point[None])
    if isinstance(shape, Product):
        low, high = min(shape.low, float(point[2])), max(shape.high, float(point[2]))
        return replace(shape, swing=_around(shape.swing, point[:2]), low=low, high=high)
    return _around(shape, point)


def _around(shape: Convexes, point: Points) -> Convexes:
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


SCULPTED = {"brush": brushed, "settle": settled, "add-sample": with_sample}
"""Edits by name."""
