"""Goals of inverse kinematics: each has a target, and a residual that is 0 where it is met."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Quats, Scalars, Vectors, floats, rows, unit_quats, whole_number
from ..components import DEGREE
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, check_joints, forward, lineage

if TYPE_CHECKING:
    from ..components import Figure

SOFT_WEIGHT = 0.01  # weight of soft goals unless given: they only decide what others leave open
COMFORT_MARGIN = math.radians(10.0)  # distance that `Comfort` keeps from limits unless given
RANGE_MARGIN = 0.1  # margin of `Comfort` for controls that are not angles, as a share of the range
World = tuple[Vectors, Quats]  # positions and rotations of all joints in the world, by `forward`


class Goal(ABC):
    """A goal for a pose: a target, and a residual that is 0 where the goal is met.

    To add a goal, derive a frozen dataclass from `JointGoal` and write `residual`. The solvers
    differentiate it numerically. The goals of this module are also known to the compiled kernels.
    """

    target: Any
    """Array (..., *shape of one target), None for goals without a target."""
    weight: float
    """Relative weight among goals of the same priority."""
    priority: int = 0
    """Goals of a lower number come first; later goals never worsen them."""
    soft: ClassVar[bool] = False
    """True for goals that a solution need not meet to be converged."""
    is_length: ClassVar[bool] = False
    """True if residuals are lengths, False if they are radians."""
    kernel: ClassVar[int] = -1
    """Number of this kind of goal in `kernels.ik_chain`; -1 if it is evaluated in NumPy."""
    target_field: ClassVar[str] = "target"
    """Name of the field that holds the target."""
    target_axes: ClassVar[int] = 1
    """Number of axes of one target; the others are those of a batch."""
    on_ranges: ClassVar[bool] = False
    """True if the goal is about ranges where controls are solved for; see `range_margins`."""
    point: Vectors = np.zeros(3)
    axis: Vectors = np.zeros(3)

    @property
    @abstractmethod
    def joint_names(self) -> Sequence[str]:
        """Names of the joints that the goal names."""

    @property
    def label(self) -> str:
        """Name of the goal in messages."""
        return type(self).__name__

    @property
    def batch(self) -> tuple[int, ...]:
        """Leading axes of the target."""
        shape: tuple[int, ...] = np.shape(self.target)
        return shape[: len(shape) - self.target_axes]

    @abstractmethod
    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        """Return the residual (..., n): lengths or radians, 0 if the goal is met.

        `world` holds positions and rotations of all joints in the world, by `forward`.
        """

    def error(self, model: LimitModel, pose: Pose, world: World) -> Scalars:
        """Return the norm of the residual (...), a length or radians."""
        return np.asarray(np.linalg.norm(self.residual(model, pose, world), axis=-1))

    def unit(self, length: float) -> float:
        """Return the factor of residuals for a chain of some length, which counts as 1."""
        return 1.0 / length if self.is_length else kernels.ik_goals.TURN_SHARE

    @abstractmethod
    def joint_indices(self, model: LimitModel, movers: Sequence[int]) -> Sequence[int]:
        """Return the indices of the goal's joints; `movers` are the joints that may rotate."""

    @abstractmethod
    def moved_by(self, skeleton: Skeleton, joint: int, measured: Sequence[int]) -> Sequence[int]:
        """Return the joints whose rotations change the residual at one joint of the goal.

        `measured` are the joints whose product the limit of that joint measures.
        """

    @abstractmethod
    def joints_to_move(self, skeleton: Skeleton) -> Sequence[int]:
        """Return the joints that `follow` rotates for this goal, unless joints are given."""

    def targets_of(self, joints: Sequence[int]) -> Floats:
        """Return the targets (..., joints, 3 or 4) of the goal at its joints, for the kernels."""
        return np.asarray(self.target)[..., None, :]

    def with_rows(self, joints: Sequence[int], targets: Floats) -> Self:
        """Return the goal of one problem from rows (joints, 4), as `targets_of` gave them."""
        return self.map_target(lambda target: targets[0, : target.shape[-1]])

    def at(self, index: Any, batch: tuple[int, ...]) -> Self:
        """Return the goal at an index of a batch to which the target's leading axes broadcast."""
        axes = len(self.batch)
        if axes == 0:
            return self
        return self.map_target(
            lambda target: np.broadcast_to(target, (*batch, *target.shape[axes:]))[index]
        )

    def map_target(self, function: Any) -> Self:
        """Return the goal with a function applied to the arrays of its target."""
        return replace(self, **{self.target_field: function(self.target)})  # type: ignore[type-var]

    @abstractmethod
    def in_frame(self, rotation: Quats, translation: Vectors, names: Mapping[str, str]) -> Self:
        """Return the goal with x → R x + t applied to its target, and joints renamed by `names`."""

    def check(self, skeleton: Skeleton) -> None:
        """Raise ValueError if the skeleton does not have the joints of the goal."""
        for name in self.joint_names:
            skeleton.index(name)

    def reached(self, position: Vectors, rotation: Quats) -> Floats | None:
        """Return the target that a joint with this position and rotation meets; None if unknown."""
        return None

    def limits(self, model: LimitModel) -> dict[str, tuple[Limit, float]]:
        """Return, by joint, the limits from which the goal keeps away; see `Comfort.limits`."""
        return {}

    def range_margins(self, figure: Figure, controls: Sequence[int]) -> Floats:
        """Return margins at the ends of the ranges of controls, by index: (2, controls).

        The first row is the margin as a share of the range, the second its weight, 0 for none.
        """
        return np.zeros((2, len(controls)))

    def key(self) -> tuple[Any, ...]:
        """Return everything but the target, as a key for caches."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        values = [getattr(self, name) for name in names if name != self.target_field]
        return (
            type(self),
            *(
                value.tobytes() if isinstance(value, np.ndarray) else repr(value)
                for value in values
            ),
        )


class JointGoal(Goal):
    """A goal for one joint, which depends on the rotations of that joint and all above it."""

    joint: str

    @property
    def joint_names(self) -> Sequence[str]:
        return (self.joint,)

    @property
    def label(self) -> str:
        return self.joint

    def joint_indices(self, model: LimitModel, movers: Sequence[int]) -> Sequence[int]:
        return [model.skeleton.index(self.joint)]

    def moved_by(self, skeleton: Skeleton, joint: int, measured: Sequence[int]) -> Sequence[int]:
        return skeleton.path_to_root(joint)

    def joints_to_move(self, skeleton: Skeleton) -> Sequence[int]:
        path = skeleton.path_to_root(skeleton.index(self.joint))
        # A joint is not moved by its own rotation; points beside it are.
        return path[1:] if self.is_length and not self.point.any() else path

    def in_frame(self, rotation: Quats, translation: Vectors, names: Mapping[str, str]) -> Self:
        moved = self.map_target(lambda target: quat.rotate(rotation, target) + translation)
        return replace(moved, joint=names[self.joint])  # type: ignore[type-var]

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str) or not self.joint:
            kind = type(self).__name__
            raise ValueError(f"{kind}.joint must be the name of a joint, got {self.joint!r}")
        if "target" in vars(self):
            _freeze(self, "target", floats(f"{type(self).__name__}.target", self.target))
        _check_weight(self)
        priority = whole_number(f"{type(self).__name__}.priority", self.priority)
        object.__setattr__(self, "priority", priority)


def _zero_point() -> Vectors:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Reach(JointGoal):
    """A joint, or a point fixed to it, should be at a target.

    Parameters
    ----------
    joint
        Name of the joint.
    target
        A position (..., 3) in the world.
    point
        Position (3,) in the joint's frame; the joint itself unless given.
    weight
        Relative weight among goals of the same priority.
    priority
        Goals of a lower number come first; later goals never worsen them.
    """

    joint: str
    target: Vectors
    point: Vectors = field(default_factory=_zero_point)
    weight: float = 1.0
    priority: int = 0

    is_length: ClassVar[bool] = True
    kernel: ClassVar[int] = kernels.ik_chain.REACH

    def __post_init__(self) -> None:
        super().__post_init__()
        _freeze(self, "target", rows("Reach.target", self.target, 3))
        _freeze(self, "point", _vector("Reach.point", self.point))

    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        joint = model.skeleton.index(self.joint)
        return np.asarray(
            self.target - self.reached(world[0][..., joint, :], world[1][..., joint, :])
        )

    def reached(self, position: Vectors, rotation: Quats) -> Floats:
        return np.asarray(position + quat.rotate(rotation, self.point))


@dataclass(frozen=True, eq=False)
class Aim(JointGoal):
    """An axis of a joint should point at a target.

    Parameters
    ----------
    joint, target, weight, priority
        As for `Reach`.
    axis
        A direction (3,) in the joint's frame; z unless given.
    point
        Origin (3,) of the axis in the joint's frame; the joint itself unless given.
    """

    joint: str
    target: Vectors
    axis: Vectors = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Vectors = field(default_factory=_zero_point)
    weight: float = 1.0
    priority: int = 0

    kernel: ClassVar[int] = kernels.ik_chain.AIM

    def __post_init__(self) -> None:
        super().__post_init__()
        _freeze(self, "target", rows("Aim.target", self.target, 3))
        _freeze(self, "point", _vector("Aim.point", self.point))
        axis = _vector("Aim.axis", self.axis)
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            raise ValueError(f"Aim.axis must have a direction, got {axis.tolist()}")
        _freeze(self, "axis", axis / length)

    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        joint = model.skeleton.index(self.joint)
        rotation = world[1][..., joint, :]
        direction = self.target - world[0][..., joint, :] - quat.rotate(rotation, self.point)
        axis = quat.rotate(rotation, self.axis)
        # An aim at the point where its axis starts is met.
        defined = np.linalg.norm(direction, axis=-1, keepdims=True) > 1e-12
        return quat.log(quat.between(axis, np.where(defined, direction, axis)))

    def reached(self, position: Vectors, rotation: Quats) -> Floats:
        return np.asarray(position + quat.rotate(rotation, self.point + self.axis))


@dataclass(frozen=True, eq=False)
class Orient(JointGoal):
    """A joint should have a rotation in the world.

    Parameters
    ----------
    joint, weight, priority
        As for `Reach`.
    rotation
        A quaternion (..., 4), w first.
    """

    joint: str
    rotation: Quats
    weight: float = 1.0
    priority: int = 0

    kernel: ClassVar[int] = kernels.ik_chain.ORIENT
    target_field: ClassVar[str] = "rotation"

    def __post_init__(self) -> None:
        super().__post_init__()
        _freeze(self, "rotation", unit_quats("Orient.rotation", self.rotation))

    @property
    def target(self) -> Quats:
        """The rotation."""
        return self.rotation

    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        rotation = world[1][..., model.skeleton.index(self.joint), :]
        return quat.log(quat.mul(self.rotation, quat.inverse(rotation)))

    def reached(self, position: Vectors, rotation: Quats) -> Floats:
        return rotation

    def in_frame(self, rotation: Quats, translation: Vectors, names: Mapping[str, str]) -> Self:
        target = quat.mul(rotation, self.rotation)
        return replace(self, rotation=target, joint=names[self.joint])


class SoftGoal(Goal):
    """A goal that decides what the others leave open; solutions need not meet it."""

    joints: Sequence[str] | None
    """Names; all joints that may move unless given."""
    soft: ClassVar[bool] = True

    @property
    def joint_names(self) -> Sequence[str]:
        return self.joints or ()

    def joint_indices(self, model: LimitModel, movers: Sequence[int]) -> Sequence[int]:
        if self.joints is None:
            return movers
        indices = [model.skeleton.index(name) for name in self.joints]
        return [joint for joint in indices if joint in movers]

    def moved_by(self, skeleton: Skeleton, joint: int, measured: Sequence[int]) -> Sequence[int]:
        return [joint]

    def joints_to_move(self, skeleton: Skeleton) -> Sequence[int]:
        return [skeleton.index(name) for name in self.joint_names]

    def in_frame(self, rotation: Quats, translation: Vectors, names: Mapping[str, str]) -> Self:
        joints = None if self.joints is None else [names[name] for name in self.joints]
        return replace(self, joints=joints)  # type: ignore[type-var]

    def __post_init__(self) -> None:
        if isinstance(self.joints, str):
            kind = type(self).__name__
            raise ValueError(f"{kind}.joints must be a list of names, got {self.joints!r}")
        if self.joints is not None:
            object.__setattr__(self, "joints", tuple(self.joints))
        _check_weight(self)


@dataclass(frozen=True, eq=False)
class Stay(SoftGoal):
    """Joints should rotate little from those of a pose. A soft goal.

    Parameters
    ----------
    pose
        The pose to stay near.
    joints
        Names of joints; all that may move unless given.
    weight
        Relative weight; 0.01 unless given, so that it only decides what other goals leave open.
    """

    pose: Pose
    joints: Sequence[str] | None = None
    weight: float = SOFT_WEIGHT

    kernel: ClassVar[int] = kernels.ik_chain.STAY
    target_field: ClassVar[str] = "pose"
    target_axes: ClassVar[int] = 2

    @property
    def target(self) -> Quats:
        """The rotations (..., joints, 4) of the pose."""
        return self.pose.rotations

    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        names = model.skeleton.names if self.joints is None else self.joints
        joints = [model.skeleton.index(name) for name in names]
        current = quat.inverse(pose.rotations[..., joints, :])
        residual = quat.log(quat.mul(current, self.pose.rotations[..., joints, :]))
        return residual.reshape(*residual.shape[:-2], -1)

    def error(self, model: LimitModel, pose: Pose, world: World) -> Scalars:
        """Return the largest rotation of a joint from the pose (...), in radians."""
        residual = self.residual(model, pose, world)
        angles = np.linalg.norm(residual.reshape(*residual.shape[:-1], -1, 3), axis=-1)
        return np.asarray(angles.max(axis=-1, initial=0.0))

    def joints_to_move(self, skeleton: Skeleton) -> Sequence[int]:
        return [skeleton.index(name) for name in self.joints or skeleton.names]

    def targets_of(self, joints: Sequence[int]) -> Floats:
        return self.pose.rotations[..., joints, :]

    def with_rows(self, joints: Sequence[int], targets: Floats) -> Self:
        one = self.at((0,) * len(self.batch), self.batch)
        rotations = np.array(one.pose.rotations)
        rotations[list(joints)] = targets
        return replace(one, pose=one.pose.with_rotations(rotations))

    def map_target(self, function: Any) -> Self:
        pose = Pose(function(self.pose.rotations), function(self.pose.positions))
        return replace(self, pose=pose)

    def check(self, skeleton: Skeleton) -> None:
        check_joints(skeleton, self.pose)
        super().check(skeleton)


@dataclass(frozen=True, eq=False)
class Comfort(SoftGoal):
    """Joints should keep away from their limits. A soft goal.

    The residual is the distance of a joint to its limit shrunk by `margin`, in the chart's metric:
    0 inside. A region narrower than twice the margin shrinks to its middle. For controls of a
    figure, the margin is kept from both ends of their ranges; controls that are not angles have a
    tenth of their range as the margin.

    Parameters
    ----------
    joints
        Names of joints with limits; all that may move unless given.
    margin
        Radians; 10 degrees unless given.
    weight
        Relative weight; 0.01 unless given, so that it only decides what other goals leave open.
    """

    joints: Sequence[str] | None = None
    margin: float = COMFORT_MARGIN
    weight: float = SOFT_WEIGHT

    kernel: ClassVar[int] = kernels.ik_chain.COMFORT
    on_ranges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        margin = floats("Comfort.margin", self.margin)
        if margin.ndim != 0 or not 0.0 < margin <= math.pi:
            raise ValueError(
                f"Comfort.margin must be above 0 and at most π radians, got {self.margin!r:.80}"
            )
        object.__setattr__(self, "margin", float(margin))

    @property
    def target(self) -> None:
        """None: the limits are the target."""

    @property
    def batch(self) -> tuple[int, ...]:
        return ()

    def map_target(self, function: Any) -> Self:
        return self

    def targets_of(self, joints: Sequence[int]) -> Floats:
        return np.zeros((len(joints), 3))

    def joint_indices(self, model: LimitModel, movers: Sequence[int]) -> Sequence[int]:
        limited = {model.skeleton.index(name) for name in self.limits(model)}
        return [joint for joint in movers if joint in limited]

    def moved_by(self, skeleton: Skeleton, joint: int, measured: Sequence[int]) -> Sequence[int]:
        return measured

    def residual(self, model: LimitModel, pose: Pose, world: World) -> Floats:
        distances: list[Floats] = [np.zeros(pose.rotations.shape[:-2])]
        for name, (inner, depth) in self.limits(model).items():
            measured = lineage(model.skeleton, name, inner.relative_to)
            distances.append(inner.distance(measured.relative_rotation(pose.rotations)) + depth)
        return np.maximum(np.stack(distances, axis=-1), 0.0)

    def error(self, model: LimitModel, pose: Pose, world: World) -> Scalars:
        """Return the largest part of the margin that is missing at a joint (...), in radians."""
        return np.asarray(self.residual(model, pose, world).max(axis=-1))

    def limits(self, model: LimitModel) -> dict[str, tuple[Limit, float]]:
        """Return a limit and a depth in radians by joint; residuals are 0 at that depth or deeper.

        The limit is shrunk by the margin, and the depth 0. But if the kernels know the limit and
        not the shrunk one, it is the limit itself, and the depth the margin or that of its middle.
        """
        names = [*model.limits] if self.joints is None else self.joints
        if missing := [name for name in names if name not in model.limits]:
            raise ValueError(
                f"Comfort.joints must have limits, got {', '.join(missing)} without one"
            )
        return {name: self._shrink(limit) for name, limit in model.limits.items() if name in names}

    def _shrink(self, limit: Limit) -> tuple[Limit, float]:
        """Return the limit and the depth of `limits` for one joint."""
        inner = limit.shrink(self.margin)
        if inner.compiled or not limit.compiled:
            return inner, 0.0
        depth = -float(limit.region.distance(limit.region.deepest))
        return limit, min(self.margin, depth)

    def range_margins(self, figure: Figure, controls: Sequence[int]) -> Floats:
        margins, all_controls = np.zeros((2, len(controls))), list(figure.controls.values())
        names = set(figure.skeleton.names if self.joints is None else self.joints)
        moved = moved_segments(figure)
        for column, index in enumerate(controls):
            if moved[index] & names:
                width = range_in_radians(all_controls[index])
                margins[0, column] = min(self.margin / width if width else RANGE_MARGIN, 0.5)
                margins[1, column] = self.weight * kernels.ik_goals.TURN_SHARE * (width or 1.0)
        return margins


def moved_segments(figure: Figure) -> list[frozenset[str]]:
    """Return, for each control, the names of the segments that its joint set moves."""
    return [
        frozenset(joint_set.network.outputs)
        for joint_set in figure.joint_sets.values()
        for _ in joint_set.controls
    ]


def range_in_radians(control: Any) -> float:
    """Return the width of a control's range in radians; 0 if the control is not an angle."""
    unit = {"radians": 1.0, "degrees": DEGREE}.get(control.unit, 0.0)
    return float(unit * (control.high - control.low))


def errors_of(goals: Sequence[Goal], model: LimitModel, pose: Pose) -> Scalars:
    """Return the error of each goal (..., goals), as in `Solution.errors`.

    `model` has the skeleton of the pose, and the limits from which `Comfort` keeps away.
    """
    world = forward(model.skeleton, pose)
    errors = [goal.error(model, pose, world) for goal in goals]
    return np.stack(np.broadcast_arrays(*errors), axis=-1)


def measure_again(errors: Scalars, goals: Sequence[Goal], model: LimitModel, pose: Pose) -> Scalars:
    """Return errors (..., goals) of another pose; goals without a target keep theirs."""
    measured = errors.copy()
    for k, goal in enumerate(goals):
        if goal.target is not None:
            measured[..., k] = errors_of([goal], model, pose)[..., 0]
    return measured


def weighted_residuals(
    goals: Sequence[Goal], weights: Sequence[float], length: float, model: LimitModel, pose: Pose
) -> Floats:
    """Return the residuals (..., n) of all goals, times their units and weights.

    `length` is that of the chain, which counts as 1; `model` is as for `errors_of`.
    """
    world = forward(model.skeleton, pose)
    residuals = [
        weight * goal.unit(length) * goal.residual(model, pose, world)
        for goal, weight in zip(goals, weights, strict=True)
    ]
    return np.concatenate(residuals, axis=-1)


GOALS: dict[str, type[Goal]] = {
    "reach": Reach,
    "aim": Aim,
    "orient": Orient,
    "stay": Stay,
    "comfort": Comfort,
}
"""Goals by name. Add your own here, so that the command line knows it."""


def check_goals(goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals as a list; raise ValueError if it is empty or holds something else."""
    checked: list[Goal] = [*([goals] if isinstance(goals, Goal) else goals)]
    if not checked or not all(isinstance(goal, Goal) for goal in checked):
        raise ValueError(f"goals must be some of {goal_names()}, got {checked!r:.80}")
    return checked


def goal_names() -> str:
    """Return the names of all goals as one phrase, for messages."""
    *first, last = (goal.__name__ for goal in GOALS.values())
    return f"{', '.join(first)} and {last}"


def common_batch(what: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the leading axes to which all shapes broadcast; raise ValueError if there are none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{what} and targets must have leading axes that go together, got {shapes}"
        ) from None


def lowest_priority(goals: Sequence[Goal]) -> int:
    """Return the priority that comes first among the goals that are not soft; 0 without any."""
    return min((goal.priority for goal in goals if not goal.soft), default=0)


def pins_of(
    skeleton: Skeleton, pose: Pose, pinned: Sequence[str], goals: Sequence[Goal]
) -> list[Goal]:
    """Return goals that keep joints at their positions in the world.

    Their priority comes before that of all `goals`.
    """
    if isinstance(pinned, str):
        raise ValueError(f"pinned must be a list of names, got {pinned!r}")
    if not pinned:
        return []
    positions, _ = forward(skeleton, pose)
    first = lowest_priority(goals) - 1
    return [Reach(name, positions[..., skeleton.index(name), :], priority=first) for name in pinned]


def _check_weight(goal: Goal) -> None:
    name = f"{type(goal).__name__}.weight"
    weight = floats(name, goal.weight)
    if weight.ndim != 0 or not weight > 0.0:
        raise ValueError(f"{name} must be a number above 0, got {goal.weight!r:.80}")
    object.__setattr__(goal, "weight", float(weight))


def _vector(name: str, values: Vectors) -> Vectors:
    array = rows(name, values, 3)
    if array.shape != (3,):
        raise ValueError(f"{name} must have shape (3,), got {array.shape}")
    return array


def _freeze(goal: Goal, name: str, values: Floats) -> None:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    object.__setattr__(goal, name, array)
