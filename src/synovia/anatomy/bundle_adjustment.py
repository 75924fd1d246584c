"""Bundle adjustment: parameters of a figure and controls of frames, fitted to observations.

The residuals are differences of points and rotations over their noise, and deviations of parameters
and controls over their spreads. Parameters are shared by all frames, controls belong to one frame.
So a Gauss–Newton step eliminates the controls by the Schur complement (Triggs et al. 2000): it
solves one system for the parameters and a small one for each frame. Frames that fit much worse than
most get less weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Scalars, Vectors
from ..components import Figure
from ..components.least_squares import (
    STEP,
    Minima,
    difference_quotients,
    held_at_bounds,
    minimize,
    normal_equations,
)
from ..skeleton import Pose, forward
from .observations import POINT_NOISE, ROTATION_NOISE, Observations, rigid_fit
from .part import SIDES

LENGTH_SPREAD = 0.15  # standard deviation of a bone's length, as a share of it
ACROSS_SPREAD, GIRDLE_SPREAD = 0.015, 0.005
"""Least standard deviations of a joint's coordinates in metres; the second in the girdle."""
STRETCH_SPREAD = 0.15  # standard deviation of factors of a clavicle's or spine's length
AXIS_SPREAD = np.radians(8.0)  # standard deviation of the direction of a hinge's axis
CURVE_SPREAD = 0.5  # standard deviation of the factor of a curve's values

JOINTS = ("UpperLeg", "LowerLeg", "Foot", "Toes", "Clavicle", "UpperArm", "LowerArm", "Hand")
"""Segments whose joint's centre, in the segment before, is a parameter."""
GIRDLE = ("Clavicle", "UpperArm")
AXES = {
    "elbow": ("flexion-turn", "pronation-turn"),
    "knee": ("flexion",),
    "toes": ("flexion-turn",),
}
"""The hinges, by joint set, whose axes are parameters."""
CURVES = {"knee": ("tibia-rotation", "tibia-adduction")}
REGIONS = {"lumbar": "L", "thoracic": "T", "cervical": "C"}
"""Joint sets of the spine that are scaled as a whole, with the prefixes of their bones' names."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """Numbers (n,) of a figure: their start values and their standard deviations between people.

    They replace the offsets of `segments`, in metres, and the `fields` ("component.field") of
    components in the network of `joint_set`. With `is_factor`, the one number multiplies them.
    """

    name: str
    start: Floats
    spread: Floats
    segments: tuple[str, ...] = ()
    joint_set: str = ""
    fields: tuple[str, ...] = ()
    is_factor: bool = False

    @property
    def is_center(self) -> bool:
        """True for the centre of a joint: the offset of one segment."""
        return bool(self.segments) and not self.is_factor

    def change(self, before: Floats, numbers: Floats) -> Floats:
        """Return the new value of an offset or a field, from the value `before` and the numbers."""
        return numbers[0] * before if self.is_factor else numbers.reshape(before.shape)


def change_figure(figure: Figure, changes: Sequence[tuple[Parameter, Floats]]) -> Figure:
    """Return the figure with new numbers for some of its parameters."""
    offsets = figure.skeleton.offsets.copy()
    values: dict[str, dict[str, Floats]] = {}
    for parameter, numbers in changes:
        for segment in parameter.segments:
            joint = figure.skeleton.index(segment)
            offsets[joint] = parameter.change(offsets[joint], numbers)
        for field_name in parameter.fields:
            before = figure.joint_sets[parameter.joint_set].network.parameter(field_name)
            new_values = values.setdefault(parameter.joint_set, {})
            new_values[field_name] = parameter.change(before, numbers)
    joint_sets = dict(figure.joint_sets)
    for name, new_values in values.items():
        network = joint_sets[name].network.with_parameters(new_values)
        joint_sets[name] = replace(joint_sets[name], network=network)
    skeleton = replace(figure.skeleton, offsets=offsets)
    return replace(figure, skeleton=skeleton, joint_sets=joint_sets)


def human_parameters(figure: Figure) -> list[Parameter]:
    """Return the parameters of a human figure: joint centres, hinge axes, curves and lengths.

    They start at the figure's own values, so a fitted figure can be fitted again.
    """
    skeleton, parameters = figure.skeleton, list[Parameter]()

    def add_factor(
        name: str, spread: float, segments: Sequence[str], joint_set: str, fields: Sequence[str]
    ) -> None:
        numbers = np.ones(1), np.array([spread])
        parameters.append(
            Parameter(name, *numbers, tuple(segments), joint_set, tuple(fields), is_factor=True)
        )

    for side in SIDES:
        for joint in JOINTS:
            segment, least = side + joint, GIRDLE_SPREAD if joint in GIRDLE else ACROSS_SPREAD
            offset = skeleton.offsets[skeleton.index(segment)]
            spread = np.maximum(least, LENGTH_SPREAD * np.abs(offset))
            parameters.append(Parameter(segment, offset, spread, (segment,)))
        # The scapula, and where its joint is, go with the length of the clavicle.
        length, shoulder = f"{side}Clavicle length", f"{side.lower()}_shoulder"
        add_factor(length, STRETCH_SPREAD, [f"{side}Scapula"], shoulder, ["acromion.offset"])
        for joint, parts in AXES.items():
            joint_set = f"{side.lower()}_{joint}"
            for path in (f"{part}.axis" for part in parts):
                axis = figure.joint_sets[joint_set].network.parameter(path)
                name, spread = f"{joint_set}.{path}", np.full(3, AXIS_SPREAD)
                parameters.append(Parameter(name, axis, spread, (), joint_set, (path,)))
        for joint, curves in CURVES.items():
            joint_set = f"{side.lower()}_{joint}"
            for path in (f"map.{curve}" for curve in curves):
                add_factor(f"{joint_set}.{path}", CURVE_SPREAD, [], joint_set, [path])
    for region, letter in REGIONS.items():
        ends = {"thoracic": "Sternum", "cervical": "Head"}
        segments = [
            name
            for name in skeleton.names
            if (name[0] == letter and name[1:].isdigit()) or name == ends.get(region)
        ]
        components = figure.joint_sets[region].network.components
        centers = [
            f"{name}.centers" for name, part in components.items() if "centers" in part.parameters()
        ]
        add_factor(f"{region} length", STRETCH_SPREAD, segments, region, centers)
    return parameters


CONTROL_SPREAD = 2.0  # of a control's range, about its neutral value: holds only what is not seen
START_SPREAD = 0.3
"""The same in the first adjustment. Markers of unknown position leave rotations undetermined; this
keeps them near neutral, off the bounds of controls, where they would hold back the parameters."""
CACHED_FIGURES = 4  # of the last parameters
ROOT = 6  # variables of a frame after its controls: rotation vector and position of the root


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values of all variables."""

    shared: Floats
    """(S,): parameters of the figure, positions of points, rotation vectors of observed frames."""
    frames: Floats
    """(F, C + 6): controls as shares of their ranges, rotation vector and position of the root."""


@dataclass(frozen=True, eq=False)
class BundleProblem:
    """The figure to start from, its parameters, and what was observed."""

    figure: Figure
    parameters: Sequence[Parameter]
    observed: Observations
    control_spread: float = CONTROL_SPREAD
    """Of a control's range: the standard deviation from its neutral value."""
    _figures: dict[bytes, Figure] = field(init=False, default_factory=dict)

    @cached_property
    def owners(self) -> Ints:
        """Indices (P,) of the parameters that the numbers belong to."""
        counts = [len(parameter.start) for parameter in self.parameters]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def start(self) -> Floats:
        """The shared variables (S,) to start from."""
        numbers = [parameter.start for parameter in self.parameters]
        rotations = np.zeros(3 * len(self.observed.rotation_segments))
        return np.concatenate([*numbers, self.observed.positions.ravel(), rotations])

    @cached_property
    def spread(self) -> Floats:
        """The standard deviations (S,) of the shared variables; 0 for those that are known."""
        observed = self.observed
        numbers = [parameter.spread for parameter in self.parameters]
        return np.concatenate(
            [
                *numbers,
                np.repeat(observed.position_spread, 3),
                np.repeat(observed.rotation_spread, 3),
            ]
        )

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest values (C + 6,) of the variables of a frame."""
        controls, root = np.zeros(len(self.figure.controls)), np.full(ROOT, np.inf)
        return np.append(controls, -root), np.append(controls + 1.0, root)

    @cached_property
    def root(self) -> int:
        """The index of the figure's root."""
        return int(np.flatnonzero(self.figure.skeleton.parents < 0)[0])

    def take(self, rows: Ints) -> Self:
        """Return the problem of some of the frames."""
        return replace(self, observed=self.observed.take(rows))

    def split(self, shared: Floats) -> tuple[Floats, Vectors, Vectors]:
        """Return parameters (P,), positions of points (M, 3) and rotation vectors (K, 3)."""
        first = len(self.owners)
        second = first + self.observed.positions.size
        return (
            shared[:first],
            shared[first:second].reshape(-1, 3),
            shared[second:].reshape(-1, 3),
        )

    def figure_at(self, shared: Floats) -> Figure:
        """Return the figure with these parameters; the last few are cached."""
        numbers = self.split(shared)[0]
        key = numbers.tobytes()
        if key not in self._figures:
            if len(self._figures) >= CACHED_FIGURES:
                self._figures.clear()
            parts = [numbers[self.owners == k] for k in range(len(self.parameters))]
            changes = list(zip(self.parameters, parts, strict=True))
            self._figures[key] = change_figure(self.figure, changes)
        return self._figures[key]

    def pose(self, figure: Figure, frames: Floats) -> Pose:
        """Return the poses (...) of a figure in frames (..., C + 6), with their roots."""
        low, _, high = self.figure.ranges
        pose = figure.pose(low + np.clip(frames[..., :-ROOT], 0.0, 1.0) * (high - low))
        rotations, positions = pose.rotations.copy(), pose.positions.copy()
        rotations[..., self.root, :] = quat.exp(frames[..., -ROOT:-3])
        positions[..., self.root, :] = frames[..., -3:]
        return Pose(rotations, positions)

    def compare(self, shared: Floats, pose: Pose, rows: Ints) -> Floats:
        """Return differences (..., n, R) of poses (..., n) from observations, over their noise.

        They are 0 where nothing was observed. `rows` (n,) are indices of frames.
        """
        index, observed = self.figure.skeleton.index, self.observed
        _, offsets, rotation_vectors = self.split(shared)
        positions, rotations = forward(self.figure.skeleton, pose)
        point_joints, rotation_joints = (
            [index(name) for name in names]
            for names in (observed.point_segments, observed.rotation_segments)
        )
        segment_rotations = rotations[..., point_joints, :]
        points = positions[..., point_joints, :] + quat.rotate(segment_rotations, offsets)
        point_residuals = np.nan_to_num((points - observed.points[rows]) / POINT_NOISE)
        unseen = np.isnan(observed.rotations[rows]).any(axis=-1, keepdims=True)
        wanted = np.where(unseen, quat.IDENTITY, observed.rotations[rows])
        predicted_rotations = quat.mul(
            rotations[..., rotation_joints, :], quat.exp(rotation_vectors)
        )
        vectors = quat.log(quat.mul(quat.inverse(wanted), predicted_rotations)) / ROTATION_NOISE
        parts = (point_residuals, np.where(unseen, 0.0, vectors))
        batch = point_residuals.shape[:-2]
        return np.concatenate([part.reshape(*batch, -1) for part in parts], axis=-1)

    def residuals(self, frames: Floats, rows: Ints, shared: Floats) -> Floats:
        """Return the residuals (..., n, R + C) of frames (..., n, C + 6) with indices `rows`.

        Those of observations come first, then deviations of controls from neutral.
        """
        low, neutral, high = self.figure.ranges
        deviations = (frames[..., :-ROOT] - (neutral - low) / (high - low)) / self.control_spread
        pose = self.pose(self.figure_at(shared), frames)
        return np.concatenate([self.compare(shared, pose, rows), deviations], axis=-1)

    def all_residuals(self, estimate: Estimate) -> Floats:
        """Return the residuals (F, R + C) of all frames."""
        return self.residuals(estimate.frames, np.arange(self.observed.frames), estimate.shared)

    def frame_costs(self, estimate: Estimate) -> Scalars:
        """Return the sum of squared residuals (F,) of each frame."""
        return np.asarray(np.square(self.all_residuals(estimate)).sum(axis=-1))

    def cost(self, estimate: Estimate, weights: Scalars) -> float:
        """Return the weighted sum of squares of all frames and of the shared variables."""
        prior = self.precision * (estimate.shared - self.start)
        return float(weights @ self.frame_costs(estimate) + prior @ prior)

    @cached_property
    def precision(self) -> Floats:
        """1 over the spreads (S,); 0 for variables that are known."""
        return np.where(self.spread > 0.0, 1.0 / np.maximum(self.spread, 1e-12), 0.0)

    def solve_frames(self, shared: Floats, start: Floats, rows: Ints, steps: int) -> Minima:
        """Return the variables (n, C + 6) that fit the frames with indices `rows` best."""

        def residuals(frames: Floats, problems: Ints) -> Floats:
            return self.residuals(frames, rows[problems], shared)

        return minimize(
            *(residuals, start, *self.bounds),
            max_steps=steps,
            max_move=MAX_MOVE,
            least_gain=LEAST_GAIN,
        )

    def shared_rates(self, estimate: Estimate) -> Floats:
        """Return rates (S, F, R + C) of the residuals along the shared variables."""
        rows, shared = np.arange(len(estimate.frames)), estimate.shared
        pose = self.pose(self.figure_at(shared), estimate.frames)
        before = self.compare(shared, pose, rows)
        rates = np.zeros((len(shared), len(rows), before.shape[1] + len(self.figure.controls)))
        for k in np.flatnonzero(self.spread > 0.0).tolist():
            moved = shared.copy()
            moved[k] += STEP
            moved_pose = pose
            if k < len(self.owners):
                moved_pose = self.pose(self._moved_figure(shared, moved, k), estimate.frames)
            after = self.compare(moved, moved_pose, rows)
            rates[k, :, : before.shape[1]] = (after - before) / (moved[k] - shared[k])
        return rates

    def _moved_figure(self, shared: Floats, moved: Floats, k: int) -> Figure:
        """Return the figure after its number k has changed from `shared` to `moved`."""
        parameter, columns = self.parameters[self.owners[k]], self.owners == self.owners[k]
        before, numbers = (values[: len(columns)][columns] for values in (shared, moved))
        change = numbers / before if parameter.is_factor else numbers
        return change_figure(self.figure_at(shared), [(parameter, change)])


MIN_DAMPING, MAX_DAMPING = 1e-9, 1e6  # times the diagonal
FRAME_STEPS, SETTLING_STEPS, MAX_STEPS = 25, 2, 20  # of frames alone; after a common step; of these
STEP_SHARES = (1.0, 0.5, 0.2, 0.05, 0.0)  # shares of a common step; a frame uses the best one
MAX_MOVE = 0.3  # in one step: share of a control's range, radians and metres of a root
LEAST_GAIN = 1e-4  # share of the sum of squares: a step that gains less is the last
PLAUSIBLE = 2.5  # times the median sum of squares, above which frames get less weight
STARTS = 3  # descents of each frame at first, from the nearest of START_POSES
RESTARTS, RESTART_RATIO = 48, 2.5
"""Random controls of a joint set that are tried for frames whose sum of squares is above this
multiple of the median."""
START_POSES: tuple[dict[str, float], ...] = (
    {},
    {"shoulder.abduction": 90.0},
    {"shoulder.flexion": 90.0},
    {"shoulder.abduction": 150.0},
    {"hip.flexion": 90.0, "knee.flexion": 90.0},
    {"hip.flexion": 100.0, "knee.flexion": 110.0, "shoulder.flexion": 80.0},
    {"shoulder.flexion": 40.0, "elbow.flexion": 90.0},
    {"shoulder.abduction": 60.0, "elbow.flexion": 100.0},
)
"""Controls of both sides, in degrees, that frames may start from."""


def start_estimate(problem: BundleProblem) -> Estimate:
    """Return the start: for each frame the best of descents from several poses.

    The poses are moved rigidly onto the points of the frame.
    """
    figure, observed = problem.figure, problem.observed
    low, _, high = figure.ranges
    table = np.stack(
        [
            figure.values(
                {name: pose[key] for key in pose for name in figure.controls if name.endswith(key)}
            )
            for pose in START_POSES
        ]
    )
    positions, rotations = forward(figure.skeleton, figure.pose(table))
    joints = [figure.skeleton.index(name) for name in observed.point_segments]
    points = positions[:, joints] + quat.rotate(rotations[:, joints], observed.positions)
    starts = np.zeros((len(table), observed.frames, len(low) + ROOT))
    starts[..., :-ROOT] = ((table - low) / (high - low))[:, None]
    for k, f in np.ndindex(*starts.shape[:2]):
        rotation, shift = rigid_fit(points[k], observed.points[f])
        starts[k, f, -ROOT:-3] = quat.log(quat.mul(rotation, rotations[k, problem.root]))
        starts[k, f, -3:] = quat.rotate(rotation, positions[k, problem.root]) + shift
    rows = np.arange(observed.frames)
    squares = np.square(problem.residuals(starts, rows, problem.start)).sum(axis=-1)
    order = squares.argsort(axis=0)[:STARTS]
    frames, _ = _best_descents(problem, problem.start, starts[order, rows], rows)
    return Estimate(problem.start, frames)


def _best_descents(
    problem: BundleProblem, shared: Floats, starts: Floats, rows: Ints
) -> tuple[Floats, Scalars]:
    """Return the best variables (n, C + 6) of descents from several starts, and their costs (n,).

    `starts` (k, n, C + 6) are those of the frames with indices `rows` (n,).
    """
    points, all_rows = starts.reshape(-1, starts.shape[-1]), np.tile(rows, len(starts))
    minima = problem.solve_frames(shared, points, all_rows, FRAME_STEPS)
    squares = minima.squares.reshape(len(starts), -1)
    best, frame = squares.argmin(axis=0), np.arange(len(rows))
    return minima.points.reshape(starts.shape)[best, frame], squares[best, frame]


def solve_frames(problem: BundleProblem, estimate: Estimate, steps: int = FRAME_STEPS) -> Estimate:
    """Return the estimate with the best variables of each frame; the shared ones are fixed."""
    rows = np.arange(problem.observed.frames)
    minima = problem.solve_frames(estimate.shared, estimate.frames, rows, steps)
    return replace(estimate, frames=minima.points)


def restart_frames(problem: BundleProblem, estimate: Estimate) -> Estimate:
    """Return the estimate with better variables for frames that fit worse than others, if found.

    A shoulder that is rotated to the wrong side can be a local minimum. So for one joint set after
    the other, random controls are tried, and a descent starts from the best of each set.
    """
    costs = problem.frame_costs(estimate)
    bad = np.argsort(-costs)[: max(len(costs) // 4, 1)]
    bad = bad[costs[bad] > RESTART_RATIO * np.median(costs)]
    if len(bad) == 0:
        return estimate
    rng, names = np.random.default_rng(0), list(problem.figure.controls)
    starts = []
    for name, joint_set in problem.figure.joint_sets.items():
        columns = [names.index(f"{name}.{control}") for control in joint_set.controls]
        if len(columns) < 2:
            continue
        draws = np.repeat(estimate.frames[bad][None], RESTARTS, axis=0)
        draws[..., columns] = rng.random((RESTARTS, len(bad), len(columns)))
        squares = np.square(problem.residuals(draws, bad, estimate.shared)).sum(axis=-1)
        starts.append(draws[squares.argmin(axis=0), np.arange(len(bad))])
    new_frames, new_costs = _best_descents(problem, estimate.shared, np.array(starts), bad)
    better = new_costs < costs[bad]
    frames = estimate.frames.copy()
    frames[bad[better]] = new_frames[better]
    return replace(estimate, frames=frames)


def plausible_frames(problem: BundleProblem, estimate: Estimate) -> Ints:
    """Return the indices of frames that fit about as well as most; three quarters or more.

    In the others the person does what the figure cannot, or the search ended in a local minimum.
    """
    costs = problem.frame_costs(estimate)
    worst = max(2.0 * PLAUSIBLE * float(np.median(costs)), float(np.quantile(costs, 0.75)))
    return np.flatnonzero(costs <= worst)


def frame_weights(costs: Scalars) -> Scalars:
    """Return the weights (F,) of frames: less than 1 where the costs are far above the median."""
    return np.asarray(np.minimum(1.0, PLAUSIBLE * np.median(costs) / np.maximum(costs, 1e-12)) ** 2)


def adjust(
    problem: BundleProblem, estimate: Estimate, progress: Callable[[int], None]
) -> tuple[Estimate, Floats]:
    """Return the best estimate, and the standard errors (S,) of the shared variables.

    `progress` gets the number of steps that are done, at most `MAX_STEPS`.
    """
    damping = 1e-3
    for number in range(MAX_STEPS):
        progress(number)
        weights = frame_weights(problem.frame_costs(estimate))
        cost, new_cost = problem.cost(estimate, weights), np.inf
        system = BundleSystem.of(problem, estimate, weights)
        for _ in range(8):
            trial = _take_step(problem, estimate, *system.solve(damping))
            new_cost = problem.cost(trial, weights)
            if new_cost < cost:
                break
            damping = min(8.0 * damping, MAX_DAMPING)
        if new_cost >= cost:
            break
        estimate = trial
        damping = max(0.2 * damping, MIN_DAMPING)
        if cost - new_cost < LEAST_GAIN * cost:
            break
    progress(MAX_STEPS)
    weights = frame_weights(problem.frame_costs(estimate))
    return estimate, BundleSystem.of(problem, estimate, weights).standard_errors()


def _take_step(
    problem: BundleProblem, estimate: Estimate, step: Floats, frame_steps: Floats
) -> Estimate:
    """Return the estimate after a step (S,) and the best share of each frame's step (C + 6,).

    All frames then descend a little by themselves.
    """
    with_shared = replace(estimate, shared=estimate.shared + step)
    longest = np.abs(frame_steps).max(axis=1, initial=MAX_MOVE, keepdims=True)
    moves = MAX_MOVE / longest * frame_steps
    trials = np.clip(estimate.frames + np.multiply.outer(STEP_SHARES, moves), *problem.bounds)
    costs = [problem.frame_costs(replace(with_shared, frames=frames)) for frames in trials]
    frames = trials[np.argmin(costs, axis=0), np.arange(len(moves))]
    return solve_frames(problem, replace(with_shared, frames=frames), SETTLING_STEPS)


@dataclass(frozen=True, eq=False)
class BundleSystem:
    """The normal equations of a Gauss–Newton step, in blocks."""

    own: Floats
    """(F, n, n): JᵀJ of the variables of each frame."""
    descent: Floats
    """(F, n): −Jᵀr of these."""
    held: Mask
    """(F, n): variables at a bound that the descent would move beyond it."""
    cross: Floats
    """(F, n, S): between variables of frames and shared ones."""
    shared: Floats
    """(S, S)."""
    shared_descent: Floats
    """(S,)."""
    fixed: Mask
    """(S,): shared variables that are known."""

    @classmethod
    def of(cls, problem: BundleProblem, estimate: Estimate, weights: Scalars) -> Self:
        """Return the equations at an estimate, with weights (F,) of the frames."""
        residuals = problem.all_residuals(estimate)
        steps = np.where(estimate.frames < 0.5, STEP, -STEP)  # away from the nearer bound
        function = partial(problem.residuals, shared=estimate.shared)
        rows = np.arange(len(estimate.frames))
        frame_rates = difference_quotients(function, estimate.frames, steps, rows)
        shared_rates = problem.shared_rates(estimate)
        gradient = np.einsum("nfr,fr->fn", frame_rates, residuals)
        held = held_at_bounds(estimate.frames, -gradient, *problem.bounds)
        frame_squares, descent = normal_equations(frame_rates, residuals, held)
        cross = np.einsum("nfr,sfr->fns", frame_rates, shared_rates, optimize=True)
        root_weights = np.sqrt(weights)[:, None]
        weighted = (root_weights * shared_rates).reshape(len(shared_rates), -1)
        fixed = problem.precision == 0.0
        prior = problem.precision**2
        block_weights = weights[:, None, None]
        return cls(
            block_weights * frame_squares,
            block_weights[..., 0] * descent,
            held,
            block_weights * np.where(held[..., None], 0.0, cross),
            weighted @ weighted.T + np.diag(np.where(fixed, 1.0, prior)),
            -weighted @ (root_weights * residuals).ravel()
            - prior * (estimate.shared - problem.start),
            fixed,
        )

    def _reduce(self, damping: float) -> tuple[Floats, Floats, Floats]:
        """Return the Schur complement (S, S) and its right-hand side (S,), after (F, n, S + 1).

        The first array has the solutions of the frames' systems for each column of `cross`, and for
        the descent.
        """
        sizes = np.einsum("fii->fi", self.own)
        middle = np.median(sizes, axis=1, keepdims=True)  # damps controls that move points little
        damped = self.own + (damping * (sizes + middle))[..., None] * np.eye(sizes.shape[1])
        right = np.concatenate([self.cross, self.descent[..., None]], axis=2)
        inner = np.linalg.solve(damped, right)
        eliminated = np.einsum("fns,fnt->st", self.cross, inner, optimize=True)
        reduced = self.shared - eliminated[:, :-1] + damping * np.diag(np.diag(self.shared))
        return inner, reduced, self.shared_descent - eliminated[:, -1]

    def solve(self, damping: float) -> tuple[Floats, Floats]:
        """Return the steps of the shared variables (S,) and of each frame (F, n)."""
        inner, reduced, right = self._reduce(damping)
        step = np.where(self.fixed, 0.0, np.linalg.solve(reduced, right))
        frame_steps = inner[..., -1] - inner[..., :-1] @ step
        return step, np.where(self.held, 0.0, frame_steps)

    def standard_errors(self) -> Floats:
        """Return the standard errors (S,) of the shared variables; 0 for those that are known."""
        _, reduced, _ = self._reduce(MIN_DAMPING)
        return np.where(self.fixed, 0.0, np.sqrt(np.abs(np.diag(np.linalg.pinv(reduced)))))
