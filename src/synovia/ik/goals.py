"""Goals: what a pose should do, by joint, and what a pose leaves of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors, floats, rows, unit_quats, whole_number
from ..skeleton import Pose, Skeleton, forward

# Goals: what a pose should do, by joint. Targets may have leading axes: one for each problem.
#
# Those of a lower `priority` come first: what comes later never takes away from them. Among goals
# of the same, weights decide.

WISH_WEIGHT = 0.01
"""The weight of `Stay` unless given: where other goals leave a choice, it decides."""


def _zero_point() -> Vectors:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Reach:
    """A joint, or a point fixed to it, should be at a target.

    Parameters
    ----------
    joint
        Its name.
    target
        A position (..., 3) in the world.
    point
        In the joint's own frame; the joint itself unless given.
    weight
        How much it counts among goals of the same priority.
    priority
        Goals of a lower number come first; later ones never take away from them.
    """

    joint: str
    target: Vectors
    point: Vectors = field(default_factory=_zero_point)
    weight: float = 1.0
    priority: int = 0

    def __post_init__(self) -> None:
        _check_name(self)
        _own(self, "target", rows("Reach.target", self.target, 3))
        _own(self, "point", _vector("Reach.point", self.point))
        _check_weight(self)


@dataclass(frozen=True, eq=False)
class Aim:
    """An axis of a joint should point at a target.

    Parameters
    ----------
    joint, target, weight, priority
        As those of `Reach`.
    axis
        A direction in the joint's own frame; z unless given.
    point
        Where the axis starts, in the same frame; the joint itself unless given.
    """

    joint: str
    target: Vectors
    axis: Vectors = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Vectors = field(default_factory=_zero_point)
    weight: float = 1.0
    priority: int = 0

    def __post_init__(self) -> None:
        _check_name(self)
        _own(self, "target", rows("Aim.target", self.target, 3))
        _own(self, "point", _vector("Aim.point", self.point))
        axis = _vector("Aim.axis", self.axis)
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            raise ValueError(f"Aim.axis must have a direction, got {axis.tolist()}")
        _own(self, "axis", axis / length)
        _check_weight(self)


@dataclass(frozen=True, eq=False)
class Orient:
    """A joint should have a rotation in the world.

    Parameters
    ----------
    joint, weight, priority
        As those of `Reach`.
    rotation
        A quaternion (..., 4), w first.
    """

    joint: str
    rotation: Quats
    weight: float = 1.0
    priority: int = 0

    def __post_init__(self) -> None:
        _check_name(self)
        _own(self, "rotation", unit_quats("Orient.rotation", self.rotation))
        _check_weight(self)


@dataclass(frozen=True, eq=False)
class Stay:
    """Joints should turn little from those of a pose.

    A wish, not a demand: whether a solution has converged does not depend on it.

    Parameters
    ----------
    pose
        What to stay near.
    joints
        Their names; all that may move unless given.
    weight
        How much it counts; 0.01 unless given, so that it decides where other goals leave a choice.
    """

    pose: Pose
    joints: Sequence[str] | None = None
    weight: float = WISH_WEIGHT

    def __post_init__(self) -> None:
        if self.joints is not None:
            if isinstance(self.joints, str):
                raise ValueError(f"Stay.joints must be a list of names, got {self.joints!r}")
            object.__setattr__(self, "joints", tuple(self.joints))
        _check_weight(self)


Goal = Reach | Aim | Orient | Stay


def _check_name(goal: Reach | Aim | Orient) -> None:
    if not isinstance(goal.joint, str) or not goal.joint:
        kind = type(goal).__name__
        raise ValueError(f"{kind}.joint must be the name of a joint, got {goal.joint!r}")


def _check_weight(goal: Goal) -> None:
    name = f"{type(goal).__name__}.weight"
    weight = floats(name, goal.weight)
    if weight.ndim != 0 or not weight > 0.0:
        raise ValueError(f"{name} must be a number above 0, got {goal.weight!r:.80}")
    object.__setattr__(goal, "weight", float(weight))
    if not isinstance(goal, Stay):
        priority = whole_number(f"{type(goal).__name__}.priority", goal.priority)
        object.__setattr__(goal, "priority", priority)


def _vector(name: str, values: Vectors) -> Vectors:
    array = rows(name, values, 3)
    if array.shape != (3,):
        raise ValueError(f"{name} must have shape (3,), got {array.shape}")
    return array


def _own(goal: Goal, name: str, values: Floats) -> None:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    object.__setattr__(goal, name, array)


# What a pose leaves of goals, for any poses: the solvers' own measure, apart from them.


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
