"""Volume of a table, and members uniform in it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors
from ..region import Surface
from .grid import areas, centres, edges, greatest_around, vectors_at

NODES = 250_000  # directions that an integral is taken over, at least, unless told
THIN = 1e-9


def volume(
    beyond: Callable[[Vectors], Scalars],
    twists: Callable[[Vectors], Floats],
    cells: Mask,
    nodes: int = NODES,
) -> float:
    """Return the integral of the width of the twists, at most 2π, over the legal directions.

    In the table's frame; `cells` are those that legal directions may lie in. Each of so many nodes
    on the sphere stands for its little cell; one that the boundary cuts counts by how much of it
    is legal.
    """
    cut = int(np.ceil(np.sqrt(nodes / cells.size)))
    fine = np.repeat(np.repeat(cells, cut, axis=0), cut, axis=1)
    directions, area = centres(fine.shape)[fine], areas(fine.shape)[fine]
    share = np.clip(0.5 - beyond(directions) / np.sqrt(area), 0.0, 1.0)
    low, high = np.moveaxis(twists(directions), -1, 0)
    width = np.clip(high - low, 0.0, TURN)
    return float((area * share * np.where(width > THIN, width, 0.0)).sum())


def sample_table(
    beyond: Callable[[Vectors], Scalars],
    twists: Callable[[Vectors], Floats],
    cells: Mask,
    widths: Floats,
    n: int,
    rng: np.random.Generator,
) -> Points:
    """Return `n` members (n, 4), uniform in direction and twist, in the table's frame.

    `widths` are those at all centres. Without any width, members are uniform in direction.
    """
    shape = cells.shape
    widths = np.minimum(widths, TURN)
    thin = bool((widths <= THIN).all())
    widest = greatest_around(np.ones(shape) if thin else widths)
    weights = (np.where(cells, areas(shape), 0.0) * widest).ravel()
    phi, theta = edges(shape)
    kept: list[Points] = [np.empty((0, 4))]
    while sum(len(points) for points in kept) < n:
        count = 2 * n + 64
        row, column = np.divmod(
            rng.choice(weights.size, count, p=weights / weights.sum()), shape[1]
        )
        height = rng.uniform(np.sin(phi[row]), np.sin(phi[row + 1]))
        directions = vectors_at(rng.uniform(theta[column], theta[column + 1]), np.arcsin(height))
        low, high = np.moveaxis(twists(directions), -1, 0)
        width = np.minimum(high - low, TURN)
        share = np.ones(count) if thin else width / widest[row, column]
        legal = (beyond(directions) <= 0.0) & (rng.random(count) <= share)
        twist = 0.5 * (low + high) + (rng.random(count) - 0.5) * width
        kept.append(np.column_stack([directions, twist])[legal])
    return np.concatenate(kept)[:n]


# The boundary of a table as triangles: a sheet at either end of the twists, and walls between.


ROUND = 1e-9
HALVINGS = 45
AT_THE_CORNER = 1e-6  # a share of an edge: a crossing nearer to its inner end than this is there


def surface_of(
    beyond: Callable[[Vectors], Scalars],
    twists: Callable[[Vectors], Floats],
    shape: tuple[int, int],
    detail: int,
) -> Surface:
    """Return triangles whose vertices (v, 4) lie on the boundary, in the table's frame.

    `beyond` gives signed distances of directions from the legal ones, `twists` low and high.
    A sheet of directions is raised to both ends of the twists; where the twist is free, there are
    no ends, and only the walls are left, a whole turn high.
    """
    directions, triangles = _sheet(beyond, shape, detail)
    low, high = np.moveaxis(twists(directions), -1, 0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    free = half > 0.5 * TURN
    half = np.minimum(half, 0.5 * TURN)
    n = len(directions)
    raised = [
        np.column_stack([directions, middle - half]),
        np.column_stack([directions, middle + half]),
    ]
    ended = triangles[~free[triangles].any(axis=1)]
    a, b = _rim(triangles).T
    bare = free & (beyond(directions) < -ROUND)
    keep = ~(bare[a] | bare[b])
    a, b = a[keep], b[keep]
    sides = [np.stack([a, b, b + n], axis=1), np.stack([a, b + n, a + n], axis=1)]
    return _drop_unused(np.concatenate(raised), np.concatenate([ended[:, ::-1], ended + n, *sides]))


def _drop_unused(vertices: Floats, triangles: Ints) -> Surface:
    """Return the triangles with only the vertices that they use."""
    kept, number = np.unique(triangles, return_inverse=True)
    return Surface(vertices[kept], number.reshape(-1, 3))


def _rim(triangles: Ints) -> Ints:
    """Return the edges (e, 2) of one triangle only, in that triangle's sense."""
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    _, number, count = np.unique(
        np.sort(sides, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return np.asarray(sides[count[number.ravel()] == 1])


def _mesh(shape: tuple[int, int], detail: int) -> tuple[Vectors, Ints]:
    """Return the sphere as triangles between the cells' corners, cells cut finer by `detail`."""
    cut = max(1, -(-8 * 2**detail // shape[0]))
    rows, columns = shape[0] * cut, shape[1] * cut
    phi, theta = edges((rows, columns))
    vertices = vectors_at(theta[:-1], phi[:, None]).reshape(-1, 3)
    number = np.arange((rows + 1) * columns).reshape(rows + 1, columns)
    number[0], number[-1] = 0, rows * columns
    here, right = number, np.roll(number, -1, axis=1)
    a, b, c, d = (part.ravel() for part in (here[:-1], right[:-1], right[1:], here[1:]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    p, q, r = triangles.T
    return vertices, triangles[(p != q) & (q != r) & (r != p)]


def _sheet(
    beyond: Callable[[Vectors], Scalars], shape: tuple[int, int], detail: int
) -> tuple[Vectors, Ints]:
    """Return the legal directions as triangles: those of a mesh, cut off at the boundary."""
    vertices, triangles = _mesh(shape, detail)
    inside = beyond(vertices) <= ROUND
    count = inside[triangles].sum(axis=1)
    whole = triangles[count == 3]
    middle = vertices[whole].sum(axis=1)
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    whole = whole[beyond(middle) <= ROUND]
    parts = [whole]
    # Turned so that the corner that differs from the two others comes first.
    lone = triangles[(count == 1) | (count == 2)]
    if len(lone):
        odd = inside[lone] == (inside[lone].sum(axis=1, keepdims=True) == 1)
        first = odd.argmax(axis=1)
        a, b, c = (np.take_along_axis(lone, (first[:, None] + k) % 3, 1)[:, 0] for k in range(3))
        ab, ac, vertices = _crossings(beyond, vertices, inside, a, b, c)
        out = ~inside[a]
        parts.append(np.stack([a, ab, ac], axis=1)[~out])
        parts.append(np.stack([ab, b, c], axis=1)[out])
        parts.append(np.stack([ab, c, ac], axis=1)[out])
    triangles = np.concatenate(parts)
    p, q, r = triangles.T
    return vertices, triangles[(p != q) & (q != r) & (r != p)]


def _crossings(
    beyond: Callable[[Vectors], Scalars], vertices: Vectors, inside: Mask, a: Ints, b: Ints, c: Ints
) -> tuple[Ints, Ints, Vectors]:
    """Return where the edges a–b and a–c cross the boundary, and the vertices with these."""
    pairs = np.concatenate([np.stack([a, b], axis=1), np.stack([a, c], axis=1)])
    pairs = np.where(inside[pairs[:, :1]], pairs, pairs[:, ::-1])  # the inner end first
    edge, number = np.unique(pairs, axis=0, return_inverse=True)
    start, end = vertices[edge[:, 0]], vertices[edge[:, 1]]
    low, high = np.zeros((len(edge), 1)), np.ones((len(edge), 1))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        point = start + middle * (end - start)
        point /= np.linalg.norm(point, axis=1, keepdims=True)
        still = (beyond(point) <= 0.0)[:, None]
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    found = start + low * (end - start)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    at_start = low[:, 0] < AT_THE_CORNER
    crossing = np.where(at_start, edge[:, 0], len(vertices) + np.arange(len(edge)))
    ab, ac = np.split(crossing[number.ravel()], 2)
    return ab, ac, np.concatenate([vertices, found])
