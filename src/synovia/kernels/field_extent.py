"""How steep a field is, how far its members reach, and how large they are together."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel


@kernel
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


@kernel
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
                cell = nodes[i : i + 2, j : j + 2, k : k + 2]
                for part in range(8):
                    a, b, c = part >> 2, (part >> 1) & 1, part & 1
                    square = sides[0, 2 * i + a] + sides[1, 2 * j + b] + sides[2, 2 * k + c]
                    if square > best and least_of_part(cell, a, b, c) <= threshold:
                        best = square
    return best


@kernel
def least_of_part(cell, a, b, c):
    """Return the least value at the corners of an eighth (a, b, c) of a cell (2, 2, 2)."""
    least = math.inf
    for u in range(a, a + 2):
        for v in range(b, b + 2):
            for w in range(c, c + 2):
                # From 0 to 2, with 1 the middle: both nodes count half there.
                value = 0.0
                for x in range(2):
                    for y in range(2):
                        for z in range(2):
                            share = abs(2 - 2 * x - u) * abs(2 - 2 * y - v) * abs(2 - 2 * z - w)
                            value += 0.125 * share * cell[x, y, z]
                least = min(least, value)
    return least


@kernel
def cut(nodes, level):
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


@kernel
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
