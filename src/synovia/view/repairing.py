"""Repair of the clip on the page."""

from __future__ import annotations

import numpy as np

from ..repairs import RepairReport, repair
from .angles import human_limits_of
from .protocol import Refusal
from .protocol.poses import Repaired, RepairStage
from .protocol.requests import RepairRequest
from .session import Session


def repair_clip(session: Session, request: RepairRequest) -> Repaired | Refusal:
    """Return the repaired clip and the report of `synovia repair`.

    The clip of the page does not change; `export` offers the repaired one as a file.
    """
    scene = session.scene
    clip = scene.clip
    try:
        repaired, report = repair(clip, human_limits_of(session) or scene.model, request.keep)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    session.repaired = clip, repaired
    moving = (np.abs(clip.pose.positions - clip.skeleton.offsets) > 0.0).any(axis=(0, 2))
    slid = (clip.pose.positions != repaired.pose.positions).any(axis=(0, 2))
    checked = scene.model.check(repaired)
    return {
        "frames": len(report.changed),
        "stages": [_describe(report, k) for k in range(len(report.stages))],
        "glitches": {name: len(frames) for name, frames in report.glitches.items()},
        "notKept": {name: len(frames) for name, frames in report.not_kept.items()},
        "over": {name: len(frames) for name, frames in report.over.items()},
        "shareKept": report.share_kept,
        "note": report.note,
        "moving": np.flatnonzero(moving | slid).tolist(),
        "outsideDeg": np.degrees(checked.signed_violation),
        "rotations": repaired.pose.rotations,
        "positions": repaired.pose.positions[:, moving | slid],
    }


def _describe(report: RepairReport, k: int) -> RepairStage:
    """Return the joints and frames that a stage changed, and by how much."""
    stage = report.stages[k]
    return {
        "name": stage.name,
        "joints": len(stage.joints),
        "frames": len(stage.frames),
        "deg": float(np.degrees(stage.max_rotation)),
        "joint": stage.max_rotation_joint,
        "moved": stage.max_displacement * (report.millimetres or 100.0),
        "unit": "mm" if report.millimetres else "% of the height",
    }
