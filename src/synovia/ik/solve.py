"""solve: a legal pose that meets goals, or comes near and says what is in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..model import LimitModel
from ..skeleton import Pose, Skeleton, lineage
from .descent import descend_levels
from .goals import Goal, check_goals, errors_of
from .groups import GroupSolver
from .problem import pack
from .search import SearchSettings
from .solution import Solution

MAX_ROUNDS = 12  # of solving with limits at the rotations of their drivers
NEARER = 0.99  # rounds go on while errors fall below this share


def solve_dependent(
    model: LimitModel,
    pose: Pose,
    movers: Sequence[str],
    solve_held: Callable[[LimitModel, Pose, Sequence[str] | None], Solution],
) -> Solution:
    """Return the solution of one problem in which limits of joints depend on other joints.

    The start is the solution without dependence, made legal. Then each limit is taken at the
    present rotation of its driver and the problem solved again, as long as the errors decrease.
    `solve_held(model, pose, joints)` solves with such limits; None stands for all `movers`.
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
    for _ in range(MAX_ROUNDS):
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
    """Return the limits for drivers that stay as in one `pose`; none depends on another."""
    limits = dict(model.limits)
    for name, each in model.dependents.items():
        path = lineage(model.skeleton, each.driver, model.ancestors.get(each.driver))
        limits[name] = each.limit_at(path.relative_rotation(pose.rotations))
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
        The limits; joints without one turn freely. Limits that depend on other joints are taken
        at the rotations of those, in rounds; in batches only the result is made legal by them.
    skeleton
        What is posed; limits are found by the names of its joints.
    pose
        The start. Its leading axes, and those of targets, are problems of their own.
    goals
        `Reach`, `Aim`, `Orient`, `Stay` and `Comfort`.
    joints
        Those that may turn; all but the roots unless given.
    pinned
        Joints that keep their place in the world, whatever the goals want.
    free_root
        Whether roots may turn and move as well.
    settings
        How long to search, and which goals count as met.

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
    settings = settings or SearchSettings()
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        if pinned or free_root:
            raise ValueError("limits of a figure's groups take no pins and no free root")
        return GroupSolver.of(fitted).solve(
            *(pose, check_goals(goals), joints),
            settings=settings,
            largest_turn=settings.iterations * settings.largest_step,
        )
    problem = pack(model, skeleton, pose, goals, joints, pinned, free_root)
    if not problem.model.dependents or problem.batch != ():
        return descend_levels(problem, settings, pose.rotations.dtype)

    def solve_held(held: LimitModel, start: Pose, some: Sequence[str] | None) -> Solution:
        return solve(
            held,
            skeleton,
            start,
            goals,
            joints=some or movers,
            pinned=pinned,
            free_root=free_root,
            settings=settings,
        )

    movers = [problem.model.skeleton.names[joint] for joint in problem.movers]
    return solve_dependent(problem.model, pose, movers, solve_held)
