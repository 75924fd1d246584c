"""Reach cones in blocks of lanes: how they are packed, their nearest boundary, their twists."""

from __future__ import annotations

import numpy as np

from .charts import angle_of
from .jit import kernel
from .layout import Layout
from .rotation import BLOCK, DISTANCE, LANES, PT, PX, PY, PZ, SCRATCH, T, X, Y, Z
from .vector import TURN

HEADER = Layout(
    "packed reach cone",
    size=1,  # numbers in all, without the kind before it
    buckets=1,  # of azimuth
    most=1,  # vertices in one bucket
    side=1,  # cells along the side of a face of the cube
    slope=1,  # 1/√(1 + G²): share of a twist's margin that is left for moves in any direction
    free=1,  # 1 if every twist is legal everywhere
    visible=2,  # twist limits at the visible point
    frame=6,  # two directions across the visible point
    slices=1,  # offsets of the tables
    edges=1,
    table=1,
    cells=1,
    count=1,  # of vertices
)
SLICE = Layout("slice", left=3, right=3, edge=3, limits=4, unused=3)
"""Normals of its two sides and of its edge; low and high limits at its first and second vertex."""
EDGE = Layout("edge", start=3, tangent=3, normal=3, cosine=1, sine=1, end=3, unused=2)
CELL = Layout("cell", list=1, clearance=1)
"""Offset of the list of its edges, and a lower bound of the distance to the boundary."""

# Rows of a block: unit directions, buckets, cells, then heights over the edge and twist limits.
NX, NY, NZ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
BUCKET, CUBE_CELL = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
LOW, HIGH, HEIGHT = SCRATCH + 5 * LANES, SCRATCH + 6 * LANES, SCRATCH + 7 * LANES
# When buckets and cells have been used: what is left in twist and in direction.
MARGIN, ANGLE = BUCKET, CUBE_CELL


TIE = 1.0 - 1e-13  # edges that are as near as this go by their number

# Rows of the work space, which has a column for each lane gathered, those outside first.
NUMBER, BEST, PENDING = 0, LANES, 2 * LANES
ALONG, ACROSS, OVER = 3 * LANES, 4 * LANES, 5 * LANES  # a direction's coordinates at an edge
LANE = 6 * LANES
END, PAST = BEST, PENDING  # and those at its end, when the edge is known
AWAY, SHARE, WHOLE = OVER, END, PAST  # in the end: the angle, and where on the edge
WORK = 7 * LANES + 1  # a lane may be written after the last one, and not be counted


@kernel
def gather(p, o, block, n, every, work):
    """List the lanes that need the boundary; return how many are outside, and how many in all.

    Inside, it matters only where it may be nearer than the twist's limits, or if `every` is True.
    Gathered lanes run through the same loops: a branch for each lane would be mispredicted.
    """
    cells, slope = o + int(p[o + HEADER.cells]), p[o + HEADER.slope]
    outside = 0
    for i in range(n):
        work[LANE + outside] = i
        outside += 1 if block[HEIGHT + i] < 0.0 else 0
    count = outside
    for i in range(n):
        clear = p[cells + CELL.SIZE * int(block[CUBE_CELL + i]) + 1]
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
    cells, edges = o + int(p[o + HEADER.cells]), o + int(p[o + HEADER.edges])
    pending = 0
    for j in range(count):
        cell = cells + CELL.SIZE * int(block[CUBE_CELL + int(work[LANE + j])])
        work[NUMBER + j] = p[cells + int(p[cell])]
        work[BEST + j] = np.inf
        work[PENDING + pending] = j
        pending += 1 if p[cell + CELL.SIZE] - p[cell] > 1.0 else 0
    k = 0
    while pending > 0:
        kept = 0
        for m in range(pending):
            j = int(work[PENDING + m])
            i = int(work[LANE + j])
            cell = cells + CELL.SIZE * int(block[CUBE_CELL + i])
            number = p[cells + int(p[cell]) + k]
            e = edges + EDGE.SIZE * int(number)
            size = distance_to(p, e, block[NX + i], block[NY + i], block[NZ + i])
            best = work[BEST + j]
            nearer = size < best * TIE
            work[BEST + j] = size if nearer else best
            work[NUMBER + j] = number if nearer else work[NUMBER + j]
            work[PENDING + kept] = j
            kept += 1 if p[cell + CELL.SIZE] - p[cell] > k + 1.0 else 0
        pending = kept
        k += 1


@kernel
def measure_edges(p, o, block, work, count):
    """Write the angles to the nearest edges, and where on them: shares of start, tangent, end."""
    edges = o + int(p[o + HEADER.edges])
    for j in range(count):
        i, e = int(work[LANE + j]), edges + EDGE.SIZE * int(work[NUMBER + j])
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
        work[AWAY + j] = angle_of(sine, size if on_edge else max(a, end))
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
    edges, slices = o + int(p[o + HEADER.edges]), o + int(p[o + HEADER.slices])
    for i in range(n):
        block[PX + i] = block[X + i]
        block[PY + i] = block[Y + i]
        block[PZ + i] = block[Z + i]
        block[ANGLE + i] = np.inf
    for j in range(outside, count):
        block[ANGLE + int(work[LANE + j])] = work[AWAY + j]
    for j in range(outside):
        i, number = int(work[LANE + j]), int(work[NUMBER + j])
        e, at = edges + EDGE.SIZE * number, slices + SLICE.SIZE * number
        a, t, whole, share = work[ALONG + j], work[ACROSS + j], work[WHOLE + j], work[SHARE + j]
        block[ANGLE + i] = -work[AWAY + j]
        block[PX + i] = a * p[e] + t * p[e + 3] + whole * p[e + 11]
        block[PY + i] = a * p[e + 1] + t * p[e + 4] + whole * p[e + 12]
        block[PZ + i] = a * p[e + 2] + t * p[e + 5] + whole * p[e + 13]
        block[LOW + i] = (1.0 - share) * p[at + 9] + share * p[at + 11]
        block[HIGH + i] = (1.0 - share) * p[at + 10] + share * p[at + 12]


# Reach cones in blocks: a spherical star polygon about a visible point, twist limits at each.
#
# Parameters, from `o` on: see the names below. A slice is the part between two vertices as seen
# from the visible point; slice i and edge i go from vertex i to vertex i + 1.


@kernel
def place(p, o, block, n):
    """Write unit directions, and the numbers of their buckets of azimuth."""
    ax, ay, az = p[o + HEADER.frame], p[o + HEADER.frame + 1], p[o + HEADER.frame + 2]
    bx, by, bz = p[o + HEADER.frame + 3], p[o + HEADER.frame + 4], p[o + HEADER.frame + 5]
    per_turn, last = 0.25 * p[o + HEADER.buckets], p[o + HEADER.buckets] - 1.0
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
    side, last_cell = p[o + HEADER.side], p[o + HEADER.side] - 1.0
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
        block[CUBE_CELL + i] = cell if (cell >= 0.0) & (cell < cells) else 0.0


@kernel
def find_slices(p, o, block, n):
    """Write, in place of the buckets, where the directions' slices stand.

    That is where its bucket begins, or later. After the last slice the first ones stand once
    more, so none is looked for in vain.
    """
    table, most = o + int(p[o + HEADER.table]), int(p[o + HEADER.most])
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = p[table + int(block[BUCKET + i])]
        for _ in range(most):
            here = o + int(at)
            beyond = p[here + 3] * x + p[here + 4] * y + p[here + 5] * z >= 0.0
            at += SLICE.SIZE if beyond else 0.0
        block[BUCKET + i] = at


@kernel
def look_up_limits(p, o, block, n):
    """Write the twist limits in the directions' slices, and the heights over their edges' planes.

    L = aV + bP + cQ has a, b, c as its edge's height and the heights over the two slice planes,
    each over the plane that its own corner is not in. Two loops: the second is vector code.
    """
    find_slices(p, o, block, n)
    middle_low, middle_high = p[o + HEADER.visible], p[o + HEADER.visible + 1]
    start, end = PX, PY
    for i in range(n):
        x, y, z = block[NX + i], block[NY + i], block[NZ + i]
        at = o + int(block[BUCKET + i])
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
    free = p[o + HEADER.free] > 0.0
    for i in range(n):
        low, high, given = block[LOW + i], block[HIGH + i], block[T + i]
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        turned = given - TURN * np.rint((given - middle) / TURN)
        margin = half - abs(turned - middle)
        block[MARGIN + i] = np.inf if free else margin
        nearest = low if turned < middle else high
        block[PT + i] = given if (margin >= 0.0) | (half >= np.pi) else nearest


@kernel
def measure_margins(p, o, block, n, every):
    """Write the nearest legal points, and what is left in direction and in twist.

    ANGLE and MARGIN have that, negative outside. The first is ∞ where the second is nearer, in
    any direction, unless `every` is asked for.
    """
    place(p, o, block, n)
    place_on_cube(p, o, block, n)
    look_up_limits(p, o, block, n)
    twist(p, o, block, n)
    reach_boundary(p, o, block, n, every)
    twist(p, o, block, n)  # once more, where the nearest legal direction is another


@kernel
def cone(p, o, block, n):
    """Find the nearest legal direction, then the nearest legal twist there."""
    measure_margins(p, o, block, n, False)
    slope = p[o + HEADER.slope]
    for i in range(n):
        angle, margin = block[ANGLE + i], block[MARGIN + i]
        inner = min(angle, slope * margin)
        beyond, twisted = min(angle, 0.0), min(margin, 0.0)
        outer = np.sqrt(beyond * beyond + twisted * twisted)
        block[DISTANCE + i] = outer if (angle < 0.0) | (margin < 0.0) else -inner


@kernel("f8[] f8[] f8[] f8[]")
def margins_of(points, p, angles, margins):
    """Write what is left to the boundary in direction and in twist, for flat points."""
    block = np.empty(BLOCK)
    o = 1
    for start in range(0, angles.shape[0], LANES):
        n = min(LANES, angles.shape[0] - start)
        first = 4 * start
        for i in range(n):
            block[X + i] = points[first + 4 * i]
            block[Y + i] = points[first + 4 * i + 1]
            block[Z + i] = points[first + 4 * i + 2]
            block[T + i] = points[first + 4 * i + 3]
        measure_margins(p, o, block, n, True)
        for i in range(n):
            angles[start + i] = block[ANGLE + i]
            margins[start + i] = block[MARGIN + i]


@kernel("f8[] f8[] i8[] f8[] f8[]")
def locate(directions, p, slices, heights, ranges):
    """Write the slices of flat directions, heights over their edges' planes, and twist limits."""
    block = np.empty(BLOCK)
    o = 1
    first_slice, count = int(p[o + HEADER.slices]), int(p[o + HEADER.count])
    for start in range(0, heights.shape[0], LANES):
        n = min(LANES, heights.shape[0] - start)
        first = 3 * start
        for i in range(n):
            block[X + i] = directions[first + 3 * i]
            block[Y + i] = directions[first + 3 * i + 1]
            block[Z + i] = directions[first + 3 * i + 2]
        place(p, o, block, n)
        look_up_limits(p, o, block, n)
        for i in range(n):
            slices[start + i] = (int(block[BUCKET + i]) - first_slice) // SLICE.SIZE % count
            heights[start + i] = block[HEIGHT + i]
            ranges[2 * (start + i)] = block[LOW + i]
            ranges[2 * (start + i) + 1] = block[HIGH + i]
