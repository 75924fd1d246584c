"""SwingTwist: the swing of a bone and the twist about it, a point of a vector space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors
from ..kernels.kinds import SWING_TWIST
from .chart import Chart, half_turn, reflect, twisted_vectors
from .rotation_vector import follow_covers, whole_turns, wind


@dataclass(frozen=True, eq=False)
class SwingTwist(Chart):
    """Swing vector across the bone's axis (2 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction in the joint's own frame. The swing's two coordinates are
    measured in the frame that turns z to the axis by the shortest way.
    """

    axis: Annotated[Vectors, 3] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "swing-twist"
    like: ClassVar[str] = "swing-twist"
    kernel: ClassVar[int | None] = SWING_TWIST
    winds: ClassVar[tuple[int, ...]] = (0, 1)
    dense_volume: ClassVar[float] = 8.0 * np.pi**2

    @cached_property
    def frame(self) -> Quats:
        """The rotation that turns z to the axis."""
        return quat.between(np.array([0.0, 0.0, 1.0]), self.axis)

    @property
    def packed(self) -> list[float]:
        back = quat.mul(self.reference, self.frame)
        right = self.frame
        return [SWING_TWIST, *quat.inverse(back), *right, *back, *quat.inverse(right)]

    def points(self, rotations: Quats) -> Points:
        frame = self.frame
        local = quat.mul(quat.mul(quat.inverse(quat.mul(self.reference, frame)), rotations), frame)
        swing, twist = quat.swing_twist(local, np.array([0.0, 0.0, 1.0]))
        return np.concatenate([quat.log(swing)[..., :2], quat.log(twist)[..., 2:]], axis=-1)

    def rotations(self, points: Points) -> Quats:
        zero = np.zeros_like(points[..., :1])
        swing = quat.exp(np.concatenate([points[..., :2], zero], axis=-1))
        twist = quat.exp(np.concatenate([zero, zero, points[..., 2:]], axis=-1))
        back = quat.mul(self.reference, self.frame)
        return quat.mul(quat.mul(back, quat.mul(swing, twist)), quat.inverse(self.frame))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [
            np.concatenate([wind(points[..., :2], j), points[..., 2:] + TURN * k], axis=-1)
            for j in whole_turns(turns)
            for k in whole_turns(turns)
        ]

    def unroll(self, rotations: Quats) -> Points:
        return follow_covers(self.points(rotations), SWING_TWIST)

    def density(self, points: Points) -> Scalars:
        # Directions by area, sin(s)/s ds², times twist, and 8π² in all.
        swing = np.linalg.norm(points[..., :2], axis=-1)
        return np.asarray(np.abs(np.sinc(swing / np.pi)) / (8.0 * np.pi**2))

    def stretch(self, points: Points) -> Scalars:
        # The direction's part is swing/sin(swing), the twist's 1/cos(swing/2).
        swing = np.linalg.norm(points[..., :2], axis=-1)
        direction = 1.0 / np.maximum(np.abs(np.sinc(swing / np.pi)), 1e-9)
        twist = 1.0 / np.maximum(np.abs(np.cos(0.5 * swing)), 1e-9)
        return np.asarray(np.hypot(direction, twist))

    def is_singular_in(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1)) >= np.pi)

    def mirror(self, normal: Vectors) -> list[tuple[Self, Floats, Points]]:
        # About either end of the bone, swing and twist are the same; the mirrored bone comes first.
        there, bone = self._mirrored(normal), reflect(self.axis, normal)
        half, frame = quat.to_matrix(half_turn(normal)), quat.to_matrix(self.frame)
        return [
            (each, quat.to_matrix(each.frame).T @ half @ frame, np.zeros(3))
            for each in (there, replace(there, axis=-bone))
        ]

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("swing x", "swing y", "twist")
    torn_at: ClassVar[float] = TURN

    def vectors(self, points: Points) -> Vectors:
        x, y = quat.rotate(self.frame, np.eye(3)[:2])
        swing = points[:, :1] * x + points[:, 1:2] * y
        half = 0.5 * np.linalg.norm(points[:, :2], axis=1, keepdims=True)
        v = 0.5 * np.sinc(half / np.pi) * swing
        return twisted_vectors(np.cos(half), v, self.axis, points[:, 2:])
