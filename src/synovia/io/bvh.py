"""BVH: the reader takes what people have, and says where it cannot; what the writer writes is read
back the same. See docs/bvh.md.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Quats, Vectors, tolerance, wrap_angles
from ..quat import IDENTITY, angle_between, from_euler, to_euler
from ..skeleton import CHANNELS, POSITIONS, ROTATIONS, Clip, Pose, Skeleton
from .atomic import atomic_write

LINE_END = re.compile(rb"\r\n|\r|\n")
_BRACE = re.compile(rb"([{}])")
_JOINT_LINE = re.compile(rb"(ROOT|JOINT)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(rb"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?=[\s+-]|\Z)\s*+")
_CHANNEL_NAMES = {name.upper().encode(): name for name in CHANNELS}


@dataclass
class Source:
    """The bytes of a file, taken line by line."""

    path: str
    data: bytes
    at: int = 0
    number: int = 0
    line: bytes = b""
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.data.startswith(b"\xef\xbb\xbf"):
            self.at = 3

    def advance(self, wanted: str) -> bytes:
        """Move to the next line that is not blank, and return it stripped."""
        while True:
            if self.at >= len(self.data):
                self.fail_at(max(self.number, 1), f"expected {wanted}", "the end of the file")
            end = LINE_END.search(self.data, self.at)
            stop, after = end.span() if end else (len(self.data), len(self.data))
            self.line = self.data[self.at : stop].strip()
            self.at = after
            self.number += 1
            if self.line:
                return self.line

    def fail(self, rule: str) -> NoReturn:
        """Raise ValueError about the line at hand."""
        self.fail_at(self.number, rule, quote_line(self.line))

    def fail_at(self, number: int, rule: str, came: str) -> NoReturn:
        """Raise the error that names the file and the line."""
        raise ValueError(f"{self.path}:{number}: {rule}, got {came}")


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
        elif [word.upper() for word in words] == [b"END", b"SITE"]:
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
    name = _decode(statement[len(keyword) :].strip())
    if not name:
        source.fail(f"expected a name after {keyword}")
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


def parse_numbers(text: bytes) -> list[float] | None:
    """Return the finite numbers in `text`, or None where anything else is in it."""
    text = text.strip()
    found, at = [], 0
    while at < len(text):
        match = _NUMBER.match(text, at)
        if not match or not math.isfinite(number := float(match[0])):
            return None
        found.append(number)
        at = match.end()
    return found


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def quote_line(text: bytes) -> str:
    """Return `text` as an error shows it: quoted, and cut where it is long."""
    line = _decode(text)
    return repr(line if len(line) <= 60 else f"{line[:57]}...")


# The BVH reader: takes what people have, and says where it cannot; see docs/bvh.md.


MAX_FRAMES = 10**9
"""A count of frames from here on is a mistake, not a clip."""
MAX_STILL_POSES = 10**6
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
    if not match or len(digits) > len(str(MAX_FRAMES)) or int(digits or b"0") >= MAX_FRAMES:
        source.fail(f"expected Frames: and a count from 0 to {MAX_FRAMES - 1}")
    declared = int(digits or b"0")
    if width == 0 and declared * joints > MAX_STILL_POSES:
        source.fail(f"expected at most {MAX_STILL_POSES // joints} frames without channels")
    match = _FRAME_TIME.fullmatch(source.advance("Frame Time:"))
    seconds = parse_numbers(match[1]) if match else None
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
        starts = starts[_row_starts(source, width, lines, counts)]
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


def _row_starts(source: Source, width: int, lines: Ints, counts: Ints) -> list[int]:
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
        bad = int(kernels.bvh.scan(text, cursor, values, per_line, hard))
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
        source.fail_at(number, "expected finite numbers", quote_line(word))
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


# The BVH writer: what it writes is read back the same; see docs/bvh.md.


_MAX_INDENT = 40


def write_bvh(clip: Clip, path: Path) -> None:
    """Write `clip` to a BVH file at `path`, joints in the order of depth first."""
    for name in clip.skeleton.names:
        _check_name(name, path)
    channels, columns = _columns(clip)
    added = [
        name
        for name, had, has in zip(
            clip.skeleton.names, clip.skeleton.channels, channels, strict=True
        )
        if had != has
    ]
    if added:
        warnings.warn(
            f"{path}: added the channels that the motion needs to {', '.join(added)}",
            UserWarning,
            stacklevel=3,
        )
    order = _depth_first(clip.skeleton)
    lines = ["HIERARCHY", *_hierarchy_lines(clip.skeleton, channels, order)]
    lines += ["MOTION", f"Frames: {clip.frames}", f"Frame Time: {clip.frame_time!r}"]
    # Positions are exact; eight decimals of a degree are a hundredth of what we promise.
    form = " ".join(
        "%r" if channel in POSITIONS else "%.8f" for joint in order for channel in channels[joint]
    )
    if form:
        table = np.concatenate([columns[joint] for joint in order], axis=1)
        lines += [form % tuple(row) for row in table.tolist()]
    atomic_write(path, "\n".join([*lines, ""]).encode())


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


def _columns(clip: Clip) -> tuple[list[tuple[str, ...]], list[Floats]]:
    """Return the channels to write for each joint, and their numbers (frames, channels)."""
    skeleton, pose = clip.skeleton, clip.pose
    slack = tolerance(pose.positions.dtype) * np.abs(skeleton.offsets).max()
    moved = np.abs(pose.positions - skeleton.offsets).max(axis=0, initial=0.0) > slack
    channels, columns = [], []
    for joint, had in enumerate(skeleton.channels):
        rotations = pose.rotations[:, joint].astype(np.float64)
        orders = "".join(channel[0] for channel in had if channel in ROTATIONS)
        angles_deg = _partial_angles_deg(rotations, orders, tolerance(pose.rotations.dtype))
        has = had
        if angles_deg is None:
            has += tuple(channel for channel in ROTATIONS if channel not in had)
            orders = "".join(channel[0] for channel in has if channel in ROTATIONS)
            angles_deg = _angles_deg(rotations, orders)
        if any(moved[joint, axis] for axis, name in enumerate(POSITIONS) if name not in had):
            has = tuple(channel for channel in POSITIONS if channel not in had) + has
        channels.append(has)
        columns.append(_table(has, pose.positions[:, joint], angles_deg))
    return channels, columns


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


def _partial_angles_deg(rotations: Quats, order: str, slack: float) -> Floats | None:
    """Return angles (frames, n) about the n axes in `order`, or None where those do not suffice."""
    if len(order) == 3:
        return _angles_deg(rotations, order)
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
            _other_triple(angles),
            np.stack([first + third, middle, 0 * third], axis=-1),
            np.stack([first - third, middle, 0 * third], axis=-1),
        ]
    )[..., : len(order)]
    error = angle_between(from_euler(each, order), rotations)
    if error.min(axis=0).max(initial=0.0) > slack:
        return None
    best = np.take_along_axis(each, error.argmin(axis=0)[None, :, None], axis=0)[0]
    return _unwrap_deg(best)


def _angles_deg(rotations: Quats, order: str) -> Floats:
    """Return angles (frames, 3), degrees, that go on from frame to frame without a jump."""
    angles = to_euler(rotations, order)
    other = _other_triple(angles)
    # Changing to the other triple costs the same whichever of the two the frame before used.
    stay = np.abs(wrap_angles(np.diff(angles, axis=0))).sum(axis=-1)
    change = np.abs(wrap_angles(other[1:] - angles[:-1])).sum(axis=-1)
    changed = np.cumsum(np.concatenate([np.zeros(len(angles[:1])), change < stay])) % 2 == 1
    chosen = np.where(changed[:, None], other, angles)
    return _unwrap_deg(chosen)


def _unwrap_deg(angles: Floats) -> Floats:
    """Return `angles` (radians) in degrees, whole turns added so that no step is above 180."""
    angles_deg: Floats = np.unwrap(np.degrees(angles), axis=0, period=360.0)
    return angles_deg


def _other_triple(angles: Floats) -> Floats:
    """Return the other three angles, about three different axes, of the same rotations."""
    other: Floats = np.pi + angles * np.array([1.0, -1.0, 1.0])
    return other
