"""Acclaim: skeletons in ASF files and their motion in AMC files; see docs/formats.md."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..arrays import Floats, Quats, Vectors
from ..quat import IDENTITY, from_euler, mul, rotate
from ..schema import quote_value
from ..skeleton import POSITIONS, Clip, Pose, Skeleton, list_names
from .files import read_file
from .format import ClipFormat, ReadOptions
from .lines import LineReader, decode_text, parse_numbers
from .ranges import HingeRange, RangesFile
from .skeletons import depth_first

CMU_LENGTH = 0.45
CMU_UNIT = 0.0254 / CMU_LENGTH
"""Metres per unit if `length` is 0.45: CMU states that its files are in inches / 0.45."""
FRAME_TIME = 1.0 / 120.0  # seconds, if a file does not state it: CMU's rate
ROTATION_FREEDOMS = ("rx", "ry", "rz")
POSITION_FREEDOMS = ("tx", "ty", "tz")
ROOT = b"root"
DEGREES = np.pi / 180.0  # radians
MAX_DIGITS = 9  # of the number of a frame

_CHANNELS = ("Zrotation", "Yrotation", "Xrotation")  # as in CMU's motions in BVH
_SPACE = bytes.maketrans(b"(),", b"   ")
_INFINITE = {b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}
Ranges = dict[str, tuple[float, float]]
"""Low and high end, in radians, by freedom."""


@dataclass(frozen=True, eq=False)
class AsfOrigin:
    """The contents of an ASF file beyond the skeleton.

    `limits["ltibia"]["rx"]` is the range (low, high), in radians, of a bone's freedom, if the file
    has one, and `lines["ltibia"]` the line of the bone's first limit. `freedoms` are those of each
    joint, in the order of AMC files, and `axes` (J, 4) the rotations of the bones' axes.
    `position` (3,) is that of the root at zero, and `angle` the radians per unit of angles.
    """

    path: Path
    skeleton: Skeleton
    freedoms: tuple[tuple[str, ...], ...]
    axes: Quats
    position: Vectors
    limits: dict[str, Ranges]
    lines: dict[str, int]
    angle: float


def read_asf(path: Path, _options: ReadOptions) -> Clip:
    """Return the skeleton in the ASF file at `path` as a clip of one frame at rest."""
    origin = parse_asf(path, read_file(path))
    still = np.zeros((1, sum(map(len, origin.freedoms))))
    return Clip(origin.skeleton, _pose(origin, still), FRAME_TIME, path.stem, origin)


def read_amc(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the AMC file at `path`."""
    asf_path = options.skeleton or find_asf(path)
    reader = LineReader(path, read_file(path).rstrip())
    origin, values, frame_time = _read_motion(reader, parse_asf(asf_path, read_file(asf_path)))
    for message in reader.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    return Clip(origin.skeleton, _pose(origin, values), frame_time, path.stem, origin)


def _read_motion(reader: LineReader, origin: AsfOrigin) -> tuple[AsfOrigin, Floats, float]:
    """Return the origin with the file's unit of angles, the motion, and seconds between frames.

    The motion is an array (frames, freedoms) with the bones in the order of the skeleton. A line is
    the number of a frame, or a bone and its numbers. Bones without lines are at rest.
    """
    joints = {name.lower(): joint for joint, name in enumerate(origin.skeleton.names)}
    frame_time, is_motion = FRAME_TIME, False
    frames: list[int] = []
    order: list[int] = []  # bones of the first frame
    texts: list[bytes] = []  # numbers of each bone's line
    text_lines: list[int] = []
    position = 0  # in `order`, of the next line's bone
    for number, line in enumerate(reader.lines, start=1):
        reader.number = number
        words = line.partition(b"#")[0].split()
        if not words:
            continue
        name = words[0].lower()
        if name.startswith(b":"):
            is_motion = True
            if name == b":samples-per-second":
                frame_time = _frame_time(reader, words)
            origin = _apply_header(origin, name)
        elif len(words) == 1 and name.isdigit() and len(name) <= MAX_DIGITS:
            if frames and position != len(order):
                _fail_order(reader)
            frames.append(int(name))
            position = 0
        else:
            joint = joints.get(decode_text(name).lower())
            if joint is None:
                rule = f"expected the number of a frame or a bone of {origin.path.name}"
                reader.fail_at(number, rule, quote_value(decode_text(words[0])))
            if not frames:
                rule = "expected the number of a frame before bones"
                reader.fail_at(number, rule, "a bone")
            if len(frames) == 1 and joint not in order:
                order.append(joint)
            elif position >= len(order) or order[position] != joint:
                _fail_order(reader)
            if len(words) - 1 != len(origin.freedoms[joint]):
                bone = decode_text(words[0])
                rule = f"expected {len(origin.freedoms[joint])} numbers for {bone:.60}"
                reader.fail_at(number, rule, len(words) - 1)
            position += 1
            texts.append(b" ".join(words[1:]))
            text_lines.append(number)
    if position != len(order):
        _fail_order(reader)
    if not (frames or is_motion):
        reader.fail_at(1, "expected the number of a frame", "the end of the file")
    if (np.diff(frames) != 1).any():
        reader.warnings.append("the numbers of frames have gaps; frames follow as they stand")
    names, freedoms = origin.skeleton.names, origin.freedoms
    absent = [name for k, name in enumerate(names) if freedoms[k] and k not in order]
    if absent and frames:
        reader.warnings.append(f"without motion of {list_names(absent, 12)}: at rest")
    columns = _columns(origin)
    used = [column for joint in order for column in columns[joint].values()]
    values = np.zeros((len(frames), sum(map(len, freedoms))))
    numbers = reader.numbers(texts, text_lines)
    if numbers.size != len(frames) * len(used):  # some have no space between them
        reader.fail_at(number, f"expected {len(frames) * len(used)} numbers", numbers.size)
    values[:, used] = numbers.reshape(len(frames), len(used))
    return origin, values, frame_time


def _frame_time(reader: LineReader, words: list[bytes]) -> float:
    rate = parse_numbers(b" ".join(words[1:]))
    if rate is None or len(rate) != 1 or not 1e-4 <= rate[0] <= 1e6:
        reader.fail("expected a rate from 1e-4 to 1e6 after :SAMPLES-PER-SECOND")
    return 1.0 / float(rate[0])


def _apply_header(origin: AsfOrigin, name: bytes) -> AsfOrigin:
    """Return the origin as a line of an AMC file that begins with ":" changes it."""
    match name:
        case b":degrees":
            return replace(origin, angle=DEGREES)
        case b":radians":
            return replace(origin, angle=1.0)
        case b":force-all-joints-be-3dof":
            others = [ROTATION_FREEDOMS] * (len(origin.freedoms) - 1)
            return replace(origin, freedoms=(origin.freedoms[0], *others))
    return origin


def _fail_order(reader: LineReader) -> NoReturn:
    rule = "expected the bones of the first frame in each, once and in the same order"
    reader.fail_at(reader.number, rule, "another line")


def _pose(origin: AsfOrigin, values: Floats) -> Pose:
    """Return the poses for rows of numbers (frames, freedoms)."""
    skeleton, frames, columns = origin.skeleton, len(values), _columns(origin)
    rotations = np.tile(IDENTITY, (frames, len(skeleton), 1))
    for joint, joint_columns in enumerate(columns):
        # Freedoms rotate about fixed axes, the first one first: the last is the outermost.
        turning = [freedom for freedom in reversed(joint_columns) if freedom in ROTATION_FREEDOMS]
        if turning:
            angles = origin.angle * values[:, [joint_columns[freedom] for freedom in turning]]
            order = "".join(freedom[1] for freedom in turning)
            rotations[:, joint] = from_euler(angles, order)
            # C M C⁻¹ has the angle of M, about its axis rotated by C.
            rotations[:, joint, 1:] = rotate(origin.axes[joint], rotations[:, joint, 1:])
    rotations[:, 0] = mul(rotations[:, 0], origin.axes[0])  # O M O⁻¹ O
    shifts = np.zeros((frames, 3))
    for axis, freedom in enumerate(POSITION_FREEDOMS):
        if freedom in columns[0]:
            shifts[:, axis] = values[:, columns[0][freedom]]
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0] = origin.position + rotate(origin.axes[0], shifts)
    return Pose(rotations, positions)


def _columns(origin: AsfOrigin) -> list[dict[str, int]]:
    """Return the column of each freedom of each joint."""
    columns = itertools.count()
    return [{freedom: next(columns) for freedom in freedoms} for freedoms in origin.freedoms]


def find_asf(path: Path) -> Path:
    """Return the ASF file for an AMC file: the one of its name or subject, or the only one.

    For `07_05-walk.amc` that is `07_05-walk.asf`, `07.asf`, an ASF file whose name begins with
    `07_` or `07-`, or the only one in the folder.
    """
    files = sorted(file for file in path.parent.iterdir() if file.suffix.lower() == ".asf")
    subject = _subject(path)
    choices = [
        [file for file in files if file.stem == path.stem],
        [file for file in files if file.stem == subject],
        [file for file in files if _subject(file) == subject],
        files,
    ]
    matches = next(filter(None, choices), [])
    if len(matches) != 1:
        names = ", ".join(file.name for file in matches[:12]) or "none"
        raise ValueError(f"{path}: expected one .asf file for it in its folder, got {names}")
    return matches[0]


def _subject(path: Path) -> str:
    return re.split("[_-]", path.stem, maxsplit=1)[0]


@dataclass(eq=False)
class _Entry:
    """The lines of a bone or of a section: words after each key, and the number of its line."""

    reader: LineReader
    line: int
    words: dict[bytes, list[bytes]] = field(default_factory=dict)
    lines: dict[bytes, int] = field(default_factory=dict)
    children: list[_Entry] = field(default_factory=list)
    parent: _Entry | None = None

    @property
    def name(self) -> str:
        return decode_text(self.words[b"name"][0])

    def add(self, words: list[bytes]) -> None:
        """Add a line; one that begins with a number goes on with the line before."""
        key, *others = words
        if self.words and (key in _INFINITE or parse_numbers(key) is not None):
            self.words[[*self.words][-1]] += words
        else:
            self.words[key], self.lines[key] = others, self.reader.number

    def fail(self, key: bytes, rule: str) -> NoReturn:
        """Raise ValueError about the line of a key."""
        self.reader.number = self.lines[key]
        self.reader.fail(rule)

    def numbers(self, key: bytes, count: int, default: Floats) -> Floats:
        """Return the numbers after a key; letters after them are an order of axes."""
        words = [word for word in self.words.get(key, ()) if not word.isalpha()]
        if key not in self.words:
            return default
        numbers = parse_numbers(b" ".join(words))
        if numbers is None or len(numbers) != count:
            self.fail(key, f"expected {count} numbers after {decode_text(key):.20}")
        return numbers

    @property
    def vector(self) -> Vectors:
        """The vector (3,) from the bone's start to its end."""
        with np.errstate(over="ignore"):
            vector = self.numbers(b"length", 1, np.zeros(1)) * self.numbers(
                b"direction", 3, np.zeros(3)
            )
        if not np.isfinite(vector).all():
            self.fail(b"length", "expected a length that keeps the bone finite")
        return vector

    def freedoms(self, key: bytes, allowed: tuple[str, ...]) -> tuple[str, ...]:
        """Return the freedoms after a key."""
        freedoms = tuple(decode_text(word).lower() for word in self.words.get(key, ()))
        if len(set(freedoms)) < len(freedoms) or not set(freedoms) <= set(allowed):
            self.fail(key, f"expected some of {', '.join(allowed)}, each once")
        return freedoms

    def axes(self, angles: Vectors) -> Quats:
        """Return the rotation (4,) of axes by angles (3,), radians, in the order of `axis`."""
        words = self.words.get(b"axis", [b"xyz"])
        order = decode_text(b"".join(word for word in words if word.isalpha())).lower()
        if sorted(order) != ["x", "y", "z"]:
            self.fail(b"axis", "expected an order of the axes such as XYZ")
        moving = order[::-1]  # the first letter is about a fixed axis first
        return from_euler(angles[["xyz".index(letter) for letter in moving]], moving)

    def ranges(self, freedoms: tuple[str, ...], angle: float) -> Ranges:
        """Return the range of each freedom, in radians; none if the bone has no limits."""
        ends = []
        for word in self.words.get(b"limits", ()):
            end = _INFINITE.get(word.lower())
            number = parse_numbers(word) if end is None else np.array([end])
            if number is None or len(number) != 1:
                self.fail(b"limits", "expected 1 numbers after limits")
            ends.append(angle * float(number[0]))
        if ends and len(ends) != 2 * len(freedoms):
            self.fail(
                b"limits",
                f"expected two limits for each of {len(freedoms)} freedoms of {self.name:.60}, or "
                f"none, not {len(ends)}",
            )
        return dict(zip(freedoms, zip(ends[::2], ends[1::2], strict=True), strict=bool(ends)))


@lru_cache(maxsize=8)  # many motions share a skeleton
def parse_asf(path: Path, content: bytes) -> AsfOrigin:
    """Return the skeleton in the bytes of an ASF file, and their other contents."""
    reader = LineReader(path, content.rstrip())
    units, root, bones = _read_sections(reader)
    angle = DEGREES
    if b"angle" in units.words:
        unit = b" ".join(units.words[b"angle"]).lower()
        if unit not in (b"deg", b"rad"):
            units.fail(b"angle", "expected angle deg or angle rad")
        angle = 1.0 if unit == b"rad" else DEGREES
    length = float(units.numbers(b"length", 1, np.ones(1))[0])
    position = root.numbers(b"position", 3, np.zeros(3))
    order = _depth_first(reader, root, bones)
    vectors = {bone: bone.vector for bone in order}
    freedoms = [bone.freedoms(b"dof", ROTATION_FREEDOMS) for bone in order]
    freedoms[0] = root.freedoms(b"order", (*POSITION_FREEDOMS, *ROTATION_FREEDOMS))
    angles = [angle * bone.numbers(b"axis", 3, np.zeros(3)) for bone in order[1:]]
    angles.insert(0, angle * root.numbers(b"orientation", 3, np.zeros(3)))
    axes = np.array([bone.axes(turn) for bone, turn in zip(order, angles, strict=True)])
    tips = [k for k, bone in enumerate(order) if not bone.children and vectors[bone].any()]
    parents = [bone.parent for bone in order if bone.parent]
    skeleton = Skeleton(
        tuple(bone.name for bone in order),
        np.array([-1, *(order.index(parent) for parent in parents)]),
        np.array([position, *(vectors[parent] for parent in parents)]),
        (POSITIONS + _CHANNELS, *[_CHANNELS] * len(parents)),
        np.array(tips, dtype=np.int64),
        np.array([vectors[order[tip]] for tip in tips]).reshape(-1, 3),
        np.concatenate([[IDENTITY], axes[1:]]),
        "y",
        CMU_UNIT if length == CMU_LENGTH else 0.0,
    )
    limits = {
        bone.name: bone.ranges(bone_freedoms, angle)
        for bone, bone_freedoms in zip(order, freedoms, strict=True)
        if bone.words.get(b"limits")
    }
    lines = {bone.name: bone.lines[b"limits"] for bone in order if bone.name in limits}
    return AsfOrigin(path, skeleton, tuple(freedoms), axes, position, limits, lines, angle)


def _read_sections(reader: LineReader) -> tuple[_Entry, _Entry, dict[bytes, _Entry]]:
    """Return the entries of units, of the root, and of all bones by name, joined to a tree."""
    units, root = _Entry(reader, 1), _Entry(reader, 1, {b"name": [ROOT]})
    root.words[b"order"] = [name.encode() for name in (*POSITION_FREEDOMS, *ROTATION_FREEDOMS)]
    bones = {ROOT: root}
    bone: _Entry | None = None  # the one that has begun and not ended
    section = b""
    sections = set()
    while reader.number < len(reader.lines):
        line = reader.advance("a section").partition(b"#")[0]
        key, *others = line.translate(_SPACE).split() or [b""]
        words = [key.lower(), *others]
        if key.startswith(b":"):
            section = key.lower()
            sections.add(section)
        elif not key:
            continue
        elif section == b":units":
            units.add(words)
        elif section == b":root":
            root.add(words)
        elif section == b":bonedata":
            bone = _read_bone(reader, bone, words, bones)
        elif section == b":hierarchy" and words not in ([b"begin"], [b"end"]):
            _join_bones(reader, [key, *others], bones)
    if b":bonedata" not in sections:
        reader.fail_at(max(reader.number, 1), "expected :bonedata", "the end of the file")
    if bone:
        reader.fail_at(bone.line, "expected end of the bone", "the end of the section")
    return units, root, bones


def _read_bone(
    reader: LineReader, bone: _Entry | None, words: list[bytes], bones: dict[bytes, _Entry]
) -> _Entry | None:
    """Read a line of :bonedata; return the bone that is open after it."""
    if words[0] == b"begin":
        if bone:
            reader.fail("expected end before the next begin")
        return _Entry(reader, reader.number)
    if bone is None:
        reader.fail("expected begin")
    if words[0] != b"end":
        bone.add(words)
        return bone
    for key in (b"name", b"direction", b"length"):
        if key not in bone.words:
            reader.fail(f"expected {key.decode()} in the bone that began in line {bone.line}")
    name = b" ".join(bone.words[b"name"]).lower()
    if not name or b" " in name or name in bones or name.isdigit():
        bone.fail(b"name", "expected name and a word that no other bone has")
    bones[name] = bone
    return None


def _join_bones(reader: LineReader, words: list[bytes], bones: dict[bytes, _Entry]) -> None:
    """Read a line of :hierarchy: a bone, and those below it."""
    for word in words:
        if word.lower() not in bones:
            reader.fail(f"expected bones of :bonedata, not {decode_text(word)!r:.60}")
    parent, *children = (bones[word.lower()] for word in words)
    for child in children:
        if child.parent or child is bones[ROOT]:
            reader.fail(f"expected {child.name:.60} below one bone")
        child.parent = parent
        parent.children.append(child)


def _depth_first(reader: LineReader, root: _Entry, bones: dict[bytes, _Entry]) -> list[_Entry]:
    """Return the bones, each before its children; ValueError if one is not below the root."""
    order = list(depth_first([root], lambda bone: bone.children))
    if lost := [bone for bone in bones.values() if bone not in set(order)]:
        rule = "expected a bone that :hierarchy puts below root"
        reader.fail_at(lost[0].line, rule, repr(lost[0].name))
    return order


def read_asf_ranges(path: Path) -> RangesFile:
    """Return the bones of an ASF file as joints, and the ranges of their freedoms.

    Freedoms rotate about fixed axes, the first one first: as hinges, the last is the outermost.
    """
    origin = parse_asf(path, read_file(path))
    hinges = []
    for joint, name in enumerate(origin.skeleton.names[1:], start=1):
        for number, freedom in reversed(list(enumerate(origin.freedoms[joint]))):
            axis = rotate(origin.axes[joint], np.eye(3)[ROTATION_FREEDOMS.index(freedom)])
            low, high = origin.limits.get(name, {}).get(freedom, (-np.inf, np.inf))
            line = origin.lines[name] + number if name in origin.lines else 0
            hinges.append(HingeRange(f"{name}.{freedom}", name, axis, low, high, line=line))
    return RangesFile(path, origin.skeleton, tuple(hinges), degrees=origin.angle != 1.0)


AMC = ClipFormat(read_amc, up="y", beside="limits of the skeleton file")
ASF = ClipFormat(read_asf, skip=lambda path: "")
