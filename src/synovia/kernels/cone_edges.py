"""The nearest point of a reach cone's boundary, for those lanes of a block that need it.

These are gathered first, so that each loop below does the same for all it goes over: which edges
a lane has to look at is as good as random, and a branch on it costs more than what it skips.
"""

from __future__ import annotations

import numpy as np

from .cone_layout import (
    ANGLE,
    CELL,
    CELL_ROW,
    CELLS,
    EDGE,
    EDGES,
    HEIGHT,
    HIGH,
    LOW,
    MARGIN,
    NX,
    NY,
    NZ,
    SLICE,
    SLICES,
    SLOPE,
)
from .euler import angle_of
from .jit import kernel
from .rotation import LANES, PX, PY, PZ, X, Y, Z

TIE = 1.0 - 1e-13  # edges that are as near as this go by their number

# Rows of the work space, which has a column for each lane gathered, those outside first.
NUMBER, BEST, PENDING = 0, LANES, 2 * LANES
ALONG, ACROSS, OVER = 3 * LANES, 4 * LANES, 5 * LANES  # a direction's coordinates at an edge
LANE = 6 * LANES
END, PAST = BEST, PENDING  # and those at its end, when the edge is known
AWAY, SHARE, WHOLE = OVER, END, PAST  # in the end: the angle, and where on the edge
WORK = 7 * LANES + 1  # a lane may be written after the last one, and not be counted


@kernel
def place_of(number):
    """Return a whole number of which the compiler knows that it does not count from the end."""
    return np.int64(np.uint32(number))


@kernel
def gather(p, o, block, n, every, work):
    """List the lanes that need the boundary; return how many are outside, and how many in all.

    Inside, it matters only where it may be nearer than the twist's limits, or if `every` lane asks.
    """
    cells, slope = o + int(p[o + CELLS]), p[o + SLOPE]
    outside = 0
    for i in range(n):
        work[LANE + outside] = i
        outside += 1 if block[HEIGHT + i] < 0.0 else 0
    count = outside
    for i in range(n):
        clear = p[place_of(cells + CELL_ROW * int(block[CELL + i]) + 1)]
        margin = block[MARGIN + i]
        asked = every | ((margin >= 0.0) & (slope * margin > clear))
        work[LANE + count] = i
        count += 1 if asked & (block[HEIGHT + i] >= 0.0) else 0
    return outside, count


@kernel
def distance_to(p, e, x, y, z):
    """Return 1 - cos of the distance from a direction to the edge at `e`."""
    a = p[e] * x + p[e + 1] * y + p[e + 2] * z
    t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
    s = p[e + 6] * x + p[e + 7] * y + p[e + 8] * z
    cosine, sine = p[e + 9], p[e + 10]
    end, past = a * cosine + t * sine, t * cosine - a * sine
    # Forms that are exact for small distances.
    foot = s * s / (1.0 + np.sqrt(a * a + t * t))
    near, far = 1.0 - max(a, end), t if a >= end else past
    corner = 0.5 * (near * near + far * far + s * s)
    return foot if (t >= 0.0) & (past <= 0.0) else corner


@kernel
def choose_edges(p, o, block, work, count):
    """Write the number of the nearest edge; of those as near as each other, the lowest.

    Round k looks at the k-th edge of the cells that have so many.
    """
    cells, edges = o + int(p[o + CELLS]), o + int(p[o + EDGES])
    pending = 0
    for j in range(count):
        cell = place_of(cells + CELL_ROW * int(block[CELL + place_of(work[LANE + j])]))
        work[NUMBER + j] = p[place_of(cells + int(p[cell]))]
        work[BEST + j] = np.inf
        work[PENDING + pending] = j
        pending += 1 if p[cell + CELL_ROW] - p[cell] > 1.0 else 0
    k = 0
    while pending > 0:
        kept = 0
        for m in range(pending):
            j = place_of(work[PENDING + m])
            i = place_of(work[LANE + j])
            cell = place_of(cells + CELL_ROW * int(block[CELL + i]))
            number = p[place_of(cells + int(p[cell]) + k)]
            e = place_of(edges + EDGE * int(number))
            size = distance_to(p, e, block[NX + i], block[NY + i], block[NZ + i])
            best = work[BEST + j]
            nearer = size < best * TIE
            work[BEST + j] = size if nearer else best
            work[NUMBER + j] = number if nearer else work[NUMBER + j]
            work[PENDING + kept] = j
            kept += 1 if p[cell + CELL_ROW] - p[cell] > k + 1.0 else 0
        pending = kept
        k += 1


@kernel
def measure_edges(p, o, block, work, count):
    """Write the angles to the nearest edges, and where on them: shares of start, tangent, end."""
    edges = o + int(p[o + EDGES])
    for j in range(count):
        i, e = place_of(work[LANE + j]), place_of(edges + EDGE * int(work[NUMBER + j]))
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        a = p[e] * x + p[e + 1] * y + p[e + 2] * z
        t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
        work[ALONG + j], work[ACROSS + j] = a, t
        work[OVER + j] = p[e + 6] * x + p[e + 7] * y + p[e + 8] * z
        work[END + j] = a * p[e + 9] + t * p[e + 10]
        work[PAST + j] = t * p[e + 9] - a * p[e + 10]
    for j in range(count):
        a, t, s = work[ALONG + j], work[ACROSS + j], work[OVER + j]
        end, past = work[END + j], work[PAST + j]
        on_edge, at_start = (t >= 0.0) & (past <= 0.0), a >= end
        size = np.sqrt(a * a + t * t)
        across = t if at_start else past
        sine = abs(s) if on_edge else np.sqrt(across * across + s * s)
        work[AWAY + j] = angle_of(sine, size if on_edge else max(a, end), np.float64)
        inverse = 1.0 / max(size, 1e-300)
        corner = 0.0 if at_start else 1.0
        work[SHARE + j] = t / max(t - past, 1e-300) if on_edge else corner
        work[ALONG + j] = a * inverse if on_edge else 1.0 - corner
        work[ACROSS + j] = t * inverse if on_edge else 0.0
        work[WHOLE + j] = 0.0 if on_edge else corner


@kernel
def reach_boundary(p, o, block, n, every):
    """Write the angles to the boundary, negative outside, where they matter (elsewhere ∞).

    Also the nearest legal directions, and for those outside the twist limits there.
    """
    work = np.empty(WORK)
    outside, count = gather(p, o, block, n, every, work)
    choose_edges(p, o, block, work, count)
    measure_edges(p, o, block, work, count)
    edges, slices = o + int(p[o + EDGES]), o + int(p[o + SLICES])
    for i in range(n):
        block[PX + i] = block[X + i]
        block[PY + i] = block[Y + i]
        block[PZ + i] = block[Z + i]
        block[ANGLE + i] = np.inf
    for j in range(outside, count):
        block[ANGLE + place_of(work[LANE + j])] = work[AWAY + j]
    for j in range(outside):
        i, number = place_of(work[LANE + j]), int(work[NUMBER + j])
        e, at = place_of(edges + EDGE * number), place_of(slices + SLICE * number)
        a, t, whole, share = work[ALONG + j], work[ACROSS + j], work[WHOLE + j], work[SHARE + j]
        block[ANGLE + i] = -work[AWAY + j]
        block[PX + i] = a * p[e] + t * p[e + 3] + whole * p[e + 11]
        block[PY + i] = a * p[e + 1] + t * p[e + 4] + whole * p[e + 12]
        block[PZ + i] = a * p[e + 2] + t * p[e + 5] + whole * p[e + 13]
        block[LOW + i] = (1.0 - share) * p[at + 9] + share * p[at + 11]
        block[HIGH + i] = (1.0 - share) * p[at + 10] + share * p[at + 12]
