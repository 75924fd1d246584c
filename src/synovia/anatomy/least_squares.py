"""Parameters of a figure and controls of frames, found together by least squares.

What is left of points and turns, each over its noise, and how far parameters are from where they
start, each over its spread. Gauss–Newton steps with damping; the controls of each frame are
eliminated (they matter to that frame alone), so that a step costs one system of all parameters and
a small one for each frame. Controls keep to their ranges: those at an end that would go on are
fixed in the step. Frames that are much worse than most count less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, Vectors
from ..components import Figure
from ..skeleton import Pose, forward
from .observations import POINT_NOISE, TURN_NOISE, Observations, rigid_fit
from .parameters import (
    Center,
    Changes,
    Parameter,
    change_figure,
    change_network,
    change_offsets,
)

# The state of a fit, what is left of the observations, and how that changes.

CONTROL_SPREAD = 2.0
"""Of a control's range, about its neutral value: so little that only what is not seen stays."""
KEPT = 4
"""Figures: of a state, and of those that are tried next."""
NUDGE = 1e-5
"""The step of differences: radians, metres, or of a control's range."""


@dataclass(frozen=True, eq=False)
class State:
    """Numbers of parameters, places of points and frames of turns; controls and roots by frame."""

    numbers: Floats
    places: Vectors
    """(M, 3)."""
    turns: Vectors
    """(K, 3): rotation vectors of the constant turns."""
    shares: Floats
    """(F, C): controls as shares of their ranges."""
    root_turn: Quats
    root_place: Vectors


@dataclass(frozen=True, eq=False)
class Problem:
    """The figure to begin with, its parameters, and what was observed."""

    figure: Figure
    parameters: Sequence[Parameter]
    seen: Observations
    point_joints: list[int] = field(init=False)
    turn_joints: list[int] = field(init=False)
    root: int = field(init=False)
    _made: dict[bytes, Figure] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        index = self.figure.skeleton.index
        object.__setattr__(self, "point_joints", [index(n) for n in self.seen.point_segments])
        object.__setattr__(self, "turn_joints", [index(n) for n in self.seen.turn_segments])
        roots = np.flatnonzero(self.figure.skeleton.parents < 0)
        object.__setattr__(self, "root", int(roots[0]))

    @property
    def starts(self) -> Floats:
        """The numbers of the figure to begin with."""
        return np.concatenate([np.zeros(0), *(each.start for each in self.parameters)])

    @property
    def spreads(self) -> Floats:
        """How far people differ from them."""
        return np.concatenate([np.zeros(0), *(each.spread for each in self.parameters)])

    def figure_at(self, numbers: Floats) -> Figure:
        """Return the figure with these numbers; those of the last few are kept."""
        key = numbers.tobytes()
        made = self._made.get(key)
        if made is None:
            made = change_figure(self.figure, self.changes(numbers))
            if len(self._made) >= KEPT:
                self._made.clear()
            self._made[key] = made
        return made

    def changes(self, numbers: Floats) -> Changes:
        """Return the parameters that are not as they start, each with its numbers."""
        firsts = np.cumsum([0, *(len(each.start) for each in self.parameters)]).tolist()
        parts = [numbers[first:last] for first, last in pairwise(firsts)]
        every = zip(self.parameters, parts, strict=True)
        return [(each, own) for each, own in every if not np.array_equal(own, each.start)]

    def values(self, shares: Floats) -> Floats:
        """Return controls for shares of their ranges."""
        low, _, high = self.figure.ranges
        return low + shares * (high - low)

    def local_pose(self, figure: Figure, shares: Floats, state: State) -> tuple[Floats, Floats]:
        """Return rotations and positions (..., F, J, …) for shares (..., F, C), with the roots."""
        pose = figure.pose(self.values(shares))
        rotations, positions = pose.rotations.copy(), pose.positions.copy()
        rotations[..., self.root, :] = state.root_turn
        positions[..., self.root, :] = state.root_place
        return rotations, positions

    def residuals(
        self, rotations: Quats, positions: Vectors, places: Vectors, turns: Vectors
    ) -> Floats:
        """Return what is left (..., F, R), over the noise, for poses; 0 where nothing was seen."""
        where, how = forward(self.figure.skeleton, Pose(rotations, positions))
        return self.compare(where, how, places, turns)

    def compare(self, where: Vectors, how: Quats, places: Vectors, turns: Vectors) -> Floats:
        """Return what is left (..., F, R) for positions and rotations in the world."""
        at = where[..., self.point_joints, :]
        at = at + quat.rotate(how[..., self.point_joints, :], places)
        off = np.nan_to_num((at - self.seen.points) / POINT_NOISE)
        own = quat.mul(how[..., self.turn_joints, :], quat.exp(turns))
        seen = np.where(np.isnan(self.seen.turns), quat.IDENTITY, self.seen.turns)
        gone = np.isnan(self.seen.turns).any(axis=-1, keepdims=True)
        twist = np.where(gone, 0.0, quat.log(quat.mul(quat.inverse(seen), own)) / TURN_NOISE)
        shape = (*off.shape[:-2], -1)
        return np.concatenate([off.reshape(shape), twist.reshape(shape)], axis=-1)

    def priors(self, state: State) -> tuple[Floats, Floats]:
        """Return how far shared numbers are from where they start, over their spreads, and 1/these.

        A number without a spread is fixed.
        """
        seen = self.seen
        spread = np.concatenate(
            [
                self.spreads,
                np.repeat(seen.place_spread, 3),
                np.repeat(seen.frame_spread, 3),
            ]
        )
        away = np.concatenate(
            [
                state.numbers - self.starts,
                (state.places - seen.places).ravel(),
                state.turns.ravel(),
            ]
        )
        weight = np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-12), 0.0)
        return weight * away, weight

    def frame_costs(self, state: State, left: Floats) -> Scalars:
        """Return by frame the sum of squares of what is left, with what is known of controls."""
        away = self.neutral_shares(state)
        return np.asarray(np.square(left).sum(axis=1) + np.square(away).sum(axis=1))

    def cost(self, state: State, left: Floats, weights: Scalars) -> float:
        """Return the sum of squares of all frames by weight, with what is known of parameters."""
        own = float(weights @ self.frame_costs(state, left))
        return own + float(np.square(self.priors(state)[0]).sum())

    def neutral_shares(self, state: State) -> Floats:
        """Return how far (F, C) controls are from neutral, over their spread."""
        low, neutral, high = self.figure.ranges
        return (state.shares - (neutral - low) / (high - low)) / CONTROL_SPREAD

    def left_at(self, state: State) -> Floats:
        """Return what is left (F, R) in a state."""
        figure = self.figure_at(state.numbers)
        pose = self.local_pose(figure, state.shares, state)
        return self.residuals(*pose, state.places, state.turns)

    # Derivatives, by differences.

    def frame_jacobian(self, figure: Figure, state: State, left: Floats) -> Floats:
        """Return how what is left changes (F, C + 6, R) with controls and roots."""
        count = state.shares.shape[1]
        inward = np.where(state.shares < 0.5, NUDGE, -NUDGE)
        nudged = state.shares + inward * np.eye(count)[:, None, :]
        pose = self.local_pose(figure, nudged, state)
        changed = self.residuals(*pose, state.places, state.turns)
        rates = (changed - left) / inward.T[..., None]
        where, how = forward(
            self.figure.skeleton, Pose(*self.local_pose(figure, state.shares, state))
        )
        moved = []
        for axis in np.eye(3):
            turn = quat.exp(NUDGE * axis)
            center = state.root_place[:, None]
            turned = center + quat.rotate(turn, where - center), quat.mul(turn, how)
            moved.append(self.compare(*turned, state.places, state.turns))
        for axis in np.eye(3):
            moved.append(self.compare(where + NUDGE * axis, how, state.places, state.turns))
        roots = (np.stack(moved) - left) / NUDGE
        return np.swapaxes(np.concatenate([rates, roots]), 0, 1)

    def shared_jacobian(self, figure: Figure, state: State, left: Floats) -> Floats:
        """Return how what is left changes (F, S, R) with all numbers that frames share."""
        rotations, positions = self.local_pose(figure, state.shares, state)
        poses = [
            self._changed_pose(figure, state, k, (rotations, positions))
            for k in range(len(state.numbers))
        ]
        rates = [np.zeros((0, *left.shape))]
        if poses:
            turned, moved = (np.stack([pose[k] for pose in poses]) for k in range(2))
            changed = self.residuals(turned, moved, state.places, state.turns)
            rates.append((changed - left) / NUDGE)
        where, how = forward(self.figure.skeleton, Pose(rotations, positions))
        for values_of, spread in (
            ("places", self.seen.place_spread),
            ("turns", self.seen.frame_spread),
        ):
            base = getattr(state, values_of)
            found = np.zeros((base.size, *left.shape))
            for k in np.flatnonzero(np.repeat(spread > 0.0, 3)):  # the others are known
                more = base.copy()
                more.ravel()[k] += NUDGE
                given = {"places": state.places, "turns": state.turns, values_of: more}
                found[k] = (self.compare(where, how, **given) - left) / NUDGE
            rates.append(found)
        return np.swapaxes(np.concatenate(rates), 0, 1)

    def _changed_pose(
        self, figure: Figure, state: State, k: int, pose: tuple[Quats, Vectors]
    ) -> tuple[Quats, Vectors]:
        """Return the poses (F, J, …) with number k changed: the joint set that has it, anew."""
        rotations, positions = pose[0].copy(), pose[1].copy()
        owner, first = self._owner(k)
        if isinstance(owner, Center):
            positions[:, figure.skeleton.index(owner.segment), k - first] += NUDGE
            return rotations, positions
        numbers = state.numbers.copy()
        numbers[k] += NUDGE
        changes = self.changes(numbers)
        moved = change_offsets(self.figure, [each for each in changes if each[0] is owner])
        offsets = figure.skeleton.offsets.copy()
        for name in owner.segments:
            joint = figure.skeleton.index(name)
            offsets[joint] = moved[name]
            positions[:, joint] += offsets[joint] - figure.skeleton.offsets[joint]
        network = change_network(self.figure, owner.joint_set, changes)
        places = [f"{owner.joint_set}.{control}" for control in network.controls]
        columns = [list(self.figure.controls).index(name) for name in places]
        values = self.values(state.shares)[:, columns]
        found = network(dict(zip(network.controls, values.T, strict=True)))
        for segment, matrices in found.items():
            joint = figure.skeleton.index(segment)
            rotations[:, joint] = quat.from_matrix(matrices[:, :3, :3])
            positions[:, joint] = offsets[joint] + matrices[:, :3, 3]
        return rotations, positions

    def _owner(self, k: int) -> tuple[Parameter, int]:
        """Return the parameter that number k is of, and where its numbers begin."""
        first = 0
        for each in self.parameters:
            if k < first + len(each.start):
                return each, first
            first += len(each.start)
        raise IndexError(k)


# The descent: controls of frames alone, then all together.

LEAST_DAMPING, MOST_DAMPING = 1e-9, 1e6
FRAME_STEPS, SETTLING_STEPS, STEPS = 25, 1, 20
LONGEST_STEP = 0.3
"""Of a control's range, or radians of a root, in one step."""
SETTLED = 1e-4
"""A step that takes less than this share of the sum of squares is the last."""
PLAUSIBLE = 2.5
"""Frames whose sum of squares is more than so many times the median count less."""
RESTARTS, RESTART_RATIO = 48, 2.5
"""Controls of a joint set that are drawn, for frames whose sum of squares is so many times the
median."""
POSES: tuple[dict[str, float], ...] = (
    {},
    {"shoulder.abduction": 90.0},
    {"shoulder.flexion": 90.0},
    {"shoulder.abduction": 150.0},
    {"hip.flexion": 90.0, "knee.flexion": 90.0},
    {"hip.flexion": 100.0, "knee.flexion": 110.0, "shoulder.flexion": 80.0},
    {"shoulder.flexion": 40.0, "elbow.flexion": 90.0},
    {"shoulder.abduction": 60.0, "elbow.flexion": 100.0},
)
"""Poses that the controls of a frame may start from: the nearest does."""


def start_state(problem: Problem) -> State:
    """Return controls and roots, frame by frame the nearest of some poses, laid on the points."""
    seen, count = problem.seen, problem.seen.frames
    names = list(problem.figure.controls)
    table = np.stack([problem.figure.values(_both_sides(pose, names)) for pose in POSES])
    low, _, high = problem.figure.ranges
    state = State(
        problem.starts,
        seen.places.copy(),
        np.zeros((len(seen.turn_segments), 3)),
        np.zeros((count, len(low))),
        np.tile(quat.IDENTITY, (count, 1)),
        np.zeros((count, 3)),
    )
    return try_shares(problem, state, (table - low) / (high - low))


def _both_sides(pose: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    return {name: value for key, value in pose.items() for name in names if name.endswith(key)}


def try_shares(problem: Problem, state: State, table: Floats) -> State:
    """Return the state with the best of some shares (n, C) in each frame, laid on the points."""
    figure, seen = problem.figure_at(state.numbers), problem.seen
    pose = figure.pose(problem.values(table))
    where, how = forward(figure.skeleton, pose)
    points = where[:, problem.point_joints] + quat.rotate(
        how[:, problem.point_joints], state.places
    )
    best = np.full(seen.frames, np.inf)
    shares, turns, places = state.shares.copy(), state.root_turn.copy(), state.root_place.copy()
    for k in range(len(table)):
        placed = [rigid_fit(points[k], frame) for frame in seen.points]
        turn, shift = (np.stack(each) for each in zip(*placed, strict=True))
        moved = quat.rotate(turn[:, None], points[k][None]) + shift[:, None]
        off = np.nanmean(np.linalg.norm(moved - seen.points, axis=-1), axis=-1)
        better = off < best
        best = np.where(better, off, best)
        shares[better] = table[k]
        turns[better] = quat.mul(turn, how[k, problem.root])[better]
        root = quat.rotate(turn, where[k, problem.root]) + shift
        places[better] = root[better]
    return replace(state, shares=shares, root_turn=turns, root_place=places)


def settle_frames(problem: Problem, state: State, step: Floats) -> State:
    """Return the state after a step (F, C + 6) of those frames that it helps, and a few of each."""
    moved = move_frames(state, step)
    before = problem.frame_costs(state, problem.left_at(state))
    now = problem.frame_costs(moved, problem.left_at(moved))
    return solve_frames(problem, _choose_frames(now < before, moved, state), SETTLING_STEPS)


def solve_frames(problem: Problem, state: State, steps: int = FRAME_STEPS) -> State:
    """Return the state with controls and roots that bring each frame nearest, all else fixed."""
    figure = problem.figure_at(state.numbers)
    left = problem.left_at(state)
    damping = np.full(problem.seen.frames, 1e-2)
    for _ in range(steps):
        jacobian = problem.frame_jacobian(figure, state, left)
        square, down, free = _frame_systems(problem, state, jacobian, left)
        size = np.einsum("fii->fi", square)
        damped = square + (damping[:, None] * (size + 1.0))[..., None] * np.eye(square.shape[1])
        step = np.where(free, np.linalg.solve(damped, down[..., None])[..., 0], 0.0)
        trial = move_frames(state, step)
        after = problem.left_at(trial)
        before, now = problem.frame_costs(state, left), problem.frame_costs(trial, after)
        better = now < before
        state = _choose_frames(better, trial, state)
        left = np.where(better[:, None], after, left)
        damping = np.clip(np.where(better, 0.3 * damping, 8.0 * damping), LEAST_DAMPING, 1e4)
        gain = np.where(better, before - now, 0.0).sum()
        if gain < SETTLED * before.sum() and better.any():
            break
        if not better.any() and damping.min() >= 1e4:
            break
    return state


def restart_frames(problem: Problem, state: State) -> State:
    """Return the state with better controls for frames that are worse than others, if there are.

    A shoulder turned the other way round can be a dead end. So joint set by joint set, controls are
    drawn at random; the best of each are gone on with, and the best of these is taken.
    """
    costs = problem.frame_costs(state, problem.left_at(state))
    bad = np.argsort(-costs)[: max(len(costs) // 4, 1)]
    bad = bad[costs[bad] > RESTART_RATIO * np.median(costs)]
    if len(bad) == 0:
        return state
    rng, names = np.random.default_rng(0), list(problem.figure.controls)
    rows, tables = [], []
    for name, joint_set in problem.figure.joint_sets.items():
        columns = [names.index(f"{name}.{control}") for control in joint_set.controls]
        if len(columns) < 2:
            continue
        draws = np.repeat(state.shares[bad][None], RESTARTS, axis=0)
        draws[..., columns] = rng.random((RESTARTS, len(bad), len(columns)))
        table = draws.reshape(-1, len(names))
        part, begun = at_frames(problem, state, np.tile(bad, RESTARTS), table)
        best = np.square(part.left_at(begun)).sum(axis=1).reshape(RESTARTS, -1).argmin(axis=0)
        rows.append(bad)
        tables.append(draws[best, np.arange(len(bad))])
    part, begun = at_frames(problem, state, np.concatenate(rows), np.concatenate(tables))
    ended = solve_frames(part, begun)
    found = part.frame_costs(ended, part.left_at(ended)).reshape(len(rows), -1)
    winners = found.argmin(axis=0) * len(bad) + np.arange(len(bad))
    better = found.min(axis=0) < costs[bad]
    shares, turns, places = (
        each.copy() for each in (state.shares, state.root_turn, state.root_place)
    )
    shares[bad[better]] = ended.shares[winners[better]]
    turns[bad[better]] = ended.root_turn[winners[better]]
    places[bad[better]] = ended.root_place[winners[better]]
    return replace(state, shares=shares, root_turn=turns, root_place=places)


def plausible_frames(problem: Problem, state: State) -> Ints:
    """Return the frames that some controls explain about as well as most; three quarters or more.

    In others the person does what the human cannot, or the search for controls went astray.
    """
    costs = problem.frame_costs(state, problem.left_at(state))
    worst = max(2.0 * PLAUSIBLE * float(np.median(costs)), float(np.quantile(costs, 0.75)))
    return np.flatnonzero(costs <= worst)


def at_frames(problem: Problem, state: State, rows: Ints, shares: Floats) -> tuple[Problem, State]:
    """Return the problem of some frames, which may repeat, at these shares."""
    part = Problem(problem.figure, problem.parameters, problem.seen.take(rows))
    return part, replace(
        state, shares=shares, root_turn=state.root_turn[rows], root_place=state.root_place[rows]
    )


def _choose_frames(which: Mask, one: State, other: State) -> State:
    """Return the frames of one state where `which` says so, of another elsewhere."""
    pick = which[:, None]
    return replace(
        other,
        shares=np.where(pick, one.shares, other.shares),
        root_turn=np.where(pick, one.root_turn, other.root_turn),
        root_place=np.where(pick, one.root_place, other.root_place),
    )


def _frame_systems(
    problem: Problem, state: State, jacobian: Floats, left: Floats
) -> tuple[Floats, Floats, Mask]:
    """Return JᵀJ (F, n, n), -Jᵀr (F, n), and which variables of frames are free.

    Rows and columns of controls at an end that would go on are those of the identity.
    """
    count = state.shares.shape[1]
    square = jacobian @ np.swapaxes(jacobian, 1, 2)
    down = -(jacobian @ left[..., None])[..., 0]
    weight = np.zeros(square.shape[1])
    weight[:count] = 1.0 / CONTROL_SPREAD**2
    square += np.diag(weight)
    down[:, :count] -= problem.neutral_shares(state) / CONTROL_SPREAD
    free = np.ones(down.shape, np.bool_)
    free[:, :count] = ~(
        ((state.shares <= 0.0) & (down[:, :count] < 0.0))
        | ((state.shares >= 1.0) & (down[:, :count] > 0.0))
    )
    square = np.where(free[:, None, :] & free[:, :, None], square, 0.0)
    square += np.where(free, 0.0, 1.0)[..., None] * np.eye(square.shape[1])
    return square, np.where(free, down, 0.0), free


def move_frames(state: State, step: Floats) -> State:
    """Return the state after a step (F, C + 6) of controls and roots, which is made no longer."""
    count = state.shares.shape[1]
    longest = np.abs(step[:, : count + 3]).max(axis=1, initial=LONGEST_STEP)
    step = step * (LONGEST_STEP / longest)[:, None]
    return replace(
        state,
        shares=np.clip(state.shares + step[:, :count], 0.0, 1.0),
        root_turn=quat.normalize(quat.mul(quat.exp(step[:, count : count + 3]), state.root_turn)),
        root_place=state.root_place + step[:, count + 3 :],
    )


def solve_together(
    problem: Problem, state: State, progress: Callable[[int], None]
) -> tuple[State, Floats]:
    """Return the state that fits best, and the standard errors (S,) of what frames share."""
    damping, left = 1e-3, problem.left_at(state)
    for number in range(STEPS):
        weights = frame_weights(problem.frame_costs(state, left))
        cost = problem.cost(state, left, weights)
        progress(number)
        system = System.of(problem, state, left, weights)
        taken = False
        for _ in range(8):
            step, back = system.solve(damping)
            trial = settle_frames(problem, move_shared(state, step), back)
            after = problem.left_at(trial)
            now = problem.cost(trial, after, weights)
            if now < cost:
                taken = True
                break
            damping = min(8.0 * damping, MOST_DAMPING)
        if not taken:
            break
        state, left = trial, after
        damping = max(0.2 * damping, LEAST_DAMPING)
        if cost - now < SETTLED * cost:
            break
    progress(STEPS)
    weights = frame_weights(problem.frame_costs(state, left))
    return state, System.of(problem, state, left, weights).standard_errors()


def frame_weights(costs: Scalars) -> Scalars:
    """Return how much frames count: less, the more they are worse than most."""
    return np.asarray(np.minimum(1.0, PLAUSIBLE * np.median(costs) / np.maximum(costs, 1e-12)) ** 2)


@dataclass(frozen=True, eq=False)
class System:
    """The equations of a Gauss–Newton step: of each frame, of what frames share, and of both."""

    square: Floats
    """(F, n, n)."""
    down: Floats
    """(F, n)."""
    free: Mask
    """(F, n)."""
    cross: Floats
    """(F, n, S)."""
    whole: Floats
    """(S, S)."""
    slope: Floats
    """(S,)."""
    fixed: Mask
    """(S,)."""

    @classmethod
    def of(cls, problem: Problem, state: State, left: Floats, weights: Scalars) -> Self:
        """Return the equations at a state, of which `left` (F, R) is left, frames by weight."""
        figure = problem.figure_at(state.numbers)
        frames = problem.frame_jacobian(figure, state, left)
        shared = problem.shared_jacobian(figure, state, left)
        square, down, free = _frame_systems(problem, state, frames, left)
        away, weight = problem.priors(state)
        heavy = np.sqrt(weights)[:, None, None]
        rows = np.swapaxes(heavy * shared, 0, 1).reshape(shared.shape[1], -1)
        whole = rows @ rows.T + np.diag(weight**2)
        fixed = weight == 0.0
        whole[fixed, fixed] = 1.0
        cross = np.where(free[..., None], frames @ np.swapaxes(shared, 1, 2), 0.0)
        slope = -rows @ (heavy[..., 0] * left).ravel() - weight * away
        share = weights[:, None, None]
        return cls(share * square, share[..., 0] * down, free, share * cross, whole, slope, fixed)

    def _reduce(self, damping: float) -> tuple[Floats, Floats, Floats]:
        """Return what frames give (F, n, S + 1), and the equations of what they share."""
        size = np.einsum("fii->fi", self.square)
        damped = self.square + (damping * (size + 1.0))[..., None] * np.eye(size.shape[1])
        right = np.concatenate([self.cross, self.down[..., None]], axis=2)
        inner = np.linalg.solve(damped, right)
        taken = np.einsum("fns,fnt->st", self.cross, inner, optimize=True)
        reduced = self.whole - taken[:, :-1] + damping * np.diag(np.diag(self.whole))
        return inner, reduced, self.slope - taken[:, -1]

    def solve(self, damping: float) -> tuple[Floats, Floats]:
        """Return the steps of what frames share (S,), and of each frame (F, n)."""
        inner, reduced, rest = self._reduce(damping)
        step = np.where(self.fixed, 0.0, np.linalg.solve(reduced, rest))
        back = inner[..., -1] - inner[..., :-1] @ step
        return step, np.where(self.free, back, 0.0)

    def standard_errors(self) -> Floats:
        """Return those (S,) of what frames share; 0 for what is fixed."""
        _, reduced, _ = self._reduce(LEAST_DAMPING)
        return np.where(self.fixed, 0.0, np.sqrt(np.abs(np.diag(np.linalg.pinv(reduced)))))


def move_shared(state: State, step: Floats) -> State:
    """Return the state after a step (S,) of what frames share."""
    first, second = len(state.numbers), len(state.numbers) + state.places.size
    return replace(
        state,
        numbers=state.numbers + step[:first],
        places=state.places + step[first:second].reshape(-1, 3),
        turns=state.turns + step[second:].reshape(-1, 3),
    )
