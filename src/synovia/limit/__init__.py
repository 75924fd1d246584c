"""Limits: a shape seen through a chart, and how to get from one family to another."""

from ..charts.chart import mirror_rotations
from .convert import (
    Conversion,
    chart_for,
    chart_named,
    charts_of,
    compared_charts,
    gained_and_lost,
    has_axis,
    mirror_limit,
    shape_named,
    suits,
)
from .dependent import DEPENDENT_LIMITS, DependentLimit, DependentMargin, DependentRange
from .limit import Limit, unroll_paths
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
    "chart_for",
    "chart_named",
    "charts_of",
    "compared_charts",
    "gained_and_lost",
    "has_axis",
    "mirror_limit",
    "mirror_rotations",
    "shape_named",
    "suits",
    "unroll_paths",
]
