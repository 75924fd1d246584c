"""Bounds on the contents of files: sizes of numbers, and how many a file can hold."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..skeleton import Clip, Skeleton

MAX_JOINTS = 20_000  # of a skeleton in a file
MAX_LENGTH = 1e9  # in the file's unit: larger lengths are taken for mistakes
MIN_FRAME_TIME, MAX_FRAME_TIME = 1e-6, 1e4  # seconds


def check_numbers(what: str, values: Floats, limit: float) -> None:
    """Raise ValueError unless all numbers are finite and at most `limit`."""
    fine = np.abs(values) <= limit
    if not fine.all():
        where = np.argwhere(~fine)[0].tolist()
        raise ValueError(
            f"{what}: expected finite numbers of at most {limit:.4g}, "
            f"got {values[tuple(where)]} at {where}"
        )


def check_skeleton(skeleton: Skeleton, limit: float = MAX_LENGTH) -> None:
    """Raise ValueError for too many joints, or offsets beyond `limit`, in the file's unit."""
    if len(skeleton) > MAX_JOINTS:
        raise ValueError(f"expected at most {MAX_JOINTS} joints, got {len(skeleton)}")
    check_numbers("offsets of joints", skeleton.offsets, limit)
    check_numbers("offsets of end sites", skeleton.end_offsets, limit)


def check_clip(clip: Clip) -> None:
    """Raise ValueError for implausible lengths, positions, or times from frame to frame."""
    check_skeleton(clip.skeleton)
    check_frame_time(clip.frame_time)
    fine = np.abs(clip.pose.positions) <= MAX_LENGTH
    if not fine.all():
        frame, joint, axis = np.argwhere(~fine)[0].tolist()
        raise ValueError(
            f"expected positions of at most {MAX_LENGTH:g}, got "
            f"{clip.pose.positions[frame, joint, axis]} for {clip.skeleton.names[joint]:.60} in "
            f"frame {frame}"
        )


def check_frame_time(seconds: float) -> float:
    """Return `seconds`; ValueError unless it is a plausible time from frame to frame."""
    if not MIN_FRAME_TIME <= seconds <= MAX_FRAME_TIME:
        raise ValueError(
            f"expected {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g} seconds from frame to frame, "
            f"got {seconds:g}"
        )
    return seconds
