"""Compensation: a segment that does not turn with its ancestor, and stays attached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Vectors, own
from ..charts.chart import reflect
from .component import Component, Kind, Step, check_names


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

    @property
    def cancelled_input(self) -> str:
        return "ancestor"

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        between = np.array(inputs[1:], np.int64)
        run = kernels.transforms.compensation
        return partial(run, self.joint, between, inputs[0], outputs[0])

    def mirror(self, normal: Vectors) -> Self:
        return replace(self, joint=reflect(self.joint, normal))

    def partials(self, table: Floats) -> Floats:
        if self.between:
            return super().partials(table)
        found = np.zeros((3, 4, 3, 4))
        rows = np.arange(3)
        for column in range(3):
            found[rows, column, column, rows] = 1.0
            found[rows, 3, column, rows] = -self.joint[column]
        return np.broadcast_to(found.reshape(12, 12), (len(table), 12, 12))
