"""ModifiedRodrigues: 4 tan(angle/4) along the axis, smooth up to a whole turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Points, Quats
from .chart import Chart


@dataclass(frozen=True, eq=False)
class ModifiedRodrigues(Chart):
    """Modified Rodrigues parameters of a rotation relative to the reference, times 4."""

    name: ClassVar[str] = "modified-rodrigues"

    def points(self, rotations: Quats) -> Points:
        local = self.to_local(rotations)
        local = np.where(local[..., :1] < 0.0, -local, local)
        return 4.0 * local[..., 1:] / (1.0 + local[..., :1])

    def rotations(self, points: Points) -> Quats:
        square = np.sum(np.square(0.25 * points), axis=-1, keepdims=True)
        local = np.concatenate([1.0 - square, 0.5 * points], axis=-1) / (1.0 + square)
        return self.from_local(local)

    def shifts(self, points: Points, turns: int) -> list[Points]:
        square = np.sum(np.square(0.25 * points), axis=-1, keepdims=True)
        other = -points / np.maximum(square, 1e-12)  # a whole turn the other way round
        return [points, other] if turns else [points]
