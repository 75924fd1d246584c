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
from .polynomials import atan_in_pairs
from .rotation import DISTANCE, LANES, PT, PX, PY, PZ, T, X, Y, Z
from .table_feet import feet
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
    INVERSE,
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
    slopes_around,
)

DEEP = 4.0  # a place's number: below this its depth, beyond it where its entry stands


@kernel
def near_walls(p, o, depth, block, lanes, n):
    """Write −depth to DISTANCE where it is known; return how many lanes need the nearest wall.

    Inside none does where `depth` is 0. Those that do are listed in `lanes`. Their points are moved
    to the front of U, V, W, and 1/√(u² + v²) of them to the front of PT; to PX at the front goes
    where the entry of each stands, to PY 1 outside the cells, −1 inside.
    """
    q = p[o:]
    fine = q[FINE]
    rows, columns, places = q[ROWS] * fine, q[COLUMNS] * fine, q[PLACES]
    for i in range(n):
        # In this order NaN, which is seen to later, becomes 0 instead of no place at all.
        row = min(max(0.0, np.floor(block[ROW + i] * fine)), rows - 1.0)
        column = min(max(0.0, np.floor(block[COLUMN + i] * fine)), columns - 1.0)
        block[PX + i] = places + row * columns + column
    active, last = 0, DEEP if depth > 0.0 else np.inf
    for i in range(n):
        code = q[np.uint32(block[PX + i])]
        block[DISTANCE + i] = -code if code < DEEP else 0.0
        block[PX + active] = code
        lanes[active] = i
        active += 0 if (code >= 0.0) & (code < last) else 1
    for k in range(active):
        lane = lanes[k]
        block[U + k] = block[U + lane]
        block[V + k] = block[V + lane]
        block[W + k] = block[W + lane]
        block[PT + k] = block[INVERSE + lane]
    for k in range(active):
        code = block[PX + k]
        block[PY + k] = 1.0 if code < 0.0 else -1.0
        block[PX + k] = abs(code)
    return active


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
        scale = 1.0 / max(np.sqrt(fu * fu + fv * fv + fw * fw), 1e-300)
        fu, fv, fw = fu * scale, fv * scale, fw * scale
        apart = np.sqrt((u - fu) ** 2 + (v - fv) ** 2 + (w - fw) ** 2)
        together = np.sqrt((u + fu) ** 2 + (v + fv) ** 2 + (w + fw) ** 2)
        # Tangent of a quarter of the angle.
        pair[3 * LANES + k] = apart / (together + 2.0)
        pair[k] = fu
        pair[LANES + k] = fv
        pair[2 * LANES + k] = fw
    for k in range(n):
        t = pair[3 * LANES + k]
        pair[3 * LANES + k] = block[PY + k] * 4.0 * t * atan_in_pairs(t * t)
    if margin > 0.0:
        for k in range(n):
            # From the foot, the margin's length back along the great circle.
            u, v, w = block[U + k], block[V + k], block[W + k]
            fu, fv, fw = pair[k], pair[LANES + k], pair[2 * LANES + k]
            apart = (u - fu) ** 2 + (v - fv) ** 2 + (w - fw) ** 2
            together = (u + fu) ** 2 + (v + fv) ** 2 + (w + fw) ** 2
            sine = sin_margin * 2.0 / max(np.sqrt(apart * together), 1e-300)
            cosine = cos_margin - sine * (1.0 - 0.5 * apart)
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
def table(p, o, depth, block, n):
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
    pair = np.empty(16 * LANES)
    numbers = np.empty(3 * LANES, np.uint32)
    lanes = numbers[:LANES]
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        block[U + i] = a * x + b * y + c * z
        block[V + i] = d * x + e * y + g * z
        block[W + i] = h * x + j * y + k * z
    place(block[U:], n, p[o + ROWS], p[o + COLUMNS])
    active = near_walls(p, o, depth, block, lanes, n)
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
    if depth > 0.0:
        slopes_around(p, o, block, n)
    else:
        for i in range(n):
            block[V + i] = 0.0
            block[W + i] = 0.0
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
