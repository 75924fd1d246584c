"""Paths in time, clamped to a constraint without jumps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Scalars, unit_quats
from ..limit.softening import Beyond, Softening
from .bounded import SLACK, Problem, bound_steps

if TYPE_CHECKING:
    from .constraint import Constraint

MAX_SPEED = float(np.radians(400.0))
"""Radians a second; slower steps are never shortened."""
GROWTH = 2.0  # largest ratio of a step to the step of the input


@dataclass(frozen=True, eq=False)
class ClampedPaths:
    """Legal paths in time of a constraint's joints."""

    rotations: Quats
    """The paths (frames, k, 4)."""
    moved: Mask
    """True (frames, k) where a joint moved although its constraint was met: around jumps."""
    over: Mask
    """True (frames, k) where the step from the frame before is longer than the bound."""


def step_bounds(rotations: Quats, frame_time: float, max_speed: float = MAX_SPEED) -> Scalars:
    """Return the bounds (frames, ...) of the steps to each frame of (frames, ..., 4), in radians.

    A step may have `max_speed`, in radians a second; or be twice the step of the input if that is
    more, but exceed it by no more than that speed allows. ValueError unless the speed is above 0.
    """
    check_speed(max_speed)
    rotations, max_step = rotations.astype(np.float64), max_speed * frame_time
    steps = np.zeros(rotations.shape[:-1])
    steps[1:] = quat.angle_between(rotations[:-1], rotations[1:])
    return np.asarray(np.maximum(np.minimum(GROWTH * steps, steps + max_step), max_step))


def clamp_paths(
    constraint: Constraint, rotations: Quats, bounds: Floats, softening: Softening | None = None
) -> ClampedPaths:
    """Return legal paths near the given ones, with bounded steps.

    Projecting each frame by itself jumps where another side of the limit becomes nearer. Among the
    legal paths whose steps are within `bounds`, the result approximates the one with the least sum
    of squared angles to the input. Legal frames move only if the bound requires it. Legal paths
    come back bit for bit.

    Parameters
    ----------
    constraint
        The constraint on k joints.
    rotations
        Their paths (frames, k, 4).
    bounds
        The longest steps (frames, k) to each frame, in radians; see `step_bounds`. The first are
        the smallest. If they are `inf`, each frame is projected by itself.
    softening
        How to approach the limit instead of stopping at it: `Inside` or `Beyond`. The result is
        then near the path that is softened frame by frame.
    """
    rotations = unit_quats("rotations", rotations)
    over = np.zeros(rotations.shape[:2], dtype=bool)
    nearest, kept = constraint.nearest_path(rotations, bounds)
    if kept.all() and softening is None:
        return ClampedPaths(rotations.copy(), over, over)
    if softening is not None:
        nearest = same_sign(constraint.soften(rotations, softening), rotations)
        kept = (nearest == rotations).all(axis=(1, 2))
    path = nearest.astype(np.float64)
    inputs = path if softening else rotations.astype(np.float64)
    radius = softening.radius if isinstance(softening, Beyond) else 0.0
    project = partial(project_within, constraint, radius) if radius else constraint.project
    found = bound_steps(Problem(constraint, project, inputs, path, bounds, kept))
    changed = (found != path).any(axis=(1, 2), keepdims=True)
    out = np.where(changed, same_sign(found, rotations), nearest).astype(rotations.dtype)
    moved = kept[:, None] & (out != rotations).any(axis=-1)
    over[1:] = quat.angle_between(found[:-1], found[1:]) > bounds[1:] + SLACK
    return ClampedPaths(out, moved, over)


def project_within(constraint: Constraint, radius: float, rotations: Quats) -> Quats:
    """Return rotations (n, k, 4) moved to within `radius` radians of their projections."""
    legal = constraint.project(rotations)
    share = np.minimum(1.0, radius / np.maximum(quat.angle_between(legal, rotations), 1e-300))
    return quat.normalize(quat.slerp(legal, rotations, share))


def check_speed(max_speed: float) -> None:
    """Raise ValueError unless `max_speed` is more than 0."""
    if not max_speed > 0.0:
        raise ValueError(f"max_speed must be more than 0 radians a second, got {max_speed}")


def same_sign(rotations: Quats, like: Quats) -> Quats:
    """Return the quaternions with the signs for which they are nearest to `like`."""
    opposite = np.sum(rotations * like, axis=-1, keepdims=True) < 0.0
    return np.where(opposite, -rotations, rotations)
