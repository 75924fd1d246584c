"""How large a table is: volume, uniform members, and its surface."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors
from ..boundary import drop_degenerate, drop_unused_points
from .grid import areas, cache_by_shape, centres, edges, greatest_around, vectors_at

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


AROUND = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
"""Corners of a cell and the middles of its sides, in halves of rows and columns."""


def cell_triangles(cells: Mask, legal: Mask, detail: int) -> tuple[Vectors, Ints]:
    """Return directions in the table's frame, and triangles of cells that meet at their centres.

    There are eight of each: twists are interpolated between the centres of cells, so that their
    ranges bend at the lines through them. With a detail of 0 there are four, or two of
    cells whose centre is `legal`, so that those have none.
    """
    columns = cells.shape[1]
    directions, number = _corners(cells.shape)
    row, column = np.nonzero(cells)
    ring = np.stack(
        [
            number[2 * row + r, (2 * column + c) % (2 * columns)]
            for r, c in (AROUND if detail > 0 else AROUND[::2])
        ],
        axis=1,
    )
    centre = np.broadcast_to(number[2 * row + 1, 2 * column + 1, None], ring.shape)
    triangles = np.stack([centre, ring, np.roll(ring, -1, axis=1)], axis=-1)
    if detail == 0:
        plain = legal[row, column]
        halves = ring[plain][:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        triangles = np.concatenate([halves, triangles[~plain].reshape(-1, 3)])
    triangles = triangles.reshape(-1, 3)
    kept, triangles = drop_unused_points(drop_degenerate(triangles), len(directions))
    return directions[kept], triangles


@cache_by_shape
def _corners(shape: tuple[int, int]) -> tuple[Vectors, Ints]:
    """Return corners, middles of sides and centres of all cells, and the number of each.

    All of a pole have one number.
    """
    rows, columns = shape
    phi, theta = edges((2 * rows, 2 * columns))
    directions = vectors_at(theta[:-1], phi[:, None]).reshape(-1, 3)
    number = np.arange((2 * rows + 1) * 2 * columns).reshape(2 * rows + 1, -1)
    number[0], number[-1] = number[0, 0], number[-1, 0]
    return directions, number
