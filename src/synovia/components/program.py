"""The steps of a figure as one compiled program, for batches."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from .block import LANES
from .posed import Stage

MANY = 1024
"""Poses from which on a program pays: it takes seconds to compile, once, on top of its steps."""
AT_ONCE = 2 * LANES
"""Poses that go through all steps together: so many that their work space stays in the caches."""
SHARES = 4
"""Parts of a batch for each thread: one that is held up leaves some of its own to the others."""


@dataclass(frozen=True, eq=False)
class Program:
    """What `kernels.program` reads: a row for each step, lists of places, and numbers."""

    code: Ints
    lists: Ints
    numbers: Floats

    def run(
        self,
        table: Floats,
        rows: int,
        offsets: Floats,
        rotations: Floats,
        positions: Floats,
        off: Floats,
        threads: int,
    ) -> None:
        """Write the poses (n, J, …) of rows of controls (n, C), and how far components are off."""
        takes, stride = LANES * np.arange(table.shape[1]), rows * LANES

        def part(first: int, last: int) -> None:
            kernels.program.run(
                *(self.code, self.lists, self.numbers, table, takes, first, last, AT_ONCE, stride),
                *(offsets, rotations, positions, off),
            )

        n = len(table)
        if threads <= 1:
            part(0, n)
            return
        parts = min(SHARES * threads, -(-n // AT_ONCE))
        cuts = [n * k // parts // AT_ONCE * AT_ONCE for k in range(parts)] + [n]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, cuts[:-1], cuts[1:]))


def programmed(stages: Sequence[Stage]) -> Program | None:
    """Return the steps of all stages as one program; none where a step is not a kernel's."""
    steps = kernels.program.STEPS
    store, pose = steps.index(kernels.transforms.store), steps.index(kernels.posing.pose)
    code: list[list[int]] = []
    lists: list[int] = []
    numbers: list[Floats] = []
    gaps = 0

    def listed(places: Ints) -> list[int]:
        lists.extend(places.tolist())
        return [len(lists) - len(places), len(lists)]

    def counted(array: Floats) -> list[int]:
        numbers.append(array.ravel())
        end = sum(map(len, numbers))
        return [end - array.size, end]

    for stage in stages:
        for step in stage.steps:
            if not isinstance(step, partial) or step.func not in steps:
                return None
            arrays = [each for each in step.args if isinstance(each, np.ndarray)]
            stretches = [counted(each) for each in arrays if each.dtype == np.float64]
            places = [listed(each) for each in arrays if each.dtype != np.float64]
            one, other = [*stretches, [0, 0], [0, 0]][:2]
            single = [int(each) for each in step.args if not isinstance(each, np.ndarray)]
            code.append([steps.index(step.func), *one, *other, *[*places, [0, 0]][0], *single])
        code.append([pose, 0, 0, 0, 0, *listed(stage.segments), *listed(stage.transforms)])
        code.append([store, 0, 0, 0, 0, *listed(stage.gaps), gaps, gaps + len(stage.gaps)])
        gaps += len(stage.gaps)
    table = np.zeros((len(code), kernels.program.COLUMNS), np.int64)
    for row, found in zip(table, code, strict=True):
        row[: len(found)] = found
    return Program(table, np.array(lists, np.int64), np.ascontiguousarray(np.concatenate(numbers)))
