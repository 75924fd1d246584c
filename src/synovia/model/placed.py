"""Constraints placed on a skeleton: which joints they measure, and in which order they apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Quats, Scalars
from ..limit.softening import Softening
from ..skeleton import Lineage, Pose, Skeleton, lineage
from .clamp import ClampedPaths
from .constraint import Constraint


@dataclass(frozen=True, eq=False)
class Placed:
    """A constraint with the joints of a skeleton that it is about."""

    constraint: Constraint
    lineages: tuple[Lineage, ...]

    @classmethod
    def on(cls, skeleton: Skeleton, constraint: Constraint) -> Placed:
        """Return the constraint placed on a skeleton that has its joints."""
        measured = constraint.measured_from.items()
        return cls(constraint, tuple(lineage(skeleton, name, above) for name, above in measured))

    @cached_property
    def joints(self) -> list[int]:
        """The indices of the constrained joints."""
        return [each.joint for each in self.lineages]

    @cached_property
    def between(self) -> frozenset[int]:
        """The joints that others are measured across, but for the constrained ones."""
        across = {joint for each in self.lineages for joint in each.between}
        return frozenset(across - set(self.joints))

    def relative(self, rotations: Quats) -> Quats:
        """Return the rotations (..., k, 4) that the constraint sees in a pose's (..., J, 4)."""
        if not any(each.between for each in self.lineages):
            return rotations[..., self.joints, :]
        return np.stack([each.relative_rotation(rotations) for each in self.lineages], axis=-2)

    def set_relative(self, rotations: Quats, relative: Quats) -> None:
        """Set the joints in place, so that the constraint sees `relative` (..., k, 4)."""
        for k, each in enumerate(self.lineages):
            each.set_relative_rotation(rotations, relative[..., k, :])

    def clamp_paths(
        self, rotations: Quats, bounds: Scalars, softening: Softening | None
    ) -> ClampedPaths:
        """Make the paths of the constrained joints legal, in place in `rotations` (frames, J, 4).

        Returns the legal paths as the constraint sees them.
        """
        clamped = self.constraint.clamp_paths(self.relative(rotations), bounds, softening)
        self.set_relative(rotations, clamped.rotations)
        return clamped

    def check_unmoved(self, skeleton: Skeleton, one: Pose, other: Pose) -> None:
        """Raise ValueError if a joint that others are measured across differs in the poses."""
        for each in self.lineages:
            across = tuple(joint for joint in each.between if joint in self.between)
            Lineage(each.joint, across).check_unmoved(skeleton, one, other)


def place_in_order(skeleton: Skeleton, constraints: Sequence[Constraint]) -> list[Placed]:
    """Return the constraints on a skeleton, each after those whose joints it is measured across.

    Parents come first among the others. A joint must belong to one constraint only.
    """
    waiting = sorted(
        (Placed.on(skeleton, each) for each in constraints), key=lambda each: min(each.joints)
    )
    ordered: list[Placed] = []
    while waiting:
        moving = [
            {joint for other in waiting if other is not each for joint in other.joints}
            for each in waiting
        ]
        ready = [
            each for each, others in zip(waiting, moving, strict=True) if not each.between & others
        ] or waiting
        ordered += ready
        waiting = [each for each in waiting if each not in ready]
    return ordered
