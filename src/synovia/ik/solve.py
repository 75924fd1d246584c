"""solve: a legal pose that meets goals, or comes near and reports which limits block it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, Vectors
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward, lineage
from .controls import solve_groups
from .descent import Differentiable, JointCoordinates, Point, descend
from .goals import Goal, check_goals, errors_of, weighted_residuals
from .problem import Problem, pack, scale_weights
from .search import (
    SOFT_FACTOR,
    SearchSettings,
    Trials,
    Variables,
    search,
)
from .solution import Solution

MIN_THREADED = 16  # smaller batches are not worth a second thread
UNLIMITED_STEPS = 20  # steps of a descent without the limit of one joint
BLOCKING_RATIO = 0.99  # a limit blocks if at most this share of the error is left without it
DAMPING = 0.3  # initial damping, relative to the sum of squares
PROBE = 1e-3  # radians or lengths; step that shows which limits block
LEVEL_WEIGHTS = (30.0, 1e3)  # factors of the weights of earlier priorities, in successive descents
MAX_ROUNDS = 12  # of solving with limits at the rotations of their drivers
ROUND_RATIO = 0.99  # rounds continue while errors fall below this share


@dataclass(eq=False)
class Batch(Trials):
    """Poses, one row for each problem, which the kernels write to."""

    targets: Floats
    """(n, targets, 4)."""
    rotations: Quats
    positions: Vectors
    lengths: Scalars
    """(n,): lengths of the chains."""
    errors: Floats
    """(n, targets): lengths or radians; written by a descent of 0 steps."""
    unlimited: Ints
    """(n,): index of the mover whose limit is ignored; -1 for none."""
    blocked: Mask
    """(n, movers): True for movers that their limits block; written by a descent of 0 steps."""

    def rows(self, rows: slice) -> Any:
        """Return views of some rows for the kernels, a `kernels.ik_chain.Trials`."""
        return kernels.ik_chain.Trials(**{k: array[rows] for k, array in vars(self).items()})


@dataclass(frozen=True, eq=False)
class JointVariables(Variables[Batch]):
    """Rotations of joints, and positions of roots that may move; rows are problems."""

    problem: Problem
    settings: SearchSettings

    def start(self) -> Batch:
        """Return all problems at their legal start."""
        problem = self.problem
        (n, targets, _), count = problem.targets.shape, len(problem.model.skeleton)
        batch = Batch(
            squares=np.zeros(n),
            steps=np.zeros(n, np.int64),
            met=np.zeros(n, np.bool_),
            targets=problem.targets,
            rotations=np.array(problem.start.rotations.reshape(n, count, 4), order="C"),
            positions=np.array(problem.start.positions.reshape(n, count, 3), order="C"),
            lengths=np.zeros(n),
            errors=np.zeros((n, targets)),
            unlimited=np.full(n, -1),
            blocked=np.zeros((n, len(problem.movers)), np.bool_),
        )
        self._out_of_reach(batch)
        return batch

    def descend(self, trials: Batch, iterations: int) -> None:
        settings = self.settings
        if self.problem.is_numerical:
            for row in range(len(trials.targets)):
                NumericalJoints(self.problem, trials, row, settings).descend(iterations)
            return
        packed = np.array([iterations, settings.largest_step, settings.tolerance], np.float64)

        def descend_rows(rows: slice) -> None:
            kernels.ik_descent.descend_each(self.problem.chain, packed, trials.rows(rows))

        run_in_threads(len(trials.targets), settings.threads, descend_rows)

    def reweighted(self, factors: Floats | Mask) -> JointVariables:
        """Return the variables with the weights of targets multiplied by factors (targets,)."""
        chain = scale_weights(self.problem.chain, factors)
        return replace(self, problem=replace(self.problem, chain=chain))

    def weaken_soft_goals(self) -> JointVariables | None:
        soft = self.problem.mark_rows([goal.soft for goal in self.problem.goals])
        return self.reweighted(np.where(soft, SOFT_FACTOR, 1.0)) if soft.any() else None

    def other_starts(self, initial: Batch, current: Batch, ranks: slice) -> Batch:
        """Return the stored legal poses that are nearest to the goals."""
        problem, library = self.problem, self.problem.library
        nearest = self._nearest_stored(initial, min(ranks.stop, len(library)))[:, ranks]
        starts = initial.take(np.repeat(np.arange(len(initial.targets)), nearest.shape[1]))
        starts.rotations[:, problem.movers] = library[nearest.ravel()]
        if problem.plan.from_ancestor:  # joints between may have other rotations in each problem
            legal = problem.model.project(Pose(starts.rotations, starts.positions))
            starts.rotations[...] = legal.rotations
        return starts

    def _nearest_stored(self, initial: Batch, count: int) -> Ints:
        """Return the indices (n, count) of the stored poses nearest to the goals, best first."""
        n, problem = len(initial.targets), self.problem
        nearest, scores = np.zeros((n, count), np.int64), np.empty((n, count))
        if problem.is_numerical:
            for row in range(n):
                squares = NumericalJoints(problem, initial, row, self.settings).library_squares()
                nearest[row] = np.argsort(squares, kind="stable")[:count]
            return nearest

        def rank_rows(rows: slice) -> None:
            part = initial.rows(rows), problem.library, scores[rows], nearest[rows]
            kernels.ik_descent.rank_each(problem.chain, *part)

        run_in_threads(n, self.settings.threads, rank_rows)
        return nearest

    def relative_errors(self, batch: Batch) -> Floats:
        """Measure errors in place, and return them (n, targets) relative to the chain's length."""
        self.descend(batch, 0)
        is_length = self.problem.mark_rows([goal.is_length for goal in self.problem.goals])
        unit = np.where(is_length, 1.0 / batch.lengths[:, None], kernels.ik_goals.TURN_SHARE)
        return np.asarray(unit * batch.errors)

    def finish(self, batch: Batch) -> Solution:
        """Return the solution: legal poses, their errors, and the limits that block."""
        problem, model = self.problem, self.problem.model
        if (
            model.dependents
            or model.limbs
            or not all(limit.compiled for limit in model.limits.values())
        ):
            # The kernels use stand-ins of some limits, and ignore dependence.
            poses = Pose(batch.rotations, batch.positions)
            batch.rotations[...] = model.project(poses).rotations
        self.descend(batch, 0)
        blocked_angle, beyond = self._blocked_angles(batch), np.zeros(batch.errors.shape, np.bool_)
        if not batch.met.all():
            beyond = self._out_of_reach(batch) & ~batch.met[:, None]
        immovable = tuple(
            k
            for k, goal in enumerate(problem.goals)
            if not goal.soft and set(problem.movers).isdisjoint(goal.joints_to_move(model.skeleton))
        )
        shape, count, rows = problem.batch, len(model.skeleton), problem.plan.rows
        pose = Pose(
            batch.rotations.reshape(*shape, count, 4).astype(problem.dtype),
            batch.positions.reshape(*shape, count, 3).astype(problem.dtype),
        )
        errors = [batch.errors[:, part].max(axis=1, initial=0.0) for part in rows]
        out_of_reach = [beyond[:, part].any(axis=1) for part in rows]
        return Solution(
            model.project(pose),
            np.stack(errors, axis=-1).reshape(*shape, len(rows)),
            batch.steps.copy().reshape(shape),
            batch.met.copy().reshape(shape),
            blocked_angle.reshape(*shape, count),
            np.stack(out_of_reach, axis=-1).reshape(*shape, len(rows)),
            problem.start_correction,
            problem.goals,
            model.skeleton,
            problem.pins,
            immovable,
        )

    def _out_of_reach(self, batch: Batch) -> Mask:
        """Write the lengths of the chains; return a mask (n, targets) of targets farther away."""
        beyond = np.zeros((len(batch.targets), len(self.problem.chain.goals)), np.bool_)
        kernels.ik_descent.chain_lengths(self.problem.chain, batch.rows(slice(None)), beyond)
        return beyond

    def _blocked_angles(self, batch: Batch) -> Floats:
        """Return `Solution.blocked_angle` (n, joints).

        Each joint that is at its limit is solved again without that limit, from the present pose.
        It counts if that reduces the error.
        """
        angles, model = np.zeros(batch.rotations.shape[:2]), self.problem.model
        rows, movers = np.nonzero(batch.blocked)
        if len(rows) == 0:
            return angles
        relaxed = batch.take(rows)
        relaxed.unlimited[:] = movers
        self.descend(relaxed, UNLIMITED_STEPS)
        helps = relaxed.squares <= BLOCKING_RATIO**2 * batch.squares[rows]
        joints = np.array(self.problem.movers)[movers]
        for name, limit in model.limits.items():
            joint = model.skeleton.index(name)
            selected = np.flatnonzero(helps & (joints == joint))
            if len(selected):
                measured = lineage(model.skeleton, name, limit.relative_to)
                rotations = measured.relative_rotation(relaxed.rotations[selected])
                angles[rows[selected], joint] = limit.correction(rotations)
        return angles


class NumericalJoints(Differentiable):
    """One row of a batch whose goals are evaluated in NumPy, because a kernel lacks one."""

    def __init__(self, problem: Problem, batch: Batch, row: int, settings: SearchSettings) -> None:
        self.problem, self.batch, self.row, self.settings = problem, batch, row, settings
        self.length, model = float(batch.lengths[row]), problem.model
        unlimited = int(batch.unlimited[row])
        if unlimited >= 0:
            limits = dict(model.limits)
            limits.pop(model.skeleton.names[problem.movers[unlimited]], None)
            model = model.with_limits(limits)
        slides = problem.chain.slides.tolist()
        self.coordinates = JointCoordinates(
            *(model, problem.movers, slides), max_step=settings.largest_step
        )
        plan, weights = problem.plan, problem.chain.goals[:, kernels.ik_chain.GOAL.weight]
        self.goals = [
            goal.with_rows(joints, batch.targets[row, rows])
            for goal, joints, rows in zip(problem.goals, plan.joints, plan.rows, strict=True)
        ]
        self.weights = [float(weights[rows].max(initial=0.0)) for rows in plan.rows]

    def residuals(self, points: Point) -> Floats:
        pose = self.coordinates.pose(points)
        return weighted_residuals(self.goals, self.weights, self.length, self.problem.model, pose)

    def library_squares(self) -> Floats:
        """Return the sums of squares (STORED_POSES,) at the stored poses."""
        library, row = self.problem.library, self.row
        rotations, positions = (
            np.repeat(array[row][None], len(library), axis=0)
            for array in (self.batch.rotations, self.batch.positions)
        )
        rotations[:, self.problem.movers] = library
        return np.asarray(np.square(self.residuals((rotations, positions))).sum(axis=1))

    def descend(self, iterations: int) -> None:
        """Do for the row of the batch what `kernels.ik_descent.descend_each` does."""
        batch, row = self.batch, self.row
        point, residuals, steps = descend(
            *(self, (batch.rotations[row].copy(), batch.positions[row].copy())),
            iterations=iterations,
            damping=DAMPING,
        )
        batch.rotations[row], batch.positions[row] = point
        errors = errors_of(self.goals, self.problem.model, Pose(*point))
        relative = [
            goal.unit(self.length) * float(error)
            for goal, error, weight in zip(self.goals, errors, self.weights, strict=True)
            if not goal.soft and weight > 0.0
        ]
        batch.squares[row] = residuals @ residuals
        batch.met[row] = max(relative, default=0.0) <= self.settings.tolerance
        batch.steps[row] += steps
        for rows, error in zip(self.problem.plan.rows, errors, strict=True):
            batch.errors[row, rows] = error
        if iterations == 0:
            batch.blocked[row] = False if batch.met[row] else self._blocked(point, residuals)

    def _blocked(self, point: Point, residuals: Floats) -> Mask:
        """Return a mask (M,) of the movers that a small step downhill takes out of their limits."""
        downhill = -self.jacobian(point, residuals).T @ residuals
        step = PROBE * downhill / max(float(np.linalg.norm(downhill)), 1e-300)
        _, actual = self.coordinates.retract(point, step)
        lost = np.linalg.norm((step - actual).reshape(-1, 3), axis=1)
        return np.asarray(lost[: len(self.problem.movers)] > 0.01 * PROBE)


def run_in_threads(n: int, threads: int | None, part: Callable[[slice], None]) -> None:
    """Call `part` for slices of n independent rows, in threads."""
    workers = 1 if n < MIN_THREADED else max(threads or os.cpu_count() or 1, 1)
    cuts = [slice(n * k // workers, n * (k + 1) // workers) for k in range(workers)]
    if workers == 1:
        part(cuts[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(part, cuts))


def _search_by_priority(variables: JointVariables) -> Solution:
    """Return the solution, with the goals of each priority added in order."""
    batch, levels = variables.start(), variables.problem.plan.levels
    search(variables.reweighted(levels == 0), batch, variables.settings)
    for level in range(1, levels.max() + 1):
        _add_level(variables, batch, level)
    return (variables.weaken_soft_goals() or variables).finish(batch)


def _add_level(variables: JointVariables, batch: Batch, level: int) -> None:
    """Reduce the errors of a level, in place, without worsening those of earlier levels.

    The level is solved with the earlier levels at increasing weights, so that it uses the freedom
    that these leave. Then the earlier goals are solved again alone. Rows in which an earlier goal
    is worse by more than the tolerance stay as they were.
    """
    problem, settings = variables.problem, variables.settings
    earlier, current = problem.plan.levels < level, problem.plan.levels == level
    before, after = variables.relative_errors(batch), batch.take(np.arange(len(batch.targets)))
    after.targets = _reached_targets(problem, batch, earlier & (before > settings.tolerance))
    light, heavy = (
        variables.reweighted(np.where(earlier, factor, current)) for factor in LEVEL_WEIGHTS
    )
    search(light, after, settings)
    heavy.descend(after, settings.iterations)
    exact = replace(variables, settings=replace(settings, tolerance=TOLERANCE))
    exact.reweighted(earlier).descend(after, settings.iterations)
    after.targets = batch.targets
    worse = variables.relative_errors(after) > before + settings.tolerance
    improved = np.flatnonzero(~(worse & earlier).any(axis=1))
    batch.put(improved, after.take(improved))


def _reached_targets(problem: Problem, batch: Batch, where: Mask) -> Floats:
    """Return the targets with those of a mask (n, targets) replaced by what the poses reach."""
    targets, plan = batch.targets.copy(), problem.plan
    positions, rotations = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    for goal, rows, joints in zip(problem.goals, plan.rows, plan.joints, strict=True):
        selected = where[:, rows.start : rows.stop].any(axis=1)
        if selected.any():
            reached = goal.reached(positions[selected, joints[0]], rotations[selected, joints[0]])
            if reached is not None:
                targets[selected, rows.start, : reached.shape[-1]] = reached
    return targets


def solve_dependent(
    problem: Problem,
    pose: Pose,
    solve_held: Callable[[LimitModel, Pose, Sequence[str] | None], Solution],
) -> Solution:
    """Return the solution of one problem in which limits of joints depend on other joints.

    First the problem is solved without dependence and the pose made legal, then with the drivers
    fixed. After that, each dependent limit is taken at the present rotation of its driver and the
    problem solved again, as long as the errors decrease. `solve_held(model, pose, joints)` solves
    for limits without dependence; None stands for all movers.
    """
    model = problem.model
    movers = [model.skeleton.names[joint] for joint in problem.movers]
    drivers = {dependent.driver for dependent in model.dependents.values()}
    others = [name for name in movers if name not in drivers] or movers
    free = solve_held(model.with_limits(model.limits, {}), pose, None)
    start = model.project(free.pose)
    best = solve_held(hold_drivers(model, start), start, others)
    start = model.project(best.pose)
    if not np.array_equal(start.rotations, best.pose.rotations):
        errors = errors_of(best.goals, model, start)
        best = replace(best, pose=start, errors=errors, converged=np.array(False))
    for _ in range(MAX_ROUNDS):
        if best.converged:
            break
        solution = solve_held(hold_drivers(model, start), start, None)
        start = model.project(solution.pose)
        if np.array_equal(start.rotations, solution.pose.rotations):
            if solution.errors.sum() >= best.errors.sum() * ROUND_RATIO:
                break
            best = solution
    return best


def hold_drivers(model: LimitModel, pose: Pose) -> LimitModel:
    """Return the model with each dependent limit fixed at its driver's rotation in one `pose`."""
    limits = dict(model.limits)
    for name, dependent in model.dependents.items():
        driver = dependent.driver
        measured = lineage(model.skeleton, driver, model.ancestors.get(driver))
        limits[name] = dependent.limit_at(measured.relative_rotation(pose.rotations))
    return model.with_limits(limits, {})


def solve(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    settings: SearchSettings | None = None,
) -> Solution:
    """Return a pose, legal at every joint, that starts from `pose` and meets `goals`.

    The search is a damped Gauss–Newton method in which every trial is projected onto the limits.
    To follow a moving target without jumps, see `track`; for whole clips, `follow`; to bend an arm
    or a leg towards a pole, `two_bone`.

    Parameters
    ----------
    model
        The limits; joints without one rotate freely. Limits that depend on other joints are taken
        at the rotations of those, in rounds; in batches only the result is made legal by them.
    skeleton
        The skeleton of the pose; limits are matched by joint name.
    pose
        The start. Its leading axes, and those of targets, are independent problems.
    goals
        `Reach`, `Aim`, `Orient`, `Stay` and `Comfort`.
    joints
        Joints that may rotate; all but the roots unless given.
    pinned
        Joints that keep their position in the world, before all goals.
    free_root
        Whether roots may rotate and move as well.
    settings
        How long to search, and which goals count as met.

    Returns
    -------
    Solution
        The pose, the errors of the goals, and the limits that block.

    Examples
    --------
    >>> from synovia import LimitModel, Skeleton
    >>> from synovia.ik import Reach, solve
    >>> names = ("Chest", "Shoulder", "Elbow", "Hand")
    >>> arm = Skeleton(names, [-1, 0, 1, 2], [[0, 0, 0], [1, 0, 0], [3, 0, 0], [3, 0, 0]])
    >>> free = LimitModel({}, arm)
    >>> solution = solve(free, arm, arm.rest_pose(), [Reach("Hand", [4.0, 3.0, 0.0])])
    >>> solution.reason()
    'all goals are met'
    """
    settings = settings or SearchSettings()
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        if pinned or free_root:
            raise ValueError("limits of a figure's groups take no pins and no free root")
        return solve_groups(fitted, pose, check_goals(goals), joints, settings=settings)
    problem = pack(model, skeleton, pose, goals, joints, pinned, free_root)
    if not problem.model.dependents or problem.batch != ():
        return _search_by_priority(JointVariables(problem, settings))

    def solve_held(held: LimitModel, start: Pose, movers: Sequence[str] | None) -> Solution:
        return solve(
            *(held, skeleton, start, goals),
            joints=movers or joints,
            pinned=pinned,
            free_root=free_root,
            settings=settings,
        )

    return solve_dependent(problem, pose, solve_held)
