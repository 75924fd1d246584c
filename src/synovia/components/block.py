"""The work space that components run in, and how arrays get in and out of it.

Rows of LANES numbers, as `kernels.transforms` explains: a scalar is 1 row, a vector 3, a matrix
12, its upper three rows. A network runs through it block after block, so that a large batch needs
no more memory than the caches have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Literal

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints

Kind = Literal["scalar", "vector", "matrix"]
SHAPE: dict[Kind, tuple[int, ...]] = {"scalar": (), "vector": (3,), "matrix": (4, 4)}
WIDTH: dict[Kind, int] = {"scalar": 1, "vector": 3, "matrix": 12}
"""How many numbers, and so rows, a value of each type has."""

LANES = 64
BLOCKS = 16  # at once: fewer calls a pose, against what the caches hold

Step = Callable[[int, int, Floats], object]
"""Reads and writes values of the first n lanes: (n, stride of a block, work space)."""
Finish = Callable[[int, int, int, Floats], object]
"""Collects results: (number of the first lane, and then as a step)."""


def rows_of(kinds: Iterable[Kind]) -> list[int]:
    """Return the first row of each value, one after the other, and last how many there are."""
    return list(accumulate((WIDTH[kind] for kind in kinds), initial=0))


def columns(place: int, kind: Kind) -> Ints:
    """Return the places of a value's rows, which starts at `place`."""
    return place + LANES * np.arange(WIDTH[kind])


def run(
    stages: Sequence[tuple[Sequence[Step], Finish]],
    rows: int,
    table: Floats,
    takes: Ints,
    threads: int = 1,
) -> None:
    """Take the rows of `table` (n, columns) through all stages, some blocks at a time.

    `takes` are the places of the columns. A stage is some steps and what collects their results.
    """
    stride, most = rows * LANES, BLOCKS * LANES

    def part(starts: range) -> None:
        work = np.empty(-(-min(most, len(table)) // LANES) * stride)
        for start in starts:
            n = min(most, len(table) - start)
            kernels.transforms.load(table[start : start + n], takes, n, stride, work)
            for steps, finish in stages:
                for step in steps:
                    step(n, stride, work)
                finish(start, n, stride, work)

    starts = range(0, len(table), most)
    if threads <= 1 or len(starts) < 2:
        part(starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, (starts[k::threads] for k in range(threads))))


def evaluated(steps: Sequence[Step], rows: int, table: Floats, takes: Ints, gives: Ints) -> Floats:
    """Return what stands at the places `gives` (n, columns) when all steps are done."""
    out = np.empty((len(table), len(gives)))

    def finish(start: int, n: int, stride: int, work: Floats) -> None:
        kernels.transforms.store(gives, n, stride, work, out[start : start + n])

    run([(steps, finish)], rows, table, takes)
    return out


def matrices_of(rows: Floats) -> Floats:
    """Return matrices (..., 4, 4) of their upper rows (..., 12)."""
    matrices = np.zeros((*rows.shape[:-1], 4, 4))
    matrices[..., :3, :] = rows.reshape(*rows.shape[:-1], 3, 4)
    matrices[..., 3, 3] = 1.0
    return matrices


def unpacked(table: Floats, kinds: Mapping[str, Kind]) -> dict[str, Floats]:
    """Return the values (..., shape) whose numbers stand side by side in `table` (..., width)."""
    values, first = {}, 0
    for name, kind in kinds.items():
        part = table[..., first : first + WIDTH[kind]]
        first += WIDTH[kind]
        shape = (*table.shape[:-1], *SHAPE[kind])
        values[name] = matrices_of(part) if kind == "matrix" else part.reshape(shape).copy()
    return values
