"""follow: joints of a clip go along paths, frame after frame, within limits and without pops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Mask
from ..clip import Clip
from ..model import LimitModel
from ..skeleton import Pose
from .followed import Followed
from .frames import at_frame, check_frames, pose_at, within_limits
from .gaps import errors_of
from .goals import Aim, Goal, Orient, Reach, Stay
from .held import between
from .pace import FASTEST, drawn_back, held_back, largest_turn, moved_on
from .problem import pins_of
from .solution import Solution
from .solve import solve

Progress = Callable[[Sequence[int]], Iterable[int]]
"""Gives back the frames one by one, as a progress bar does."""
STEPS = 20  # at each frame, where the solution is near
SMALL = 4  # steps, each a share of what a frame allows, where it is not


def follow(
    model: LimitModel,
    clip: Clip,
    goals: Sequence[Goal],
    *,
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    fastest: float = FASTEST,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> Followed:
    """Return `clip` driven by `goals`, legal in every frame, and near to its own motion.

    Targets are one for all frames, or one for each: (frames, 3). The clip is clamped first. Each
    frame begins where the last one ended, moved on as the clip moves, and wishes to come back to
    the clip, unless a `Stay` among the goals says otherwise. `joints` may turn, unless given those
    on the way to the goals, but for the roots; with `free_root` these turn and move as well.
    `pinned` joints keep the places that they have in the clip. A joint turns away from what the
    clip does by at most `fastest` radians a second, so that a jump takes some frames. `names` maps
    names of the clip's joints to those of the model.
    """
    most = largest_turn(fastest, clip)
    fitted, legal = within_limits(model, clip, names)
    asked, wishes = _asked(goals, legal, pinned), any(isinstance(goal, Stay) for goal in goals)
    way = _Way(fitted, most, _turning(fitted, asked, joints, free_root), free_root, bool(pinned))
    found: list[Solution] = []
    late = np.zeros(clip.frames, np.bool_)
    for frame in progress(range(clip.frames)):
        here = [at_frame(goal, frame) for goal in asked]
        if frame == 0:
            start = pose_at(legal.pose, 0)
            found.append(way.first(start, here if wishes else [*here, Stay(start)]))
            continue
        start, home = moved_on(fitted, found[-1].pose, legal, frame), pose_at(legal.pose, frame)
        near = [] if wishes else [Stay(drawn_back(start, legal, frame))]
        solution, late[frame] = way.next(start, [*here, *near])
        if not (solution.converged or late[frame]):
            own = [] if wishes else [Stay(home)]
            solution, late[frame] = way.back(start, home, [*here, *own], solution)
        found.append(solution)
    whole = stacked(found, asked if wishes else [*asked, Stay(legal.pose, way.joints)])
    whole = _pins_last(whole, len(goals), len(pinned))
    return Followed(replace(clip, pose=whole.pose), whole, late, way.elsewhere(whole, ~late))


def _asked(goals: Sequence[Goal], clip: Clip, pinned: Sequence[str]) -> list[Goal]:
    """Return the goals, then the pins."""
    if isinstance(goals, Reach | Aim | Orient | Stay) or isinstance(pinned, str):
        raise ValueError(f"goals and pinned must be lists, got {goals!r:.80} and {pinned!r:.80}")
    if not goals and not pinned:
        raise ValueError("goals must be some of Reach, Aim, Orient and Stay, got none")
    for goal in goals:
        check_frames(goal, clip)
    return [*goals, *pins_of(clip.skeleton, clip.pose, pinned, goals)]


def _turning(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> Sequence[str]:
    """Return the joints that may turn: unless given, those on the way to what goals are about.

    But for those between a joint and what its limit is measured from.
    """
    if joints is not None:
        return joints
    skeleton, still = model.skeleton, between(model)
    parents, found = skeleton.parents.tolist(), set[int]()
    for goal in goals:
        if isinstance(goal, Stay):
            found.update(map(skeleton.index, goal.joints or skeleton.names))
            continue
        joint = skeleton.index(goal.joint)
        if isinstance(goal, Reach) and not goal.point.any():
            joint = parents[joint]  # its own turn does not move it
        while joint >= 0:
            found.add(joint)
            joint = parents[joint]
    turning = [skeleton.names[j] for j in sorted(found) if parents[j] >= 0 or free_root]
    return [name for name in turning if name not in still]


@dataclass(frozen=True)
class _Way:
    """How to get from a frame to the next."""

    model: LimitModel
    most: float
    """Radians that a joint may turn in a frame, apart from what the clip does."""
    joints: Sequence[str]
    free_root: bool
    pinned: bool

    def solve(self, start: Pose, goals: Sequence[Goal], **options: Any) -> Solution:
        return solve(
            *(self.model, self.model.skeleton, start, goals),
            joints=self.joints,
            free_root=self.free_root,
            **options,
        )

    def first(self, start: Pose, goals: Sequence[Goal]) -> Solution:
        """Return the first frame: near `start`, and elsewhere only if the goals are met there."""
        near = self.solve(start, goals, restarts=0)
        far = near if near.converged else self.solve(start, goals)
        return far if far.converged else near

    def next(self, start: Pose, goals: Sequence[Goal]) -> tuple[Solution, bool]:
        """Return the solution near `start`, and whether it is late: farther off than a frame."""
        step = min(self.most, 0.7)
        found = self.solve(start, goals, restarts=0, iterations=STEPS, largest_step=step)
        if self._held(start, found) is None:
            return found, False
        step = min(self.most / (2 * SMALL), 0.7)
        slow = self.solve(start, goals, restarts=0, iterations=SMALL, largest_step=step)
        slow, _ = self._kept(start, slow)
        return slow, not slow.converged

    def back(
        self, start: Pose, home: Pose, goals: Sequence[Goal], stuck: Solution
    ) -> tuple[Solution, bool]:
        """Return where the clip's own pose leads, or a frame's way to it, and whether it is late.

        As limbs that were stretched out may bend to the wrong side and get stuck there, this helps
        where it meets the goals; otherwise it is `stuck`.
        """
        found = self.solve(home, goals, restarts=0)
        return self._kept(start, found) if found.converged else (stuck, False)

    def _kept(self, start: Pose, found: Solution) -> tuple[Solution, bool]:
        """Return the solution, or as much of the way to it as a frame allows, and whether so."""
        held = self._held(start, found)
        if held is None:
            return found, False
        angles = quat.angle_between(start.rotations, found.pose.rotations)
        away = min(1.0, self.most / float(angles.max())) * (found.pose.positions - start.positions)
        pose = Pose(held, start.positions + away)
        if self.pinned:  # a part of the way to a pose in which feet stand is one in which they slip
            first = min(goal.priority for goal in found.goals if not isinstance(goal, Stay))
            pins = [goal for goal in found.goals if getattr(goal, "priority", None) == first]
            pose = self.solve(pose, pins, restarts=0, tolerance=TOLERANCE).pose
        errors = errors_of(found.goals, self.model.skeleton, pose)
        return replace(found, pose=pose, errors=errors, converged=np.array(False)), True

    def _held(self, start: Pose, found: Solution) -> Any:
        return held_back(self.model, start.rotations, found.pose.rotations, self.most)

    def elsewhere(self, whole: Solution, asked: Mask) -> Mask:
        """Tell at which of the frames `asked` a pose would meet goals that were not met."""
        found = np.zeros(len(asked), np.bool_)
        unmet = np.flatnonzero(~whole.converged & asked)
        if len(unmet):
            goals = [at_frame(goal, unmet) for goal in whole.goals]
            found[unmet] = self.solve(pose_at(whole.pose, unmet), goals).converged
        return found


def _pins_last(whole: Solution, goals: int, pins: int) -> Solution:
    """Return the solution with its pins after all else, where it looks for them."""
    order = [*range(goals), *range(goals + pins, len(whole.goals)), *range(goals, goals + pins)]
    return replace(
        whole,
        goals=tuple(whole.goals[k] for k in order),
        errors=whole.errors[:, order],
        beyond=whole.beyond[:, order],
        pins=pins,
    )


def stacked(found: Sequence[Solution], goals: Sequence[Goal]) -> Solution:
    """Return the solutions of all frames as one, frames first, with the errors of `goals`."""
    whole: dict[str, Any] = {}
    for field in fields(Solution):
        each = [getattr(solution, field.name) for solution in found]
        if isinstance(each[0], np.ndarray | np.generic):
            whole[field.name] = np.stack(each)
    pose = Pose(
        np.stack([solution.pose.rotations for solution in found]),
        np.stack([solution.pose.positions for solution in found]),
    )
    stay = [k for k, goal in enumerate(goals) if isinstance(goal, Stay)]
    skeleton = found[0].skeleton
    if stay:
        whole["errors"][:, stay] = errors_of([goals[k] for k in stay], skeleton, pose)
    return replace(found[0], pose=pose, goals=tuple(goals), **whole)
