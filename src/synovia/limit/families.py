"""Charts and shapes by name, which of them work together, and fits of a shape in a chart."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Points, Quats, Scalars, Vectors
from ..charts import CHARTS, Chart, Hinges, SwingTwist, takes_axis
from ..shapes import SHAPES, DistanceField, Shape

SAME_PERIOD = 1e-9  # radians; largest difference of equal periods


def chart_named(
    chart: str | type[Chart],
    reference: Quats,
    axis: Vectors | None,
    *,
    frame: Quats = quat.IDENTITY,
) -> Chart:
    """Return the chart of this name or class, about `reference`, in `frame`.

    `axis` is the bone's direction in the joint's own frame.
    """
    kind = CHARTS.get(chart) if isinstance(chart, str) else chart
    if kind is None or kind not in CHARTS.values():
        raise ValueError(f"chart must be one of {', '.join(CHARTS)}, got {chart!r}")
    if axis is None:
        return kind(reference, frame=frame)
    if not takes_axis(kind):
        raise ValueError(f"the chart {kind.name} has no axis, got {axis!r}")
    if frame[1:].any():
        axis = quat.rotate(quat.inverse(frame), np.asarray(axis, np.float64))
    fields: dict[str, Any] = {"reference": reference, "frame": frame, "axis": axis}
    return kind(**fields)


def has_axis(chart: str) -> bool:
    """Tell whether the chart of this name is about a bone's axis."""
    return chart in CHARTS and takes_axis(CHARTS[chart])


def charts_of(shape: str) -> list[str]:
    """Return the names of the charts that a shape works in, its own first."""
    kind = shape_named(shape)
    others = [name for name, chart in CHARTS.items() if suits(chart, kind)]
    return list(dict.fromkeys([*kind.charts, *others]))


def chart_for(shape: str, chart: str | None) -> str:
    """Return `chart`; where none is given, swing-twist, or what the shape works in."""
    charts = shape_named(shape).charts
    return chart or (SwingTwist.name if SwingTwist.name in charts else charts[0])


def shape_named(shape: str | type[Shape]) -> type[Shape]:
    """Return the class of the shape of this name; a class is passed through."""
    kind = SHAPES.get(shape) if isinstance(shape, str) else shape
    if kind is None or kind not in SHAPES.values():
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    return kind


def check_chart(shape: Shape | type[Shape], chart: Chart) -> None:
    """Raise ValueError if the shape does not work in the chart."""
    if not suits(chart, shape):
        raise ValueError(
            f"a {shape.name} works in {' or '.join(shape.charts)}, got the chart {chart.name}"
        )


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
