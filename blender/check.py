# SPDX-License-Identifier: GPL-3.0-or-later
"""What an action does that limits do not allow: rows for the list, markers, colours on bones."""

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

MARK = "Outside: "
"""What the names of our pose markers begin with."""
PALETTE = "THEME01"
"""The palette of bones that are outside or impossible: red in Blender's themes."""
UNUSUAL_PALETTE = "THEME04"
"""The palette of bones that are only unusual: blue in Blender's themes."""
MOST_ROWS = 1000


@dataclass(frozen=True)
class Stretch:
    """A bone that is outside over frames in a row, and where it is worst there, in radians."""

    bone: str
    first: int
    last: int
    frame: int
    worst: float
    verdict: str


def check_action(thing: Any, action: Any, scene: Any) -> Report:
    """Return how far, where and how often an action leaves the limits of an armature object."""
    limits = bound(thing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joints that are not there were named before
        report = limits.model.check(clip_of(thing, action, limits.rig, scene))
    unusual = None if report.unusual is None else _without_rounding(report.unusual)
    return replace(_without_rounding(report), unusual=unusual)


def _without_rounding(report: Report) -> Report:
    """Return a report without violations of less than single precision."""
    violation = np.where(report.violation > ROUNDING, report.violation, 0.0)
    return replace(report, violation=violation)


def stretches(report: Report, start: int) -> list[Stretch]:
    """Return where bones are outside, the worst first; `start` is the number of the first frame.

    Bones that are only unusual come after all others.
    """
    found = []
    for k, name in enumerate(report.names):
        for first, last in runs(report.outside[:, k]):
            angles = report.violation[first : last + 1, k]
            frames = (start + first, start + last, start + first + int(angles.argmax()))
            found.append(Stretch(name, *frames, float(angles.max()), report.verdict))
    found.sort(key=lambda each: (-each.worst, each.bone, each.first))
    return found if report.unusual is None else [*found, *stretches(report.unusual, start)]


def runs(mask: Mask) -> Iterable[tuple[int, int]]:
    """Yield the first and the last place of each run of true values (n,)."""
    edges = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return zip(firsts.tolist(), (ends - 1).tolist(), strict=True)


def show_report(thing: Any, action: Any, report: Report) -> None:
    """Fill the list of an armature object, mark the action, and colour the bones."""
    settings = thing.synovia
    found = stretches(report, frames_of(action).start)
    settings.rows.clear()
    for each in found[:MOST_ROWS]:
        row = settings.rows.add()
        row.name = row.bone = each.bone
        row.first, row.last, row.frame, row.worst = each.first, each.last, each.frame, each.worst
        row.verdict = each.verdict
    settings.row = -1  # none, so that nothing jumps
    settings.summary = summarize(report, action.name)
    clear_markers(action)
    marked: dict[str, str] = {}
    for each in found:
        if each.bone not in marked:
            marked[each.bone] = UNUSUAL_PALETTE if each.verdict == "unusual" else PALETTE
            name = f"{MARK}{each.bone} {np.degrees(each.worst):.0f}°"
            action.pose_markers.new(name[:63]).frame = each.frame
    paint(thing, marked)


def summarize(report: Report, name: str) -> str:
    """Return a line about an action."""
    frames, joints = len(report.violation), len(report.judged)
    parts = []
    for part in report.verdicts:
        outside, bones = (int(part.outside.any(axis=axis).sum()) for axis in (1, 0))
        if outside:
            parts.append(f"{outside} of {frames} frames {part.verdict}, {bones} of {joints} joints")
    return f"{name}: {'; '.join(parts) or f'inside, all of {joints} joints in {frames} frames'}"


def clear_markers(action: Any) -> None:
    """Remove our markers of an action."""
    for marker in list(action.pose_markers):
        if marker.name.startswith(MARK):
            action.pose_markers.remove(marker)


def paint(thing: Any, palettes: Mapping[str, str]) -> None:
    """Colour bones by their palettes, and give others that we coloured their colours back."""
    painted = thing.synovia.painted
    for each in painted:
        bone = thing.pose.bones.get(each.bone)
        if bone is not None and bone.color.palette in (PALETTE, UNUSUAL_PALETTE):
            bone.color.palette = each.palette
    painted.clear()
    for name in sorted(palettes):
        color = thing.pose.bones[name].color
        each = painted.add()
        each.bone, each.palette = name, color.palette
        color.palette = palettes[name]


def clear(thing: Any) -> None:
    """Take back all that a check showed."""
    settings = thing.synovia
    settings.rows.clear()
    settings.summary = ""
    paint(thing, {})
    data = thing.animation_data
    if data is not None and data.action is not None:
        clear_markers(data.action)
