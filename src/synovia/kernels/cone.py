"""Reach cones in blocks: a spherical star polygon about a visible point, twist limits at each.

Parameters, from `o` on: see the names below. A slice is the part between two vertices as seen from
the visible point; slice i and edge i go from vertex i to vertex i + 1.
"""

from __future__ import annotations

import numpy as np

from .cone_cells import EDGE
from .euler import angle_of
from .jit import kernel
from .rotation import BLOCK, DISTANCE, LANES, PT, PX, PY, PZ, SCRATCH, T, X, Y, Z

# Where things stand in a packed cone, after its kind.
SIZE = 0  # how many numbers in all
BUCKETS, MOST = 1, 2  # of azimuth; the most vertices in one of them
SIDE = 3  # cells along the side of a face of the cube
SLOPE = 4  # 1/√(1 + G²): how much of a twist's margin is left for moves in any direction
FREE = 5  # 1 if every twist is legal everywhere
VISIBLE_LOW, VISIBLE_HIGH = 6, 7
FRAME = 8  # two directions across the visible point
SLICES, EDGES, TABLE, CELLS = 14, 15, 16, 17  # where these begin, counted from `o`
COUNT = 18  # of vertices
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
def place_of(number):
    """Return a whole number of which the compiler knows that it does not count from the end."""
    return np.int64(np.uint32(number))


@kernel
def slice_at(p, o, table, most, x, y, z, bucket):
    """Return where, from `o` on, a direction's slice stands: where its bucket begins, or later.

    After the last slice the first ones stand once more, so none is looked for in vain.
    """
    at = int(p[place_of(table + int(bucket))])
    for _ in range(most):
        here = place_of(o + at)
        beyond = p[here + 3] * x + p[here + 4] * y + p[here + 5] * z >= 0.0
        at += SLICE if beyond else 0
    return at


@kernel
def limits_at(p, at, middle_low, middle_high, x, y, z):
    """Return the height over the edge's plane, and the twist limits, in the slice at `at`.

    L = aV + bP + cQ has a, b, c as its edge's height and the heights over the two slice planes,
    each over the plane that its own corner is not in.
    """
    q = max(p[at] * x + p[at + 1] * y + p[at + 2] * z, 0.0)
    w = max(-(p[at + 3] * x + p[at + 4] * y + p[at + 5] * z), 0.0)
    height = p[at + 6] * x + p[at + 7] * y + p[at + 8] * z
    v = max(height, 0.0)
    scale = 1.0 / max(q + w + v, 1e-300)
    low = (v * middle_low + w * p[at + 9] + q * p[at + 11]) * scale
    high = (v * middle_high + w * p[at + 10] + q * p[at + 12]) * scale
    return height, low, high


@kernel
def look(p, o, block, n):
    """Write the twist limits in each direction's slice, and its height over the edge's plane."""
    table, most = o + int(p[o + TABLE]), int(p[o + MOST])
    low, high = p[o + VISIBLE_LOW], p[o + VISIBLE_HIGH]
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = place_of(o + slice_at(p, o, table, most, x, y, z, block[BUCKET + i]))
        block[DEPTH + i], block[LOW + i], block[HIGH + i] = limits_at(p, at, low, high, x, y, z)


@kernel
def way_to_edge(p, e, x, y, z):
    """Return the coordinates of a direction along the edge at `e`, and 1 - cos of its distance.

    In order: along the start, along the tangent, over the plane, along the end, past the end.
    """
    a = p[e] * x + p[e + 1] * y + p[e + 2] * z
    t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
    s = p[e + 6] * x + p[e + 7] * y + p[e + 8] * z
    cosine, sine = p[e + 9], p[e + 10]
    end, past = a * cosine + t * sine, t * cosine - a * sine
    # Forms that are exact for small distances.
    foot = s * s / (1.0 + np.sqrt(a * a + t * t))
    near, far = 1.0 - max(a, end), t if a >= end else past
    corner = 0.5 * (near * near + far * far + s * s)
    return a, t, s, end, past, foot if (t >= 0.0) & (past <= 0.0) else corner


@kernel
def reach_boundary(p, o, block, n):
    """Write the way to the boundary as sine and cosine; outside, its end and the limits there.

    Of edges that are as near as each other, the lowest counts.
    """
    edges, slices, cells = o + int(p[o + EDGES]), o + int(p[o + SLICES]), o + int(p[o + CELLS])
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        cell = place_of(cells + int(block[CELL + i]))
        first, last = cells + int(p[cell]), cells + int(p[cell + 1])
        number = int(p[place_of(first)])
        e = place_of(edges + EDGE * number)
        a, t, s, end, past, best = way_to_edge(p, e, x, y, z)
        for k in range(first + 1, last):
            other = int(p[place_of(k)])
            e = place_of(edges + EDGE * other)
            a_, t_, s_, end_, past_, size = way_to_edge(p, e, x, y, z)
            nearer = size < best * TIE
            number = other if nearer else number
            best = size if nearer else best
            a, t, s = a_ if nearer else a, t_ if nearer else t, s_ if nearer else s
            end, past = end_ if nearer else end, past_ if nearer else past
        e = place_of(edges + EDGE * number)
        on_edge, at_start = (t >= 0.0) & (past <= 0.0), a >= end
        size = np.sqrt(a * a + t * t)
        across = t if at_start else past
        block[SINE + i] = abs(s) if on_edge else np.sqrt(across * across + s * s)
        block[COSINE + i] = size if on_edge else max(a, end)
        inverse = 1.0 / max(size, 1e-300)
        share = t / max(t - past, 1e-300) if on_edge else (0.0 if at_start else 1.0)
        # Of start and tangent; at the end both vanish, and the end itself counts.
        a = a * inverse if on_edge else (1.0 if at_start else 0.0)
        t = t * inverse if on_edge else 0.0
        whole = 0.0 if on_edge | at_start else 1.0
        outside = block[DEPTH + i] < 0.0
        px = a * p[e] + t * p[e + 3] + whole * p[e + 11]
        py = a * p[e + 1] + t * p[e + 4] + whole * p[e + 12]
        pz = a * p[e + 2] + t * p[e + 5] + whole * p[e + 13]
        at = place_of(slices + SLICE * number)
        low = (1.0 - share) * p[at + 9] + share * p[at + 11]
        high = (1.0 - share) * p[at + 10] + share * p[at + 12]
        block[PX + i] = px if outside else block[X + i]
        block[PY + i] = py if outside else block[Y + i]
        block[PZ + i] = pz if outside else block[Z + i]
        block[LOW + i] = low if outside else block[LOW + i]
        block[HIGH + i] = high if outside else block[HIGH + i]


@kernel
def gauge(p, o, block, n):
    """Write the nearest directions, the angles to the boundary (inside: positive), and the twists.

    ANGLE and MARGIN have what is left of both, negative outside; PT the nearest legal twist.
    """
    place(p, o, block, n)
    place_on_cube(p, o, block, n)
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
        gauge(p, o, block, n)
        for i in range(n):
            angles[start + i] = block[ANGLE + i]
            margins[start + i] = np.inf if p[o + FREE] > 0.0 else block[MARGIN + i]


@kernel
def locate(directions, p, slices, heights, ranges):
    """Write the slices of flat directions, heights over their edges' planes, and twist limits."""
    block = np.empty(BLOCK)
    o = np.int64(1)
    first_slice, count = int(p[o + SLICES]), int(p[o + COUNT])
    table, most = o + int(p[o + TABLE]), int(p[o + MOST])
    low, high = p[o + VISIBLE_LOW], p[o + VISIBLE_HIGH]
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
            at = slice_at(p, o, table, most, x, y, z, block[BUCKET + i])
            height, least, greatest = limits_at(p, place_of(o + at), low, high, x, y, z)
            slices[start + i], heights[start + i] = (at - first_slice) // SLICE % count, height
            ranges[2 * (start + i)], ranges[2 * (start + i) + 1] = least, greatest
