"""arm: a hand led along a path, as in Huang & Prakash: elbow by distance, shoulder by its table.

In every frame the elbow's bend follows from how far the wrist should be from the shoulder. The
shoulder then turns from where it was by the least that brings the wrist there. Where its limit
does not allow that, the arm swivels about the line from shoulder to wrist, as little as needed;
and where no swivel near by is legal, the paper's walk back to the boundary stops it on the way.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors, rows
from ..limit import Limit
from ..model import LimitModel, first_exit
from ..shapes import Region, ThetaPhi
from ..skeleton import Pose, Skeleton, check_joints, forward
from .descent import Batch, finish_batch, start_batch
from .goals import Reach
from .problem import Problem, check_movable, pack
from .search import GOAL_TOLERANCE, SearchSettings, check_above_0
from .solution import Solution
from .two_bone import bend, swivel

STEP = 0.2
"""Radians by which shoulder and elbow turn in a frame, at most, unless given."""
SWIVELS = 81  # that are looked at, up to as far as a step to both sides


class _Joints(NamedTuple):
    """Numbers of the joints, and of those between elbow and wrist, from the elbow down."""

    shoulder: int
    elbow: int
    between: tuple[int, ...]
    wrist: int


def arm(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    shoulder: str,
    wrist: str,
    path: Vectors,
    *,
    largest_step: float = STEP,
    tolerance: float = GOAL_TOLERANCE,
) -> Solution:
    """Return legal poses, one for each row of `path` (frames, 3), with the wrist led along it.

    Shoulder and elbow turn, the elbow being the joint after the shoulder; all else is as in `pose`.
    The first frame is found from there, each other from the one before.

    Parameters
    ----------
    model
        The limits.
    skeleton
        What is posed.
    pose
        One, or as many as the path has frames.
    shoulder, wrist
        The joints' names.
    path
        Where the wrist should be, in the world.
    largest_step
        Radians that shoulder and elbow turn in a frame, at most.
    tolerance
        As that of `solve`.

    Returns
    -------
    Solution
        One problem for each frame: `converged` tells which are met, `errors` how far off the wrist
        is.
    """
    joints = _joints(skeleton, shoulder, wrist)
    targets = rows("path", path, 3)
    if targets.ndim != 2 or len(targets) == 0:
        raise ValueError(f"path must have shape (frames, 3), at least one, got {targets.shape}")
    check_above_0("largest_step", largest_step)
    settings = SearchSettings(tolerance=tolerance, threads=1)
    check_joints(skeleton, pose)
    frames = pose.rotations.shape[:-2]
    if frames not in ((), (len(targets),)):
        raise ValueError(f"pose must be one, or {len(targets)} like the path, got shape {frames}")
    turning = [shoulder, skeleton.names[joints.elbow]]
    check_movable(model.for_skeleton(skeleton), turning)
    problem = pack(model, skeleton, pose, [Reach(wrist, targets)], turning)
    batch = start_batch(problem)
    _follow_path(problem, batch, joints, largest_step)
    batch.steps[:] = 1
    error = np.linalg.norm(_wrists(problem, batch, joints) - targets, axis=-1) / batch.lengths
    batch.squares[:], batch.met[:] = error**2, error <= tolerance
    return finish_batch(problem, batch, settings, pose.rotations.dtype)


def _joints(skeleton: Skeleton, shoulder: str, wrist: str) -> _Joints:
    first, last = skeleton.index(shoulder), skeleton.index(wrist)
    line = skeleton.path_to_root(last)
    below = first in line
    if below:
        line = line[: line.index(first) + 1]
    if not below or len(line) < 3:
        raise ValueError(
            f"{wrist} must be below {shoulder} with an elbow between, got "
            f"{', '.join(skeleton.names[j] for j in reversed(line))}"
        )
    return _Joints(first, line[-2], tuple(line[-3:0:-1]), last)


def _wrists(problem: Problem, batch: Batch, joints: _Joints) -> Vectors:
    where, _ = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    return where[:, joints.wrist]


def _follow_path(problem: Problem, batch: Batch, joints: _Joints, step: float) -> None:
    """Write the rotations of shoulder and elbow, frame after frame."""
    shoulder, elbow, between, _ = joints
    where, how = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    above = quat.mul(how[:, shoulder], quat.inverse(batch.rotations[:, shoulder]))
    way = quat.rotate(quat.inverse(above), batch.targets[:, 0, :3] - where[:, shoulder])
    upper, lower = batch.positions[:, elbow], batch.positions[:, joints.wrist]
    for joint in reversed(between):
        lower = batch.positions[:, joint] + quat.rotate(batch.rotations[:, joint], lower)
    far = np.linalg.norm(way, axis=-1)
    bend(batch, elbow, problem.limit_from_parent(elbow), upper, lower, far)
    _shorten_steps(batch.rotations[:, elbow], problem.limit_from_parent(elbow), step)
    end = upper + quat.rotate(batch.rotations[:, elbow], lower)
    limit, first = problem.limit_from_parent(shoulder), batch.take(np.arange(1))
    swivel(first, shoulder, limit, upper[:1], elbow, lower[:1], way[:1], None)
    last = batch.rotations[0, shoulder] = first.rotations[0, shoulder]
    for frame in range(1, len(way)):
        last = _next_rotation(limit, last, end[frame], way[frame], step)
        batch.rotations[frame, shoulder] = last


def _shorten_steps(rotations: Quats, limit: Limit | None, step: float) -> None:
    """Shorten the steps of a path of legal rotations, which lags from there on."""
    for frame in range(1, len(rotations)):
        before, wanted = rotations[frame - 1], rotations[frame]
        angle = float(quat.angle_between(before, wanted))
        if angle > step:
            nearer = _partial_turn(before, wanted, step / angle)
            rotations[frame] = nearer if limit is None else limit.project(nearer)


def _partial_turn(start: Quats, end: Quats, share: float) -> Quats:
    """Return the rotation a share of the way from start to end."""
    turn = quat.log(quat.mul(quat.inverse(start), end))
    return quat.normalize(quat.mul(start, quat.exp(share * turn)))


def _next_rotation(
    limit: Limit | None, last: Quats, end: Vectors, way: Vectors, step: float
) -> Quats:
    """Return the shoulder's rotation that brings the arm's `end` to `way`, or as near as it may.

    `end` is the wrist as the shoulder sees it, `way` that to its target as the parent does.
    """
    straight = quat.normalize(quat.mul(quat.between(quat.rotate(last, end), way), last))
    angle = float(quat.angle_between(last, straight))
    if angle > step:
        straight = _partial_turn(last, straight, step / angle)
    if limit is None or limit.contains(straight):
        return straight
    axis = quat.rotate(straight, end)
    axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    angles = np.linspace(-step, step, SWIVELS)
    swivels = quat.normalize(quat.mul(quat.exp(angles[:, None] * axis), straight))
    legal = limit.contains(swivels) & (quat.angle_between(last, swivels) <= step)
    if legal.any():
        return np.asarray(swivels[np.where(legal, np.abs(angles), np.inf).argmin()])
    return _stop_at_boundary(limit, last, straight, end, way, step)


@singledispatch
def _walk_back(shape: Region, previous: Points, proposed: Points) -> Points | None:
    """Return where a table stops the path from `previous` to `proposed`; None for other shapes."""
    return None


@_walk_back.register
def _(shape: ThetaPhi, previous: Points, proposed: Points) -> Points | None:
    return shape.walk_back(previous, proposed)


def _stop_at_boundary(
    limit: Limit, last: Quats, straight: Quats, end: Vectors, way: Vectors, step: float
) -> Quats:
    """Return where the boundary stops the shoulder: walked back to, or slid along if nearer."""
    points = limit.chart.points(np.stack([last, straight]))
    walked = _walk_back(limit.region, points[0], points[1])
    if walked is None:
        back = _partial_turn(last, straight, float(first_exit(limit, last, straight)))
    else:
        back = limit.chart.rotations(walked)
    choices = limit.project(np.stack([last, back, limit.project(straight)]))
    off: Floats = np.linalg.norm(quat.rotate(choices, end) - way, axis=-1)
    off = np.where(quat.angle_between(last, choices) <= step, off, np.inf)
    return np.asarray(choices[off.argmin()])
