"""Softening: motion slows down near a limit instead of stopping at it. The four verbs stay hard.

Both kinds are continuous and monotone, and never move a point away from the limit. If the shape is
convex, they never increase the distance of two points. `Beyond` moves a point at distance d to
distance g(d), where g rises, is concave and at most d. `Inside` takes means of projections, which
have these properties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Points
from ..shapes import Shape
from ..shapes.region import interpolate

NESTED = 16  # number of shrunk regions in the mean


def _check_radius(radius: float) -> None:
    if not 0.0 < radius < np.inf:
        raise ValueError(f"softening radius must be more than 0 radians, got {radius}")


@dataclass(frozen=True)
class Beyond:
    """Reduce violations to less than `radius` radians beyond the hard limit.

    A point at distance d moves to the distance min(d, radius · tanh(falloff · d)).
    """

    radius: float = 0.1
    falloff: float = 1.0

    def __post_init__(self) -> None:
        _check_radius(self.radius)
        if not 0.0 < self.falloff < np.inf:
            raise ValueError(f"softening falloff must be more than 0, got {self.falloff}")

    def soften(self, shape: Shape, points: Points) -> Points:
        """Return the points (..., d) moved towards `shape`; members do not move."""
        nearest = shape.project(points)
        distance = np.linalg.norm(shape.moves(nearest, points), axis=-1)
        softened = np.minimum(self.radius * np.tanh(self.falloff * distance), distance)
        share = np.divide(softened, distance, out=np.zeros_like(distance), where=distance > 0.0)
        return interpolate(shape, nearest, points, share)


@dataclass(frozen=True)
class Inside:
    """Slow down within the last `radius` radians before the hard limit, and end inside it.

    A point moves to the mean of its projections onto the shape shrunk by 0 to `radius`. Members of
    the smallest of these shapes do not move. From there on the speed decreases linearly. Points
    outside move to a depth of half the radius, or half the shape's depth if that is smaller.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    def soften(self, shape: Shape, points: Points) -> Points:
        """Return the points (..., d) moved into `shape`."""
        mean = shape.shrink(0.5 * self.radius / NESTED).project(points)
        for k in range(1, NESTED):
            nearest = shape.shrink(self.radius * (k + 0.5) / NESTED).project(points)
            mean = interpolate(shape, mean, nearest, np.full(mean.shape[:-1], 1.0 / (k + 1)))
        return shape.project(mean)  # moves nothing if the shape is convex


Softening = Beyond | Inside


def parse_softening(text: str | None) -> Softening | None:
    """Return the softening for "inside:DEG" or "beyond:DEG", a radius in degrees, or for None.

    None means no softening. ValueError for any other text.
    """
    if text is None:
        return None
    where, _, number = str(text).partition(":")
    kind: type[Inside] | type[Beyond] | None = {"inside": Inside, "beyond": Beyond}.get(where)
    try:
        radius_deg = float(number)
    except ValueError:
        radius_deg = math.nan
    if kind is None or not 0.0 < radius_deg < math.inf:
        raise ValueError(
            f"softening takes inside:DEG or beyond:DEG, with degrees above 0, got {text!r:.40}"
        )
    return kind(math.radians(radius_deg))
