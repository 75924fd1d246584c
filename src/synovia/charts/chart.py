"""What every chart promises: rotations as points, and back."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from ..arrays import Points, Quats, Scalars, Vectors


class Chart(Protocol):
    """What every chart can do; points are (..., dimension), angles in radians."""

    name: ClassVar[str]
    dimension: ClassVar[int]
    winds: ClassVar[tuple[int, ...]]
    """The coordinates whose length may be whole turns longer; the others wind by themselves."""
    periods: ClassVar[tuple[float, ...]]
    """The period of each coordinate in radians, 0 of those that do not wrap."""
    reference: Quats

    @property
    def packed(self) -> list[float]:
        """The chart's part of a packed limit: kind, then the quaternions in and back."""

    def points(self, rotations: Quats) -> Points:
        """Return the point of each rotation that is nearest to the reference."""

    def rotations(self, points: Points) -> Quats:
        """Return the rotation of each point, as a unit quaternion."""

    def shifts(self, points: Points, turns: int) -> list[Points]:
        """Return the points in every cover up to `turns` whole turns away, this one first."""

    def unroll(self, rotations: Quats) -> Points:
        """Return a path (frames, 3) that follows rotations in time across whole turns."""

    def density(self, points: Points) -> Scalars:
        """Return the share of all rotations per unit of the chart's volume."""

    def stretch(self, points: Points) -> Scalars:
        """Return how much longer, at most, a short path is in the chart than its true angle."""

    def to_dict(self) -> dict[str, Any]:
        """Return the chart's fields, with its name as `type`."""


def unit_axis(axis: Vectors, name: str) -> Vectors:
    """Return a bone's axis (3,), unit and locked; zero is refused."""
    length = float(np.linalg.norm(axis))
    if not length > 1e-12:
        raise ValueError(f"{name} must not be zero, got {axis.tolist()}")
    unit = axis if abs(length - 1.0) <= 1e-15 else axis / length
    unit.flags.writeable = False
    return unit
