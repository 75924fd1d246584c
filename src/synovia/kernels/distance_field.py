"""Distance fields in blocks of lanes: look-up between nodes, and the way to a member nearby."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import DISTANCE, LANES, PX, PY, PZ, X, Y, Z

# Distance fields: how they are packed, and Φ and its slope between the nodes of the grid.

# Where things stand in a packed field, after its kind; tables are given by where they start.
THRESHOLD, STEEP_INSIDE, STEEP_OUTSIDE, HALF_DIAGONAL = 0, 1, 2, 3
LOW, SPACING, PERIOD, TURNS, NODES = 4, 7, 10, 13, 16  # three each; TURNS are 1/PERIOD, or 0
# Three each: intervals between knots in the box, knots beyond either end, radians between knots.
INNER, OUTER, STRIDE = 19, 22, 25
BLOCKS = 28  # three: of sites
VALUES, FEATURES, STARTS, SITES = (
    31,
    32,
    33,
    34,
)  # where these begin: float32, int32, float64, int32
WIDE = 35  # 1 where features are float64
SCALE, LEVELS, EXCESS, OVERSTATED = 36, 37, 38, 39  # of features: see `nearest_knots`
HEADER = 40

ON_NODE = 1.0 + 1e-12  # sites lie on nodes: rounding must not choose which cell they are in
SLACK = 1e-10  # what Φ may exceed the threshold by, and a point its box, for rounding
WITHIN = 5e-7  # radians that projections go on inside: they stay members when rounded to float32
PARTS = 4  # that cells are parted in for the sites
SIDE = 16  # sites are kept in blocks of so many along each axis
SHIFT, LOW_BITS = 10, 1023  # a site's three numbers in one
STEPS = 2  # to the boundary
CUTS = 4  # of the way from a site to a point outside
DOWN = 0.02  # share of a step that it goes farther down than it seems to need
FLAT = 1e-12  # added to a squared slope, so that none is 0
NEARBY = 1.0  # half diagonals of Φ above the threshold, up to which the slope shows the way

# Rows of what is worked on for points outside: the point, where it slides, the best member yet
# and its squared distance, what is near enough.
QX, QY, QZ, AX, AY, AZ = 0, LANES, 2 * LANES, 3 * LANES, 4 * LANES, 5 * LANES
MX, MY, MZ, LEAST, ENOUGH = 6 * LANES, 7 * LANES, 8 * LANES, 9 * LANES, 10 * LANES
SX, SY, SZ, SITE = 11 * LANES, 12 * LANES, 13 * LANES, 14 * LANES  # a site, squared distance
AIM = 15 * LANES  # what Φ is to be at most
CELL, UX, UY, UZ = 16 * LANES, 17 * LANES, 18 * LANES, 19 * LANES  # where a cell begins, shares
CORNERS = 20 * LANES  # Φ at the eight corners of the cell
WORK = 28 * LANES
LANE_ROWS = 16  # those before: all that a lane has
# The same rows once more, where knots are looked at: a corner of a cell of them, its sides, and
# what is found.
KX, KY, KZ, KSX, KSY, KSZ = (CORNERS + k * LANES for k in range(6))
KNOT_BOUND, FEATURE = CORNERS + 6 * LANES, CORNERS + 7 * LANES
UNKNOWN = 1e30  # more than any square
FARTHEST = 1e9  # radians: more than any point of a chart


@kernel
def grid_of(p, o):
    """Return what is needed to look a field up, read once: see `look_up`."""
    row = int(p[o + NODES + 2])
    return (
        2 * int(o + p[o + VALUES]),
        int(p[o + NODES + 1]) * row,
        row,
        (p[o + NODES] - 2.0, p[o + NODES + 1] - 2.0, p[o + NODES + 2] - 2.0),
        (1.0 / p[o + SPACING], 1.0 / p[o + SPACING + 1], 1.0 / p[o + SPACING + 2]),
        (p[o + PERIOD], p[o + PERIOD + 1], p[o + PERIOD + 2]),
        (p[o + TURNS], p[o + TURNS + 1], p[o + TURNS + 2]),
        p[o + TURNS] + p[o + TURNS + 1] + p[o + TURNS + 2] > 0.0,
    )


@kernel
def corner_of(grid, x, y, z):
    """Return where the cell of a point begins, among all float32, and the shares of the cell."""
    first, slab, row, last, inverse, period, turns, wraps = grid
    if wraps:
        x -= period[0] * np.floor(x * turns[0])
        y -= period[1] * np.floor(y * turns[1])
        z -= period[2] * np.floor(z * turns[2])
    u, v, w = x * inverse[0], y * inverse[1], z * inverse[2]
    i = int(min(max(u * ON_NODE, 0.0), last[0]))
    j = int(min(max(v * ON_NODE, 0.0), last[1]))
    k = int(min(max(w * ON_NODE, 0.0), last[2]))
    at = first + i * slab + j * row + k
    return at, u - i, v - j, w - k


@kernel
def edges_of(p, grid, a):
    """Return Φ at four corners of a cell, and the steps from those to the other four."""
    values = p.view(np.float32)
    b, c = a + grid[2], a + grid[1]
    d = c + grid[2]
    p00, p01, p10, p11 = float(values[a]), float(values[b]), float(values[c]), float(values[d])
    q00, q01 = float(values[a + 1]) - p00, float(values[b + 1]) - p01
    q10, q11 = float(values[c + 1]) - p10, float(values[d + 1]) - p11
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
def fetch_corners(p, grid, work, first, last):
    """Fetch Φ at the corners of the cells that AX, AY, AZ are in, lanes `first` to `last`.

    Places, then loads, then (by the callers) sums: each loop does one thing to many lanes, so
    that none waits for the memory of another.
    """
    start, slab, row, (last_x, last_y, last_z), inverse, period, turns, _ = grid
    values = p.view(np.float32)
    ix, iy, iz = inverse
    begin, down, across = np.float64(start), np.float64(slab), np.float64(row)
    for i in range(first, last):
        x, y, z = work[AX + i], work[AY + i], work[AZ + i]
        x -= period[0] * np.floor(x * turns[0])  # both are 0 where nothing wraps
        y -= period[1] * np.floor(y * turns[1])
        z -= period[2] * np.floor(z * turns[2])
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
def corners_at(work, i):
    """Return Φ at four corners of the cell of lane `i`, and the steps from those to the others."""
    p00, p01 = work[CORNERS + i], work[CORNERS + 2 * LANES + i]
    p10, p11 = work[CORNERS + 4 * LANES + i], work[CORNERS + 6 * LANES + i]
    q00, q01 = work[CORNERS + LANES + i] - p00, work[CORNERS + 3 * LANES + i] - p01
    q10, q11 = work[CORNERS + 5 * LANES + i] - p10, work[CORNERS + 7 * LANES + i] - p11
    return p00, p01, p10, p11, q00, q01, q10, q11


@kernel
def value_at(work, i):
    """Return Φ where lane `i` is, of what `look` fetched."""
    u, v, w = work[UX + i], work[UY + i], work[UZ + i]
    p00, p01, p10, p11, q00, q01, q10, q11 = corners_at(work, i)
    p00, p01, p10, p11 = p00 + w * q00, p01 + w * q01, p10 + w * q10, p11 + w * q11
    p0, p1 = p00 + v * (p01 - p00), p10 + v * (p11 - p10)
    return p0 + u * (p1 - p0)


@kernel
def slope_at(grid, work, i):
    """Return Φ and its gradient within the cell where lane `i` is, of what `look` fetched."""
    u, v, w = work[UX + i], work[UY + i], work[UZ + i]
    p00, p01, p10, p11, q00, q01, q10, q11 = corners_at(work, i)
    p00, p01, p10, p11 = p00 + w * q00, p01 + w * q01, p10 + w * q10, p11 + w * q11
    q0, q1 = q00 + v * (q01 - q00), q10 + v * (q11 - q10)
    r0, r1 = p01 - p00, p11 - p10
    p0, p1 = p00 + v * r0, p10 + v * r1
    inverse = grid[4]
    gx, gy = (p1 - p0) * inverse[0], (r0 + u * (r1 - r0)) * inverse[1]
    return p0 + u * (p1 - p0), gx, gy, (q0 + u * (q1 - q0)) * inverse[2]


@kernel
def box_of(p, o):
    """Return the far ends of the box along its axes; ∞ of those that wrap, and −∞ before them."""
    far_x = (p[o + NODES] - 1.0) * p[o + SPACING]
    far_y = (p[o + NODES + 1] - 1.0) * p[o + SPACING + 1]
    far_z = (p[o + NODES + 2] - 1.0) * p[o + SPACING + 2]
    x, y, z = p[o + PERIOD] > 0.0, p[o + PERIOD + 1] > 0.0, p[o + PERIOD + 2] > 0.0
    near = (-np.inf if x else 0.0, -np.inf if y else 0.0, -np.inf if z else 0.0)
    return near, (np.inf if x else far_x, np.inf if y else far_y, np.inf if z else far_z)


# Distance fields: the sites, members all along a region, from which projections start.
#
# Packed is the nearest site of each knot of a grid that is coarser than the field's, and wider: a
# member among the corners of cells parted in four along each axis.


@kernel
def site_grid_of(p, o):
    """Return what is needed to look sites up, read once: see `place_of`; then how knots lie."""
    row = p[o + INNER + 2] + 2.0 * p[o + OUTER + 2] + 1.0
    slab = (p[o + INNER + 1] + 2.0 * p[o + OUTER + 1] + 1.0) * row
    return (
        (p[o + STRIDE], p[o + STRIDE + 1], p[o + STRIDE + 2]),
        (p[o + INNER], p[o + INNER + 1], p[o + INNER + 2]),
        (p[o + OUTER], p[o + OUTER + 1], p[o + OUTER + 2]),
        slab,
        row,
    )


@kernel
def place_of(wide, axis, number):
    """Return where along an axis, from the box's corner, a knot is; they are numbered from 0 on.

    Inside the box they stand regularly, beyond it at 1, 4, 9, … of the same strides: d away from a
    site, knots √d apart are as good as those near it.
    """
    inner, k = wide[1][axis], number - wide[2][axis]
    beyond = max(max(-k, k - inner), 0.0)
    return wide[0][axis] * (min(max(k, 0.0), inner) + np.copysign(beyond * beyond, k))


@kernel
def knot_below(wide, axis, q):
    """Return the number of the knot below q along an axis, from the first to the last but one."""
    inner, outer = wide[1][axis], wide[2][axis]
    u = q / wide[0][axis]
    steps = np.floor(np.sqrt(max(max(-u, u - inner), 0.0)))
    k = -1.0 - steps if u < 0.0 else (inner + steps if u >= inner else np.floor(u))
    return min(max(k + outer, 0.0), inner + 2.0 * outer - 1.0)


@kernel
def nearest_knot(u, inner, outer):
    """Return the number of the knot nearest to u, which is in strides from the box's corner.

    Beyond the box, halfway between knots k and k + 1 are k² + k + ½ strides: this is the inverse.
    """
    away = max(-u, u - inner)
    steps = np.floor(0.5 + np.sqrt(max(away - 0.25, 0.0)))
    k = min(max(np.rint(u), 0.0), inner) + np.copysign(steps, u)
    return min(max(k + outer, 0.0), inner + 2.0 * outer)


@kernel
def shortest(p, o, axis, move):
    """Return the shortest move along an axis that goes where `move` goes."""
    return move - p[o + PERIOD + axis] * np.rint(move * p[o + TURNS + axis])


@kernel
def offset_to(p, o, code, qx, qy, qz):
    """Return the moves from q to the site of this code, in half cells from the box's corner."""
    x = 0.5 * p[o + SPACING] * (code >> (2 * SHIFT)) - qx
    y = 0.5 * p[o + SPACING + 1] * ((code >> SHIFT) & LOW_BITS) - qy
    z = 0.5 * p[o + SPACING + 2] * (code & LOW_BITS) - qz
    return shortest(p, o, 0, x), shortest(p, o, 1, y), shortest(p, o, 2, z)


@kernel
def feature_at(p, o, at):
    """Return the number that is packed for a knot: its site, and a level."""
    if p[o + WIDE] > 0.0:
        return p[at]
    return float(p.view(np.int32)[at])


@kernel
def first_feature(p, o):
    """Return where features begin, in numbers of their own size."""
    at = int(o + p[o + FEATURES])
    return at if p[o + WIDE] > 0.0 else 2 * at


@kernel
def nearest_knots(p, o, grid, work, n):
    """Find the site of the knot nearest to each of `n` lanes, and what no site can be nearer than.

    At SX, SY, SZ comes the site, its squared distance at SITE. Beside a knot's site s a level is
    packed. Of knots in the box it tells the most that Φ overstates distances to sites by, at the
    nodes around all q nearest to the knot: this goes to AZ. Of those beyond, its square tells the
    most that |q − s|² exceeds the square of the distance to the nearest site by: this makes the
    least distance of any site, at ENOUGH. What is not told is not known.
    """
    (px, py, pz), (tx, ty, tz) = grid[5], grid[6]
    (wx, wy, wz), (mx, my, mz), (bx, by, bz), slab, row = site_grid_of(p, o)
    ix, iy, iz, start = 1.0 / wx, 1.0 / wy, 1.0 / wz, float(first_feature(p, o))
    for i in range(n):
        x = nearest_knot(ix * work[QX + i], mx, bx)
        y = nearest_knot(iy * work[QY + i], my, by)
        z = nearest_knot(iz * work[QZ + i], mz, bz)
        work[SITE + i] = start + x * slab + y * row + z
        x, y, z = x - bx, y - by, z - bz
        beyond = max(max(-x, x - mx), max(max(-y, y - my), max(-z, z - mz)))
        work[AZ + i] = beyond
    for i in range(n):
        work[SITE + i] = feature_at(p, o, int(work[SITE + i]))
    step, overstated = p[o + EXCESS], p[o + OVERSTATED]
    levels, scale = p[o + LEVELS], p[o + SCALE]
    per_level, per_row = 1.0 / levels, 1.0 / scale
    per_slab = per_row * per_row
    for i in range(n):
        packed = work[SITE + i]
        site = np.floor(packed * per_level)  # all are powers of 2
        level = packed - levels * site
        outer, known = work[AZ + i] > 0.0, level < levels - 1.0
        work[AZ + i] = overstated * level if known & (not outer) else UNKNOWN
        work[SITE + i] = step * level * level if known & outer else UNKNOWN
        x = np.floor(site * per_slab)
        y = np.floor(site * per_row)
        work[SX + i] = x
        work[SY + i] = y - scale * x
        work[SZ + i] = site - scale * y
    hx, hy, hz = p[o + SPACING] / PARTS, p[o + SPACING + 1] / PARTS, p[o + SPACING + 2] / PARTS
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        x, y, z = hx * work[SX + i] - qx, hy * work[SY + i] - qy, hz * work[SZ + i] - qz
        x -= px * np.rint(x * tx)
        y -= py * np.rint(y * ty)
        z -= pz * np.rint(z * tz)
        square = x * x + y * y + z * z
        work[ENOUGH + i] = np.sqrt(max(square - work[SITE + i], 0.0))
        work[SITE + i] = square
        work[SX + i], work[SY + i], work[SZ + i] = qx + x, qy + y, qz + z


@kernel
def look_around(p, o, grid, work, n):
    """Look at the sites of all eight knots around each of `n` lanes.

    SX, SY, SZ and SITE get the nearest of them, ENOUGH a better bound. With w_i the weights that
    make q of the corners n_i of its cell of knots, and s_i the sites nearest to those, any site s
    has |q − s|² = Σ w_i |n_i − s|² − Σ w_i |n_i − q|², and |n_i − s| >= |n_i − s_i|.
    """
    (px, py, pz), (tx, ty, tz), wide = grid[5], grid[6], site_grid_of(p, o)
    slab, row, first = wide[3], wide[4], first_feature(p, o)
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        j, k, m = knot_below(wide, 0, qx), knot_below(wide, 1, qy), knot_below(wide, 2, qz)
        work[CELL + i] = j * slab + k * row + m
        x, y, z = place_of(wide, 0, j), place_of(wide, 1, k), place_of(wide, 2, m)
        sx, sy = place_of(wide, 0, j + 1.0) - x, place_of(wide, 1, k + 1.0) - y
        sz = place_of(wide, 2, m + 1.0) - z
        u, v, w = (qx - x) / sx, (qy - y) / sy, (qz - z) / sz
        a, b, c = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
        bound = sx * sx * ((u - a) ** 2 - a * (1.0 - a))
        bound += sy * sy * ((v - b) ** 2 - b * (1.0 - b))
        work[KNOT_BOUND + i] = bound + sz * sz * ((w - c) ** 2 - c * (1.0 - c))
        work[UX + i], work[UY + i], work[UZ + i] = a, b, c
        work[KX + i], work[KY + i], work[KZ + i] = x, y, z
        work[KSX + i], work[KSY + i], work[KSZ + i] = sx, sy, sz
    levels, scale = p[o + LEVELS], p[o + SCALE]
    per_level, per_row = 1.0 / levels, 1.0 / scale
    per_slab = per_row * per_row
    hx, hy, hz = p[o + SPACING] / PARTS, p[o + SPACING + 1] / PARTS, p[o + SPACING + 2] / PARTS
    for corner in range(8):
        right, up, ahead = float(corner >> 2), float((corner >> 1) & 1), float(corner & 1)
        at = float(first) + right * slab + up * row + ahead
        for i in range(n):
            work[FEATURE + i] = feature_at(p, o, int(work[CELL + i] + at))
        for i in range(n):
            site = np.floor(work[FEATURE + i] * per_level)
            x, y = np.floor(site * per_slab), np.floor(site * per_row)
            x, y, z = hx * x, hy * (y - scale * x), hz * (site - scale * y)
            kx, ky = work[KX + i] + right * work[KSX + i], work[KY + i] + up * work[KSY + i]
            kz = work[KZ + i] + ahead * work[KSZ + i]
            dx, dy, dz = x - kx, y - ky, z - kz
            dx -= px * np.rint(dx * tx)
            dy -= py * np.rint(dy * ty)
            dz -= pz * np.rint(dz * tz)
            a, b, c = work[UX + i], work[UY + i], work[UZ + i]
            weight = (1.0 - right + (2.0 * right - 1.0) * a) * (1.0 - up + (2.0 * up - 1.0) * b)
            weight *= 1.0 - ahead + (2.0 * ahead - 1.0) * c
            work[KNOT_BOUND + i] += weight * (dx * dx + dy * dy + dz * dz)
            qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
            x, y, z = x - qx, y - qy, z - qz
            x -= px * np.rint(x * tx)
            y -= py * np.rint(y * ty)
            z -= pz * np.rint(z * tz)
            apart = x * x + y * y + z * z
            nearer = apart < work[SITE + i]
            work[SITE + i] = apart if nearer else work[SITE + i]
            work[SX + i] = qx + x if nearer else work[SX + i]
            work[SY + i] = qy + y if nearer else work[SY + i]
            work[SZ + i] = qz + z if nearer else work[SZ + i]
    quarter = 0.5 * p[o + HALF_DIAGONAL]
    for i in range(n):
        enough = np.sqrt(max(work[KNOT_BOUND + i], 0.0)) + quarter
        work[ENOUGH + i] = max(work[ENOUGH + i], enough * enough)


@kernel
def nearest_site(p, o, qx, qy, qz, least):
    """Return the site nearest to q, if it is nearer than `least`, squared; else q itself.

    The sites are those of cells parted in two: nearer than the nearest of them less half a
    diagonal no member is.
    """
    starts, sites, codes = o + int(p[o + STARTS]), 2 * (o + int(p[o + SITES])), p.view(np.int32)
    nx, ny, nz = int(p[o + BLOCKS]), int(p[o + BLOCKS + 1]), int(p[o + BLOCKS + 2])
    rx, ry, rz = 0.5 * p[o + SPACING], 0.5 * p[o + SPACING + 1], 0.5 * p[o + SPACING + 2]
    half, x, y, z = 0.5 * (SIDE - 1), qx, qy, qz
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
            sx, sy, sz = offset_to(p, o, int(codes[sites + s]), qx, qy, qz)
            apart = sx * sx + sy * sy + sz * sz
            if apart < least:
                x, y, z, least = qx + sx, qy + sy, qz + sz, apart
    return x, y, z, least


@kernel
def nearest_sites(p, o, work, n):
    """Find, as `nearest_knots` does, a site for each of `n` lanes: the nearest one of all."""
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        x, y, z, least = nearest_site(p, o, qx, qy, qz, np.inf)
        work[SX + i], work[SY + i], work[SZ + i], work[SITE + i] = x, y, z, least
        # The site is near enough; what is so much nearer needs no second start, from the site.
        work[ENOUGH + i] = max(np.sqrt(least) - p[o + HALF_DIAGONAL], 0.0)
        work[AZ + i] = UNKNOWN


# Distance fields in blocks: look-up between the nodes of a grid, and the way to a member nearby.
#
# A field is Φ, trilinear between the nodes; members have Φ <= threshold and lie in the grid's box.
# Packed with it is, for every knot of a wider grid, the nearest *site*: a member among the corners
# of cells parted in four along each axis. A trilinear function is least at a corner, so a site lies
# within a quarter of a cell's diagonal of any member. Points are measured from the box's corner.


@kernel
def keep_best(work, i, excess):
    """Keep where lane `i` is as its best member, if it is one and the nearest yet."""
    x, y, z = work[AX + i], work[AY + i], work[AZ + i]
    apart = (work[QX + i] - x) ** 2 + (work[QY + i] - y) ** 2 + (work[QZ + i] - z) ** 2
    better = (excess <= 0.0) & (apart < work[LEAST + i])
    work[LEAST + i] = apart if better else work[LEAST + i]
    work[MX + i] = x if better else work[MX + i]
    work[MY + i] = y if better else work[MY + i]
    work[MZ + i] = z if better else work[MZ + i]


@kernel
def slide(p, grid, box, work, first, last):
    """Go from points of the box to where the boundary is nearest to q, lanes `first` to `last`.

    Each step goes to the foot of q on the plane where Φ, as it rises here, would be the
    threshold, and a little farther down, each time more. The nearest members met on the way are
    kept at MX, MY, MZ, with their squared distances at LEAST.
    """
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    down = 1.0 + DOWN
    fetch_corners(p, grid, work, first, last)
    for _ in range(STEPS):
        for i in range(first, last):
            x, y, z = work[AX + i], work[AY + i], work[AZ + i]
            qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
            value, gx, gy, gz = slope_at(grid, work, i)
            excess = value - work[AIM + i]
            keep_best(work, i, excess)
            steep = gx * gx + gy * gy + gz * gz + FLAT
            rise = (qx - x) * gx + (qy - y) * gy + (qz - z) * gz
            along = (rise + max(down * excess, excess)) / steep
            work[AX + i] = min(max(qx - along * gx, near_x), far_x)
            work[AY + i] = min(max(qy - along * gy, near_y), far_y)
            work[AZ + i] = min(max(qz - along * gz, near_z), far_z)
        fetch_corners(p, grid, work, first, last)
        down = 4.0 * down - 3.0
    for i in range(first, last):
        keep_best(work, i, value_at(work, i) - work[AIM + i])


@kernel
def choose_starts(p, o, box, work, n):
    """Choose where lanes start to slide, and how near a member must be to be near enough.

    Half a cell's diagonal more than any member is away is enough. What none can be nearer than is
    known from Φ, at AX, and its steepest slope, and from the sites, a quarter diagonal from any
    member: those of the knot, or what Φ tells of them. With d the distance of the corners of a cell
    to sites, at least Φ less what it overstates, and w the corners' weights, the square of the
    distance to any site is at least Σ w d² − Σ w |corner − q|², and the first at least (Σ w d)².
    The last is at AY. Nearby the slope of Φ shows the way; farther off, start from the site.
    """
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, half_diagonal = p[o + THRESHOLD], p[o + HALF_DIAGONAL]
    gentle, within = 1.0 / p[o + STEEP_OUTSIDE], WITHIN * p[o + STEEP_INSIDE]
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        x, y = min(max(qx, near_x), far_x), min(max(qy, near_y), far_y)
        z = min(max(qz, near_z), far_z)
        beyond = (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2
        excess = work[AX + i] - threshold
        lower = max(excess, 0.0) * gentle
        # Right at the boundary the way must not be longer than it is: no farther in than out.
        work[AIM + i] = threshold - min(within, DOWN * max(excess, 0.0))
        enough = np.sqrt(beyond + lower * lower) + half_diagonal
        lower = max(excess - work[AZ + i], 0.0)
        lower = np.sqrt(beyond + max(lower * lower - work[AY + i], 0.0))
        enough = max(enough, max(work[ENOUGH + i], lower) + 0.5 * half_diagonal)
        work[ENOUGH + i] = enough * enough
        # The point of the box that is nearest to q may be a member itself.
        here = (excess <= SLACK) | ((beyond == 0.0) & (excess < NEARBY * half_diagonal))
        done = excess <= SLACK
        work[AX + i] = x if here else work[SX + i]
        work[AY + i] = y if here else work[SY + i]
        work[AZ + i] = z if here else work[SZ + i]
        work[MX + i] = x if done else work[SX + i]
        work[MY + i] = y if done else work[SY + i]
        work[MZ + i] = z if done else work[SZ + i]
        # Who starts here must find a member here: the site would be a jump.
        work[LEAST + i] = beyond if done else (np.inf if here else work[SITE + i])


@kernel
def search_segment(p, grid, work, i):
    """Find a member between a site and where lane `i` came sliding, as near to that as it can.

    One end is a member, the other is not, or all is done: each cut takes the place of either.
    """
    threshold = work[AIM + i]
    x, y, z = work[SX + i], work[SY + i], work[SZ + i]
    dx, dy, dz = work[AX + i] - x, work[AY + i] - y, work[AZ + i] - z
    low, high = 0.0, 1.0
    low_excess = min(look_up(p, grid, x, y, z) - threshold, 0.0)
    high_excess = look_up(p, grid, x + dx, y + dy, z + dz) - threshold
    if high_excess <= 0.0:
        low = 1.0
    else:
        for _ in range(CUTS):
            share = low_excess / (low_excess - high_excess)
            middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
            excess = look_up(p, grid, x + middle * dx, y + middle * dy, z + middle * dz) - threshold
            if excess <= 0.0:
                low, low_excess = middle, excess
            else:
                high, high_excess = middle, excess
    x, y, z = x + low * dx, y + low * dy, z + low * dz
    apart = (work[QX + i] - x) ** 2 + (work[QY + i] - y) ** 2 + (work[QZ + i] - z) ** 2
    if apart < work[LEAST + i]:
        work[MX + i], work[MY + i], work[MZ + i], work[LEAST + i] = x, y, z, apart


@kernel
def copy_lanes(source, lanes, n, out):
    """Copy all rows of `n` lanes, by their numbers, to the first lanes of `out`."""
    for row in range(LANE_ROWS):
        start = row * LANES
        for k in range(n):
            out[start + k] = source[start + lanes[k]]


@kernel
def list_unfinished(work, n, lanes):
    """List the lanes that have no member yet that is near enough; return how many."""
    count = 0
    for i in range(n):
        lanes[count] = i
        count += 0 if work[LEAST + i] <= work[ENOUGH + i] else 1
    return count


@kernel
def start_from_sites(work, n):
    """Let lanes slide from their sites, which are members: their best, if none is nearer."""
    for i in range(n):
        nearer = work[SITE + i] < work[LEAST + i]
        x, y, z = work[SX + i], work[SY + i], work[SZ + i]
        work[AX + i], work[AY + i], work[AZ + i] = x, y, z
        work[MX + i] = x if nearer else work[MX + i]
        work[MY + i] = y if nearer else work[MY + i]
        work[MZ + i] = z if nearer else work[MZ + i]
        work[LEAST + i] = min(work[SITE + i], work[LEAST + i])


@kernel
def search(p, o, grid, box, work, n):
    """Find members near enough for lanes where sliding from one place did not: from more.

    First from between there and the site, for those that found none; then from the best of the
    sites around, then from the nearest of all. But a better bound may tell that it is near enough.
    """
    lanes, few = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    count = list_unfinished(work, n, lanes)
    if count == 0:
        return
    rest, last = np.empty(WORK), np.empty(WORK)
    copy_lanes(work, lanes, count, rest)
    for k in range(count):
        if not rest[LEAST + k] < np.inf:
            search_segment(p, grid, rest, k)
            rest[AX + k], rest[AY + k], rest[AZ + k] = rest[MX + k], rest[MY + k], rest[MZ + k]
            slide(p, grid, box, rest, k, k + 1)
    if p[o + FEATURES] > 0.0:
        look_around(p, o, grid, rest, count)
    left = list_unfinished(rest, count, few)
    copy_lanes(rest, few, left, last)
    start_from_sites(last, left)
    slide(p, grid, box, last, 0, left)
    for k in range(left):
        if not last[LEAST + k] <= last[ENOUGH + k]:
            qx, qy, qz = last[QX + k], last[QY + k], last[QZ + k]
            x, y, z, apart = nearest_site(p, o, qx, qy, qz, last[LEAST + k])
            if apart < last[LEAST + k]:
                last[AX + k], last[AY + k], last[AZ + k] = x, y, z
                last[MX + k], last[MY + k], last[MZ + k], last[LEAST + k] = x, y, z, apart
                slide(p, grid, box, last, k, k + 1)
    for k in range(left):
        i = few[k]
        rest[MX + i], rest[MY + i], rest[MZ + i] = last[MX + k], last[MY + k], last[MZ + k]
    for k in range(count):
        i = lanes[k]
        work[MX + i], work[MY + i], work[MZ + i] = rest[MX + k], rest[MY + k], rest[MZ + k]


@kernel
def bound(p, o, box, block, work, lanes, n):
    """Write as the distances of `n` lanes outside what no member can be nearer than, by Φ alone."""
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, gentle = p[o + THRESHOLD], 1.0 / p[o + STEEP_OUTSIDE]
    for k in range(n):
        qx, qy, qz = work[QX + k], work[QY + k], work[QZ + k]
        x, y = qx - min(max(qx, near_x), far_x), qy - min(max(qy, near_y), far_y)
        z, lower = qz - min(max(qz, near_z), far_z), max(work[AX + k] - threshold, 0.0) * gentle
        block[DISTANCE + lanes[k]] = np.sqrt(x * x + y * y + z * z + lower * lower)


@kernel
def within_reach(x):
    """Return x, or 0 for what is no number or endless: it has no cell, and its caller sees it."""
    return x if abs(x) < FARTHEST else 0.0


@kernel
def field(p, o, block, n):
    """Look Φ up; where it exceeds the threshold, or outside the box, find a member nearby.

    A field that is packed without sites moves nothing, and its distances outside are bounds. One
    without knots takes longer for each point.
    """
    work = np.empty(WORK)
    grid, box = grid_of(p, o), box_of(p, o)
    period, turns, wraps = grid[5], grid[6], grid[7]
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, steep = p[o + THRESHOLD], 1.0 / p[o + STEEP_INSIDE]
    low_x, low_y, low_z = p[o + LOW], p[o + LOW + 1], p[o + LOW + 2]
    xx, yy, zz = p[o + SPACING] ** 2, p[o + SPACING + 1] ** 2, p[o + SPACING + 2] ** 2
    for i in range(n):
        x, y = within_reach(block[X + i]), within_reach(block[Y + i])
        z = within_reach(block[Z + i])
        x, y, z = x - low_x, y - low_y, z - low_z
        if wraps:
            x -= period[0] * np.floor(x * turns[0])
            y -= period[1] * np.floor(y * turns[1])
            z -= period[2] * np.floor(z * turns[2])
        work[QX + i], work[QY + i], work[QZ + i] = x, y, z
        work[AX + i] = min(max(x, near_x), far_x)
        work[AY + i] = min(max(y, near_y), far_y)
        work[AZ + i] = min(max(z, near_z), far_z)
    fetch_corners(p, grid, work, 0, n)
    for i in range(n):
        x, y, z, value = work[QX + i], work[QY + i], work[QZ + i], value_at(work, i)
        u, v, w = work[UX + i], work[UY + i], work[UZ + i]
        work[AX + i] = value
        work[AY + i] = xx * u * (1.0 - u) + yy * v * (1.0 - v) + zz * w * (1.0 - w)
        side = min(min(x - near_x, far_x - x), min(y - near_y, far_y - y))
        side = min(side, min(z - near_z, far_z - z))
        depth = max(min(side, (threshold - value) * steep), 0.0)
        inside = (side >= -SLACK) & (value <= threshold + SLACK)
        block[DISTANCE + i] = -depth if inside else 1.0
        block[PX + i], block[PY + i], block[PZ + i] = block[X + i], block[Y + i], block[Z + i]
    lanes = np.empty(LANES, np.int64)
    count = 0
    for i in range(n):  # without a branch: whether a lane is outside is anybody's guess
        lanes[count] = i
        work[QX + count] = work[QX + i]
        work[QY + count] = work[QY + i]
        work[QZ + count] = work[QZ + i]
        work[AX + count] = work[AX + i]
        work[AY + count] = work[AY + i]
        count += 1 if block[DISTANCE + i] > 0.0 else 0
    if count == 0:
        return
    if p[o + SITES] == 0.0:
        bound(p, o, box, block, work, lanes, count)
        return
    if p[o + FEATURES] == 0.0:
        nearest_sites(p, o, work, count)
    else:
        nearest_knots(p, o, grid, work, count)
    choose_starts(p, o, box, work, count)
    slide(p, grid, box, work, 0, count)
    search(p, o, grid, box, work, count)
    for k in range(count):
        i = lanes[k]
        x, y = work[MX + k] - work[QX + k], work[MY + k] - work[QY + k]
        z = work[MZ + k] - work[QZ + k]
        block[PX + i] = block[X + i] + x
        block[PY + i] = block[Y + i] + y
        block[PZ + i] = block[Z + i] + z
        block[DISTANCE + i] = np.sqrt(x * x + y * y + z * z)
