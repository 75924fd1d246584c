"""What is believed of a file: numbers of a sane size, and no more of them than it can hold."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..skeleton import Skeleton

MAX_NAME = 1000
"""Characters that a joint's name may have."""
MAX_JOINTS = 20_000
"""Joints that a skeleton in a file may have."""
MAX_ANGLE_DEG = 1e6
MAX_ANGLE = float(np.radians(MAX_ANGLE_DEG))
"""Radians: a rotation vector or an angle beyond this is a mistake."""
MAX_LENGTH = 1e9
"""In the file's own unit: so far away nothing is."""
MIN_FRAME_TIME, MAX_FRAME_TIME = 1e-6, 1e4
"""Seconds."""
MAX_EXPANSION = 200
SMALL_CONTENT = 2**26
"""Compressed content may take so many bytes, or `MAX_EXPANSION` times those of its file."""


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
    """Return `seconds`, a believable time from frame to frame; ValueError for others."""
    if not MIN_FRAME_TIME <= seconds <= MAX_FRAME_TIME:
        raise ValueError(
            f"{location}: expected {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g} seconds from frame to "
            f"frame, got {seconds:g}"
        )
    return seconds


def check_content(location: str, content: int, file: int) -> None:
    """Raise ValueError where a file of `file` bytes promises an unlikely `content` of bytes."""
    allowed = max(SMALL_CONTENT, MAX_EXPANSION * file)
    if content > allowed:
        raise ValueError(
            f"{location}: expected at most {allowed} bytes in a file of {file}, got {content}"
        )
