"""Cyclic coordinate descent of a batch: one joint at a time, from the start alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Vectors
from ..model import LimitModel
from ..skeleton import Pose, Skeleton
from .descent import Batch, descend_levels, finish_batch, run_in_threads, start_batch, weaken_wishes
from .goals import Goal, Orient, Reach
from .problem import GOAL_TOLERANCE, Problem, Settings, pack
from .solution import Solution
from .two_bone import bones_above, two_bone

MOVES = 2000
"""Moves of one joint, unless given."""


def ccd(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    batch = start_batch(problem)
    _sweep(problem.chain, batch, settings)
    problem, wishes = weaken_wishes(problem)
    if wishes:
        unmet = np.flatnonzero(~batch.met)
        pressed = batch.take(unmet)
        _sweep(problem.chain, pressed, settings)
        batch.put(unmet, pressed)
    return finish_batch(problem, batch, settings, dtype)


def _sweep(chain: Any, batch: Batch, settings: Settings) -> None:
    """Bring all problems nearer to their goals, in at most `settings.iterations` moves each."""

    def part(here: slice) -> None:
        kernels.ik_ccd.ccd_each(
            *(chain, batch.targets[here], batch.lengths[here], settings.iterations),
            *(settings.largest_step, settings.tolerance),
            *(batch.rotations[here], batch.positions[here]),
            *(batch.steps[here], batch.left[here], batch.met[here]),
        )

    run_in_threads(len(batch.targets), settings.threads, part)


# FABRIK of a batch: chains and trees of positions, pulled back and forth within limits.


PASSES = 300
"""Passes back and forth, unless given."""


def fabrik(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    _check(problem.goals)
    tree, batch = _tree(problem.model.skeleton, problem.chain), start_batch(problem)

    def part(here: slice) -> None:
        kernels.ik_fabrik.fabrik_each(
            *(problem.chain, tree, batch.targets[here], batch.lengths[here], settings.iterations),
            *(settings.largest_step, settings.tolerance),
            *(batch.rotations[here], batch.positions[here]),
            *(batch.steps[here], batch.left[here], batch.met[here]),
        )

    run_in_threads(len(batch.targets), settings.threads, part)
    return finish_batch(problem, batch, settings, dtype)


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
        return next(
            (number[above] for above in skeleton.path_to_root(joint) if above in number), -1
        )

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


# solve: a legal pose that meets goals, or comes near and says what is in the way.


METHODS = ("least-squares", "ccd", "two-bone", "fabrik")
"""The solvers by name."""


def solve(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    method: str = "least-squares",
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    pole: Vectors | None = None,
    restarts: int | None = None,
    iterations: int | None = None,
    largest_step: float | None = None,
    tolerance: float = GOAL_TOLERANCE,
    threads: int | None = None,
) -> Solution:
    """Return a pose, legal at every joint, that starts from `pose` and meets `goals`.

    Leading axes of the pose and of targets are problems of their own, shared by as many
    `threads` as there are processors unless said otherwise. `joints` may turn, all but the roots
    unless given; with `free_root` these turn and move as well. `pinned` joints keep their place
    in the world, whatever the goals want. A goal is met when what is left of it is under
    `tolerance`, as a share of the chain's length, an angle of 1 radian counting as 0.3 of it.

    The method "least-squares" moves all joints at once, in at most 60 `iterations`; where the
    start leads nowhere, 8 `restarts` from stored legal poses are tried. `largest_step` is how far
    a joint turns at once, in radians, 0.7 unless given. To follow a moving target without jumps,
    see `track`. The others go from the start alone. With "ccd" one joint moves at a time, the last
    first, 2000 times at most. "fabrik" takes `Reach`, and `Orient` of joints that have one, and
    goes back and forth along the chain up to 300 times. "two-bone" takes one `Reach`, and bends
    and swivels two joints above, those with bones of some length, by a triangle, towards the
    direction `pole` (..., 3) in the world if there is one; least squares only where limits leave
    an error.
    """
    if method not in METHODS:
        raise ValueError(f"no method {method!r}; there are {', '.join(METHODS)}")
    if method != "least-squares" and restarts:
        raise ValueError(f"restarts are for the method least-squares, got {restarts} for {method}")
    restarts = (8 if method == "least-squares" else 0) if restarts is None else restarts
    if iterations is None:
        iterations = {"ccd": MOVES, "fabrik": PASSES}.get(method, 60)
    if largest_step is None:
        largest_step = math.pi if method == "fabrik" else 0.7
    settings = Settings(restarts, iterations, largest_step, tolerance, threads)
    if method == "two-bone":
        if joints is not None or pinned or free_root:
            raise ValueError("two-bone turns two joints: it takes no joints, pins or free root")
        joints = bones_above(skeleton, goals)
    elif pole is not None:
        raise ValueError(f"pole is for the method two-bone, got {method!r}")
    problem = pack(model, skeleton, pose, goals, joints, pinned, free_root)
    if method in ("ccd", "fabrik") and problem.plan.levels.max() > 0:
        raise ValueError(f"priorities and pins are for the method least-squares, got {method!r}")
    if method == "two-bone":
        return two_bone(problem, pole, settings, pose.rotations.dtype)
    if method == "fabrik":
        return fabrik(problem, settings, pose.rotations.dtype)
    if method == "ccd":
        return ccd(problem, settings, pose.rotations.dtype)
    return descend_levels(problem, settings, pose.rotations.dtype)
