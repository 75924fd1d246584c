"""two_bone: two joints, as shoulder and elbow, solved in closed form, with a pole.

The distance of the target gives the bend of the middle joint, which can then be anywhere on a
circle. Of all legal swivels about the line to the target, the one nearest to the pole is taken;
without a pole, the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

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
from .search import SearchSettings, descend_unmet, restart
from .solution import Solution
from .solve import Batch, JointVariables, solve, solve_dependent

# Candidates for the swivel in each pass: radians to both sides of the best so far, and count.
SWEEPS = ((np.pi, 73), (np.radians(5.0), 41), (np.radians(0.25), 41))
SHORT_BONE = 0.2  # of the bone below; joints with a shorter bone are skipped, as in a forearm
ILLEGAL_COST = 1e3  # radians, more than any angle; of an illegal swivel, or a distance missed by 1


def two_bone(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goal: Reach,
    *,
    pole: Vectors | None = None,
    settings: SearchSettings | None = None,
) -> Solution:
    """Return a legal pose in which two joints above a goal's joint bring it to its target.

    The two are the nearest with bones of some length. The middle one bends and the first one
    swivels, by a triangle. If limits leave an error, least squares continues with these two. Joints
    between a limited joint and the ancestor that it is measured from stay as they are; see
    `Solution.kept_still`.

    Parameters
    ----------
    model, skeleton, pose, settings
        As for `solve`. The settings are those of least squares.
    goal
        The point to bring to a target.
    pole
        Direction (..., 3) in the world, from the first joint, in which the middle joint should be.
        Unless given, the swivel is as small as possible.
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
        solution = _solve_triangles(problem, bones, pole, settings)
        return replace(solution, kept_still=_kept_still(problem.model, goal))

    def solve_held(held: LimitModel, start: Pose, movers: Sequence[str] | None) -> Solution:
        if movers is not None:
            return solve(held, skeleton, start, [goal], joints=movers, settings=settings)
        return two_bone(held, skeleton, start, goal, pole=pole, settings=settings)

    return solve_dependent(problem, pose, solve_held)


def _kept_still(model: LimitModel, goal: Reach) -> tuple[str, ...]:
    """Return the names for `Solution.kept_still`: limited joints above the goal's joint."""
    skeleton = model.skeleton
    above = {skeleton.names[joint] for joint in skeleton.path_to_root(skeleton.index(goal.joint))}
    return tuple(n for n in joints_between(model) if n in model.limits and n in above)


def _bones(skeleton: Skeleton, goal: Reach) -> tuple[int, int] | None:
    """Return the indices of the first and the middle joint; None if there are no such joints.

    The middle is the lowest joint that a bone of some length leads to, so not the joint just below
    the elbow that twists the forearm.
    """
    end = skeleton.index(goal.joint)
    middle, below = int(skeleton.parents[end]), skeleton.offsets[end] + goal.point
    while middle >= 0 and skeleton.parents[middle] >= 0:
        first, bone = int(skeleton.parents[middle]), skeleton.offsets[middle]
        if (
            np.linalg.norm(bone) >= SHORT_BONE * np.linalg.norm(below)
            or skeleton.parents[first] < 0
        ):
            return first, middle
        middle, below = first, below + bone
    return None


def _solve_triangles(
    problem: Problem, bones: tuple[int, int], pole: Vectors | None, settings: SearchSettings
) -> Solution:
    """Return the solution by triangles, continued by a search where limits leave an error.

    `bones` are the indices of the first and the middle joint.
    """
    variables = JointVariables(problem, settings)
    batch = variables.start()
    initial = batch.take(np.arange(len(batch.met)))
    first, middle = bones
    parent, upper, lower, target = triangle_of(problem, batch, bones)
    distance = np.linalg.norm(target, axis=-1)
    bend(batch, middle, problem.limit_from_parent(middle), upper, lower, distance)
    wanted = _pole(problem, pole, parent)
    swivel(batch, first, problem.limit_from_parent(first), upper, middle, lower, target, wanted)
    descend_unmet(variables, batch, settings)
    restart(variables, batch, initial, settings)
    return variables.finish(batch)


class Triangle(NamedTuple):
    """Two bones and a target, one row for each problem."""

    parent: Quats
    """(n, 4): rotation in the world of the first joint's parent."""
    upper: Vectors
    """(n, 3): from the first to the middle joint, in the first joint's frame."""
    lower: Vectors
    """(n, 3): from the middle joint to the end, in the middle joint's frame."""
    target: Vectors
    """(n, 3): from the first joint to the target, in the parent's frame."""


def triangle_of(problem: Problem, batch: Batch, bones: tuple[int, int]) -> Triangle:
    """Return the triangle of a first and a middle joint, by index, for the problem's `Reach`."""
    skeleton, goal, (first, middle) = problem.model.skeleton, cast(Reach, problem.goals[0]), bones
    positions, rotations = forward(skeleton, Pose(batch.rotations, batch.positions))
    last = skeleton.index(goal.joint)
    end = positions[:, last] + quat.rotate(rotations[:, last], goal.point)
    parent = quat.mul(rotations[:, first], quat.inverse(batch.rotations[:, first]))
    return Triangle(
        parent,
        batch.positions[:, middle],
        quat.rotate(quat.inverse(rotations[:, middle]), end - positions[:, middle]),
        quat.rotate(quat.inverse(parent), batch.targets[:, 0, :3] - positions[:, first]),
    )


def _pole(problem: Problem, pole: Vectors | None, parent: Quats) -> Vectors | None:
    """Return the poles (n, 3) in the frame of the first joint's parent."""
    if pole is None:
        return None
    directions = rows("pole", pole, 3)
    if (np.linalg.norm(directions, axis=-1) < 1e-9).any():
        raise ValueError(f"pole must have a direction, got {directions.tolist()!r:.80}")
    try:
        poles = np.broadcast_to(directions, (*problem.batch, 3)).reshape(-1, 3)
    except ValueError:
        raise ValueError(
            f"pole must go with the problems' axes {problem.batch}, got shape {directions.shape}"
        ) from None
    return quat.rotate(quat.inverse(parent), poles)


def bend(
    batch: Batch, joint: int, limit: Limit | None, upper: Vectors, lower: Vectors, distance: Scalars
) -> None:
    """Bend the middle joint, in place, so that the end is at `distance` (n,) from the first joint.

    `upper` and `lower` are those of `Triangle`. The joint bends from its present rotation, and from
    the legal rotation with the nearest distance: a straight joint does not show in which direction
    it can bend. The result with the smallest error is taken; among equal errors, the one nearest
    to the present rotation.
    """
    current = batch.rotations[:, joint].copy()
    starts = [current]
    if limit is not None:
        legal = freedom_of(limit).legal
        reached = np.linalg.norm(upper[:, None] + quat.rotate(legal, lower[:, None]), axis=-1)
        starts.append(legal[np.abs(reached - distance[:, None]).argmin(axis=1)])
    best_cost = np.full(len(current), np.inf)
    for start in starts:
        for bent in _close_triangle(start, limit, upper, lower, distance):
            error = np.linalg.norm(upper + quat.rotate(bent, lower), axis=-1) - distance
            cost = ILLEGAL_COST * np.abs(error) + quat.angle_between(current, bent)
            better = cost < best_cost
            batch.rotations[better, joint], best_cost[better] = bent[better], cost[better]


def _close_triangle(
    start: Quats, limit: Limit | None, upper: Vectors, lower: Vectors, distance: Scalars
) -> Iterator[Quats]:
    """Yield the two rotations (n, 4) from `start`, about one axis, that reach `distance` (n,).

    They are projected onto the limit. With a rotation by φ about the axis, the squared distance of
    the end from the first joint is A + B cos φ + C sin φ.
    """
    back = quat.rotate(quat.inverse(start), upper)
    axis = _bend_axis(limit, back, lower)
    along = axis * np.sum(axis * lower, axis=-1, keepdims=True)
    a = np.sum(upper**2 + lower**2 + 2.0 * back * along, axis=-1)
    b = 2.0 * np.sum(back * (lower - along), axis=-1)
    c = 2.0 * np.sum(back * np.cross(axis, lower), axis=-1)
    size = np.hypot(b, c)
    has_effect = size > 1e-9 * a  # not where a bone has no length: then the joint stays as it is
    opening = np.arccos(np.clip((distance**2 - a) / np.maximum(size, 1e-300), -1.0, 1.0))
    for side in (1.0, -1.0):
        angle = np.remainder(np.arctan2(c, b) + side * opening + np.pi, 2.0 * np.pi) - np.pi
        angle = np.where(has_effect, angle, 0.0)
        bent = quat.normalize(quat.mul(start, quat.exp(angle[:, None] * axis)))
        yield bent if limit is None else limit.project(bent)


def _bend_axis(limit: Limit | None, back: Vectors, lower: Vectors) -> Vectors:
    """Return the axes (n, 3) of bending in the middle joint's frame.

    That is the axis of a hinge, otherwise the normal of the plane of both bones. `back` (n, 3) is
    the upper bone in the same frame.
    """
    axes = np.eye(3) if limit is None else freedom_of(limit).axes
    if len(axes) == 1:
        return np.broadcast_to(axes[0], back.shape)
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
    target: Vectors,
    pole: Vectors | None,
) -> None:
    """Point the end at the target, in place, with the best legal swivel about the line to it.

    `upper`, `lower` and `target` are those of `Triangle`. `pole` (n, 3) is the direction in which
    the middle joint should be, in the parent's frame; None for the smallest swivel.
    """
    end = upper + quat.rotate(batch.rotations[:, middle], lower)
    current = batch.rotations[:, joint]
    direct = quat.mul(quat.between(quat.rotate(current, end), target), current)
    axis = target / np.maximum(np.linalg.norm(target, axis=-1, keepdims=True), 1e-300)
    best = np.zeros(len(current))
    for half_range, count in SWEEPS:
        angles = best[:, None] + np.linspace(-half_range, half_range, count)
        rotations = quat.normalize(
            quat.mul(quat.exp(angles[..., None] * axis[:, None]), direct[:, None])
        )
        cost = np.abs(angles) if pole is None else _pole_angles(rotations, upper, axis, pole)
        if limit is not None:
            cost = cost + ILLEGAL_COST * (~limit.contains(rotations) + limit.correction(rotations))
        best = np.take_along_axis(angles, cost.argmin(axis=1)[:, None], axis=1)[:, 0]
    rotations = quat.normalize(quat.mul(quat.exp(best[:, None] * axis), direct))
    batch.rotations[:, joint] = rotations if limit is None else limit.project(rotations)


def _pole_angles(rotations: Quats, upper: Vectors, axis: Vectors, pole: Vectors) -> Floats:
    """Return the angles (n, swivels), about `axis`, between the middle joint and the pole."""
    bone = quat.rotate(rotations, upper[:, None])
    bone = bone - axis[:, None] * np.sum(bone * axis[:, None], axis=-1, keepdims=True)
    pole = pole - axis * np.sum(pole * axis, axis=-1, keepdims=True)
    across_both = np.linalg.norm(np.cross(bone, pole[:, None]), axis=-1)
    return np.asarray(np.arctan2(across_both, np.sum(bone * pole[:, None], axis=-1)))
