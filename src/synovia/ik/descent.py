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
from .goals import Goal, Reach, Wish
from .problem import Problem, Settings, with_weights
from .solution import Solution

# Descent to the goals of a batch: from the start, from stored poses, then why not farther.

MIN_THREADED = 16  # problems that are not worth a second thread
RACE_STEPS = 4  # steps of each restart, before the best goes on
FIRST_RESTARTS = 2  # restarts that are tried before all others
UNLIMITED_STEPS = 20  # steps to see how far a joint would have turned without its limit
BLOCKING_RATIO = 0.99  # a limit blocks if without it at most this share of the gap is left
WISH_FACTOR = 1e-3  # of the weight of wishes, where goals are not met beside them


@dataclass(eq=False)
class Batch:
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

    def take(self, rows: Ints) -> Batch:
        """Return a copy of some rows."""
        return Batch(*(np.ascontiguousarray(array[rows]) for array in vars(self).values()))

    def put(self, rows: Ints, other: Batch) -> None:
        """Take over the rows of `other` for some of these."""
        for name, array in vars(other).items():
            getattr(self, name)[rows] = array


def descend_fully(problem: Problem, batch: Batch, settings: Settings) -> None:
    """Go down from where they are; then without wishes, then from stored poses, what is not met."""
    start = batch.positions.copy()
    descend(problem.chain, batch, settings, settings.iterations)
    problem, wishes = weaken_wishes(problem)
    if wishes:
        descend_unmet(problem, batch, settings)
    first = min(FIRST_RESTARTS, settings.restarts)
    for some in (slice(0, first), slice(first, settings.restarts)):
        unmet = np.flatnonzero(~batch.met)
        if len(unmet) and some.start < some.stop:
            _restart(problem, batch, unmet, start, some, settings)


def weaken_wishes(problem: Problem) -> tuple[Problem, bool]:
    """Return the problem with wishes that weigh next to nothing, and whether it has some."""
    goals = problem.chain.goals
    names = kernels.ik_chain
    wishes = np.isin(goals[:, names.GOAL.kind], (names.STAY, names.COMFORT))
    if not wishes.any():
        return problem, False
    weights = np.where(wishes, WISH_FACTOR, 1.0) * goals[:, names.GOAL.weight]
    return replace(problem, chain=with_weights(problem.chain, weights)), True


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


def descend_unmet(problem: Problem, batch: Batch, settings: Settings) -> None:
    """Go on from where they are with the problems whose goals are not met."""
    unmet = np.flatnonzero(~batch.met)
    if len(unmet) == 0:
        return
    part = batch.take(unmet)
    descend(problem.chain, part, settings, settings.iterations)
    batch.put(unmet, part)


def finish_batch(problem: Problem, batch: Batch, settings: Settings, dtype: Any) -> Solution:
    """Return the solution: the poses that were found, and why not better ones."""
    model = problem.model
    compiled = all(limit.compiled for limit in model.limits.values())
    if model.dependents or model.limbs or not compiled:
        # By stand-ins, and whatever other joints do; this is legal by the limits.
        found = Pose(batch.rotations, batch.positions)
        batch.rotations[...] = problem.model.project(found).rotations
    descend(problem.chain, batch, settings, 0)  # where they are: errors, and what blocks
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
    if isinstance(goal, Wish):
        return True
    skeleton = problem.model.skeleton
    line = skeleton.path_to_root(skeleton.index(goal.joint))
    fixed = isinstance(goal, Reach) and not goal.point.any()  # where it is, its own turn changes
    return not set(problem.movers).isdisjoint(line[fixed:])


def run_in_threads(n: int, threads: int | None, part: Callable[[slice], None]) -> None:
    """Call `part` for stretches of n rows, in threads; rows do not depend on each other."""
    workers = 1 if n < MIN_THREADED else max(threads or os.cpu_count() or 1, 1)
    cuts = [slice(n * k // workers, n * (k + 1) // workers) for k in range(workers)]
    if workers == 1:
        part(cuts[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(part, cuts))


def descend(chain: Any, batch: Batch, settings: Settings, most: int) -> None:
    """Bring all problems of a batch nearer to their goals, in at most so many steps each."""

    def part(here: slice) -> None:
        kernels.ik_descent.descend_each(chain, settings.packed(most), *batch.arrays(here))

    run_in_threads(len(batch.targets), settings.threads, part)


def _restart(
    problem: Problem,
    batch: Batch,
    unmet: Ints,
    start: Vectors,
    some: slice,
    settings: Settings,
) -> None:
    """Try some of the nearest stored poses for the unmet: a few steps each, the best goes on."""
    library, chain = problem.library, problem.chain
    racing = batch.take(unmet)
    racing.positions[...] = start[unmet]
    racing.steps[...] = 0
    last = min(some.stop, len(library))
    ranks, scores = np.zeros((len(unmet), last), np.int64), np.empty((len(unmet), last))

    def rank(here: slice) -> None:
        kernels.ik_descent.rank_each(
            *(chain, racing.targets[here], racing.numbers[here], library),
            *(racing.rotations[here], racing.positions[here], scores[here], ranks[here]),
        )

    run_in_threads(len(unmet), settings.threads, rank)
    chosen = ranks[:, some]
    wanted = chosen.shape[1]
    runners = racing.take(np.repeat(np.arange(len(unmet)), wanted))
    runners.rotations[:, problem.movers] = library[chosen.ravel()]
    if problem.plan.held:  # joints between may be turned otherwise in each problem
        legal = problem.model.project(Pose(runners.rotations, runners.positions))
        runners.rotations[...] = legal.rotations
    descend(chain, runners, settings, RACE_STEPS)
    best = runners.squares.reshape(-1, wanted).argmin(axis=1) + wanted * np.arange(len(unmet))
    winners = runners.take(best)
    taken = batch.steps[unmet] + runners.steps.reshape(-1, wanted).sum(axis=1) - winners.steps
    descend(chain, winners, settings, settings.iterations)
    taken += winners.steps
    better = np.flatnonzero(winners.squares < batch.squares[unmet])
    batch.put(unmet[better], winners.take(better))
    batch.steps[unmet] = taken


def _blocked_angles(problem: Problem, batch: Batch, settings: Settings) -> Floats:
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
    descend(problem.chain, without, settings, UNLIMITED_STEPS)
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


# Goals by priority: each level as well as it can be met, and none at the cost of an earlier one.
#
# A level is solved with those before it weighed ever more heavily, so that it moves along what they
# leave open. Then they are brought back to the last digits; a pose that would take more than the
# tolerance from one of them is not taken at all.


LEVEL_WEIGHTS = (30.0, 1e3)
"""How much more earlier levels weigh, one after the other."""


def descend_levels(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends by least squares, as numbers of `dtype`."""
    batch, levels = start_batch(problem), problem.plan.levels
    if levels.max() == 0:
        descend_fully(problem, batch, settings)
    else:
        descend_fully(_reweight(problem, levels == 0, levels < 0), batch, settings)
        for level in range(1, levels.max() + 1):
            _add_level(problem, batch, level, settings)
    return finish_batch(weaken_wishes(problem)[0], batch, settings, dtype)


def _reweight(problem: Problem, some: Mask, heavy: Mask, factor: float = 1.0) -> Problem:
    """Return the problem with `some` of its targets alone, and `heavy` ones by a factor."""
    weights = problem.plan.chain.goals[:, kernels.ik_chain.GOAL.weight]
    weights = weights * np.where(heavy, factor, np.where(some, 1.0, 0.0))
    return replace(problem, chain=with_weights(problem.chain, weights))


def _add_level(problem: Problem, batch: Batch, level: int, settings: Settings) -> None:
    """Bring goals of a level nearer, where those of earlier levels can be kept as they are."""
    every = np.arange(len(batch.targets))
    earlier, now = problem.plan.levels < level, problem.plan.levels == level
    before, after = _residuals(problem, batch, settings), batch.take(every)
    after.targets = _reached_targets(problem, batch, earlier & (before > settings.tolerance))
    descend_fully(_reweight(problem, now, earlier, LEVEL_WEIGHTS[0]), after, settings)
    for factor in LEVEL_WEIGHTS[1:]:
        descend(
            _reweight(problem, now, earlier, factor).chain, after, settings, settings.iterations
        )
    only_earlier = _reweight(problem, earlier, now & False)
    descend(only_earlier.chain, after, replace(settings, tolerance=TOLERANCE), settings.iterations)
    after.targets = batch.targets
    worse = _residuals(problem, after, settings) > before + settings.tolerance
    good = np.flatnonzero(~(worse & earlier).any(axis=1))
    batch.put(good, after.take(good))


def _residuals(problem: Problem, batch: Batch, settings: Settings) -> Floats:
    """Return what is left of each target (n, targets), as the tolerance counts it."""
    descend(problem.plan.chain, batch, settings, 0)
    points = problem.plan.chain.goals[:, kernels.ik_chain.GOAL.kind] == kernels.ik_chain.REACH
    share = np.where(points, 1.0 / batch.lengths[:, None], kernels.ik_goals.TURN_SHARE)
    return np.asarray(share * batch.errors)


def _reached_targets(problem: Problem, batch: Batch, where: Mask) -> Floats:
    """Return the targets, some (n, targets) as far as they have been met: there they are kept."""
    targets, goals = batch.targets.copy(), problem.plan.chain.goals
    names = kernels.ik_chain
    point, axis = (goals[:, k : k + 3] for k in (names.GOAL.point, names.GOAL.axis))
    places, turns = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    for row in np.flatnonzero(where.any(axis=0)):
        kind, owner = goals[row, names.GOAL.kind], int(goals[row, names.GOAL.owner])
        some = where[:, row]
        turn = turns[some, owner]
        if kind == names.ORIENT:
            targets[some, row] = turn
            continue
        targets[some, row, :3] = places[some, owner] + quat.rotate(turn, point[row])
        if kind == names.AIM:
            targets[some, row, :3] += quat.rotate(turn, axis[row])
    return targets
