"""Inverse kinematics over the controls of a figure, within their ranges.

The variables are shares, from 0 to 1, of the ranges of the controls. A model whose limits are all
groups of one figure is solved over the controls of that figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Scalars
from ..components import Figure, FigurePose
from ..components.controls import control_task, program_for
from ..components.figure import Controls
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, check_joints, forward
from .descent import ControlCoordinates, Differentiable, descend
from .goals import (
    SOFT_WEIGHT,
    Goal,
    check_goals,
    common_batch,
    errors_of,
    measure_again,
    moved_segments,
    range_in_radians,
    weighted_residuals,
)
from .problem import goal_table, scale_weights
from .search import SOFT_FACTOR, SearchSettings, Trials, Variables, search
from .solution import ControlSolution, Solution

DAMPING = 0.3  # initial damping, relative to the sum of squares
LEAST_DAMPING = 1e-10  # added to the damping, so that systems are never singular
CANDIDATES = 256  # random controls that are ranked in a race
NEAR_SPREAD = 0.2  # standard deviation of candidates near the present controls, in shares
END_TOLERANCE = 1e-6  # shares of a range
MIN_SLOPE = 0.02  # of the error: a control that could reduce it by less does not block
OFFSET_TOLERANCE = 1e-3  # deviation of offsets from the figure's, as a share of its size


@dataclass(eq=False)
class ControlTrials(Trials):
    """Shares (n, F) of ranges, and the results of descents from them."""

    shares: Floats
    errors: Floats
    """(n, D): errors of the goals that are not soft, as the tolerance counts them."""
    downhill: Floats
    """(n, F): rate at which half the sum of squares falls with each share."""


@dataclass(frozen=True, eq=False)
class ControlVariables(Variables[ControlTrials], Differentiable):
    """Controls of a figure, their values at the start, and goals of one problem."""

    coordinates: ControlCoordinates
    """Shares of the ranges of the controls that may change and that goals depend on."""
    start: Floats
    """(C,): values of all controls; those that are not free keep them."""
    demands: tuple[Goal, ...]
    soft_goals: tuple[Goal, ...]
    """Soft goals for poses; those for ranges of controls are in `margins`."""
    drives: Mask
    """(D, F): True where a free control moves a demand."""
    length: float
    """Length of the longest chain, the unit of relative errors."""
    margins: Floats
    """(2, F): margin at the ends of each range, as a share of it, and its weight."""
    tolerance: float
    soft_factor: float = 1.0
    task: Any = None
    """Bundle for `kernels.controls`; None if a component or a goal is not compiled."""

    @classmethod
    def of(
        cls,
        figure: Figure,
        start: Floats,
        goals: Sequence[Goal],
        changing: Sequence[int],
        tolerance: float = SearchSettings.tolerance,
    ) -> Self:
        """Return the problem over those of the controls `changing`, by index, that goals move."""
        skeleton, moving = figure.skeleton, moved_segments(figure)
        demands = tuple(goal for goal in goals if not goal.soft)
        soft_goals = tuple(goal for goal in goals if goal.soft and not goal.on_ranges)
        margins = np.zeros((2, len(changing)))
        for goal in goals:  # the last goal for a control counts
            values = goal.range_margins(figure, changing)
            margins = np.where(values[1] > 0.0, values, margins)
        paths = [_moving_joints(goal, skeleton) for goal in (*demands, *soft_goals)]
        effects = np.zeros((len(paths), len(changing)), np.bool_)
        for row, path in zip(effects, paths, strict=True):
            names = {skeleton.names[joint] for joint in path}
            row[:] = [not names.isdisjoint(moving[control]) for control in changing]
        used = effects.any(axis=0) | (margins[1] > 0.0)
        free = np.array(changing, np.int64)[used]
        lengths = [
            np.linalg.norm(skeleton.offsets[path[:-1]], axis=1).sum()
            for path in paths[: len(demands)]
        ]
        longest = kernels.controls.MAX_STEP
        problem = cls(
            ControlCoordinates(figure, free, in_shares=True, max_step=longest),
            *(start, demands, soft_goals, effects[: len(demands), used]),
            max(lengths, default=0.0) or 1.0,
            margins[:, used],
            tolerance,
        )
        return replace(problem, task=problem._task())

    @property
    def figure(self) -> Figure:
        """The figure that is posed."""
        return self.coordinates.figure

    @property
    def free(self) -> Ints:
        """(F,): indices of the controls that may change and that goals depend on."""
        return self.coordinates.free

    def _task(self) -> Any:
        """Return the bundle for `kernels.controls`; None if a component or goal is not compiled."""
        skeleton, goals = self.figure.skeleton, (*self.demands, *self.soft_goals)
        if any(goal.kernel < 0 for goal in goals):
            return None
        all_joints = range(len(skeleton))
        pairs = [
            (goal, joint) for goal in goals for joint in goal.joint_indices(self.model, all_joints)
        ]
        above = np.zeros((len(pairs), len(skeleton)), np.bool_)
        targets, order = np.zeros((len(pairs), 4)), set[int]()
        for row, (goal, joint) in enumerate(pairs):
            order.update(skeleton.path_to_root(joint))
            above[row, goal.moved_by(skeleton, joint, [joint])] = True
            target = goal.targets_of([joint])[0]
            targets[row, : len(target)] = target
        program = program_for(self.figure, frozenset(np.flatnonzero(above.any(axis=0)).tolist()))
        if program is None:
            return None
        aims = {
            "order": np.array(sorted(order), np.int64),
            "goals": goal_table(pairs),
            "targets": targets,
            "above": above,
        }
        home = self.shares_at(self.start)
        return control_task(program, self.figure, self.start, self.free, home, aims, self.margins)

    def with_soft_factor(self, factor: float) -> Self:
        """Return the problem with the weights of its soft goals multiplied by a factor."""
        task = self.task
        if task is not None:
            stay = task.goals[:, kernels.ik_chain.GOAL.kind] == kernels.ik_chain.STAY
            ranges = task.ranges.copy()
            ranges[kernels.controls.UNEASE] *= factor
            task = scale_weights(task, np.where(stay, factor, 1.0))._replace(ranges=ranges)
        return replace(self, soft_factor=factor * self.soft_factor, task=task)

    def weaken_soft_goals(self) -> Self:
        return self.with_soft_factor(SOFT_FACTOR)

    def trials(self, shares: Floats) -> ControlTrials:
        """Return trials at shares (n, F), not yet measured."""
        n = len(shares)
        return ControlTrials(
            *(np.full(n, np.inf), np.zeros(n, np.int64), np.zeros(n, np.bool_)),
            *(shares.copy(), np.zeros((n, len(self.demands))), np.zeros(shares.shape)),
        )

    def descend(self, trials: ControlTrials, iterations: int) -> None:
        for row in range(len(trials.met)):
            share = trials.shares[row]
            if self.task is None:
                steps = self._descend_in_numpy(trials, row, iterations)
            else:
                results, goals = np.empty(len(self.task.goals) + len(share)), len(self.task.goals)
                steps, trials.squares[row] = kernels.controls.descend(
                    self.task, self._plan(iterations), share, results
                )
                trials.errors[row] = results[: len(self.demands)]
                trials.downhill[row] = results[goals:]
            trials.steps[row] += steps
            trials.met[row] = trials.errors[row].max(initial=0.0) <= self.tolerance

    def _descend_in_numpy(self, trials: ControlTrials, row: int, iterations: int) -> int:
        """Do what `kernels.controls.descend` does, and return the number of steps."""
        point, residuals, steps = descend(
            *(self, self.values(trials.shares[row])), iterations=iterations, damping=DAMPING
        )
        trials.shares[row], trials.squares[row] = self.shares_at(point), residuals @ residuals
        if self.demands:
            errors = errors_of(self.demands, self.model, self.figure.pose(point))
            trials.errors[row] = errors * [goal.unit(self.length) for goal in self.demands]
        trials.downhill[row] = -self.jacobian(point, residuals).T @ residuals
        return steps

    def other_starts(
        self, initial: ControlTrials, current: ControlTrials, ranks: slice
    ) -> ControlTrials:
        """Return the best of random controls.

        Controls that only unmet goals depend on are drawn from their whole ranges. Others that
        unmet goals depend on are drawn near their present values.
        """
        rng, shape = np.random.default_rng(current.steps[0]), (CANDIDATES, len(self.free))
        unmet = current.errors[0] > self.tolerance
        needed = self.drives[unmet].any(axis=0)
        only_needed = needed & ~self.drives[~unmet].any(axis=0)
        nearby = np.clip(current.shares + NEAR_SPREAD * rng.normal(size=shape), 0.0, 1.0)
        even_rows = (np.arange(CANDIDATES) % 2 == 0)[:, None]
        others = np.where(needed & even_rows, nearby, current.shares)
        shares = np.where(only_needed, rng.random(shape), others)
        return self.trials(shares[np.argsort(self.squares(shares))[ranks]])

    def squares(self, shares: Floats) -> Floats:
        """Return the sums of squares (n,) of the residuals for shares (n, F)."""
        if self.task is None:
            return np.asarray(np.square(self.residuals(self.values(shares))).sum(axis=1))
        squares = np.empty(len(shares))
        kernels.controls.measure_each(self.task, self._plan(0), shares, squares)
        return squares

    @property
    def _start_weight(self) -> float:
        """The weight with which controls stay at their start, unless a goal says otherwise."""
        return 0.0 if self.soft_goals else SOFT_WEIGHT * self.soft_factor

    def _plan(self, iterations: int) -> Any:
        """Return the plan of `kernels.controls` for a descent."""
        return kernels.controls.PLAN._replace(
            steps=iterations,
            stay=self._start_weight,
            scale=1.0 / self.length,
            damping=DAMPING,
            least_damping=LEAST_DAMPING,
        )

    @cached_property
    def model(self) -> LimitModel:
        """A model of the figure's skeleton without limits, for the goals."""
        return LimitModel({}, self.figure.skeleton)

    def shares_at(self, values: Floats) -> Floats:
        """Return the free controls as shares (..., F) of their ranges, from controls (..., C)."""
        low = self.figure.ranges[0]
        return np.clip(self.coordinates.steps_to(low, values), 0.0, 1.0)

    def values(self, shares: Floats) -> Floats:
        """Return all controls (..., C) for shares (..., F) of the free ones."""
        values = np.tile(self.start, (*shares.shape[:-1], 1))
        low = self.figure.ranges[0][self.free]
        values[..., self.free] = low + self.coordinates.units * shares
        return values

    def residuals(self, points: Floats) -> Floats:
        """Return the weighted residuals (..., R) of all goals for controls (..., C)."""
        pose, goals = self.figure.pose(points), (*self.demands, *self.soft_goals)
        weights = [goal.weight * (self.soft_factor if goal.soft else 1.0) for goal in goals]
        shares, home = self.shares_at(points), self.shares_at(self.start)
        away = shares - home
        room = np.where(away < 0.0, home, 1.0 - home)  # on the side of the step
        slope = self._start_weight / np.maximum(room, kernels.controls.MIN_ROOM)
        margin, weight = self.margins
        missing = np.maximum(margin - np.minimum(shares, 1.0 - shares), 0.0)
        parts = [-slope * away, self.soft_factor * weight * missing]
        if goals:
            parts.insert(0, weighted_residuals(goals, weights, self.length, self.model, pose))
        return np.concatenate(parts, axis=-1)

    def ends(self, share: Floats) -> Ints:
        """Return 1 for shares (F,) at the high end, -1 at the low end, 0 between."""
        return (share >= 1.0 - END_TOLERANCE).astype(np.int64) - (share <= END_TOLERANCE)

    def blocking(self, share: Floats) -> Mask:
        """Return a mask (F,) of the controls at an end that would reduce errors beyond it."""
        demands = self.with_soft_factor(0.0)
        # A little inside: rounding may put a control beyond its end, where nothing moves.
        trials = demands.trials(np.clip(share, END_TOLERANCE, 1.0 - END_TOLERANCE)[None])
        demands.descend(trials, 0)
        slopes = trials.downhill[0] * self.ends(share)
        return np.asarray(slopes > MIN_SLOPE * np.sqrt(trials.squares[0]))


def _moving_joints(goal: Goal, skeleton: Skeleton) -> list[int]:
    """Return the indices of the joints that a goal depends on, from each of its joints up."""
    joints = goal.joint_indices(LimitModel({}, skeleton), range(len(skeleton)))
    return [other for joint in joints for other in goal.moved_by(skeleton, joint, [joint])]


def solve_controls(
    figure: Figure,
    controls: Controls,
    goals: Sequence[Goal],
    *,
    only: Sequence[str] | None = None,
    settings: SearchSettings | None = None,
) -> ControlSolution:
    """Return controls within their ranges, near `controls`, whose pose meets `goals`.

    A damped Gauss–Newton method in shares of the ranges: a control that would leave its range is
    fixed at its end, and the step solved again for the others. If that does not meet the goals, the
    best of 256 random starts are tried.

    Parameters
    ----------
    figure
        The figure to pose.
    controls
        The start: by name, the others neutral, or all in order (..., C). Leading axes are
        independent problems.
    goals
        `Reach`, `Aim`, `Orient` and `Stay` for segments of the figure; targets may have leading
        axes too. Free controls stay near `controls`, or near the pose of a `Stay`, and with
        `Comfort` away from the ends of their ranges.
    only
        Names of the controls that may change; all that goals depend on unless given.
    settings
        How long to search; `largest_step` and `threads` do not apply. Restarts begin at random
        controls and take about 10 ms.

    Returns
    -------
    ControlSolution
        Controls, pose, errors, and the ends of ranges that block.
    """
    settings = settings or SearchSettings()
    checked = _check_goals(figure, goals)
    changing = _free_controls(figure, only)
    start = figure.pose(controls).controls
    batch = common_batch("controls", [start.shape[:-1], *(goal.batch for goal in checked)])
    values = np.array(np.broadcast_to(start, (*batch, start.shape[-1])))
    ends, wanted = np.zeros(values.shape, np.int64), np.zeros(values.shape, np.bool_)
    steps, met = np.zeros(batch, np.int64), np.zeros(batch, np.bool_)
    for item in np.ndindex(batch):
        goals = [goal.at(item, batch) for goal in checked]
        problem = ControlVariables.of(figure, values[item], goals, changing, settings.tolerance)
        trial = problem.trials(problem.shares_at(values[item])[None])
        search(problem, trial, settings)
        values[item] = problem.values(trial.shares[0])
        steps[item], met[item] = trial.steps[0], trial.met[0]
        ends[item][problem.free] = problem.ends(trial.shares[0])
        if not met[item]:
            wanted[item][problem.free] = problem.blocking(trial.shares[0])
    pose = figure.pose(values)
    return ControlSolution(
        pose=pose,
        errors=_errors(figure, checked, pose, changing),
        iterations=steps,
        converged=met,
        blocked_angle=np.zeros((*batch, len(figure.skeleton))),
        beyond=_beyond(figure, checked, pose, changing) & ~met[..., None],
        start_correction=np.zeros((*batch, len(figure.skeleton))),
        goals=checked,
        skeleton=figure.skeleton,
        figure=figure,
        controls=pose.controls,
        ends=ends,
        wanted=wanted,
    )


def _errors(
    figure: Figure, goals: Sequence[Goal], pose: FigurePose, free: Sequence[int]
) -> Scalars:
    """Return the errors (..., goals), as in `Solution.errors`.

    For goals on ranges it is how much nearer to an end than the margin a free control is, in
    radians, or as a share of its range if it is not an angle.
    """
    model, columns = LimitModel({}, figure.skeleton), []
    controls, world = list(figure.controls.values()), forward(figure.skeleton, pose)
    low, _, high = (ends[free] for ends in figure.ranges)
    shares = (pose.controls[..., free] - low) / (high - low)
    widths = np.array([range_in_radians(controls[index]) or 1.0 for index in free])
    for goal in goals:
        if goal.on_ranges:
            margin, _ = goal.range_margins(figure, free)
            missing = np.maximum(margin - np.minimum(shares, 1.0 - shares), 0.0)
            columns.append((missing * widths).max(axis=-1, initial=0.0))
        else:
            columns.append(goal.error(model, pose, world))
    batch = pose.controls.shape[:-1]
    return np.stack([np.broadcast_to(column, batch) for column in columns], axis=-1)


def _beyond(figure: Figure, goals: Sequence[Goal], pose: FigurePose, free: Sequence[int]) -> Mask:
    """Return a mask (..., goals) of targets farther from the root than the chain is long.

    Targets below a root that a free control moves are never out of reach.
    """
    skeleton, moving = figure.skeleton, moved_segments(figure)
    mask = np.zeros((*pose.controls.shape[:-1], len(goals)), np.bool_)
    for k, goal in enumerate(goals):
        if not goal.is_length:
            continue
        *path, root = skeleton.path_to_root(skeleton.index(goal.joint_names[0]))
        if any(skeleton.names[root] in moving[control] for control in free):
            continue
        bones = np.linalg.norm(pose.positions[..., path, :], axis=-1).sum(axis=-1)
        away = np.linalg.norm(goal.target - pose.positions[..., root, :], axis=-1)
        mask[..., k] = away > bones + np.linalg.norm(goal.point)
    return mask


def _check_goals(figure: Figure, goals: Sequence[Goal]) -> tuple[Goal, ...]:
    goals = check_goals(goals)
    for goal in goals:
        goal.check(figure.skeleton)
    priorities = {goal.priority for goal in goals if not goal.soft}
    if len(priorities) > 1:
        raise ValueError(f"priorities are for joints, not for controls, got {sorted(priorities)}")
    return tuple(goals)


def _free_controls(figure: Figure, only: Sequence[str] | None) -> list[int]:
    """Return the indices of the controls that may change; one with a single value cannot."""
    if isinstance(only, str):
        raise ValueError(f"only must be a list of controls, got {only!r}")
    figure.values(dict.fromkeys(only or (), 0.0))  # raises for unknown names
    return [
        index
        for index, (name, control) in enumerate(figure.controls.items())
        if control.low < control.high and (only is None or name in only)
    ]


def solve_groups(
    model: LimitModel,
    pose: Pose,
    goals: Sequence[Goal],
    joints: Sequence[str] | None,
    *,
    settings: SearchSettings,
) -> Solution:
    """Return a pose that controls of a figure produce and that meets goals, starting from `pose`.

    All limits of the model must be groups of that figure. Groups move that contain one of
    `joints`; all unless given.
    """
    figure, root = _figure_of_groups(model)
    skeleton = model.skeleton
    check_joints(skeleton, pose)
    for goal in goals:
        goal.check(skeleton)
    for name in joints or ():
        skeleton.index(name)
    rotations, dtype = pose.rotations.astype(np.float64), pose.rotations.dtype
    names, only = list(figure.controls), list[str]()
    start = np.tile(figure.ranges[1], (*rotations.shape[:-2], 1))
    for group in model.groups:
        nearest = group.nearest(rotations[..., [skeleton.index(name) for name in group.joints], :])
        start[..., [names.index(name) for name in group.controls]] = nearest.controls
        if joints is None or not set(joints).isdisjoint(group.joints):
            only.extend(group.controls)
    # Transform goals to the figure's frame, where the root is at rest; rename their joints.
    rotation = quat.inverse(rotations[..., root, :])
    center = figure.skeleton.offsets[root]
    translation = center - quat.rotate(rotation, pose.positions[..., root, :])
    segments = dict(zip(skeleton.names, figure.skeleton.names, strict=True))
    solution = solve_controls(
        *(figure, start, [goal.in_frame(rotation, translation, segments) for goal in goals]),
        only=only,
        settings=settings,
    )
    turned, positions = solution.pose.rotations.copy(), solution.pose.positions.copy()
    turned[..., root, :] = pose.rotations[..., root, :]
    positions[..., root, :] = pose.positions[..., root, :]
    corrected = quat.angle_between(figure.pose(start).rotations, rotations)
    corrected[..., root] = 0.0
    return replace(
        solution,
        pose=Pose(turned.astype(dtype), positions.astype(dtype)),
        errors=measure_again(solution.errors, goals, model, Pose(turned, positions)),
        start_correction=np.broadcast_to(corrected, turned.shape[:-1]),
        goals=tuple(goals),
        skeleton=skeleton,
    )


def _figure_of_groups(model: LimitModel) -> tuple[Figure, int]:
    """Return the figure of all groups of a model, and the index of its root.

    Raises ValueError unless the model has one figure, and its skeleton.
    """
    figures = {id(group.figure): group.figure for group in model.groups}
    figure = next(iter(figures.values()))
    segments, skeleton = figure.skeleton, model.skeleton
    names = {
        segment: joint
        for group in model.groups
        for segment, joint in zip(group.segments, group.joints, strict=True)
    }
    matches = (
        len(figures) == 1
        and not model.limits
        and figure.moved_segments <= names.keys()
        and np.array_equal(segments.parents, skeleton.parents)
        and all(
            names.get(segment, joint) == joint
            for segment, joint in zip(segments.names, skeleton.names, strict=True)
        )
    )
    if not matches:
        raise ValueError(
            "inverse kinematics within groups takes all groups of one figure, and a skeleton "
            f"with the same joints as {figure.name!r} in the same order, and no others"
        )
    roots = np.flatnonzero(segments.parents < 0)
    if len(roots) != 1 or segments.names[int(roots[0])] in figure.moved_segments:
        raise ValueError("a figure to be solved for must have one root, which no control moves")
    deviations = np.linalg.norm((segments.offsets - skeleton.offsets)[1:], axis=-1)
    if deviations.max(initial=0.0) > OFFSET_TOLERANCE * figure.size:
        raise ValueError(
            "the skeleton must have the figure's bones; "
            f"{segments.names[int(deviations.argmax()) + 1]} is {deviations.max():.3g} elsewhere"
        )
    return figure, int(roots[0])
