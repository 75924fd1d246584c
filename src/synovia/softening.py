"""Softening: a limit that is approached instead of hit. The four verbs stay hard.

Both kinds move a point p = nearest + d · direction to nearest + g(d) · direction with g rising,
concave and never above d. So nothing moves past where it came from, order along a ray is kept,
and, the shape being convex, no two points move apart. `Inside` then has the hard limit clamp
what is left over, which moves nothing apart either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Points, Scalars
from .shapes import Shape


def _moved(points: Points, nearest: Points, softened: Scalars, distance: Scalars) -> Points:
    share = np.divide(softened, distance, out=np.zeros_like(distance), where=distance > 0.0)
    return nearest + (points - nearest) * share[..., None]


def _check_radius(radius: float) -> None:
    if not 0.0 < radius < np.inf:
        raise ValueError(f"softening radius must be more than 0 radians, got {radius}")


@dataclass(frozen=True)
class Beyond:
    """Let violations go on beyond the hard limit, by less than `radius` radians.

    A point d outside ends radius · tanh(falloff · d) outside, but never farther than it was.
    """

    radius: float = 0.1
    falloff: float = 1.0

    def __post_init__(self) -> None:
        _check_radius(self.radius)
        if not 0.0 < self.falloff < np.inf:
            raise ValueError(f"softening falloff must be more than 0, got {self.falloff}")

    def soften(self, shape: Shape, points: Points) -> Points:
        """Return the points moved towards `shape`; members stay."""
        nearest = shape.project(points)
        distance = np.linalg.norm(points - nearest, axis=-1)
        softened = np.minimum(self.radius * np.tanh(self.falloff * distance), distance)
        return _moved(points, nearest, softened, distance)


@dataclass(frozen=True)
class Inside:
    """Slow down within the last `radius` radians before the hard limit, and end inside it.

    Members of the region shrunk by `radius` stay; a point d beyond that ends radius · tanh(d /
    radius) beyond it. Where a shape is thinner than that, it shrinks to its middle only, and the
    hard limit has the last word.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    def soften(self, shape: Shape, points: Points) -> Points:
        """Return the points moved into `shape`."""
        nearest = shape.shrink(self.radius).project(points)
        distance = np.linalg.norm(points - nearest, axis=-1)
        softened = self.radius * np.tanh(distance / self.radius)
        return shape.project(_moved(points, nearest, softened, distance))


Softening = Beyond | Inside
