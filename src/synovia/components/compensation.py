"""Compensation: a segment that does not turn with its ancestor, and stays attached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Vectors, own
from ..charts.chart import reflect
from .component import Component, check_names
from .program import Instruction, Kind


@dataclass(frozen=True, eq=False)
class Compensation(Component):
    """The turn about `joint` that undoes the rotation of the matrix on the input `ancestor`.

    `joint` is where the segment is attached, in its own frame. The paper inverts the ancestor's
    matrix A and then shifts by the displacement of the joint o: A⁻¹ · T(Ao - o) is A's rotation
    undone about o, and A's translation cancels. This is for a parent; for several ancestors
    multiply one compensation each, the nearest first. To cancel a farther one alone, `between`
    names inputs for the matrices from below it down to the parent, which keep their rotations B:
    B⁻¹ A⁻¹ B.
    """

    joint: Vectors = field(default_factory=lambda: np.zeros(3))
    between: tuple[str, ...] = ()

    kind: ClassVar[str] = "compensation"

    def __post_init__(self) -> None:
        own(self, joint=(3,))
        if self.between:
            check_names("Compensation.between", ("ancestor", *self.between))
        object.__setattr__(self, "between", tuple(self.between))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(("ancestor", *self.between), "matrix")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        ancestor, *between = inputs
        at = (ancestor, *outputs)
        return Instruction(kernels.figure.COMPENSATION, (self.joint,), (between,), at)

    def mirror(self, normal: Vectors) -> Self:
        return replace(self, joint=reflect(self.joint, normal))
