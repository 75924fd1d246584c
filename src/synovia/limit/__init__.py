"""Limits: a shape seen through a chart, and how to get from one family to another."""

from .conversion import Conversion
from .given import unrolled
from .limit import Limit
from .names import chart_for, chart_named, has_axis, shape_named

__all__ = ["Conversion", "Limit", "chart_for", "chart_named", "has_axis", "shape_named", "unrolled"]
