"""Box: an interval along each of three (or two) orthogonal axes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, check_orthonormal, own, principal_axes
from ..kernels.layout import BOX
from .convex import Polytope
from .region import check_margin, sample_points

CYLINDER = 1e3  # half the height that stands for endless, where a shape of the plane runs in space


@dataclass(frozen=True, eq=False)
class Box(Polytope):
    """All points with low <= axes · x <= high; `axes` are orthonormal rows.

    Examples
    --------
    >>> knee = Box(low=[0, 0, -0.2], high=[2.4, 0.1, 0.2], axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> knee.project([-0.3, 0.05, 0.0]).round(6).tolist()
    [0.0, 0.05, 0.0]
    """

    low: Annotated[Floats, "d"]
    high: Annotated[Floats, "d"]
    axes: Annotated[Floats, "d", "d"]

    name: ClassVar[str] = "box"
    kernel: ClassVar[int | None] = BOX

    def __post_init__(self) -> None:
        d = len(np.atleast_1d(self.low))
        if d not in (2, 3):
            raise ValueError(f"Box.low must have 2 or 3 numbers, got {d}")
        own(self)
        if (self.low > self.high).any():
            raise ValueError(f"Box.low must not exceed Box.high, got {self.low} and {self.high}")
        check_orthonormal("Box.axes", self.axes)

    @classmethod
    def fit(
        cls, points: Points, *, margin: float = 0.0, along: Literal["data", "chart"] = "data"
    ) -> Self:
        """Return the box around `points`, `margin` wider, along the data's axes or the chart's."""
        points, margin = sample_points(points), check_margin(margin)
        axes = axes_along(points, along)
        coordinates = points @ axes.T
        return cls(coordinates.min(axis=0) - margin, coordinates.max(axis=0) + margin, axes)

    @cached_property
    def packed(self) -> Floats:
        axes, low, high = np.eye(3), np.full(3, -CYLINDER), np.full(3, CYLINDER)
        d = self.dimension
        axes[:d, :d], low[:d], high[:d] = self.axes, self.low, self.high
        return np.concatenate([[BOX], axes.ravel(), 0.5 * (low + high), 0.5 * (high - low)])

    @cached_property
    def deepest(self) -> Points:
        """The middle."""
        return np.asarray(0.5 * (self.low + self.high) @ self.axes)

    @cached_property
    def corners(self) -> Points:
        ends = np.stack([self.low, self.high])
        picks = np.array(list(product((0, 1), repeat=self.dimension)))
        return np.asarray(ends[picks, np.arange(self.dimension)] @ self.axes)


def axes_along(points: Points, along: str) -> Floats:
    """Return the axes (rows) that a fit uses: the data's principal ones, or the chart's own."""
    if along == "data":
        return principal_axes(points)
    if along == "chart":
        return np.eye(points.shape[1])
    raise ValueError(f"along must be 'data' or 'chart', got {along!r}")
