"""Which walls of a table can be nearest to any point of each node of a grid, and how near."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel

SLACK = 1e-9  # for rounding
ALIKE = 1e-12  # cosines that differ by less are the same


@kernel
def corner_of(walls, w, x, y, z, sine, corner):
    """Write the corner of wall `w` that is its foot for all of a node; tell if there is one.

    The node lies about (x, y, z), within an angle of this sine. Whether the foot is a corner is a
    matter of the signs of a few linear functions: where one exceeds the sine at the centre, its
    sign is the same all over the node.
    """
    ax, ay, bx, by = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
    c0, s0, c1, s1 = walls[w, 4], walls[w, 5], walls[w, 6], walls[w, 7]
    if ax == bx and ay == by:
        along = x * ax + y * ay
        ahead = along > sine
        first = ahead and along * s0 - z * c0 > sine
        last = ahead and z * c1 - along * s1 > sine
    else:
        nearer = x * (ax - bx) + y * (ay - by)
        first = ay * x - ax * y > sine and nearer > 2.0 * sine
        last = y * bx - x * by > sine and -nearer > 2.0 * sine
    corner[0] = ax * c0 if first else bx * c1
    corner[1] = ay * c0 if first else by * c1
    corner[2] = s0 if first else s1
    return first or last


@kernel
def cosine_to(walls, w, x, y, z, radius):
    """Return the cosine of the angle from (x, y, z) to wall `w`; `radius` is √(x² + y²)."""
    ax, ay, bx, by = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
    c0, s0, c1, s1 = walls[w, 4], walls[w, 5], walls[w, 6], walls[w, 7]
    along = max(x * ax + y * ay, x * bx + y * by)
    if ax * y > ay * x and x * by > y * bx:
        along = radius
    if z * c0 > along * s0 and along * s1 > z * c1:
        return math.sqrt(along * along + z * z)
    return max(along * c0 + z * s0, along * c1 + z * s1)


@kernel
def band(i, size, width, rows):
    """Return height, distance from the pole's axis and radius of the nodes of row `i`.

    They are `size` places high, of `rows`, and `width` radians wide.
    """
    south = i * size * math.pi / rows - 0.5 * math.pi
    north = min((i + 1) * size, rows) * math.pi / rows - 0.5 * math.pi
    z, radius = math.sin(0.5 * (south + north)), math.cos(0.5 * (south + north))
    half = math.cos(0.5 * width)
    reach = max(
        math.acos(min(z * math.sin(south) + radius * math.cos(south) * half, 1.0)),
        math.acos(min(z * math.sin(north) + radius * math.cos(north) * half, 1.0)),
    )
    return z, radius, reach


@kernel
def meridians(size, columns, across, out):
    """Write cosine and sine of the longitudes amid the nodes of a row; return the last's width."""
    width = 0.0
    for j in range(across):
        west = j * size * 2.0 * math.pi / columns
        east = min((j + 1) * size, columns) * 2.0 * math.pi / columns
        out[j, 0] = math.cos(0.5 * (west + east) - math.pi)
        out[j, 1] = math.sin(0.5 * (west + east) - math.pi)
        width = east - west
    return width


@kernel("f8[,] i8 i8 i8 i8[] i8[] i8[] i8[]")
def prune(walls, rows, columns, size, coarse_start, coarse_number, start, number):
    """Write the lists of the nodes of `size` × `size` places, from those of nodes twice as large.

    `rows` and `columns` are those of places. From a node with centre c and radius r, a wall is at
    least d(c, wall) − r away, and some wall at most the least d(c, wall) + r: what is farther is
    dropped. So are walls of which only a corner counts that a wall before them has, too.
    """
    down, across = -(-rows // size), -(-columns // size)
    wide = -(-columns // (2 * size))
    cosines = np.empty(max(len(walls), 1))
    corners = np.empty((max(len(walls), 1), 3))
    corner = np.empty(3)
    middle = np.empty((across, 2))
    last_width = meridians(size, columns, across, middle)
    count = 0
    for i in range(down):
        for j in range(across):
            if j == 0 or j == across - 1:  # the last node may be narrower
                width = last_width if j == across - 1 else size * 2.0 * math.pi / columns
                z, radius, reach = band(i, size, width, rows)
                sine = math.sin(reach) + SLACK
                twice, twice_sine = math.cos(2.0 * reach), math.sin(2.0 * reach)
            start[i * across + j] = count
            x, y = radius * middle[j, 0], radius * middle[j, 1]
            coarse = i // 2 * wide + j // 2
            first, last = coarse_start[coarse], coarse_start[coarse + 1]
            most = -1.0
            for k in range(first, last):
                cosine = cosine_to(walls, coarse_number[k], x, y, z, radius)
                cosines[k - first] = cosine
                most = max(most, cosine)
            # The cosine of two radii more than the angle to the nearest wall, if below half a turn.
            bound = most * twice - math.sqrt(max(1.0 - most * most, 0.0)) * twice_sine - SLACK
            bound = bound if most > -twice else -2.0
            named = 0
            for k in range(first, last):
                if cosines[k - first] < bound:
                    continue
                w = coarse_number[k]
                if corner_of(walls, w, x, y, z, sine, corner):
                    known = False
                    for m in range(named):
                        away = abs(corners[m, 0] - corner[0]) + abs(corners[m, 1] - corner[1])
                        known = known or away + abs(corners[m, 2] - corner[2]) < SLACK
                    if known:
                        continue
                    corners[named, 0] = corner[0]
                    corners[named, 1] = corner[1]
                    corners[named, 2] = corner[2]
                    named += 1
                number[count] = w
                count += 1
    start[down * across] = count
    return count


@kernel("i8 i8 i8[] i8[] i8[] i8[]")
def unite(rows, columns, half_start, half_number, start, number):
    """Write the lists of places, each of what its four quarters have; return how long they are.

    `rows` and `columns` are those of places. Lists rise, before and after.
    """
    count = 0
    at, end = np.empty(4, np.int64), np.empty(4, np.int64)
    for k in range(rows * columns):
        start[k] = count
        corner = k // columns * 4 * columns + k % columns * 2
        for quarter in range(4):
            node = corner + quarter // 2 * 2 * columns + quarter % 2
            at[quarter], end[quarter] = half_start[node], half_start[node + 1]
        while True:
            least = 1 << 62
            for quarter in range(4):
                if at[quarter] < end[quarter]:
                    least = min(least, half_number[at[quarter]])
            if least == 1 << 62:
                break
            for quarter in range(4):
                if at[quarter] < end[quarter] and half_number[at[quarter]] == least:
                    at[quarter] += 1
            number[count] = least
            count += 1
    start[rows * columns] = count
    return count


@kernel("f8[,] i8 i8 i8[] i8[] f8[]")
def clearances(walls, rows, columns, start, number, clearance):
    """Write how far all of each place is from the walls, at least; π without any wall.

    `shape` are rows and columns of places; place k has the walls number[start[k]:start[k + 1]].
    """
    middle = np.empty((columns, 2))
    width = meridians(1, columns, columns, middle)
    for i in range(rows):
        z, radius, reach = band(i, 1, width, rows)
        for j in range(columns):
            k = i * columns + j
            x, y, most = radius * middle[j, 0], radius * middle[j, 1], -1.0
            for m in range(start[k], start[k + 1]):
                most = max(most, cosine_to(walls, number[m], x, y, z, radius))
            near = math.acos(min(most, 1.0)) - reach - SLACK
            clearance[k] = near if start[k + 1] > start[k] else math.pi


@kernel("f8[,] i8[] i8[] i8[]")
def nearest_centres(centres, cells, others, out):
    """Write for each of some cells which of the others has the nearest centre, by numbers.

    Of centres equally near, but for rounding, the first is taken.
    """
    count = others.shape[0]
    x, y, z = np.empty(count), np.empty(count), np.empty(count)
    for k in range(count):
        x[k], y[k], z[k] = centres[others[k], 0], centres[others[k], 1], centres[others[k], 2]
    for i in range(cells.shape[0]):
        a, b, c = centres[cells[i], 0], centres[cells[i], 1], centres[cells[i], 2]
        best = -2.0
        for k in range(count):
            best = max(best, a * x[k] + b * y[k] + c * z[k])
        k = 0
        while a * x[k] + b * y[k] + c * z[k] < best - ALIKE:
            k += 1
        out[i] = others[k]
