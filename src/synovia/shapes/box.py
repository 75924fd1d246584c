"""Box: an interval along each of three (or two) orthogonal axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, own
from .convex import Convex, Surface, check_margin, principal_axes, sample_points
from .hull import measure_of, scatter_in, surface_of

CYLINDER = 1e3  # half the height that stands for endless, where a shape of the plane runs in space


@dataclass(frozen=True, eq=False)
class Box(Convex):
    """All points with low <= axes · x <= high; `axes` are orthonormal rows."""

    low: Floats
    high: Floats
    axes: Floats

    name: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        d = len(np.atleast_1d(self.low))
        if d not in (2, 3):
            raise ValueError(f"Box.low must have 2 or 3 numbers, got {d}")
        own(self, low=(d,), high=(d,), axes=(d, d))
        if (self.low > self.high).any():
            raise ValueError(f"Box.low must not exceed Box.high, got {self.low} and {self.high}")
        if np.abs(self.axes @ self.axes.T - np.eye(d)).max() > 1e-9:
            raise ValueError(f"Box.axes must be orthonormal rows, got {self.axes.tolist()}")

    @classmethod
    def fit(
        cls, points: Points, *, margin: float = 0.0, along: Literal["data", "chart"] = "data"
    ) -> Self:
        """Return the box around `points`, `margin` wider, along the data's axes or the chart's."""
        points, margin = sample_points(points), check_margin(margin)
        axes = axes_along(points, along)
        coordinates = points @ axes.T
        return cls(coordinates.min(axis=0) - margin, coordinates.max(axis=0) + margin, axes)

    @property
    def dimension(self) -> int:
        return len(self.low)

    @cached_property
    def packed(self) -> Floats:
        axes, low, high = np.eye(3), np.full(3, -CYLINDER), np.full(3, CYLINDER)
        d = self.dimension
        axes[:d, :d], low[:d], high[:d] = self.axes, self.low, self.high
        return np.concatenate([[0.0], axes.ravel(), low, high])

    @cached_property
    def corners(self) -> Points:
        """The (2ᵈ, d) corners."""
        ends = np.stack([self.low, self.high])
        picks = np.array(list(product((0, 1), repeat=self.dimension)))
        return np.asarray(ends[picks, np.arange(self.dimension)] @ self.axes)

    @property
    def bounds(self) -> Points:
        """The least and greatest coordinates in the chart: (2, d)."""
        return np.stack([self.corners.min(axis=0), self.corners.max(axis=0)])

    def reach(self, columns: tuple[int, ...]) -> float:
        """Return how far members are from the origin at most, in these coordinates alone."""
        return float(np.linalg.norm(self.corners[:, columns], axis=1).max())

    def facing(self, points: Points) -> Points:
        """Return the outward normal of the nearest face."""
        coordinates = points @ self.axes.T
        depth = np.concatenate([coordinates - self.high, self.low - coordinates], axis=-1)
        return np.asarray(np.concatenate([self.axes, -self.axes])[depth.argmax(axis=-1)])

    def grow(self, r: float) -> Self:
        """Return the box with every face moved outwards by `r` radians."""
        return replace(self, low=self.low - r, high=self.high + r)

    def shrink(self, r: float) -> Self:
        """Return the box with every face moved inwards by `r`, or to the middle if that is less."""
        step = np.minimum(r, 0.5 * (self.high - self.low))
        return replace(
            self, low=self.low + step, high=np.maximum(self.high - step, self.low + step)
        )

    def surface(self, detail: int = 2) -> Surface:
        """Return the faces as triangles; they are flat, so `detail` changes nothing."""
        return surface_of(self.corners)

    @property
    def measure(self) -> float:
        """The volume in the chart, 0 if thin."""
        return measure_of(self.corners)

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart."""
        return scatter_in(self.corners, n, rng)


def axes_along(points: Points, along: str) -> Floats:
    """Return the axes (rows) that a fit uses: the data's principal ones, or the chart's own."""
    if along == "data":
        return principal_axes(points)
    if along == "chart":
        return np.eye(points.shape[1])
    raise ValueError(f"along must be 'data' or 'chart', got {along!r}")
