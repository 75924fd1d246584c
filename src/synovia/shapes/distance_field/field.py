"""DistanceField: a region of any form, as signed distances at the nodes of a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np

from ...arrays import Floats, Mask, Points, Scalars, Vectors, own
from ...kernels.layout import FIELD
from ..extent import Extent
from ..region import Region, check_margin, sample_points
from .grid import (
    EDGE,
    LARGEST,
    close_axes,
    fill_holes,
    grid_around,
    member_cells,
    node_points,
    pack_field,
    redistance,
    sample_distance,
    values_at,
)

MOST = 3_000_000  # nodes of a box that grows to many times its size
LEAST_SPACING = 1e-4  # radians: the smallest cell that is accepted
LEAST_THRESHOLD = 0.5 * np.sqrt(3.0)  # cells: half a diagonal, so that samples are members
ALONG = 1e-9  # tolerance of entries 0 and ±1 of a rotation that maps axes of a grid to axes


def round_down(values: Floats) -> Floats:
    """Return `values` rounded down to single precision, as a read-only float64 array."""
    most = np.finfo(np.float32).max
    single = np.clip(values, -most, most).astype(np.float32)
    above = single > values
    if above.any():
        with np.errstate(over="ignore"):
            single[above] = np.nextafter(single[above], np.float32(-np.inf))
        np.maximum(single, -most, out=single)
    rounded = single.astype(np.float64)
    rounded.flags.writeable = False
    return rounded


@dataclass(frozen=True, eq=False)
class DistanceField(Region):
    """All points of a grid's box where Φ, trilinear between the nodes, is at most `threshold`.

    `values` (I, J, K) holds Φ at the nodes low + spacing · (i, j, k): a signed distance in radians,
    in single precision, rounded down so that no member is lost. An axis whose `wraps` is 1 has a
    period of count × spacing.
    """

    low: Annotated[Floats, 3]
    spacing: Annotated[Floats, 3]
    values: Annotated[Floats, "i>=2", "j>=2", "k>=2"]
    threshold: float
    wraps: Annotated[Floats, 3] = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    name: ClassVar[str] = "distance-field"
    kernel: ClassVar[int | None] = FIELD
    fits_margin: ClassVar[bool] = True
    exact_distance: ClassVar[bool] = False  # it is up to half a cell's diagonal more
    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist", "euler")

    def __post_init__(self) -> None:
        own(self)
        object.__setattr__(self, "values", round_down(self.values))
        threshold = float(self.threshold)
        object.__setattr__(self, "threshold", threshold)
        if not (self.spacing >= LEAST_SPACING).all():
            raise ValueError(
                f"DistanceField.spacing must be at least {LEAST_SPACING} radians, "
                f"got {self.spacing}"
            )
        if not all(2 <= n <= LARGEST for n in self.values.shape):
            raise ValueError(
                f"DistanceField.values must have 2 to {LARGEST} nodes along each axis, "
                f"got {self.values.shape}"
            )
        if not np.isin(self.wraps, (0.0, 1.0)).all():
            raise ValueError(f"DistanceField.wraps must be 0 or 1 for each axis, got {self.wraps}")
        if not (np.isfinite(threshold) and self.values.min() <= threshold):
            raise ValueError(
                f"DistanceField.threshold must be finite and at least the least value, "
                f"{self.values.min():.6g}, or the region is empty, got {threshold}"
            )

    @classmethod
    def fit(
        cls,
        points: Points,
        *,
        margin: float = 0.0,
        resolution: int = 32,
        threshold: float = 1.0,
        closing: float = 2.0,
        periods: tuple[float, ...] = (0.0, 0.0, 0.0),
    ) -> Self:
        """Return all points within `margin` and `threshold` cells of `points`, with holes filled.

        The longest side of the grid has `resolution` nodes (8 to 256), and cells are cubes.
        `threshold` and `closing` are in cells; a threshold of at least √3/2 makes every sample a
        member. Holes are what cannot be reached from the box's sides through gaps wider than twice
        `closing`; 0 fills none. `periods` are those of the chart, 0 where an axis has none.

        Examples
        --------
        >>> ring = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.linspace(0.0, 6.28, 200)])
        >>> field = DistanceField.fit(ring, resolution=32, closing=0.0)
        >>> field.contains([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).tolist()  # a hole stays a hole
        [True, False]
        """
        points, margin = sample_points(points, (3,)), check_margin(margin)
        if not threshold >= LEAST_THRESHOLD:
            raise ValueError(
                f"threshold must be at least √3/2 cells, or samples between the nodes would be "
                f"left out, got {threshold}"
            )
        if not 0.0 <= closing <= threshold + 1.0:
            raise ValueError(f"closing must be from 0 to threshold + 1 cells, got {closing}")
        low, spacing, count = grid_around(points, margin, threshold + 2.0, resolution, periods)
        wraps = np.asarray(periods) > 0.0
        values = sample_distance(points, low, spacing, count, np.asarray(periods, float))
        cell = float(spacing.max())
        if closing > 0.0:
            values = fill_holes(values, closing * cell, spacing, wraps)
        return cls(low, spacing, values, threshold * cell + margin, wraps.astype(float))

    @classmethod
    def from_distances(
        cls,
        points: Points,
        distance: Callable[[Points], Scalars],
        *,
        exact: bool,
        periods: tuple[float, ...] = (0.0, 0.0, 0.0),
        resolution: int = 32,
    ) -> Self:
        """Return the field of signed distances at the nodes of a grid around `points` (n, 3).

        If `distance` is not `exact`, only its sign is used, and distances are computed anew.
        """
        low, spacing, count = grid_around(points, 0.0, 2.0, resolution, periods)
        values = distance(node_points(low, spacing, count))
        wraps = np.asarray(periods) > 0.0
        if not exact and (values <= 0.0).any() and (values > 0.0).any():
            values = redistance(values, 0.0, low, spacing, wraps)
        # A region thinner than a cell may contain no node: then the nearest is taken.
        level = max(0.0, float(values.min()))
        return cls(low, spacing, values, level, wraps.astype(float))

    @cached_property
    def packed(self) -> Floats:
        packed = pack_field(self.low, self.spacing, self.closed, self.threshold, self.wrapping)
        return np.concatenate([[FIELD], packed])

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Self | None:
        """Return the mirrored field, or None if the grid's axes do not map to each other."""
        whole = np.rint(turn)
        if np.abs(turn - whole).max() > ALONG:
            return None
        source = np.abs(whole).argmax(axis=1)  # the axis that each one was
        flipped = whole.sum(axis=1) < 0.0
        last = self.low + self.spacing * (np.array(self.values.shape) - 1)
        low = np.where(flipped, (about - last)[source], (self.low - about)[source]) + about
        values = np.flip(self.values.transpose(source), tuple(np.flatnonzero(flipped).tolist()))
        wraps = self.wraps[source]
        return type(self)(low, self.spacing[source], values, self.threshold, wraps)

    @property
    def wrapping(self) -> Mask:
        """A mask of the axes that wrap: (3,)."""
        return np.asarray(self.wraps == 1.0)

    @cached_property
    def closed(self) -> Floats:
        """The node values, with the first repeated at the end of each axis that wraps."""
        return close_axes(self.values, self.wrapping)

    @property
    def periods(self) -> Floats:
        """The period of each axis in radians, 0 where it has none: (3,)."""
        return np.where(self.wrapping, self.spacing * self.values.shape, 0.0)

    @property
    def half_diagonal(self) -> float:
        """Half a cell's diagonal, in radians: the greatest excess of `project` over the nearest."""
        return 0.5 * float(np.linalg.norm(self.spacing))

    @property
    def nodes(self) -> Points:
        """The points of the grid's nodes: (I, J, K, 3)."""
        return node_points(self.low, self.spacing, self.values.shape)

    def value(self, points: Points) -> Scalars:
        """Return Φ at the points, in radians; beyond the box, that of the nearest point of it."""
        return self._interpolate(self.values, self._checked(points))

    def gradient(self, points: Points) -> Points:
        """Return the gradient of Φ: central differences at the nodes, trilinear between them."""
        points = self._checked(points)
        return np.stack([self._interpolate(slope, points) for slope in self._slopes], axis=-1)

    @cached_property
    def _slopes(self) -> list[Floats]:
        """The slopes of Φ along each axis at the nodes, one-sided at the sides of the box."""
        slopes: list[Floats] = []
        for axis, (h, wrap) in enumerate(zip(self.spacing, self.wrapping, strict=True)):
            ahead, behind = np.roll(self.values, -1, axis), np.roll(self.values, 1, axis)
            central = (ahead - behind) / (2.0 * h)
            slopes.append(central if wrap else np.gradient(self.values, h, axis=axis))
        return slopes

    def _interpolate(self, values: Floats, points: Points) -> Scalars:
        """Return node values (I, J, K) at points (..., 3), trilinear between the nodes."""
        cells = (np.asarray(points, np.float64) - self.low) / self.spacing
        count = np.array(self.values.shape, float)
        wrapped = cells - count * np.floor(cells / count)
        cells = np.where(self.wrapping, wrapped, np.clip(cells, 0.0, count - 1.0))
        nodes = close_axes(values, self.wrapping)
        return values_at(nodes, cells.reshape(-1, 3)).reshape(cells.shape[:-1])

    def step(self, points: Points) -> Points:
        """Return p − Φ(p)∇Φ(p), the projection of Engell-Nørregård et al.; may end outside."""
        points = self._checked(points)
        return np.asarray(points - self.value(points)[..., None] * self.gradient(points))

    def project(self, points: Points) -> Points:
        """Return members unchanged, and a member near each other point, in the grid's period.

        It is at most `half_diagonal` farther than the nearest member.
        """
        projected = super().project(points)
        period = np.where(self.wrapping, self.periods, 1.0)
        turns = np.where(self.wrapping, np.floor((projected - self.low) / period), 0.0)
        folded = (projected - period * turns).astype(projected.dtype)
        moved = (projected != np.asarray(points)).any(axis=-1, keepdims=True)
        return np.where(moved, folded, projected)

    @cached_property
    def bounds(self) -> Points:
        """The least and greatest coordinates of members, at most a cell beyond them: (2, 3)."""
        return np.asarray([self._cell_ends[0].min(axis=0), self._cell_ends[1].max(axis=0)])

    def reach(self, columns: tuple[int, ...]) -> float:
        farthest = np.abs(self._cell_ends[..., columns]).max(axis=0)
        return float(np.linalg.norm(farthest, axis=-1).max())

    @cached_property
    def _cell_ends(self) -> Points:
        """The lower and upper corners of the cells that have members, in radians: (2, n, 3)."""
        first = self.low + self.spacing * member_cells(self.closed, self.threshold)
        return np.stack([first, first + self.spacing])

    def grow(self, r: float) -> Self:
        """Return the field with a threshold `r` radians higher, in a larger box."""
        return replace(self.widened(r), threshold=self.threshold + r)

    def shrink(self, r: float) -> Self:
        """Return the field with a threshold `r` radians lower; its deepest node stays a member."""
        least = float(self.values.min())
        return replace(self, threshold=min(max(self.threshold - r, least), self.threshold))

    def required_margin(self, points: Points) -> Scalars:
        high = self.low + self.spacing * (np.array(self.values.shape) - 1)
        beyond = np.where(self.wrapping, 0.0, points - np.clip(points, self.low, high))
        return np.asarray(self.value(points) - self.threshold + np.linalg.norm(beyond, axis=-1))

    def widened(self, r: float | Floats) -> Self:
        """Return the same region in a box that ends `r` radians farther out, or (2, 3) of them.

        Where that would take too many nodes, cells become larger, and so may the region.
        """
        cells = np.broadcast_to(r, (2, 3)) / self.spacing
        before, after = np.where(self.wrapping | (cells <= 0.0), 0, np.ceil(cells).astype(int) + 2)
        if self.wrapping.any():  # Euler angles: ψ ends before 0 and before π
            high = self.low + self.spacing * (np.array(self.values.shape) - 1)
            room = np.stack([self.low - EDGE, np.pi - EDGE - high]) / self.spacing + 1e-9
            before, after = np.clip(np.stack([before, after]), 0, np.maximum(room.astype(int), 0))
        count = np.array(self.values.shape) + before + after
        if (count > LARGEST).any() or count.prod() > max(MOST, 4 * self.values.size):
            return self._coarser.widened(r)
        pads = list(zip(before, after, strict=True))
        low, values = self.low - before * self.spacing, np.pad(self.values, pads)
        new = np.pad(np.zeros(self.values.shape, bool), pads, constant_values=True)
        points = node_points(low, self.spacing, values.shape)[new]
        values[new] = self.threshold + self.distance(points)
        return replace(self, low=low, values=values)

    @cached_property
    def _coarser(self) -> Self:
        """Return a field of cells twice as large, whose region contains this one.

        Between its nodes a distance is overestimated by up to half a diagonal, and at them by
        up to half of one of the smaller diagonals: the values are lowered by both.
        """
        count = np.array(self.values.shape)
        half = np.where(self.wrapping, count // 2, count // 2 + 1)
        cells = np.where(self.wrapping, count, count - 1)
        spacing = self.spacing * cells / np.where(self.wrapping, half, half - 1)
        missed = self.half_diagonal + 0.5 * float(np.linalg.norm(spacing))
        points = node_points(self.low, spacing, tuple(half))
        values = self.threshold + self.distance(points) - missed
        return replace(self, spacing=spacing, values=values)

    @cached_property
    def deepest(self) -> Points:
        """The deepest node: (3,)."""
        nodes = self.nodes[self.values <= self.threshold]
        return np.asarray(nodes[self.distance(nodes).argmin()])

    @cached_property
    def _extent(self) -> Extent:
        half = 0.5 * self.spacing
        return Extent(self, (self._cell_ends[0] + half, half))

    def moves(self, start: Points, end: Points) -> Points:
        """Return the shortest moves from `start` to `end`, across the ends of axes that wrap."""
        move = np.asarray(end - start)
        period = self.periods
        turns = np.rint(np.divide(move, period, out=np.zeros_like(move), where=period > 0.0))
        return np.asarray(move - period * turns)
