"""The slice of a reach cone that a direction lies in: what the page shows brightly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Vectors, rows
from ..limit import Limit
from ..shapes import ReachCone, Union

STEP = float(np.radians(2.0))
"""The most between two points of an outline, in radians."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The triangle of the visible point and the two boundary points of a slice, on the sphere."""

    outline: Vectors
    """Directions (k, 3) around it, from the visible point on, each within 2 degrees of the last."""
    low: float
    """The least twist where the bone points, in radians."""
    high: float
    """The greatest twist there, in radians."""


def slice_of(limit: Limit, direction: Vectors) -> Slice | None:
    """Return the slice that holds a unit `direction` (3,), seen from the limit's reference.

    Of a union, that of the first part which has the direction. There is none outside, and none of
    other families.
    """
    direction = rows("direction", direction, 3)
    if direction.shape != (3,):
        raise ValueError(f"direction must have shape (3,), got {direction.shape}")
    shape = limit.shape
    cones = shape.parts if isinstance(shape, Union) else (shape,)
    for cone in cones:
        if isinstance(cone, ReachCone) and cone.contains_direction(direction):
            number = int(cone.slices(direction))
            ends = cone.points[[number, (number + 1) % len(cone.points)]]
            corners = np.concatenate([cone.visible[None], ends])
            low, high = cone.twist_range(direction)
            return Slice(_outline(corners), float(low), float(high))
    return None


def _outline(corners: Vectors) -> Vectors:
    """Return directions along the great arcs between corners (n, 3), back to the first."""
    parts = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        angle = 2.0 * np.arctan2(np.linalg.norm(end - start), np.linalg.norm(end + start))
        count = max(1, int(np.ceil(angle / STEP)))
        share = np.arange(count)[:, None] / count
        arc = np.sin((1.0 - share) * angle) * start + np.sin(share * angle) * end
        parts.append(arc / np.linalg.norm(arc, axis=1, keepdims=True))
    return np.concatenate(parts)
