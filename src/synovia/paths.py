"""Limits along paths in time: clamp a clip without pops, and find where a turn leaves the limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import kernels, quat
from .arrays import TOLERANCE, Ints, Mask, Points, Quats, Scalars, tolerance, unit_quats
from .limit import Limit
from .softening import Softening

TRANSITION = 0.25
"""Seconds over which a path goes to the other side of its limit, where it has to."""
EDGE = 0.5 * TOLERANCE  # so that what is found is a member, rounding or not
BENT = 1e-3  # radians; a step that bends more than this off its chord is halved
LONGEST = 0.1  # radians; the first step that `first_exit` tries
SWITCH, CHANGED = 1e9, 1e12  # first no legal frame changes, then few switches, then the least moves


def project_path(
    limit: Limit,
    rotations: Quats,
    frame_time: float,
    *,
    softening: Softening | None = None,
    transition: float = TRANSITION,
) -> Quats:
    """Return legal rotations (frames, 4) for a path in time, near to it and free of pops.

    Legal frames come back as they are. The nearest legal rotation of each frame by itself would
    jump where another side of the limit becomes nearer; here a path keeps to the cover by which
    it enters and leaves the limit, so in the chart no step grows. Where it leaves by one side and
    comes back by another, the change of sides is spread over `transition` seconds.
    """
    rotations = unit_quats("rotations", rotations)
    if not 0.0 <= transition < np.inf:
        raise ValueError(f"transition must be at least 0 seconds and finite, got {transition}")
    if len(rotations) == 0 or (softening is None and limit.contains(rotations).all()):
        return rotations.copy()
    covers = np.stack(limit.covers(rotations))
    distances = np.stack([limit.shape.distance(points) for points in covers])
    legal = np.asarray(distances <= tolerance(rotations.dtype))
    costs = np.maximum(distances, 0.0) + CHANGED * (legal.any(axis=0) & ~legal)
    chosen = np.empty(len(rotations), dtype=np.int64)
    kernels.paths.cheapest_covers(covers, costs, SWITCH, chosen)

    points = covers[chosen, np.arange(len(chosen))]
    held = legal[chosen, np.arange(len(chosen))]
    projected = _clamped(limit, points, softening)
    for first, at, last in _transitions(points, held, round(0.5 * transition / frame_time)):
        ahead = _followed(points[at - 1], covers[:, at:last])
        back = _followed(points[at], covers[:, first:at][:, ::-1])[::-1]
        one = _clamped(limit, np.concatenate([points[first:at], ahead]), softening)
        other = _clamped(limit, np.concatenate([back, points[at:last]]), softening)
        share = np.arange(1, last - first + 1) / (last - first + 1)
        between = limit.shape.toward(one, other, share * share * (3.0 - 2.0 * share))
        # Between members of a convex shape is a member; others may have to be projected again.
        projected[first:last] = between if softening else limit.shape.project(between)

    unchanged = (projected == points).all(axis=-1) & held
    out = limit.chart.rotations(projected)
    out *= np.where(np.sum(out * rotations, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    return np.where(unchanged[:, None], rotations, out).astype(rotations.dtype)


def _clamped(limit: Limit, points: Points, softening: Softening | None) -> Points:
    if softening is None:
        return limit.shape.project(points)
    return softening.soften(limit.shape, points)


def _followed(point: Points, covers: Points) -> Points:
    """Return the path through `covers` (covers, frames, 3) that stays nearest to itself."""
    path = np.empty(covers.shape[1:])
    for frame in range(len(path)):
        candidates = covers[:, frame]
        point = candidates[np.linalg.norm(candidates - point, axis=-1).argmin()]
        path[frame] = point
    return path


def _transitions(points: Points, held: Mask, half: int) -> list[tuple[int, int, int]]:
    """Return the frames (first, change, last + 1) over which to change sides, none of them legal.

    Sides are changed where a step in the chart is more than π; `half` frames before and after
    take part, as far as the limit is not met and the next change leaves room.
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=-1)
    switches: Ints = np.flatnonzero(steps > np.pi) + 1
    spans = []
    for number, at in enumerate(switches.tolist()):
        before, after = held[:at], held[at:]
        first = max(at - half, at - int(np.argmax(before[::-1])) if before.any() else 0)
        last = min(at + half, at + int(np.argmax(after)) if after.any() else len(points))
        if number > 0:
            first = max(first, (int(switches[number - 1]) + at) // 2)
        if number + 1 < len(switches):
            last = min(last, (at + int(switches[number + 1])) // 2)
        if first < last:
            spans.append((first, at, last))
    return spans


def first_exit(limit: Limit, previous: Quats, proposed: Quats) -> Scalars:
    """Return the largest t in [0, 1] with the turn from previous to proposed legal before it.

    The turn is the shortest one; 0 where `previous` is not legal. Nothing is skipped: between two
    members of a convex region their chord is legal, as deep as the shallower of them, and a step
    is taken only where the path bends less than that depth away from its chord, else in chords
    that bend less than the tolerance. Steps that leave the limit are halved until the rest is
    straight; there the boundary is found.
    """
    start, end = np.broadcast_arrays(
        unit_quats("previous", previous), unit_quats("proposed", proposed)
    )
    shape = start.shape[:-1]
    start, end = start.reshape(-1, 4).astype(np.float64), end.reshape(-1, 4).astype(np.float64)
    angle = np.maximum(quat.angle_between(start, end), 1e-300)
    reached, blocked = np.zeros(len(start)), np.full(len(start), np.inf)
    step = np.full(len(start), LONGEST)
    rows = np.flatnonzero(limit.contains(start))
    while len(rows):
        turn = Turn(limit, start[rows], end[rows])
        behind = reached[rows]
        here = limit.nearest_cover(turn.at(behind))
        stretch = limit.chart.stretch(here)
        shortest = np.sqrt(8.0 * EDGE) / (2.0 * stretch * angle[rows])
        length = np.clip(step[rows] / angle[rows], shortest, 0.25 / (stretch * angle[rows]))
        ahead = np.minimum(np.minimum(behind + length, 0.5 * (behind + blocked[rows])), 1.0)
        middle, there = turn.beside(here, 0.5 * (behind + ahead)), turn.beside(here, ahead)
        bend = np.linalg.norm(middle - 0.5 * (here + there), axis=-1)
        shallower = np.maximum(limit.shape.distance(here), limit.shape.distance(there))
        legal = shallower <= EDGE
        # The bend at the middle is nearly the largest: half as much again is safe.
        straight = (1.5 * bend + shallower <= EDGE) | (ahead - behind <= shortest)
        passed = legal & straight
        reached[rows[passed]] = ahead[passed]
        blocked[rows[~legal]] = ahead[~legal]
        for k in np.flatnonzero(legal & ~straight & (bend <= BENT)):
            # As many chords as it takes for none to bend more than the edge.
            chords = int(np.ceil(np.sqrt(1.5 * bend[k] / EDGE)))
            stops = np.linspace(behind[k], ahead[k], chords + 1)
            on = limit.distance(quat.slerp(start[rows[k]], end[rows[k]], stops)) <= EDGE
            first = len(on) if on.all() else max(int(on.argmin()), 1)
            reached[rows[k]], passed[k] = stops[first - 1], first == len(on)
            blocked[rows[k]] = blocked[rows[k]] if passed[k] else stops[first]
        step[rows] *= np.where(passed, 2.0, 0.5)
        open_ = (reached[rows] < 1.0) & (blocked[rows] - reached[rows] > shortest)
        rows = rows[open_]
    stopped = np.flatnonzero(np.isfinite(blocked))
    turn = Turn(limit, start[stopped], end[stopped])
    reached[stopped] = turn.boundary(reached[stopped], blocked[stopped])
    return reached.reshape(shape)


@dataclass(frozen=True, eq=False)
class Turn:
    """The shortest turns from `start` to `end`, seen through a limit's chart."""

    limit: Limit
    start: Quats
    end: Quats

    def at(self, t: Scalars) -> Quats:
        """Return the rotations a share `t` of the way."""
        return quat.slerp(self.start, self.end, t)

    def beside(self, points: Points, t: Scalars) -> Points:
        """Return the points a share `t` of the way, in the cover nearest to `points`."""
        covers = np.stack(self.limit.covers(self.at(t)))
        nearest = np.linalg.norm(covers - points, axis=-1).argmin(axis=0)
        return np.asarray(np.take_along_axis(covers, nearest[None, :, None], axis=0)[0])

    def boundary(self, legal: Scalars, illegal: Scalars) -> Scalars:
        """Return where short, hence straight, stretches from legal to illegal leave the limit."""
        points = self.limit.nearest_cover(self.at(legal))
        for _ in range(40):
            middle = 0.5 * (legal + illegal)
            inside = self.limit.shape.distance(self.beside(points, middle)) <= EDGE
            legal = np.where(inside, middle, legal)
            illegal = np.where(inside, illegal, middle)
        return legal
