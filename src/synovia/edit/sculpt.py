"""Sculpting: the boundary of a shape pushed and pulled, samples of a field added and moved.

Of the shapes in the package, distance fields can be sculpted.

Results are distances again, except in the cells that the boundary cuts, where a brush leaves a
slope of 1 ± 1.5 amount/radius.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from ..arrays import Mask, Points, Scalars, rows
from ..shapes import DistanceField, Region
from ..shapes.distance_field.build import redistance


def add_sample(field: DistanceField, point: Points) -> DistanceField:
    """Return the field with a ball about `point` (3,) added.

    The radius is the threshold, at least a cell. The box grows if it is too small.
    """
    point = _point("point", point)
    radius = max(field.threshold, float(field.spacing.max()))
    field = _with_room(field, point, radius)
    ball = field.threshold + _distance_from(field, point) - radius
    return _redistance(field, np.minimum(field.values, ball))


def move_sample(field: DistanceField, start: Points, end: Points) -> DistanceField:
    """Return the field with the sample at `start` moved to `end`, both (3,).

    The ball that `add_sample` would add at `start` is removed, and with it any part of other
    samples' balls that it overlaps.
    """
    start = _point("start", start)
    radius = max(field.threshold, float(field.spacing.max()))
    moved = add_sample(field, end)
    hole = moved.threshold + radius - _distance_from(moved, start)
    kept = moved.threshold + _distance_from(moved, _point("end", end)) - radius
    return _redistance(moved, np.minimum(np.maximum(moved.values, hole), kept))


@singledispatch
def push(shape: Region, center: Points, radius: float, amount: float) -> Region:
    """Return the shape with its boundary pushed out by `amount` radians around `center` (d,).

    The brush is smooth: full at the center, nothing from `radius` radians on. A negative amount
    pulls the boundary in, as `pull` does.
    """
    raise ValueError(f"a {shape.name} cannot be sculpted: make it a distance field")


@push.register
def _(shape: DistanceField, center: Points, radius: float, amount: float) -> DistanceField:
    return _redistance(*_stroke(shape, center, radius, amount))


def is_sculptable(kind: type[Region]) -> bool:
    """Return True if `push` and `brush` accept shapes of this class."""
    return push.dispatch(kind) is not push.dispatch(object)


@singledispatch
def brush(shape: Region, center: Points, radius: float, amount: float) -> Region:
    """Return a fast preview of `push`; `settle` must follow the last of a series of strokes."""
    return push(shape, center, radius, amount)


@brush.register
def _(shape: DistanceField, center: Points, radius: float, amount: float) -> DistanceField:
    # The same region, with values that are not distances.
    field, values = _stroke(shape, center, radius, amount)
    if not (values <= field.threshold).any():
        raise ValueError("sculpting would leave no member")
    return replace(field, values=values)


@singledispatch
def settle(shape: Region) -> Region:
    """Return the shape after the last stroke of `brush`."""
    return shape


@settle.register
def _(shape: DistanceField) -> DistanceField:
    return _redistance(shape)


@singledispatch
def level(shape: Region, points: Points) -> Scalars:
    """Return a measure (...) of depth that is cheap to compute, by default the distance."""
    return shape.distance(points)


@level.register
def _(shape: DistanceField, points: Points) -> Scalars:
    return shape.value(points)


def _stroke(
    field: DistanceField, center: Points, radius: float, amount: float
) -> tuple[DistanceField, Points]:
    """Return the field, with room for the brush, and its values (I, J, K) after the stroke."""
    center = _point("center", center)
    if not 0.0 < radius < np.inf:
        raise ValueError(f"radius of the brush must be above 0 radians, got {radius}")
    if not np.isfinite(amount):
        raise ValueError(f"amount of the brush must be finite, got {amount}")
    if amount > 0.0:
        field = _with_room(field, center, min(radius, amount) + float(field.spacing.max()))
    share = np.maximum(1.0 - _squares_from(field, center) / radius**2, 0.0)
    return field, field.values - amount * share**2


def pull(shape: Region, center: Points, radius: float, amount: float) -> Region:
    """Return the shape with its boundary pulled in by `amount` radians around `center` (d,)."""
    return push(shape, center, radius, -amount)


def _point(name: str, point: Points) -> Points:
    point = rows(name, point, 3)
    if point.ndim != 1:
        raise ValueError(f"{name} must have shape (3,), got {point.shape}")
    return np.asarray(point, dtype=np.float64)


def _distance_from(field: DistanceField, point: Points) -> Scalars:
    return np.asarray(np.sqrt(_squares_from(field, point)))


def _squares_from(field: DistanceField, point: Points) -> Scalars:
    """Return the squared distances of all nodes from a point, across the ends of wrapped axes."""
    shape = field.values.shape
    along = field.low + field.spacing * np.arange(max(shape))[:, None]
    squares = field.moves(point, along) ** 2
    x, y, z = (squares[:n, axis] for axis, n in enumerate(shape))
    return np.asarray(x[:, None, None] + (y[:, None] + z))


def _with_room(field: DistanceField, point: Points, radius: float) -> DistanceField:
    """Return the field in a box that contains a ball about `point`, where its chart allows."""
    high = field.low + field.spacing * (np.array(field.values.shape) - 1)
    short = np.maximum(np.stack([field.low - point, point - high]) + radius, 0.0)
    short = np.where(field.wrapping, 0.0, short)
    return field.widened(short) if short.any() else field


def _redistance(field: DistanceField, values: Points | None = None) -> DistanceField:
    """Return the field with its values, or others (I, J, K), made distances from its boundary."""
    values = field.values if values is None else values
    inside = values <= field.threshold
    if not inside.any():
        raise ValueError("sculpting would leave no member")
    if inside.all():
        return replace(field, values=values)
    distances = field.threshold + redistance(
        values, field.threshold, field.low, field.spacing, field.wrapping
    )
    kept = _boundary_nodes(inside, field.wrapping)
    return replace(field, values=np.where(kept, values, distances))


def _boundary_nodes(inside: Mask, wraps: Mask) -> Mask:
    """Return a mask of the nodes of cells that the boundary cuts.

    These keep their values, because new ones would erode regions a cell or two thin.
    """
    some, every = inside, inside
    for axis, wrap in enumerate(wraps):
        parts = []
        for nodes in (some, every):
            along = np.moveaxis(nodes, axis, 0)
            before, after = (along[-1:], along[:1]) if wrap else (along[:1], along[-1:])
            parts.append(np.concatenate([before, along, after]))
        some = np.moveaxis(parts[0][:-2] | parts[0][1:-1] | parts[0][2:], 0, axis)
        every = np.moveaxis(parts[1][:-2] & parts[1][1:-1] & parts[1][2:], 0, axis)
    return np.asarray(some & ~every)
