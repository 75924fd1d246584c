"""Constraints placed on a skeleton, in order; applied to poses and clips by a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Quats, Scalars, tolerance
from ..learn import Progress
from ..limit import Limit
from ..limit.softening import Softening
from ..skeleton import Clip, Lineage, Pose, Skeleton, lineage
from .clamp import clamp_paths, step_bounds
from .constraint import Constraint, JointLimit
from .limb import Limb
from .report import ClampReport, Held, Report

if TYPE_CHECKING:
    from .model import LimitModel

MAX_ROUNDS = 8  # of projections onto several models; one is enough where the last is the widest


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
        return [line.joint for line in self.lineages]

    @cached_property
    def between(self) -> frozenset[int]:
        """The joints that others are measured across, but for the constrained ones."""
        across = {joint for line in self.lineages for joint in line.between}
        return frozenset(across - set(self.joints))

    @property
    def has_kernel(self) -> bool:
        """True if the kernel of packed limits evaluates the constraint."""
        if not isinstance(self.constraint, JointLimit):
            return False
        return self.constraint.limit.compiled and self.constraint.limit.relative_to is None

    def relative(self, rotations: Quats) -> Quats:
        """Return the rotations (..., k, 4) that the constraint sees in a pose's (..., J, 4)."""
        if not any(line.between for line in self.lineages):
            return rotations[..., self.joints, :]
        return np.stack([line.relative_rotation(rotations) for line in self.lineages], axis=-2)

    def set_relative(self, rotations: Quats, relative: Quats) -> None:
        """Set the joints in place, so that the constraint sees `relative` (..., k, 4)."""
        for k, line in enumerate(self.lineages):
            line.set_relative_rotation(rotations, relative[..., k, :])

    def check_unmoved(self, skeleton: Skeleton, one: Pose, other: Pose) -> None:
        """Raise ValueError if a joint that others are measured across differs in the poses."""
        for line in self.lineages:
            across = tuple(joint for joint in line.between if joint in self.between)
            Lineage(line.joint, across).check_unmoved(skeleton, one, other)


def place_in_order(skeleton: Skeleton, constraints: Sequence[Constraint]) -> list[Placed]:
    """Return the constraints on a skeleton, each after those whose joints it is measured across.

    Parents come first among the others. A joint must belong to one constraint only.
    """
    waiting = sorted(
        (Placed.on(skeleton, each) for each in constraints), key=lambda each: min(each.joints)
    )
    ordered: list[Placed] = []
    while waiting:
        moving = {joint for item in waiting for joint in item.joints}
        ready = [item for item in waiting if not item.between & moving] or waiting
        ordered += ready
        waiting = [item for item in waiting if item not in ready]
    return ordered


def pack_limits(limits: Sequence[Limit]) -> tuple[Ints, Floats]:
    """Return the offset of each limit, and a buffer with them all."""
    parts = [limit.packed for limit in limits]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
    return offsets, np.concatenate([np.empty(0), *parts])


@dataclass(frozen=True, eq=False)
class PackedLimits:
    """Limits of joints that are measured from their parents, evaluated by one kernel."""

    joints: Ints
    """The index of each limit's joint."""
    limits: Sequence[Limit]

    @classmethod
    def of(cls, placed: Sequence[Placed]) -> PackedLimits:
        """Return the limits among constraints that have a kernel."""
        limits = {
            item.joints[0]: item.constraint.limit
            for item in placed
            if isinstance(item.constraint, JointLimit) and item.has_kernel
        }
        return cls(np.array(list(limits), np.int64), list(limits.values()))

    @cached_property
    def packed(self) -> tuple[Ints, Floats]:
        """Where each limit begins in the buffer, and the buffer."""
        return pack_limits(self.limits)

    def project(self, rotations: Quats) -> tuple[Quats, Scalars]:
        """Return legal rotations (..., J, 4) of a pose, and the distances (..., limits) from them.

        Rotations without a limit here, and legal ones, come back as they are.
        """
        dtype, batch = rotations.dtype, rotations.shape[:-2]
        precision = dtype
        if dtype != np.float64:  # the loop takes half of the time of one pose
            precision = np.result_type(dtype, *(limit.precision(dtype) for limit in self.limits))
        wide = np.ascontiguousarray(rotations, precision)
        out = wide.copy()
        distances = np.empty((math.prod(batch), len(self.joints)), precision)
        outputs = tolerance(dtype), out.reshape(-1), distances
        kernels.limit.project_poses(wide.reshape(-1), self.joints, *self.packed, *outputs)
        legal = out.astype(dtype, copy=False)
        if out.dtype != dtype:
            for joint, limit in zip(self.joints, self.limits, strict=True):
                legal[..., joint, :] = limit.round_members(out[..., joint, :], dtype)
        return legal, distances.astype(dtype, copy=False).reshape(*batch, len(self.joints))


def share_twist(model: LimitModel, pose: Pose) -> Pose:
    """Return poses (...) with twist along limbs where the joints' own limits judge it.

    Joints keep their positions. A joint of a limb is legal in `pose` if its own limit contains its
    rotation in the result.
    """
    rotations = pose.rotations.copy()
    for placed in model.placed:
        if isinstance(placed.constraint, Limb):
            relative = placed.relative(rotations)
            placed.set_relative(rotations, placed.constraint.redistribute(relative))
    return pose.with_rotations(rotations)


def clamp_clip(
    model: LimitModel,
    clip: Clip,
    like: Clip,
    softening: Softening | None,
    max_speed: float,
    progress: Progress,
    *,
    to_usual: bool,
) -> tuple[Clip, ClampReport]:
    """Return a legal clip, and a report of the legal frames that moved and of long steps.

    The model is of the clip's skeleton. With `to_usual`, the clip is projected onto the usual and
    the possible limits in turn until both are met; the result is legal in the latter. The options
    are those of `LimitModel.project_clip`.
    """
    if to_usual and model.usual is None:
        raise ValueError("to_usual needs a model with usual limits, got one without")
    models = [model] if model.usual is None or not to_usual else [model.usual, model]
    legal, moved, over = clip, dict[str, Ints](), dict[str, Ints]()
    for _ in range(MAX_ROUNDS):
        for limits in models:
            placed_by_name = {item.constraint.joints[0]: item for item in limits.placed}
            rotations = legal.pose.rotations.copy()
            for name in progress(list(placed_by_name)):
                placed = placed_by_name[name]
                steps = placed.relative(like.pose.rotations)
                bounds = step_bounds(steps, clip.frame_time, max_speed)
                paths = placed.relative(rotations)
                clamped = clamp_paths(placed.constraint, paths, bounds, softening)
                placed.set_relative(rotations, clamped.rotations)
                for frames, mask in ((moved, clamped.moved), (over, clamped.over)):
                    columns = zip(placed.constraint.joints, mask.T, strict=True)
                    frames |= {joint: np.flatnonzero(c) for joint, c in columns if c.any()}
            legal = replace(legal, pose=legal.pose.with_rotations(rotations))
        if softening is not None or all(limits.check(legal).ok for limits in models[:-1]):
            break
    return legal, ClampReport(clip.name, moved, over)


def check_clip(
    model: LimitModel, clip: Clip, names: Mapping[str, str], *, progress: Progress
) -> Report:
    """Return how far, where and how often a clip leaves the limits of its skeleton.

    `names` are those of the joints in the report, by their names in the clip.
    """
    placed = {item.constraint.joints[0]: item for item in model.placed}
    columns = {name: column for column, name in enumerate(model.names)}
    violation = np.zeros((clip.frames, len(columns)))
    held_by_name: dict[str, Held] = {}
    for name in progress(list(placed)):
        constraint = placed[name].constraint
        relative = placed[name].relative(clip.pose.rotations)
        angles = constraint.violation(relative)
        for joint, path in zip(constraint.joints, angles.T, strict=True):
            if joint in columns:
                violation[:, columns[joint]] = path
        held_by_name |= constraint.held_frames(relative, angles)
    return Report(
        clip.name,
        tuple(names[name] for name in columns),
        violation,
        clip.frame_time,
        {
            names[name]: replace(frames, driver=names[frames.driver])
            for name, frames in held_by_name.items()
        },
    )
