"""Reach cones made larger and smaller, so that one contains the other, twists included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import (
    TOLERANCE,
    TURN,
    Floats,
    Ints,
    Scalars,
    Vectors,
    cross,
    unit_vectors,
    wrap_angles,
)
from .star import from_polar, polar, tangent_basis

if TYPE_CHECKING:
    from .cone import ReachCone


# How far a star polygon reaches along the meridians of its vertices, once it is `r` wider.
#
# All that is within `r` of the polygon is within `r` of its boundary, or inside. Its outline is
# that of strips along the edges and of discs about the vertices; the way there is as long as it is,
# not as long as edges that are moved aside take to meet: those of a spike meet far beyond its tip.

DISC_SPOKES = 24  # of the discs about the vertices
EDGE_PARTS = 6  # of an edge
FARTHEST = np.pi - 1e-3  # the direction opposite the visible point stays outside


def dilate(points: Vectors, visible: Vectors, r: float) -> Scalars:
    """Return the angles (n,) from `visible` for vertices at the same azimuths, to be `r` wider.

    The polygon of these contains all that is within `r` of the one of `points`, but for what is
    nearer to the direction opposite the visible point than `FARTHEST` allows.
    """
    azimuth, angle = polar(points, visible)
    starts, ends, feet = _outline(points, visible, min(r, 0.5 * np.pi))
    around, away = polar(np.concatenate([starts, ends]), visible)
    # What is beyond the opposite direction is seen at an azimuth half a turn off.
    off = np.abs(wrap_angles(around - np.tile(polar(feet, visible)[0], 2)))
    beyond = (off > 0.5 * np.pi) & (np.tile(feet @ visible, 2) < 0.0)
    around = np.where(beyond, np.tile(polar(feet, visible)[0], 2), around)
    away = np.where(beyond, FARTHEST, np.minimum(away, FARTHEST))
    number, crossing = _crossings(azimuth, visible, starts, ends)
    least = np.maximum(np.minimum(angle + r, FARTHEST), min(r, FARTHEST))
    np.maximum.at(least, number, np.minimum(crossing, FARTHEST))
    return _enclose_places(azimuth, least, around, away)


def _outline(points: Vectors, visible: Vectors, r: float) -> tuple[Vectors, Vectors, Vectors]:
    """Return starts and ends (m, 3) of pieces around all within `r`, and where they belong.

    Beside an edge, what is `r` away is inside of the arc between two such points. The discs are
    of a polygon around them.
    """
    following = np.roll(points, -1, axis=0)
    share = np.linspace(0.0, 1.0, EDGE_PARTS + 1)[:, None, None]
    feet = unit_vectors(points + share * (following - points))
    outward = -unit_vectors(cross(points, following))
    beside = np.cos(r) * feet + np.sin(r) * outward
    turns = np.arange(DISC_SPOKES) * TURN / DISC_SPOKES
    reach = np.arctan(np.tan(min(r, 1.5)) / np.cos(np.pi / DISC_SPOKES))
    centres = np.concatenate([points, visible[None]])
    first, second = np.moveaxis(tangent_basis(centres), -2, 0)
    spokes = np.cos(turns)[:, None, None] * first + np.sin(turns)[:, None, None] * second
    rings = np.cos(reach) * centres + np.sin(reach) * spokes
    starts = np.concatenate([beside[:-1].reshape(-1, 3), rings.reshape(-1, 3)])
    ends = np.concatenate([beside[1:].reshape(-1, 3), np.roll(rings, -1, axis=0).reshape(-1, 3)])
    belong = [feet[:-1].reshape(-1, 3), np.broadcast_to(centres, rings.shape).reshape(-1, 3)]
    return starts, ends, np.concatenate(belong)


def _crossings(
    azimuth: Scalars, visible: Vectors, starts: Vectors, ends: Vectors
) -> tuple[Ints, Scalars]:
    """Return which vertices' meridians the pieces cross, and at which angles."""
    before, after = polar(starts, visible)[0], polar(ends, visible)[0]
    span = wrap_angles(after - before)
    past = wrap_angles(azimuth[:, None] - before) * np.sign(span)
    number, piece = np.nonzero((past > 0.0) & (past < np.abs(span)))
    # cot of the angle is the mean of the ends' by the sines of the azimuths between.
    wide, here = np.abs(span)[piece], past[number, piece]
    cotangents = [1.0 / np.tan(np.maximum(polar(p, visible)[1], 1e-9)) for p in (starts, ends)]
    mixed = np.sin(wide - here) * cotangents[0][piece] + np.sin(here) * cotangents[1][piece]
    return number, np.arctan2(np.sin(wide), mixed)


def _enclose_places(azimuth: Scalars, least: Scalars, around: Scalars, away: Scalars) -> Scalars:
    """Return angles, at least `least`, so that the edges between contain places in each sector.

    Along an edge the cotangent of the angle is a mean of those at its ends, by sines of azimuths
    between. Both ends are lowered by what a sector lacks; then each is raised again by what its
    neighbours leave, at first by half of it, so that none takes all.
    """
    begin = wrap_angles(around[:, None] - azimuth) % TURN
    number = begin.argmin(axis=1)
    past = begin[np.arange(len(around)), number]
    step = wrap_angles(np.roll(azimuth, -1) - azimuth) % TURN
    wide, ends = step[number], np.stack([number, (number + 1) % len(azimuth)])
    shares = np.maximum(np.stack([np.sin(wide - past), np.sin(past)]) / np.sin(wide), 0.0)
    most, asked = 1.0 / np.tan(least), 1.0 / np.tan(away) - 1e-12
    lack = np.maximum(np.sum(shares * most[ends], axis=0) - asked, 0.0)
    cheap = shares / np.sin(least)[ends] ** 3  # by the area that it takes
    fall = np.zeros(len(azimuth))
    np.maximum.at(fall, ends, lack * cheap / np.sum(shares * cheap, axis=0))
    cotangents = most - fall
    each = np.arange(len(azimuth))
    apart = [each[0:-1:2], each[1:-1:2], each[-1:]]  # of which no two are neighbours
    for part in (0.5, 0.5, 1.0):
        for chosen in apart:
            room = asked - np.sum(shares * cotangents[ends], axis=0)
            left = most - cotangents
            for end, share in zip(ends, shares, strict=True):
                np.minimum.at(left, end, room / np.maximum(share, 1e-12))
            cotangents[chosen] += part * np.maximum(left[chosen], 0.0)
    return np.asarray(np.minimum(np.arctan2(1.0, cotangents), FARTHEST))


# Vertices move along their meridians from the visible point, which keeps the star.


NEAREST = 1e-6  # radians from the visible point to a vertex
LEVEL = 1e-12  # radians by which limits may differ and count as the same
SLICE_PARTS = 5  # of a slice's sides, for directions all over it
RINGS, SPOKES = (0.4, 0.75, 0.95, 1.0), 12  # of directions within reach
SHARES = np.array([1.0, 1.0, 0.2])  # of what a slice's corners give, the visible point last
ROUNDS = 3


def grow_cone(cone: ReachCone, r: float) -> dict[str, Any]:
    """Return the fields of the cone `r` larger."""
    azimuth, angle = polar(cone.points, cone.visible)
    moved = np.maximum(dilate(cone.points, cone.visible, r), angle)
    ratio = (np.sin(moved - angle) + np.sin(angle)) / np.sin(moved)
    fields: dict[str, Any] = {"points": from_polar(azimuth, moved, cone.visible)}
    for name, sign in (("low", 1.0), ("high", -1.0)):
        limits, middle = sign * getattr(cone, name), sign * getattr(cone, f"visible_{name}")
        wider = _widen(limits, middle, r, angle, moved, interpolation_slack(ratio))
        fields[name], fields[f"visible_{name}"] = sign * wider[0], sign * wider[1]
    return fields if _is_level(cone) else _widen_sloped(cone, fields, r)


def _is_level(cone: ReachCone) -> bool:
    """Return whether the limits of the twist are the same in all directions, but for rounding."""
    low, high = cone.low - cone.visible_low, cone.high - cone.visible_high
    return bool(max(np.abs(low).max(), np.abs(high).max()) <= LEVEL)


def _widen_sloped(cone: ReachCone, fields: dict[str, Any], r: float) -> dict[str, Any]:
    """Return grown fields with twists widened to what is within `r` beside, where limits slope.

    Directions in every slice are asked what twist is legal around them. What is missing goes to
    the three corners of the slice by their weights, the visible point's least: it is in all.
    """
    directions, weights = _slice_directions(fields["points"], cone.visible)
    asked = _twists_nearby(cone, directions, r)
    corners = np.arange(len(cone.points))[:, None]
    corners = np.stack([corners, np.roll(corners, -1), np.full_like(corners, len(corners))], axis=2)
    price = weights * SHARES
    price /= np.sum(price * weights, axis=-1, keepdims=True)
    for name, sign, wanted in (("low", 1.0, asked[0]), ("high", -1.0, -asked[1])):
        limits = sign * np.append(fields[name], fields[f"visible_{name}"])
        floor = np.min([limits.min(), wanted.min()])
        for _ in range(ROUNDS):  # one will do, where the floor does not stop it
            level = np.sum(limits[corners] * weights, axis=-1)
            lack = np.maximum(level - wanted, 0.0)[..., None] * price
            fall = np.zeros(len(limits))
            np.maximum.at(fall, np.broadcast_to(corners, lack.shape), lack)
            limits = np.maximum(limits - fall, floor)
        fields[name], fields[f"visible_{name}"] = sign * limits[:-1], float(sign * limits[-1])
    return fields


def _slice_directions(points: Vectors, visible: Vectors) -> tuple[Vectors, Floats]:
    """Return directions (n, m, 3) all over each slice, and their weights: start, end, visible."""
    counted = [
        (i, j, SLICE_PARTS - i - j)
        for i in range(SLICE_PARTS + 1)
        for j in range(SLICE_PARTS + 1 - i)
    ]
    weights = np.array(counted, dtype=np.float64) / SLICE_PARTS
    corners = np.stack(
        [points, np.roll(points, -1, axis=0), np.broadcast_to(visible, points.shape)], axis=1
    )
    return unit_vectors(weights @ corners), np.broadcast_to(weights, (len(points), *weights.shape))


def _twists_nearby(cone: ReachCone, directions: Vectors, r: float) -> Floats:
    """Return the least and greatest twist (2, ...) that is within `r` of a member there.

    At a way s off in direction, √(r² − s²) is left for the twist. ∞ and −∞ if there is no member.
    """
    reach = min(r, 0.5 * np.pi)
    ways = np.concatenate([[0.0], np.repeat(RINGS, SPOKES)]) * reach
    turns = np.concatenate([[0.0], np.tile(np.arange(SPOKES), len(RINGS))]) * (TURN / SPOKES)
    offset = np.stack([np.cos(turns) * np.sin(ways), np.sin(turns) * np.sin(ways)], axis=1)
    beside = np.cos(ways)[:, None] * directions[..., None, :] + offset @ tangent_basis(directions)
    _, heights, ranges = cone.locate(beside)
    legal, limits, left = heights >= -TOLERANCE, np.moveaxis(ranges, -1, 0), _twist_left(r, ways)
    # Of a cone smaller than `r`, the rings may meet nothing: its corners are asked for as well.
    corners = np.concatenate([cone.points, cone.visible[None]])
    chords = np.linalg.norm(directions[..., None, :] - corners, axis=-1)
    away = 2.0 * np.arcsin(np.clip(chords / 2.0, 0.0, 1.0))
    near, rest = away <= r, _twist_left(r, away)
    found = []
    for side, name, sign in ((0, "low", 1.0), (1, "high", -1.0)):
        at_corners = np.append(getattr(cone, name), getattr(cone, f"visible_{name}"))
        least = np.where(legal, sign * limits[side] - left, np.inf).min(axis=-1)
        among = np.where(near, sign * at_corners - rest, np.inf).min(axis=-1)
        found.append(sign * np.minimum(least, among))
    return np.stack(found)


def _twist_left(r: float, ways: Floats) -> Floats:
    """Return what is left of `r` for the twist, when so much of it goes to the direction."""
    return np.asarray(np.sqrt(np.maximum(r * r - ways * ways, 0.0)))


def _widen(
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


def shrink_cone(cone: ReachCone, r: float) -> dict[str, Any]:
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
        step[name] = r + interpolation_slack(ratio) * spread
    if cone.is_free:
        return fields
    narrowed, ended = _narrow(fields, step)
    if ended:
        # Where a range ends in its middle, only the same interpolation is sure to stay within.
        here = {name: getattr(cone, name) for name in fields}
        fields = fields if _is_level(cone) else here
        narrowed, _ = _narrow(fields, {"low": r, "high": r})
    return {**fields, **narrowed}


def _narrow(fields: dict[str, Any], step: dict[str, float]) -> tuple[dict[str, Any], bool]:
    """Return twist limits narrower by these steps, or the middle; and whether one ended there."""
    found: dict[str, Any] = {}
    any_ended = False
    for prefix in ("", "visible_"):
        low, high = fields[f"{prefix}low"], fields[f"{prefix}high"]
        below, above = low + step["low"], high - step["high"]
        ended = below > above
        any_ended = any_ended or bool(np.any(ended))
        found[f"{prefix}low"] = np.where(ended, 0.5 * (low + high), below)
        found[f"{prefix}high"] = np.where(ended, 0.5 * (low + high), above)
    return found, any_ended


def interpolation_slack(ratio: Scalars) -> float:
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
    meridian = unit_vectors(cross(cone.visible, cone.points))
    edges = unit_vectors(cross(cone.points, np.roll(cone.points, -1, axis=0)))
    slant = np.linalg.norm(cross(meridian, edges), axis=1)
    slant = np.minimum(slant, np.linalg.norm(cross(meridian, np.roll(edges, 1, axis=0)), axis=1))
    sine = np.sin(min(r, 0.5 * np.pi)) / np.maximum(slant, 1e-300)
    return np.asarray(np.arcsin(np.minimum(sine, 1.0)))
