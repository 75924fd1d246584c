"""Volume of a theta-phi table, and uniform members."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import TURN, Floats, Mask, Points, Scalars, Vectors
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
