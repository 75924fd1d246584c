"""Repair of the clip on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Floats
from ..repairs import RepairReport, StageReport, repair
from .angles import human_limits_of
from .session import Session


@dataclass(frozen=True, kw_only=True)
class RepairRequest:
    """A request to repair the clip: what to keep of hands, feet and head."""

    keep: list[Literal["hands", "feet", "head"]]


@dataclass(frozen=True, kw_only=True)
class RepairStage:
    """What one stage of a repair changed."""

    name: str
    joints: int
    frames: int
    deg: float
    """The largest rotation of a joint in degrees; `joint` is its name."""
    joint: str
    moved: float
    """How far a hand or a foot in contact moved at most, in `unit`."""
    unit: str


@dataclass(frozen=True, kw_only=True)
class Repaired:
    """A repaired clip: its motion, what was changed, and how far it is outside now."""

    frames: int
    """Number of frames that changed."""
    stages: list[RepairStage]
    glitches: dict[str, int]
    """By joint, the number of frames, as below."""
    not_kept: dict[str, int]
    over: dict[str, int]
    share_kept: float
    note: str
    moving: list[int]
    """The joints whose positions change, in the order of `positions`."""
    outside_deg: Floats
    rotations: Floats
    positions: Floats


def repair_clip(session: Session, request: RepairRequest) -> Repaired:
    """Return the repaired clip and the report of `synovia repair`.

    The clip of the page does not change; `export` offers the repaired one as a file.
    """
    scene = session.scene
    clip = scene.clip
    repaired, report = repair(clip, human_limits_of(session) or scene.model, request.keep)
    session.repaired = clip, repaired
    before, after = clip.pose.positions, repaired.pose.positions
    moves = ((before != clip.skeleton.offsets) | (before != after)).any(axis=(0, 2))
    return Repaired(
        frames=len(report.changed),
        stages=[_describe(report, stage) for stage in report.stages],
        glitches={name: len(frames) for name, frames in report.glitches.items()},
        not_kept={name: len(frames) for name, frames in report.not_kept.items()},
        over={name: len(frames) for name, frames in report.over.items()},
        share_kept=report.share_kept,
        note=report.note,
        moving=np.flatnonzero(moves).tolist(),
        outside_deg=np.degrees(scene.model.check(repaired).signed_violation),
        rotations=repaired.pose.rotations,
        positions=after[:, moves],
    )


def _describe(report: RepairReport, stage: StageReport) -> RepairStage:
    """Return the joints and frames that a stage changed, and by how much."""
    return RepairStage(
        name=stage.name,
        joints=len(stage.joints),
        frames=len(stage.frames),
        deg=float(np.degrees(stage.max_rotation)),
        joint=stage.max_rotation_joint,
        moved=stage.max_displacement * (report.millimetres or 100.0),
        unit="mm" if report.millimetres else "% of the height",
    )
