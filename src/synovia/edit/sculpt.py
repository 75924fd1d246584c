"""Samples added to shapes, and boundaries pushed and pulled.

Of the shapes in the package, distance fields can be sculpted. Their values are distances again
afterwards, except in the cells that the boundary cuts, where a brush leaves a slope of
1 ± 1.5 amount/radius.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..arrays import Floats, Mask, Points, Scalars, rows
from ..shapes import DistanceField, Ellipsoid, Product, ReachCone, Region, ThetaPhi, Turned, Union
from ..shapes.distance_field.grid import redistance
from ..shapes.polytope import Polytope
from ..shapes.region import THIN, sample_points
from .reach_cone import cones, include_sample, with_cones


@singledispatch
def add(shape: Region, points: Points, **options: Any) -> Region:
    """Return a shape that contains the shape and `points` (n, d).

    By default it is grown. Boxes and k-DOPs move the faces that are in the way, ellipsoids keep
    their proportions, products extend swing and twist separately, reach cones get vertices and
    wider limits of the twist, fields a ball around each sample. A union adds each sample to the
    nearest part that accepts it. Theta-phi tables count the samples as evidence; their option
    `spread` is that of `ThetaPhi.fit`.
    """
    grown = shape.grow(max(float(shape.distance(points).max(initial=0.0)), 0.0))
    if not grown.contains(points).all():
        raise ValueError(f"a {shape.name} cannot grow to contain these points: fit it anew instead")
    return grown


@add.register
def _(shape: Polytope, points: Points) -> Region:
    along = sample_points(points, (shape.dimension,)) @ shape.axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    return replace(  # type: ignore[type-var]
        shape, low=np.minimum(shape.low, low), high=np.maximum(shape.high, high)
    )


@add.register
def _(shape: Ellipsoid, points: Points) -> Region:
    points = sample_points(points, (shape.dimension,))
    along: Floats = np.abs((points - shape.center) @ shape.axes.T)
    if ((shape.radii <= THIN) & (along > THIN)).any():
        raise ValueError("the ellipsoid is flat, and the pose is beside it: refit it instead")
    shares = np.divide(along, shape.radii, out=np.zeros_like(along), where=along > THIN)
    return replace(shape, radii=shape.radii * max(1.0, np.linalg.norm(shares, axis=1).max()))


@add.register
def _(shape: Product, points: Points) -> Region:
    points = sample_points(points, (3,))
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    swing: Any = add(shape.swing, points[:, :2])
    return replace(shape, swing=swing, low=min(shape.low, low), high=max(shape.high, high))


@add.register(ReachCone)
@add.register(Union)
def _(shape: Region, points: Points) -> Region:
    points = sample_points(points, (4,))
    for point in points[np.argsort(-shape.distance(points), kind="stable")]:  # farthest first
        shape = shape if shape.contains(point) else _include_in_cones(shape, point)
    return shape


def _include_in_cones(shape: Region, point: Points) -> Region:
    """Return the shape with `point` (4,) in the nearest of its cones that accepts it."""
    parts, refusals = cones(shape), []
    for k in np.argsort([part.distance(point) for part in parts], kind="stable"):
        try:
            return with_cones(shape, [*parts[:k], include_sample(parts[k], point), *parts[k + 1 :]])
        except ValueError as error:
            refusals.append(error)
    raise refusals[0]


@add.register
def _(shape: ThetaPhi, points: Points, **options: Any) -> Region:
    return shape.with_evidence(points, **options)


@add.register
def _(shape: DistanceField, points: Points) -> Region:
    for point in sample_points(points, (3,)):
        shape = add_sample(shape, point)
    return shape


@add.register
def _(shape: Turned, points: Points) -> Region:
    return replace(shape, shape=add(shape.shape, shape.turned_back(points)))


@singledispatch
def counts_samples(shape: Region) -> bool:
    """Return True if a sample that is already inside changes the shape, as more evidence."""
    return False


@counts_samples.register(ThetaPhi)
@counts_samples.register(DistanceField)
def _(shape: Region) -> bool:
    return True


def add_sample(field: DistanceField, point: Points) -> DistanceField:
    """Return the field with a ball about `point` (3,) added.

    The radius is the threshold, at least a cell. The box grows if it is too small.
    """
    point = _point("point", point)
    radius = max(field.threshold, float(field.spacing.max()))
    field = _with_room(field, point, radius)
    ball = field.threshold + _distance_from(field, point) - radius
    return _redistance(field, np.minimum(field.values, ball))


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
