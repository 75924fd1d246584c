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
STEPS = 5  # to the boundary, at most
WORTH = 1e-3  # a step that shortens the squared way by less than this share was the last
FLAT = 1e-9  # a squared slope below this gives no direction


@kernel
def grid_of(p, o):
    """Return what is needed to look a field up, read once: see `look_up`."""
    row = int(p[o + NODES + 2])
    return (
        o + int(p[o + VALUES]),
        int(p[o + NODES + 1]) * row,
        row,
        (p[o + NODES] - 2.0, p[o + NODES + 1] - 2.0, p[o + NODES + 2] - 2.0),
        (1.0 / p[o + SPACING], 1.0 / p[o + SPACING + 1], 1.0 / p[o + SPACING + 2]),
        (p[o + PERIOD], p[o + PERIOD + 1], p[o + PERIOD + 2]),
        (p[o + TURNS], p[o + TURNS + 1], p[o + TURNS + 2]),
    )


@kernel
def corner_of(grid, x, y, z):
    """Return where in the buffer the cell of a point begins, and the point's shares of the cell."""
    first, slab, row, last, inverse, period, turns = grid
    u = (x - period[0] * np.floor(x * turns[0])) * inverse[0]
    v = (y - period[1] * np.floor(y * turns[1])) * inverse[1]
    w = (z - period[2] * np.floor(z * turns[2])) * inverse[2]
    i = np.int64(min(max(u, 0.0), last[0]))
    j = np.int64(min(max(v, 0.0), last[1]))
    k = np.int64(min(max(w, 0.0), last[2]))
    return first + i * slab + j * row + k, u - i, v - j, w - k


@kernel
def look_up(p, grid, x, y, z):
    """Return Φ at a point of the box."""
    a, u, v, w = corner_of(grid, x, y, z)
    b, c = a + grid[2], a + grid[1]
    d = c + grid[2]
    p00 = p[a] + w * (p[a + 1] - p[a])
    p01 = p[b] + w * (p[b + 1] - p[b])
    p10 = p[c] + w * (p[c + 1] - p[c])
    p11 = p[d] + w * (p[d + 1] - p[d])
    p0, p1 = p00 + v * (p01 - p00), p10 + v * (p11 - p10)
    return p0 + u * (p1 - p0)


@kernel
def slope_at(p, grid, x, y, z):
    """Return Φ and its gradient within the cell at a point of the box."""
    a, u, v, w = corner_of(grid, x, y, z)
    b, c = a + grid[2], a + grid[1]
    d = c + grid[2]
    inverse = grid[4]
    q00, q01, q10, q11 = p[a + 1] - p[a], p[b + 1] - p[b], p[c + 1] - p[c], p[d + 1] - p[d]
    p00, p01, p10, p11 = p[a] + w * q00, p[b] + w * q01, p[c] + w * q10, p[d] + w * q11
    q0, q1 = q00 + v * (q01 - q00), q10 + v * (q11 - q10)
    r0, r1 = p01 - p00, p11 - p10
    p0, p1 = p00 + v * r0, p10 + v * r1
    gx, gy, gz = (p1 - p0) * inverse[0], (r0 + u * (r1 - r0)) * inverse[1], 0.0
    gz = (q0 + u * (q1 - q0)) * inverse[2]
    return p0 + u * (p1 - p0), gx, gy, gz


@kernel
def shortest(p, o, axis, move):
    """Return the shortest move along an axis that goes where `move` goes."""
    return move - p[o + PERIOD + axis] * np.rint(move * p[o + TURNS + axis])


@kernel
def in_box(p, o, axis, x):
    """Return x, or the nearest end of its axis, if that does not wrap."""
    far = (p[o + NODES + axis] - 1.0) * p[o + SPACING + axis]
    return x if p[o + PERIOD + axis] > 0.0 else min(max(x, 0.0), far)


@kernel
def slide(p, o, grid, qx, qy, qz, x, y, z):
    """Go from x, y, z in the box to where the boundary is nearest to q.

    Returns the nearest member that was met, and how far it is, squared; ∞ if none was. Each step
    goes to the foot of q on the plane where Φ, as it rises here, would be the threshold; what
    ends outside is taken down the slope, and a little farther.
    """
    threshold = p[o + THRESHOLD]
    least, mx, my, mz = np.inf, x, y, z
    for step in range(STEPS):
        value, gx, gy, gz = slope_at(p, grid, x, y, z)
        excess, square = value - threshold, gx * gx + gy * gy + gz * gz
        if excess <= 0.0:
            apart = (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2
            if not apart < least:
                break
            gained = least - apart
            least, mx, my, mz = apart, x, y, z
            if gained < WORTH * apart:
                break
        if not square > FLAT:
            break
        if step > 1 and excess > 0.0:
            scale = 1.05 * excess / square  # down the slope
            x, y, z = x - scale * gx, y - scale * gy, z - scale * gz
        else:
            along = ((qx - x) * gx + (qy - y) * gy + (qz - z) * gz + 1.0001 * excess) / square
            x, y, z = qx - along * gx, qy - along * gy, qz - along * gz
        x, y, z = in_box(p, o, 0, x), in_box(p, o, 1, y), in_box(p, o, 2, z)
    return mx, my, mz, least


@kernel
def knot_below(p, o, axis, at, x):
    """Return the cell of the wider grid that x is in, or the one nearest to x, along an axis.

    The axis' knots start at `at`.
    """
    knots = int(p[o + KNOTS + axis])
    before = int(p[o + BEFORE + axis])
    inner = int(p[o + NODES + axis]) - 1
    if x < 0.0:
        k = before - 1
        while k > 0 and x < p[at + k]:
            k -= 1
        return max(k, 0)
    k = before + int(min(x / p[o + SPACING + axis], np.float64(inner)))
    if k >= before + inner:
        while k < knots - 2 and x >= p[at + k + 1]:
            k += 1
    return min(k, knots - 2)


@kernel
def towards(p, o, code, part, qx, qy, qz):
    """Return the moves from q to the site of this code, of cells of which `part` is a share."""
    site = int(code)
    x = part * p[o + SPACING] * (site >> (2 * SHIFT)) - qx
    y = part * p[o + SPACING + 1] * ((site >> SHIFT) & LOW_BITS) - qy
    z = part * p[o + SPACING + 2] * (site & LOW_BITS) - qz
    return shortest(p, o, 0, x), shortest(p, o, 1, y), shortest(p, o, 2, z)


@kernel
def cell_around(p, o, qx, qy, qz):
    """Return the cell of the wider grid around q: its number, q's shares, and the bound.

    What no site is nearer than, squared, is the last. With w_i the weights that make q of the
    cell's corners n_i, and s_i the site nearest to n_i, any site s has
    |q − s|² = Σ w_i |n_i − s|² − Σ w_i |n_i − q|² >= Σ w_i |n_i − s_i|² − Σ w_i |n_i − q|².
    """
    at_x = o + int(p[o + PLACES])
    at_y = at_x + int(p[o + KNOTS])
    at_z = at_y + int(p[o + KNOTS + 1])
    i, j, k = knot_below(p, o, 0, at_x, qx), knot_below(p, o, 1, at_y, qy), 0
    k = knot_below(p, o, 2, at_z, qz)
    x0, y0, z0 = p[at_x + i], p[at_y + j], p[at_z + k]
    sx, sy, sz = p[at_x + i + 1] - x0, p[at_y + j + 1] - y0, p[at_z + k + 1] - z0
    u, v, w = (qx - x0) / sx, (qy - y0) / sy, (qz - z0) / sz
    a, b, c = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0), min(max(w, 0.0), 1.0)
    bound = sx * sx * ((u - a) ** 2 - a * (1.0 - a))
    bound += sy * sy * ((v - b) ** 2 - b * (1.0 - b))
    bound += sz * sz * ((w - c) ** 2 - c * (1.0 - c))
    row = int(p[o + KNOTS + 2])
    slab = int(p[o + KNOTS + 1]) * row
    cell = i * slab + j * row + k
    s = o + int(p[o + SQUARES]) + cell
    t = s + slab
    low = (1.0 - b) * ((1.0 - c) * p[s] + c * p[s + 1])
    low += b * ((1.0 - c) * p[s + row] + c * p[s + row + 1])
    high = (1.0 - b) * ((1.0 - c) * p[t] + c * p[t + 1])
    high += b * ((1.0 - c) * p[t + row] + c * p[t + row + 1])
    return cell, a, b, c, max((1.0 - a) * low + a * high + bound, 0.0)


@kernel
def site_of(p, o, cell, a, b, c, qx, qy, qz):
    """Return the site nearest to a corner of a cell of the wider grid, as seen from q."""
    row = int(p[o + KNOTS + 2])
    corner = cell + a * int(p[o + KNOTS + 1]) * row + b * row + c
    x, y, z = towards(p, o, p[o + int(p[o + FEATURES]) + corner], 1.0 / PARTS, qx, qy, qz)
    return qx + x, qy + y, qz + z, x * x + y * y + z * z


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
            sx, sy, sz = towards(p, o, p[sites + s], 0.5, qx, qy, qz)
            apart = sx * sx + sy * sy + sz * sz
            if apart < least:
                x, y, z, least = qx + sx, qy + sy, qz + sz, apart
    return x, y, z, least


@kernel
def nearer(p, o, grid, qx, qy, qz, x, y, z, least, sx, sy, sz, apart):
    """Return the nearest to q of a member, a site, and what is found sliding from the site."""
    if apart < least:
        x, y, z, least = sx, sy, sz, apart
    sx, sy, sz, apart = slide(p, o, grid, qx, qy, qz, sx, sy, sz)
    if apart < least:
        x, y, z, least = sx, sy, sz, apart
    return x, y, z, least


@kernel
def nearby_member(p, o, grid, qx, qy, qz, value):
    """Return a member at most half a cell's diagonal farther from q than the nearest.

    `value` is Φ at the point of the box that is nearest to q. What no member can be nearer than
    is known twice: from Φ and its steepest slope, and from the sites around. One that is near
    enough for either is taken; else other sites are looked at, and in the end all of them.
    """
    cx, cy, cz = in_box(p, o, 0, qx), in_box(p, o, 1, qy), in_box(p, o, 2, qz)
    beyond = (qx - cx) ** 2 + (qy - cy) ** 2 + (qz - cz) ** 2
    excess = value - p[o + THRESHOLD]
    if excess <= SLACK:
        return cx, cy, cz
    half_diagonal = p[o + HALF_DIAGONAL]
    lower = excess / p[o + STEEP_OUTSIDE]
    enough = (np.sqrt(beyond + lower * lower) + half_diagonal) ** 2
    x, y, z, least = cx, cy, cz, np.inf
    if beyond == 0.0 and excess < 2.0 * half_diagonal:
        x, y, z, least = slide(p, o, grid, qx, qy, qz, cx, cy, cz)
        if least <= enough:
            return x, y, z
    cell, u, v, w, bound = cell_around(p, o, qx, qy, qz)
    enough = max(enough, (np.sqrt(bound) + 0.5 * half_diagonal) ** 2)
    a, b, c = np.int64(u + 0.5), np.int64(v + 0.5), np.int64(w + 0.5)
    sx, sy, sz, apart = site_of(p, o, cell, a, b, c, qx, qy, qz)
    x, y, z, least = nearer(p, o, grid, qx, qy, qz, x, y, z, least, sx, sy, sz, apart)
    if least <= enough:
        return x, y, z
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        ax, ay, az, other = site_of(p, o, cell, a, b, c, qx, qy, qz)
        if other < apart:
            sx, sy, sz, apart = ax, ay, az, other
    x, y, z, least = nearer(p, o, grid, qx, qy, qz, x, y, z, least, sx, sy, sz, apart)
    if least <= enough:
        return x, y, z
    sx, sy, sz, apart = nearest_site(p, o, qx, qy, qz, x, y, z, least)
    if apart < least:
        x, y, z, _ = nearer(p, o, grid, qx, qy, qz, x, y, z, least, sx, sy, sz, apart)
    return x, y, z


@kernel
def number(x):
    """Return x, or 0 for what is no number: it has no cell, and its caller sees it anyway."""
    return x if x == x else 0.0


@kernel
def depth_in_box(p, o, axis, x):
    """Return how far x is from the ends of its axis; ∞ if that wraps."""
    far = (p[o + NODES + axis] - 1.0) * p[o + SPACING + axis]
    return np.inf if p[o + PERIOD + axis] > 0.0 else min(x, far - x)


@kernel
def field(p, o, block, n):
    """Look Φ up; where it exceeds the threshold, or outside the box, find a member nearby."""
    x_, y_, z_, value_ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES, SCRATCH + 3 * LANES
    grid = grid_of(p, o)
    period, turns = grid[5], grid[6]
    threshold, steep = p[o + THRESHOLD], 1.0 / p[o + STEEP_INSIDE]
    low0, low1, low2 = p[o + LOW], p[o + LOW + 1], p[o + LOW + 2]
    for i in range(n):
        x, y, z = number(block[X + i]) - low0, number(block[Y + i]) - low1, 0.0
        z = number(block[Z + i]) - low2
        x -= period[0] * np.floor(x * turns[0])
        y -= period[1] * np.floor(y * turns[1])
        z -= period[2] * np.floor(z * turns[2])
        block[x_ + i], block[y_ + i], block[z_ + i] = x, y, z
        cx, cy, cz = in_box(p, o, 0, x), in_box(p, o, 1, y), in_box(p, o, 2, z)
        value = look_up(p, grid, cx, cy, cz)
        block[value_ + i] = value
        side = min(depth_in_box(p, o, 0, x), depth_in_box(p, o, 1, y))
        side = min(side, depth_in_box(p, o, 2, z))
        depth = min(side, (threshold - value) * steep)
        inside = side >= -SLACK and value <= threshold + SLACK
        block[DISTANCE + i] = -max(depth, 0.0) if inside else 1.0
        block[PX + i], block[PY + i], block[PZ + i] = block[X + i], block[Y + i], block[Z + i]
    for i in range(n):
        if block[DISTANCE + i] > 0.0:
            qx, qy, qz = block[x_ + i], block[y_ + i], block[z_ + i]
            x, y, z = nearby_member(p, o, grid, qx, qy, qz, block[value_ + i])
            x, y, z = x - qx, y - qy, z - qz
            block[PX + i] = block[X + i] + x
            block[PY + i] = block[Y + i] + y
            block[PZ + i] = block[Z + i] + z
            block[DISTANCE + i] = np.sqrt(x * x + y * y + z * z)
