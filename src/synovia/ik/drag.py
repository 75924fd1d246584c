"""Drag: the policy of an interactive pull, over joints or over the controls of a figure.

A drag is a value. The caller keeps the state: the pose where the drag began and the last pose are
fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import (
    Component,
    Control,
    Figure,
    JointSet,
    MatrixProduct,
    Network,
    Rotation,
    Translation,
)
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .controls import solve_controls
from .goals import JointGoal, Orient, Reach, Stay
from .problem import joints_between
from .search import BETTER_START, SearchSettings, try_starts
from .solution import ControlSolution, Solution
from .solve import solve

ROOT_SET = "root"  # joint set that `with_free_root` adds
ROOT_REACH = 2.0  # range of the root's position, as a multiple of the figure's extent at rest
AXIS_NAMES = ("x", "y", "z")
ROOT_ROTATIONS = tuple(f"{ROOT_SET}.turn-{name}" for name in AXIS_NAMES)

HELPER_STIFFNESS = 2.0  # weight with which helpers stay where they are, relative to the limb
CONTROL_BEND = 0.12  # initial bend of a straight limb, as a share of the distance to mid-range
JOINT_BEND = np.radians(3.0)  # the same for joints, radians towards the middle of their limits
ROOT_WEIGHT = 0.1  # weight with which a root keeps its rotation
MIDDLE_SAMPLES = 64  # legal rotations whose mean is the middle of a limit
JOINT_SETTINGS = SearchSettings(restarts=0, iterations=20, largest_step=0.3, threads=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Drag(ABC):
    """A pull at a joint while others are pinned."""

    pinned_positions: Mapping[str, Vectors] = field(default_factory=dict)
    """Positions (3,) in the world that joints keep, by name."""
    pinned_rotations: Mapping[str, Quats] = field(default_factory=dict)
    """Rotations (4,) in the world that joints keep, by name."""
    pin_weight: ClassVar[float] = 1.0
    pin_priority: ClassVar[int] = 0

    @property
    def pins(self) -> list[JointGoal]:
        """Goals that keep the pinned joints as they are."""
        options = {"weight": self.pin_weight, "priority": self.pin_priority}
        positions, rotations = self.pinned_positions.items(), self.pinned_rotations.items()
        return [
            *(Reach(name, position, **options) for name, position in positions),  # type: ignore[arg-type]
            *(Orient(name, rotation, **options) for name, rotation in rotations),  # type: ignore[arg-type]
        ]

    @abstractmethod
    def pull(self, goal: JointGoal) -> Solution:
        """Return the pose that meets a goal beside the pins, or comes near to it."""


@dataclass(frozen=True, eq=False)
class ControlDrag(Drag):
    """A pull over controls of a figure: first those of a limb, then helpers.

    If the limb alone does not reach the target, the helpers move too, as little as they can. A root
    that may rotate does so last, so that a body crouches upright.
    """

    figure: Figure
    home: Floats
    """(C,): controls where the drag began; the solution stays near them."""
    last: Floats
    """(C,): controls of the last step, where the search begins."""
    limb: Sequence[str]
    """Controls that move first."""
    helpers: Sequence[str] = ()
    thorough: bool = False
    """Whether to restart from random controls before a target counts as out of reach."""
    pin_weight: ClassVar[float] = 30.0

    @classmethod
    def of_joints(
        cls,
        figure: Figure,
        joint: str,
        home: Floats,
        last: Floats,
        limb: Sequence[str],
        *,
        alone: bool = False,
        thorough: bool = False,
        pinned_positions: Mapping[str, Vectors] | None = None,
        pinned_rotations: Mapping[str, Quats] | None = None,
    ) -> ControlDrag:
        """Return the drag of a joint whose limb is given by joints.

        Helpers are the other controls between the root and the joint or a pinned joint; none if
        `alone`. The root itself moves only if joints are pinned.
        """
        positions, rotations = pinned_positions or {}, pinned_rotations or {}
        first = controls_of(figure, limb)
        others = (
            [] if alone else controls_of(figure, joints_above(figure.skeleton, [joint, *positions]))
        )
        fixed = () if positions or rotations else (f"{ROOT_SET}.",)
        helpers = [name for name in others if name not in first and not name.startswith(fixed)]
        return cls(
            *(figure, home, last, first, helpers, thorough),
            pinned_positions=positions,
            pinned_rotations=rotations,
        )

    def pull(self, goal: JointGoal) -> ControlSolution:
        """Return controls that meet a goal beside the pins, near to `home`."""
        goals, settings = [goal, *self.pins], SearchSettings(restarts=8 if self.thorough else 0)
        held = self._with_limb(self.home, self.last)
        rest = self._with_limb(self.home, self.figure.ranges[1])
        near = self.home
        if self.limb:
            starts = [held, self._bend(held, self.limb), self.home, self._bend(rest, self.limb)]
            solution = solve_controls(
                *(self.figure, self.home, goals), only=self.limb, starts=starts, settings=settings
            )
            if solution.converged or not self.helpers:
                return solution
            near = self._with_limb(self.home, solution.controls)

        def solve_with(helpers: Sequence[str]) -> ControlSolution:
            moving = [*self.limb, *helpers]
            return solve_controls(
                *(self.figure, near, goals),
                only=moving,
                stiffness=dict.fromkeys(helpers, HELPER_STIFFNESS),
                starts=[near, self.last, self._bend(rest, moving)],
                settings=settings,
            )

        upright = [name for name in self.helpers if name not in ROOT_ROTATIONS]
        first = solve_with(upright)
        if first.converged or len(upright) == len(self.helpers):
            return first
        rotated = solve_with(self.helpers)
        return rotated if rotated.errors.max() < BETTER_START * first.errors.max() else first

    def rotate(self, goal: Orient) -> ControlSolution:
        """Return controls of the limb alone that bring a joint nearest to a rotation."""
        starts, once = [self.last, self.home], SearchSettings(restarts=0)
        return solve_controls(
            self.figure, self.home, [goal], only=self.limb, starts=starts, settings=once
        )

    def _with_limb(self, controls: Floats, other: Floats) -> Floats:
        """Return `controls` (C,) with those of the limb taken from `other`."""
        mixed, limb = controls.copy(), self._indices(self.limb)
        mixed[limb] = other[limb]
        return mixed

    def _bend(self, controls: Floats, names: Collection[str]) -> Floats:
        """Return controls (C,) with some moved a little towards the middle of their ranges."""
        low, _, high = self.figure.ranges
        bent, indices = controls.copy(), self._indices(names)
        bent[indices] += CONTROL_BEND * (0.5 * (low + high) - controls)[indices]
        return bent

    def _indices(self, names: Collection[str]) -> list[int]:
        return [index for index, name in enumerate(self.figure.controls) if name in names]


@dataclass(frozen=True, eq=False)
class JointDrag(Drag):
    """A pull over joints: from the last pose, and from bent poses if that does not meet the goal.

    These are the last pose, the pose where the drag began, and the rest pose, each a little bent. A
    root moves only if joints are pinned, and then keeps its rotation as far as it can.
    """

    model: LimitModel
    last: Pose
    """Pose of the last step, where the search begins."""
    home: Pose | None = None
    """Pose where the drag began, if known."""
    joints: Sequence[str] | None = None
    """Joints that may rotate; all unless given."""
    limited: bool = True
    """Whether to keep within the limits."""
    pin_priority: ClassVar[int] = -1

    def pull(self, goal: JointGoal) -> Solution:
        skeleton, goals = self.model.skeleton, [goal, *self.pins]
        roots = [name for name, up in zip(skeleton.names, skeleton.parents, strict=True) if up < 0]
        free_root = self.joints is None and len(goals) > 1 and len(roots) == 1
        upright = [Stay(self.home or self.last, roots, ROOT_WEIGHT)] if free_root else []
        limits = self.model if self.limited else LimitModel({}, skeleton)

        def run(start: Pose) -> Solution:
            return solve(
                *(limits, skeleton, start, [*goals, *upright]),
                joints=self.joints,
                free_root=free_root,
                settings=JOINT_SETTINGS,
            )

        first = run(self.last)
        if first.converged or first.beyond[0]:
            return first
        moving = set(skeleton.names if self.joints is None else self.joints)
        moving -= set(joints_between(self.model))
        ends = [item.joint for item in goals]
        starts = [bend_into_limits(self.model, pose, ends, moving) for pose in self._poses(moving)]
        return try_starts(
            [None, *starts],
            lambda start: first if start is None else run(start),
            lambda solution: float(solution.errors[0]),
            lambda solution: bool(solution.converged),
        )

    def _poses(self, moving: Collection[str]) -> Iterator[Pose]:
        """Yield the last pose, and the same with the moving joints as at home, and at rest."""
        skeleton = self.model.skeleton
        indices = [skeleton.index(name) for name in moving]
        yield self.last
        for other in (self.home, skeleton.rest_pose()):
            if other is not None:
                mixed = np.array(self.last.rotations)
                mixed[indices] = other.rotations[indices]
                yield self.last.with_rotations(mixed)


def joints_above(skeleton: Skeleton, joints: Sequence[str]) -> set[str]:
    """Return the names of joints and of all joints above them."""
    return {
        skeleton.names[above]
        for name in joints
        for above in skeleton.path_to_root(skeleton.index(name))
    }


def controls_of(figure: Figure, joints: Collection[str]) -> list[str]:
    """Return the controls of all joint sets that move one of the joints."""
    return [
        f"{name}.{control}"
        for name, joint_set in figure.joint_sets.items()
        if any(joint in joint_set.network.outputs for joint in joints)
        for control in joint_set.controls
    ]


def bend_into_limits(
    model: LimitModel, pose: Pose, ends: Sequence[str], joints: Collection[str]
) -> Pose:
    """Return the pose with joints rotated a little towards the middle of their limits.

    No small rotation brings the end of a stretched limb nearer to its root, so a search that starts
    there would stop. Bent are those of `joints` that are above `ends` and measured from their
    parent.
    """
    skeleton, rotations = model.skeleton, np.array(pose.rotations)
    for name in joints_above(skeleton, ends) & set(joints):
        limit = model.limits.get(name)
        if limit is not None and limit.relative_to is None:
            start = rotations[skeleton.index(name)]
            step = quat.log(quat.mul(quat.inverse(start), _middle_rotation(limit)))
            step *= JOINT_BEND / max(float(np.linalg.norm(step)), JOINT_BEND)
            bent = quat.normalize(quat.mul(start, quat.exp(step)))
            rotations[skeleton.index(name)] = bent
    return pose.with_rotations(rotations)


@lru_cache(maxsize=256)
def _middle_rotation(limit: Limit) -> Quats:
    """Return the mean (4,) of legal rotations, by the method of Markley et al. (2007)."""
    samples = limit.sample(MIDDLE_SAMPLES, np.random.default_rng(0))
    return np.asarray(np.linalg.eigh(np.einsum("ni,nj->ij", samples, samples))[1][:, -1])


@lru_cache(maxsize=4)
def with_free_root(figure: Figure) -> Figure:
    """Return the figure with a last joint set, `root`, that moves and rotates its root.

    With it pinned feet can stand while the pelvis moves. The figure itself is returned if it has
    several roots, a joint set that moves the root, or one of that name.
    """
    skeleton = figure.skeleton
    roots = [name for name, up in zip(skeleton.names, skeleton.parents, strict=True) if up < 0]
    moved = roots[0] in figure.moved_segments or ROOT_SET in figure.joint_sets
    if len(roots) > 1 or moved:
        return figure
    positions, _ = forward(skeleton, skeleton.rest_pose())
    reach = ROOT_REACH * float(np.ptp(positions, axis=0).max())
    parts: dict[str, Component] = {"shift": Translation()}
    wires = {f"shift.{name}": name for name in AXIS_NAMES}
    controls = {name: Control(-reach, reach, 0.0, "length") for name in AXIS_NAMES}
    for name, axis in zip(AXIS_NAMES, np.eye(3), strict=True):
        parts[f"turn-{name}"] = Rotation(axis)
        wires |= {f"turn-{name}.angle": f"turn-{name}", f"product.{name}": f"turn-{name}.matrix"}
        controls[f"turn-{name}"] = Control(-np.pi, np.pi, 0.0, "radians")
    parts["product"] = MatrixProduct(("shift", *AXIS_NAMES))
    wires["product.shift"] = "shift.matrix"
    network = Network(parts, wires, {roots[0]: "product.matrix"}, tuple(controls))
    sets = {**figure.joint_sets, ROOT_SET: JointSet(network, controls)}
    return Figure(skeleton, sets, figure.name)
