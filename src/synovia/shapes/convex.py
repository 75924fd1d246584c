"""What convex shapes share: hulls of corners, polytopes, principal axes."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import ClassVar, Self

import numpy as np

from ..arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors
from .derived import Turned
from .region import Region


class Convex(Region):
    """A closed convex region of a vector space, in 2 or 3 dimensions."""

    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")
    convex: ClassVar[bool] = True
    fits_margin: ClassVar[bool] = True

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        return super().mirror(turn, about, normal) if about.any() else self.turn(turn)

    def turn(self, turn: Floats) -> Region:
        """Return the shape turned about the origin, by an orthogonal `turn` (d, d)."""
        return Turned(self, turn, np.zeros(self.dimension))


THIN = 1e-9  # extents up to this, in radians, count as none


def corners_of(axes: Floats, low: Floats, high: Floats) -> Points:
    """Return the vertices of the polytope low <= axes · x <= high: (v, d), d = 2 or 3."""
    d = axes.shape[1]
    slack = 1e-9 * (1.0 + max(np.abs(low).max(), np.abs(high).max()))
    at_high = np.array(list(product([False, True], repeat=d)))
    found = []
    for picks in _meetings(len(axes), d):
        picks = picks[np.abs(np.linalg.det(axes[picks])) > 1e-9]
        offsets = np.where(at_high, high[picks][:, None], low[picks][:, None])
        meets = np.linalg.solve(axes[picks], offsets.swapaxes(1, 2)).swapaxes(1, 2).reshape(-1, d)
        along = meets @ axes.T
        found.append(meets[((along >= low - slack) & (along <= high + slack)).all(axis=1)])
    meets = np.concatenate(found)
    return np.asarray(meets[_first_of_each(meets)])


@lru_cache(maxsize=8)
def _meetings(axes: int, d: int) -> list[Ints]:
    """Return all choices of `d` axes, in parts that need little memory."""
    picks = np.array(list(combinations(range(axes), d))).reshape(-1, d)
    return np.array_split(picks, max(len(picks) // 2_500, 1))


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


def simplices_of(corners: Points, axes: Floats) -> Points:
    """Return simplices (n, r + 1, r) that fill the hull of corners, in the r dimensions it spans.

    `axes` are those across the faces, as in `hull_triangles`.
    """
    flat, _, basis = flatten(corners)
    if len(basis) == 1:
        return np.array([[[flat.min()], [flat.max()]]])
    if len(basis) == 2:
        return np.asarray(flat[polygon_triangles(flat)])
    surface = flat[hull_triangles(corners, axes)]
    return np.concatenate([np.broadcast_to(flat.mean(axis=0), (len(surface), 1, 3)), surface], 1)


def polygon_triangles(corners: Points) -> Ints:
    """Return triangles (n, 3) that fill the convex polygon of corners (v, 2), all alike."""
    distinct = _first_of_each(corners)
    from_middle = corners[distinct] - corners[distinct].mean(axis=0)
    ring = distinct[np.argsort(np.arctan2(from_middle[:, 1], from_middle[:, 0]))]
    return np.stack([np.full(len(ring) - 2, ring[0]), ring[1:-1], ring[2:]], axis=1)


def hull_triangles(corners: Points, axes: Floats) -> Ints:
    """Return the triangles (t, 3), outwards, of the hull of corners that spans 3 dimensions.

    Every face lies across one of the unit `axes` (k, 3), at either end of the hull, and is a fan of
    triangles around the first of its corners.
    """
    normals, members = _faces(corners, axes)
    across = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    counts = members.sum(axis=1)
    from_middle = corners - ((members @ corners) / counts[:, None])[:, None]
    x, y = (np.einsum("fvi,fi->fv", from_middle, u) for u in (across, np.cross(normals, across)))
    angles = np.arctan2(y, x)
    angles -= np.take_along_axis(angles, members.argmax(axis=1)[:, None], axis=1)
    rings = np.argsort(np.where(members, angles % TURN, np.inf), axis=1)
    fans = [rings[:, [0, k, k + 1]][counts > k + 1] for k in range(1, counts.max() - 1)]
    triangles = np.concatenate(fans)
    if _is_closed(triangles):
        return triangles
    from scipy.spatial import ConvexHull  # faces so small or so alike that rounding decides

    return _outwards(corners, ConvexHull(corners).simplices.astype(np.int64))


def _faces(corners: Points, axes: Floats) -> tuple[Vectors, Mask]:
    """Return the outward normal of each face, and which corners it has.

    What only touches an edge or a corner, and a face that is there already, is left out.
    """
    along = corners @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    near = min(30.0 * THIN, 0.25 * float((high - low).min()))
    members = np.concatenate([along >= high - near, along <= low + near], axis=1).T
    counts = members.sum(axis=1)[:, None]
    shared = members.astype(np.int64) @ members.T
    order = np.arange(len(members))
    preferred = (counts < counts.T) | ((counts == counts.T) & (order < order[:, None]))
    kept = ~((shared == counts) & preferred).any(axis=1) & (counts[:, 0] > 2)
    return np.concatenate([axes, -axes])[kept], members[kept]


def _outwards(corners: Points, triangles: Ints) -> Ints:
    """Return triangles of a hull, counter-clockwise as seen from outside."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - corners.mean(axis=0)) < 0.0
    return np.where(inward[:, None], triangles[:, ::-1], triangles)


def _is_closed(triangles: Ints) -> bool:
    """Tell whether every edge is there once in either direction."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()
    there = {(start, end) for start, end in edges}
    return len(there) == len(edges) and all((end, start) in there for start, end in there)


def sizes_of(simplices: Points) -> Scalars:
    """Return the length, area or volume of each simplex."""
    edges = simplices[:, 1:] - simplices[:, :1]
    return np.asarray(np.abs(np.linalg.det(edges)) / math.factorial(edges.shape[-1]))


def sample_simplices(simplices: Points, n: int, rng: np.random.Generator) -> Points:
    """Return `n` points, uniform in simplices (m, r + 1, r)."""
    sizes = sizes_of(simplices)
    chosen = simplices[rng.choice(len(simplices), size=n, p=sizes / sizes.sum())]
    weights = rng.dirichlet(np.ones(simplices.shape[1]), size=n)
    return np.asarray(np.einsum("nk,nkr->nr", weights, chosen))


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

    @property
    def measure(self) -> float:
        """The volume in the chart (the area in 2-D), 0 if thin."""
        if len(flatten(self.corners)[2]) < self.dimension:
            return 0.0
        return float(sizes_of(self._simplices).sum())

    @cached_property
    def _simplices(self) -> Points:
        return simplices_of(self.corners, self.axes)

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart; in its own dimensions where it is thin."""
        _, origin, basis = flatten(self.corners)
        if len(basis) == 0:
            return np.tile(origin, (n, 1))
        return np.asarray(sample_simplices(self._simplices, n, rng) @ basis + origin)
