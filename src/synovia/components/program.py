"""Programs: the steps of components, run on a work space for each pose.

A work space is a row of numbers: a scalar has one, a vector three, and a matrix twelve, its upper
three rows. The offset of a value is the index of its first number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints

Kind = Literal["scalar", "vector", "matrix"]
SHAPE: dict[Kind, tuple[int, ...]] = {"scalar": (), "vector": (3,), "matrix": (4, 4)}
WIDTH: dict[Kind, int] = {"scalar": 1, "vector": 3, "matrix": 12}
"""Numbers of a value of each type in the work space."""

POSES = 100  # processed at once: more leave the caches, fewer mean more calls

PythonStep = Callable[[Floats], object]
"""Reads and writes values of the work spaces (n, …)."""


@dataclass(frozen=True, eq=False)
class Instruction:
    """A step that a kernel runs; `kernels.figure` describes operations and their operands."""

    operation: int
    numbers: tuple[Floats, ...] = ()
    lists: tuple[Iterable[int], ...] = ()
    offsets: tuple[int, ...] = ()


Step = Instruction | PythonStep


def value_columns(offset: int, kind: Kind) -> range:
    """Return the offsets of all numbers of the value at `offset`."""
    return range(offset, offset + WIDTH[kind])


class SetRange(NamedTuple):
    """The rows of a program's code, and the controls of a figure, that belong to a joint set."""

    first_row: int
    end_row: int
    first_control: int
    end_control: int


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in the order in which they run; the first loads the controls."""

    steps: Sequence[Step]
    width: int
    """Numbers of the work space."""
    segment_offsets: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """(J, 3): positions of the segments at rest, relative to their parents."""
    stored: int = 0
    """Numbers that `STORE` instructions write for each pose."""
    sets: Mapping[str, SetRange] = field(default_factory=dict)
    """Rows and controls of each joint set of a figure."""
    code: Ints = field(init=False)
    lists: Ints = field(init=False)
    numbers: Floats = field(init=False)
    parts: list[slice | PythonStep] = field(init=False)
    """Rows of the code that run in one call, and steps in Python between them."""

    def __post_init__(self) -> None:
        instructions = [step for step in self.steps if isinstance(step, Instruction)]
        numbers = [
            self.segment_offsets,
            *(array for step in instructions for array in step.numbers),
        ]
        lists = [np.array([*items], np.int64) for step in instructions for items in step.lists]
        number_ranges = pairwise(np.cumsum([0, *(array.size for array in numbers)]).tolist())
        list_ranges = pairwise(np.cumsum([0, *map(len, lists)]).tolist())
        next(number_ranges)  # the segments' offsets
        code = np.zeros((len(instructions), kernels.figure.COLUMNS), np.int64)
        for row, step in zip(code, instructions, strict=True):
            row[0] = step.operation
            for k in range(len(step.numbers)):
                row[1 + 2 * k : 3 + 2 * k] = next(number_ranges)
            for k in range(len(step.lists)):
                row[5 + 2 * k : 7 + 2 * k] = next(list_ranges)
            if step.offsets:
                row[7 : 7 + len(step.offsets)] = step.offsets
        parts: list[slice | PythonStep] = []
        first = 0
        for compiled, group in groupby(self.steps, lambda step: isinstance(step, Instruction)):
            members = list(group)
            if compiled:
                parts.append(slice(first, first + len(members)))
                first += len(members)
            else:
                parts += [step for step in members if not isinstance(step, Instruction)]
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "lists", np.concatenate([np.zeros(0, np.int64), *lists]))
        object.__setattr__(self, "numbers", np.concatenate([array.ravel() for array in numbers]))
        object.__setattr__(self, "parts", parts)

    @cached_property
    def is_compiled(self) -> bool:
        """True if no step is in Python."""
        return not any(callable(part) for part in self.parts)

    def run(self, table: Floats) -> tuple[Floats, Floats, Floats]:
        """Return rotations (n, J, 4), positions (n, J, 3) and stored numbers (n, …).

        `table` (n, C) has the controls of a pose in each row.
        """
        n, joints = len(table), len(self.segment_offsets)
        table = np.ascontiguousarray(table)
        results = (np.empty((n, joints, 4)), np.empty((n, joints, 3)), np.empty((n, self.stored)))
        work = np.empty((min(POSES, n), self.width))
        for start in range(0, n, POSES):
            block = slice(start, min(start + POSES, n))
            arrays = (table[block], work, *(result[block] for result in results))
            for part in self.parts:
                if isinstance(part, slice):
                    kernels.figure.run(self.code[part], self.lists, self.numbers, *arrays)
                else:
                    part(work[: block.stop - start])
        return results
