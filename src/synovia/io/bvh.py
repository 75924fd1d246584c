"""BVH: the reader takes what people have, and says where it cannot; what the writer writes is read
back the same. See docs/bvh.md.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Vectors, tolerance
from ..quat import IDENTITY, angle_between, from_euler, to_euler
from ..skeleton import CHANNELS, POSITIONS, ROTATIONS, Clip, Pose, Skeleton
from .bounds import (
    MAX_ANGLE_DEG,
    MAX_FRAME_TIME,
    MAX_JOINTS,
    MAX_LENGTH,
    MAX_NAME,
    MIN_FRAME_TIME,
)
from .chunks import Chunks, is_short, path_state, regroup_rows, same_skeleton
from .euler import EulerPath, Unwrapping, other_triple
from .files import atomic_file, open_regular
from .format import ClipFormat, ReadOptions, only_clip
from .lines import (
    Source,
    decode_text,
    parse_numbers,
    read_head,
    read_pieces,
    scan_numbers,
)

_BRACE = re.compile(rb"([{}])")
_JOINT_LINE = re.compile(rb"(ROOT|JOINT)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_END_SITE = re.compile(rb"END\s+SITE", re.IGNORECASE)
_CHANNEL_NAMES = {name.upper().encode(): name for name in CHANNELS}


@dataclass
class _Block:
    """A joint or an end site whose braces are open."""

    title: str
    joint: int
    is_end: bool
    has_offset: bool = False
    has_channels: bool = False
    has_children: bool = False


@dataclass
class Hierarchy:
    """The joints and end sites so far, in the order of the file."""

    known: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[tuple[str, ...]] = field(default_factory=list)
    ends: list[tuple[int, list[float]]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """How many numbers a frame has."""
        return sum(map(len, self.channels))

    def skeleton(self) -> Skeleton:
        """Return the skeleton, its end sites in the order of their joints."""
        ends = sorted(self.ends, key=lambda end: end[0])
        return Skeleton(
            tuple(self.names),
            np.array(self.parents, dtype=np.int64),
            np.array(self.offsets),
            tuple(self.channels),
            np.array([joint for joint, _ in ends], dtype=np.int64),
            np.array([offset for _, offset in ends]).reshape(-1, 3),
        )


def read_hierarchy(source: Source) -> Hierarchy:
    """Read from HIERARCHY up to and with MOTION; a stack, so that depth does not matter."""
    if source.advance("HIERARCHY").upper() != b"HIERARCHY":
        source.fail("expected HIERARCHY")
    tree = Hierarchy()
    stack: list[_Block] = []
    opening: _Block | None = None
    statements = _statements(source, stack)
    while True:
        statement = next(statements)
        words = statement.split()
        keyword = words[0].upper()
        block = stack[-1] if stack else None
        if opening:
            if keyword != b"{":
                source.fail(f"expected '{{' after {opening.title}")
            stack.append(opening)
            opening = None
        elif keyword == b"ROOT" or keyword == b"JOINT":
            opening = _begin_joint(source, tree, block, keyword.decode(), statement)
        elif _END_SITE.match(statement):  # some writers add a name, glued to it or not
            if not block or block.is_end:
                source.fail("expected End Site inside of a joint")
            opening = _Block("End Site", block.joint, is_end=True)
        elif words == [statement] and keyword == b"MOTION":
            if block:
                source.fail(f"expected '}}' to close {block.title}")
            if not tree.names:
                source.fail("expected ROOT")
            return tree
        elif not block:
            source.fail("expected ROOT or MOTION")
        elif keyword == b"OFFSET":
            _read_offset(source, tree, block, statement)
        elif keyword == b"CHANNELS":
            _read_channels(source, tree, block, words)
        elif keyword == b"}":
            if not block.has_offset:
                source.fail(f"expected OFFSET in {block.title}")
            stack.pop()
        else:
            source.fail("expected OFFSET, CHANNELS, JOINT, End Site or '}'")


def _statements(source: Source, stack: list[_Block]) -> Iterator[bytes]:
    """Yield names with their keyword, single braces, and what stands between braces, endlessly."""
    while True:
        line = source.advance("'}'" if stack else "ROOT or MOTION")
        if _JOINT_LINE.fullmatch(line):
            yield line.removesuffix(b"{").rstrip()
            if line.endswith(b"{"):
                yield b"{"
        else:
            yield from filter(None, map(bytes.strip, _BRACE.split(line)))


def _begin_joint(
    source: Source, tree: Hierarchy, block: _Block | None, keyword: str, statement: bytes
) -> _Block:
    """Begin the joint that `statement` names."""
    if keyword == "ROOT" and block:
        source.fail(f"expected '}}' to close {block.title} before ROOT")
    if keyword == "JOINT" and (not block or block.is_end):
        source.fail("expected JOINT inside of a joint")
    name = decode_text(statement[len(keyword) :].strip())
    if not name:
        source.fail(f"expected a name after {keyword}")
    if len(name) > MAX_NAME:
        source.fail(f"expected a name of at most {MAX_NAME} characters")
    if len(tree.names) == MAX_JOINTS:
        source.fail(f"expected at most {MAX_JOINTS} joints")
    if name in tree.known:
        source.fail("expected a name that no other joint has")
    tree.known.add(name)
    if block:
        block.has_children = True
    tree.names.append(name)
    tree.parents.append(block.joint if block else -1)
    tree.offsets.append([])
    tree.channels.append(())
    return _Block(f"{keyword} {name}", len(tree.names) - 1, is_end=False)


def _read_offset(source: Source, tree: Hierarchy, block: _Block, statement: bytes) -> None:
    offset = parse_numbers(statement[len(b"OFFSET") :])
    if offset is None or len(offset) != 3:
        source.fail("expected 3 numbers after OFFSET")
    if max(map(abs, offset)) > MAX_LENGTH:
        source.fail(f"expected numbers of at most {MAX_LENGTH:g} after OFFSET")
    if block.has_offset:
        source.fail(f"expected one OFFSET in {block.title}")
    block.has_offset = True
    if block.is_end:
        tree.ends.append((block.joint, offset))
    else:
        tree.offsets[block.joint] = offset


def _read_channels(source: Source, tree: Hierarchy, block: _Block, words: list[bytes]) -> None:
    if block.is_end or block.has_channels or block.has_children:
        source.fail(f"expected CHANNELS once in a joint, before its children, not in {block.title}")
    if len(words) < 2 or not words[1].isdigit():
        source.fail("expected a count after CHANNELS")
    channels = [_CHANNEL_NAMES.get(word.upper()) for word in words[2:]]
    if words[1].lstrip(b"0") != (b"%d" % len(channels)).lstrip(b"0"):
        source.fail("expected as many channels as CHANNELS says")
    names = tuple(name for name in channels if name)
    if len(set(names)) < len(channels):
        source.fail("expected channels like Xposition or Zrotation, each once")
    block.has_channels = True
    tree.channels[block.joint] = names


# The BVH reader: takes what people have, and says where it cannot; see docs/bvh.md.


MAX_FRAMES = 10**9
"""A count of frames from here on is a mistake, not a clip."""
MAX_STILL_POSES = 10**6
"""So many frames times joints are believed of a file without channels, which has no rows."""

_FRAMES = re.compile(rb"Frames\s*:\s*(\d+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"Frame\s*Time\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_ROWS_AT_ONCE = 256


def read_bvh(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in the BVH file at `path`."""
    with open_regular(path) as file:
        head = _read_head(path, file)
        rows = _Rows(head)
        tables = [head.no_rows, *map(rows.take, read_pieces(file, head.at))]
    for message in rows.finish():
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    return head.clip(np.concatenate(tables))


def bvh_chunks(path: Path, options: ReadOptions, frames: int) -> Chunks:
    """Return the clip in the BVH file at `path` in chunks, once all of it was looked at."""
    if is_short(path):
        return Chunks.of(read_bvh(path, options), frames)
    state = path_state(path)
    with open_regular(path) as file:
        head = _read_head(path, file)
        rows = _Rows(head)
        for text in read_pieces(file, head.at):
            rows.take(text)
    for message in rows.finish():
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)

    def read() -> Iterator[Clip]:
        start = 0
        with open_regular(path) as file:
            if path_state(path) != state:
                raise ValueError(f"{path}: the file changed while it was read in chunks")
            tables = map(_Rows(head).take, read_pieces(file, head.at))
            for table in regroup_rows(itertools.chain([head.no_rows], tables), frames):
                yield replace(head.clip(table), start=start)
                start += len(table)

    return Chunks(head.skeleton, rows.frames, head.frame_time, path.stem, read)


@dataclass(frozen=True)
class _Head:
    """What stands before the rows, and where they begin: the byte, and the lines before it."""

    path: Path
    skeleton: Skeleton
    declared: int
    frame_time: float
    at: int
    number: int

    @property
    def channels(self) -> list[tuple[str, str]]:
        """The channel and the joint of each number in a row."""
        named = zip(self.skeleton.names, self.skeleton.channels, strict=True)
        return [(channel, name) for name, each in named for channel in each]

    @property
    def no_rows(self) -> Floats:
        """A table without a row; without a column, of as many rows as are declared."""
        width = len(self.channels)
        return np.zeros((0 if width else self.declared, width))

    def clip(self, table: Floats) -> Clip:
        """Return the clip of some rows."""
        pose = _pose(self.skeleton, table)
        return Clip(self.skeleton, pose, self.frame_time, name=self.path.stem)


def _read_head(path: Path, file: BinaryIO) -> _Head:
    """Return what stands before the rows."""

    def parse(source: Source) -> tuple[Skeleton, int, float]:
        hierarchy = read_hierarchy(source)
        skeleton = hierarchy.skeleton()
        return skeleton, *_motion_header(source, len(skeleton), hierarchy.width)

    head, source = read_head(path, file, parse)
    return _Head(path, *head, source.at, source.number)


class _Rows:
    """The rows of a file, one a frame, from its text in pieces that end where lines do.

    The first line of numbers tells whether rows are spread over several lines. What is wrong with
    rows is remembered until the end, because text that is no number at all is worse.
    """

    def __init__(self, head: _Head) -> None:
        self.head, self.number = head, head.number
        self.width = len(head.channels)
        self.most = np.array(
            [MAX_LENGTH if each in POSITIONS else MAX_ANGLE_DEG for each, _ in head.channels]
        )
        self.frames = len(head.no_rows)
        self.extra = self.longer = 0
        self.error: ValueError | None = None
        self.first: tuple[int, int] | None = None  # line of numbers, and how many it has
        self.mixed = False  # lines as long as a row, and shorter ones
        self.last, self.missing = 0, 0  # line so far, and numbers until its row is complete
        self.begun: list[int] = []  # lines where the rows begin that were not returned
        self.values = np.zeros(0)  # its numbers so far
        self.largest: dict[int, tuple[float, int]] = {}  # by column, where too large: value, line

    def take(self, text: bytes) -> Floats:
        """Return the rows (n, channels) that the next piece of text completes."""
        source = Source(str(self.head.path), text, number=self.number)
        source.at = 0
        values, per_line = scan_numbers(source)
        places = np.flatnonzero(per_line)
        lines, counts = self.number + 1 + places, per_line[places]
        self.number += len(per_line) - 1
        if self.first is None and counts.size:
            self.first = int(lines[0]), int(counts[0])
        if self.first is not None and self.first[1] < self.width:
            table, begins = self._join_lines(values, lines, counts)
        else:
            table, begins = self._cut_lines(values, lines, counts)
        if self.width:
            self.frames += len(table)
        self._measure(table, begins)
        return table

    def _cut_lines(self, values: Floats, lines: Ints, counts: Ints) -> tuple[Floats, Ints]:
        """Return a row of each line, without the numbers that are too many."""
        short = counts < self.width
        if short.any():
            place = int(short.argmax())
            self._remember(int(lines[place]), "", int(counts[place]))
            return self.head.no_rows, lines[:0]
        self.extra += int(values.size - self.width * counts.size)
        self.longer += int((counts > self.width).sum())
        if not self.width:
            return np.zeros((0, 0)), lines[:0]
        if values.size == self.width * counts.size:
            return values.reshape(-1, self.width).copy(), lines  # of a buffer with room for more
        starts = np.cumsum(counts) - counts
        return values[starts[:, None] + np.arange(self.width)], lines

    def _join_lines(self, values: Floats, lines: Ints, counts: Ints) -> tuple[Floats, Ints]:
        """Return the rows that several lines make, each of which begins on a new line."""
        if (counts >= self.width).any() and not self.mixed:
            self.mixed, self.error = True, None
            assert self.first is not None
            self._remember(self.first[0], "", self.first[1])
        for line, count in zip(lines.tolist(), counts.tolist(), strict=True):
            if self.error:
                return self.head.no_rows, lines[:0]
            if self.missing == 0:
                self.begun.append(line)
                self.missing = self.width
            self.last, self.missing = line, self.missing - count
            if self.missing < 0:
                self._remember(line, ", in the lines of a row", self.width - self.missing)
        joined = np.concatenate([self.values, values])
        whole = len(joined) // self.width
        table, self.values = np.split(joined, [whole * self.width])
        begun, self.begun = self.begun[:whole], self.begun[whole:]
        return table.reshape(whole, self.width), np.array(begun, dtype=np.int64)

    def _remember(self, line: int, where: str, count: int) -> None:
        rule = f"expected {self.width} numbers, as many as there are channels{where}"
        self.error = self.error or ValueError(f"{self.head.path}:{line}: {rule}, got {count}")

    def _measure(self, table: Floats, lines: Ints) -> None:
        """Remember where a column is largest, if that is too large to mean anything."""
        sizes = np.maximum(table.max(axis=0, initial=0.0), -table.min(axis=0, initial=0.0))
        for column in np.flatnonzero(sizes > self.most).tolist():
            if sizes[column] > abs(self.largest.get(column, (0.0, 0))[0]):
                row = int(np.abs(table[:, column]).argmax())
                self.largest[column] = float(table[row, column]), int(lines[row])

    def finish(self) -> list[str]:
        """Return what to warn about, at the end of the file; ValueError for what is wrong."""
        if self.missing > 0:
            self._remember(self.last, ", in the lines of a row", self.width - self.missing)
        if self.error:
            raise self.error
        for column, (value, line) in sorted(self.largest.items()):
            channel, name = self.head.channels[column]
            raise ValueError(
                f"{self.head.path}:{line}: expected {channel} of {name} within "
                f"±{self.most[column]:g}, got {value:g}"
            )
        messages = []
        if self.extra:
            messages.append(
                f"dropped {self.extra} numbers at the ends of {self.longer} rows: "
                f"there are {self.width} channels"
            )
        if self.frames != self.head.declared:
            messages.append(f"Frames: says {self.head.declared}, kept the {self.frames} there are")
        return messages


def _motion_header(source: Source, joints: int, width: int) -> tuple[int, float]:
    """Return the number of frames that the file declares, and the seconds between them."""
    match = _FRAMES.fullmatch(source.advance("Frames:"))
    digits = match[1].lstrip(b"0") if match else b""
    if not match or len(digits) > len(str(MAX_FRAMES)) or int(digits or b"0") >= MAX_FRAMES:
        source.fail(f"expected Frames: and a count from 0 to {MAX_FRAMES - 1}")
    declared = int(digits or b"0")
    if width == 0 and declared * joints > MAX_STILL_POSES:
        source.fail(f"expected at most {MAX_STILL_POSES // joints} frames without channels")
    match = _FRAME_TIME.fullmatch(source.advance("Frame Time:"))
    seconds = parse_numbers(match[1]) if match else None
    if seconds is None or len(seconds) != 1 or not MIN_FRAME_TIME <= seconds[0] <= MAX_FRAME_TIME:
        source.fail(
            f"expected Frame Time: and seconds from {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g}"
        )
    return declared, seconds[0]


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


# The BVH writer: what it writes is read back the same; see docs/bvh.md.


_MAX_INDENT = 40


def write_bvh(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to a BVH file at `path`, joints in the order of depth first."""
    write_chunks(Chunks.of(only_clip(clips, path)), path)


def write_chunks(clips: Iterable[Clip], path: Path) -> None:
    """Write consecutive clips as one BVH file; they are gone through twice."""
    skeleton, frames, frame_time, channels = _survey(clips)
    for name in skeleton.names:
        _check_name(name, path)
    each = zip(skeleton.names, skeleton.channels, channels, strict=True)
    if added := [name for name, had, has in each if had != has]:
        warnings.warn(
            f"{path}: added the channels that the motion needs to {', '.join(added)}",
            UserWarning,
            stacklevel=4,
        )
    order = _depth_first(skeleton)
    lines = ["HIERARCHY", *_hierarchy_lines(skeleton, channels, order)]
    lines += ["MOTION", f"Frames: {frames}", f"Frame Time: {frame_time!r}"]
    # Positions are exact; eight decimals of a degree are a hundredth of what we promise.
    form = " ".join(
        "%r" if channel in POSITIONS else "%.8f" for joint in order for channel in channels[joint]
    )
    columns = [_Columns(channels[joint], joint) for joint in order]
    with atomic_file(path) as file:
        file.write("\n".join([*lines, ""]).encode())
        for clip in clips if form else ():
            table = np.concatenate([each.take(clip.pose) for each in columns], axis=1)
            rows = [form % tuple(row) for row in table.tolist()]
            file.write("\n".join([*rows, ""]).encode())


def _survey(clips: Iterable[Clip]) -> tuple[Skeleton, int, float, list[tuple[str, ...]]]:
    """Return the skeleton, the number of frames, their time, and the channels to write."""
    frames, moved, turned = 0, np.zeros((1, 3), bool), np.zeros(1, bool)
    for clip in same_skeleton(clips):
        skeleton, pose = clip.skeleton, clip.pose
        frames += clip.frames
        slack = tolerance(pose.positions.dtype) * np.abs(skeleton.offsets).max()
        moved = moved | (np.abs(pose.positions - skeleton.offsets).max(axis=0, initial=0.0) > slack)
        turned = turned | [
            _partial_angles(pose.rotations[:, joint], _turn_order(channels)) is None
            for joint, channels in enumerate(skeleton.channels)
        ]
    channels = []
    for joint, had in enumerate(skeleton.channels):
        has = had
        if turned[joint]:
            has += tuple(channel for channel in ROTATIONS if channel not in had)
        if any(moved[joint, axis] for axis, name in enumerate(POSITIONS) if name not in had):
            has = tuple(channel for channel in POSITIONS if channel not in had) + has
        channels.append(has)
    return skeleton, frames, clip.frame_time, channels


def _turn_order(channels: tuple[str, ...]) -> str:
    """Return the axes that a joint turns about, as letters."""
    return "".join(channel[0] for channel in channels if channel in ROTATIONS)


def _check_name(name: str, path: Path) -> None:
    """Raise ValueError unless a reader gives `name` back as it is."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        encoded = b""
    writable = encoded == encoded.strip() and not re.search(rb"[\r\n]|{\Z|\A\Z", encoded)
    if not writable:
        raise ValueError(
            f"{path}: a joint's name in BVH must be one line of Unicode without a space at either "
            f"end or a brace at the last, got {name!r}"
        )


def _depth_first(skeleton: Skeleton) -> list[int]:
    """Return the joints such that each is followed by all that hangs on it."""
    children: list[list[int]] = [[] for _ in range(len(skeleton) + 1)]
    for joint, parent in enumerate(skeleton.parents.tolist()):
        children[parent].append(joint)
    order, stack = [], children[-1][::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack += children[joint][::-1]
    return order


def _hierarchy_lines(
    skeleton: Skeleton, channels: list[tuple[str, ...]], order: list[int]
) -> Iterator[str]:
    """Yield the lines between HIERARCHY and MOTION."""
    ends: dict[int, list[list[float]]] = {}
    for joint, offset in zip(
        skeleton.end_parents.tolist(), skeleton.end_offsets.tolist(), strict=True
    ):
        ends.setdefault(joint, []).append(offset)
    stack: list[int] = []
    for joint in order:
        while stack and stack[-1] != skeleton.parents[joint]:
            stack.pop()
            yield f"{_indent(len(stack))}}}"
        outer, inner = _indent(len(stack)), _indent(len(stack) + 1)
        yield f"{outer}{'JOINT' if stack else 'ROOT'} {skeleton.names[joint]}"
        yield f"{outer}{{"
        yield f"{inner}OFFSET {_triple(skeleton.offsets[joint].tolist())}"
        yield " ".join([f"{inner}CHANNELS {len(channels[joint])}", *channels[joint]])
        for offset in ends.get(joint, []):
            yield f"{inner}End Site"
            yield f"{inner}{{"
            yield f"{_indent(len(stack) + 2)}OFFSET {_triple(offset)}"
            yield f"{inner}}}"
        stack.append(joint)
    while stack:
        stack.pop()
        yield f"{_indent(len(stack))}}}"


def _indent(depth: int) -> str:
    return "\t" * min(depth, _MAX_INDENT)


def _triple(values: list[float]) -> str:
    return " ".join(map(repr, values))


class _Columns:
    """The numbers of one joint's channels, from consecutive poses."""

    def __init__(self, channels: tuple[str, ...], joint: int) -> None:
        self.channels, self.joint, self.order = channels, joint, _turn_order(channels)
        self.path, self.unwrapping = EulerPath(self.order), Unwrapping()

    def take(self, pose: Pose) -> Floats:
        """Return the table (frames, channels) of the next poses."""
        rotations = pose.rotations[:, self.joint]
        if len(self.order) == 3:
            angles_deg = self.path.angles_deg(rotations.astype(np.float64))
        else:
            angles = _partial_angles(rotations, self.order)
            assert angles is not None  # or the joint would have got more channels
            angles_deg = self.unwrapping.unwrap_deg(angles)
        return _table(self.channels, pose.positions[:, self.joint], angles_deg)


def _table(channels: tuple[str, ...], positions: Vectors, angles_deg: Floats) -> Floats:
    """Return positions and angles as `channels` order them."""
    table = np.empty((len(positions), len(channels)))
    turn = 0
    for column, channel in enumerate(channels):
        if channel in POSITIONS:
            table[:, column] = positions[:, POSITIONS.index(channel)]
        else:
            table[:, column] = angles_deg[:, turn]
            turn += 1
    return table


def _partial_angles(rotations: Quats, order: str) -> Floats | None:
    """Return angles (frames, n), radians, about the n axes in `order`, or None if they are too few.

    Of three there are enough; which of the triples to take, an `EulerPath` knows.
    """
    if len(order) == 3:
        return np.zeros((len(rotations), 3))
    slack, rotations = tolerance(rotations.dtype), rotations.astype(np.float64)
    if not order:
        still = angle_between(IDENTITY, rotations).max(initial=0.0) <= slack
        return np.zeros((len(rotations), 0)) if still else None
    full = order + "".join(channel[0] for channel in ROTATIONS if channel[0] not in order)
    angles = to_euler(rotations, full)
    first, middle, third = np.moveaxis(angles, -1, 0)
    # With the last angle at zero there is one answer, though it may be the other of the two
    # triples for this rotation, or be hidden by gimbal lock, where first and third are one turn.
    each = np.stack(
        [
            angles,
            other_triple(angles),
            np.stack([first + third, middle, 0 * third], axis=-1),
            np.stack([first - third, middle, 0 * third], axis=-1),
        ]
    )[..., : len(order)]
    error = angle_between(from_euler(each, order), rotations)
    if error.min(axis=0).max(initial=0.0) > slack:
        return None
    best = np.take_along_axis(each, error.argmin(axis=0)[None, :, None], axis=0)[0]
    return np.asarray(best)


BVH = ClipFormat(
    read_bvh,
    write_bvh,
    begins=lambda head: head.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].upper() == b"HIERARCHY",
    up="y",
    chunks=bvh_chunks,
    write_chunks=write_chunks,
)
