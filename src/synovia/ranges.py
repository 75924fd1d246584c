"""Ranges: of Euler angles, or of a round cone and twist, and how far rotations are beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from . import quat
from .arrays import Floats, Quats, Scalars, Vectors, own
from .charts import DirectionTwist
from .shapes.cone_star import across

TAILS = (0.005, 0.995)
"""The quantiles that ranges of angles are taken from."""


@dataclass(frozen=True, eq=False)
class EulerBox:
    """A range for each Euler angle from the mean; the knob is a margin in radians."""

    reference: Quats
    low: Floats
    high: Floats
    name: ClassVar[str] = "Euler box"
    order: ClassVar[str] = "ZYX"

    def __post_init__(self) -> None:
        own(self, reference=(4,), low=(3,), high=(3,))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        """Return the ranges of all `rotations` (n, 4); they are the same about any axis."""
        return cls.of_people([rotations], 0)

    @classmethod
    def of_people(cls, people: Sequence[Quats], spared: int) -> Self:
        """Return the ranges of several people, without the `spared` most extreme at each end."""
        reference = quat.mean(np.concatenate(people))
        ends = [np.quantile(cls._angles(reference, own), TAILS, axis=0) for own in people]
        return cls(reference, *_spared(np.array(ends), spared))

    @classmethod
    def _angles(cls, reference: Quats, rotations: Quats) -> Floats:
        return quat.to_euler(quat.mul(quat.inverse(reference), rotations), cls.order)

    def needed(self, rotations: Quats) -> Scalars:
        """Return how far each rotation is beyond a range, in radians; below 0 inside."""
        angles = self._angles(self.reference, rotations)
        return np.asarray(beyond(angles, self.low, self.high).max(axis=-1))


@dataclass(frozen=True, eq=False)
class RoundCone:
    """A cone about the mean direction, and a range of twist; the knob is a margin in radians."""

    chart: DirectionTwist
    angle: float
    twist: Floats
    name: ClassVar[str] = "round cone + twist"

    def __post_init__(self) -> None:
        own(self, twist=(2,))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        """Return the cone and range of all `rotations` (n, 4) of a bone along `axis`."""
        return cls.of_people([rotations], axis, 0)

    @classmethod
    def of_people(cls, people: Sequence[Quats], axis: Vectors, spared: int) -> Self:
        """Return the cone and range of several people, without the `spared` most extreme."""
        chart = DirectionTwist(quat.mean(np.concatenate(people)), axis)
        polars = [polar(chart, own) for own in people]
        angles = np.array([[0.0, np.quantile(angle, TAILS[1])] for angle, _, _ in polars])
        twists = np.array([np.quantile(twist, TAILS) for _, _, twist in polars])
        return cls(chart, float(_spared(angles, spared)[1]), _spared(twists, spared))

    def needed(self, rotations: Quats) -> Scalars:
        """Return how far each rotation is beyond cone or range, in radians; below 0 inside."""
        angle, _, twist = polar(self.chart, rotations)
        return np.asarray(np.maximum(angle - self.angle, beyond(twist, *self.twist)))


def polar(chart: DirectionTwist, rotations: Quats) -> tuple[Scalars, Scalars, Scalars]:
    """Return how far the bone swings, which way (0 to 2π about its axis), and its twist."""
    points = chart.points(rotations)
    swing = quat.log(quat.between(chart.axis, points[..., :3]))
    first, second = across(chart.axis)
    azimuth = np.arctan2(swing @ second, swing @ first)
    return np.linalg.norm(swing, axis=-1), np.mod(azimuth, 2.0 * np.pi), points[..., 3]


def beyond(values: Floats, low: Any, high: Any) -> Floats:
    """Return by how much values are outside a range; below 0 inside."""
    return np.asarray(np.maximum(low - values, values - high))


def _spared(ends: Floats, spared: int) -> Floats:
    """Return the ends (2, ...) of ranges (people, 2, ...), the most extreme people aside."""
    spared = min(spared, (len(ends) - 1) // 2)
    ordered = np.sort(ends, axis=0)
    return np.stack([ordered[spared, 0], ordered[len(ends) - 1 - spared, 1]])
