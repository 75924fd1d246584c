"""Where directions lie in a table, and the twists there."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .polynomials import atan_in_pairs
from .rotation import LANES, SCRATCH

# Where things stand in a packed table, after its kind.
FRAME = 0
ROWS, COLUMNS, FINE = 9, 10, 11
MARGIN, COS_MARGIN, SIN_MARGIN = 12, 13, 14
GENTLE = 15  # 1/√(1 + G²), with G the steepest slope of the twist's ends anywhere
TWISTS, AROUND, PLACES = 16, 17, 18  # where these begin: see `table_pack`

# Rows of scratch: the point in the table's frame, its foot, then its place in columns and rows.
U, V, W = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
FU, FV, FW = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES, SCRATCH + 5 * LANES
INVERSE = FU  # 1/√(u² + v²), before there is a foot
COLUMN, ROW = SCRATCH + 6 * LANES, SCRATCH + 7 * LANES

TURN = 2.0 * math.pi


@kernel
def place(values, n, rows, columns):
    """Write in which column and row, as real numbers from 0 on, unit vectors lie.

    They are in the first three rows of `values`; columns go to the seventh, rows to the eighth,
    and to the fourth goes 1/√(u² + v²), at most 1e100.
    """
    across, along = columns / TURN, rows / math.pi
    for i in range(n):
        u, v, w = values[i], values[LANES + i], values[2 * LANES + i]
        radius = np.sqrt(u * u + v * v)
        # Half-angle tangents of longitude and latitude, as in `euler.angle_of`. One division.
        safe = max(radius, 1e-100)
        d, e = max(abs(u) + radius, 1e-100), 1.0 + radius
        inverse = 1.0 / (d * e * safe)
        values[3 * LANES + i] = inverse * d * e
        values[6 * LANES + i] = v * e * safe * inverse
        values[7 * LANES + i] = w * d * safe * inverse
    # Short loops: of a long one too little fits into the processor to go on while it waits.
    for i in range(n):
        u, v, d = values[i], values[LANES + i], values[6 * LANES + i]
        angle = 2.0 * d * atan_in_pairs(d * d)
        beyond = math.pi - angle if v >= 0.0 else -math.pi - angle
        angle = angle if u >= 0.0 else beyond
        values[6 * LANES + i] = (angle + math.pi) * across
    for i in range(n):
        e = values[7 * LANES + i]
        values[7 * LANES + i] = 2.0 * e * atan_in_pairs(e * e) * along + 0.5 * rows


@kernel
def slopes_around(p, o, block, n):
    """Write to V how gentle the twists' slopes are at COLUMN, ROW and around, to W how far."""
    q = p[o:]
    rows, columns, around, one = q[ROWS], q[COLUMNS], q[AROUND], np.uint32(1)
    for i in range(n):
        left = min(max(0.0, np.floor(block[COLUMN + i])), columns - 1.0)
        below = min(max(0.0, np.floor(block[ROW + i])), rows - 1.0)
        block[U + i] = around + 2.0 * (below * columns + left)
    for i in range(n):
        k = np.uint32(block[U + i])
        block[V + i] = q[k]
        block[W + i] = q[np.uint32(k + one)]


@kernel
def interpolate(p, o, block, n):
    """Write the middle and the half-width of the twists at COLUMN, ROW to FU and FV."""
    q = p[o:]
    rows, columns, twists = q[ROWS], q[COLUMNS], q[TWISTS]
    stride = 2.0 * (columns + 2.0)
    step = np.uint32(stride)
    for i in range(n):
        column, row = block[COLUMN + i] + 0.5, block[ROW + i] + 0.5
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


@kernel
def ranges(vectors, ends, out):
    """Write the least and greatest twist (n, 2) at vectors (n, 3) of the table's frame.

    `ends` (2, rows + 2, columns + 2) are low and high at all centres, and around them.
    """
    rows, columns = ends.shape[1] - 2, ends.shape[2] - 2
    block = np.empty(8 * LANES)
    for start in range(0, vectors.shape[0], LANES):
        n = min(LANES, vectors.shape[0] - start)
        for i in range(n):
            x, y, z = vectors[start + i, 0], vectors[start + i, 1], vectors[start + i, 2]
            scale = 1.0 / max(np.sqrt(x * x + y * y + z * z), 1e-100)
            block[i], block[LANES + i], block[2 * LANES + i] = scale * x, scale * y, scale * z
        place(block, n, float(rows), float(columns))
        for i in range(n):
            column, row = block[6 * LANES + i] + 0.5, block[7 * LANES + i] + 0.5
            left = min(max(0.0, np.floor(column)), float(columns))
            below = min(max(0.0, np.floor(row)), float(rows))
            a, b, j, k = column - left, row - below, int(below), int(left)
            for end in range(2):
                south = (1.0 - a) * ends[end, j, k] + a * ends[end, j, k + 1]
                north = (1.0 - a) * ends[end, j + 1, k] + a * ends[end, j + 1, k + 1]
                out[start + i, end] = (1.0 - b) * south + b * north
            out[start + i, 1] = max(out[start + i, 0], out[start + i, 1])
