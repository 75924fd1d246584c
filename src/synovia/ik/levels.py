"""Goals by priority: each level as well as it can be met, and none at the cost of an earlier one.

A level is solved with those before it weighed ever more heavily, so that it moves along what they
leave open. Then they are brought back to the last digits; a pose that would take more than the
tolerance from one of them is not taken at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Mask
from ..skeleton import Pose, forward
from .descent import Batch, begun, descend, descend_fully, ended, lightened
from .problem import Problem
from .settings import Settings
from .solution import Solution

HEAVY = (30.0, 1e3)
"""How much more earlier levels weigh, one after the other."""


def descended(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends by least squares, as numbers of `dtype`."""
    batch, levels = begun(problem), problem.plan.levels
    if levels.max() == 0:
        descend_fully(problem, batch, settings)
    else:
        descend_fully(_weighed(problem, levels == 0, levels < 0), batch, settings)
        for level in range(1, levels.max() + 1):
            _add_level(problem, batch, level, settings)
    return ended(lightened(problem)[0], batch, settings, dtype)


def _weighed(problem: Problem, some: Mask, heavy: Mask, factor: float = 1.0) -> Problem:
    """Return the problem with `some` of its targets alone, and `heavy` ones by a factor."""
    weights = problem.plan.chain.weights * np.where(heavy, factor, np.where(some, 1.0, 0.0))
    return replace(problem, chain=problem.chain._replace(weights=weights))


def _add_level(problem: Problem, batch: Batch, level: int, settings: Settings) -> None:
    """Bring goals of a level nearer, where those of earlier levels can be kept as they are."""
    every = np.arange(len(batch.targets))
    earlier, now = problem.plan.levels < level, problem.plan.levels == level
    before, after = _sizes(problem, batch, settings), batch.take(every)
    after.targets = _as_reached(problem, batch, earlier & (before > settings.tolerance))
    descend_fully(_weighed(problem, now, earlier, HEAVY[0]), after, settings)
    for factor in HEAVY[1:]:
        descend(_weighed(problem, now, earlier, factor).chain, after, settings, settings.iterations)
    kept = _weighed(problem, earlier, now & False)
    descend(kept.chain, after, replace(settings, tolerance=TOLERANCE), settings.iterations)
    after.targets = batch.targets
    worse = _sizes(problem, after, settings) > before + settings.tolerance
    good = np.flatnonzero(~(worse & earlier).any(axis=1))
    batch.put(good, after.take(good))


def _sizes(problem: Problem, batch: Batch, settings: Settings) -> Floats:
    """Return what is left of each target (n, targets), as the tolerance counts it."""
    descend(problem.plan.chain, batch, settings, 0)
    points = problem.plan.chain.kinds == kernels.ik_chain.REACH
    share = np.where(points, 1.0 / batch.lengths[:, None], kernels.ik_goals.TURN_SHARE)
    return np.asarray(share * batch.errors)


def _as_reached(problem: Problem, batch: Batch, where: Mask) -> Floats:
    """Return the targets, some (n, targets) as far as they have been met: there they are kept."""
    targets, chain = batch.targets.copy(), problem.plan.chain
    places, turns = forward(problem.model.skeleton, Pose(batch.rotations, batch.positions))
    for row in np.flatnonzero(where.any(axis=0)):
        kind, owner, some = chain.kinds[row], chain.owners[row], where[:, row]
        turn = turns[some, owner]
        if kind == kernels.ik_chain.ORIENT:
            targets[some, row] = turn
            continue
        targets[some, row, :3] = places[some, owner] + quat.rotate(turn, chain.points[row])
        if kind == kernels.ik_chain.AIM:
            targets[some, row, :3] += quat.rotate(turn, chain.axes[row])
    return targets
