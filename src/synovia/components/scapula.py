"""Scapulae: two points of the bone kept on an ellipsoid, or the bone gliding on an ellipsoid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Vectors, check_orthonormal, own
from ..charts.chart import unit_axis
from .component import ArrayComponent, Component
from .program import Instruction, Kind

COORDINATES = ("abduction", "elevation", "upward", "winging")
"""Inputs of `Scapulothoracic`, in radians."""
X, Y, Z = np.eye(3)


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
    mirror_signs: ClassVar = {"center": 1, "axis": -1, "pairs": 1, "axes": 1}

    def __post_init__(self) -> None:
        own(self, center=(3,), radii=(3,), axis=(3,), pairs=(3, 2, 3), axes=(3, 3))
        object.__setattr__(self, "axis", unit_axis(self.axis, "Scapula.axis"))
        if not (self.radii > 0.0).all():
            raise ValueError(f"Scapula.radii must be above 0, got {self.radii.tolist()}")
        check_orthonormal("Scapula.axes", self.axes)
        if not (np.linalg.norm(self.pairs[:, 0], axis=-1) > 0.0).all():
            raise ValueError("Scapula.pairs must have first points away from the origin, got zero")

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return {"matrix": "matrix", "lift": "scalar", "rotation": "scalar"}

    @property
    def outputs(self) -> Mapping[str, Kind]:
        return {"matrix": "matrix", "first": "scalar", "second": "scalar", "gap": "scalar"}

    @property
    def gaps(self) -> tuple[str, ...]:
        return ("gap",)

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
    mirror_signs: ClassVar = {"axes": 1}

    def __post_init__(self) -> None:
        own(self, radii=(3,), origin=(2,), axes=(3, 3))
        if not (self.radii > 0.0).all():
            raise ValueError(f"Scapulothoracic.radii must be above 0, got {self.radii.tolist()}")
        if not np.isfinite(self.direction):
            raise ValueError(f"Scapulothoracic.direction must be finite, got {self.direction}")
        object.__setattr__(self, "direction", float(self.direction))
        check_orthonormal("Scapulothoracic.axes", self.axes)

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(COORDINATES, "scalar")

    @property
    def defaults(self) -> Mapping[str, Floats]:
        return dict.fromkeys(COORDINATES, np.zeros(()))

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
