"""two_bone and arm: two joints, as shoulder and elbow, solved in closed form.

The distance of the target gives the bend of the middle joint, which can then be anywhere on a
circle, by a swivel about the line to the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple, cast

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Scalars, Vectors, rows
from ..limit import Limit
from ..model import LimitModel, first_exit
from ..shapes import Region, ThetaPhi
from ..shapes.extent import tangent_basis
from ..skeleton import Pose, Skeleton, check_joints, forward, lineage
from .goals import Reach
from .problem import Problem, check_movable, freedom_of, pack
from .search import GOAL_TOLERANCE, SearchSettings, check_above_0, descend_unmet, restart
from .solution import Solution
from .solve import Batch, JointVariables, solve, solve_dependent

# Candidates for the swivel in each pass: radians to both sides of the best so far, and count.
SWEEPS = ((np.pi, 73), (np.radians(5.0), 41), (np.radians(0.25), 41))
SHORT_BONE = 0.2  # of the bone below; joints with a shorter bone are skipped, as in a forearm
MAX_STEP = 0.2  # radians that shoulder and elbow rotate in a frame of `arm` unless given
SWIVELS = 81  # candidates in a frame of `arm`, at most a step to both sides
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
    between a limited joint and the ancestor that it is measured from stay as they are.

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
        return _solve_triangles(problem, bones, pole, settings)

    def solve_held(held: LimitModel, start: Pose, movers: Sequence[str] | None) -> Solution:
        if movers is not None:
            return solve(held, skeleton, start, [goal], joints=movers, settings=settings)
        return two_bone(held, skeleton, start, goal, pole=pole, settings=settings)

    return solve_dependent(problem, pose, solve_held)


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
    bend(batch, middle, LocalLimit.of(problem, middle), upper, lower, distance)
    wanted = _pole(problem, pole, parent)
    swivel(batch, first, LocalLimit.of(problem, first), upper, middle, lower, target, wanted)
    descend_unmet(variables, batch, settings)
    restart(variables, batch, initial, settings)
    return variables.finish(batch)


@dataclass(frozen=True, eq=False)
class LocalLimit:
    """The limit of a joint, or none, for rotations (n, ..., 4) relative to its parent."""

    limit: Limit | None
    above: Quats | None = None
    """(n, 4) or (1, 4): the parent's rotations relative to what the limit is measured from."""

    @classmethod
    def of(cls, problem: Problem, joint: int) -> LocalLimit:
        """Return the limit of a joint, by index, in the start poses of a problem."""
        model, name = problem.model, problem.model.skeleton.names[joint]
        limit = model.limits.get(name)
        measured = lineage(model.skeleton, name, None if limit is None else limit.relative_to)
        if not measured.between:
            return cls(limit)
        return cls(limit, measured.above(problem.start.rotations).reshape(-1, 4))

    def at(self, row: int) -> LocalLimit:
        """Return the limit of one row."""
        return LocalLimit(self.limit, None if self.above is None else self.above[row : row + 1])

    def measured(self, rotations: Quats) -> Quats:
        """Return rotations as the limit measures them."""
        if self.above is None:
            return rotations
        return quat.mul(self.above.reshape(-1, *(1,) * (rotations.ndim - 2), 4), rotations)

    def local(self, measured: Quats) -> Quats:
        """Return rotations from those that the limit measures."""
        if self.above is None:
            return measured
        return replace(self, above=quat.inverse(self.above)).measured(measured)

    def project(self, rotations: Quats) -> Quats:
        """Return the nearest legal rotations."""
        if self.limit is None:
            return rotations
        return self.local(self.limit.project(self.measured(rotations)))

    def cost(self, rotations: Quats) -> Scalars:
        """Return 0 for legal rotations, for others more than any angle in radians."""
        if self.limit is None:
            return np.zeros(rotations.shape[:-1])
        measured = self.measured(rotations)
        illegal = ~self.limit.contains(measured)
        return np.asarray(ILLEGAL_COST * (illegal + self.limit.correction(measured)))


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
    batch: Batch, joint: int, limit: LocalLimit, upper: Vectors, lower: Vectors, distance: Scalars
) -> None:
    """Bend the middle joint, in place, so that the end is at `distance` (n,) from the first joint.

    `upper` and `lower` are those of `Triangle`. The joint bends from its present rotation, and from
    the legal rotation with the nearest distance: a straight joint does not show in which direction
    it can bend. The result with the smallest error is taken; among equal errors, the one nearest
    to the present rotation.
    """
    current = batch.rotations[:, joint].copy()
    starts = [current]
    if limit.limit is not None:
        legal = limit.local(np.tile(freedom_of(limit.limit).legal, (len(current), 1, 1)))
        reached = np.linalg.norm(upper[:, None] + quat.rotate(legal, lower[:, None]), axis=-1)
        nearest = np.abs(reached - distance[:, None]).argmin(axis=1)
        starts.append(legal[np.arange(len(legal)), nearest])
    best_cost = np.full(len(current), np.inf)
    for start in starts:
        for bent in _close_triangle(start, limit, upper, lower, distance):
            error = np.linalg.norm(upper + quat.rotate(bent, lower), axis=-1) - distance
            cost = ILLEGAL_COST * np.abs(error) + quat.angle_between(current, bent)
            better = cost < best_cost
            batch.rotations[better, joint], best_cost[better] = bent[better], cost[better]


def _close_triangle(
    start: Quats, limit: LocalLimit, upper: Vectors, lower: Vectors, distance: Scalars
) -> Iterator[Quats]:
    """Yield the two rotations (n, 4) from `start`, about one axis, that reach `distance` (n,).

    They are projected onto the limit. With a rotation by φ about the axis, the squared distance of
    the end from the first joint is A + B cos φ + C sin φ.
    """
    back = quat.rotate(quat.inverse(start), upper)
    axis = _bend_axis(limit.limit, back, lower)
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
        yield limit.project(bent)


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
    bones = np.where(lower.any(axis=-1, keepdims=True), lower, np.eye(3)[2])
    straight = -tangent_basis(bones / np.linalg.norm(bones, axis=-1, keepdims=True))[..., 0, :]
    return np.where(length > 1e-9, plane / np.maximum(length, 1e-9), straight)


def swivel(
    batch: Batch,
    joint: int,
    limit: LocalLimit,
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
        cost = cost + limit.cost(rotations)
        best = np.take_along_axis(angles, cost.argmin(axis=1)[:, None], axis=1)[:, 0]
    rotations = quat.normalize(quat.mul(quat.exp(best[:, None] * axis), direct))
    batch.rotations[:, joint] = limit.project(rotations)


def _pole_angles(rotations: Quats, upper: Vectors, axis: Vectors, pole: Vectors) -> Floats:
    """Return the angles (n, swivels), about `axis`, between the middle joint and the pole."""
    bone = quat.rotate(rotations, upper[:, None])
    bone = bone - axis[:, None] * np.sum(bone * axis[:, None], axis=-1, keepdims=True)
    pole = pole - axis * np.sum(pole * axis, axis=-1, keepdims=True)
    across_both = np.linalg.norm(np.cross(bone, pole[:, None]), axis=-1)
    return np.asarray(np.arctan2(across_both, np.sum(bone * pole[:, None], axis=-1)))


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

    This is the method of Huang & Prakash. Shoulder and elbow rotate; the elbow is the joint after
    the shoulder. All other joints are as in `pose`. The first frame starts there, each other frame
    from the one before: the elbow bends by distance, and the shoulder makes the smallest rotation
    that brings the wrist to the target. If its limit does not allow that, the arm swivels about the
    line from shoulder to wrist, as little as needed. If no swivel is legal, the paper's walk back
    finds the point of the boundary where the shoulder stops.

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
    bones = _arm_bones(skeleton, shoulder, wrist)
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


def _arm_bones(skeleton: Skeleton, shoulder: str, wrist: str) -> tuple[int, int]:
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
    bends, shoulders = batch.rotations[:, elbow], batch.rotations[:, shoulder]
    limit = LocalLimit.of(problem, elbow)
    bend(batch, elbow, limit, upper, lower, np.linalg.norm(target, axis=-1))
    for frame in range(1, len(bends)):
        wanted = bends[frame]
        bounded = _rotate_towards(bends[frame - 1], wanted, step)
        if bounded is not wanted:
            bends[frame] = limit.at(frame).project(bounded[None])[0]
    end = upper + quat.rotate(bends, lower)
    limit, first_frame = LocalLimit.of(problem, shoulder), batch.take(np.arange(1))
    swivel(first_frame, shoulder, limit.at(0), upper[:1], elbow, lower[:1], target[:1], None)
    shoulders[0] = first_frame.rotations[0, shoulder]
    for frame in range(1, len(target)):
        shoulders[frame] = _next_rotation(
            limit.at(frame), shoulders[frame - 1], end[frame], target[frame], step
        )


def _rotate_towards(start: Quats, end: Quats, max_angle: float) -> Quats:
    """Return `end`, or the rotation at `max_angle` radians from `start` on the path to it."""
    angle = float(quat.angle_between(start, end))
    return end if angle <= max_angle else quat.normalize(quat.slerp(start, end, max_angle / angle))


def _next_rotation(
    limit: LocalLimit, previous: Quats, end: Vectors, target: Vectors, step: float
) -> Quats:
    """Return the legal rotation of the shoulder that brings the wrist nearest to its target.

    `end` is the wrist in the shoulder's frame, `target` its target in the parent's frame, `step`
    the maximum rotation from `previous` in radians.
    """
    previous = limit.project(previous[None])[0]  # joints between may have moved
    direct = quat.normalize(quat.mul(quat.between(quat.rotate(previous, end), target), previous))
    direct = _rotate_towards(previous, direct, step)
    if limit.cost(direct[None])[0] == 0.0:
        return direct
    axis = quat.rotate(direct, end)
    axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    angles = np.linspace(-step, step, SWIVELS)
    swivels = quat.normalize(quat.mul(quat.exp(angles[:, None] * axis), direct))
    legal = (limit.cost(swivels) == 0.0) & (quat.angle_between(previous, swivels) <= step)
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
    limit: LocalLimit, previous: Quats, direct: Quats, end: Vectors, target: Vectors, step: float
) -> Quats:
    """Return the rotation that brings the wrist nearest, if `direct` is illegal at every swivel.

    Of `previous`, the walk back from `direct` and the projection of `direct`, those at most `step`
    radians from `previous` are compared.
    """
    judged = cast(Limit, limit.limit)
    before, after = limit.measured(np.stack([previous, direct]))
    point = _walk_back(judged.region, *judged.chart.points(np.stack([before, after])))
    if point is None:
        share = float(first_exit(judged, before, after))
        stopped = quat.normalize(quat.slerp(previous, direct, share))
    else:
        stopped = limit.local(judged.chart.rotations(point)[None])[0]
    choices = limit.project(np.stack([previous, stopped, limit.project(direct[None])[0]]))
    error: Floats = np.linalg.norm(quat.rotate(choices, end) - target, axis=-1)
    error = np.where(quat.angle_between(previous, choices) <= step, error, np.inf)
    return np.asarray(choices[error.argmin()])
