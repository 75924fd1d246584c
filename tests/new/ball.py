"""Ball: every direction is allowed equally far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ..arrays import Points, Scalars
from .region import Region


@dataclass(frozen=True, eq=False)
class Ball(Region):
    """All points within `radius` (radians) of the chart's origin."""

    radius: float

    name: ClassVar[str] = "ball"
    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")

    def __post_init__(self) -> None:
        if not self.radius >= 0.0:
            raise ValueError(f"Ball.radius must be at least 0 radians, got {self.radius}")

    @classmethod
    def fit(cls, points: Points) -> Self:
        """Return the smallest ball around `points`."""
        return cls(float(np.linalg.norm(points, axis=-1).max()))

    def distance(self, points: Points) -> Scalars:
        return np.linalg.norm(points, axis=-1) - self.radius

    def project(self, points: Points) -> Points:
        length = np.linalg.norm(points, axis=-1, keepdims=True)
        return points * np.minimum(1.0, self.radius / np.maximum(length, 1e-300))
