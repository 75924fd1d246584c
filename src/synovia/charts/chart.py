"""Chart, the base class of charts, and charts whose axes the user chooses; mirror images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import kernels, quat
from ..arrays import (
    TURN,
    Floats,
    Points,
    Quats,
    Scalars,
    Vectors,
    own,
    rows,
    unit_quats,
    wrap_angles,
)
from ..kernels.layout import CHART_KINDS, DIRECTION_TWIST, EULER, ROTATION_VECTOR, SWING_TWIST

STEP = 1e-5  # radians; half the base of the central differences of the Jacobian
SAMPLES = 4096  # rotations to estimate an unknown chart's largest density and its mirror
FRAME_ROUNDING = 1e-15  # half the angle, in radians, below which a frame is the identity
STEEP = 0.2  # radians; at an angle δ from a singularity, float32 is off by some 1e-6/δ
ROUNDING = 1e-9  # error of mirrored points up to which a linear map is exact
SAMPLED_MAXIMUM = 0.9  # inverse of the safety factor on a maximum found by sampling
SIDEWAYS = quat.exp(np.array([0.0, 0.5 * np.pi, 0.0]))
MIRROR_SIGNS = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""Signs of φ, ψ − π/2 and θ after a mirror across x, y or z (rows)."""


class Reflection(NamedTuple):
    """A chart of the mirrored side, and the map of points that the mirror is in it.

    A point x becomes about + turn · (x − about), with an orthogonal `turn` (d, d). Along the
    chart's axes the mirror plane is across the unit vector `normal` (3,).
    """

    chart: Chart
    turn: Floats
    about: Points
    normal: Vectors


@dataclass(frozen=True, eq=False)
class Chart(ABC):
    """A map between rotations and points (..., dimension), in radians; it owns the metric.

    A subclass defines `name`, `points` and `rotations`, and `shifts` if a rotation has more than
    one point. Everything else has a default that needs only these. Points describe the local
    rotation frame⁻¹ · reference⁻¹ · q · frame: see `to_local` and `from_local`.

    A vector v along the chart's axes is frame · v in the joint's frame. A field `axis` is the
    direction of the bone along the chart's axes. Files omit an identity frame.
    """

    reference: Annotated[Quats, 4] = field(default_factory=lambda: quat.IDENTITY)
    frame: Annotated[Quats, 4] = field(
        default_factory=lambda: quat.IDENTITY, kw_only=True, metadata={"optional": True}
    )

    name: ClassVar[str]
    dimension: ClassVar[int] = 3
    like: ClassVar[str] = "rotation-vector"
    """Name of the chart whose shapes work in this one, too."""
    periods: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)
    """Period of each coordinate in radians; 0 for coordinates that do not wrap."""
    kernel: ClassVar[int | None] = None
    """Its number in `kernels.layout`; None for a chart in NumPy alone."""
    _radial: ClassVar[tuple[int, ...]] = ()
    """Coordinates that are the vector of a rotation; whole turns make it longer or shorter."""

    def __init_subclass__(cls) -> None:
        if cls.kernel is not None and cls.kernel not in CHART_KINDS:
            raise ValueError(f"{cls.__name__}.kernel must be in kernels.layout, got {cls.kernel}")

    def __post_init__(self) -> None:
        for name in ("reference", "frame"):
            object.__setattr__(self, name, unit_quats(name, getattr(self, name)))
        own(self)
        if np.abs(self.frame[1:]).max() <= FRAME_ROUNDING:
            object.__setattr__(self, "frame", quat.IDENTITY)
        if takes_axis(type(self)):
            name = f"{type(self).__name__}.axis"
            object.__setattr__(self, "axis", unit_axis(self.__dict__["axis"], name))

    @cached_property
    def is_turned(self) -> bool:
        """True if the chart's axes differ from those of the joint's frame."""
        return bool(self.frame[1:].any())

    @property
    def bone(self) -> Vectors | None:
        """Direction of the bone (3,) in the joint's frame; None for charts without an axis."""
        return self.in_joint(self.__dict__["axis"]) if takes_axis(type(self)) else None

    def in_joint(self, vectors: Vectors) -> Vectors:
        """Convert vectors (..., 3) from coordinates along the chart's axes to the joint's frame."""
        return quat.rotate(self.frame, vectors) if self.is_turned else vectors

    def in_chart(self, vectors: Vectors) -> Vectors:
        """Convert vectors (..., 3) from the joint's frame to coordinates along the chart's axes."""
        return quat.rotate(quat.inverse(self.frame), vectors) if self.is_turned else vectors

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        """The quaternions `back` and `right` of q = back · local · right⁻¹."""
        return quat.mul(self.reference, self.frame), self.frame

    def to_local(self, rotations: Quats) -> Quats:
        """Return the local rotations (..., 4), which have coordinates along the chart's axes."""
        back, right = self._sides
        local = quat.mul(quat.inverse(back), rotations)
        return quat.mul(local, right) if right[1:].any() else local

    def from_local(self, local: Quats) -> Quats:
        """Return the joint's rotations (..., 4) of local ones."""
        back, right = self._sides
        rotations = quat.mul(back, local)
        return quat.mul(rotations, quat.inverse(right)) if right[1:].any() else rotations

    @abstractmethod
    def points(self, rotations: Quats) -> Points:
        """Return the point of each rotation that is nearest to that of the reference."""

    @abstractmethod
    def rotations(self, points: Points) -> Quats:
        """Return the rotation of each point, as unit quaternions (..., 4)."""

    def packed(self, shape: Any) -> tuple[list[float], list[float]]:
        """Return the chart's numbers before and after a shape in a packed limit."""
        if self.kernel is None:
            raise ValueError(f"the chart {self.name} has no kernel")
        back, right = self._sides
        axis = self.__dict__.get("axis", np.zeros(3))
        return self._header(quat.inverse(back), right, back, quat.inverse(right), axis, shape), []

    def _header(
        self, left: Quats, right: Quats, back: Quats, forth: Quats, axis: Vectors, shape: Any
    ) -> list[float]:
        """Return kind, quaternions around a rotation on entry and exit, axis, and shape's reach."""
        reach = (shape.reach(self._radial), shape.reach((2,)))
        return [float(self.kernel or 0), *left, *right, *back, *forth, *axis, *reach]

    def align(self, rotations: Quats) -> Self:
        """Return the chart whose axes suit `rotations` (n, 4) best, if it chooses axes by data."""
        return self

    def gather(self, rotations: Quats) -> Points:
        """Return points of rotations (n, 4), in covers that are close together, for a fit."""
        return self.points(rotations)

    def is_injective(self, shape: Any) -> bool:
        """Return True if each rotation has at most one point in the shape, as far as is known."""
        return len(self.shifts(np.empty((0, self.dimension)), 1)) == 1

    def is_singular(self, shape: Any) -> bool:
        """Return True if the shape has the direction opposite the bone, where twist is undefined.

        A chart without an axis has no such direction.
        """
        return False

    def is_steep(self, shape: Any) -> bool:
        """Return True if members may be within `STEEP` radians of a singularity of the chart.

        There, rounding a rotation to float32 may move its point by more than the tolerance.
        """
        return True

    def shifts(self, points: Points, turns: int) -> list[Points]:
        """Return all points of the same rotations, up to `turns` whole turns away.

        The given points come first. These are the covers of a rotation.
        """
        return [points]

    def shortfall(self, rotations: Quats) -> Scalars | None:
        """Return the angle (...) from each rotation to the nearest that has a point, in radians.

        Some charts, such as hinges that are not at right angles, cannot represent every rotation.
        None for a chart that can.
        """
        return None

    def follow(self, points: Points) -> Points:
        """Return a path of points (frames, dimension), each in the cover nearest to the last."""
        points = rows("rotations", points, self.dimension).copy()
        for axis, period in enumerate(self.periods):
            if period > 0.0:
                points[..., axis] = np.unwrap(points[..., axis], period=period)
        covers = np.stack(self.shifts(points, 1))
        path = covers[0].copy()
        for frame in range(1, len(path)) if len(covers) > 1 else ():
            steps = np.linalg.norm(covers[:, frame] - path[frame - 1], axis=-1)
            path[frame] = covers[steps.argmin(), frame]
        return np.asarray(path)

    def density(self, points: Points) -> Scalars:
        """Return the share of all rotations per unit of the chart's volume, by Haar measure."""
        return np.asarray(np.abs(np.linalg.det(self._jacobian(points))) / (8.0 * np.pi**2))

    @cached_property
    def max_density(self) -> float:
        """An upper bound of `density`."""
        rotations = quat.normalize(np.random.default_rng(0).normal(size=(SAMPLES, 4)))
        return float(self.density(self.points(rotations)).max()) / SAMPLED_MAXIMUM

    def stretch(self, points: Points) -> Scalars:
        """Return the largest ratio of a short path's length in the chart to its true angle."""
        least = np.linalg.svd(self._jacobian(points), compute_uv=False)[..., -1]
        return np.asarray(1.0 / np.maximum(least, 1e-9))

    def _jacobian(self, points: Points) -> Floats:
        """Return the derivative (..., 3, d) of the rotation vector of q⁻¹ · q(points)."""
        steps = STEP * np.eye(self.dimension)
        before, after = (self.rotations(points[..., None, :] + step) for step in (-steps, steps))
        vectors = quat.log(quat.mul(quat.inverse(before), after)) / (2.0 * STEP)
        return np.asarray(np.swapaxes(vectors, -1, -2))

    @property
    def _grid_axes(self) -> Floats:
        """Directions (3, 3) of the coordinates, along the chart's axes."""
        return np.eye(3)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        """Return mirror images of the chart across `normal`, which is along the chart's axes.

        Each has the fields that change beside reference and frame, and `turn` and `about` as in
        `Reflection`. The list is empty if the mirror is not a linear map of the chart's points.
        """
        plain = replace(self, reference=quat.IDENTITY, frame=quat.IDENTITY)
        axis = {"axis": reflect(self.__dict__["axis"], normal)} if takes_axis(type(self)) else {}
        vectors = np.random.default_rng(0).uniform(-0.8, 0.8, size=(SAMPLES, 3))
        rotations, about = quat.exp(vectors), plain.points(quat.IDENTITY)
        images = replace(plain, **axis).points(mirror_rotations(rotations, normal)) - about
        originals = plain.points(rotations) - about
        turn = np.linalg.lstsq(originals, images, rcond=None)[0].T
        error = np.abs(originals @ turn.T - images).max()
        error = max(error, np.abs(turn @ turn.T - np.eye(self.dimension)).max())
        return [(axis, turn, about)] if error < ROUNDING else []

    def mirror(self, normal: Vectors) -> list[Reflection]:
        """Return charts of the mirrored side: in the same frame, then in one that suits grids.

        With h the half turn about the normal and g that about any axis e of the chart, the mirror
        image of a rotation has, in the frame h · frame · g, the point mirrored across e. With e the
        normal itself the frame stays; with e along a coordinate, a grid is mirrored exactly.
        """
        half, own = half_turn(normal), self.in_chart(unit_normal(normal))
        along = self._grid_axes[np.abs(self._grid_axes @ own).argmax()]
        turned = quat.mul(quat.mul(half, self.frame), half_turn(along))
        reference = mirror_rotations(self.reference, normal)
        return [
            Reflection(
                replace(self, reference=reference, frame=frame, **changes), turn, about, across
            )
            for across, frame in ((own, self.frame), (along, quat.normalize(turned)))
            for changes, turn, about in self._reflections(across)
        ]


def takes_axis(chart: type[Chart]) -> bool:
    """Tell whether a chart is about the axis of a bone."""
    return any(each.name == "axis" for each in fields(chart))


def unit_axis(axis: Vectors, name: str) -> Vectors:
    """Return an axis (3,) as a unit vector, read-only; ValueError if it is zero."""
    length = float(np.linalg.norm(axis))
    if not length > 1e-12:
        raise ValueError(f"{name} must not be zero, got {axis.tolist()}")
    unit = axis if abs(length - 1.0) <= 1e-15 else axis / length
    unit.flags.writeable = False
    return unit


def mirror_rotations(rotations: Quats, normal: Vectors) -> Quats:
    """Return the mirror images of rotations (..., 4) in the plane across `normal` (3,).

    The image has the same angle about the negative mirrored axis. A mirror is a point reflection,
    which changes no rotation, and a half turn h about the normal: so the image is h · q · h⁻¹.
    """
    half = half_turn(normal)
    return quat.mul(quat.mul(half, rotations), quat.inverse(half))


def half_turn(normal: Vectors) -> Quats:
    """Return the half turn (4,) about `normal` (3,) of any length."""
    return np.concatenate([[0.0], unit_normal(normal)])


def unit_normal(normal: Vectors) -> Vectors:
    """Return the normal (3,) of a mirror as a unit vector; ValueError if it is zero."""
    return unit_axis(np.array(normal, dtype=np.float64), "the mirror's normal")


def reflect(vectors: Vectors, normal: Vectors) -> Vectors:
    """Return vectors (..., 3) mirrored in the plane across `normal` (3,)."""
    unit = unit_normal(normal)
    return np.asarray(vectors - 2.0 * (vectors @ unit)[..., None] * unit)


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
        return quat.mul(self.frame, _from_z(self.axis))

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
    defined; the reference is as far from them as possible, at (0, π/2, 0). With `SIDEWAYS` as the
    reference the angles are those of q itself.
    """

    name: ClassVar[str] = "euler"
    like: ClassVar[str] = "euler"
    kernel: ClassVar[int | None] = EULER
    periods: ClassVar[tuple[float, ...]] = (TURN, 0.0, TURN)
    max_density: ClassVar[float] = 1.0 / (8.0 * np.pi**2)

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        back = quat.mul(self.reference, self.frame)
        return quat.mul(back, quat.inverse(SIDEWAYS)), self.frame

    def points(self, rotations: Quats) -> Points:
        plus, minus, psi = zyz_angles(self.to_local(rotations))
        return np.stack([wrap_angles(plus + minus), psi, wrap_angles(plus - minus)], axis=-1)

    def rotations(self, points: Points) -> Quats:
        half = 0.5 * points
        plus, minus = half[..., 0] + half[..., 2], half[..., 0] - half[..., 2]
        c, s = np.cos(half[..., 1]), np.sin(half[..., 1])
        parts = [c * np.cos(plus), -s * np.sin(minus), s * np.cos(minus), c * np.sin(plus)]
        return self.from_local(np.stack(parts, axis=-1))

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


class ZYZAngles(NamedTuple):
    """Angles (φ, ψ, θ) of rotations z(φ) · y(ψ) · z(θ): (φ ± θ)/2 and ψ, in radians, (...)."""

    plus: Scalars
    minus: Scalars
    psi: Scalars


def zyz_angles(rotations: Quats) -> ZYZAngles:
    """Return the Z-Y-Z angles of rotations (..., 4); 0 for half sums that are undefined."""
    w, x, y, z = np.moveaxis(rotations, -1, 0)
    along, across = np.hypot(w, z), np.hypot(x, y)
    plus = np.where(along > 0.0, np.arctan2(z, w), 0.0)
    minus = np.where(across > 0.0, np.arctan2(-x, y), 0.0)
    return ZYZAngles(plus, minus, 2.0 * np.arctan2(across, along))


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
