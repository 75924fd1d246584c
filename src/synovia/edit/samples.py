"""Samples added to shapes, which then contain them."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..arrays import Floats, Points
from ..shapes import DistanceField, Ellipsoid, Product, ReachCone, Region, ThetaPhi, Turned, Union
from ..shapes.polytope import Polytope
from ..shapes.region import THIN, sample_points
from .reach_cone import include_sample
from .sculpt import add_sample


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


@add.register
def _(shape: ReachCone, points: Points) -> Region:
    points = sample_points(points, (4,))
    for point in points[np.argsort(-shape.distance(points), kind="stable")]:  # farthest first
        shape = shape if shape.contains(point) else include_sample(shape, point)
    return shape


@add.register
def _(shape: Union, points: Points) -> Region:
    points = sample_points(points, (4,))
    for point in points[np.argsort(-shape.distance(points), kind="stable")]:  # farthest first
        shape = shape if shape.contains(point) else _with_sample(shape, point)
    return shape


def _with_sample(union: Union, point: Points) -> Union:
    """Return the union with `point` (4,) in the nearest of its parts that accepts it."""
    refusals = []
    for number in np.argsort([part.distance(point) for part in union.parts], kind="stable"):
        try:
            part = include_sample(union.parts[number], point)
        except ValueError as error:
            refusals.append(error)
        else:
            return Union((*union.parts[:number], part, *union.parts[number + 1 :]))
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
