"""CSV: tables with titles, tables of motion, and tracks of markers.

A table of motion has a row per frame. Columns are `time`, in seconds, and for a joint `Knee` the
quaternion `Knee.qw`, `Knee.qx`, …, or the rotation vector `Knee.rx`, …, in radians, and the
position `Knee.px`, … if it is not the joint's offset. The skeleton is in the first line, as JSON.
See docs/formats.md.

Tracks have a row for each marker in each frame: `frame,marker,x,y,z`. Frames are whole numbers, y
is up, and lengths are in metres, centimetres or millimetres. A marker that is not visible in a
frame has no row for it, or empty numbers.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from .. import quat
from ..arrays import UNIT_SLACK, Floats, Ints, Quats, Scalars, Vectors, unit_quats
from ..schema import LISTS, decode, encode
from ..skeleton import Clip, Pose, Skeleton, list_names
from .encoding import check_json, errors_name, parse_json, quote_value
from .files import atomic_write
from .format import ClipFormat, ReadOptions, only_clip
from .lines import read_text
from .skeletons import StoredSkeleton, check_frame_time, check_numbers

if TYPE_CHECKING:
    from ..anatomy.observations import MarkerTracks

MARK = "synovia-skeleton"
TIME = "time"
QUATERNION, VECTOR, POSITION = ("qw", "qx", "qy", "qz"), ("rx", "ry", "rz"), ("px", "py", "pz")
MAX_TIME = 1e12  # seconds
MAX_ANGLE = 1e6  # radians: larger rotation vectors are taken for mistakes
UNEVEN = 0.1  # largest deviation of a time from even spacing, in frames
MARKERS_SUFFIX = ".markers.csv"
MAX_SMALL_POINTS = 10**6  # frames × markers that any file may have: 24 MB
MAX_POINTS_PER_ROW = 100  # frames × markers a row beyond that; captures have fewer than 30


@dataclass(frozen=True, eq=False, kw_only=True)
class TableHead(StoredSkeleton):
    """The first line of a table of motion: the skeleton, and what columns do not hold."""

    rest_rotations: Annotated[Quats, "n", 4] = field(default_factory=lambda: np.zeros((0, 4)))
    """World rotations of the joints' own frames at rest."""
    frame_time: float
    """Seconds from frame to frame."""
    float32: tuple[Literal["rotations", "positions"], ...] = ()
    """Arrays that had single precision."""


def csv_rows(path: str | PathLike[str]) -> list[tuple[str, list[str]]]:
    """Return the rows of a CSV file that are not blank, each with its location "path:line".

    Cells are stripped. ValueError if columns are separated by semicolons or tabs.
    """
    rows = []
    reader = csv.reader(io.StringIO(read_text(path), newline=""), skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            location = f"{fspath(path)}:{reader.line_num}"
            if len(cells) == 1 and (";" in cells[0] or "\t" in cells[0]):
                raise ValueError(
                    f"{location}: columns must be separated by commas, got {cells[0]!r:.80}"
                )
            if any(cells):
                rows.append((location, cells))
    except csv.Error as error:
        raise ValueError(f"{fspath(path)}:{reader.line_num}: {error}") from None
    return rows


def csv_table(
    path: str | PathLike[str], columns: Sequence[str], filled: Sequence[str] = ()
) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a CSV file by the titles of its first row, each with "path:line".

    Missing cells are empty. Raises ValueError unless all `columns` are among the titles, and if a
    cell of the columns `filled` is empty.
    """
    rows = csv_rows(path)
    titles = rows[0][1] if rows else []
    if not set(columns) <= set(titles):
        raise ValueError(
            f"{fspath(path)}:1: expected the columns {','.join(columns)}, "
            f"got {','.join(titles)!r:.80}"
        )
    table = []
    for location, cells in rows[1:]:
        row = dict.fromkeys(titles, "") | dict(zip(titles, cells, strict=False))
        if not all(row[column] for column in filled):
            got = ",".join(row[column] for column in filled)
            raise ValueError(f"{location}: expected {' and '.join(filled)}, got {got!r:.80}")
        table.append((location, row))
    return table


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
    rotations, positions = _motion(path, numbers, columns, skeleton)
    if head and "rotations" in head.float32:
        rotations = rotations.astype(np.float32)
    if head and "positions" in head.float32:
        positions = positions.astype(np.float32)
    head_time = head.frame_time if head else None
    frame_time = _frame_time(path, numbers[:, columns[TIME]], lines, head_time)
    name = re.sub(r"\.motion$", "", path.stem, flags=re.IGNORECASE)
    return Clip(skeleton, Pose(unit_quats("rotations", rotations), positions), frame_time, name)


def _read_table(path: Path) -> tuple[TableHead | None, list[str], Floats, Ints]:
    """Return the head, if there is one, the titles, the numbers (n, titles), and their lines (n,).

    Lines of comments may come before the titles; one of them holds the head.
    """
    text_lines = io.StringIO(read_text(path), newline="").readlines()
    head, first = None, 0
    while first < len(text_lines) and re.match(r"#|\s*$", text_lines[first]):
        mark, colon, value = text_lines[first][1:].partition(":")
        first += 1
        if mark.strip() == MARK and colon:
            location = f"{path}: {MARK}"
            document = parse_json(location, value.strip().encode())
            with errors_name(location):
                check_json(document)
                head = decode(TableHead, document, LISTS)
    rest = iter(text_lines[first:])
    title_reader = csv.reader(rest, strict=True)
    try:
        titles = next(title_reader)
    except (csv.Error, StopIteration) as error:
        reason = f" ({error})" if str(error) else ""
        line = max(first + title_reader.line_num, 1)
        raise ValueError(f"{path}:{line}: expected the titles of columns{reason}") from None
    rows, lines = [], []
    row_reader = csv.reader(rest, skipinitialspace=True)
    for cells in row_reader:
        if not any(map(str.strip, cells)):
            continue
        location = f"{path}:{first + title_reader.line_num + row_reader.line_num}"
        if len(cells) != len(titles):
            rule = f"expected {len(titles)} cells, one a column"
            raise ValueError(f"{location}: {rule}, got {len(cells)}")
        row = list(map(_number, cells))
        if not all(map(math.isfinite, row)):
            cell = next(cell for cell in cells if not math.isfinite(_number(cell)))
            rule = "expected one finite number in each cell"
            raise ValueError(f"{location}: {rule}, got {quote_value(cell)}")
        rows.append(row)
        lines.append(first + title_reader.line_num + row_reader.line_num)
    return head, titles, np.array(rows).reshape(-1, len(titles)), np.array(lines, np.int64)


def _number(cell: str) -> float:
    """Return the number in a cell; NaN if it holds none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _columns(titles: Sequence[str], skeleton: Skeleton) -> dict[str, int]:
    """Return the index of each column by its title; ValueError for unknown or repeated ones."""
    kinds = (*QUATERNION, *VECTOR, *POSITION)
    known = {TIME, *(f"{name}.{kind}" for name in skeleton.names for kind in kinds)}
    columns: dict[str, int] = {}
    for number, title in enumerate(titles):
        name = title if title in known else title.strip()
        if name not in known:
            raise ValueError(
                f"expected the column {TIME!r} and a joint's, such as "
                f"'{skeleton.names[0]:.60}.qw', got {quote_value(title)}"
            )
        if columns.setdefault(name, number) != number:
            raise ValueError(f"expected each column once, got {quote_value(title)}")
    if TIME not in columns:
        raise ValueError(f"expected the column {TIME!r}, got none")
    return columns


def _frame_time(path: Path, times: Scalars, lines: Ints, head_time: float | None) -> float:
    """Return the seconds from frame to frame; ValueError names the first uneven row."""
    check_numbers(TIME, times, MAX_TIME)
    if len(times) < 2:
        if head_time is None:
            raise ValueError("expected at least 2 rows, to know the frame time")
        return head_time
    mean = check_frame_time(float((times[-1] - times[0]) / (len(times) - 1)))
    for step in filter(None, (head_time, mean)):
        deviation = times - times[0] - step * np.arange(len(times))
        if (np.abs(deviation) <= UNEVEN * step).all():
            return step
    # Compared with the median, since the mean is off if one row is missing.
    steps = np.diff(times)
    odd = int((np.abs(steps - np.median(steps)) > UNEVEN * mean).argmax()) + 1
    raise ValueError(
        f"{path}:{lines[odd]}: expected even times, {np.median(steps):.6g} seconds apart, "
        f"got {times[odd]} after {times[odd - 1]}"
    )


def _motion(
    path: Path, numbers: Floats, columns: dict[str, int], skeleton: Skeleton
) -> tuple[Quats, Vectors]:
    """Return rotations and positions of all joints; those without columns are at rest."""
    rotations = np.tile(quat.IDENTITY, (len(numbers), len(skeleton), 1))
    positions = np.tile(skeleton.offsets, (len(numbers), 1, 1))
    still = []
    for joint, name in enumerate(skeleton.names):
        values = {}
        for kinds in (QUATERNION, VECTOR, POSITION):
            titles = [f"{name}.{kind}" for kind in kinds]
            missing = [title for title in titles if title not in columns]
            if not missing:
                values[kinds] = numbers[:, [columns[title] for title in titles]]
            elif len(missing) < len(kinds):
                raise ValueError(
                    f"expected the column {missing[0]!r:.80} beside the others of that joint, "
                    "got none"
                )
        if QUATERNION in values and VECTOR in values:
            raise ValueError(f"expected a quaternion or a rotation vector, got both: {name!r:.60}")
        if QUATERNION in values:
            check_numbers("quaternions", values[QUATERNION], 1.0 + UNIT_SLACK)
            rotations[:, joint] = values[QUATERNION]
        elif VECTOR in values:
            check_numbers("rotation vectors", values[VECTOR], MAX_ANGLE)
            rotations[:, joint] = quat.exp(values[VECTOR])
        else:
            still.append(name)
        positions[:, joint] = values.get(POSITION, skeleton.offsets[joint])
    if still:
        warnings.warn(f"{path}: no rotations of {list_names(still, 6)}: left at rest", stacklevel=4)
    return rotations, positions


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


def load_markers(path: str | PathLike[str]) -> MarkerTracks:
    """Return the tracks in the file at `path`, in its unit; NaN for invisible markers."""
    from ..anatomy.observations import MarkerTracks

    points_by_key: dict[tuple[int, str], list[float]] = {}
    for location, row in csv_table(path, ("frame", "marker", *"xyz"), ("marker",)):
        frame, name = _number(row["frame"]), row["marker"]
        if not frame.is_integer():
            raise ValueError(
                f"{location}: expected the number of a frame, got {quote_value(row['frame'])}"
            )
        key = (int(frame), name)
        if key in points_by_key:
            raise ValueError(f"{location}: marker {name} is twice in frame {key[0]}")
        points_by_key[key] = _point(location, row)
    if not points_by_key:
        raise ValueError(f"{fspath(path)}: expected rows of markers, got none")
    row_of = {frame: row for row, frame in enumerate(sorted({key[0] for key in points_by_key}))}
    column_of = {name: k for k, name in enumerate(sorted({key[1] for key in points_by_key}))}
    most = MAX_SMALL_POINTS + MAX_POINTS_PER_ROW * len(points_by_key)
    if len(row_of) * len(column_of) > most:
        raise ValueError(
            f"{fspath(path)}: expected at most {most} frames times markers in "
            f"{len(points_by_key)} rows, got {len(row_of)} frames of {len(column_of)} markers"
        )
    points = np.full((len(row_of), len(column_of), 3), np.nan)
    for (frame, name), point in points_by_key.items():
        points[row_of[frame], column_of[name]] = point
    return MarkerTracks(tuple(column_of), points, Path(path).name.removesuffix(MARKERS_SUFFIX))


def load_marker_table(path: str | PathLike[str]) -> dict[str, tuple[str, Vectors | None]]:
    """Return the segment of each marker, and its position (3,) in metres if `x,y,z` are given."""
    markers: dict[str, tuple[str, Vectors | None]] = {}
    columns = ("marker", "segment")
    for location, row in csv_table(path, columns, columns):
        point = np.array(_point(location, row))
        if np.isnan(point).any() and not np.isnan(point).all():
            numbers = [row.get(axis, "") for axis in "xyz"]
            raise ValueError(f"{location}: expected three numbers x,y,z or none, got {numbers}")
        markers[row["marker"]] = (row["segment"], None if np.isnan(point).any() else point)
    return markers


def _point(location: str, row: dict[str, str]) -> list[float]:
    """Return the numbers in the columns x, y and z; NaN for those that are empty or missing."""
    cells = [row.get(axis, "") for axis in "xyz"]
    for cell in cells:
        if cell and not math.isfinite(_number(cell)):
            raise ValueError(f"{location}: expected a finite number, got {quote_value(cell)}")
    return list(map(_number, cells))


CSV = ClipFormat(read_csv, write_csv)
