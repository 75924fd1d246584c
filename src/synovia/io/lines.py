"""Text and CSV files, line by line: errors name the file and the line."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from os import PathLike, fspath
from typing import NoReturn

import numpy as np

from ..arrays import Floats
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
        """Move to the next line that is not blank, and return it stripped."""
        while True:
            if self.number == len(self.lines):
                self.fail_at(max(self.number, 1), f"expected {wanted}", "the end of the file")
            self.number += 1
            if self.line:
                return self.line

    def fail(self, rule: str) -> NoReturn:
        """Raise ValueError about the current line."""
        self.fail_at(self.number, rule, quote_line(self.line))

    def fail_at(self, number: int, rule: str, value: object) -> NoReturn:
        """Raise ValueError that names the file, the line, the rule and the value."""
        raise ValueError(f"{self.path}:{number}: {rule}, got {value}")

    def numbers(self, lines: Sequence[bytes], first: int) -> Floats:
        """Return all numbers in `lines` of the file; `first` is the number of the first line."""
        values = parse_numbers(b"\n".join(lines))
        if values is not None:
            return values
        for number, line in enumerate(lines, start=first):
            for word in line.split():
                if parse_numbers(word) is None:
                    self.fail_at(number, "expected finite numbers", quote_line(word))
        raise AssertionError("each word is a number, and all together are not")


def parse_numbers(text: bytes) -> Floats | None:
    """Return the finite numbers in `text`, or None if it contains anything else but white space."""
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


def quote_line(text: bytes) -> str:
    """Return `text` quoted for an error message, shortened to 60 characters."""
    line = decode_text(text)
    return repr(line if len(line) <= 60 else f"{line[:57]}...")


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file in UTF-8; ValueError names the line of other bytes."""
    content = read_file(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{content[error.start]:02x}"
        raise ValueError(f"{fspath(path)}:{line}: expected UTF-8, got {byte}") from None


def csv_rows(path: str | PathLike[str]) -> list[tuple[str, list[str]]]:
    """Return the rows of a CSV file that are not blank, each with its location "path:line".

    Cells are stripped. ValueError if columns are separated by semicolons or tabs.
    """
    rows = []
    reader = csv.reader(io.StringIO(read_text(path), newline=""), skipinitialspace=True)
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
