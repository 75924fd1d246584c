"""ASF (Acclaim): the skeleton of AMC files, with the axes, freedoms and limits of its bones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..arrays import Floats, Quats, Vectors
from ..quat import IDENTITY, from_euler, rotate
from ..skeleton import POSITIONS, Skeleton
from .files import read_file
from .lines import LineReader, decode_text, parse_numbers, quote_line
from .ranges import HingeRange, RangesFile

CMU_LENGTH = 0.45
CMU_UNIT = 0.0254 / CMU_LENGTH
"""Metres per unit if `length` is 0.45: CMU states that its files are in inches / 0.45."""
ROTATION_FREEDOMS = ("rx", "ry", "rz")
POSITION_FREEDOMS = ("tx", "ty", "tz")
ROOT = b"root"
DEGREES = np.pi / 180.0  # radians

_CHANNELS = ("Zrotation", "Yrotation", "Xrotation")  # as in CMU's motions in BVH
_SPACE = bytes.maketrans(b"(),", b"   ")
_INFINITE = {b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}
Ranges = dict[str, tuple[float, float]]
"""Low and high end, in radians, by freedom."""


@dataclass(frozen=True, eq=False)
class AsfOrigin:
    """The contents of an ASF file beyond the skeleton, and the numbers of the AMC file.

    `limits["ltibia"]["rx"]` is the range (low, high), in radians, of a bone's freedom, if the file
    has one, and `lines["ltibia"]` the line of the bone's first limit. `bones` are the names in the
    file, `freedoms` those of each bone, in the order of AMC files, and `axes` (J, 4) the rotations
    of the bones' axes. `position` (3,) is that of the root at zero. `values` (frames, freedoms) are
    the numbers of the AMC file, with `angle` radians per unit.
    """

    path: Path
    content: bytes
    skeleton: Skeleton
    bones: tuple[bytes, ...]
    freedoms: tuple[tuple[str, ...], ...]
    axes: Quats
    position: Vectors
    limits: dict[str, Ranges]
    lines: dict[str, int]
    angle: float
    forced: bool = False
    values: Floats | None = None


@dataclass(eq=False)
class _Bone:
    """A bone, or the root, as its lines describe it; angles in the file's unit."""

    line: int
    name: bytes = b""
    direction: Vectors = field(default_factory=lambda: np.zeros(0))
    length: Floats = field(default_factory=lambda: np.zeros(0))
    axis: Vectors = field(default_factory=lambda: np.zeros(3))
    order: str = "xyz"
    freedoms: tuple[str, ...] = ()
    limits: list[float] = field(default_factory=list)
    limits_line: int = 0
    parent: _Bone | None = None
    children: list[_Bone] = field(default_factory=list)

    @property
    def vector(self) -> Vectors:
        """The vector (3,) from the bone's start to its end."""
        return self.direction * self.length

    def ranges(self, angle: float) -> Ranges:
        """Return the range of each freedom, in radians."""
        ends = zip(self.freedoms, self.limits[::2], self.limits[1::2], strict=True)
        return {freedom: (angle * low, angle * high) for freedom, low, high in ends}

    def axes(self, angle: float) -> Quats:
        """Return the rotation (4,) of the bone's axes: about fixed axes, first letter first."""
        moving = self.order[::-1]
        return from_euler(angle * self.axis[["xyz".index(letter) for letter in moving]], moving)


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


@lru_cache(maxsize=8)  # many motions share a skeleton
def parse_asf(path: Path, content: bytes) -> AsfOrigin:
    """Return the skeleton in the bytes of an ASF file, and their other contents."""
    return _AsfReader(LineReader(path, content.rstrip())).origin(path, content)


class _AsfReader:
    """The sections of an ASF file that have been read."""

    def __init__(self, reader: LineReader) -> None:
        self.reader = reader
        self.angle, self.length = DEGREES, 1.0
        freedoms = (*POSITION_FREEDOMS, *ROTATION_FREEDOMS)
        self.root = _Bone(1, ROOT, np.zeros(3), np.zeros(1), freedoms=freedoms)
        self.position: Vectors = np.zeros(3)
        self.bones: dict[bytes, _Bone] = {ROOT: self.root}
        self.open: _Bone | None = None
        self.in_limits = False
        sections = {
            b":units": self._read_unit,
            b":root": self._read_root,
            b":bonedata": self._read_bone,
            b":hierarchy": self._read_children,
        }
        sections_read = set()
        for section, words in self._sections():
            sections_read.add(section)
            if words and section in sections:
                sections[section](words)
        if b":bonedata" not in sections_read:
            reader.fail_at(max(reader.number, 1), "expected :bonedata", "the end of the file")

    def _sections(self) -> Iterator[tuple[bytes, list[bytes]]]:
        """Yield each line's section and its words, the first in lower case; [] at its start."""
        section = b""
        while self.reader.number < len(self.reader.lines):
            line = self.reader.advance("a section").partition(b"#")[0]
            words = line.translate(_SPACE).split()
            if words and words[0].startswith(b":"):
                section = words[0].lower()
                yield section, []
            elif words:
                yield section, [words[0].lower(), *words[1:]]

    def _read_unit(self, words: list[bytes]) -> None:
        if words[0] == b"length":
            self.length = float(self._numbers(words, 1)[0])
        elif words[0] == b"angle":
            unit = b" ".join(words[1:]).lower()
            if unit not in (b"deg", b"rad"):
                self.reader.fail("expected angle deg or angle rad")
            self.angle = 1.0 if unit == b"rad" else DEGREES

    def _read_root(self, words: list[bytes]) -> None:
        match words[0]:
            case b"order":
                self.root.freedoms = self._freedoms(words, self.root.freedoms)
            case b"axis":
                self.root.order = self._order(words[1:])
            case b"position":
                self.position = self._numbers(words, 3)
            case b"orientation":
                self.root.axis = self._numbers(words, 3)

    def _read_bone(self, words: list[bytes]) -> None:
        key, bone = words[0], self.open
        if key == b"begin":
            if bone:
                self.reader.fail("expected end before the next begin")
            self.open, self.in_limits = _Bone(self.reader.number), False
        elif bone is None:
            self.reader.fail("expected begin")
        elif key == b"end":
            self._close(bone)
        elif self.in_limits and (key in _INFINITE or parse_numbers(key) is not None):
            bone.limits += self._limits(words)
        else:
            self.in_limits = key == b"limits"
            self._read_key(bone, key, words)

    def _read_key(self, bone: _Bone, key: bytes, words: list[bytes]) -> None:
        match key:
            case b"name":
                if len(words) != 2 or words[1].lower() in self.bones or words[1].isdigit():
                    self.reader.fail("expected name and a word that no other bone has")
                bone.name = words[1]
            case b"direction":
                bone.direction = self._numbers(words, 3)
            case b"length":
                bone.length = self._numbers(words, 1)
            case b"axis":
                bone.axis = self._numbers(words[:4], 3)
                bone.order = self._order(words[4:])
            case b"dof":
                bone.freedoms = self._freedoms(words, ROTATION_FREEDOMS)
            case b"limits":
                bone.limits, bone.limits_line = self._limits(words[1:]), self.reader.number

    def _close(self, bone: _Bone) -> None:
        parts = {"name": bone.name, "direction": bone.direction, "length": bone.length}
        if missing := [key for key, part in parts.items() if len(part) == 0]:
            self.reader.fail(f"expected {missing[0]} in the bone that began in line {bone.line}")
        if bone.limits and len(bone.limits) != 2 * len(bone.freedoms):
            self.reader.fail(
                f"expected two limits for each of {len(bone.freedoms)} freedoms of "
                f"{decode_text(bone.name):.60}, or none, not {len(bone.limits)}"
            )
        self.bones[bone.name.lower()] = bone
        self.open = None

    def _read_children(self, words: list[bytes]) -> None:
        if words in ([b"begin"], [b"end"]):
            return
        bones = []
        for word in words:
            if word.lower() not in self.bones:
                self.reader.fail(f"expected bones of :bonedata, not {decode_text(word)!r:.60}")
            bones.append(self.bones[word.lower()])
        for child in bones[1:]:
            if child.parent or child is self.root:
                self.reader.fail(f"expected {decode_text(child.name):.60} below one bone")
            child.parent = bones[0]
            bones[0].children.append(child)

    def _numbers(self, words: list[bytes], count: int) -> Floats:
        numbers = parse_numbers(b" ".join(words[1:]))
        if numbers is None or len(numbers) != count:
            self.reader.fail(f"expected {count} numbers after {decode_text(words[0]).lower():.20}")
        return numbers

    def _limits(self, words: list[bytes]) -> list[float]:
        return [
            _INFINITE[word.lower()]
            if word.lower() in _INFINITE
            else float(self._numbers([b"limits", word], 1)[0])
            for word in words
        ]

    def _freedoms(self, words: list[bytes], allowed: tuple[str, ...]) -> tuple[str, ...]:
        freedoms = tuple(decode_text(word).lower() for word in words[1:])
        if len(set(freedoms)) < len(freedoms) or not set(freedoms) <= set(allowed):
            self.reader.fail(f"expected some of {', '.join(allowed)}, each once")
        return freedoms

    def _order(self, words: list[bytes]) -> str:
        order = decode_text(b"".join(words)).lower()
        if sorted(order) != ["x", "y", "z"]:
            self.reader.fail("expected an order of the axes such as XYZ")
        return order

    def _depth_first(self) -> list[_Bone]:
        """Return the bones, each before its children; ValueError if one is open or unreachable."""
        if self.open:
            self.reader.fail_at(
                self.open.line, "expected end of the bone", "the end of the section"
            )
        order, stack = [], [self.root]
        while stack:
            order.append(stack.pop())
            stack += reversed(order[-1].children)
        if lost := [bone for bone in self.bones.values() if bone not in set(order)]:
            rule = "expected a bone that :hierarchy puts below root"
            self.reader.fail_at(lost[0].line, rule, quote_line(lost[0].name))
        return order

    def origin(self, path: Path, content: bytes) -> AsfOrigin:
        """Return the contents of all sections. Bones become joints in depth-first order."""
        bones = self._depth_first()
        indices = {bone: joint for joint, bone in enumerate(bones)}
        parents = [bone.parent for bone in bones if bone.parent]
        tips = [
            (joint, bone.vector)
            for joint, bone in enumerate(bones)
            if not bone.children and bone.vector.any()
        ]
        names = tuple(decode_text(bone.name) for bone in bones)
        axes = np.array([bone.axes(self.angle) for bone in bones])
        skeleton = Skeleton(
            names,
            np.array([-1, *(indices[parent] for parent in parents)]),
            np.array([self.position, *(parent.vector for parent in parents)]),
            (POSITIONS + _CHANNELS, *[_CHANNELS] * len(parents)),
            np.array([joint for joint, _ in tips], dtype=np.int64),
            np.array([vector for _, vector in tips]).reshape(-1, 3),
            np.concatenate([[IDENTITY], axes[1:]]),
            "y",
            CMU_UNIT if self.length == CMU_LENGTH else 0.0,
        )
        limited = {name: bone for name, bone in zip(names, bones, strict=True) if bone.limits}
        return AsfOrigin(
            path,
            content,
            skeleton,
            tuple(bone.name for bone in bones),
            tuple(bone.freedoms for bone in bones),
            axes,
            self.position,
            {name: bone.ranges(self.angle) for name, bone in limited.items()},
            {name: bone.limits_line for name, bone in limited.items()},
            self.angle,
        )


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
