"""What every chart promises: rotations as points, and back."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Scalars, Vectors


class Chart(Protocol):
    """What every chart can do; points are (..., dimension), angles in radians."""

    name: ClassVar[str]
    dimension: ClassVar[int]
    winds: ClassVar[tuple[int, ...]]
    """The coordinates whose length may be whole turns longer; the others wind by themselves."""
    periods: ClassVar[tuple[float, ...]]
    """The period of each coordinate in radians, 0 of those that do not wrap."""
    reference: Quats

    @property
    def packed(self) -> list[float]:
        """The chart's part of a packed limit: kind, then the quaternions in and back."""

    def points(self, rotations: Quats) -> Points:
        """Return the point of each rotation that is nearest to the reference."""

    def rotations(self, points: Points) -> Quats:
        """Return the rotation of each point, as a unit quaternion."""

    def shifts(self, points: Points, turns: int) -> list[Points]:
        """Return the points in every cover up to `turns` whole turns away, this one first."""

    def unroll(self, rotations: Quats) -> Points:
        """Return a path (frames, 3) that follows rotations in time across whole turns."""

    def density(self, points: Points) -> Scalars:
        """Return the share of all rotations per unit of the chart's volume."""

    def stretch(self, points: Points) -> Scalars:
        """Return how much longer, at most, a short path is in the chart than its true angle."""

    def to_dict(self) -> dict[str, Any]:
        """Return the chart's fields, with its name as `type`."""

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("1st angle", "2nd angle", "3rd angle")
    """What the coordinates are, in words."""
    left_handed: ClassVar[bool] = False
    """Whether triangles that face outwards in the chart face inwards among rotation vectors."""
    torn_at: ClassVar[float] = np.pi
    """How long `vectors` are at most, in radians, where neighbours may be drawn far apart."""

    def vectors(self, points: Points) -> Vectors:
        """Return points (n, d) as rotation vectors (n, 3) from the reference, in radians.

        They go on beyond half a turn where the chart does, so that a region is not torn.
        """
        return quat.log(quat.mul(quat.inverse(self.reference), self.rotations(points)))


def unit_axis(axis: Vectors, name: str) -> Vectors:
    """Return a bone's axis (3,), unit and locked; zero is refused."""
    length = float(np.linalg.norm(axis))
    if not length > 1e-12:
        raise ValueError(f"{name} must not be zero, got {axis.tolist()}")
    unit = axis if abs(length - 1.0) <= 1e-15 else axis / length
    unit.flags.writeable = False
    return unit


def twisted_vectors(w: Scalars, v: Vectors, axis: Vectors, twist: Scalars) -> Vectors:
    """Return the rotation vectors (n, 3) of swings after twists (n, 1) about the axis.

    Swings are quaternions: w (n, 1) and v (n, 3), which is across the axis. Written out, as
    pictures spend much of their time here.
    """
    c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
    vector = c * v + s * (w * axis - v @ cross_matrix(axis))
    sine = np.sqrt(np.einsum("ij,ij->i", vector, vector))[:, None]
    angle = 2.0 * np.arctan2(sine, w * c)
    share = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return np.asarray(vector * share)


def cross_matrix(axis: Vectors) -> Floats:
    """Return the matrix (3, 3) from which rows v get axis × v; sooner than `np.cross` does."""
    x, y, z = axis
    return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
