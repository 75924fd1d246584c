"""The BVH reader: takes what people have, and says where it cannot; see docs/bvh.md."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints
from ..clip import Clip
from ..skeleton import POSITIONS, Pose, Skeleton
from .bvh_hierarchy import LINE_END, Source, numbers, read_hierarchy, shown

MOST_FRAMES = 10**9
"""A count of frames from here on is a mistake, not a clip."""
MOST_STILL_POSES = 10**6
"""So many frames times joints are believed of a file without channels, which has no rows."""

_FRAMES = re.compile(rb"Frames\s*:\s*(\d+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"Frame\s*Time\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(rb"\S*")
_WORD_END = re.compile(rb"\S*\Z")
_ROWS_AT_ONCE = 256


def read_bvh(path: Path) -> Clip:
    """Return the clip in the BVH file at `path`."""
    source = Source(str(path), path.read_bytes())
    hierarchy = read_hierarchy(source)
    skeleton = hierarchy.skeleton()
    declared, frame_time = _motion_header(source, len(skeleton), hierarchy.width)
    table = _rows(source, hierarchy.width, declared)
    for message in source.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    return Clip(skeleton, _pose(skeleton, table), frame_time, name=path.stem)


def _motion_header(source: Source, joints: int, width: int) -> tuple[int, float]:
    """Return the number of frames that the file declares, and the seconds between them."""
    match = _FRAMES.fullmatch(source.advance("Frames:"))
    digits = match[1].lstrip(b"0") if match else b""
    if not match or len(digits) > len(str(MOST_FRAMES)) or int(digits or b"0") >= MOST_FRAMES:
        source.fail(f"expected Frames: and a count from 0 to {MOST_FRAMES - 1}")
    declared = int(digits or b"0")
    if width == 0 and declared * joints > MOST_STILL_POSES:
        source.fail(f"expected at most {MOST_STILL_POSES // joints} frames without channels")
    match = _FRAME_TIME.fullmatch(source.advance("Frame Time:"))
    seconds = numbers(match[1]) if match else None
    if seconds is None or len(seconds) != 1 or seconds[0] <= 0.0:
        source.fail("expected Frame Time: and seconds above 0")
    return declared, seconds[0]


def _rows(source: Source, width: int, declared: int) -> Floats:
    """Return the numbers of the rest of the file, one row of `width` a frame."""
    values, per_line = _scan(source)
    if width == 0 and not values.size:
        return np.zeros((declared, 0))
    lines = np.flatnonzero(per_line)
    counts = per_line[lines]
    short = counts < width
    starts = np.cumsum(counts) - counts
    if short.any() and short.all():
        starts = starts[_wrapped(source, width, lines, counts)]
    elif short.any():
        place = int(short.argmax())
        source.fail_at(
            source.number + 1 + int(lines[place]),
            f"expected {width} numbers, as many as there are channels",
            f"{counts[place]}",
        )
    elif extra := int(values.size - width * counts.size):
        source.warnings.append(
            f"dropped {extra} numbers at the ends of {int((counts > width).sum())} rows: "
            f"there are {width} channels"
        )
    if width == 0:
        return np.zeros((declared, 0))
    if starts.size != declared:
        source.warnings.append(f"Frames: says {declared}, kept the {starts.size} there are")
    if values.size == width * starts.size:
        return values.reshape(-1, width)
    table: Floats = values[starts[:, None] + np.arange(width)]
    return table


def _wrapped(source: Source, width: int, lines: Ints, counts: Ints) -> list[int]:
    """Return the lines that begin a row when every row is spread over several."""
    begins, have = [], width
    for place, count in enumerate(counts.tolist()):
        if have == width:
            begins.append(place)
            have = 0
        have += count
        if have > width or (have < width and place + 1 == len(counts)):
            source.fail_at(
                source.number + 1 + int(lines[place]),
                f"expected {width} numbers, as many as there are channels, in the lines of a row",
                f"{have}",
            )
    return begins


def _scan(source: Source) -> tuple[Floats, Ints]:
    """Return every number in the rest of the file, and how many there are in each line."""
    rest = source.data[source.at :]
    text = np.frombuffer(rest, dtype=np.uint8)
    values = np.empty(len(rest) // 2 + 1)
    per_line = np.zeros(rest.count(b"\n") + rest.count(b"\r") + 1, dtype=np.int64)
    hard = np.empty((4096, 3), dtype=np.int64)
    cursor = np.zeros(3, dtype=np.int64)
    bad = -1
    while cursor[0] < len(rest) and bad < 0:
        bad = int(kernels.text.scan(text, cursor, values, per_line, hard))
        for number, start, stop in hard.tolist():
            if number < 0:
                break
            values[number] = float(rest[start:stop])
            if not math.isfinite(values[number]):
                bad = start
                break
    if bad >= 0:
        number = source.number + 1 + len(LINE_END.findall(rest, 0, bad))
        before = _WORD_END.search(rest, max(bad - 60, 0), bad)
        after = _WORD.match(rest, bad, bad + 60)
        word = b"".join(part[0] for part in (before, after) if part)
        source.fail_at(number, "expected finite numbers", shown(word))
    return values[: cursor[1]], per_line


def _pose(skeleton: Skeleton, table: Floats) -> Pose:
    """Return the pose of each row; position channels stand in for the offset."""
    frames = len(table)
    positions = np.broadcast_to(skeleton.offsets, (frames, len(skeleton), 3)).copy()
    rotations = np.broadcast_to(quat.IDENTITY, (frames, len(skeleton), 4)).copy()
    turning: dict[str, list[tuple[int, list[int]]]] = {}
    column = 0
    for joint, channels in enumerate(skeleton.channels):
        columns = []
        for channel in channels:
            if channel in POSITIONS:
                positions[:, joint, POSITIONS.index(channel)] = table[:, column]
            else:
                columns.append(column)
            column += 1
        order = "".join(channel[0] for channel in channels if channel not in POSITIONS)
        turning.setdefault(order, []).append((joint, columns))
    turning.pop("", None)
    for order, turned in turning.items():
        joints, each = zip(*turned, strict=True)
        for first in range(0, frames, _ROWS_AT_ONCE):
            block = slice(first, first + _ROWS_AT_ONCE)
            angles = np.radians(table[block][:, np.array(each)])
            rotations[block, np.array(joints)] = quat.from_euler(angles, order)
    return Pose(rotations, positions)
