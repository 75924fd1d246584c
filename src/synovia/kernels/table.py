"""Tables of directions, in blocks: which cell, the nearest wall, the twists there.

Walls are where legal and illegal cells meet: arcs of meridians, and of parallels. A grid, as fine
as the table's cells or finer, keeps for each of its places the few walls that can be nearest to
any point of it, so a look-up and two or three distances give the nearest boundary point exactly,
however many cells there are. Places deep inside keep how deep they are, at least: points there,
which are most, need no wall.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .polynomials import atan_over_root
from .rotation import DISTANCE, LANES, PT, PX, PY, PZ, T, X, Y, Z
from .table_place import (
    COLUMN,
    COLUMNS,
    COS_MARGIN,
    FINE,
    FRAME,
    FU,
    FV,
    FW,
    GENTLE,
    MARGIN,
    PLACES,
    ROW,
    ROWS,
    SIN_MARGIN,
    TURN,
    U,
    V,
    W,
    interpolate,
    place,
)

DEEP = 4.0  # a place's number: below this its depth, beyond it where its entry stands


@kernel
def wall_feet(pair, n):
    """Write the nearest point of each pair's wall to its point, and the squared chord.

    A wall: cosine and sine of the longitudes where it begins and ends, less than half a turn
    apart, then of the latitudes; either the longitudes are equal or the latitudes are.
    """
    for i in range(n):
        x, y, z = pair[i], pair[LANES + i], pair[2 * LANES + i]
        ax, ay, bx, by = (
            pair[3 * LANES + i],
            pair[4 * LANES + i],
            pair[5 * LANES + i],
            pair[6 * LANES + i],
        )
        c0, s0, c1, s1 = (
            pair[7 * LANES + i],
            pair[8 * LANES + i],
            pair[9 * LANES + i],
            pair[10 * LANES + i],
        )
        # The nearest longitude: that of the point, or of the nearer end.
        inverse = 1.0 / max(np.sqrt(x * x + y * y), 1e-300)
        between = (ax * y > ay * x) & (x * by > y * bx)
        first = x * ax + y * ay >= x * bx + y * by
        ex = x * inverse if between else (ax if first else bx)
        ey = y * inverse if between else (ay if first else by)
        # On that meridian the foot on the great circle, or the nearer end.
        along = x * ex + y * ey
        size = 1.0 / max(np.sqrt(along * along + z * z), 1e-300)
        between = (z * c0 > along * s0) & (along * s1 > z * c1)
        first = along * c0 + z * s0 >= along * c1 + z * s1
        c = along * size if between else (c0 if first else c1)
        s = z * size if between else (s0 if first else s1)
        fx, fy = c * ex, c * ey
        pair[11 * LANES + i] = (x - fx) ** 2 + (y - fy) ** 2 + (z - s) ** 2
        pair[12 * LANES + i] = fx
        pair[13 * LANES + i] = fy
        pair[14 * LANES + i] = s


@kernel
def near_walls(p, o, block, lanes, n):
    """Write −depth to DISTANCE where it is known; return how many lanes need the nearest wall.

    Those are listed in `lanes`. Their points are moved to the front of U, V, W, as unit vectors;
    to PX at the front goes where the entry of each stands, to PY 1 outside the cells, −1 inside.
    """
    q = p[o:]
    fine = q[FINE]
    rows, columns, places = q[ROWS] * fine, q[COLUMNS] * fine, q[PLACES]
    for i in range(n):
        # In this order NaN, which is seen to later, becomes 0 instead of no place at all.
        row = min(max(0.0, np.floor(block[ROW + i] * fine)), rows - 1.0)
        column = min(max(0.0, np.floor(block[COLUMN + i] * fine)), columns - 1.0)
        block[PX + i] = places + row * columns + column
    active = 0
    for i in range(n):
        code = q[np.uint32(block[PX + i])]
        block[DISTANCE + i] = -code
        block[PX + active] = code
        lanes[active] = i
        active += 0 if (code >= 0.0) & (code < DEEP) else 1
    for k in range(active):
        lane = lanes[k]
        block[U + k] = block[U + lane]
        block[V + k] = block[V + lane]
        block[W + k] = block[W + lane]
    for k in range(active):
        u, v, w = block[U + k], block[V + k], block[W + k]
        scale = 1.0 / max(np.sqrt(u * u + v * v + w * w), 1e-300)
        block[U + k] = u * scale
        block[V + k] = v * scale
        block[W + k] = w * scale
        code = block[PX + k]
        block[PY + k] = 1.0 if code < 0.0 else -1.0
        block[PX + k] = abs(code)
    return active


@kernel
def keep_nearest(block, pair, owner, n):
    """Measure the first `n` pairs, and keep for each point the nearest foot so far."""
    wall_feet(pair, n)
    for m in range(n):
        k = owner[m]
        # A product is no branch, which would be guessed wrong half the time.
        chord, least = pair[11 * LANES + m], block[PZ + k]
        new = np.float64(chord < least)
        old = 1.0 - new
        block[PZ + k] = min(chord, least)
        block[FU + k] = new * pair[12 * LANES + m] + old * block[FU + k]
        block[FV + k] = new * pair[13 * LANES + m] + old * block[FV + k]
        block[FW + k] = new * pair[14 * LANES + m] + old * block[FW + k]


@kernel
def feet(p, o, block, pair, owner, n):
    """Write the nearest point of any wall to FU, FV, FW, for the first `n` of U, V, W.

    Pairs of a point and a wall are gathered, then measured together, without branches; `owner`
    is room for the number of each pair's point.
    """
    q = p[o:]
    for k in range(n):
        block[PZ + k] = 5.0  # more than any squared chord
        block[FU + k] = 0.0
        block[FV + k] = 0.0
        block[FW + k] = 0.0
    # Indices without a sign need no look whether they count from the end.
    one, m = np.uint32(1), np.uint32(0)
    for k in range(n):
        u, v, w = block[U + k], block[V + k], block[W + k]
        entry = np.uint32(block[PX + k])
        last = np.uint32(block[PX + k] + q[entry])
        while entry < last:
            entry = np.uint32(entry + one)
            wall = np.uint32(q[entry])
            owner[m] = k
            pair[m] = u
            pair[LANES + m] = v
            pair[2 * LANES + m] = w
            pair[3 * LANES + m] = q[wall]
            pair[4 * LANES + m] = q[wall + 1]
            pair[5 * LANES + m] = q[wall + 2]
            pair[6 * LANES + m] = q[wall + 3]
            pair[7 * LANES + m] = q[wall + 4]
            pair[8 * LANES + m] = q[wall + 5]
            pair[9 * LANES + m] = q[wall + 6]
            pair[10 * LANES + m] = q[wall + 7]
            m = np.uint32(m + one)
            if m == LANES:
                keep_nearest(block, pair, owner, LANES)
                m = np.uint32(0)
    keep_nearest(block, pair, owner, np.int64(m))


@kernel
def moves(p, o, block, pair, lanes, n):
    """Write to DISTANCE how far beyond the margin the first `n` points are; return how many are.

    Their lanes are put to the front of `lanes`, the nearest legal directions, in the table's
    frame, to the first rows of `pair`, and the places of these to its seventh and eighth.
    """
    margin, cos_margin, sin_margin = p[o + MARGIN], p[o + COS_MARGIN], p[o + SIN_MARGIN]
    for k in range(n):
        u, v, w = block[U + k], block[V + k], block[W + k]
        fu, fv, fw = block[FU + k], block[FV + k], block[FW + k]
        apart = np.sqrt((u - fu) ** 2 + (v - fv) ** 2 + (w - fw) ** 2)
        together = np.sqrt((u + fu) ** 2 + (v + fv) ** 2 + (w + fw) ** 2)
        # Tangent of a quarter of the angle.
        t = apart / (together + 2.0)
        pair[3 * LANES + k] = block[PY + k] * 4.0 * t * atan_over_root(t * t, np.float64)
        # From the foot, the margin's length back along the great circle.
        sine = sin_margin * 2.0 / max(apart * together, 1e-300)
        cosine = cos_margin - sine * (1.0 - 0.5 * apart * apart)
        fu, fv, fw = cosine * fu + sine * u, cosine * fv + sine * v, cosine * fw + sine * w
        scale = 1.0 / max(np.sqrt(fu * fu + fv * fv + fw * fw), 1e-300)
        pair[k] = fu * scale
        pair[LANES + k] = fv * scale
        pair[2 * LANES + k] = fw * scale
    out = 0
    for k in range(n):
        lane, beyond = lanes[k], pair[3 * LANES + k] - margin
        block[DISTANCE + lane] = beyond
        lanes[out] = lane
        pair[out] = pair[k]
        pair[LANES + out] = pair[LANES + k]
        pair[2 * LANES + out] = pair[2 * LANES + k]
        out += 1 if beyond > 0.0 else 0
    place(pair, out, p[o + ROWS], p[o + COLUMNS])
    return out


@kernel
def table(p, o, block, n):
    """Move to the nearest legal direction, then to the nearest twist that is legal there.

    Directions up to a margin from the legal cells are legal, too. Inside, the depth is the
    distance to the walls (and the margin), or the room of the twist over √(1 + G²), G the slope
    of its ends: however direction and twist share a move of that length, it stays inside.
    """
    f = o + FRAME
    a, b, c = p[f], p[f + 1], p[f + 2]
    d, e, g = p[f + 3], p[f + 4], p[f + 5]
    h, j, k = p[f + 6], p[f + 7], p[f + 8]
    margin, gentle = p[o + MARGIN], p[o + GENTLE]
    pair = np.empty(15 * LANES)
    numbers = np.empty(2 * LANES, np.uint32)
    lanes = numbers[:LANES]
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        block[U + i] = a * x + b * y + c * z
        block[V + i] = d * x + e * y + g * z
        block[W + i] = h * x + j * y + k * z
    place(block[U:], n, p[o + ROWS], p[o + COLUMNS])
    active = near_walls(p, o, block, lanes, n)
    feet(p, o, block, pair, numbers[LANES:], active)
    for i in range(n):
        block[DISTANCE + i] -= margin
    out = moves(p, o, block, pair, lanes, active)
    for i in range(n):
        block[PX + i] = block[X + i]
        block[PY + i] = block[Y + i]
        block[PZ + i] = block[Z + i]
    for m in range(out):
        i, u, v, w = lanes[m], pair[m], pair[LANES + m], pair[2 * LANES + m]
        block[PX + i] = a * u + d * v + h * w
        block[PY + i] = b * u + e * v + j * w
        block[PZ + i] = c * u + g * v + k * w
        block[COLUMN + i] = pair[6 * LANES + m]
        block[ROW + i] = pair[7 * LANES + m]
    interpolate(p, o, block, n)
    for i in range(n):
        twist = block[T + i]
        off = twist - block[FU + i]
        off -= TURN * np.rint(off * (1.0 / TURN))
        excess = abs(off) - block[FV + i]
        move = max(excess, 0.0)
        block[PT + i] = twist - (move if off >= 0.0 else -move)
        beyond = block[DISTANCE + i]
        outer = max(beyond, 0.0)
        outside = (beyond > 0.0) | (excess > 0.0)
        length = np.sqrt(outer * outer + move * move)
        # The slopes of the whole table hold for any move; those around, for a short one.
        room = max(-excess * gentle, min(-excess * block[V + i], block[W + i]))
        block[DISTANCE + i] = length if outside else max(beyond, -room)
