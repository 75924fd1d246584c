"""AMC (Acclaim): motion of the skeleton in an ASF file. See docs/formats.md."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, tolerance
from ..quat import angle_between, inverse, mul, rotate
from ..skeleton import Clip, Pose, Skeleton
from ..skeleton.world import with_unit, with_up
from .asf import (
    MAX_NUMBER,
    POSITION_FREEDOMS,
    ROTATION_FREEDOMS,
    AsfOrigin,
    find_asf,
    parse_asf,
    read_asf,
)
from .euler import euler_angles_deg, nearest_angles, rotations_about
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import LineReader, decode_text, parse_numbers, quote_line, scan_numbers

FRAME_TIME = 1.0 / 120.0  # seconds, if a file does not state it: CMU's rate
MAX_STILL_POSES = 10**6  # frames × joints allowed in a file with fewer bytes than that
DECIMALS = 8  # of written degrees: a hundredth of the promised accuracy; radians have two more
MAX_ROUNDING = 1e-12  # radians: error of a rotation that is read and written

_ASF = re.compile(rb"^\s*:(version|units|root|bonedata|hierarchy)\b", re.MULTILINE | re.IGNORECASE)
_AMC = re.compile(rb"^\s*:(fully-specified|degrees|radians)\b", re.MULTILINE | re.IGNORECASE)
_COMMENT = re.compile(rb"#[^\r\n]*")
_FRAME, _OTHER = -2, -1  # in place of the joint: a line with a frame's number, any other line
_NEWLINE = 10


def read_amc(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the AMC file at `path`, or the pose at rest of an ASF file."""
    data = read_file(path)
    if path.suffix.lower() == ".asf" or (path.suffix.lower() != ".amc" and _ASF.search(data)):
        origin = parse_asf(path, data)
        still = np.zeros((1, sum(map(len, origin.freedoms))))
        return Clip(origin.skeleton, _pose(origin, still), FRAME_TIME, path.stem, origin)
    origin = read_asf(options.skeleton or find_asf(path))
    reader = LineReader(str(path), data.rstrip())
    origin, frame_time = _read_header(reader, origin)
    values = _rows(reader, origin)
    for message in reader.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    origin = replace(origin, values=values)
    return Clip(origin.skeleton, _pose(origin, values), frame_time, path.stem, origin)


def _read_header(reader: LineReader, origin: AsfOrigin) -> tuple[AsfOrigin, float]:
    """Return the origin with the file's unit and freedoms, and the seconds between frames."""
    frame_time = FRAME_TIME
    before = reader.offset, reader.number
    has_header = False
    while reader.offset < len(reader.data):
        line = reader.advance("the number of a frame")
        words = line.partition(b"#")[0].upper().split()
        if words and not words[0].startswith(b":"):
            break
        before = reader.offset, reader.number
        match words[:1]:
            case [b":DEGREES"]:
                origin = replace(origin, angle=np.pi / 180.0)
            case [b":RADIANS"]:
                origin = replace(origin, angle=1.0)
            case [b":FORCE-ALL-JOINTS-BE-3DOF"]:
                freedoms = (origin.freedoms[0], *[ROTATION_FREEDOMS] * (len(origin.freedoms) - 1))
                origin = replace(origin, freedoms=freedoms, forced=True)
            case [b":SAMPLES-PER-SECOND"]:
                rate = parse_numbers(b" ".join(words[1:]))
                if rate is None or len(rate) != 1 or not 1e-4 <= rate[0] <= 1e6:
                    reader.fail("expected a rate from 1e-4 to 1e6 after :SAMPLES-PER-SECOND")
                frame_time = 1.0 / rate[0]
        has_header = has_header or bool(words)
    else:
        if not has_header:
            reader.fail_at(1, "expected the number of a frame", "the end of the file")
    reader.offset, reader.number = before
    return origin, frame_time


def _rows(reader: LineReader, origin: AsfOrigin) -> Floats:
    """Return the numbers of all frames, (frames, freedoms), bones in the order of the skeleton."""
    numbers, bones = _split_names(reader, origin)
    values, counts = scan_numbers(LineReader(reader.path, numbers, number=reader.number))
    counts = counts[: len(bones)]
    widths = np.array([len(freedoms) for freedoms in origin.freedoms])
    wrong = np.flatnonzero(counts != np.where(bones >= 0, widths[bones], 0))
    if wrong.size:
        line = int(wrong[0])
        name = decode_text(origin.bones[bones[line]])
        _fail(reader, line, f"expected {widths[bones[line]]} numbers for {name:.60}", counts[line])
    huge = np.flatnonzero(np.abs(values) > MAX_NUMBER)
    if huge.size:
        line = int(np.searchsorted(np.cumsum(counts), huge[0], side="right"))
        _fail(reader, line, f"expected numbers of at most {MAX_NUMBER:g}", values[huge[0]])
    frames = _check_frames(reader, origin, bones)
    listed = bones[bones >= 0]
    order = listed[: len(listed) // max(frames, 1)]  # of the bones, alike in all frames
    table = np.zeros((frames, widths.sum()))  # bones without lines are at rest
    ends = np.cumsum(widths)
    columns = [
        column for bone in order.tolist() for column in range(ends[bone] - widths[bone], ends[bone])
    ]
    table[:, columns] = values.reshape(frames, len(columns))
    return table


def _split_names(reader: LineReader, origin: AsfOrigin) -> tuple[bytes, Ints]:
    """Return the text with the first word of each line blanked, and the joint it names (lines,)."""
    rest = reader.data[reader.offset :]
    if b"#" in rest:
        rest = _COMMENT.sub(b"", rest)
    if b"\r" in rest and rest.count(b"\r") > rest.count(b"\r\n"):
        rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    joints = {name.lower(): joint for joint, name in enumerate(origin.bones)}
    text = bytearray(rest)
    starts = np.append(0, np.flatnonzero(np.frombuffer(rest, np.uint8) == _NEWLINE) + 1)
    starts = starts[starts < len(text)]
    bones = np.empty(len(starts), np.int64)
    names = np.frombuffer(b"".join(origin.bones), np.uint8)
    name_ends = np.cumsum([len(name) for name in origin.bones])
    kernels.text.blank_names(np.frombuffer(text, np.uint8), names, name_ends, bones)
    frames = -2 - bones[bones < -1]
    bones[bones < -1] = _FRAME
    for line in np.flatnonzero(bones == _OTHER).tolist():  # few: other case, nothing, mistakes
        start = int(starts[line])
        words = rest[start : rest.find(b"\n", start) % (len(rest) + 1)].split(None, 1)
        name = words[0] if words else b""
        if name.lower() in joints:
            bones[line] = joints[name.lower()]
        elif name:
            rule = f"expected the number of a frame or a bone of {origin.path.name}"
            reader.fail_at(reader.number + 1 + line, rule, quote_line(name))
        start = rest.find(name, start)
        text[start : start + len(name)] = b" " * len(name)
    if (np.diff(frames) != 1).any():
        reader.warnings.append("the numbers of frames have gaps; frames follow as they stand")
    return bytes(text), bones


def _check_frames(reader: LineReader, origin: AsfOrigin, bones: Ints) -> int:
    """Return the number of frames; ValueError unless each has the bones of the first, in order.

    `bones` (lines,) are the joints that lines name.
    """
    used = np.flatnonzero(bones != _OTHER)  # not blank
    frames, joints = int((bones == _FRAME).sum()), len(origin.bones)
    if frames * joints > MAX_STILL_POSES + len(reader.data):
        rule = f"expected at most {MAX_STILL_POSES // joints} frames of {joints} bones"
        _fail(reader, 0, f"{rule} in so short a file", frames)
    if used.size and bones[used[0]] != _FRAME:
        _fail(reader, int(used[0]), "expected the number of a frame before bones", "a bone")
    starts = np.flatnonzero(bones[used] == _FRAME)
    first = bones[used[: starts[1] if frames > 1 else used.size]]
    expected = np.resize(first, used.size)
    wrong = np.flatnonzero(bones[used] != expected)
    if wrong.size or len(np.unique(first)) < len(first) or used.size != frames * len(first):
        line = int(used[wrong[0] if wrong.size else -1])
        rule = "expected the bones of the first frame in each, once and in the same order"
        _fail(reader, line, rule, "another line")
    absent = [j for j, freedoms in enumerate(origin.freedoms) if freedoms and j not in first]
    if absent and frames:
        names = ", ".join(decode_text(origin.bones[joint]) for joint in absent[:12])
        reader.warnings.append(f"without motion of {names}: at rest")
    return frames


def _fail(reader: LineReader, line: int, rule: str, value: object) -> NoReturn:
    """Raise ValueError about a line, whose number is counted from the first frame."""
    reader.fail_at(reader.number + 1 + line, rule, f"{value}")


def _pose(origin: AsfOrigin, values: Floats) -> Pose:
    """Return the poses for rows of numbers (frames, freedoms)."""
    skeleton, frames, columns = origin.skeleton, len(values), _columns(origin)
    rotations = np.empty((frames, len(skeleton), 4))
    for joint, freedoms in enumerate(origin.freedoms):
        order = _axis_order(freedoms)
        angles = origin.angle * values[:, [columns[joint][f"r{axis}"] for axis in order]]
        rotations[:, joint] = rotations_about(angles, order)
        # C M C⁻¹ has the angle of M, about its axis rotated by C.
        rotations[:, joint, 1:] = rotate(origin.axes[joint], rotations[:, joint, 1:])
    rotations[:, 0] = mul(rotations[:, 0], origin.axes[0])  # O M O⁻¹ O
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    shifts = np.zeros((frames, 3))
    for axis, freedom in enumerate(POSITION_FREEDOMS):
        if freedom in columns[0]:
            shifts[:, axis] = values[:, columns[0][freedom]]
    positions[:, 0] = origin.position + rotate(origin.axes[0], shifts)
    return Pose(rotations, positions)


def _columns(origin: AsfOrigin) -> list[dict[str, int]]:
    """Return the column of each freedom of each joint."""
    columns = itertools.count()
    return [{freedom: next(columns) for freedom in freedoms} for freedoms in origin.freedoms]


def _axis_order(freedoms: tuple[str, ...]) -> str:
    """Return the order of a bone's Euler angles: its axes, from the outermost.

    Freedoms rotate about fixed axes, the first one first, so that the last is the outermost.
    """
    return "".join(freedom[1] for freedom in freedoms if freedom in ROTATION_FREEDOMS)[::-1]


def write_amc(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to an AMC file at `path`, with its ASF file unless that is there.

    Raises ValueError unless the clip has the skeleton of the ASF file that it was read with.
    """
    clip = with_up(only_clip(clips, path), "y")
    origin = clip.origin
    if isinstance(origin, AsfOrigin) and origin.skeleton.unit and clip.skeleton.unit:
        clip = with_unit(clip, origin.skeleton.unit)
    if not isinstance(origin, AsfOrigin) or not _same_joints(clip.skeleton, origin.skeleton):
        raise ValueError(
            f"{path}: AMC holds motion for the skeleton of an ASF file, got a clip with another "
            "skeleton: write .bvh or .glb"
        )
    table = _table(origin, clip, path)
    row_format = "\n".join(
        " ".join([name.decode("latin-1").replace("%", "%%"), *["%r"] * len(freedoms)])
        for name, freedoms in zip(origin.bones, origin.freedoms, strict=True)
        if freedoms
    )
    header = [f"# {clip.frames} frames, written by Synovia"]
    if clip.frame_time != FRAME_TIME:
        header.append(f":SAMPLES-PER-SECOND {1.0 / clip.frame_time!r}")
    header += [":FULLY-SPECIFIED", *[":FORCE-ALL-JOINTS-BE-3DOF"] * origin.forced]
    header.append(":RADIANS" if origin.angle == 1.0 else ":DEGREES")
    frames = [f"{k + 1}\n{row_format % tuple(row)}" for k, row in enumerate(table.tolist())]
    _write_skeleton(origin, path)
    atomic_write(path, "\n".join([*header, *frames, ""]).encode("latin-1"))


def _same_joints(a: Skeleton, b: Skeleton) -> bool:
    """Return whether two skeletons have the same joints at the same offsets."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.offsets[1:], b.offsets[1:], rtol=0.0, atol=1e-6 * np.abs(b.offsets).max())
    )


def _write_skeleton(origin: AsfOrigin, path: Path) -> None:
    """Write the ASF file beside an AMC file, unless it is there; another one is not replaced."""
    try:
        if read_file(find_asf(path)) == origin.content:
            return
    except ValueError:
        pass  # there is none, or it is not clear which one belongs to the AMC file
    asf_path = path.with_suffix(".asf")
    if asf_path.exists():
        raise ValueError(f"{asf_path}: expected the skeleton of {path.name}, got another one")
    atomic_write(asf_path, origin.content)


def _table(origin: AsfOrigin, clip: Clip, path: Path) -> Floats:
    """Return the numbers to write, (frames, freedoms). Warns if freedoms cannot express the motion.

    Joints that did not change keep the numbers of the file that was read.
    """
    columns = _columns(origin)
    table = np.zeros((clip.frames, sum(map(len, origin.freedoms))))
    lost = np.zeros(len(origin.bones))
    decimals = DECIMALS + 2 * (origin.angle == 1.0)
    for joint, freedoms in enumerate(origin.freedoms):
        axes = origin.axes[joint]
        rotations = mul(inverse(axes), clip.pose.rotations[:, joint].astype(np.float64))
        local = mul(rotations, axes) if joint else rotations
        order = _axis_order(freedoms)
        used = [columns[joint][f"r{axis}"] for axis in order]
        if origin.values is not None and len(origin.values) == clip.frames:
            previous = origin.values[:, used]
            old = rotations_about(origin.angle * previous, order)
            if angle_between(old, local).max(initial=0.0) <= MAX_ROUNDING:
                table[:, used] = previous
                continue
        if len(order) == 3:
            angles = np.radians(euler_angles_deg(local, order))
        else:
            angles = np.unwrap(nearest_angles(local, order), axis=0)
        lost[joint] = angle_between(rotations_about(angles, order), local).max(initial=0.0)
        table[:, used] = np.round(angles / origin.angle, decimals)
    shifts = rotate(inverse(origin.axes[0]), clip.pose.positions[:, 0] - origin.position)
    for axis, freedom in enumerate(POSITION_FREEDOMS):
        if freedom in columns[0]:
            table[:, columns[0][freedom]] = shifts[:, axis]
            shifts[:, axis] = 0.0
    moved = clip.pose.positions[:, 1:] - origin.skeleton.offsets[1:]
    _warn_lost(origin, clip, path, lost, np.concatenate([shifts[:, None], moved], axis=1))
    if np.abs(table).max(initial=0.0) > MAX_NUMBER:
        raise ValueError(f"{path}: expected numbers of at most {MAX_NUMBER:g}, got larger ones")
    return table


def _warn_lost(origin: AsfOrigin, clip: Clip, path: Path, lost: Floats, moved: Floats) -> None:
    """Warn of rotations (J,), radians, and displacements (frames, J, 3) that AMC cannot hold."""
    slack = tolerance(clip.pose.rotations.dtype)
    bones = np.flatnonzero(lost > slack)
    if bones.size:
        worst = int(lost.argmax())
        _warn(
            f"{path}: {origin.path.name} has no freedoms for all of the motion of "
            f"{len(bones)} bones; lost up to {np.degrees(lost[worst]):.3g} degrees, at "
            f"{origin.skeleton.names[worst]}"
        )
    far = np.abs(moved).max(axis=(0, 2), initial=0.0)
    if far.max() > slack * np.abs(origin.skeleton.offsets).max():
        worst = int(far.argmax())
        _warn(
            f"{path}: bones have one length in ASF/AMC; lost moves of joints by up to "
            f"{far[worst]:.3g}, at {origin.skeleton.names[worst]}"
        )


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


AMC = ClipFormat(
    read_amc,
    write_amc,
    begins=lambda head: bool(_AMC.search(head)),
    up="y",
    beside="limits of the skeleton file",
)
ASF = ClipFormat(read_amc, begins=lambda head: bool(_ASF.search(head)), skip=lambda path: "")
