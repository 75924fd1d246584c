"""Scapula constraint: two points of a bone kept on an ellipsoid, by two turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Vectors, check_orthonormal, own
from ..charts.chart import reflect, unit_axis
from .component import Component
from .program import Instruction, Kind


@dataclass(frozen=True, eq=False)
class Scapula(Component):
    """The turn that puts a pair of the bone's points onto an ellipsoid, the bone's origin fixed.

    The ellipsoid has its `center` and `radii` along the rows of `axes`, in the frame into which
    the input `matrix` takes the bone. Three `pairs` (3, 2, 3) of points in the bone's frame are
    blended, for lift u and rotation w within 0 to 1: (1-w)·((1-u)·P₂ + u·P₁) + w·P₃. A turn θ
    about `axis` brings the first point onto the ellipsoid, then one of ψ about the line from the
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

    def mirror(self, normal: Vectors) -> Self:
        return replace(
            self,
            center=reflect(self.center, normal),
            axis=-reflect(self.axis, normal),
            pairs=reflect(self.pairs, normal),
            axes=reflect(self.axes, normal),
        )

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        shrink = self.axes / self.radii[:, None]
        packed = kernels.scapula.LAYOUT.pack(
            axis=self.axis, center=self.center, shrink=shrink, pairs=self.pairs
        )
        return Instruction(kernels.figure.SCAPULA, (packed,), ((*inputs, *outputs),))
