"""From a pose back to the controls that give it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Scalars
from ..skeleton import Pose, check_joints
from .component import LANES, error_weights
from .figure import JointSet, Program, Stage, build_program
from .network import plan_network, tangents

if TYPE_CHECKING:
    from .figure import Figure


# Joint sets as `kernels.controls` reads them: the steps that some segments need, and no others.


@dataclass(frozen=True, eq=False)
class ControlProgram:
    """A program for some segments, and by joint set its rows of the code and its controls."""

    program: Program
    rows: int
    """Of the work space."""
    sets: Mapping[str, tuple[int, int, int, int]]
    """From which row on, up to which, and the same for controls."""
    driven: Mapping[int, str]
    """The joint set of each segment that one moves."""

    def task(
        self,
        figure: Figure,
        values: Floats,
        free: Ints,
        home: Floats,
        aims: Mapping[str, Any],
        stiffness: Floats | None = None,
        comfort: Floats | None = None,
    ) -> Any | None:
        """Return the bundle that `kernels.controls` explains; None where a set is too large.

        `values` (C,) are all controls, `free` (F,) the numbers of those that may change, rising,
        `home` (F,) the shares of their ranges that they should stay near, `aims` the fields of the
        bundle that say what is wanted, where there is something, and `stiffness` (F,) how much more
        than others each should stay; 1 unless given. `comfort` (2, F) is how near to either end of
        its range each is not at ease, as a share of it, and what that weighs; nothing unless given.
        """
        table = []
        for name, (row, end_row, first, end) in self.sets.items():
            inner = np.flatnonzero((free >= first) & (free < end))
            start = int(inner[0]) if len(inner) else 0
            table.append((name, (row, end_row, start, len(inner), first, end)))
        table.sort(key=lambda each: each[1][3] == 0)  # those with free controls first
        most = max((each[1][3] for each in table), default=0)
        if most >= LANES:  # one for the pose itself
            return None
        active = [name for name, each in table if each[3] > 0]
        low, _, high = figure.ranges
        stiff = np.ones(len(free)) if stiffness is None else stiffness
        ease = np.zeros((2, len(free))) if comfort is None else comfort
        joints = len(figure.skeleton)
        set_of = np.full(joints, -1)
        for joint, name in self.driven.items():
            set_of[joint] = active.index(name) if name in active else -1
        nothing = {
            "order": np.zeros(0, np.int64),
            "goals": np.zeros((0, kernels.ik_chain.GOAL.SIZE)),
            "targets": np.zeros((0, 4)),
            "above": np.zeros((0, joints), np.bool_),
            "wanted": np.zeros((0, 12)),
            "wanted_of": np.full(joints, -1),
            "scales": np.ones(12),
        }
        return kernels.controls.Task(
            code=self.program.code,
            lists=self.program.lists,
            numbers=self.program.numbers,
            sizes=np.array([self.rows, max(most, 1)]),
            sets=np.array([each for _, each in table], np.int64).reshape(-1, 6),
            active=np.array([len(active)]),
            free=free,
            ranges=np.stack([low[free], (high - low)[free], home, stiff, *ease]),
            values=np.array(values),
            parents=figure.skeleton.parents,
            set_of=set_of,
            **{**nothing, **aims},
        )


_PROGRAMS: WeakKeyDictionary[Figure, dict[tuple[int, ...], ControlProgram | None]] = (
    WeakKeyDictionary()
)
MAX_PROGRAMS = 64  # that are kept of a figure


def program_for(figure: Figure, segments: Sequence[int]) -> ControlProgram | None:
    """Return the program for some segments, by number; None where a component is not compiled."""
    known, key = _PROGRAMS.setdefault(figure, {}), tuple(sorted(segments))
    if key not in known:
        if len(known) >= MAX_PROGRAMS:
            known.clear()
        known[key] = _build(figure, {figure.skeleton.names[segment] for segment in key})
    return known[key]


def _build(figure: Figure, names: set[str]) -> ControlProgram | None:
    count, control, row = len(figure.controls), 0, 0
    stages: list[Stage] = []
    sets: dict[str, tuple[int, int, int, int]] = {}
    driven: dict[int, str] = {}
    rows = max(count, 1)
    for name, joint_set in figure.joint_sets.items():
        first = control
        control += len(joint_set.controls)
        wanted = [each for each in joint_set.network.outputs if each in names]
        if not wanted:
            continue
        network = joint_set.network.part(wanted)
        places = {each: LANES * (first + k) for k, each in enumerate(joint_set.controls)}
        given = {each: places[each] for each in network.controls}
        plan = plan_network(network, tuple(network.outputs.values()), count, given)
        segments = np.array([figure.skeleton.index(each) for each in wanted], np.int64)
        transforms = [plan.places[source] for source in network.outputs.values()]
        stages.append(
            Stage(plan.steps, segments, np.array(transforms, np.int64), np.zeros(0, np.int64))
        )
        rows = max(rows, plan.rows)
        end = row + len(plan.steps) + 2  # after them, what takes the segments and the gaps
        sets[name] = (row, end, first, control)
        driven |= dict.fromkeys(segments.tolist(), name)
        row = end
    program = build_program(stages, count, figure.skeleton.offsets)
    return None if program is None else ControlProgram(program, rows, sets, driven)


# From a pose back to the controls that give it.


FIRST_CANDIDATES, FIRST_STARTS = 128, 8
"""Controls that are tried where the way from the neutral ones does not end well; of them, the best
that are not near each other are starts."""
CANDIDATES = 2048  # the same, where this is not enough
MIN_SEPARATION = 0.15  # shares of a range, in one control at least
SEARCH_RADII = (0.1, 0.03, 0.01)  # shares of the ranges: how far about the best it looks last
STEPS = 60  # of one fit
REPEAT_RATIO = 0.5  # a fit that lessens the least sum of squares to this share of it is begun anew
EXACT = 1e-12  # roots of sums of squares that are small enough not to start again
DAMPING, LEAST_DAMPING = 0.3, 1e-16  # times what is left, and at least


@dataclass(frozen=True, eq=False)
class FittedControls:
    """Controls (..., C) in the figure's order, and how near their pose comes.

    `angle` (...) is the largest rotation left over in any segment, in radians, and `shift` (...)
    the largest distance of a segment's position from its parent, in the figure's unit.
    """

    controls: Floats
    angle: Scalars
    shift: Scalars


def controls_for(figure: Figure, pose: Pose, tolerance: float = EXACT) -> FittedControls:
    """Return the controls within range whose pose is nearest to `pose`, by least squares.

    The search ends where the root of the sum of squares of a joint set is at most `tolerance`.
    """
    check_joints(figure.skeleton, pose)
    batch, joints = pose.rotations.shape[:-2], len(figure.skeleton)
    rotations = np.asarray(pose.rotations, np.float64).reshape(-1, joints, 4)
    positions = np.asarray(pose.positions, np.float64).reshape(-1, joints, 3)
    wanted = np.zeros((len(rotations), joints, 3, 4))
    wanted[..., :3] = quat.to_matrix(rotations)
    wanted[..., 3] = positions - figure.skeleton.offsets
    found = np.empty((len(rotations), len(figure.controls)))
    first = 0
    for joint_set in figure.joint_sets.values():
        last = first + len(joint_set.controls)
        found[:, first:last] = _solve_joint_set(figure, joint_set, first, wanted, tolerance)
        first = last
    given = figure.pose(found)
    angle = quat.angle_between(given.rotations, rotations)
    shift = np.linalg.norm(given.positions - positions, axis=-1)
    driven = {name for each in figure.joint_sets.values() for name in each.network.outputs}
    for joint, name in enumerate(figure.skeleton.names):
        if figure.skeleton.parents[joint] < 0 and name not in driven:
            angle[:, joint] = shift[:, joint] = 0.0
    worst = (each.max(axis=-1).reshape(batch) for each in (angle, shift))
    return FittedControls(found.reshape(*batch, found.shape[-1]), *worst)


def _solve_joint_set(
    figure: Figure, joint_set: JointSet, first: int, wanted: Floats, tolerance: float
) -> Floats:
    """Return the controls (n, c) of one set that come nearest to transforms (n, J, 3, 4).

    `first` is the number of its first control.
    """
    limits = list(joint_set.controls.values())
    neutral = np.array([each.neutral for each in limits])
    low, high = np.array([(each.low, each.high) for each in limits]).reshape(-1, 2).T
    free = np.flatnonzero(low < high)
    segments = [figure.skeleton.index(name) for name in joint_set.network.outputs]
    values = np.tile(neutral, (len(wanted), 1))
    if len(free) == 0:
        return values
    program = program_for(figure, segments)
    task = None
    if program is not None:
        scales, wanted_of = error_weights(1, figure.size), np.full(len(figure.skeleton), -1)
        wanted_of[segments] = np.arange(len(segments))
        aims = {"wanted": np.zeros((len(segments), 12)), "wanted_of": wanted_of, "scales": scales}
        task = program.task(figure, figure.ranges[1], first + free, np.zeros(len(free)), aims)
    start = (neutral - low)[free] / (high - low)[free]
    for number, each in enumerate(wanted[:, segments].reshape(len(wanted), -1, 12)):
        fit: _CompiledFit | _ScipyFit
        if task is None:
            fit = _ScipyFit(joint_set, each, error_weights(1, figure.size), free)
        else:
            fit = _CompiledFit(task._replace(wanted=np.ascontiguousarray(each)))
        best = low[free] + (high - low)[free] * _search(fit, start, tolerance)
        values[number, free] = np.clip(best, low[free], high[free])
    return values


@dataclass(frozen=True, eq=False)
class _CompiledFit:
    """The fit of one joint set to transforms, by kernels."""

    task: Any
    starts: ClassVar[int] = 120
    """How many it can afford."""

    def fit(self, start: Floats) -> tuple[Floats, float]:
        """Return the shares (F,) that a descent from `start` leads to, and the sum of squares."""
        names, shares = kernels.controls, start.copy()
        found = np.empty(names.ERRORS + len(start))
        settings = np.array([STEPS, 0.0, 1.0, DAMPING, LEAST_DAMPING, EXACT**2])
        names.descend(self.task, settings, shares, found)
        return shares, float(found[names.SQUARE])

    def squares(self, shares: Floats) -> Floats:
        """Return the sums of squares (n,) at shares (n, F)."""
        found = np.empty(len(shares))
        kernels.controls.measure_each(self.task, np.zeros(6), shares, found)
        return found


@dataclass(frozen=True, eq=False)
class _ScipyFit:
    """The same by SciPy, for sets with components that are not compiled."""

    joint_set: JointSet
    wanted: Floats
    """(segments, 12)."""
    scales: Floats
    free: Ints
    starts: ClassVar[int] = 30

    def values(self, shares: Floats) -> Floats:
        """Return the set's controls (n, c) for shares (n, F) of those that are free."""
        limits = list(self.joint_set.controls.values())
        low, high = np.array([(each.low, each.high) for each in limits]).reshape(-1, 2)[self.free].T
        values = np.tile([each.neutral for each in limits], (len(shares), 1))
        values[:, self.free] = low + shares * (high - low)
        return values

    def errors(self, shares: Floats) -> Floats:
        """Return the residuals (n, 12 segments)."""
        off = self.joint_set.network.rows(self.values(shares)) - self.wanted.ravel()
        return np.asarray(off * np.tile(self.scales, len(self.wanted)))

    def jacobian(self, share: Floats) -> Floats:
        """Return the derivatives (12 segments, F)."""
        network = self.joint_set.network
        found = tangents(network, self.values(share[None]))
        rows = np.concatenate([found[source][0] for source in network.outputs.values()])
        width = (self.values(np.ones((1, len(share)))) - self.values(np.zeros((1, len(share)))))[0]
        scales = np.tile(self.scales, len(self.wanted))
        return np.asarray(rows[:, self.free] * width[self.free] * scales[:, None])

    def fit(self, start: Floats) -> tuple[Floats, float]:
        """As that of `_CompiledFit`."""
        from scipy.optimize import least_squares

        last = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": STEPS}
        found = least_squares(
            lambda share: self.errors(share[None])[0],
            *(start, self.jacobian, (0.0, 1.0), "dogbox"),
            **last,
        )
        return found.x, 2.0 * float(found.cost)

    def squares(self, shares: Floats) -> Floats:
        """As those of `_CompiledFit`."""
        return np.asarray(np.square(self.errors(shares)).sum(axis=1))


def _search(fit: _CompiledFit | _ScipyFit, start: Floats, tolerance: float) -> Floats:
    """Return the best shares that are found: from `start`, from everywhere, and about the best."""
    best, least = start, np.inf

    def sort_by_error(shares: Floats) -> Floats:
        return shares[np.argsort(fit.squares(shares))]

    def starts() -> Iterator[Floats]:
        yield start
        rng = np.random.default_rng(0)
        chosen: list[Floats] = []
        for count, most in ((FIRST_CANDIDATES, FIRST_STARTS), (CANDIDATES, fit.starts)):
            for share in sort_by_error(rng.random((count, len(start)))):
                if len(chosen) >= most:
                    break
                away = np.abs(np.reshape(chosen, (-1, len(start))) - share).max(axis=1)
                if (away > MIN_SEPARATION).all():
                    chosen.append(share)
                    yield share
        for radius in SEARCH_RADII:
            steps = radius * rng.normal(size=(CANDIDATES // 4, len(start)))
            yield from sort_by_error(np.clip(best + steps, 0.0, 1.0))[: fit.starts // 10]

    for here in starts():
        while True:  # where limits of a cone meet, a fit may stop early, and go on when begun anew
            here, square = fit.fit(here)
            better = square < REPEAT_RATIO * least
            if square < least:
                best, least = here, square
            if not better or least <= tolerance**2:
                break
        if least <= tolerance**2:
            break
    return best
