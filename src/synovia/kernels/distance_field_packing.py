"""Tables of distance fields: nearest sites of every node, exact; what a flood reaches."""

from __future__ import annotations

import numpy as np

from .jit import kernel


@kernel
def lower_envelope(at, height, label, count, places, out, hull, start):
    """Write which of the parabolas (x − at)² + height is lowest at each of the places.

    `at` and `places` rise. The lower envelope is built from left to right, each parabola ending
    those that it undercuts: `hull` and `start` hold it. Writes labels.
    """
    last, x, low = -1, 0.0, 0.0
    for j in range(count):
        begins, here, up = -np.inf, at[j], height[j]
        while last >= 0:
            rise = (up - low) + (here - x) * (here + x)
            begins = rise / (2.0 * (here - x))
            if begins > start[last]:
                break
            last -= 1
            begins = -np.inf
            i = hull[max(last, 0)]
            x, low = at[i], height[i]
        last += 1
        hull[last] = j
        start[last] = begins
        x, low = here, up
    k = 0
    for i in range(places.shape[0]):
        while k < last and start[k + 1] <= places[i]:
            k += 1
        out[i] = label[hull[k]]


@kernel("f8[,,] f8 i8 f8 f8 f8[] i8[,,] f8[,,]")
def sites_in_lines(nodes, threshold, parts, spacing, period, places, out, out_height):
    """Search for the nearest sites along the first axis: the first pass of three.

    Sites are the points with Φ <= threshold on a lattice of cells divided into `parts`; `nodes` has
    the first node repeated at the end of axes that wrap. `out` (places, j, k) receives, for each
    line of the lattice along the first axis, the number of the site nearest to each of `places`
    (radians, ascending), or -1; `out_height` the squared distance.
    """
    nx, row = nodes.shape[0], np.empty(nodes.shape[0])
    fine, step = parts * (nx - 1), spacing / parts
    sites = np.empty(fine + 3)
    for b in range(out.shape[1]):
        j, v = b // parts, (b % parts) / parts
        jj = min(j + 1, nodes.shape[1] - 1)
        for c in range(out.shape[2]):
            k, w = c // parts, (c % parts) / parts
            kk = min(k + 1, nodes.shape[2] - 1)
            least = np.inf
            for i in range(nx):
                low = nodes[i, j, k] + w * (nodes[i, j, kk] - nodes[i, j, k])
                high = nodes[i, jj, k] + w * (nodes[i, jj, kk] - nodes[i, jj, k])
                row[i] = low + v * (high - low) - threshold
                least = min(least, row[i])
            if least > 0.0:
                for place in range(places.shape[0]):
                    out[place, b, c] = -1
                continue
            count = 1  # the first entry is for the last site, a period earlier
            for i in range(nx - 1):
                value, rise = row[i], (row[i + 1] - row[i]) / parts
                for part in range(parts):
                    sites[count] = parts * i + part
                    count += 1 if value + part * rise <= 0.0 else 0
            sites[count] = fine
            count += 1 if row[nx - 1] <= 0.0 else 0
            sites[0] = sites[count - 1] - fine if period > 0.0 else sites[1]
            sites[count] = sites[1] + fine if period > 0.0 else sites[count - 1]
            s = 0
            for place in range(places.shape[0]):
                x = places[place] / step
                while s < count and abs(sites[s + 1] - x) <= abs(sites[s] - x):
                    s += 1
                out_height[place, b, c] = (step * (sites[s] - x)) ** 2
                number = int(sites[s])
                out[place, b, c] = (number + fine) % fine if period > 0.0 else number


@kernel("i8[,,] f8[,,] f8 f8 f8[] i8[,,] f8[,,]")
def nearest_in_lines(best, height, spacing, period, places, out, out_height):
    """Take one axis of a separable search for the nearest sites: the middle one of three.

    `best` (a, m, c) holds, for each place along this axis, a label below 2**20 of the best so
    far, or -1; `height` its squared distance by the axes before. `out` (a, places, c or more)
    receives the labels with this axis' number appended, in 10 bits, from column `first` on.
    """
    m = best.shape[1]
    images = 3 if period > 0.0 else 1
    at, heights = np.empty(images * m), np.empty(images * m)
    label, hull = np.empty(images * m, np.int64), np.empty(images * m, np.int64)
    start, found = np.empty(images * m), np.empty(places.shape[0], np.int64)
    for a in range(best.shape[0]):
        for c in range(best.shape[2]):
            count = 0
            for image in range(images):
                shift = period * (image - 1) if images == 3 else 0.0
                for j in range(m):
                    if best[a, j, c] >= 0:
                        at[count] = spacing * j + shift
                        heights[count] = height[a, j, c]
                        label[count] = (j << 2) | image
                        count += 1
            if count == 0:
                for i in range(places.shape[0]):
                    out[a, i, c] = -1
                continue
            lower_envelope(at, heights, label, count, places, found, hull, start)
            for i in range(places.shape[0]):
                j, image = found[i] >> 2, found[i] & 3
                shift = period * (image - 1) if images == 3 else 0.0
                move = spacing * j + shift - places[i]
                out[a, i, c] = (best[a, j, c] << 10) | j
                out_height[a, i, c] = height[a, j, c] + move * move


@kernel("i8[,,] i8[] i8[,,] i8[]")
def flood(wall, wraps, reached, queue):
    """Spread from the nodes that are `reached` to their six neighbours, but not into walls.

    Both are (i, j, k) of 0 and 1; `queue` has room for every node.
    """
    nx, ny, nz = wall.shape
    tail = 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if reached[i, j, k] == 1:
                    queue[tail] = (i * ny + j) * nz + k
                    tail += 1
    head = 0
    while head < tail:
        node = queue[head]
        head += 1
        i, j, k = node // (ny * nz), (node // nz) % ny, node % nz
        for way in range(6):
            step = 1 - 2 * (way & 1)
            a = i + (step if way < 2 else 0)
            b = j + (step if 2 <= way < 4 else 0)
            c = k + (step if way >= 4 else 0)
            if wraps[0] == 1:
                a = (a + nx) % nx
            if wraps[1] == 1:
                b = (b + ny) % ny
            if wraps[2] == 1:
                c = (c + nz) % nz
            if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
                continue
            if reached[a, b, c] == 0 and wall[a, b, c] == 0:
                reached[a, b, c] = 1
                queue[tail] = (a * ny + b) * nz + c
                tail += 1


# How far the nodes of a grid are from samples.
#
# A sample cannot be the nearest to any node of a cube, all within R of its middle, if it is more
# than 2 R farther from the middle than another. So few are left for small cubes; and what is left
# for a cube serves the smaller ones in it.

LOW, SPACING, PERIOD = 0, 3, 6  # of the grid: three numbers each
LARGE, MEDIUM, SMALL = 8, 4, 2  # nodes along the sides of the cubes
LANES = 8


@kernel
def squares_from(grid, samples, count, at, squares):
    """Write the squared distances of `count` samples (3, ...) from a point; return the least.

    After them `squares` has room for `LANES` more.
    """
    x, y, z = at[0], at[1], at[2]
    px, py, pz = grid[PERIOD], grid[PERIOD + 1], grid[PERIOD + 2]
    if px + py + pz > 0.0:
        tx = 1.0 / px if px > 0.0 else 0.0
        ty = 1.0 / py if py > 0.0 else 0.0
        tz = 1.0 / pz if pz > 0.0 else 0.0
        for s in range(count):
            dx, dy, dz = samples[0, s] - x, samples[1, s] - y, samples[2, s] - z
            dx -= px * np.rint(dx * tx)
            dy -= py * np.rint(dy * ty)
            dz -= pz * np.rint(dz * tz)
            squares[s] = dx * dx + dy * dy + dz * dz
    else:
        for s in range(count):
            dx, dy, dz = samples[0, s] - x, samples[1, s] - y, samples[2, s] - z
            squares[s] = dx * dx + dy * dy + dz * dz
    # The least of each of several lanes, then of all: one by one would wait for each other.
    lanes, least = np.full(LANES, np.inf), np.inf
    for s in range(count, count + LANES):
        squares[s] = np.inf
    for s in range(0, count, LANES):
        for lane in range(LANES):
            lanes[lane] = min(lanes[lane], squares[s + lane])
    for lane in range(LANES):
        least = min(least, lanes[lane])
    return least


@kernel
def keep_nearby(grid, samples, count, first, last, squares, out):
    """Copy the samples that may be the nearest to any node of a cube; return how many."""
    at, radius = np.empty(3), 0.0
    for axis in range(3):
        spacing = grid[SPACING + axis]
        at[axis] = grid[LOW + axis] + 0.5 * spacing * (first[axis] + last[axis])
        radius += (0.5 * spacing * (last[axis] - first[axis])) ** 2
    reach = np.sqrt(squares_from(grid, samples, count, at, squares)) + 2.0 * np.sqrt(radius)
    most = reach * reach * (1.0 + 1e-9)  # and a little, for rounding
    kept = 0
    for s in range(count):
        x, y, z = samples[0, s], samples[1, s], samples[2, s]
        out[0, kept], out[1, kept], out[2, kept] = x, y, z
        kept += 1 if squares[s] <= most else 0
    return kept


@kernel
def place_cube(parent, part, side, shape, first, last):
    """Write the first and last nodes of one of the eight parts of a cube; tell if there are any."""
    for axis in range(3):
        first[axis] = parent[axis] + side * ((part >> (2 - axis)) & 1)
        last[axis] = min(first[axis] + side, shape[axis]) - 1
    return first[0] < shape[0] and first[1] < shape[1] and first[2] < shape[2]


@kernel("f8[] f8[,] f8[,,]")
def distance_to_samples(grid, samples, out):
    """Write how far each node of a grid is from the nearest of the (3, n) samples.

    Node (i, j, k) stands at low + spacing · (i, j, k); periods of 0 are none.
    """
    n, shape = samples.shape[1], np.empty(3, np.int64)
    shape[0], shape[1], shape[2] = out.shape[0], out.shape[1], out.shape[2]
    near, nearer, nearest = np.empty((3, n + 1)), np.empty((3, n + 1)), np.empty((3, n + 1))
    squares, at, last = np.empty(n + LANES), np.empty(3), np.empty(3, np.int64)
    large, medium = np.empty(3, np.int64), np.empty(3, np.int64)
    small, node = np.empty(3, np.int64), np.empty(3, np.int64)
    for i in range(0, shape[0], LARGE):
        for j in range(0, shape[1], LARGE):
            for k in range(0, shape[2], LARGE):
                large[0], large[1], large[2] = i, j, k
                for axis in range(3):
                    last[axis] = min(large[axis] + LARGE, shape[axis]) - 1
                a = keep_nearby(grid, samples, n, large, last, squares, near)
                for part in range(8):
                    if not place_cube(large, part, MEDIUM, shape, medium, last):
                        continue
                    b = keep_nearby(grid, near, a, medium, last, squares, nearer)
                    for piece in range(8):
                        if not place_cube(medium, piece, SMALL, shape, small, last):
                            continue
                        c = keep_nearby(grid, nearer, b, small, last, squares, nearest)
                        for corner in range(8):
                            if not place_cube(small, corner, 1, shape, node, last):
                                continue
                            for axis in range(3):
                                at[axis] = grid[LOW + axis] + grid[SPACING + axis] * node[axis]
                            square = squares_from(grid, nearest, c, at, squares)
                            out[node[0], node[1], node[2]] = np.sqrt(square)


@kernel("f8[,,] i8[,,] i8[,,] f8 f8[] i8[] f8[,,]")
def fill_inside(distance, outside, nearest, r, spacing, wraps, out):
    """Write the distances, and where it is not outside r less the way out, if that is less.

    A node outside, d from the samples, has a ball of radius d − r around it that is all outside.
    So the way out is short of the way to the node by that much; of the outside node that is
    nearest (its code in `nearest`) and its neighbours, the best one counts.
    """
    nx, ny, nz = distance.shape
    sx, sy, sz = spacing[0], spacing[1], spacing[2]
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = distance[i, j, k]
                if outside[i, j, k] == 1:
                    continue
                code = nearest[i, j, k]
                least = np.inf
                for way in range(27):
                    a = (code >> 20) + way // 9 - 1
                    b = ((code >> 10) & 1023) + (way // 3) % 3 - 1
                    c = (code & 1023) + way % 3 - 1
                    if wraps[0] == 1:
                        a = (a + nx) % nx
                    if wraps[1] == 1:
                        b = (b + ny) % ny
                    if wraps[2] == 1:
                        c = (c + nz) % nz
                    if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
                        continue
                    if outside[a, b, c] == 0:
                        continue
                    da, db, dc = abs(a - i), abs(b - j), abs(c - k)
                    da = min(da, nx - da) if wraps[0] == 1 else da
                    db = min(db, ny - db) if wraps[1] == 1 else db
                    dc = min(dc, nz - dc) if wraps[2] == 1 else dc
                    apart = np.sqrt((sx * da) ** 2 + (sy * db) ** 2 + (sz * dc) ** 2)
                    least = min(least, apart - (distance[a, b, c] - r))
                out[i, j, k] = min(distance[i, j, k], r - max(least, 0.0))
