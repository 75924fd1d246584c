"""Text files, line by line: errors name the file and the line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from os import PathLike, fspath
from typing import NoReturn

import numpy as np

from ..arrays import Floats
from ..schema import quote_value
from .files import read_file

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GLUED = re.compile(rb"(?<=[\d.])(?=[+-])")  # fixed columns that are full have no space between


class LineReader:
    """The lines of a file, read one after another.

    `line` is the current one, stripped, and `number` its number from 1 on. `warnings` collects
    messages about the file.
    """

    def __init__(self, path: str | PathLike[str], data: bytes) -> None:
        self.path = fspath(path)
        self.lines = data.removeprefix(BYTE_ORDER_MARK).splitlines()
        self.number = 0
        self.warnings: list[str] = []

    @property
    def line(self) -> bytes:
        """The current line, stripped."""
        return self.lines[self.number - 1].strip()

    @property
    def rest(self) -> list[bytes]:
        """The lines after the current one."""
        return self.lines[self.number :]

    def advance(self, wanted: str) -> bytes:
        """Move to the next line that is not blank, and return it stripped.

        ValueError at the end of the file; it says that `wanted` was expected.
        """
        while True:
            if self.number == len(self.lines):
                self.fail_at(max(self.number, 1), f"expected {wanted}", "the end of the file")
            self.number += 1
            if self.line:
                return self.line

    def fail(self, rule: str) -> NoReturn:
        """Raise ValueError about the current line."""
        self.fail_at(self.number, rule, quote_value(decode_text(self.line)))

    def fail_at(self, number: int, rule: str, value: object) -> NoReturn:
        """Raise ValueError that names the file, the line, the rule and the value."""
        raise ValueError(f"{self.path}:{number}: {rule}, got {value}")

    def numbers(self, lines: Sequence[bytes], line_numbers: Sequence[int]) -> Floats:
        """Return all numbers in some lines, flat; ValueError names the line of any other word."""
        values = parse_numbers(b"\n".join(lines))
        if values is not None:
            return values
        for number, line in zip(line_numbers, lines, strict=True):
            for word in line.split():
                if parse_numbers(word) is None:
                    self.fail_at(number, "expected finite numbers", quote_value(decode_text(word)))
        raise AssertionError("each word is a number, and all together are not")


def parse_numbers(text: bytes) -> Floats | None:
    """Return the numbers in `text`, or None if it has other words or numbers not finite."""
    if not text.strip():
        return np.zeros(0)
    for spaced in (text, _GLUED.sub(b" ", text)):
        try:
            with warnings.catch_warnings(action="error"):  # NumPy before 2.3 warns
                values = np.fromstring(spaced, sep=" ")
        except (ValueError, DeprecationWarning):
            continue
        return values if np.isfinite(values).all() else None
    return None


def decode_text(text: bytes) -> str:
    """Return `text` as UTF-8, or else as Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file in UTF-8."""
    return decode_utf8(fspath(path), read_file(path))


def decode_utf8(path: str, content: bytes) -> str:
    """Return the text in the bytes of a file in UTF-8; ValueError names the line of other bytes."""
    content = content.removeprefix(BYTE_ORDER_MARK)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{content[error.start]:02x}"
        raise ValueError(f"{path}:{line}: expected UTF-8, got {byte}") from None
