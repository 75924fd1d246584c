"""Joint cone: directions and twists of a ball joint kept within a reach cone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from .. import kernels
from ..arrays import TOLERANCE, Floats, Vectors, own
from ..charts.chart import unit_axis
from ..shapes import ReachCone
from ..shapes.extent import tangent_basis
from ..shapes.reach_cone.cone import check_cone
from ..shapes.reach_cone.packing import slice_rows
from .component import Component
from .program import Instruction, Kind

Towards = Literal["rest", "nearest"]


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
        if not _cone_contains(self.cone, self.rest):
            raise ValueError(
                f"JointCone.rest must be a legal direction of the cone, got {self.rest.tolist()}"
            )

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return {"matrix": "matrix", "twist": "scalar", "center": "vector"}

    @property
    def outputs(self) -> Mapping[str, Kind]:
        return {"matrix": "matrix", "first": "scalar", "second": "scalar", "twist": "scalar"}

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
        rows = slice_rows(self.cone.points, self.cone.visible, self.cone.low, self.cone.high)
        least = TOLERANCE * np.linalg.norm(rows[:, 6:9], axis=1).min()
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


def _cone_contains(cone: ReachCone, direction: Vectors) -> bool:
    """Return True if a unit direction (3,) is legal, by the slices of the cone.

    This is faster than building the tables of `ReachCone`.
    """
    planes = slice_rows(cone.points, cone.visible, cone.low, cone.high)
    into, past, height = (planes[:, k : k + 3] @ direction for k in (0, 3, 6))
    within = (into >= -TOLERANCE) & (past <= TOLERANCE) & (height >= -TOLERANCE)
    return bool(within.any())
