"""Solids as signed distance functions, with smooth unions.

They are what bones and the skin are made of. Lengths are in whatever unit the numbers are, which is
millimetres for bones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from synovia.arrays import Floats, Scalars, Vectors

Distance = Callable[[Vectors], Scalars]
FAR, NOWHERE = 80.0, 1e6
"""Distance beyond which a part is not evaluated at a point."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A body: `distance` (n,) of points (n, 3) to its surface, below 0 inside, within a box."""

    distance: Distance
    low: Floats
    high: Floats


def ball(center: ArrayLike, radius: float | Sequence[float]) -> Solid:
    """Return a ball, or with three radii an ellipsoid along the axes."""
    middle = np.asarray(center, dtype=float)
    radii = np.broadcast_to(np.asarray(radius, dtype=float), 3)

    def distance(points: Vectors) -> Scalars:
        out = (points - middle) / radii
        far = np.linalg.norm(out, axis=-1)
        steep = np.linalg.norm(out / radii, axis=-1)
        return np.asarray(far * (far - 1.0) / np.maximum(steep, 1e-9))

    return Solid(distance, middle - radii, middle + radii)


def rod(start: ArrayLike, end: ArrayLike, radius: float, other: float | None = None) -> Solid:
    """Return a rod with round ends, of one radius at its start and perhaps another at its end."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    way, last = b - a, radius if other is None else other
    square = max(float(way @ way), 1e-12)

    def distance(points: Vectors) -> Scalars:
        out = points - a
        share = np.clip(out @ way / square, 0.0, 1.0)
        off = np.linalg.norm(out - share[:, None] * way, axis=-1)
        return np.asarray(off - (radius + share * (last - radius)))

    return Solid(
        distance,
        np.minimum(a - radius, b - last),
        np.maximum(a + radius, b + last),
    )


def chain(points: ArrayLike, radii: ArrayLike, soft: float = 2.0) -> Solid:
    """Return rods from point to point (n, 3), of these radii (n,) at the points."""
    places = np.asarray(points, dtype=float)
    sizes = np.broadcast_to(np.asarray(radii, dtype=float), len(places)).tolist()
    return blend(
        soft,
        *(
            rod(a, b, ra, rb)
            for (a, b), (ra, rb) in zip(pairwise(places), pairwise(sizes), strict=True)
        ),
    )


def plate(corners: ArrayLike, thickness: float) -> Solid:
    """Return a triangle (3, 3) with round edges, that thick."""
    a, b, c = np.asarray(corners, dtype=float)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal)
    edges = [(a, b), (b, c), (c, a)]
    inwards = [np.cross(normal, end - start) for start, end in edges]

    def distance(points: Vectors) -> Scalars:
        above = np.ones(len(points), dtype=bool)
        nearest = np.full(len(points), np.inf)
        for (start, end), inward in zip(edges, inwards, strict=True):
            out, way = points - start, end - start
            above &= out @ inward >= 0.0
            share = np.clip(out @ way / float(way @ way), 0.0, 1.0)
            nearest = np.minimum(nearest, np.linalg.norm(out - share[:, None] * way, axis=-1))
        flat = np.abs((points - a) @ normal)
        return np.asarray(np.where(above, flat, nearest) - 0.5 * thickness)

    every = np.stack([a, b, c])
    return Solid(distance, every.min(axis=0) - 0.5 * thickness, every.max(axis=0) + 0.5 * thickness)


def blade(corners: ArrayLike, faces: Sequence[tuple[int, int, int]], thickness: float) -> Solid:
    """Return a bent plate of some triangles between corners (n, 3)."""
    places = np.asarray(corners, dtype=float)
    return blend(0.2 * thickness, *(plate(places[list(face)], thickness) for face in faces))


def blend(soft: float, *solids: Solid) -> Solid:
    """Return the smooth union of solids, blended over a length of about `soft`."""

    def distance(points: Vectors) -> Scalars:
        total = np.full(len(points), NOWHERE)
        for each in solids:
            out = np.maximum(np.maximum(each.low - points, points - each.high), 0.0)
            bound = np.sqrt((out * out).sum(axis=-1))
            near = np.flatnonzero(bound < np.minimum(total, FAR) + soft)
            total[near] = _softer(total[near], each.distance(points[near]), soft)
        return total

    low = np.min([each.low for each in solids], axis=0)
    high = np.max([each.high for each in solids], axis=0)
    return Solid(distance, low, high)


def carve(soft: float, solid: Solid, *hollows: Solid) -> Solid:
    """Return a solid minus hollows, with edges rounded by `soft`."""

    def distance(points: Vectors) -> Scalars:
        total = solid.distance(points)
        for hollow in hollows:
            total = -_softer(-total, hollow.distance(points), soft)
        return total

    return Solid(distance, solid.low, solid.high)


def stretch(solid: Solid, factors: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> Solid:
    """Return a solid scaled along the axes by factors (3,), about a point."""
    by, middle = np.asarray(factors, dtype=float), np.asarray(center, dtype=float)
    least = float(by.min())

    def distance(points: Vectors) -> Scalars:
        return np.asarray(least * solid.distance((points - middle) / by + middle))

    return Solid(distance, (solid.low - middle) * by + middle, (solid.high - middle) * by + middle)


def turn(solid: Solid, rotation: Floats, center: ArrayLike = (0.0, 0.0, 0.0)) -> Solid:
    """Return a solid rotated by a matrix (3, 3), about a point."""
    middle = np.asarray(center, dtype=float)

    def distance(points: Vectors) -> Scalars:
        return solid.distance((points - middle) @ rotation + middle)

    box = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float) * (
        solid.high - solid.low
    ) + (solid.low - middle)
    turned = box @ rotation.T + middle
    return Solid(distance, turned.min(axis=0), turned.max(axis=0))


def with_mirror(solid: Solid) -> Solid:
    """Return the left half of a solid, and its mirror image in x."""

    def distance(points: Vectors) -> Scalars:
        return solid.distance(np.column_stack([np.abs(points[:, 0]), points[:, 1:]]))

    return Solid(distance, np.array([-solid.high[0], *solid.low[1:]]), solid.high)


def _softer(a: Scalars, b: Scalars, soft: float) -> Scalars:
    """Return the smooth minimum of two distances; it is up to soft / 4 smaller."""
    near = np.maximum(soft - np.abs(a - b), 0.0) / soft
    return np.asarray(np.minimum(a, b) - 0.25 * soft * near * near)
