"""What shapes with flat faces share: an interval along each of some axes, and corners."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Self

import numpy as np

from ..arrays import Floats, Points
from .convex import Convex
from .hull import measure_of, scatter_in, surface_of
from .region import Surface


class Polytope(Convex):
    """All points with low <= axes · x <= high; a shape gives these three and its `corners`."""

    axes: Floats
    low: Floats
    high: Floats

    @property
    @abstractmethod
    def corners(self) -> Points:
        """The (v, d) corners."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of the shape's points."""
        return int(self.axes.shape[1])

    @property
    def bounds(self) -> Points:
        """The least and greatest coordinates in the chart: (2, d)."""
        return np.stack([self.corners.min(axis=0), self.corners.max(axis=0)])

    def reach(self, columns: tuple[int, ...]) -> float:
        """Return how far members are from the origin at most, in these coordinates alone."""
        return float(np.linalg.norm(self.corners[:, columns], axis=1).max())

    def facing(self, points: Points) -> Points:
        """Return the outward normal of the nearest face."""
        along = points @ self.axes.T
        depth = np.concatenate([along - self.high, self.low - along], axis=-1)
        return np.asarray(np.concatenate([self.axes, -self.axes])[depth.argmax(axis=-1)])

    def grow(self, r: float) -> Self:
        """Return the shape with every face moved outwards by `r` radians."""
        return replace(self, low=self.low - r, high=self.high + r)  # type: ignore[type-var]

    def shrink(self, r: float) -> Self:
        """Return the shape with every face moved in by `r`, or to the mean of the corners."""
        middle = self.axes @ self.corners.mean(axis=0)
        low = np.minimum(self.low + r, np.maximum(middle, self.low))
        high = np.maximum(self.high - r, np.minimum(middle, self.high))
        return replace(self, low=low, high=np.maximum(low, high))  # type: ignore[type-var]

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
