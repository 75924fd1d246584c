"""Goals over the frames of a clip: their targets are one for all, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..arrays import Floats, Ints
from ..clip import Clip
from ..lineage import lineages, seen_by
from ..matching import match
from ..model import LimitModel
from ..skeleton import Pose
from .goals import Goal, Orient, Stay


def check_frames(goal: Goal, clip: Clip) -> None:
    """Raise ValueError unless a goal has one target, or one for each frame of the clip."""
    wanted, axes = _wanted(goal)
    if wanted.ndim == axes or (wanted.ndim == axes + 1 and len(wanted) == clip.frames):
        return
    name = "Stay" if isinstance(goal, Stay) else goal.joint
    got = f"{len(wanted)}" if wanted.ndim == axes + 1 else f"an array of shape {wanted.shape}"
    raise ValueError(
        f"{name}: there must be one target, or one for each of the clip's {clip.frames} frames, "
        f"got {got}"
    )


def at_frame(goal: Goal, frame: int | Ints) -> Goal:
    """Return a goal as it is at one frame, or at several."""
    wanted, axes = _wanted(goal)
    if wanted.ndim == axes:
        return goal
    if isinstance(goal, Stay):
        return replace(goal, pose=pose_at(goal.pose, frame))
    if isinstance(goal, Orient):
        return replace(goal, rotation=wanted[frame])
    return replace(goal, target=wanted[frame])


def pose_at(pose: Pose, frame: int | Ints) -> Pose:
    """Return one frame of poses (frames, J), or several."""
    return Pose(pose.rotations[frame], pose.positions[frame])


def _wanted(goal: Goal) -> tuple[Floats, int]:
    """Return what a goal wants, and how many axes that has at one frame."""
    if isinstance(goal, Stay):
        return goal.pose.rotations, 2
    return (goal.rotation if isinstance(goal, Orient) else goal.target), 1


def within_limits(
    model: LimitModel, clip: Clip, names: Mapping[str, str] | None
) -> tuple[LimitModel, Clip]:
    """Return the limits by the names of the clip's joints, and the clip clamped to them.

    `names` maps names of the clip to names of the model. A clip without frames is an error.
    """
    if clip.frames == 0:
        raise ValueError(f"{clip.name or 'clip'}: a clip to drive must have frames, got none")
    found = match(model.limits, model.skeleton, clip.skeleton, names)
    found.warn(clip.name)
    skeleton = clip.skeleton
    ways = lineages(found.joints, model.ancestors, model.skeleton, skeleton, names, clip.name)
    limits = {
        skeleton.names[way.joint]: seen_by(model.limits[name], way, skeleton)
        for name, way in ways.items()
    }
    fitted = LimitModel(limits, skeleton)
    exact = Pose(clip.pose.rotations.astype(np.float64), clip.pose.positions.astype(np.float64))
    return fitted, fitted.project(replace(clip, pose=exact))
