"""Torus: all within a tube around a circle, so not the reference, and nothing near to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, Scalars, own
from .region import Region


@dataclass(frozen=True, eq=False)
class Torus(Region):
    """All points within `tube` radians of the circle of `radius` around `axis`, a unit vector."""

    radius: float
    tube: Annotated[float, ">=0"]
    axis: Annotated[Floats, 3]

    name: ClassVar[str] = "torus"
    charts: ClassVar[tuple[str, ...]] = ("rotation-vector",)

    def __post_init__(self) -> None:
        own(self)
        if not min(self.radius, self.tube) >= 0.0:
            raise ValueError(f"Torus.tube must be at least 0 radians, got {self.tube}")

    @classmethod
    def fit(cls, points: Points, *, around: Literal["x", "y", "z"] = "z") -> Self:
        """Return a torus around `points`."""
        radius = float(np.linalg.norm(points, axis=-1).mean())
        bare = cls(radius, 0.0, np.eye(3)["xyz".index(around)])
        return cls(bare.radius, float(bare.distance(points).max()), bare.axis)

    def _core(self, points: Points) -> Points:
        """Return the nearest point of the circle; on the axis all are, and one is taken."""
        across = points - (points @ self.axis)[..., None] * self.axis
        length = np.linalg.norm(across, axis=-1, keepdims=True)
        one = np.roll(self.axis, 1) - (np.roll(self.axis, 1) @ self.axis) * self.axis
        return self.radius * np.where(length > 0.0, across / np.maximum(length, 1e-300), one)

    def distance(self, points: Points) -> Scalars:
        return np.linalg.norm(points - self._core(points), axis=-1) - self.tube

    def project(self, points: Points) -> Points:
        core = self._core(points)
        length = np.linalg.norm(points - core, axis=-1, keepdims=True)
        share = self.tube / np.maximum(length, 1e-300)
        return np.where(length > self.tube, core + share * (points - core), points)
