"""Clips checked and clamped: each constraint's joints, over all frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Ints
from ..learn import Progress
from ..limit.softening import Softening
from ..skeleton import Clip
from .clamp import step_bounds
from .report import ClampReport, Held, Report

if TYPE_CHECKING:
    from .model import LimitModel


MAX_ROUNDS = 8  # of projections onto several models; one is enough where the last is the widest


def clamp_clip(
    models: Sequence[LimitModel],
    clip: Clip,
    *,
    like: Clip,
    softening: Softening | None,
    max_speed: float,
    progress: Progress,
) -> tuple[Clip, ClampReport]:
    """Return a legal clip, and a report of the legal frames that moved and of long steps.

    The models are of the clip's skeleton. With several, the clip is projected onto one after
    another until all are met; the result is legal in the last one. The options are those of
    `LimitModel.project_clip`.
    """
    legal, moved, over = clip, dict[str, Ints](), dict[str, Ints]()
    for _ in range(MAX_ROUNDS):
        for model in models:
            placed = {each.constraint.joints[0]: each for each in model.placed}
            rotations = legal.pose.rotations.copy()
            for name in progress(list(placed)):
                seen = placed[name].relative(like.pose.rotations)
                bounds = step_bounds(seen, clip.frame_time, max_speed)
                clamped = placed[name].clamp_paths(rotations, bounds, softening)
                for frames, mask in ((moved, clamped.moved), (over, clamped.over)):
                    columns = zip(placed[name].constraint.joints, mask.T, strict=True)
                    frames |= {joint: np.flatnonzero(c) for joint, c in columns if c.any()}
            legal = replace(legal, pose=legal.pose.with_rotations(rotations))
        if softening is not None or all(model.check(legal).ok for model in models[:-1]):
            break
    return legal, ClampReport(clip.name, moved, over)


def check_clip(
    model: LimitModel, clip: Clip, names: Mapping[str, str], *, progress: Progress
) -> Report:
    """Return how far, where and how often a clip leaves the limits of its skeleton.

    `names` are those of the joints in the report, by their names in the clip.
    """
    placed = {each.constraint.joints[0]: each for each in model.placed}
    columns = {name: column for column, name in enumerate(model.names)}
    violation = np.zeros((clip.frames, len(columns)))
    held: dict[str, Held] = {}
    for name in progress(list(placed)):
        constraint = placed[name].constraint
        relative = placed[name].relative(clip.pose.rotations)
        angles = constraint.violation(relative)
        for joint, path in zip(constraint.joints, angles.T, strict=True):
            if joint in columns:
                violation[:, columns[joint]] = path
        held |= constraint.held_frames(relative, angles)
    return Report(
        clip.name,
        tuple(names[name] for name in columns),
        violation,
        clip.frame_time,
        {names[name]: replace(each, driver=names[each.driver]) for name, each in held.items()},
    )
