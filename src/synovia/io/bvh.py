"""BVH files; see docs/formats.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import Floats, Quats, Vectors, tolerance, wrap_angles
from ..quat import IDENTITY, angle_between, from_euler, to_euler
from ..skeleton import CHANNELS, POSITIONS, ROTATIONS, Clip, Pose, Skeleton
from .files import atomic_file, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import LineReader, decode_text, parse_numbers
from .skeletons import MAX_FRAME_TIME, MIN_FRAME_TIME, depth_first, group_by

MAX_FRAMES = 10**9  # larger counts of frames are taken for mistakes
_BRACE = re.compile(rb"([{}])")
_JOINT_LINE = re.compile(rb"(ROOT|JOINT)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_END_SITE = re.compile(rb"END\s+SITE", re.IGNORECASE)
_FRAMES = re.compile(rb"Frames\s*:\s*0*(\d+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"Frame\s*Time\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_CHANNEL_NAMES = {name.upper().encode(): name for name in CHANNELS}
_ROWS_AT_ONCE = 256  # rows formatted together, which bounds the memory of their text
_MAX_INDENT = 40


@dataclass(eq=False)
class _Node:
    """A joint or an end site, which has no name; `parent` is None for a root."""

    title: str
    name: str
    parent: _Node | None
    offset: Floats | None = None
    channels: tuple[str, ...] | None = None


def read_bvh(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in the BVH file at `path`."""
    reader = LineReader(path, read_file(path))
    skeleton = _skeleton(_read_hierarchy(reader))
    frames, frame_time = _read_motion_header(reader)
    rows = _read_rows(reader, sum(map(len, skeleton.channels)), frames)
    for message in reader.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    return Clip(skeleton, _pose(skeleton, rows), frame_time, path.stem)


def _read_hierarchy(reader: LineReader) -> list[_Node]:
    """Read from HIERARCHY up to and with MOTION; return joints and end sites in order.

    A stack holds the nodes whose braces are open, so that depth does not matter.
    """
    if reader.advance("HIERARCHY").upper() != b"HIERARCHY":
        reader.fail("expected HIERARCHY")
    nodes: list[_Node] = []
    names: set[str] = set()
    stack: list[_Node] = []
    opening: _Node | None = None
    for statement in _statements(reader, stack):
        words = statement.split()
        keyword = words[0].upper()
        node = stack[-1] if stack else None
        if opening:
            if keyword != b"{":
                reader.fail(f"expected '{{' after {opening.title}")
            nodes.append(opening)
            stack.append(opening)
            opening = None
        elif keyword in (b"ROOT", b"JOINT"):
            opening = _read_joint(reader, names, node, keyword.decode(), statement)
        elif _END_SITE.match(statement):  # some writers add a name, glued to it or not
            if not node or not node.name:
                reader.fail("expected End Site inside of a joint")
            opening = _Node("End Site", "", node)
        elif words == [statement] and keyword == b"MOTION":
            if node:
                reader.fail(f"expected '}}' to close {node.title}")
            break
        elif not node:
            reader.fail("expected ROOT or MOTION")
        elif keyword == b"OFFSET":
            offset = parse_numbers(statement[len(b"OFFSET") :])
            if offset is None or len(offset) != 3:
                reader.fail("expected 3 numbers after OFFSET")
            if node.offset is not None:
                reader.fail(f"expected one OFFSET in {node.title}")
            node.offset = offset
        elif keyword == b"CHANNELS":
            if not node.name or node.channels is not None or nodes[-1] is not node:
                rule = "expected CHANNELS once in a joint, before its children, not in"
                reader.fail(f"{rule} {node.title}")
            node.channels = _read_channels(reader, words)
        elif keyword == b"}":
            if node.offset is None:
                reader.fail(f"expected OFFSET in {node.title}")
            stack.pop()
        else:
            reader.fail("expected OFFSET, CHANNELS, JOINT, End Site or '}'")
    if not nodes:
        reader.fail("expected ROOT")
    return nodes


def _statements(reader: LineReader, stack: list[_Node]) -> Iterator[bytes]:
    """Yield statements: a keyword with a joint's name, a brace, or the text between braces."""
    while True:
        line = reader.advance("'}'" if stack else "ROOT or MOTION")
        if _JOINT_LINE.fullmatch(line):
            yield line.removesuffix(b"{").rstrip()
            if line.endswith(b"{"):
                yield b"{"
        else:
            yield from filter(None, map(bytes.strip, _BRACE.split(line)))


def _read_joint(
    reader: LineReader, names: set[str], parent: _Node | None, keyword: str, statement: bytes
) -> _Node:
    """Return the joint that `statement` names."""
    if keyword == "ROOT" and parent:
        reader.fail(f"expected '}}' to close {parent.title} before ROOT")
    if keyword == "JOINT" and not (parent and parent.name):
        reader.fail("expected JOINT inside of a joint")
    name = decode_text(statement[len(keyword) :].strip())
    if not name:
        reader.fail(f"expected a name after {keyword}")
    if name in names:
        reader.fail("expected a name that no other joint has")
    names.add(name)
    return _Node(f"{keyword} {name}", name, parent)


def _read_channels(reader: LineReader, words: list[bytes]) -> tuple[str, ...]:
    if len(words) < 2 or not words[1].isdigit():
        reader.fail("expected a count after CHANNELS")
    channels = [_CHANNEL_NAMES.get(word.upper()) for word in words[2:]]
    if words[1].lstrip(b"0") != (b"%d" % len(channels)).lstrip(b"0"):
        reader.fail("expected as many channels as CHANNELS says")
    names = tuple(name for name in channels if name)
    if len(set(names)) < len(channels):
        reader.fail("expected channels like Xposition or Zrotation, each once")
    return names


def _skeleton(nodes: list[_Node]) -> Skeleton:
    """Return the skeleton, its end sites in the order of their joints."""
    joints = [node for node in nodes if node.name]
    indices = {id(node): index for index, node in enumerate(joints)}
    ends = [(indices[id(node.parent)], node.offset) for node in nodes if not node.name]
    ends.sort(key=lambda end: end[0])
    return Skeleton(
        tuple(node.name for node in joints),
        np.array([indices.get(id(node.parent), -1) for node in joints]),
        np.array([node.offset for node in joints]),
        tuple(node.channels or () for node in joints),
        np.array([joint for joint, _ in ends], dtype=np.int64),
        np.array([offset for _, offset in ends]).reshape(-1, 3),
    )


def _read_motion_header(reader: LineReader) -> tuple[int, float]:
    """Return the number of frames that the file declares, and the seconds between them."""
    match = _FRAMES.fullmatch(reader.advance("Frames:"))
    if not match or len(match[1]) >= len(str(MAX_FRAMES)):
        reader.fail(f"expected Frames: and a count from 0 to {MAX_FRAMES - 1}")
    frames = int(match[1])
    match = _FRAME_TIME.fullmatch(reader.advance("Frame Time:"))
    seconds = parse_numbers(match[1]) if match else None
    if seconds is None or len(seconds) != 1 or not MIN_FRAME_TIME <= seconds[0] <= MAX_FRAME_TIME:
        reader.fail(
            f"expected Frame Time: and seconds from {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g}"
        )
    return frames, float(seconds[0])


def _read_rows(reader: LineReader, width: int, declared: int) -> Floats:
    """Return the numbers (frames, width) in the rest of the file.

    With as many numbers as declared, rows may be broken into lines anyhow. Otherwise each line is a
    row, and numbers at its end for which there is no channel are dropped, with a warning.
    """
    first = reader.number + 1
    values = reader.numbers(reader.rest, range(first, len(reader.lines) + 1))
    if values.size == width * declared and width:
        return values.reshape(declared, width)
    if not width:
        return np.zeros((min(declared, 1), 0))  # a skeleton at rest
    rows: list[Floats] = []
    longer = 0
    for number, line in enumerate(reader.rest, start=first):
        if line.strip():
            row = reader.numbers([line], [number])
            if len(row) < width:
                rule = f"expected {width} numbers, as many as there are channels"
                reader.fail_at(number, rule, len(row))
            longer += len(row) > width
            rows.append(row[:width])
    if longer:
        extra = values.size - width * len(rows)
        reader.warnings.append(
            f"dropped {extra} numbers at the ends of {longer} rows: there are {width} channels"
        )
    if len(rows) != declared:
        reader.warnings.append(f"Frames: says {declared}, kept the {len(rows)} there are")
    return np.array(rows).reshape(-1, width)


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
        rotations[:, joint] = _rotations_about(angles, _axis_order(channels))
    return Pose(rotations, positions)


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
    children = group_by(range(len(skeleton)), lambda joint: int(skeleton.parents[joint]))
    order = list(depth_first(children[-1], lambda joint: children.get(joint, [])))
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
            angles = np.radians(euler_angles_deg(rotations, order))
            error = angle_between(_rotations_about(angles, order), rotations).max(initial=0.0)
            if error > tolerance(pose.rotations.dtype):
                has += tuple(channel for channel in ROTATIONS if channel not in had)
        offsets = np.abs(pose.positions[:, joint] - skeleton.offsets[joint])
        moved = offsets.max(axis=0, initial=0.0) > slack
        if any(moved[axis] for axis, name in enumerate(POSITIONS) if name not in had):
            has = tuple(channel for channel in POSITIONS if channel not in had) + has
        needed.append(has)
    return needed


def euler_angles_deg(rotations: Quats, order: str) -> Floats:
    """Return Euler angles (frames, n), in degrees, of a path of `rotations` (frames, 4).

    Two triples of angles give the same rotation: the one nearer to the previous frame's is chosen.
    With n < 3 axes in `order`, the angles give the rotations only if these need no other axis.
    """
    all_axes = order + "".join(axis for axis in "ZXY" if axis not in order)
    angles = to_euler(rotations, all_axes)
    other = np.pi + angles * np.array([1.0, -1.0, 1.0])  # the same rotations
    if len(order) == 3:
        # Switching triples costs the same whichever of the two the previous frame uses.
        stay = np.abs(wrap_angles(angles[1:] - angles[:-1])).sum(axis=-1)
        switch = np.abs(wrap_angles(other[1:] - angles[:-1])).sum(axis=-1)
        switched = np.concatenate([[False], np.cumsum(switch < stay) % 2 == 1])
    else:
        switched = np.abs(angles[:, 2]) > 0.5 * np.pi
    chosen_deg = np.degrees(np.where(switched[:, None], other, angles)[:, : len(order)])
    return np.unwrap(chosen_deg, axis=0, period=360.0)


def _rotations_about(angles: Floats, order: str) -> Quats:
    """Return the rotations (frames, 4) by `angles` (frames, n), radians, about n axes in order."""
    return from_euler(angles, order) if order else np.tile(IDENTITY, (len(angles), 1))


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


def _hierarchy_lines(
    skeleton: Skeleton, channels: list[tuple[str, ...]], order: list[int]
) -> Iterator[str]:
    """Yield the lines between HIERARCHY and MOTION."""
    parents: list[int] = []  # joints whose braces are open
    for joint in order:
        while parents and parents[-1] != skeleton.parents[joint]:
            parents.pop()
            yield f"{_indent(len(parents))}}}"
        outer, inner = _indent(len(parents)), _indent(len(parents) + 1)
        yield f"{outer}{'JOINT' if parents else 'ROOT'} {skeleton.names[joint]}"
        yield f"{outer}{{"
        yield f"{inner}OFFSET {_triple(skeleton.offsets[joint])}"
        yield " ".join([f"{inner}CHANNELS {len(channels[joint])}", *channels[joint]])
        for offset in skeleton.end_offsets[skeleton.end_parents == joint]:
            yield f"{inner}End Site"
            yield f"{inner}{{"
            yield f"{_indent(len(parents) + 2)}OFFSET {_triple(offset)}"
            yield f"{inner}}}"
        parents.append(joint)
    yield from (f"{_indent(depth)}}}" for depth in reversed(range(len(parents))))


def _indent(depth: int) -> str:
    return "\t" * min(depth, _MAX_INDENT)


def _triple(values: Vectors) -> str:
    return " ".join(map(repr, values.tolist()))


def _columns(pose: Pose, joint: int, channels: tuple[str, ...]) -> Floats:
    """Return the numbers (frames, channels) of one joint: positions, and angles in degrees."""
    rotations = pose.rotations[:, joint].astype(np.float64)
    order = _axis_order(channels)
    table = np.empty((len(rotations), len(channels)))
    table[:, [channel in ROTATIONS for channel in channels]] = euler_angles_deg(rotations, order)
    for column, channel in enumerate(channels):
        if channel in POSITIONS:
            table[:, column] = pose.positions[:, joint, POSITIONS.index(channel)]
    return table


BVH = ClipFormat(read_bvh, write_bvh, up="y")
