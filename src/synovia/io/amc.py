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

from ..arrays import Floats, tolerance
from ..quat import angle_between, inverse, mul, rotate
from ..skeleton import Clip, Pose, Skeleton
from ..skeleton.world import with_unit, with_up
from .asf import DEGREES, POSITION_FREEDOMS, ROTATION_FREEDOMS, AsfOrigin, find_asf, parse_asf
from .euler import euler_angles_deg, rotations_about
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import LineReader, decode_text, parse_numbers, quote_line

FRAME_TIME = 1.0 / 120.0  # seconds, if a file does not state it: CMU's rate
DECIMALS = 8  # of written degrees: a hundredth of the promised accuracy; radians have two more
MAX_ROUNDING = 1e-12  # radians: error of a rotation that is read and written
MAX_DIGITS = 9  # of the number of a frame

_ASF = re.compile(rb"^\s*:(version|units|root|bonedata|hierarchy)\b", re.MULTILINE | re.IGNORECASE)
_AMC = re.compile(rb"^\s*:(fully-specified|degrees|radians)\b", re.MULTILINE | re.IGNORECASE)


def read_amc(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the AMC file at `path`, or the pose at rest of an ASF file."""
    data = read_file(path)
    if path.suffix.lower() == ".asf" or (path.suffix.lower() != ".amc" and _ASF.search(data)):
        origin = parse_asf(path, data)
        still = np.zeros((1, sum(map(len, origin.freedoms))))
        return Clip(origin.skeleton, _pose(origin, still), FRAME_TIME, path.stem, origin)
    asf_path = options.skeleton or find_asf(path)
    origin, frame_time = parse_asf(asf_path, read_file(asf_path)), FRAME_TIME
    reader = LineReader(path, data.rstrip())
    lines: list[tuple[int, list[bytes]]] = []  # number and words of each line with motion
    is_motion = False
    for number, line in enumerate(reader.lines, start=1):
        words = line.partition(b"#")[0].split()
        if words and words[0].startswith(b":"):
            reader.number = number
            origin, frame_time = _read_header(reader, words, origin, frame_time)
            is_motion = True
        elif words:
            lines.append((number, words))
    if not (lines or is_motion):
        reader.fail_at(1, "expected the number of a frame", "the end of the file")
    values = _values(reader, origin, lines)
    for message in reader.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    origin = replace(origin, values=values)
    return Clip(origin.skeleton, _pose(origin, values), frame_time, path.stem, origin)


def _read_header(
    reader: LineReader, words: list[bytes], origin: AsfOrigin, frame_time: float
) -> tuple[AsfOrigin, float]:
    """Return the origin and the seconds between frames, as a line that begins with : has them."""
    match words[0].upper():
        case b":DEGREES":
            origin = replace(origin, angle=DEGREES)
        case b":RADIANS":
            origin = replace(origin, angle=1.0)
        case b":FORCE-ALL-JOINTS-BE-3DOF":
            freedoms = (origin.freedoms[0], *[ROTATION_FREEDOMS] * (len(origin.freedoms) - 1))
            origin = replace(origin, freedoms=freedoms, forced=True)
        case b":SAMPLES-PER-SECOND":
            rate = parse_numbers(b" ".join(words[1:]))
            if rate is None or len(rate) != 1 or not 1e-4 <= rate[0] <= 1e6:
                reader.fail("expected a rate from 1e-4 to 1e6 after :SAMPLES-PER-SECOND")
            frame_time = 1.0 / float(rate[0])
    return origin, frame_time


def _values(
    reader: LineReader, origin: AsfOrigin, lines: Sequence[tuple[int, list[bytes]]]
) -> Floats:
    """Return the numbers of all frames, (frames, freedoms), bones in the order of the skeleton.

    Each of `lines`, a number and its words, is the number of a frame, or a bone and its numbers.
    Bones without lines are at rest.
    """
    bones = {name.lower(): joint for joint, name in enumerate(origin.bones)}
    frames: list[int] = []
    first: list[int] = []  # bones of the first frame
    expected = 0  # position in `first` of the next line's bone
    for number, words in lines:
        name = words[0].lower()
        if len(words) == 1 and name.isdigit() and len(name) <= MAX_DIGITS:
            if expected != (len(first) if frames else 0):
                _fail_order(reader, number)
            frames.append(int(name))
            expected = 0
            continue
        if name not in bones:
            rule = f"expected the number of a frame or a bone of {origin.path.name}"
            reader.fail_at(number, rule, quote_line(words[0]))
        bone = bones[name]
        if not frames:
            reader.fail_at(number, "expected the number of a frame before bones", "a bone")
        if len(frames) == 1 and bone not in first:
            first.append(bone)
        elif expected >= len(first) or first[expected] != bone:
            _fail_order(reader, number)
        if len(words) - 1 != len(origin.freedoms[bone]):
            rule = f"expected {len(origin.freedoms[bone])} numbers for {decode_text(words[0]):.60}"
            reader.fail_at(number, rule, len(words) - 1)
        expected += 1
    if expected != len(first):
        _fail_order(reader, lines[-1][0])
    if (np.diff(frames) != 1).any():
        reader.warnings.append("the numbers of frames have gaps; frames follow as they stand")
    absent = [
        decode_text(origin.bones[joint])
        for joint, freedoms in enumerate(origin.freedoms)
        if freedoms and joint not in first
    ]
    if absent and frames:
        reader.warnings.append(f"without motion of {', '.join(absent[:12])}: at rest")
    columns = _columns(origin)
    values = np.zeros((len(frames), sum(map(len, origin.freedoms))))
    used = [column for bone in first for column in columns[bone].values()]
    values[:, used] = _numbers(reader, lines).reshape(len(frames), len(used))
    return values


def _numbers(reader: LineReader, lines: Sequence[tuple[int, list[bytes]]]) -> Floats:
    """Return all numbers after the first words of lines."""
    texts = [b" ".join(words[1:]) for _, words in lines]
    numbers = parse_numbers(b"\n".join(texts))
    if numbers is not None and len(numbers) == sum(len(words) - 1 for _, words in lines):
        return numbers
    for (number, words), text in zip(lines, texts, strict=True):
        count = len(reader.numbers([text], number))
        if count != len(words) - 1:
            reader.fail_at(number, f"expected {len(words) - 1} numbers", count)
    raise AssertionError("each line has its numbers, and all together do not")


def _fail_order(reader: LineReader, number: int) -> NoReturn:
    rule = "expected the bones of the first frame in each, once and in the same order"
    reader.fail_at(number, rule, "another line")


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
        angles = np.radians(euler_angles_deg(local, order))
        lost[joint] = angle_between(rotations_about(angles, order), local).max(initial=0.0)
        table[:, used] = np.round(angles / origin.angle, decimals)
    shifts = rotate(inverse(origin.axes[0]), clip.pose.positions[:, 0] - origin.position)
    for axis, freedom in enumerate(POSITION_FREEDOMS):
        if freedom in columns[0]:
            table[:, columns[0][freedom]] = shifts[:, axis]
            shifts[:, axis] = 0.0
    moved = clip.pose.positions[:, 1:] - origin.skeleton.offsets[1:]
    _warn_lost(origin, clip, path, lost, np.concatenate([shifts[:, None], moved], axis=1))
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
