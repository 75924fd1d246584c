"""What else people use for limits: simple regions, each with one knob from tight to wide.

A baseline is fitted once; `required_knob` then gives, for each rotation, the knob from which it is
accepted, so one pass gives the whole curve of rejection against volume. They are fitted to all
frames but capture flips: nobody is asked to confirm anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors, own
from ..charts import DirectionTwist
from ..learn import thin
from ..shapes.reach_cone.star import tangent_basis

MIN_SPREAD = 1e-6
"""The least spread, in radians, that a region is scaled by."""
TAILS = (0.005, 0.995)
"""The quantiles that ranges of angles are taken from."""
SECTORS = 36
"""Corners of a star polygon."""


class Baseline(Protocol):
    """A region that grows with its knob."""

    name: ClassVar[str]

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        """Return the region of `rotations` (n, 4) of a bone along `axis` in its own frame."""

    def required_knob(self, rotations: Quats) -> Scalars:
        """Return the least knob (...) at which each rotation is accepted."""


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
        reference = quat.mean(rotations)
        return cls(reference, *np.quantile(cls._angles(reference, rotations), TAILS, axis=0))

    @classmethod
    def _angles(cls, reference: Quats, rotations: Quats) -> Floats:
        return quat.to_euler(quat.mul(quat.inverse(reference), rotations), cls.order)

    def required_knob(self, rotations: Quats) -> Scalars:
        angles = self._angles(self.reference, rotations)
        return np.asarray(_beyond(angles, self.low, self.high).max(axis=-1))


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
        chart = DirectionTwist(quat.mean(rotations), axis)
        angle, _, twist = _polar(chart, rotations)
        return cls(chart, float(np.quantile(angle, TAILS[1])), np.quantile(twist, TAILS))

    def required_knob(self, rotations: Quats) -> Scalars:
        angle, _, twist = _polar(self.chart, rotations)
        return np.asarray(np.maximum(angle - self.angle, _beyond(twist, *self.twist)))


@dataclass(frozen=True, eq=False)
class Gaussian:
    """An ellipsoid of rotation vectors from the mean, as their spread is; the knob scales it."""

    reference: Quats
    center: Floats
    whitening: Floats
    name: ClassVar[str] = "ellipsoid of spread"

    def __post_init__(self) -> None:
        own(self, reference=(4,), center=(3,), whitening=(3, 3))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        reference = quat.mean(rotations)
        vectors = _vectors(reference, rotations)
        spread, axes = np.linalg.eigh(np.cov(vectors.T, bias=True))
        return cls(
            reference, vectors.mean(axis=0), axes / np.sqrt(np.maximum(spread, MIN_SPREAD**2))
        )

    def required_knob(self, rotations: Quats) -> Scalars:
        vectors = _vectors(self.reference, rotations) - self.center
        return np.asarray(np.linalg.norm(vectors @ self.whitening, axis=-1))


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of all rotation vectors from the mean; its faces move by the knob."""

    reference: Quats
    normals: Floats
    offsets: Floats
    name: ClassVar[str] = "hull, untrimmed"

    def __post_init__(self) -> None:
        own(self, reference=(4,), normals=(None, 3), offsets=(None,))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        from scipy.spatial import ConvexHull

        reference = quat.mean(rotations)
        # Thin data, as a hinge's, has no hull: a little cube about each sample gives it one.
        corners = np.stack(np.meshgrid(*[[-MIN_SPREAD, MIN_SPREAD]] * 3), axis=-1).reshape(-1, 3)
        vectors = _vectors(reference, rotations)
        vectors = vectors[thin(vectors, cell=1e-3)]
        hull = ConvexHull((vectors[:, None] + corners).reshape(-1, 3))
        faces = np.unique(hull.equations.round(12), axis=0)
        return cls(reference, faces[:, :3], faces[:, 3])

    def required_knob(self, rotations: Quats) -> Scalars:
        vectors = _vectors(self.reference, rotations)
        flat = vectors.reshape(-1, 3)
        blocks = [flat[k : k + 4096] for k in range(0, len(flat), 4096)]
        over = [(block @ self.normals.T + self.offsets).max(axis=1) for block in blocks]
        return np.concatenate([np.empty(0), *over]).reshape(vectors.shape[:-1])


@dataclass(frozen=True, eq=False)
class NearestFrame:
    """All rotations near some frame; the knob is how near, in radians."""

    frames: Quats
    name: ClassVar[str] = "nearest frame"

    def __post_init__(self) -> None:
        own(self, frames=(None, 4))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        return cls(rotations[thin(quat.log(rotations), cell=0.01)])

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(np.concatenate([self.frames, -self.frames]))

    def required_knob(self, rotations: Quats) -> Scalars:
        chord, _ = self._tree.query(rotations)
        return np.asarray(4.0 * np.arcsin(np.minimum(0.5 * chord, 1.0)))


@dataclass(frozen=True, eq=False)
class StarPolygon:
    """A reach for each way the bone can swing, and one range of twist; the knob is a margin."""

    chart: DirectionTwist
    reach: Floats
    twist: Floats
    name: ClassVar[str] = "star polygon + twist"

    def __post_init__(self) -> None:
        own(self, reach=(SECTORS,), twist=(2,))

    @classmethod
    def fit(cls, rotations: Quats, axis: Vectors) -> Self:
        chart = DirectionTwist(quat.mean(rotations), axis)
        angle, azimuth, twist = _polar(chart, rotations)
        sector = np.minimum((azimuth * SECTORS / (2.0 * np.pi)).astype(int), SECTORS - 1)
        reach = np.array(
            [np.quantile(np.append(angle[sector == k], 0.0), TAILS[1]) for k in range(SECTORS)]
        )
        return cls(chart, reach, np.quantile(twist, TAILS))

    def required_knob(self, rotations: Quats) -> Scalars:
        angle, azimuth, twist = _polar(self.chart, rotations)
        middles = (np.arange(SECTORS) + 0.5) * (2.0 * np.pi / SECTORS)
        reach = np.interp(azimuth, middles, self.reach, period=2.0 * np.pi)
        return np.asarray(np.maximum(angle - reach, _beyond(twist, *self.twist)))


BASELINES: tuple[type[Baseline], ...] = (
    EulerBox,
    RoundCone,
    Gaussian,
    Hull,
    NearestFrame,
    StarPolygon,
)
"""Every baseline."""


def _vectors(reference: Quats, rotations: Quats) -> Floats:
    return quat.log(quat.mul(quat.inverse(reference), rotations))


def _polar(chart: DirectionTwist, rotations: Quats) -> tuple[Scalars, Scalars, Scalars]:
    """Return how far the bone swings, which way (0 to 2π about its axis), and its twist."""
    points = chart.points(rotations)
    swing = quat.log(quat.between(chart.axis, points[..., :3]))
    first, second = tangent_basis(chart.axis)
    azimuth = np.arctan2(swing @ second, swing @ first)
    return np.linalg.norm(swing, axis=-1), np.mod(azimuth, 2.0 * np.pi), points[..., 3]


def _beyond(values: Floats, low: Any, high: Any) -> Floats:
    """Return by how much values are outside a range; below 0 inside."""
    return np.asarray(np.maximum(low - values, values - high))
