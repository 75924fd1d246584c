"""Polytopes low <= axes · x <= high: boxes, and k-DOPs with an interval along each of many axes."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from ..arrays import (
    Floats,
    Ints,
    Mask,
    Points,
    Scalars,
    check_orthonormal,
    own,
    principal_axes,
    rows,
)
from ..kernels.layout import BOX, KDOP, MAX_AXES
from .extent import LOOKS
from .region import THIN, Convex, check_margin, sample_points

CYLINDER = 1e3  # radians; half the height of a shape of the plane, as kernels see it in space
FACES = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
CORNERS = [(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)]
EDGES = [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]


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
        return int(self.axes.shape[1])

    @property
    def bounds(self) -> Points:
        return np.stack([self.corners.min(axis=0), self.corners.max(axis=0)])

    def reach(self, columns: tuple[int, ...]) -> float:
        return float(np.linalg.norm(self.corners[:, columns], axis=1).max())

    def turn(self, turn: Floats) -> Self:
        return replace(self, axes=self.axes @ turn.T)  # type: ignore[type-var]

    def grow(self, r: float) -> Self:
        """Return the shape with every face moved outwards by `r` radians."""
        return replace(self, low=self.low - r, high=self.high + r)  # type: ignore[type-var]

    @cached_property
    def deepest(self) -> Points:
        """The centre of the largest ball within."""
        return chebyshev_center(self.axes, self.low, self.high)

    def shrink(self, r: float) -> Self:
        """Return the shape with every face moved in by `r`, or to the deepest member."""
        middle = self.axes @ self.deepest
        low = np.minimum(self.low + r, np.maximum(middle, self.low))
        high = np.maximum(self.high - r, np.minimum(middle, self.high))
        return replace(self, low=low, high=np.maximum(low, high))  # type: ignore[type-var]

    def required_margin(self, points: Points) -> Scalars:
        along = points @ self.axes.T
        return np.asarray(np.maximum(along - self.high, self.low - along).max(axis=-1))


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

    @property
    def measure(self) -> float:
        """The volume in the chart (the area in 2-D), 0 if thin."""
        sides = self.high - self.low
        return float(sides.prod()) if sides.min() > THIN else 0.0

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart; in its own dimensions where it is thin."""
        return rng.uniform(self.low, self.high, size=(n, self.dimension)) @ self.axes


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

    @cached_property
    def measure(self) -> float:
        """The volume in the chart (the area in 2-D), to about half a percent; 0 if thin."""
        flat, _, basis = flatten(self.corners)
        if len(basis) < self.dimension:
            return 0.0
        _, legal = self._propose(LOOKS, np.random.default_rng(0))
        return float(np.ptp(flat, axis=0).prod() * legal.mean())

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart; in its own dimensions where it is thin."""
        members: list[Points] = [np.empty((0, self.dimension))]
        while sum(map(len, members)) < n:
            points, legal = self._propose(3 * n + 64, rng)
            members.append(points[legal])
        return np.concatenate(members)[:n]

    def _propose(self, n: int, rng: np.random.Generator) -> tuple[Points, Mask]:
        """Return `n` points, uniform in a box along the principal axes, and which are members."""
        flat, origin, basis = flatten(self.corners)
        low, high = flat.min(axis=0, initial=0.0), flat.max(axis=0, initial=0.0)
        points = rng.uniform(low, high, size=(n, len(basis))) @ basis + origin
        along = points @ self.axes.T
        legal = ((along >= self.low - THIN) & (along <= self.high + THIN)).all(axis=1)
        return points, np.asarray(legal)


def axes_along(points: Points, along: str) -> Floats:
    """Return the axes (rows) that a fit uses: the data's principal ones, or the chart's own."""
    if along == "data":
        return principal_axes(points)
    if along == "chart":
        return np.eye(points.shape[1])
    raise ValueError(f"along must be 'data' or 'chart', got {along!r}")


def corners_of(axes: Floats, low: Floats, high: Floats) -> Points:
    """Return the vertices of the polytope low <= axes · x <= high: (v, d), d = 2 or 3."""
    d = axes.shape[1]
    slack = 1e-9 * (1.0 + max(np.abs(low).max(), np.abs(high).max()))
    at_high = np.array(list(product([False, True], repeat=d)))
    picks = np.array(list(combinations(range(len(axes)), d)))
    picks = picks[np.abs(np.linalg.det(axes[picks])) > 1e-9]
    offsets = np.where(at_high, high[picks][:, None], low[picks][:, None])
    meets = np.linalg.solve(axes[picks], offsets.swapaxes(1, 2)).swapaxes(1, 2).reshape(-1, d)
    along = meets @ axes.T
    meets = meets[((along >= low - slack) & (along <= high + slack)).all(axis=1)]
    return np.asarray(meets[_first_of_each(meets)])


def _first_of_each(points: Points) -> Ints:
    """Return the places of points, without those that are like another before them."""
    _, first = np.unique(np.round(points / (10 * THIN)), axis=0, return_index=True)
    return np.sort(first)


def flatten(corners: Points) -> tuple[Points, Points, Floats]:
    """Return corners in the r dimensions they span, and origin (d,) and basis (r, d) to go back."""
    origin = corners.mean(axis=0)
    _, sizes, basis = np.linalg.svd(corners - origin, full_matrices=False)
    basis = basis[sizes > THIN * math.sqrt(len(corners))]
    return (corners - origin) @ basis.T, origin, basis


def polygon_triangles(corners: Points) -> Ints:
    """Return triangles (n, 3) that fill the convex polygon of corners (v, 2), all alike."""
    distinct = _first_of_each(corners)
    from_middle = corners[distinct] - corners[distinct].mean(axis=0)
    ring = distinct[np.argsort(np.arctan2(from_middle[:, 1], from_middle[:, 0]))]
    return np.stack([np.full(len(ring) - 2, ring[0]), ring[1:-1], ring[2:]], axis=1)


def hull_triangles(corners: Points, axes: Floats) -> Ints:
    """Return the triangles (t, 3) of a polytope's corners, counter-clockwise from outside.

    They are fans of the faces, which lie across the `axes`.
    """
    fans: dict[tuple[int, ...], Ints] = {}
    for normal in np.concatenate([axes, -axes]):
        along = corners @ normal
        face = np.flatnonzero(along >= along.max() - 30.0 * THIN)
        flat, _, basis = flatten(corners[face])
        if len(basis) == 2:
            fans[tuple(face)] = face[polygon_triangles(flat)]
    triangles = np.concatenate(list(fans.values()))
    a, b, c = corners[triangles].swapaxes(0, 1)
    inward = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - corners.mean(axis=0)) < 0.0
    return np.where(inward[:, None], triangles[:, ::-1], triangles)


def chebyshev_center(axes: Floats, low: Floats, high: Floats) -> Points:
    """Return the centre (d,) of the largest ball in the polytope low <= axes · x <= high.

    With its radius, it is what d + 1 of the planes leave. Planes are taken in one by one, always
    the one that is most in the way, until none is: so there are few to choose from.
    """
    d = axes.shape[1]
    normals, offsets = np.concatenate([axes, -axes]), np.concatenate([high, -low])
    planes = np.column_stack([normals, np.ones(len(normals))])  # planes · (x, radius) <= offsets
    slack = 1e-12 * (1.0 + np.abs(offsets).max())
    first = _independent_rows(axes)
    chosen = [*first, *(first + len(axes))]
    while True:
        picks = np.array(list(combinations(chosen, d + 1)))
        sizes = np.abs(np.linalg.det(planes[picks]))
        picks = picks[sizes > min(THIN, 0.5 * float(sizes.max()))]
        found = np.linalg.solve(planes[picks], offsets[picks][..., None])[..., 0]
        beyond = (found @ planes[chosen].T - offsets[chosen]).max(axis=1)
        allowed = max(slack, 2.0 * float(beyond.min()))  # nearly parallel planes meet by rounding
        best = found[np.where(beyond <= allowed, found[:, d], -np.inf).argmax()]
        worst = int((planes @ best - offsets).argmax())
        if worst in chosen or planes[worst] @ best - offsets[worst] <= slack:
            return np.asarray(best[:d])
        chosen.append(worst)


def _independent_rows(axes: Floats) -> Ints:
    """Return the numbers of d rows of `axes` (k, d), far from depending on each other."""
    left, rows = axes.copy(), []
    for _ in range(axes.shape[1]):
        rows.append(int(np.linalg.norm(left, axis=1).argmax()))
        along = left[rows[-1]] / np.linalg.norm(left[rows[-1]])
        left = left - np.outer(left @ along, along)
    return np.array(rows)
