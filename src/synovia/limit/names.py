"""Charts and shapes by their names or classes, and which go together."""

from __future__ import annotations

import numpy as np

from ..arrays import Quats, Vectors
from ..charts import CHARTS, AnyChart, Chart, DirectionTwist, SwingTwist
from ..shapes import SHAPES, DistanceField, Shape

WITH_AXIS = (SwingTwist, DirectionTwist)


def chart_named(chart: str | type[Chart], reference: Quats, axis: Vectors | None) -> AnyChart:
    """Return the chart of this name or class, about `reference`."""
    kind = CHARTS.get(chart) if isinstance(chart, str) else chart
    for known in CHARTS.values():
        if known is not kind:
            continue
        if axis is None:
            return known(reference)
        if issubclass(known, WITH_AXIS):
            return known(reference, axis)
        raise ValueError(f"the chart {known.name} has no axis, got {axis!r}")
    raise ValueError(f"chart must be one of {', '.join(CHARTS)}, got {chart!r}")


def has_axis(chart: str) -> bool:
    """Tell whether the chart of this name is about a bone's axis."""
    return chart in (kind.name for kind in WITH_AXIS)


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


def check_chart(shape: type[Shape], chart: AnyChart) -> None:
    """Raise ValueError if the shape does not work in the chart."""
    if chart.name not in shape.charts:
        raise ValueError(
            f"a {shape.name} works in {' or '.join(shape.charts)}, got the chart {chart.name}"
        )


def check_periods(field: DistanceField, chart: AnyChart) -> None:
    """Raise ValueError unless a field wraps as the chart does, and stays where the chart is."""
    if np.abs(field.periods - chart.periods).max() > 1e-9:
        raise ValueError(
            f"a field in the chart {chart.name} must have the periods {chart.periods}, got "
            f"{field.periods.tolist()}"
        )
    low = field.low[1]
    high = low + field.spacing[1] * (field.values.shape[1] - 1)
    if any(chart.periods) and not (low >= -1e-9 and high <= np.pi + 1e-9):
        raise ValueError(f"a field of Euler angles must have ψ from 0 to π, got {low} to {high}")
