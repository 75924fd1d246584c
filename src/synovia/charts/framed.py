"""FramedChart: a chart whose own axes may be turned in the joint's frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors, unit_quats
from .chart import Chart, Reflection, half_turn, mirror_rotations, unit_normal

FRAME_ROUNDING = 1e-15
"""Half the angle, in radians, up to which a frame is the identity, but for rounding."""


@dataclass(frozen=True, eq=False)
class FramedChart(Chart):
    """A chart of frame⁻¹ · reference⁻¹ · q · frame, for a rotation q.

    `frame` says how the chart's own axes are turned in the joint's frame: a vector v along the
    chart's axes is frame · v in the joint's. Points, and a bone's `axis`, are along the chart's
    axes; `vectors` and `bone` are in the joint's frame. The identity is left out of files.
    """

    frame: Annotated[Quats, 4] = field(
        default_factory=lambda: quat.IDENTITY, kw_only=True, metadata={"optional": True}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", unit_quats("frame", self.frame))
        super().__post_init__()
        if np.abs(self.frame[1:]).max() <= FRAME_ROUNDING:
            object.__setattr__(self, "frame", quat.IDENTITY)

    @classmethod
    def takes_frame(cls) -> bool:
        return True

    @cached_property
    def is_turned(self) -> bool:
        """Whether the chart's axes are not those of the joint's frame."""
        return bool(self.frame[1:].any())

    def in_joint(self, vectors: Vectors) -> Vectors:
        return quat.rotate(self.frame, vectors) if self.is_turned else vectors

    def in_chart(self, vectors: Vectors) -> Vectors:
        return quat.rotate(quat.inverse(self.frame), vectors) if self.is_turned else vectors

    def to_dict(self) -> dict[str, Any]:
        given = super().to_dict()
        if not self.is_turned:
            del given["frame"]
        return given

    # The rotation whose angles are a chart's points is back⁻¹ · q · right.

    @cached_property
    def _sides(self) -> tuple[Quats, Quats]:
        """The quaternions `back` and `right`: q = back · local · right⁻¹."""
        right = self.frame
        return quat.mul(self.reference, right) if self.is_turned else self.reference, right

    def _local(self, rotations: Quats) -> Quats:
        back, right = self._sides
        local = quat.mul(quat.inverse(back), rotations)
        return quat.mul(local, right) if right[1:].any() else local

    def _global(self, local: Quats) -> Quats:
        back, right = self._sides
        rotations = quat.mul(back, local)
        return quat.mul(rotations, quat.inverse(right)) if right[1:].any() else rotations

    @property
    def packed(self) -> list[float]:
        if self.kernel is None:
            return super().packed
        back, right = self._sides
        axis = self.__dict__.get("axis", np.zeros(3))
        return [self.kernel, *quat.inverse(back), *right, *back, *quat.inverse(right), *axis]

    # What a mirror shows.

    @property
    def grid_axes(self) -> Floats:
        """The directions (3, 3), along the chart's axes, that its coordinates are along."""
        return np.eye(3)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        """Return what a mirror across `normal`, along the chart's axes, makes of the chart.

        That is the fields that change beside reference and frame, `turn` and `about`: see `mirror`.
        """
        plain = replace(self, reference=quat.IDENTITY, frame=quat.IDENTITY)
        changed = ["axis"] if self.takes_axis() else []
        return [
            ({name: getattr(found.chart, name) for name in changed}, found.turn, found.about)
            for found in Chart.mirror(plain, normal)
        ]

    def mirror(self, normal: Vectors) -> list[Reflection]:
        """Return charts of the other side: in the same frame, then in one that suits grids.

        With h the half turn about the normal and g that about any axis e of the chart, a mirrored
        rotation has in the frame h · frame · g the point that a mirror across e shows. With e the
        normal itself the frame stays; with e along a coordinate, a grid is mirrored exactly.
        """
        half, own = half_turn(normal), self.in_chart(unit_normal(normal))
        along = self.grid_axes[np.abs(self.grid_axes @ own).argmax()]
        turned = quat.mul(quat.mul(half, self.frame), half_turn(along))
        reference = mirror_rotations(self.reference, normal)
        return [
            Reflection(
                replace(self, reference=reference, frame=frame, **changes), turn, about, across
            )
            for across, frame in ((own, self.frame), (along, quat.normalize(turned)))
            for changes, turn, about in self._reflections(across)
        ]
