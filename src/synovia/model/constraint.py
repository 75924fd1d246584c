"""Constraints: rules about some joints of a skeleton."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import Ints, Mask, Quats, Scalars, tolerance
from ..limit import Limit
from ..limit.softening import Softening
from ..skeleton import Lineage, Skeleton, lineage, measure_from_ancestor
from .clamp import clamp_path, first_exit
from .live import LiveJoint, LivePath, LivePaths
from .report import Held


@dataclass(frozen=True, eq=False)
class ClampedPaths:
    """Legal paths in time of a constraint's joints."""

    rotations: Quats
    """The paths (frames, k, 4)."""
    moved: Mask
    """True (frames, k) where a joint moved although it was legal: around changes of side."""
    over: Mask
    """True (frames, k) where the step from the frame before is longer than the bound."""


class Carried(NamedTuple):
    """A constraint on another skeleton: one, several simpler ones, or none."""

    constraints: tuple[Constraint, ...]
    loss: str = ""
    """What was lost, as a clause; empty if nothing was, or if only joints are missing."""
    lost: tuple[str, ...] = ()
    """The joints that it is about."""


class Constraint(ABC):
    """A rule about the rotations of some joints, which it may move to keep it.

    A joint is moved by one constraint of a model at most. All verbs take rotations (..., k, 4) of
    the k joints in `measured_from`, each relative to its parent or to the ancestor named there.
    """

    kind: ClassVar[str]
    """The name of this kind of constraint in files."""

    @property
    @abstractmethod
    def measured_from(self) -> Mapping[str, str | None]:
        """The constrained joints in order, and the ancestor of each; None for its parent."""

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the constrained joints."""
        return tuple(self.measured_from)

    @abstractmethod
    def distance(self, rotations: Quats) -> Scalars:
        """Return the signed distance (..., k) of each joint; at most 0 where it is legal."""

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (...): True where all joints are legal."""
        distance = self.distance(rotations)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    @abstractmethod
    def violation(self, rotations: Quats) -> Scalars:
        """Return the angle (..., k) from each joint to `nearest_rotations`, radians; 0 if legal."""

    def nearest_rotations(self, rotations: Quats) -> Quats:
        """Return the legal rotations (..., k, 4) at the smallest angle from each joint's own.

        Other joints stay as they are, and so do legal rotations. For constraints that are decided
        by a search over several joints, this is `project`.
        """
        return self.project(rotations)

    @abstractmethod
    def project(self, rotations: Quats) -> Quats:
        """Return legal rotations (..., k, 4) near to those given; legal ones come back as is."""

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        """Return rotations that approach the limit instead of stopping at it."""
        raise ValueError(f"{self.joints[0]}: a {self.kind} cannot be softened")

    @abstractmethod
    def first_exit(self, previous: Quats, proposed: Quats) -> Scalars:
        """Return the largest t (...) in [0, 1] for which the way up to t is legal."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        """Return `n` legal rotations (n, k, 4); joints that are free stay at `rest` (k, 4)."""

    def held_frames(self, rotations: Quats, violation: Scalars) -> dict[str, Held]:
        """Return the frames in which a joint is illegal only because of another, by joint."""
        return {}

    @abstractmethod
    def clamp_paths(
        self, rotations: Quats, bounds: Scalars, softening: Softening | None = None
    ) -> ClampedPaths:
        """Return legal paths in time for paths (frames, k, 4); see `model.clamp.clamp_path`.

        `bounds` (frames, k) are the longest steps of each joint, in radians.
        """

    @abstractmethod
    def live_paths(self, frame_time: float, look_ahead: int, max_speed: float) -> LivePaths:
        """Return an object that clamps the rotations of the joints frame by frame."""

    @abstractmethod
    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        """Return the constraints that express this one on another skeleton.

        `found` has the joints that are there, by this constraint's names for them.
        """

    def check(self, skeleton: Skeleton) -> None:
        """Raise ValueError if the skeleton lacks joints, or has them in another hierarchy."""
        for name, ancestor in self.measured_from.items():
            lineage(skeleton, name, ancestor)


@dataclass(frozen=True, eq=False)
class JointLimit(Constraint):
    """A limit on one joint, measured from its parent or from the limit's `relative_to`."""

    joint: str
    limit: Limit

    kind: ClassVar[str] = "joint limit"

    @property
    def measured_from(self) -> Mapping[str, str | None]:
        return {self.joint: self.limit.relative_to}

    def distance(self, rotations: Quats) -> Scalars:
        return self.limit.distance(rotations[..., 0, :])[..., None]

    def violation(self, rotations: Quats) -> Scalars:
        return self.limit.violation(rotations[..., 0, :])[..., None]

    def nearest_rotations(self, rotations: Quats) -> Quats:
        return self.limit.nearest_rotation(rotations[..., 0, :])[..., None, :]

    def project(self, rotations: Quats) -> Quats:
        return self.limit.project(rotations[..., 0, :])[..., None, :]

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        return self.limit.soften(rotations[..., 0, :], softening)[..., None, :]

    def first_exit(self, previous: Quats, proposed: Quats) -> Scalars:
        return first_exit(self.limit, previous[..., 0, :], proposed[..., 0, :])

    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        return self.limit.sample(n, rng)[:, None]

    def clamp_paths(
        self, rotations: Quats, bounds: Scalars, softening: Softening | None = None
    ) -> ClampedPaths:
        path = clamp_path(self.limit, rotations[:, 0], bounds[:, 0], softening=softening)
        masks = (mask_of(frames, len(rotations))[:, None] for frames in (path.moved, path.over))
        return ClampedPaths(path.rotations[:, None], *masks)

    def live_paths(self, frame_time: float, look_ahead: int, max_speed: float) -> LivePaths:
        path = LivePath(self.limit, frame_time, look_ahead=look_ahead, max_speed=max_speed)
        return LiveJoint(path)

    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        if self.joint not in found:
            return Carried(())
        target = found[self.joint]
        limit = measure_from_ancestor(self.limit, target, skeleton)
        return Carried((JointLimit(skeleton.names[target.joint], limit),))


def mask_of(frames: Ints, count: int) -> Mask:
    """Return a mask (count,) that is True at the given frame numbers."""
    mask = np.zeros(count, dtype=bool)
    mask[frames] = True
    return mask
