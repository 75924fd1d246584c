"""repair: a clip that looks like the input, with every joint possible, and what that took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Ints, Mask
from ..learn import Progress
from ..model import LimitModel
from ..model.clamp import MAX_SPEED
from ..population import HumanLimits, Source, clamp_until_clean, limits_for, recognize_clip
from ..rigs import NotHumanError, Rig
from ..skeleton import POSITIONS, Clip, Pose, Skeleton, forward
from .effectors import KEEP, Effectors
from .paths import (
    find_glitches,
    interpolate_glitches,
    joint_step_bounds,
    measured_steps,
    redistribute_twist,
)
from .reposition import Repositioning, blend_long_steps

STAGES = ("glitches", "twist", "keep", "clamp")
"""Names of the stages, in order."""
MILLIMETRES = 1000.0  # in a metre
NOTABLE_EXCESS = 1e-3  # radians over the bound that are reported; rounding of float32 is less


@dataclass(frozen=True, eq=False)
class StageReport:
    """What one stage of a repair changed."""

    name: str
    joints: tuple[str, ...]
    """Joints that rotated."""
    frames: Ints
    """Indices of the frames that changed."""
    max_rotation: float
    """Largest rotation of a joint, in radians."""
    max_rotation_joint: str
    """The joint with the largest rotation; empty if none rotated."""
    max_displacement: float
    """Largest displacement of a hand or of a foot in contact, as a share of the body's height."""


@dataclass(frozen=True, eq=False)
class RepairReport:
    """What it took to repair a clip. Frames count from 0."""

    clip: str
    stages: tuple[StageReport, ...]
    glitches: Mapping[str, Ints]
    """Frames that were interpolated, by joint."""
    keep: tuple[str, ...]
    """What was to be kept: some of "hands", "feet" and "head"."""
    kept: Mask
    """(frames,): True where hands, feet in contact and head are where they were, within 0.3 % of
    the height and 3 degrees."""
    not_kept: Mapping[str, Ints]
    """Frames in which a hand, a foot in contact or the head is not where it was, by joint."""
    over: Mapping[str, Ints]
    """Frames to which the step of a joint exceeds the bound, by joint: no legal path within it
    was found."""
    millimetres: float
    """Height of the body in millimetres; 0 if the unit of length is unknown."""
    note: str = ""
    """Why nothing could be kept; empty if something could."""

    @property
    def changed(self) -> Ints:
        """Indices of the frames that some stage changed."""
        return np.unique(np.concatenate([stage.frames for stage in self.stages]))

    @property
    def share_kept(self) -> float:
        """Share of the changed frames in which everything was kept; 1 if none changed."""
        changed = self.changed
        return float(self.kept[changed].mean()) if len(changed) else 1.0

    def describe(self) -> list[str]:
        """Return sentences about what changed, what was kept and what could not be."""
        if not len(self.changed):
            return ["nothing to repair"]
        lines = [f"changed {len(self.changed)} of {len(self.kept)} frames"]
        if self.note:
            lines.append(self.note)
        elif self.keep:
            share = f"{100.0 * self.share_kept:.1f} %"
            lines.append(f"{', '.join(self.keep)} kept in {share} of these frames")
        for words, frames in (
            ("glitches interpolated", self.glitches),
            ("could not keep", self.not_kept),
            ("steps over the bound", self.over),
        ):
            lines += [f"{words}: {name}, {len(indices)} frames" for name, indices in frames.items()]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, in degrees, for JSON."""
        return {
            "clip": self.clip,
            "frames": len(self.kept),
            "frames_changed": len(self.changed),
            "share_kept": self.share_kept,
            "stages": [self._stage(stage) for stage in self.stages],
            "glitches": {name: frames.tolist() for name, frames in self.glitches.items()},
            "not_kept": {name: frames.tolist() for name, frames in self.not_kept.items()},
            "over_bound": {name: frames.tolist() for name, frames in self.over.items()},
            **({"note": self.note} if self.note else {}),
        }

    def _stage(self, stage: StageReport) -> dict[str, Any]:
        moved = stage.max_displacement
        return {
            "stage": stage.name,
            "joints": list(stage.joints),
            "frames": len(stage.frames),
            "max_rotation_deg": float(np.degrees(stage.max_rotation)),
            "max_rotation_joint": stage.max_rotation_joint,
            "max_displacement_percent": 100.0 * moved,
            **({"max_displacement_mm": moved * self.millimetres} if self.millimetres else {}),
        }


def frames_by_joint(skeleton: Skeleton, mask: Mask) -> dict[str, Ints]:
    """Return the frames of a mask (frames, J), by the names of the joints that have any."""
    columns = zip(skeleton.names, mask.T, strict=True)
    return {name: np.flatnonzero(column) for name, column in columns if column.any()}


def compare_stage(name: str, before: Clip, after: Clip, effectors: Effectors) -> StageReport:
    """Return the report of a stage that changed a clip."""
    skeleton = before.skeleton
    changed = (before.pose.rotations != after.pose.rotations).any(axis=-1)
    slid = (before.pose.positions != after.pose.positions).any(axis=(1, 2))
    joints = np.flatnonzero(changed.any(axis=0))
    angles = quat.angle_between(before.pose.rotations[:, joints], after.pose.rotations[:, joints])
    largest = angles.max(axis=0, initial=0.0)
    names = tuple(skeleton.names[joint] for joint in joints)
    one, other = (forward(skeleton, clip.pose)[0][:, effectors.points] for clip in (before, after))
    moved = np.linalg.norm(one - other, axis=-1)[effectors.in_contact]
    return StageReport(
        name,
        names,
        np.flatnonzero(changed.any(axis=1) | slid),
        float(largest.max(initial=0.0)),
        names[int(largest.argmax())] if names else "",
        float(moved.max(initial=0.0)) / effectors.height,
    )


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

    arrays = clip.pose.rotations, clip.pose.positions
    given = replace(clip, pose=Pose(*(array.astype(np.float64) for array in arrays)))
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
            rotations = legal.pose.rotations.astype(arrays[0].dtype)
            rounded = Pose(rotations, legal.pose.positions.astype(arrays[1].dtype))
            current = clamp(replace(legal, pose=rounded), clips[1])
        clips.append(current)
    repaired = clips[-1]
    lost = effectors.find_lost(repaired.pose)
    bounds = joint_step_bounds(model, clip, max_speed) + NOTABLE_EXCESS
    over = np.zeros(lost.shape, np.bool_)
    over[1:] = measured_steps(model, repaired) > bounds
    return repaired, RepairReport(
        clip.name,
        tuple(
            compare_stage(stage, *pair, effectors)
            for stage, pair in zip(STAGES, pairwise(clips), strict=True)
        ),
        frames_by_joint(clip.skeleton, glitches),
        tuple(keep),
        np.asarray(~lost.any(axis=1)),
        frames_by_joint(clip.skeleton, lost),
        frames_by_joint(clip.skeleton, over),
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
