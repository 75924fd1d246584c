"""Rotations of joints relative to an ancestor, for limits that are measured from it."""

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
    """A joint and the joints between it and the ancestor from which it is measured."""

    joint: int
    between: tuple[int, ...] = ()
    """Parents first; empty if the ancestor is the parent."""

    def relative_rotation(self, rotations: Quats) -> Quats:
        """Return the joint's rotation (..., 4) relative to the ancestor.

        `rotations` (..., J, 4) are those of all joints, each relative to its parent.
        """
        local: Quats = rotations[..., self.joint, :]
        return quat.normalize(quat.mul(self.above(rotations), local)) if self.between else local

    def local_rotation(self, rotations: Quats, relative: Quats) -> Quats:
        """Return the rotation (..., 4) relative to the parent, from that relative to the ancestor.

        Joints between have the rotations of `rotations` (..., J, 4).
        """
        if not self.between:
            return relative
        return quat.normalize(quat.mul(quat.inverse(self.above(rotations)), relative))

    def set_relative_rotation(self, rotations: Quats, relative: Quats) -> None:
        """Set, in place, the joint's rotation so that relative to the ancestor it is `relative`.

        Rotations that already agree stay unchanged, bit for bit.
        """
        if not self.between:
            rotations[..., self.joint, :] = relative
            return
        moved = (self.relative_rotation(rotations) != relative).any(axis=-1, keepdims=True)
        local = self.local_rotation(rotations, relative)
        rotations[..., self.joint, :] = np.where(moved, local, rotations[..., self.joint, :])

    def check_unmoved(self, skeleton: Skeleton, one: Pose, other: Pose) -> None:
        """Raise ValueError if the joints between have different rotations in the two poses."""
        for joint in self.between:
            a, b = one.rotations[..., joint, :], other.rotations[..., joint, :]
            if (quat.angle_between(a, b) > tolerance(a.dtype)).any():
                raise ValueError(
                    f"{skeleton.names[joint]} must keep still, because {skeleton.names[self.joint]}"
                    " is measured from above it"
                )

    def above(self, rotations: Quats) -> Quats:
        """Return the rotation (..., 4) of the parent relative to the ancestor.

        `between` must not be empty.
        """
        return reduce(quat.mul, [rotations[..., joint, :] for joint in self.between])


def lineage(skeleton: Skeleton, name: str, ancestor: str | None = None) -> Lineage:
    """Return the lineage of a joint, measured from its parent or from an ancestor, by name."""
    joint = skeleton.index(name)
    if ancestor is None:
        return Lineage(joint)
    between = path_between(skeleton, joint, skeleton.index(ancestor))
    if between is None:
        above = [skeleton.names[k] for k in skeleton.path_to_root(joint)[1:]]
        raise ValueError(
            f"{name} must be measured from a joint above it, {', '.join(above) or 'but has none'}, "
            f"got {ancestor}"
        )
    return Lineage(joint, between)


def path_between(skeleton: Skeleton, joint: int, ancestor: int) -> tuple[int, ...] | None:
    """Return the joints between two, parents first; None if `ancestor` is not above `joint`."""
    above = skeleton.path_to_root(joint)[1:]
    return tuple(above[: above.index(ancestor)][::-1]) if ancestor in above else None


def measure_from_ancestor(limit: Limit, joint: Lineage, skeleton: Skeleton) -> Limit:
    """Return the limit with `relative_to` set to the ancestor from which a joint is measured."""
    above = skeleton.names[skeleton.parents[joint.between[0]]] if joint.between else None
    return limit if limit.relative_to == above else replace(limit, relative_to=above)


def copy_limit(skeleton: Skeleton, name: str, limit: Limit) -> Limit:
    """Return a limit for another joint, with the same legal rotations.

    It is measured from the same ancestor. Raises ValueError if that is not above the joint, or if
    the joint is a root.
    """
    if skeleton.parents[skeleton.index(name)] < 0:
        raise ValueError(f"{name} is a root: nothing is above it that could limit it")
    return measure_from_ancestor(limit, lineage(skeleton, name, limit.relative_to), skeleton)
