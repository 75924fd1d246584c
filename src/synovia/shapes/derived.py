"""Shapes made of others: what `Region` answers for one that cannot grow or be mirrored itself.

They are saved and loaded as other shapes are, but not fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..arrays import TOLERANCE, Floats, Points, Scalars, Vectors, check_orthonormal, own
from .boundary import Boundary, drop_unused_points
from .region import Region

STEPS, HALVINGS = 12, 50  # to a boundary: along its slope, and between a member and a point


class Derived(Region):
    """A region that follows from that of another shape, in the same charts and metric."""

    shape: Region
    charts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Region):
            raise ValueError(f"{type(self).__name__}.shape must be a shape, got {self.shape!r:.80}")
        object.__setattr__(self, "charts", self.shape.charts)

    @property
    def dimension(self) -> int:
        return self.shape.dimension

    def moves(self, start: Points, end: Points) -> Points:
        return self.shape.moves(start, end)

    def shift(self, points: Points, moves: Points) -> Points:
        return self.shape.shift(points, moves)

    def tangents(self, points: Points) -> Points:
        return self.shape.tangents(points)

    @property
    def family(self) -> str:
        return self.shape.family


@dataclass(frozen=True, eq=False)
class Offset(Derived):
    """All points within `radius` of `shape`; if that is negative, those as deep inside it.

    It is at least minus the depth of the deepest member, so that one is left.
    """

    shape: Region
    radius: float

    name: ClassVar[str] = "offset"

    def __post_init__(self) -> None:
        super().__post_init__()
        radius = float(self.radius)
        if not np.isfinite(radius):
            raise ValueError(f"Offset.radius must be finite, got {radius}")
        if radius < 0.0:
            radius = max(radius, float(self.shape.distance(self.shape.deepest)))
        object.__setattr__(self, "radius", radius)

    @property
    def offset_from(self) -> tuple[Region, float] | None:
        return self.shape, self.radius

    @property
    def deepest(self) -> Points:
        return self.shape.deepest

    @property
    def bounds(self) -> Points:
        if self.dimension == 4:  # directions are within a cube anyway
            return super().bounds
        low, high = self.shape.bounds
        return np.stack([low - self.radius, np.maximum(high + self.radius, low - self.radius)])

    def reach(self, columns: tuple[int, ...]) -> float:
        return self.shape.reach(columns) + max(self.radius, 0.0)

    def distance(self, points: Points) -> Scalars:
        return np.asarray(self.shape.distance(points) - self.radius)

    def project(self, points: Points) -> Points:
        distance = self.distance(points)
        outside = distance > 0.0
        found = np.array(points)
        found[outside] = self._nearest_to(found[outside], distance[outside])
        return found

    def _nearest_to(self, points: Points, distance: Scalars) -> Points:
        nearest = self.shape.project(points)
        if self.radius >= 0.0:
            return self.toward(nearest, points, self.radius / (distance + self.radius))
        # Inwards from the boundary, or from where they are: mostly to the nearest member.
        found = np.where((distance + self.radius > 0.0)[..., None], nearest, points)
        for _ in range(STEPS):
            excess = np.maximum(self.distance(found), 0.0)[..., None]
            found = self.shift(found, -excess * self.shape.facing(found))
        left = self.distance(found) > TOLERANCE
        found[left] = self._last_before(found[left])
        return found

    def _last_before(self, points: Points) -> Points:
        """Return the last members on the ways from the deepest one to points, by halving."""
        inner = np.broadcast_to(self.shape.deepest, points.shape)
        low, high = np.zeros(len(points)), np.ones(len(points))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            legal = self.distance(self.toward(inner, points, middle)) <= 0.0
            low, high = np.where(legal, middle, low), np.where(legal, high, middle)
        return self.toward(inner, points, low)

    def grow(self, r: float) -> Region:
        return Offset(self.shape, self.radius + r)

    def shrink(self, r: float) -> Region:
        return Offset(self.shape, self.radius - r)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        shown = self.shape.mirror(turn, about, normal)
        return None if shown is None else Offset(shown, self.radius)

    # For pictures and for editing.

    def boundary(self, detail: int = 1) -> Boundary:
        """Return the shape's triangles, moved, where points are directions with twists."""
        directional = self.shape.directional
        if directional is None:
            return super().boundary(detail)
        inner = directional.boundary(detail)
        free = directional.free_ends(inner.points, inner.triangles)
        kept, triangles = drop_unused_points(inner.triangles[~free], len(inner.points))

        def placed(points: Floats) -> Points:
            there = inner.place(points)
            if self.radius > 0.0:  # from beyond, so that what is nearest is on the boundary
                there = self.shift(there, 2.0 * self.radius * self.shape.facing(there))
            return self.project(there)

        return replace(inner, points=inner.points[kept], triangles=triangles, place=placed)


@dataclass(frozen=True, eq=False)
class Turned(Derived):
    """All points about + turn · (x − about) for x in `shape`; `turn` is orthogonal."""

    shape: Region
    turn: Annotated[Floats, "n", "n"]
    about: Annotated[Floats, "n"]

    name: ClassVar[str] = "turned"

    def __post_init__(self) -> None:
        super().__post_init__()
        own(self)
        check_orthonormal("Turned.turn", self.turn)

    def _back(self, points: Points) -> Points:
        return np.asarray((points - self.about) @ self.turn + self.about)

    def _there(self, points: Points) -> Points:
        return np.asarray((points - self.about) @ self.turn.T + self.about)

    def distance(self, points: Points) -> Scalars:
        return self.shape.distance(self._back(points))

    def project(self, points: Points) -> Points:
        back = self._back(points)
        outside = self.shape.distance(back) > 0.0
        return np.where(outside[..., None], self._there(self.shape.project(back)), points)

    def facing(self, points: Points) -> Points:
        return np.asarray(self.shape.facing(self._back(points)) @ self.turn.T)

    @property
    def deepest(self) -> Points:
        return self._there(self.shape.deepest)

    @property
    def measure(self) -> float:
        return self.shape.measure

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        return self._there(self.shape.scatter(n, rng))

    def grow(self, r: float) -> Region:
        return Turned(self.shape.grow(r), self.turn, self.about)

    def shrink(self, r: float) -> Region:
        return Turned(self.shape.shrink(r), self.turn, self.about)

    def erode(self, r: float) -> Region:
        return Turned(self.shape.erode(r), self.turn, self.about)

    @property
    def greatest_erosion(self) -> float:
        return self.shape.greatest_erosion

    def can_erode(self, r: float) -> bool:
        return self.shape.can_erode(r)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        again = turn @ self.turn
        if np.abs(about - self.about).max() > 0.0:
            return super().mirror(turn, about, normal)
        back = np.abs(again - np.eye(self.dimension)).max() < 1e-12
        return self.shape if back else Turned(self.shape, again, about)

    # For pictures and for editing.

    def boundary(self, detail: int = 1) -> Boundary:
        inner = self.shape.boundary(detail)
        around = 1 if np.linalg.det(self.turn) > 0.0 else -1
        return replace(
            inner,
            triangles=inner.triangles[:, ::around],
            place=lambda points: self._there(inner.place(points)),
        )

    def add(self, points: Points) -> Region:
        return Turned(self.shape.add(self._back(points)), self.turn, self.about)
