"""Rotations of joints relative to an ancestor, for limits that are measured from one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Quats, tolerance
from .skeleton import Pose, Skeleton

if TYPE_CHECKING:
    from ..limit import Limit


@dataclass(frozen=True)
class Lineage:
    """A joint, and the joints between it and the ancestor that it is measured from.

    Those between are parents first, and none where the ancestor is the parent.
    """

    joint: int
    between: tuple[int, ...] = ()

    def relative_rotation(self, rotations: Quats) -> Quats:
        """Return the joint's rotation (..., 4) relative to the ancestor.

        `rotations` (..., J, 4) are those of all joints, each relative to its parent.
        """
        own: Quats = rotations[..., self.joint, :]
        return quat.normalize(quat.mul(self.above(rotations), own)) if self.between else own

    def local_rotation(self, rotations: Quats, relative: Quats) -> Quats:
        """Return the joint's rotation relative to its parent, from that `relative` to the ancestor.

        The joints between are as in `rotations` (..., J, 4).
        """
        if not self.between:
            return relative
        return quat.normalize(quat.mul(quat.inverse(self.above(rotations)), relative))

    def set_relative_rotation(self, rotations: Quats, relative: Quats) -> None:
        """Turn the joint, in place, so that its rotation relative to the ancestor is `relative`.

        Where it is that already, it stays bit for bit.
        """
        if not self.between:
            rotations[..., self.joint, :] = relative
            return
        moved = (self.relative_rotation(rotations) != relative).any(axis=-1, keepdims=True)
        local = self.local_rotation(rotations, relative)
        rotations[..., self.joint, :] = np.where(moved, local, rotations[..., self.joint, :])

    def check_unmoved(self, skeleton: Skeleton, one: Pose, other: Pose) -> None:
        """Raise ValueError where the joints between are turned otherwise in the other pose."""
        for joint in self.between:
            a, b = one.rotations[..., joint, :], other.rotations[..., joint, :]
            if (quat.angle_between(a, b) > tolerance(a.dtype)).any():
                raise ValueError(
                    f"{skeleton.names[joint]} must keep still, because {skeleton.names[self.joint]}"
                    " is measured from above it"
                )

    def above(self, rotations: Quats) -> Quats:
        """Return the rotation (..., 4) of the joint's parent relative to the ancestor.

        Only where joints are between.
        """
        return reduce(quat.mul, [rotations[..., joint, :] for joint in self.between])


def lineage(skeleton: Skeleton, name: str, ancestor: str | None = None) -> Lineage:
    """Return the joint of this name, measured from its parent or from the ancestor named."""
    joint = skeleton.index(name)
    if ancestor is None:
        return Lineage(joint)
    between = path_between(skeleton, joint, skeleton.index(ancestor))
    if between is None:
        above = [skeleton.names[each] for each in skeleton.path_to_root(joint)[1:]]
        raise ValueError(
            f"{name} must be measured from a joint above it, {', '.join(above) or 'but has none'}, "
            f"got {ancestor}"
        )
    return Lineage(joint, between)


def path_between(skeleton: Skeleton, joint: int, ancestor: int) -> tuple[int, ...] | None:
    """Return the joints between the two, parents first; None if `ancestor` is not above."""
    above = skeleton.path_to_root(joint)[1:]
    return tuple(above[: above.index(ancestor)][::-1]) if ancestor in above else None


def measure_from_ancestor(limit: Limit, way: Lineage, skeleton: Skeleton) -> Limit:
    """Return the limit, measured from the ancestor that `way` has in `skeleton`, by its name."""
    above = skeleton.names[skeleton.parents[way.between[0]]] if way.between else None
    return limit if limit.relative_to == above else replace(limit, relative_to=above)


def copy_limit(skeleton: Skeleton, name: str, limit: Limit) -> Limit:
    """Return a limit as the joint of this name can have it: the same rotations are legal.

    They are measured from the same ancestor, which must be above the joint. Roots have no limits.
    """
    if skeleton.parents[skeleton.index(name)] < 0:
        raise ValueError(f"{name} is a root: nothing is above it that could limit it")
    return measure_from_ancestor(limit, lineage(skeleton, name, limit.relative_to), skeleton)
