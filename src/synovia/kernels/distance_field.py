"""Distance fields: interpolation of Φ, and a member near each point outside.

Members have Φ <= threshold and lie in the grid's box; Φ is trilinear between the nodes. *Sites*
are the members among the corners of cells divided into SITE_PARTS along each axis. A trilinear
function is least at a corner of its cell, so some site is within half of HALF_DIAGONAL of any
member. A packed field holds a header, Φ at the nodes, the least Φ of each block of cells, and the
nearest site of each *knot*: the nodes, and some more beyond each end of axes without a period.

Points are measured from the box's lower corner. Work arrays hold one row of LANES numbers for each
quantity, so that loops over points become vector code.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .layout import Layout
from .rotation import DISTANCE, LANES, PX, X, lane_vec3, set_lane_vec3
from .vector import Vec3, clamp_vec3, dot, norm, vec3_at

HEADER = Layout(
    "distance field",
    threshold=1,  # radians
    steep_inside=1,  # greatest slope of Φ in cells with members, and in the others
    steep_outside=1,
    half_diagonal=1,  # of a cell, radians
    low=3,  # corner of the box
    spacing=3,
    period=3,  # 0 along axes that do not wrap, and its inverse likewise
    inverse_period=3,
    nodes=3,
    outer=1,  # knots beyond each end of axes without a period
    blocks=1,  # offsets of the least Φ of blocks (float32), and of site codes (int32)
    sites=1,
)
"""Followed by Φ at the nodes (float32)."""

BLOCK_SIDE = 4  # cells along each axis of a block
SITE_PARTS = 4  # so that sites miss members by at most half of what a projection may
CODE_BITS = 10  # for each axis of a site code; 256 nodes have at most 1024 parts
ON_NODE = 1.0 + 1e-12  # factor by which rounding cannot place a node in the cell before it
SLACK = 1e-10  # radians that Φ may exceed the threshold by, and a point its box, for rounding
INSET = 5e-7  # radians that projections go on inside, so that float32 results are members
NEWTON_STEPS = 2  # towards the boundary; the result is checked against a bound afterwards
OVERSHOOT = 0.02  # share of a step that is added, so that it ends inside
CUTS = 4  # of the segment from a member to a point outside
MIN_SLOPE = 1e-12  # added to squared slopes, so that none is 0
FARTHEST = 1e9  # radians: more than any point of a chart

# Rows of the work array: the point, a trial, the nearest member found and its squared distance,
# the squared distance that is near enough, the nearest known site and its squared distance.
QX, QY, QZ, AX, AY, AZ = (k * LANES for k in range(6))
MX, LEAST, ENOUGH = 6 * LANES, 9 * LANES, 10 * LANES
SX, SY, SZ, SITE = (k * LANES for k in range(11, 15))
AIM = 15 * LANES  # the value that Φ must not exceed at a trial
EXCESS = 16 * LANES  # Φ above the threshold
CELL, UX, UY, UZ = (k * LANES for k in range(17, 21))  # offset of a cell, position in it
CORNERS = 21 * LANES  # eight rows: Φ at the corners of the cell
WORK = 29 * LANES
# The same eight rows while knots are read: corner and size of a cell of knots, bound, code.
KX, KY, KZ, KSX, KSY, KSZ, BOUND, CODE = (CORNERS + k * LANES for k in range(8))


@kernel
def grid_of(p, o):
    """Return the numbers that interpolation needs: see `fetch_corners`."""
    row = int(p[o + HEADER.nodes + 2])
    spacing = vec3_at(p, o + HEADER.spacing)
    return (
        2 * (o + HEADER.SIZE),
        int(p[o + HEADER.nodes + 1]) * row,
        row,
        vec3_at(p, o + HEADER.nodes) - Vec3(2.0, 2.0, 2.0),
        Vec3(1.0 / spacing.x, 1.0 / spacing.y, 1.0 / spacing.z),
        vec3_at(p, o + HEADER.period),
        vec3_at(p, o + HEADER.inverse_period),
    )


@kernel
def box_of(p, o):
    """Return the lower and upper corner of the box; −∞ and ∞ along axes that wrap."""
    nodes, spacing = vec3_at(p, o + HEADER.nodes), vec3_at(p, o + HEADER.spacing)
    period = vec3_at(p, o + HEADER.period)
    x, y, z = period.x > 0.0, period.y > 0.0, period.z > 0.0
    far = Vec3(
        np.inf if x else (nodes.x - 1.0) * spacing.x,
        np.inf if y else (nodes.y - 1.0) * spacing.y,
        np.inf if z else (nodes.z - 1.0) * spacing.z,
    )
    return Vec3(-np.inf if x else 0.0, -np.inf if y else 0.0, -np.inf if z else 0.0), far


@kernel
def fetch_corners(p, grid, work, first, last):
    """Read Φ at the corners of the cells that contain AX, AY, AZ, for lanes `first` to `last`.

    Indices, then loads, then (in the callers) sums: no loop waits for another's memory.
    """
    start, slab, row, (last_x, last_y, last_z), (ix, iy, iz), period, inverse = grid
    values = p.view(np.float32)
    begin, down, across = np.float64(start), np.float64(slab), np.float64(row)
    for i in range(first, last):
        x, y, z = work[AX + i], work[AY + i], work[AZ + i]
        x -= period[0] * np.floor(x * inverse[0])  # both are 0 where nothing wraps
        y -= period[1] * np.floor(y * inverse[1])
        z -= period[2] * np.floor(z * inverse[2])
        u, v, w = x * ix, y * iy, z * iz
        j = np.floor(min(max(u * ON_NODE, 0.0), last_x))
        k = np.floor(min(max(v * ON_NODE, 0.0), last_y))
        m = np.floor(min(max(w * ON_NODE, 0.0), last_z))
        work[CELL + i] = begin + j * down + k * across + m
        work[UX + i], work[UY + i], work[UZ + i] = u - j, v - k, w - m
    for i in range(first, last):
        a = int(work[CELL + i])
        b, c, d = a + row, a + slab, a + slab + row
        work[CORNERS + i] = float(values[a])
        work[CORNERS + LANES + i] = float(values[a + 1])
        work[CORNERS + 2 * LANES + i] = float(values[b])
        work[CORNERS + 3 * LANES + i] = float(values[b + 1])
        work[CORNERS + 4 * LANES + i] = float(values[c])
        work[CORNERS + 5 * LANES + i] = float(values[c + 1])
        work[CORNERS + 6 * LANES + i] = float(values[d])
        work[CORNERS + 7 * LANES + i] = float(values[d + 1])


@kernel
def value_and_slope(grid, work, i):
    """Return Φ and its gradient in the cell of lane `i`, from the corners fetched."""
    u, v, w = work[UX + i], work[UY + i], work[UZ + i]
    p00, p01 = work[CORNERS + i], work[CORNERS + 2 * LANES + i]
    p10, p11 = work[CORNERS + 4 * LANES + i], work[CORNERS + 6 * LANES + i]
    q00, q01 = work[CORNERS + LANES + i] - p00, work[CORNERS + 3 * LANES + i] - p01
    q10, q11 = work[CORNERS + 5 * LANES + i] - p10, work[CORNERS + 7 * LANES + i] - p11
    p00, p01, p10, p11 = p00 + w * q00, p01 + w * q01, p10 + w * q10, p11 + w * q11
    q0, q1 = q00 + v * (q01 - q00), q10 + v * (q11 - q10)
    r0, r1 = p01 - p00, p11 - p10
    p0, p1 = p00 + v * r0, p10 + v * r1
    ix, iy, iz = grid[4]
    slope = Vec3((p1 - p0) * ix, (r0 + u * (r1 - r0)) * iy, (q0 + u * (q1 - q0)) * iz)
    return p0 + u * (p1 - p0), slope


@kernel
def knot_position(k, last):
    """Return the coordinate, in cells, of node `k`, or of a knot beyond the first or `last` node.

    There knots are 1, 4, 9, … cells away: at distance d from the sites, knots √d apart bound
    distances as well as those nearby.
    """
    beyond = max(max(-k, k - last), 0.0)
    return min(max(k, 0.0), last) + np.copysign(beyond * beyond, k)


@kernel
def knot_below(u, last, outer):
    """Return the last knot at or before `u` (in cells), up to the last knot but one."""
    beyond = np.floor(np.sqrt(max(max(-u, u - last), 0.0)))
    k = -1.0 - beyond if u < 0.0 else (last + beyond if u >= last else np.floor(u))
    return min(max(k, -outer), last + outer - 1.0)


@kernel
def find_sites(p, o, grid, work, n):
    """Find a site near each of `n` points, and raise ENOUGH to what the index proves.

    SX, SY, SZ and SITE get the nearest of the sites of the eight knots around the point q. With w
    the trilinear weights of the knots k, and s(k) their nearest sites, every site s satisfies
    |q − s|² = Σ w |k − s|² − Σ w |k − q|², where |k − s| >= |k − s(k)|.
    """
    (px, py, pz), (tx, ty, tz), (ix, iy, iz) = grid[5], grid[6], grid[4]
    hx, hy, hz = p[o + HEADER.spacing], p[o + HEADER.spacing + 1], p[o + HEADER.spacing + 2]
    last_x, last_y = p[o + HEADER.nodes] - 1.0, p[o + HEADER.nodes + 1] - 1.0
    last_z, most = p[o + HEADER.nodes + 2] - 1.0, p[o + HEADER.outer]
    out_x, out_y = most if px == 0.0 else 0.0, most if py == 0.0 else 0.0
    out_z = most if pz == 0.0 else 0.0
    row = last_z + 2.0 * out_z + 1.0
    slab = (last_y + 2.0 * out_y + 1.0) * row
    first = 2.0 * (o + p[o + HEADER.sites]) + out_x * slab + out_y * row + out_z
    codes = p.view(np.int32)
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        j = knot_below(qx * ix, last_x, out_x)
        k = knot_below(qy * iy, last_y, out_y)
        m = knot_below(qz * iz, last_z, out_z)
        work[CELL + i] = first + j * slab + k * row + m
        x, sx = hx * knot_position(j, last_x), hx * knot_position(j + 1.0, last_x)
        y, sy = hy * knot_position(k, last_y), hy * knot_position(k + 1.0, last_y)
        z, sz = hz * knot_position(m, last_z), hz * knot_position(m + 1.0, last_z)
        sx, sy, sz = sx - x, sy - y, sz - z
        u, v, w = (qx - x) / sx, (qy - y) / sy, (qz - z) / sz
        a, b, c = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
        bound = sx * sx * ((u - a) ** 2 - a * (1.0 - a))
        bound += sy * sy * ((v - b) ** 2 - b * (1.0 - b))
        work[BOUND + i] = bound + sz * sz * ((w - c) ** 2 - c * (1.0 - c))
        work[UX + i], work[UY + i], work[UZ + i] = a, b, c
        work[KX + i], work[KY + i], work[KZ + i] = x, y, z
        work[KSX + i], work[KSY + i], work[KSZ + i] = sx, sy, sz
        work[SITE + i] = np.inf
    hx, hy, hz = hx / SITE_PARTS, hy / SITE_PARTS, hz / SITE_PARTS
    parts = float(1 << CODE_BITS)
    per_row, per_slab = 1.0 / parts, 1.0 / (parts * parts)
    for corner in range(8):
        right, up, ahead = float(corner >> 2), float((corner >> 1) & 1), float(corner & 1)
        at = right * slab + up * row + ahead
        for i in range(n):
            work[CODE + i] = float(codes[int(work[CELL + i] + at)])
        for i in range(n):
            code = work[CODE + i]
            x, y = np.floor(code * per_slab), np.floor(code * per_row)
            x, y, z = hx * x, hy * (y - parts * x), hz * (code - parts * y)
            dx = x - work[KX + i] - right * work[KSX + i]
            dy = y - work[KY + i] - up * work[KSY + i]
            dz = z - work[KZ + i] - ahead * work[KSZ + i]
            dx -= px * np.rint(dx * tx)
            dy -= py * np.rint(dy * ty)
            dz -= pz * np.rint(dz * tz)
            a, b, c = work[UX + i], work[UY + i], work[UZ + i]
            weight = (1.0 - right + (2.0 * right - 1.0) * a) * (1.0 - up + (2.0 * up - 1.0) * b)
            weight *= 1.0 - ahead + (2.0 * ahead - 1.0) * c
            work[BOUND + i] += weight * (dx * dx + dy * dy + dz * dz)
            qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
            x, y, z = x - qx, y - qy, z - qz
            x -= px * np.rint(x * tx)
            y -= py * np.rint(y * ty)
            z -= pz * np.rint(z * tz)
            square = x * x + y * y + z * z
            nearer = square < work[SITE + i]
            work[SITE + i] = square if nearer else work[SITE + i]
            work[SX + i] = qx + x if nearer else work[SX + i]
            work[SY + i] = qy + y if nearer else work[SY + i]
            work[SZ + i] = qz + z if nearer else work[SZ + i]
    missed = 0.5 * p[o + HEADER.half_diagonal]
    for i in range(n):
        enough = np.sqrt(max(work[BOUND + i], 0.0)) + missed
        work[ENOUGH + i] = max(work[ENOUGH + i], enough * enough)


@kernel
def keep_nearest(work, i, excess):
    """Keep the trial of lane `i` as its member, if it is one and the nearest yet."""
    trial = lane_vec3(work, AX + i)
    move = lane_vec3(work, QX + i) - trial
    square = dot(move, move)
    better = (excess <= 0.0) & (square < work[LEAST + i])
    work[LEAST + i] = square if better else work[LEAST + i]
    member = lane_vec3(work, MX + i)
    set_lane_vec3(work, MX + i, trial if better else member)


@kernel
def slide(p, grid, box, work, first, last):
    """Move trials to where the boundary is nearest to the points, for lanes `first` to `last`.

    Each Newton step goes to the foot of q on the plane where Φ, by its slope at the trial, would
    be at its aim, and a little beyond, farther with each step. The nearest member met is kept.
    """
    near, far = box
    beyond = 1.0 + OVERSHOOT
    fetch_corners(p, grid, work, first, last)
    for _ in range(NEWTON_STEPS):
        for i in range(first, last):
            q, trial = lane_vec3(work, QX + i), lane_vec3(work, AX + i)
            value, slope = value_and_slope(grid, work, i)
            excess = value - work[AIM + i]
            keep_nearest(work, i, excess)
            rise = dot(q - trial, slope)
            along = (rise + max(beyond * excess, excess)) / (dot(slope, slope) + MIN_SLOPE)
            set_lane_vec3(work, AX + i, clamp_vec3(q - along * slope, near, far))
        fetch_corners(p, grid, work, first, last)
        beyond = 4.0 * beyond - 3.0
    for i in range(first, last):
        keep_nearest(work, i, value_and_slope(grid, work, i)[0] - work[AIM + i])


@kernel
def choose_starts(p, o, box, work, n):
    """Choose a first trial for each point, and how near a member must be to be near enough.

    A member is accepted at half a diagonal more than any member's distance, bounded below by Φ
    and its greatest slope, and by the index. A point of the box with a small Φ starts where it is,
    others at their site.
    """
    near, far = box
    threshold, half_diagonal = p[o + HEADER.threshold], p[o + HEADER.half_diagonal]
    gentle, inset = 1.0 / p[o + HEADER.steep_outside], INSET * p[o + HEADER.steep_inside]
    for i in range(n):
        q, site = lane_vec3(work, QX + i), lane_vec3(work, SX + i)
        inner = clamp_vec3(q, near, far)
        beyond = dot(q - inner, q - inner)
        excess = work[EXCESS + i]
        lower = max(excess, 0.0) * gentle
        # Close to the boundary a projection goes no farther in than the point is out.
        work[AIM + i] = threshold - min(inset, OVERSHOOT * max(excess, 0.0))
        enough = np.sqrt(beyond + lower * lower) + half_diagonal
        work[ENOUGH + i] = max(work[ENOUGH + i], enough * enough)
        # The point of the box that is nearest to q may be a member itself.
        member = excess <= SLACK
        start = member | ((beyond == 0.0) & (excess < half_diagonal))
        set_lane_vec3(work, AX + i, inner if start else site)
        set_lane_vec3(work, MX + i, inner if member else site)
        # Close to the boundary a site would be a jump.
        work[LEAST + i] = beyond if member else (np.inf if start else work[SITE + i])


@kernel
def value_at(p, grid, work, i, point):
    """Return Φ at a point of the box, which becomes the trial of lane `i`."""
    set_lane_vec3(work, AX + i, point)
    fetch_corners(p, grid, work, i, i + 1)
    return value_and_slope(grid, work, i)[0]


@kernel
def search_segment(p, grid, work, i):
    """Find a member between the site of lane `i` and its trial, near the trial."""
    aim, site, end = work[AIM + i], lane_vec3(work, SX + i), lane_vec3(work, AX + i)
    low, high = 0.0, 1.0
    low_excess = min(value_at(p, grid, work, i, site) - aim, 0.0)
    high_excess = value_at(p, grid, work, i, end) - aim
    if high_excess <= 0.0:
        low = 1.0
    else:
        for _ in range(CUTS):
            share = low_excess / (low_excess - high_excess)
            middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
            excess = value_at(p, grid, work, i, site + middle * (end - site)) - aim
            if excess <= 0.0:
                low, low_excess = middle, excess
            else:
                high, high_excess = middle, excess
    set_lane_vec3(work, AX + i, site + low * (end - site))
    keep_nearest(work, i, 0.0)


@kernel
def shortest(p, o, axis, move):
    """Return a move along an axis without whole periods."""
    return move - p[o + HEADER.period + axis] * np.rint(move * p[o + HEADER.inverse_period + axis])


@kernel
def shortest_move(p, o, move):
    """Return a move without whole periods."""
    return Vec3(shortest(p, o, 0, move.x), shortest(p, o, 1, move.y), shortest(p, o, 2, move.z))


@kernel
def squared_gap(p, o, axis, q, first, count):
    """Return the squared distance of q from `count` cells along an axis, from number `first` on."""
    half, middle = (
        0.5 * count * p[o + HEADER.spacing + axis],
        (first + 0.5 * count) * p[o + HEADER.spacing + axis],
    )
    beyond = max(abs(shortest(p, o, axis, middle - q)) - half, 0.0)
    return beyond * beyond


@kernel
def search_cells(p, o, grid, work, i):
    """Bring the member of lane `i` to within half a diagonal of the nearest.

    Cells with a node inside that are more than half a diagonal nearer than the member known are
    searched on a lattice of half cells, one of which is within half a diagonal of any member.
    """
    start, slab, row = grid[0], grid[1], grid[2]
    values, threshold = p.view(np.float32), p[o + HEADER.threshold]
    q, nodes, side = lane_vec3(work, QX + i), vec3_at(p, o + HEADER.nodes), BLOCK_SIDE
    nx, ny, nz = int(nodes.x) - 1, int(nodes.y) - 1, int(nodes.z) - 1
    block, near = 2 * int(o + p[o + HEADER.blocks]) - 1, nearer_square(p, o, work, i)
    for x in range(0, nx, side):
        gap_x = squared_gap(p, o, 0, q.x, x, side)
        for y in range(0, ny, side):
            gap_y = gap_x + squared_gap(p, o, 1, q.y, y, side)
            for z in range(0, nz, side):
                block += 1
                if gap_y >= near or float(values[block]) > threshold:
                    continue
                if gap_y + squared_gap(p, o, 2, q.z, z, side) >= near:
                    continue
                for a in range(x, min(x + side, nx)):
                    apart_x = squared_gap(p, o, 0, q.x, a, 1)
                    for b in range(y, min(y + side, ny)):
                        apart_y = apart_x + squared_gap(p, o, 1, q.y, b, 1)
                        for c in range(z, min(z + side, nz)):
                            if apart_y + squared_gap(p, o, 2, q.z, c, 1) >= near:
                                continue
                            at = start + a * slab + b * row + c
                            if least_corner(values, at, slab, row) <= threshold:
                                search_cell(p, o, grid, work, i, a, b, c)
                                near = nearer_square(p, o, work, i)


@kernel
def nearer_square(p, o, work, i):
    """Return the square of half a diagonal less than the distance of lane `i` to its member."""
    return max(np.sqrt(work[LEAST + i]) - p[o + HEADER.half_diagonal], 0.0) ** 2


@kernel
def search_cell(p, o, grid, work, i, a, b, c):
    """Keep the nearest member among the corners of half cells of a cell as that of lane `i`."""
    start, slab, row = grid[0], grid[1], grid[2]
    at, threshold = start + a * slab + b * row + c, p[o + HEADER.threshold]
    q, spacing = lane_vec3(work, QX + i), vec3_at(p, o + HEADER.spacing)
    for part in range(27):
        u, v, w = 0.5 * (part // 9), 0.5 * (part // 3 % 3), 0.5 * (part % 3)
        corner = Vec3(spacing.x * (a + u), spacing.y * (b + v), spacing.z * (c + w))
        set_lane_vec3(work, AX + i, q + shortest_move(p, o, corner - q))
        keep_nearest(work, i, corner_mean(p.view(np.float32), at, slab, row, u, v, w) - threshold)


@kernel
def least_corner(values, at, slab, row):
    """Return the least Φ at the corners of the cell at an offset."""
    least = np.inf
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        least = min(least, float(values[at + a * slab + b * row + c]))
    return least


@kernel
def corner_mean(values, at, slab, row, u, v, w):
    """Return Φ in the cell at an offset, at a position (u, v, w) in it."""
    total = 0.0
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        weight = (
            (u if a == 1 else 1.0 - u) * (v if b == 1 else 1.0 - v) * (w if c == 1 else 1.0 - w)
        )
        total += weight * float(values[at + a * slab + b * row + c])
    return total


@kernel
def list_unfinished(work, n, lanes):
    """List the lanes whose member is not near enough; return how many."""
    count = 0
    for i in range(n):
        lanes[count] = i
        count += 0 if work[LEAST + i] <= work[ENOUGH + i] else 1
    return count


@kernel
def refine(p, o, grid, box, work, n):
    """Find members near enough where the first slide did not: from the site, then by cells."""
    lanes = np.empty(LANES, np.int64)
    for k in range(list_unfinished(work, n, lanes)):
        i = lanes[k]
        if not work[LEAST + i] < np.inf:
            search_segment(p, grid, work, i)
            slide(p, grid, box, work, i, i + 1)
        if not work[LEAST + i] <= work[ENOUGH + i]:
            set_lane_vec3(work, AX + i, lane_vec3(work, SX + i))
            keep_nearest(work, i, 0.0)
            slide(p, grid, box, work, i, i + 1)
        if not work[LEAST + i] <= work[ENOUGH + i]:
            search_cells(p, o, grid, work, i)
            set_lane_vec3(work, AX + i, lane_vec3(work, MX + i))
            slide(p, grid, box, work, i, i + 1)


@kernel
def within_reach(x):
    """Return x, or 0 for what is not finite: it has no cell, and the caller reports it."""
    return x if abs(x) < FARTHEST else 0.0


@kernel
def field(p, o, block, n):
    """Write the signed distances of `n` points of a block, and a member near each one outside."""
    work = np.empty(WORK)
    grid, box = grid_of(p, o), box_of(p, o)
    period, inverse, (near, far), low = grid[5], grid[6], box, vec3_at(p, o + HEADER.low)
    threshold, steep = p[o + HEADER.threshold], 1.0 / p[o + HEADER.steep_inside]
    for i in range(n):
        x, y, z = lane_vec3(block, X + i)
        q = Vec3(within_reach(x), within_reach(y), within_reach(z)) - low
        q = Vec3(
            q.x - period.x * np.floor(q.x * inverse.x),
            q.y - period.y * np.floor(q.y * inverse.y),
            q.z - period.z * np.floor(q.z * inverse.z),
        )
        set_lane_vec3(work, QX + i, q)
        set_lane_vec3(work, AX + i, clamp_vec3(q, near, far))
    fetch_corners(p, grid, work, 0, n)
    for i in range(n):
        q = lane_vec3(work, QX + i)
        excess = value_and_slope(grid, work, i)[0] - threshold
        work[EXCESS + i] = excess
        side = min(min(q.x - near.x, far.x - q.x), min(q.y - near.y, far.y - q.y))
        side = min(side, min(q.z - near.z, far.z - q.z))
        depth = max(min(side, -excess * steep), 0.0)
        inside = (side >= -SLACK) & (excess <= SLACK)
        block[DISTANCE + i] = -depth if inside else 1.0
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
    lanes = np.empty(LANES, np.int64)
    count = 0
    for i in range(n):  # without a branch, which processors could not predict
        lanes[count] = i
        set_lane_vec3(work, QX + count, lane_vec3(work, QX + i))
        work[EXCESS + count] = work[EXCESS + i]
        work[ENOUGH + count] = 0.0
        count += 1 if block[DISTANCE + i] > 0.0 else 0
    if count == 0:
        return
    find_sites(p, o, grid, work, count)
    choose_starts(p, o, box, work, count)
    slide(p, grid, box, work, 0, count)
    refine(p, o, grid, box, work, count)
    for k in range(count):
        i, move = lanes[k], lane_vec3(work, MX + k) - lane_vec3(work, QX + k)
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i) + move)
        block[DISTANCE + i] = norm(move)
