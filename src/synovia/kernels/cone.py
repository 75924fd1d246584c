"""Reach cones in blocks: a spherical star polygon about a visible point, twist limits at each.

Parameters, from `o` on: see the names below. A slice is the part between two vertices as seen from
the visible point; slice i and edge i go from vertex i to vertex i + 1.
"""

from __future__ import annotations

import numpy as np

from .cone_edges import place_of, reach_boundary
from .cone_layout import (
    ANGLE,
    BUCKET,
    BUCKETS,
    CELL,
    COUNT,
    FRAME,
    FREE,
    HEIGHT,
    HIGH,
    LOW,
    MARGIN,
    MOST,
    NX,
    NY,
    NZ,
    SIDE,
    SIZE,
    SLICE,
    SLICES,
    SLOPE,
    TABLE,
    VISIBLE_HIGH,
    VISIBLE_LOW,
)
from .jit import kernel
from .rotation import BLOCK, DISTANCE, LANES, PT, PX, PY, T, X, Y, Z

__all__ = ["SIZE", "cone", "left", "locate"]

TURN = 2.0 * np.pi


@kernel
def place(p, o, block, n):
    """Write unit directions, and the numbers of their buckets of azimuth."""
    ax, ay, az = p[o + FRAME], p[o + FRAME + 1], p[o + FRAME + 2]
    bx, by, bz = p[o + FRAME + 3], p[o + FRAME + 4], p[o + FRAME + 5]
    per_turn, last = 0.25 * p[o + BUCKETS], p[o + BUCKETS] - 1.0
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        scale = 1.0 / np.sqrt(x * x + y * y + z * z)
        x, y, z = x * scale, y * scale, z * scale
        block[NX + i] = x
        block[NY + i] = y
        block[NZ + i] = z
        u, v = ax * x + ay * y + az * z, bx * x + by * y + bz * z
        q = v / max(abs(u) + abs(v), 1e-300)
        bucket = (1.0 + (q if u >= 0.0 else 2.0 - q)) * per_turn
        bucket = bucket if bucket < last else last
        block[BUCKET + i] = bucket if bucket >= 0.0 else 0.0  # also for what is not a number


@kernel
def place_on_cube(p, o, block, n):
    """Write the numbers of the directions' cells."""
    side, last_cell = p[o + SIDE], p[o + SIDE] - 1.0
    half, cells = 0.5 * side, 6.0 * side * side
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        sx, sy, sz = abs(x), abs(y), abs(z)
        by_x = (sx >= sy) & (sx >= sz)
        by_y = sy >= sz
        major = x if by_x else (y if by_y else z)
        u = y if by_x else x
        v = z if by_x | by_y else y
        face = 0.0 if by_x else (2.0 if by_y else 4.0)
        face += 0.0 if major >= 0.0 else 1.0
        scale = half / abs(major)
        row, column = np.floor(u * scale + half), np.floor(v * scale + half)
        row, column = min(row, last_cell), min(column, last_cell)
        cell = (face * side + row) * side + column
        block[CELL + i] = cell if (cell >= 0.0) & (cell < cells) else 0.0


@kernel
def find_slices(p, o, block, n):
    """Write, in place of the buckets, where the directions' slices stand.

    That is where its bucket begins, or later. After the last slice the first ones stand once
    more, so none is looked for in vain.
    """
    table, most = o + int(p[o + TABLE]), int(p[o + MOST])
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = p[place_of(table + int(block[BUCKET + i]))]
        for _ in range(most):
            here = place_of(o + int(at))
            beyond = p[here + 3] * x + p[here + 4] * y + p[here + 5] * z >= 0.0
            at += SLICE if beyond else 0.0
        block[BUCKET + i] = at


@kernel
def look(p, o, block, n):
    """Write the twist limits in the directions' slices, and the heights over their edges' planes.

    L = aV + bP + cQ has a, b, c as its edge's height and the heights over the two slice planes,
    each over the plane that its own corner is not in. Two loops: the second is vector code.
    """
    find_slices(p, o, block, n)
    middle_low, middle_high = p[o + VISIBLE_LOW], p[o + VISIBLE_HIGH]
    start, end = PX, PY
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = place_of(o + int(block[BUCKET + i]))
        c = max(p[at] * x + p[at + 1] * y + p[at + 2] * z, 0.0)
        b = max(-(p[at + 3] * x + p[at + 4] * y + p[at + 5] * z), 0.0)
        block[start + i] = b
        block[end + i] = c
        block[HEIGHT + i] = p[at + 6] * x + p[at + 7] * y + p[at + 8] * z
        block[LOW + i] = b * p[at + 9] + c * p[at + 11]
        block[HIGH + i] = b * p[at + 10] + c * p[at + 12]
    for i in range(n):
        a = max(block[HEIGHT + i], 0.0)
        scale = 1.0 / max(a + block[start + i] + block[end + i], 1e-300)
        block[LOW + i] = (a * middle_low + block[LOW + i]) * scale
        block[HIGH + i] = (a * middle_high + block[HIGH + i]) * scale


@kernel
def twist(p, o, block, n):
    """Write what is left of the twist, negative outside, and the nearest legal one."""
    free = p[o + FREE] > 0.0
    for i in range(n):
        low, high, given = block[LOW + i], block[HIGH + i], block[T + i]
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        turned = given - TURN * np.rint((given - middle) / TURN)
        margin = half - abs(turned - middle)
        block[MARGIN + i] = np.inf if free else margin
        nearest = low if turned < middle else high
        block[PT + i] = given if (margin >= 0.0) | (half >= np.pi) else nearest


@kernel
def gauge(p, o, block, n, every):
    """Write the nearest legal points, and what is left in direction and in twist.

    ANGLE and MARGIN have that, negative outside. The first is ∞ where the second is nearer, in
    any direction, unless `every` is asked for.
    """
    place(p, o, block, n)
    place_on_cube(p, o, block, n)
    look(p, o, block, n)
    twist(p, o, block, n)
    reach_boundary(p, o, block, n, every)
    twist(p, o, block, n)  # once more, where the nearest legal direction is another


@kernel
def cone(p, o, block, n):
    """Find the nearest legal direction, then the nearest legal twist there."""
    gauge(p, o, block, n, False)
    slope = p[o + SLOPE]
    for i in range(n):
        angle, margin = block[ANGLE + i], block[MARGIN + i]
        inner = min(angle, slope * margin)
        beyond, twisted = min(angle, 0.0), min(margin, 0.0)
        outer = np.sqrt(beyond * beyond + twisted * twisted)
        block[DISTANCE + i] = outer if (angle < 0.0) | (margin < 0.0) else -inner


@kernel
def left(points, p, angles, margins):
    """Write what is left to the boundary in direction and in twist, for flat points."""
    block = np.empty(BLOCK)
    o = np.int64(1)
    for start in range(0, angles.shape[0], LANES):
        n = min(LANES, angles.shape[0] - start)
        first = 4 * start
        for i in range(n):
            block[X + i] = points[first + 4 * i]
            block[Y + i] = points[first + 4 * i + 1]
            block[Z + i] = points[first + 4 * i + 2]
            block[T + i] = points[first + 4 * i + 3]
        gauge(p, o, block, n, True)
        for i in range(n):
            angles[start + i] = block[ANGLE + i]
            margins[start + i] = block[MARGIN + i]


@kernel
def locate(directions, p, slices, heights, ranges):
    """Write the slices of flat directions, heights over their edges' planes, and twist limits."""
    block = np.empty(BLOCK)
    o = np.int64(1)
    first_slice, count = int(p[o + SLICES]), int(p[o + COUNT])
    for start in range(0, heights.shape[0], LANES):
        n = min(LANES, heights.shape[0] - start)
        first = 3 * start
        for i in range(n):
            block[X + i] = directions[first + 3 * i]
            block[Y + i] = directions[first + 3 * i + 1]
            block[Z + i] = directions[first + 3 * i + 2]
        place(p, o, block, n)
        look(p, o, block, n)
        for i in range(n):
            slices[start + i] = (int(block[BUCKET + i]) - first_slice) // SLICE % count
            heights[start + i] = block[HEIGHT + i]
            ranges[2 * (start + i)] = block[LOW + i]
            ranges[2 * (start + i) + 1] = block[HIGH + i]
