"""What a pose leaves of goals, for any poses: the solvers' own measure, apart from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors
from ..skeleton import Pose, Skeleton, forward
from .goals import Goal, Orient, Reach, Stay


def gaps(
    goals: Sequence[Goal],
    skeleton: Skeleton,
    pose: Pose,
    placed: tuple[Vectors, Quats] | None = None,
) -> list[Vectors]:
    """Return what is left of each goal, (..., 3), or (..., joints, 3) for `Stay`.

    A way to go in the world for `Reach`, a rotation vector in radians for others. Poses and
    targets broadcast. An aim at the very point it starts from is met. `placed` is what `forward`
    gives for the pose, where that is known.
    """
    if placed is None:
        placed = forward(skeleton, pose)
    return [_gap(goal, skeleton, pose, *placed) for goal in goals]


def errors_of(goals: Sequence[Goal], skeleton: Skeleton, pose: Pose) -> Scalars:
    """Return how far each goal is from being met, (..., goals), as `Solution.errors` has it."""
    lengths = [np.linalg.norm(gap, axis=-1) for gap in gaps(goals, skeleton, pose)]
    worst = [
        size.max(axis=-1, initial=0.0) if isinstance(goal, Stay) else size
        for goal, size in zip(goals, lengths, strict=True)
    ]
    return np.stack(np.broadcast_arrays(*worst), axis=-1)


def _gap(goal: Goal, skeleton: Skeleton, pose: Pose, where: Vectors, how: Quats) -> Vectors:
    if isinstance(goal, Stay):
        names = skeleton.names if goal.joints is None else goal.joints
        joints = [skeleton.index(name) for name in names]
        own = quat.inverse(pose.rotations[..., joints, :])
        return quat.log(quat.mul(own, goal.pose.rotations[..., joints, :]))
    joint = skeleton.index(goal.joint)
    turn = how[..., joint, :]
    if isinstance(goal, Orient):
        return quat.log(quat.mul(goal.rotation, quat.inverse(turn)))
    way = np.asarray(goal.target - where[..., joint, :] - quat.rotate(turn, goal.point))
    if isinstance(goal, Reach):
        return way
    along = quat.rotate(turn, goal.axis)
    there = np.linalg.norm(way, axis=-1, keepdims=True) > 1e-12
    return quat.log(quat.between(along, np.where(there, way, along)))
