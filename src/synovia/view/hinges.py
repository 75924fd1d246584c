"""Hinges: limits that let a joint turn about one axis, the range about it, and its two ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Mask, Quats, Scalars, Vectors
from ..limit import Limit
from .protocol import Hinge

SAMPLES = 64
SHARE = 0.25
"""A joint is a hinge where it turns about other axes less than this share of its main one."""
SLACK = np.radians(0.5)
"""By which the path about the axis may be outside: the axis is that of samples."""
STEP = np.radians(0.5)
CLOSE = np.radians(0.01)
NARROWEST = np.radians(1.0)
"""A hinge that turns less is none any more."""


@dataclass(frozen=True, eq=False)
class Path:
    """Rotations about an axis, which is in the parent's frame; angles are from `base`."""

    base: Quats
    axis: Vectors
    low: float
    high: float

    def at(self, angles: Scalars | float) -> Quats:
        """Return the rotations at some angles."""
        turn = quat.exp(np.asarray(angles, dtype=float)[..., None] * self.axis)
        return quat.mul(turn, self.base)


@lru_cache(maxsize=256)
def hinge_path(limit: Limit) -> Path | None:
    """Return the one axis that a limit lets a joint turn about, and how far from its reference.

    None where it is no hinge. Joints that are measured from an ancestor have none.
    """
    if limit.relative_to is not None:
        return None
    some = limit.sample(SAMPLES, np.random.default_rng(0))
    middle = np.linalg.eigh(np.einsum("ni,nj->ij", some, some))[1][:, -1]
    turns = quat.log(quat.mul(quat.inverse(middle), some))
    _, sizes, axes = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)
    if not sizes[1] < SHARE * sizes[0]:
        return None
    axis = quat.rotate(middle, axes[0])
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    # Angles count from where the path comes nearest to the reference.
    off = quat.mul(middle, quat.inverse(limit.chart.reference))
    start = 2.0 * np.arctan2(float(off[1:] @ axis), float(off[0]))
    start = (start + np.pi) % (2.0 * np.pi) - np.pi
    path = Path(quat.mul(quat.exp(-start * axis), middle), axis, start, start)
    return _extend(limit, path)


def _extend(limit: Limit, path: Path) -> Path | None:
    """Return the path as far as it is legal, both ways from where it starts."""
    angles = np.arange(-np.pi, np.pi + 0.5 * STEP, STEP)
    violation = limit.violation(path.at(angles))
    here = int(np.abs(angles - path.low).argmin())
    loose = violation <= SLACK
    if not loose[here]:
        return None
    low, high = _run_around(loose, here)
    exact = violation <= CLOSE
    if exact[here]:  # the ends are where they are, unless the path leaves the region on its way
        first, last = _run_around(exact, here)
        if (last - first) >= 0.9 * (high - low):
            return replace(
                path,
                low=_end(limit, path, angles[first], angles[first] - STEP),
                high=_end(limit, path, angles[last], angles[last] + STEP),
            )
    return replace(path, low=float(angles[low]), high=float(angles[high]))


def _end(limit: Limit, path: Path, inside: float, outside: float) -> float:
    """Return the angle between two at which the path leaves the limit."""
    if abs(inside) >= np.pi - STEP:
        return float(inside)
    for _ in range(12):
        half = 0.5 * (inside + outside)
        if limit.violation(path.at(half)) <= 1e-6:
            inside = half
        else:
            outside = half
    return float(inside)


def _run_around(true: Mask, place: int) -> tuple[int, int]:
    """Return the first and the last of those around a place that are all true."""
    false = np.flatnonzero(~true)
    before, after = false[false < place], false[false > place]
    return int(before.max(initial=-1)) + 1, int(after.min(initial=len(true))) - 1


def hinge_of(limit: Limit, bone: tuple[float, ...]) -> Hinge | None:
    """Return the hinge of a limit as the page draws it, for a bone; None where it is none."""
    path = hinge_path(limit)
    if path is None:
        return None
    return {
        "axis": path.axis.tolist(),
        "zero": _across(quat.rotate(path.base, np.array(bone)), path.axis).tolist(),
        "lowDeg": float(np.degrees(path.low)),
        "highDeg": float(np.degrees(path.high)),
    }


def _across(direction: Vectors, axis: Vectors) -> Vectors:
    """Return the unit part of a direction across an axis; any, where it has none."""
    part = direction - (direction @ axis) * axis
    if np.linalg.norm(part) < 0.2:
        part = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    return np.asarray(part / np.linalg.norm(part))


def move_end(limit: Limit, angle: float, *, high: bool) -> Limit | None:
    """Return the limit of a hinge with one end at an angle from its reference, in radians.

    Outwards the shape takes the rotation there in, as it takes samples; inwards one of the numbers
    of its widest range moves. None where no number does that.
    """
    path = hinge_path(limit)
    if path is None:
        raise ValueError("this joint is no hinge: it turns about more than one axis")
    low_end, high_end = (path.low, angle) if high else (angle, path.high)
    if high_end - low_end < NARROWEST:
        ends_deg = np.degrees([low_end, high_end])
        raise ValueError(
            f"a range must not end before it starts: {ends_deg[0]:.6g} to {ends_deg[1]:.6g} degrees"
        )
    way = 1.0 if high else -1.0
    if way * (angle - (path.high if high else path.low)) > 0.0:
        return replace(limit, shape=limit.shape.add(limit.nearest_cover(path.at(angle))[None]))
    return _pull_in(limit, path, angle, way)


def _pull_in(limit: Limit, path: Path, angle: float, way: float) -> Limit | None:
    """Return the limit with the number changed whose range then ends at an angle of the path."""
    rows: dict[str, dict[str, float]] = {}
    numbers = limit.shape.numbers(limit.chart.coordinates)
    for number in numbers:
        rows.setdefault(number.row, {})[number.column] = number.value
    ranges = {name: ends for name, ends in rows.items() if ends.keys() >= {"from", "to"}}
    if not ranges:
        return None
    widest = max(ranges, key=lambda name: ranges[name]["to"] - ranges[name]["from"])
    target, inner = path.at(angle), path.at(angle - way * 0.5 * NARROWEST)
    for number in numbers:
        if number.row != widest or number.column not in ("from", "to"):
            continue
        keeps, cuts = number.value, sum(ranges[widest].values()) - number.value
        for _ in range(40):
            half = 0.5 * (keeps + cuts)
            tried = replace(limit, shape=limit.shape.with_number(number.field, number.index, half))
            keeps, cuts = (half, cuts) if tried.contains(target) else (keeps, half)
        made = replace(limit, shape=limit.shape.with_number(number.field, number.index, keeps))
        beyond = path.at(angle + way * 0.5 * NARROWEST)
        if made.contains(inner) and not made.contains(beyond):
            return made
    return None
