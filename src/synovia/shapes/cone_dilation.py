"""How far a star polygon reaches along the meridians of its vertices, once it is `r` wider.

All that is within `r` of the polygon is within `r` of its boundary, or inside. Its outline is that
of strips along the edges and of discs about the vertices; the way there is as long as it is, not as
long as edges that are moved aside take to meet: those of a spike meet far beyond its tip.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints, Scalars, Vectors
from .cone_star import TURN, across, normalized, polar

SPOKES = 24  # of the discs about the vertices
PARTS = 6  # of an edge
FARTHEST = np.pi - 1e-3  # the direction opposite the visible point stays outside


def reached(points: Vectors, visible: Vectors, r: float) -> Scalars:
    """Return the angles (n,) from `visible` for vertices at the same azimuths, to be `r` wider.

    The polygon of these contains all that is within `r` of the one of `points`, but for what is
    nearer to the direction opposite the visible point than `FARTHEST` allows.
    """
    azimuth, angle = polar(points, visible)
    starts, ends, feet = _outline(points, visible, min(r, 0.5 * np.pi))
    around, away = polar(np.concatenate([starts, ends]), visible)
    # What is beyond the opposite direction is seen at an azimuth half a turn off.
    off = np.abs(_wrapped(around - np.tile(polar(feet, visible)[0], 2)))
    beyond = (off > 0.5 * np.pi) & (np.tile(feet @ visible, 2) < 0.0)
    around = np.where(beyond, np.tile(polar(feet, visible)[0], 2), around)
    away = np.where(beyond, FARTHEST, np.minimum(away, FARTHEST))
    number, crossing = _crossings(azimuth, visible, starts, ends)
    least = np.maximum(np.minimum(angle + r, FARTHEST), min(r, FARTHEST))
    np.maximum.at(least, number, np.minimum(crossing, FARTHEST))
    return _around(azimuth, least, around, away)


def _outline(points: Vectors, visible: Vectors, r: float) -> tuple[Vectors, Vectors, Vectors]:
    """Return starts and ends (m, 3) of pieces around all within `r`, and where they belong.

    Beside an edge, what is `r` away is inside of the arc between two such points. The discs are
    of a polygon around them.
    """
    following = np.roll(points, -1, axis=0)
    share = np.linspace(0.0, 1.0, PARTS + 1)[:, None, None]
    feet = normalized(points + share * (following - points))
    outward = -normalized(np.cross(points, following))
    beside = np.cos(r) * feet + np.sin(r) * outward
    turns = np.arange(SPOKES) * TURN / SPOKES
    reach = np.arctan(np.tan(min(r, 1.5)) / np.cos(np.pi / SPOKES))
    centres = np.concatenate([points, visible[None]])
    first, second = np.moveaxis(across(centres), -2, 0)
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
    span = _wrapped(after - before)
    past = _wrapped(azimuth[:, None] - before) * np.sign(span)
    number, piece = np.nonzero((past > 0.0) & (past < np.abs(span)))
    # cot of the angle is the mean of the ends' by the sines of the azimuths between.
    wide, here = np.abs(span)[piece], past[number, piece]
    cotangents = [1.0 / np.tan(np.maximum(polar(p, visible)[1], 1e-9)) for p in (starts, ends)]
    mixed = np.sin(wide - here) * cotangents[0][piece] + np.sin(here) * cotangents[1][piece]
    return number, np.arctan2(np.sin(wide), mixed)


def _around(azimuth: Scalars, least: Scalars, around: Scalars, away: Scalars) -> Scalars:
    """Return angles, at least `least`, so that the edges between contain places in each sector.

    Along an edge the cotangent of the angle is a mean of those at its ends, by sines of azimuths
    between. Both ends are lowered by what a sector lacks; then each is raised again by what its
    neighbours leave, at first by half of it, so that none takes all.
    """
    begin = _wrapped(around[:, None] - azimuth) % TURN
    number = begin.argmin(axis=1)
    past = begin[np.arange(len(around)), number]
    step = _wrapped(np.roll(azimuth, -1) - azimuth) % TURN
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


def _wrapped(angles: Floats) -> Floats:
    return np.asarray(angles - TURN * np.rint(angles / TURN))
