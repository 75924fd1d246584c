"""Limits along paths in time: clamp a clip without pops, and find where a turn leaves the limit."""

from __future__ import annotations

import numpy as np

from . import kernels, quat
from .arrays import TOLERANCE, Ints, Mask, Points, Quats, Scalars, tolerance, unit_quats
from .limit import Limit
from .softening import Softening

TRANSITION = 0.25
"""Seconds over which a path goes to the other side of its limit, where it has to."""
EDGE = 0.5 * TOLERANCE  # so that what is found is a member, rounding or not
FINEST = 3e-5  # radians; the shortest step of `first_exit`
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
        share = (share * share * (3.0 - 2.0 * share))[:, None]
        projected[first:last] = one + share * (other - one)  # legal too, for the shape is convex

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

    The turn is the shortest one; 0 where `previous` is not legal. Every step stays within the
    depth that is proven, or is `FINEST` radians long: in that, nothing bends out of a convex
    region by more than the tolerance, and of others only a gap narrower than that is passed.
    """
    start, end = np.broadcast_arrays(
        unit_quats("previous", previous), unit_quats("proposed", proposed)
    )
    shape = start.shape[:-1]
    start, end = start.reshape(-1, 4).astype(np.float64), end.reshape(-1, 4).astype(np.float64)
    angle, reached = quat.angle_between(start, end), np.empty(len(start))
    kernels.exits.first_exit(start.ravel(), end.ravel(), angle, limit.packed, EDGE, FINEST, reached)
    return reached.reshape(shape)
