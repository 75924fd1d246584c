"""Triangles whose edges are halved until they are as flat as wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Ints, Mask, Points

ROUNDS = 6
"""How often an edge is halved at most."""
MOST = 30_000
"""Triangles, beyond which no edge is halved any more."""


def refined(
    points: Points,
    triangles: Ints,
    middle: Callable[[Points, Points], Points],
    drawn: Callable[[Points], Points],
    flat: float,
) -> tuple[Points, Ints]:
    """Return points and triangles, edges halved where they are drawn too far from the truth.

    `middle` gives the true point half way between two, `drawn` where points are drawn. An edge is
    halved where its true middle is drawn more than `flat` away from the straight line's.
    """
    places = drawn(points)
    for _ in range(ROUNDS):
        if len(triangles) > MOST:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        middles = middle(points[start], points[end])
        true, straight = drawn(middles), 0.5 * (places[start] + places[end])
        bent = np.linalg.norm(true - straight, axis=-1) > flat
        if not bent.any():
            break
        numbers = np.where(bent, np.cumsum(bent) - 1 + len(points), -1)
        triangles = halved(triangles, numbers[sides])
        points = np.concatenate([points, middles[bent]])
        places = np.concatenate([places, true[bent]])
    return points, triangles


def edges_of(triangles: Ints) -> tuple[Ints, Ints]:
    """Return the edges (e, 2), each once, and the numbers of each triangle's three (t, 3).

    Side k of a triangle leads from corner k to the next.
    """
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    key = sides[:, 0] * (int(triangles.max(initial=0)) + 1) + sides[:, 1]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return sides[first], number.reshape(-1, 3)


def rim_of(triangles: Ints) -> Ints:
    """Return the edges (e, 2) of one triangle only, in that triangle's sense."""
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    number = edges_of(triangles)[1].ravel()
    return np.asarray(sides[np.bincount(number, minlength=1)[number] == 1])


def halved(triangles: Ints, middles: Ints) -> Ints:
    """Return the triangles with edges halved at `middles` (t, 3): numbers of points, or -1.

    Neighbours agree on the edges that they share, so nothing gapes.
    """
    parts = [triangles[(middles < 0).all(axis=1)]]
    for k in range(3):
        a, b, c = np.roll(triangles, -k, axis=1).T
        ab, bc, ca = np.roll(middles, -k, axis=1).T
        one = (ab >= 0) & (bc < 0) & (ca < 0)
        parts += [_rows(one, a, ab, c), _rows(one, ab, b, c)]
        two = (ab >= 0) & (bc >= 0) & (ca < 0)
        parts += [_rows(two, ab, b, bc), _rows(two, a, ab, bc), _rows(two, a, bc, c)]
    a, b, c = triangles.T
    ab, bc, ca = middles.T
    every = np.asarray((middles >= 0).all(axis=1))
    for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)):
        parts.append(_rows(every, *corners))
    return np.concatenate(parts)


def _rows(which: Mask, *corners: Ints) -> Ints:
    return np.stack([each[which] for each in corners], axis=1)
