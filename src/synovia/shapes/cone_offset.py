"""Reach cones made larger and smaller, so that one contains the other, twists included.

Vertices move along their meridians from the visible point, which keeps the star. An edge whose two
ends are `r` beyond a great circle is at least `r` beyond it throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Scalars
from .cone_star import from_polar, normalized, polar

if TYPE_CHECKING:
    from .reach_cone import ReachCone

TURN = 2.0 * np.pi
NEAREST = 1e-6  # radians from the visible point to a vertex
FARTHEST = np.pi - 1e-3


def grown(cone: ReachCone, r: float) -> dict[str, Any]:
    """Return the fields of the cone `r` larger."""
    azimuth, angle = polar(cone.points, cone.visible)
    moved = np.maximum(np.minimum(angle + _steps(cone, r), FARTHEST), angle)
    ratio = (np.sin(moved - angle) + np.sin(angle)) / np.sin(moved)
    fields: dict[str, Any] = {"points": from_polar(azimuth, moved, cone.visible)}
    for name, sign in (("low", 1.0), ("high", -1.0)):
        limits, middle = sign * getattr(cone, name), sign * getattr(cone, f"visible_{name}")
        wider = _wider(limits, middle, r, angle, moved, _slack(ratio))
        fields[name], fields[f"visible_{name}"] = sign * wider[0], sign * wider[1]
    return fields


def _wider(
    limits: Floats, middle: float, r: float, angle: Scalars, moved: Scalars, slack: float
) -> tuple[Floats, float]:
    """Return least twists at the moved vertices and at the visible point, for all to be lower.

    They are extrapolated along the meridians, so that at the old vertices they are `r` lower than
    they were, but no farther than the lowest of all; what is then missing goes to the middle.
    """
    step = r + slack * (max(limits.max(), middle) - min(limits.min(), middle))
    floor = min(limits.min(), middle) - step
    out, back = np.sin(angle), np.sin(moved - angle)  # shares of the vertex and of the middle
    aim = limits - step
    beyond = (aim * (out + back) - back * (middle - step)) / out
    outer = np.minimum(np.maximum(beyond, floor), aim)
    short = np.where(back > 0.0, (aim * (out + back) - out * outer) / np.maximum(back, 1e-300), 0.0)
    inner = np.where(back > 0.0, short, np.inf).min()
    return outer, max(min(middle - step, float(inner)), floor)


def shrunk(cone: ReachCone, r: float) -> dict[str, Any]:
    """Return the fields of the cone `r` smaller."""
    azimuth, angle = polar(cone.points, cone.visible)
    moved = np.minimum(np.maximum(angle - _steps(cone, r), NEAREST), angle)
    ratio = (np.sin(angle - moved) + np.sin(moved)) / np.sin(angle)
    points = from_polar(azimuth, moved, cone.visible)
    back, out = np.sin(angle - moved), np.sin(moved)
    fields: dict[str, Any] = {"points": points}
    step = {}
    for name in ("low", "high"):
        limits, middle = getattr(cone, name), getattr(cone, f"visible_{name}")
        fields[name] = (out * limits + back * middle) / (out + back)
        fields[f"visible_{name}"] = middle
        spread = max(limits.max(), middle) - min(limits.min(), middle)
        step[name] = r + _slack(ratio) * spread
    if cone.is_free:
        return fields
    for prefix in ("", "visible_"):
        low, high = fields[f"{prefix}low"], fields[f"{prefix}high"]
        below, above = low + step["low"], high - step["high"]
        thin = below > above
        fields[f"{prefix}low"] = np.where(thin, 0.5 * (low + high), below)
        fields[f"{prefix}high"] = np.where(thin, 0.5 * (low + high), above)
    return fields


def _slack(ratio: Scalars) -> float:
    """Return by how much, as a share of all limits' spread, interpolation in two planes differs.

    The weights of the one are those of the other, some of them up to `ratio` times as large; two
    such means differ by at most (√ratio − 1)/(√ratio + 1) of the spread.
    """
    root = np.sqrt(max(float(ratio.max()), 1.0))
    return float((root - 1.0) / (root + 1.0))


def _steps(cone: ReachCone, r: float) -> Scalars:
    """Return how far each vertex goes along its meridian for its edges to end `r` away.

    Where a meridian crosses a great circle at an angle a, a way s along it ends asin(sin a sin s)
    away.
    """
    meridian = normalized(np.cross(cone.visible, cone.points))
    edges = normalized(np.cross(cone.points, np.roll(cone.points, -1, axis=0)))
    slant = np.linalg.norm(np.cross(meridian, edges), axis=1)
    slant = np.minimum(slant, np.linalg.norm(np.cross(meridian, np.roll(edges, 1, axis=0)), axis=1))
    sine = np.sin(min(r, 0.5 * np.pi)) / np.maximum(slant, 1e-300)
    return np.asarray(np.arcsin(np.minimum(sine, 1.0)))
