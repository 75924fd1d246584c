"""Clamping while frames come in, with a few frames of look-ahead or none."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Quats, unit_quats, whole_number
from ..skeleton import Pose
from .bounded import Problem, bound_steps
from .clamp import MAX_SPEED, check_speed, same_sign, step_bounds
from .constraint import Constraint

if TYPE_CHECKING:
    from .model import LimitModel


class LivePath:
    """Clamps the rotations of a constraint's joints frame by frame.

    Rotations that come out are legal, and no step is longer than `model.clamp.step_bounds` of
    the input, at `max_speed` radians a second, unless no such rotation is found. With a
    `look_ahead` of n frames, they come out n frames after they went in, and changes of side begin
    as many frames before. A side that cannot be reached in time is reached later: until then legal
    rotations move too.
    """

    def __init__(
        self,
        constraint: Constraint,
        frame_time: float,
        *,
        look_ahead: int = 0,
        max_speed: float = MAX_SPEED,
    ) -> None:
        check_speed(max_speed)
        self.constraint, self.frame_time, self.max_speed = constraint, frame_time, max_speed
        self.look_ahead = whole_number("look_ahead", look_ahead, least=0)
        self.inputs: deque[Quats] = deque()  # those that wait, after the last that is done
        self.nearest: deque[Quats] = deque()  # their nearest legal ones, after the last output
        self.done = 0  # 1 if the first of these is done, else 0

    def push(self, rotations: Quats) -> Quats | None:
        """Take the next rotations (k, 4), and return those that are due; None if none are yet."""
        rotations = unit_quats("rotations", rotations).astype(np.float64)
        self.inputs.append(rotations)
        self.nearest.append(self.constraint.project(rotations[None])[0])
        return self._next() if len(self.inputs) - self.done > self.look_ahead else None

    def finish(self) -> list[Quats]:
        """Return the rotations that are still to come out, after the last that went in."""
        return [self._next() for _ in range(len(self.inputs) - self.done)]

    def _next(self) -> Quats:
        inputs, nearest, fixed = np.stack(self.inputs), np.stack(self.nearest), self.done
        kept = (nearest == inputs).all(axis=(1, 2))
        kept[:fixed] = False
        bounds = step_bounds(inputs, self.frame_time, self.max_speed)
        project = self.constraint.project
        path = bound_steps(Problem(self.constraint, project, inputs, nearest, bounds, kept, fixed))
        found: Quats = path[fixed]
        if (found != nearest[fixed]).any():
            found = same_sign(found, inputs[fixed])
        if fixed:
            self.inputs.popleft()
            self.nearest.popleft()
        self.nearest[0], self.done = found, 1
        return found


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
            LivePath(each.constraint, frame_time, look_ahead=look_ahead, max_speed=max_speed)
            for each in self.placed
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
