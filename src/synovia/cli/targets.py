"""Targets as people give them: a point, or a file with a point for each frame."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import inputs

if TYPE_CHECKING:
    from ..arrays import Vectors

AXES = ("x", "y", "z")
FRAME = "frame"
Row = tuple[str, list[str]]
"""Where it stands, FILE:LINE, and its cells."""


def target(option: str, text: str, frames: int) -> Vectors:
    """Return what X,Y,Z or FILE.csv stands for: (3,), or (frames, 3)."""
    if text.lower().endswith(".csv"):
        return path(Path(text), frames)
    return vector(option, text, "three numbers X,Y,Z, or a .csv file")


def direction(option: str, text: str) -> Vectors:
    """Return a direction that was typed as X,Y,Z, of any length above 0."""
    typed = vector(option, text)
    if not typed.any():
        raise click.UsageError(f"{option} takes a direction X,Y,Z, got {text!r}, which has none")
    return typed


def vector(option: str, text: str, takes: str = "three numbers X,Y,Z") -> Vectors:
    """Return three numbers that were typed as X,Y,Z."""
    import numpy as np

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise click.UsageError(f"{option} takes {takes}, got {text!r}")
    return np.array(numbers)


def path(file: Path, frames: int) -> Vectors:
    """Return the points (frames, 3) in a CSV file, with or without a line of titles.

    Titles say which columns are x, y and z; one called frame must count from 0, and others do not
    matter. Without titles there are three columns.
    """
    import numpy as np

    rows = _rows(file)
    columns = list(AXES)
    if rows and not any(map(_is_number, rows[0][1])):
        where, cells = rows.pop(0)
        columns = [cell.lower() for cell in cells]
        if any(columns.count(axis) != 1 for axis in AXES):
            raise ValueError(
                f"{where}: expected three numbers, or titles with x, y and z once each, "
                f"got {','.join(cells)!r:.80}"
            )
    points = [_point(row, columns, number) for number, row in enumerate(rows)]
    if len(points) != frames:
        raise ValueError(
            f"{file}: expected {frames} rows, one for each frame of the clip, got {len(points)}"
        )
    return np.array(points).reshape(-1, 3)


def _rows(file: Path) -> list[Row]:
    """Return all rows of a file that are not blank."""
    inputs.check_file(file)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}:{line}: expected text in UTF-8, got other bytes") from None
    reader = csv.reader(io.StringIO(text, newline=""))
    found: list[Row] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if len(cells) == 1 and (";" in row[0] or "\t" in row[0]):
                raise ValueError(
                    f"{file}:{reader.line_num}: columns must be separated by commas, "
                    f"got {row[0]!r:.80}"
                )
            if any(cells):
                found.append((f"{file}:{reader.line_num}", cells))
    except csv.Error as error:
        raise ValueError(f"{file}:{reader.line_num}: {error}") from None
    return found


def _point(row: Row, columns: Sequence[str], frame: int) -> list[float]:
    """Return x, y and z of a row."""
    where, cells = row
    if len(cells) != len(columns):
        raise ValueError(
            f"{where}: expected {len(columns)} columns, {','.join(columns)}, got {len(cells)}"
        )
    named = dict(zip(columns, cells, strict=True))
    for name in (*AXES, *({FRAME} & named.keys())):
        if not _is_number(named[name]) or not math.isfinite(float(named[name])):
            raise ValueError(f"{where}: {name} must be a finite number, got {named[name]!r:.80}")
    if FRAME in named and float(named[FRAME]) != frame:
        raise ValueError(
            f"{where}: frames must be all there and count from 0: expected {frame}, "
            f"got {named[FRAME]!r:.80}"
        )
    return [float(named[axis]) for axis in AXES]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
