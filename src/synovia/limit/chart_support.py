"""Functions of a chart and a shape: whether they fit together, fits and points for them.

Charts with special needs register an implementation; all others use the default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from itertools import permutations
from typing import Any

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, principal_axes, rows
from ..charts import CHARTS, Chart, DirectionTwist, EulerZYZ, Hinges, RotationVector, SwingTwist
from ..shapes import DistanceField, Shape, as_directional

STEEP = 0.2
"""Radians around a singularity within which float32 is too coarse.

At an angle δ from it, angles of rotations in float32 are off by up to some 1e-6/δ.
"""
SAME_PERIOD = 1e-9  # radians; largest difference of equal periods
MIN_RANGE = 0.02  # radians; smallest range of an angle when boxes of hinges are compared
ALIGN_SAMPLES = 500  # rotations by which axes are chosen
CORE_SHARES = (0.3, 0.5, 0.7, 0.85, 0.95, 1.0)  # shares of the rotations, the nearest first
TIE = 1e-6  # weight of the distance from the origin when two covers are equally near


def suits(chart: Chart | type[Chart], shape: Any) -> bool:
    """Tell whether a shape, or all of its class, works in a chart."""
    return chart.name in shape.charts or chart.like in shape.charts


def compared_charts() -> list[str]:
    """Return the names of the charts whose families are compared by default.

    These have kernels. `Hinges` is left out: it serves export, and other charts are tighter.
    """
    return [
        name for name, chart in CHARTS.items() if chart.kernel is not None and chart is not Hinges
    ]


@singledispatch
def check_shape(shape: Shape, chart: Chart) -> None:
    """Raise ValueError if the shape, as it is, does not fit the chart."""
    if shape.dimension != chart.dimension:
        raise ValueError(f"a limit needs a shape of space, got one of {shape.dimension}-D")


@check_shape.register
def _(shape: DistanceField, chart: Chart) -> None:
    if np.abs(shape.periods - chart.periods).max() > SAME_PERIOD:
        raise ValueError(
            f"a field in the chart {chart.name} must have the periods {chart.periods}, got "
            f"{shape.periods.tolist()}"
        )
    low = shape.low[1]
    high = low + shape.spacing[1] * (shape.values.shape[1] - 1)
    if any(chart.periods) and not (low >= -SAME_PERIOD and high <= np.pi + SAME_PERIOD):
        raise ValueError(f"a field of Euler angles must have ψ from 0 to π, got {low} to {high}")


def fit_shape(kind: type[Shape], chart: Chart, points: Points, **options: Any) -> Shape:
    """Return the shape around `points` (n, d) of the chart; options go to its `fit`.

    A `fit` with a parameter `periods` gets those of the chart.
    """
    if "periods" in inspect.signature(kind.fit).parameters:
        options = {"periods": chart.periods, **options}
    return kind.fit(points, **options)


def approximate_shape(
    kind: type[Shape],
    chart: Chart,
    points: Points,
    distance: Callable[[Points], Scalars],
    *,
    exact: bool,
    **options: Any,
) -> Shape:
    """Return a shape of class `kind` close to a region with members `points` (n, d).

    Members must be dense on its boundary. `distance` returns signed distances from the region,
    `exact` in the chart's metric or else in another one. Only fields use it; others are fitted.
    """
    sample = getattr(kind, "from_distances", None)
    if sample is None:
        return fit_shape(kind, chart, points, **options)
    made: Shape = sample(points, distance, exact=exact, periods=chart.periods, **options)
    return made


@singledispatch
def is_injective(chart: Chart, shape: Any) -> bool:
    """Tell whether each rotation has at most one point in the shape, as far as is known."""
    return len(chart.shifts(np.empty((0, chart.dimension)), 1)) == 1


@is_injective.register
def _(chart: RotationVector, shape: Any) -> bool:
    return bool(shape.reach((0, 1, 2)) < np.pi)


@is_injective.register
def _(chart: SwingTwist, shape: Any) -> bool:
    return bool(shape.reach((0, 1)) < np.pi and shape.reach((2,)) < np.pi)


@singledispatch
def is_singular(chart: Chart, shape: Any) -> bool:
    """Tell whether the shape has the direction opposite the bone, where twist is not defined."""
    return False


@is_singular.register
def _(chart: SwingTwist, shape: Any) -> bool:
    return bool(shape.reach((0, 1)) >= np.pi)


@is_singular.register
def _(chart: DirectionTwist, shape: Any) -> bool:
    directional = as_directional(shape)
    return directional is not None and bool(directional.contains_direction(-chart.axis))


@singledispatch
def is_steep(chart: Chart, shape: Any) -> bool:
    """Tell whether members may be within `STEEP` radians of a singularity of the chart.

    There, rounding a rotation to float32 may move its point by more than the tolerance.
    """
    return True


@is_steep.register
def _(chart: RotationVector, shape: Any) -> bool:
    return bool(shape.reach((0, 1, 2)) > TURN - STEEP)


@is_steep.register
def _(chart: SwingTwist, shape: Any) -> bool:
    return bool(shape.reach((0, 1)) > np.pi - STEEP)


@is_steep.register
def _(chart: DirectionTwist, shape: Any) -> bool:
    nearest = shape.project(np.append(-chart.axis, 0.0))[:3]
    return bool(np.linalg.norm(nearest + chart.axis) < STEEP)


@is_steep.register
def _(chart: EulerZYZ, shape: Any) -> bool:
    low, high = shape.bounds[:, 1]
    return bool(low < STEEP or high > np.pi - STEEP)


@is_steep.register
def _(chart: Hinges, shape: Any) -> bool:
    # Gimbal lock is at middle angles of `lock` and whole half turns more.
    low, high = (shape.bounds[:, 1] - chart.lock + [-STEEP, STEEP]) / np.pi
    return bool(np.ceil(low) <= high)


@singledispatch
def align(chart: Chart, rotations: Quats) -> Chart:
    """Return the chart whose axes suit `rotations` (n, 4) best, if it chooses axes by data."""
    return chart


@align.register
def align_hinges(chart: Hinges, rotations: Quats) -> Hinges:
    """Return the chart with the axes and the order that have the smallest box of angles.

    Candidates are the principal axes of the rotation vectors and the chart's own, in all orders.
    """
    samples = rotations[:: max(len(rotations) // ALIGN_SAMPLES, 1)]
    vectors = RotationVector(chart.reference, frame=chart.frame).points(samples)
    charts = [
        replace(chart, axes=_right_handed(axes[list(order)]))
        for axes in (principal_axes(vectors), np.eye(3))
        for order in permutations(range(3))
    ]
    return min(charts, key=lambda each: _box_share(each, samples))


def _box_share(chart: Hinges, rotations: Quats) -> float:
    """Return the share of all rotations in the box of the hinge angles of `rotations`."""
    points = gather(chart, rotations)
    low, high = points.min(axis=0) - MIN_RANGE, points.max(axis=0) + MIN_RANGE
    middle = np.linspace(low[1], high[1], 64)
    density = chart.density(np.stack([middle, middle, middle], axis=-1)).mean()
    return float(np.prod(high - low) * density)


def _right_handed(axes: Floats) -> Floats:
    """Return the rows, the last one negated if they are left-handed."""
    sign = 1.0 if np.linalg.det(axes) > 0.0 else -1.0
    return np.asarray(axes * np.array([[1.0], [1.0], [sign]]))


@singledispatch
def gather(chart: Chart, rotations: Quats) -> Points:
    """Return points of rotations (n, 4), in covers that are close together, for a fit."""
    return chart.points(rotations)


@gather.register
def _(chart: Hinges, rotations: Quats) -> Points:
    # From the reference outwards, each in the cover nearest to the box of those before it.
    points = rows("rotations", chart.points(rotations), 3)
    if not len(points):
        return points
    both = np.stack([points, chart.second_solution(points)])
    angles = quat.angle_between(rotations, chart.reference)
    for share in CORE_SHARES:
        core = points[angles <= np.quantile(angles, share)]
        low, high = core.min(axis=0), core.max(axis=0)
        near = both + TURN * np.rint((0.5 * (low + high) - both) / TURN)
        cost = np.square(near - np.clip(near, low, high)).sum(axis=-1)
        cost += TIE * np.square(near).sum(axis=-1)
        points = np.where((cost[1] < cost[0])[:, None], near[1], near[0])
    return np.asarray(points)
