"""Tables of motion as CSV, one row per frame.

Columns are `time`, in seconds, and for a joint `Knee` the quaternion `Knee.qw`, `Knee.qx`, …, or
the rotation vector `Knee.rx`, …, in radians, and the position `Knee.px`, … if it is not the
joint's offset. The skeleton is in the first line, as JSON. See docs/formats.md.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import UNIT_SLACK, Floats, Ints, Quats, Scalars, unit_quats
from ..schema import LISTS, decode, encode
from ..skeleton import Clip, Pose, Skeleton
from .bounds import check_frame_time, check_numbers
from .encoding import check_json, errors_name, parse_json, quote_value
from .files import atomic_write
from .format import ClipFormat, ReadOptions, only_clip
from .lines import BYTE_ORDER_MARK, read_text
from .stored_skeleton import TableHead

MARK = "synovia-skeleton"
TIME = "time"
QUATERNION, VECTOR, POSITION = ("qw", "qx", "qy", "qz"), ("rx", "ry", "rz"), ("px", "py", "pz")
MAX_TIME = 1e12  # seconds
MAX_ANGLE = 1e6  # radians: larger rotation vectors are taken for mistakes
UNEVEN = 0.1  # largest deviation of a time from even spacing, in frames
MAX_NAMED = 6  # joints without columns that the warning names
Columns = dict[str, dict[str, int]]
"""Index of each column, by joint and kind; the time is that of the joint ""."""


def read_csv(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the CSV file at `path`, on its skeleton or on that of the options."""
    head, titles, numbers, lines = _read_table(path)
    if head is not None:
        with errors_name(f"{path}: {MARK}"):
            skeleton = head.skeleton()
            check_frame_time(head.frame_time)
    elif options.skeleton is not None:
        from . import load_clip

        skeleton = load_clip(options.skeleton).skeleton
    else:
        raise ValueError(
            f"{path}: expected the skeleton ({MARK}), got none: name a clip that has it, "
            "with --skeleton FILE or load_clip(…, skeleton=FILE)"
        )
    columns = _columns(titles, skeleton)
    times = numbers[:, columns.pop("")[TIME]]
    frame_time = _frame_time(path, times, lines, head.frame_time if head else None)
    arrays: dict[str, Floats] = {
        "rotations": _rotations(numbers, skeleton, columns),
        "positions": _positions(numbers, skeleton, columns),
    }
    for part in head.float32 if head else ():
        arrays[part] = arrays[part].astype(np.float32)
    pose = Pose(unit_quats("rotations", arrays["rotations"]), arrays["positions"])
    rotating = {QUATERNION[0], VECTOR[0]}
    still = [name for name in skeleton.names if not columns.get(name, {}).keys() & rotating]
    if still:
        more = f" and {len(still) - MAX_NAMED} more" if len(still) > MAX_NAMED else ""
        warnings.warn(
            f"{path}: no rotations of {', '.join(still[:MAX_NAMED])}{more}: left at rest",
            stacklevel=3,
        )
    name = re.sub(r"\.motion$", "", path.stem, flags=re.IGNORECASE)
    return Clip(skeleton, pose, frame_time, name)


def _read_table(path: Path) -> tuple[TableHead | None, list[str], Floats, Ints]:
    """Return the head, if there is one, the titles, the numbers (n, titles), and their lines (n,).

    Lines of comments may come before the titles; one of them holds the head.
    """
    text_lines = list(io.StringIO(read_text(path), newline=""))
    comments = list(
        itertools.takewhile(lambda line: line.startswith("#") or not line.strip(), text_lines)
    )
    head = None
    for comment in comments:
        mark, colon, value = comment[1:].partition(":")
        if mark.strip() == MARK and colon:
            location = f"{path}: {MARK}"
            document = parse_json(location, value.strip().encode())
            with errors_name(location):
                check_json(document)
                head = decode(TableHead, document, LISTS)
    rest = iter(text_lines[len(comments) :])
    title_reader = csv.reader(rest, strict=True)
    try:
        titles = next(title_reader)
    except (csv.Error, StopIteration) as error:
        reason = f" ({error})" if str(error) else ""
        at = max(len(comments) + title_reader.line_num, 1)
        raise ValueError(f"{path}:{at}: expected the titles of columns{reason}") from None
    rows, lines = [], []
    row_reader = csv.reader(rest, skipinitialspace=True)
    for cells in row_reader:
        if not any(map(str.strip, cells)):
            continue
        line = len(comments) + title_reader.line_num + row_reader.line_num
        if len(cells) != len(titles):
            rule = f"expected {len(titles)} cells, one a column"
            raise ValueError(f"{path}:{line}: {rule}, got {len(cells)}")
        row = list(map(_number, cells))
        if not all(map(math.isfinite, row)):
            cell = next(cell for cell in cells if not math.isfinite(_number(cell)))
            rule = "expected one finite number in each cell"
            raise ValueError(f"{path}:{line}: {rule}, got {quote_value(cell)}")
        rows.append(row)
        lines.append(line)
    return head, titles, np.array(rows).reshape(-1, len(titles)), np.array(lines, np.int64)


def _number(cell: str) -> float:
    """Return the number in a cell; NaN if it holds none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _columns(titles: Sequence[str], skeleton: Skeleton) -> Columns:
    """Return the meaning of the columns; ValueError for unknown, repeated or missing ones."""
    columns: Columns = {}
    for number, title in enumerate(titles):
        joint, _, kind = title.rpartition(".")
        if joint not in skeleton.names:
            joint, _, kind = title.strip().rpartition(".")
        is_known = kind in (*QUATERNION, *VECTOR, *POSITION) and joint in skeleton.names
        if not is_known and (joint, kind) != ("", TIME):
            raise ValueError(
                f"expected the column {TIME!r} and a joint's, such as "
                f"'{skeleton.names[0]:.60}.qw', got {quote_value(title)}"
            )
        if columns.setdefault(joint, {}).setdefault(kind, number) != number:
            raise ValueError(f"expected each column once, got {quote_value(title)}")
    if "" not in columns:
        raise ValueError(f"expected the column {TIME!r}, got none")
    for joint, joint_columns in columns.items():
        for kinds in (QUATERNION, VECTOR, POSITION):
            missing = [kind for kind in kinds if kind not in joint_columns]
            if 0 < len(missing) < len(kinds):
                raise ValueError(
                    f"expected the column {f'{joint}.{missing[0]}'!r:.80} beside the others of "
                    "that joint, got none"
                )
        if QUATERNION[0] in joint_columns and VECTOR[0] in joint_columns:
            raise ValueError(f"expected a quaternion or a rotation vector, got both: {joint!r:.60}")
    return columns


def _frame_time(path: Path, times: Scalars, lines: Ints, head_time: float | None) -> float:
    """Return the seconds from frame to frame; ValueError names the first uneven row."""
    check_numbers(TIME, times, MAX_TIME)
    if len(times) < 2:
        if head_time is None:
            raise ValueError("expected at least 2 rows, to know the frame time")
        return head_time
    frames = np.arange(len(times))
    if head_time and (np.abs(times - times[0] - frames * head_time) <= UNEVEN * head_time).all():
        return head_time
    mean = float((times[-1] - times[0]) / (len(times) - 1))
    check_frame_time(mean)
    if (np.abs(times - times[0] - frames * mean) > UNEVEN * mean).any():
        # Compared with the median, since the mean is off if one row is missing.
        steps = np.diff(times)
        odd = int((np.abs(steps - np.median(steps)) > UNEVEN * mean).argmax()) + 1
        raise ValueError(
            f"{path}:{lines[odd]}: expected even times, {np.median(steps):.6g} seconds apart, "
            f"got {times[odd]} after {times[odd - 1]}"
        )
    return mean


def _rotations(numbers: Floats, skeleton: Skeleton, columns: Columns) -> Quats:
    """Return the rotations of all joints; those without columns stay at rest."""
    rotations = np.tile(quat.IDENTITY, (len(numbers), len(skeleton), 1))
    for kinds in (QUATERNION, VECTOR):
        names = [name for name, joint_columns in columns.items() if kinds[0] in joint_columns]
        if not names:
            continue
        values = numbers[:, [[columns[name][kind] for kind in kinds] for name in names]]
        if kinds is VECTOR:
            check_numbers("rotation vectors", values, MAX_ANGLE)
            values = quat.exp(values)
        else:
            check_numbers("quaternions", values, 1.0 + UNIT_SLACK)
        rotations[:, [skeleton.index(name) for name in names]] = values
    return rotations


def _positions(numbers: Floats, skeleton: Skeleton, columns: Columns) -> Floats:
    """Return the positions of all joints; those without columns keep their offsets."""
    positions = np.tile(skeleton.offsets, (len(numbers), 1, 1))
    for name, joint_columns in columns.items():
        if POSITION[0] in joint_columns:
            chosen = [joint_columns[kind] for kind in POSITION]
            positions[:, skeleton.index(name)] = numbers[:, chosen]
    return positions


def write_csv(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to a CSV file at `path`; reading it gives the same bits."""
    clip = only_clip(clips, path)
    skeleton, pose = clip.skeleton, clip.pose
    arrays = {"rotations": pose.rotations, "positions": pose.positions}
    small = tuple(name for name, array in arrays.items() if array.dtype == np.float32)
    head = TableHead.of(skeleton, frame_time=clip.frame_time, float32=small)
    rotations, positions = pose.rotations.astype(np.float64), pose.positions.astype(np.float64)
    same_bits = positions.view(np.int64) == skeleton.offsets.view(np.int64)
    moves = (skeleton.parents < 0) | ~same_bits.all(axis=(0, 2))
    titles, columns = [TIME], [np.arange(clip.frames)[:, None] * clip.frame_time]
    for joint, name in enumerate(skeleton.names):
        titles += [f"{name}.{kind}" for kind in QUATERNION]
        columns.append(rotations[:, joint])
        if moves[joint]:
            titles += [f"{name}.{kind}" for kind in POSITION]
            columns.append(positions[:, joint])
    line = io.StringIO(newline="")
    csv.writer(line).writerow(titles)
    lines = [
        f"# {MARK}: {json.dumps(encode(head, LISTS), allow_nan=False)}",
        line.getvalue().removesuffix("\r\n"),
        *(",".join(map(repr, row)) for row in np.concatenate(columns, axis=1).tolist()),
    ]
    try:
        content = "\n".join([*lines, ""]).encode()
    except UnicodeEncodeError as error:
        odd = error.object[error.start : error.end]
        raise ValueError(f"{path}: expected names of Unicode, got {odd!r:.60}") from None
    atomic_write(path, content)


CSV = ClipFormat(
    read_csv,
    write_csv,
    begins=lambda head: head.removeprefix(BYTE_ORDER_MARK).startswith(f"# {MARK}:".encode()),
)
