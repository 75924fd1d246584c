"""Conversion of clips to another up axis, unit of length or frame rate.

Rotations of joints other than roots stay unchanged, bit for bit, so that limits hold as before.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..quat import exp, mul, rotate, slerp
from .skeleton import Axis, Clip, Pose

MAX_FRAMES = 10**9  # more, 96 days at 120 Hz, are a mistake
_UPRIGHT = {
    "x": exp(np.array([0.0, 0.0, np.pi / 2])),
    "y": exp(np.zeros(3)),
    "z": exp(np.array([-np.pi / 2, 0.0, 0.0])),
}
"""Rotations that take each axis to y."""


def with_up(clip: Clip, up: Axis) -> Clip:
    """Return `clip` in a world with another up axis: rotations and positions of roots change.

    The skeleton at rest stays as it is. Clips without an up axis are taken to be y up.
    """
    if not up:
        raise ValueError("up must be x, y or z, got nothing")
    old = clip.skeleton.up or "y"
    skeleton = replace(clip.skeleton, up=up)
    if old == up:
        return replace(clip, skeleton=skeleton)
    turn = mul(_UPRIGHT[up] * np.array([1.0, -1.0, -1.0, -1.0]), _UPRIGHT[old])
    roots = np.flatnonzero(skeleton.parents < 0)
    rotations, positions = np.array(clip.pose.rotations), np.array(clip.pose.positions)
    rotations[:, roots] = mul(turn, rotations[:, roots])
    positions[:, roots] = rotate(turn, positions[:, roots])
    return replace(clip, skeleton=skeleton, pose=Pose(rotations, positions))


def with_unit(clip: Clip, unit: float) -> Clip:
    """Return `clip` with lengths in units of `unit` metres.

    Raises ValueError if the unit of the clip's skeleton is unknown.
    """
    skeleton = clip.skeleton
    if not 0.0 < unit < math.inf:
        raise ValueError(f"unit must be metres above 0, got {unit}")
    if not skeleton.unit:
        raise ValueError(f"{clip.name}: this clip does not say what unit its lengths are in")
    if skeleton.unit == unit:
        return clip
    scale = skeleton.unit / unit
    skeleton = replace(
        skeleton,
        offsets=scale * skeleton.offsets,
        end_offsets=scale * skeleton.end_offsets,
        unit=unit,
    )
    return replace(
        clip, skeleton=skeleton, pose=Pose(clip.pose.rotations, scale * clip.pose.positions)
    )


def resample(clip: Clip, frame_time: float) -> Clip:
    """Return `clip` with frames `frame_time` seconds apart, from its first frame on.

    Rotations are interpolated by slerp, positions linearly. Motion after the last new frame is
    lost.
    """
    if not (frame_time > 0.0 and math.isfinite(frame_time)):
        raise ValueError(f"frame_time must be above 0 seconds and finite, got {frame_time}")
    if frame_time == clip.frame_time or clip.frames < 2:
        return replace(clip, frame_time=frame_time)
    ratio = frame_time / clip.frame_time
    # The last frame is kept if rounding puts it just beyond the end.
    count = math.floor((clip.frames - 1) / ratio * (1.0 + 1e-12) + 1e-9) + 1
    if count > MAX_FRAMES:
        raise ValueError(f"{clip.name}: expected at most {MAX_FRAMES} frames, got {count}")
    at = np.minimum(np.arange(count) * ratio, clip.frames - 1)
    before = np.minimum(at.astype(np.int64), clip.frames - 2)
    share = at - before
    rotations, positions = clip.pose.rotations, clip.pose.positions
    weight = share[:, None, None]
    pose = Pose(
        slerp(rotations[before], rotations[before + 1], share[:, None]),
        (1.0 - weight) * positions[before] + weight * positions[before + 1],
    )
    return replace(clip, pose=pose, frame_time=frame_time)
