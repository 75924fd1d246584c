"""Limits of single joints in one buffer, which one kernel evaluates for whole poses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Quats, Scalars, tolerance
from ..limit import Limit
from .constraint import Constraint, JointLimit


def has_kernel(constraint: Constraint) -> bool:
    """Return True if the kernel of packed limits evaluates a constraint."""
    if not isinstance(constraint, JointLimit):
        return False
    return constraint.limit.compiled and constraint.limit.relative_to is None


def pack_limits(limits: Sequence[Limit]) -> tuple[Ints, Floats]:
    """Return the offset of each limit, and a buffer with them all."""
    parts = [limit.packed for limit in limits]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
    return offsets, np.concatenate([np.empty(0), *parts])


@dataclass(frozen=True, eq=False)
class PackedLimits:
    """Limits of joints that are measured from their parents."""

    joints: Ints
    """The index of each limit's joint."""
    limits: Sequence[Limit]
    offsets: Ints
    """Where each limit begins in the buffer."""
    buffer: Floats

    @classmethod
    def of(cls, limits: Sequence[Limit], joints: Sequence[int]) -> PackedLimits:
        """Return limits, and the indices of their joints, in one buffer."""
        return cls(np.array(joints, np.int64), limits, *pack_limits(limits))

    def project(self, rotations: Quats, precision: np.dtype[np.floating]) -> tuple[Quats, Scalars]:
        """Return legal rotations (..., J, 4) of a pose, and the distances (..., limits) from them.

        The kernel computes in `precision`, at least that of the rotations. Rotations without a
        limit here, and legal ones, come back as they are.
        """
        given, batch = rotations.dtype, rotations.shape[:-2]
        wide = np.ascontiguousarray(rotations, precision)
        out = wide.copy()
        distances = np.empty((math.prod(batch), len(self.joints)), precision)
        kernels.limit.project_poses(
            wide.reshape(-1),
            self.joints,
            self.offsets,
            self.buffer,
            tolerance(given),
            out.reshape(-1),
            distances,
        )
        legal = out.astype(given, copy=False)
        if out.dtype != given:
            for joint, limit in zip(self.joints, self.limits, strict=True):
                legal[..., joint, :] = limit.round_members(out[..., joint, :], given)
        return legal, distances.astype(given, copy=False).reshape(*batch, len(self.joints))
