"""Reach cones: how they are packed, their nearest boundary, their twists.

A reach cone is a spherical star polygon about a visible point, with twist limits at each vertex.
Slice i is the triangle of the visible point and of edge i, from vertex i to vertex i + 1.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .layout import COUNT, OFFSET, WHOLE, Field, Layout
from .rotation import DISTANCE, LANES, PT, PX, SCRATCH, T, X, angle_of, lane_vec3, set_lane_vec3
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

UNIT, BUCKET, CUBE_CELL = SCRATCH, SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
"""Rows of the block: the unit direction, its bucket and its cell."""

TIE = 1.0 - 1e-13  # ratio of distances at which edges tie; then the lower index counts


@kernel
def bucket_of(p, o, v):
    """Return the index of the bucket of azimuth of a unit direction, a whole number."""
    x, y = dot(vec3_at(p, o + HEADER.frame), v), dot(vec3_at(p, o + HEADER.frame + 3), v)
    q, last = y / max(abs(x) + abs(y), 1e-300), p[o + HEADER.buckets] - 1.0
    bucket = (1.0 + (q if x >= 0.0 else 2.0 - q)) * (0.25 * p[o + HEADER.buckets])
    return np.floor(max(0.0, min(last, bucket)))  # in this order NaN becomes a number


@kernel
def slice_from(p, o, bucket, v):
    """Return the offset of the slice of a unit direction: the first of its bucket, or a later one.

    The first slices are repeated after the last, so that the search always ends.
    """
    at = int(p[o + int(p[o + HEADER.table]) + int(bucket)])
    for _ in range(int(p[o + HEADER.most])):
        at += SLICE.SIZE if dot(vec3_at(p, o + at + SLICE.right), v) >= 0.0 else 0
    return o + at


@kernel
def find_slice(p, o, v):
    """Return the offset of the slice of a unit direction."""
    return slice_from(p, o, bucket_of(p, o, v), v)


@kernel
def twist_limits(p, o, at, v):
    """Return the twist limits of a unit direction in the slice at `at`, and its height.

    That is the height over the plane of the slice's edge, negative outside. Limits are interpolated
    with the heights over the three planes as weights, each for the corner opposite its plane.
    """
    c = max(dot(vec3_at(p, at + SLICE.left), v), 0.0)
    b = max(-dot(vec3_at(p, at + SLICE.right), v), 0.0)
    height = dot(vec3_at(p, at + SLICE.edge), v)
    a, corners = max(height, 0.0), at + SLICE.limits
    scale, middle = 1.0 / max(a + b + c, 1e-300), o + HEADER.visible
    low = (a * p[middle] + (b * p[corners] + c * p[corners + 2])) * scale
    high = (a * p[middle + 1] + (b * p[corners + 1] + c * p[corners + 3])) * scale
    return low, high, height


@kernel
def twist_margin(p, o, low, high, given):
    """Return the depth of a twist inside its limits, negative outside, and the nearest legal one.

    The depth is infinite where every twist is legal in all directions.
    """
    half = 0.5 * (high - low)
    off = wrap_angle(given - 0.5 * (low + high))
    margin = half - abs(off)
    nearest = low if off < 0.0 else high
    return (
        np.inf if p[o + HEADER.free] > 0.0 else margin,
        given if (margin >= 0.0) | (half >= np.pi) else nearest,
    )


@kernel
def cell_of(p, o, v):
    """Return the index of the cell of a unit direction on the cube, a whole number."""
    side, (x, y, z) = p[o + HEADER.side], v
    half, last, cells = 0.5 * side, side - 1.0, 6.0 * side * side
    by_x, by_y = abs(x) >= max(abs(y), abs(z)), abs(y) >= abs(z)
    major = x if by_x else (y if by_y else z)
    face = (0.0 if by_x else (2.0 if by_y else 4.0)) + (0.0 if major >= 0.0 else 1.0)
    scale = half / abs(major)
    row = min(np.floor((y if by_x else x) * scale + half), last)
    column = min(np.floor((z if by_x | by_y else y) * scale + half), last)
    cell = (face * side + row) * side + column
    return cell if (cell >= 0.0) & (cell < cells) else 0.0  # also for NaN


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
def nearest_edge(p, o, cell, v):
    """Return the index of the first edge nearest to a direction in the cell at `cell`.

    The cell lists the edges that can be nearest.
    """
    cells, edges = o + int(p[o + HEADER.cells]), o + int(p[o + HEADER.edges])
    first, last = cells + int(p[cell]), cells + int(p[cell + CELL.SIZE])
    number = int(p[first])
    if last == first + 1:
        return number
    best = np.inf
    for at in range(first, last):
        away = distance_to(p, edges + EDGE.SIZE * int(p[at]), v)
        nearer = away < best * TIE
        number, best = int(p[at]) if nearer else number, away if nearer else best
    return number


@kernel
def foot_on_edge(p, e, v):
    """Return the angle from a direction to the edge at `e`, the nearest point, its share of it."""
    a, t, s, end, past = edge_coordinates(p, e, v)
    if t >= 0.0 and past <= 0.0:
        size = np.sqrt(a * a + t * t)
        foot = a * vec3_at(p, e + EDGE.start) + t * vec3_at(p, e + EDGE.tangent)
        return angle_of(abs(s), size), foot / max(size, 1e-300), t / max(t - past, 1e-300)
    if a >= end:
        return angle_of(np.sqrt(t * t + s * s), a), vec3_at(p, e + EDGE.start), 0.0
    return angle_of(np.sqrt(past * past + s * s), end), vec3_at(p, e + EDGE.end), 1.0


@kernel
def boundary(p, o, index, v):
    """Return the angle from a unit direction to the boundary, the nearest point, its twist limits.

    `index` is that of the direction's cell.
    """
    cell = o + int(p[o + HEADER.cells]) + CELL.SIZE * index
    number = nearest_edge(p, o, cell, v)
    angle, foot, share = foot_on_edge(p, o + int(p[o + HEADER.edges]) + EDGE.SIZE * number, v)
    at = o + int(p[o + HEADER.slices]) + SLICE.SIZE * number + SLICE.limits
    low = (1.0 - share) * p[at] + share * p[at + 2]
    high = (1.0 - share) * p[at + 1] + share * p[at + 3]
    return angle, foot, low, high


@kernel
def cone(p, o, block, n):
    """Find the nearest legal direction, then the nearest legal twist there."""
    slope, cells = p[o + HEADER.slope], o + int(p[o + HEADER.cells])
    for i in range(n):  # becomes vector code
        x = lane_vec3(block, X + i)
        v = (1.0 / norm(x)) * x
        block[BUCKET + i], block[CUBE_CELL + i] = bucket_of(p, o, v), cell_of(p, o, v)
        set_lane_vec3(block, UNIT + i, v)
        set_lane_vec3(block, PX + i, x)
    for i in range(n):
        v, given, cell = lane_vec3(block, UNIT + i), block[T + i], int(block[CUBE_CELL + i])
        low, high, height = twist_limits(p, o, slice_from(p, o, block[BUCKET + i], v), v)
        margin, block[PT + i] = twist_margin(p, o, low, high, given)
        inside, inner = height >= 0.0, slope * margin
        # Inside, the boundary matters only if it may be nearer than the ends of the twist.
        clear = p[cells + CELL.SIZE * cell + CELL.clearance]
        if inside and not (margin >= 0.0 and inner > clear):
            block[DISTANCE + i] = -margin if margin < 0.0 else -inner
            continue
        angle, foot, low, high = boundary(p, o, cell, v)
        if inside:
            block[DISTANCE + i] = -min(angle, inner)
            continue
        margin, block[PT + i] = twist_margin(p, o, low, high, given)
        set_lane_vec3(block, PX + i, foot)
        twisted = min(margin, 0.0)
        block[DISTANCE + i] = np.sqrt(angle * angle + twisted * twisted)


@kernel
def nearest_member(p, o, x, given):
    """Return the nearest legal direction, and the nearest legal twist there."""
    v = (1.0 / norm(x)) * x
    low, high, height = twist_limits(p, o, find_slice(p, o, v), v)
    if height >= 0.0:
        _, twist = twist_margin(p, o, low, high, given)
        return x, twist
    _, foot, low, high = boundary(p, o, int(cell_of(p, o, v)), v)
    _, twist = twist_margin(p, o, low, high, given)
    return foot, twist


@kernel("f8[] f8[] i8[] f8[]")
def locate(directions, p, slices, ranges):
    """Write slices and twist limits of flat directions."""
    first_slice, count = 1 + int(p[1 + HEADER.slices]), int(p[1 + HEADER.count])
    for i in range(slices.shape[0]):
        x = vec3_at(directions, 3 * i)
        v = (1.0 / norm(x)) * x
        at = find_slice(p, 1, v)
        slices[i] = (at - first_slice) // SLICE.SIZE % count
        ranges[2 * i], ranges[2 * i + 1], _height = twist_limits(p, 1, at, v)


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
    a, t, _s, end, past = edge_coordinates(p, e, v)
    size = np.sqrt(a * a + t * t)
    if t >= 0.0 and past <= 0.0 and size > 1e-300:
        return size, a / size, t / size
    if a >= end:
        return a, 1.0, 0.0
    return end, p[e + EDGE.cosine], p[e + EDGE.sine]


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
