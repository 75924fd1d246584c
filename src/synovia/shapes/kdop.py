"""KDop: an interval along each of many axes, so a polytope with faces where the axes point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, own, rows
from .box import axes_along
from .convex import Convex, Surface, check_margin, sample_points
from .hull import corners_of, measure_of, scatter_in, surface_of

FACES = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
CORNERS = [(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)]
EDGES = [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]


def _eight_in_the_plane() -> Floats:
    angle = np.arange(8) * np.pi / 8.0
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


@dataclass(frozen=True, eq=False)
class KDop(Convex):
    """All points with low <= axes · x <= high; `axes` are unit rows that span the space."""

    axes: Floats
    low: Floats
    high: Floats

    name: ClassVar[str] = "kdop"

    def __post_init__(self) -> None:
        own(self, axes=(None, None), low=(None,), high=(None,))
        k, d = self.axes.shape
        if d not in (2, 3):
            raise ValueError(f"KDop.axes must have shape (k, 2) or (k, 3), got {self.axes.shape}")
        own(self, low=(k,), high=(k,))
        if np.abs(np.linalg.norm(self.axes, axis=1) - 1.0).max(initial=0.0) > 1e-9:
            raise ValueError(f"KDop.axes must be unit rows, got {self.axes.tolist()}")
        if np.linalg.matrix_rank(self.axes) < d:
            raise ValueError(f"KDop.axes must span {d} dimensions, got {self.axes.tolist()}")
        if (self.low > self.high).any():
            raise ValueError(f"KDop.low must not exceed KDop.high, got {self.low} and {self.high}")
        middle = np.linalg.lstsq(self.axes, 0.5 * (self.low + self.high), rcond=None)[0]
        along = self.axes @ self._nearest(middle)[0]
        if not max((self.low - along).max(), (along - self.high).max()) <= 1e-10:
            raise ValueError("KDop is empty: no point is within all of its intervals")

    @classmethod
    def fit(
        cls,
        points: Points,
        *,
        margin: float = 0.0,
        along: Literal["data", "chart"] = "data",
        axes: Floats | None = None,
    ) -> Self:
        """Return the polytope around `points`, every face `margin` farther out.

        `axes` (k, d) are taken in the frame of the data or of the chart: by default faces,
        corners and edges of a cube, 13 in all (in the plane, 8).
        """
        points, margin = sample_points(points), check_margin(margin)
        d = points.shape[1]
        if axes is None:
            axes = np.array(FACES + CORNERS + EDGES, float) if d == 3 else _eight_in_the_plane()
        axes = rows("axes", axes, d)
        length = np.linalg.norm(axes, axis=-1, keepdims=True)
        if axes.ndim != 2 or not (length > 0.0).all():
            raise ValueError(f"axes must be (k, {d}) rows that are not zero, got {axes.tolist()}")
        axes = (axes / length) @ axes_along(points, along)
        coordinates = points @ axes.T
        return cls(axes, coordinates.min(axis=0) - margin, coordinates.max(axis=0) + margin)

    @property
    def dimension(self) -> int:
        return int(self.axes.shape[1])

    @cached_property
    def packed(self) -> Floats:
        axes = np.zeros((len(self.axes), 3))
        axes[:, : self.dimension] = self.axes
        return np.concatenate([[2.0, len(axes)], axes.ravel(), self.low, self.high])

    @cached_property
    def corners(self) -> Points:
        """The (v, d) vertices."""
        corners = corners_of(self.axes, self.low, self.high)
        if len(corners) == 0:
            raise ValueError("KDop.axes are too nearly parallel to have corners")
        return corners

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
        """Return the polytope with every face moved outwards by `r` radians."""
        return replace(self, low=self.low - r, high=self.high + r)

    def shrink(self, r: float) -> Self:
        """Return the polytope with every face moved in by `r`, or to the mean of the corners."""
        depth = self.axes @ self.corners.mean(axis=0)
        low = np.minimum(self.low + r, np.maximum(depth, self.low))
        high = np.maximum(self.high - r, np.minimum(depth, self.high))
        return replace(self, low=low, high=high)

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
