"""What can be tried at the page: reaching, looking, and the controls of a figure."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Quats
from ..ik import Aim, Orient, Reach, Solution, Stay, look_at, solve
from ..ik.problem import joints_between
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose
from .contents import AXES
from .messages import Request, flag, rotations, vector, word, words
from .poses import outside_deg, pose_from
from .protocol.poses import Solved
from .pulling import pin_goals
from .session import Scene, Session

# A little bend for limbs that are stretched, whose ends no small turn brings nearer.

BEND = np.radians(3.0)
SAMPLES = 64


def bend_into_limits(
    model: LimitModel, pose: Pose, ends: Iterable[str], joints: Collection[str]
) -> Pose:
    """Return the pose, those of `joints` from `ends` to the root turned a little into their limits.

    Joints that are measured from an ancestor stay as they are.
    """
    skeleton, rotations = model.skeleton, np.array(pose.rotations)
    for joint in {above for end in ends for above in skeleton.path_to_root(skeleton.index(end))}:
        limit = model.limits.get(skeleton.names[joint])
        if skeleton.names[joint] in joints and limit is not None and limit.relative_to is None:
            rotations[joint] = _turn_towards(rotations[joint], _middle_rotation(limit))
    return pose.with_rotations(rotations)


def _turn_towards(start: Quats, end: Quats) -> Quats:
    way = quat.log(quat.mul(quat.inverse(start), end))
    share = BEND / max(float(np.linalg.norm(way)), BEND)
    return quat.normalize(quat.mul(start, quat.exp(share * way)))


@lru_cache(maxsize=256)
def _middle_rotation(limit: Limit) -> Quats:
    """Return a rotation in the middle of what is allowed, more or less."""
    some = limit.sample(SAMPLES, np.random.default_rng(0))
    toward = np.einsum("ni,nj->ij", some, some)  # whose main direction is their mean, q or -q
    return np.asarray(np.linalg.eigh(toward)[1][:, -1])


Joints = list[str] | None
STEPS, LARGEST_STEP = 20, 0.3
"""How a dragged hand is followed: few iterations, and no large step (radians a joint)."""
BETTER = 0.9
"""A second start must leave at most this share of the error."""
ROOT_WEIGHT = 0.1
"""How much it counts that a root stays turned as it was."""
NEAR_DEG = 0.5
"""A joint is said to be at its limit where it is as near to it as this, in degrees."""


def solve_reach(session: Session, request: Request) -> Solved:
    """Return the pose in which a joint, or a point on it, is at a target, or near it.

    With `limits` false every joint is free; `joints` may turn, all if it is null. `pins` keep
    joints at places; where all may turn, so may the root then, and move. Beside the pose: how long
    it took, whether the target is met, the joints that are at their limits, and by how many
    degrees the limits of joints would have to give way.
    """
    scene = session.scene
    pose, pins = pose_from(scene, request), _pins(request)
    goal = Reach(word(request, "joint"), vector(request, "target"), vector(request, "point"))
    started = time.perf_counter()
    joints = _free_joints(scene, request)
    found = _solve(scene, request, pose, [goal, *pins], joints)
    return _solution_answer(scene, found, started, joints)


def solve_look(session: Session, request: Request) -> Solved:
    """Return the pose in which the last of `joints` looks at a target, along its `axis`.

    Each of the joints takes its share of the turn; with `pins` all joints may turn. The rest is as
    in `reached`.
    """
    scene = session.scene
    pose, target, pins = pose_from(scene, request), vector(request, "target"), _pins(request)
    joints = _free_joints(scene, request)
    if not joints:
        raise ValueError("joints must be some that may turn to look, got none")
    axis = vector(request, "axis") if "axis" in request else AXES["z"]
    started = time.perf_counter()
    if pins:
        found = _solve(scene, request, pose, [Aim(joints[-1], target, axis), *pins], None)
    else:
        limits, skeleton = _limits(scene, request), scene.clip.skeleton
        found = look_at(limits, skeleton, pose, target, joints, axis=axis, threads=1)
    return _solution_answer(scene, found, started, None if pins else joints)


def _solve(
    scene: Scene,
    request: Request,
    pose: Pose,
    goals: Sequence[Reach | Aim | Orient],
    joints: Joints,
) -> Solution:
    """Return what is found from the pose, or elsewhere if that is clearly better.

    That is from one a little bent, from where the drag began, and from rest. A root that may move
    turns last, so that a body that crouches stays upright.
    """
    skeleton, limits = scene.clip.skeleton, _limits(scene, request)
    roots = [name for name, up in zip(skeleton.names, skeleton.parents, strict=True) if up < 0]
    is_free = joints is None and len(goals) > 1 and len(roots) == 1
    begun = pose
    if request.get("start") is not None:
        begun = pose.with_rotations(rotations({"rotations": request["start"]}, len(skeleton)))
    upright = [Stay(begun, roots, ROOT_WEIGHT)] if is_free else []

    def found(start: Pose) -> Solution:
        return solve(
            limits,
            skeleton,
            start,
            [*goals, *upright],
            joints=joints,
            free_root=is_free,
            restarts=0,
            iterations=STEPS,
            largest_step=LARGEST_STEP,
            threads=1,
        )

    first = found(pose)
    if first.converged or first.beyond[0]:
        return first
    free = set(skeleton.names if joints is None else joints) - set(joints_between(scene.model))
    turning = [place for place, name in enumerate(skeleton.names) if name in free]
    best = first
    for start in _other_starts(scene, request, pose, turning):
        bent = bend_into_limits(scene.model, start, [goal.joint for goal in goals], free)
        other = found(bent)
        if other.errors[0] < BETTER * best.errors[0]:
            best = other
        if best.converged:
            break
    return best


def _other_starts(
    scene: Scene, request: Request, pose: Pose, turning: Sequence[int]
) -> Iterator[Pose]:
    """Yield the pose, and what it is with the joints that may turn as they were, and at rest."""
    yield pose
    count = len(scene.clip.skeleton)
    if request.get("start") is not None:
        yield _with_turns(pose, rotations({"rotations": request["start"]}, count), turning)
    yield _with_turns(pose, scene.clip.skeleton.rest_pose().rotations, turning)


def _with_turns(pose: Pose, turns: Quats, joints: Sequence[int]) -> Pose:
    mixed = np.array(pose.rotations)
    mixed[joints] = turns[joints]
    return pose.with_rotations(mixed)


def _pins(request: Request) -> list[Reach | Orient]:
    """Return goals, before all others, that keep joints as they are in the world."""
    return [replace(goal, weight=1.0, priority=-1) for goal in pin_goals(request)]


def _free_joints(scene: Scene, request: Request) -> Joints:
    """Return the joints that a request lets turn, but those that limits below keep still."""
    if request["joints"] is None:
        return None
    still = joints_between(scene.model) if flag(request, "limits") else []
    return [name for name in words(request, "joints") if name not in still]


def _limits(scene: Scene, request: Request) -> LimitModel:
    """Return the limits that a request wants to be kept: all, or none."""
    return scene.model if flag(request, "limits") else LimitModel({}, scene.clip.skeleton)


def _solution_answer(scene: Scene, found: Solution, started: float, joints: Joints) -> Solved:
    seconds = time.perf_counter() - started
    root = found.pose.positions[scene.clip.skeleton.parents < 0]
    return {
        "ms": 1000.0 * seconds,
        "met": bool(found.converged),
        "left": float(found.errors[0]),
        "blockingDeg": {name: float(np.degrees(angle)) for name, angle in found.blocking().items()},
        "outsideDeg": outside_deg(scene, found.pose),
        "atLimit": _at_limit(scene, found, joints),
        "rotations": found.pose.rotations,
        "root": root[0],
    }


def _at_limit(scene: Scene, found: Solution, joints: Joints) -> list[str]:
    """Return the joints of what is pulled that are on the boundary of their limits, or nearly."""
    skeleton = scene.clip.skeleton
    near = scene.model.distance(found.pose) > -np.radians(NEAR_DEG)
    chain = {
        skeleton.names[above]
        for goal in found.goals
        if isinstance(goal, Reach | Aim | Orient)
        for above in skeleton.path_to_root(skeleton.index(goal.joint))
    }
    return [
        name
        for name in scene.model.limits
        if near[skeleton.index(name)] and name in chain and (joints is None or name in joints)
    ]
