"""Components that keep a bone in a region: in a reach cone, or on an ellipsoid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Vectors, check_orthonormal, own
from ..charts.chart import unit_axis
from ..shapes import ReachCone
from ..shapes.extent import tangent_basis
from ..shapes.reach_cone.cone import check_cone
from ..shapes.reach_cone.star import slice_rows
from .component import ArrayComponent, Component
from .program import Instruction

Towards = Literal["rest", "nearest"]
COORDINATES = ("abduction", "elevation", "upward", "winging")
"""Inputs of `Scapulothoracic`, in radians."""
X, Y, Z = np.eye(3)


@dataclass(frozen=True, eq=False)
class JointCone(Component):
    """The input `matrix`, multiplied by a twist about the bone, then brought into `cone`.

    The bone points along `rest` in its own frame. Where the matrix turns it to an illegal
    direction, that is moved towards rest until it meets the cone, as in the paper, or to the
    `nearest` legal one; then its twist goes to the nearest that is legal there. The twist is that
    of a `DirectionTwist` chart, the input `twist` (radians) added; legal rotations are unchanged.
    The input `center` is the joint's centre in the bone's frame, which may move, the field
    `center` if it is not wired: the result has it where the input had.

    The outputs `first`, `second` and `twist` are the new angles: turns about the two `axes` and
    rest whose product, in that order, is the result's rotation. Unless given, the axes are two
    across rest and each other. With a `sense` of -1 the twists, in and out, turn the other way, as
    on the other side of the body; the cone's own limits do not.
    """

    cone: ReachCone
    rest: Vectors
    center: Vectors = field(default_factory=lambda: np.zeros(3))
    axes: Floats = None  # type: ignore[assignment]
    towards: Towards = "rest"
    sense: float = 1.0

    kind: ClassVar[str] = "joint-cone"
    inputs: ClassVar = {"matrix": "matrix", "twist": "scalar", "center": "vector"}
    outputs: ClassVar = {
        "matrix": "matrix",
        "first": "scalar",
        "second": "scalar",
        "twist": "scalar",
    }
    mirror_signs: ClassVar = {"rest": 1, "center": 1, "axes": -1}

    def __post_init__(self) -> None:
        check_cone("JointCone.cone", self.cone)
        own(self, rest=(3,), center=(3,))
        object.__setattr__(self, "rest", unit_axis(self.rest, "JointCone.rest"))
        if self.axes is None:
            object.__setattr__(self, "axes", -tangent_basis(self.rest))
        own(self, axes=(2, 3))
        units = np.stack([unit_axis(axis.copy(), "JointCone.axes") for axis in self.axes])
        units.flags.writeable = False
        object.__setattr__(self, "axes", units)
        if self.towards not in get_args(Towards):
            raise ValueError(
                f"JointCone.towards must be one of {', '.join(get_args(Towards))}, "
                f"got {self.towards!r}"
            )
        if self.sense not in (1.0, -1.0):
            raise ValueError(f"JointCone.sense must be 1 or -1, got {self.sense}")
        # By slices, which is faster than building the tables of the cone.
        into, past, height = (self._slices[:, k : k + 3] @ self.rest for k in (0, 3, 6))
        if not ((into >= -TOLERANCE) & (past <= TOLERANCE) & (height >= -TOLERANCE)).any():
            raise ValueError(
                f"JointCone.rest must be a legal direction of the cone, got {self.rest.tolist()}"
            )

    @cached_property
    def _slices(self) -> Floats:
        return slice_rows(self.cone.points, self.cone.visible, self.cone.low, self.cone.high)

    @property
    def defaults(self) -> Mapping[str, Floats]:
        return {"twist": np.zeros(()), "center": self.center}

    def mirror(self, normal: Vectors) -> Self:
        cone = self.cone.mirror(np.eye(4), np.zeros(4), normal)
        parameters = {**self.reflected_parameters(normal), "cone": cone, "sense": -self.sense}
        return self.from_dict({**self.to_dict(), **parameters})

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        pulls = float(self.towards == "rest")
        # Heights are over edges' planes times the sines of their lengths.
        least = TOLERANCE * np.linalg.norm(self._slices[:, 6:9], axis=1).min()
        packed = kernels.joint_cone.LAYOUT.pack(
            rest=self.rest,
            first=self.axes[0],
            second=self.axes[1],
            pull=pulls,
            least_margin=-TOLERANCE,
            least_height=-least,
            sense=self.sense,
        )
        numbers, values = (packed, self.cone.packed), (*inputs, *outputs)
        return Instruction(kernels.figure.JOINT_CONE, numbers, (values,))


@dataclass(frozen=True, eq=False)
class Scapula(Component):
    """The rotation that puts two points of the bone onto an ellipsoid; its origin stays fixed.

    The ellipsoid has its `center` and `radii` along the rows of `axes`, in the frame into which
    the input `matrix` takes the bone. Three `pairs` (3, 2, 3) of points in the bone's frame are
    blended, for lift u and rotation w within 0 to 1: (1-w)·((1-u)·P₂ + u·P₁) + w·P₃. A rotation
    θ about `axis` brings the first point onto the ellipsoid, then one of ψ about the line from the
    origin to that point brings the second: the output `matrix` is R(axis, θ)·R(p₁, ψ), to be
    multiplied after the input. Of several angles it takes the nearest to 0. Where none reaches,
    it takes the closest approach, and `gap` is how far off that is, as a share of the ellipsoid's
    radius in that direction; otherwise `gap` is 0. `first` and `second` are θ and ψ.
    """

    center: Vectors
    radii: Vectors
    axis: Vectors
    pairs: Floats
    axes: Floats = field(default_factory=lambda: np.eye(3))

    kind: ClassVar[str] = "scapula"
    inputs: ClassVar = {"matrix": "matrix", "lift": "scalar", "rotation": "scalar"}
    outputs: ClassVar = {
        "matrix": "matrix",
        "first": "scalar",
        "second": "scalar",
        "gap": "scalar",
    }
    gaps: ClassVar = ("gap",)
    mirror_signs: ClassVar = {"center": 1, "axis": -1, "pairs": 1, "axes": 1}

    def __post_init__(self) -> None:
        own(self, center=(3,), radii=(3,), axis=(3,), pairs=(3, 2, 3), axes=(3, 3))
        object.__setattr__(self, "axis", unit_axis(self.axis, "Scapula.axis"))
        if not (self.radii > 0.0).all():
            raise ValueError(f"Scapula.radii must be above 0, got {self.radii.tolist()}")
        check_orthonormal("Scapula.axes", self.axes)
        if not (np.linalg.norm(self.pairs[:, 0], axis=-1) > 0.0).all():
            raise ValueError("Scapula.pairs must have first points away from the origin, got zero")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        shrink = self.axes / self.radii[:, None]
        packed = kernels.scapula.LAYOUT.pack(
            axis=self.axis, center=self.center, shrink=shrink, pairs=self.pairs
        )
        return Instruction(kernels.figure.SCAPULA, (packed,), ((*inputs, *outputs),))


@dataclass(frozen=True, eq=False)
class Scapulothoracic(ArrayComponent):
    """The pose of a scapula on the thorax, by longitude, latitude, rotation and lift of its edge.

    The same mechanism as OpenSim's `ScapulothoracicJoint` (Seth et al. 2016), with coordinates in
    radians. `abduction` turns about the ellipsoid's y, then `elevation` about -x and the `upward`
    rotation about z: R = Ry·R₋ₓ·Rz. The scapula's origin is on the ellipsoid, at radii times R z.
    There it turns by `winging` about an axis in its own x-y plane, which goes through `origin`,
    `direction` radians from y towards -x. The ellipsoid is at 0, and has its `radii` along the rows
    of `axes`: of x forward, y up and z to the right, for the right side. For the left side they are
    the mirror's.
    """

    radii: Vectors
    origin: Floats = field(default_factory=lambda: np.zeros(2))
    direction: float = 0.0
    axes: Floats = field(default_factory=lambda: np.eye(3))

    kind: ClassVar[str] = "scapulothoracic"
    inputs: ClassVar = dict.fromkeys(COORDINATES, "scalar")
    defaults: ClassVar = dict.fromkeys(COORDINATES, np.zeros(()))
    mirror_signs: ClassVar = {"axes": 1}

    def __post_init__(self) -> None:
        own(self, radii=(3,), origin=(2,), axes=(3, 3))
        if not (self.radii > 0.0).all():
            raise ValueError(f"Scapulothoracic.radii must be above 0, got {self.radii.tolist()}")
        if not np.isfinite(self.direction):
            raise ValueError(f"Scapulothoracic.direction must be finite, got {self.direction}")
        object.__setattr__(self, "direction", float(self.direction))
        check_orthonormal("Scapulothoracic.axes", self.axes)

    def evaluate(self, *inputs: Floats) -> tuple[Floats, ...]:
        abduction, elevation, upward, winging = inputs
        glide = _rotations(Y, abduction) @ _rotations(X, -elevation) @ _rotations(Z, upward)
        winging_axis = np.array([-np.sin(self.direction), np.cos(self.direction), 0.0])
        wing = _rotations(winging_axis, winging)
        pivot = np.append(self.origin, 0.0)
        position = self.radii * glide[:, :, 2] + glide @ pivot - (glide @ wing) @ pivot
        out = np.zeros((len(glide), 4, 4))
        out[:, :3, :3] = self.axes.T @ glide @ wing @ self.axes
        out[:, :3, 3] = position @ self.axes
        out[:, 3, 3] = 1.0
        return (out,)


def _rotations(axis: Vectors, angle: Floats) -> Floats:
    """Return the matrices (n, 3, 3) of rotations by angles (n,) about a unit axis."""
    return quat.to_matrix(quat.exp(angle[:, None] * axis))
