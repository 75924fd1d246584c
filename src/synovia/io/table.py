"""Tables of motion as CSV or Parquet, one row per frame.

Columns are `time`, in seconds, and for a joint `Knee` the quaternion `Knee.qw`, `Knee.qx`, …, or
the rotation vector `Knee.rx`, …, in radians, and the position `Knee.px`, … if it is not the
joint's offset. The skeleton is in the first line of CSV, or in Parquet's metadata, as JSON.
See docs/formats.md.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import quat
from ..arrays import UNIT_SLACK, Floats, Ints, Quats, Scalars, unit_quats
from ..skeleton import Clip, Pose, Skeleton
from .bounds import MAX_ANGLE, MAX_LENGTH, check_content, check_frame_time, check_numbers
from .encoding import Entry, check_json, parse_json, quote_value
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import LINE_END, LineReader, parse_numbers, quote_line, scan_numbers

MARK = "synovia-skeleton"
TIME = "time"
QUATERNION, VECTOR, POSITION = ("qw", "qx", "qy", "qz"), ("rx", "ry", "rz"), ("px", "py", "pz")
MAX_TIME = 1e12  # seconds
UNEVEN = 0.1  # largest deviation of a time from even spacing, in frames
MAX_NAMED = 6  # joints without columns that the warning names


@dataclass(frozen=True)
class _Table:
    """The columns of a file, (rows, columns), and its JSON about the skeleton, if it has any."""

    path: Path
    titles: list[str]
    numbers: Floats
    head: Entry | None
    lines: Ints | None = None

    def place(self, row: int) -> str:
        """Return the location of a row for error messages."""
        return f"{self.path}: row {row}" if self.lines is None else f"{self.path}:{self.lines[row]}"


def _clip(table: _Table, options: ReadOptions) -> Clip:
    """Return the clip of a table, on its skeleton or on that of `options.skeleton`."""
    layout = _layout(table, options)
    frame_time = _frame_time(table, table.numbers[:, layout.time], layout.head_time)
    pose = _pose(table, layout)
    _warn_of_still_joints(table.path, layout)
    return Clip(layout.skeleton, pose, frame_time, _name(table.path))


def _name(path: Path) -> str:
    return re.sub(r"\.motion$", "", path.stem, flags=re.IGNORECASE)


@dataclass(frozen=True)
class _Layout:
    """The meaning of a table's columns: their indices by joint and kind, and that of the time."""

    skeleton: Skeleton
    head_time: float | None
    small: tuple[str, ...]
    time: int
    columns: dict[str, dict[str, int]]


def _layout(table: _Table, options: ReadOptions) -> _Layout:
    from . import load_clip

    if table.head is not None:
        skeleton, head_time, small = _decode_head(table.head)
    elif options.skeleton is not None:
        skeleton, head_time, small = load_clip(options.skeleton).skeleton, None, ()
    else:
        raise ValueError(
            f"{table.path}: expected the skeleton ({MARK}), got none: name a clip that has it, "
            "with --skeleton FILE or load_clip(…, skeleton=FILE)"
        )
    columns = _columns(table, skeleton)
    return _Layout(skeleton, head_time, small, columns.pop("")[TIME], columns)


def _pose(table: _Table, layout: _Layout) -> Pose:
    skeleton = layout.skeleton
    rotations = _rotations(table, skeleton, layout.columns)
    positions = np.tile(skeleton.offsets, (len(table.numbers), 1, 1))
    for name, joint_columns in layout.columns.items():
        if POSITION[0] in joint_columns:
            positions[:, skeleton.index(name)] = table.numbers[
                :, [joint_columns[key] for key in POSITION]
            ]
    check_numbers(f"{table.path}: positions", positions, MAX_LENGTH)
    if "rotations" in layout.small:
        rotations = rotations.astype(np.float32)
    rotations = unit_quats(f"{table.path}: rotations", rotations)
    if "positions" in layout.small:
        positions = positions.astype(np.float32)
    return Pose(rotations, positions)


def _columns(table: _Table, skeleton: Skeleton) -> dict[str, dict[str, int]]:
    """Return the index of each column, by joint and kind; the time is that of the joint ""."""
    columns: dict[str, dict[str, int]] = {}
    joints = set(skeleton.names)
    for number, title in enumerate(table.titles):
        joint, _, kind = title.rpartition(".")
        if joint not in joints:
            joint, _, kind = title.strip().rpartition(".")
        is_known = kind in (*QUATERNION, *VECTOR, *POSITION) and joint in joints
        if not is_known and (joint, kind) != ("", TIME):
            raise ValueError(
                f"{table.path}: expected the column {TIME!r} and a joint's, such as "
                f"'{skeleton.names[0]:.60}.qw', got {quote_value(title)}"
            )
        joint_columns = columns.setdefault(joint, {})
        if joint_columns.setdefault(kind, number) != number:
            raise ValueError(f"{table.path}: expected each column once, got {quote_value(title)}")
    if "" not in columns:
        raise ValueError(f"{table.path}: expected the column {TIME!r}, got none")
    for joint, joint_columns in columns.items():
        for kinds in (QUATERNION, VECTOR, POSITION):
            missing = [kind for kind in kinds if kind not in joint_columns]
            if 0 < len(missing) < len(kinds):
                raise ValueError(
                    f"{table.path}: expected the column {f'{joint}.{missing[0]}'!r:.80} beside "
                    "the others of that joint, got none"
                )
        if QUATERNION[0] in joint_columns and VECTOR[0] in joint_columns:
            raise ValueError(
                f"{table.path}: expected a quaternion or a rotation vector, got both: {joint!r:.60}"
            )
    return columns


def _frame_time(table: _Table, times: Scalars, head_time: float | None) -> float:
    """Return the seconds from frame to frame; ValueError names the first uneven row."""
    check_numbers(f"{table.path}: {TIME}", times, MAX_TIME, "seconds")
    if len(times) < 2:
        if head_time is None:
            raise ValueError(f"{table.path}: expected at least 2 rows, to know the frame time")
        return head_time
    frames = np.arange(len(times))
    if head_time and (np.abs(times - times[0] - frames * head_time) <= UNEVEN * head_time).all():
        return head_time
    mean = float((times[-1] - times[0]) / (len(times) - 1))
    check_frame_time(f"{table.path}: {TIME}", mean)
    late = np.abs(times - times[0] - frames * mean) > UNEVEN * mean
    if late.any():
        # Compared with the median, since the mean is off if one row is missing.
        steps = np.diff(times)
        odd = int((np.abs(steps - np.median(steps)) > UNEVEN * mean).argmax()) + 1
        raise ValueError(
            f"{table.place(odd)}: expected even times, {np.median(steps):.6g} seconds apart, "
            f"got {times[odd]} after {times[odd - 1]}"
        )
    return mean


def _rotations(table: _Table, skeleton: Skeleton, columns: dict[str, dict[str, int]]) -> Quats:
    """Return the rotations of all joints; those without columns stay at rest."""
    rotations = np.tile(quat.IDENTITY, (len(table.numbers), len(skeleton), 1))
    for kinds in (QUATERNION, VECTOR):
        names = [name for name, joint_columns in columns.items() if kinds[0] in joint_columns]
        if not names:
            continue
        numbers = [[columns[name][kind] for kind in kinds] for name in names]
        values = table.numbers[:, np.array(numbers)]
        if kinds is VECTOR:
            check_numbers(f"{table.path}: rotation vectors", values, MAX_ANGLE, "radians")
            values = quat.exp(values)
        else:
            check_numbers(f"{table.path}: quaternions", values, 1.0 + UNIT_SLACK)
        number = {name: joint for joint, name in enumerate(skeleton.names)}
        rotations[:, [number[name] for name in names]] = values
    return rotations


def _warn_of_still_joints(path: Path, layout: _Layout) -> None:
    still = [
        name
        for name in layout.skeleton.names
        if not layout.columns.get(name, {}).keys() & {QUATERNION[0], VECTOR[0]}
    ]
    if still:
        more = f" and {len(still) - MAX_NAMED} more" if len(still) > MAX_NAMED else ""
        warnings.warn(
            f"{path}: no rotations of {', '.join(still[:MAX_NAMED])}{more}: left at rest",
            stacklevel=5,
        )


def _decode_head(head: Entry) -> tuple[Skeleton, float, tuple[str, ...]]:
    """Return the skeleton, the frame time, and the names of arrays of float32."""
    check_json(head)
    fields = head.fields(
        *("names", "parents", "offsets", "frame_time"),
        maybe=("channels", "ends", "rest_rotations", "up", "unit", "float32"),
    )
    names = fields["names"].texts()
    if len(set(names)) < len(names):
        fields["names"].fail("names that differ")
    offsets = fields["offsets"].floats(None, 3)
    ends = fields["ends"].floats(None, 4) if "ends" in fields else np.zeros((0, 4))
    check_numbers(fields["offsets"].place, np.concatenate([offsets, ends[:, 1:]]), MAX_LENGTH)
    if not (ends[:, 0] % 1 == 0).all() or (np.abs(ends[:, 0]) > len(names)).any():
        fields["ends"].fail("joints and 3 numbers each")
    with head.locate_errors():
        skeleton = Skeleton(
            names,
            fields["parents"].ints(None),
            offsets,
            tuple(entry.texts() for entry in fields["channels"].items())
            if "channels" in fields
            else (),
            ends[:, 0].astype(np.int64),
            ends[:, 1:],
            fields["rest_rotations"].floats(len(names), 4)
            if "rest_rotations" in fields
            else np.zeros((0, 4)),
            fields["up"].value if "up" in fields else "",
            float(fields["unit"].floats()) if "unit" in fields else 0.0,
        )
    seconds = float(fields["frame_time"].floats())
    check_frame_time(fields["frame_time"].place, seconds)
    return skeleton, seconds, fields["float32"].texts() if "float32" in fields else ()


def _encode_head(clip: Clip) -> str:
    """Return JSON for `_decode_head`; default values are left out."""
    skeleton, pose = clip.skeleton, clip.pose
    plain = Skeleton(skeleton.names, skeleton.parents, skeleton.offsets)
    head: dict[str, Any] = {
        "names": skeleton.names,
        "parents": skeleton.parents.tolist(),
        "offsets": skeleton.offsets.tolist(),
        "frame_time": clip.frame_time,
    }
    if skeleton.channels != plain.channels:
        head["channels"] = skeleton.channels
    if len(skeleton.end_parents):
        ends = zip(skeleton.end_parents.tolist(), skeleton.end_offsets.tolist(), strict=True)
        head["ends"] = [[joint, *offset] for joint, offset in ends]
    if skeleton.rest_rotations.tobytes() != plain.rest_rotations.tobytes():
        head["rest_rotations"] = skeleton.rest_rotations.tolist()
    if skeleton.up:
        head["up"] = skeleton.up
    if skeleton.unit:
        head["unit"] = skeleton.unit
    arrays = {"rotations": pose.rotations, "positions": pose.positions}
    if small := [name for name, array in arrays.items() if array.dtype == np.float32]:
        head["float32"] = small
    return json.dumps(head, allow_nan=False)


def _encode_motion(clip: Clip) -> tuple[list[str], Floats]:
    """Return the titles of the columns, and the numbers (frames, columns)."""
    skeleton = clip.skeleton
    positions = clip.pose.positions.astype(np.float64)
    rotations = clip.pose.rotations.astype(np.float64)
    same_bits = positions.view(np.int64) == skeleton.offsets.view(np.int64)
    moves = (skeleton.parents < 0) | ~same_bits.all(axis=(0, 2))
    titles, parts = [TIME], [np.arange(clip.frames)[:, None] * clip.frame_time]
    for joint, name in enumerate(skeleton.names):
        titles += [f"{name}.{kind}" for kind in QUATERNION]
        parts.append(rotations[:, joint])
        if moves[joint]:
            titles += [f"{name}.{kind}" for kind in POSITION]
            parts.append(positions[:, joint])
    return titles, np.concatenate(parts, axis=1)


def read_csv(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the CSV file at `path`."""
    reader = LineReader(str(path), read_file(path))
    head, titles = _read_titles(reader)
    numbers, at = _read_rows(reader, len(titles))
    return _clip(_Table(path, titles, numbers, head, at), options)


def _read_titles(reader: LineReader) -> tuple[Entry | None, list[str]]:
    """Return the JSON about the skeleton, if there is any, and the titles of columns."""
    lines = _lines(reader)
    head = None
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        mark, colon, value = line[1:].partition(":")
        if mark.strip() == MARK and colon:
            location = f"{reader.path}: {MARK}"
            head = Entry(parse_json(location, value.strip().encode()), location)
    else:
        reader.fail_at(max(reader.number, 1), "expected the titles of columns", "nothing")
    try:
        return head, next(csv.reader(itertools.chain([line], lines), strict=True))
    except csv.Error as error:
        reader.fail_at(reader.number, f"expected the titles of columns ({error})", repr(line[:60]))


def _lines(reader: LineReader) -> Iterator[str]:
    """Yield the remaining lines, with their line ends."""
    while reader.offset < len(reader.data):
        end = LINE_END.search(reader.data, reader.offset)
        stop = end.end() if end else len(reader.data)
        line, reader.offset = reader.data[reader.offset : stop], stop
        reader.number += 1
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            reader.fail_at(reader.number, "expected UTF-8", f"the byte 0x{line[error.start]:02x}")


_AROUND_CELLS = re.compile(rb"[ \t]*([,\r\n])[ \t]*")


def _read_rows(reader: LineReader, width: int) -> tuple[Floats, Ints]:
    """Return the rows (n, width) in the rest of the file, and their line numbers (n,)."""
    cells = reader.data[reader.offset :].replace(b'"', b"")
    if b" " in cells or b"\t" in cells:
        cells = _AROUND_CELLS.sub(rb"\1", cells.strip(b" \t"))
    if _has_empty_cell(cells) or b" " in cells or b"\t" in cells:
        _explain_rows(reader, cells, width)
    values, per_line = scan_numbers(
        LineReader(reader.path, cells.replace(b",", b" "), number=reader.number)
    )
    lines = np.flatnonzero(per_line)
    # No cell is empty: with as many cells as numbers, each cell is one number.
    if (per_line[lines] != width).any() or cells.count(b",") != len(lines) * (width - 1):
        _explain_rows(reader, cells, width)
    return values.reshape(-1, width), reader.number + 1 + lines


def _has_empty_cell(text: bytes) -> bool:
    """Return whether a comma is next to another one, or to an end of a line."""
    signs = np.frombuffer(b"\n" + text + b"\n", np.uint8)
    commas = signs == ord(",")
    ends = commas | (signs == ord("\n")) | (signs == ord("\r"))
    return bool((commas[1:] & ends[:-1]).any() or (commas[:-1] & ends[1:]).any())


def _explain_rows(reader: LineReader, text: bytes, width: int) -> NoReturn:
    """Raise ValueError about the first row that is not `width` numbers."""
    for number, line in enumerate(LINE_END.split(text), start=reader.number + 1):
        cells = line.split(b",") if line.strip() else []
        if cells and len(cells) != width:
            reader.fail_at(number, f"expected {width} cells, one a column", f"{len(cells)}")
        for cell in cells:
            if len(parse_numbers(cell) or ()) != 1:
                reader.fail_at(number, "expected one finite number in each cell", quote_line(cell))
    reader.fail_at(reader.number + 1, f"expected rows of {width} numbers", quote_line(text))


def write_csv(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to a CSV file at `path`; reading it gives the same bits."""
    clip = only_clip(clips, path)
    titles, numbers = _encode_motion(clip)
    line = io.StringIO(newline="")
    csv.writer(line).writerow(titles)
    lines = [f"# {MARK}: {_encode_head(clip)}", line.getvalue().removesuffix("\r\n")]
    lines += [",".join(map(repr, row)) for row in numbers.tolist()]
    atomic_write(path, _encode_text("\n".join([*lines, ""]), path))


def _encode_text(text: str, path: Path) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        odd = text[error.start : error.end]
        raise ValueError(f"{path}: expected names of Unicode, got {odd!r:.60}") from None


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise OSError("Parquet needs pyarrow: pip install 'synovia[parquet]' brings it") from None
    return pyarrow, pyarrow.parquet


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    arrow, _ = _pyarrow()
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError, ArithmeticError, LookupError) as error:
        raise ValueError(f"{path}: expected Parquet, got {str(error)!r:.120}") from error


def read_parquet(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the Parquet file at `path`."""
    arrow, parquet = _pyarrow()
    content = read_file(path)
    with _arrow_errors(path):
        file = parquet.ParquetFile(arrow.BufferReader(content))
        size = 8 * file.metadata.num_rows * file.metadata.num_columns
    check_content(str(path), size, len(content))
    with _arrow_errors(path):
        table = file.read(use_threads=False)
    return _clip(_arrow_table(path, table), options)


def _arrow_table(path: Path, table: Any) -> _Table:
    """Return a pyarrow table as ours; ValueError unless it has finite numbers alone."""
    arrow, _ = _pyarrow()
    titles, metadata = list(table.column_names), table.schema.metadata or {}
    numbers = np.empty((table.num_rows, len(titles)))
    for number, column in enumerate(table.columns):
        kind = column.type
        if not (arrow.types.is_floating(kind) or arrow.types.is_integer(kind)):
            raise ValueError(
                f"{path}: column {quote_value(titles[number])}: expected numbers, got {kind}"
            )
        numbers[:, number] = column.to_numpy()
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, at = bad[0].tolist()
        raise ValueError(
            f"{path}: row {row}: expected finite numbers, got {numbers[row, at]} as "
            f"{quote_value(titles[at])}"
        )
    location = f"{path}: {MARK}"
    value = metadata.get(MARK.encode())
    head = None if value is None else Entry(parse_json(location, value), location)
    return _Table(path, titles, numbers, head)


def write_parquet(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to a Parquet file at `path`; reading it gives the same bits."""
    arrow, parquet = _pyarrow()
    clip = only_clip(clips, path)
    titles, numbers = _encode_motion(clip)
    for title in titles:
        _encode_text(title, path)
    schema = arrow.schema(
        [(title, arrow.float64()) for title in titles], metadata={MARK: _encode_head(clip)}
    )
    table = arrow.Table.from_arrays(
        [arrow.array(column) for column in numbers.T.copy()], schema=schema
    )
    sink = arrow.BufferOutputStream()
    parquet.write_table(table, sink)
    atomic_write(path, sink.getvalue().to_pybytes())


CSV = ClipFormat(
    read_csv,
    write_csv,
    begins=lambda head: head.removeprefix(b"\xef\xbb\xbf").startswith(f"# {MARK}:".encode()),
)
PARQUET = ClipFormat(
    read_parquet,
    write_parquet,
    begins=lambda head: head.startswith(b"PAR1"),
)
