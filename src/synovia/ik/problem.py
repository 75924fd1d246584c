"""Problem: pose, goals and limits as the kernels read them, and what problems of a kind share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, Vectors
from ..learn import joint_kind
from ..limit import Limit
from ..model import LimitModel, pack_limits
from ..skeleton import Lineage, Pose, Skeleton, check_joints, lineage
from .goals import Comfort, Goal, check_goals, common_batch, pins_of


def joints_between(model: LimitModel) -> list[str]:
    """Return the joints between others and what their limits are measured from."""
    between = {joint for way in _ancestor_ways(model) for joint in way.between}
    return [model.skeleton.names[joint] for joint in sorted(between)]


def check_movable(model: LimitModel, joints: Sequence[str]) -> None:
    """Raise ValueError if limits of joints below are measured across one of `joints`."""
    between = joints_between(model)
    if moving := [name for name in joints if name in between]:
        raise ValueError(
            f"{', '.join(moving)} must not move: limits of joints below are measured from above "
            f"({', '.join(f'{name} from {above}' for name, above in model.ancestors.items())})"
        )


def default_joints(model: LimitModel, free_root: bool) -> list[str] | None:
    """Return the joints that turn where none are named, by solvers that know ancestors.

    Not those between a joint and what it is measured from, unless they have a limit of their own;
    None for all.
    """
    still = [name for name in joints_between(model) if name not in model.limits]
    if not still:
        return None
    skeleton = model.skeleton
    moving = [name for name in skeleton.names if name not in still]
    return [n for n in moving if free_root or skeleton.parents[skeleton.index(n)] >= 0]


STORED_POSES = 256  # legal poses that restarts choose from
HINGE_TOLERANCE = 1e-6  # radians; rotations this near to a hinge are on it


@dataclass(frozen=True, eq=False)
class Freedom:
    """Axes (n, 3) in the joint's frame about which it turns, and legal rotations (STORED, 4).

    `swing` (8,) is all 0, but for a joint that does not twist, whose axes depend on where it is:
    1, the inverse of its reference, the bone's axis.
    """

    axes: Vectors
    swing: Floats
    legal: Quats


_FREEDOMS: WeakKeyDictionary[Limit, Freedom] = WeakKeyDictionary()


def freedom_of(limit: Limit) -> Freedom:
    """Return the freedom of a limit: one axis for a hinge, two for one that does not twist."""
    found = _FREEDOMS.get(limit)
    if found is None:
        legal = limit.sample(STORED_POSES, np.random.default_rng(0))
        found = _FREEDOMS[limit] = Freedom(*_axes(limit, legal), legal)
    return found


def _axes(limit: Limit, legal: Quats) -> tuple[Vectors, Floats]:
    still = np.zeros(8)
    if limit.region.measure > 0.0:
        return np.eye(3), still
    seen = joint_kind(legal, HINGE_TOLERANCE)
    if seen.kind == "fixed":
        return np.empty((0, 3)), still
    if seen.kind == "hinge":
        return quat.rotate(quat.inverse(seen.mean), seen.axes), still
    bone = limit.chart.bone
    if bone is not None and np.ptp(limit.chart.points(legal)[:, -1]) <= HINGE_TOLERANCE:
        return orthonormal_pair(bone), np.array([1.0, *quat.inverse(limit.chart.reference), *bone])
    return np.eye(3), still


def orthonormal_pair(axis: Vectors) -> Floats:
    """Return two unit vectors (2, 3) at right angles to `axis` and to each other."""
    first = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])


UNLIMITED_TURN = 0.7  # radians; how far joints without a limit are turned for a stored pose
MAX_PLANS = 64  # that are kept of a model


@dataclass(frozen=True, eq=False)
class ProblemPlan:
    """What a problem is without its pose and its targets: the same, frame after frame."""

    joints: tuple[tuple[int, ...], ...]
    """Those of each goal."""
    rows: tuple[slice, ...]
    """The targets of each goal among all."""
    levels: Ints
    """The level of each target, from 0: goals of later levels give way to those of earlier ones."""
    chain: Any
    library: Quats
    """Legal rotations (STORED, movers, 4) to start again from, each measured as its limit is."""
    held: tuple[tuple[int, Lineage], ...]
    """The movers whose limits are measured from an ancestor."""


_PLANS: WeakKeyDictionary[LimitModel, dict[Any, ProblemPlan]] = WeakKeyDictionary()


def plan_of(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> ProblemPlan:
    """Return what the problem is without pose and targets, once for each kind of problem."""
    known = _PLANS.setdefault(model, {})
    joints = joints if joints is None or isinstance(joints, str) else [*joints]
    key = (tuple(goal.key() for goal in goals), repr(joints), free_root)
    found = known.get(key)
    if found is None:
        movers = _movers(model.skeleton, joints, free_root)
        expanded = [goal.joint_indices(model, movers) for goal in goals]
        ends = np.cumsum([0, *(len(part) for part in expanded)]).tolist()
        if ends[-1] == 0:
            raise ValueError("goals must be about a joint that may move, got wishes for none")
        if len(known) >= MAX_PLANS:
            known.clear()
        chain = _chain(model, goals, expanded, movers, free_root)
        ways = {each.joint: each for each in _ancestor_ways(model)}
        moving = chain.movers[:, kernels.ik_chain.MOVER.joint].tolist()
        held = [(m, ways[joint]) for m, joint in enumerate(moving) if joint in ways]
        found = known[key] = ProblemPlan(
            tuple(tuple(part) for part in expanded),
            tuple(slice(a, b) for a, b in pairwise(ends)),
            _levels(goals, expanded),
            chain,
            _library(model, chain.movers[:, 0].tolist()),
            tuple(held),
        )
    return found


def _ancestor_ways(model: LimitModel) -> list[Lineage]:
    """Return the joints whose limits are measured from above their parents."""
    ways = [lineage(model.skeleton, name, above) for name, above in model.ancestors.items()]
    return [way for way in ways if way.between]


def _library(model: LimitModel, movers: list[int]) -> Quats:
    """Return the stored legal rotations (STORED, movers, 4), the same at every call."""
    stored = np.empty((STORED_POSES, len(movers), 4))
    limits = {model.skeleton.index(name): limit for name, limit in model.limits.items()}
    for m, joint in enumerate(movers):
        rng = np.random.default_rng(joint)
        if joint in limits:
            stored[:, m] = rng.permutation(freedom_of(limits[joint]).legal)
        else:
            stored[:, m] = quat.exp(UNLIMITED_TURN * rng.normal(size=(STORED_POSES, 3)))
    return stored


def _levels(goals: Sequence[Goal], expanded: Sequence[Sequence[int]]) -> Ints:
    """Return the level of each target; those of a wish are of the last."""
    given = sorted({goal.priority for goal in goals if not goal.soft})
    levels = [
        max(len(given) - 1, 0) if goal.soft else given.index(goal.priority)
        for goal, part in zip(goals, expanded, strict=True)
        for _ in part
    ]
    return np.array(levels, dtype=np.int64)


def _movers(skeleton: Skeleton, joints: Sequence[str] | None, free_root: bool) -> list[int]:
    """Return the numbers of the joints that may turn, parents first."""
    if isinstance(joints, str):
        raise ValueError(f"joints must be a list of names, got {joints!r}")
    if joints is None:
        return [j for j, up in enumerate(skeleton.parents.tolist()) if up >= 0 or free_root]
    return sorted({skeleton.index(name) for name in joints})


def _chain(
    model: LimitModel,
    goals: Sequence[Goal],
    expanded: Sequence[Sequence[int]],
    movers: list[int],
    free_root: bool,
) -> Any:
    """Return the bundle that `kernels.ik_chain` explains, with the joints that goals hang on."""
    parents = model.skeleton.parents
    each = [(goal, joint) for goal, part in zip(goals, expanded, strict=True) for joint in part]
    above = [set(model.skeleton.path_to_root(joint)) for _, joint in each]
    order = sorted(set().union(*above))
    used = [j for j in movers if j in order]
    slides = [j for j in order if free_root and parents[j] < 0]
    limits = {model.skeleton.index(name): limit for name, limit in model.limits.items()}
    lines = _measured_lines(model, used, limits)
    moves: Mask = np.zeros((len(each), len(used) + len(slides)), np.bool_)
    for row, (goal, joint), line in zip(moves, each, above, strict=True):
        moved_by = goal.moved_by(model.skeleton, joint, lines.get(joint, [joint]))
        row[: len(used)] = np.isin(used, moved_by)
        row[len(used) :] = [j in line and not goal.soft for j in slides]
    measured = {line[-1] for line in lines.values()}
    limited = [joint for joint in limits if joint in used or joint in measured]
    inner = _inner_limits(model, each)
    offsets, packed = pack_limits(
        [limits[joint].stand_in for joint in limited] + [limit.stand_in for _, limit, _ in inner]
    )
    at = dict(zip(limited, offsets[: len(limited)].tolist(), strict=True))
    at = {joint: at[lines[joint][-1]] if joint in lines else at.get(joint, -1) for joint in used}
    basis, swings = np.tile(np.eye(3), (len(used), 1, 1)), np.zeros((len(used), 8))
    freedoms = np.full(len(used), 3)
    for m, joint in enumerate(used):
        if joint in limits:
            freedom = freedom_of(limits[joint])
            freedoms[m] = len(freedom.axes)
            basis[m, : freedoms[m]] = freedom.axes
            swings[m] = freedom.swing
    movers_table = [
        (joint, n, at.get(joint, -1)) for joint, n in zip(used, freedoms.tolist(), strict=True)
    ]
    table = goal_table(each)
    for (row, _, depth), offset in zip(inner, offsets[len(limited) :].tolist(), strict=True):
        packed[offset + kernels.limit.HEADER.margin] -= depth
        table[row, kernels.ik_chain.INNER_LIMIT] = offset
        table[row, kernels.ik_chain.INNER_MOVER] = used.index(each[row][1])
    return kernels.ik_chain.Chain(
        parents=np.ascontiguousarray(parents, dtype=np.int64),
        order=np.array(order, dtype=np.int64),
        movers=np.array(movers_table, dtype=np.int64).reshape(-1, 3),
        basis=basis,
        ways=_ways_table(lines, used),
        swings=swings,
        slides=np.array(slides, dtype=np.int64),
        goals=table,
        moves=moves,
        packed=packed,
        tolerance=TOLERANCE,
    )


def _inner_limits(
    model: LimitModel, goals: Sequence[tuple[Goal, int]]
) -> list[tuple[int, Limit, float]]:
    """Return for each goal of `Comfort` its row, a limit, and how deep inside joints are at ease.

    The depth is in radians.
    """
    found = {goal: goal.limits(model) for goal, _ in goals if isinstance(goal, Comfort)}
    return [
        (row, *found[goal][model.skeleton.names[joint]])
        for row, (goal, joint) in enumerate(goals)
        if isinstance(goal, Comfort)
    ]


def _measured_lines(
    model: LimitModel, used: list[int], limits: Mapping[int, Limit]
) -> dict[int, list[int]]:
    """Return, by mover, the joints whose product its limit measures, where these are several.

    That of its own limit; a joint between that has none is kept in by that of the joint below it.
    """
    found: dict[int, list[int]] = {}
    for way in _ancestor_ways(model):
        line = [*way.between, way.joint]
        for joint in line:
            own = joint == way.joint
            if joint in used and (own or (joint not in limits and joint not in found)):
                found[joint] = line
    return found


def _ways_table(lines: Mapping[int, list[int]], used: list[int]) -> Ints:
    """Return the rows of movers, as `kernels.ik_chain` explains them."""
    way = kernels.ik_chain.WAY
    most = max((len(line) for line in lines.values()), default=0)
    table = np.zeros((len(used), way.SIZE + most), dtype=np.int64)
    for row, joint in zip(table, used, strict=True):
        line = lines.get(joint, [])
        row[way.length] = len(line)
        row[way.index] = line.index(joint) if line else 0
        row[way.joints : way.joints + len(line)] = line
    return table


def goal_table(goals: Sequence[tuple[Goal, int]]) -> Floats:
    """Return the rows (n, GOAL.SIZE) of goals, each with its joint, as the kernels read them."""
    rows = [(goal.kernel, joint, goal.weight, *goal.point, *goal.axis) for goal, joint in goals]
    return np.array(rows, dtype=np.float64).reshape(-1, kernels.ik_chain.GOAL.SIZE)


def with_weights(chain: Any, weights: Floats) -> Any:
    """Return the chain with other weights (goals,) of its goals."""
    goals = chain.goals.copy()
    goals[:, kernels.ik_chain.GOAL.weight] = weights
    return chain._replace(goals=goals)


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch of problems with the same joints and the same kinds of goals."""

    model: LimitModel
    """The limits, by the names of the skeleton that is posed."""
    start: Pose
    """Legal, float64, with the problems' leading axes."""
    start_correction: Scalars
    """By how much it was turned to be legal: (..., joints)."""
    goals: tuple[Goal, ...]
    pins: int
    """How many of them, the last ones, are pins."""
    plan: ProblemPlan
    chain: Any
    """That of the plan, or one with other weights."""
    targets: Floats
    """(problems, all, 4)."""

    @cached_property
    def library(self) -> Quats:
        """Legal rotations (STORED, movers, 4) to start again from, as parents see them."""
        stored = self.plan.library
        if not self.plan.held:
            return stored
        stored, movers = stored.copy(), self.movers
        start = self.start.rotations.reshape(-1, *self.start.rotations.shape[-2:])
        for mover, measured in self.plan.held:  # parents first
            above = quat.IDENTITY
            for joint in measured.between:
                moves = joint in movers
                above = quat.mul(
                    above, stored[:, movers.index(joint)] if moves else start[0, joint]
                )
            stored[:, mover] = quat.mul(quat.inverse(above), stored[:, mover])
        return stored

    def limit_from_parent(self, joint: int) -> Limit | None:
        """Return the limit of a joint, by index, relative to its parent; None without one.

        A limit that is measured from an ancestor gets another reference. This needs the joints
        between to have the same rotations in all poses.
        """
        skeleton = self.model.skeleton
        limit = self.model.limits.get(skeleton.names[joint])
        if limit is None or limit.relative_to is None:
            return limit
        measured = lineage(skeleton, skeleton.names[joint], limit.relative_to)
        rotations = self.start.rotations.reshape(-1, len(skeleton), 4)
        between = list(measured.between)
        if not between or len(rotations) == 0:
            return limit
        if (rotations[:, between] != rotations[0, between]).any():
            raise ValueError(
                f"poses must be alike in {', '.join(skeleton.names[j] for j in between)}, which "
                "are between joints and what their limits are measured from; solve them one by one"
            )
        above = measured.above(rotations[0])
        reference = quat.normalize(quat.mul(quat.inverse(above), limit.chart.reference))
        return replace(limit, chart=replace(limit.chart, reference=reference), relative_to=None)

    @property
    def is_numerical(self) -> bool:
        """True if goals are evaluated in NumPy, because a kernel does not know them all."""
        return any(goal.kernel < 0 for goal in self.goals)

    @property
    def soft_rows(self) -> Mask:
        """Rows (targets,) of the soft goals."""
        mask = np.zeros(len(self.plan.levels), np.bool_)
        for goal, rows in zip(self.goals, self.plan.rows, strict=True):
            mask[rows] = goal.soft
        return mask

    def reweighted(self, factors: Floats) -> Problem:
        """Return the problem with the weights of its targets multiplied by factors (targets,)."""
        weights = self.chain.goals[:, kernels.ik_chain.GOAL.weight]
        return replace(self, chain=with_weights(self.chain, weights * factors))

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.start.rotations.shape[:-2]

    @property
    def movers(self) -> list[int]:
        """The joints that may turn and that matter to the goals, parents first."""
        joints: list[int] = self.chain.movers[:, kernels.ik_chain.MOVER.joint].tolist()
        return joints


def pack(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
) -> Problem:
    """Return the problem with its start made legal, after checks of all arguments."""
    check_joints(skeleton, pose)
    goals = check_goals(goals)
    fitted = model.for_skeleton(skeleton)
    if joints is None:
        joints = default_joints(fitted, free_root)
    pins = pins_of(skeleton, pose, pinned, goals)
    every_goal = (*goals, *pins)
    start, start_correction = _legal_start(fitted, pose, every_goal)
    plan = plan_of(fitted, every_goal, joints, free_root)
    targets = np.zeros((*start.rotations.shape[:-2], len(plan.levels), 4))
    for goal, part, rows in zip(every_goal, plan.joints, plan.rows, strict=True):
        wanted = goal.targets_of(part)
        targets[..., rows, : wanted.shape[-1]] = wanted
    return Problem(
        *(fitted, start, start_correction, every_goal, len(pins), plan),
        *(plan.chain, targets.reshape(-1, len(plan.levels), 4)),
    )


def _legal_start(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> tuple[Pose, Scalars]:
    """Return the pose, repeated for each problem and legal, and by how much it had to turn."""
    for goal in goals:
        goal.check(model.skeleton)
    shapes = [pose.rotations.shape[:-2], *(goal.batch for goal in goals)]
    batch = common_batch("pose", shapes)
    double = pose.rotations.dtype == pose.positions.dtype == np.float64
    given = pose if double else Pose(pose.rotations.astype(float), pose.positions.astype(float))
    legal = model.project(given)
    same = bool((legal.rotations == given.rotations).all())
    start_correction = np.zeros(given.rotations.shape[:-1]) if same else model.violation(given)
    count = len(model.skeleton)
    return (
        Pose(
            np.broadcast_to(legal.rotations, (*batch, count, 4)),
            np.broadcast_to(legal.positions, (*batch, count, 3)),
        ),
        np.broadcast_to(start_correction, (*batch, count)),
    )
