"""Clamping of motion while it comes: frame by frame, with a look-ahead of a few frames or none."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..arrays import Quats, unit_quats, whole_number
from ..limit import Limit
from ..skeleton import Pose
from .bounded import Problem, bound_steps
from .clamp import MAX_SPEED, LimitRegion, check_speed, same_sign, step_bounds
from .model import LimitModel


class LivePath:
    """Clamps the path of one joint, of which the future is not known.

    Each rotation that comes out is legal, and no step is longer than twice the input's or than
    `max_speed` allows, whichever is more. With a `look_ahead` of n frames, it comes out n frames
    after it went in, and changes of side begin as many frames before. What cannot be reached in
    time is reached later: until then legal rotations move too.
    """

    def __init__(
        self,
        limit: Limit,
        frame_time: float,
        *,
        look_ahead: int = 0,
        max_speed: float = MAX_SPEED,
    ) -> None:
        check_speed(max_speed)
        self.region = LimitRegion(limit)
        self.frame_time, self.max_speed = frame_time, max_speed
        self.look_ahead = whole_number("look_ahead", look_ahead, least=0)
        self.waiting: deque[Quats] = deque()
        self.last: tuple[Quats, Quats] | None = None  # what went in and came out before

    def push(self, rotation: Quats) -> Quats | None:
        """Take the next rotation (4,), and return the one that is due; None if none is as yet."""
        self.waiting.append(unit_quats("rotation", rotation).astype(np.float64))
        return self._next() if len(self.waiting) > self.look_ahead else None

    def finish(self) -> list[Quats]:
        """Return the rotations that are still to come out, after the last that went in."""
        return [self._next() for _ in range(len(self.waiting))]

    def _next(self) -> Quats:
        inputs = np.stack(self.waiting)
        nearest = self.region.limit.project(inputs)
        kept = (nearest == inputs).all(axis=-1)
        fixed = 0
        if self.last is not None:
            inputs, nearest = (
                np.concatenate([before[None], after])
                for before, after in zip(self.last, (inputs, nearest), strict=True)
            )
            kept, fixed = np.append(False, kept), 1
        bounds = step_bounds(inputs, self.frame_time, self.max_speed)
        path = bound_steps(Problem(self.region, inputs, nearest, bounds, kept, fixed))
        found: Quats = path[fixed]
        if (found != nearest[fixed]).any():
            found = same_sign(found, inputs[fixed])
        self.last = self.waiting.popleft(), found
        return found


class LiveClamp:
    """Clamps poses while they come; see `LivePath` for what is promised.

    A joint that is measured from an ancestor waits for the joints between: where these have limits,
    its look-ahead begins when they are done, and poses come out the later.

    Examples
    --------
    >>> from synovia import human_limits
    >>> live = LiveClamp(human_limits(), 1 / 60)
    >>> pose = human_limits().skeleton.rest_pose()
    >>> live.push(pose).rotations.shape == pose.rotations.shape
    True
    """

    def __init__(
        self,
        model: LimitModel,
        frame_time: float,
        *,
        look_ahead: int = 0,
        max_speed: float = MAX_SPEED,
    ) -> None:
        self.ways = [
            (way, LivePath(limit, frame_time, look_ahead=look_ahead, max_speed=max_speed))
            for limit, way in model.joint_by_joint("live clamping").parents_first
        ]
        self.poses: deque[Pose] = deque()
        self.rotations: deque[Quats] = deque()  # of these, and what is clamped of them
        self.given, self.done = ([0] * len(self.ways) for _ in range(2))

    def push(self, pose: Pose) -> Pose | None:
        """Take the next pose, and return the one that is due; None if none is as yet."""
        self.poses.append(pose)
        self.rotations.append(pose.rotations.astype(np.float64))
        self._advance(finish=False)
        return self._take() if self._ready() else None

    def finish(self) -> list[Pose]:
        """Return the poses that are still to come out, after the last that went in."""
        self._advance(finish=True)
        return [self._take() for _ in range(len(self.poses))]

    def _advance(self, *, finish: bool) -> None:
        """Give each joint the frames that the joints between are done with, and set what comes."""
        done: dict[int, int] = {}
        for k, (way, live) in enumerate(self.ways):
            ready = min([done[j] for j in way.between if j in done], default=len(self.poses))
            for frame in range(self.given[k], ready):
                self._set(k, live.push(way.relative_rotation(self.rotations[frame])))
            self.given[k] = ready
            for found in live.finish() if finish else ():
                self._set(k, found)
            done[way.joint] = self.done[k]

    def _set(self, k: int, relative: Quats | None) -> None:
        if relative is not None:
            self.ways[k][0].set_relative_rotation(self.rotations[self.done[k]], relative)
            self.done[k] += 1

    def _ready(self) -> bool:
        return len(self.poses) > 0 and min(self.done, default=1) > 0

    def _take(self) -> Pose:
        pose, rotations = self.poses.popleft(), self.rotations.popleft()
        self.given, self.done = ([n - 1 for n in each] for each in (self.given, self.done))
        return pose.with_rotations(rotations.astype(pose.rotations.dtype))
