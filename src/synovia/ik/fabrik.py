"""FABRIK of a batch: chains and trees of positions, pulled back and forth within limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..skeleton import Skeleton
from .descent import begun, ended, shared
from .goals import Goal, Orient, Reach
from .problem import Problem
from .settings import Settings
from .solution import Solution

PASSES = 300
"""Passes back and forth, unless given."""


def fabrik(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    _check(problem.goals)
    tree, batch = _tree(problem.model.skeleton, problem.chain), begun(problem)

    def part(here: slice) -> None:
        kernels.ik_fabrik.fabrik_each(
            *(problem.chain, tree, batch.targets[here], batch.lengths[here], settings.iterations),
            *(settings.largest_step, settings.tolerance),
            *(batch.rotations[here], batch.positions[here]),
            *(batch.steps[here], batch.left[here], batch.met[here]),
        )

    shared(len(batch.targets), settings.threads, part)
    return ended(problem, batch, settings, dtype)


def _check(goals: tuple[Goal, ...]) -> None:
    """Raise an error unless these are goals that positions can say."""
    reaching = {goal.joint for goal in goals if isinstance(goal, Reach)}
    for goal in goals:
        if isinstance(goal, Reach) or (isinstance(goal, Orient) and goal.joint in reaching):
            continue
        said = type(goal).__name__ + (f" of {goal.joint}" if isinstance(goal, Orient) else "")
        raise ValueError(
            f"fabrik takes Reach, and Orient of a joint that has a Reach as well, got {said}"
        )


def _tree(skeleton: Skeleton, chain: Any) -> Any:
    """Return which mover each mover and each goal hangs on, as the kernel reads it."""
    number = {joint: m for m, joint in enumerate(chain.movers.tolist())}
    parents = skeleton.parents.tolist()

    def holder(joint: int) -> int:
        while joint >= 0 and joint not in number:
            joint = parents[joint]
        return number.get(joint, -1)

    above = [holder(parents[joint]) for joint in chain.movers.tolist()]
    above += [holder(joint) for joint in chain.owners.tolist()]
    kids = np.argsort(above, kind="stable")
    turns = np.full(len(chain.movers), -1, dtype=np.int64)
    for g, kind in enumerate(chain.kinds.tolist()):
        held_by = above[len(chain.movers) + g]
        if kind == kernels.ik_chain.ORIENT and held_by >= 0:
            turns[held_by] = g
    return kernels.ik_fabrik.Tree(
        above=np.array(above, dtype=np.int64),
        kids=kids.astype(np.int64),
        first=np.searchsorted(np.sort(above), np.arange(len(chain.movers) + 1)).astype(np.int64),
        turns=turns,
    )
