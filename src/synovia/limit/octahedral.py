"""Values at directions all over the sphere: a grid of triangles on it, linear in each.

A direction is drawn onto the octahedron |x| + |y| + |z| = 1, each of whose faces is cut into n²
equal triangles. Which triangle it is in follows from rounding, so nothing is searched for. There
are 4 n² + 2 nodes, in the order of their coordinates.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..arrays import Floats, Ints, Scalars, Vectors, unit_vectors


@cache
def _lattice(n: int) -> tuple[Ints, Ints]:
    """Return the nodes (m, 3), whole numbers with |i| + |j| + |k| = n, and where each is."""
    ways = np.arange(-n, n + 1)
    every = np.stack(np.meshgrid(ways, ways, ways, indexing="ij"), axis=-1).reshape(-1, 3)
    nodes = every[np.abs(every).sum(axis=1) == n]
    places = np.zeros((2 * n + 1,) * 3, dtype=np.int64)
    places[tuple((nodes + n).T)] = np.arange(len(nodes))
    return nodes, places


def node_directions(n: int) -> Vectors:
    """Return the unit directions (4 n² + 2, 3) of the nodes."""
    return unit_vectors(_lattice(n)[0].astype(np.float64))


def divisions(nodes: int) -> int:
    """Return into how many parts edges are cut, from the number of nodes; 0 where none fits."""
    n = round(np.sqrt(max(nodes - 2, 0) / 4.0))
    return n if n > 0 and 4 * n * n + 2 == nodes else 0


def locate(directions: Vectors, n: int) -> tuple[Ints, Scalars]:
    """Return the three nodes (..., 3) around directions, and what each of them weighs."""
    size = np.abs(directions).sum(axis=-1, keepdims=True)
    place = n * np.abs(directions) / np.maximum(size, 1e-300)
    whole = np.floor(place)
    part = place - whole
    kind = np.rint(part.sum(axis=-1)).astype(np.int64)[..., None]
    # Parts that sum to 1 are weights of the corners one step on; to 2, of those two steps on; to 0
    # or 3, but for rounding, they are a node.
    near = np.where(kind == 3, whole + 1.0, whole)[..., None, :]
    step = np.where((kind == 2)[..., None], 1.0 - np.eye(3), np.eye(3))
    corners = near + np.where(((kind == 1) | (kind == 2))[..., None], step, 0.0)
    weights = np.where(kind == 1, part, np.where(kind == 2, 1.0 - part, 1.0 / 3.0))
    signs = np.where(directions < 0.0, -1, 1)
    index = (corners * signs[..., None, :]).astype(np.int64) + n
    found = _lattice(n)[1][index[..., 0], index[..., 1], index[..., 2]]
    return found, weights / weights.sum(axis=-1, keepdims=True)


@cache
def triangles(n: int) -> Ints:
    """Return the corners (8 n², 3) of all triangles, by the number of the node."""
    nodes, _ = _lattice(n)
    inner = np.array([(i, j) for i in range(n) for j in range(n - i)], dtype=np.float64)
    up = np.column_stack([inner, n - inner.sum(axis=1)]) + np.array([1, 1, -2]) / 3.0
    inner = inner[inner.sum(axis=1) < n - 1]
    down = np.column_stack([inner, n - inner.sum(axis=1)]) + np.array([2, 2, -4]) / 3.0
    middles = np.concatenate([up, down])
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    corners, _ = locate((middles * signs[:, None]).reshape(-1, 3), n)
    places = nodes[corners].astype(np.float64)
    turned = np.linalg.det(places) < 0.0
    return np.where(turned[:, None], corners[:, ::-1], corners)


def steepest(values: Floats) -> float:
    """Return a bound on how fast the values (nodes, k) change with the direction, per radian.

    Along a face they change by their gradient there. On the way from the sphere to a face of the
    octahedron, lengths grow by √3 at most: at its corners.
    """
    n = divisions(len(values))
    corners, places = values[triangles(n)], _lattice(n)[0][triangles(n)].astype(np.float64)
    edges = (places[:, 1:] - places[:, :1]) / n
    rises = corners[:, 1:] - corners[:, :1]
    # Of a gradient g in the plane of the edges E: E g = rises, |g|² = risesᵀ (E Eᵀ)⁻¹ rises.
    metric = np.linalg.inv(edges @ np.swapaxes(edges, 1, 2))
    squares = np.einsum("tik,tij,tjk->tk", rises, metric, rises)
    return float(np.sqrt(3.0 * np.maximum(squares, 0.0).max(initial=0.0)))


@cache
def mirror_nodes(n: int) -> Ints:
    """Return which node a mirror across x shows at the place of each."""
    nodes, places = _lattice(n)
    return np.asarray(places[tuple((nodes * [-1, 1, 1] + n).T)])
