"""RotationVector: axis times angle, a point of a vector space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows
from ..kernels.layout import ROTATION_VECTOR
from .chart import half_turn
from .framed import FramedChart


@dataclass(frozen=True, eq=False)
class RotationVector(FramedChart):
    """The rotation vector (axis times angle) of a rotation relative to the reference."""

    name: ClassVar[str] = "rotation-vector"
    kernel: ClassVar[int | None] = ROTATION_VECTOR
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)
    _radial: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def points(self, rotations: Quats) -> Points:
        return quat.log(self._local(rotations))

    def rotations(self, points: Points) -> Quats:
        return self._global(quat.exp(points))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [wind(points, k) for k in whole_turns(turns)]

    def follow(self, points: Points) -> Points:
        return follow_covers(points, ROTATION_VECTOR)

    def density(self, points: Points) -> Scalars:
        # Haar measure is (2 sin(r/2) / r)² dv, and 8π² in all.
        angle = np.linalg.norm(points, axis=-1)
        return np.asarray(np.sinc(angle / TURN) ** 2 / (8.0 * np.pi**2))

    def stretch(self, points: Points) -> Scalars:
        half = 0.5 * np.linalg.norm(points, axis=-1)
        return np.asarray(1.0 / np.maximum(np.abs(np.sinc(half / np.pi)), 1e-9))

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        return [({}, quat.to_matrix(half_turn(normal)), np.zeros(3))]


def wind(vectors: Points, turns: int) -> Points:
    """Return rotation vectors (..., 2 or 3), `turns` whole turns longer; zero becomes along x."""
    if turns == 0:
        return vectors
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    along_x = np.eye(vectors.shape[-1])[0]
    direction = np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), along_x)
    return np.asarray(direction * (length + TURN * turns))


def whole_turns(turns: int) -> list[int]:
    """Return the integers from −turns to turns, 0 first, in order of magnitude."""
    return sorted(range(-turns, turns + 1), key=abs)


def follow_covers(points: Points, kind: int) -> Points:
    """Return a path of points (frames, 3), each in the cover nearest to the one before.

    `kind` is the chart's number in `kernels.layout`.
    """
    path = np.ascontiguousarray(rows("rotations", points, 3), dtype=np.float64)
    out = np.empty_like(path)
    if len(path):
        kernels.limit.follow(path, kind, out)
    return out
