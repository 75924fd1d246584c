"""Text files, line by line: errors name the file and the line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeVar

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints

Head = TypeVar("Head")
PIECE = 2**22
"""Bytes of text that are read at once, and then up to the end of a line."""
LINE_END = re.compile(rb"\r\n|\r|\n")
_NUMBER = re.compile(rb"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?=[\s+-]|\Z)\s*+")
_WORD = re.compile(rb"\S*")
_WORD_END = re.compile(rb"\S*\Z")


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


def decode_text(text: bytes) -> str:
    """Return `text` as UTF-8, or else as Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def quote_line(text: bytes) -> str:
    """Return `text` as an error shows it: quoted, and cut where it is long."""
    line = decode_text(text)
    return repr(line if len(line) <= 60 else f"{line[:57]}...")


def read_head(path: Path, file: BinaryIO, parse: Callable[[Source], Head]) -> tuple[Head, Source]:
    """Return what `parse` finds at the beginning of a file, of which no more is read than needed.

    The source is where it ended.
    """
    size = PIECE
    while True:
        file.seek(0)
        source = Source(str(path), file.read(size))
        ended = len(source.data) < size
        try:
            head = parse(source)
        except ValueError:
            if ended or source.at < len(source.data):
                raise
        else:
            if ended or source.at < len(source.data):
                return head, source
        size *= 2  # the last line of what was read may go on


def read_pieces(file: BinaryIO, at: int) -> Iterator[bytes]:
    """Yield the text of a file from the byte `at` on, cut at ends of lines; at least one piece."""
    file.seek(at)
    held: list[bytes] = []
    while text := file.read(PIECE):
        # A CR at the end may be half of a CRLF.
        cut = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        held.append(text[:cut] if cut else text)
        if cut:
            yield b"".join(held)
            held = [text[cut:]]
    yield b"".join(held)


def scan_numbers(source: Source) -> tuple[Floats, Ints]:
    """Return every number in the rest of the file, and how many there are in each line.

    There is one line more than there are ends of lines.
    """
    rest = source.data[source.at :]
    text = np.frombuffer(rest, dtype=np.uint8)
    values = np.empty(len(rest) // 2 + 1)
    breaks = np.count_nonzero(text == 10) + np.count_nonzero(text == 13)
    per_line = np.zeros(breaks + 1, dtype=np.int64)
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
    return values[: cursor[1]], per_line[: cursor[2] + 1]
