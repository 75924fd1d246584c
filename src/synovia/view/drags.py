"""Requests of the page that pull, rotate or aim joints; `ik.Drag` decides how."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from .. import quat
from ..arrays import Floats
from ..components import Figure
from ..ik import (
    Aim,
    ControlSolution,
    Orient,
    PullStep,
    Reach,
    SearchSettings,
    Solution,
    Stay,
    look_at,
    solve_controls,
)
from ..ik.drag import ROOT_SET, ControlDrag, JointDrag, controls_of, joints_above
from ..ik.problem import joints_between
from ..model import LimitModel
from ..schema import Numbers, Rotation, Vector
from ..skeleton import Pose, forward
from .display import AXES
from .poses import (
    CONTROL_TOLERANCE,
    Outside,
    PoseAnswer,
    PoseRequest,
    controls_by_name,
    figure_of,
    joint_rotations,
    limit_in_pose,
    outside_deg,
    pose_answer,
    pose_from,
    unit_rotation,
)
from .scene import Scene
from .session import Session

NEAR_LIMIT = np.radians(0.5)  # a joint this near to its limit is reported to be at it


@dataclass(frozen=True, kw_only=True)
class DragRequest(PoseRequest):
    """A request for the next pose of a drag: what is held elsewhere, and how long to search."""

    target: Vector
    pins: dict[str, Vector] = field(default_factory=dict)
    """Positions of joints that stay."""
    turns: dict[str, Rotation] = field(default_factory=dict)
    """World rotations of pinned joints that keep theirs."""
    joints: list[str] | None = None
    """The joints that may turn; null for all."""
    feet: bool = True
    """True if the feet of a human stay where they are."""
    thorough: bool = False
    """True to go on until the pose settles, and then to try another start."""


@dataclass(frozen=True, kw_only=True)
class GoalRequest(DragRequest):
    """A request for a pose of the joints that meets a goal."""

    root: Vector | None = None
    """Position of the root, if not that of the frame."""
    start: Numbers | None = None
    """Rotations where the drag began."""
    start_root: Vector | None = None
    """Position of the root there."""
    limits: bool
    """True if limits are kept."""


@dataclass(frozen=True, kw_only=True)
class ReachRequest(GoalRequest):
    """A request for a pose in which a point of a joint is at the target."""

    joint: str
    point: Vector


@dataclass(frozen=True, kw_only=True)
class LookRequest(GoalRequest):
    """A request for a pose in which the last of `joints` looks at the target."""

    axis: Vector | None = None


@dataclass(frozen=True, kw_only=True)
class FigureRequest(PoseRequest):
    """A request about the figure in a pose, with the controls that gave it, if they are known."""

    values: dict[str, float] | None
    """Controls at the start of the drag."""
    last: dict[str, float] | None = None
    """Controls of the previous answer."""


@dataclass(frozen=True, kw_only=True)
class PullRequest(FigureRequest, DragRequest):
    """A request for a pose of the figure in which a point of a joint is at the target."""

    joint: str
    point: Vector


@dataclass(frozen=True, kw_only=True)
class TurnRequest(FigureRequest):
    """A request for a pose in which a joint has a rotation in the world."""

    joint: str
    rotation: Rotation
    limits: bool
    """True if its limit is kept; for a figure, if its controls move."""


@dataclass(frozen=True, kw_only=True)
class Step(Outside):
    """A step of a pull: a pose nearer to its goal."""

    ms: float
    met: bool
    left: float
    settled: bool
    """False if the same request again would go on."""
    jumped: bool
    """True if the pose is far from the last one, so that the page shows a transition."""
    center: list[float] | None
    """The centre of mass of a human on the floor."""
    balanced: bool
    """True if that is between the feet that stand."""


@dataclass(frozen=True, kw_only=True)
class Solved(Step):
    """A step over joints."""

    blocking_deg: dict[str, float]
    """By how much limits of joints would have to give way."""
    at_limit: list[str]
    rotations: Floats
    root: Floats


@dataclass(frozen=True, kw_only=True)
class Pulled(Step):
    """A step over the controls of the figure."""

    rotations: Floats
    positions: Floats
    held: dict[str, float]
    """Controls at an end of their range that would have to go on."""
    at_end: dict[str, float]
    """Controls of what is pulled that are at an end of their range."""
    values: dict[str, float]
    """All controls, those of the root among them."""


def pull_figure(session: Session, request: PullRequest) -> Pulled:
    """Return the next pose of the figure on the way of a joint, or a point on it, to a target.

    `values` are the controls where the drag began, null if these are not known, and `last` those of
    its last step. `pins` are positions that joints keep, `turns` rotations.
    """
    scene, joint = session.scene, request.joint
    figure = figure_of(scene)
    started = time.perf_counter()
    home, last = _drag_controls(scene, figure, request)
    drag = ControlDrag(figure, home, last, joints=request.joints, **_drag_options(request))
    path = joints_above(figure.skeleton, [joint, *request.pins])
    step = drag.pull(Reach(joint, request.target, request.point))
    return _pulled(scene, step, path, started)


def rotate_joint(session: Session, request: TurnRequest) -> Pulled | PoseAnswer:
    """Return the pose with a joint rotated to a rotation in the world, within its limit if asked.

    In a figure within its limits, the controls of the joint's own set change, so that its bones
    stay coupled; otherwise the joint alone is rotated.
    """
    scene = session.scene
    if scene.figure is None or not request.limits:
        return _rotate_alone(scene, request)
    figure, joint = figure_of(scene), request.joint
    goal = Orient(joint, unit_rotation("rotation", request.rotation))
    started = time.perf_counter()
    home, last = _drag_controls(scene, figure, request)
    names = controls_of(figure, [joint])
    names = [name for name in names if not name.startswith(f"{ROOT_SET}.")]
    if not names:
        raise ValueError(f"no control turns {joint}")
    sets = [each for each in figure.joint_sets.values() if joint in each.network.outputs]
    stay = Stay(figure.pose(home), [name for each in sets for name in each.network.outputs])
    once = SearchSettings(restarts=0)
    solution = solve_controls(figure, last, [goal, stay], only=names, settings=once)
    return _pulled(scene, PullStep(solution, settled=True), [joint], started)


def _rotate_alone(scene: Scene, request: TurnRequest) -> PoseAnswer:
    """Return the pose with one joint at a world rotation, within its limit if requested."""
    skeleton, pose = scene.clip.skeleton, pose_from(scene, request)
    name = request.joint
    joint = skeleton.index(name)
    _, world = forward(skeleton, pose)
    target = unit_rotation("rotation", request.rotation)
    parent = int(skeleton.parents[joint])
    local = np.array(pose.rotations)
    local[joint] = target if parent < 0 else quat.mul(quat.inverse(world[parent]), target)
    rotated = pose.with_rotations(local)
    if request.limits and name in scene.model.limits:
        limit = limit_in_pose(scene.model, name, rotated)
        rotated = LimitModel({name: limit}, skeleton).project(rotated)
    return pose_answer(scene, rotated)


def _drag_controls(scene: Scene, figure: Figure, request: FigureRequest) -> tuple[Floats, Floats]:
    """Return the controls (C,) where a drag began, and those of its last step."""
    if request.values is not None:
        home = figure.pose(request.values).controls
    else:
        pose = pose_from(scene, request)
        home = figure.controls_for(pose, tolerance=CONTROL_TOLERANCE).controls
    return home, home if request.last is None else figure.pose(request.last).controls


def _describe_step(scene: Scene, step: PullStep, started: float) -> dict[str, Any]:
    """Return the fields of `Step`."""
    solution = step.solution
    return {
        "ms": 1000.0 * (time.perf_counter() - started),
        "met": bool(solution.converged),
        "left": float(solution.errors[0]),
        "settled": step.settled,
        "jumped": step.jumped,
        "center": None if step.center is None else step.center.tolist(),
        "balanced": step.balanced,
        "outside_deg": outside_deg(scene, solution.pose),
    }


def _pulled(scene: Scene, step: PullStep, path: Collection[str], started: float) -> Pulled:
    """Return the answer for a step; only controls that move joints of `path` are at an end."""
    solution = cast(ControlSolution, step.solution)
    chain = controls_of(solution.figure, path)
    return Pulled(
        **_describe_step(scene, step, started),
        held=solution.blocking_controls(),
        at_end={name: value for name, value in solution.at_end().items() if name in chain},
        values=controls_by_name(solution.figure, solution.controls),
        rotations=solution.pose.rotations,
        positions=solution.pose.positions,
    )


def reach(session: Session, request: ReachRequest) -> Solved:
    """Return the next pose on the way of a joint, or a point on it, to a target.

    With `limits` false every joint is free; `joints` may rotate, all if it is null. `pins` are
    positions that joints keep. If all joints may rotate and feet or pins hold the body, the root
    may move. The answer also has the joints at their limits, and by how many degrees they block.
    """
    scene, pose = session.scene, pose_from(session.scene, request, request.root)
    joints = _moving_joints(scene, request)
    goal = Reach(request.joint, request.target, request.point)
    drag = _joint_drag(scene, request, pose, joints)
    started = time.perf_counter()
    return _solved(scene, drag.pull(goal), started, joints)


def look(session: Session, request: LookRequest) -> Solved:
    """Return the pose in which `axis` of the last of `joints` points at a target.

    Each of the joints takes its share of the rotation; with `pins` all joints may rotate. The
    answer is as for `reach`.
    """
    scene, pose = session.scene, pose_from(session.scene, request, request.root)
    joints = _moving_joints(scene, request)
    if not joints:
        raise ValueError("joints must be some that may turn to look, got none")
    axis = AXES["z"] if request.axis is None else request.axis
    started = time.perf_counter()
    if request.pins:
        drag = replace(_joint_drag(scene, request, pose, None), feet_stay=False, thorough=True)
        return _solved(scene, drag.pull(Aim(joints[-1], request.target, axis)), started, None)
    skeleton = scene.clip.skeleton
    limits = scene.model if request.limits else LimitModel({}, skeleton)
    solution = look_at(limits, skeleton, pose, request.target, joints, axis=axis, threads=1)
    return _solved(scene, PullStep(solution, settled=True), started, joints)


def _joint_drag(
    scene: Scene, request: GoalRequest, pose: Pose, joints: list[str] | None
) -> JointDrag:
    home, skeleton = None, scene.clip.skeleton
    if request.start is not None:
        positions = np.array(pose.positions)
        if request.start_root is not None:
            positions[np.flatnonzero(skeleton.parents < 0)[0]] = request.start_root
        home = Pose(joint_rotations("start", request.start, len(skeleton)), positions)
    limits = request.limits
    return JointDrag(scene.model, pose, home, limits, joints=joints, **_drag_options(request))


def _drag_options(request: DragRequest) -> dict[str, Any]:
    """Return what both kinds of drags keep: feet, and positions and rotations of joints by name."""
    rotations = {
        name: unit_rotation(f"turns.{name}", rotation) for name, rotation in request.turns.items()
    }
    return {
        "feet_stay": request.feet,
        "thorough": request.thorough,
        "pinned_positions": request.pins,
        "pinned_rotations": rotations,
    }


def _moving_joints(scene: Scene, request: GoalRequest) -> list[str] | None:
    """Return the joints that may rotate, without those that limits below are measured across."""
    if request.joints is None:
        return None
    fixed = joints_between(scene.model) if request.limits else []
    return [name for name in request.joints if name not in fixed]


def _solved(scene: Scene, step: PullStep, started: float, joints: list[str] | None) -> Solved:
    solution, pose = step.solution, step.solution.pose
    blocking = solution.blocking().items()
    return Solved(
        **_describe_step(scene, step, started),
        blocking_deg={name: float(np.degrees(angle)) for name, angle in blocking},
        at_limit=_joints_at_limits(scene, solution, joints),
        rotations=pose.rotations,
        root=pose.positions[scene.clip.skeleton.parents < 0][0],
    )


def _joints_at_limits(scene: Scene, solution: Solution, joints: list[str] | None) -> list[str]:
    """Return the joints that goals depend on and that are on the boundary of their limits."""
    skeleton = scene.clip.skeleton
    is_near = scene.model.distance(solution.pose) > -NEAR_LIMIT
    chain = joints_above(skeleton, [goal.label for goal in solution.goals if not goal.soft])
    return [
        name
        for name in scene.model.limits
        if is_near[skeleton.index(name)] and name in chain and (joints is None or name in joints)
    ]
