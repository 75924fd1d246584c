"""solve_controls: controls of a figure, within their ranges, whose pose meets goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, Vectors
from ..components import DEGREE, Control, Figure, FigurePose
from ..components.controls import program_for
from ..components.figure import Controls
from ..components.network import unknown_name
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, check_joints
from .goals import WISH_WEIGHT, Aim, Comfort, Goal, Orient, Reach, Stay, Wish, errors_of, gaps
from .problem import (
    GOAL_TOLERANCE,
    check_above_0,
    check_goals,
    goal_table,
    sub_skeleton,
    with_weights,
)
from .solution import describe_miss

# Controls of a figure, within their ranges, whose pose meets goals: a damped Gauss–Newton search.
#
# Controls are searched as shares, from 0 to 1, of their ranges.

OTHER_MARGIN = 0.1
"""Of the range: the margin of `Comfort` for controls that are no angles."""

DIFFERENCE_STEP = 1e-6
"""The step of central differences, as a share of a range."""

DAMPING, LIGHT_DAMPING, LEAST_DAMPING = 0.3, 1e-4, 1e-10
"""At first, times what is left; the same where that stays large; and what is always added."""


@dataclass(frozen=True, eq=False)
class ControlGoals:
    """One problem: a figure, its controls at the start, and goals without leading axes."""

    figure: Figure
    start: Floats
    """(C,): all controls; those that are not free stay there."""
    free: Ints
    """(F,): the controls that may change, and that matter to the goals."""
    demands: tuple[Reach | Aim | Orient, ...]
    wishes: tuple[Stay, ...]
    bones: Skeleton
    """The segments that the demands hang on."""
    order: Ints
    """Their numbers in the figure."""
    drives: Mask
    """(D, F): which free controls move what a demand is about."""
    units: Floats
    """What a goal's gap is worth, demands first: 1 / length, or a share for angles."""
    weights: Floats
    start_weight: float
    """The weight of a wish: that controls stay where they start."""
    stiffness: Floats
    """(F,): how much more than others each free control wishes so."""
    comfort: Floats
    """(2, F): how near to an end each is not at ease, as a share, and what that weighs."""
    task: Any = None
    """The same as `kernels.controls` reads it; None where a component is not compiled."""

    @classmethod
    def of(
        cls,
        figure: Figure,
        start: Floats,
        goals: Sequence[Goal],
        changing: Sequence[int],
        stiffness: Floats | None = None,
    ) -> Self:
        """Return the problem with those of the controls `changing` that the goals depend on.

        `stiffness` (C,) is that of all controls; 1 unless given.
        """
        demands = tuple(goal for goal in goals if not isinstance(goal, Wish))
        wishes = tuple(goal for goal in goals if isinstance(goal, Stay))
        skeleton = figure.skeleton
        above = [skeleton.path_to_root(skeleton.index(goal.joint)) for goal in demands]
        order = sorted(set[int]().union(*above)) or list(range(len(skeleton)))
        moved = {skeleton.names[j] for line in above for j in line}
        for goal in wishes:
            moved |= set(skeleton.names if goal.joints is None else goal.joints)
        for ease in (goal for goal in goals if isinstance(goal, Comfort)):
            moved |= set(skeleton.names if ease.joints is None else ease.joints)
        moving = _moved_segments(figure)
        free = [c for c in changing if moving[c] & moved]
        lines = [{skeleton.names[j] for j in line} for line in above]
        drives = [[bool(moving[c] & line) for c in free] for line in lines]
        lengths = [np.linalg.norm(skeleton.offsets[line[:-1]], axis=1).sum() for line in above]
        length = max(lengths, default=0.0) or 1.0
        angle = kernels.ik_goals.TURN_SHARE
        each = (*demands, *wishes)
        found = cls(
            figure,
            start,
            np.array(free, np.int64),
            demands,
            wishes,
            sub_skeleton(skeleton, order),
            np.array(order, np.int64),
            np.array(drives, np.bool_).reshape(len(demands), len(free)),
            np.array([1.0 / length if isinstance(goal, Reach) else angle for goal in each]),
            np.array([goal.weight for goal in each]),
            0.0 if wishes else WISH_WEIGHT,
            np.ones(len(free)) if stiffness is None else stiffness[free],
            comfort_margins(figure, goals, free),
        )
        return replace(found, task=found._task())

    def _task(self) -> Any:
        """Return the bundle that `kernels.controls` explains, if all components are compiled."""
        skeleton = self.figure.skeleton
        parts = [
            skeleton.names
            if isinstance(goal, Stay) and goal.joints is None
            else goal.joints
            if isinstance(goal, Stay)
            else (goal.joint,)
            for goal in (*self.demands, *self.wishes)
        ]
        each = [
            (goal, skeleton.index(name))
            for goal, part in zip((*self.demands, *self.wishes), parts, strict=True)
            for name in part or ()
        ]
        above = np.zeros((len(each), len(skeleton)), np.bool_)
        targets, order = np.zeros((len(each), 4)), set[int]()
        for row, (goal, joint) in enumerate(each):
            line = skeleton.path_to_root(joint)
            order.update(line)
            if isinstance(goal, Stay):
                above[row, joint] = True
                targets[row] = goal.pose.rotations[joint]
            else:
                above[row, line] = True
                wanted = goal.rotation if isinstance(goal, Orient) else goal.target
                targets[row, : len(wanted)] = wanted
        program = program_for(self.figure, np.flatnonzero(above.any(axis=0)).tolist())
        if program is None:
            return None
        aims = {
            "order": np.array(sorted(order), np.int64),
            "goals": goal_table(each),
            "targets": targets,
            "above": above,
        }
        return program.task(
            self.figure, self.start, self.free, self.shares, aims, self.stiffness, self.comfort
        )

    def scale_wishes(self, share: float) -> Self:
        """Return the problem with the weights of its wishes multiplied by `share`."""
        wishes = np.arange(len(self.weights)) >= len(self.demands)
        weights, task = np.where(wishes, share, 1.0) * self.weights, self.task
        if task is not None:
            stay = task.goals[:, kernels.ik_chain.GOAL.kind] == kernels.ik_chain.STAY
            rows = np.where(stay, share, 1.0) * task.goals[:, kernels.ik_chain.GOAL.weight]
            ranges = task.ranges.copy()
            ranges[kernels.controls.UNEASE] *= share
            task = with_weights(task, rows)._replace(ranges=ranges)
        comfort, start_weight = self.comfort * [[1.0], [share]], share * self.start_weight
        return replace(self, weights=weights, start_weight=start_weight, comfort=comfort, task=task)

    @property
    def length(self) -> float:
        """The length that is worth 1."""
        pairs = zip(self.units, self.demands, strict=False)
        return next((1.0 / float(unit) for unit, goal in pairs if isinstance(goal, Reach)), 1.0)

    def descend(self, share: Floats, most: int, damping: float = DAMPING) -> DescentResult:
        """Return where damped steps from shares (F,) lead, in at most so many of them.

        `damping` is that at first, as a share of what is left.
        """
        if self.task is None:
            return _descend_by_differences(self, share, most, damping)
        names, shares = kernels.controls, share.copy()
        found = np.empty(names.ERRORS + len(self.task.goals) + len(share))
        names.descend(self.task, self._settings(most, damping), shares, found)
        errors = found[names.ERRORS : names.ERRORS + len(self.demands)]
        return DescentResult(
            shares,
            float(found[names.SQUARE]),
            errors,
            int(found[names.STEPS]),
            found[names.ERRORS + len(self.task.goals) :],
        )

    def squares(self, shares: Floats) -> Floats:
        """Return the sums of squares (n,) of the residuals for shares (n, F)."""
        if self.task is None:
            return np.asarray(np.square(self.residuals(shares)[0]).sum(axis=1))
        found = np.empty(len(shares))
        kernels.controls.measure_each(self.task, self._settings(0, 0.0), shares, found)
        return found

    def _settings(self, most: int, damping: float) -> Floats:
        scale = 1.0 / self.length
        return np.array([most, self.start_weight, scale, damping, LEAST_DAMPING, 0.0])

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """The low ends (F,) and the widths (F,) of the free controls' ranges."""
        each = list(self.figure.controls.values())
        low, high = np.array([(each[c].low, each[c].high) for c in self.free]).reshape(-1, 2).T
        return low, high - low

    @cached_property
    def shares(self) -> Floats:
        """The shares (F,) of their ranges at which the free controls start."""
        return self.shares_at(self.start)

    def shares_at(self, values: Floats) -> Floats:
        """Return the shares (F,) of their ranges at which the free ones of all controls are."""
        low, width = self.ranges
        return np.clip((values[self.free] - low) / width, 0.0, 1.0)

    def values(self, shares: Floats) -> Floats:
        """Return all controls (..., C) for shares (..., F) of those that are free."""
        low, width = self.ranges
        values = np.tile(self.start, (*shares.shape[:-1], 1))
        values[..., self.free] = low + width * shares
        return values

    def residuals(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the residuals of all goals, weighted, (n, R), and errors of demands, (n, D)."""
        pose = self.figure.pose(self.values(shares))
        part = Pose(pose.rotations[:, self.order], pose.positions[:, self.order])
        placed = _forward_by_matrices(self.bones, part)
        each = [gap[:, None] for gap in gaps(self.demands, self.bones, part, placed)]
        each += gaps(self.wishes, self.figure.skeleton, pose, (pose.positions, pose.rotations))
        sizes = [unit * gap for unit, gap in zip(self.units, each, strict=True)]
        parts = [
            (weight * size).reshape(len(shares), -1)
            for weight, size in zip(self.weights, sizes, strict=True)
        ]
        away = shares - self.shares
        room = np.where(away < 0.0, self.shares, 1.0 - self.shares)  # on the side it goes to
        slope = self.start_weight * self.stiffness / np.maximum(room, kernels.controls.MIN_ROOM)
        parts.append(-slope * away)
        margin, weight = self.comfort
        parts.append(weight * np.maximum(margin - np.minimum(shares, 1.0 - shares), 0.0))
        errors = [np.linalg.norm(size[:, 0], axis=-1) for size in sizes[: len(self.demands)]]
        return np.concatenate(parts, axis=1), np.array(errors).reshape(-1, len(shares)).T

    def jacobian(self, share: Floats) -> Floats:
        """Return the derivatives (R, F) of residuals by shares (F,), one-sided at the ends."""
        both = DIFFERENCE_STEP * np.eye(len(share))
        up, down = np.minimum(share + both, 1.0), np.maximum(share - both, 0.0)
        rows, _ = self.residuals(np.concatenate([up, down]))
        way = (up - down).sum(axis=1)
        return np.asarray((rows[: len(share)] - rows[len(share) :]).T / way)


def comfort_margins(figure: Figure, goals: Sequence[Goal], free: Sequence[int]) -> Floats:
    """Return (2, F) how near to an end controls are not at ease, and what that weighs.

    As shares of their ranges. Of several goals for a control the last counts.
    """
    margins, each = np.zeros((2, len(free))), list(figure.controls.values())
    moving = _moved_segments(figure)
    for goal in goals:
        if not isinstance(goal, Comfort):
            continue
        names = set(figure.skeleton.names if goal.joints is None else goal.joints)
        for place, control in enumerate(free):
            if moving[control] & names:
                width = _radians(each[control])
                margins[:, place] = (
                    min(goal.margin / width if width else OTHER_MARGIN, 0.5),
                    goal.weight * kernels.ik_goals.TURN_SHARE * (width or 1.0),
                )
    return margins


def _radians(control: Control) -> float:
    """Return the width of a range of angles in radians; 0 if it is one of lengths or shares."""
    unit = {"radians": 1.0, "degrees": DEGREE}.get(control.unit, 0.0)
    return unit * (control.high - control.low)


def control_discomfort(
    figure: Figure, goal: Comfort, values: Floats, free: Sequence[int]
) -> Scalars:
    """Return by how much (...) the free control nearest to an end is nearer than the margin.

    Radians; of controls that are no angles as shares of their ranges.
    """
    controls = list(figure.controls.values())
    margins, _ = comfort_margins(figure, [goal], free)
    low, _, high = (ends[free] for ends in figure.ranges)
    shares = (values[..., free] - low) / (high - low)
    near = np.maximum(margins - np.minimum(shares, 1.0 - shares), 0.0)
    widths = np.array([_radians(controls[number]) or 1.0 for number in free])
    return np.asarray((near * widths).max(axis=-1, initial=0.0))


def _moved_segments(figure: Figure) -> list[frozenset[str]]:
    """Return for each control the segments of its joint set."""
    return [
        frozenset(joint_set.network.outputs)
        for joint_set in figure.joint_sets.values()
        for _ in joint_set.controls
    ]


def _forward_by_matrices(skeleton: Skeleton, pose: Pose) -> tuple[Vectors, Quats]:
    """Return what `forward` does, by matrices: sooner done for a few poses of many joints."""
    where, turns = pose.positions.copy(), quat.to_matrix(pose.rotations)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            turned = turns[:, parent] @ where[:, joint, :, None]
            where[:, joint] = where[:, parent] + turned[..., 0]
            turns[:, joint] = turns[:, parent] @ turns[:, joint]
    return where, quat.from_matrix(turns)


# ControlSolution: controls of a figure that were found for goals, and how near they come.


@dataclass(frozen=True, eq=False)
class ControlSolution:
    """Controls within their ranges for each problem, with the problems' leading axes (...)."""

    figure: Figure
    goals: tuple[Goal, ...]
    controls: Floats
    """(..., C), in the figure's order and units."""
    pose: FigurePose
    """What the controls give."""
    errors: Scalars
    """(..., goals): a length for `Reach`, radians for others, of wishes the largest."""
    iterations: Ints
    """(...): steps taken, those of restarts among them."""
    converged: Mask
    """(...): whether all goals are met, wishes apart."""
    ends: Ints
    """(..., C): 1 for controls at the high end of their range, -1 at the low end, 0 between."""
    wanted: Mask
    """(..., C): controls at an end that the goals would take farther."""

    def at_end(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the controls at an end of their range, by name, and that end in their unit."""
        return self._named(self.ends[item] != 0, item)

    def blocking(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return those of them that the goals would take farther; none where goals are met."""
        return self._named(self.wanted[item], item)

    def beyond(self, item: int | tuple[int, ...] = ()) -> tuple[str, ...]:
        """Return the joints of `Reach` whose target is too far off, whatever the controls are.

        It is farther from the root than all bones between are long. A root that a joint set moves
        may go anywhere.
        """
        skeleton, shape = self.figure.skeleton, self.converged.shape
        places = self.pose.positions[item]
        found = []
        for goal in self.goals:
            if not isinstance(goal, Reach):
                continue
            length = float(np.linalg.norm(goal.point))
            *line, root = skeleton.path_to_root(skeleton.index(goal.joint))
            for joint in line:
                length += float(np.linalg.norm(places[joint]))
            target = np.broadcast_to(goal.target, (*shape, 3))[item]
            away = float(np.linalg.norm(target - places[root]))
            if away > length and skeleton.names[root] not in self.figure.moved_segments:
                found.append(goal.joint)
        return tuple(found)

    def reason(self, item: int | tuple[int, ...] = ()) -> str:
        """Return one sentence on how a problem ended: what is not met, and why not."""
        blocking = self.blocking(item)
        if self.converged[item]:
            return "all goals are met"
        demands = [k for k, goal in enumerate(self.goals) if not isinstance(goal, Wish)]
        worst = max(demands, key=lambda k: self.errors[item][k] * self.goals[k].weight)
        miss = describe_miss(self.goals[worst], float(self.errors[item][worst]))
        far = self.beyond(item)
        if far:
            return f"{miss}: beyond the bones' reach for {', '.join(far)}"
        if not blocking:
            return f"{miss}: no control's range holds it; it is out of reach, or the start is bad"
        ends = ", ".join(f"{control} at {value:g}" for control, value in blocking.items())
        return f"{miss}: held by the range of {ends}"

    def _named(self, which: Mask, item: int | tuple[int, ...]) -> dict[str, float]:
        if which.ndim != 1:
            shape = self.converged.shape
            raise ValueError(f"this is for one problem, got {shape} of them: say which")
        names = list(self.figure.controls)
        return {names[c]: float(self.controls[item][c]) for c in np.flatnonzero(which)}


# The search for controls: damped steps within their ranges, from the start and from elsewhere.


ITERATIONS = 60
CANDIDATES = 256  # controls that are looked at where the start leads nowhere
NEAR_SPREAD = 0.2  # shares of ranges, by which those are moved that goals that are met hang on, too
RESTARTS = 8  # of them, the best go
FIRST_RACERS = 3  # these before the others, which need not if one of them is there already;
RACE_STEPS = 4  # steps each, and then
FINALISTS = 3  # go on
ROUNDS = 2  # of all this
POLISH_ROUNDS, POLISH_RATIO = 6, 0.999  # where goals are not met; less is not worth another round
BETTER_START = 0.9  # a later start must leave at most this share of the error
WISH_FACTOR = 1e-3  # of the weight of wishes, where goals are not met beside them
END_TOLERANCE = 1e-6  # shares of a range
MIN_SLOPE = 0.02  # of what is left: a control that could do less is not wanted farther
JOINT_DAMPING = 1e-4  # of steps of several controls beyond their ends, in shares of ranges
JOINT_RATIO = 0.95  # such steps must leave at most this share of what is left without them


@dataclass(frozen=True, eq=False)
class DescentResult:
    """Where a descent ended: the shares, the sum of squares of all goals, errors of the demands."""

    share: Floats
    square: float
    demand_errors: Floats
    steps: int
    down: Floats
    """(F,): how fast half the sum of squares falls with each share."""

    @property
    def worst(self) -> float:
        """The error of the worst demand."""
        return float(self.demand_errors.max(initial=0.0))


def search_controls(
    problem: ControlGoals, tolerance: float, starts: Sequence[Floats] = (), rounds: int = ROUNDS
) -> DescentResult:
    """Return the best that is found from the start, and from elsewhere where that is not enough.

    `starts` are shares (F,) to begin from, one after the other, instead of the problem's own;
    `rounds` is how often others are drawn at random if none of them leads to the goals.
    """
    begun, found = problem, problem.descend(starts[0] if starts else problem.shares, ITERATIONS)
    problem = problem.scale_wishes(WISH_FACTOR)
    if found.worst > tolerance:
        found = _descend_again(problem, found)
    for share in starts[1:]:
        if found.worst <= tolerance:
            break
        other = begun.descend(share, ITERATIONS)
        if other.worst > tolerance:
            other = _descend_again(problem, other)
        best = other if other.worst < BETTER_START * found.worst else found
        found = replace(best, steps=found.steps + other.steps)
    for _ in range(rounds):
        if found.worst <= tolerance or len(problem.free) == 0:
            break
        found = _restart_search(problem, found, tolerance)
    return found if found.worst <= tolerance else _polish(problem, found)


def _descend_again(problem: ControlGoals, found: DescentResult) -> DescentResult:
    after = problem.descend(found.share, ITERATIONS)
    return replace(after, steps=found.steps + after.steps)


def _polish(problem: ControlGoals, found: DescentResult) -> DescentResult:
    """Return where `found` leads when it is begun anew, as long as that is worth it.

    Where goals cannot be met, the way goes along ends of ranges, and damping is in its way.
    """
    for _ in range(POLISH_ROUNDS):
        after = problem.descend(found.share, ITERATIONS, LIGHT_DAMPING)
        worth = after.square < POLISH_RATIO * found.square
        found = replace(after, steps=found.steps + after.steps)
        if not worth:
            break
    return found


def _restart_search(problem: ControlGoals, found: DescentResult, tolerance: float) -> DescentResult:
    """Return the best of `found` and of what other controls lead to."""
    scattered = _restart_shares(problem, found, tolerance)
    nearest = np.argsort(problem.squares(scattered))[:RESTARTS]
    racers: list[DescentResult] = []
    for some in (nearest[:FIRST_RACERS], nearest[FIRST_RACERS:]):
        racers += [problem.descend(share, RACE_STEPS) for share in scattered[some]]
        if min(racer.worst for racer in racers) <= tolerance:
            break
    steps, best = found.steps + sum(racer.steps for racer in racers), found
    for racer in sorted(racers, key=lambda racer: racer.square)[:FINALISTS]:
        last = problem.descend(racer.share, ITERATIONS)
        steps, best = steps + last.steps, min(best, last, key=lambda end: end.square)
        if last.worst <= tolerance:
            break
    return replace(best, steps=steps)


def _restart_shares(problem: ControlGoals, found: DescentResult, tolerance: float) -> Floats:
    """Return shares to begin anew from.

    Controls that only goals that are not met hang on are anywhere; others that these hang on are
    near to where they were found.
    """
    rng, shape = np.random.default_rng(found.steps), (CANDIDATES, len(problem.free))
    unmet = found.demand_errors > tolerance
    needed = problem.drives[unmet].any(axis=0)
    only_needed = needed & ~problem.drives[~unmet].any(axis=0)
    near = np.clip(found.share + NEAR_SPREAD * rng.normal(size=shape), 0.0, 1.0)
    half = (np.arange(CANDIDATES) % 2 == 0)[:, None]
    others = np.where(needed & half, near, found.share)
    return np.where(only_needed, rng.random(shape), others)


def _descend_by_differences(
    problem: ControlGoals, share: Floats, most: int, damping: float
) -> DescentResult:
    """As `kernels.controls.descend`, for figures with components that are not compiled."""
    (residuals,), (errors,) = problem.residuals(share[None])
    square, stalled, steps = float(residuals @ residuals), 0, 0
    jacobian, rules = problem.jacobian(share), kernels.controls
    while steps < most and stalled < rules.STALL_STEPS and len(share):
        steps, before, taken = steps + 1, square, False
        for _ in range(rules.TRIES):
            strength = damping * square + LEAST_DAMPING
            trial = _take_step(share, residuals, jacobian, strength)
            (after,), (errors_after,) = problem.residuals(trial[None])
            if after @ after < square:
                share, residuals, errors, taken = trial, after, errors_after, True
                square = float(after @ after)
                jacobian = problem.jacobian(share)
                break
            damping = 6.0 * damping + 1e-4
        if not taken:
            break
        if square < 0.5 * before:
            damping = max(0.3 * damping, 1e-4)
        stalled = stalled + 1 if square > rules.STALL_RATIO**2 * before else 0
    return DescentResult(share, square, errors, steps, -jacobian.T @ residuals)


def _take_step(share: Floats, residuals: Floats, jacobian: Floats, damping: float) -> Floats:
    """Return shares after a step: what would leave its range is fixed at its end, others go on."""
    step, free = np.zeros(len(share)), np.ones(len(share), np.bool_)
    while free.any():
        part = jacobian[:, free]
        rest = residuals + jacobian[:, ~free] @ step[~free]
        square = part @ part.T + damping * np.eye(len(residuals))
        step[free] = -part.T @ np.linalg.solve(square, rest)
        out = free & ((share + step < 0.0) | (share + step > 1.0))
        if not out.any():
            break
        step[out] = np.clip(share + step, 0.0, 1.0)[out] - share[out]
        free &= ~out
    most = kernels.controls.MAX_STEP
    scale = most / max(float(np.abs(step).max(initial=0.0)), most)
    return np.asarray(np.clip(share + scale * step, 0.0, 1.0))


def ends_of(share: Floats) -> Ints:
    """Return 1 for shares at the high end, -1 at the low end, 0 between."""
    return (share >= 1.0 - END_TOLERANCE).astype(np.int64) - (share <= END_TOLERANCE)


def blocked_at_end(problem: ControlGoals, share: Floats) -> Mask:
    """Tell which controls at an end would go on, if they could, for the demands to come nearer.

    Those are meant that would help alone; where there are none, those that would help together, as
    both ankles do in a crouch with flat feet.
    """
    ends = ends_of(share)
    if not ends.any():
        return np.zeros(len(share), np.bool_)
    demands = problem.scale_wishes(0.0)
    # A little inside: on the end itself rounding may put a control beyond it, where nothing moves.
    inside = np.clip(share, END_TOLERANCE, 1.0 - END_TOLERANCE)
    found = demands.descend(inside, 0)
    alone = found.down * ends > MIN_SLOPE * np.sqrt(found.square)
    return np.asarray(alone if alone.any() else _blocked_together(demands, inside, ends))


def _blocked_together(problem: ControlGoals, share: Floats, ends: Ints) -> Mask:
    """Tell which controls at an end a step of all would take farther, if that is worth it."""
    residuals, slopes = problem.residuals(share[None])[0][0], problem.jacobian(share)

    def step(free: Mask) -> tuple[Floats, float]:
        some, way = slopes[:, free], np.zeros(len(share))
        square = some.T @ some + JOINT_DAMPING * np.eye(some.shape[1])
        way[free] = np.linalg.solve(square, -some.T @ residuals)
        return way, float(np.linalg.norm(residuals + slopes @ way))

    free = np.ones(len(share), np.bool_)
    way, left = step(free)
    while (inwards := free & (way * ends < 0.0)).any():
        free &= ~inwards
        way, left = step(free)
    _, left_without = step(ends == 0)
    return (way * ends > 0.0) & (left < JOINT_RATIO * left_without)


# solve_controls: controls of a figure, within their ranges, whose pose meets goals.


def solve_controls(
    figure: Figure,
    controls: Controls,
    goals: Sequence[Goal],
    *,
    only: Sequence[str] | None = None,
    stiffness: Mapping[str, float] | None = None,
    starts: Sequence[Controls] = (),
    restarts: bool = True,
    tolerance: float = GOAL_TOLERANCE,
) -> ControlSolution:
    """Return controls within their ranges, found from `controls`, whose pose meets `goals`.

    A damped Gauss–Newton method in shares of the ranges: a control that would leave its range is
    fixed at its end, and the step solved again for the others. Where the start leads nowhere, the
    best of 256 others are tried.

    Parameters
    ----------
    figure
        What is posed.
    controls
        Where the search starts: by name, the others neutral, or all in order (..., C). Leading axes
        are problems of their own.
    goals
        `Reach`, `Aim`, `Orient` and `Stay` for segments of the figure; targets may have leading
        axes too. What they leave open stays near `controls`, or near what a `Stay` says, and with
        `Comfort` away from the ends of ranges.
    only
        The controls that may change; all that matter to the goals unless given.
    stiffness
        By control, or by joint set for all of its controls, how much more than others it stays
        near `controls`; 1 unless given. A stiff spine bends where arms do not reach far enough.
    starts
        Where the search begins, instead of at `controls`: from the first of these, and from the
        next where that does not meet the goals. A drag begins where its last step ended.
    restarts
        Whether the search also begins at controls drawn at random, where no start leads to the
        goals, which takes some 10 ms.
    tolerance
        A goal is met when its error is under this share of the length from the root; an angle of
        1 radian counts as 0.3 of that length.

    Returns
    -------
    ControlSolution
        Controls, pose, errors, and which ends of ranges are in the way.
    """
    checked = _check_goals(figure, goals)
    check_above_0("tolerance", tolerance)
    changing = _free_controls(figure, only)
    stiff = _stiffness(figure, stiffness)
    begin = [figure.pose(each).controls for each in starts]
    start = figure.pose(controls).controls
    shapes = [each.shape[:-1] for each in (start, *begin)]
    shapes += [_batch_shape(goal) for goal in checked]
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
        here = [_goal_at(goal, batch, item) for goal in checked]
        problem = ControlGoals.of(figure, values[item], here, changing, stiff)
        shares = [problem.shares_at(np.broadcast_to(each, values.shape)[item]) for each in begin]
        found = search_controls(problem, tolerance, shares, ROUNDS if restarts else 0)
        values[item] = problem.values(found.share)
        steps[item], met[item] = found.steps, found.worst <= tolerance
        ends[item][problem.free] = ends_of(found.share)
        wanted[item][problem.free] = blocked_at_end(problem, found.share) & ~met[item]
    pose = figure.pose(values)
    errors = np.zeros((*batch, len(checked)))
    free = LimitModel({}, figure.skeleton)
    for k, goal in enumerate(checked):
        if isinstance(goal, Comfort):
            errors[..., k] = control_discomfort(figure, goal, pose.controls, changing)
        else:
            errors[..., k] = errors_of([goal], free, pose)[..., 0]
    return ControlSolution(figure, checked, pose.controls, pose, errors, steps, met, ends, wanted)


def _check_goals(figure: Figure, goals: Sequence[Goal]) -> tuple[Goal, ...]:
    goals = check_goals(goals)
    for goal in goals:
        if isinstance(goal, Stay):
            check_joints(figure.skeleton, goal.pose)
        for name in (goal.joints or ()) if isinstance(goal, Wish) else (goal.joint,):
            figure.skeleton.index(name)
    priorities = {goal.priority for goal in goals if not isinstance(goal, Wish)}
    if len(priorities) > 1:
        raise ValueError(f"priorities are for joints, not for controls, got {sorted(priorities)}")
    return tuple(goals)


def _free_controls(figure: Figure, only: Sequence[str] | None) -> list[int]:
    """Return the numbers of the controls that may change; one with a single value cannot."""
    if isinstance(only, str):
        raise ValueError(f"only must be a list of controls, got {only!r}")
    figure.values(dict.fromkeys(only or (), 0.0))  # names those that are not there
    return [
        number
        for number, (name, control) in enumerate(figure.controls.items())
        if control.low < control.high and (only is None or name in only)
    ]


def _stiffness(figure: Figure, given: Mapping[str, float] | None) -> Floats:
    """Return the stiffness (C,) of all controls, which is given by control or by joint set."""
    found = np.ones(len(figure.controls))
    names = list(figure.controls)
    for key, value in (given or {}).items():
        check_above_0(f"stiffness of {key}", value)
        places = [k for k, name in enumerate(names) if key in (name, name.rpartition(".")[0])]
        if not places:
            known = (*figure.joint_sets, *names)
            raise ValueError(f"stiffness: {unknown_name('control or joint set', key, known)}")
        found[places] = value
    return found


def _batch_shape(goal: Goal) -> tuple[int, ...]:
    if isinstance(goal, Stay):
        return goal.pose.rotations.shape[:-2]
    if isinstance(goal, Comfort):
        return ()
    return (goal.rotation if isinstance(goal, Orient) else goal.target).shape[:-1]


def _goal_at(goal: Goal, batch: tuple[int, ...], item: tuple[int, ...]) -> Goal:
    """Return the goal of one problem."""

    def one(array: Floats, axes: int) -> Floats:
        return np.asarray(np.broadcast_to(array, (*batch, *array.shape[-axes:]))[item])

    if isinstance(goal, Stay):
        pose = Pose(one(goal.pose.rotations, 2), one(goal.pose.positions, 2))
        return replace(goal, pose=pose)
    if isinstance(goal, Comfort):
        return goal
    if isinstance(goal, Orient):
        return replace(goal, rotation=one(goal.rotation, 1))
    return replace(goal, target=one(goal.target, 1))
