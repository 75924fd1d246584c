"""Triangles whose edges are halved until they are as flat as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Mask, Points, Scalars

ROUNDS = 8
"""How often an edge is halved at most."""
LEAST_ROOM = 0.25
"""Of the most triangles: a draft with room for no more is not worth another round's time."""

Middle = Callable[[Floats, Floats], Floats]
Placement = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles (t, 3) between vertices (v, 3)."""

    vertices: Points
    triangles: Ints


class Net(NamedTuple):
    """Triangles (t, 3) between points (v, k) in coordinates of a boundary's own, and their places.

    Places (v, m) are where the points are drawn.
    """

    points: Floats
    triangles: Ints
    places: Floats


@dataclass(frozen=True)
class Finish:
    """How fine a picture is: how far edges may be off, in radians, and about how many triangles.

    Where there would be `most`, only the edges that are farthest off are halved. A picture that is
    not `careful` leaves out what takes long and is small.
    """

    flat: float
    most: int
    careful: bool = True


def refine_mesh(
    points: Floats,
    triangles: Ints,
    middle: Middle,
    drawn: Placement,
    finish: Finish,
    torn: Callable[[Floats], Mask],
    *,
    kinked: bool = False,
) -> Net:
    """Return the net of points and triangles, edges halved where they are drawn too far off.

    `middle` gives the true point half way between two, `drawn` where points are drawn. An edge is
    halved where its true middle is drawn too far away from the straight line's, unless both its
    ends are drawn where places are `torn`. Where a boundary has kinks within triangles, those are
    looked at, too.
    """
    places = drawn(points)
    torn_at = torn(places)
    done: list[Ints] = []
    count = len(triangles)
    for _ in range(ROUNDS):
        room = (finish.most - count) // 2  # halving an edge makes two triangles more
        if room < (1 if finish.careful else LEAST_ROOM * finish.most) or len(triangles) == 0:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        middles = middle(points[start], points[end])
        true = drawn(middles)
        off = true - 0.5 * (places[start] + places[end])
        off = np.einsum("ij,ij->i", off, off)
        if kinked:
            inside = _interior_errors(points, triangles, places, middles, sides, middle, drawn)
            np.maximum.at(off, *inside)
        off[torn_at[start] & torn_at[end]] = 0.0
        bent = off > finish.flat**2
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
    points: Floats,
    triangles: Ints,
    places: Floats,
    middles: Floats,
    sides: Ints,
    middle: Middle,
    drawn: Placement,
) -> tuple[Ints, Scalars]:
    """Return the longest edge of each triangle, and how far off it is inside, squared.

    `middles` are those of all edges, `sides` the numbers of each triangle's three.
    """
    corner = triangles[:, 2]
    true = drawn(middle(middles[sides[:, 0]], points[corner]))
    a, b, c = (places[each] for each in triangles.T)
    off = true - 0.25 * (a + b) - 0.5 * c
    lengths = np.stack([np.linalg.norm(e, axis=1) for e in (b - a, c - b, a - c)], axis=1)
    longest = np.take_along_axis(sides, lengths.argmax(axis=1)[:, None], axis=1)[:, 0]
    return longest, np.einsum("ij,ij->i", off, off)


def edges_of(triangles: Ints) -> tuple[Ints, Ints]:
    """Return the edges (e, 2), each once, and the numbers of each triangle's three (t, 3).

    Side k of a triangle leads from corner k to the next.
    """
    start, end = triangles, triangles[:, [1, 2, 0]]
    step = int(triangles.max(initial=0)) + 1
    key = (np.minimum(start, end) * step + np.maximum(start, end)).ravel()
    keys, number = np.unique(key, return_inverse=True)
    return np.stack(np.divmod(keys, step), axis=1), number.reshape(-1, 3)


def rim_of(triangles: Ints) -> Ints:
    """Return the edges (e, 2) of one triangle only, in that triangle's sense."""
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    number = edges_of(triangles)[1].ravel()
    return np.asarray(sides[np.bincount(number, minlength=1)[number] == 1])


def longest_sides(vertices: Floats, triangles: Ints) -> Scalars:
    """Return the length of the longest side of each triangle."""
    corners = vertices[triangles]
    way = corners - corners[:, [1, 2, 0]]
    return np.asarray(np.sqrt(np.einsum("tij,tij->ti", way, way).max(axis=1, initial=0.0)))


def drop_unused_points(triangles: Ints, count: int) -> tuple[Ints, Ints]:
    """Return which of `count` points the triangles have, and the triangles between those alone."""
    number = np.zeros(count, dtype=np.int64)
    number[triangles.ravel()] = 1
    kept = np.flatnonzero(number)
    number[kept] = np.arange(len(kept))
    return kept, number[triangles]


def split_edges(triangles: Ints, middles: Ints) -> Ints:
    """Return the triangles with edges halved at `middles` (t, 3): numbers of points, or -1.

    Neighbours agree on the edges that they share, so nothing gapes.
    """
    cut = middles >= 0
    code = cut[:, 0] + 2 * cut[:, 1] + 4 * cut[:, 2]
    parts = [triangles[code == 0]]
    for k in range(3):
        one, two = code == 1 << k, code == (1 << k) + (1 << (k + 1) % 3)
        a, b, c, ab, bc, _ = _rotate_corners(triangles, middles, one, k)
        parts += [np.stack([a, ab, c], axis=1), np.stack([ab, b, c], axis=1)]
        a, b, c, ab, bc, _ = _rotate_corners(triangles, middles, two, k)
        parts += [np.stack(each, axis=1) for each in ((ab, b, bc), (a, ab, bc), (a, bc, c))]
    a, b, c, ab, bc, ca = _rotate_corners(triangles, middles, code == 7, 0)
    for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)):
        parts.append(np.stack(corners, axis=1))
    return np.concatenate(parts)


def _rotate_corners(triangles: Ints, middles: Ints, which: Mask, k: int) -> Ints:
    """Return the three corners and the three middles of some triangles, from corner `k` on."""
    order = [k, (k + 1) % 3, (k + 2) % 3]
    return np.concatenate([triangles[which][:, order], middles[which][:, order]], axis=1).T


# Where a boundary goes on inside another part of the region, or turns away from us.
#
# Triangles are small there, and what is hidden is cut off.

BISECTIONS, DRAFT_BISECTIONS = 10, 4
"""How often a crossing is halved to find where something becomes hidden; in a draft fewer."""
SEAM_EDGE = 16.0
"""How long edges may be at seams, in parts of what is called flat."""

HiddenTest = Callable[[Floats], Mask]
"""Tells which points, in coordinates of the boundary's own, are hidden."""
TriangleTest = Callable[[Net], Mask]
"""Tells which triangles are to be small."""


def refine_where(
    net: Net,
    middle: Middle,
    drawn: Placement,
    chosen: TriangleTest,
    finish: Finish,
    rounds: int = ROUNDS,
) -> Net:
    """Return a net with edges halved until the triangles that are `chosen` are small.

    There are at most so many rounds.
    """
    points, triangles, places = net
    for _ in range(rounds):
        if len(triangles) > finish.most or not finish.careful:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        long = np.zeros(len(edges), dtype=bool)
        long[sides[chosen(Net(points, triangles, places))]] = True
        long &= np.linalg.norm(places[end] - places[start], axis=1) > SEAM_EDGE * finish.flat
        if not long.any():
            break
        middles = middle(points[start[long]], points[end[long]])
        numbers = np.full(len(edges), -1)
        numbers[long] = len(points) + np.arange(len(middles))
        triangles = split_edges(triangles, numbers[sides])
        points = np.concatenate([points, middles])
        places = np.concatenate([places, drawn(middles)])
    return Net(points, triangles, places)


def partly_hidden(hidden: HiddenTest) -> TriangleTest:
    """Return what chooses the triangles of which a corner is hidden and another is not."""
    known = np.zeros(0, dtype=bool)

    def chosen(net: Net) -> Mask:
        nonlocal known  # points are only ever added
        known = np.concatenate([known, hidden(net.points[len(known) :])])
        corners = known[net.triangles]
        return np.asarray(corners.any(axis=1) & ~corners.all(axis=1))

    return chosen


def cut_off(net: Net, middle: Middle, drawn: Placement, hidden: HiddenTest, finish: Finish) -> Net:
    """Return the net without what is hidden: triangles are cut where that begins."""
    mask = hidden(net.points)
    outer = ~mask[net.triangles]
    count = outer.sum(axis=1)
    lone = (count == 1) | (count == 2)
    if not lone.any():
        return Net(net.points, net.triangles[count == 3], net.places)
    # Turned so that the corner that differs from the two others comes first.
    odd = outer[lone] == (count[lone] == 1)[:, None]
    turn = (odd.argmax(axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(net.triangles[lone], turn, axis=1).T
    sides = np.concatenate([np.stack([a, b], axis=1), np.stack([a, c], axis=1)])
    longer, number = crossings(net, sides, mask, middle, drawn, hidden, finish)
    ab, ac = np.split(number, 2)
    alone = count[lone] == 1
    parts = [
        net.triangles[count == 3],
        np.stack([a, ab, ac], axis=1)[alone],
        np.stack([ab, b, c], axis=1)[~alone],
        np.stack([ab, c, ac], axis=1)[~alone],
    ]
    return Net(longer.points, np.concatenate(parts), longer.places)


def cut_edges(
    net: Net, edges: Ints, middle: Middle, drawn: Placement, hidden: HiddenTest, finish: Finish
) -> tuple[Net, Ints]:
    """Return the net with points where edges (e, 2) are cut, and what is not hidden of them."""
    mask = hidden(net.points)
    first, last = mask[edges].T
    crossing = first != last
    longer, number = crossings(net, edges[crossing], mask, middle, drawn, hidden, finish)
    kept = edges[crossing].copy()
    kept[np.arange(len(kept)), np.where(first[crossing], 0, 1)] = number
    return longer, np.concatenate([edges[~first & ~last], kept])


def crossings(
    net: Net,
    edges: Ints,
    mask: Mask,
    middle: Middle,
    drawn: Placement,
    hidden: HiddenTest,
    finish: Finish,
) -> tuple[Net, Ints]:
    """Return the net with the points where edges (e, 2) become hidden, and their numbers (e,)."""
    ordered = np.sort(edges, axis=1)
    key, number = np.unique(ordered[:, 0] * len(net.points) + ordered[:, 1], return_inverse=True)
    ends = np.stack(np.divmod(key, len(net.points)), axis=1)
    ends = np.where(mask[ends[:, :1]], ends[:, ::-1], ends)  # the end that is seen first
    seen, unseen = net.points[ends[:, 0]], net.points[ends[:, 1]]
    for _ in range(BISECTIONS if finish.careful else DRAFT_BISECTIONS):
        between = middle(seen, unseen)
        covered = hidden(between)[:, None]
        seen, unseen = np.where(covered, seen, between), np.where(covered, between, unseen)
    longer = Net(
        np.concatenate([net.points, seen]),
        net.triangles,
        np.concatenate([net.places, drawn(seen)]),
    )
    return longer, len(net.points) + number.ravel()
