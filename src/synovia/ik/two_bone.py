"""Two bones, solved by a triangle: how far the middle bends, then how the first joint swivels.

The bend follows from the target's distance. That leaves a circle for the middle joint: of all
swivels that are legal, the one nearest to the pole is taken, or to where the joint is without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors, rows
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .goals import Reach
from .problem import (
    Problem,
    check_movable,
    freedom_of,
    joints_between,
    orthonormal_pair,
    pack,
)
from .search import SearchSettings, descend_unmet
from .solution import Solution
from .solve import Batch, JointVariables, solve, solve_dependent

SWEEPS = ((np.pi, 73), (np.radians(5.0), 41), (np.radians(0.25), 41))
"""Swivels that are looked at: so far to both sides of the best so far, and how many, with 0."""
SHORT_BONE = 0.2
"""Of the bone below: a joint whose own bone is shorter is passed over, as in a forearm's two."""
ILLEGAL_COST = 1e3  # what a swivel costs that is not legal: more than any angle


def two_bone(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goal: Reach,
    *,
    pole: Vectors | None = None,
    settings: SearchSettings | None = None,
) -> Solution:
    """Return a legal pose in which two joints above the goal's bring it to its target.

    The two are those with bones of some length. The middle one bends and the first one swivels, by
    a triangle; only if limits leave an error, least squares continues with these two. Joints
    between a limited joint and the ancestor that it is measured from stay as they are:
    `Solution.kept_still` names them.

    Parameters
    ----------
    model, skeleton, pose, settings
        As for `solve`. The settings are those of least squares, which does not restart.
    goal
        The point to bring to a target.
    pole
        The direction (..., 3) in the world, from the first joint, that the middle one should be in.
        Unless given, it stays as near as possible to its present direction.
    """
    if not isinstance(goal, Reach):
        raise ValueError(f"two_bone takes one goal, a Reach, got {goal!r:.80}")
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        raise ValueError("two_bone takes limits of single joints, got groups of a figure")
    bones = _bones(skeleton, goal)
    if bones is None:
        raise ValueError(f"two_bone needs two joints above {goal.joint!r}, got fewer")
    names = [skeleton.names[joint] for joint in bones]
    settings = settings or SearchSettings()
    check_movable(fitted, names)
    problem = pack(model, skeleton, pose, [goal], names)
    if not problem.model.dependents or problem.batch != ():
        found = _solve_triangles(problem, bones, pole, settings)
        return replace(found, kept_still=_kept_still(problem.model, goal))

    def solve_held(held: LimitModel, start: Pose, some: Sequence[str] | None) -> Solution:
        if some is not None:
            return solve(held, skeleton, start, [goal], joints=some, settings=settings)
        return two_bone(held, skeleton, start, goal, pole=pole, settings=settings)

    movers = [problem.model.skeleton.names[joint] for joint in problem.movers]
    return solve_dependent(problem.model, pose, movers, solve_held)


def _kept_still(model: LimitModel, goal: Reach) -> tuple[str, ...]:
    """Return the limited joints above the goal's that other limits are measured across."""
    skeleton = model.skeleton
    above = {skeleton.names[joint] for joint in skeleton.path_to_root(skeleton.index(goal.joint))}
    return tuple(n for n in joints_between(model) if n in model.limits and n in above)


def _bones(skeleton: Skeleton, goal: Reach) -> tuple[int, int] | None:
    """Return the first and the middle joint; those between the middle and the end stay as they are.

    The middle is the lowest joint that a bone of some length leads to: not a forearm's, which turns
    about itself just below the elbow.
    """
    end = skeleton.index(goal.joint)
    middle, below = int(skeleton.parents[end]), skeleton.offsets[end] + goal.point
    while middle >= 0 and skeleton.parents[middle] >= 0:
        first, own = int(skeleton.parents[middle]), skeleton.offsets[middle]
        if np.linalg.norm(own) >= SHORT_BONE * np.linalg.norm(below) or skeleton.parents[first] < 0:
            return first, middle
        middle, below = first, below + own
    return None


def _solve_triangles(
    problem: Problem,
    bones: tuple[int, int],
    pole: Vectors | None,
    settings: SearchSettings,
) -> Solution:
    """Return the solution by triangles, continued by least squares where limits leave an error.

    `bones` are the indices of the first and the middle joint.
    """
    variables, skeleton = JointVariables(problem, settings), problem.model.skeleton
    batch = variables.start()
    goal = cast(Reach, problem.goals[0])
    last = skeleton.index(goal.joint)
    first, middle = bones
    where, how = forward(skeleton, Pose(batch.rotations, batch.positions))
    above = quat.mul(how[:, first], quat.inverse(batch.rotations[:, first]))
    way = quat.rotate(quat.inverse(above), batch.targets[:, 0, :3] - where[:, first])
    upper = batch.positions[:, middle]
    end = where[:, last] + quat.rotate(how[:, last], goal.point)
    lower = quat.rotate(quat.inverse(how[:, middle]), end - where[:, middle])
    bend(
        batch, middle, problem.limit_from_parent(middle), upper, lower, np.linalg.norm(way, axis=-1)
    )
    wanted = _pole(problem, pole, above)
    swivel(batch, first, problem.limit_from_parent(first), upper, middle, lower, way, wanted)
    descend_unmet(variables, batch, settings)
    return variables.finish(batch)


def _pole(problem: Problem, pole: Vectors | None, above: Quats) -> Vectors | None:
    """Return the pole of each problem as the parent of the first joint sees it."""
    if pole is None:
        return None
    given = rows("pole", pole, 3)
    if (np.linalg.norm(given, axis=-1) < 1e-9).any():
        raise ValueError(f"pole must have a direction, got {given.tolist()!r:.80}")
    try:
        each = np.broadcast_to(given, (*problem.batch, 3)).reshape(-1, 3)
    except ValueError:
        raise ValueError(
            f"pole must go with the problems' axes {problem.batch}, got shape {given.shape}"
        ) from None
    return quat.rotate(quat.inverse(above), each)


def bend(
    batch: Batch, joint: int, limit: Limit | None, upper: Vectors, lower: Vectors, far: Scalars
) -> None:
    """Bend the middle joint so that the end is as far from the first as the target is.

    Turned by φ about h, the end's squared distance is A + B cos φ + C sin φ; of the two φ, the one
    that the limit leaves nearer to the distance, or the smaller one.
    """
    now = batch.rotations[:, joint]
    back = quat.rotate(quat.inverse(now), upper)
    axis = _bend_axis(limit, back, lower)
    along = axis * np.sum(axis * lower, axis=-1, keepdims=True)
    a = np.sum(upper**2 + lower**2 + 2.0 * back * along, axis=-1)
    b = 2.0 * np.sum(back * (lower - along), axis=-1)
    c = 2.0 * np.sum(back * np.cross(axis, lower), axis=-1)
    size = np.hypot(b, c)
    matters = size > 1e-9 * a  # not where a bone has no length: then the joint stays as it is
    open_by = np.arccos(np.clip((far**2 - a) / np.maximum(size, 1e-300), -1.0, 1.0))
    best, cost = now.copy(), np.full(len(now), np.inf)
    for side in (1.0, -1.0):
        angle = np.remainder(np.arctan2(c, b) + side * open_by + np.pi, 2.0 * np.pi) - np.pi
        angle = np.where(matters, angle, 0.0)
        turned = quat.normalize(quat.mul(now, quat.exp(angle[:, None] * axis)))
        turned = turned if limit is None else limit.project(turned)
        off = np.linalg.norm(upper + quat.rotate(turned, lower), axis=-1) - far
        price = ILLEGAL_COST * np.abs(off) + np.abs(angle)
        better = price < cost
        best[better], cost[better] = turned[better], price[better]
    batch.rotations[:, joint] = best


def _bend_axis(limit: Limit | None, back: Vectors, lower: Vectors) -> Vectors:
    """Return the axes (n, 3), in the middle joint's frame: its own if it has but one."""
    own = np.eye(3) if limit is None else freedom_of(limit).axes
    if len(own) == 1:
        return np.broadcast_to(own[0], back.shape)
    plane = np.cross(back, lower)
    length = np.linalg.norm(plane, axis=-1, keepdims=True)
    straight = np.array(
        [orthonormal_pair(bone)[0] if bone.any() else np.eye(3)[2] for bone in lower]
    )
    return np.where(length > 1e-9, plane / np.maximum(length, 1e-9), straight.reshape(-1, 3))


def swivel(
    batch: Batch,
    joint: int,
    limit: Limit | None,
    upper: Vectors,
    middle: int,
    lower: Vectors,
    way: Vectors,
    pole: Vectors | None,
) -> None:
    """Point the end at the target, then turn about the way there to the best legal swivel."""
    end = upper + quat.rotate(batch.rotations[:, middle], lower)
    now = batch.rotations[:, joint]
    straight = quat.mul(quat.between(quat.rotate(now, end), way), now)
    axis = way / np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), 1e-300)
    best = np.zeros(len(now))
    for reach, count in SWEEPS:
        angles = best[:, None] + np.linspace(-reach, reach, count)
        turned = quat.normalize(
            quat.mul(quat.exp(angles[..., None] * axis[:, None]), straight[:, None])
        )
        cost = np.abs(angles) if pole is None else _pole_angles(turned, upper, axis, pole)
        if limit is not None:
            cost = cost + ILLEGAL_COST * (~limit.contains(turned) + limit.violation(turned))
        best = np.take_along_axis(angles, cost.argmin(axis=1)[:, None], axis=1)[:, 0]
    turned = quat.normalize(quat.mul(quat.exp(best[:, None] * axis), straight))
    batch.rotations[:, joint] = turned if limit is None else limit.project(turned)


def _pole_angles(turned: Quats, upper: Vectors, axis: Vectors, pole: Vectors) -> Floats:
    """Return the angles, about `axis`, between where the middle joint is and the pole."""
    bone = quat.rotate(turned, upper[:, None])
    bone = bone - axis[:, None] * np.sum(bone * axis[:, None], axis=-1, keepdims=True)
    pole = pole - axis * np.sum(pole * axis, axis=-1, keepdims=True)
    across_both = np.linalg.norm(np.cross(bone, pole[:, None]), axis=-1)
    return np.asarray(np.arctan2(across_both, np.sum(bone * pole[:, None], axis=-1)))
