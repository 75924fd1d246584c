"""Reach cones in blocks of lanes: how they are packed, their nearest boundary, their twists.

A reach cone is a spherical star polygon about a visible point, with twist limits at each vertex.
Slice i is the triangle of the visible point and of edge i, from vertex i to vertex i + 1.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .layout import COUNT, OFFSET, WHOLE, Field, Layout
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    PT,
    PX,
    PY,
    SCRATCH,
    T,
    X,
    angle_of,
    lane_vec3,
    set_lane_vec3,
)
from .vector import Vec3, dot, norm, set_vec3, vec3_at, wrap_angle

HEADER = Layout(
    "packed reach cone",
    size=Field(kind=OFFSET),  # numbers in all, without the kind before it
    buckets=Field(1.0, kind=COUNT),  # of azimuth
    most=Field(0.0, kind=COUNT),  # vertices in one bucket
    side=Field(1.0, 1000.0, kind=WHOLE),  # cells along the side of a face of the cube
    slope=1,  # 1/√(1 + G²): share of a twist's margin that is left for moves in any direction
    free=1,  # 1 if every twist is legal everywhere, else 0
    visible=2,  # twist limits at the visible point
    frame=6,  # two directions across the visible point
    slices=Field(kind=OFFSET),  # offsets of the tables
    edges=Field(kind=OFFSET),
    table=Field(kind=OFFSET),
    cells=Field(kind=OFFSET),
    count=Field(1.0, kind=COUNT),  # of vertices
)
SLICE = Layout("slice", left=3, right=3, edge=3, limits=4, unused=3)
"""Normals of its two sides and of its edge; low and high limits at its first and second vertex."""
EDGE = Layout("edge", start=3, tangent=3, normal=3, cosine=1, sine=1, end=3, unused=2)
CELL = Layout("cell", list=1, clearance=1)
"""Offset of the list of its edges, and a lower bound of the distance to the boundary."""

# Rows of a block: unit directions (three), buckets, cells, then twist limits and heights over the
# plane of the slice's edge.
NX = SCRATCH
BUCKET, CUBE_CELL = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
LOW, HIGH, HEIGHT = SCRATCH + 5 * LANES, SCRATCH + 6 * LANES, SCRATCH + 7 * LANES
# After buckets and cells were used: depth inside the twist limits and inside the boundary, radians.
MARGIN, ANGLE = BUCKET, CUBE_CELL

TIE = 1.0 - 1e-13  # ratio of distances at which edges tie; then the lower index counts

# Rows of the work space, with a column for each lane that needs the boundary, first those outside.
NUMBER, BEST, PENDING = 0, LANES, 2 * LANES
ALONG, ACROSS, LANE = 3 * LANES, 4 * LANES, 6 * LANES
AWAY, SHARE, WHOLE = 5 * LANES, BEST, PENDING  # angle to the edge, position on it, share of its end
WORK = 7 * LANES + 1  # the last column is written before it is known whether it counts


@kernel
def gather(p, o, block, n, every, work):
    """List the lanes that need the boundary; return the number outside, and in all.

    Inside, the boundary matters only if it may be nearer than the twist limits, or if `every` is
    True. Lanes are gathered because a branch for each lane would be mispredicted.
    """
    cells, slope = o + int(p[o + HEADER.cells]), p[o + HEADER.slope]
    outside = 0
    for i in range(n):
        work[LANE + outside] = i
        outside += 1 if block[HEIGHT + i] < 0.0 else 0
    count = outside
    for i in range(n):
        clear = p[cells + CELL.SIZE * int(block[CUBE_CELL + i]) + CELL.clearance]
        margin = block[MARGIN + i]
        wanted = every | ((margin >= 0.0) & (slope * margin > clear))
        work[LANE + count] = i
        count += 1 if wanted & (block[HEIGHT + i] >= 0.0) else 0
    return outside, count


@kernel
def edge_coordinates(p, e, v):
    """Return components of a direction at the edge at `e`: along start, tangent and normal.

    Then the first two again for the end of the edge instead of its start.
    """
    a, t = dot(vec3_at(p, e + EDGE.start), v), dot(vec3_at(p, e + EDGE.tangent), v)
    s, cosine, sine = dot(vec3_at(p, e + EDGE.normal), v), p[e + EDGE.cosine], p[e + EDGE.sine]
    return a, t, s, a * cosine + t * sine, t * cosine - a * sine


@kernel
def distance_to(p, e, v):
    """Return 1 − cos of the angle from a direction to the edge at `e`."""
    a, t, s, end, past = edge_coordinates(p, e, v)
    # Forms that are exact for small angles.
    foot = s * s / (1.0 + np.sqrt(a * a + t * t))
    near, far = 1.0 - max(a, end), t if a >= end else past
    corner = 0.5 * (near * near + far * far + s * s)
    return foot if (t >= 0.0) & (past <= 0.0) else corner


@kernel
def choose_edges(p, o, block, work, count):
    """Write the index of the nearest edge, the lowest of ties, for each gathered lane.

    Round k compares the k-th edge of the cells that have so many.
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
            size = distance_to(p, edges + EDGE.SIZE * int(number), lane_vec3(block, NX + i))
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
    """Write angles to the nearest edges, and the feet there: shares of start, tangent and end."""
    edges = o + int(p[o + HEADER.edges])
    for j in range(count):
        v, e = lane_vec3(block, NX + int(work[LANE + j])), edges + EDGE.SIZE * int(work[NUMBER + j])
        a, t, s, end, past = edge_coordinates(p, e, v)
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
    """Write angles to the boundary, negative outside; ∞ where they are not needed (see `gather`).

    Also writes the nearest legal directions, and for lanes outside the twist limits there.
    """
    work = np.empty(WORK)
    outside, count = gather(p, o, block, n, every, work)
    choose_edges(p, o, block, work, count)
    measure_edges(p, o, block, work, count)
    edges, slices = o + int(p[o + HEADER.edges]), o + int(p[o + HEADER.slices])
    for i in range(n):
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
        block[ANGLE + i] = np.inf
    for j in range(outside, count):
        block[ANGLE + int(work[LANE + j])] = work[AWAY + j]
    for j in range(outside):
        i, number = int(work[LANE + j]), int(work[NUMBER + j])
        e, at, share = edges + EDGE.SIZE * number, slices + SLICE.SIZE * number, work[SHARE + j]
        foot = work[ALONG + j] * vec3_at(p, e + EDGE.start)
        foot = foot + work[ACROSS + j] * vec3_at(p, e + EDGE.tangent)
        set_lane_vec3(block, PX + i, foot + work[WHOLE + j] * vec3_at(p, e + EDGE.end))
        block[ANGLE + i] = -work[AWAY + j]
        low, high = at + SLICE.limits, at + SLICE.limits + 1
        block[LOW + i] = (1.0 - share) * p[low] + share * p[low + 2]
        block[HIGH + i] = (1.0 - share) * p[high] + share * p[high + 2]


@kernel
def place(p, o, block, n):
    """Write unit directions, and the indices of their buckets of azimuth."""
    across, other = vec3_at(p, o + HEADER.frame), vec3_at(p, o + HEADER.frame + 3)
    per_turn, last = 0.25 * p[o + HEADER.buckets], p[o + HEADER.buckets] - 1.0
    for i in range(n):
        direction = lane_vec3(block, X + i)
        direction = (1.0 / norm(direction)) * direction
        set_lane_vec3(block, NX + i, direction)
        u, v = dot(across, direction), dot(other, direction)
        q = v / max(abs(u) + abs(v), 1e-300)
        bucket = (1.0 + (q if u >= 0.0 else 2.0 - q)) * per_turn
        bucket = bucket if bucket < last else last
        block[BUCKET + i] = bucket if bucket >= 0.0 else 0.0  # also for NaN


@kernel
def place_on_cube(p, o, block, n):
    """Write the indices of the directions' cells on the cube."""
    side, last_cell = p[o + HEADER.side], p[o + HEADER.side] - 1.0
    half, cells = 0.5 * side, 6.0 * side * side
    for i in range(n):
        x, y, z = lane_vec3(block, NX + i)
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
    """Replace the buckets by the offsets of the directions' slices.

    A slice is the first of its bucket, or a later one. The first slices are repeated after the
    last, so that the search always ends.
    """
    table, most = o + int(p[o + HEADER.table]), int(p[o + HEADER.most])
    for i in range(n):
        direction = lane_vec3(block, NX + i)
        at = p[table + int(block[BUCKET + i])]
        for _ in range(most):
            beyond = dot(vec3_at(p, o + int(at) + SLICE.right), direction) >= 0.0
            at += SLICE.SIZE if beyond else 0.0
        block[BUCKET + i] = at


@kernel
def look_up_limits(p, o, block, n):
    """Write the twist limits in the directions' slices, and heights over their edges' planes.

    Limits are interpolated with the direction's heights over the three planes of the slice as
    weights, each for the corner opposite its plane. Two loops: the second is vector code.
    """
    find_slices(p, o, block, n)
    middle_low, middle_high = p[o + HEADER.visible], p[o + HEADER.visible + 1]
    start, end = PX, PY
    for i in range(n):
        direction, at = lane_vec3(block, NX + i), o + int(block[BUCKET + i])
        c = max(dot(vec3_at(p, at + SLICE.left), direction), 0.0)
        b = max(-dot(vec3_at(p, at + SLICE.right), direction), 0.0)
        low, high = at + SLICE.limits, at + SLICE.limits + 1
        block[start + i] = b
        block[end + i] = c
        block[HEIGHT + i] = dot(vec3_at(p, at + SLICE.edge), direction)
        block[LOW + i] = b * p[low] + c * p[low + 2]
        block[HIGH + i] = b * p[high] + c * p[high + 2]
    for i in range(n):
        a = max(block[HEIGHT + i], 0.0)
        scale = 1.0 / max(a + block[start + i] + block[end + i], 1e-300)
        block[LOW + i] = (a * middle_low + block[LOW + i]) * scale
        block[HIGH + i] = (a * middle_high + block[HIGH + i]) * scale


@kernel
def twist(p, o, block, n):
    """Write the depth inside the twist limits, negative outside, and the nearest legal twist."""
    free = p[o + HEADER.free] > 0.0
    for i in range(n):
        low, high, given = block[LOW + i], block[HIGH + i], block[T + i]
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        off = wrap_angle(given - middle)
        margin = half - abs(off)
        block[MARGIN + i] = np.inf if free else margin
        nearest = low if off < 0.0 else high
        block[PT + i] = given if (margin >= 0.0) | (half >= np.pi) else nearest


@kernel
def measure_margins(p, o, block, n, every):
    """Write the nearest legal points, and the depth in direction and in twist.

    ANGLE and MARGIN have the depths, negative outside. ANGLE is ∞ where the twist limits are
    nearer, unless `every` is True.
    """
    place(p, o, block, n)
    place_on_cube(p, o, block, n)
    look_up_limits(p, o, block, n)
    twist(p, o, block, n)
    reach_boundary(p, o, block, n, every)
    twist(p, o, block, n)  # again, where the nearest legal direction is another one


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
    """Write the depth in direction and in twist, in radians, of flat points (x, y, z, twist, …)."""
    block = np.empty(BLOCK)
    for start in range(0, angles.shape[0], LANES):
        n = min(LANES, angles.shape[0] - start)
        for i in range(n):
            set_lane_vec3(block, X + i, vec3_at(points, 4 * (start + i)))
            block[T + i] = points[4 * (start + i) + 3]
        measure_margins(p, 1, block, n, True)
        for i in range(n):
            angles[start + i], margins[start + i] = block[ANGLE + i], block[MARGIN + i]


@kernel("f8[] f8[] i8[] f8[] f8[]")
def locate(directions, p, slices, heights, ranges):
    """Write slices of flat directions, heights over their edges' planes, and twist limits."""
    block = np.empty(BLOCK)
    first_slice, count = int(p[1 + HEADER.slices]), int(p[1 + HEADER.count])
    for start in range(0, heights.shape[0], LANES):
        n = min(LANES, heights.shape[0] - start)
        for i in range(n):
            set_lane_vec3(block, X + i, vec3_at(directions, 3 * (start + i)))
        place(p, 1, block, n)
        look_up_limits(p, 1, block, n)
        for i in range(n):
            at = start + i
            slices[at] = (int(block[BUCKET + i]) - first_slice) // SLICE.SIZE % count
            heights[at] = block[HEIGHT + i]
            ranges[2 * at], ranges[2 * at + 1] = block[LOW + i], block[HIGH + i]


# Packing: which edges can be nearest, for each cell of a grid over the sphere.
#
# The sphere is seen as a cube, each face a square of cells. With h_e(x) = max x·q over the points q
# of edge e, the cosine of the distance, edge e is out of the question in a cell if one point q of
# the boundary has c·q >= h_e(c) at its four corners c: h_e is convex and c·q is linear, and the
# cell is a convex cone over its corners, so q is then nearer than e to every point of the cell.

COSINE_TIE = 1e-12  # edges that are as near as this, in cosine, stay
ROUNDING = 1e-7  # of an angle from its cosine, at worst


@kernel
def closeness(p, e, v):
    """Return the cosine of the angle from a unit vector to the edge at `e`, and the nearest point.

    That point is given by its components along the edge's start and tangent.
    """
    a, t = dot(vec3_at(p, e + EDGE.start), v), dot(vec3_at(p, e + EDGE.tangent), v)
    cosine, sine = p[e + EDGE.cosine], p[e + EDGE.sine]
    if t >= 0.0 and t * cosine - a * sine <= 0.0:
        size = np.sqrt(a * a + t * t)
        if size > 1e-300:
            return size, a / size, t / size
    end = a * cosine + t * sine
    if a >= end:
        return a, 1.0, 0.0
    return end, cosine, sine


@kernel
def on_face(face, u, v):
    """Return the unit vector at (u, v), each from -1 to 1, on a face of the cube."""
    side = 1.0 if face % 2 == 0 else -1.0
    point = Vec3(side, u, v) if face < 2 else (Vec3(u, side, v) if face < 4 else Vec3(u, v, side))
    return (1.0 / np.sqrt(1.0 + u * u + v * v)) * point


@kernel("f8[] i8 i8[] i8[] i8[] i8[]")
def refine(edges, side, starts, items, new_starts, new_items):
    """Write the edges that stay in each cell of 6 · (2 side)² from those of 6 · side².

    `starts` and `items` list the edges of the coarser cells in order; returns how many were
    written. With `side` 0 the cells are whole faces and `items` serve all of them.
    """
    fine = max(2 * side, 1)
    corners, points, best, heights = np.empty(15), np.empty(15), np.empty(5), np.empty(4)
    count = 0
    for cell in range(6 * fine * fine):
        face, row, column = cell // (fine * fine), cell // fine % fine, cell % fine
        coarse = (face * side + row // 2) * side + column // 2 if side > 0 else 0
        first, last = starts[coarse], starts[coarse + 1]
        for k in range(5):  # four corners, and the middle
            du = 0.5 if k == 4 else float(k % 2)
            dv = 0.5 if k == 4 else float(k // 2)
            u, v = -1.0 + 2.0 * (row + du) / fine, -1.0 + 2.0 * (column + dv) / fine
            set_vec3(corners, 3 * k, on_face(face, u, v))
            best[k] = -2.0
        for at in range(first, last):
            e = EDGE.SIZE * items[at]
            for k in range(5):
                h, along, across = closeness(edges, e, vec3_at(corners, 3 * k))
                if h > best[k]:
                    best[k] = h
                    point = along * vec3_at(edges, e + EDGE.start)
                    set_vec3(points, 3 * k, point + across * vec3_at(edges, e + EDGE.tangent))
        new_starts[cell] = count
        for at in range(first, last):
            for k in range(4):
                heights[k], _, _ = closeness(edges, EDGE.SIZE * items[at], vec3_at(corners, 3 * k))
            beaten = False
            for k in range(5):
                nearer = True
                for c in range(4):
                    cosine = dot(vec3_at(corners, 3 * c), vec3_at(points, 3 * k))
                    nearer = nearer and cosine >= heights[c] + COSINE_TIE
                beaten = beaten or nearer
            if not beaten:
                new_items[count] = items[at]
                count += 1
    new_starts[6 * fine * fine] = count
    return count


@kernel("f8[] i8 i8[] i8[] f8[]")
def clearances(edges, side, starts, items, out):
    """Write for each cell of 6 · side² a lower bound of the distance to the boundary, in radians.

    That is the distance from its middle, less that to its farthest corner.
    """
    for cell in range(6 * side * side):
        face, row, column = cell // (side * side), cell // side % side, cell % side
        u, v = -1.0 + (2.0 * row + 1.0) / side, -1.0 + (2.0 * column + 1.0) / side
        middle, nearest, corner = on_face(face, u, v), -1.0, 1.0
        for at in range(starts[cell], starts[cell + 1]):
            nearest = max(nearest, closeness(edges, EDGE.SIZE * items[at], middle)[0])
        for k in range(4):
            du, dv = (2.0 * (k % 2) - 1.0) / side, (k // 2 * 2.0 - 1.0) / side
            corner = min(corner, dot(on_face(face, u + du, v + dv), middle))
        out[cell] = np.arccos(min(nearest, 1.0)) - np.arccos(corner) - ROUNDING
