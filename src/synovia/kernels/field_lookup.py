"""Distance fields: how they are packed, and Φ and its slope between the nodes of the grid."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import LANES

# Where things stand in a packed field, after its kind; tables are given by where they start.
THRESHOLD, STEEP_INSIDE, STEEP_OUTSIDE, HALF_DIAGONAL = 0, 1, 2, 3
LOW, SPACING, PERIOD, TURNS, NODES = 4, 7, 10, 13, 16  # three each; TURNS are 1/PERIOD, or 0
KNOTS, BEFORE, BLOCKS = 19, 22, 25  # three each: of the wider grid, its knots and those below 0
VALUES, PLACES, FEATURES, SQUARES, STARTS, SITES = 28, 29, 30, 31, 32, 33
HALVES, HALVES_BELOW, HALVES_LAST = 34, 37, 40  # three each: see `field_sites.nearest_knots`
HEADER = 43

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
        p[o + TURNS] + p[o + TURNS + 1] + p[o + TURNS + 2] > 0.0,
    )


@kernel
def corner_of(grid, x, y, z):
    """Return where in the buffer the cell of a point begins, and the point's shares of the cell.

    Numbers without a sign spare the check for places counted from the end, which costs as much
    as the look-up itself.
    """
    first, slab, row, last, inverse, period, turns, wraps = grid
    if wraps:
        x -= period[0] * np.floor(x * turns[0])
        y -= period[1] * np.floor(y * turns[1])
        z -= period[2] * np.floor(z * turns[2])
    u, v, w = x * inverse[0], y * inverse[1], z * inverse[2]
    i = np.int32(min(max(u, 0.0), last[0]))
    j = np.int32(min(max(v, 0.0), last[1]))
    k = np.int32(min(max(w, 0.0), last[2]))
    at = first + np.uint32(i) * slab + np.uint32(j) * row + np.uint32(k)
    return np.uint32(at), u - i, v - j, w - k


@kernel
def edges_of(p, grid, a):
    """Return Φ at four corners of a cell, and the steps from those to the other four."""
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
def look(p, grid, work, first, last):
    """Fetch Φ at the corners of the cells that AX, AY, AZ are in, lanes `first` to `last`.

    Places, then loads, then (by the callers) sums: each loop does one thing to many lanes, so
    that none waits for the memory of another.
    """
    start, slab, row, (last_x, last_y, last_z), inverse, period, turns, wraps = grid
    ix, iy, iz = inverse
    begin, down, across = np.float64(start), np.float64(slab), np.float64(row)
    for i in range(first, last):
        x, y, z = work[AX + i], work[AY + i], work[AZ + i]
        if wraps:
            x -= period[0] * np.floor(x * turns[0])
            y -= period[1] * np.floor(y * turns[1])
            z -= period[2] * np.floor(z * turns[2])
        u, v, w = x * ix, y * iy, z * iz
        j = np.floor(min(max(u, 0.0), last_x))
        k = np.floor(min(max(v, 0.0), last_y))
        m = np.floor(min(max(w, 0.0), last_z))
        work[CELL + i] = begin + j * down + k * across + m
        work[UX + i], work[UY + i], work[UZ + i] = u - j, v - k, w - m
    one = np.uint32(1)
    for i in range(first, last):
        a = np.uint32(work[CELL + i])
        b, c = np.uint32(a + row), np.uint32(a + slab)
        d = np.uint32(c + row)
        work[CORNERS + i] = p[a]
        work[CORNERS + LANES + i] = p[np.uint32(a + one)]
        work[CORNERS + 2 * LANES + i] = p[b]
        work[CORNERS + 3 * LANES + i] = p[np.uint32(b + one)]
        work[CORNERS + 4 * LANES + i] = p[c]
        work[CORNERS + 5 * LANES + i] = p[np.uint32(c + one)]
        work[CORNERS + 6 * LANES + i] = p[d]
        work[CORNERS + 7 * LANES + i] = p[np.uint32(d + one)]


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
