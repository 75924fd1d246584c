"""DirectionTwist: the direction of the bone on the unit sphere, and its twist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows
from ..kernels.layout import DIRECTION_TWIST
from .chart import reflect
from .framed import FramedChart


@dataclass(frozen=True, eq=False)
class DirectionTwist(FramedChart):
    """Unit direction of the bone (3 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction at the reference; it and all directions are along the chart's
    axes. The swing is the shortest rotation from the axis to the direction. Opposite the axis the
    twist is not defined, and is 0.
    """

    axis: Annotated[Vectors, 3] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "direction-twist"
    like: ClassVar[str] = "direction-twist"
    kernel: ClassVar[int | None] = DIRECTION_TWIST
    dimension: ClassVar[int] = 4
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, TURN)
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)

    def points(self, rotations: Quats) -> Points:
        local = self._local(rotations)
        _, twist = quat.swing_twist(local, self.axis)
        angle = np.sum(quat.log(twist) * self.axis, axis=-1)
        return np.concatenate([quat.rotate(local, self.axis), angle[..., None]], axis=-1)

    def rotations(self, points: Points) -> Quats:
        swing = quat.between(self.axis, points[..., :3])
        twist = quat.exp(points[..., 3:] * self.axis)
        return self._global(quat.mul(swing, twist))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [points]  # shapes of directions treat the twist as periodic

    def follow(self, points: Points) -> Points:
        path = rows("rotations", points, 4).copy()
        path[..., 3] = np.unwrap(path[..., 3])
        return path

    def density(self, points: Points) -> Scalars:
        return np.full(points.shape[:-1], self.max_density)

    def stretch(self, points: Points) -> Scalars:
        # The direction's part is at most 1, the twist's 1/cos(swing/2) = 2/|axis + direction|.
        half = 0.5 * np.linalg.norm(points[..., :3] + self.axis, axis=-1)
        return np.asarray(np.hypot(1.0, 1.0 / np.maximum(half, 1e-9)))

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        # Directions are mirrored, and twists change their sign.
        turn = -np.eye(4)
        turn[:3, :3] = reflect(np.eye(3), normal)
        return [({"axis": reflect(self.axis, normal)}, turn, np.zeros(4))]
