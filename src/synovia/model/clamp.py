"""Paths in time and one limit: clamping without jumps, and the first exit of a rotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Ints, Points, Quats, Scalars, unit_quats
from ..limit import Limit
from ..limit.softening import Beyond, Softening
from .bounded import Problem, bound_steps
from .roadmap import Ways

MAX_SPEED = float(np.radians(400.0))
"""Radians a second; slower steps are never shortened."""
GROWTH = 2.0  # factor by which a step may exceed that of the input
WAYPOINTS = 1000  # samples of a limit for detours around what is not legal
EDGE = 0.5 * TOLERANCE  # radians; leaves room for rounding, so that results are members
MIN_STEP = 3e-5  # radians; the shortest step of `first_exit`
HALVINGS = 45  # of its last step, down to rounding errors


Within = Callable[[Quats, Ints], Quats]
"""Returns rotations (n, 4) projected to what frames (n,) allow; members come back unchanged."""


@dataclass(frozen=True, eq=False)
class ClampedPath:
    """A path that was made legal, with the legal frames that moved and the steps over the bound."""

    rotations: Quats
    """The path (frames, 4)."""
    moved: Ints
    """Indices of legal frames that moved, to bound the steps around a jump."""
    over: Ints
    """Indices of frames whose step from the previous frame exceeds the bound."""


@dataclass(frozen=True, eq=False)
class LimitRegion:
    """The legal rotations in each frame of a clip: those of a limit, narrowed by `within`."""

    limit: Limit
    softening: Softening | None = None
    within: Within | None = None

    def project(self, rotations: Quats, frames: Ints) -> Quats:
        """Return the nearest legal rotations; with `Beyond`, those within its radius outside."""
        if not isinstance(self.softening, Beyond):
            return self.hold(self.limit.project(rotations), frames)
        points = self.limit.nearest_cover(rotations)
        return self.hold(self._rotations(points, self.softening.radius), frames)

    def hold(self, rotations: Quats, frames: Ints) -> Quats:
        """Return rotations of the limit, projected to what their frames allow."""
        return rotations if self.within is None else self.within(rotations, frames)

    def ways(self, start: Quats, end: Quats) -> Ways:
        """Return the paths that are straight in the chart, projected to the limit."""
        limit = self.limit
        one, other = limit.nearest_cover(start), limit.nearest_cover(end)

        def go(run: Ints, share: Scalars, frames: Ints) -> Quats:
            between = limit.region.toward(one[run], other[run], share)
            if isinstance(self.softening, Beyond):
                return self.hold(self._rotations(between, self.softening.radius), frames)
            rotations = limit.chart.rotations(limit.region.project(between))
            return self.hold(limit.project(rotations), frames)  # removes rounding errors only

        return go

    def waypoints(self) -> Quats:
        """Return `WAYPOINTS` samples (n, 4) of the limit."""
        points = self.limit.region.scatter(WAYPOINTS, np.random.default_rng(0))
        return self.limit.project(self.limit.chart.rotations(points))

    def _rotations(self, points: Points, radius: float) -> Quats:
        """Return the rotations of points, moved to within `radius` radians of the limit."""
        shape = self.limit.region
        nearest = shape.project(points)
        distance = np.linalg.norm(shape.moves(nearest, points), axis=-1)
        share = np.minimum(radius / np.maximum(distance, 1e-300), 1.0)
        return self.limit.chart.rotations(shape.toward(nearest, points, share))


def step_bounds(rotations: Quats, frame_time: float, max_speed: float = MAX_SPEED) -> Scalars:
    """Return the bounds (frames, ...) of the steps to each frame of (frames, ..., 4), in radians.

    See `allowed_steps`; `max_speed` is in radians a second. ValueError unless it is more than 0.
    """
    check_speed(max_speed)
    rotations = rotations.astype(np.float64)
    steps = np.zeros(rotations.shape[:-1])
    steps[1:] = quat.angle_between(rotations[:-1], rotations[1:])
    return allowed_steps(steps, max_speed * frame_time)


def allowed_steps(steps: Scalars, max_step: float) -> Scalars:
    """Return how long steps of the result may be where the input has `steps`; all in radians.

    That is `max_step`; or twice the step of the input if that is more, but at most `max_step` more
    than it.
    """
    return np.asarray(np.maximum(np.minimum(GROWTH * steps, steps + max_step), max_step))


def project_path(
    limit: Limit,
    rotations: Quats,
    frame_time: float,
    *,
    softening: Softening | None = None,
    max_speed: float = MAX_SPEED,
) -> Quats:
    """Return legal rotations (frames, 4) near a path, with bounded steps; see `clamp_path`."""
    rotations = unit_quats("rotations", rotations)
    bounds = step_bounds(rotations, frame_time, max_speed)
    return clamp_path(limit, rotations, bounds, softening=softening).rotations


def clamp_path(
    limit: Limit,
    rotations: Quats,
    bounds: Scalars,
    *,
    softening: Softening | None = None,
    within: Within | None = None,
) -> ClampedPath:
    """Return a legal path near the given one, with bounded steps.

    Projecting each frame by itself jumps where another side of the limit becomes nearer. Among the
    legal paths whose steps are within `bounds`, the result approximates the one with the least sum
    of squared angles to the input. Legal frames move only if the bound requires it. A legal path
    comes back bit for bit.

    Parameters
    ----------
    limit
        The limit of the joint.
    rotations
        The path (frames, 4).
    bounds
        The longest step (frames,) to each frame, in radians; see `step_bounds`. The first is the
        smallest. If they are `inf`, each frame is projected by itself.
    softening
        How to approach the limit instead of stopping at it: `Inside` or `Beyond`. The result is
        then near the path that is softened frame by frame.
    within
        Further restriction of each frame, if less than the limit is legal there.
    """
    rotations = unit_quats("rotations", rotations)
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
    """Return the quaternions with the signs for which they are nearest to `like`."""
    opposite = np.sum(rotations * like, axis=-1, keepdims=True) < 0.0
    return np.where(opposite, -rotations, rotations)


def first_exit(limit: Limit, previous: Quats, proposed: Quats) -> Scalars:
    """Return the largest t in [0, 1] up to which the rotation from previous to proposed is legal.

    The rotation between them is the shortest one; t is 0 where `previous` is not legal. The search
    advances by the known depth inside the limit, at least by `MIN_STEP` radians, so it can only
    miss gaps that are narrower than that.

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
    """Do as `first_exit` in NumPy, with steps of half of what the chart's stretch allows."""
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
