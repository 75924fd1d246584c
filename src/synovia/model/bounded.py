"""The legal path with bounded steps that is nearest to a given path.

The result minimises the sum of squared angles to the input over paths p₀, p₁, … of which every
frame is legal and no step is longer than the frame's bound. Where the nearest legal rotations of
the frames satisfy the bound, they are the result. Around longer steps (jumps), dynamic programming
(Viterbi) finds the cheapest path through candidates: transitions from one side of the jump to the
other that start earlier or later, and paths that skip the change. The path is then refined with
candidates around it until it no longer improves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import kernels
from ..arrays import TURN, Floats, Ints, Mask, Quats, Scalars
from .roadmap import PathRegion, Roadmap, angles, cheapest_parts, slerp

FAR = 1 << 40  # frames; earlier than any frame
SLACK = 1e-10  # radians; rounding error of a step that is accepted
OVER, MOVED = 1e9, 1e5  # cost of a step over the bound, and of moving a legal frame
PULL = 0.01  # weight of the squared angle to the nearest legal rotation; that to the input is 1
LONGEST_RUN = 1.5 * TURN  # radians; the longest transition, at the smallest bound
PACES = 3  # iterations that equalise the steps of a transition
STUCK = 0.8  # a longest step that shrinks by less than this factor is a gap
ROUTINGS, ROUTES = 4, 5  # rounds of detours, and durations tried for each
LONGER = (1.0, 1.6)  # durations of straight transitions, relative to the shortest
SPREADS = ((2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5), (1.3, 1.3), (2, 2))
"""Starts before and ends after a jump of further transitions, in units of half their duration."""
SIZES, ROUNDS = (1.0, 0.3, 0.1), 4  # moves of the refinement, in bounds; iterations of each
NO_WAY, TURN_WAY, CHART_WAY = range(3)
AROUND = np.arange(-2, 3)  # offsets of the frames that are refined with a moving one
SETTLED = 0.05  # share of a move below which a frame has converged


@dataclass(frozen=True, eq=False)
class Problem:
    """A path to stay near to, and the constraints on the result."""

    region: PathRegion
    inputs: Quats
    """The input path (frames, 4)."""
    nearest: Quats
    """The nearest legal rotation of each frame (frames, 4)."""
    bounds: Scalars
    """Bound (frames,) of the step to each frame, in radians; the first entry is the smallest."""
    kept: Mask
    """Mask of the legal frames, which move only if the bound requires it."""
    fixed: int = 0
    """Number of frames at the start that never move."""

    @cached_property
    def weights(self) -> Floats:
        """Cost terms (frames, 2): squared angle of the nearest rotation, and cost of a move."""
        moves = np.where(self.kept, MOVED, 0.0)
        moves[: self.fixed] = np.inf
        return np.column_stack([angles(self.inputs, self.nearest) ** 2, moves])

    def costs(self, frames: Ints, rotations: Quats) -> Scalars:
        """Return the costs (n,) of `rotations` (n, 4) in `frames` (n,).

        A cost is the squared angle to the input, less that of the nearest legal rotation.
        """
        costs = np.empty(len(frames))
        kernels.clamp.candidate_costs(
            frames, rotations, self.inputs, self.nearest, self.weights, PULL, costs
        )
        return costs

    def jumps(self, path: Quats) -> Ints:
        """Return the indices of the frames whose step from the previous frame exceeds its bound."""
        return np.flatnonzero(angles(path[:-1], path[1:]) > self.bounds[1:] + SLACK) + 1

    def choose(self, path: Quats, frames: Ints, candidates: Quats) -> float:
        """Write the cheapest path through `candidates` (n, 4) of `frames` (n,) and return its cost.

        The rotation in `path` and the nearest legal one are candidates of these frames too. Frames
        without candidates stay as they are.
        """
        if len(frames) == 0:
            return 0.0
        order, counts = np.argsort(frames, kind="stable"), np.bincount(frames)
        inner = np.flatnonzero(counts)
        return self._choose(path, inner, counts[inner], candidates[order])

    def choose_among(self, path: Quats, frames: Ints, candidates: Quats) -> float:
        """Do as `choose`, for sorted frames (n,) with k candidates each, (n · k, 4)."""
        counts = np.full(len(frames), len(candidates) // max(len(frames), 1))
        return self._choose(path, frames, counts, candidates)

    def _choose(self, path: Quats, inner: Ints, counts: Ints, candidates: Quats) -> float:
        own = np.full(len(path), -1)  # number of candidates of a frame; -1 if it stays
        own[inner] = counts
        beside = own >= 0
        beside[1:] |= own[:-1] >= 0
        beside[:-1] |= own[1:] >= 0
        about = np.flatnonzero(beside)
        first = np.append(0, np.cumsum(own[about] + 2))  # plus the path and the nearest rotation
        every, rotations = np.repeat(about, own[about] + 2), np.empty((first[-1], 4))
        starts, others = first[:-1], np.ones(first[-1], dtype=bool)
        moved = own[about] >= 0
        rotations[starts], rotations[starts[moved] + 1] = path[about], self.nearest[about[moved]]
        others[starts] = others[starts[moved] + 1] = False
        rotations[others] = candidates
        bounds = np.where(np.diff(about, prepend=-2) == 1, self.bounds[about] + SLACK, np.inf)
        costs, chosen = self.costs(every, rotations), np.empty(len(about), np.int64)
        kernels.clamp.cheapest_path(first, rotations, costs, bounds, OVER, chosen)
        path[about] = rotations[chosen]
        return float(costs[chosen].sum())


def bound_steps(problem: Problem) -> Quats:
    """Return the legal path (frames, 4) with bounded steps that is nearest to the inputs.

    Where no such path is found, steps over the bounds remain.
    """
    path = problem.nearest.copy()
    jumps = _run_straight(problem, path)
    if len(jumps):
        roadmap = Roadmap(problem.region, float(problem.bounds[0]))
        for _ in range(ROUTINGS):
            jumps = _run_around(problem, path, jumps, roadmap)
            if len(jumps) == 0:
                break
    refine(problem, path)
    return path


def _run_straight(problem: Problem, path: Quats) -> Ints:
    """Remove jumps from the path by straight transitions; return the remaining jumps."""
    jumps = problem.jumps(path)
    for longer in LONGER:
        if len(jumps) == 0:
            break
        problem.choose(path, *_straight_runs(problem, path, jumps, longer))
        jumps = problem.jumps(path)
    return jumps


def _run_around(problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap) -> Ints:
    """Remove jumps from the path by detours; return the remaining jumps.

    The path leaves parts of the region that cannot be reached, if no frame is legal there.
    """
    before, after = roadmap.add(path[jumps - 1]), roadmap.add(path[jumps])
    frames, candidates, lost = _routed_runs(problem, path, jumps, roadmap)
    if lost:
        _leave_parts(problem, path, jumps, roadmap, np.append(before[0], after))
        jumps = _run_straight(problem, path)
        frames, candidates, _ = _routed_runs(problem, path, jumps, roadmap)
    problem.choose(path, frames, candidates)
    return problem.jumps(path)


def _leave_parts(
    problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap, members: Ints
) -> None:
    """Move stretches of the path to other parts of the region, to reduce jumps between parts.

    `members` are the indices of the roadmap's members at the start and after each jump.
    """
    every_part = roadmap.parts()
    owns, cuts = every_part[members], np.concatenate([[0], jumps, [len(path)]])
    parts, every = np.unique(owns), np.arange(len(path))
    near = [
        roadmap.nearest_to(problem.inputs, roadmap.members[every_part == part]) for part in parts
    ]
    others = [problem.region.project(each, every) for each in near]
    costs = np.stack(
        [np.add.reduceat(problem.costs(every, other), cuts[:-1]) for other in others], axis=1
    )
    costs[costs >= MOVED] = 2.0 * OVER  # legal frames stay, even if the path jumps
    costs[parts == owns[:, None]] = 0.0
    for number, part in enumerate(cheapest_parts(costs, OVER).tolist()):
        if parts[part] != owns[number]:
            stretch = slice(cuts[number], cuts[number + 1])
            path[stretch] = others[part][stretch]


@dataclass(frozen=True, eq=False)
class Runs:
    """Transitions of a path from frames `start` (runs,) to frames `end` (runs,).

    They may start before the first frame and end after the last, where the path stands still.
    """

    problem: Problem
    path: Quats
    start: Ints
    end: Ints
    by_chart: Mask
    """Mask of the transitions that may be straight in the chart if the rotation fails."""

    @cached_property
    def reach(self) -> Floats:
        """Largest angle (frames,) that steps within the bounds cover from the first frame on."""
        return np.asarray(np.cumsum(self.problem.bounds) - self.problem.bounds[0])

    def reach_at(self, frames: Ints) -> Floats:
        """Return `reach` at any frames, also before the first and after the last."""
        last, least = len(self.path) - 1, self.problem.bounds[0]
        beyond = np.minimum(frames, 0) + np.maximum(frames - last, 0)
        return np.asarray(self.reach[np.clip(frames, 0, last)] + least * beyond)

    def candidates(self) -> tuple[Ints, Quats, Ints]:
        """Return frames (n,) and legal rotations (n, 4) of the transitions within the bounds.

        The third value (runs,) says how each goes: `TURN_WAY` (shortest rotation), `CHART_WAY`
        (straight in the chart) or, out of bounds, `NO_WAY`.
        """
        last = len(self.path) - 1
        first, stop = np.maximum(self.start, 0), np.minimum(self.end, last) + 1
        run = np.repeat(np.arange(len(first)), stop - first)
        frames = np.arange(len(run)) - np.repeat(np.cumsum(stop - first) - stop, stop - first)
        begin, room = self.reach_at(self.start), self.reach_at(self.end) - self.reach_at(self.start)
        share = (self.reach_at(frames) - begin[run]) / np.maximum(room[run], 1e-300)
        ends = self.path[np.clip(self.start, 0, last)], self.path[np.clip(self.end, 0, last)]
        rotations = np.empty((len(run), 4))
        ways, left = np.full(len(first), NO_WAY), np.ones(len(first), dtype=bool)
        for way in (TURN_WAY, CHART_WAY):
            over = self._go(share, run, frames, ends, way, left, rotations)
            ways[left & ~over] = way
            left = over & self.by_chart
        within = ways[run] != NO_WAY
        return frames[within], rotations[within], ways

    def _go(
        self,
        wanted: Scalars,
        run: Ints,
        frames: Ints,
        ends: tuple[Quats, Quats],
        way: int,
        left: Mask,
        rotations: Quats,
    ) -> Mask:
        """Write the rotations of the runs in `left`; return a mask of those out of bounds."""
        region, share = self.problem.region, wanted.copy()
        room = np.append(0.0, self.problem.bounds[1:]) + 0.5 * SLACK
        over, going, longest = left.copy(), left, np.full(len(left), np.inf)
        ways = region.ways(ends[0][left], ends[1][left]) if way == CHART_WAY else None
        number = np.cumsum(left) - 1  # index among those in `left`
        for _ in range(PACES):
            rows = np.flatnonzero(going[run])
            if len(rows) == 0:
                break
            own, at = run[rows], frames[rows]
            if ways is None:
                found = region.project(slerp(*ends, own, share[rows]), at)
            else:
                found = ways(number[own], share[rows], at)
            rotations[rows] = found
            steps = np.append(0.0, angles(found[:-1], found[1:]))
            steps[np.diff(own, prepend=-1) != 0] = 0.0
            over[going] = False
            over[own[steps > room[at]]] = True
            before, longest = longest, np.zeros(len(left))
            np.maximum.at(longest, own, steps)
            going = going & over & (longest <= STUCK * before)  # otherwise there is a gap
            share[rows] = _even_out(share[rows], wanted[rows], steps, own)
        return over


def _even_out(share: Scalars, wanted: Scalars, steps: Scalars, run: Ints) -> Scalars:
    """Return shares for which the arc lengths of the runs, estimated by `steps`, are `wanted`."""
    length = np.cumsum(steps)
    begins = np.diff(run, prepend=-1) != 0
    first, run = np.flatnonzero(begins), np.cumsum(begins) - 1
    last = np.append(first[1:], len(run)) - 1
    whole = np.maximum(length[last] - length[first], 1e-300)[run]
    gone = (length - length[first][run]) / whole
    gone = wanted[first][run] + gone * (wanted[last] - wanted[first])[run]
    # Offsets of 2 separate the runs, so that one interpolation suffices.
    return np.asarray(np.interp(2.0 * run + wanted, 2.0 * run + gone, share))


def _straight_runs(problem: Problem, path: Quats, jumps: Ints, longer: float) -> tuple[Ints, Quats]:
    """Return frames and candidates of transitions across each jump, and of paths that skip it.

    Their duration is `longer` times the shortest possible one.
    """
    last, empty = len(path) - 1, np.zeros(0, np.int64)
    runs = Runs(problem, path, empty, empty, empty == 0)
    half = np.zeros(len(jumps), np.int64)
    for k in lengths(LONGEST_RUN / problem.bounds[0]):
        start, end = jumps - 1 - k, jumps + k
        away = angles(path[np.maximum(start, 0)], path[np.minimum(end, last)])
        enough = longer * away <= runs.reach_at(end) - runs.reach_at(start)
        half = np.where((half == 0) & enough, k, half)
        if half.all():
            break
    half = np.where(half == 0, k, half)
    every = np.ones(len(jumps), dtype=bool)
    frames, candidates, ways = Runs(
        problem, path, jumps - 1 - half, jumps + half, every
    ).candidates()
    alone = (ways != NO_WAY) & (np.diff(jumps, prepend=-FAR) >= half)
    by_chart = [(ways == CHART_WAY)[alone]] * len(SPREADS)
    starts: list[Ints] = []
    ends: list[Ints] = []
    for before, after in SPREADS:
        starts.append((jumps - 1 - np.ceil(before * half).astype(np.int64))[alone])
        ends.append((jumps + np.ceil(after * half).astype(np.int64))[alone])
    for skipped in (1, 2):
        near = np.flatnonzero(jumps[skipped:] - jumps[:-skipped] <= 4 * half[:-skipped])
        starts.append(jumps[near] - 1)
        ends.append(jumps[near + skipped])
        by_chart.append((ways == CHART_WAY)[near])
    more = Runs(
        problem, path, *(np.concatenate(each) for each in (starts, ends, by_chart))
    ).candidates()
    frames, candidates = np.append(frames, more[0]), np.concatenate([candidates, more[1]])
    # Near the ends of the clip, one side may be kept throughout.
    holds = [(np.arange(j), j) for j in jumps[jumps <= 2 * half]]
    holds += [(np.arange(j, last + 1), j - 1) for j in jumps[jumps + 2 * half >= last]]
    for held, at in holds:
        frames = np.concatenate([frames, held])
        still = problem.region.project(np.tile(path[at], (len(held), 1)), held)
        candidates = np.concatenate([candidates, still])
    return frames, candidates


def lengths(most: float) -> Iterator[int]:
    """Yield increasing integers from 1 up to at least `most`, each about 20 % larger."""
    k = 1
    while k <= most:
        yield k
        k = max(k + 1, int(1.2 * k))
    yield k


def _routed_runs(
    problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap
) -> tuple[Ints, Quats, bool]:
    """Return frames and candidates of detours around what separates the sides of jumps.

    The third value is True if some sides are not connected.
    """
    last, lost = len(path) - 1, False
    frames: list[Ints] = []
    wanted: list[Quats] = []
    away = angles(path[jumps - 1], path[jumps])
    half = np.ceil(0.7 * away / problem.bounds[0]).astype(np.int64)  # slightly longer than straight
    for _ in range(ROUTES):
        if len(jumps) == 0:
            break
        start = np.maximum(np.maximum(jumps - 1 - half, problem.fixed - 1), 0)
        end = np.minimum(jumps + half, last)
        routes = roadmap.routes(path[start], path[end])
        count = np.array([len(stops) for stops in routes])
        lost |= bool((count == 0).any())
        for k in np.flatnonzero((count > 0) & (count - 1 <= 2 * half + 1)).tolist():
            at = np.arange(start[k], end[k] + 1)
            for early in (0.0, 0.5, 1.0):
                # At the ends of the clip, steps that do not fit are dropped.
                spare = max(2 * half[k] + 2 - count[k], 0)
                stop = np.clip(at - (jumps[k] - 1 - half[k]) - int(early * spare), 0, count[k] - 1)
                frames.append(at)
                wanted.append(routes[k][stop])
        longer = count - 1 > 2 * half + 1
        jumps, half = jumps[longer], (0.6 * count[longer]).astype(np.int64) + 1
    if not frames:
        return np.zeros(0, np.int64), np.zeros((0, 4)), lost
    every = np.concatenate(frames)
    return every, problem.region.project(np.concatenate(wanted), every), lost


def refine(problem: Problem, path: Quats) -> None:
    """Move the changed frames nearer to the inputs, with new candidates around the path."""
    last, moved = len(path) - 1, np.flatnonzero((path != problem.nearest).any(axis=-1))
    for size in SIZES:
        active = moved
        for _ in range(ROUNDS):
            if len(active) == 0:
                break
            near = np.zeros(len(path), dtype=bool)
            near[np.clip(active[:, None] + AROUND, problem.fixed, last)] = True
            frames = np.flatnonzero(near)
            before = path[frames]
            problem.choose_among(path, frames, _neighbours(problem, path, frames, size))
            shift = angles(before, path[frames])
            active = frames[shift > SETTLED * size * problem.bounds[frames]]
        moved = np.flatnonzero((path != problem.nearest).any(axis=-1))


def _neighbours(problem: Problem, path: Quats, frames: Ints, size: float) -> Quats:
    """Return candidates near the path, at `size` times the bound."""
    count = kernels.clamp.NEIGHBOURS
    found = np.empty((count * len(frames), 4))
    kernels.clamp.neighbours(
        path, problem.inputs, problem.nearest, frames, problem.bounds[frames], size, found
    )
    return problem.region.project(found, np.repeat(frames, count))
