"""follow and track: joints go along paths, frame after frame, within limits and without pops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Ints, Mask, Quats, Scalars
from ..model import LimitModel
from ..skeleton import Clip, Pose, Skeleton
from .goals import Goal, Stay, errors_of, goal_names, lowest_priority, pins_of
from .problem import joints_between
from .search import GOAL_TOLERANCE, SearchSettings
from .solution import ClipSolution, Solution
from .solve import solve


def check_frames(goal: Goal, clip: Clip) -> None:
    """Raise ValueError unless a goal has one target, or one for each frame of the clip."""
    if goal.batch not in ((), (clip.frames,)):
        shape = np.shape(goal.target)
        frames = f"{shape[0]}" if len(goal.batch) == 1 else f"an array of shape {shape}"
        raise ValueError(
            f"{goal.label}: there must be one target, or one for each of the clip's {clip.frames} "
            f"frames, got {frames}"
        )


def pose_at(pose: Pose, frame: int | Ints) -> Pose:
    """Return one frame of poses (frames, J), or several."""
    return Pose(pose.rotations[frame], pose.positions[frame])


def clamp_to_limits(
    model: LimitModel, clip: Clip, names: Mapping[str, str] | None
) -> tuple[LimitModel, Clip]:
    """Return the limits by the names of the clip's joints, and the clip clamped to them.

    `names` maps names of the clip to names of the model. A clip without frames is an error.
    """
    if clip.frames == 0:
        raise ValueError(f"{clip.name or 'clip'}: a clip to drive must have frames, got none")
    model.match(clip.skeleton, names).warn(clip.name)
    fitted = model.for_skeleton(clip.skeleton, names, clip=clip.name)
    exact = Pose(clip.pose.rotations.astype(np.float64), clip.pose.positions.astype(np.float64))
    return fitted, fitted.project(replace(clip, pose=exact))


MAX_SPEED = math.radians(600.0)
"""Radians a second by which a joint may turn away from what the clip does, unless given."""
RETURN_TIME = 0.1
"""Seconds in which a joint that nothing keeps away comes back to the clip, but for a third."""

SHRINKS = 4  # times that a turn is made smaller where projection makes it larger


def largest_turn(max_speed: float, clip: Clip) -> float:
    """Return the angle, in radians, that a speed in radians a second allows in a frame."""
    if not 0.0 < max_speed < math.inf:
        raise ValueError(
            f"max_speed must be above 0 radians a second and finite, got {max_speed!r}"
        )
    return max_speed * clip.frame_time


def advance_pose(model: LimitModel, last: Pose, clip: Clip, frame: int | Ints) -> Pose:
    """Return the pose of the frame before, moved on as the clip moves, and made legal.

    For several frames, `last` are the poses before each.
    """
    before, now = pose_at(clip.pose, frame - 1), pose_at(clip.pose, frame)
    turn = quat.mul(quat.inverse(before.rotations), now.rotations)
    turned = quat.normalize(quat.mul(last.rotations, turn))
    same = (last.rotations == before.rotations).all(axis=-1, keepdims=True)
    away = last.positions - before.positions
    pose = Pose(np.where(same, now.rotations, turned), now.positions + away * _decay(clip))
    return model.project(pose)


def turn_back(start: Pose, clip: Clip, frame: int) -> Pose:
    """Return `start` with its joints turned back to the clip's by what one frame brings."""
    there = clip.pose.rotations[frame]
    back = quat.slerp(start.rotations, there, 1.0 - _decay(clip))
    return Pose(quat.normalize(back), start.positions)


def _decay(clip: Clip) -> float:
    """Return the share of a deviation that is left after a frame."""
    return math.exp(-clip.frame_time / RETURN_TIME)


def limit_turns(model: LimitModel, start: Quats, wanted: Quats, most: float) -> Quats | None:
    """Return `wanted` with no joint farther than `most` radians from `start`; None if none is."""
    angles = quat.angle_between(start, wanted)
    if angles.max() <= most * (1.0 + 1e-9):
        return None
    share = np.minimum(1.0, most / np.maximum(angles, most))
    for _ in range(SHRINKS):
        halted = quat.normalize(quat.slerp(start, wanted, share))
        pose = Pose(np.where((share < 1.0)[:, None], halted, wanted), np.zeros((len(start), 3)))
        legal = model.project(pose).rotations
        angles = quat.angle_between(start, legal)
        if angles.max() <= most * (1.0 + 1e-9):
            break
        share = share * np.minimum(1.0, most / np.maximum(angles, most))
    return legal


Progress = Callable[[Sequence[int]], Iterable[int]]
"""Gives back the frames one by one, as a progress bar does."""
FOLLOW_STEPS = 20  # at each frame, where the solution is near
SLOW_STEPS = 4  # steps, each a share of what a frame allows, where it is not


def follow(
    model: LimitModel,
    clip: Clip,
    goals: Sequence[Goal],
    *,
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    max_speed: float = MAX_SPEED,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> ClipSolution:
    """Return `clip` driven by `goals`, legal in every frame, and near to its own motion.

    The clip is clamped first. Each frame starts where the last one ended, moved on as the clip
    moves, and wishes to come back to the clip, unless a `Stay` among the goals says otherwise. A
    `Comfort` among them is for the joints that turn.

    Parameters
    ----------
    model
        The limits.
    clip
        The motion to change.
    goals
        Targets are one for all frames, or one for each: (frames, 3).
    joints
        Those that may turn; unless given, those on the way to the goals, but for the roots.
    pinned
        Joints that keep the places they have in the clip, whatever the goals want.
    free_root
        Whether roots may turn and move as well.
    max_speed
        Radians a second by which a joint may turn away from what the clip does; what needs a jump
        takes some frames.
    names
        Names of the clip's joints, and those of the model for them, where they differ.
    progress
        Gives back the frames one by one, as a progress bar does.

    Returns
    -------
    ClipSolution
        The clip, and by frame how near it comes and what is in the way.
    """
    most = largest_turn(max_speed, clip)
    fitted, legal = clamp_to_limits(model, clip, names)
    all_goals = _goals_and_pins(goals, legal, pinned)
    wishes = any(goal.soft and goal.target is not None for goal in goals)
    turning = _turning_joints(fitted, all_goals, joints, free_root)
    solver = _FrameSolver(fitted, most, turning, free_root, bool(pinned))
    found: list[Solution] = []
    late = np.zeros(clip.frames, np.bool_)
    for frame in progress(range(clip.frames)):
        here = [goal.at(frame) for goal in all_goals]
        if frame == 0:
            start = pose_at(legal.pose, 0)
            found.append(solver.first(start, here if wishes else [*here, Stay(start)]))
            continue
        start, home = advance_pose(fitted, found[-1].pose, legal, frame), pose_at(legal.pose, frame)
        near = [] if wishes else [Stay(turn_back(start, legal, frame))]
        solution, late[frame] = solver.next(start, [*here, *near])
        if not (solution.converged or late[frame]):
            own = [] if wishes else [Stay(home)]
            solution, late[frame] = solver.return_to_clip(start, home, [*here, *own], solution)
        found.append(solution)
    own = [] if wishes else [Stay(legal.pose, turning)]
    whole = _move_pins_last(stack_solutions(found, [*all_goals, *own]), len(goals), len(pinned))
    elsewhere = solver.solvable_elsewhere(whole, ~late)
    return ClipSolution(replace(clip, pose=whole.pose), whole, late, elsewhere)


def _goals_and_pins(goals: Sequence[Goal], clip: Clip, pinned: Sequence[str]) -> list[Goal]:
    """Return the goals, then the pins."""
    if isinstance(goals, Goal) or isinstance(pinned, str):
        raise ValueError(f"goals and pinned must be lists, got {goals!r:.80} and {pinned!r:.80}")
    if not goals and not pinned:
        raise ValueError(f"goals must be some of {goal_names()}, got none")
    for goal in goals:
        check_frames(goal, clip)
    return [*goals, *pins_of(clip.skeleton, clip.pose, pinned, goals)]


def _turning_joints(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> Sequence[str]:
    """Return the joints that may turn: unless given, those on the way to what goals are about.

    But for those between a joint and what its limit is measured from, unless they have their own.
    """
    if joints is not None:
        return joints
    skeleton = model.skeleton
    fixed = [name for name in joints_between(model) if name not in model.limits]
    parents, found = skeleton.parents.tolist(), set[int]()
    for goal in goals:
        found.update(goal.joints_to_move(skeleton))
    turning = [skeleton.names[j] for j in sorted(found) if parents[j] >= 0 or free_root]
    return [name for name in turning if name not in fixed]


@dataclass(frozen=True)
class _FrameSolver:
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
            settings=SearchSettings(**options),
        )

    def first(self, start: Pose, goals: Sequence[Goal]) -> Solution:
        """Return the first frame: near `start`, and elsewhere only if the goals are met there."""
        near = self.solve(start, goals, restarts=0)
        far = near if near.converged else self.solve(start, goals)
        return far if far.converged else near

    def next(self, start: Pose, goals: Sequence[Goal]) -> tuple[Solution, bool]:
        """Return the solution near `start`, and whether it is late: farther off than a frame."""
        step = min(self.most, 0.7)
        found = self.solve(start, goals, restarts=0, iterations=FOLLOW_STEPS, largest_step=step)
        if self._limit_turns(start, found) is None:
            return found, False
        step = min(self.most / (2 * SLOW_STEPS), 0.7)
        slow = self.solve(start, goals, restarts=0, iterations=SLOW_STEPS, largest_step=step)
        slow, _ = self._limit_step(start, slow)
        return slow, not slow.converged

    def return_to_clip(
        self, start: Pose, home: Pose, goals: Sequence[Goal], stuck: Solution
    ) -> tuple[Solution, bool]:
        """Return where the clip's own pose leads, or a frame's way to it, and whether it is late.

        As limbs that were stretched out may bend to the wrong side and get stuck there, this helps
        where it meets the goals; otherwise it is `stuck`.
        """
        found = self.solve(home, goals, restarts=0)
        return self._limit_step(start, found) if found.converged else (stuck, False)

    def _limit_step(self, start: Pose, found: Solution) -> tuple[Solution, bool]:
        """Return the solution, or as much of the way to it as a frame allows, and whether so."""
        rotations = self._limit_turns(start, found)
        if rotations is None:
            return found, False
        angles = quat.angle_between(start.rotations, found.pose.rotations)
        away = min(1.0, self.most / float(angles.max())) * (found.pose.positions - start.positions)
        pose = Pose(rotations, start.positions + away)
        if self.pinned:  # a part of the way to a pose in which feet stand is one in which they slip
            first = lowest_priority(found.goals)
            pins = [g for g in found.goals if not g.soft and g.priority == first]
            pose = self.solve(pose, pins, restarts=0, tolerance=TOLERANCE).pose
        errors = self._errors(found, pose)
        return replace(found, pose=pose, errors=errors, converged=np.array(False)), True

    def _errors(self, found: Solution, pose: Pose) -> Scalars:
        """Return the errors at another pose; of comfort, which has no target, those found."""
        parts = [
            found.errors[..., k]
            if goal.target is None
            else errors_of([goal], self.model, pose)[..., 0]
            for k, goal in enumerate(found.goals)
        ]
        return np.stack(np.broadcast_arrays(*parts), axis=-1)

    def _limit_turns(self, start: Pose, found: Solution) -> Quats | None:
        return limit_turns(self.model, start.rotations, found.pose.rotations, self.most)

    def solvable_elsewhere(self, whole: Solution, frames: Mask) -> Mask:
        """Tell at which of these frames another pose would meet goals that were not met."""
        found = np.zeros(len(frames), np.bool_)
        unmet = np.flatnonzero(~whole.converged & frames)
        if len(unmet):
            goals = [goal.at(unmet) for goal in whole.goals]
            found[unmet] = self.solve(pose_at(whole.pose, unmet), goals).converged
        return found


def _move_pins_last(whole: Solution, goals: int, pins: int) -> Solution:
    """Return the solution with its pins after all else, where it looks for them."""
    order = [*range(goals), *range(goals + pins, len(whole.goals)), *range(goals, goals + pins)]
    return replace(
        whole,
        goals=tuple(whole.goals[k] for k in order),
        errors=whole.errors[:, order],
        beyond=whole.beyond[:, order],
        pins=pins,
    )


def stack_solutions(found: Sequence[Solution], goals: Sequence[Goal]) -> Solution:
    """Return the solutions of all frames as one, frames first, with the errors of `goals`."""
    whole: dict[str, Any] = {}
    for field in fields(found[0]):
        each = [getattr(solution, field.name) for solution in found]
        if isinstance(each[0], np.ndarray | np.generic):
            whole[field.name] = np.stack(each)
    pose = Pose(
        np.stack([solution.pose.rotations for solution in found]),
        np.stack([solution.pose.positions for solution in found]),
    )
    stay = [k for k, goal in enumerate(goals) if goal.soft and goal.target is not None]
    free = LimitModel({}, found[0].skeleton)
    if stay:
        whole["errors"][:, stay] = errors_of([goals[k] for k in stay], free, pose)
    return replace(found[0], pose=pose, goals=tuple(goals), **whole)


TRACK_STEPS = 4
"""Steps a frame."""


def track(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    largest_turn: float = 0.14,
    tolerance: float = GOAL_TOLERANCE,
) -> Solution:
    """Return the pose of the next frame: from that of the last, nearer to where the goals are now.

    As `solve`, but in four small steps from where the pose is, and from nowhere else. So the pose
    lags behind a target that jumps, or that has to be met in quite another way, rather than jump
    with it.

    Parameters
    ----------
    model, skeleton, goals, joints, pinned, free_root, tolerance
        As those of `solve`.
    pose
        That of the last frame.
    largest_turn
        Radians by which a joint turns at most, but for what its limit may add.

    Returns
    -------
    Solution
        The pose, and how near it comes to the goals.
    """
    found = solve(
        *(model, skeleton, pose, goals),
        joints=joints,
        pinned=pinned,
        free_root=free_root,
        settings=SearchSettings(
            restarts=0,
            iterations=TRACK_STEPS,
            largest_step=largest_turn / TRACK_STEPS,
            tolerance=tolerance,
        ),
    )
    fitted = model.for_skeleton(skeleton)
    if not fitted.dependents or found.converged.ndim:
        return found
    # Where joints depend on others, it is solved again and again, each time with all steps.
    turned = limit_turns(fitted, pose.rotations, found.pose.rotations, largest_turn)
    if turned is None:
        return found
    nearer = found.pose.with_rotations(turned)
    errors = errors_of(found.goals, fitted, nearer)
    return replace(found, pose=nearer, errors=errors, converged=np.array(False))
