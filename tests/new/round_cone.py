"""RoundCone: directions within an angle of one, and the same twists at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np

from ..arrays import Floats, Points, Scalars, own
from .directional import Directional, angle_between
from .region import interpolate


@dataclass(frozen=True, eq=False)
class RoundCone(Directional):
    """All directions within `angle` (radians) of `axis`, with twists within `twist` of 0."""

    axis: Annotated[Floats, 3]
    angle: float
    twist: float

    name: ClassVar[str] = "round-cone"

    def __post_init__(self) -> None:
        own(self)

    @classmethod
    def fit(cls, points: Points) -> Self:
        """Return the cone about the mean direction of `points`."""
        axis = points[:, :3].sum(axis=0) / np.linalg.norm(points[:, :3].sum(axis=0))
        angle = float(angle_between(points[:, :3], axis).max())
        return cls(axis, angle, float(np.abs(points[:, 3]).max()))

    def _excess(self, points: Points) -> tuple[Scalars, Scalars]:
        turn = points[..., 3] - 2.0 * np.pi * np.rint(points[..., 3] / (2.0 * np.pi))
        return angle_between(points[..., :3], self.axis) - self.angle, np.abs(turn) - self.twist

    def distance(self, points: Points) -> Scalars:
        beyond, twist = self._excess(points)
        outside = np.hypot(np.maximum(beyond, 0.0), np.maximum(twist, 0.0))
        return np.where(outside > 0.0, outside, np.maximum(beyond, twist))

    def project(self, points: Points) -> Points:
        beyond, _ = self._excess(points)
        onto = np.concatenate(
            [np.broadcast_to(self.axis, points[..., :3].shape), points[..., 3:]], axis=-1
        )
        share = np.maximum(beyond, 0.0) / np.maximum(beyond + self.angle, 1e-300)
        moved = interpolate(self, points, onto, share)
        turns = 2.0 * np.pi * np.rint(points[..., 3] / (2.0 * np.pi))
        moved[..., 3] = np.clip(points[..., 3], turns - self.twist, turns + self.twist)
        return moved
