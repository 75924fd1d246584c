"""Descent to the goals of a batch: from the start, from stored poses, by priorities."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, Vectors
from ..skeleton import Pose, forward, lineage
from .goals import Goal, JointGoal, errors_of
from .problem import Problem
from .search import (
    SOFT_FACTOR,
    Rows,
    SearchSettings,
    Variables,
    descend_numerically,
    numerical_jacobian,
    search,
)
from .solution import Solution

MIN_THREADED = 16  # problems that are not worth a second thread
FIRST_RESTARTS = 2  # restarts that are tried before all others
UNLIMITED_STEPS = 20  # steps to see how far a joint would have turned without its limit
BLOCKING_RATIO = 0.99  # a limit blocks if without it at most this share of the gap is left
DAMPING = 0.3  # initial damping, relative to the sum of squares
PROBE = 1e-3  # radians or lengths, of the step that shows which limits block


@dataclass(eq=False)
class Batch(Rows):
    """Problems on their way: arrays that the kernels write to, one row for each."""

    targets: Floats
    rotations: Quats
    positions: Vectors
    numbers: Floats
    """(n, 2 + goals): the properties `lengths`, `squares` and `errors`."""
    counts: Ints
    """(n, 2): `unlimited` and `steps`."""
    flags: Mask
    """(n, 1 + movers): `met` and `blocked`."""

    @property
    def lengths(self) -> Scalars:
        """The lengths of chains."""
        return self.numbers[:, kernels.ik_chain.NUMBERS.length]

    @property
    def squares(self) -> Scalars:
        """The sums of squares of what is left of the goals."""
        return self.numbers[:, kernels.ik_chain.NUMBERS.square]

    @property
    def errors(self) -> Floats:
        """How far goals are from being met (n, goals), where that was asked for."""
        return self.numbers[:, kernels.ik_chain.NUMBERS.errors :]

    @property
    def unlimited(self) -> Ints:
        """The mover whose limit is left out of account; -1 for none."""
        return self.counts[:, kernels.ik_chain.COUNTS.unlimited]

    @property
    def steps(self) -> Ints:
        """The steps taken."""
        return self.counts[:, kernels.ik_chain.COUNTS.steps]

    @property
    def met(self) -> Mask:
        """Whether all goals are met, wishes apart."""
        return self.flags[:, kernels.ik_chain.FLAGS.met]

    @property
    def blocked(self) -> Mask:
        """The movers whose limits are in the way (n, movers), where that was asked for."""
        return self.flags[:, kernels.ik_chain.FLAGS.blocked :]

    def arrays(self, rows: slice) -> tuple[Any, ...]:
        """Return some rows of all arrays, as the solvers' kernels take them."""
        return tuple(array[rows] for array in vars(self).values())


@dataclass(frozen=True, eq=False)
class JointVariables(Variables[Batch]):
    """Rotations of joints, and positions of roots that may move; rows are problems."""

    problem: Problem
    settings: SearchSettings

    def descend(self, trials: Batch, iterations: int) -> None:
        descend(self.problem, trials, self.settings, iterations)

    def weaken_soft_goals(self) -> JointVariables | None:
        soft = self.problem.soft_rows
        if not soft.any():
            return None
        return replace(self, problem=self.problem.reweighted(np.where(soft, SOFT_FACTOR, 1.0)))

    def races(self, restarts: int) -> list[slice]:
        first = min(FIRST_RESTARTS, restarts)
        return [slice(0, first), slice(first, restarts)]

    def other_starts(self, initial: Batch, current: Batch, race: slice) -> Batch:
        """Return the stored legal poses that are nearest to the goals."""
        problem, library = self.problem, self.problem.library
        ranks = self._rank(initial, min(race.stop, len(library)))[:, race]
        starts = initial.take(np.repeat(np.arange(len(initial.targets)), ranks.shape[1]))
        starts.rotations[:, problem.movers] = library[ranks.ravel()]
        if problem.plan.held:  # joints between may have other rotations in each problem
            legal = problem.model.project(Pose(starts.rotations, starts.positions))
            starts.rotations[...] = legal.rotations
        return starts

    def _rank(self, initial: Batch, count: int) -> Ints:
        """Return the numbers (n, count) of the stored poses nearest to the goals, best first."""
        n, problem = len(initial.targets), self.problem
        ranks, scores = np.zeros((n, count), np.int64), np.empty((n, count))
        if problem.is_numerical:
            for row in range(n):
                numerical = NumericalJoints(problem, initial, row)
                poses = numerical.stack(numerical.point)
                poses = tuple(np.repeat(each, len(problem.library), axis=0) for each in poses)
                poses[0][:, problem.movers] = problem.library
                squares = np.square(numerical.residuals(poses)).sum(axis=1)
                ranks[row] = np.argsort(squares, kind="stable")[:count]
            return ranks

        def rank(rows: slice) -> None:
            kernels.ik_descent.rank_each(
                *(problem.chain, initial.targets[rows], initial.numbers[rows], problem.library),
                *(initial.rotations[rows], initial.positions[rows], scores[rows], ranks[rows]),
            )

        run_in_threads(n, self.settings.threads, rank)
        return ranks


class NumericalJoints:
    """One problem whose goals are evaluated in NumPy, because a kernel does not know them all.

    A point is (rotations (..., J, 4), positions (..., J, 3)); the variables are rotation vectors of
    the movers in their own frames, then the positions of roots that may move.
    """

    block = 3

    def __init__(self, problem: Problem, batch: Batch, row: int) -> None:
        self.problem, model, chain = problem, problem.model, problem.chain
        self.point = batch.rotations[row].copy(), batch.positions[row].copy()
        self.scale, self.movers = 1.0 / float(batch.lengths[row]), problem.movers
        self.slides = chain.slides.tolist()
        unlimited = int(batch.unlimited[row])
        if unlimited >= 0:
            name = model.skeleton.names[self.movers[unlimited]]
            model = model.with_limits({n: each for n, each in model.limits.items() if n != name})
        self.model = model
        plan, targets = problem.plan, batch.targets[row]
        self.goals = [
            goal.with_rows(joints, targets[rows])
            for goal, joints, rows in zip(problem.goals, plan.joints, plan.rows, strict=True)
        ]
        weights = chain.goals[:, kernels.ik_chain.GOAL.weight]
        self.weights = [float(weights[rows.start]) for rows in problem.plan.rows]

    def stack(self, point: Any) -> Any:
        """Return a point as a batch of one."""
        return tuple(each[None] for each in point)

    def _unit(self, goal: Goal) -> float:
        return self.scale if goal.is_length else kernels.ik_goals.TURN_SHARE

    def residuals(self, points: Any) -> Floats:
        pose = Pose(*points)
        world = forward(self.model.skeleton, pose)
        return np.concatenate(
            [
                weight * self._unit(goal) * goal.residual(self.problem.model, pose, world)
                for goal, weight in zip(self.goals, self.weights, strict=True)
            ],
            axis=-1,
        )

    def measure(self, point: Any) -> tuple[Floats, float]:
        """Return the errors (goals,) at a point, and the worst of them as the tolerance counts."""
        errors = errors_of(self.goals, self.problem.model, Pose(*point))
        counted = [
            self._unit(goal) * float(error)
            for goal, error, weight in zip(self.goals, errors, self.weights, strict=True)
            if not goal.soft and weight > 0.0
        ]
        return errors, max(counted, default=0.0)

    def perturbed(self, point: Any, size: float) -> tuple[Any, Floats]:
        count = 3 * (len(self.movers) + len(self.slides))
        steps = size * np.concatenate([np.eye(count), -np.eye(count)])
        return self._moved(point, steps), np.full(count, 2.0 * size)

    def _moved(self, point: Any, steps: Floats) -> Any:
        rotations, positions = (np.repeat(each[None], len(steps), axis=0) for each in point)
        moves = steps.reshape(len(steps), -1, 3)
        count = len(self.movers)
        rotated = quat.mul(rotations[:, self.movers], quat.exp(moves[:, :count]))
        rotations[:, self.movers] = quat.normalize(rotated)
        positions[:, self.slides] += moves[:, count:]
        return rotations, positions

    def retract(self, point: Any, step: Floats) -> tuple[Any, Floats]:
        rotations, positions = (each[0] for each in self._moved(point, step[None]))
        legal = self.model.project(Pose(rotations, positions)).rotations
        before = quat.inverse(point[0][self.movers])
        turned = quat.log(quat.mul(before, legal[self.movers]))
        slid = positions[self.slides] - point[1][self.slides]
        return (legal, positions), np.concatenate([turned.ravel(), slid.ravel()])

    def blocked(self, point: Any) -> Mask:
        """Return the movers (M,) that a small step downhill takes out of their limits."""
        residuals = self.residuals(self.stack(point))[0]
        down = -numerical_jacobian(self, point).T @ residuals
        step = PROBE * down / max(float(np.linalg.norm(down)), 1e-300)
        _, actual = self.retract(point, step)
        lost = np.linalg.norm((step - actual).reshape(-1, 3), axis=1)[: len(self.movers)]
        return np.asarray(lost > 0.01 * PROBE)


def _descend_in_numpy(
    problem: Problem, batch: Batch, settings: SearchSettings, iterations: int
) -> None:
    """As `kernels.ik_descent.descend_each`, for goals that the kernels do not know."""
    for row in range(len(batch.targets)):
        numerical = NumericalJoints(problem, batch, row)
        point, steps = descend_numerically(
            *(numerical, numerical.point, numerical.stack),
            iterations=iterations,
            damping=DAMPING,
            largest_step=settings.largest_step,
        )
        batch.rotations[row], batch.positions[row] = point
        residuals = numerical.residuals(numerical.stack(point))[0]
        errors, worst = numerical.measure(point)
        batch.squares[row], batch.met[row] = residuals @ residuals, worst <= settings.tolerance
        batch.steps[row] += steps
        for rows, error in zip(problem.plan.rows, errors, strict=True):
            batch.errors[row, rows] = error
        if iterations == 0:
            batch.blocked[row] = False if batch.met[row] else numerical.blocked(point)


def start_batch(problem: Problem) -> Batch:
    """Return the problems at their legal start."""
    count, n = len(problem.model.skeleton), len(problem.targets)
    batch = Batch(
        problem.targets,
        np.array(problem.start.rotations.reshape(n, count, 4), order="C"),
        np.array(problem.start.positions.reshape(n, count, 3), order="C"),
        np.zeros((n, kernels.ik_chain.NUMBERS.errors + len(problem.chain.goals))),
        np.tile([-1, 0], (n, 1)),
        np.zeros((n, kernels.ik_chain.FLAGS.blocked + len(problem.chain.movers)), np.bool_),
    )
    _out_of_reach(problem.chain, batch)
    return batch


def _out_of_reach(chain: Any, batch: Batch) -> Mask:
    """Write the lengths of chains, and return which targets are farther (n, goals)."""
    beyond = np.zeros((len(batch.targets), len(chain.goals)), np.bool_)
    kernels.ik_descent.chain_lengths(
        chain, batch.targets, batch.rotations, batch.positions, batch.numbers, beyond
    )
    return beyond


def finish_batch(problem: Problem, batch: Batch, settings: SearchSettings, dtype: Any) -> Solution:
    """Return the solution: the poses that were found, and why not better ones."""
    model = problem.model
    compiled = all(limit.compiled for limit in model.limits.values())
    if model.dependents or model.limbs or not compiled:
        # By stand-ins, and whatever other joints do; this is legal by the limits.
        found = Pose(batch.rotations, batch.positions)
        batch.rotations[...] = problem.model.project(found).rotations
    descend(problem, batch, settings, 0)  # where they are: errors, and what blocks
    blocked_angle = _blocked_angles(problem, batch, settings)
    beyond = np.zeros(batch.errors.shape, np.bool_)
    if not batch.met.all():
        beyond = _out_of_reach(problem.chain, batch) & ~batch.met[:, None]
    return _solution(problem, batch, beyond, blocked_angle, dtype)


def _solution(
    problem: Problem, batch: Batch, beyond: Mask, blocked_angle: Floats, dtype: Any
) -> Solution:
    shape, count = problem.batch, len(problem.model.skeleton)
    pose = Pose(
        batch.rotations.reshape(*shape, count, 4).astype(dtype),
        batch.positions.reshape(*shape, count, 3).astype(dtype),
    )
    parts = problem.plan.rows
    worst = [batch.errors[:, part].max(axis=1, initial=0.0) for part in parts]
    far = [beyond[:, part].any(axis=1) for part in parts]
    return Solution(
        problem.model.project(pose),
        np.stack(worst, axis=-1).reshape(*shape, len(worst)),
        batch.steps.copy().reshape(shape),
        batch.met.copy().reshape(shape),
        blocked_angle.reshape(*shape, count),
        np.stack(far, axis=-1).reshape(*shape, len(far)),
        problem.start_correction,
        problem.goals,
        problem.model.skeleton,
        problem.pins,
        tuple(k for k, goal in enumerate(problem.goals) if not _can_move(problem, goal)),
    )


def _can_move(problem: Problem, goal: Goal) -> bool:
    """Tell whether a joint that may turn has any part in a goal."""
    return goal.soft or not set(problem.movers).isdisjoint(
        goal.joints_to_move(problem.model.skeleton)
    )


def run_in_threads(n: int, threads: int | None, part: Callable[[slice], None]) -> None:
    """Call `part` for stretches of n rows, in threads; rows do not depend on each other."""
    workers = 1 if n < MIN_THREADED else max(threads or os.cpu_count() or 1, 1)
    cuts = [slice(n * k // workers, n * (k + 1) // workers) for k in range(workers)]
    if workers == 1:
        part(cuts[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(part, cuts))


def descend(problem: Problem, batch: Batch, settings: SearchSettings, iterations: int) -> None:
    """Bring all rows nearer to their goals, in place, in at most so many steps each."""
    if problem.is_numerical:
        _descend_in_numpy(problem, batch, settings, iterations)
        return
    packed = np.array([iterations, settings.largest_step, settings.tolerance], dtype=np.float64)

    def part(rows: slice) -> None:
        kernels.ik_descent.descend_each(problem.chain, packed, *batch.arrays(rows))

    run_in_threads(len(batch.targets), settings.threads, part)


def _blocked_angles(problem: Problem, batch: Batch, settings: SearchSettings) -> Floats:
    """Return by how much more joints would have to turn for a smaller gap: (n, joints).

    Those that are blocked are solved again from here, each alone without its limit; one blocks if
    that helps.
    """
    angles = np.zeros(batch.rotations.shape[:2])
    rows, movers = np.nonzero(batch.blocked)
    if len(rows) == 0:
        return angles
    without = batch.take(rows)
    without.unlimited[:] = movers
    descend(problem, without, settings, UNLIMITED_STEPS)
    helps = without.squares <= BLOCKING_RATIO**2 * batch.squares[rows]
    joints = np.array(problem.movers)[movers]
    for name, limit in problem.model.limits.items():
        joint = problem.model.skeleton.index(name)
        mine = np.flatnonzero(helps & (joints == joint))
        if len(mine):
            way = lineage(problem.model.skeleton, name, limit.relative_to)
            turned = way.relative_rotation(without.rotations[mine])
            angles[rows[mine], joint] = limit.violation(turned)
    return angles


LEVEL_WEIGHTS = (30.0, 1e3)
"""How much more earlier levels weigh, one after the other."""


def descend_levels(problem: Problem, settings: SearchSettings, dtype: Any) -> Solution:
    """Return the solution by priorities, as numbers of `dtype`.

    Each level of goals is solved with the earlier ones weighed ever more heavily, so that it moves
    along what these leave open. The earlier goals are then solved again by themselves. A pose that
    takes more than the tolerance from one of them is discarded.
    """
    batch, levels = start_batch(problem), problem.plan.levels
    if levels.max() == 0:
        _search(problem, batch, settings)
    else:
        _search(_reweight(problem, levels == 0, levels < 0), batch, settings)
        for level in range(1, levels.max() + 1):
            _add_level(problem, batch, level, settings)
    weak = JointVariables(problem, settings).weaken_soft_goals()
    return finish_batch(problem if weak is None else weak.problem, batch, settings, dtype)


def _search(problem: Problem, batch: Batch, settings: SearchSettings) -> None:
    search(JointVariables(problem, settings), batch, settings)


def _reweight(problem: Problem, some: Mask, heavy: Mask, factor: float = 1.0) -> Problem:
    """Return the problem with `some` of its targets alone, and `heavy` ones by a factor."""
    factors = np.where(heavy, factor, np.where(some, 1.0, 0.0))
    return replace(problem, chain=problem.plan.chain).reweighted(factors)


def _add_level(problem: Problem, batch: Batch, level: int, settings: SearchSettings) -> None:
    """Bring goals of a level nearer, where those of earlier levels can be kept as they are."""
    every = np.arange(len(batch.targets))
    earlier, now = problem.plan.levels < level, problem.plan.levels == level
    before, after = _residuals(problem, batch, settings), batch.take(every)
    after.targets = _reached_targets(problem, batch, earlier & (before > settings.tolerance))
    _search(_reweight(problem, now, earlier, LEVEL_WEIGHTS[0]), after, settings)
    for factor in LEVEL_WEIGHTS[1:]:
        descend(_reweight(problem, now, earlier, factor), after, settings, settings.iterations)
    only_earlier = _reweight(problem, earlier, now & False)
    descend(only_earlier, after, replace(settings, tolerance=TOLERANCE), settings.iterations)
    after.targets = batch.targets
    worse = _residuals(problem, after, settings) > before + settings.tolerance
    good = np.flatnonzero(~(worse & earlier).any(axis=1))
    batch.put(good, after.take(good))


def _residuals(problem: Problem, batch: Batch, settings: SearchSettings) -> Floats:
    """Return what is left of each target (n, targets), as the tolerance counts it."""
    descend(replace(problem, chain=problem.plan.chain), batch, settings, 0)
    points = problem.plan.chain.goals[:, kernels.ik_chain.GOAL.kind] == kernels.ik_chain.REACH
    share = np.where(points, 1.0 / batch.lengths[:, None], kernels.ik_goals.TURN_SHARE)
    return np.asarray(share * batch.errors)


def _reached_targets(problem: Problem, batch: Batch, where: Mask) -> Floats:
    """Return the targets with those of a mask (n, targets) replaced by what the poses reach."""
    targets = batch.targets.copy()
    positions, rotations = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    for goal, rows, joints in zip(
        problem.goals, problem.plan.rows, problem.plan.joints, strict=True
    ):
        some = where[:, rows.start] if isinstance(goal, JointGoal) else np.zeros(0, np.bool_)
        if isinstance(goal, JointGoal) and some.any():
            reached = goal.reached(positions[some, joints[0]], rotations[some, joints[0]])
            if reached is None:
                continue
            targets[some, rows.start, : reached.shape[-1]] = reached
    return targets
