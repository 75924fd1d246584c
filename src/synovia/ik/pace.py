"""Pace: from frame to frame joints turn as the clip does, and beyond that only so fast."""

from __future__ import annotations

import math

import numpy as np

from .. import quat
from ..arrays import Quats
from ..clip import Clip
from ..model import LimitModel
from ..skeleton import Pose
from .frames import pose_at

FASTEST = math.radians(600.0)
"""Radians a second by which a joint may turn away from what the clip does, unless given."""
RETURN = 0.1
"""Seconds in which a joint that nothing keeps away comes back to the clip, but for a third."""

SHRINKS = 4  # times that a turn is made smaller where projection makes it larger


def largest_turn(fastest: float, clip: Clip) -> float:
    """Return the angle, in radians, that a speed in radians a second allows in a frame."""
    if not 0.0 < fastest < math.inf:
        raise ValueError(f"fastest must be above 0 radians a second and finite, got {fastest!r}")
    return fastest * clip.frame_time


def moved_on(model: LimitModel, last: Pose, clip: Clip, frame: int) -> Pose:
    """Return the pose of the frame before, moved on as the clip moves, and made legal."""
    before, now = pose_at(clip.pose, frame - 1), pose_at(clip.pose, frame)
    turn = quat.mul(quat.inverse(before.rotations), now.rotations)
    turned = quat.normalize(quat.mul(last.rotations, turn))
    same = (last.rotations == before.rotations).all(axis=-1, keepdims=True)
    away = last.positions - before.positions
    pose = Pose(np.where(same, now.rotations, turned), now.positions + away * _kept(clip))
    return model.project(pose)


def drawn_back(start: Pose, clip: Clip, frame: int) -> Pose:
    """Return `start` with its joints turned back to the clip's by what one frame brings."""
    there = clip.pose.rotations[frame]
    back = quat.slerp(start.rotations, there, 1.0 - _kept(clip))
    return Pose(quat.normalize(back), start.positions)


def _kept(clip: Clip) -> float:
    """Return the share of a deviation that is left after a frame."""
    return math.exp(-clip.frame_time / RETURN)


def held_back(model: LimitModel, start: Quats, wanted: Quats, most: float) -> Quats | None:
    """Return `wanted` with no joint farther than `most` radians from `start`; None if none is."""
    angles = quat.angle_between(start, wanted)
    if angles.max() <= most * (1.0 + 1e-9):
        return None
    share = np.minimum(1.0, most / np.maximum(angles, most))
    for _ in range(SHRINKS):
        halted = quat.normalize(quat.slerp(start, wanted, share))
        pose = Pose(np.where((share < 1.0)[:, None], halted, wanted), np.zeros((len(start), 3)))
        legal = model.project(pose).rotations
        angles = quat.angle_between(start, legal)
        if angles.max() <= most * (1.0 + 1e-9):
            break
        share = share * np.minimum(1.0, most / np.maximum(angles, most))
    return legal
