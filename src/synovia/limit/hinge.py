"""Hinges: the axis and range of limits that let a joint rotate about one axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Mask, Quats, Scalars, Vectors
from .dependent import DependentLimit, DependentRange
from .limit import Limit

SAMPLES = 64
MAX_SHARE = 0.25  # largest range about other axes, as a share of that about the main axis
SLACK = np.radians(0.5)  # largest violation of the path, whose axis is estimated from samples
STEP = np.radians(0.5)
CLOSE = np.radians(0.01)  # radians; corrections below count as legal
STEPS = 721  # angles at which the coordinate along a range is computed; linear between them


@dataclass(frozen=True, eq=False)
class HingePath:
    """Rotations about an axis in the parent's frame; angles in radians, from `base`."""

    base: Quats
    axis: Vectors
    low: float
    high: float

    def at(self, angles: Scalars | float) -> Quats:
        """Return the rotations (..., 4) at angles (...)."""
        turn = quat.exp(np.asarray(angles, dtype=float)[..., None] * self.axis)
        return quat.mul(turn, self.base)


@lru_cache(maxsize=256)
def hinge_path(limit: Limit) -> HingePath | None:
    """Return the axis about which a limit lets a joint rotate, and the range from its reference.

    None if it is no hinge, or if the joint is measured from an ancestor.
    """
    if limit.relative_to is not None:
        return None
    some = limit.sample(SAMPLES, np.random.default_rng(0))
    middle = np.linalg.eigh(np.einsum("ni,nj->ij", some, some))[1][:, -1]
    turns = quat.log(quat.mul(quat.inverse(middle), some))
    _, sizes, axes = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)
    if not sizes[1] < MAX_SHARE * sizes[0]:
        return None
    axis = quat.rotate(middle, axes[0])
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    # Angles count from where the path comes nearest to the reference.
    off = quat.mul(middle, quat.inverse(limit.chart.reference))
    start = 2.0 * np.arctan2(float(off[1:] @ axis), float(off[0]))
    start = (start + np.pi) % TURN - np.pi
    path = HingePath(quat.mul(quat.exp(-start * axis), middle), axis, start, start)
    return _extend(limit, path)


def _extend(limit: Limit, path: HingePath) -> HingePath | None:
    """Return the path as far as it is legal, in both directions from its start."""
    angles = np.arange(-np.pi, np.pi + 0.5 * STEP, STEP)
    correction = limit.correction(path.at(angles))
    start = int(np.abs(angles - path.low).argmin())
    if correction[start] > SLACK:
        return None
    low, high = _run_around(correction <= SLACK, start)
    if correction[start] <= CLOSE:  # exact ends, unless the path leaves the region between them
        first, last = _run_around(correction <= CLOSE, start)
        if (last - first) >= 0.9 * (high - low):
            below = _end(limit, path, float(angles[first]), -1)
            return replace(path, low=below, high=_end(limit, path, float(angles[last]), 1))
    return replace(path, low=float(angles[low]), high=float(angles[high]))


def _end(limit: Limit, path: HingePath, inside: float, side: int) -> float:
    """Return the angle within a step on one `side` (±1) at which the path leaves the limit."""
    if abs(inside) >= np.pi - STEP:
        return inside
    outside = inside + side * STEP
    for _ in range(12):
        half = 0.5 * (inside + outside)
        legal = limit.correction(path.at(half)) <= 1e-6
        inside, outside = (half, outside) if legal else (inside, half)
    return float(inside)


def _run_around(mask: Mask, index: int) -> tuple[int, int]:
    """Return the first and last index of the run of True around `index`."""
    false = np.flatnonzero(~mask)
    before, after = false[false < index], false[false > index]
    return int(before.max(initial=-1)) + 1, int(after.min(initial=len(mask))) - 1


@dataclass(frozen=True, eq=False)
class HingeScale:
    """Angles of a hinge from its reference, and the coordinates along a range; both rise."""

    angles: Scalars
    along: Scalars
    falls: bool
    """True if coordinates fall while angles rise; `along` are then negated."""

    def angles_at(self, ends: Floats) -> Floats:
        """Return the angles (..., 2) at the two ends of ranges, the lower first."""
        rising = -ends[..., ::-1] if self.falls else ends
        return np.asarray(np.interp(rising, self.along, self.angles))

    def place_of(self, angle: float) -> float:
        """Return the coordinate along the range at an angle."""
        along = float(np.interp(angle, self.angles, self.along))
        return -along if self.falls else along


@lru_cache(maxsize=64)
def hinge_scale(dependent: DependentLimit) -> HingeScale | None:
    """Return the angles of a hinge along the range that depends on another joint.

    None if it is no hinge, or if its range is not along the path of its rotations.
    """
    limit, path = dependent.limit, hinge_path(dependent.limit)
    if path is None or not isinstance(dependent, DependentRange):
        return None
    middle = 0.5 * (path.low + path.high)
    angles = middle + np.linspace(-np.pi, np.pi, STEPS)
    rotations, half = path.at(angles), STEPS // 2
    unrolled = limit.chart.follow(limit.chart.points(rotations)) @ dependent.along
    along = unrolled + (limit.nearest_cover(rotations[half]) @ dependent.along - unrolled[half])
    falls = bool(along[half + 1] < along[half])
    along = -along if falls else along
    rises = np.diff(along) > 0.25 * np.diff(angles)
    first, last = _run_around(rises, half)
    angles, along = angles[first : last + 2], along[first : last + 2]
    if not rises[half] or angles[0] > path.low or angles[-1] < path.high:
        return None
    return HingeScale(angles, along, falls)
