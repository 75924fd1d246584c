"""Distances from the nodes of a grid to the triangles of `level_surface`, exact."""

from __future__ import annotations

import numpy as np

from .jit import kernel

FLAT = 1e-60  # a squared normal, of a triangle that is a line


@kernel
def to_segment(x, y, z, a, b, c, d, e, f):
    """Return the squared distance of a point from the segment (a, b, c) to (d, e, f)."""
    u, v, w = d - a, e - b, f - c
    square = u * u + v * v + w * w
    t = 0.0
    if square > 0.0:
        t = min(max((u * (x - a) + v * (y - b) + w * (z - c)) / square, 0.0), 1.0)
    u, v, w = x - a - t * u, y - b - t * v, z - c - t * w
    return u * u + v * v + w * w


@kernel
def to_triangle(x, y, z, corners, t, best):
    """Return the squared distance of a point from triangle t; anything from `best` on if farther.

    Beside the triangle, the nearest point is on an edge that the point lies beyond.
    """
    ax, ay, az = corners[t, 0], corners[t, 1], corners[t, 2]
    bx, by, bz = corners[t, 3], corners[t, 4], corners[t, 5]
    cx, cy, cz = corners[t, 6], corners[t, 7], corners[t, 8]
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    wx, wy, wz = x - ax, y - ay, z - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    square = nx * nx + ny * ny + nz * nz
    least = np.inf
    if square > FLAT:
        height = wx * nx + wy * ny + wz * nz
        above = height * height / square
        if above >= best:
            return above
        ab = (uy * wz - uz * wy) * nx + (uz * wx - ux * wz) * ny + (ux * wy - uy * wx) * nz
        ca = (wy * vz - wz * vy) * nx + (wz * vx - wx * vz) * ny + (wx * vy - wy * vx) * nz
        bc = square - ab - ca
        if ab >= 0.0 and bc >= 0.0 and ca >= 0.0:
            return above
    else:
        ab = bc = ca = -1.0
    if ab < 0.0:
        least = to_segment(x, y, z, ax, ay, az, bx, by, bz)
    if bc < 0.0:
        least = min(least, to_segment(x, y, z, bx, by, bz, cx, cy, cz))
    if ca < 0.0:
        least = min(least, to_segment(x, y, z, cx, cy, cz, ax, ay, az))
    return least


@kernel
def to_box(x, y, z, u, v, w, boxes, b):
    """Return the squared distance of the box from (x, y, z) to (u, v, w) from box b."""
    p = max(max(boxes[b, 0] - u, x - boxes[b, 3]), 0.0)
    q = max(max(boxes[b, 1] - v, y - boxes[b, 4]), 0.0)
    r = max(max(boxes[b, 2] - w, z - boxes[b, 5]), 0.0)
    return p * p + q * q + r * r


@kernel
def search(x, y, z, shifts, near, count, corners, boxes, cells, blocks, best, found):
    """Return the least squared distance below `best`, if there is one; `found` gets where.

    `near` (n, 2) has the blocks to search, each with the number of the shift it is seen by.
    `found` has triangle, shift and cell.
    """
    for m in range(count):
        b, s = near[m, 0], near[m, 1]
        u, v, w = x + shifts[s, 0], y + shifts[s, 1], z + shifts[s, 2]
        if to_box(u, v, w, u, v, w, blocks, b) >= best:
            continue
        for c in range(int(blocks[b, 6]), int(blocks[b, 7])):
            if to_box(u, v, w, u, v, w, cells, c) >= best:
                continue
            for t in range(int(cells[c, 6]), int(cells[c, 7])):
                if to_box(u, v, w, u, v, w, boxes, t) >= best:
                    continue
                square = to_triangle(u, v, w, corners, t, best)
                if square < best:
                    best = square
                    found[0], found[1], found[2] = t, s, c
    return best


@kernel
def again(x, y, z, shifts, corners, found):
    """Return the squared distance of a point from the triangle that was found before."""
    s = found[1]
    u, v, w = x + shifts[s, 0], y + shifts[s, 1], z + shifts[s, 2]
    return to_triangle(u, v, w, corners, found[0], np.inf)


@kernel
def nearest(
    wanted, first, last, low, spacing, shifts, side, corners, boxes, cells, blocks, squares, owners
):
    """Lower the squared distances of wanted nodes, rows `first` to `last`, to those of triangles.

    `owners` gets the number, in the grid, of the cell whose triangle is nearest, where it is
    nearer than what `squares` had. Nodes are taken in blocks of `side`; what is near to all of a
    block is found once. The triangle that was nearest to the node before is tried first.
    """
    _, ny, nz = wanted.shape
    every = np.empty((len(blocks) * len(shifts), 2), np.int64)
    for b in range(len(blocks)):
        for s in range(len(shifts)):
            every[b * len(shifts) + s, 0], every[b * len(shifts) + s, 1] = b, s
    near, found = np.empty_like(every), np.zeros(3, np.int64)
    across = (side - 1) * spacing
    reach = np.sqrt((across * across).sum())
    for i in range(first, last, side):
        for j in range(0, ny, side):
            for k in range(0, nz, side):
                rows = wanted[i : min(i + side, last), j : j + side, k : k + side]
                if not rows.any():
                    continue
                x, y, z = low[0] + spacing[0] * i, low[1] + spacing[1] * j, low[2] + spacing[2] * k
                best = again(x, y, z, shifts, corners, found)
                best = search(
                    x, y, z, shifts, every, len(every), corners, boxes, cells, blocks, best, found
                )
                far = (1.0 + 1e-12) * (np.sqrt(best) + reach) ** 2
                count = 0
                for m in range(len(every)):
                    b, s = every[m, 0], every[m, 1]
                    u, v, w = x + shifts[s, 0], y + shifts[s, 1], z + shifts[s, 2]
                    end = (u + across[0], v + across[1], w + across[2])
                    if to_box(u, v, w, end[0], end[1], end[2], blocks, b) <= far:
                        near[count, 0], near[count, 1] = b, s
                        count += 1
                for a in range(i, i + rows.shape[0]):
                    for b in range(j, j + rows.shape[1]):
                        for c in range(k, k + rows.shape[2]):
                            if not wanted[a, b, c]:
                                continue
                            x = low[0] + spacing[0] * a
                            y = low[1] + spacing[1] * b
                            z = low[2] + spacing[2] * c
                            best = min(again(x, y, z, shifts, corners, found), squares[a, b, c])
                            best = search(
                                x, y, z, shifts, near, count, corners, boxes, cells, blocks, best,
                                found,
                            )  # fmt: skip
                            if best < squares[a, b, c]:
                                squares[a, b, c] = best
                                owners[a, b, c] = int(cells[found[2], 8])
