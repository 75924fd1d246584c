"""Distance fields: the sites, members all along a region, from which projections start.

For every node of a grid wider than the field's, the nearest site is packed: a member among the
corners of cells parted in four along each axis.
"""

from __future__ import annotations

import numpy as np

from .field_lookup import (
    BEFORE,
    BLOCKS,
    ENOUGH,
    FEATURES,
    HALVES,
    HALVES_BELOW,
    HALVES_LAST,
    KNOTS,
    LOW_BITS,
    NODES,
    ONE,
    PARTS,
    PERIOD,
    PLACES,
    QX,
    QY,
    QZ,
    SHIFT,
    SIDE,
    SITE,
    SITES,
    SPACING,
    SQUARES,
    STARTS,
    SX,
    SY,
    SZ,
    TURNS,
    edges_of,
)
from .jit import kernel


@kernel
def wide_of(p, o):
    """Return what is needed to look sites up, read once: see `knot_below` and `least_distance`."""
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
def shortest(p, o, axis, move):
    """Return the shortest move along an axis that goes where `move` goes."""
    return move - p[o + PERIOD + axis] * np.rint(move * p[o + TURNS + axis])


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
def nearest_knots(p, o, grid, work, n):
    """Find the site of the knot nearest to each of `n` lanes, and what no site can be nearer than.

    Tables for half cells along each axis add up to where a knot's site s is packed, and beside
    it the most that |q − s|² exceeds the square of the distance to the nearest site by, for any q
    nearest to this knot. At SX, SY, SZ comes the site, its squared distance at SITE; at ENOUGH
    the least distance of any.
    """
    (ix, iy, iz), (px, py, pz), (tx, ty, tz) = grid[4], grid[5], grid[6]
    below, last, start = o + HALVES_BELOW, o + HALVES_LAST, o + HALVES
    below_x, below_y, below_z = p[below], p[below + 1], p[below + 2]
    last_x, last_y, last_z = p[last], p[last + 1], p[last + 2]
    at_x, at_y, at_z = o + p[start], o + p[start + 1], o + p[start + 2]
    for i in range(n):
        x, y, z = 2.0 * ix * work[QX + i], 2.0 * iy * work[QY + i], 2.0 * iz * work[QZ + i]
        work[SX + i] = at_x + min(max(np.floor(x) + below_x, 0.0), last_x)
        work[SY + i] = at_y + min(max(np.floor(y) + below_y, 0.0), last_y)
        work[SZ + i] = at_z + min(max(np.floor(z) + below_z, 0.0), last_z)
    features, one = o + p[o + FEATURES], np.uint32(1)
    for i in range(n):
        j, k = np.uint32(work[SX + i]), np.uint32(work[SY + i])
        at = np.uint32(features + p[j] + p[k] + p[np.uint32(work[SZ + i])])
        site = np.int64(p[at])
        work[SITE + i] = p[np.uint32(at + one)]
        work[SX + i] = site >> (2 * SHIFT)
        work[SY + i] = (site >> SHIFT) & LOW_BITS
        work[SZ + i] = site & LOW_BITS
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
def cell_of(grid, wide, qx, qy, qz):
    """Return the number of the cell of the wider grid that q is in, or nearest to."""
    inverse, (_, slab, row) = grid[4], wide[4]
    j = knot_below(wide, 0, qx * inverse[0])
    k = knot_below(wide, 1, qy * inverse[1])
    return np.uint32(j * slab + k * row + knot_below(wide, 2, qz * inverse[2]))


@kernel
def least_distance(p, wide, cell, qx, qy, qz):
    """Return what no site can be nearer to q than, in this cell of the wider grid: a better bound.

    With w_i the weights that make q of the corners n_i of its cell of the wider grid, and s_i the
    sites nearest to those, any site s has |q − s|² = Σ w_i |n_i − s|² − Σ w_i |n_i − q|², and
    |n_i − s| >= |n_i − s_i|.
    """
    first, slab, row = wide[4]
    one = np.uint32(1)
    j = np.uint32(wide[3][0] + cell // slab)
    k = np.uint32(wide[3][1] + cell % slab // row)
    m = np.uint32(wide[3][2] + cell % row)
    sx, sy, sz = p[j + one] - p[j], p[k + one] - p[k], p[m + one] - p[m]
    u, v, w = (qx - p[j]) / sx, (qy - p[k]) / sy, (qz - p[m]) / sz
    a, b, c = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
    bound = sx * sx * ((u - a) ** 2 - a * (1.0 - a))
    bound += sy * sy * ((v - b) ** 2 - b * (1.0 - b))
    bound += sz * sz * ((w - c) ** 2 - c * (1.0 - c))
    p00, p01, p10, p11, q00, q01, q10, q11 = edges_of(p, wide[4], np.uint32(first + cell))
    p00, p01, p10, p11 = p00 + c * q00, p01 + c * q01, p10 + c * q10, p11 + c * q11
    p0, p1 = p00 + b * (p01 - p00), p10 + b * (p11 - p10)
    return np.sqrt(max(p0 + a * (p1 - p0) + bound, 0.0))


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
