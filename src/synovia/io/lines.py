"""Text and CSV files, line by line: errors name the file and the line."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import NoReturn

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from .files import read_file

LINE_END = re.compile(rb"\r\n|\r|\n")
_NUMBER = re.compile(rb"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?=[\s+-]|\Z)\s*+")
_WORD = re.compile(rb"\S*")
_WORD_END = re.compile(rb"\S*\Z")


@dataclass
class LineReader:
    """The bytes of a file, read line by line."""

    path: str
    data: bytes
    offset: int = 0
    number: int = 0
    line: bytes = b""
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.data.startswith(b"\xef\xbb\xbf"):
            self.offset = 3

    def advance(self, wanted: str) -> bytes:
        """Move to the next line that is not blank, and return it stripped."""
        while True:
            if self.offset >= len(self.data):
                self.fail_at(max(self.number, 1), f"expected {wanted}", "the end of the file")
            end = LINE_END.search(self.data, self.offset)
            stop, after = end.span() if end else (len(self.data), len(self.data))
            self.line = self.data[self.offset : stop].strip()
            self.offset = after
            self.number += 1
            if self.line:
                return self.line

    def fail(self, rule: str) -> NoReturn:
        """Raise ValueError about the current line."""
        self.fail_at(self.number, rule, quote_line(self.line))

    def fail_at(self, number: int, rule: str, value: str) -> NoReturn:
        """Raise ValueError that names the file, the line, the rule and the value."""
        raise ValueError(f"{self.path}:{number}: {rule}, got {value}")


def parse_numbers(text: bytes) -> list[float] | None:
    """Return the finite numbers in `text`, or None if it contains anything else."""
    text = text.strip()
    numbers: list[float] = []
    offset = 0
    while offset < len(text):
        match = _NUMBER.match(text, offset)
        if not match or not math.isfinite(number := float(match[0])):
            return None
        numbers.append(number)
        offset = match.end()
    return numbers


def decode_text(text: bytes) -> str:
    """Return `text` as UTF-8, or else as Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def quote_line(text: bytes) -> str:
    """Return `text` quoted for an error message, shortened to 60 characters."""
    line = decode_text(text)
    return repr(line if len(line) <= 60 else f"{line[:57]}...")


def scan_numbers(reader: LineReader) -> tuple[Floats, Ints]:
    """Return all numbers (n,) in the rest of the file, and the count in each line (lines,).

    The number of lines is the number of line ends plus one.
    """
    data, first = reader.data, reader.offset
    text = np.frombuffer(data, np.uint8)[first:]
    values = np.empty(len(text) // 2 + 1)  # a number and its separator take 2 bytes or more
    breaks = data.count(b"\n", first) + data.count(b"\r", first)
    per_line = np.zeros(breaks + 1, dtype=np.int64)
    hard = np.empty(
        (4096, 3), dtype=np.int64
    )  # index, start and stop of numbers that `float` converts
    cursor = np.zeros(3, dtype=np.int64)
    bad = -1
    while cursor[0] < len(text) and bad < 0:
        bad = int(kernels.text.scan(text, cursor, values, per_line, hard))
        for index, start, stop in hard.tolist():
            if index < 0:
                break
            values[index] = float(data[first + start : first + stop])
            if not math.isfinite(values[index]):
                bad = start
                break
    if bad >= 0:
        bad += first
        number = reader.number + 1 + len(LINE_END.findall(data, first, bad))
        before = _WORD_END.search(data, max(bad - 60, first), bad)
        after = _WORD.match(data, bad, bad + 60)
        word = b"".join(part[0] for part in (before, after) if part)
        reader.fail_at(number, "expected finite numbers", quote_line(word))
    return values[: cursor[1]], per_line[: cursor[2] + 1]


def csv_rows(path: str | PathLike[str]) -> list[tuple[str, list[str]]]:
    """Return the rows of a CSV file that are not blank, each with its location "path:line".

    Cells are stripped. ValueError if columns are separated by semicolons or tabs.
    """
    content, rows = read_file(path), []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{fspath(path)}:{line}: expected text in UTF-8, got other bytes"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            location = f"{fspath(path)}:{reader.line_num}"
            if len(cells) == 1 and (";" in cells[0] or "\t" in cells[0]):
                raise ValueError(
                    f"{location}: columns must be separated by commas, got {cells[0]!r:.80}"
                )
            if any(cells):
                rows.append((location, cells))
    except csv.Error as error:
        raise ValueError(f"{fspath(path)}:{reader.line_num}: {error}") from None
    return rows


def csv_table(
    path: str | PathLike[str], columns: Sequence[str], filled: Sequence[str] = ()
) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a CSV file by the titles of its first row, each with "path:line".

    Missing cells are empty. Raises ValueError unless all `columns` are among the titles, and if a
    cell of the columns `filled` is empty.
    """
    rows = csv_rows(path)
    titles = rows[0][1] if rows else []
    if not set(columns) <= set(titles):
        raise ValueError(
            f"{fspath(path)}:1: expected the columns {','.join(columns)}, "
            f"got {','.join(titles)!r:.80}"
        )
    table = []
    for location, cells in rows[1:]:
        row = dict.fromkeys(titles, "") | dict(zip(titles, cells, strict=False))
        if not all(row[column] for column in filled):
            got = ",".join(row[column] for column in filled)
            raise ValueError(f"{location}: expected {' and '.join(filled)}, got {got!r:.80}")
        table.append((location, row))
    return table
