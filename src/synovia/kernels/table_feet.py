"""The nearest points of a table's walls: pairs of a point and a wall, measured together."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import LANES, PT, PX, PZ
from .table_place import FU, FV, FW, U, V, W


@kernel
def take_wall(q, wall, pair, m):
    """Copy a wall to the pair `m`: from the fifth row on."""
    # Indices without a sign need no look whether they count from the end.
    one, two, three = np.uint32(1), np.uint32(2), np.uint32(3)
    rest = np.uint32(wall + np.uint32(4))
    pair[4 * LANES + m] = q[wall]
    pair[5 * LANES + m] = q[np.uint32(wall + one)]
    pair[6 * LANES + m] = q[np.uint32(wall + two)]
    pair[7 * LANES + m] = q[np.uint32(wall + three)]
    pair[8 * LANES + m] = q[rest]
    pair[9 * LANES + m] = q[np.uint32(rest + one)]
    pair[10 * LANES + m] = q[np.uint32(rest + two)]
    pair[11 * LANES + m] = q[np.uint32(rest + three)]


@kernel
def measure(pair, n):
    """Write the squared chords from points to the nearest points of walls, pair by pair, and those.

    A point: u, v, w, 1/√(u² + v²). A wall: cosine and sine of the longitudes where it begins and
    ends, less than half a turn apart, then of the latitudes; either the longitudes are equal or
    the latitudes are. Feet on great circles are left with the length of the point's shadow there.
    """
    for i in range(n):
        x, y, z = pair[i], pair[LANES + i], pair[2 * LANES + i]
        ax, ay, bx, by = (
            pair[4 * LANES + i],
            pair[5 * LANES + i],
            pair[6 * LANES + i],
            pair[7 * LANES + i],
        )
        c0, s0, c1, s1 = (
            pair[8 * LANES + i],
            pair[9 * LANES + i],
            pair[10 * LANES + i],
            pair[11 * LANES + i],
        )
        # The nearest longitude: that of the point, or of the nearer end.
        inverse = pair[3 * LANES + i]
        between = (ax * y > ay * x) & (x * by > y * bx)
        first = x * ax + y * ay >= x * bx + y * by
        ex = x * inverse if between else (ax if first else bx)
        ey = y * inverse if between else (ay if first else by)
        # On that meridian the foot on the great circle, or the nearer end.
        along, aside = x * ex + y * ey, y * ex - x * ey
        between = (z * c0 > along * s0) & (along * s1 > z * c1)
        first = along * c0 + z * s0 >= along * c1 + z * s1
        c, s = c0 if first else c1, s0 if first else s1
        chord = aside * aside + (along - c) ** 2 + (z - s) ** 2
        shadow = 2.0 * aside * aside / (1.0 + np.sqrt(along * along + z * z))
        pair[12 * LANES + i] = shadow if between else chord
        c, s = along if between else c, z if between else s
        pair[13 * LANES + i] = c * ex
        pair[14 * LANES + i] = c * ey
        pair[15 * LANES + i] = s


@kernel
def keep_nearest(block, pair, owner, n):
    """Measure the first `n` pairs, and keep for each point the nearest foot so far."""
    measure(pair, n)
    for m in range(n):
        k = owner[m]
        # A product is no branch, which would be guessed wrong half the time.
        new = np.float64(pair[12 * LANES + m] < block[PZ + k])
        old = 1.0 - new
        block[PZ + k] = min(pair[12 * LANES + m], block[PZ + k])
        block[FU + k] = new * pair[13 * LANES + m] + old * block[FU + k]
        block[FV + k] = new * pair[14 * LANES + m] + old * block[FV + k]
        block[FW + k] = new * pair[15 * LANES + m] + old * block[FW + k]


@kernel
def feet(p, o, block, pair, owner, n):
    """Write the nearest point of any wall to FU, FV, FW, for the first `n` of U, V, W.

    Pairs of a point and a wall are gathered, then measured together, without branches. First
    come the two walls that every entry has, for all points, then the others of those that have
    more; `owner` is room for the numbers of these points, and of each pair's.
    """
    q = p[o:]
    for k in range(n):
        pair[k] = block[U + k]
        pair[LANES + k] = block[V + k]
        pair[2 * LANES + k] = block[W + k]
        pair[3 * LANES + k] = block[PT + k]
    for number in range(1, 3):
        for k in range(n):
            take_wall(q, np.uint32(q[np.uint32(block[PX + k] + number)]), pair, k)
        measure(pair, n)
        for k in range(n):
            chord = pair[12 * LANES + k]
            nearer = (number == 1) | (chord < block[PZ + k])
            block[PZ + k] = chord if nearer else block[PZ + k]
            block[FU + k] = pair[13 * LANES + k] if nearer else block[FU + k]
            block[FV + k] = pair[14 * LANES + k] if nearer else block[FV + k]
            block[FW + k] = pair[15 * LANES + k] if nearer else block[FW + k]
    many, one = 0, np.uint32(1)
    for k in range(n):
        owner[many] = k
        many += 1 if q[np.uint32(block[PX + k])] > 2.0 else 0
    m = np.uint32(0)
    for j in range(many):
        k = owner[j]
        u, v, w, inverse = block[U + k], block[V + k], block[W + k], block[PT + k]
        entry = np.uint32(block[PX + k])
        last = np.uint32(block[PX + k] + q[entry])
        entry = np.uint32(entry + one + one)
        while entry < last:
            entry = np.uint32(entry + one)
            pair[m] = u
            pair[LANES + m] = v
            pair[2 * LANES + m] = w
            pair[3 * LANES + m] = inverse
            take_wall(q, np.uint32(q[entry]), pair, m)
            owner[LANES + m] = k
            m = np.uint32(m + one)
            if m == LANES:
                keep_nearest(block, pair, owner[LANES:], LANES)
                m = np.uint32(0)
    keep_nearest(block, pair, owner[LANES:], np.int64(m))
