"""ASF (Acclaim): the skeleton of AMC files, with its axes, freedoms and limits."""

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
from .lines import Source, decode_text, parse_numbers, quote_line
from .ranges import HingeRange, RangesFile

CMU_LENGTH = 0.45
CMU_UNIT = 0.0254 / CMU_LENGTH
"""Metres of a unit where `length` is 0.45: CMU says that its files are in inches / 0.45."""
TURNS = ("rx", "ry", "rz")
SHIFTS = ("tx", "ty", "tz")
ROOT = b"root"
MAX_NUMBER = 1e6
"""Lengths and angles above this are a mistake, not a body."""

_CHANNELS = ("Zrotation", "Yrotation", "Xrotation")
"""As CMU's motions have them in BVH."""
_SPACE = bytes.maketrans(b"(),", b"   ")
_OURS = re.compile(rb"# synovia: root at (\S+ \S+ \S+) named (\S+)[\r\n]")
_OFFSET, _END = b"offset_of_", b"end_of_"
_INFINITE = {b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}


@dataclass(frozen=True, eq=False)
class AsfOrigin:
    """What an ASF file says beyond the skeleton, and the numbers of the AMC file that was read.

    `limits["ltibia"]["rx"]` is the range (low, high), in radians, that the file gives to a bone's
    freedom; bones and freedoms without limits are not in it. `bones` are the names in the file,
    `freedoms` what an AMC file holds of each bone, in its order, and `axes` (J, 4) the rotations of
    the axes that bones turn about; `position` is where the root is at zero. `values`
    (frames, freedoms) are as they stand in the AMC file, whose angles have `angle` radians a unit.
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
    """A bone, or the root, as its lines say; angles in the file's unit."""

    line: int
    name: bytes = b""
    direction: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    axis: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    order: str = "xyz"
    freedoms: tuple[str, ...] = ()
    limits: list[float] = field(default_factory=list)
    parent: bytes = b""
    children: list[bytes] = field(default_factory=list)
    start: Floats = field(default_factory=lambda: np.zeros(3))
    ends: list[Floats] = field(default_factory=list)

    def way(self) -> Floats:
        """Return the vector from the bone's start to its end."""
        return np.array(self.direction) * self.length[0]

    def tips(self) -> list[Floats]:
        """Return the ways to its end sites: its end, if it has a length and nothing follows."""
        own = [] if self.children or not self.way().any() else [self.way()]
        return own + [self.way() + end for end in self.ends]

    def ranges(self, angle: float) -> dict[str, tuple[float, float]]:
        """Return the limits, radians, of each freedom."""
        pairs = zip(self.limits[::2], self.limits[1::2], strict=True)
        return {
            freedom: (angle * low, angle * high)
            for freedom, (low, high) in zip(self.freedoms, pairs, strict=True)
        }

    def axes(self, angle: float) -> Quats:
        """Return the rotation of the bone's axes: turns about fixed axes, first letter first."""
        turns = [angle * self.axis["xyz".index(letter)] for letter in reversed(self.order)]
        return from_euler(np.array(turns), self.order[::-1])


def find_asf(path: Path) -> Path:
    """Return the ASF file for an AMC file: the one of its name or subject, or the only one beside.

    For `07_05-walk.amc` that is `07_05-walk.asf`, `07.asf`, an ASF file whose name begins with
    `07_` or `07-`, or the only one in the folder.
    """
    beside = sorted(each for each in path.parent.iterdir() if each.suffix.lower() == ".asf")
    subject = _subject(path)
    choices = [
        [each for each in beside if each.stem == path.stem],
        [each for each in beside if each.stem == subject],
        [each for each in beside if _subject(each) == subject],
        beside,
    ]
    found = next((each for each in choices if each), [])
    if len(found) != 1:
        names = ", ".join(each.name for each in found[:12]) or "none"
        raise ValueError(f"{path}: expected one .asf file for it in its folder, got {names}")
    return found[0]


def _subject(path: Path) -> str:
    return re.split("[_-]", path.stem, maxsplit=1)[0]


def is_ours(content: bytes) -> bool:
    """Whether the bytes of an ASF file are what `asf_text` gives."""
    return _OURS.match(content) is not None


def read_asf(path: Path) -> AsfOrigin:
    """Return the skeleton in the ASF file at `path`, and what else the file says."""
    return parse_asf(path, read_file(path))


@lru_cache(maxsize=8)  # many motions share a skeleton
def parse_asf(path: Path, content: bytes) -> AsfOrigin:
    """Return the skeleton in the bytes of an ASF file, and what else they say."""
    source = Source(str(path), content.rstrip())
    file = _AsfFile(source)
    for section, words in _sections(source):
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
        source.fail_at(max(source.number, 1), "expected :bonedata", "the end of the file")
    return file.origin(path, content)


def _sections(source: Source) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield each line's section and its words, the first in lower case; none where one begins."""
    section = b""
    while source.at < len(source.data):
        line = source.advance("a section").partition(b"#")[0]
        words = line.translate(_SPACE).split()
        if words and words[0].startswith(b":"):
            section = words[0].lower()
            yield section, []
        elif words:
            yield section, [words[0].lower(), *words[1:]]


class _AsfFile:
    """The sections of an ASF file so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.angle = np.pi / 180.0
        self.length = 1.0
        self.root = _Bone(1, ROOT, [0.0] * 3, [0.0], freedoms=(*SHIFTS, *TURNS))
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
                self.source.fail("expected angle deg or angle rad")
            self.angle = 1.0 if unit == b"rad" else np.pi / 180.0

    def read_root(self, words: list[bytes]) -> None:
        match words[:1]:
            case [b"order"]:
                self.root.freedoms = self._freedoms(words, (*SHIFTS, *TURNS))
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
                self.source.fail("expected end before the next begin")
            self.open, self.in_limits = _Bone(self.source.number), False
        elif bone is None:
            self.source.fail("expected begin")
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
                    self.source.fail("expected name and a word that no other bone has")
                bone.name = words[1]
            case b"direction":
                bone.direction = self._numbers(words, 3)
            case b"length":
                bone.length = self._numbers(words, 1)
            case b"axis":
                bone.axis = self._numbers(words[:4], 3)
                bone.order = self._order(words[4:])
            case b"dof":
                bone.freedoms = self._freedoms(words, TURNS)
            case b"limits":
                bone.limits = self._limits(words[1:])

    def _close(self, bone: _Bone) -> None:
        missing = [key for key in ("name", "direction", "length") if not getattr(bone, key)]
        if missing:
            self.source.fail(f"expected {missing[0]} in the bone that began in line {bone.line}")
        if bone.limits and len(bone.limits) != 2 * len(bone.freedoms):
            self.source.fail(
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
                self.source.fail(f"expected bones of :bonedata, not {decode_text(name)!r:.60}")
        for name in children:
            if self.bones[name].parent or name == ROOT:
                self.source.fail(f"expected {decode_text(name):.60} below one bone")
            self.bones[name].parent = parent
            self.bones[parent].children.append(name)

    def _numbers(self, words: list[bytes], count: int) -> list[float]:
        numbers = parse_numbers(b" ".join(words[1:]))
        if numbers is None or len(numbers) != count or max(map(abs, numbers)) > MAX_NUMBER:
            key = decode_text(words[0]).lower()
            self.source.fail(f"expected {count} numbers of at most {MAX_NUMBER:g} after {key:.20}")
        return numbers

    def _limits(self, words: list[bytes]) -> list[float]:
        numbers = [_INFINITE.get(word.lower()) for word in words]
        for place, word in enumerate(words):
            if numbers[place] is None:
                (numbers[place],) = self._numbers([b"limits", word], 1)
        return [number for number in numbers if number is not None]

    def _freedoms(self, words: list[bytes], allowed: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(decode_text(word).lower() for word in words[1:])
        if len(set(found)) < len(found) or not set(found) <= set(allowed):
            self.source.fail(f"expected some of {', '.join(allowed)}, each once")
        return found

    def _order(self, words: list[bytes]) -> str:
        order = decode_text(b"".join(words)).lower()
        if sorted(order) != ["x", "y", "z"]:
            self.source.fail("expected an order of the axes such as XYZ")
        return order

    def origin(self, path: Path, content: bytes) -> AsfOrigin:
        """Return what the sections say together; bones become joints, depth first."""
        if self.open:
            self.source.fail_at(
                self.open.line, "expected end of the bone", "the end of the section"
            )
        root_name, position = ROOT, np.array(self.position)
        if ours := _OURS.match(content):
            root_name = ours[2]
            self.source.line = ours[0]
            self.position = self._numbers([b"at", ours[1]], 3)
            self._fold()
        bones = self._depth_first()
        joints = {bone.name.lower(): joint for joint, bone in enumerate(bones)}
        parents = [self.bones[bone.parent] for bone in bones[1:]]
        ends = [(joint, way) for joint, bone in enumerate(bones) for way in bone.tips()]
        names = tuple(decode_text(name) for name in (root_name, *(b.name for b in bones[1:])))
        offsets = [p.way() + b.start for p, b in zip(parents, bones[1:], strict=True)]
        axes = np.array([bone.axes(self.angle) for bone in bones])
        rest = axes.copy()
        rest[0] = IDENTITY
        skeleton = Skeleton(
            names,
            np.array([-1, *(joints[bone.parent] for bone in bones[1:])]),
            np.array([self.position, *offsets]),
            (POSITIONS + _CHANNELS, *[_CHANNELS] * len(parents)),
            np.array([joint for joint, _ in ends], dtype=np.int64),
            np.array([way for _, way in ends]).reshape(-1, 3),
            rest,
            "y",
            CMU_UNIT if self.length == CMU_LENGTH else 0.0,
        )
        limits = {
            name: bone.ranges(self.angle)
            for name, bone in zip(names, bones, strict=True)
            if bone.limits
        }
        file_names = tuple(bone.name for bone in bones)
        freedoms = tuple(bone.freedoms for bone in bones)
        return AsfOrigin(
            path, content, skeleton, file_names, freedoms, axes, position, limits, self.angle
        )

    def _depth_first(self) -> list[_Bone]:
        order, stack = [], [ROOT]
        while stack:
            bone = self.bones[stack.pop()]
            order.append(bone)
            stack += reversed(bone.children)
        if len(order) < len(self.bones):
            known = {bone.name for bone in order}
            lost = next(bone for bone in self.bones.values() if bone.name not in known)
            rule = "expected a bone that :hierarchy puts below root"
            self.source.fail_at(lost.line, rule, quote_line(lost.name))
        return order

    def _fold(self) -> None:
        """Take out the bones that the writer adds: ways to joints, and to end sites."""
        for name, bone in list(self.bones.items()):
            parent = self.bones.get(bone.parent)
            if parent is None or bone.freedoms:
                continue
            if name.startswith(_END) and not bone.children:
                parent.ends.append(bone.way())
                parent.children.remove(name)
                del self.bones[name]
            elif name.startswith(_OFFSET) and bone.children == [name.removeprefix(_OFFSET)]:
                (child,) = bone.children
                self.bones[child].start = bone.way()
                self.bones[child].parent = bone.parent
                parent.children[parent.children.index(name)] = child
                del self.bones[name]


def asf_text(skeleton: Skeleton, names: tuple[bytes, ...]) -> bytes:
    """Return an ASF file for any skeleton with one root: three freedoms a joint, axes of the world.

    Bones in ASF begin where their parent ends. A joint with one child or end site is a bone that
    leads there; another is a bone without length, with bones that do not turn to what hangs on it.
    """
    children: list[list[int]] = [[] for _ in names]
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            children[parent].append(joint)
    ends: list[list[Floats]] = [[] for _ in names]
    for joint, way in zip(skeleton.end_parents.tolist(), skeleton.end_offsets, strict=True):
        ends[joint].append(way)
    root_name, names = names[0], (ROOT, *names[1:])
    bones: list[tuple[bytes, Floats, bool]] = []
    hierarchy: list[tuple[bytes, ...]] = []
    nothing = np.zeros(3)
    for joint, name in enumerate(names):
        below = []
        ways = [*skeleton.offsets[children[joint]], *ends[joint]]
        single = joint > 0 and len(ways) == 1 and ways[0].any()
        if joint > 0:
            bones.append((name, ways[0] if single else nothing, True))
        for child in children[joint]:
            link = names[child]
            if not single and skeleton.offsets[child].any():
                link = _OFFSET + names[child]
                bones.append((link, skeleton.offsets[child], False))
                hierarchy.append((link, names[child]))
            below.append(link)
        for number, way in enumerate([] if single else ends[joint]):
            below.append(_END + name + (b"_%d" % (number + 1) if number else b""))
            bones.append((below[-1], way, False))
        if below:
            hierarchy.append((name, *below))
    length = CMU_LENGTH if skeleton.unit else 1.0
    at = b" ".join(repr(each).encode() for each in skeleton.offsets[0].tolist())
    lines = [
        b"# synovia: root at %s named %s" % (at, root_name),
        b":version 1.10",
        b":name %s" % root_name,
        b":units\n  mass 1.0\n  length %s\n  angle deg" % repr(length).encode(),
        b":documentation\n  Written by Synovia.",
        b":root\n  order TX TY TZ RX RY RZ\n  axis XYZ\n  position 0 0 0\n  orientation 0 0 0",
        b":bonedata",
        *(_bone_lines(number + 1, *bone) for number, bone in enumerate(bones)),
        b":hierarchy\n  begin",
        *(b"    " + b" ".join(each) for each in hierarchy),
        b"  end",
    ]
    return b"\n".join([*lines, b""])


def _bone_lines(number: int, name: bytes, way: Floats, turns: bool) -> bytes:
    length = float(np.linalg.norm(way))
    direction = (way / length).tolist() if length else [1.0, 0.0, 0.0]
    lines = [
        b"  begin",
        b"    id %d" % number,
        b"    name %s" % name,
        b"    direction %s" % " ".join(map(repr, direction)).encode(),
        b"    length %s" % repr(length).encode(),
        b"    axis 0 0 0 XYZ",
        *([b"    dof rx ry rz"] if turns else []),
        b"  end",
    ]
    return b"\n".join(lines)


def read_asf_ranges(path: Path) -> RangesFile:
    """Return the bones of an ASF file as joints, and the ranges of their freedoms.

    Freedoms turn about fixed axes, the first of them first: as hinges the last is the outermost.
    """
    origin = read_asf(path)
    lines = _limit_lines(origin.content)
    hinges = []
    for joint, name in enumerate(origin.skeleton.names[1:], start=1):
        ranges, bone = origin.limits.get(name, {}), decode_text(origin.bones[joint])
        turns = [freedom for freedom in origin.freedoms[joint] if freedom in TURNS]
        for freedom in reversed(turns):
            axis = rotate(origin.axes[joint], np.eye(3)[TURNS.index(freedom)])
            low, high = ranges.get(freedom, (-np.inf, np.inf))
            line = lines.get(bone.lower(), 0)
            place = line + origin.freedoms[joint].index(freedom) if line else 0
            hinges.append(HingeRange(f"{name}.{freedom}", name, axis, low, high, line=place))
    degrees = origin.angle != 1.0
    return RangesFile(path, origin.skeleton, tuple(hinges), degrees=degrees)


def _limit_lines(content: bytes) -> dict[str, int]:
    """Return the line in which the limits of each bone begin, by its name in lower case."""
    found, name = {}, ""
    for number, line in enumerate(content.splitlines(), start=1):
        words = decode_text(line).split()
        if len(words) == 2 and words[0].lower() == "name":
            name = words[1].lower()
        elif words and words[0].lower() == "limits":
            found[name] = number
    return found
