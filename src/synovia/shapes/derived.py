"""Shapes made of other shapes: grown, shrunk or turned. They are not fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..arrays import (
    TOLERANCE,
    Floats,
    Mask,
    Points,
    Scalars,
    Vectors,
    check_orthonormal,
    own,
)
from .directional import Directional
from .extent import slope
from .region import Region, interpolate

STEPS, HALVINGS = 12, 50  # to a boundary: along its slope, and between a member and a point
WALKS, EDGE = 8, 1e-12  # steps into a margin, and radians beyond it that count as within


class Derived(Region):
    """A region that follows from that of another shape, in the same charts and metric."""

    shape: Region
    charts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Region):
            raise ValueError(f"{type(self).__name__}.shape must be a shape, got {self.shape!r:.80}")
        object.__setattr__(self, "charts", self.shape.charts)
        object.__setattr__(self, "exact_distance", self.shape.exact_distance)

    @property
    def dimension(self) -> int:
        return self.shape.dimension

    def moves(self, start: Points, end: Points) -> Points:
        return self.shape.moves(start, end)

    def shift(self, points: Points, moves: Points) -> Points:
        return self.shape.shift(points, moves)


def project_offset(shape: Region, points: Points, radius: Scalars) -> Points:
    """Return the nearest points within `radius` (n,) >= 0 of a shape, to points (n, d) outside.

    With foot f of x and d = |x − f| > radius, that is f + (radius / d)(x − f). Where the shape's
    distance is not exact, it may have another foot, still farther than the radius: then it goes on
    towards that one, and ends at its foot at last.
    """
    found = np.array(points)
    for walk in range(WALKS + 1):
        distance = shape.distance(found)
        left = distance > radius + EDGE
        if not left.any():
            break
        share = radius[left] / distance[left] if walk < WALKS else np.zeros(int(left.sum()))
        found[left] = interpolate(shape, shape.project(found[left]), found[left], share)
    return found


@dataclass(frozen=True, eq=False)
class Offset(Derived):
    """All points within `radius` of `shape`; if that is negative, those as deep inside it.

    A negative radius is at least minus the depth of the deepest member, so that one is left.
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
    def deepest(self) -> Points:
        return self.shape.deepest

    @property
    def bounds(self) -> Points:
        low, high = self.shape.bounds
        return np.stack([low - self.radius, np.maximum(high + self.radius, low - self.radius)])

    def reach(self, columns: tuple[int, ...]) -> float:
        return self.shape.reach(columns) + max(self.radius, 0.0)

    def distance(self, points: Points) -> Scalars:
        """Return the signed distance; 0 where no depth is certain.

        Where the shape's distance is not exact it may jump between the shape and `radius`.
        """
        distance = self.shape.distance(points)
        beyond = distance - self.radius
        if self.exact_distance or self.radius < 0.0:
            return np.asarray(beyond)
        return np.asarray(np.where(beyond > 0.0, beyond, np.minimum(distance, 0.0)))

    def project(self, points: Points) -> Points:
        distance = self.distance(points)
        outside = distance > 0.0
        found = np.array(points)
        if self.radius >= 0.0:
            radius = np.full(int(outside.sum()), self.radius)
            found[outside] = project_offset(self.shape, found[outside], radius)
        else:
            found[outside] = self._shrunk(found[outside], distance[outside])
        return found

    def _slope(self, points: Points) -> Points:
        return slope(self.shape, points)

    def _shrunk(self, points: Points, distance: Scalars) -> Points:
        """Return members near points: inwards along the slope, else towards the deepest one."""
        on_boundary = (distance + self.radius > 0.0)[..., None]
        found = np.where(on_boundary, self.shape.project(points), points)
        for _ in range(STEPS):
            excess = np.maximum(self.distance(found), 0.0)[..., None]
            found = self.shift(found, -excess * self._slope(found))
        left = self.distance(found) > TOLERANCE
        found[left] = self._last_before(found[left])
        return found

    def _last_before(self, points: Points) -> Points:
        """Return the last members on the way from the deepest one to points, by bisection."""
        inner = np.broadcast_to(self.shape.deepest, points.shape)
        low, high = np.zeros(len(points)), np.ones(len(points))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            legal = self.distance(interpolate(self, inner, points, middle)) <= 0.0
            low, high = np.where(legal, middle, low), np.where(legal, high, middle)
        return interpolate(self, inner, points, low)

    def shrink(self, r: float) -> Region:
        return Offset(self.shape, self.radius - r)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        shown = self.shape.mirror(turn, about, normal)
        return None if shown is None else Offset(shown, self.radius)


@dataclass(frozen=True, eq=False)
class DirectionalOffset(Offset, Directional):
    """All directions and twists within `radius` >= 0 of a shape of such.

    At an angle a from the nearest legal direction, the range of twists there is wider by
    √(radius² − a²) at both ends.
    """

    shape: Directional

    def contains_direction(self, directions: Vectors) -> Mask:
        return np.asarray(self.shape.nearest_direction(directions)[1] <= self.radius + TOLERANCE)

    @property
    def twist_bounds(self) -> tuple[float, float]:
        low, high = self.shape.twist_bounds
        return low - self.radius, high + self.radius

    bounds = Directional.bounds

    def twist_range(self, directions: Vectors) -> Floats:
        nearest, angle = self.shape.nearest_direction(directions)
        wider = np.sqrt(np.maximum(self.radius**2 - angle**2, 0.0))
        ends = self.shape.twist_range(nearest) + np.stack([-wider, wider], axis=-1)
        return np.asarray(ends)


def offset(shape: Region, radius: float) -> Region:
    """Return all points within `radius` >= 0 radians of a shape."""
    if isinstance(shape, Offset):
        return Offset(shape.shape, shape.radius + radius)
    if isinstance(shape, Directional):
        return DirectionalOffset(shape, radius)
    return Offset(shape, radius)


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

    def turned_back(self, points: Points) -> Points:
        """Return the points x whose images are `points`."""
        return np.asarray((points - self.about) @ self.turn + self.about)

    def turned(self, points: Points) -> Points:
        """Return about + turn · (x − about) for points x."""
        return np.asarray((points - self.about) @ self.turn.T + self.about)

    def distance(self, points: Points) -> Scalars:
        return self.shape.distance(self.turned_back(points))

    def project(self, points: Points) -> Points:
        back = self.turned_back(points)
        outside = self.shape.distance(back) > 0.0
        return np.where(outside[..., None], self.turned(self.shape.project(back)), points)

    @property
    def deepest(self) -> Points:
        return self.turned(self.shape.deepest)

    @property
    def measure(self) -> float:
        return self.shape.measure

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        return self.turned(self.shape.scatter(n, rng))

    def shrink(self, r: float) -> Region:
        return Turned(self.shape.shrink(r), self.turn, self.about)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        again = turn @ self.turn
        if np.abs(about - self.about).max() > 0.0:
            return super().mirror(turn, about, normal)
        back = np.abs(again - np.eye(self.dimension)).max() < 1e-12
        return self.shape if back else Turned(self.shape, again, about)
