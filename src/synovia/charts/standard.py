"""Rotation vectors, swing and twist, directions with twists, and Z-Y-Z Euler angles."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import kernels, quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows, wrap_angles
from ..kernels.layout import DIRECTION_TWIST, EULER, ROTATION_VECTOR, SWING_TWIST
from .chart import ROUNDING, STEEP, Chart, half_turn, reflect, unit_normal

SIDEWAYS = quat.exp(np.array([0.0, 0.5 * np.pi, 0.0]))
MIRROR_SIGNS = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""Signs of φ, ψ − π/2 and θ after a mirror across x, y or z (rows)."""


@dataclass(frozen=True, eq=False)
class RotationVector(Chart):
    """The rotation vector (axis times angle) of a rotation relative to the reference."""

    name: ClassVar[str] = "rotation-vector"
    kernel: ClassVar[int | None] = ROTATION_VECTOR
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)
    _radial: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def points(self, rotations: Quats) -> Points:
        return quat.log(self.to_local(rotations))

    def rotations(self, points: Points) -> Quats:
        return self.from_local(quat.exp(points))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [wind(points, k) for k in whole_turns(turns)]

    def follow(self, points: Points) -> Points:
        return follow_covers(points, ROTATION_VECTOR)

    def is_injective(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1, 2)) < np.pi)

    def is_steep(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1, 2)) > TURN - STEEP)

    def density(self, points: Points) -> Scalars:
        # Haar measure is (2 sin(r/2) / r)² dv, and 8π² in all.
        angle = np.linalg.norm(points, axis=-1)
        return np.asarray(np.sinc(angle / TURN) ** 2 / (8.0 * np.pi**2))

    def stretch(self, points: Points) -> Scalars:
        half = 0.5 * np.linalg.norm(points, axis=-1)
        return np.asarray(1.0 / np.maximum(np.abs(np.sinc(half / np.pi)), 1e-9))

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        return [({}, quat.to_matrix(half_turn(normal)), np.zeros(3))]


@dataclass(frozen=True, eq=False)
class SwingTwist(Chart):
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
        swing, twist = quat.swing_twist(self.to_local(rotations), np.array([0.0, 0.0, 1.0]))
        w, z = twist[..., :1], twist[..., 3:]
        angle = 2 * np.arctan2(np.where(w < 0, -z, z), np.abs(w))
        return np.concatenate([quat.log_unrolled(swing)[..., :2], angle], axis=-1)

    def rotations(self, points: Points) -> Quats:
        zero = np.zeros_like(points[..., :1])
        swing = quat.exp(np.concatenate([points[..., :2], zero], axis=-1))
        twist = quat.exp(np.concatenate([zero, zero, points[..., 2:]], axis=-1))
        return self.from_local(quat.mul(swing, twist))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [
            np.concatenate([wind(points[..., :2], j), points[..., 2:] + TURN * k], axis=-1)
            for j in whole_turns(turns)
            for k in whole_turns(turns)
        ]

    def follow(self, points: Points) -> Points:
        return follow_covers(points, SWING_TWIST)

    def is_injective(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1)) < np.pi and shape.reach((2,)) < np.pi)

    def is_singular(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1)) >= np.pi)

    def is_steep(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1)) > np.pi - STEEP)

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


@dataclass(frozen=True, eq=False)
class DirectionTwist(Chart):
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
        local = self.to_local(rotations)
        _, twist = quat.swing_twist(local, self.axis)
        angle = np.sum(quat.log(twist) * self.axis, axis=-1)
        return np.concatenate([quat.rotate(local, self.axis), angle[..., None]], axis=-1)

    def rotations(self, points: Points) -> Quats:
        swing = quat.between(self.axis, points[..., :3])
        twist = quat.exp(points[..., 3:] * self.axis)
        return self.from_local(quat.mul(swing, twist))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [points]  # shapes of directions treat the twist as periodic

    def follow(self, points: Points) -> Points:
        path = rows("rotations", points, 4).copy()
        path[..., 3] = np.unwrap(path[..., 3])
        return path

    def is_singular(self, shape: Any) -> bool:
        known = hasattr(shape, "contains_direction")
        return known and bool(shape.contains_direction(-self.axis))

    def is_steep(self, shape: Any) -> bool:
        nearest = shape.project(np.append(-self.axis, 0.0))[:3]
        return bool(np.linalg.norm(nearest + self.axis) < STEEP)

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


@dataclass(frozen=True, eq=False)
class EulerZYZ(Chart):
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
        w, x, y, z = np.moveaxis(self.to_local(rotations), -1, 0)
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
        return self.from_local(np.stack(parts, axis=-1))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [points]  # shapes in this chart treat φ and θ as periodic

    def follow(self, points: Points) -> Points:
        path = rows("rotations", points, 3).copy()
        path[..., 0] = np.unwrap(path[..., 0])
        path[..., 2] = np.unwrap(path[..., 2])
        return path

    def is_steep(self, shape: Any) -> bool:
        low, high = shape.bounds[:, 1]
        return bool(low < STEEP or high > np.pi - STEEP)

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


def _from_z(axis: Vectors) -> Quats:
    """Return the shortest rotation that takes z to the axis."""
    return quat.between(np.array([0.0, 0.0, 1.0]), axis)
