"""SwingTwist: the swing of a bone and the twist about it, a point of a vector space."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors
from ..kernels.layout import SWING_TWIST
from .chart import half_turn, reflect
from .framed import FramedChart
from .rotation_vector import follow_covers, whole_turns, wind


@dataclass(frozen=True, eq=False)
class SwingTwist(FramedChart):
    """Swing vector across the bone's axis (2 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction along the chart's axes. The two coordinates of the swing are
    measured in the frame that takes z to the axis by the shortest rotation.
    """

    axis: Annotated[Vectors, 3] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "swing-twist"
    like: ClassVar[str] = "swing-twist"
    kernel: ClassVar[int | None] = SWING_TWIST
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)
    _radial: ClassVar[tuple[int, ...]] = (0, 1)

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        right = self.swing_frame
        return quat.mul(self.reference, right), right

    @cached_property
    def swing_frame(self) -> Quats:
        """The rotation (4,) that takes z to the bone, and x and y to the axes of the swing."""
        return quat.mul(self.frame, _from_z(self.axis)) if self.is_turned else _from_z(self.axis)

    def points(self, rotations: Quats) -> Points:
        swing, twist = quat.swing_twist(self._local(rotations), np.array([0.0, 0.0, 1.0]))
        w, z = twist[..., :1], twist[..., 3:]
        angle = 2 * np.arctan2(np.where(w < 0, -z, z), np.abs(w))
        return np.concatenate([quat.log_unrolled(swing)[..., :2], angle], axis=-1)

    def rotations(self, points: Points) -> Quats:
        zero = np.zeros_like(points[..., :1])
        swing = quat.exp(np.concatenate([points[..., :2], zero], axis=-1))
        twist = quat.exp(np.concatenate([zero, zero, points[..., 2:]], axis=-1))
        return self._global(quat.mul(swing, twist))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [
            np.concatenate([wind(points[..., :2], j), points[..., 2:] + TURN * k], axis=-1)
            for j in whole_turns(turns)
            for k in whole_turns(turns)
        ]

    def follow(self, points: Points) -> Points:
        return follow_covers(points, SWING_TWIST)

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

    @property
    def _grid_axes(self) -> Floats:
        return np.asarray(quat.to_matrix(_from_z(self.axis)).T)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        # Swing and twist are the same about either end of the bone; the mirrored bone comes first.
        half, turn = quat.to_matrix(half_turn(normal)), quat.to_matrix(_from_z(self.axis))
        bone = reflect(self.axis, normal)
        return [
            ({"axis": axis}, quat.to_matrix(_from_z(axis)).T @ half @ turn, np.zeros(3))
            for axis in (bone, -bone)
        ]


def _from_z(axis: Vectors) -> Quats:
    """Return the shortest rotation that takes z to the axis."""
    return quat.between(np.array([0.0, 0.0, 1.0]), axis)
