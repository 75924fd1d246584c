"""RotationVector: axis times angle, a point of a vector space.

A rotation has many points: whole turns more or less change nothing. These are its covers.
`points` gives the one nearest to the origin, `shifts` gives them all, `unroll` follows a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Tensor, Vectors, rows
from ..kernels.kinds import ROTATION_VECTOR
from .chart import STEEP, half_turn
from .framed import FramedChart

SHORT = 1e-8  # the square of a half angle's sine up to which tensors have angles from their series


@dataclass(frozen=True, eq=False)
class RotationVector(FramedChart):
    """The rotation vector (axis times angle) of a rotation relative to the reference."""

    name: ClassVar[str] = "rotation-vector"
    kernel: ClassVar[int | None] = ROTATION_VECTOR
    second_points: ClassVar[bool] = False
    winds: ClassVar[tuple[int, ...]] = (0, 1, 2)
    dense_volume: ClassVar[float] = 8.0 * np.pi**2

    def points(self, rotations: Quats) -> Points:
        return quat.log(self._local(rotations))

    def rotations(self, points: Points) -> Quats:
        return self._global(quat.exp(points))

    def torch_covers(self, local: Tensor, turns: int) -> Tensor:
        return torch_winds(local[:, :1], local[:, 1:], turns)

    def torch_rotations(self, points: Tensor) -> Tensor:
        import torch

        half = 0.5 * points.norm(dim=-1, keepdim=True)
        return torch.cat([half.cos(), 0.5 * torch.sinc(half / np.pi) * points], dim=-1)

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

    def is_steep_in(self, shape: Any) -> bool:
        return bool(shape.reach((0, 1, 2)) > TURN - STEEP)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        return [({}, quat.to_matrix(half_turn(normal)), np.zeros(3))]

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("about x", "about y", "about z")
    torn_at: ClassVar[float] = np.inf

    def vectors(self, points: Points) -> Vectors:
        return self.in_joint(points)


def wind(vectors: Points, turns: int) -> Points:
    """Return vectors of rotation, in 2-D or 3-D, lengthened by whole turns along themselves."""
    if turns == 0:
        return vectors
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    first = np.zeros(vectors.shape[-1])
    first[0] = 1.0  # at the origin every direction is a cover's; one stands for all
    direction = np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), first)
    return np.asarray(direction * (length + TURN * turns))


def torch_winds(cosine: Tensor, sines: Tensor, turns: int) -> Tensor:
    """Return the vectors (c, n, k) of half turns by cosines (n, 1) and sines (n, k), in all covers.

    The one of at most half a turn comes first. Gradients are finite where a vector is zero: in the
    first cover right, in the others, which begin in every direction there, 0.
    """
    import torch

    cosine, sines = (torch.where(cosine < 0.0, -each, each) for each in (cosine, sines))
    square = sines.square().sum(dim=-1, keepdim=True)
    short = square < SHORT
    size, near = torch.where(short, 1.0, square).sqrt(), torch.where(short, cosine, 1.0)
    series = (2.0 - square / near.square() * (2.0 / 3.0)) / near
    angle = 2.0 * torch.atan2(size, cosine)
    first = torch.zeros_like(sines)
    first[:, 0] = 1.0
    unit = torch.where(square > 0.0, sines / torch.where(square > 0.0, square, 1.0).sqrt(), first)
    plain = sines * torch.where(short, series, angle / size)
    return torch.stack([plain + TURN * k * unit for k in whole_turns(turns)])


def whole_turns(turns: int) -> list[int]:
    """Return the whole turns up to so many either way, the least first."""
    return sorted(range(-turns, turns + 1), key=abs)


def follow_covers(points: Points, kind: int) -> Points:
    """Return a path in time of points (frames, 3), each in the cover nearest to the one before."""
    path = np.ascontiguousarray(rows("rotations", points, 3), dtype=np.float64)
    out = np.empty_like(path)
    if len(path):
        kernels.limit.follow(path, kind, out)
    return out
