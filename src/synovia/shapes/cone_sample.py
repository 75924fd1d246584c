"""One more sample for a reach cone: all that was legal stays so, and the star stays a star.

In a slice a direction is aV + bP + cQ, and a limit there the mean (av + bp + cq) / (a + b + c) of
those at the corners. A vertex in a new direction D = αV + βP + γQ, beyond the edge (α < 0), makes
slices that hold the old one. With the limit h at D, the new mean is nowhere below the old one if
and only if it is not at V, P and Q, since their difference has the sign of a linear form:
h ≥ αv + βp + γq − (α + β + γ − 1) w for w = v, p, q. Where that is more than any corner has, as
when the cone is small and the sample far, the visible point's limit rises as well: a rise there
counts |α| times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Points, Vectors
from .cone_star import normalized, polar
from .cone_tables import slice_rows

if TYPE_CHECKING:
    from .reach_cone import ReachCone

TURN = 2.0 * np.pi
OPPOSITE = 1e-6
"""Radians from the direction opposite the visible point, where no azimuth is sure."""
THIN = 0.01
"""Radians of azimuth: a slice that would be thinner is not made, for limits could leap in it."""


def holding(cone: ReachCone, point: Points) -> ReachCone:
    """Return the cone, all it holds, with a direction and twist (4,) in it.

    A direction beyond an edge becomes a vertex there; where one has nearly its azimuth, that one
    moves out instead. Limits of the twist are widened by as little, in squares, as will do.
    """
    if not cone.contains_direction(point[:3]):
        cone = _reaching(cone, point)
    return _twisting(cone, point)


def _reaching(cone: ReachCone, point: Points) -> ReachCone:
    """Return the cone with the direction of `point` on its boundary, and all it held."""
    direction, n = point[:3], len(cone.points)
    azimuth, angle = polar(np.vstack([cone.points, direction]), cone.visible)
    if np.pi - angle[-1] < OPPOSITE:
        raise ValueError(
            "the sample's direction is opposite the visible point, which no cone about that can "
            "hold: move the visible point first"
        )
    number = int(cone.slices(direction))
    after = (number + 1) % n
    share = _shares(cone, number, direction)
    aside = np.abs(azimuth[[number, after]] - azimuth[-1])
    aside = np.minimum(aside, TURN - aside)
    if aside.min() >= THIN:
        points = np.insert(cone.points, number + 1, direction, axis=0)
        lows, highs = (np.insert(limits, number + 1, 0.0) for limits in (cone.low, cone.high))
        place, around = number + 1, [number, after]
    else:
        # The direction is then on the edge from the vertex's new place to the other one.
        share[2 - int(aside.argmin())] = 0.0
        place = (number, after)[int(aside.argmin())]
        moved = share @ np.stack([cone.visible, *cone.points[[number, after]]])
        share /= np.linalg.norm(moved)
        points, lows, highs = cone.points.copy(), cone.low.copy(), cone.high.copy()
        points[place] = normalized(moved)
        around = [place - 1, place, (place + 1) % n]
    corners = [number, after]
    low, fall = _needed(share, -cone.visible_low, -cone.low[corners], -cone.low[around])
    high, rise = _needed(share, cone.visible_high, cone.high[corners], cone.high[around])
    lows[place], highs[place] = _in_order(-low, high, _near_middle(cone, point[3]))
    if cone.is_free:  # and stays so, whatever was rounded
        lows[place], highs[place], fall, rise = cone.low[number], cone.high[number], 0.0, 0.0
    return replace(
        cone,
        points=points,
        low=lows,
        high=highs,
        visible_low=cone.visible_low - fall,
        visible_high=cone.visible_high + rise,
    )


def _needed(
    share: Floats, at_visible: float, corners: Floats, around: Floats
) -> tuple[float, float]:
    """Return the least upper limit of a new vertex, and by how much the visible point's rises.

    `share` is what the vertex has of the visible point and of the slice's two corners; `around`
    are the limits at the vertices of the slices that it is in now.
    """
    limits = np.append(around, at_visible)
    linear = share @ [at_visible, *corners]
    least = float((linear - (share.sum() - 1.0) * limits).max())
    most = float(limits.max())
    lack = max(least - most, 0.0) / (1.0 + share[0] ** 2)
    return min(least, most) + lack, lack * abs(share[0])


def _in_order(low: float, high: float, twist: float) -> tuple[float, float]:
    """Return limits as they are, or where they cross twice the one between them nearest `twist`."""
    if low <= high:
        return low, high
    between = min(max(twist, high), low)
    return between, between


def _near_middle(cone: ReachCone, twist: float) -> float:
    """Return the twist, of those whole turns apart, nearest to the middle at the visible point."""
    middle = 0.5 * (cone.visible_low + cone.visible_high)
    return float(twist - TURN * np.rint((twist - middle) / TURN))


def _twisting(cone: ReachCone, point: Points) -> ReachCone:
    """Return the cone with the limits at a slice's corners wide enough for the sample's twist."""
    if cone.is_free:
        return cone
    number = int(cone.slices(point[:3]))
    corners = [number, (number + 1) % len(cone.points)]
    share = np.maximum(_shares(cone, number, point[:3]), 0.0)
    share /= share.sum()
    low = float(share @ [cone.visible_low, *cone.low[corners]])
    high = float(share @ [cone.visible_high, *cone.high[corners]])
    above = float(np.remainder(point[3] - low, TURN)) - (high - low)
    if above <= 0.0:
        return cone
    below = TURN - (high - low) - above
    widening = share / (share @ share)
    lows, highs = cone.low.copy(), cone.high.copy()
    if above <= below:
        highs[corners] += above * widening[1:]
        return replace(cone, high=highs, visible_high=cone.visible_high + above * widening[0])
    lows[corners] -= below * widening[1:]
    return replace(cone, low=lows, visible_low=cone.visible_low - below * widening[0])


def _shares(cone: ReachCone, number: int, direction: Vectors) -> Floats:
    """Return how much of the visible point and of a slice's two corners a direction is: (3,)."""
    planes = slice_rows(cone.points, cone.visible, cone.low, cone.high)[number]
    heights = planes[:9].reshape(3, 3) @ direction
    depth = planes[6:9] @ cone.visible
    return np.asarray(np.array([heights[2], -heights[1], heights[0]]) / depth)
