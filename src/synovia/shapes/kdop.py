"""KDop: an interval along each of many axes, so a polytope with faces where the axes point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, own, rows
from ..kernels.layout import KDOP, MAX_AXES
from .box import axes_along
from .convex import Polytope, corners_of
from .region import check_margin, sample_points

FACES = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
CORNERS = [(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)]
EDGES = [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]


@dataclass(frozen=True, eq=False)
class KDop(Polytope):
    """All points with low <= axes · x <= high; `axes` are unit rows that span the space."""

    axes: Annotated[Floats, "k", "d"]
    low: Annotated[Floats, "k"]
    high: Annotated[Floats, "k"]

    name: ClassVar[str] = "kdop"
    kernel: ClassVar[int | None] = KDOP

    def __post_init__(self) -> None:
        own(self)
        k, d = self.axes.shape
        if d not in (2, 3):
            raise ValueError(f"KDop.axes must have shape (k, 2) or (k, 3), got {self.axes.shape}")
        if k > MAX_AXES:
            raise ValueError(f"KDop.axes must be at most {MAX_AXES}, got {k}")
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

        Examples
        --------
        >>> corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
        >>> tetrahedron = KDop.fit(corners, along="chart")
        >>> bool(tetrahedron.contains([0.9, 0.9, 0.9]))  # in their box, but far from all of them
        False
        """
        points, margin = sample_points(points), check_margin(margin)
        d = points.shape[1]
        if axes is None:
            angle = np.arange(8) * np.pi / 8.0
            plane = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            axes = np.array(FACES + CORNERS + EDGES, float) if d == 3 else plane
        axes = rows("axes", axes, d)
        length = np.linalg.norm(axes, axis=-1, keepdims=True)
        if axes.ndim != 2 or not (length > 0.0).all():
            raise ValueError(f"axes must be (k, {d}) rows that are not zero, got {axes.tolist()}")
        axes = (axes / length) @ axes_along(points, along)
        coordinates = points @ axes.T
        return cls(axes, coordinates.min(axis=0) - margin, coordinates.max(axis=0) + margin)

    @cached_property
    def packed(self) -> Floats:
        axes = np.zeros((len(self.axes), 3))
        axes[:, : self.dimension] = self.axes
        return np.concatenate([[KDOP, len(axes)], axes.ravel(), self.low, self.high])

    @cached_property
    def corners(self) -> Points:
        corners = corners_of(self.axes, self.low, self.high)
        if len(corners) == 0:
            raise ValueError("KDop.axes are too nearly parallel to have corners")
        return corners
