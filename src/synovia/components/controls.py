"""The inverse of a figure: controls within their ranges whose pose is nearest to a given one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels, quat
from ..arrays import Floats, Ints, Scalars
from ..skeleton import Pose, check_joints
from .component import error_weights
from .figure import Figure, JointSet, figure_program
from .least_squares import minimize
from .program import Program


def control_task(
    program: Program,
    figure: Figure,
    values: Floats,
    free: Ints,
    home: Floats,
    aims: Mapping[str, Any],
    comfort: ArrayLike = 0.0,
) -> Any:
    """Return the `Task` of `kernels.controls`.

    Parameters
    ----------
    program
        The compiled program that the wanted segments need, from `program_for`.
    figure
        The figure that the program belongs to.
    values
        All controls (C,).
    free
        Indices (F,) of the controls that may change, ascending.
    home
        Shares (F,) of their ranges that the free controls should stay near.
    aims
        Fields of the task that describe what is wanted; the others are empty.
    comfort
        (2, F): the uncomfortable share at each end of a range, and its weight.
    """
    table = []
    for name, span in program.sets.items():
        inner = np.flatnonzero((free >= span.first_control) & (free < span.end_control))
        start = int(inner[0]) if len(inner) else 0
        rows, controls = (span.first_row, span.end_row), (span.first_control, span.end_control)
        table.append((name, (*rows, start, len(inner), *controls)))
    table.sort(key=lambda row: row[1][3] == 0)  # sets with free controls first
    max_controls = max((row[3] for _, row in table), default=0)
    active = [name for name, row in table if row[3] > 0]
    low, _, high = figure.ranges
    ranges = np.empty((5, len(free)))
    ranges[:3] = low[free], (high - low)[free], home
    ranges[3:] = comfort
    joints = len(figure.skeleton)
    set_of = np.full(joints, -1)
    for number, name in enumerate(active):
        for segment in figure.joint_sets[name].network.outputs:
            set_of[figure.skeleton.index(segment)] = number
    no_aims = {
        "order": np.zeros(0, np.int64),
        "goals": np.zeros((0, kernels.ik_chain.GOAL.SIZE)),
        "targets": np.zeros((0, 4)),
        "above": np.zeros((0, joints), np.bool_),
        "wanted": np.zeros((0, 12)),
        "wanted_of": np.full(joints, -1),
        "scales": np.ones(12),
    }
    return kernels.controls.Task(
        code=program.code,
        lists=program.lists,
        numbers=program.numbers,
        sizes=np.array([program.width, max(max_controls, 1)]),
        sets=np.array([row for _, row in table], np.int64).reshape(-1, 6),
        active=np.array([len(active)]),
        free=free,
        ranges=ranges,
        values=np.array(values),
        parents=figure.skeleton.parents,
        set_of=set_of,
        **{**no_aims, **aims},
    )


@lru_cache(maxsize=64)
def program_for(figure: Figure, segments: frozenset[int]) -> Program | None:
    """Return the program for segments, by index; None if one of their components is in Python."""
    program = figure_program(figure, {figure.skeleton.names[joint] for joint in segments})
    return program if program.is_compiled else None


FIRST_CANDIDATES, FIRST_STARTS = 128, 8
"""Random controls that are tried if the descent from the neutral ones does not reach the tolerance,
and the number of the best of them, apart from each other, that descents start from."""
CANDIDATES, STARTS = 2048, 120  # the same, if those do not suffice
PYTHON_STARTS = 30  # instead of STARTS for components in Python, which take longer
MIN_SEPARATION = 0.15  # of two starts: share of a range, in one control at least
SEARCH_RADII = (0.1, 0.03, 0.01)  # shares of the ranges: of the last starts, around the best
STEPS = 60  # of one descent
REPEAT_RATIO = 0.5  # a descent that lessens the least sum of squares to this share is repeated
EXACT = 1e-12  # root of the sum of squares at which a descent ends


@dataclass(frozen=True, eq=False)
class FittedControls:
    """Controls (..., C) in the figure's order, and the distance of their pose from the given one.

    `angle` (...) is the largest remaining rotation of a segment, in radians, and `shift` (...)
    the largest distance of a segment's position relative to its parent, in the figure's unit.
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
    controls = np.tile(figure.ranges[1], (len(rotations), 1))
    first = 0
    for joint_set in figure.joint_sets.values():
        inverse = _SetInverse(figure, joint_set, first)
        first += len(joint_set.controls)
        if len(inverse.free):
            segments = [figure.skeleton.index(name) for name in joint_set.network.outputs]
            for row, target in enumerate(wanted[:, segments].reshape(len(wanted), -1, 12)):
                controls[row, inverse.free] = inverse.solve(target, tolerance)
    fitted_pose = figure.pose(controls)
    angle = quat.angle_between(fitted_pose.rotations, rotations)
    shift = np.linalg.norm(fitted_pose.positions - positions, axis=-1)
    for joint, name in enumerate(figure.skeleton.names):
        if figure.skeleton.parents[joint] < 0 and name not in figure.moved_segments:
            angle[:, joint] = shift[:, joint] = 0.0
    return FittedControls(
        controls.reshape(*batch, controls.shape[-1]),
        angle.max(axis=-1).reshape(batch),
        shift.max(axis=-1).reshape(batch),
    )


class _SetInverse:
    """The controls of one joint set that come nearest to transforms of its segments.

    The variables are shares, from 0 to 1, of the ranges of the controls that have one.
    """

    def __init__(self, figure: Figure, joint_set: JointSet, first: int) -> None:
        low, neutral, high = (
            ends[first : first + len(joint_set.controls)] for ends in figure.ranges
        )
        varying = np.flatnonzero(low < high)
        self.network, self.neutral, self.varying = joint_set.network, neutral, varying
        self.low, self.high = low[varying], high[varying]
        self.start = (neutral[varying] - self.low) / (self.high - self.low)
        self.free = first + varying
        self.scales = error_weights(1, figure.size)
        self.task = None
        segments = [figure.skeleton.index(name) for name in joint_set.network.outputs]
        program = program_for(figure, frozenset(segments))
        if program is not None:
            wanted_of = np.full(len(figure.skeleton), -1)
            wanted_of[segments] = np.arange(len(segments))
            wanted = np.zeros((len(segments), 12))
            aims = {"wanted": wanted, "wanted_of": wanted_of, "scales": self.scales}
            home = np.zeros(len(self.free))
            self.task = control_task(program, figure, figure.ranges[1], self.free, home, aims)

    def values(self, shares: Floats) -> Floats:
        """Return the controls (..., F) that vary, for shares (..., F) of their ranges."""
        return np.clip(self.low + shares * (self.high - self.low), self.low, self.high)

    def residuals(self, shares: Floats, target: Floats) -> Floats:
        """Return weighted differences (..., 12 S) from target transforms (S, 12)."""
        table = np.tile(self.neutral, (*shares.shape[:-1], 1))
        table[..., self.varying] = self.values(shares)
        transforms = self.network.rows(table).reshape(*shares.shape[:-1], -1, 12)
        return np.asarray((transforms - target) * self.scales).reshape(*shares.shape[:-1], -1)

    def descend(self, start: Floats, target: Floats) -> tuple[Floats, float]:
        """Return the shares (F,) that a descent from `start` ends at, and the sum of squares."""
        if self.task is None:
            minima = minimize(
                lambda shares, _: self.residuals(shares, target),
                start[None],
                max_steps=STEPS,
                enough=EXACT**2,
            )
            return minima.points[0], float(minima.squares[0])
        shares, results = start.copy(), np.empty(len(start))
        plan = kernels.controls.PLAN._replace(steps=STEPS, enough=EXACT**2)
        task = self.task._replace(wanted=np.ascontiguousarray(target))
        _steps, square = kernels.controls.descend(task, plan, shares, results)
        return shares, square

    def solve(self, target: Floats, tolerance: float) -> Floats:
        """Return the best controls (F,): from neutral, from random starts, and around the best."""
        start, least = self.start, np.inf
        best: Floats = start
        last_starts = STARTS if self.task is not None else PYTHON_STARTS

        def sort_by_error(shares: Floats) -> Floats:
            return shares[np.argsort(np.square(self.residuals(shares, target)).sum(axis=-1))]

        def starts() -> Iterator[Floats]:
            yield start
            rng = np.random.default_rng(0)
            chosen: list[Floats] = []
            for count, max_starts in ((FIRST_CANDIDATES, FIRST_STARTS), (CANDIDATES, last_starts)):
                for share in sort_by_error(rng.random((count, len(start)))):
                    if len(chosen) >= max_starts:
                        break
                    separation = np.abs(np.reshape(chosen, (-1, len(start))) - share).max(axis=1)
                    if (separation > MIN_SEPARATION).all():
                        chosen.append(share)
                        yield share
            for radius in SEARCH_RADII:
                moves = radius * rng.normal(size=(CANDIDATES // 4, len(start)))
                yield from sort_by_error(np.clip(best + moves, 0.0, 1.0))[: last_starts // 10]

        for share in starts():
            while True:  # where limits of a cone meet, a descent may stop early and then go on
                share, square = self.descend(share, target)
                better = square < REPEAT_RATIO * least
                if square < least:
                    best, least = share, square
                if not better or least <= tolerance**2:
                    break
            if least <= tolerance**2:
                break
        return self.values(best)
