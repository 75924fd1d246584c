"""Shapes that are an interval along a direction of the chart, times a shape across it."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..arrays import Vectors
from ..shapes import Box, Product, Region

ALONG = 1e-9  # sine of the angle up to which a direction is along an axis


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
