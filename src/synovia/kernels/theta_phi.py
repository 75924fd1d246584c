"""Theta-phi tables: the nearest legal direction, the twists there, and packing.

Walls are where legal and illegal cells meet: arcs of meridians and of parallels. A grid, as fine as
the table's cells or finer, lists for each of its nodes the few walls that can be nearest to any
direction in it. So a lookup and two or three distances give the nearest boundary point exactly,
however many cells there are. A node deep inside has a lower bound of its depth instead: directions
there, which are most, need no wall.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .layout import OFFSET, WHOLE, Field, Layout
from .rotation import (
    DISTANCE,
    LANES,
    PT,
    PX,
    SCRATCH,
    T,
    X,
    angle_of,
    atan_over_root,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
)
from .vector import (
    TURN,
    ZERO,
    Vec3,
    apply,
    apply_transposed,
    mat3_at,
    norm,
    quat_at,
    wrap_angle,
)

HEADER = Layout(
    "theta-phi table",
    frame=9,  # rows of the matrix into the table's frame
    rows=Field(1.0, 1e4, kind=WHOLE),
    columns=Field(1.0, 1e4, kind=WHOLE),
    fine=Field(1.0, 100.0, kind=WHOLE),  # nodes of the grid of walls along the side of a cell
    gentle=1,  # 1/√(1 + G²), with G the steepest slope of the twist's ends anywhere
    # Offsets of middle and half-width of the twist at the cells, of slopes around, of nodes.
    twists=Field(kind=OFFSET),
    around=Field(kind=OFFSET),
    nodes=Field(kind=OFFSET),
)
"""Followed by what `pack_table` writes."""
DEEP = 4.0  # the code of a node is below this its depth inside, else the offset of its walls

# Rows of the block. V is the direction in the table's frame, COLUMN and ROW its position, AT the
# offset of what is looked up there; `gentle_around` writes the last two.
V, COLUMN, ROW = SCRATCH, SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
AT, GENTLE, NEAR = SCRATCH + 5 * LANES, SCRATCH + 6 * LANES, SCRATCH + 7 * LANES

# Rows of local memory: the twists at the four cells around.
SOUTH, NORTH = 0, 4 * LANES
WORK = 8 * LANES


@kernel
def cell_position(v, rows, columns):
    """Return the column and row of a unit vector of the table's frame, as real numbers from 0."""
    longitude, latitude = angle_of(v.y, v.x), angle_of(v.z, np.sqrt(v.x * v.x + v.y * v.y))
    return (longitude + math.pi) * (columns / TURN), (latitude / math.pi + 0.5) * rows


@kernel
def cell_below(position, count):
    """Return the cell at a position along an axis of `count` cells, a whole number; 0 for NaN."""
    return min(max(0.0, np.floor(position)), count - 1.0)


@kernel
def wall_foot(walls, w, v):
    """Return the squared distance of a unit vector from the wall at `w`, and the nearest point.

    A wall is eight numbers: cosine and sine of the longitudes where it begins and ends, less than
    half a turn apart, then of its latitudes; either the longitudes are equal or the latitudes are.
    A point on a great circle is returned as the foot on the circle's plane, shorter than 1.
    """
    inverse = 1.0 / max(np.sqrt(v.x * v.x + v.y * v.y), 1e-100)
    ax, ay, bx, by = quat_at(walls, w)
    c0, s0, c1, s1 = quat_at(walls, w + 4)
    # The nearest longitude: that of the point, or of the nearer end.
    between = (ax * v.y > ay * v.x) & (v.x * by > v.y * bx)
    first = v.x * ax + v.y * ay >= v.x * bx + v.y * by
    ex = v.x * inverse if between else (ax if first else bx)
    ey = v.y * inverse if between else (ay if first else by)
    # On that meridian the foot on the great circle, or the nearer end.
    along, aside = v.x * ex + v.y * ey, v.y * ex - v.x * ey
    between = (v.z * c0 > along * s0) & (along * s1 > v.z * c1)
    first = along * c0 + v.z * s0 >= along * c1 + v.z * s1
    c, s = c0 if first else c1, s0 if first else s1
    to_corner = aside * aside + (along - c) ** 2 + (v.z - s) ** 2
    to_circle = 2.0 * aside * aside / (1.0 + np.sqrt(along * along + v.z * v.z))
    c, s = along if between else c, v.z if between else s
    return to_circle if between else to_corner, Vec3(c * ex, c * ey, s)


@kernel
def find_walls(p, o, block, n):
    """Write the codes of the nodes at AT to DISTANCE, and the nearest points of walls to PX.

    Deep inside they are not needed, and PX stays.
    """
    lanes, count = np.empty(LANES, np.int64), 0
    for i in range(n):
        code = p[o + int(block[AT + i])]
        block[DISTANCE + i], lanes[count] = code, i
        count += 1 if (code < 0.0) | (code >= DEEP) else 0
    for k in range(count):
        # The list of a node: the number of its walls, then their offsets.
        v, least, nearest = lane_vec3(block, V + lanes[k]), np.inf, ZERO
        entry = o + int(abs(block[DISTANCE + lanes[k]]))
        for m in range(entry + 1, entry + 1 + int(p[entry])):
            square, foot = wall_foot(p, o + int(p[m]), v)
            nearest, least = foot if square < least else nearest, min(square, least)
        set_lane_vec3(block, PX + lanes[k], nearest)


@kernel
def boundary_angle(code, v, foot):
    """Return the signed angle from a unit vector to the boundary.

    `code` is that of the vector's node, and `foot` the nearest point of the walls, or the vector
    itself where that is not needed.
    """
    quarter = norm(v - foot) / (norm(v + foot) + 2.0)  # the tangent of a quarter of the angle
    angle = 4.0 * quarter * atan_over_root(quarter * quarter)
    depth = angle if code >= DEEP else code
    return angle if code < 0.0 else -depth


@kernel
def gentle_around(p, o, block, n):
    """Write 1/√(1 + G²), G the steepest slope of the twist's ends near a position, and how near.

    "Near" is an angle in radians.
    """
    rows, columns, around = p[o + HEADER.rows], p[o + HEADER.columns], p[o + HEADER.around]
    for i in range(n):
        j, k = cell_below(block[ROW + i], rows), cell_below(block[COLUMN + i], columns)
        block[AT + i] = around + 2.0 * (j * columns + k)
    for i in range(n):
        at = o + int(block[AT + i])
        block[GENTLE + i], block[NEAR + i] = p[at], p[at + 1]


@kernel
def twists_at(p, o, block, work, n):
    """Write the middle and the half-width of the legal twists at COLUMN and ROW to V, in radians.

    They are bilinear between the centres of cells. COLUMN and ROW become the shares, from 0 to 1,
    of the cells to the east and to the north.
    """
    rows, columns, twists = p[o + HEADER.rows], p[o + HEADER.columns], p[o + HEADER.twists]
    stride = 2.0 * (columns + 2.0)
    for i in range(n):
        column, row = block[COLUMN + i] + 0.5, block[ROW + i] + 0.5
        j, k = cell_below(row, rows + 1.0), cell_below(column, columns + 1.0)
        block[AT + i] = twists + j * stride + 2.0 * k
        block[COLUMN + i], block[ROW + i] = column - k, row - j
    for i in range(n):
        at = o + int(block[AT + i])
        set_lane_quat(work, SOUTH + i, quat_at(p, at))
        set_lane_quat(work, NORTH + i, quat_at(p, at + int(stride)))
    for i in range(n):
        a, b = block[COLUMN + i], block[ROW + i]
        # Of a row of cells: middle and half-width in the west, then in the east.
        q = (1.0 - b) * lane_quat(work, SOUTH + i) + b * lane_quat(work, NORTH + i)
        block[V + i] = (1.0 - a) * q.w + a * q.y
        block[V + LANES + i] = max((1.0 - a) * q.x + a * q.z, 0.0)


@kernel
def table(p, o, block, n):
    """Move to the nearest legal direction, then to the nearest twist that is legal there.

    Inside, the depth is the distance to the walls, or that of the twist over √(1 + G²), G the slope
    of its ends: however direction and twist share a move of that length, it stays inside.

    Loops either look numbers up or compute: those that compute become vector code.
    """
    work = np.empty(WORK)
    frame, rows, columns = mat3_at(p, o + HEADER.frame), p[o + HEADER.rows], p[o + HEADER.columns]
    fine, nodes, gentle = p[o + HEADER.fine], p[o + HEADER.nodes], p[o + HEADER.gentle]
    for i in range(n):
        v = apply(frame, lane_vec3(block, X + i))
        set_lane_vec3(block, V + i, v)
        set_lane_vec3(block, PX + i, v)
        column, row = cell_position(v, rows, columns)
        j, k = cell_below(row * fine, rows * fine), cell_below(column * fine, columns * fine)
        block[AT + i] = nodes + j * (columns * fine) + k
        block[COLUMN + i], block[ROW + i] = column, row
    find_walls(p, o, block, n)
    for i in range(n):
        v, foot, x = lane_vec3(block, V + i), lane_vec3(block, PX + i), lane_vec3(block, X + i)
        foot = (1.0 / max(norm(foot), 1e-300)) * foot
        beyond = boundary_angle(block[DISTANCE + i], v, foot)
        moved = apply_transposed(frame, foot)
        outside = beyond > 0.0
        block[DISTANCE + i] = beyond
        block[PX + i] = moved.x if outside else x.x
        block[PX + LANES + i] = moved.y if outside else x.y
        block[PX + 2 * LANES + i] = moved.z if outside else x.z
        column, row = cell_position(foot, rows, columns)
        block[COLUMN + i] = column if outside else block[COLUMN + i]
        block[ROW + i] = row if outside else block[ROW + i]
    gentle_around(p, o, block, n)
    twists_at(p, o, block, work, n)
    for i in range(n):
        off, beyond = wrap_angle(block[T + i] - block[V + i]), block[DISTANCE + i]
        excess = abs(off) - block[V + LANES + i]
        outer, move = max(beyond, 0.0), max(excess, 0.0)
        block[PT + i] = block[T + i] - np.copysign(move, off)
        length = np.sqrt(outer * outer + move * move)
        # The slopes of the whole table hold for any move; those around, for a short one.
        inside = max(-excess * gentle, min(-excess * block[GENTLE + i], block[NEAR + i]))
        block[DISTANCE + i] = length if length > 0.0 else max(beyond, -inside)


# Packing: which walls can be nearest to any point of each node of a grid, and how near.

SLACK = 1e-9  # radians, and their sines and cosines; for rounding


@kernel
def node_at(i, j, size, rows, columns):
    """Return the centre of node (i, j), a unit vector, and its radius in radians.

    A node has `size` × `size` of the rows and columns, the last ones possibly fewer.
    """
    south = i * size * math.pi / rows - 0.5 * math.pi
    north = min((i + 1) * size, rows) * math.pi / rows - 0.5 * math.pi
    west, east = j * size * TURN / columns, min((j + 1) * size, columns) * TURN / columns
    z, radius = math.sin(0.5 * (south + north)), math.cos(0.5 * (south + north))
    half, longitude = math.cos(0.5 * (east - west)), 0.5 * (west + east) - math.pi
    nearer = min(
        z * math.sin(south) + radius * math.cos(south) * half,
        z * math.sin(north) + radius * math.cos(north) * half,
    )
    centre = Vec3(radius * math.cos(longitude), radius * math.sin(longitude), z)
    return centre, math.acos(min(nearer, 1.0))


@kernel("f8[] i8[] i8[] i8[] i8[] i8[] f8[]")
def prune(walls, shape, coarse_start, coarse_number, start, number, clearance):
    """Write the wall lists of nodes of a size from those of nodes twice as large.

    `shape` has the rows and columns of cells, and the cells along the side of a node.
    Node k has the walls number[start[k] : start[k + 1]]; `clearance[k]` is a lower bound of the
    angle from any of its points to a wall, π without walls. Returns the number of list entries.

    From a node with centre c and radius r, a wall is at least d(c, wall) − r away, and some wall at
    most the least d(c, wall) + r: what is farther is dropped.
    """
    rows, columns, size = shape[0], shape[1], shape[2]
    down, across = -(-rows // size), -(-columns // size)
    wide, count = -(-columns // (2 * size)), 0
    most_walls = max(walls.shape[0] // 8, 1)
    cosines = np.empty(most_walls)
    for node in range(down * across):
        i, j = node // across, node % across
        centre, reach = node_at(i, j, size, rows, columns)
        twice = math.cos(2.0 * reach)
        coarse = i // 2 * wide + j // 2
        first, last, most = coarse_start[coarse], coarse_start[coarse + 1], -1.0
        for k in range(first, last):
            square, _ = wall_foot(walls, 8 * coarse_number[k], centre)
            cosines[k - first] = 1.0 - 0.5 * square
            most = max(most, cosines[k - first])
        # The cosine of two radii more than the angle to the nearest wall, if below half a turn.
        sines = math.sqrt(max(1.0 - most * most, 0.0)) * math.sin(2.0 * reach)
        bound = most * twice - sines - SLACK if most > -twice else -2.0
        start[node] = count
        clearance[node] = math.pi if first == last else math.acos(min(most, 1.0)) - reach - SLACK
        for k in range(first, last):
            if cosines[k - first] < bound:
                continue
            number[count] = coarse_number[k]
            count += 1
    start[down * across] = count
    return count
