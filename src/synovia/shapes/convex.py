"""What convex shapes share: hulls of corners, polytopes, principal axes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Self

import numpy as np

from ..arrays import Floats, Ints, Points, Scalars, Vectors
from .boundary import Boundary
from .derived import Turned
from .presentation import Number, label_axis, range_numbers
from .region import Region, sample_points


class Convex(Region):
    """A closed convex region of a vector space, in 2 or 3 dimensions."""

    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")
    convex: ClassVar[bool] = True

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        return super().mirror(turn, about, normal) if about.any() else self.turn(turn)

    def turn(self, turn: Floats) -> Region:
        """Return the shape turned about the origin, by an orthogonal `turn` (d, d)."""
        return Turned(self, turn, np.zeros(self.dimension))


def principal_axes(points: Points) -> Floats:
    """Return the orthonormal axes (rows) along which points vary most to least, right-handed."""
    centered = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    axes = vectors.T[::-1]
    # A sign of its own for each axis, so that equal data give equal axes on any machine.
    leading = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(leading < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[-1] = -axes[-1]
    return axes


# Convex hulls of a few corners, of any thickness: triangles, volume, uniform samples.


THIN = 1e-9  # extents up to this, in radians, count as none


def corners_of(axes: Floats, low: Floats, high: Floats) -> Points:
    """Return the vertices of the polytope low <= axes · x <= high: (v, d), d = 2 or 3."""
    d = axes.shape[1]
    planes = np.concatenate([axes, axes])
    offsets = np.concatenate([low, high])
    slack = 1e-9 * (1.0 + np.abs(offsets).max())
    found = []
    for picks in _meetings(len(planes), d):
        matrices = planes[picks]
        usable = np.abs(np.linalg.det(matrices)) > 1e-9
        meets = np.linalg.solve(matrices[usable], offsets[picks[usable]][..., None])[..., 0]
        along = meets @ axes.T
        found.append(meets[((along >= low - slack) & (along <= high + slack)).all(axis=1)])
    return _distinct(np.concatenate(found))


@lru_cache(maxsize=8)
def _meetings(planes: int, d: int) -> list[Ints]:
    """Return all choices of `d` planes, in parts that need little memory."""
    picks = np.array(list(combinations(range(planes), d)))
    return np.array_split(picks, max(len(picks) // 20_000, 1))


def _distinct(points: Points) -> Points:
    _, first = np.unique(np.round(points / (10 * THIN)), axis=0, return_index=True)
    return points[np.sort(first)]


def flatten(corners: Points) -> tuple[Points, Points, Floats]:
    """Return corners in the r dimensions they span, and origin (d,) and basis (r, d) to go back."""
    origin = corners.mean(axis=0)
    _, sizes, basis = np.linalg.svd(corners - origin, full_matrices=False)
    basis = basis[sizes > THIN * math.sqrt(len(corners))]
    return (corners - origin) @ basis.T, origin, basis


def simplices_of(flat: Points) -> Points:
    """Return simplices (n, r + 1, r) that fill the hull of points spanning r = 1 … 3 dimensions."""
    if flat.shape[1] == 1:
        return np.array([[[flat.min()], [flat.max()]]])
    from scipy.spatial import Delaunay

    return np.asarray(flat[Delaunay(flat, qhull_options="QJ").simplices])


def sizes_of(simplices: Points) -> Scalars:
    """Return the length, area or volume of each simplex."""
    edges = simplices[:, 1:] - simplices[:, :1]
    return np.asarray(np.abs(np.linalg.det(edges)) / math.factorial(edges.shape[-1]))


def measure_of(corners: Points) -> float:
    """Return the hull's volume (its area in 2-D), 0 if it is thin."""
    flat, _, basis = flatten(corners)
    if len(basis) < corners.shape[1]:
        return 0.0
    return float(sizes_of(simplices_of(flat)).sum())


def sample_hull(corners: Points, n: int, rng: np.random.Generator) -> Points:
    """Return `n` points, uniform in the hull; in its own dimensions where it is thin."""
    flat, origin, basis = flatten(corners)
    if len(basis) == 0:
        return np.tile(origin, (n, 1))
    simplices = simplices_of(flat)
    sizes = sizes_of(simplices)
    chosen = simplices[rng.choice(len(simplices), size=n, p=sizes / sizes.sum())]
    weights = rng.dirichlet(np.ones(simplices.shape[1]), size=n)
    return np.asarray(np.einsum("nk,nkr->nr", weights, chosen) @ basis + origin)


def hull_boundary(corners: Points) -> Boundary:
    """Return triangles on the hull of 3-D corners, outwards; a flat hull has both its sides."""
    flat, _, basis = flatten(corners)
    if len(basis) < 2:
        return Boundary(corners, np.empty((0, 3), dtype=np.int64))
    from scipy.spatial import ConvexHull, Delaunay

    if len(basis) == 2:
        one_side = Delaunay(flat, qhull_options="QJ").simplices
        return Boundary(corners, np.concatenate([one_side, one_side[:, ::-1]]).astype(np.int64))
    triangles = ConvexHull(corners).simplices.astype(np.int64)
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - corners.mean(axis=0)) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return Boundary(corners, triangles)


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

    @property
    def measure(self) -> float:
        return measure_of(self.corners)

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        return sample_hull(self.corners, n, rng)

    # For pictures and for editing.

    def boundary(self, detail: int = 1) -> Boundary:
        """Return the faces as triangles; they are flat, so `detail` changes nothing."""
        return hull_boundary(self.corners)

    def numbers(self, coordinates: Sequence[str]) -> list[Number]:
        """Return the ends of the interval along each axis."""
        return [
            number
            for k, (axis, low, high) in enumerate(zip(self.axes, self.low, self.high, strict=True))
            for number in range_numbers(label_axis(axis, coordinates, k), k, low, high)
        ]

    def add(self, points: Points) -> Self:
        """Return the shape with the faces that are in the way of `points` moved out to them."""
        along = sample_points(points, (self.dimension,)) @ self.axes.T
        low, high = along.min(axis=0), along.max(axis=0)
        return replace(  # type: ignore[type-var]
            self, low=np.minimum(self.low, low), high=np.maximum(self.high, high)
        )
