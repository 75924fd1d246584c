"""Softening: a limit that is approached instead of hit. The four verbs stay hard.

Both kinds move nothing past where it came from, and are continuous, monotone and move no two points
apart where the shape is convex. `Beyond` moves a point d outside to g(d) outside, with g rising,
concave and never above d; `Inside` takes means of projections, each of which has all of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Points
from ..shapes import Shape

NESTED = 16  # regions to take the mean over


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
        distance = np.linalg.norm(shape.moves(nearest, points), axis=-1)
        softened = np.minimum(self.radius * np.tanh(self.falloff * distance), distance)
        share = np.divide(softened, distance, out=np.zeros_like(distance), where=distance > 0.0)
        return shape.toward(nearest, points, share)


@dataclass(frozen=True)
class Inside:
    """Slow down within the last `radius` radians before the hard limit, and end inside it.

    A point goes to the mean of its nearest members in the regions shrunk by 0 to `radius`. So
    members of the smallest stay, the pace falls evenly from there on, and what is outside ends
    half the radius short of the limit; where a shape is thinner, half the way to its middle.
    """

    radius: float = 0.1

    def __post_init__(self) -> None:
        _check_radius(self.radius)

    def soften(self, shape: Shape, points: Points) -> Points:
        """Return the points moved into `shape`."""
        mean = shape.shrink(0.5 * self.radius / NESTED).project(points)
        for k in range(1, NESTED):
            nearest = shape.shrink(self.radius * (k + 0.5) / NESTED).project(points)
            mean = shape.toward(mean, nearest, np.full(mean.shape[:-1], 1.0 / (k + 1)))
        return shape.project(mean)  # as it is, but for shapes that are not convex


Softening = Beyond | Inside


def parse_softening(text: str | None) -> Softening | None:
    """Return what "inside:DEG" or "beyond:DEG" says, with a radius in degrees; None says hard."""
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
