"""Limits: a shape seen through a chart, and how to get from one family to another."""

from ..charts.chart import mirror_rotations
from .chart_support import align, compared_charts, gather, suits
from .convert import Conversion, change_frames, gained_and_lost, mirror_limit
from .dependent import DEPENDENT_LIMITS, DependentLimit, DependentMargin, DependentRange
from .limit import (
    Limit,
    chart_for,
    chart_named,
    charts_of,
    frame_of,
    has_axis,
    shape_named,
    unroll_paths,
)
from .pair import PairLimit, nearest_together, sample_together
from .softening import Beyond, Inside

__all__ = [
    "DEPENDENT_LIMITS",
    "Beyond",
    "Conversion",
    "DependentLimit",
    "DependentMargin",
    "DependentRange",
    "Inside",
    "Limit",
    "PairLimit",
    "align",
    "change_frames",
    "chart_for",
    "chart_named",
    "charts_of",
    "compared_charts",
    "frame_of",
    "gained_and_lost",
    "gather",
    "has_axis",
    "mirror_limit",
    "mirror_rotations",
    "nearest_together",
    "sample_together",
    "shape_named",
    "suits",
    "unroll_paths",
]
