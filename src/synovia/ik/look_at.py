"""look_at and watch: spine, neck and head turn towards a target, each by its share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels, quat
from ..arrays import Floats, Mask, Quats, Vectors, floats
from ..model import LimitModel
from ..skeleton import Clip, Pose, Skeleton
from .descent import Batch, JointVariables, finish_batch, run_in_threads, start_batch
from .follow import (
    MAX_SPEED,
    Progress,
    advance_pose,
    check_frames,
    clamp_to_limits,
    largest_turn,
    limit_turns,
)
from .goals import Aim, errors_of
from .groups import GroupSolver
from .problem import Problem, pack
from .search import GOAL_TOLERANCE, SearchSettings, descend_unmet
from .solution import ClipSolution, Solution

ROUNDS = 8
"""Rounds over all joints; after the first, for what limits have not allowed."""


def look_at(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    target: Vectors,
    joints: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    axis: Vectors | None = None,
    point: Vectors | None = None,
    tolerance: float = GOAL_TOLERANCE,
    threads: int | None = None,
) -> Solution:
    """Return a legal pose in which `axis` of the last of `joints` points at `target`.

    From the first joint to the last, each takes its share of the turn; what its limit does not
    allow, those after it take up, and then those before.

    Parameters
    ----------
    model
        The limits; joints without one turn freely.
    skeleton
        What is posed.
    pose
        The start. Its leading axes, and the target's, are problems of their own.
    target
        A point (..., 3) in the world.
    joints
        Those that turn, from the body to the head.
    weights
        Their shares of the turn, all alike unless given.
    axis
        The direction that should point at the target, in the frame of the last joint; z unless
        given.
    point
        Where the axis starts, in the same frame: the eyes. The joint itself unless given.
    tolerance, threads
        As those of `solve`.

    Returns
    -------
    Solution
        The pose, and how near it comes.

    Examples
    --------
    >>> from synovia import LimitModel, Skeleton
    >>> from synovia.ik import look_at
    >>> names, offsets = ("Chest", "Neck", "Head"), [[0, 1, 0], [0, 0.4, 0], [0, 0.1, 0]]
    >>> neck = Skeleton(names, [-1, 0, 1], offsets)
    >>> free = LimitModel({}, neck)
    >>> found = look_at(free, neck, neck.rest_pose(), [1.0, 1.5, 1.0], ["Neck", "Head"])
    >>> bool(found.converged)
    True
    """
    if isinstance(joints, str) or len(joints) == 0:
        raise ValueError(f"joints must be a list of names, at least one, got {joints!r}")
    settings = SearchSettings(tolerance=tolerance, threads=threads)
    shares = _shares(weights, len(joints))
    goal = Aim(
        joints[-1],
        target,
        np.array([0.0, 0.0, 1.0]) if axis is None else axis,
        np.zeros(3) if point is None else point,
    )
    numbers = [skeleton.index(name) for name in joints]
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError(f"joints must go from the body to the head, got {', '.join(joints)}")
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        return GroupSolver.of(fitted).look(pose, goal, joints, weights, tolerance=tolerance)
    problem = pack(model, skeleton, pose, [goal], joints)
    missing = set(numbers) - set(problem.movers)
    if missing:
        aside = ", ".join(skeleton.names[j] for j in sorted(missing))
        raise ValueError(f"joints must be on the way to {joints[-1]}, got {aside} beside it")
    batch = start_batch(problem)
    _share_turns(problem, batch, shares, settings)
    descend_unmet(JointVariables(problem, settings), batch, settings)
    return finish_batch(problem, batch, settings, pose.rotations.dtype)


def _share_turns(problem: Problem, batch: Batch, shares: Floats, settings: SearchSettings) -> None:
    """Turn all joints, from the body to the head, in some rounds."""
    packed = np.array([ROUNDS, settings.tolerance, *shares])

    def part(here: slice) -> None:
        kernels.look_at.look_each(problem.chain, packed, *batch.arrays(here))

    run_in_threads(len(batch.targets), settings.threads, part)


def _shares(weights: ArrayLike | None, count: int) -> Floats:
    """Return the part of what is still to be turned that each joint is asked for; 1 at last."""
    given = np.ones(count) if weights is None else floats("weights", weights)
    if given.shape != (count,) or (given < 0.0).any() or not given[-1] > 0.0:
        raise ValueError(
            f"weights must be {count} numbers of at least 0, one for each joint, the last above 0, "
            f"got {weights!r:.80}"
        )
    return np.asarray(given / np.cumsum(given[::-1])[::-1])


def watch(
    model: LimitModel,
    clip: Clip,
    target: Vectors,
    joints: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    axis: Vectors | None = None,
    point: Vectors | None = None,
    max_speed: float = MAX_SPEED,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> ClipSolution:
    """Return `clip` with `axis` of the last of `joints` pointed at `target` in every frame.

    The clip is clamped first; each frame is then that of `look_at`.

    Parameters
    ----------
    model, joints, weights, axis, point
        As those of `look_at`.
    clip
        The motion to change.
    target
        One for all frames, or one for each: (frames, 3).
    max_speed
        Radians a second by which a joint may turn away from what the clip does; more, as when a
        target passes behind the back, takes some frames.
    names
        Names of the clip's joints, and those of the model for them, where they differ.
    progress
        Gives back the frames one by one, as a progress bar does.

    Returns
    -------
    ClipSolution
        The clip, and by frame how near it comes and what is in the way.
    """
    joints = list(joints)
    most = largest_turn(max_speed, clip)
    fitted, legal = clamp_to_limits(model, clip, names)
    check_frames(Aim(joints[-1] if joints else "?", target), clip)
    look = partial(look_at, weights=weights, axis=axis, point=point, tolerance=GOAL_TOLERANCE)
    found = look(fitted, clip.skeleton, legal.pose, target, joints)
    rotations = found.pose.rotations.copy()
    slow = _limit_speed(fitted, legal, rotations, most, progress)
    pose = Pose(rotations, legal.pose.positions)
    errors = np.where(slow[:, None], errors_of(found.goals, fitted, pose), found.errors)
    near = kernels.ik_goals.TURN_SHARE * errors[:, 0] <= GOAL_TOLERANCE
    met = np.where(slow, near, found.converged)
    whole = replace(found, pose=pose, errors=errors, converged=met)
    return ClipSolution(replace(clip, pose=pose), whole, slow & ~met, np.zeros_like(slow))


def _limit_speed(
    model: LimitModel, clip: Clip, rotations: Quats, most: float, progress: Progress
) -> Mask:
    """Let no joint turn away from the clip by more than `most` radians a frame, in place.

    Returns the frames (frames,) that this changed. All are looked at together first, as if each
    followed on what was found for the one before; only where that is changed, one by one.
    """
    slow, places = np.zeros(clip.frames, np.bool_), clip.pose.positions
    late = np.zeros(clip.frames, np.bool_)
    if clip.frames > 1:
        following = np.arange(1, clip.frames)
        start = advance_pose(model, Pose(rotations[:-1], places[:-1]), clip, following)
        turns = quat.angle_between(start.rotations, rotations[1:]).max(axis=-1)
        late[1:] = ~(turns <= most)
    for frame in progress(range(1, clip.frames)):
        if late[frame] or slow[frame - 1]:
            last = Pose(rotations[frame - 1], places[frame - 1])
            start = advance_pose(model, last, clip, frame)
            limited = limit_turns(model, start.rotations, rotations[frame], most)
            if limited is not None:
                rotations[frame], slow[frame] = limited, True
    return slow
