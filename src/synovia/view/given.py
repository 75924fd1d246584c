"""What requests give, checked: each must be of its kind, and what came instead is said."""

from __future__ import annotations

import math

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .messages import Request


def flag(asked: Request, name: str) -> bool:
    """Return what must be true or false."""
    value = asked[name]
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r:.60}")
    return value


def word(asked: Request, name: str) -> str:
    """Return what must be text."""
    value = asked[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {value!r:.60}")
    return value


def words(asked: Request, name: str) -> list[str]:
    """Return what must be a list of texts."""
    value = asked[name]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of names, got {value!r:.60}")
    return value


def degrees(asked: Request, name: str) -> float:
    """Return what must be a finite number of degrees."""
    value = asked[name]
    if not _is_number(value):
        raise ValueError(f"{name} must be a finite number of degrees, got {value!r:.60}")
    return float(value)


def row(asked: Request, name: str, count: int) -> Floats:
    """Return what must be so many finite numbers (count,)."""
    value = asked[name]
    if not _is_row(value, count):
        raise ValueError(f"{name} must be {count} finite numbers, got {value!r:.60}")
    return np.array(value, dtype=np.float64)


def vector(asked: Request, name: str) -> Vectors:
    """Return what must be three finite numbers."""
    return row(asked, name, 3)


def vectors(asked: Request, name: str, most: int) -> Vectors:
    """Return what must be one or more vectors, but not more than `most`: (n, 3)."""
    value = asked[name]
    fits = isinstance(value, list) and 1 <= len(value) <= most
    if not fits or not all(_is_row(each, 3) for each in value):
        raise ValueError(f"{name} must be 1 to {most} lists of 3 finite numbers, got {value!r:.60}")
    return np.array(value, dtype=np.float64)


def numbers(asked: Request, name: str) -> dict[str, float]:
    """Return what must be finite numbers by name."""
    value = asked[name]
    if not isinstance(value, dict) or not all(map(_is_number, value.values())):
        raise ValueError(f"{name} must be finite numbers by name, got {value!r:.60}")
    return {each: float(number) for each, number in value.items()}


def rotations(asked: Request, count: int) -> Quats:
    """Return what must be as many rotations (count, 4), of any length above 0."""
    value = asked["rotations"]
    if not _is_row(value, 4 * count):
        raise ValueError(f"rotations must be 4 finite numbers for each of {count} joints")
    turns = np.array(value, dtype=np.float64).reshape(count, 4)
    if not (np.linalg.norm(turns, axis=1) > 1e-6).all():
        raise ValueError("rotations must be longer than 0")
    return quat.normalize(turns)


def _is_row(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and abs(value) < 1e100
