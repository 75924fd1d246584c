"""repair: a clip that looks like the input, with every joint possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..learn import Progress
from ..model import LimitModel
from ..model.clamp import MAX_SPEED
from ..population import HumanLimits, Source, clamp_until_clean, limits_for, recognize_clip
from ..rigs import NotHumanError, Rig
from ..skeleton import POSITIONS, Clip, Pose
from .effectors import KEEP, Effectors
from .paths import find_glitches, find_long_steps, interpolate_glitches
from .report import MILLIMETRES, RepairReport, compare_stage, find_not_kept, frames_by_joint
from .reposition import Repositioning, blend_long_steps
from .twist import redistribute_twist

STAGES = ("glitches", "twist", "keep", "clamp")
"""Names of the stages, in order."""


def repair(
    clip: Clip,
    limits: LimitModel | HumanLimits | Source | None = None,
    keep: Sequence[str] = KEEP,
    *,
    names: Mapping[str, str] | None = None,
    max_speed: float = MAX_SPEED,
    progress: Progress = iter,
) -> tuple[Clip, RepairReport]:
    """Return a clip that looks like the input but is inside its limits, and a report.

    The stages are those of `STAGES`; each changes only what is necessary:

    1. Glitches of a few frames are interpolated.
    2. Twist is redistributed along limbs. No joint changes its position.
    3. Inverse kinematics keeps hands, feet in contact and the head's rotation, by rotating other
       joints within their limits.
    4. What is left is clamped.

    No step, as the joint's limit measures it, becomes longer than twice that of the input, or than
    `max_speed` allows, except where `RepairReport.over` says so.

    Parameters
    ----------
    clip
        The clip to repair.
    limits
        The limits; those of a human, put on the clip's rig, unless given.
    keep
        What to keep: some of "hands", "feet" and "head".
    names
        Names of the clip's joints, mapped to those of a `LimitModel`.
    max_speed
        Radians a second that a joint may always rotate.
    progress
        Receives the stages, and returns them one by one.

    Examples
    --------
    >>> from synovia.demo import range_of_motion
    >>> model = LimitModel.fit([range_of_motion(60)], "box", joints=["Head"])
    >>> repaired, report = repair(range_of_motion(60), model)
    >>> [stage.name for stage in report.stages]
    ['glitches', 'twist', 'keep', 'clamp']
    """
    unknown = [name for name in keep if name not in KEEP]
    if isinstance(keep, str) or unknown:
        raise ValueError(f"keep must be some of {', '.join(KEEP)}, got {keep!r:.80}")
    if limits is None or isinstance(limits, str):
        limits = limits_for(clip, limits or "human")
    if isinstance(limits, HumanLimits):
        human, rig, note = limits, limits.alignment.rig, ""
        model = human.model

        def clamp(given: Clip, like: Clip) -> Clip:
            return clamp_until_clean(human, given, max_speed=max_speed, like=like)[0]
    else:
        limits.match(clip.skeleton, names).warn(clip.name)
        model = limits.for_skeleton(clip.skeleton, names, clip=clip.name)
        rig, note = _recognize(clip)

        def clamp(given: Clip, like: Clip) -> Clip:
            return model.project(given, max_speed=max_speed, like=like)

    double = (array.astype(np.float64) for array in (clip.pose.rotations, clip.pose.positions))
    given = replace(clip, pose=Pose(*double))
    glitches = find_glitches(given.pose.rotations, clip.frame_time, max_speed)
    effectors, clips = Effectors.of(rig, given, ()), [given]
    for stage in progress(STAGES):
        current = clips[-1]
        if stage == "glitches":
            rotations = interpolate_glitches(current.pose.rotations, glitches)
            current = replace(current, pose=current.pose.with_rotations(rotations))
            effectors = Effectors.of(rig, current, keep)
        elif stage == "twist":
            current = redistribute_twist(model, current, max_speed)
        elif stage == "keep":
            current, legal = _keep(model, effectors, clips[1], current, max_speed)
        else:
            dtypes = clip.pose.rotations.dtype, clip.pose.positions.dtype
            arrays = legal.pose.rotations, legal.pose.positions
            rounded = (each.astype(dtype) for each, dtype in zip(arrays, dtypes, strict=True))
            current = clamp(replace(legal, pose=Pose(*rounded)), clips[1])
        clips.append(current)
    repaired = clips[-1]
    not_kept = find_not_kept(effectors, repaired.pose)
    kept = np.ones(clip.frames, np.bool_)
    for frames in not_kept.values():
        kept[frames] = False
    return repaired, RepairReport(
        clip.name,
        tuple(
            compare_stage(stage, *pair, effectors)
            for stage, pair in zip(STAGES, pairwise(clips), strict=True)
        ),
        frames_by_joint(clip.skeleton, glitches),
        tuple(keep),
        kept,
        not_kept,
        frames_by_joint(clip.skeleton, find_long_steps(model, clip, repaired, max_speed)),
        MILLIMETRES * effectors.height * clip.skeleton.unit,
        note,
    )


def _recognize(clip: Clip) -> tuple[Rig, str]:
    """Return the rig of a clip and "", or a rig without roles and the reason if it is no human."""
    try:
        return recognize_clip(clip), ""
    except NotHumanError as error:
        return Rig(clip.skeleton, {}, {}, "names"), f"nothing is kept in place: {error}"


def _keep(
    model: LimitModel, effectors: Effectors, clip: Clip, current: Clip, max_speed: float
) -> tuple[Clip, Clip]:
    """Return `current` with frames that inverse kinematics made legal, and a legal clip.

    `clip` is the input without glitches, whose steps bound those of the result. The legal clip is
    the first with all other frames clamped.
    """
    legal = model.project(current, max_speed=max_speed, like=clip)
    if not effectors.points and effectors.head is None:
        return current, legal
    root = 0 if set(POSITIONS) <= set(clip.skeleton.channels[0]) else None
    moved = Repositioning(model, effectors, root).solve(legal)
    blended = blend_long_steps(model, clip, legal, moved, effectors.height, max_speed)
    solved = (blended.pose.rotations != legal.pose.rotations).any(axis=(1, 2))[:, None, None]
    pose = Pose(
        np.where(solved, blended.pose.rotations, current.pose.rotations),
        np.where(solved, blended.pose.positions, current.pose.positions),
    )
    return replace(current, pose=pose), blended
