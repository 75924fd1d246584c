"""follow, watch and track: goals over the frames of a clip, within limits and without jumps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import TOLERANCE, Ints, Mask, Quats, Vectors
from ..model import LimitModel
from ..skeleton import Clip, Pose, Skeleton
from .goals import (
    Aim,
    Goal,
    Stay,
    check_goals,
    errors_of,
    measure_again,
    pins_of,
)
from .look_at import look_at
from .problem import passive_joints
from .search import GOAL_TOLERANCE, SearchSettings, check_above_0
from .solution import ClipSolution, Solution
from .solve import solve

MAX_SPEED = math.radians(600.0)  # radians a second, relative to the clip's own motion
RETURN_TIME = 0.1  # seconds after which 1/e of a deviation from the clip is left
MAX_SHRINKS = 8  # reductions of a step that projection makes too long, before joints stay
FOLLOW_STEPS = 20  # steps of a frame whose solution is near
SLOW_STEPS = 4  # steps of a frame whose solution is farther than the speed allows
TRACK_STEPS = 4  # steps of a call of `track`

Progress = Callable[[Sequence[int]], Iterable[int]]
"""Yields the given frames one by one, as a progress bar does."""


def _check_frames(goal: Goal, clip: Clip) -> None:
    """Raise ValueError unless a goal has one target, or one for each frame of the clip."""
    if goal.batch not in ((), (clip.frames,)):
        shape = np.shape(goal.target)
        frames = f"{shape[0]}" if len(goal.batch) == 1 else f"an array of shape {shape}"
        raise ValueError(
            f"{goal.label}: there must be one target, or one for each of the clip's {clip.frames} "
            f"frames, got {frames}"
        )


def _pose_at(pose: Pose, frame: int | slice | Ints) -> Pose:
    """Return one frame of poses (frames, J), or several."""
    return Pose(pose.rotations[frame], pose.positions[frame])


def _clamp_to_limits(
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


def _decay(clip: Clip) -> float:
    """Return the share of a deviation that is left after a frame."""
    return math.exp(-clip.frame_time / RETURN_TIME)


def _advance_pose(model: LimitModel, last: Pose, clip: Clip, frame: int | Ints) -> Pose:
    """Return `last`, the pose of the frame before, with the clip's motion added, and made legal.

    Deviations of positions from the clip decay. For several frames, `last` has one pose for each.
    """
    before, now = _pose_at(clip.pose, frame - 1), _pose_at(clip.pose, frame)
    motion = quat.mul(quat.inverse(before.rotations), now.rotations)
    rotated = quat.normalize(quat.mul(last.rotations, motion))
    unchanged = (last.rotations == before.rotations).all(axis=-1, keepdims=True)
    deviation = last.positions - before.positions
    positions = now.positions + deviation * _decay(clip)
    return model.project(Pose(np.where(unchanged, now.rotations, rotated), positions))


def _limit_rotations(
    model: LimitModel, start: Quats, end: Quats, max_rotation: float
) -> Quats | None:
    """Return legal rotations (J, 4) near `end`, each at most `max_rotation` radians from `start`.

    Both are legal. Joints of a group move through its controls. None if `end` is near enough.
    """
    bound = max_rotation * (1.0 + 1e-9)
    angles = quat.angle_between(start, end)
    if angles.max() <= bound:
        return None
    end = end.copy()
    for group in model.groups:
        joints = [model.skeleton.index(name) for name in group.joints]
        if angles[joints].max() > bound:
            bounds = np.full(len(joints), max_rotation)
            end[joints] = group.step_towards(start[joints], end[joints], bounds)
    angles, share = quat.angle_between(start, end), np.ones(len(start))
    for _ in range(MAX_SHRINKS):
        share *= np.minimum(1.0, max_rotation / np.maximum(angles, max_rotation))
        partial = quat.normalize(quat.slerp(start, end, share))
        pose = Pose(np.where((share < 1.0)[:, None], partial, end), np.zeros((len(start), 3)))
        legal = model.project(pose).rotations
        angles = quat.angle_between(start, legal)
        if angles.max() <= bound:
            return legal
    return start


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

    The clip is clamped first. Each frame starts from the last one, moved as the clip moves, and
    returns towards the clip, unless a `Stay` among the goals gives another pose.

    Parameters
    ----------
    model
        The limits.
    clip
        The motion to change.
    goals
        Each has one target, or one for each frame: (frames, 3).
    joints
        Joints that may rotate; unless given, those above the joints of the goals, without roots.
    pinned
        Joints that keep their positions in the clip, before all goals.
    free_root
        Whether roots may rotate and move as well.
    max_speed
        Maximum speed of a joint relative to the clip, in radians a second. A jump to another
        solution takes several frames.
    names
        Names of the model's joints by names of the clip's joints, where they differ.
    progress
        Yields the given frames one by one, as a progress bar does.

    Returns
    -------
    ClipSolution
        The clip, and by frame the errors and the limits that block.
    """
    check_above_0("max_speed", max_speed)
    fitted, legal = _clamp_to_limits(model, clip, names)
    goals = [] if pinned and not goals else check_goals(goals)
    for goal in goals:
        _check_frames(goal, clip)
    pins = pins_of(clip.skeleton, legal.pose, pinned, goals)
    add_stay = not any(goal.soft and goal.target is not None for goal in goals)
    movers = _movers(fitted, [*goals, *pins], joints, free_root)
    max_rotation = max_speed * clip.frame_time
    solver = _FrameSolver(fitted, max_rotation, movers, free_root, len(pins))
    solutions: list[Solution] = []
    late, returns = np.zeros(clip.frames, np.bool_), False
    for frame in progress(range(clip.frames)):
        home = _pose_at(legal.pose, frame)
        demands, frame_pins = (
            [goal.at(frame, (clip.frames,)) for goal in some] for some in (goals, pins)
        )
        goals_home = [*demands, *([Stay(home)] if add_stay else []), *frame_pins]
        if frame == 0:
            solutions.append(solver.first(home, goals_home))
            continue
        start = _advance_pose(fitted, solutions[-1].pose, legal, frame)
        back = quat.slerp(start.rotations, home.rotations, 1.0 - _decay(legal))
        stay = [Stay(start.with_rotations(quat.normalize(back)))] if add_stay else []
        solution, late[frame] = solver.next(start, [*demands, *stay, *frame_pins])
        # A return goes on until it arrives. Otherwise the next frame would move back.
        returns = not solution.converged and (returns or not late[frame])
        if returns:
            detour = solver.return_to_clip(start, home, goals_home)
            returns = detour is not None and detour[1]
            solution, late[frame] = detour or (solution, late[frame])
        solutions.append(solution)
    stay = [Stay(legal.pose, movers)] if add_stay else []
    stacked = _stack_solutions(solutions, [*goals, *stay, *pins], len(pins))
    return ClipSolution(replace(clip, pose=stacked.pose), stacked, late)


def _movers(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> Sequence[str]:
    """Return `joints`, or the joints that the goals depend on, without passive ones."""
    if joints is not None:
        return joints
    skeleton, passive = model.skeleton, passive_joints(model)
    indices = {joint for goal in goals for joint in goal.joints_to_move(skeleton)}
    free = [joint for joint in sorted(indices) if skeleton.parents[joint] >= 0 or free_root]
    return [skeleton.names[joint] for joint in free if skeleton.names[joint] not in passive]


@dataclass(frozen=True)
class _FrameSolver:
    """Solves one frame after the other, with bounded rotations between them."""

    model: LimitModel
    max_rotation: float
    """Radians that a joint may rotate in a frame, apart from the clip's motion."""
    joints: Sequence[str]
    free_root: bool
    pins: int

    def solve(self, start: Pose, goals: Sequence[Goal], **options: Any) -> Solution:
        return solve(
            *(self.model, self.model.skeleton, start, goals),
            joints=self.joints,
            free_root=self.free_root,
            settings=SearchSettings(**options),
        )

    def first(self, start: Pose, goals: Sequence[Goal]) -> Solution:
        """Solve the first frame: near `start`, unless only restarts meet the goals."""
        nearby = self.solve(start, goals, restarts=0)
        restarted = nearby if nearby.converged else self.solve(start, goals)
        return restarted if restarted.converged else nearby

    def next(self, start: Pose, goals: Sequence[Goal]) -> tuple[Solution, bool]:
        """Return the solution near `start`, and whether the speed limit delays it."""
        step = min(self.max_rotation, 0.7)
        solution = self.solve(start, goals, restarts=0, iterations=FOLLOW_STEPS, largest_step=step)
        angles = quat.angle_between(start.rotations, solution.pose.rotations)
        if angles.max() <= self.max_rotation:
            return solution, False
        step = min(self.max_rotation / (2 * SLOW_STEPS), 0.7)
        slow = self.solve(start, goals, restarts=0, iterations=SLOW_STEPS, largest_step=step)
        slow, _ = self._limit_step(start, slow)
        return slow, not slow.converged

    def return_to_clip(
        self, start: Pose, home: Pose, goals: Sequence[Goal]
    ) -> tuple[Solution, bool] | None:
        """Return a step towards the solution from the clip's pose `home`, and whether it is late.

        A limb that was straight may bend to the wrong side and get stuck there. None if the clip's
        pose does not lead to the goals either.
        """
        solution = self.solve(home, goals, restarts=0)
        return self._limit_step(start, solution) if solution.converged else None

    def _limit_step(self, start: Pose, solution: Solution) -> tuple[Solution, bool]:
        """Return the solution shortened to the rotation that a frame allows, and whether it was."""
        angles = quat.angle_between(start.rotations, solution.pose.rotations)
        end = solution.pose.rotations
        rotations = _limit_rotations(self.model, start.rotations, end, self.max_rotation)
        if rotations is None:
            return solution, False
        share = min(1.0, self.max_rotation / float(angles.max()))
        moved = share * (solution.pose.positions - start.positions)
        pose = Pose(rotations, start.positions + moved)
        if self.pins:  # pinned feet slip between two poses in which they stand
            pins = solution.goals[-self.pins :]
            pose = self.solve(pose, pins, restarts=0, tolerance=TOLERANCE).pose
        errors = measure_again(solution.errors, solution.goals, self.model, pose)
        return replace(solution, pose=pose, errors=errors, converged=np.array(False)), True


def _stack_solutions(solutions: Sequence[Solution], goals: Sequence[Goal], pins: int) -> Solution:
    """Return the solutions of all frames as one, frames first, with the errors of `goals`.

    The last `pins` of the goals are pins.
    """
    arrays: dict[str, Any] = {}
    for field in fields(solutions[0]):
        values = [getattr(solution, field.name) for solution in solutions]
        if isinstance(values[0], np.ndarray | np.generic):
            arrays[field.name] = np.stack(values)
    pose = Pose(
        np.stack([solution.pose.rotations for solution in solutions]),
        np.stack([solution.pose.positions for solution in solutions]),
    )
    free = LimitModel({}, solutions[0].skeleton)
    arrays["errors"] = measure_again(arrays["errors"], goals, free, pose)
    return replace(solutions[0], pose=pose, goals=tuple(goals), pins=pins, **arrays)


def watch(
    model: LimitModel,
    clip: Clip,
    target: Vectors,
    joints: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    axis: Vectors | None = None,
    point: Vectors | None = None,
    max_speed: float = MAX_SPEED,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> ClipSolution:
    """Return `clip` with `axis` of the last of `joints` pointed at `target` in every frame.

    The clip is clamped first; each frame is then that of `look_at`.

    Parameters
    ----------
    model, joints, weights, axis, point
        As for `look_at`.
    target
        One position for all frames, or one for each: (frames, 3).
    clip, max_speed, names, progress
        As for `follow`.

    Returns
    -------
    ClipSolution
        The clip, and by frame the errors and the limits that block.
    """
    joints = list(joints)
    check_above_0("max_speed", max_speed)
    fitted, legal = _clamp_to_limits(model, clip, names)
    _check_frames(Aim(joints[-1] if joints else "?", target), clip)
    solution = look_at(
        *(fitted, clip.skeleton, legal.pose, target, joints),
        weights=weights,
        axis=axis,
        point=point,
    )
    rotations = solution.pose.rotations.copy()
    slow = _limit_speed(fitted, legal, rotations, max_speed * clip.frame_time, progress)
    pose, goal = Pose(rotations, legal.pose.positions), solution.goals[0]
    errors = np.where(slow[:, None], errors_of([goal], fitted, pose), solution.errors)
    met = np.where(slow, goal.unit(1.0) * errors[:, 0] <= GOAL_TOLERANCE, solution.converged)
    solution = replace(solution, pose=pose, errors=errors, converged=met)
    return ClipSolution(replace(clip, pose=pose), solution, slow & ~met)


def _limit_speed(
    model: LimitModel, clip: Clip, rotations: Quats, max_rotation: float, progress: Progress
) -> Mask:
    """Limit, in place, rotations relative to the clip to `max_rotation` radians a frame.

    Returns the frames (frames,) that this changed. All frames are checked in one batch first, each
    against the one before. Only from those that exceed the limit on, they are changed one by one.
    """
    changed, positions = np.zeros(clip.frames, np.bool_), clip.pose.positions
    exceeds = np.zeros(clip.frames, np.bool_)
    if clip.frames > 1:
        last = Pose(rotations[:-1], positions[:-1])
        start = _advance_pose(model, last, clip, np.arange(1, clip.frames))
        angles = quat.angle_between(start.rotations, rotations[1:]).max(axis=-1)
        exceeds[1:] = ~(angles <= max_rotation)
    for frame in progress(range(1, clip.frames)):
        if exceeds[frame] or changed[frame - 1]:
            last = Pose(rotations[frame - 1], positions[frame - 1])
            start = _advance_pose(model, last, clip, frame)
            limited = _limit_rotations(model, start.rotations, rotations[frame], max_rotation)
            if limited is not None:
                rotations[frame], changed[frame] = limited, True
    return changed


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
    """Return the pose of the next frame, from that of the last, nearer to the goals' targets.

    As `solve`, but in four small steps and without restarts. The pose lags behind a target that
    jumps, rather than jump with it.

    Parameters
    ----------
    model, skeleton, goals, joints, pinned, free_root, tolerance
        As for `solve`.
    pose
        The pose of the last frame.
    largest_turn
        Maximum rotation of a joint, in radians; projection onto its limit may add to it.

    Returns
    -------
    Solution
        The pose, and the errors of the goals.
    """
    solution = solve(
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
    if not (fitted.dependents or fitted.groups) or solution.converged.ndim:
        return solution
    # Limits that depend on joints are solved in rounds, and groups over controls: with more steps.
    limited = _limit_rotations(fitted, pose.rotations, solution.pose.rotations, largest_turn)
    if limited is None:
        return solution
    nearer = solution.pose.with_rotations(limited)
    errors = errors_of(solution.goals, fitted, nearer)
    return replace(solution, pose=nearer, errors=errors, converged=np.array(False))
