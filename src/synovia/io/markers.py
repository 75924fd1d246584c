"""Tracks of markers as CSV, a row for each marker in each frame: `frame,marker,x,y,z`.

Frames are whole numbers, y is up, and lengths are in metres, centimetres or millimetres. A marker
that is not visible in a frame has no row for it, or empty numbers.
"""

from __future__ import annotations

import math
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from ..anatomy.observations import MarkerTracks
from ..arrays import Vectors
from .lines import csv_table

SUFFIX = ".markers.csv"
COLUMNS = ("frame", "marker", "x", "y", "z")
TABLE_COLUMNS = ("marker", "segment")
MAX_SMALL_POINTS = 10**6  # frames × markers that any file may have: 24 MB
MAX_POINTS_PER_ROW = 100  # frames × markers a row beyond that; captures have fewer than 30


def load_markers(path: str | PathLike[str]) -> MarkerTracks:
    """Return the tracks in the file at `path`, in its unit; NaN for invisible markers."""
    points_by_key: dict[tuple[int, str], list[float]] = {}
    for location, row in csv_table(path, COLUMNS, ("marker",)):
        name = row["marker"]
        key = (_frame(location, row["frame"]), name)
        if key in points_by_key:
            raise ValueError(f"{location}: marker {name} is twice in frame {key[0]}")
        points_by_key[key] = _point(location, [row[axis] for axis in "xyz"])
    if not points_by_key:
        raise ValueError(f"{fspath(path)}: expected rows of markers, got none")
    frames = sorted({frame for frame, _ in points_by_key})
    names = tuple(sorted({name for _, name in points_by_key}))
    most = MAX_SMALL_POINTS + MAX_POINTS_PER_ROW * len(points_by_key)
    if len(frames) * len(names) > most:
        raise ValueError(
            f"{fspath(path)}: expected at most {most} frames times markers in "
            f"{len(points_by_key)} rows, got {len(frames)} frames of {len(names)} markers"
        )
    points = np.full((len(frames), len(names), 3), np.nan)
    row_of = {frame: row for row, frame in enumerate(frames)}
    column_of = {name: column for column, name in enumerate(names)}
    for (frame, name), point in points_by_key.items():
        points[row_of[frame], column_of[name]] = point
    name = Path(path).name
    return MarkerTracks(names, points, name[: -len(SUFFIX)] if name.endswith(SUFFIX) else name)


def load_marker_table(path: str | PathLike[str]) -> dict[str, tuple[str, Vectors | None]]:
    """Return the segment of each marker, and its position (3,) in metres if `x,y,z` are given."""
    markers: dict[str, tuple[str, Vectors | None]] = {}
    for location, row in csv_table(path, TABLE_COLUMNS, TABLE_COLUMNS):
        numbers = [row.get(axis) or "" for axis in "xyz"]
        at = None if not any(numbers) else np.array(_point(location, numbers))
        if at is not None and np.isnan(at).any():
            raise ValueError(f"{location}: expected three numbers x,y,z or none, got {numbers}")
        markers[row["marker"]] = (row["segment"], at)
    return markers


def _frame(location: str, text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (number == int(number) if math.isfinite(number) else False):
        raise ValueError(f"{location}: expected the number of a frame, got {text!r}")
    return int(number)


def _point(location: str, texts: list[str]) -> list[float]:
    """Return three numbers; NaN for empty cells."""
    point = []
    for text in texts:
        try:
            point.append(float(text) if text else math.nan)
        except ValueError:
            raise ValueError(f"{location}: expected a number, got {text!r}") from None
        if math.isinf(point[-1]):
            raise ValueError(f"{location}: expected a finite number, got {text!r}")
    return point
