"""FramedChart: a chart whose own axes may be rotated in the joint's frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors, unit_quats
from .chart import Chart, Reflection, half_turn, mirror_rotations, takes_axis, unit_normal

FRAME_ROUNDING = 1e-15  # half the angle, in radians, below which a frame is the identity


@dataclass(frozen=True, eq=False)
class FramedChart(Chart):
    """A chart of frame⁻¹ · reference⁻¹ · q · frame, for a rotation q.

    A vector v along the chart's axes is frame · v in the joint's frame. Points and `axis` are along
    the chart's axes; `bone` is in the joint's frame. Files omit an identity frame.
    """

    frame: Annotated[Quats, 4] = field(
        default_factory=lambda: quat.IDENTITY, kw_only=True, metadata={"optional": True}
    )

    _radial: ClassVar[tuple[int, ...]] = ()
    """Coordinates that are the vector of a rotation; whole turns make it longer or shorter."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", unit_quats("frame", self.frame))
        super().__post_init__()
        if np.abs(self.frame[1:]).max() <= FRAME_ROUNDING:
            object.__setattr__(self, "frame", quat.IDENTITY)

    @cached_property
    def is_turned(self) -> bool:
        """True if the chart's axes differ from those of the joint's frame."""
        return bool(self.frame[1:].any())

    def in_joint(self, vectors: Vectors) -> Vectors:
        return quat.rotate(self.frame, vectors) if self.is_turned else vectors

    def in_chart(self, vectors: Vectors) -> Vectors:
        return quat.rotate(quat.inverse(self.frame), vectors) if self.is_turned else vectors

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        """The quaternions `back` and `right` of q = back · local · right⁻¹."""
        right = self.frame
        return quat.mul(self.reference, right) if self.is_turned else self.reference, right

    def _local(self, rotations: Quats) -> Quats:
        """Return back⁻¹ · q · right, whose coordinates are the points."""
        back, right = self._sides
        local = quat.mul(quat.inverse(back), rotations)
        return quat.mul(local, right) if right[1:].any() else local

    def _global(self, local: Quats) -> Quats:
        """Return back · local · right⁻¹."""
        back, right = self._sides
        rotations = quat.mul(back, local)
        return quat.mul(rotations, quat.inverse(right)) if right[1:].any() else rotations

    def packed(self, shape: Any) -> tuple[list[float], list[float]]:
        if self.kernel is None:
            return super().packed(shape)
        back, right = self._sides
        axis = self.__dict__.get("axis", np.zeros(3))
        return self._header(quat.inverse(back), right, back, quat.inverse(right), axis, shape), []

    def _header(
        self, left: Quats, right: Quats, back: Quats, forth: Quats, axis: Vectors, shape: Any
    ) -> list[float]:
        """Return kind, quaternions around a rotation on entry and exit, axis, and shape's reach."""
        reach = (shape.reach(self._radial), shape.reach((2,)))
        return [float(self.kernel or 0), *left, *right, *back, *forth, *axis, *reach]

    @property
    def _grid_axes(self) -> Floats:
        """Directions (3, 3) of the coordinates, along the chart's axes."""
        return np.eye(3)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        """Return mirror images of the chart across `normal`, which is along the chart's axes.

        Each has the fields that change beside reference and frame, and `turn` and `about` as in
        `Reflection`.
        """
        plain = replace(self, reference=quat.IDENTITY, frame=quat.IDENTITY)
        names = ["axis"] if takes_axis(type(self)) else []
        return [
            ({name: getattr(image.chart, name) for name in names}, image.turn, image.about)
            for image in Chart.mirror(plain, normal)
        ]

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
