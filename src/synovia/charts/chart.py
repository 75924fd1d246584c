"""What every chart can do: rotations as points, and back, with all that follows from these two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Scalars, Vectors, own, rows, unit_quats
from ..kernels.kinds import CHART_KINDS

NUDGE = 1e-5  # radians, to see how fast rotations change with the points of a chart
SEEN = 4096  # rotations, to see where a chart is dense
STEEP = 0.2
"""Radians around a singularity within which float32 is too coarse.

At an angle δ from it, angles of rotations in float32 are off by up to some 1e-6/δ.
"""
ROUNDING = 1e-9
"""How far a mirrored point may be off, for the mirror to be a turn of the chart's points."""


class Reflection(NamedTuple):
    """A chart of the other side of a mirror, and what the mirror makes of points.

    x becomes about + turn · (x − about), by an orthogonal `turn` (d, d). Along the chart's axes the
    mirror is across `normal`.
    """

    chart: Chart
    turn: Floats
    about: Points
    normal: Vectors


@dataclass(frozen=True, eq=False)
class Chart(ABC):
    """Rotations as points (..., dimension), angles in radians; a chart owns the metric.

    A chart gives its `name`, `points` and `rotations`. The rest follows from these, more slowly
    than it might; `shifts` too, where a rotation has more than one point. With a field `axis` it
    is about a bone's direction. A chart whose axes may be turned is a `FramedChart`.
    """

    reference: Annotated[Quats, 4] = field(default_factory=lambda: quat.IDENTITY)

    name: ClassVar[str]
    dimension: ClassVar[int] = 3
    like: ClassVar[str] = "rotation-vector"
    """The chart whose shapes work in this one, too."""
    winds: ClassVar[tuple[int, ...]] = ()
    """The coordinates whose length may be whole turns longer; the others wind by themselves."""
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)
    """The period of each coordinate in radians, 0 of those that do not wrap."""
    kernel: ClassVar[int | None] = None
    """Its number in `kernels.kinds`, if kernels know it, and not NumPy alone."""
    single_precision: ClassVar[bool] = True
    """Whether its kernels exist in float32, too."""
    second_points: ClassVar[bool] = True
    """Whether a rotation may have two points that are within half a turn of the origin."""
    evenly_dense: ClassVar[bool] = False
    """Whether volume in it is the same share of all rotations everywhere, each counted once."""
    compared: ClassVar[bool] = True
    """Whether families in it are compared with others although nobody names them."""

    def __init_subclass__(cls) -> None:
        if cls.kernel is not None and cls.kernel not in CHART_KINDS:
            raise ValueError(f"{cls.__name__}.kernel must be in kernels.kinds, got {cls.kernel}")

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", unit_quats("reference", self.reference))
        own(self)
        if self.takes_axis():
            name = f"{type(self).__name__}.axis"
            object.__setattr__(self, "axis", unit_axis(self.__dict__["axis"], name))

    @classmethod
    def takes_axis(cls) -> bool:
        """Tell whether the chart is about a bone's axis."""
        return any(each.name == "axis" for each in fields(cls))

    @classmethod
    def takes_frame(cls) -> bool:
        """Tell whether the chart's own axes may be turned in the joint's frame."""
        return False

    @property
    def bone(self) -> Vectors | None:
        """The bone's direction (3,) in the joint's own frame; None if the chart is about none."""
        return self.in_joint(self.__dict__["axis"]) if self.takes_axis() else None

    def in_joint(self, vectors: Vectors) -> Vectors:
        """Return vectors (..., 3) along the chart's axes as they are in the joint's own frame."""
        return vectors

    def in_chart(self, vectors: Vectors) -> Vectors:
        """Return vectors (..., 3) of the joint's own frame as they are along the chart's axes."""
        return vectors

    @classmethod
    def suits(cls, shape: Any) -> bool:
        """Tell whether a shape, or all of its class, works in this chart."""
        return cls.name in shape.charts or cls.like in shape.charts

    @abstractmethod
    def points(self, rotations: Quats) -> Points:
        """Return the point of each rotation that is nearest to the reference."""

    @abstractmethod
    def rotations(self, points: Points) -> Quats:
        """Return the rotation of each point, as a unit quaternion."""

    @property
    def packed(self) -> list[float]:
        """The chart's part of a packed limit: kind, the quaternions in and back, the axis."""
        raise ValueError(f"the chart {self.name} has no kernel")

    def packed_tail(self, shape: Any) -> list[float]:
        """Return what a packed limit of the shape in this chart ends with: mostly nothing."""
        return []

    def shifts(self, points: Points, turns: int) -> list[Points]:
        """Return the points in every cover up to `turns` whole turns away, this one first."""
        return [points]

    def shortfall(self, rotations: Quats) -> Scalars | None:
        """Return how far, in radians, the chart's nearest rotation is; None if it has them all."""
        return None

    def slides(self, points: Points) -> Points | None:
        """Return along what (..., d) points may move whose rotations stay: mostly zero.

        None where no point may.
        """
        return None

    def align(self, rotations: Quats) -> Self:
        """Return the chart whose own axes suit `rotations` (n, 4) best, where it chooses them."""
        return self

    def gather(self, rotations: Quats) -> Points:
        """Return points of rotations (n, 4) in covers in which they are together, for a fit."""
        return self.points(rotations)

    def unroll(self, rotations: Quats) -> Points:
        """Return a path (frames, dimension) that follows rotations in time across whole turns."""
        return self.follow(self.points(rotations))

    def follow(self, points: Points) -> Points:
        """Return points in time (frames, dimension), each in the cover nearest to the last one."""
        covers = np.stack(self.shifts(rows("rotations", points, self.dimension), 1))
        path = covers[0].copy()
        for frame in range(1, len(path)):
            steps = np.linalg.norm(covers[:, frame] - path[frame - 1], axis=-1)
            path[frame] = covers[steps.argmin(), frame]
        return np.asarray(path)

    def density(self, points: Points) -> Scalars:
        """Return the share of all rotations per unit of the chart's volume."""
        return np.asarray(np.abs(np.linalg.det(self._turns(points))) / (8.0 * np.pi**2))

    @cached_property
    def dense_volume(self) -> float:
        """The volume that all rotations would fill, were they everywhere as dense as anywhere."""
        rotations = quat.normalize(np.random.default_rng(0).normal(size=(SEEN, 4)))
        return 0.9 / float(self.density(self.points(rotations)).max())

    def stretch(self, points: Points) -> Scalars:
        """Return how much longer, at most, a short path is in the chart than its true angle."""
        least = np.linalg.svd(self._turns(points), compute_uv=False)[..., -1]
        return np.asarray(1.0 / np.maximum(least, 1e-9))

    def _turns(self, points: Points) -> Floats:
        """Return by what vector a rotation turns, per radian of each coordinate: (..., 3, d)."""
        moves = NUDGE * np.eye(self.dimension)
        before, after = (self.rotations(points[..., None, :] + step) for step in (-moves, moves))
        turns = quat.log(quat.mul(quat.inverse(before), after)) / (2.0 * NUDGE)
        return np.asarray(np.swapaxes(turns, -1, -2))

    def is_singular_in(self, shape: Any) -> bool:
        """Tell whether the bone may point where the chart's twist is not defined."""
        return False

    def is_steep_in(self, shape: Any) -> bool:
        """Tell whether members may be within `STEEP` radians of a singularity of the chart.

        There, rounding a rotation to float32 may move its point by more than the tolerance.
        """
        return True

    def mirror(self, normal: Vectors) -> list[Reflection]:
        """Return charts of the other side of a mirror across `normal`, the best first.

        There is none where no turn of points is what the mirror does.
        """
        there = self._mirrored(normal)
        vectors = np.random.default_rng(0).uniform(-0.8, 0.8, size=(SEEN, 3))
        rotations = quat.mul(self.reference, quat.exp(vectors))
        about = self.points(self.reference)
        seen, shown = self.points(rotations), there.points(mirror_rotations(rotations, normal))
        turn = np.linalg.lstsq(seen - about, shown - about, rcond=None)[0].T
        off = np.abs((seen - about) @ turn.T + about - shown).max()
        off = max(off, np.abs(turn @ turn.T - np.eye(self.dimension)).max())
        return [Reflection(there, turn, about, unit_normal(normal))] if off < ROUNDING else []

    def _mirrored(self, normal: Vectors) -> Self:
        """Return the chart about what the mirror shows of the reference, and of the bone."""
        shown: dict[str, Any] = {"reference": mirror_rotations(self.reference, normal)}
        if self.takes_axis():
            shown["axis"] = reflect(self.__dict__["axis"], normal)
        return replace(self, **shown)

    def to_dict(self) -> dict[str, Any]:
        """Return the chart's fields, with its name as `type`."""
        return {"type": self.name, **{each.name: getattr(self, each.name) for each in fields(self)}}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        """Return the chart that `to_dict` wrote, less its `type`."""
        return cls(**given)

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("1st angle", "2nd angle", "3rd angle")
    """What the coordinates are, in words."""
    torn_at: ClassVar[float] = np.pi
    """How long `vectors` are at most, in radians, where neighbours may be drawn far apart."""

    @property
    def left_handed(self) -> bool:
        """Whether triangles that face outwards in the chart face inwards among rotation vectors."""
        return False

    def vectors(self, points: Points) -> Vectors:
        """Return points (n, d) as rotation vectors (n, 3) from the reference, in radians.

        They are in the joint's own frame, and go on beyond half a turn where the chart does, so
        that a region is not torn.
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


# What a mirror in the plane across a normal shows.
#
# A rotation becomes one of the same angle about minus the mirrored axis. A mirror is a half turn
# about the normal and a point reflection, and that changes no rotation: so a mirrored rotation is
# the half turn, the rotation, and the half turn back.


def mirror_rotations(rotations: Quats, normal: Vectors) -> Quats:
    """Return what a mirror in the plane across `normal` shows of rotations (..., 4)."""
    half = half_turn(normal)
    return quat.mul(quat.mul(half, rotations), quat.inverse(half))


def half_turn(normal: Vectors) -> Quats:
    """Return the half turn about `normal` (3,), which may have any length."""
    return np.concatenate([[0.0], unit_normal(normal)])


def unit_normal(normal: Vectors) -> Vectors:
    """Return a mirror's normal (3,), unit; zero is refused."""
    return unit_axis(np.array(normal, dtype=np.float64), "the mirror's normal")


def reflect(vectors: Vectors, normal: Vectors) -> Vectors:
    """Return what a mirror in the plane across `normal` shows of vectors (..., 3)."""
    across = unit_normal(normal)
    return np.asarray(vectors - 2.0 * (vectors @ across)[..., None] * across)


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
