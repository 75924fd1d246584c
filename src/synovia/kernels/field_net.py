"""The surface at which a field has a value: one point in each cell that it goes through."""

from __future__ import annotations

import numpy as np

from .jit import kernel


@kernel
def height(nodes, x, y, z):
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


@kernel
def heights(nodes, points, out):
    """Write the values at points (n, 3), counted in nodes."""
    for n in range(points.shape[0]):
        out[n] = height(nodes, points[n, 0], points[n, 1], points[n, 2])[0]


@kernel
def settle(nodes, level, free, moving, steps, longest, points):
    """Move points (n, 3), counted in nodes, to where the value is `level`: those that are `moving`.

    They go along the slope, as far as axes are `free` (n, 3) and the grid goes, so many steps, none
    longer than `longest`.
    """
    for n in range(points.shape[0]):
        if not moving[n]:
            continue
        for _ in range(steps):
            value, x, y, z = height(nodes, points[n, 0], points[n, 1], points[n, 2])
            x, y, z = x * free[n, 0], y * free[n, 1], z * free[n, 2]
            length = np.sqrt(x * x + y * y + z * z)
            wanted = (level - value) / max(length, 1e-150)
            wanted = min(max(wanted, -longest), longest) / max(length, 1e-150)
            points[n, 0] = min(max(points[n, 0] + wanted * x, 0.0), nodes.shape[0] - 1.0)
            points[n, 1] = min(max(points[n, 1] + wanted * y, 0.0), nodes.shape[1] - 1.0)
            points[n, 2] = min(max(points[n, 2] + wanted * z, 0.0), nodes.shape[2] - 1.0)


@kernel
def crossed(nodes, level):
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


@kernel
def net(nodes, level, number, places, quads):
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
                        first, second = int(corner in (1, 2)), int(corner in (2, 3))
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
