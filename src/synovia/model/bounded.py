"""The legal path with bounded steps that is nearest to a given path, for one joint or several.

The result minimises the sum of squared angles to the input over paths p₀, p₁, … of which every
frame is legal and no step of a joint is longer than its bound in that frame. Where the nearest
legal rotations of the frames satisfy the bounds, they are the result. Around longer steps (jumps),
dynamic programming (Viterbi) finds the cheapest path through candidates: transitions from one side
of the jump to the other that start earlier or later, and paths that skip the change. If projections
are cheap, the path may also take detours, and is refined with candidates around it until it no
longer improves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..arrays import TURN, Floats, Ints, Mask, Quats, Scalars
from .roadmap import Roadmap, angles, cheapest_columns

if TYPE_CHECKING:
    from .constraint import Constraint

FAR = 1 << 40  # frames; earlier than any frame
SLACK = 1e-10  # radians; rounding error of a step that is accepted
OVER, MOVED = 1e9, 1e5  # cost of a step over the bound, and of moving a legal frame
PULL = 0.01  # weight of the squared angle to the nearest legal rotation; that to the input is 1
LONGEST_RUN = 1.5 * TURN  # radians; the longest transition, at the smallest bound
PACES = 4  # iterations that equalise the steps of a transition
STUCK = 0.8  # a longest step that shrinks by less than this factor is a gap
ROUTINGS, ROUTES = 4, 5  # rounds of detours, and durations tried for each
LONGER = (1.0, 1.6)  # durations of transitions, relative to the shortest
LONGEST = (2.0, 2.8, 4.0)  # the same, where no detour helps
SPREADS = np.array([(2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5), (1.3, 1.3), (2, 2)])
"""Starts before and ends after a jump of further transitions, in units of half their duration."""
SIZES, ROUNDS = (1.0, 0.3, 0.1), 4  # moves of the refinement, in bounds; iterations of each
AROUND = np.arange(-2, 3)  # offsets of the frames that are refined with a moving one
SETTLED = 0.05  # share of a move below which a frame has converged

Ways = Callable[[Ints, Scalars], Quats]
"""Returns rotations (n, k, 4) of transitions, given their indices and shares of the way (n,)."""


def step_ratios(start: Quats, end: Quats, bounds: Floats) -> Scalars:
    """Return the largest ratio (n,) of a joint's step to its bound, of steps (n, k, 4).

    Bounds (n, k) are in radians. More than 1 is too long.
    """
    steps = angles(start.reshape(-1, 4), end.reshape(-1, 4)).reshape(bounds.shape)
    return np.asarray((steps / (bounds + SLACK)).max(axis=1, initial=0.0))


@dataclass(frozen=True, eq=False)
class Problem:
    """A path to stay near to, and the constraints on the result."""

    region: Constraint
    """The legal rotations of k joints."""
    project: Callable[[Quats], Quats]
    """Returns the nearest legal rotations to (n, k, 4)."""
    inputs: Quats
    """The input path (frames, k, 4)."""
    nearest: Quats
    """The nearest legal rotations of each frame (frames, k, 4)."""
    bounds: Floats
    """Bounds (frames, k) of the steps to each frame, in radians; the first are the smallest."""
    kept: Mask
    """Mask of the legal frames, which move only if the bound requires it."""
    fixed: int = 0
    """Number of frames at the start that never move."""

    @cached_property
    def terms(self) -> Floats:
        """Cost terms (frames, 2): squared angle of the nearest rotations, and cost of a move."""
        frames, joints, _ = self.inputs.shape
        away = angles(self.inputs.reshape(-1, 4), self.nearest.reshape(-1, 4)) ** 2
        moves = np.where(self.kept, MOVED, 0.0)
        moves[: self.fixed] = np.inf
        return np.column_stack([away.reshape(frames, joints) @ self.region.path_weights, moves])

    def costs(self, frames: Ints, rotations: Quats) -> Scalars:
        """Return the costs (n,) of `rotations` (n, k, 4) in `frames` (n,).

        A cost is the squared angle to the input, less that of the nearest legal rotations.
        """
        costs = np.empty(len(frames))
        kernels.clamp.candidate_costs(
            frames,
            flat(rotations),
            flat(self.inputs),
            flat(self.nearest),
            self.region.path_weights,
            self.terms,
            PULL,
            costs,
        )
        return costs

    def jumps(self, path: Quats) -> Ints:
        """Return the indices of the frames to which a step of a joint exceeds its bound."""
        return np.flatnonzero(step_ratios(path[:-1], path[1:], self.bounds[1:]) > 1.0) + 1

    def choose(self, path: Quats, frames: Ints, candidates: Quats) -> None:
        """Set the path to the cheapest one through `candidates` (n, k, 4) of `frames` (n,).

        The rotations in `path` and the nearest legal ones are candidates of these frames too.
        Frames without candidates stay as they are.
        """
        if len(frames) == 0:
            return
        order, counts = np.argsort(frames, kind="stable"), np.full(len(path), -1)
        inner, own_counts = np.unique(frames, return_counts=True)
        counts[inner] = own_counts  # -1 where a frame stays
        moved = counts >= 0
        about = np.flatnonzero(moved | np.append(moved[1:], False) | np.append(False, moved[:-1]))
        first = np.append(0, np.cumsum(counts[about] + 2))  # plus the path and the nearest
        every, rotations = (
            np.repeat(about, counts[about] + 2),
            np.empty((first[-1], *path[0].shape)),
        )
        starts, others = first[:-1], np.ones(first[-1], dtype=bool)
        second = starts[moved[about]] + 1
        rotations[starts], rotations[second] = path[about], self.nearest[inner]
        others[starts] = others[second] = False
        rotations[others] = candidates[order]
        apart = np.diff(about, prepend=-2) != 1
        bounds = np.where(apart[:, None], np.inf, self.bounds[about] + SLACK)
        costs, chosen = self.costs(every, rotations), np.empty(len(about), np.int64)
        kernels.clamp.cheapest_path(first, flat(rotations), costs, bounds, OVER, chosen)
        path[about] = rotations[chosen]


def flat(rotations: Quats) -> Floats:
    """Return rotations (n, k, 4) as rows (n, 4 k) for kernels."""
    return np.ascontiguousarray(rotations).reshape(len(rotations), -1)


def bound_steps(problem: Problem) -> Quats:
    """Return the legal path (frames, k, 4) with bounded steps that is nearest to the inputs.

    Where no such path is found, steps over the bounds remain.
    """
    path = problem.nearest.copy()
    jumps = _run_straight(problem, path, LONGER)
    waypoints = problem.region.waypoints() if len(jumps) and not problem.fixed else path[:0, 0]
    if len(waypoints):
        roadmap = Roadmap(waypoints, problem.project, float(problem.bounds[0, 0]))
        for _ in range(ROUTINGS):
            jumps = _run_around(problem, path, jumps, roadmap)
            if len(jumps) == 0:
                break
    if len(jumps) and not problem.fixed:
        _run_straight(problem, path, LONGEST)
    if problem.region.is_fast or problem.fixed:
        _refine(problem, path)
    return path


def _run_straight(problem: Problem, path: Quats, durations: Sequence[float]) -> Ints:
    """Remove jumps from the path by straight transitions; return the remaining jumps."""
    jumps = problem.jumps(path)
    for longer in durations:
        if len(jumps) == 0:
            break
        parts = [_straight_runs(problem, path, jumps, longer)]
        if longer == LONGER[0]:
            parts += [part for jump in jumps for part in _branches(problem, path, int(jump))]
        frames, candidates = (np.concatenate(each) for each in zip(*parts, strict=True))
        problem.choose(path, frames, candidates)
        jumps = problem.jumps(path)
    return jumps


def _branches(problem: Problem, path: Quats, jump: int) -> Iterator[tuple[Ints, Quats]]:
    """Yield the side before a jump continued forwards, and that after it backwards.

    A branch ends where it meets the path, or after as many frames as the longest transition takes.
    """
    most = int(np.ceil(LONGEST_RUN / problem.bounds[0].min()))
    ahead, back = np.arange(jump, len(path))[:most], np.arange(problem.fixed, jump)[::-1][:most]
    for start, frames in ((jump - 1, ahead), (jump, back)):
        legal = problem.region.branch(problem.inputs[frames], path[start], path[frames])
        yield frames[: len(legal)], legal


def _run_around(problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap) -> Ints:
    """Remove jumps from the path by detours; return the remaining jumps.

    The path leaves parts of the region that cannot be reached, if no frame is legal there.
    """
    before, after = roadmap.add(path[jumps - 1, 0]), roadmap.add(path[jumps, 0])
    frames, candidates, lost = _routed_runs(problem, path, jumps, roadmap)
    if lost:
        _leave_parts(problem, path, jumps, roadmap, np.append(before[0], after))
        jumps = _run_straight(problem, path, LONGER)
        frames, candidates, _ = _routed_runs(problem, path, jumps, roadmap)
    problem.choose(path, frames, candidates)
    return problem.jumps(path)


def _leave_parts(
    problem: Problem, path: Quats, jumps: Ints, roadmap: Roadmap, members: Ints
) -> None:
    """Move stretches of the path to other parts of the region, to reduce jumps between parts.

    `members` are the indices of the roadmap's members at the start and after each jump.
    """
    part_of = roadmap.parts()
    owns, cuts = part_of[members], np.concatenate([[0], jumps, [len(path)]])
    parts, frames = np.unique(owns), np.arange(len(path))
    inputs = problem.inputs[:, 0]
    near = [roadmap.nearest_to(inputs, roadmap.members[part_of == part]) for part in parts]
    others = [problem.project(each[:, None]) for each in near]
    costs = np.stack(
        [np.add.reduceat(problem.costs(frames, other), cuts[:-1]) for other in others], axis=1
    )
    costs[costs >= MOVED] = 2.0 * OVER  # legal frames stay, even if the path jumps
    costs[parts == owns[:, None]] = 0.0
    switches = OVER * (1.0 - np.eye(len(parts)))
    for number, part in enumerate(cheapest_columns(costs, lambda _: switches).tolist()):
        if parts[part] != owns[number]:
            stretch = slice(cuts[number], cuts[number + 1])
            path[stretch] = others[part][stretch]


def reach_at(problem: Problem, frames: Ints) -> Floats:
    """Return the largest angles (n, k) that steps within the bounds cover from the first frame on.

    `frames` (n,) may be before the first one and after the last, where bounds are the smallest.
    """
    last, least = len(problem.bounds) - 1, problem.bounds[0]
    beyond = np.minimum(frames, 0) + np.maximum(frames - last, 0)
    reach = np.cumsum(problem.bounds, axis=0) - least
    return np.asarray(reach[np.clip(frames, 0, last)] + least * beyond[:, None])


def _runs(problem: Problem, path: Quats, start: Ints, end: Ints) -> tuple[Ints, Quats, Mask]:
    """Return frames (n,) and legal rotations (n, k, 4) of transitions with bounded steps.

    Transitions go from frames `start` (runs,) to frames `end` (runs,) of the path. They may start
    before the first frame and end after the last, where the path stands still. The third value is a
    mask (runs,) of those within the bounds; others are left out.
    """
    last = len(path) - 1
    first, stop = np.maximum(start, 0), np.minimum(end, last) + 1
    run = np.repeat(np.arange(len(first)), stop - first)
    frames = np.arange(len(run)) - np.repeat(np.cumsum(stop - first) - stop, stop - first)
    reach, begin, stop = (reach_at(problem, each).mean(axis=1) for each in (frames, start, end))
    wanted = (reach - begin[run]) / np.maximum(stop - begin, 1e-300)[run]
    over, rotations = np.ones(len(first), dtype=bool), np.empty((len(run), *path[0].shape))
    ends = path[np.clip(start, 0, last)], path[np.clip(end, 0, last)]
    for ways in problem.region.between(*ends):
        if not over.any():
            break
        share, going, longest = wanted.copy(), over.copy(), np.full(len(first), np.inf)
        for _ in range(PACES):
            rows = np.flatnonzero(going[run])
            if len(rows) == 0:
                break
            own, bounds = run[rows], problem.bounds[frames[rows]]
            found = rotations[rows] = ways(own, share[rows])
            ratios = np.append(0.0, step_ratios(found[:-1], found[1:], bounds[1:]))
            ratios[np.diff(own, prepend=-1) != 0] = 0.0
            before, longest = longest, np.zeros(len(first))
            np.maximum.at(longest, own, ratios)
            over[going] = longest[going] > 1.0
            going &= over & (longest <= STUCK * before)  # otherwise there is a gap
            steps = ratios * bounds.mean(axis=1)
            share[rows] = _even_out(share[rows], wanted[rows], steps, own)
    within = ~over[run]
    return frames[within], problem.project(rotations[within]), ~over


def _even_out(share: Scalars, wanted: Scalars, steps: Scalars, run: Ints) -> Scalars:
    """Return shares for which the lengths of the runs, estimated by `steps`, are `wanted`."""
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
    last, half = len(path) - 1, np.zeros(len(jumps), np.int64)
    for k in lengths(LONGEST_RUN / problem.bounds[0].min()):
        start, end = jumps - 1 - k, jumps + k
        ends = path[np.maximum(start, 0)], path[np.minimum(end, last)]
        room = (reach_at(problem, end) - reach_at(problem, start)) / longer
        half = np.where((half == 0) & (step_ratios(*ends, room) <= 1.0), k, half)
        if half.all():
            break
    half = np.where(half == 0, k, half)
    frames, candidates, within = _runs(problem, path, jumps - 1 - half, jumps + half)
    alone = within & (np.diff(jumps, prepend=-FAR) >= half)
    before, after = np.ceil(SPREADS.T[..., None] * half[alone]).astype(np.int64)
    starts, stops = [(jumps[alone] - 1 - before).ravel()], [(jumps[alone] + after).ravel()]
    for skipped in (1, 2):
        near = np.flatnonzero(jumps[skipped:] - jumps[:-skipped] <= 4 * half[:-skipped])
        starts.append(jumps[near] - 1)
        stops.append(jumps[near + skipped])
    more = _runs(problem, path, np.concatenate(starts), np.concatenate(stops))
    frames, candidates = np.append(frames, more[0]), np.concatenate([candidates, more[1]])
    # Near the ends of the clip, one side may be kept throughout.
    holds = [(np.arange(j), j) for j in jumps[jumps <= 2 * half]]
    holds += [(np.arange(j, last + 1), j - 1) for j in jumps[jumps + 2 * half >= last]]
    for held, at in holds:
        frames = np.concatenate([frames, held])
        candidates = np.concatenate([candidates, np.tile(path[at], (len(held), 1, 1))])
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
    last, lost, least = len(path) - 1, False, problem.bounds[0, 0]
    frames: list[Ints] = [np.zeros(0, np.int64)]
    wanted: list[Quats] = [np.zeros((0, 4))]
    away = angles(path[jumps - 1, 0], path[jumps, 0])
    half = np.ceil(0.7 * away / least).astype(np.int64)  # slightly longer than straight
    for _ in range(ROUTES):
        if len(jumps) == 0:
            break
        start = np.maximum(np.maximum(jumps - 1 - half, problem.fixed - 1), 0)
        end = np.minimum(jumps + half, last)
        routes = roadmap.routes(path[start, 0], path[end, 0])
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
    return np.concatenate(frames), np.concatenate(wanted)[:, None], lost


def _refine(problem: Problem, path: Quats) -> None:
    """Move the changed frames nearer to the inputs, with new candidates around the path."""
    last, moved = len(path) - 1, np.flatnonzero((path != problem.nearest).any(axis=(1, 2)))
    for size in SIZES:
        active = moved
        for _ in range(ROUNDS if problem.region.is_fast else 1):
            if len(active) == 0:
                break
            near = np.zeros(len(path), dtype=bool)
            near[np.clip(active[:, None] + AROUND, problem.fixed, last)] = True
            frames = np.flatnonzero(near)
            before = path[frames]
            candidates = _neighbours(problem, path, frames, size)
            problem.choose(path, np.repeat(frames, kernels.clamp.NEIGHBOURS), candidates)
            shift = step_ratios(before, path[frames], problem.bounds[frames])
            active = frames[shift > SETTLED * size]
        moved = np.flatnonzero((path != problem.nearest).any(axis=(1, 2)))


def _neighbours(problem: Problem, path: Quats, frames: Ints, size: float) -> Quats:
    """Return legal candidates near the path, at `size` times the bound."""
    found = np.empty((kernels.clamp.NEIGHBOURS * len(frames), *path[0].shape))
    given = (flat(each) for each in (path, problem.inputs, problem.nearest))
    kernels.clamp.neighbours(*given, frames, problem.bounds[frames], size, flat(found))
    return problem.project(found)
