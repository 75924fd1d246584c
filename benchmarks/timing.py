"""How long things take: the one stop-watch of the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(run: Callable[[], object], repeats: int = 15) -> float:
    """Return the shortest of several runs, in seconds; one run before them does not count."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
