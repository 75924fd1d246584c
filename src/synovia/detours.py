"""Ways from one member of a region to another that do not leave it, for what is not convex."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .arrays import Floats, Points, Scalars
from .shapes import Shape

BENDS = (0.2, 0.4, 0.7, 1.0)  # how far towards the inside


def eased(share: Scalars) -> Scalars:
    """Return shares from 0 to 1 that begin and end slowly."""
    return share * share * (3.0 - 2.0 * share)


def ways(shape: Shape, path: Points, at: int, members: Points) -> Iterator[Points]:
    """Yield ways of members (n, d) for a `path` of members that jumps to its point `at`.

    They have its ends. The first ones follow it, and go over from the one side to the other
    straight, then more and more bent towards the inside: in a reach cone there is always such a
    way. The last one goes by short steps from one of `members` (m, d) to another, around whatever
    is between.
    """
    share = eased(np.linspace(0.0, 1.0, len(path)))
    early = (np.arange(len(path)) < at)[:, None]
    other = np.where(early, path[at], path[at - 1])
    straight = shape.toward(path, other, np.where(early[:, 0], share, 1.0 - share))
    yield _between(path, shape.project(straight))
    inside = np.broadcast_to(members[shape.distance(members).argmin()], path.shape)
    for bend in BENDS:
        bent = shape.toward(straight, inside, bend * 4.0 * share * (1.0 - share))
        yield _between(path, shape.project(bent))
    stops = _stepping_stones(shape, np.concatenate([path[:1], members, path[-1:]]))
    yield _between(path, shape.project(_along(shape, stops, share)))


def _between(path: Points, way: Points) -> Points:
    way[0], way[-1] = path[0], path[-1]
    return way


def _stepping_stones(shape: Shape, members: Points) -> Points:
    """Return the members from the first to the last with the least sum of squared steps."""
    n = len(members)
    away: Floats = np.sum(shape.moves(members[:, None], members[None]) ** 2, axis=-1)
    cost, before = away[0].copy(), np.zeros(n, dtype=np.int64)
    done = np.zeros(n, dtype=bool)
    while not done[-1]:
        here = int(np.where(done, np.inf, cost).argmin())
        done[here] = True
        through = cost[here] + away[here]
        nearer = through < cost
        cost[nearer], before[nearer] = through[nearer], here
    route = [n - 1]
    while route[-1] != 0:
        route.append(int(before[route[-1]]))
    return members[route[::-1]]


def _along(shape: Shape, stops: Points, share: Scalars) -> Points:
    """Return the points at shares of the length of the way through `stops`."""
    length = np.concatenate([[0.0], np.cumsum(_steps(shape, stops))])
    place = np.interp(share * length[-1], length, np.arange(len(stops)))
    first = np.minimum(place.astype(np.int64), len(stops) - 2)
    return shape.toward(stops[first], stops[first + 1], place - first)


def _steps(shape: Shape, path: Points) -> Scalars:
    return np.asarray(np.linalg.norm(shape.moves(path[:-1], path[1:]), axis=-1))
