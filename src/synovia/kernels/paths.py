"""The cheapest way through the covers of a path in time."""

from __future__ import annotations

import numpy as np

from .jit import kernel


@kernel
def cheapest_covers(covers, costs, switch, out):
    """Write, for each frame, which cover to take: the least sum of `costs` and of switches.

    `covers` is (covers, frames, 3), `costs` (covers, frames). A step of more than π in the chart
    is a switch, and costs `switch`. Dynamic programming over frames.
    """
    count, frames = costs.shape
    total = costs[:, 0].copy()
    before = np.zeros((count, frames), np.int64)
    following = np.empty(count)
    for t in range(1, frames):
        for b in range(count):
            best, chosen = np.inf, 0
            for a in range(count):
                x = covers[b, t, 0] - covers[a, t - 1, 0]
                y = covers[b, t, 1] - covers[a, t - 1, 1]
                z = covers[b, t, 2] - covers[a, t - 1, 2]
                cost = total[a]
                if x * x + y * y + z * z > np.pi * np.pi:
                    cost += switch
                if cost < best:
                    best, chosen = cost, a
            following[b] = best + costs[b, t]
            before[b, t] = chosen
        for b in range(count):
            total[b] = following[b]
    at = 0
    for b in range(count):
        if total[b] < total[at]:
            at = b
    for t in range(frames - 1, -1, -1):
        out[t] = at
        at = before[at, t]
