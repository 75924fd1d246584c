"""How steep a field is, how far its members reach, its volume, and its surface as a net."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel

# How steep a field is, how far its members reach, and how large they are together.


@kernel("f8[,,] f8[] f8 f8[]")
def steepest(nodes, spacing, threshold, out):
    """Write the greatest square of a slope: in cells that meet the region, and in all others' rim.

    A trilinear function is steepest at a corner of its cell, since the square of its slope is
    convex along each axis. `out` (2,) holds the least that is to be written.
    """
    x, y, z = 1.0 / spacing[0], 1.0 / spacing[1], 1.0 / spacing[2]
    for i in range(nodes.shape[0] - 1):
        for j in range(nodes.shape[1] - 1):
            for k in range(nodes.shape[2] - 1):
                a, b = nodes[i, j, k], nodes[i, j, k + 1]
                c, d = nodes[i, j + 1, k], nodes[i, j + 1, k + 1]
                e, f = nodes[i + 1, j, k], nodes[i + 1, j, k + 1]
                g, h = nodes[i + 1, j + 1, k], nodes[i + 1, j + 1, k + 1]
                ae, bf, cg, dh = x * (e - a), x * (f - b), x * (g - c), x * (h - d)
                ac, bd, eg, fh = y * (c - a), y * (d - b), y * (g - e), y * (h - f)
                ab, cd, ef, gh = z * (b - a), z * (d - c), z * (f - e), z * (h - g)
                ae, bf, cg, dh = ae * ae, bf * bf, cg * cg, dh * dh
                ac, bd, eg, fh = ac * ac, bd * bd, eg * eg, fh * fh
                ab, cd, ef, gh = ab * ab, cd * cd, ef * ef, gh * gh
                near = max(ae + ac + ab, bf + bd + ab, cg + ac + cd, dh + bd + cd)
                far = max(ae + eg + ef, bf + fh + ef, cg + eg + gh, dh + fh + gh)
                square = max(near, far)
                if square > out[0] and min(a, b, c, d, e, f, g, h) <= threshold:
                    out[0] = square
                if square > out[1] and max(a, b, c, d, e, f, g, h) > threshold:
                    out[1] = square


@kernel("f8[,,] f8 f8[] f8[] f8[]")
def farthest(nodes, threshold, low, spacing, weights):
    """Return a bound on the weighted square of members, Σ w x², at most half a cell too far out.

    Each cell is cut in eight: the corners count of those that have a node or a midpoint inside.
    """
    sides = np.zeros((3, 2 * max(nodes.shape)))
    for axis in range(3):
        for n in range(2 * nodes.shape[axis] - 2):
            start = low[axis] + 0.5 * spacing[axis] * n
            end = low[axis] + 0.5 * spacing[axis] * (n + 1)
            sides[axis, n] = weights[axis] * max(start * start, end * end)
    best = 0.0
    for i in range(nodes.shape[0] - 1):
        far_x = max(sides[0, 2 * i], sides[0, 2 * i + 1])
        for j in range(nodes.shape[1] - 1):
            far_y = max(sides[1, 2 * j], sides[1, 2 * j + 1])
            for k in range(nodes.shape[2] - 1):
                far_z = max(sides[2, 2 * k], sides[2, 2 * k + 1])
                # Few cells are farther out than what is known, and only those are looked at.
                if far_x + far_y + far_z <= best:
                    continue
                near = min(nodes[i, j, k], nodes[i, j, k + 1])
                near = min(near, nodes[i, j + 1, k], nodes[i, j + 1, k + 1])
                far = min(nodes[i + 1, j, k], nodes[i + 1, j, k + 1])
                far = min(far, nodes[i + 1, j + 1, k], nodes[i + 1, j + 1, k + 1])
                if min(near, far) > threshold:
                    continue
                for part in range(8):
                    a, b, c = part >> 2, (part >> 1) & 1, part & 1
                    square = sides[0, 2 * i + a] + sides[1, 2 * j + b] + sides[2, 2 * k + c]
                    if (
                        square > best
                        and least_of_part(nodes, 2 * i + a, 2 * j + b, 2 * k + c) <= threshold
                    ):
                        best = square
    return best


@kernel
def least_of_part(nodes, a, b, c):
    """Return the least value at the corners of an eighth of a cell, counted in half cells."""
    least = math.inf
    i, j, k = a // 2, b // 2, c // 2
    for u in range(a - 2 * i, a - 2 * i + 2):
        for v in range(b - 2 * j, b - 2 * j + 2):
            for w in range(c - 2 * k, c - 2 * k + 2):
                # From 0 to 2, with 1 the middle: both nodes count half there.
                value = 0.0
                for x in range(2):
                    for y in range(2):
                        for z in range(2):
                            share = abs(2 - 2 * x - u) * abs(2 - 2 * y - v) * abs(2 - 2 * z - w)
                            value += 0.125 * share * nodes[i + x, j + y, k + z]
                least = min(least, value)
    return least


@kernel("f8[,,] f8")
def count_cut_cells(nodes, level):
    """Return how many cells have members and others."""
    count = 0
    for i in range(nodes.shape[0] - 1):
        for j in range(nodes.shape[1] - 1):
            for k in range(nodes.shape[2] - 1):
                inside = 0
                for corner in range(8):
                    a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
                    inside += nodes[i + a, j + b, k + c] <= level
                count += 0 < inside < 8
    return count


@kernel("f8[,,] f8 i8")
def volume(nodes, level, side):
    """Return the volume of what is at most `level`, in cells.

    Along a line of the third axis the value is linear in a cell, so the line's share inside is
    exact; there are `side` × `side` lines in each cell.
    """
    total = 0.0
    for i in range(nodes.shape[0] - 1):
        for j in range(nodes.shape[1] - 1):
            for k in range(nodes.shape[2] - 1):
                a, b = nodes[i, j, k] - level, nodes[i, j, k + 1] - level
                c, d = nodes[i, j + 1, k] - level, nodes[i, j + 1, k + 1] - level
                e, f = nodes[i + 1, j, k] - level, nodes[i + 1, j, k + 1] - level
                g, h = nodes[i + 1, j + 1, k] - level, nodes[i + 1, j + 1, k + 1] - level
                if min(a, b, c, d, e, f, g, h) > 0.0:
                    continue
                if max(a, b, c, d, e, f, g, h) <= 0.0:
                    total += 1.0
                    continue
                inside = 0.0
                for u in range(side):
                    x = (u + 0.5) / side
                    ae, bf = a + x * (e - a), b + x * (f - b)
                    cg, dh = c + x * (g - c), d + x * (h - d)
                    for v in range(side):
                        y = (v + 0.5) / side
                        near, far = ae + y * (cg - ae), bf + y * (dh - bf)
                        least, most = min(near, far), max(near, far)
                        if most <= 0.0:
                            inside += 1.0
                        elif least < 0.0:
                            inside -= least / (most - least)
                total += inside / (side * side)
    return total


# The surface at which a field has a value: one point in each cell that it goes through.


@kernel
def value_and_slope(nodes, x, y, z):
    """Return the value at a place counted in nodes, and its slope along each axis."""
    i = min(int(x), nodes.shape[0] - 2)
    j = min(int(y), nodes.shape[1] - 2)
    k = min(int(z), nodes.shape[2] - 2)
    x, y, z = x - i, y - j, z - k
    a, b = nodes[i, j, k], nodes[i, j, k + 1]
    c, d = nodes[i, j + 1, k], nodes[i, j + 1, k + 1]
    e, f = nodes[i + 1, j, k], nodes[i + 1, j, k + 1]
    g, h = nodes[i + 1, j + 1, k], nodes[i + 1, j + 1, k + 1]
    # Along z, then y, then x, with the differences that are the slope.
    ab, cd, ef, gh = a + z * (b - a), c + z * (d - c), e + z * (f - e), g + z * (h - g)
    near, far = ab + y * (cd - ab), ef + y * (gh - ef)
    along_y = (1.0 - x) * (cd - ab) + x * (gh - ef)
    low, high = (1.0 - y) * (b - a) + y * (d - c), (1.0 - y) * (f - e) + y * (h - g)
    return near + x * (far - near), far - near, along_y, (1.0 - x) * low + x * high


@kernel("f8[,,] f8[,] f8[]")
def values_at(nodes, points, out):
    """Write the values at points (n, 3), counted in nodes."""
    for n in range(points.shape[0]):
        out[n] = value_and_slope(nodes, points[n, 0], points[n, 1], points[n, 2])[0]


@kernel("f8[,,] f8 b1[,] b1[] i8 f8 f8[,]")
def move_to_level(nodes, level, free, moving, steps, longest, points):
    """Move points (n, 3), counted in nodes, to where the value is `level`: those that are `moving`.

    They go along the slope, as far as axes are `free` (n, 3) and the grid goes, so many steps, none
    longer than `longest`.
    """
    for n in range(points.shape[0]):
        if not moving[n]:
            continue
        for _ in range(steps):
            value, x, y, z = value_and_slope(nodes, points[n, 0], points[n, 1], points[n, 2])
            x, y, z = x * free[n, 0], y * free[n, 1], z * free[n, 2]
            length = np.sqrt(x * x + y * y + z * z)
            wanted = (level - value) / max(length, 1e-150)
            wanted = min(max(wanted, -longest), longest) / max(length, 1e-150)
            points[n, 0] = min(max(points[n, 0] + wanted * x, 0.0), nodes.shape[0] - 1.0)
            points[n, 1] = min(max(points[n, 1] + wanted * y, 0.0), nodes.shape[1] - 1.0)
            points[n, 2] = min(max(points[n, 2] + wanted * z, 0.0), nodes.shape[2] - 1.0)


@kernel("f8[,,] f8")
def count_crossings(nodes, level):
    """Return how many edges of a grid, whose axes go on at their beginning, cross the level."""
    count = 0
    nx, ny, nz = nodes.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                inside = nodes[i, j, k] <= level
                count += inside != (nodes[i + 1 if i + 1 < nx else 0, j, k] <= level)
                count += inside != (nodes[i, j + 1 if j + 1 < ny else 0, k] <= level)
                count += inside != (nodes[i, j, k + 1 if k + 1 < nz else 0] <= level)
    return count


@kernel("f8[,,] f8 i8[,,] f8[,] i8[,]")
def surface_net(nodes, level, number, places, quads):
    """Write the mean place of the crossings in each cell, and the four cells around each crossing.

    The axes of the grid go on at their beginning. `places` (n, 3) are counted in nodes; `quads`
    (edges, 4) are numbers of places, counter-clockwise as seen from outside. `number`, of the
    grid's shape, is −1 everywhere, and becomes each cell's. Where a value is infinite, the crossing
    is at the other node. Returns how many places there are.
    """
    shape = nodes.shape
    count, found, edge = np.zeros(places.shape[0]), 0, 0
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        for i in range(shape[0]):
            for j in range(shape[1]):
                for k in range(shape[2]):
                    ahead = i + (axis == 0), j + (axis == 1), k + (axis == 2)
                    start = nodes[i, j, k]
                    end = nodes[ahead[0] % shape[0], ahead[1] % shape[1], ahead[2] % shape[2]]
                    if (start <= level) == (end <= level):
                        continue
                    share = 0.0 if np.isfinite(start) else 1.0
                    if np.isfinite(start) and np.isfinite(end):
                        share = (level - start) / (end - start)
                    for corner in range(4):
                        first, second = (corner == 1) + (corner == 2), (corner == 2) + (corner == 3)
                        a = i - first * (one == 0) - second * (two == 0)
                        b = j - first * (one == 1) - second * (two == 1)
                        c = k - first * (one == 2) - second * (two == 2)
                        a, b, c = a % shape[0], b % shape[1], c % shape[2]
                        n = number[a, b, c]
                        if n < 0:
                            n = found
                            number[a, b, c] = n
                            places[n, 0] = places[n, 1] = places[n, 2] = 0.0
                            found += 1
                        places[n, axis] += share
                        places[n, one] += first
                        places[n, two] += second
                        count[n] += 1.0
                        quads[edge, corner if start <= level else 3 - corner] = n
                    edge += 1
    for i in range(shape[0]):
        for j in range(shape[1]):
            for k in range(shape[2]):
                n = number[i, j, k]
                if n >= 0:
                    places[n, 0] = i + places[n, 0] / count[n]
                    places[n, 1] = j + places[n, 1] / count[n]
                    places[n, 2] = k + places[n, 2] / count[n]
    return found
