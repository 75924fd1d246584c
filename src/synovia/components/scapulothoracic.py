"""Scapulothoracic joint: the scapula glides on an ellipsoid, by four coordinates of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors, check_orthonormal, own
from ..charts.chart import reflect
from .component import ArrayComponent
from .program import Kind

COORDINATES = ("abduction", "elevation", "upward", "winging")
X, Y, Z = np.eye(3)


@dataclass(frozen=True, eq=False)
class Scapulothoracic(ArrayComponent):
    """The place of a scapula on the thorax, by its longitude, latitude, turn and lift of its edge.

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
        glide = _turns(Y, abduction) @ _turns(X, -elevation) @ _turns(Z, upward)
        edge = np.array([-np.sin(self.direction), np.cos(self.direction), 0.0])
        wing = _turns(edge, winging)
        pivot = np.append(self.origin, 0.0)
        place = self.radii * glide[:, :, 2] + glide @ pivot - (glide @ wing) @ pivot
        out = np.zeros((len(glide), 4, 4))
        out[:, :3, :3] = self.axes.T @ glide @ wing @ self.axes
        out[:, :3, 3] = place @ self.axes
        out[:, 3, 3] = 1.0
        return (out,)

    def mirror(self, normal: Vectors) -> Self:
        return replace(self, axes=reflect(self.axes, normal))


def _turns(axis: Vectors, angle: Floats) -> Floats:
    """Return the rotation matrices (n, 3, 3) of turns about a unit axis."""
    return quat.to_matrix(quat.exp(angle[:, None] * axis))
