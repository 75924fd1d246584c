"""Muscles that span two joints of a limb, such as the hamstrings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Floats, Quats, Scalars, Vectors
from ..charts.chart import reflect


@dataclass(frozen=True, eq=False)
class TwoJointMuscle:
    """A bound on the swing of one joint of a limb, which depends on how far the limb is bent.

    Let β be the bend, the angle between upper and lower bone, and s the rotation vector of the
    shortest rotation from `zero` to the joint's bone. The joint is legal if

        s · axis ≤ m(β),

    with m linear between `rows` and constant beyond them. Moving twist along the limb changes
    neither s nor β. Close to the direction opposite to `zero` the swing is not continuous, so the
    joint's own limit should not reach it.
    """

    name: str
    """Name of the muscle, for reports."""
    joint: str
    """The joint that is bounded: the upper one or the end of the limb."""
    bone: Annotated[Vectors, 3]
    """Unit direction (3,) of the bone, in the joint's own frame."""
    zero: Annotated[Vectors, 3]
    """Unit direction (3,) of the bone at angle 0, in the frame that the joint is measured in."""
    axis: Annotated[Vectors, 3]
    """Unit axis (3,) of the bounded rotation, at right angles to `zero`, in the same frame."""
    rows: Annotated[Floats, "n>=1", 2]
    """Rows (n, 2): bend, rising, and the largest angle there, both in radians."""

    def __post_init__(self) -> None:
        for field in fields(self)[2:]:
            object.__setattr__(self, field.name, np.array(getattr(self, field.name), np.float64))
        frame = np.array([self.zero, self.axis])
        if frame.shape != (2, 3) or not np.allclose(frame @ frame.T, np.eye(2), atol=1e-6):
            raise ValueError(
                f"zero and axis of {self.name} must be unit vectors at right angles, got "
                f"{frame.tolist()}"
            )
        if self.bone.shape != (3,) or not np.isclose(np.linalg.norm(self.bone), 1.0):
            raise ValueError(f"bone of {self.name} must be a unit vector, got {self.bone.tolist()}")
        check_rows(f"rows of {self.name}", self.rows)

    def excess(self, rotations: Quats, bend: Scalars) -> Scalars:
        """Return the excess (...) of rotations (..., 4) of the joint beyond the bound, in radians.

        It is at most 0 for legal rotations. `bend` (...) is the angle in radians between the bones
        of the limb.
        """
        return np.asarray(self._swing(rotations) @ self.axis - np.interp(bend, *self.rows.T))

    def pull(self, rotations: Quats, bend: Scalars) -> Quats:
        """Return rotations (n, 4) with the swing projected to the bound; legal ones unchanged.

        Rotation about the bone is kept.
        """
        excess, swing = self.excess(rotations, bend), self._swing(rotations)
        legal = quat.exp(swing - excess[:, None] * self.axis)
        moved = quat.mul(quat.mul(legal, quat.exp(-swing)), rotations)
        return np.where((excess > 0.5 * TOLERANCE)[:, None], quat.normalize(moved), rotations)

    def _swing(self, rotations: Quats) -> Vectors:
        """Return rotation vectors (..., 3) of the shortest rotations from `zero` to the bone."""
        return np.asarray(quat.log(quat.between(self.zero, quat.rotate(rotations, self.bone))))

    def in_frames(self, parent: Quats, child: Quats) -> TwoJointMuscle:
        """Return the muscle on rotations r for which this one bounds parent⁻¹ · r · child."""
        zero, axis = quat.rotate(parent, np.stack([self.zero, self.axis]))
        return replace(self, bone=quat.rotate(child, self.bone), zero=zero, axis=axis)

    def mirror(self, normal: Vectors, names: Mapping[str, str]) -> TwoJointMuscle:
        """Return the muscle of the other side; see `Limb.mirror`."""
        bone, zero, axis = reflect(np.stack([self.bone, self.zero, self.axis]), normal)
        return replace(self, joint=names[self.joint], bone=bone, zero=zero, axis=-axis)


def check_rows(name: str, rows: Floats) -> None:
    """Raise ValueError unless `rows` has shape (n, 2), n >= 1, and its first column rises."""
    if (
        rows.ndim != 2
        or rows.shape[1:] != (2,)
        or not len(rows)
        or (np.diff(rows[:, 0]) <= 0).any()
    ):
        raise ValueError(
            f"{name} must be rows of an angle between the bones, rising, and the largest angle "
            f"there, got {rows.tolist()}"
        )
