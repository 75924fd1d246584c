"""Hinges: limits that let a joint turn about one axis, how far, and that in their chart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Scalars, Vectors
from .dependent import DependentLimit
from .limit import Limit

SAMPLES = 64
SHARE = 0.25
"""A joint is a hinge where it turns about other axes less than this share of its main one."""
SLACK = np.radians(0.5)
"""By which the path about the axis may be outside: the axis is that of samples."""
STEP = np.radians(0.5)
CLOSE = np.radians(0.01)
STEPS = 721
"""Angles of a hinge whose place in the limit's chart is known; others are between them."""


@dataclass(frozen=True, eq=False)
class HingePath:
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
def hinge_path(limit: Limit) -> HingePath | None:
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
    path = HingePath(quat.mul(quat.exp(-start * axis), middle), axis, start, start)
    return _extend(limit, path)


def _extend(limit: Limit, path: HingePath) -> HingePath | None:
    """Return the path as far as it is legal, both ways from where it starts."""
    angles = np.arange(-np.pi, np.pi + 0.5 * STEP, STEP)
    correction = limit.correction(path.at(angles))
    here = int(np.abs(angles - path.low).argmin())
    loose = correction <= SLACK
    if not loose[here]:
        return None
    low, high = _run_around(loose, here)
    exact = correction <= CLOSE
    if exact[here]:  # the ends are where they are, unless the path leaves the region on its way
        first, last = _run_around(exact, here)
        if (last - first) >= 0.9 * (high - low):
            return replace(
                path,
                low=_end(limit, path, angles[first], angles[first] - STEP),
                high=_end(limit, path, angles[last], angles[last] + STEP),
            )
    return replace(path, low=float(angles[low]), high=float(angles[high]))


def _end(limit: Limit, path: HingePath, inside: float, outside: float) -> float:
    """Return the angle between two at which the path leaves the limit."""
    if abs(inside) >= np.pi - STEP:
        return float(inside)
    for _ in range(12):
        half = 0.5 * (inside + outside)
        if limit.correction(path.at(half)) <= 1e-6:
            inside = half
        else:
            outside = half
    return float(inside)


def _run_around(true: Mask, place: int) -> tuple[int, int]:
    """Return the first and the last of those around a place that are all true."""
    false = np.flatnonzero(~true)
    before, after = false[false < place], false[false > place]
    return int(before.max(initial=-1)) + 1, int(after.min(initial=len(true))) - 1


# Where angles of a hinge are in the limit's chart, in which ranges that depend on a driver are.


@dataclass(frozen=True, eq=False)
class HingeScale:
    """Angles of a hinge from its reference, and where these are along a range, both rising."""

    angles: Scalars
    along: Scalars
    falls: bool
    """Whether the range runs the other way than angles do."""

    def angles_at(self, ends: Floats) -> Floats:
        """Return the angles (..., 2) at the two ends of ranges, the lower first."""
        rising = -ends[..., ::-1] if self.falls else ends
        return np.asarray(np.interp(rising, self.along, self.angles))

    def place_of(self, angle: float) -> float:
        """Return where along the range an angle is."""
        place = float(np.interp(angle, self.angles, self.along))
        return -place if self.falls else place


def hinge_scale(each: DependentLimit) -> HingeScale | None:
    """Return how the angles of a hinge whose ends depend on another joint are in their range.

    None where it is no hinge, or its range is not along the way that it turns.
    """
    along = each.range_along
    return None if along is None else _scale(each.limit, tuple(along.tolist()))


@lru_cache(maxsize=64)
def _scale(limit: Limit, along: tuple[float, ...]) -> HingeScale | None:
    path = hinge_path(limit)
    if path is None:
        return None
    middle = 0.5 * (path.low + path.high)
    angles = middle + np.linspace(-np.pi, np.pi, STEPS)
    rotations, half = path.at(angles), STEPS // 2
    unrolled = limit.chart.follow(limit.chart.points(rotations)) @ np.array(along)
    places = unrolled + (limit.nearest_cover(rotations[half]) @ np.array(along) - unrolled[half])
    falls = bool(places[half + 1] < places[half])
    rises = np.diff(-places if falls else places) > 0.25 * np.diff(angles)
    stops = np.flatnonzero(~rises)
    first = int(stops[stops < half].max(initial=-1)) + 1
    last = int(stops[stops >= half].min(initial=STEPS - 1))
    angles, places = angles[first : last + 1], places[first : last + 1]
    if len(angles) < 2 or angles[0] > path.low or angles[-1] < path.high:
        return None
    return HingeScale(angles, -places if falls else places, falls)
