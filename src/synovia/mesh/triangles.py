"""Triangles whose edges are halved until they are as flat as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars
from ..shapes.boundary import (
    Boundary,
    Hidden,
    Midpoint,
    Placement,
    cut_edges,
    cut_off,
    edges_of,
    split_edges,
)

ROUNDS = 8
"""How often an edge is halved at most."""
LEAST_ROOM = 0.25
"""Of the most triangles: a draft with room for no more is not worth another round's time."""


class Net(NamedTuple):
    """Triangles (t, 3) between points (v, k) in coordinates of a boundary's own, and their places.

    Places (v, m) are where the points are drawn.
    """

    points: Floats
    triangles: Ints
    places: Floats


@dataclass(frozen=True)
class Quality:
    """How fine a picture is: how far edges may be off, in radians, and about how many triangles.

    Where there would be more, only the edges that are farthest off are halved. A picture that is
    not `fine` leaves out what takes long and is small.
    """

    tolerance: float
    max_triangles: int
    fine: bool = True


def refine_mesh(
    boundary: Boundary, drawn: Placement, quality: Quality, torn: Callable[[Floats], Mask]
) -> Net:
    """Return the triangles of a boundary, edges halved where they are drawn too far off.

    `drawn` gives where points are drawn. An edge is halved where its true middle is drawn too far
    away from the straight line's, unless both its ends are drawn where places are `torn`. Where a
    boundary has kinks within triangles, those are looked at, too.
    """
    points, triangles, midpoint = boundary.points, boundary.triangles, boundary.midpoint
    places = drawn(points)
    torn_at = torn(places)
    done: list[Ints] = []
    count = len(triangles)
    for _ in range(ROUNDS):
        room = (quality.max_triangles - count) // 2  # halving an edge makes two triangles more
        least = 1 if quality.fine else LEAST_ROOM * quality.max_triangles
        if room < least or len(triangles) == 0:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        middles = midpoint(points[start], points[end])
        true = drawn(middles)
        off = true - 0.5 * (places[start] + places[end])
        off = np.einsum("ij,ij->i", off, off)
        if boundary.kinked:
            corner = midpoint(middles[sides[:, 0]], points[triangles[:, 2]])
            np.maximum.at(off, *_interior_errors(places, triangles, sides, drawn(corner)))
        off[torn_at[start] & torn_at[end]] = 0.0
        bent = off > quality.tolerance**2
        if np.count_nonzero(bent) > room:
            bent &= off > np.partition(off, len(off) - room)[len(off) - room]
        # Neighbours find the same edges flat, so a triangle without a bent one stays as it is.
        still = ~bent[sides].any(axis=1)
        done.append(triangles[still])
        numbers = np.where(bent, np.cumsum(bent) - 1 + len(points), -1)
        triangles = split_edges(triangles[~still], numbers[sides[~still]])
        points = np.concatenate([points, middles[bent]])
        places = np.concatenate([places, true[bent]])
        torn_at = np.concatenate([torn_at, torn(true[bent])])
        count = len(triangles) + sum(map(len, done))
    return Net(points, np.concatenate([*done, triangles]), places)


def _interior_errors(
    places: Floats, triangles: Ints, sides: Ints, true: Floats
) -> tuple[Ints, Scalars]:
    """Return the longest edge of each triangle, and how far off it is inside, squared.

    `sides` are the numbers of each triangle's edges; `true` is where the point half way between
    the middle of the first and the opposite corner is drawn.
    """
    a, b, c = (places[each] for each in triangles.T)
    off = true - 0.25 * (a + b) - 0.5 * c
    lengths = np.stack([np.linalg.norm(e, axis=1) for e in (b - a, c - b, a - c)], axis=1)
    longest = np.take_along_axis(sides, lengths.argmax(axis=1)[:, None], axis=1)[:, 0]
    return longest, np.einsum("ij,ij->i", off, off)


def longest_sides(vertices: Floats, triangles: Ints) -> Scalars:
    """Return the length of the longest side of each triangle."""
    corners = vertices[triangles]
    way = corners - corners[:, [1, 2, 0]]
    return np.asarray(np.sqrt(np.einsum("tij,tij->ti", way, way).max(axis=1, initial=0.0)))


# Where a boundary goes on inside another part of the region, or turns away from us.
#
# Triangles are small there, and what is hidden is cut off.

HALVINGS, DRAFT_HALVINGS = 10, 4
"""How often a crossing is halved to find where something becomes hidden; in a draft fewer."""
SEAM_EDGE = 16.0
"""How long edges may be at seams, in tolerances."""

TriangleTest = Callable[[Net], Mask]
"""Tells which triangles are to be small."""


def refine_where(
    net: Net,
    midpoint: Midpoint,
    drawn: Placement,
    chosen: TriangleTest,
    quality: Quality,
    rounds: int = ROUNDS,
) -> Net:
    """Return a net with edges halved until the triangles that are `chosen` are small.

    There are at most so many rounds.
    """
    points, triangles, places = net
    for _ in range(rounds):
        if len(triangles) > quality.max_triangles or not quality.fine:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        long = np.zeros(len(edges), dtype=bool)
        long[sides[chosen(Net(points, triangles, places))]] = True
        length = np.linalg.norm(places[end] - places[start], axis=1)
        long &= length > SEAM_EDGE * quality.tolerance
        if not long.any():
            break
        middles = midpoint(points[start[long]], points[end[long]])
        numbers = np.full(len(edges), -1)
        numbers[long] = len(points) + np.arange(len(middles))
        triangles = split_edges(triangles, numbers[sides])
        points = np.concatenate([points, middles])
        places = np.concatenate([places, drawn(middles)])
    return Net(points, triangles, places)


def partly_hidden(hidden: Hidden) -> TriangleTest:
    """Return what chooses the triangles of which a corner is hidden and another is not."""
    known = np.zeros(0, dtype=bool)

    def chosen(net: Net) -> Mask:
        nonlocal known  # points are only ever added
        known = np.concatenate([known, hidden(net.points[len(known) :])])
        corners = known[net.triangles]
        return np.asarray(corners.any(axis=1) & ~corners.all(axis=1))

    return chosen


def cut_net(
    net: Net, midpoint: Midpoint, drawn: Placement, hidden: Hidden, quality: Quality
) -> Net:
    """Return the net without what is hidden: triangles are cut where that begins."""
    halvings = HALVINGS if quality.fine else DRAFT_HALVINGS
    points, triangles = cut_off(net.points, net.triangles, midpoint, hidden, halvings)
    return Net(points, triangles, _longer(net, points, drawn))


def cut_rim(
    net: Net, rim: Ints, midpoint: Midpoint, drawn: Placement, hidden: Hidden, quality: Quality
) -> tuple[Net, Ints]:
    """Return the net with points where edges (e, 2) are cut, and what is not hidden of them."""
    mask = hidden(net.points)
    first, last = mask[rim].T
    crossing = first != last
    halvings = HALVINGS if quality.fine else DRAFT_HALVINGS
    points, number = cut_edges(net.points, rim[crossing], mask, midpoint, hidden, halvings)
    kept = rim[crossing].copy()
    kept[np.arange(len(kept)), np.where(first[crossing], 0, 1)] = number
    longer = net._replace(points=points, places=_longer(net, points, drawn))
    return longer, np.concatenate([rim[~first & ~last], kept])


def _longer(net: Net, points: Floats, drawn: Placement) -> Floats:
    return np.concatenate([net.places, drawn(points[len(net.points) :])])
