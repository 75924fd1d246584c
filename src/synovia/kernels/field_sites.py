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
def surround(p, o, grid, wide, work, cells, n):
    """Find a site near each of `n` lanes, and what no site can be nearer than.

    With w_i the weights that make q of the corners n_i of its cell of the wider grid, and s_i the
    sites nearest to those, any site s has |q − s|² = Σ w_i |n_i − s|² − Σ w_i |n_i − q|², and
    |n_i − s| >= |n_i − s_i|. At SX, SY, SZ comes the site of the corner nearest to q, its squared
    distance at SITE; at ENOUGH the least distance of a site.
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
        corner = (
            (slab if a > 0.5 else zero) + (row if b > 0.5 else zero) + (one if c > 0.5 else zero)
        )
        site = np.int64(p[np.uint32(features + cell + corner)])
        x, y, z = towards(p, o, site, 1.0 / PARTS, qx, qy, qz)
        work[SX + i], work[SY + i], work[SZ + i] = qx + x, qy + y, qz + z
        work[SITE + i] = x * x + y * y + z * z


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
