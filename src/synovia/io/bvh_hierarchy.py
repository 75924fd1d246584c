"""The first part of a BVH file: lines, the errors that name them, and the tree of joints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ..skeleton import CHANNELS, Skeleton

LINE_END = re.compile(rb"\r\n|\r|\n")
_BRACE = re.compile(rb"([{}])")
_NAMED = re.compile(rb"(ROOT|JOINT)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
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
        self.fail_at(self.number, rule, shown(self.line))

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
            opening = _named(source, tree, block, keyword.decode(), statement)
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
            _take_offset(source, tree, block, statement)
        elif keyword == b"CHANNELS":
            _take_channels(source, tree, block, words)
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
        if _NAMED.fullmatch(line):
            yield line.removesuffix(b"{").rstrip()
            if line.endswith(b"{"):
                yield b"{"
        else:
            yield from filter(None, map(bytes.strip, _BRACE.split(line)))


def _named(
    source: Source, tree: Hierarchy, block: _Block | None, keyword: str, statement: bytes
) -> _Block:
    """Begin the joint that `statement` names."""
    if keyword == "ROOT" and block:
        source.fail(f"expected '}}' to close {block.title} before ROOT")
    if keyword == "JOINT" and (not block or block.is_end):
        source.fail("expected JOINT inside of a joint")
    name = _decoded(statement[len(keyword) :].strip())
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


def _take_offset(source: Source, tree: Hierarchy, block: _Block, statement: bytes) -> None:
    offset = numbers(statement[len(b"OFFSET") :])
    if offset is None or len(offset) != 3:
        source.fail("expected 3 numbers after OFFSET")
    if block.has_offset:
        source.fail(f"expected one OFFSET in {block.title}")
    block.has_offset = True
    if block.is_end:
        tree.ends.append((block.joint, offset))
    else:
        tree.offsets[block.joint] = offset


def _take_channels(source: Source, tree: Hierarchy, block: _Block, words: list[bytes]) -> None:
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


def numbers(text: bytes) -> list[float] | None:
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


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def shown(text: bytes) -> str:
    """Return `text` as an error shows it: quoted, and cut where it is long."""
    line = _decoded(text)
    return repr(line if len(line) <= 60 else f"{line[:57]}...")
