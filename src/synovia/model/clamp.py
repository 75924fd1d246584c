"""Limits along paths in time: clamp a clip without pops, and find where a turn leaves the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Ints, Points, Quats, Scalars, unit_quats
from ..limit import Limit
from ..limit.softening import Beyond, Softening
from .bounded import Problem, bound_steps
from .roadmap import Ways, angles

MAX_SPEED = float(np.radians(400.0))
"""Radians a second: steps that are slower are no pops."""
GROWTH = 2.0  # times the input's step: nor are these
WAYPOINTS = 1000  # to go by, where the way to another side is not straight
EDGE = 0.5 * TOLERANCE  # so that what is found is a member, rounding or not
MIN_STEP = 3e-5  # radians; the shortest step of `first_exit`
HALVINGS = 45  # of its last step: down to rounding


Within = Callable[[Quats, Ints], Quats]
"""Returns rotations (n, 4) of frames (n,) brought within what these allow; members as they are."""


@dataclass(frozen=True, eq=False)
class ClampedPath:
    """A path in time that was made legal, and what could not stay or be kept."""

    rotations: Quats
    """The path (frames, 4)."""
    moved: Ints
    """The frames that were legal and moved all the same: around changes of side."""
    over: Ints
    """The frames to which the step from the frame before is longer than the bound."""


@dataclass(frozen=True, eq=False)
class LimitRegion:
    """What is legal in a clip: the same in every frame, unless it is held `within` less."""

    limit: Limit
    softening: Softening | None = None
    within: Within | None = None

    def project(self, rotations: Quats, frames: Ints) -> Quats:
        """Return the nearest rotations that are legal, or no farther outside than is allowed."""
        if not isinstance(self.softening, Beyond):
            return self.hold(self.limit.project(rotations), frames)
        points = self.limit.nearest_cover(rotations)
        return self.hold(self._rotations(points, self.softening.radius), frames)

    def hold(self, rotations: Quats, frames: Ints) -> Quats:
        """Return rotations of the limit, brought within what their frames allow."""
        return rotations if self.within is None else self.within(rotations, frames)

    def ways(self, start: Quats, end: Quats) -> Ways:
        """Return the ways that are straight in the chart."""
        limit = self.limit
        one, other = limit.nearest_cover(start), limit.nearest_cover(end)

        def go(run: Ints, share: Scalars, frames: Ints) -> Quats:
            between = limit.region.toward(one[run], other[run], share)
            if isinstance(self.softening, Beyond):
                return self.hold(self._rotations(between, self.softening.radius), frames)
            rotations = limit.chart.rotations(limit.region.project(between))
            return self.hold(limit.project(rotations), frames)  # as they are, but for rounding

        return go

    def waypoints(self) -> Quats:
        """Return legal rotations from all over the limit."""
        points = self.limit.region.scatter(WAYPOINTS, np.random.default_rng(0))
        return self.limit.project(self.limit.chart.rotations(points))

    def _rotations(self, points: Points, radius: float) -> Quats:
        """Return the rotations of points, brought to within `radius` of the limit."""
        shape = self.limit.region
        nearest = shape.project(points)
        distance = np.linalg.norm(shape.moves(nearest, points), axis=-1)
        share = np.minimum(radius / np.maximum(distance, 1e-300), 1.0)
        return self.limit.chart.rotations(shape.toward(nearest, points, share))


def step_bounds(rotations: Quats, frame_time: float, max_speed: float = MAX_SPEED) -> Scalars:
    """Return how long the step to each frame (frames,) may be, in radians, without a pop.

    That is twice the step of the path given, or `max_speed` radians a second if that is more.
    """
    steps = angles(rotations[:-1], rotations[1:])
    return np.maximum(GROWTH * np.append(0.0, steps)[: len(rotations)], max_speed * frame_time)


def project_path(
    limit: Limit,
    rotations: Quats,
    frame_time: float,
    *,
    softening: Softening | None = None,
    max_speed: float = MAX_SPEED,
) -> Quats:
    """Return legal rotations (frames, 4) for a path in time, near to it and free of pops.

    See `clamp_path`, which also says which frames moved although they were legal.
    """
    return clamp_path(
        limit, rotations, frame_time, softening=softening, max_speed=max_speed
    ).rotations


def clamp_path(
    limit: Limit,
    rotations: Quats,
    frame_time: float,
    *,
    softening: Softening | None = None,
    max_speed: float = MAX_SPEED,
    within: Within | None = None,
) -> ClampedPath:
    """Return a path in time as a legal one without pops, and which frames had to pay for it.

    The nearest legal rotation of each frame by itself jumps where another side of the limit
    becomes nearer. Here no step is longer than twice the path's own, or than `max_speed` allows;
    of all such paths the result is near to the one with the least sum of squared angles to the
    path given. Frames that are legal move only where the bound cannot be kept otherwise. A path
    that is legal throughout comes back bit for bit.

    Parameters
    ----------
    limit
        The limit of the joint.
    rotations
        The path (frames, 4).
    frame_time
        Seconds from frame to frame.
    softening
        How to approach the limit instead of stopping at it: `Inside` or `Beyond`. The result then
        stays near to the path that was softened frame by frame.
    max_speed
        Radians a second that a joint may always turn at; `inf` clamps each frame by itself.
    within
        Where less than the limit is legal, and what differs from frame to frame.
    """
    rotations = unit_quats("rotations", rotations)
    check_speed(max_speed)
    free = softening is None and within is None
    if len(rotations) == 0 or (free and limit.contains(rotations).all()):
        return ClampedPath(rotations.copy(), _frames(), _frames())
    if softening is None:
        nearest = limit.project(rotations)
    else:
        nearest = same_sign(limit.soften(rotations, softening), rotations)
    region = LimitRegion(limit, softening, within)
    nearest = region.hold(nearest, np.arange(len(nearest)))
    kept = (nearest == rotations).all(axis=-1)
    path = nearest.astype(np.float64)
    inputs = path if softening else rotations.astype(np.float64)
    bounds = step_bounds(rotations.astype(np.float64), frame_time, max_speed)
    problem = Problem(region, inputs, path, bounds, kept)
    found = bound_steps(problem)
    changed = (found != path).any(axis=-1, keepdims=True)
    out = np.where(changed, same_sign(found, rotations), nearest).astype(rotations.dtype)
    return ClampedPath(out, np.flatnonzero(kept & changed[:, 0]), problem.jumps(found))


def check_speed(max_speed: float) -> None:
    """Raise ValueError unless `max_speed` is more than 0."""
    if not max_speed > 0.0:
        raise ValueError(f"max_speed must be more than 0 radians a second, got {max_speed}")


def _frames() -> Ints:
    return np.zeros(0, np.int64)


def same_sign(rotations: Quats, like: Quats) -> Quats:
    """Return the rotations with the signs of quaternions nearest to `like`."""
    opposite = np.sum(rotations * like, axis=-1, keepdims=True) < 0.0
    return np.where(opposite, -rotations, rotations)


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
