"""Ellipsoid: smooth, with a radius along each of its axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np

from ..arrays import Floats, Points, check_orthonormal, own, principal_axes
from ..kernels.layout import ELLIPSOID
from .polytope import CYLINDER
from .region import THIN, Convex, check_margin, sample_points

NOISE = 1e-3  # thinner axes, as a share of the longest, are noise


@dataclass(frozen=True, eq=False)
class Ellipsoid(Convex):
    """All points whose coordinates along `axes` (orthonormal rows), over `radii`, are within 1.

    Examples
    --------
    >>> ball = Ellipsoid(center=[0, 0, 0], radii=[0.5, 0.5, 0.5], axes=np.eye(3))
    >>> round(float(ball.distance([0.0, 0.0, 0.7])), 6)
    0.2
    """

    center: Annotated[Floats, "d"]
    radii: Annotated[Floats, "d"]
    axes: Annotated[Floats, "d", "d"]

    name: ClassVar[str] = "ellipsoid"
    kernel: ClassVar[int | None] = ELLIPSOID

    def __post_init__(self) -> None:
        d = len(np.atleast_1d(self.center))
        if d not in (2, 3):
            raise ValueError(f"Ellipsoid.center must have 2 or 3 numbers, got {d}")
        own(self)
        if (self.radii < 0.0).any():
            raise ValueError(f"Ellipsoid.radii must be at least 0 radians, got {self.radii}")
        check_orthonormal("Ellipsoid.axes", self.axes)

    @classmethod
    def fit(cls, points: Points, *, margin: float = 0.0) -> Self:
        """Return an ellipsoid around `points`, every radius `margin` longer.

        It is about the mean, along the principal axes, in proportion to the farthest point along
        each.
        """
        points, margin = sample_points(points), check_margin(margin)
        center, axes = points.mean(axis=0), principal_axes(points)
        radii = np.abs((points - center) @ axes.T).max(axis=0)
        return cls(center, radii, axes)._around(points).grow(margin)

    def _around(self, points: Points) -> Self:
        """Return the least ellipsoid of these proportions around `points`.

        A hinge read from a file is thick by the rounding of its angles. Across such an axis the
        ellipsoid is made so much thicker that the noise counts for nothing along the others.
        """
        largest = self.radii.max()
        noise = (self.radii > THIN) & (self.radii < NOISE * largest)
        radii = np.where(noise, np.minimum(NOISE * largest, self.radii / NOISE), self.radii)
        coordinates = (points - self.center) @ self.axes.T
        level = np.linalg.norm(coordinates / np.where(radii > THIN, radii, np.inf), axis=1).max()
        return replace(self, radii=max(float(level), 1.0) * radii)

    @property
    def dimension(self) -> int:
        return len(self.center)

    @cached_property
    def packed(self) -> Floats:
        center, axes, radii = np.zeros(3), np.eye(3), np.full(3, CYLINDER)
        d = self.dimension
        center[:d], axes[:d, :d], radii[:d] = self.center, self.axes, self.radii
        return np.concatenate([[ELLIPSOID], center, axes.ravel(), radii])

    @property
    def bounds(self) -> Points:
        half = np.linalg.norm(self.axes * self.radii[:, None], axis=0)
        return np.stack([self.center - half, self.center + half])

    def reach(self, columns: tuple[int, ...]) -> float:
        spread = (self.axes * self.radii[:, None])[:, columns]
        return float(np.linalg.norm(self.center[list(columns)]) + np.linalg.norm(spread, 2))

    def turn(self, turn: Floats) -> Self:
        return replace(self, center=turn @ self.center, axes=self.axes @ turn.T)

    def grow(self, r: float) -> Self:
        """Return the ellipsoid with every radius `r` longer (which keeps it an ellipsoid)."""
        return replace(self, radii=self.radii + r)

    def shrink(self, r: float) -> Self:
        """Return the ellipsoid with every radius `r` shorter, at least 0."""
        return replace(self, radii=np.maximum(self.radii - r, 0.0))

    @property
    def deepest(self) -> Points:
        return self.center

    @property
    def measure(self) -> float:
        if self.radii.min() <= THIN:
            return 0.0
        return float(self.radii.prod() * (4.0 / 3.0 if self.dimension == 3 else 1.0) * np.pi)

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart; in its own dimensions where thin."""
        thick = self.radii > THIN
        ball = np.zeros((n, self.dimension))
        if thick.any():
            direction = rng.normal(size=(n, int(thick.sum())))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            ball[:, thick] = direction * rng.random((n, 1)) ** (1.0 / thick.sum())
        return (ball * self.radii) @ self.axes + self.center
