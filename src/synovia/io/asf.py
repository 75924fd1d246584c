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
MAX_NUMBER = 1e6  # larger lengths and angles are taken for mistakes

_CHANNELS = ("Zrotation", "Yrotation", "Xrotation")  # as in CMU's motions in BVH
_SPACE = bytes.maketrans(b"(),", b"   ")
_INFINITE = {b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}


@dataclass(frozen=True, eq=False)
class AsfOrigin:
    """The contents of an ASF file beyond the skeleton, and the numbers of the AMC file.

    `limits["ltibia"]["rx"]` is the range (low, high), in radians, of a bone's freedom, if the file
    has one. `bones` are the names in the file, `freedoms` those of each bone, in the order of AMC
    files, and `axes` (J, 4) the rotations of the bones' axes. `position` (3,) is that of the root
    at zero. `values` (frames, freedoms) are the numbers of the AMC file, with `angle` radians per
    unit.
    """

    path: Path
    content: bytes
    skeleton: Skeleton
    bones: tuple[bytes, ...]
    freedoms: tuple[tuple[str, ...], ...]
    axes: Quats
    position: Vectors
    limits: dict[str, dict[str, tuple[float, float]]]
    angle: float
    forced: bool = False
    values: Floats | None = None


@dataclass
class _Bone:
    """A bone, or the root, as its lines describe it; angles in the file's unit."""

    line: int
    name: bytes = b""
    direction: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    axis: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    order: str = "xyz"
    freedoms: tuple[str, ...] = ()
    limits: list[float] = field(default_factory=list)
    limits_line: int = 0
    parent: bytes = b""
    children: list[bytes] = field(default_factory=list)

    def vector(self) -> Floats:
        """Return the vector (3,) from the bone's start to its end."""
        return np.array(self.direction) * self.length[0]

    def ranges(self, angle: float) -> dict[str, tuple[float, float]]:
        """Return the range of each freedom, in radians."""
        pairs = zip(self.limits[::2], self.limits[1::2], strict=True)
        return {
            freedom: (angle * low, angle * high)
            for freedom, (low, high) in zip(self.freedoms, pairs, strict=True)
        }

    def axes(self, angle: float) -> Quats:
        """Return the rotation (4,) of the bone's axes: about fixed axes, first letter first."""
        angles = [angle * self.axis["xyz".index(letter)] for letter in reversed(self.order)]
        return from_euler(np.array(angles), self.order[::-1])


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


def read_asf(path: Path) -> AsfOrigin:
    """Return the skeleton in the ASF file at `path`, and its other contents."""
    return parse_asf(path, read_file(path))


@lru_cache(maxsize=8)  # many motions share a skeleton
def parse_asf(path: Path, content: bytes) -> AsfOrigin:
    """Return the skeleton in the bytes of an ASF file, and their other contents."""
    return _read_sections(path, content).origin(path, content)


def _read_sections(path: Path, content: bytes) -> _AsfFile:
    reader = LineReader(str(path), content.rstrip())
    file = _AsfFile(reader)
    for section, words in _sections(reader):
        match section:
            case b":units":
                file.read_unit(words)
            case b":root":
                file.read_root(words)
            case b":bonedata":
                file.read_bone(words)
            case b":hierarchy":
                file.read_children(words)
    if not file.has_bones:
        reader.fail_at(max(reader.number, 1), "expected :bonedata", "the end of the file")
    return file


def _sections(reader: LineReader) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield each line's section and its words, the first in lower case; [] at its start."""
    section = b""
    while reader.offset < len(reader.data):
        line = reader.advance("a section").partition(b"#")[0]
        words = line.translate(_SPACE).split()
        if words and words[0].startswith(b":"):
            section = words[0].lower()
            yield section, []
        elif words:
            yield section, [words[0].lower(), *words[1:]]


class _AsfFile:
    """The sections of an ASF file that have been read."""

    def __init__(self, reader: LineReader) -> None:
        self.reader = reader
        self.angle = np.pi / 180.0
        self.length = 1.0
        freedoms = (*POSITION_FREEDOMS, *ROTATION_FREEDOMS)
        self.root = _Bone(1, ROOT, [0.0] * 3, [0.0], freedoms=freedoms)
        self.position = [0.0, 0.0, 0.0]
        self.bones: dict[bytes, _Bone] = {ROOT: self.root}
        self.open: _Bone | None = None
        self.in_limits = False
        self.has_bones = False

    def read_unit(self, words: list[bytes]) -> None:
        if words[:1] == [b"length"]:
            (self.length,) = self._numbers(words, 1)
        elif words[:1] == [b"angle"]:
            unit = b" ".join(words[1:]).lower()
            if unit not in (b"deg", b"rad"):
                self.reader.fail("expected angle deg or angle rad")
            self.angle = 1.0 if unit == b"rad" else np.pi / 180.0

    def read_root(self, words: list[bytes]) -> None:
        match words[:1]:
            case [b"order"]:
                allowed = (*POSITION_FREEDOMS, *ROTATION_FREEDOMS)
                self.root.freedoms = self._freedoms(words, allowed)
            case [b"axis"]:
                self.root.order = self._order(words[1:])
            case [b"position"]:
                self.position = self._numbers(words, 3)
            case [b"orientation"]:
                self.root.axis = self._numbers(words, 3)

    def read_bone(self, words: list[bytes]) -> None:
        self.has_bones = True
        if not words:
            return
        key, bone = words[0], self.open
        if key == b"begin":
            if bone:
                self.reader.fail("expected end before the next begin")
            self.open, self.in_limits = _Bone(self.reader.number), False
        elif bone is None:
            self.reader.fail("expected begin")
        elif key == b"end":
            self._close(bone)
        elif self.in_limits and (key in _INFINITE or parse_numbers(key)):
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
        missing = [key for key in ("name", "direction", "length") if not getattr(bone, key)]
        if missing:
            self.reader.fail(f"expected {missing[0]} in the bone that began in line {bone.line}")
        if bone.limits and len(bone.limits) != 2 * len(bone.freedoms):
            self.reader.fail(
                f"expected two limits for each of {len(bone.freedoms)} freedoms of "
                f"{decode_text(bone.name):.60}, or none, not {len(bone.limits)}"
            )
        self.bones[bone.name.lower()] = bone
        self.open = None

    def read_children(self, words: list[bytes]) -> None:
        if len(words) == 0 or words in ([b"begin"], [b"end"]):
            return
        parent, *children = (word.lower() for word in words)
        for name in (parent, *children):
            if name not in self.bones:
                self.reader.fail(f"expected bones of :bonedata, not {decode_text(name)!r:.60}")
        for name in children:
            if self.bones[name].parent or name == ROOT:
                self.reader.fail(f"expected {decode_text(name):.60} below one bone")
            self.bones[name].parent = parent
            self.bones[parent].children.append(name)

    def _numbers(self, words: list[bytes], count: int) -> list[float]:
        numbers = parse_numbers(b" ".join(words[1:]))
        if numbers is None or len(numbers) != count or max(map(abs, numbers)) > MAX_NUMBER:
            key = decode_text(words[0]).lower()
            self.reader.fail(f"expected {count} numbers of at most {MAX_NUMBER:g} after {key:.20}")
        return numbers

    def _limits(self, words: list[bytes]) -> list[float]:
        return [
            _INFINITE[word.lower()]
            if word.lower() in _INFINITE
            else self._numbers([b"limits", word], 1)[0]
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

    def origin(self, path: Path, content: bytes) -> AsfOrigin:
        """Return the contents of all sections. Bones become joints in depth-first order."""
        bones = self.depth_first()
        joints = {bone.name.lower(): joint for joint, bone in enumerate(bones)}
        parents = [self.bones[bone.parent] for bone in bones[1:]]
        tips = [
            (joint, bone.vector())
            for joint, bone in enumerate(bones)
            if not bone.children and bone.vector().any()
        ]
        names = tuple(decode_text(bone.name) for bone in bones)
        axes = np.array([bone.axes(self.angle) for bone in bones])
        rest = axes.copy()
        rest[0] = IDENTITY
        skeleton = Skeleton(
            names,
            np.array([-1, *(joints[bone.parent] for bone in bones[1:])]),
            np.array([self.position, *(parent.vector() for parent in parents)]),
            (POSITIONS + _CHANNELS, *[_CHANNELS] * len(parents)),
            np.array([joint for joint, _ in tips], dtype=np.int64),
            np.array([vector for _, vector in tips]).reshape(-1, 3),
            rest,
            "y",
            CMU_UNIT if self.length == CMU_LENGTH else 0.0,
        )
        return AsfOrigin(
            path,
            content,
            skeleton,
            tuple(bone.name for bone in bones),
            tuple(bone.freedoms for bone in bones),
            axes,
            np.array(self.position),
            {
                name: bone.ranges(self.angle)
                for name, bone in zip(names, bones, strict=True)
                if bone.limits
            },
            self.angle,
        )

    def depth_first(self) -> list[_Bone]:
        """Return the bones, each before its children; ValueError if one is open or unreachable."""
        if self.open:
            self.reader.fail_at(
                self.open.line, "expected end of the bone", "the end of the section"
            )
        order, stack = [], [ROOT]
        while stack:
            bone = self.bones[stack.pop()]
            order.append(bone)
            stack += reversed(bone.children)
        if len(order) < len(self.bones):
            reached = {bone.name for bone in order}
            lost = next(bone for bone in self.bones.values() if bone.name not in reached)
            rule = "expected a bone that :hierarchy puts below root"
            self.reader.fail_at(lost.line, rule, quote_line(lost.name))
        return order


def read_asf_ranges(path: Path) -> RangesFile:
    """Return the bones of an ASF file as joints, and the ranges of their freedoms.

    Freedoms rotate about fixed axes, the first one first: as hinges, the last is the outermost.
    """
    content = read_file(path)
    origin = parse_asf(path, content)
    bones = _read_sections(path, content).depth_first()
    hinges = []
    for joint, bone in enumerate(bones[1:], start=1):
        name = origin.skeleton.names[joint]
        for number, freedom in reversed(list(enumerate(bone.freedoms))):
            axis = rotate(origin.axes[joint], np.eye(3)[ROTATION_FREEDOMS.index(freedom)])
            low, high = origin.limits.get(name, {}).get(freedom, (-np.inf, np.inf))
            line = bone.limits_line + number if bone.limits_line else 0
            hinges.append(HingeRange(f"{name}.{freedom}", name, axis, low, high, line=line))
    return RangesFile(path, origin.skeleton, tuple(hinges), degrees=origin.angle != 1.0)
