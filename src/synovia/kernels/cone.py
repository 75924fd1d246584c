"""Reach cones in blocks: a spherical star polygon about a visible point, twist limits at each.

Parameters, from `o` on: see the names below. A slice is the part between two vertices as seen from
the visible point; slice i and edge i go from vertex i to vertex i + 1.
"""

from __future__ import annotations

import numpy as np

from .cone_cells import EDGE
from .euler import angle_of
from .jit import kernel
from .rotation import DISTANCE, LANES, PT, PX, PY, PZ, SCRATCH, T, X, Y, Z

# Where things stand in a packed cone, after its kind.
SIZE = 0  # how many numbers in all
BUCKETS, MOST = 1, 2  # of azimuth; the most vertices in one of them
SIDE = 3  # cells along the side of a face of the cube
SLOPE = 4  # 1/√(1 + G²): how much of a twist's margin is left for moves in any direction
FREE = 5  # 1 if every twist is legal everywhere
VISIBLE_LOW, VISIBLE_HIGH = 6, 7
FRAME = 8  # two directions across the visible point
SLICES, EDGES, TABLE, CELLS = 14, 15, 16, 17  # where these begin, counted from `o`
PARTS = 18
SLICE = 16  # numbers a slice: both of its planes, its edge's, limits at both vertices

# Rows of a block that only the cone uses.
NX, NY, NZ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
BUCKET, CELL = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
LOW, HIGH, DEPTH = SCRATCH + 5 * LANES, SCRATCH + 6 * LANES, SCRATCH + 7 * LANES
SINE, COSINE = BUCKET, CELL  # when these have been used
ANGLE, MARGIN = NX, NY

TURN = 2.0 * np.pi
TIE = 1.0 - 1e-13  # edges that are as near as this go by their number


@kernel
def place(p, o, block, n):
    """Write unit directions, and their numbers of bucket and of cell."""
    ax, ay, az = p[o + FRAME], p[o + FRAME + 1], p[o + FRAME + 2]
    bx, by, bz = p[o + FRAME + 3], p[o + FRAME + 4], p[o + FRAME + 5]
    per_turn, last = 0.25 * p[o + BUCKETS], p[o + BUCKETS] - 1.0
    side, last_cell = p[o + SIDE], p[o + SIDE] - 1.0
    half, cells = 0.5 * side, 6.0 * side * side
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
def slice_of(p, o, x, y, z, bucket):
    """Return the slice of a direction: the one that its bucket begins in, or soon after."""
    i = int(p[o + int(p[o + TABLE]) + int(bucket)])
    at = o + int(p[o + SLICES]) + SLICE * i
    for _ in range(int(p[o + MOST])):
        if p[at + 3] * x + p[at + 4] * y + p[at + 5] * z < 0.0:
            break
        i += 1
        at += SLICE
        if at >= o + int(p[o + EDGES]):
            i, at = 0, o + int(p[o + SLICES])
    return i


@kernel
def limits_at(p, o, at, x, y, z):
    """Return the height over the edge's plane, and the twist limits, in the slice at `at`.

    L = aV + bP + cQ has a, b, c as its edge's height and the heights over the two slice planes,
    each over the plane that its own corner is not in.
    """
    q = max(p[at] * x + p[at + 1] * y + p[at + 2] * z, 0.0)
    w = max(-(p[at + 3] * x + p[at + 4] * y + p[at + 5] * z), 0.0)
    height = p[at + 6] * x + p[at + 7] * y + p[at + 8] * z
    v = max(height, 0.0)
    scale = 1.0 / max(q + w + v, 1e-300)
    low = (v * p[o + VISIBLE_LOW] + w * p[at + 9] + q * p[at + 11]) * scale
    high = (v * p[o + VISIBLE_HIGH] + w * p[at + 10] + q * p[at + 12]) * scale
    return height, low, high


@kernel
def look(p, o, block, n):
    """Write the twist limits in each direction's slice, and its height over the edge's plane."""
    slices = o + int(p[o + SLICES])
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = slices + SLICE * slice_of(p, o, x, y, z, block[BUCKET + i])
        block[DEPTH + i], block[LOW + i], block[HIGH + i] = limits_at(p, o, at, x, y, z)


@kernel
def nearest_edge(p, o, x, y, z, cell):
    """Return the number of the edge nearest to a direction, the lowest of those that tie."""
    cells = o + int(p[o + CELLS])
    edges = o + int(p[o + EDGES])
    best, chosen = 1e300, 0
    first = cells + int(p[cells + int(cell)])
    last = cells + int(p[cells + int(cell) + 1])
    for k in range(first, last):
        e = edges + EDGE * int(p[k])
        a = p[e] * x + p[e + 1] * y + p[e + 2] * z
        t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
        s = p[e + 6] * x + p[e + 7] * y + p[e + 8] * z
        cosine, sine = p[e + 9], p[e + 10]
        start, end = a, a * cosine + t * sine
        over = t * cosine - a * sine
        # 1 - cos of the angle, in a form that is exact for small ones.
        foot = s * s / (1.0 + np.sqrt(a * a + t * t))
        start, end = 1.0 - start, 1.0 - end
        to_start = 0.5 * (start * start + t * t + s * s)
        to_end = 0.5 * (end * end + over * over + s * s)
        size = foot if (t >= 0.0) & (over <= 0.0) else min(to_start, to_end)
        if size < best * TIE:
            best, chosen = size, int(p[k])
    return chosen


@kernel
def reach_boundary(p, o, block, n):
    """Write the way to the boundary as sine and cosine; outside, its end and the limits there."""
    edges, slices = o + int(p[o + EDGES]), o + int(p[o + SLICES])
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        number = nearest_edge(p, o, x, y, z, block[CELL + i])
        e = edges + EDGE * number
        a = p[e] * x + p[e + 1] * y + p[e + 2] * z
        t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
        s = p[e + 6] * x + p[e + 7] * y + p[e + 8] * z
        cosine, sine = p[e + 9], p[e + 10]
        end, over = a * cosine + t * sine, t * cosine - a * sine
        share = 0.0
        if (t >= 0.0) & (over <= 0.0):
            size = np.sqrt(a * a + t * t)
            block[SINE + i], block[COSINE + i] = abs(s), size
            share = t / max(t - over, 1e-300)
            a, t = a / max(size, 1e-300), t / max(size, 1e-300)
            px = a * p[e] + t * p[e + 3]
            py = a * p[e + 1] + t * p[e + 4]
            pz = a * p[e + 2] + t * p[e + 5]
        elif a >= end:
            block[SINE + i], block[COSINE + i] = np.sqrt(t * t + s * s), a
            px, py, pz = p[e], p[e + 1], p[e + 2]
        else:
            block[SINE + i], block[COSINE + i] = np.sqrt(over * over + s * s), end
            px, py, pz = p[e + 11], p[e + 12], p[e + 13]
            share = 1.0
        if block[DEPTH + i] < 0.0:
            block[PX + i], block[PY + i], block[PZ + i] = px, py, pz
            at = slices + SLICE * number
            block[LOW + i] = (1.0 - share) * p[at + 9] + share * p[at + 11]
            block[HIGH + i] = (1.0 - share) * p[at + 10] + share * p[at + 12]
        else:
            block[PX + i], block[PY + i], block[PZ + i] = block[X + i], block[Y + i], block[Z + i]


@kernel
def gauge(p, o, block, n):
    """Write the nearest directions, the angles to the boundary (inside: positive), and the twists.

    ANGLE and MARGIN have what is left of both, negative outside; PT the nearest legal twist.
    """
    place(p, o, block, n)
    look(p, o, block, n)
    reach_boundary(p, o, block, n)
    for i in range(n):
        angle = angle_of(block[SINE + i], block[COSINE + i], np.float64)
        block[ANGLE + i] = angle if block[DEPTH + i] >= 0.0 else -angle
        low, high, twist = block[LOW + i], block[HIGH + i], block[T + i]
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        turned = twist - TURN * np.rint((twist - middle) / TURN)
        margin = half - abs(turned - middle)
        block[MARGIN + i] = margin
        legal = margin >= 0.0
        nearest = low if turned < middle else high
        block[PT + i] = twist if legal | (half >= np.pi) else nearest


@kernel
def cone(p, o, block, n):
    """Find the nearest legal direction, then the nearest legal twist there."""
    gauge(p, o, block, n)
    slope, free = p[o + SLOPE], p[o + FREE] > 0.0
    for i in range(n):
        angle, margin = block[ANGLE + i], block[MARGIN + i]
        margin = np.inf if free else margin
        inner = min(angle, slope * margin)
        beyond, twisted = min(angle, 0.0), min(margin, 0.0)
        outer = np.sqrt(beyond * beyond + twisted * twisted)
        block[DISTANCE + i] = outer if (angle < 0.0) | (margin < 0.0) else -inner


@kernel
def left(points, p, angles, margins):
    """Write what is left to the boundary in direction and in twist, for flat points."""
    block = np.empty(27 * LANES)
    o = np.int64(1)
    for start in range(0, angles.shape[0], LANES):
        n = min(LANES, angles.shape[0] - start)
        first = 4 * start
        for i in range(n):
            block[X + i] = points[first + 4 * i]
            block[Y + i] = points[first + 4 * i + 1]
            block[Z + i] = points[first + 4 * i + 2]
            block[T + i] = points[first + 4 * i + 3]
        gauge(p, o, block, n)
        for i in range(n):
            angles[start + i] = block[ANGLE + i]
            margins[start + i] = np.inf if p[o + FREE] > 0.0 else block[MARGIN + i]


@kernel
def locate(directions, p, slices, heights, ranges):
    """Write the slices of flat directions, heights over their edges' planes, and twist limits."""
    block = np.empty(27 * LANES)
    o = np.int64(1)
    first_slice = o + int(p[o + SLICES])
    for start in range(0, heights.shape[0], LANES):
        n = min(LANES, heights.shape[0] - start)
        first = 3 * start
        for i in range(n):
            block[X + i] = directions[first + 3 * i]
            block[Y + i] = directions[first + 3 * i + 1]
            block[Z + i] = directions[first + 3 * i + 2]
        place(p, o, block, n)
        for i in range(n):
            x, y, z = block[NX + i], block[NY + i], block[NZ + i]
            number = slice_of(p, o, x, y, z, block[BUCKET + i])
            height, low, high = limits_at(p, o, first_slice + SLICE * number, x, y, z)
            slices[start + i], heights[start + i] = number, height
            ranges[2 * (start + i)], ranges[2 * (start + i) + 1] = low, high
