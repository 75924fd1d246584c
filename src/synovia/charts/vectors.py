"""RotationVector and SwingTwist: rotations as points of a vector space.

A rotation has many points: whole turns more or less change nothing. These are its covers.
`points` gives the one nearest to the origin, `shifts` gives them all, `unroll` follows a path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .. import kernels, quat
from ..arrays import TURN, Points, Quats, Scalars, Vectors, own, rows, unit_quats
from .chart import twisted_vectors, unit_axis


def wind(vectors: Points, turns: int) -> Points:
    """Return vectors of rotation, in 2-D or 3-D, lengthened by whole turns along themselves."""
    if turns == 0:
        return vectors
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    first = np.zeros(vectors.shape[-1])
    first[0] = 1.0  # at the origin every direction is a cover's; one stands for all
    direction = np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), first)
    return np.asarray(direction * (length + TURN * turns))


def _whole_turns(turns: int) -> list[int]:
    return sorted(range(-turns, turns + 1), key=abs)


@dataclass(frozen=True, eq=False)
class RotationVector:
    """The rotation vector (axis times angle) of a rotation relative to the reference."""

    reference: Quats = field(default_factory=lambda: quat.IDENTITY)

    name: ClassVar[str] = "rotation-vector"
    dimension: ClassVar[int] = 3
    winds: ClassVar[tuple[int, ...]] = (0, 1, 2)
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", unit_quats("reference", self.reference))
        own(self, reference=(4,))

    @property
    def packed(self) -> list[float]:
        left = quat.inverse(self.reference)
        one = quat.IDENTITY
        return [0.0, *left, *one, *self.reference, *one]

    def points(self, rotations: Quats) -> Points:
        return quat.log(quat.mul(quat.inverse(self.reference), rotations))

    def rotations(self, points: Points) -> Quats:
        return quat.mul(self.reference, quat.exp(points))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        return [wind(points, k) for k in _whole_turns(turns)]

    def unroll(self, rotations: Quats) -> Points:
        return _follow_covers(self.points(rotations), 0)

    def density(self, points: Points) -> Scalars:
        # Haar measure is (2 sin(r/2) / r)² dv, and 8π² in all.
        angle = np.linalg.norm(points, axis=-1)
        return np.asarray(np.sinc(angle / TURN) ** 2 / (8.0 * np.pi**2))

    def stretch(self, points: Points) -> Scalars:
        half = 0.5 * np.linalg.norm(points, axis=-1)
        return np.asarray(1.0 / np.maximum(np.abs(np.sinc(half / np.pi)), 1e-9))

    coordinates: ClassVar[tuple[str, ...]] = ("about x", "about y", "about z")
    left_handed: ClassVar[bool] = False
    torn_at: ClassVar[float] = np.inf

    def vectors(self, points: Points) -> Vectors:
        return points

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.name, "reference": self.reference}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the chart that `to_dict` wrote."""
        return cls(**fields)


@dataclass(frozen=True, eq=False)
class SwingTwist:
    """Swing vector across the bone's axis (2 numbers), then twist about it; q = swing · twist.

    `axis` is the bone's direction in the joint's own frame. The swing's two coordinates are
    measured in the frame that turns z to the axis by the shortest way.
    """

    reference: Quats = field(default_factory=lambda: quat.IDENTITY)
    axis: Vectors = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    name: ClassVar[str] = "swing-twist"
    dimension: ClassVar[int] = 3
    winds: ClassVar[tuple[int, ...]] = (0, 1)
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", unit_quats("reference", self.reference))
        own(self, reference=(4,), axis=(3,))
        object.__setattr__(self, "axis", unit_axis(self.axis, "SwingTwist.axis"))

    @cached_property
    def frame(self) -> Quats:
        """The rotation that turns z to the axis."""
        return quat.between(np.array([0.0, 0.0, 1.0]), self.axis)

    @property
    def packed(self) -> list[float]:
        back = quat.mul(self.reference, self.frame)
        right = self.frame
        return [1.0, *quat.inverse(back), *right, *back, *quat.inverse(right)]

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
            for j in _whole_turns(turns)
            for k in _whole_turns(turns)
        ]

    def unroll(self, rotations: Quats) -> Points:
        return _follow_covers(self.points(rotations), 1)

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

    coordinates: ClassVar[tuple[str, ...]] = ("swing x", "swing y", "twist")
    left_handed: ClassVar[bool] = False
    torn_at: ClassVar[float] = TURN

    def vectors(self, points: Points) -> Vectors:
        x, y = quat.rotate(self.frame, np.eye(3)[:2])
        swing = points[:, :1] * x + points[:, 1:2] * y
        half = 0.5 * np.linalg.norm(points[:, :2], axis=1, keepdims=True)
        v = 0.5 * np.sinc(half / np.pi) * swing
        return twisted_vectors(np.cos(half), v, self.axis, points[:, 2:])

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.name, "reference": self.reference, "axis": self.axis}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the chart that `to_dict` wrote."""
        return cls(**fields)


def _follow_covers(points: Points, kind: int) -> Points:
    path = np.ascontiguousarray(rows("rotations", points, 3), dtype=np.float64)
    out = np.empty_like(path)
    if len(path):
        kernels.limit.follow(path, kind, out)
    return out
