"""Bounds on the contents of files: sizes of numbers, and how many a file can hold."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..skeleton import Skeleton

MAX_NAME = 1000  # characters of a joint's name
MAX_JOINTS = 20_000  # of a skeleton in a file
MAX_ANGLE_DEG = 1e6  # larger angles and rotation vectors are taken for mistakes
MAX_ANGLE = float(np.radians(MAX_ANGLE_DEG))  # radians
MAX_LENGTH = 1e9  # in the file's unit: larger lengths are taken for mistakes
MIN_FRAME_TIME, MAX_FRAME_TIME = 1e-6, 1e4  # seconds
MAX_EXPANSION = 200  # bytes of compressed content per byte of its file
SMALL_CONTENT = 2**26  # bytes of compressed content that any file may have


def check_numbers(location: str, values: Floats, limit: float, unit: str = "") -> None:
    """Raise ValueError unless all are finite and at most `limit`; frames come first."""
    fine = np.abs(values) <= limit
    if not fine.all():
        where = np.argwhere(~fine)[0].tolist()
        raise ValueError(
            f"{location}: expected finite numbers of at most {limit:.4g}{unit and ' '}{unit}, "
            f"got {values[tuple(where)]} at {where}"
        )


def check_skeleton(skeleton: Skeleton, limit: float = MAX_LENGTH) -> None:
    """Raise ValueError for too many joints, or offsets beyond `limit`, in the file's unit."""
    if len(skeleton) > MAX_JOINTS:
        raise ValueError(f"expected at most {MAX_JOINTS} joints, got {len(skeleton)}")
    check_numbers("offsets of joints", skeleton.offsets, limit)
    check_numbers("offsets of end sites", skeleton.end_offsets, limit)


def check_frame_time(location: str, seconds: float) -> float:
    """Return `seconds`; ValueError unless it is a plausible time from frame to frame."""
    if not MIN_FRAME_TIME <= seconds <= MAX_FRAME_TIME:
        raise ValueError(
            f"{location}: expected {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g} seconds from frame to "
            f"frame, got {seconds:g}"
        )
    return seconds


def check_content(location: str, content: int, file: int) -> None:
    """Raise ValueError if a file of `file` bytes declares too many bytes of `content`."""
    allowed = max(SMALL_CONTENT, MAX_EXPANSION * file)
    if content > allowed:
        raise ValueError(
            f"{location}: expected at most {allowed} bytes in a file of {file}, got {content}"
        )
