"""Limits along paths in time: clamp a clip without pops, and find where a turn leaves the limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Points, Quats, Scalars, tolerance, unit_quats
from ..limit import Limit
from ..limit.softening import Softening
from ..shapes import Shape

BENDS = (0.2, 0.4, 0.7, 1.0)  # how far towards the inside


def ease(share: Scalars) -> Scalars:
    """Return shares from 0 to 1 that begin and end slowly."""
    return share * share * (3.0 - 2.0 * share)


def detours(shape: Shape, path: Points, at: int, members: Points) -> Iterator[Points]:
    """Yield ways of members (n, d) for a `path` of members that jumps to its point `at`.

    They have its ends. The first ones follow it, and go over from the one side to the other
    straight, then more and more bent towards the inside: in a reach cone there is always such a
    way. The last one goes by short steps from one of `members` (m, d) to another, around whatever
    is between.
    """
    share = ease(np.linspace(0.0, 1.0, len(path)))
    early = (np.arange(len(path)) < at)[:, None]
    other = np.where(early, path[at], path[at - 1])
    straight = shape.toward(path, other, np.where(early[:, 0], share, 1.0 - share))
    yield _keep_ends(path, shape.project(straight))
    inside = np.broadcast_to(members[shape.distance(members).argmin()], path.shape)
    for bend in BENDS:
        bent = shape.toward(straight, inside, bend * 4.0 * share * (1.0 - share))
        yield _keep_ends(path, shape.project(bent))
    stops = _shortest_route(shape, np.concatenate([path[:1], members, path[-1:]]))
    yield _keep_ends(path, shape.project(_points_along(shape, stops, share)))


def _keep_ends(path: Points, way: Points) -> Points:
    way[0], way[-1] = path[0], path[-1]
    return way


def _shortest_route(shape: Shape, members: Points) -> Points:
    """Return the members from the first to the last with the least sum of squared steps."""
    n = len(members)
    away: Floats = np.sum(shape.moves(members[:, None], members[None]) ** 2, axis=-1)
    cost, before = away[0].copy(), np.zeros(n, dtype=np.int64)
    done = np.zeros(n, dtype=bool)
    while not done[-1]:
        here = int(np.where(done, np.inf, cost).argmin())
        done[here] = True
        through = cost[here] + away[here]
        nearer = through < cost
        cost[nearer], before[nearer] = through[nearer], here
    route = [n - 1]
    while route[-1] != 0:
        route.append(int(before[route[-1]]))
    return members[route[::-1]]


def _points_along(shape: Shape, stops: Points, share: Scalars) -> Points:
    """Return the points at shares of the length of the way through `stops`."""
    steps = np.linalg.norm(shape.moves(stops[:-1], stops[1:]), axis=-1)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    place = np.interp(share * length[-1], length, np.arange(len(stops)))
    first = np.minimum(place.astype(np.int64), len(stops) - 2)
    return shape.toward(stops[first], stops[first + 1], place - first)


TRANSITION = 0.25
"""Seconds over which a path goes to the other side of its limit, where it has to."""
EDGE = 0.5 * TOLERANCE  # so that what is found is a member, rounding or not
MIN_STEP = 3e-5  # radians; the shortest step of `first_exit`
HALVINGS = 45  # of its last step: down to rounding
JUMP = 0.05  # radians; a turn longer than twice the path's own by this is a jump
LEAP = 1.0  # radians; turns of the path's own by half of this are leaps, and are not smoothed
WAYPOINTS = 256  # to go by, where a jump is not easily spread
SWITCH_COST, CHANGE_COST = (
    1e9,
    1e12,
)  # first no legal frame changes, then few switches, then the least moves


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
    it enters and leaves the limit, so in the chart of a convex shape no step grows.

    Parameters
    ----------
    limit
        The limit of the joint.
    rotations
        The path (frames, 4).
    frame_time
        Seconds from frame to frame.
    softening
        How to approach the limit instead of stopping at it: `Inside` or `Beyond`.
    transition
        Where the path leaves by one side and comes back by another, the change of sides is spread
        over so many seconds; so are the jumps of shapes that are not convex, as far as there is a
        legal way between.
    """
    rotations = unit_quats("rotations", rotations)
    if not 0.0 <= transition < np.inf:
        raise ValueError(f"transition must be at least 0 seconds and finite, got {transition}")
    if len(rotations) == 0 or (softening is None and limit.contains(rotations).all()):
        return rotations.copy()
    covers = np.stack(limit.covers(rotations))
    distances = np.stack([limit.shape.distance(points) for points in covers])
    legal = np.asarray(distances <= tolerance(rotations.dtype)) & ~limit.is_out_of_reach(rotations)
    costs = np.maximum(distances, 0.0) + CHANGE_COST * (legal.any(axis=0) & ~legal)
    chosen = np.empty(len(rotations), dtype=np.int64)
    kernels.clamp.cheapest_covers(covers, costs, SWITCH_COST, chosen)

    points = covers[chosen, np.arange(len(chosen))]
    inside = legal[chosen, np.arange(len(chosen))]
    projected: Points = _clamp_points(limit, points, softening)
    convex = limit.shape.convex  # then what lies between two members is legal
    half = round(0.5 * transition / frame_time)
    switches = np.flatnonzero(np.linalg.norm(np.diff(points, axis=0), axis=-1) > np.pi) + 1
    if len(covers) == 1:
        switches = switches[:0]  # it is all there is
    jumps = _step_angles(limit, projected) > _calm_turns(limit, points)
    switches = switches[jumps[switches - 1]]  # others are seams of the chart, and of no rotation
    for first, at, last in _transitions(switches, inside, half):
        ahead = _follow_covers(points[at - 1], covers[:, at:last])
        back = _follow_covers(points[at], covers[:, first:at][:, ::-1])[::-1]
        one = _clamp_points(limit, np.concatenate([points[first:at], ahead]), softening)
        other = _clamp_points(limit, np.concatenate([back, points[at:last]]), softening)
        share = ease(np.linspace(0.0, 1.0, last - first + 2)[1:-1])
        between = limit.shape.toward(one, other, share)
        projected[first:last] = between if convex else _clamp_points(limit, between, softening)
    if not convex:
        projected = _remove_jumps(limit, points, projected, inside, half)

    unchanged = (projected == points).all(axis=-1) & inside
    out = limit.chart.rotations(projected)
    out *= np.where(np.sum(out * rotations, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    return np.where(unchanged[:, None], rotations, out).astype(rotations.dtype)


def _clamp_points(limit: Limit, points: Points, softening: Softening | None) -> Points:
    if softening is None:
        return limit.shape.project(points)
    return softening.soften(limit.shape, points)


def _follow_covers(point: Points, covers: Points) -> Points:
    """Return the path through `covers` (covers, frames, 3) that stays nearest to itself."""
    path = np.empty(covers.shape[1:])
    for frame in range(len(path)):
        candidates = covers[:, frame]
        point = candidates[np.linalg.norm(candidates - point, axis=-1).argmin()]
        path[frame] = point
    return path


def _remove_jumps(
    limit: Limit,
    points: Points,
    projected: Points,
    inside: Mask,
    half: int,
) -> Points:
    """Return the projected path with its jumps spread over `half` frames on either side.

    A jump is a turn much longer than the path's own. Frames before it go on towards where it ends,
    those after it come from where it began, half of the way each, and are clamped. Where that
    would still jump, as in a notch, other ways are tried (see `detours`); where each of them jumps
    as far, the jump stays.
    """
    calm = _calm_turns(limit, points)
    excess = _step_angles(limit, projected) - calm
    if not (excess > 0.0).any():
        return projected
    members = limit.shape.scatter(WAYPOINTS, np.random.default_rng(0))
    leaps = np.flatnonzero(calm > LEAP)
    while excess.max() > 0.0:  # the longest first, each once
        jump = int(excess.argmax())
        excess[jump] = 0.0
        for first, at, last in _transitions(np.array([jump + 1]), inside, half):
            before = max(first - 1, *(leaps[leaps < jump] + 1)[-1:], 0)
            after = min(last, *leaps[leaps > jump][:1], len(points) - 1)
            path, usual = projected[before : after + 1].copy(), calm[before:after]
            least = _step_angles(limit, path) - usual
            for way in detours(limit.shape, path, at - before, members):
                longer = _step_angles(limit, way) - usual
                if longer.max() < least.max():
                    projected[before : after + 1], least = way, longer
                if longer.max() <= 0.0:
                    break
            excess[before:after] = np.minimum(excess[before:after], least)
    return projected


def _calm_turns(limit: Limit, points: Points) -> Scalars:
    """Return how far a clamped path may turn from each frame to the next without a jump."""
    return JUMP + 2.0 * _step_angles(limit, points)


def _step_angles(limit: Limit, path: Points) -> Scalars:
    """Return the angles between the rotations of a path's points, from each to the next."""
    rotations = limit.chart.rotations(path)
    return quat.angle_between(rotations[:-1], rotations[1:])


def _transitions(switches: Ints, inside: Mask, half: int) -> list[tuple[int, int, int]]:
    """Return the frames (first, change, last + 1) over which to change sides, none of them legal.

    `half` frames before and after each switch take part, as far as the limit is not met and the
    next switch leaves room.
    """
    spans = []
    for number, at in enumerate(switches.tolist()):
        before, after = inside[:at], inside[at:]
        first = max(at - half, at - int(np.argmax(before[::-1])) if before.any() else 0)
        last = min(at + half, at + int(np.argmax(after)) if after.any() else len(inside))
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
    depth that is proven, or is `MIN_STEP` radians long: in that, nothing bends out of a convex
    region by more than the tolerance, and of others only a gap narrower than that is passed.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> hinge = Limit(RotationVector(), Box(low=[0, 0, 0], high=[1, 0, 0], axes=np.eye(3)))
    >>> straight, bent = [1.0, 0.0, 0.0, 0.0], [np.cos(1.0), np.sin(1.0), 0.0, 0.0]
    >>> round(float(first_exit(hinge, straight, bent)), 6)  # 1 of 2 radians
    0.5
    """
    start, end = np.broadcast_arrays(
        unit_quats("previous", previous), unit_quats("proposed", proposed)
    )
    shape = start.shape[:-1]
    start, end = start.reshape(-1, 4).astype(np.float64), end.reshape(-1, 4).astype(np.float64)
    angle = quat.angle_between(start, end)
    if not limit.compiled:
        return _first_exit(limit, start, end, angle).reshape(shape)
    reached = np.empty(len(start))
    kernels.clamp.first_exit(
        start.ravel(), end.ravel(), angle, limit.packed, EDGE, MIN_STEP, reached
    )
    return reached.reshape(shape)


def _first_exit(limit: Limit, start: Quats, end: Quats, angle: Scalars) -> Scalars:
    """As `first_exit`, by NumPy alone; steps are half of what the chart's stretch allows."""
    last, here = np.full(len(start), -1.0), np.zeros(len(start))
    going = np.arange(len(start))
    while len(going):
        rotations = quat.slerp(start[going], end[going], here[going])
        points, distance = limit.nearest(rotations)
        legal = distance <= EDGE
        last[going[legal]] = here[going[legal]]
        step = np.maximum(-0.5 * distance / limit.chart.stretch(points), MIN_STEP)
        on = legal & (here[going] < 1.0)
        going, step = going[on], step[on]
        here[going] = np.minimum(here[going] + step / np.maximum(angle[going], 1e-300), 1.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (last + here)
        legal = limit.distance(quat.slerp(start, end, np.maximum(middle, 0.0))) <= EDGE
        last, here = np.where(legal, middle, last), np.where(legal, here, middle)
    return np.asarray(np.maximum(last, 0.0))
