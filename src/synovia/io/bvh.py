"""BVH files; see docs/formats.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..arrays import Floats, Ints, tolerance
from ..quat import angle_between
from ..skeleton import CHANNELS, POSITIONS, ROTATIONS, Clip, Pose, Skeleton
from .bounds import (
    MAX_ANGLE_DEG,
    MAX_FRAME_TIME,
    MAX_JOINTS,
    MAX_LENGTH,
    MAX_NAME,
    MIN_FRAME_TIME,
)
from .euler import euler_angles_deg, nearest_angles, rotations_about, unwrap_deg
from .files import atomic_file, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import LineReader, decode_text, parse_numbers, scan_numbers

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
    """The joints and end sites that have been read, in the order of the file."""

    names: dict[str, None] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[tuple[str, ...]] = field(default_factory=list)
    ends: list[tuple[int, list[float]]] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of channels of a frame."""
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


def read_hierarchy(reader: LineReader) -> Hierarchy:
    """Read from HIERARCHY up to and with MOTION; a stack, so that depth does not matter."""
    if reader.advance("HIERARCHY").upper() != b"HIERARCHY":
        reader.fail("expected HIERARCHY")
    tree = Hierarchy()
    stack: list[_Block] = []
    opening: _Block | None = None
    statements = _statements(reader, stack)
    while True:
        statement = next(statements)
        words = statement.split()
        keyword = words[0].upper()
        block = stack[-1] if stack else None
        if opening:
            if keyword != b"{":
                reader.fail(f"expected '{{' after {opening.title}")
            stack.append(opening)
            opening = None
        elif keyword == b"ROOT" or keyword == b"JOINT":
            opening = _begin_joint(reader, tree, block, keyword.decode(), statement)
        elif _END_SITE.match(statement):  # some writers add a name, glued to it or not
            if not block or block.is_end:
                reader.fail("expected End Site inside of a joint")
            opening = _Block("End Site", block.joint, is_end=True)
        elif words == [statement] and keyword == b"MOTION":
            if block:
                reader.fail(f"expected '}}' to close {block.title}")
            if not tree.names:
                reader.fail("expected ROOT")
            return tree
        elif not block:
            reader.fail("expected ROOT or MOTION")
        elif keyword == b"OFFSET":
            _read_offset(reader, tree, block, statement)
        elif keyword == b"CHANNELS":
            _read_channels(reader, tree, block, words)
        elif keyword == b"}":
            if not block.has_offset:
                reader.fail(f"expected OFFSET in {block.title}")
            stack.pop()
        else:
            reader.fail("expected OFFSET, CHANNELS, JOINT, End Site or '}'")


def _statements(reader: LineReader, stack: list[_Block]) -> Iterator[bytes]:
    """Yield statements: a keyword with a joint's name, a brace, or the text between braces."""
    while True:
        line = reader.advance("'}'" if stack else "ROOT or MOTION")
        if _JOINT_LINE.fullmatch(line):
            yield line.removesuffix(b"{").rstrip()
            if line.endswith(b"{"):
                yield b"{"
        else:
            yield from filter(None, map(bytes.strip, _BRACE.split(line)))


def _begin_joint(
    reader: LineReader, tree: Hierarchy, block: _Block | None, keyword: str, statement: bytes
) -> _Block:
    """Begin the joint that `statement` names."""
    if keyword == "ROOT" and block:
        reader.fail(f"expected '}}' to close {block.title} before ROOT")
    if keyword == "JOINT" and (not block or block.is_end):
        reader.fail("expected JOINT inside of a joint")
    name = decode_text(statement[len(keyword) :].strip())
    if not name:
        reader.fail(f"expected a name after {keyword}")
    if len(name) > MAX_NAME:
        reader.fail(f"expected a name of at most {MAX_NAME} characters")
    if len(tree.names) == MAX_JOINTS:
        reader.fail(f"expected at most {MAX_JOINTS} joints")
    if name in tree.names:
        reader.fail("expected a name that no other joint has")
    if block:
        block.has_children = True
    tree.names[name] = None
    tree.parents.append(block.joint if block else -1)
    tree.offsets.append([])
    tree.channels.append(())
    return _Block(f"{keyword} {name}", len(tree.names) - 1, is_end=False)


def _read_offset(reader: LineReader, tree: Hierarchy, block: _Block, statement: bytes) -> None:
    offset = parse_numbers(statement[len(b"OFFSET") :])
    if offset is None or len(offset) != 3:
        reader.fail("expected 3 numbers after OFFSET")
    if max(map(abs, offset)) > MAX_LENGTH:
        reader.fail(f"expected numbers of at most {MAX_LENGTH:g} after OFFSET")
    if block.has_offset:
        reader.fail(f"expected one OFFSET in {block.title}")
    block.has_offset = True
    if block.is_end:
        tree.ends.append((block.joint, offset))
    else:
        tree.offsets[block.joint] = offset


def _read_channels(reader: LineReader, tree: Hierarchy, block: _Block, words: list[bytes]) -> None:
    if block.is_end or block.has_channels or block.has_children:
        reader.fail(f"expected CHANNELS once in a joint, before its children, not in {block.title}")
    if len(words) < 2 or not words[1].isdigit():
        reader.fail("expected a count after CHANNELS")
    channels = [_CHANNEL_NAMES.get(word.upper()) for word in words[2:]]
    if words[1].lstrip(b"0") != (b"%d" % len(channels)).lstrip(b"0"):
        reader.fail("expected as many channels as CHANNELS says")
    names = tuple(name for name in channels if name)
    if len(set(names)) < len(channels):
        reader.fail("expected channels like Xposition or Zrotation, each once")
    block.has_channels = True
    tree.channels[block.joint] = names


MAX_FRAMES = 10**9  # larger counts of frames are taken for mistakes
MAX_STILL_POSES = 10**6  # frames × joints of a file without channels

_FRAMES = re.compile(rb"Frames\s*:\s*(\d+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"Frame\s*Time\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_ROWS_AT_ONCE = 256  # bounds the memory of temporary arrays and text


def read_bvh(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in the BVH file at `path`."""
    skeleton, frame_time, rows = _read_content(path)
    return Clip(skeleton, _pose(skeleton, rows), frame_time, path.stem)


def _read_content(path: Path) -> tuple[Skeleton, float, Floats]:
    """Return the skeleton, the seconds between frames, and the rows (frames, channels)."""
    reader = LineReader(str(path), read_file(path))
    hierarchy = read_hierarchy(reader)
    declared, frame_time = _motion_header(reader, len(hierarchy.names), hierarchy.width)
    rows = _read_rows(reader, hierarchy, declared)
    for message in reader.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=4)
    return hierarchy.skeleton(), frame_time, rows


def _read_rows(reader: LineReader, hierarchy: Hierarchy, declared: int) -> Floats:
    """Return the numbers (frames, channels) in the rest of the file.

    A row may be spread over several lines, if all are. Numbers at the end of a row for which there
    is no channel are dropped, with a warning.
    """
    width = hierarchy.width
    values, per_line = scan_numbers(reader)
    lines = np.flatnonzero(per_line)
    counts = per_line[lines]
    starts = np.cumsum(counts) - counts  # of each line's numbers in `values`
    lines += reader.number + 1
    short = counts < width
    if short.any() and short.all():
        begins = _first_lines(reader, width, lines, counts)
        starts, lines = starts[begins], lines[begins]
    elif short.any():
        first = int(short.argmax())
        rule = f"expected {width} numbers, as many as there are channels"
        reader.fail_at(int(lines[first]), rule, str(counts[first]))
    elif extra := int(values.size - width * counts.size):
        reader.warnings.append(
            f"dropped {extra} numbers at the ends of {int((counts > width).sum())} rows: "
            f"there are {width} channels"
        )
    if not width:
        return np.zeros((declared, 0))
    if starts.size != declared:
        reader.warnings.append(f"Frames: says {declared}, kept the {starts.size} there are")
    if values.size == width * starts.size:
        rows = values.reshape(-1, width)
    else:
        rows = values[starts[:, None] + np.arange(width)]
    _check_sizes(reader, hierarchy, rows, lines)
    return rows


def _first_lines(reader: LineReader, width: int, lines: Ints, counts: Ints) -> list[int]:
    """Return the indices of the lines that begin a row, where each row takes several lines."""
    begins, filled = [], width
    for index, count in enumerate(counts.tolist()):
        if filled == width:
            begins.append(index)
            filled = 0
        filled += count
        if filled > width or (filled < width and index + 1 == len(counts)):
            rule = f"expected {width} numbers, as many as there are channels, in the lines of a row"
            reader.fail_at(int(lines[index]), rule, str(filled))
    return begins


def _check_sizes(reader: LineReader, hierarchy: Hierarchy, rows: Floats, lines: Ints) -> None:
    """Raise ValueError for a length or an angle that is taken for a mistake."""
    joints = zip(hierarchy.names, hierarchy.channels, strict=True)
    titles = [(channel, name) for name, channels in joints for channel in channels]
    largest = np.array([MAX_LENGTH if title in POSITIONS else MAX_ANGLE_DEG for title, _ in titles])
    sizes = np.maximum(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0))
    for column in np.flatnonzero(sizes > largest).tolist():
        (channel, name), row = titles[column], int(np.abs(rows[:, column]).argmax())
        reader.fail_at(
            int(lines[row]),
            f"expected {channel} of {name} within ±{largest[column]:g}",
            f"{rows[row, column]:g}",
        )


def _motion_header(reader: LineReader, joints: int, width: int) -> tuple[int, float]:
    """Return the number of frames that the file declares, and the seconds between them."""
    match = _FRAMES.fullmatch(reader.advance("Frames:"))
    digits = match[1].lstrip(b"0") if match else b""
    if not match or len(digits) > len(str(MAX_FRAMES)) or int(digits or b"0") >= MAX_FRAMES:
        reader.fail(f"expected Frames: and a count from 0 to {MAX_FRAMES - 1}")
    declared = int(digits or b"0")
    if width == 0 and declared * joints > MAX_STILL_POSES:
        reader.fail(f"expected at most {MAX_STILL_POSES // joints} frames without channels")
    match = _FRAME_TIME.fullmatch(reader.advance("Frame Time:"))
    seconds = parse_numbers(match[1]) if match else None
    if seconds is None or len(seconds) != 1 or not MIN_FRAME_TIME <= seconds[0] <= MAX_FRAME_TIME:
        reader.fail(
            f"expected Frame Time: and seconds from {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g}"
        )
    return declared, seconds[0]


def _pose(skeleton: Skeleton, table: Floats) -> Pose:
    """Return the pose of each row; position channels replace the offset."""
    positions = np.tile(skeleton.offsets, (len(table), 1, 1))
    rotations = np.empty((len(table), len(skeleton), 4))
    column = 0
    for joint, channels in enumerate(skeleton.channels):
        values = table[:, column : column + len(channels)]
        column += len(channels)
        for index, channel in enumerate(channels):
            if channel in POSITIONS:
                positions[:, joint, POSITIONS.index(channel)] = values[:, index]
        angles = np.radians(values[:, [channel in ROTATIONS for channel in channels]])
        rotations[:, joint] = rotations_about(angles, _axis_order(channels))
    return Pose(rotations, positions)


_MAX_INDENT = 40


def write_bvh(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to a BVH file at `path`, joints in depth-first order."""
    clip = only_clip(clips, path)
    skeleton = clip.skeleton
    for name in skeleton.names:
        _check_name(name, path)
    channels = _needed_channels(clip)
    pairs = zip(skeleton.names, skeleton.channels, channels, strict=True)
    if added := [name for name, had, has in pairs if had != has]:
        warnings.warn(
            f"{path}: added the channels that the motion needs to {', '.join(added)}",
            UserWarning,
            stacklevel=4,
        )
    order = _depth_first(skeleton)
    lines = ["HIERARCHY", *_hierarchy_lines(skeleton, channels, order)]
    lines += ["MOTION", f"Frames: {clip.frames}", f"Frame Time: {clip.frame_time!r}"]
    # Positions are exact; eight decimals of a degree are a hundredth of what we promise.
    form = " ".join(
        "%r" if channel in POSITIONS else "%.8f" for joint in order for channel in channels[joint]
    )
    table = np.concatenate([_columns(clip.pose, joint, channels[joint]) for joint in order], axis=1)
    with atomic_file(path) as file:
        file.write("\n".join([*lines, ""]).encode())
        for first in range(0, clip.frames if form else 0, _ROWS_AT_ONCE):
            rows = table[first : first + _ROWS_AT_ONCE].tolist()
            file.write("".join(f"{form % tuple(row)}\n" for row in rows).encode())


def _needed_channels(clip: Clip) -> list[tuple[str, ...]]:
    """Return the channels of each joint: the skeleton's, and those that the motion needs."""
    skeleton, pose = clip.skeleton, clip.pose
    slack = tolerance(pose.positions.dtype) * np.abs(skeleton.offsets).max()
    needed = []
    for joint, had in enumerate(skeleton.channels):
        has, order = had, _axis_order(had)
        if len(order) < 3:
            rotations = pose.rotations[:, joint].astype(np.float64)
            nearest = rotations_about(nearest_angles(rotations, order), order)
            error = angle_between(nearest, rotations).max(initial=0.0)
            if error > tolerance(pose.rotations.dtype):
                has += tuple(channel for channel in ROTATIONS if channel not in had)
        offsets = np.abs(pose.positions[:, joint] - skeleton.offsets[joint])
        moved = offsets.max(axis=0, initial=0.0) > slack
        if any(moved[axis] for axis, name in enumerate(POSITIONS) if name not in had):
            has = tuple(channel for channel in POSITIONS if channel not in had) + has
        needed.append(has)
    return needed


def _axis_order(channels: tuple[str, ...]) -> str:
    """Return the axes of a joint's rotation channels, as letters in their order."""
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
    """Return the joints in depth-first order: each is followed by all joints below it."""
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


def _columns(pose: Pose, joint: int, channels: tuple[str, ...]) -> Floats:
    """Return the numbers (frames, channels) of one joint: positions, and angles in degrees."""
    rotations = pose.rotations[:, joint].astype(np.float64)
    order = _axis_order(channels)
    table = np.empty((len(rotations), len(channels)))
    table[:, [channel in ROTATIONS for channel in channels]] = (
        euler_angles_deg(rotations, order)
        if len(order) == 3
        else unwrap_deg(nearest_angles(rotations, order))
    )
    for column, channel in enumerate(channels):
        if channel in POSITIONS:
            table[:, column] = pose.positions[:, joint, POSITIONS.index(channel)]
    return table


BVH = ClipFormat(
    read_bvh,
    write_bvh,
    begins=lambda head: head.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].upper() == b"HIERARCHY",
    up="y",
)
