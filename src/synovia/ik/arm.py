"""arm: move a wrist along a path, after Huang & Prakash.

In every frame the distance from shoulder to target gives the bend of the elbow. The shoulder then
makes the smallest rotation that brings the wrist to the target. If its limit does not allow that,
the arm swivels about the line from shoulder to wrist, as little as needed. If no swivel is legal,
the paper's walk back finds the point of the boundary where the shoulder stops.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors, rows
from ..limit import Limit
from ..model import LimitModel, first_exit
from ..shapes import Region, ThetaPhi
from ..skeleton import Pose, Skeleton, check_joints
from .goals import Reach
from .problem import Problem, check_movable, pack
from .search import GOAL_TOLERANCE, SearchSettings, check_above_0
from .solution import Solution
from .solve import Batch, JointVariables
from .two_bone import bend, swivel, triangle_of

MAX_STEP = 0.2  # radians that shoulder and elbow rotate in a frame unless given
SWIVELS = 81  # candidates, at most a step to both sides


def arm(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    shoulder: str,
    wrist: str,
    path: Vectors,
    *,
    largest_step: float = MAX_STEP,
    tolerance: float = GOAL_TOLERANCE,
) -> Solution:
    """Return legal poses, one for each row of `path` (frames, 3), with the wrist led along it.

    Shoulder and elbow rotate; the elbow is the joint after the shoulder. All other joints are as in
    `pose`. The first frame starts there, each other frame from the one before.

    Parameters
    ----------
    model
        The limits.
    skeleton
        The skeleton of the pose.
    pose
        One pose, or one for each row of the path.
    shoulder, wrist
        Names of the joints.
    path
        Positions (frames, 3) of the wrist in the world.
    largest_step
        Maximum rotation of shoulder and elbow in a frame, in radians.
    tolerance
        As for `SearchSettings`.

    Returns
    -------
    Solution
        One problem for each frame, with the distance of the wrist from the path as its error.
    """
    bones = _bones(skeleton, shoulder, wrist)
    targets = rows("path", path, 3)
    if targets.ndim != 2 or len(targets) == 0:
        raise ValueError(f"path must have shape (frames, 3), at least one, got {targets.shape}")
    check_above_0("largest_step", largest_step)
    settings = SearchSettings(tolerance=tolerance, threads=1)
    check_joints(skeleton, pose)
    frames = pose.rotations.shape[:-2]
    if frames not in ((), (len(targets),)):
        raise ValueError(f"pose must be one, or {len(targets)} like the path, got shape {frames}")
    movers = [skeleton.names[joint] for joint in bones]
    check_movable(model.for_skeleton(skeleton), movers)
    problem = pack(model, skeleton, pose, [Reach(wrist, targets)], movers)
    variables = JointVariables(problem, settings)
    batch = variables.start()
    _follow_path(problem, batch, bones, largest_step)
    batch.steps[:] = 1
    return variables.finish(batch)


def _bones(skeleton: Skeleton, shoulder: str, wrist: str) -> tuple[int, int]:
    """Return the indices of shoulder and elbow."""
    first, last = skeleton.index(shoulder), skeleton.index(wrist)
    path = skeleton.path_to_root(last)
    below = first in path
    if below:
        path = path[: path.index(first) + 1]
    if not below or len(path) < 3:
        raise ValueError(
            f"{wrist} must be below {shoulder} with an elbow between, got "
            f"{', '.join(skeleton.names[j] for j in reversed(path))}"
        )
    return first, path[-2]


def _follow_path(problem: Problem, batch: Batch, bones: tuple[int, int], step: float) -> None:
    """Write the rotations of shoulder and elbow into the batch, one row for each frame.

    `step` is the maximum rotation of a joint in a frame, in radians.
    """
    shoulder, elbow = bones
    _, upper, lower, target = triangle_of(problem, batch, bones)
    elbow_limit = problem.limit_from_parent(elbow)
    bend(batch, elbow, elbow_limit, upper, lower, np.linalg.norm(target, axis=-1))
    _shorten_steps(batch.rotations[:, elbow], elbow_limit, step)
    end = upper + quat.rotate(batch.rotations[:, elbow], lower)
    limit, first_frame = problem.limit_from_parent(shoulder), batch.take(np.arange(1))
    swivel(first_frame, shoulder, limit, upper[:1], elbow, lower[:1], target[:1], None)
    previous = batch.rotations[0, shoulder] = first_frame.rotations[0, shoulder]
    for frame in range(1, len(target)):
        previous = _next_rotation(limit, previous, end[frame], target[frame], step)
        batch.rotations[frame, shoulder] = previous


def _shorten_steps(rotations: Quats, limit: Limit | None, step: float) -> None:
    """Shorten steps between rotations (frames, 4), in place, to at most `step` radians."""
    for frame in range(1, len(rotations)):
        end = rotations[frame]
        bounded = _rotate_towards(rotations[frame - 1], end, step)
        if bounded is not end:
            rotations[frame] = bounded if limit is None else limit.project(bounded)


def _rotate_towards(start: Quats, end: Quats, max_angle: float) -> Quats:
    """Return `end`, or the rotation at `max_angle` radians from `start` on the path to it."""
    angle = float(quat.angle_between(start, end))
    return end if angle <= max_angle else quat.normalize(quat.slerp(start, end, max_angle / angle))


def _next_rotation(
    limit: Limit | None, previous: Quats, end: Vectors, target: Vectors, step: float
) -> Quats:
    """Return the legal rotation of the shoulder that brings the wrist nearest to its target.

    `end` is the wrist in the shoulder's frame, `target` its target in the parent's frame, `step`
    the maximum rotation from `previous` in radians.
    """
    direct = quat.normalize(quat.mul(quat.between(quat.rotate(previous, end), target), previous))
    direct = _rotate_towards(previous, direct, step)
    if limit is None or limit.contains(direct):
        return direct
    axis = quat.rotate(direct, end)
    axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    angles = np.linspace(-step, step, SWIVELS)
    swivels = quat.normalize(quat.mul(quat.exp(angles[:, None] * axis), direct))
    legal = limit.contains(swivels) & (quat.angle_between(previous, swivels) <= step)
    if legal.any():
        return np.asarray(swivels[np.where(legal, np.abs(angles), np.inf).argmin()])
    return _stop_at_boundary(limit, previous, direct, end, target, step)


@singledispatch
def _walk_back(shape: Region, previous: Points, proposed: Points) -> Points | None:
    """Return `ThetaPhi.walk_back` between two points; None for other shapes."""
    return None


@_walk_back.register
def _(shape: ThetaPhi, previous: Points, proposed: Points) -> Points | None:
    return shape.walk_back(previous, proposed)


def _stop_at_boundary(
    limit: Limit, previous: Quats, direct: Quats, end: Vectors, target: Vectors, step: float
) -> Quats:
    """Return the rotation that brings the wrist nearest, if `direct` is illegal at every swivel.

    Of `previous`, the walk back from `direct` and the projection of `direct`, those at most `step`
    radians from `previous` are compared.
    """
    points = limit.chart.points(np.stack([previous, direct]))
    point = _walk_back(limit.region, points[0], points[1])
    if point is None:
        share = float(first_exit(limit, previous, direct))
        stopped = quat.normalize(quat.slerp(previous, direct, share))
    else:
        stopped = limit.chart.rotations(point)
    choices = limit.project(np.stack([previous, stopped, limit.project(direct)]))
    error: Floats = np.linalg.norm(quat.rotate(choices, end) - target, axis=-1)
    error = np.where(quat.angle_between(previous, choices) <= step, error, np.inf)
    return np.asarray(choices[error.argmin()])
