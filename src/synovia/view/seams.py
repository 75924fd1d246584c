"""Where a boundary goes on inside another part of the region, or turns away from us.

Triangles are small there, and what is hidden is cut off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats, Ints, Mask
from .mesh import Finish, Middle, Net, Placed, edges_of, halved

ROUNDS = 8
BISECTIONS, FEW = 10, 4
"""How often a crossing is halved to find where something becomes hidden; in a draft fewer."""
SMALL = 16.0
"""How long edges may be at seams, in parts of what is called flat."""

Hidden = Callable[[Floats], Mask]
"""Tells which points, in coordinates of the boundary's own, are hidden."""
Chosen = Callable[[Net], Mask]
"""Tells which triangles are to be small."""


def parted(
    net: Net,
    middle: Middle,
    drawn: Placed,
    chosen: Chosen,
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
        long &= np.linalg.norm(places[end] - places[start], axis=1) > SMALL * finish.flat
        if not long.any():
            break
        middles = middle(points[start[long]], points[end[long]])
        numbers = np.full(len(edges), -1)
        numbers[long] = len(points) + np.arange(len(middles))
        triangles = halved(triangles, numbers[sides])
        points = np.concatenate([points, middles])
        places = np.concatenate([places, drawn(middles)])
    return Net(points, triangles, places)


def mixed(hidden: Hidden) -> Chosen:
    """Return what chooses the triangles of which a corner is hidden and another is not."""
    known = np.zeros(0, dtype=bool)

    def chosen(net: Net) -> Mask:
        nonlocal known  # points are only ever added
        known = np.concatenate([known, hidden(net.points[len(known) :])])
        corners = known[net.triangles]
        return np.asarray(corners.any(axis=1) & ~corners.all(axis=1))

    return chosen


def cut_off(net: Net, middle: Middle, drawn: Placed, hidden: Hidden, finish: Finish) -> Net:
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
    net: Net, edges: Ints, middle: Middle, drawn: Placed, hidden: Hidden, finish: Finish
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
    drawn: Placed,
    hidden: Hidden,
    finish: Finish,
) -> tuple[Net, Ints]:
    """Return the net with the points where edges (e, 2) become hidden, and their numbers (e,)."""
    ordered = np.sort(edges, axis=1)
    key, number = np.unique(ordered[:, 0] * len(net.points) + ordered[:, 1], return_inverse=True)
    ends = np.stack(np.divmod(key, len(net.points)), axis=1)
    ends = np.where(mask[ends[:, :1]], ends[:, ::-1], ends)  # the end that is seen first
    seen, unseen = net.points[ends[:, 0]], net.points[ends[:, 1]]
    for _ in range(BISECTIONS if finish.careful else FEW):
        between = middle(seen, unseen)
        covered = hidden(between)[:, None]
        seen, unseen = np.where(covered, seen, between), np.where(covered, between, unseen)
    longer = Net(
        np.concatenate([net.points, seen]),
        net.triangles,
        np.concatenate([net.places, drawn(seen)]),
    )
    return longer, len(net.points) + number.ravel()
