"""Limits: a shape seen through a chart, and how to get from one family to another."""

from ..charts.chart import mirror_rotations
from .convert import Conversion, change_frames, gained_and_lost, mirror_limit
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
from .softening import Beyond, Inside

__all__ = [
    "Beyond",
    "Conversion",
    "Inside",
    "Limit",
    "change_frames",
    "chart_for",
    "chart_named",
    "charts_of",
    "frame_of",
    "gained_and_lost",
    "has_axis",
    "mirror_limit",
    "mirror_rotations",
    "shape_named",
    "unroll_paths",
]
