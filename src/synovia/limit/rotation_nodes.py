"""Values at rotations all over: a grid of tetrahedra over unit quaternions, linear in each.

As `octahedral`, in four dimensions: a quaternion is drawn onto the polytope |w| + |x| + |y| + |z| =
1, each of whose 16 facets is cut into n³ tetrahedra (Kuhn's). q and -q are the same rotation, and
so are their nodes: there are (4 n³ + 8 n)/3, some 28 degrees apart for n = 8.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np

from ..arrays import Floats, Ints, Quats, Scalars


@cache
def _lattice(n: int) -> tuple[Ints, Ints]:
    """Return the nodes (m, 4), whole numbers whose sizes sum to n, and where each is."""
    ways = np.arange(-n, n + 1)
    every = np.stack(np.meshgrid(*[ways] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    every = every[np.abs(every).sum(axis=1) == n]
    first = every[np.arange(len(every)), (every != 0).argmax(axis=1)]
    nodes = every[first > 0]
    places = np.zeros((2 * n + 1,) * 4, dtype=np.int64)
    for side in (nodes, -nodes):
        places[tuple((side + n).T)] = np.arange(len(nodes))
    return nodes, places


def node_rotations(n: int) -> Quats:
    """Return the rotations ((4 n³ + 8 n)/3, 4) of the nodes."""
    nodes = _lattice(n)[0].astype(np.float64)
    return np.asarray(nodes / np.linalg.norm(nodes, axis=1, keepdims=True))


def divisions(nodes: int) -> int:
    """Return into how many parts edges are cut, from the number of nodes; 0 where none fits."""
    n = round((0.75 * max(nodes, 0)) ** (1.0 / 3.0))
    return next((k for k in range(max(n - 2, 1), n + 1) if 4 * k**3 + 8 * k == 3 * nodes), 0)


def locate(rotations: Quats, n: int) -> tuple[Ints, Scalars]:
    """Return the four nodes (..., 4) around rotations, and what each of them weighs."""
    size = np.abs(rotations)
    sums = np.cumsum(size / np.maximum(size.sum(axis=-1, keepdims=True), 1e-300), axis=-1)
    place = n * np.minimum(sums[..., :3], 1.0)
    whole = np.floor(place)
    part = place - whole
    # Kuhn's tetrahedra: from the corner below, one step along each axis, the largest part first,
    # and of equal parts the last, so that sums stay in order.
    order = 2 - np.argsort(-part[..., ::-1], axis=-1, kind="stable")
    parts = np.take_along_axis(part, order, axis=-1)
    ends = np.concatenate([np.ones_like(parts[..., :1]), parts, np.zeros_like(parts[..., :1])], -1)
    weights = ends[..., :-1] - ends[..., 1:]
    steps = np.cumsum(np.eye(3)[order], axis=-2)
    corners = whole[..., None, :] + np.concatenate([np.zeros_like(steps[..., :1, :]), steps], -2)
    corners = np.where(weights[..., None] > 0.0, corners, whole[..., None, :])
    bounded = np.concatenate(
        [np.zeros_like(corners[..., :1]), corners, np.full_like(corners[..., :1], n)], axis=-1
    )
    signs = np.where(rotations < 0.0, -1, 1)
    index = (np.diff(bounded, axis=-1) * signs[..., None, :]).astype(np.int64) + n
    return _lattice(n)[1][tuple(np.moveaxis(index, -1, 0))], weights


@cache
def tetrahedra(n: int) -> tuple[Ints, Floats]:
    """Return the corners (8 n³, 4) of all tetrahedra, by node, and where they are: (8 n³, 4, 4)."""
    ways = np.arange(n)
    base = np.stack(np.meshgrid(ways, ways, ways, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    sums = (base + np.array(list(permutations((0.25, 0.5, 0.75))))).reshape(-1, 3)
    sums = sums[(np.diff(sums, axis=1) >= 0.0).all(axis=1)]
    ends = np.zeros((len(sums), 1)), np.full((len(sums), 1), float(n))
    middles = np.diff(np.concatenate([ends[0], sums, ends[1]], axis=1), axis=1)
    signs = np.array([(1.0, *each) for each in product((-1.0, 1.0), repeat=3)])
    middles = (middles * signs[:, None]).reshape(-1, 4)
    corners, _ = locate(middles, n)
    places = _lattice(n)[0][corners].astype(np.float64) / n
    # Of the two quaternions of a node, the one on this side.
    same = np.einsum("tcd,td->tc", places, middles) >= 0.0
    return corners, np.where(same[..., None], places, -places)


def steepest(values: Floats) -> float:
    """Return a bound on how fast the values (nodes, k) change with the rotation, per radian.

    On the way from unit quaternions to a facet lengths grow by 2 at most, at its corners; and
    quaternions are half as far apart as rotations.
    """
    corners, places = tetrahedra(divisions(len(values)))
    edges, rises = places[:, 1:] - places[:, :1], np.diff(values[corners], axis=1)
    rises = np.cumsum(rises, axis=1)
    metric = np.linalg.inv(edges @ np.swapaxes(edges, 1, 2))
    squares = np.einsum("tik,tij,tjk->tk", rises, metric, rises)
    return float(np.sqrt(np.maximum(squares, 0.0).max(initial=0.0)))
