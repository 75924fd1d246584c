"""Goals: what a pose should do, by joint, and what a pose leaves of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors, floats, rows, unit_quats, whole_number
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward, lineage

# Goals: what a pose should do, by joint. Targets may have leading axes: one for each problem.
#
# Those of a lower `priority` come first: what comes later never takes away from them. Among goals
# of the same, weights decide.

WISH_WEIGHT = 0.01
"""The weight of `Stay` and `Comfort` unless given: they decide where others leave a choice."""
COMFORT_MARGIN = math.radians(10.0)
"""How far from its limit a joint is at ease, in radians, unless given."""


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
        _check_names(self)
        _check_weight(self)


@dataclass(frozen=True, eq=False)
class Comfort:
    """Joints should keep away from their limits.

    What counts is how far a joint is outside its limit made smaller by `margin` all around, in the
    chart's metric: nothing for one that is deeper inside, and the more the nearer it is to the
    limit. A region that is narrower than twice the margin shrinks to its middle. For controls of a
    figure it is how much nearer than the margin they are to an end of their range; a control that
    is no angle has a tenth of its range as its margin.

    A wish, not a demand: whether a solution has converged does not depend on it.

    Parameters
    ----------
    joints
        Their names; all that may move and have a limit unless given.
    margin
        Radians, 10 degrees unless given.
    weight
        How much it counts; 0.01 unless given, so that it decides where other goals leave a choice.

    Examples
    --------
    >>> from synovia import LimitModel, Skeleton
    >>> from synovia.ik import Comfort, Reach, solve
    >>> from synovia.limit import Limit
    >>> from synovia.charts import SwingTwist
    >>> from synovia.shapes import Box  # a hinge: no swing, a twist of ±1 radian
    >>> arm = Skeleton(("A", "B", "C", "Hand"), [-1, 0, 1, 2], [[0, 0, 0], *3 * [[1, 0, 0]]])
    >>> hinge = Limit(SwingTwist(axis=[0, 0, 1]), Box([0, 0, -1], [0, 0, 1], np.eye(3)))
    >>> model = LimitModel({"B": hinge, "C": hinge}, arm)
    >>> goals = [Reach("Hand", [2.2, 1.2, 0.0]), Comfort(margin=0.5)]
    >>> found = solve(model, arm, arm.rest_pose(), goals, joints=["A", "B", "C"])
    >>> found.reason()
    'all goals are met'
    """

    joints: Sequence[str] | None = None
    margin: float = COMFORT_MARGIN
    weight: float = WISH_WEIGHT

    def __post_init__(self) -> None:
        _check_names(self)
        margin = floats("Comfort.margin", self.margin)
        if margin.ndim != 0 or not 0.0 < margin <= math.pi:
            raise ValueError(
                f"Comfort.margin must be above 0 and at most π radians, got {self.margin!r:.80}"
            )
        object.__setattr__(self, "margin", float(margin))
        _check_weight(self)

    def limits(self, model: LimitModel) -> dict[str, tuple[Limit, float]]:
        """Return, by joint, a limit and a depth in radians: joints so deep inside are at ease.

        The limit is made smaller by the margin, and the depth 0, where kernels know such a limit.
        """
        names = [*model.limits] if self.joints is None else self.joints
        if bare := [name for name in names if name not in model.limits]:
            raise ValueError(f"Comfort.joints must have limits, got {', '.join(bare)} without one")
        return {name: self._shrink(limit) for name, limit in model.limits.items() if name in names}

    def _shrink(self, limit: Limit) -> tuple[Limit, float]:
        inner = limit.shrink(self.margin)
        if inner.compiled or not limit.compiled:
            return inner, 0.0
        depth = -float(limit.region.distance(limit.region.deepest))
        return limit, min(self.margin, depth)


Wish = Stay | Comfort
"""Goals that decide what demands leave open."""
Goal = Reach | Aim | Orient | Stay | Comfort


def _check_names(goal: Stay | Comfort) -> None:
    if goal.joints is None:
        return
    if isinstance(goal.joints, str):
        kind = type(goal).__name__
        raise ValueError(f"{kind}.joints must be a list of names, got {goal.joints!r}")
    object.__setattr__(goal, "joints", tuple(goal.joints))


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
    if not isinstance(goal, Wish):
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
    goals: Sequence[Reach | Aim | Orient | Stay],
    skeleton: Skeleton,
    pose: Pose,
    placed: tuple[Vectors, Quats] | None = None,
) -> list[Vectors]:
    """Return what is left of each goal, (..., 3), or (..., joints, 3) for `Stay`; not of `Comfort`.

    A way to go in the world for `Reach`, a rotation vector in radians for others. Poses and
    targets broadcast. An aim at the very point it starts from is met. `placed` is what `forward`
    gives for the pose, where that is known.
    """
    if placed is None:
        placed = forward(skeleton, pose)
    return [_gap(goal, skeleton, pose, *placed) for goal in goals]


def errors_of(goals: Sequence[Goal], model: LimitModel, pose: Pose) -> Scalars:
    """Return how far each goal is from being met, (..., goals), as `Solution.errors` has it.

    `model` has the skeleton of the pose, and the limits that `Comfort` is about.
    """
    placed, worst = forward(model.skeleton, pose), []
    for goal in goals:
        if isinstance(goal, Comfort):
            worst.append(_discomfort(goal, model, pose))
            continue
        size = np.linalg.norm(_gap(goal, model.skeleton, pose, *placed), axis=-1)
        worst.append(size.max(axis=-1, initial=0.0) if isinstance(goal, Stay) else size)
    return np.stack(np.broadcast_arrays(*worst), axis=-1)


def _discomfort(goal: Comfort, model: LimitModel, pose: Pose) -> Scalars:
    """Return by how much (...) the joint that is nearest to its limit is nearer than the margin."""
    worst = np.zeros(pose.rotations.shape[:-2])
    for name, (inner, depth) in goal.limits(model).items():
        way = lineage(model.skeleton, name, inner.relative_to)
        distance = inner.distance(way.relative_rotation(pose.rotations))
        worst = np.maximum(worst, distance + depth)
    return worst


def _gap(
    goal: Reach | Aim | Orient | Stay,
    skeleton: Skeleton,
    pose: Pose,
    where: Vectors,
    how: Quats,
) -> Vectors:
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
