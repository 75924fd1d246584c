"""Steepest slope, volume and surface net of a distance field."""

from __future__ import annotations

import numpy as np

from .jit import kernel


@kernel("f8[,,] f8[] f8 f8[]")
def steepest(nodes, spacing, threshold, out):
    """Raise `out` (2,) to the greatest squared slopes: of cells with members, and of the others.

    Cells that the boundary cuts count for both. The squared slope of a trilinear function is convex
    along each axis, so it is greatest at a corner of the cell.
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


@kernel("f8[,,] f8 i8")
def volume(nodes, level, side):
    """Return the volume where the value is at most `level`, in cells.

    It is integrated along `side` × `side` lines in each cell, on which the value is linear.
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


@kernel
def value_and_slope(nodes, x, y, z):
    """Return the value at a point in units of cells, and its slope along each axis."""
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
    """Write the values at points (n, 3) in units of cells."""
    for n in range(points.shape[0]):
        out[n] = value_and_slope(nodes, points[n, 0], points[n, 1], points[n, 2])[0]


@kernel("f8[,,] f8 b1[,] b1[] i8 f8 f8[,]")
def move_to_level(nodes, level, free, moving, steps, longest, points):
    """Move the `moving` points (n, 3), in units of cells, to where the value is `level`.

    They take Newton steps along the slope of the `free` (n, 3) axes, of at most `longest` cells,
    and stay in the grid.
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
    """Return how many edges of a grid, all of whose axes wrap, cross the level."""
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
    """Write the mean crossing of each cell, and the four cells around each crossing edge.

    All axes of the grid wrap. `places` (n, 3) are in units of cells; `quads` (edges, 4) are numbers
    of places, counter-clockwise from outside. `number`, of the grid's shape, is −1 at first, then
    the number of each cell's place. Where a value is infinite, the crossing is at the other node.
    Returns the number of places.
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
