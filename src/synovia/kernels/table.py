"""Tables of directions, in blocks: which cell, the nearest wall, the twists there.

Walls are where legal and illegal cells meet: arcs of meridians, and of parallels. A grid, as fine
as the table's cells or finer, keeps for each of its places the few walls that can be nearest to
any point of it, so a look-up and two or three distances give the nearest boundary point exactly,
inside and outside alike, however many cells there are.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .polynomials import atan_over_root
from .rotation import DISTANCE, LANES, PT, PX, PY, PZ, SCRATCH, T, X, Y, Z

# Where things stand in a packed table, after its kind.
FRAME = 0
ROWS, COLUMNS, FINE = 9, 10, 11
MARGIN, COS_MARGIN, SIN_MARGIN = 12, 13, 14
GENTLE = 15  # 1/√(1 + G²), with G the steepest slope of the twist's ends anywhere
TWISTS, AROUND, PLACES = 16, 17, 18  # where these begin: see `table_pack`

# Rows of scratch: the point in the table's frame, its foot, then its place in columns and rows.
U, V, W = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
FU, FV, FW = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES, SCRATCH + 5 * LANES
COLUMN, ROW = SCRATCH + 6 * LANES, SCRATCH + 7 * LANES

TURN = 2.0 * math.pi


@kernel
def place(block, n, rows, columns):
    """Write in which column and row, as real numbers from 0 on, the unit vectors at U, V, W lie."""
    across, along = columns / TURN, rows / math.pi
    for i in range(n):
        u, v, w = block[U + i], block[V + i], block[W + i]
        radius = np.sqrt(u * u + v * v)
        # Half-angle tangents of longitude and latitude, as in `euler.angle_of`.
        d, e = max(abs(u) + radius, 1e-300), 1.0 + radius
        inverse = 1.0 / (d * e)
        d, e = v * e * inverse, w * d * inverse
        angle = 2.0 * d * atan_over_root(d * d, np.float64)
        beyond = math.pi - angle if v >= 0.0 else -math.pi - angle
        angle = angle if u >= 0.0 else beyond
        block[COLUMN + i] = (angle + math.pi) * across
        block[ROW + i] = 2.0 * e * atan_over_root(e * e, np.float64) * along + 0.5 * rows


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
def feet(p, o, block, n):
    """Write the nearest point of any wall; at DISTANCE 1 outside the cells and −1 inside.

    In rounds: first the first wall of every lane's list, then the second of those that have one,
    and so on. In each the walls are gathered, then measured together, without branches. Without
    any wall the whole sphere is legal, and the foot is the opposite point.
    """
    pair = np.empty(15 * LANES)
    # Indices without a sign need no look whether they count from the end.
    lanes, entries = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    q = p[o:]
    fine = q[FINE]
    rows, columns, places = q[ROWS] * fine, q[COLUMNS] * fine, q[PLACES]
    for i in range(n):
        # In this order NaN, which is seen to later, becomes 0 instead of no place at all.
        row = min(max(0.0, np.floor(block[ROW + i] * fine)), rows - 1.0)
        column = min(max(0.0, np.floor(block[COLUMN + i] * fine)), columns - 1.0)
        block[PY + i] = places + row * columns + column
        pair[i] = block[U + i]
        pair[LANES + i] = block[V + i]
        pair[2 * LANES + i] = block[W + i]
        pair[11 * LANES + i] = 4.0
        pair[12 * LANES + i] = -block[U + i]
        pair[13 * LANES + i] = -block[V + i]
        pair[14 * LANES + i] = -block[W + i]
    active = 0
    for i in range(n):
        code = q[np.uint32(block[PY + i])]
        block[DISTANCE + i] = 1.0 if code < 0.0 else -1.0
        entry = np.uint32(abs(code))
        entries[i] = entry
        wall = np.uint32(q[entry + 1])
        pair[3 * LANES + i] = q[wall]
        pair[4 * LANES + i] = q[wall + 1]
        pair[5 * LANES + i] = q[wall + 2]
        pair[6 * LANES + i] = q[wall + 3]
        pair[7 * LANES + i] = q[wall + 4]
        pair[8 * LANES + i] = q[wall + 5]
        pair[9 * LANES + i] = q[wall + 6]
        pair[10 * LANES + i] = q[wall + 7]
        lanes[active] = i
        active += 1 if q[entry] > 1.0 else 0
    if n > 0 and q[entries[0]] > 0.0:
        wall_feet(pair, n)
    for i in range(n):
        block[PX + i] = pair[11 * LANES + i]
        block[FU + i] = pair[12 * LANES + i]
        block[FV + i] = pair[13 * LANES + i]
        block[FW + i] = pair[14 * LANES + i]
    turn = np.uint32(2)
    while active > 0:
        for k in range(active):
            lane = lanes[k]
            wall = np.uint32(q[entries[lane] + turn])
            pair[k] = block[U + lane]
            pair[LANES + k] = block[V + lane]
            pair[2 * LANES + k] = block[W + lane]
            pair[3 * LANES + k] = q[wall]
            pair[4 * LANES + k] = q[wall + 1]
            pair[5 * LANES + k] = q[wall + 2]
            pair[6 * LANES + k] = q[wall + 3]
            pair[7 * LANES + k] = q[wall + 4]
            pair[8 * LANES + k] = q[wall + 5]
            pair[9 * LANES + k] = q[wall + 6]
            pair[10 * LANES + k] = q[wall + 7]
        wall_feet(pair, active)
        left = 0
        for k in range(active):
            lane = lanes[k]
            nearer = pair[11 * LANES + k] < block[PX + lane]
            block[PX + lane] = pair[11 * LANES + k] if nearer else block[PX + lane]
            block[FU + lane] = pair[12 * LANES + k] if nearer else block[FU + lane]
            block[FV + lane] = pair[13 * LANES + k] if nearer else block[FV + lane]
            block[FW + lane] = pair[14 * LANES + k] if nearer else block[FW + lane]
            lanes[left] = lane
            left += 1 if q[entries[lane]] > turn else 0
        active = left
        turn = np.uint32(turn + np.uint32(1))


@kernel
def interpolate(p, o, block, n):
    """Write the middle and the half-width of the twists at COLUMN, ROW to FU and FV.

    To V and W: how gentle the slopes are in the cell and around it, and how far that holds.
    """
    q = p[o:]
    rows, columns, twists, around = q[ROWS], q[COLUMNS], q[TWISTS], q[AROUND]
    stride = 2.0 * (columns + 2.0)
    step = np.uint32(stride)
    for i in range(n):
        column, row = block[COLUMN + i], block[ROW + i]
        left = min(max(0.0, np.floor(column)), columns - 1.0)
        below = min(max(0.0, np.floor(row)), rows - 1.0)
        block[U + i] = around + 2.0 * (below * columns + left)
        column, row = column + 0.5, row + 0.5
        left = min(max(0.0, np.floor(column)), columns)
        below = min(max(0.0, np.floor(row)), rows)
        block[FW + i] = twists + below * stride + 2.0 * left
        block[COLUMN + i] = column - left
        block[ROW + i] = row - below
    for i in range(n):
        a, b = block[COLUMN + i], block[ROW + i]
        k = np.uint32(block[FW + i])
        m = np.uint32(k + step)
        block[FU + i] = (1.0 - b) * ((1.0 - a) * q[k] + a * q[k + 2]) + b * (
            (1.0 - a) * q[m] + a * q[m + 2]
        )
        half = (1.0 - b) * ((1.0 - a) * q[k + 1] + a * q[k + 3]) + b * (
            (1.0 - a) * q[m + 1] + a * q[m + 3]
        )
        block[FV + i] = max(half, 0.0)
        k = np.uint32(block[U + i])
        block[V + i] = q[k]
        block[W + i] = q[k + 1]


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
    rows, columns = p[o + ROWS], p[o + COLUMNS]
    margin, cos_margin, sin_margin = p[o + MARGIN], p[o + COS_MARGIN], p[o + SIN_MARGIN]
    gentle = p[o + GENTLE]
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        scale = 1.0 / max(np.sqrt(x * x + y * y + z * z), 1e-300)
        block[U + i] = (a * x + b * y + c * z) * scale
        block[V + i] = (d * x + e * y + g * z) * scale
        block[W + i] = (h * x + j * y + k * z) * scale
    place(block, n, rows, columns)
    feet(p, o, block, n)
    for i in range(n):
        u, v, w = block[U + i], block[V + i], block[W + i]
        fu, fv, fw = block[FU + i], block[FV + i], block[FW + i]
        apart = np.sqrt((u - fu) ** 2 + (v - fv) ** 2 + (w - fw) ** 2)
        together = np.sqrt((u + fu) ** 2 + (v + fv) ** 2 + (w + fw) ** 2)
        # Tangent of a quarter of the angle.
        t = apart / (together + 2.0)
        beyond = block[DISTANCE + i] * 4.0 * t * atan_over_root(t * t, np.float64) - margin
        block[DISTANCE + i] = beyond
        # From the foot, the margin's length back along the great circle.
        sine = sin_margin * 2.0 / max(apart * together, 1e-300)
        cosine = cos_margin - sine * (1.0 - 0.5 * apart * apart)
        fu, fv, fw = cosine * fu + sine * u, cosine * fv + sine * v, cosine * fw + sine * w
        scale = 1.0 / max(np.sqrt(fu * fu + fv * fv + fw * fw), 1e-300)
        fu, fv, fw = fu * scale, fv * scale, fw * scale
        out = beyond > 0.0
        block[U + i] = fu if out else u
        block[V + i] = fv if out else v
        block[W + i] = fw if out else w
        block[PX + i] = a * fu + d * fv + h * fw if out else block[X + i]
        block[PY + i] = b * fu + e * fv + j * fw if out else block[Y + i]
        block[PZ + i] = c * fu + g * fv + k * fw if out else block[Z + i]
    place(block, n, rows, columns)
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
