"""solve: a legal pose that meets goals, or comes near and says what is in the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Vectors
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, lineage
from .descent import Batch, descend_levels, finish_batch, run_in_threads, start_batch, weaken_wishes
from .goals import Comfort, Goal, Orient, Reach, Stay, errors_of
from .groups import GroupSolver
from .problem import GOAL_TOLERANCE, Problem, Settings, check_goals, joints_between, pack
from .solution import Solution
from .two_bone import bones_above, two_bone

# Cyclic coordinate descent: one joint at a time, from the start alone.


# solve: a legal pose that meets goals, by least squares, CCD, FABRIK or a triangle.

STEPS = 60
"""Steps of least squares, unless given."""
MOVES = 2000
"""Moves of one joint, unless given."""


def ccd(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    batch = start_batch(problem)
    _sweep(problem.chain, batch, settings)
    problem, wishes = weaken_wishes(problem)
    if wishes:
        unmet = np.flatnonzero(~batch.met)
        part = batch.take(unmet)
        _sweep(problem.chain, part, settings)
        batch.put(unmet, part)
    return finish_batch(problem, batch, settings, dtype)


def _sweep(chain: Any, batch: Batch, settings: Settings) -> None:
    """Bring all problems nearer to their goals, in at most `settings.iterations` moves each."""

    def part(here: slice) -> None:
        kernels.ik_ccd.ccd_each(chain, settings.packed(), *batch.arrays(here))

    run_in_threads(len(batch.targets), settings.threads, part)


# FABRIK: chains and trees of positions, pulled back and forth within limits.


PASSES = 300
"""Passes back and forth, unless given."""


def fabrik(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    _check(problem.goals)
    batch = start_batch(problem)

    def part(here: slice) -> None:
        kernels.ik_fabrik.fabrik_each(problem.chain, settings.packed(), *batch.arrays(here))

    run_in_threads(len(batch.targets), settings.threads, part)
    return finish_batch(problem, batch, settings, dtype)


def _check(goals: tuple[Goal, ...]) -> None:
    """Raise an error unless these are goals that positions can say."""
    reaching = {goal.joint for goal in goals if isinstance(goal, Reach)}
    for goal in goals:
        if isinstance(goal, Reach) or (isinstance(goal, Orient) and goal.joint in reaching):
            continue
        kind = type(goal).__name__ + (f" of {goal.joint}" if isinstance(goal, Orient) else "")
        raise ValueError(
            f"fabrik takes Reach, and Orient of a joint that has a Reach as well, got {kind}"
        )


# solve: a legal pose that meets goals, or comes near and says what is in the way.


# Joints that depend on others: their limits at the others' rotations, again and again.

ROUNDS = 12
"""How often limits are taken at where drivers are, at most."""
NEARER = 0.99
"""Rounds go on while errors fall to less than this share."""


def solve_dependent(
    model: LimitModel,
    pose: Pose,
    movers: Sequence[str],
    solve_held: Callable[[LimitModel, Pose, Sequence[str] | None], Solution],
) -> Solution:
    """Return the solution of one problem of which joints depend on others.

    It starts from what could be reached if none did, made legal, with drivers that stay. Then what
    joints may do is taken from where their drivers are, and again from where those went, while that
    brings goals nearer. `solve_held` solves with limits at such drivers, and moves some joints, or
    with None all that may.
    """
    drivers = {each.driver for each in model.dependents.values()}
    others = [name for name in movers if name not in drivers] or movers
    free = solve_held(model.with_limits(model.limits, {}), pose, None)
    start = model.project(free.pose)
    best = solve_held(hold_drivers(model, start), start, others)
    start = model.project(best.pose)
    if not np.array_equal(start.rotations, best.pose.rotations):
        errors = errors_of(best.goals, model, start)
        best = replace(best, pose=start, errors=errors, converged=np.array(False))
    for _ in range(ROUNDS):
        if best.converged:
            break
        found = solve_held(hold_drivers(model, start), start, None)
        start = model.project(found.pose)
        if np.array_equal(start.rotations, found.pose.rotations):
            if found.errors.sum() >= best.errors.sum() * NEARER:
                break
            best = found
    return best


def hold_drivers(model: LimitModel, pose: Pose) -> LimitModel:
    """Return the limits while drivers stay as in one `pose`; none depends on another."""
    limits = dict(model.limits)
    for name, each in model.dependents.items():
        way = lineage(model.skeleton, each.driver, model.ancestors.get(each.driver))
        limits[name] = each.limit_at(way.relative_rotation(pose.rotations))
    return model.with_limits(limits, {})


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

    To follow a moving target without jumps, see `track`; for whole clips, `follow`.

    Parameters
    ----------
    model
        The limits; joints without one turn freely. Limits that depend on other joints are taken
        at where those are, again and again; in batches only the result is made legal by them.
    skeleton
        What is posed; limits are found by the names of its joints.
    pose
        The start. Its leading axes, and those of targets, are problems of their own.
    goals
        `Reach`, `Aim`, `Orient`, `Stay` and, for "least-squares", `Comfort`.
    method
        "least-squares" moves all joints at once. "ccd" moves one joint at a time, the last first.
        "fabrik" takes `Reach`, and `Orient` of joints that have one, and goes back and forth along
        the chain. "two-bone" takes one `Reach`, and bends and swivels the two joints above, those
        with bones of some length, by a triangle; least squares only where limits leave an error.
        Where a limit is measured from an ancestor, "ccd" and "fabrik" begin with the joints between
        still; what that does not meet, least squares goes on with from there, by all joints.
        "two-bone" turns its two joints alone: `Solution.kept_still` names those between.
    joints
        Those that may turn; all but the roots unless given.
    pinned
        Joints that keep their place in the world, whatever the goals want.
    free_root
        Whether roots may turn and move as well.
    pole
        For "two-bone": the direction (..., 3) in the world, from the first joint, that the middle
        one should be in.
    restarts
        For "least-squares": stored legal poses that are tried where the start leads nowhere; 8
        unless given.
    iterations
        Steps at most; unless given 60, for "ccd" 2000 moves of a joint, for "fabrik" 300 passes.
        Where least squares goes on after these, it takes as many steps at most, up to 60, and if
        this is given no restarts.
    largest_step
        Radians that a joint turns at once; unless given 0.7, for "fabrik" half a turn.
    tolerance
        A goal is met when its error is under this share of the chain's length; an angle of 1 radian
        counts as 0.3 of that length.
    threads
        Among which a batch is shared; as many as there are processors unless given.

    Returns
    -------
    Solution
        The pose, the errors of the goals, and which limits are in the way.

    Examples
    --------
    >>> from synovia import LimitModel, Skeleton
    >>> from synovia.ik import Reach, solve
    >>> names = ("Chest", "Shoulder", "Elbow", "Hand")
    >>> arm = Skeleton(names, [-1, 0, 1, 2], [[0, 0, 0], [1, 0, 0], [3, 0, 0], [3, 0, 0]])
    >>> free = LimitModel({}, arm)
    >>> found = solve(free, arm, arm.rest_pose(), [Reach("Hand", [4.0, 3.0, 0.0])])
    >>> found.reason()
    'all goals are met'
    """
    if method not in METHODS:
        raise ValueError(f"no method {method!r}; there are {', '.join(METHODS)}")
    if method != "least-squares" and restarts:
        raise ValueError(f"restarts are for the method least-squares, got {restarts} for {method}")
    restarts = (8 if method == "least-squares" else 0) if restarts is None else restarts
    most = {"ccd": MOVES, "fabrik": PASSES}.get(method, STEPS) if iterations is None else iterations
    turn = (math.pi if method == "fabrik" else 0.7) if largest_step is None else largest_step
    settings = Settings(restarts, most, turn, tolerance, threads)
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        if method != "least-squares" or pinned or free_root:
            raise ValueError(
                "limits of a figure's groups take least-squares without pins or a free root"
            )
        return GroupSolver.of(fitted).solve(
            *(pose, check_goals(goals), joints),
            restarts=restarts > 0,
            largest_turn=most * turn,
            tolerance=tolerance,
        )
    if method == "two-bone":
        if joints is not None or pinned or free_root:
            raise ValueError("two-bone turns two joints: it takes no joints, pins or free root")
        joints = bones_above(skeleton, goals)
    elif pole is not None:
        raise ValueError(f"pole is for the method two-bone, got {method!r}")
    if method != "least-squares" and any(isinstance(goal, Comfort) for goal in check_goals(goals)):
        raise ValueError(f"Comfort is for the method least-squares, got {method!r}")
    hold, first, left = method != "least-squares", joints, False
    if method in ("ccd", "fabrik"):
        between = joints_between(fitted)
        if joints is None:
            left = bool(_kept_still(fitted, goals))
        else:
            first = [name for name in joints if name not in between] or joints
            left = len(first) < len(joints)

    def go_on(found: Solution) -> Solution:
        """Return where least squares gets from there by all joints; what is met stays."""
        later = solve(
            model,
            skeleton,
            found.pose,
            goals,
            joints=joints,
            free_root=free_root,
            restarts=None if iterations is None else 0,
            iterations=None if iterations is None else min(iterations, STEPS),
            largest_step=largest_step,
            tolerance=tolerance,
            threads=threads,
        )
        taken = found.iterations + later.iterations
        return replace(later, iterations=taken, start_correction=found.start_correction)

    problem = pack(model, skeleton, pose, goals, first, pinned, free_root, hold=hold)
    if problem.model.dependents and problem.batch == ():
        names = problem.model.skeleton.names

        def solve_held(held: LimitModel, start: Pose, some: Sequence[str] | None) -> Solution:
            how = method if some is None else "least-squares"
            return solve(
                held,
                skeleton,
                start,
                goals,
                method=how,
                joints=None if how == "two-bone" else some or movers,
                pinned=pinned,
                free_root=free_root,
                pole=pole if how == "two-bone" else None,
                restarts=restarts if method == "least-squares" else None,
                iterations=most if how == method else None,
                largest_step=turn if how == method else None,
                tolerance=tolerance,
                threads=threads,
            )

        movers = [names[joint] for joint in problem.movers]
        found = solve_dependent(problem.model, pose, movers, solve_held)
        later = go_on(found) if left and not found.converged else found
        return later if later.errors.sum() < found.errors.sum() else found
    if method in ("ccd", "fabrik") and problem.plan.levels.max() > 0:
        raise ValueError(f"priorities and pins are for the method least-squares, got {method!r}")
    if method == "least-squares":
        return descend_levels(problem, settings, pose.rotations.dtype)
    if method == "two-bone":
        found = two_bone(problem, pole, settings, pose.rotations.dtype)
        return replace(found, kept_still=_kept_still(problem.model, goals))
    one_by_one = fabrik if method == "fabrik" else ccd
    found = one_by_one(problem, settings, pose.rotations.dtype)
    return go_on(found) if left and not found.converged.all() else found


def _kept_still(model: LimitModel, goals: Sequence[Goal]) -> tuple[str, ...]:
    """Return the joints with a limit, between others and what these are measured from, above goals.

    Of these, least squares would turn each.
    """
    skeleton = model.skeleton
    moved = [skeleton.index(goal.joint) for goal in goals if not isinstance(goal, Comfort | Stay)]
    above = {skeleton.names[joint] for each in moved for joint in skeleton.path_to_root(each)}
    return tuple(n for n in joints_between(model) if n in model.limits and n in above)
