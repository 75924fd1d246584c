"""Problems of inverse kinematics over joints, as the kernels read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from ..shapes.extent import tangent_basis
from ..skeleton import Lineage, Pose, Skeleton, check_joints, lineage
from .goals import Goal, check_goals, common_batch, pins_of

STORED_POSES = 256  # legal poses that restarts choose from
HINGE_TOLERANCE = 1e-6  # radians; rotations this near to a hinge are on it
UNLIMITED_SPREAD = 0.7  # radians; standard deviation of stored rotations of joints without a limit
MAX_PLANS = 64  # plans kept for each model


def _ancestor_lineages(model: LimitModel) -> list[Lineage]:
    """Return the lineages of joints whose limits are measured from above their parents."""
    lineages = [lineage(model.skeleton, name, above) for name, above in model.ancestors.items()]
    return [measured for measured in lineages if measured.between]


def joints_between(model: LimitModel) -> list[str]:
    """Return the names of the joints across which limits of other joints are measured.

    They are between a limited joint and the ancestor it is measured from; parents come first.
    """
    between = {joint for measured in _ancestor_lineages(model) for joint in measured.between}
    return [model.skeleton.names[joint] for joint in sorted(between)]


def passive_joints(model: LimitModel) -> list[str]:
    """Return those of `joints_between` that have no limit; they rotate only if named."""
    return [name for name in joints_between(model) if name not in model.limits]


def check_movable(model: LimitModel, joints: Sequence[str]) -> None:
    """Raise ValueError if one of `joints` is in `joints_between`."""
    between = joints_between(model)
    if moving := [name for name in joints if name in between]:
        raise ValueError(
            f"{', '.join(moving)} must not move: limits of joints below are measured from above "
            f"({', '.join(f'{name} from {above}' for name, above in model.ancestors.items())})"
        )


@dataclass(frozen=True, eq=False)
class Freedom:
    """The axes about which a limit lets its joint rotate, and samples of the limit."""

    axes: Vectors
    """(0 to 3, 3): in the joint's frame."""
    swing: Floats
    """(8,): 1, inverse of the reference, and bone axis of a joint that swings without twist.

    The axes of such a joint depend on its rotation. All 0 for other joints.
    """
    legal: Quats
    """(STORED_POSES, 4): legal rotations."""


_FREEDOMS: WeakKeyDictionary[Limit, Freedom] = WeakKeyDictionary()


def freedom_of(limit: Limit) -> Freedom:
    """Return the freedom of a limit: one axis for a hinge, two for a joint that cannot twist."""
    freedom = _FREEDOMS.get(limit)
    if freedom is None:
        legal = limit.sample(STORED_POSES, np.random.default_rng(0))
        freedom = _FREEDOMS[limit] = Freedom(*_free_axes(limit, legal), legal)
    return freedom


def _free_axes(limit: Limit, legal: Quats) -> tuple[Vectors, Floats]:
    """Return `Freedom.axes` and `Freedom.swing`, from samples of the limit."""
    no_swing = np.zeros(8)
    if limit.region.measure > 0.0:
        return np.eye(3), no_swing
    observed = joint_kind(legal, HINGE_TOLERANCE)
    if observed.kind == "fixed":
        return np.empty((0, 3)), no_swing
    if observed.kind == "hinge":
        return quat.rotate(quat.inverse(observed.mean), observed.axes), no_swing
    bone = limit.chart.bone
    if bone is not None and np.ptp(limit.chart.points(legal)[:, -1]) <= HINGE_TOLERANCE:
        return tangent_basis(bone), np.array([1.0, *quat.inverse(limit.chart.reference), *bone])
    return np.eye(3), no_swing


@dataclass(frozen=True, eq=False)
class ProblemPlan:
    """The part of a problem that does not depend on its pose and targets."""

    joints: tuple[tuple[int, ...], ...]
    """Joints of each goal."""
    rows: tuple[slice, ...]
    """Rows of each goal among the targets, one row for each joint."""
    levels: Ints
    """(targets,): rank of the goal's priority, from 0; soft goals have the last one."""
    chain: Any
    """A `kernels.ik_chain.Chain`."""
    library: Quats
    """(STORED_POSES, movers, 4): legal rotations, each measured as its limit measures it."""
    from_ancestor: tuple[Lineage, ...]
    """Lineages of the movers whose limits are measured from an ancestor, parents first."""


_PLANS: WeakKeyDictionary[LimitModel, dict[Any, ProblemPlan]] = WeakKeyDictionary()


def plan_of(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> ProblemPlan:
    """Return the plan, cached by model, joints and goals without their targets."""
    cache = _PLANS.setdefault(model, {})
    joints = joints if joints is None or isinstance(joints, str) else [*joints]
    key = (tuple(goal.key() for goal in goals), repr(joints), free_root)
    if key not in cache:
        if len(cache) >= MAX_PLANS:
            cache.clear()
        cache[key] = _new_plan(model, goals, _movers(model, joints, free_root), free_root)
    return cache[key]


def _movers(model: LimitModel, joints: Sequence[str] | None, free_root: bool) -> list[int]:
    """Return the indices of the joints that may rotate, parents first."""
    if isinstance(joints, str):
        raise ValueError(f"joints must be a list of names, got {joints!r}")
    skeleton = model.skeleton
    if joints is not None:
        return sorted({skeleton.index(name) for name in joints})
    passive = {skeleton.index(name) for name in passive_joints(model)}
    inner = [j for j, parent in enumerate(skeleton.parents.tolist()) if parent >= 0 or free_root]
    return [joint for joint in inner if joint not in passive]


def _new_plan(
    model: LimitModel, goals: Sequence[Goal], movers: list[int], free_root: bool
) -> ProblemPlan:
    """Return the plan for movers by index; raise ValueError if goals depend on no mover."""
    joints = tuple(tuple(goal.joint_indices(model, movers)) for goal in goals)
    ends = np.cumsum([0, *(len(part) for part in joints)]).tolist()
    if ends[-1] == 0:
        raise ValueError("goals must be about a joint that may move, got wishes for none")
    priorities = sorted({goal.priority for goal in goals if not goal.soft})
    levels = [
        max(len(priorities) - 1, 0) if goal.soft else priorities.index(goal.priority)
        for goal in goals
    ]
    pairs = [(goal, joint) for goal, part in zip(goals, joints, strict=True) for joint in part]
    chain = _chain(model, pairs, movers, free_root)
    used = chain.movers[:, kernels.ik_chain.MOVER.joint].tolist()
    lineages = {measured.joint: measured for measured in _ancestor_lineages(model)}
    return ProblemPlan(
        joints,
        tuple(slice(start, stop) for start, stop in pairwise(ends)),
        np.repeat(np.array(levels, np.int64), [len(part) for part in joints]),
        chain,
        _library(model, used),
        tuple(lineages[joint] for joint in used if joint in lineages),
    )


def _limits_by_index(model: LimitModel) -> dict[int, Limit]:
    """Return the limits by the indices of their joints."""
    return {model.skeleton.index(name): limit for name, limit in model.limits.items()}


def _library(model: LimitModel, movers: list[int]) -> Quats:
    """Return stored legal rotations (STORED_POSES, movers, 4), the same at every call."""
    stored, limits = np.empty((STORED_POSES, len(movers), 4)), _limits_by_index(model)
    for m, joint in enumerate(movers):
        rng = np.random.default_rng(joint)
        if joint in limits:
            stored[:, m] = rng.permutation(freedom_of(limits[joint]).legal)
        else:
            stored[:, m] = quat.exp(UNLIMITED_SPREAD * rng.normal(size=(STORED_POSES, 3)))
    return stored


def _chain(
    model: LimitModel, goals: Sequence[tuple[Goal, int]], movers: list[int], free_root: bool
) -> Any:
    """Return the `kernels.ik_chain.Chain` of goals, each with one of its joints.

    It contains only the movers that a goal depends on.
    """
    skeleton, layout = model.skeleton, kernels.ik_chain
    paths = [skeleton.path_to_root(joint) for _, joint in goals]
    order = sorted({joint for path in paths for joint in path})
    used = [joint for joint in movers if joint in order]
    slides = [joint for joint in order if free_root and skeleton.parents[joint] < 0]
    limits = _limits_by_index(model)
    products = _measured_products(model, used, limits)
    moves: Mask = np.zeros((len(goals), len(used) + len(slides)), np.bool_)
    for row, (goal, joint), path in zip(moves, goals, paths, strict=True):
        moved_by = goal.moved_by(skeleton, joint, products.get(joint, [joint]))
        row[: len(used)] = np.isin(used, moved_by)
        row[len(used) :] = [root in path and not goal.soft for root in slides]

    measured = {product[-1] for product in products.values()}.union(used)
    limited = [joint for joint in limits if joint in measured]
    inner = _comfort_limits(model, goals)
    offsets, packed = pack_limits(
        [limits[joint].stand_in for joint in limited] + [limit.stand_in for _, limit, _ in inner]
    )
    limit_offsets = dict(zip(limited, offsets[: len(limited)].tolist(), strict=True))
    table = goal_table(goals)
    for (row, _, depth), offset in zip(inner, offsets[len(limited) :].tolist(), strict=True):
        packed[offset + kernels.limit.HEADER.margin] -= depth
        table[row, layout.INNER_LIMIT] = offset
        table[row, layout.INNER_MOVER] = used.index(goals[row][1])

    return layout.Chain(
        parents=np.ascontiguousarray(skeleton.parents, dtype=np.int64),
        order=np.array(order, np.int64),
        **_mover_tables(used, limits, products, limit_offsets),
        slides=np.array(slides, np.int64),
        goals=table,
        moves=moves,
        packed=packed,
        tolerance=TOLERANCE,
    )


def _mover_tables(
    used: list[int],
    limits: Mapping[int, Limit],
    products: Mapping[int, list[int]],
    limit_offsets: Mapping[int, int],
) -> dict[str, Any]:
    """Return the fields of a `kernels.ik_chain.Chain` that have one row for each mover.

    `products` are those of `_measured_products`, `limit_offsets` the offsets of packed limits, both
    by joint.
    """
    layout, count = kernels.ik_chain, len(used)
    longest = max((len(product) for product in products.values()), default=0)
    movers = np.zeros((count, layout.MOVER.SIZE), np.int64)
    basis = np.tile(np.eye(3), (count, 1, 1))  # axes that are 0 have no effect
    ways = np.zeros((count, layout.WAY.SIZE + longest), np.int64)
    swings = np.zeros((count, layout.SWING.SIZE))
    for m, joint in enumerate(used):
        product = products.get(joint)
        if joint in limits:
            freedom = freedom_of(limits[joint])
            swings[m], basis[m] = freedom.swing, 0.0
            basis[m, : len(freedom.axes)] = freedom.axes
        if product:
            row = [len(product), product.index(joint), *product]
            ways[m, : len(row)] = row
        movers[m] = joint, limit_offsets.get(product[-1] if product else joint, -1)
    return {"movers": movers, "basis": basis.reshape(count, 9), "ways": ways, "swings": swings}


def _measured_products(
    model: LimitModel, used: list[int], limits: Mapping[int, Limit]
) -> dict[int, list[int]]:
    """Return, by mover, the joints whose product a limit measures, where these are several.

    A mover without a limit that is between a joint and its ancestor gets the product of that joint.
    """
    products: dict[int, list[int]] = {}
    for measured in _ancestor_lineages(model):
        product = [*measured.between, measured.joint]
        for joint in product:
            is_last = joint == measured.joint
            if joint in used and (is_last or (joint not in limits and joint not in products)):
                products[joint] = product
    return products


def _comfort_limits(
    model: LimitModel, goals: Sequence[tuple[Goal, int]]
) -> list[tuple[int, Limit, float]]:
    """Return the row, limit and depth in radians of each `Comfort` goal; see `Comfort.limits`."""
    limits = {goal: goal.limits(model) for goal, _ in goals}
    names = model.skeleton.names
    return [
        (row, *limits[goal][names[joint]])
        for row, (goal, joint) in enumerate(goals)
        if names[joint] in limits[goal]
    ]


def goal_table(goals: Sequence[tuple[Goal, int]]) -> Floats:
    """Return the kernels' table (n, GOAL.SIZE) of goals, each with one of its joints."""
    rows = [(goal.kernel, joint, goal.weight, *goal.point, *goal.axis) for goal, joint in goals]
    return np.array(rows, dtype=np.float64).reshape(-1, kernels.ik_chain.GOAL.SIZE)


def scale_weights(chain: Any, factors: Floats | Mask) -> Any:
    """Return a kernel bundle with the weights of its goal table multiplied by factors (goals,)."""
    goals = chain.goals.copy()
    goals[:, kernels.ik_chain.GOAL.weight] *= factors
    return chain._replace(goals=goals)


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch of problems with the same joints and the same kinds of goals."""

    model: LimitModel
    """The limits, by the joint names of the skeleton that is posed."""
    start: Pose
    """Legal, float64, with the leading axes of the batch."""
    start_correction: Scalars
    """(..., joints): correction of the start, in radians, to make it legal."""
    goals: tuple[Goal, ...]
    pins: int
    """Number of pins; they are the last goals."""
    plan: ProblemPlan
    chain: Any
    """That of the plan, possibly with other weights."""
    targets: Floats
    """(problems, targets, 4)."""
    dtype: Any
    """Type of the given rotations, and of those of solutions."""

    @cached_property
    def library(self) -> Quats:
        """Legal rotations (STORED_POSES, movers, 4) for restarts, relative to parents."""
        start = self.start.rotations.reshape(-1, *self.start.rotations.shape[-2:])
        if not self.plan.from_ancestor or len(start) == 0:
            return self.plan.library
        rotations = np.repeat(start[:1], STORED_POSES, axis=0)
        rotations[:, self.movers] = self.plan.library
        for measured in self.plan.from_ancestor:  # parents first
            relative = rotations[:, measured.joint]
            rotations[:, measured.joint] = measured.local_rotation(rotations, relative)
        return np.ascontiguousarray(rotations[:, self.movers])

    @property
    def is_numerical(self) -> bool:
        """True if goals are evaluated in NumPy, because a kernel does not know them all."""
        return any(goal.kernel < 0 for goal in self.goals)

    def mark_rows(self, flags: Sequence[bool]) -> Mask:
        """Return a mask (targets,) of the rows of those goals whose flag is True."""
        return np.repeat(np.array(flags, np.bool_), [len(part) for part in self.plan.joints])

    @property
    def batch(self) -> tuple[int, ...]:
        """Leading axes."""
        return self.start.rotations.shape[:-2]

    @property
    def movers(self) -> list[int]:
        """Indices of the joints that may rotate and that goals depend on, parents first."""
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
    """Check the arguments of `solve` and return its problem, with a legal start."""
    check_joints(skeleton, pose)
    goals = check_goals(goals)
    fitted = model.for_skeleton(skeleton)
    pins = pins_of(skeleton, pose, pinned, goals)
    every_goal = (*goals, *pins)
    start, start_correction = _legal_start(fitted, pose, every_goal)
    plan = plan_of(fitted, every_goal, joints, free_root)
    targets = np.zeros((*start.rotations.shape[:-2], len(plan.levels), 4))
    for goal, part, rows in zip(every_goal, plan.joints, plan.rows, strict=True):
        values = goal.targets_of(part)
        targets[..., rows, : values.shape[-1]] = values
    return Problem(
        *(fitted, start, start_correction, every_goal, len(pins), plan, plan.chain),
        *(targets.reshape(-1, len(plan.levels), 4), pose.rotations.dtype),
    )


def _legal_start(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> tuple[Pose, Scalars]:
    """Return the legal start of each problem, and the correction of each joint in radians."""
    for goal in goals:
        goal.check(model.skeleton)
    batch = common_batch("pose", [pose.rotations.shape[:-2], *(goal.batch for goal in goals)])
    double = pose.rotations.dtype == pose.positions.dtype == np.float64
    exact = pose if double else Pose(pose.rotations.astype(float), pose.positions.astype(float))
    legal = model.project(exact)
    moved = (legal.rotations != exact.rotations).any(axis=-1)
    correction = np.where(moved, quat.angle_between(exact.rotations, legal.rotations), 0.0)
    count = len(model.skeleton)
    start = Pose(
        np.broadcast_to(legal.rotations, (*batch, count, 4)),
        np.broadcast_to(legal.positions, (*batch, count, 3)),
    )
    return start, np.broadcast_to(correction, (*batch, count))
