"""Shapes of limits files of version 1, which kept the margins of limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .derived import Offset
from .region import Region
from .theta_phi.table import ThetaPhi


def had_margin(name: str) -> bool:
    """Return whether shapes of this name had a field `margin`: theta-phi tables."""
    return name == ThetaPhi.name


def without_margin(shape: Region, table_margin: float) -> tuple[Region, float]:
    """Return a shape without the margin that it had, and the margin in radians.

    An offset of at least 0 is one. A table had `table_margin` at both ends of its ranges of twists:
    they become shorter by it, at most to their middle.
    """
    if isinstance(shape, Offset) and shape.radius >= 0.0:
        return shape.shape, shape.radius
    if isinstance(shape, ThetaPhi) and table_margin != 0.0:
        middle = 0.5 * (shape.low + shape.high)
        low = np.minimum(shape.low + table_margin, middle)
        high = np.maximum(shape.high - table_margin, middle)
        return replace(shape, low=low, high=high), table_margin
    return shape, 0.0
