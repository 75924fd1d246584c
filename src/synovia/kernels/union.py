"""Several cones as one shape: the nearest member is the nearest of the parts'."""

from __future__ import annotations

import numpy as np

from .cone import SIZE, cone
from .jit import kernel
from .rotation import DISTANCE, LANES, PT, PX, PY, PZ


@kernel
def union(p, o, block, n):
    """Run every part and keep the nearest, the first of those that tie.

    Parameters: the number of cones, then each as it is packed, with its kind and its size.
    """
    best = np.empty(5 * LANES)
    at = o + 1
    for part in range(int(p[o])):
        cone(p, at + 1, block, n)
        for i in range(n):
            if part == 0 or block[DISTANCE + i] < best[i]:
                best[i] = block[DISTANCE + i]
                best[LANES + i] = block[PX + i]
                best[2 * LANES + i] = block[PY + i]
                best[3 * LANES + i] = block[PZ + i]
                best[4 * LANES + i] = block[PT + i]
        at += 1 + int(p[at + 1 + SIZE])
    for i in range(n):
        block[DISTANCE + i] = best[i]
        block[PX + i] = best[LANES + i]
        block[PY + i] = best[2 * LANES + i]
        block[PZ + i] = best[3 * LANES + i]
        block[PT + i] = best[4 * LANES + i]
