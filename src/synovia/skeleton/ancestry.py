"""Rotations of joints as an ancestor sees them, for limits that are measured from one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from .. import quat
from ..arrays import Quats, tolerance
from ..limit import Limit
from .names import match
from .skeleton import Pose, Skeleton


@dataclass(frozen=True)
class Lineage:
    """A joint, and the joints between it and the ancestor that it is measured from.

    Those between are parents first, and none where the ancestor is the parent.
    """

    joint: int
    between: tuple[int, ...] = ()

    def seen(self, rotations: Quats) -> Quats:
        """Return what the ancestor sees of the joint (..., 4), from all rotations (..., J, 4)."""
        own: Quats = rotations[..., self.joint, :]
        return quat.normalize(quat.mul(self._above(rotations), own)) if self.between else own

    def local(self, rotations: Quats, seen: Quats) -> Quats:
        """Return the rotation of the joint, as its parent sees it, that the ancestor sees so."""
        if not self.between:
            return seen
        return quat.normalize(quat.mul(quat.inverse(self._above(rotations)), seen))

    def bring(self, rotations: Quats, seen: Quats) -> None:
        """Turn the joint, in place, so that it is `seen` so; if it is already, bit for bit not."""
        if not self.between:
            rotations[..., self.joint, :] = seen
            return
        moved = (self.seen(rotations) != seen).any(axis=-1, keepdims=True)
        turned = np.where(moved, self.local(rotations, seen), rotations[..., self.joint, :])
        rotations[..., self.joint, :] = turned

    def check_still(self, skeleton: Skeleton, one: Pose, other: Pose) -> None:
        """Raise ValueError where the joints between are turned otherwise in the other pose."""
        for joint in self.between:
            a, b = one.rotations[..., joint, :], other.rotations[..., joint, :]
            if (quat.angle_between(a, b) > tolerance(a.dtype)).any():
                raise ValueError(
                    f"{skeleton.names[joint]} must keep still, because {skeleton.names[self.joint]}"
                    " is measured from above it"
                )

    def _above(self, rotations: Quats) -> Quats:
        return reduce(quat.mul, [rotations[..., joint, :] for joint in self.between])


def lineage(skeleton: Skeleton, name: str, ancestor: str | None = None) -> Lineage:
    """Return the joint of this name, measured from its parent or from the ancestor named."""
    joint = skeleton.index(name)
    if ancestor is None:
        return Lineage(joint)
    between = _joints_between(skeleton, joint, skeleton.index(ancestor))
    if between is None:
        above = [skeleton.names[each] for each in _ancestors(skeleton, joint)]
        raise ValueError(
            f"{name} must be measured from a joint above it, {', '.join(above) or 'but has none'}, "
            f"got {ancestor}"
        )
    return Lineage(joint, between)


def measure_from_ancestor(limit: Limit, way: Lineage, skeleton: Skeleton) -> Limit:
    """Return the limit, measured from the ancestor that `way` has in `skeleton`, by its name."""
    above = skeleton.names[skeleton.parents[way.between[0]]] if way.between else None
    return limit if limit.relative_to == above else replace(limit, relative_to=above)


def lineages(
    joints: Mapping[str, int],
    ancestors: Mapping[str, str],
    theirs: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None = None,
    clip: str = "",
) -> dict[str, Lineage]:
    """Return the lineage in `skeleton` of each of `joints`, which it has by these numbers.

    `ancestors` name what some are measured from, as `theirs` names them, and `names` maps names of
    `skeleton` to those. A joint whose ancestor is not above it here is warned about and left out.
    """
    wanted = {ancestors[name] for name in joints if name in ancestors}
    tops = match(wanted, theirs, skeleton, names).joints
    found = {}
    for name, joint in joints.items():
        between: tuple[int, ...] | None = ()
        if name in ancestors:
            between = _joints_between(skeleton, joint, tops.get(ancestors[name], -1))
        if between is None:
            warnings.warn(
                f"{clip or 'clip'}: {name} is measured from {ancestors[name]}, which is not above "
                "it here, so that it is left alone",
                stacklevel=3,
            )
        else:
            found[name] = Lineage(joint, between)
    return found


def _joints_between(skeleton: Skeleton, joint: int, ancestor: int) -> tuple[int, ...] | None:
    """Return the joints between the two, parents first; none if it is not an ancestor."""
    above = _ancestors(skeleton, joint)
    return tuple(above[: above.index(ancestor)][::-1]) if ancestor in above else None


def _ancestors(skeleton: Skeleton, joint: int) -> list[int]:
    """Return the joints above, from the parent to a root."""
    above = []
    while (joint := int(skeleton.parents[joint])) >= 0:
        above.append(joint)
    return above
