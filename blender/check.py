# SPDX-License-Identifier: GPL-3.0-or-later
"""Violations of an action: rows of the list, markers, and colours of bones."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synovia import Report
from synovia.arrays import Mask

from .action import clip_of, frames_of
from .limits import ROUNDING, bound

MARKER_PREFIX = "Outside: "
"""Prefix of the names of the extension's pose markers."""
PALETTE = "THEME01"
"""The palette of bones that are outside or impossible: red in Blender's themes."""
UNUSUAL_PALETTE = "THEME04"
"""The palette of bones that are only unusual: blue in Blender's themes."""
MAX_ROWS = 1000  # of the list, which Blender draws slowly beyond


@dataclass(frozen=True)
class Stretch:
    """Frames `first` to `last` in which a bone is outside; `worst` is its violation at `frame`."""

    bone: str
    first: int
    last: int
    frame: int
    worst: float
    """The largest violation, in radians."""
    verdict: str


def check_action(armature: Any, action: Any, scene: Any) -> Report:
    """Return the violations of an armature object's limits by an action."""
    limits = bound(armature)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing joints were reported when limits were opened
        report = limits.model.check(clip_of(armature, action, limits.rig, scene))
    unusual = None if report.unusual is None else _without_rounding(report.unusual)
    return replace(_without_rounding(report), unusual=unusual)


def _without_rounding(report: Report) -> Report:
    """Return a report without violations within rounding of single precision."""
    violation = np.where(report.violation > ROUNDING, report.violation, 0.0)
    return replace(report, violation=violation)


def stretches(report: Report, start: int) -> list[Stretch]:
    """Return the stretches of frames outside, the worst first, unusual ones after impossible ones.

    `start` is the number of the first frame.
    """
    result = []
    for k, name in enumerate(report.names):
        for first, last in runs(report.outside[:, k]):
            angles = report.violation[first : last + 1, k]
            frames = (start + first, start + last, start + first + int(angles.argmax()))
            result.append(Stretch(name, *frames, float(angles.max()), report.verdict))
    result.sort(key=lambda stretch: (-stretch.worst, stretch.bone, stretch.first))
    return result if report.unusual is None else [*result, *stretches(report.unusual, start)]


def runs(mask: Mask) -> Iterable[tuple[int, int]]:
    """Return pairs of first and last index of each run of true values of a mask (n,)."""
    edges = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return zip(firsts.tolist(), (ends - 1).tolist(), strict=True)


def show_report(armature: Any, action: Any, report: Report) -> None:
    """Fill the list of an armature object, mark the action, and colour the bones."""
    settings = armature.synovia
    rows = stretches(report, frames_of(action).start)
    settings.rows.clear()
    for stretch in rows[:MAX_ROWS]:
        row = settings.rows.add()
        row.name = stretch.bone
        for field in ("bone", "first", "last", "frame", "worst", "verdict"):
            setattr(row, field, getattr(stretch, field))
    settings.row = -1  # none, so that the current frame stays
    settings.summary = summarize(report, action.name)
    clear_markers(action)
    marked: dict[str, str] = {}
    for stretch in rows:
        if stretch.bone not in marked:
            marked[stretch.bone] = UNUSUAL_PALETTE if stretch.verdict == "unusual" else PALETTE
            name = f"{MARKER_PREFIX}{stretch.bone} {np.degrees(stretch.worst):.0f}°"
            action.pose_markers.new(name[:63]).frame = stretch.frame
    paint(armature, marked)


def summarize(report: Report, name: str) -> str:
    """Return a line with the counts of frames and joints outside."""
    frames, joints = len(report.violation), len(report.judged)
    parts = []
    for part in report.verdicts:
        outside, bones = (int(part.outside.any(axis=axis).sum()) for axis in (1, 0))
        if outside:
            parts.append(f"{outside} of {frames} frames {part.verdict}, {bones} of {joints} joints")
    return f"{name}: {'; '.join(parts) or f'inside, all of {joints} joints in {frames} frames'}"


def clear_markers(action: Any) -> None:
    """Remove the extension's markers from an action."""
    for marker in list(action.pose_markers):
        if marker.name.startswith(MARKER_PREFIX):
            action.pose_markers.remove(marker)


def paint(armature: Any, palettes: Mapping[str, str]) -> None:
    """Set the palettes of bones by name, and restore all other bones painted before."""
    painted = armature.synovia.painted
    for row in painted:
        bone = armature.pose.bones.get(row.bone)
        if bone is not None and bone.color.palette in (PALETTE, UNUSUAL_PALETTE):
            bone.color.palette = row.palette
    painted.clear()
    for name in sorted(palettes):
        color = armature.pose.bones[name].color
        row = painted.add()
        row.bone, row.palette = name, color.palette
        color.palette = palettes[name]


def clear(armature: Any) -> None:
    """Remove rows, markers and colours of a check."""
    settings = armature.synovia
    settings.rows.clear()
    settings.summary = ""
    paint(armature, {})
    data = armature.animation_data
    if data is not None and data.action is not None:
        clear_markers(data.action)
