"""DirectionTwist: where the bone points, on the unit sphere, and its twist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from .. import quat
from ..arrays import TURN, Points, Quats, Scalars, Vectors, own, rows, unit_quats
from .chart import cross_matrix, twisted_vectors, unit_axis


@dataclass(frozen=True, eq=False)
class DirectionTwist:
    """Unit direction of the bone (3 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction in the joint's own frame; the direction is seen from the
    reference, so at the reference it is the axis itself, and the twist is 0. The swing is the
    shortest turn from the axis to the direction. Opposite the axis the twist is not defined: 0.
    """

    reference: Quats = field(default_factory=lambda: quat.IDENTITY)
    axis: Vectors = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "direction-twist"
    dimension: ClassVar[int] = 4
    winds: ClassVar[tuple[int, ...]] = ()
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, TURN)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", unit_quats("reference", self.reference))
        own(self, reference=(4,), axis=(3,))
        object.__setattr__(self, "axis", unit_axis(self.axis, "DirectionTwist.axis"))

    @property
    def packed(self) -> list[float]:
        axis = [*self.axis, 0.0]
        return [2.0, *quat.inverse(self.reference), *axis, *self.reference, *axis]

    def points(self, rotations: Quats) -> Points:
        local = quat.mul(quat.inverse(self.reference), rotations)
        _, twist = quat.swing_twist(local, self.axis)
        angle = np.sum(quat.log(twist) * self.axis, axis=-1)
        return np.concatenate([quat.rotate(local, self.axis), angle[..., None]], axis=-1)

    def rotations(self, points: Points) -> Quats:
        swing = quat.between(self.axis, points[..., :3])
        twist = quat.exp(points[..., 3:] * self.axis)
        return quat.mul(self.reference, quat.mul(swing, twist))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        # Shapes of directions take a twist and its whole turns for the same.
        return [points]

    def unroll(self, rotations: Quats) -> Points:
        points = rows("rotations", self.points(rotations), 4)
        points[..., 3] = np.unwrap(points[..., 3])
        return points

    def density(self, points: Points) -> Scalars:
        return np.full(points.shape[:-1], 1.0 / (4.0 * np.pi * TURN))

    def stretch(self, points: Points) -> Scalars:
        # The direction's part is at most 1, the twist's 1/cos(swing/2) = 2/|axis + direction|.
        half = 0.5 * np.linalg.norm(points[..., :3] + self.axis, axis=-1)
        return np.asarray(np.hypot(1.0, 1.0 / np.maximum(half, 1e-9)))

    coordinates: ClassVar[tuple[str, ...]] = ("towards x", "towards y", "towards z", "twist")
    left_handed: ClassVar[bool] = False
    torn_at: ClassVar[float] = TURN

    def vectors(self, points: Points) -> Vectors:
        # With a the axis and d the direction, the swing is (w, a × d/2w), w² = (1 + a·d)/2.
        directions = points[:, :3]
        cosine = directions @ self.axis[:, None]
        w = np.sqrt(np.maximum(0.5 * (1.0 + cosine), 1e-18))
        v = directions @ cross_matrix(self.axis) / (2.0 * w)
        return twisted_vectors(w, v, self.axis, points[:, 3:])

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.name, "reference": self.reference, "axis": self.axis}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the chart that `to_dict` wrote."""
        return cls(**fields)
