"""EulerZYZ: rotations as three Z-Y-Z angles, with the reference far from gimbal lock."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows, wrap_angles
from ..kernels.layout import EULER
from .chart import ROUNDING, unit_normal
from .framed import FramedChart

SIDEWAYS = quat.exp(np.array([0.0, 0.5 * np.pi, 0.0]))
MIRROR_SIGNS = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""Signs of φ, ψ − π/2 and θ after a mirror across x, y or z (rows)."""


@dataclass(frozen=True, eq=False)
class EulerZYZ(FramedChart):
    """Angles (φ, ψ, θ) with y(π/2) · reference⁻¹ · q = z(φ) · y(ψ) · z(θ).

    φ and θ are from −π to π and wrap, ψ is from 0 to π. At the ends of ψ only φ + θ or φ − θ is
    defined; the reference is as far from them as possible, at (0, π/2, 0).
    """

    name: ClassVar[str] = "euler"
    like: ClassVar[str] = "euler"
    kernel: ClassVar[int | None] = EULER
    periods: ClassVar[tuple[float, ...]] = (TURN, 0.0, TURN)
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)

    @classmethod
    def raw(cls) -> Self:
        """Return the chart of the plain angles of q = z(φ) · y(ψ) · z(θ)."""
        return cls(SIDEWAYS)

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        right = self.frame
        back = quat.mul(self.reference, right) if self.is_turned else self.reference
        return quat.mul(back, quat.inverse(SIDEWAYS)), right

    def points(self, rotations: Quats) -> Points:
        w, x, y, z = np.moveaxis(self._local(rotations), -1, 0)
        plus, minus = np.arctan2(z, w), np.arctan2(-x, y)
        psi = 2.0 * np.arctan2(np.hypot(x, y), np.hypot(w, z))
        plus = np.where(np.hypot(w, z) > 0.0, plus, 0.0)
        minus = np.where(np.hypot(x, y) > 0.0, minus, 0.0)
        return np.stack([wrap_angles(plus + minus), psi, wrap_angles(plus - minus)], axis=-1)

    def rotations(self, points: Points) -> Quats:
        half = 0.5 * points
        plus, minus = half[..., 0] + half[..., 2], half[..., 0] - half[..., 2]
        c, s = np.cos(half[..., 1]), np.sin(half[..., 1])
        parts = [c * np.cos(plus), -s * np.sin(minus), s * np.cos(minus), c * np.sin(plus)]
        return self._global(np.stack(parts, axis=-1))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [points]  # shapes in this chart treat φ and θ as periodic

    def follow(self, points: Points) -> Points:
        path = rows("rotations", points, 3).copy()
        path[..., 0] = np.unwrap(path[..., 0])
        path[..., 2] = np.unwrap(path[..., 2])
        return path

    def density(self, points: Points) -> Scalars:
        return np.asarray(np.abs(np.sin(points[..., 1])) / (8.0 * np.pi**2))

    def stretch(self, points: Points) -> Scalars:
        # |ω|² = φ'² + θ'² + 2 φ'θ' cos ψ + ψ'², and its least eigenvalue is 1 − |cos ψ|.
        return np.asarray(1.0 / np.sqrt(np.maximum(1.0 - np.abs(np.cos(points[..., 1])), 1e-18)))

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        along = np.abs(unit_normal(normal))
        if along.max() <= 1.0 - ROUNDING:
            return []  # the mirror is not linear in the angles
        turn, about = np.diag(MIRROR_SIGNS[along.argmax()]), np.array([0.0, 0.5 * np.pi, 0.0])
        return [({}, turn, about)]
