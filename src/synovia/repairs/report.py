"""Reports of repairs: what each stage changed, and what could not be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Scalars
from ..skeleton import Clip, Pose, Skeleton, forward
from .effectors import POSITION_TOLERANCE, ROTATION_TOLERANCE, Effectors

MILLIMETRES = 1000.0  # in a metre


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
        found = [f"changed {len(self.changed)} of {len(self.kept)} frames"]
        if self.note:
            found.append(self.note)
        elif self.keep:
            share = f"{100.0 * self.share_kept:.1f} %"
            found.append(f"{', '.join(self.keep)} kept in {share} of these frames")
        for words, frames in (
            ("glitches interpolated", self.glitches),
            ("could not keep", self.not_kept),
            ("steps over the bound", self.over),
        ):
            found += [f"{words}: {name}, {len(each)} frames" for name, each in frames.items()]
        return found

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
    return StageReport(
        name,
        names,
        np.flatnonzero(changed.any(axis=1) | slid),
        float(largest.max(initial=0.0)),
        names[int(largest.argmax())] if names else "",
        float(_displacement(before, after, effectors).max(initial=0.0)) / effectors.height,
    )


def _displacement(before: Clip, after: Clip, effectors: Effectors) -> Scalars:
    """Return the distances (frames, P) between points in contact of two clips; 0 for others."""
    ends = [forward(before.skeleton, clip.pose)[0] for clip in (before, after)]
    one, other = (positions[:, list(effectors.points)] for positions in ends)
    return np.where(effectors.in_contact, np.linalg.norm(one - other, axis=-1), 0.0)


def find_not_kept(effectors: Effectors, pose: Pose) -> dict[str, Ints]:
    """Return the frames in which effectors are not where they were, by joint."""
    moved, angle = effectors.errors(pose)
    lost = effectors.in_contact & (moved > POSITION_TOLERANCE * effectors.height)
    names = effectors.skeleton.names
    found: dict[str, Ints] = {
        names[joint]: np.flatnonzero(lost[:, k])
        for k, joint in enumerate(effectors.points)
        if lost[:, k].any()
    }
    if effectors.head is not None and (angle > ROTATION_TOLERANCE).any():
        found[names[effectors.head]] = np.flatnonzero(angle > ROTATION_TOLERANCE)
    return found
