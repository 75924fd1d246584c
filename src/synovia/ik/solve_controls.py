"""solve_controls: controls of a figure, within their ranges, whose pose meets goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..components import Figure
from ..components.figure import Controls
from ..skeleton import Pose, check_joints
from .control_goals import ControlGoals
from .control_search import ends_of, searched, wanted_farther
from .control_solution import ControlSolution
from .gaps import errors_of
from .goals import Aim, Goal, Orient, Reach, Stay
from .settings import TOLERANCE, check_above_0


def solve_controls(
    figure: Figure,
    controls: Controls,
    goals: Sequence[Goal],
    *,
    only: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
) -> ControlSolution:
    """Return controls within their ranges, found from `controls`, whose pose meets `goals`.

    Controls and targets may have leading axes, one for each problem. `only` these controls may
    change, unless given all that matter to the goals; what goals leave open stays near `controls`,
    or what a `Stay` among them says. A damped Gauss–Newton method in shares of
    the ranges: a control that would leave its range is settled at its end, and the step solved
    again for the others. Where the start leads nowhere, the best of 256 others are tried. A goal
    is met when what is left of it is under `tolerance`, as a share of the length from the root, an
    angle of 1 radian counting as 0.3 of it.
    """
    asked = _checked(figure, goals)
    check_above_0("tolerance", tolerance)
    changing = _changing(figure, only)
    start = figure.pose(controls).controls
    shapes = [start.shape[:-1], *(_leading(goal) for goal in asked)]
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"controls and targets must have leading axes that go together, got {shapes}"
        ) from None
    values = np.array(np.broadcast_to(start, (*batch, start.shape[-1])))
    ends, wanted = np.zeros(values.shape, np.int64), np.zeros(values.shape, np.bool_)
    steps, met = np.zeros(batch, np.int64), np.zeros(batch, np.bool_)
    for item in np.ndindex(batch):
        here = [_at(goal, batch, item) for goal in asked]
        problem = ControlGoals.of(figure, values[item], here, changing)
        found = searched(problem, tolerance)
        values[item] = problem.values(found.share)
        steps[item], met[item] = found.steps, found.worst <= tolerance
        ends[item][problem.free] = ends_of(found.share)
        wanted[item][problem.free] = wanted_farther(problem, found.share) & ~met[item]
    pose = figure.pose(values)
    errors = errors_of(asked, figure.skeleton, pose)
    errors = np.broadcast_to(errors, (*batch, len(asked)))
    return ControlSolution(figure, asked, pose.controls, pose, errors, steps, met, ends, wanted)


def _checked(figure: Figure, goals: Sequence[Goal]) -> tuple[Goal, ...]:
    kinds = (Reach, Aim, Orient, Stay)
    if isinstance(goals, kinds):
        goals = [goals]
    goals = list(goals)
    if not goals or not all(isinstance(goal, kinds) for goal in goals):
        raise ValueError(f"goals must be some of Reach, Aim, Orient and Stay, got {goals!r:.80}")
    for goal in goals:
        if isinstance(goal, Stay):
            check_joints(figure.skeleton, goal.pose)
        for name in (goal.joints or ()) if isinstance(goal, Stay) else (goal.joint,):
            figure.skeleton.index(name)
    priorities = {goal.priority for goal in goals if not isinstance(goal, Stay)}
    if len(priorities) > 1:
        raise ValueError(f"priorities are for joints, not for controls, got {sorted(priorities)}")
    return tuple(goals)


def _changing(figure: Figure, only: Sequence[str] | None) -> list[int]:
    """Return the numbers of the controls that may change; one with a single value cannot."""
    if isinstance(only, str):
        raise ValueError(f"only must be a list of controls, got {only!r}")
    figure.values(dict.fromkeys(only or (), 0.0))  # names those that are not there
    return [
        number
        for number, (name, control) in enumerate(figure.controls.items())
        if control.low < control.high and (only is None or name in only)
    ]


def _leading(goal: Goal) -> tuple[int, ...]:
    if isinstance(goal, Stay):
        return goal.pose.rotations.shape[:-2]
    return (goal.rotation if isinstance(goal, Orient) else goal.target).shape[:-1]


def _at(goal: Goal, batch: tuple[int, ...], item: tuple[int, ...]) -> Goal:
    """Return the goal of one problem."""

    def one(array: Floats, axes: int) -> Floats:
        return np.asarray(np.broadcast_to(array, (*batch, *array.shape[-axes:]))[item])

    if isinstance(goal, Stay):
        pose = Pose(one(goal.pose.rotations, 2), one(goal.pose.positions, 2))
        return replace(goal, pose=pose)
    if isinstance(goal, Orient):
        return replace(goal, rotation=one(goal.rotation, 1))
    return replace(goal, target=one(goal.target, 1))
