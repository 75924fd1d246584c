"""Clamping while frames come in, with a few frames of look-ahead or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Quats, unit_quats, whole_number
from ..limit import Limit
from ..skeleton import Pose
from .bounded import Problem, bound_steps
from .clamp import MAX_SPEED, LimitRegion, check_speed, same_sign, step_bounds

if TYPE_CHECKING:
    from .model import LimitModel


class LivePath:
    """Clamps the rotations of one joint frame by frame.

    Each rotation that comes out is legal, and no step is longer than `model.clamp.allowed_steps` of
    the input's, at `max_speed` radians a second. With a `look_ahead` of n frames, it comes out n
    frames after it went in, and changes of side begin as many frames before. A side that cannot be
    reached in time is reached later: until then legal rotations move too.

    With `within`, the limit depends on a driver, whose legal rotations are pushed as well: it
    returns rotations (n, 4) projected to what those of the driver (n, 4) allow.
    """

    def __init__(
        self,
        limit: Limit,
        frame_time: float,
        *,
        look_ahead: int = 0,
        max_speed: float = MAX_SPEED,
        within: Callable[[Quats, Quats], Quats] | None = None,
    ) -> None:
        check_speed(max_speed)
        self.limit, self.within = limit, within
        self.frame_time, self.max_speed = frame_time, max_speed
        self.look_ahead = whole_number("look_ahead", look_ahead, least=0)
        self.waiting: deque[tuple[Quats, Quats]] = deque()  # rotations and those of the driver
        self.last: tuple[Quats, Quats, Quats] | None = None  # input, driver and output before

    def push(self, rotation: Quats, driver: Quats | None = None) -> Quats | None:
        """Take the next rotation (4,), and return the one that is due; None if none is yet."""
        rotation = unit_quats("rotation", rotation).astype(np.float64)
        self.waiting.append((rotation, rotation if driver is None else driver))
        return self._next() if len(self.waiting) > self.look_ahead else None

    def finish(self) -> list[Quats]:
        """Return the rotations that are still to come out, after the last that went in."""
        return [self._next() for _ in range(len(self.waiting))]

    def _next(self) -> Quats:
        inputs, drivers = (np.stack(each) for each in zip(*self.waiting, strict=True))
        fixed = 0 if self.last is None else 1
        if self.last is not None:
            inputs = np.concatenate([self.last[0][None], inputs])
            drivers = np.concatenate([self.last[1][None], drivers])
        region = LimitRegion(self.limit)
        if (within := self.within) is not None:
            region = LimitRegion(
                self.limit, within=lambda found, frames: within(found, drivers[frames])
            )
        nearest = region.project(inputs, np.arange(len(inputs)))
        kept = (nearest == inputs).all(axis=-1)
        if self.last is not None:
            nearest[0], kept[0] = self.last[2], False
        bounds = step_bounds(inputs, self.frame_time, self.max_speed)
        path = bound_steps(Problem(region, inputs, nearest, bounds, kept, fixed))
        found: Quats = path[fixed]
        if (found != nearest[fixed]).any():
            found = same_sign(found, inputs[fixed])
        self.last = (*self.waiting.popleft(), found)
        return found


class LivePaths(ABC):
    """Clamps the rotations (k, 4) of a constraint's joints frame by frame."""

    @abstractmethod
    def push(self, rotations: Quats) -> Quats | None:
        """Take the next rotations (k, 4), and return those that are due; None if none are yet."""

    @abstractmethod
    def finish(self) -> list[Quats]:
        """Return the rotations that are still to come out, after the last that went in."""


class LiveJoint(LivePaths):
    """`LivePath` for the one joint of a `JointLimit`."""

    def __init__(self, path: LivePath) -> None:
        self.path = path

    def push(self, rotations: Quats) -> Quats | None:
        found = self.path.push(rotations[0])
        return None if found is None else found[None]

    def finish(self) -> list[Quats]:
        return [each[None] for each in self.path.finish()]


class LiveClamp:
    """Clamps poses while they come in; see `LivePath` for what is promised.

    A constraint that is measured across joints of others waits for these: its look-ahead begins
    when they are done, and poses come out later.

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
        self.placed = model.placed
        self.paths = [
            each.constraint.live_paths(frame_time, look_ahead, max_speed) for each in self.placed
        ]
        self.poses: deque[Pose] = deque()
        self.rotations: deque[Quats] = deque()  # those of `poses`, as far as they are clamped
        self.given = [0] * len(self.placed)  # frames that each constraint has taken
        self.done = [0] * len(self.placed)  # and those that it has returned

    def push(self, pose: Pose) -> Pose | None:
        """Take the next pose, and return the one that is due; None if none is yet."""
        self.poses.append(pose)
        self.rotations.append(pose.rotations.astype(np.float64))
        self._advance(finish=False)
        return self._take() if min(self.done, default=1) > 0 else None

    def finish(self) -> list[Pose]:
        """Return the poses that are still to come out, after the last that went in."""
        self._advance(finish=True)
        return [self._take() for _ in range(len(self.poses))]

    def _advance(self, *, finish: bool) -> None:
        """Push to each constraint the frames in which the joints it is measured across are done."""
        done: dict[int, int] = {}
        for k, (placed, paths) in enumerate(zip(self.placed, self.paths, strict=True)):
            ready = min([done[j] for j in placed.between if j in done], default=len(self.poses))
            for frame in range(self.given[k], ready):
                self._set(k, paths.push(placed.relative(self.rotations[frame])))
            self.given[k] = ready
            for found in paths.finish() if finish else ():
                self._set(k, found)
            done |= dict.fromkeys(placed.joints, self.done[k])

    def _set(self, k: int, relative: Quats | None) -> None:
        if relative is not None:
            self.placed[k].set_relative(self.rotations[self.done[k]], relative)
            self.done[k] += 1

    def _take(self) -> Pose:
        pose, rotations = self.poses.popleft(), self.rotations.popleft()
        self.given, self.done = ([n - 1 for n in each] for each in (self.given, self.done))
        return pose.with_rotations(rotations.astype(pose.rotations.dtype))
