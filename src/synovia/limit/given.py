"""What limits are given: rotations in any form of floats, and paths of them in time."""

from __future__ import annotations

import numpy as np

from ..arrays import Points, Quats, unit_quats, unit_rounding
from ..charts import TURN, AnyChart


def unrolled(chart: AnyChart, path: Quats) -> Points:
    """Return the points of a path in time, in the cover where it is nearest to the reference."""
    points = chart.unroll(path)
    if np.abs(points).max(initial=0.0) > TURN:
        return chart.points(path)  # a joint that goes round and round is free to turn
    candidates = chart.shifts(points, 1)
    return min(candidates, key=lambda shifted: float(np.square(shifted).sum()))


def as_floats(rotations: Quats) -> Quats:
    """Return rotations as (..., 4) floats; whether they are finite and unit, the kernel sees."""
    if not isinstance(rotations, np.ndarray) or rotations.dtype not in (np.float64, np.float32):
        return unit_quats("rotations", rotations)
    if rotations.ndim == 0 or rotations.shape[-1] != 4:
        raise ValueError(f"rotations must have shape (..., 4), got {rotations.shape}")
    return rotations


def off_by_rounding(rotations: Quats) -> float:
    """Return the largest sum of squared errors of length², that rounding alone can explain."""
    return (2.0 * unit_rounding(rotations.dtype)) ** 2
