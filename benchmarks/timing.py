"""Timing functions of the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(run: Callable[[], object], repeats: int = 15) -> float:
    """Return the shortest time of several runs after a warm-up, in seconds."""
    return side_by_side(run, repeats=repeats)[0]


def side_by_side(*runs: Callable[[], object], repeats: int = 15) -> list[float]:
    """Return the shortest time of each function, in seconds, run alternately after a warm-up.

    A machine whose speed changes is the same for all of them, so that ratios are fair.
    """
    for run in runs:
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]
