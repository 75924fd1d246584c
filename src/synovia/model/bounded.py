"""Paths in time with bounded steps: of all that are legal, the one nearest to another path.

Rotations p₀, p₁, … are wanted, legal each in its frame, with no step from frame to frame longer
than that frame's bound, and with the least sum of squared angles to the rotations given. The
nearest legal rotation of each frame is that, wherever its steps keep to the bound. Around steps
that do not, dynamic programming finds the cheapest path through candidates: runs from one side to
the other that begin earlier or later, and paths that skip the change. Afterwards each frame's
candidates are what is near to the path found, and the same search goes on as long as it gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import kernels
from ..arrays import TURN, Floats, Ints, Mask, Quats, Scalars
from .roadmap import PathRegion, Roadmap, angles, cheapest_parts, slerp

FAR = 1 << 40  # frames: before all others
SLACK = 1e-10  # radians; by how much rounding may take a step over its bound
OVER, MOVED = 1e9, 1e5  # what a step over the bound costs, and a frame that was legal and moves
PULL = 0.01  # what squared angles from the nearest legal rotation cost, beside those from the input
LONGEST_RUN = 1.5 * TURN  # radians; a run may be as long, at the least speed
ROUTINGS, ROUTES = 4, 5  # how often ways around are tried, and times for each
LONGER = (1.0, 1.6, 3.0)  # times that straight ways take, in those of the shortest
SPREADS = ((1, 1), (2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5), (1.3, 1.3), (2, 2))
"""How long before and after a jump runs begin and end, in the least time that they take, halved."""
SIZES, ROUNDS = (1.0, 0.3, 0.1), 6  # of moves in refinement, in steps, and how often each
AROUND = np.arange(-2, 3)  # the frames beside one that moves, which may follow
SETTLED = 0.05  # of a move: frames that move less are done


@dataclass(frozen=True, eq=False)
class Problem:
    """A path to stay near to, and what holds for those that may be chosen."""

    region: PathRegion
    inputs: Quats
    """The path (frames, 4) to stay near to."""
    nearest: Quats
    """The nearest legal rotation of each frame by itself."""
    bounds: Scalars
    """The longest step to each frame from the one before, in radians; of the first, the least."""
    kept: Mask
    """Frames that move only where the bound cannot be kept otherwise."""
    fixed: int = 0
    """So many frames from the first on do not move at all."""

    @cached_property
    def weights(self) -> Floats:
        """What is taken off squared angles to the inputs, and what a move costs: (frames, 2)."""
        moves = np.where(self.kept, MOVED, 0.0)
        moves[: self.fixed] = np.inf
        return np.column_stack([angles(self.inputs, self.nearest) ** 2, moves])

    def costs(self, frames: Ints, rotations: Quats) -> Scalars:
        """Return what it costs to take `rotations` (n, 4) in `frames` (n,): 0 for the nearest.

        That is by how much squared angles to the inputs are more than those of the nearest.
        """
        costs = np.empty(len(frames))
        kernels.clamp.candidate_costs(
            frames, rotations, self.inputs, self.nearest, self.weights, PULL, costs
        )
        return costs

    def jumps(self, path: Quats) -> Ints:
        """Return the frames to which the step from the frame before is over its bound."""
        return np.flatnonzero(angles(path[:-1], path[1:]) > self.bounds[1:] + SLACK) + 1

    def choose(self, path: Quats, frames: Ints, candidates: Quats) -> float:
        """Write the cheapest path through `candidates` (n, 4) of `frames` (n,) and return its cost.

        Frames without candidates stay as they are; others may also stay, or be the nearest.
        """
        if len(frames) == 0:
            return 0.0
        last = len(path) - 1
        free = np.zeros(len(path), dtype=bool)
        free[frames] = True
        inner = np.flatnonzero(free)
        about = np.unique(np.clip(np.concatenate([inner - 1, inner, inner + 1]), 0, last))
        every = np.concatenate([about, inner, frames])
        rotations = np.concatenate([path[about], self.nearest[inner], candidates])
        order = np.argsort(every, kind="stable")
        every, rotations = every[order], np.ascontiguousarray(rotations[order])
        first = np.append(np.searchsorted(every, about), len(every))
        bounds = np.where(np.diff(about, prepend=-2) == 1, self.bounds[about] + SLACK, np.inf)
        costs, chosen = self.costs(every, rotations), np.empty(len(about), np.int64)
        kernels.clamp.cheapest_path(first, rotations, costs, bounds, OVER, chosen)
        path[about] = rotations[chosen]
        return float(costs[chosen].sum())


def bound_steps(problem: Problem) -> Quats:
    """Return the legal path (frames, 4) with bounded steps that is nearest to the inputs.

    Where no legal way is found within the bounds, steps over them remain.
    """
    path = problem.nearest.copy()
    jumps = _run_straight(problem, path)
    for _ in range(ROUTINGS if len(jumps) else 0):
        jumps = _run_around(problem, path, jumps)
        if len(jumps) == 0:
            break
    refine(problem, path)
    return path


def _run_straight(problem: Problem, path: Quats) -> Ints:
    """Remove jumps from the path by straight ways, and return those that are left."""
    jumps = problem.jumps(path)
    for longer in LONGER:
        if len(jumps) == 0:
            break
        problem.choose(path, *_straight_runs(problem, path, jumps, longer))
        jumps = problem.jumps(path)
    return jumps


def _run_around(problem: Problem, path: Quats, jumps: Ints) -> Ints:
    """Remove jumps from the path by ways around, and return those that are left.

    Parts of the region to which there is no way are left out, if no frame is legal there.
    """
    ends = np.concatenate([jumps - 1, jumps])
    roadmap = Roadmap(problem.region, float(problem.bounds[0]), path[ends])
    before, after = roadmap.parts[: len(jumps)], roadmap.parts[len(jumps) : 2 * len(jumps)]
    if (before != after).any():
        _leave_parts(problem, path, jumps, roadmap)
        jumps = _run_straight(problem, path)
    runs = [run for jump in jumps.tolist() for run in _routed_runs(problem, path, jump, roadmap)]
    if runs:
        problem.choose(path, *(np.concatenate(each) for each in zip(*runs, strict=True)))
    return problem.jumps(path)


def _leave_parts(problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap) -> None:
    """Bring the path to parts of the region between which it need not jump, or seldom."""
    last = len(jumps)
    owns = np.append(roadmap.parts[0], roadmap.parts[last : 2 * last])
    parts, cuts = np.unique(owns), np.concatenate([[0], jumps, [len(path)]])
    every = np.arange(len(path))
    near = [roadmap.nearest_in(part, problem.inputs) for part in parts.tolist()]
    others = [problem.region.project(each, every) for each in near]
    costs = np.stack(
        [np.add.reduceat(problem.costs(every, other), cuts[:-1]) for other in others], axis=1
    )
    costs[costs >= MOVED] = 2.0 * OVER  # where frames are legal, rather jump
    costs[parts == owns[:, None]] = 0.0
    for number, part in enumerate(cheapest_parts(costs, OVER).tolist()):
        if parts[part] != owns[number]:
            stretch = slice(cuts[number], cuts[number + 1])
            path[stretch] = others[part][stretch]


@dataclass(frozen=True, eq=False)
class Runs:
    """Ways from the rotation of one frame of a path to that of another, each in its own time.

    They may begin before the first frame and end after the last, as if it stood still there.
    """

    problem: Problem
    path: Quats
    start: Ints
    end: Ints

    @cached_property
    def reach(self) -> Floats:
        """How far steps within the bounds lead from the first frame to each."""
        return np.asarray(np.cumsum(self.problem.bounds) - self.problem.bounds[0])

    def reach_at(self, frames: Ints) -> Floats:
        """Return how far steps lead from the first frame to any, also before it or after all."""
        last, least = len(self.path) - 1, self.problem.bounds[0]
        beyond = np.minimum(frames, 0) + np.maximum(frames - last, 0)
        return np.asarray(self.reach[np.clip(frames, 0, last)] + least * beyond)

    def candidates(self) -> tuple[Ints, Quats]:
        """Return frames (n,) and legal rotations (n, 4): of the runs, those within the bounds."""
        last = len(self.path) - 1
        first, stop = np.maximum(self.start, 0), np.minimum(self.end, last) + 1
        run = np.repeat(np.arange(len(first)), stop - first)
        frames = np.arange(len(run)) - np.repeat(np.cumsum(stop - first) - stop, stop - first)
        begin, room = self.reach_at(self.start), self.reach_at(self.end) - self.reach_at(self.start)
        share = (self.reach_at(frames) - begin[run]) / np.maximum(room[run], 1e-300)
        ends = self.path[np.clip(self.start, 0, last)], self.path[np.clip(self.end, 0, last)]
        found = [self._within(share, run, frames, ends, kind) for kind in (0, 1)]
        kept = np.concatenate([frames[within] for within, _ in found])
        return kept, np.concatenate([rotations[within] for within, rotations in found])

    def _within(
        self, share: Scalars, run: Ints, frames: Ints, ends: tuple[Quats, Quats], kind: int
    ) -> tuple[Mask, Quats]:
        """Return the rotations of the runs, and which are of runs within the bounds."""
        region, wanted, room = self.problem.region, share, np.append(0.0, self.problem.bounds[1:])
        for _ in range(3):
            if kind == 0:
                rotations = region.project(slerp(*ends, run, share), frames)
            else:
                rotations = region.toward(*ends, run, share, frames)
            steps = np.append(0.0, angles(rotations[:-1], rotations[1:]))
            steps[np.diff(run, prepend=-1) != 0] = 0.0
            over = steps > room[frames] + 0.5 * SLACK
            if not over.any():
                break
            share = _even_out(share, wanted, steps, run)
        bad = np.zeros(len(ends[0]), dtype=bool)
        bad[run[over]] = True
        return ~bad[run], rotations


def _even_out(share: Scalars, wanted: Scalars, steps: Scalars, run: Ints) -> Scalars:
    """Return shares with which runs go as far by each frame as `wanted`, judging by their steps."""
    length = np.cumsum(steps)
    first = np.flatnonzero(np.diff(run, prepend=-1))
    last = np.append(first[1:], len(run)) - 1
    whole = np.maximum(length[last] - length[first], 1e-300)[run]
    gone = (length - length[first][run]) / whole
    gone = wanted[first][run] + gone * (wanted[last] - wanted[first])[run]
    # Runs lie side by side on one line, so that one interpolation is enough.
    return np.asarray(np.interp(2.0 * run + wanted, 2.0 * run + gone, share))


def _straight_runs(problem: Problem, path: Quats, jumps: Ints, longer: float) -> tuple[Ints, Quats]:
    """Return candidates that go over from one side of each jump to the other, or skip it.

    They take `longer` than the shortest way between would.
    """
    last, empty = len(path) - 1, np.zeros(0, np.int64)
    runs = Runs(problem, path, empty, empty)
    half = np.zeros(len(jumps), np.int64)
    for k in _lengths(LONGEST_RUN / problem.bounds[0]):
        start, end = jumps - 1 - k, jumps + k
        away = angles(path[np.maximum(start, 0)], path[np.minimum(end, last)])
        enough = longer * away <= runs.reach_at(end) - runs.reach_at(start)
        half = np.where((half == 0) & enough, k, half)
        if half.all():
            break
    half = np.where(half == 0, k, half)
    alone = np.diff(jumps, prepend=-FAR) >= half
    starts: list[Ints] = [jumps - 1 - half]
    ends: list[Ints] = [jumps + half]
    for before, after in SPREADS[1:]:
        starts.append((jumps - 1 - np.ceil(before * half).astype(np.int64))[alone])
        ends.append((jumps + np.ceil(after * half).astype(np.int64))[alone])
    for skipped in (1, 2):
        near = np.flatnonzero(jumps[skipped:] - jumps[:-skipped] <= 4 * half[:-skipped])
        starts.append(jumps[near] - 1)
        ends.append(jumps[near + skipped])
    frames, candidates = Runs(
        problem, path, np.concatenate(starts), np.concatenate(ends)
    ).candidates()
    # Where the clip is about to end, or has just begun, a side may be kept to its end.
    holds = [(np.arange(j), j) for j in jumps[jumps <= 2 * half]]
    holds += [(np.arange(j, last + 1), j - 1) for j in jumps[jumps + 2 * half >= last]]
    for held, at in holds:
        frames = np.concatenate([frames, held])
        still = problem.region.project(np.tile(path[at], (len(held), 1)), held)
        candidates = np.concatenate([candidates, still])
    return frames, candidates


def _lengths(most: float) -> Iterator[int]:
    """Yield numbers from 1 on, each some 20 % greater than the one before."""
    k = 1
    while k <= most:
        yield k
        k = max(k + 1, int(1.2 * k))
    yield k


def _routed_runs(
    problem: Problem, path: Quats, jump: int, roadmap: Roadmap
) -> Iterator[tuple[Ints, Quats]]:
    """Yield candidates that go around what is between the sides of a jump."""
    last = len(path) - 1
    away = angles(path[[jump - 1]], path[[jump]])[0]
    k = int(np.ceil(0.7 * away / problem.bounds[0]))  # a little more than straight
    for _ in range(ROUTES):
        start, end = max(jump - 1 - k, problem.fixed - 1, 0), min(jump + k, last)
        stops = roadmap.route(path[start], path[end])
        if stops is None:
            return
        if len(stops) - 1 <= 2 * k + 1:
            break
        k = int(0.6 * len(stops)) + 1
    else:
        return
    frames = np.arange(start, end + 1)
    for early in (0.0, 0.5, 1.0):
        # Steps that do not fit are left out at the clip's ends.
        spare = max(2 * k + 2 - len(stops), 0)
        at = np.clip(frames - (jump - 1 - k) - int(early * spare), 0, len(stops) - 1)
        yield frames, problem.region.project(stops[at], frames)


def refine(problem: Problem, path: Quats) -> None:
    """Bring the frames that moved nearer to the inputs, by ever new candidates around them."""
    last, moved = len(path) - 1, np.flatnonzero((path != problem.nearest).any(axis=-1))
    for size in SIZES:
        active = moved
        for _ in range(ROUNDS):
            if len(active) == 0:
                break
            frames = np.unique(np.clip(active[:, None] + AROUND, problem.fixed, last))
            before = path[frames]
            problem.choose(path, *_neighbours(problem, path, frames, size))
            shift = angles(before, path[frames])
            active = frames[shift > SETTLED * size * problem.bounds[frames]]
        moved = np.flatnonzero((path != problem.nearest).any(axis=-1))


def _neighbours(problem: Problem, path: Quats, frames: Ints, size: float) -> tuple[Ints, Quats]:
    """Return candidates near to the path, with moves by `size` of a step within the bounds."""
    count = kernels.clamp.NEIGHBOURS
    found, every = np.empty((count * len(frames), 4)), np.tile(frames, count)
    kernels.clamp.neighbours(
        path, problem.inputs, problem.nearest, frames, problem.bounds[frames], size, found
    )
    return every, problem.region.project(found, every)
