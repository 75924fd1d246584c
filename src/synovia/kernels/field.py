"""Distance fields in blocks: look-up between the nodes of a grid, and the way to a member nearby.

A field is Φ, trilinear between the nodes; members have Φ <= threshold and lie in the grid's box.
Packed with it is, for every node of a wider grid, the nearest *site*: a member among the corners
of cells parted in four along each axis. A trilinear function is least at a corner, so a site lies
within a quarter of a cell's diagonal of any member. Points are measured from the box's corner.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import DISTANCE, LANES, PX, PY, PZ, SCRATCH, X, Y, Z

# Where things stand in a packed field, after its kind; tables are given by where they start.
THRESHOLD, STEEP_INSIDE, STEEP_OUTSIDE, HALF_DIAGONAL = 0, 1, 2, 3
LOW, SPACING, PERIOD, TURNS, NODES = 4, 7, 10, 13, 16  # three each; TURNS are 1/PERIOD, or 0
KNOTS, BEFORE, BLOCKS = 19, 22, 25  # three each: of the wider grid, its knots and those below 0
VALUES, PLACES, FEATURES, SQUARES, STARTS, SITES = 28, 29, 30, 31, 32, 33
HEADER = 34

SLACK = 1e-10  # what Φ may exceed the threshold by, and a point its box, for rounding
PARTS = 4  # that cells are parted in for the sites
SIDE = 8  # sites are kept in blocks of so many along each axis
SHIFT, LOW_BITS = 10, 1023  # a site's three numbers in one
STEPS = 3  # to the boundary
DOWN = 0.02  # share of a step that it goes farther down than it seems to need
FLAT = 1e-12  # added to a squared slope, so that none is 0
NEARBY = 2.0  # half diagonals of Φ above the threshold, up to which the slope shows the way

# Rows of what is worked on for points outside: the point, where it slides, the best member yet.
QX, QY, QZ, AX, AY, AZ = 0, LANES, 2 * LANES, 3 * LANES, 4 * LANES, 5 * LANES
MX, MY, MZ, LEAST, ENOUGH = 6 * LANES, 7 * LANES, 8 * LANES, 9 * LANES, 10 * LANES
WORK = 11 * LANES
ONE = 0x3FF << 1  # the exponent of 1.0, and the first digit of its mantissa


@kernel
def grid_of(p, o):
    """Return what is needed to look a field up, read once: see `look_up`."""
    row = np.uint32(p[o + NODES + 2])
    return (
        np.uint32(o + p[o + VALUES]),
        np.uint32(p[o + NODES + 1]) * row,
        row,
        (p[o + NODES] - 2.0, p[o + NODES + 1] - 2.0, p[o + NODES + 2] - 2.0),
        (1.0 / p[o + SPACING], 1.0 / p[o + SPACING + 1], 1.0 / p[o + SPACING + 2]),
        (p[o + PERIOD], p[o + PERIOD + 1], p[o + PERIOD + 2]),
        (p[o + TURNS], p[o + TURNS + 1], p[o + TURNS + 2]),
    )


@kernel
def corner_of(grid, x, y, z):
    """Return where in the buffer the cell of a point begins, and the point's shares of the cell.

    Numbers without a sign spare the check for places counted from the end, which costs as much
    as the look-up itself.
    """
    first, slab, row, last, inverse, period, turns = grid
    u = (x - period[0] * np.floor(x * turns[0])) * inverse[0]
    v = (y - period[1] * np.floor(y * turns[1])) * inverse[1]
    w = (z - period[2] * np.floor(z * turns[2])) * inverse[2]
    i = np.uint32(min(max(u, 0.0), last[0]))
    j = np.uint32(min(max(v, 0.0), last[1]))
    k = np.uint32(min(max(w, 0.0), last[2]))
    return np.uint32(first + i * slab + j * row + k), u - i, v - j, w - k


@kernel
def edges_of(p, grid, a):
    """Return Φ at the four corners of a cell's near face, and the steps from them to the far one."""
    one = np.uint32(1)
    b, c = np.uint32(a + grid[2]), np.uint32(a + grid[1])
    d = np.uint32(c + grid[2])
    p00, p01, p10, p11 = p[a], p[b], p[c], p[d]
    q00, q01 = p[np.uint32(a + one)] - p00, p[np.uint32(b + one)] - p01
    q10, q11 = p[np.uint32(c + one)] - p10, p[np.uint32(d + one)] - p11
    return p00, p01, p10, p11, q00, q01, q10, q11


@kernel
def look_up(p, grid, x, y, z):
    """Return Φ at a point of the box."""
    a, u, v, w = corner_of(grid, x, y, z)
    p00, p01, p10, p11, q00, q01, q10, q11 = edges_of(p, grid, a)
    p00, p01, p10, p11 = p00 + w * q00, p01 + w * q01, p10 + w * q10, p11 + w * q11
    p0, p1 = p00 + v * (p01 - p00), p10 + v * (p11 - p10)
    return p0 + u * (p1 - p0)


@kernel
def slope_at(p, grid, x, y, z):
    """Return Φ and its gradient within the cell at a point of the box."""
    a, u, v, w = corner_of(grid, x, y, z)
    p00, p01, p10, p11, q00, q01, q10, q11 = edges_of(p, grid, a)
    p00, p01, p10, p11 = p00 + w * q00, p01 + w * q01, p10 + w * q10, p11 + w * q11
    q0, q1 = q00 + v * (q01 - q00), q10 + v * (q11 - q10)
    r0, r1 = p01 - p00, p11 - p10
    p0, p1 = p00 + v * r0, p10 + v * r1
    inverse = grid[4]
    gx, gy = (p1 - p0) * inverse[0], (r0 + u * (r1 - r0)) * inverse[1]
    return p0 + u * (p1 - p0), gx, gy, (q0 + u * (q1 - q0)) * inverse[2]


@kernel
def shortest(p, o, axis, move):
    """Return the shortest move along an axis that goes where `move` goes."""
    return move - p[o + PERIOD + axis] * np.rint(move * p[o + TURNS + axis])


@kernel
def box_of(p, o):
    """Return the far ends of the box along its axes; ∞ of those that wrap, and −∞ before them."""
    far_x = (p[o + NODES] - 1.0) * p[o + SPACING]
    far_y = (p[o + NODES + 1] - 1.0) * p[o + SPACING + 1]
    far_z = (p[o + NODES + 2] - 1.0) * p[o + SPACING + 2]
    x, y, z = p[o + PERIOD] > 0.0, p[o + PERIOD + 1] > 0.0, p[o + PERIOD + 2] > 0.0
    near = (-np.inf if x else 0.0, -np.inf if y else 0.0, -np.inf if z else 0.0)
    return near, (np.inf if x else far_x, np.inf if y else far_y, np.inf if z else far_z)


@kernel
def slide(p, o, grid, box, work, n, steps):
    """Go from points of the box to where the boundary is nearest to q, `n` lanes at once.

    Each step goes to the foot of q on the plane where Φ, as it rises here, would be the
    threshold, and a little farther down. The nearest members met on the way are kept at MX, MY,
    MZ, with their squared distances at LEAST.
    """
    threshold = p[o + THRESHOLD]
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    for _ in range(steps):
        for i in range(n):
            x, y, z = work[AX + i], work[AY + i], work[AZ + i]
            dx, dy, dz = work[QX + i] - x, work[QY + i] - y, work[QZ + i] - z
            value, gx, gy, gz = slope_at(p, grid, x, y, z)
            excess = value - threshold
            apart = dx * dx + dy * dy + dz * dz
            better = (excess <= 0.0) & (apart < work[LEAST + i])
            work[LEAST + i] = apart if better else work[LEAST + i]
            work[MX + i] = x if better else work[MX + i]
            work[MY + i] = y if better else work[MY + i]
            work[MZ + i] = z if better else work[MZ + i]
            steep = gx * gx + gy * gy + gz * gz + FLAT
            along = (dx * gx + dy * gy + dz * gz + excess + DOWN * abs(excess)) / steep
            work[AX + i] = min(max(work[QX + i] - along * gx, near_x), far_x)
            work[AY + i] = min(max(work[QY + i] - along * gy, near_y), far_y)
            work[AZ + i] = min(max(work[QZ + i] - along * gz, near_z), far_z)


@kernel
def wide_of(p, o):
    """Return what is needed to look sites up, read once: see `knot_below` and `surround`."""
    row = np.uint32(p[o + KNOTS + 2])
    at = o + p[o + PLACES]
    return (
        (p[o + BEFORE], p[o + BEFORE + 1], p[o + BEFORE + 2]),
        (p[o + KNOTS] - 2.0, p[o + KNOTS + 1] - 2.0, p[o + KNOTS + 2] - 2.0),
        (p[o + NODES] - 1.0, p[o + NODES + 1] - 1.0, p[o + NODES + 2] - 1.0),
        (
            np.uint32(at),
            np.uint32(at + p[o + KNOTS]),
            np.uint32(at + p[o + KNOTS] + p[o + KNOTS + 1]),
        ),
        (np.uint32(o + p[o + SQUARES]), np.uint32(p[o + KNOTS + 1]) * row, row),
        np.uint32(o + p[o + FEATURES]),
    )


@kernel
def half_octaves(x):
    """Return in which half octave x >= 1 is, counted from 0: 1, 1.5, 2, 3, 4, 6, … begin them.

    The bits of a float, less its mantissa but for the first digit, count just that.
    """
    return float((np.float64(x).view(np.int64) >> 51) - ONE)


@kernel
def knot_below(wide, axis, u):
    """Return the cell of the wider grid that u, in cells of the field, is in or nearest to."""
    before, most, inner = wide[0][axis], wide[1][axis], wide[2][axis]
    below = -1.0 - half_octaves(1.0 + 0.5 * max(-u, 0.0))
    above = inner + half_octaves(1.0 + 0.5 * max(u - inner, 0.0))
    k = below if u < 0.0 else (above if u >= inner else np.floor(u))
    return np.uint32(min(max(k + before, 0.0), most))


@kernel
def towards(p, o, site, part, qx, qy, qz):
    """Return the moves from q to the site of this code, of cells of which `part` is a share."""
    x = part * p[o + SPACING] * (site >> (2 * SHIFT)) - qx
    y = part * p[o + SPACING + 1] * ((site >> SHIFT) & LOW_BITS) - qy
    z = part * p[o + SPACING + 2] * (site & LOW_BITS) - qz
    x -= p[o + PERIOD] * np.rint(x * p[o + TURNS])
    y -= p[o + PERIOD + 1] * np.rint(y * p[o + TURNS + 1])
    return x, y, z - p[o + PERIOD + 2] * np.rint(z * p[o + TURNS + 2])


@kernel
def surround(p, o, grid, wide, work, cells, n):
    """Find a site near each of `n` lanes, and what no site can be nearer than.

    With w_i the weights that make q of the corners n_i of its cell of the wider grid, and s_i the
    sites nearest to those, any site s has |q − s|² = Σ w_i |n_i − s|² − Σ w_i |n_i − q|², and
    |n_i − s| >= |n_i − s_i|. At MX, MY, MZ comes the site of the corner nearest to q, its squared
    distance at LEAST; at ENOUGH the least distance of a site.
    """
    inverse = grid[4]
    at_x, at_y, at_z = wide[3]
    first, slab, row = wide[4]
    features = wide[5]
    one, zero = np.uint32(1), np.uint32(0)
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        j = knot_below(wide, 0, qx * inverse[0])
        k = knot_below(wide, 1, qy * inverse[1])
        m = knot_below(wide, 2, qz * inverse[2])
        x0, y0, z0 = p[np.uint32(at_x + j)], p[np.uint32(at_y + k)], p[np.uint32(at_z + m)]
        sx = p[np.uint32(at_x + j + one)] - x0
        sy = p[np.uint32(at_y + k + one)] - y0
        sz = p[np.uint32(at_z + m + one)] - z0
        u, v, w = (qx - x0) / sx, (qy - y0) / sy, (qz - z0) / sz
        a, b, c = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
        bound = sx * sx * ((u - a) ** 2 - a * (1.0 - a))
        bound += sy * sy * ((v - b) ** 2 - b * (1.0 - b))
        bound += sz * sz * ((w - c) ** 2 - c * (1.0 - c))
        cell = np.uint32(j * slab + k * row + m)
        cells[i] = cell
        p00, p01, p10, p11, q00, q01, q10, q11 = edges_of(p, wide[4], np.uint32(first + cell))
        p00, p01, p10, p11 = p00 + c * q00, p01 + c * q01, p10 + c * q10, p11 + c * q11
        p0, p1 = p00 + b * (p01 - p00), p10 + b * (p11 - p10)
        work[ENOUGH + i] = np.sqrt(max(p0 + a * (p1 - p0) + bound, 0.0))
        corner = (slab if a > 0.5 else zero) + (row if b > 0.5 else zero) + (one if c > 0.5 else zero)
        site = np.int64(p[np.uint32(features + cell + corner)])
        x, y, z = towards(p, o, site, 1.0 / PARTS, qx, qy, qz)
        work[MX + i], work[MY + i], work[MZ + i] = qx + x, qy + y, qz + z
        work[LEAST + i] = x * x + y * y + z * z


@kernel
def nearest_site(p, o, qx, qy, qz, x, y, z, least):
    """Return the site nearest to q, if it is nearer than `least`, squared; else x, y, z.

    The sites are those of cells parted in two: nearer than the nearest of them less half a
    diagonal no member is.
    """
    starts, sites = o + int(p[o + STARTS]), o + int(p[o + SITES])
    nx, ny, nz = int(p[o + BLOCKS]), int(p[o + BLOCKS + 1]), int(p[o + BLOCKS + 2])
    rx, ry, rz = 0.5 * p[o + SPACING], 0.5 * p[o + SPACING + 1], 0.5 * p[o + SPACING + 2]
    half = 0.5 * (SIDE - 1)
    for block in range(nx * ny * nz):
        first, last = int(p[starts + block]), int(p[starts + block + 1])
        if first == last:
            continue
        i, j, k = block // (ny * nz), (block // nz) % ny, block % nz
        dx = max(abs(shortest(p, o, 0, rx * (SIDE * i + half) - qx)) - half * rx, 0.0)
        dy = max(abs(shortest(p, o, 1, ry * (SIDE * j + half) - qy)) - half * ry, 0.0)
        dz = max(abs(shortest(p, o, 2, rz * (SIDE * k + half) - qz)) - half * rz, 0.0)
        if dx * dx + dy * dy + dz * dz >= least:
            continue
        for s in range(first, last):
            sx, sy, sz = towards(p, o, np.int64(p[sites + s]), 0.5, qx, qy, qz)
            apart = sx * sx + sy * sy + sz * sz
            if apart < least:
                x, y, z, least = qx + sx, qy + sy, qz + sz, apart
    return x, y, z, least


@kernel
def choose_starts(p, o, box, work, n):
    """Choose where lanes start to slide, and how near a member must be to be near enough.

    Half a cell's diagonal more than any member is away is enough. What none can be nearer than
    is known twice: from the sites around, a quarter diagonal from any member, and from Φ, at AX,
    and its steepest slope. Nearby the slope of Φ shows the way; farther off, start from the site.
    """
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, half_diagonal = p[o + THRESHOLD], p[o + HALF_DIAGONAL]
    gentle = 1.0 / p[o + STEEP_OUTSIDE]
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        x, y = min(max(qx, near_x), far_x), min(max(qy, near_y), far_y)
        z = min(max(qz, near_z), far_z)
        beyond = (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2
        excess = work[AX + i] - threshold
        lower = max(excess, 0.0) * gentle
        enough = np.sqrt(beyond + lower * lower) + half_diagonal
        enough = max(enough, work[ENOUGH + i] + 0.5 * half_diagonal)
        work[ENOUGH + i] = enough * enough
        # The point of the box that is nearest to q may be a member itself.
        here = (excess <= SLACK) | ((beyond == 0.0) & (excess < NEARBY * half_diagonal))
        done = excess <= SLACK
        work[AX + i] = x if here else work[MX + i]
        work[AY + i] = y if here else work[MY + i]
        work[AZ + i] = z if here else work[MZ + i]
        work[MX + i] = x if done else work[MX + i]
        work[MY + i] = y if done else work[MY + i]
        work[MZ + i] = z if done else work[MZ + i]
        work[LEAST + i] = beyond if done else work[LEAST + i]


@kernel
def search(p, o, grid, box, wide, work, i, cell):
    """Find a member near enough for lane `i` where sliding from one place did not: from more.

    First from the best of the sites around, then from the nearest of all.
    """
    qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
    _, slab, row = wide[4]
    lane = np.empty(WORK)
    lane[QX], lane[QY], lane[QZ] = qx, qy, qz
    lane[MX], lane[MY], lane[MZ], lane[LEAST] = 0.0, 0.0, 0.0, np.inf
    for corner in range(8):
        at = cell + (corner >> 2) * slab + ((corner >> 1) & 1) * row + (corner & 1)
        site = np.int64(p[np.uint32(wide[5] + at)])
        x, y, z = towards(p, o, site, 1.0 / PARTS, qx, qy, qz)
        apart = x * x + y * y + z * z
        if apart < lane[LEAST]:
            lane[MX], lane[MY], lane[MZ], lane[LEAST] = qx + x, qy + y, qz + z, apart
    for everywhere in range(2):
        lane[AX], lane[AY], lane[AZ] = lane[MX], lane[MY], lane[MZ]
        slide(p, o, grid, box, lane, 1, 2 * STEPS)
        if lane[LEAST] < work[LEAST + i]:
            work[MX + i], work[MY + i], work[MZ + i] = lane[MX], lane[MY], lane[MZ]
            work[LEAST + i] = lane[LEAST]
        if everywhere == 1 or work[LEAST + i] <= work[ENOUGH + i]:
            return
        x, y, z, apart = nearest_site(p, o, qx, qy, qz, qx, qy, qz, work[LEAST + i])
        if not apart < work[LEAST + i]:
            return
        lane[MX], lane[MY], lane[MZ], lane[LEAST] = x, y, z, apart


@kernel
def number(x):
    """Return x, or 0 for what is no number: it has no cell, and its caller sees it anyway."""
    return x if x == x else 0.0


@kernel
def field(p, o, block, n):
    """Look Φ up; where it exceeds the threshold, or outside the box, find a member nearby."""
    x_, y_, z_, value_ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES, SCRATCH + 3 * LANES
    grid, box = grid_of(p, o), box_of(p, o)
    period, turns = grid[5], grid[6]
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, steep = p[o + THRESHOLD], 1.0 / p[o + STEEP_INSIDE]
    low_x, low_y, low_z = p[o + LOW], p[o + LOW + 1], p[o + LOW + 2]
    for i in range(n):
        x, y, z = number(block[X + i]), number(block[Y + i]), number(block[Z + i])
        x, y, z = x - low_x, y - low_y, z - low_z
        x -= period[0] * np.floor(x * turns[0])
        y -= period[1] * np.floor(y * turns[1])
        z -= period[2] * np.floor(z * turns[2])
        block[x_ + i], block[y_ + i], block[z_ + i] = x, y, z
        cx, cy = min(max(x, near_x), far_x), min(max(y, near_y), far_y)
        value = look_up(p, grid, cx, cy, min(max(z, near_z), far_z))
        block[value_ + i] = value
        side = min(min(x - near_x, far_x - x), min(y - near_y, far_y - y))
        side = min(side, min(z - near_z, far_z - z))
        depth = max(min(side, (threshold - value) * steep), 0.0)
        inside = (side >= -SLACK) & (value <= threshold + SLACK)
        block[DISTANCE + i] = -depth if inside else 1.0
        block[PX + i], block[PY + i], block[PZ + i] = block[X + i], block[Y + i], block[Z + i]
    work, wide = np.empty(WORK), wide_of(p, o)
    lanes, cells = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    count = 0
    for i in range(n):
        if block[DISTANCE + i] > 0.0:
            lanes[count] = i
            work[QX + count] = block[x_ + i]
            work[QY + count] = block[y_ + i]
            work[QZ + count] = block[z_ + i]
            work[AX + count] = block[value_ + i]
            count += 1
    if count == 0:
        return
    surround(p, o, grid, wide, work, cells, count)
    choose_starts(p, o, box, work, count)
    slide(p, o, grid, box, work, count, STEPS)
    for k in range(count):
        if not work[LEAST + k] <= work[ENOUGH + k]:
            search(p, o, grid, box, wide, work, k, cells[k])
        i = lanes[k]
        x, y, z = work[MX + k] - work[QX + k], work[MY + k] - work[QY + k], 0.0
        z = work[MZ + k] - work[QZ + k]
        block[PX + i] = block[X + i] + x
        block[PY + i] = block[Y + i] + y
        block[PZ + i] = block[Z + i] + z
        block[DISTANCE + i] = np.sqrt(x * x + y * y + z * z)
