"""Level sets on a grid as triangles, and exact distances of the nodes to them."""

from __future__ import annotations

import numpy as np

from .jit import kernel

# Where a function on a grid has a level, as triangles without order, in boxes to search them by.
#
# A cell of the grid is six tetrahedra, each along one of the `paths` from its first corner to its
# last. `triangles`, `cells` and `blocks` of cells are rows: least and greatest coordinates of what
# is in them first. Triangles go on with their corners; cells and blocks with the triangle (cell)
# that they begin with, and the one after their last; cells end with their number in the grid.
# `grid` has the coordinates of the first node, and the spacings.

CORNERS = 6  # of a triangle
FIRST, LAST, NUMBER = 6, 7, 8  # of cells and blocks
LOW, SPACING, ROW = 0, 3, 6  # of the grid; with the number of the row that it begins with
BLOCK_SIDE = 4  # cells, and nodes, along the sides of a block
ROUNDED = 1e-15  # a share of a cell's side that is not worth another step


@kernel
def cubic_root(a, b, c, d):
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
    t = cubic_root(a, bx + by + bz, cx + cy + cz, d)
    out[0], out[1], out[2] = i + t * x, j + t * y, k + t * z


@kernel
def write_triangle(place, a, b, c, grid, row):
    """Write the triangle of three places as a row."""
    for q in range(3):
        x = grid[LOW + q] + grid[SPACING + q] * place[a, q]
        y = grid[LOW + q] + grid[SPACING + q] * place[b, q]
        z = grid[LOW + q] + grid[SPACING + q] * place[c, q]
        row[CORNERS + q], row[CORNERS + 3 + q], row[CORNERS + 6 + q] = x, y, z
        row[q], row[3 + q] = min(x, y, z), max(x, y, z)


@kernel
def triangles_in(nodes, level, cell, paths, grid, triangles, first):
    """Write the triangles of one cell from number `first` on; return the number after the last."""
    place, at = np.empty((4, 3)), np.empty((4, 3), np.int64)
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
        write_triangle(place, 0, 1, e - 1, grid, triangles[t])
        t += 1
        if e == 4:
            write_triangle(place, 0, 3, 2, grid, triangles[t])
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
    out[FIRST], out[LAST] = first, last


@kernel
def is_cut(nodes, level, i, j, k):
    """Tell whether the level goes through a cell."""
    count = 0
    for corner in range(8):
        if nodes[i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1)] <= level:
            count += 1
    return 0 < count < 8


@kernel("f8[,,] f8 b1[,,] f8[] i8[,] f8[,] f8[,] f8[,]")
def level_surface(nodes, level, wanted, grid, paths, triangles, cells, blocks):
    """Write the triangles of the wanted cells, block by block of BLOCK_SIDE cells.

    Returns how many triangles there are, cells that have some, and blocks that have some.
    """
    nx, ny, nz = wanted.shape
    side, cell_at = BLOCK_SIDE, np.empty(3, np.int64)
    count = cell = block = 0
    for x in range(0, nx, side):
        for y in range(0, ny, side):
            for z in range(0, nz, side):
                first_cell = cell
                for i in range(x, min(x + side, nx)):
                    for j in range(y, min(y + side, ny)):
                        for k in range(z, min(z + side, nz)):
                            if not wanted[i, j, k] or not is_cut(nodes, level, i, j, k):
                                continue
                            first = count
                            cell_at[0], cell_at[1], cell_at[2] = i, j, k
                            count = triangles_in(
                                nodes, level, cell_at, paths, grid, triangles, first
                            )
                            enclose(triangles, first, count, cells[cell])
                            cells[cell, NUMBER] = (i * ny + j) * nz + k
                            cell += 1
                if cell > first_cell:
                    enclose(cells, first_cell, cell, blocks[block])
                    block += 1
    return count, cell, block


# Distances from the nodes of a grid to the triangles of `level_surface`, exact.


FLAT = 1e-60  # a squared normal, of a triangle that is a line


@kernel
def to_segment(x, y, z, row, a, b):
    """Return the squared distance of a point from the segment between two corners of a triangle."""
    a, b = CORNERS + 3 * a, CORNERS + 3 * b
    ax, ay, az = row[a], row[a + 1], row[a + 2]
    u, v, w = row[b] - ax, row[b + 1] - ay, row[b + 2] - az
    square = u * u + v * v + w * w
    t = 0.0
    if square > 0.0:
        t = min(max((u * (x - ax) + v * (y - ay) + w * (z - az)) / square, 0.0), 1.0)
    u, v, w = x - ax - t * u, y - ay - t * v, z - az - t * w
    return u * u + v * v + w * w


@kernel
def to_triangle(x, y, z, row, best):
    """Return the squared distance of a point from a triangle; anything from `best` on if farther.

    Beside the triangle, the nearest point is on an edge that the point lies beyond.
    """
    ax, ay, az = row[CORNERS], row[CORNERS + 1], row[CORNERS + 2]
    bx, by, bz = row[CORNERS + 3], row[CORNERS + 4], row[CORNERS + 5]
    cx, cy, cz = row[CORNERS + 6], row[CORNERS + 7], row[CORNERS + 8]
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
        least = to_segment(x, y, z, row, 0, 1)
    if bc < 0.0:
        least = min(least, to_segment(x, y, z, row, 1, 2))
    if ca < 0.0:
        least = min(least, to_segment(x, y, z, row, 2, 0))
    return least


@kernel
def to_box(x, y, z, u, v, w, boxes, b):
    """Return the squared distance of the box from (x, y, z) to (u, v, w) from box b."""
    p = max(max(boxes[b, 0] - u, x - boxes[b, 3]), 0.0)
    q = max(max(boxes[b, 1] - v, y - boxes[b, 4]), 0.0)
    r = max(max(boxes[b, 2] - w, z - boxes[b, 5]), 0.0)
    return p * p + q * q + r * r


@kernel
def search(point, shifts, near, triangles, cells, blocks, best, found):
    """Return the least squared distance below `best`, if there is one; `found` gets where.

    `near` (n, 2) has the blocks to search, each with the number of the shift it is seen by.
    `found` has triangle, shift and cell.
    """
    for m in range(near.shape[0]):
        b, s = near[m, 0], near[m, 1]
        u, v, w = point[0] + shifts[s, 0], point[1] + shifts[s, 1], point[2] + shifts[s, 2]
        if to_box(u, v, w, u, v, w, blocks, b) >= best:
            continue
        for c in range(int(blocks[b, FIRST]), int(blocks[b, LAST])):
            if to_box(u, v, w, u, v, w, cells, c) >= best:
                continue
            for t in range(int(cells[c, FIRST]), int(cells[c, LAST])):
                if to_box(u, v, w, u, v, w, triangles, t) >= best:
                    continue
                square = to_triangle(u, v, w, triangles[t], best)
                if square < best:
                    best = square
                    found[0], found[1], found[2] = t, s, c
    return best


@kernel
def distance_to_found(point, shifts, triangles, found):
    """Return the squared distance of a point from the triangle that was found before."""
    s = found[1]
    u, v, w = point[0] + shifts[s, 0], point[1] + shifts[s, 1], point[2] + shifts[s, 2]
    return to_triangle(u, v, w, triangles[found[0]], np.inf)


@kernel
def any_in(wanted, i, last_x, j, last_y, k, last_z):
    """Tell whether any node of a block is wanted."""
    for a in range(i, last_x):
        for b in range(j, last_y):
            for c in range(k, last_z):
                if wanted[a, b, c]:
                    return True
    return False


@kernel("b1[,,] f8[] f8[,] f8[,] f8[,] f8[,] f8[,,] i8[,,]")
def nearest(wanted, grid, shifts, triangles, cells, blocks, squares, owners):
    """Lower the squared distances of wanted nodes to those of triangles.

    `owners` gets the number, in the grid, of the cell whose triangle is nearest, where it is nearer
    than what `squares` had. `wanted` may be nodes that some rows of the grid have: these are what
    `grid` begins with. Nodes are taken in blocks of BLOCK_SIDE; what is near to all of a block is
    found once. The triangle that was nearest to the node before is tried first.
    """
    (nx, ny, nz), side = wanted.shape, BLOCK_SIDE
    low, spacing, begin = grid[LOW:SPACING], grid[SPACING:ROW], int(grid[ROW])
    every = np.empty((len(blocks) * len(shifts), 2), np.int64)
    for b in range(len(blocks)):
        for s in range(len(shifts)):
            every[b * len(shifts) + s, 0], every[b * len(shifts) + s, 1] = b, s
    near, found = np.empty((len(blocks) * len(shifts), 2), np.int64), np.zeros(3, np.int64)
    point, across = np.empty(3), np.empty(3)
    for q in range(3):
        across[q] = (side - 1) * spacing[q]
    reach = np.sqrt(across[0] ** 2 + across[1] ** 2 + across[2] ** 2)
    for i in range(0, nx, side):
        for j in range(0, ny, side):
            for k in range(0, nz, side):
                last_x, last_y, last_z = min(i + side, nx), min(j + side, ny), min(k + side, nz)
                if not any_in(wanted, i, last_x, j, last_y, k, last_z):
                    continue
                point[0] = low[0] + spacing[0] * (begin + i)
                point[1], point[2] = low[1] + spacing[1] * j, low[2] + spacing[2] * k
                best = distance_to_found(point, shifts, triangles, found)
                best = search(point, shifts, every, triangles, cells, blocks, best, found)
                far = (1.0 + 1e-12) * (np.sqrt(best) + reach) ** 2
                count = 0
                for m in range(len(every)):
                    b, s = every[m, 0], every[m, 1]
                    u, v = point[0] + shifts[s, 0], point[1] + shifts[s, 1]
                    w = point[2] + shifts[s, 2]
                    x, y, z = u + across[0], v + across[1], w + across[2]
                    if to_box(u, v, w, x, y, z, blocks, b) <= far:
                        near[count, 0], near[count, 1] = b, s
                        count += 1
                for a in range(i, last_x):
                    for b in range(j, last_y):
                        for c in range(k, last_z):
                            if not wanted[a, b, c]:
                                continue
                            point[0] = low[0] + spacing[0] * (begin + a)
                            point[1] = low[1] + spacing[1] * b
                            point[2] = low[2] + spacing[2] * c
                            best = distance_to_found(point, shifts, triangles, found)
                            best = min(best, squares[a, b, c])
                            best = search(
                                point, shifts, near[:count], triangles, cells, blocks, best, found
                            )
                            if best < squares[a, b, c]:
                                squares[a, b, c] = best
                                owners[a, b, c] = int(cells[found[2], NUMBER])
