"""Where a function on a grid has a level, as triangles without order, in boxes to search them by.

A cell of the grid is six tetrahedra, each along one of the `paths` from its first corner to its
last. `cells` and `blocks` of cells are rows: least and greatest coordinates of their triangles,
then from which triangle (cell) on and up to which; cells end with their number in the grid.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel

ROUNDED = 1e-15  # a share of a cell's side that is not worth another step


@kernel
def share_of(a, b, c, d):
    """Return where, from 0 to 1, the cubic a + bt + ct² + dt³ rises from at most 0 to above it."""
    if c == 0.0 and d == 0.0:
        return min(max(-a / b, 0.0), 1.0)
    low, high, below, above = 0.0, 1.0, a, a + b + c + d
    last = 0  # the end that was moved; if it is the same again, the other counts for half
    for _ in range(100):
        t = (low * above - high * below) / (above - below)
        if not low < t < high:
            t = 0.5 * (low + high)
        value = a + t * (b + t * (c + t * d))
        if value <= 0.0:
            above = 0.5 * above if last == -1 else above
            low, below, last = t, value, -1
        else:
            below = 0.5 * below if last == 1 else below
            high, above, last = t, value, 1
        if high - low < ROUNDED or value == 0.0 or not low < 0.5 * (low + high) < high:
            break
    return low


@kernel
def crossing(nodes, level, start, end, out):
    """Write where Φ is the level between an inner node and an outer one, in numbers of nodes."""
    i, j, k = start[0], start[1], start[2]
    x, y, z = end[0] - i, end[1] - j, end[2] - k
    a = nodes[i, j, k] - level
    # On the way, sums and differences of the corners that are passed are the coefficients.
    bx = nodes[i + x, j, k] - level - a
    by = nodes[i, j + y, k] - level - a
    bz = nodes[i, j, k + z] - level - a
    cx = nodes[i, j + y, k + z] - level - a - by - bz if y != 0 and z != 0 else 0.0
    cy = nodes[i + x, j, k + z] - level - a - bx - bz if x != 0 and z != 0 else 0.0
    cz = nodes[i + x, j + y, k] - level - a - bx - by if x != 0 and y != 0 else 0.0
    d = 0.0
    if x != 0 and y != 0 and z != 0:
        d = nodes[i + x, j + y, k + z] - level - a - bx - by - bz - cx - cy - cz
    t = share_of(a, bx + by + bz, cx + cy + cz, d)
    out[0], out[1], out[2] = i + t * x, j + t * y, k + t * z


@kernel
def put(place, a, b, c, low, spacing, corners, boxes, t):
    """Write the triangle of three places, and its box."""
    for q in range(3):
        x = low[q] + spacing[q] * place[a, q]
        y = low[q] + spacing[q] * place[b, q]
        z = low[q] + spacing[q] * place[c, q]
        corners[t, q], corners[t, 3 + q], corners[t, 6 + q] = x, y, z
        boxes[t, q], boxes[t, 3 + q] = min(x, y, z), max(x, y, z)


@kernel
def triangles_in(nodes, level, cell, paths, low, spacing, place, at, corners, boxes, first):
    """Write the triangles of one cell from number `first` on; return the number after the last."""
    t, inner = first, np.empty(4, np.bool_)
    for p in range(len(paths)):
        count = 0
        for v in range(4):
            corner = paths[p, v]
            at[v, 0] = cell[0] + (corner >> 2)
            at[v, 1] = cell[1] + ((corner >> 1) & 1)
            at[v, 2] = cell[2] + (corner & 1)
            inner[v] = nodes[at[v, 0], at[v, 1], at[v, 2]] <= level
            if inner[v]:
                count += 1
        if count == 0 or count == 4:
            continue
        e = 0
        for u in range(4):
            for v in range(4):
                if inner[u] and not inner[v]:
                    crossing(nodes, level, at[u], at[v], place[e])
                    e += 1
        put(place, 0, 1, e - 1, low, spacing, corners, boxes, t)
        t += 1
        if e == 4:
            put(place, 0, 3, 2, low, spacing, corners, boxes, t)
            t += 1
    return t


@kernel
def enclose(parts, first, last, out):
    """Write the box around the boxes `first` to `last` of `parts`, and these numbers."""
    for q in range(3):
        least, most = np.inf, -np.inf
        for p in range(first, last):
            least, most = min(least, parts[p, q]), max(most, parts[p, 3 + q])
        out[q], out[3 + q] = least, most
    out[6], out[7] = first, last


@kernel
def is_cut(nodes, level, i, j, k):
    """Tell whether the level goes through a cell."""
    count = 0
    for corner in range(8):
        if nodes[i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1)] <= level:
            count += 1
    return 0 < count < 8


@kernel
def level_surface(
    nodes, level, wanted, low, spacing, paths, side, corners, boxes, cells, blocks, counts
):
    """Write the triangles of the wanted cells, block by block of `side` cells, and their counts.

    Counted are triangles, cells that have some, and blocks that have some.
    """
    nx, ny, nz = wanted.shape
    place, at, cell_at = np.empty((4, 3)), np.empty((4, 3), np.int64), np.empty(3, np.int64)
    triangles = cell = block = 0
    for x in range(0, nx, side):
        for y in range(0, ny, side):
            for z in range(0, nz, side):
                first_cell = cell
                for i in range(x, min(x + side, nx)):
                    for j in range(y, min(y + side, ny)):
                        for k in range(z, min(z + side, nz)):
                            if not wanted[i, j, k] or not is_cut(nodes, level, i, j, k):
                                continue
                            first = triangles
                            cell_at[0], cell_at[1], cell_at[2] = i, j, k
                            triangles = triangles_in(
                                nodes, level, cell_at, paths, low, spacing, place, at,
                                corners, boxes, first,
                            )  # fmt: skip
                            enclose(boxes, first, triangles, cells[cell])
                            cells[cell, 8] = (i * ny + j) * nz + k
                            cell += 1
                if cell > first_cell:
                    enclose(cells, first_cell, cell, blocks[block])
                    block += 1
    counts[0], counts[1], counts[2] = triangles, cell, block
