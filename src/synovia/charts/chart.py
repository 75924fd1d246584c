"""Chart: coordinates for rotations with a reference and a metric; mirror images of rotations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Scalars, Vectors, own, rows, unit_quats
from ..kernels.layout import CHART_KINDS

STEP = 1e-5  # radians; half the base of the central differences of the Jacobian
SAMPLES = 4096  # rotations by which an unknown chart's largest density and mirror are found
FRAME_ROUNDING = 1e-15  # half the angle, in radians, below which a frame is the identity
STEEP = 0.2  # radians; at an angle δ from a singularity, float32 is off by some 1e-6/δ
ROUNDING = 1e-9  # error of mirrored points up to which a linear map is exact
SAMPLED_MAXIMUM = 0.9  # inverse of the safety factor on a maximum found by sampling


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
        right = self.frame
        return quat.mul(self.reference, right) if self.is_turned else self.reference, right

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
        covers = np.stack(self.shifts(rows("rotations", points, self.dimension), 1))
        path = covers[0].copy()
        for frame in range(1, len(path)):
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
        here = plain.points(rotations) - about
        turn = np.linalg.lstsq(here, images, rcond=None)[0].T
        error = np.abs(here @ turn.T - images).max()
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
