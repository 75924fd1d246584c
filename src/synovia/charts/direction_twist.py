"""DirectionTwist: where the bone points, on the unit sphere, and its twist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows
from ..kernels.kinds import DIRECTION_TWIST
from .chart import STEEP, cross_matrix, reflect, twisted_vectors
from .framed import FramedChart


@dataclass(frozen=True, eq=False)
class DirectionTwist(FramedChart):
    """Unit direction of the bone (3 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction along the chart's axes, as all directions are: those of the
    joint's own frame unless the chart has a `frame`. Directions are seen from the reference, so at
    the reference it is the axis itself, and the twist is 0. The swing is the shortest turn from the
    axis to the direction. Opposite the axis the twist is not defined: 0.
    """

    axis: Annotated[Vectors, 3] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "direction-twist"
    like: ClassVar[str] = "direction-twist"
    kernel: ClassVar[int | None] = DIRECTION_TWIST
    single_precision: ClassVar[bool] = False
    second_points: ClassVar[bool] = False
    evenly_dense: ClassVar[bool] = True
    dimension: ClassVar[int] = 4
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, TURN)
    dense_volume: ClassVar[float] = 8.0 * np.pi**2

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
        # Shapes of directions take a twist and its whole turns for the same.
        return [points]

    def follow(self, points: Points) -> Points:
        path = rows("rotations", points, 4).copy()
        path[..., 3] = np.unwrap(path[..., 3])
        return path

    def density(self, points: Points) -> Scalars:
        return np.full(points.shape[:-1], 1.0 / (4.0 * np.pi * TURN))

    def stretch(self, points: Points) -> Scalars:
        # The direction's part is at most 1, the twist's 1/cos(swing/2) = 2/|axis + direction|.
        half = 0.5 * np.linalg.norm(points[..., :3] + self.axis, axis=-1)
        return np.asarray(np.hypot(1.0, 1.0 / np.maximum(half, 1e-9)))

    def is_singular_in(self, shape: Any) -> bool:
        return bool(shape.contains_direction(-self.axis))

    def is_steep_in(self, shape: Any) -> bool:
        nearest = shape.project(np.append(-self.axis, 0.0))[:3]
        return bool(np.linalg.norm(nearest + self.axis) < STEEP)

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("towards x", "towards y", "towards z", "twist")
    torn_at: ClassVar[float] = TURN

    def vectors(self, points: Points) -> Vectors:
        # With a the axis and d the direction, the swing is (w, a × d/2w), w² = (1 + a·d)/2.
        directions = points[:, :3]
        cosine = directions @ self.axis[:, None]
        w = np.sqrt(np.maximum(0.5 * (1.0 + cosine), 1e-18))
        v = directions @ cross_matrix(self.axis) / (2.0 * w)
        return self.in_joint(twisted_vectors(w, v, self.axis, points[:, 3:]))

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        # Directions are mirrored, and twists change their sign.
        turn = -np.eye(4)
        turn[:3, :3] = reflect(np.eye(3), normal)
        return [({"axis": reflect(self.axis, normal)}, turn, np.zeros(4))]
