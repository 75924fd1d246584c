"""Tables of distance fields: nearest sites of every node, exact; what a flood reaches."""

from __future__ import annotations

import numpy as np

from .distance_field import UNKNOWN
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
def member_lines(nodes, threshold, parts, spacing, period, places, out, out_height):
    """Begin a search for the nearest members of a grid whose cells are parted: the first axis.

    `nodes` are closed. `out` (places, m, n) receives, for each line of the finer grid along the
    first axis, the number of the member nearest to each place, or -1; `out_height` its square.
    """
    nx, row = nodes.shape[0], np.empty(nodes.shape[0])
    fine = parts * (nx - 1)
    below, above = np.empty(fine + 1, np.int64), np.empty(fine + 1, np.int64)
    step, count = spacing / parts, places.shape[0]
    at, cell = np.empty(count), np.empty(count, np.int64)
    shares = np.empty(parts)
    for part in range(parts):
        shares[part] = part / parts
    for place in range(count):
        at[place] = places[place] / step
        cell[place] = int(min(max(at[place], 0.0), np.float64(fine)))
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
                for place in range(count):
                    out[place, b, c] = -1
                continue
            last = -(1 << 30)
            for i in range(nx - 1):
                value, rise = row[i], row[i + 1] - row[i]
                for part in range(parts):
                    f = parts * i + part
                    last = f if value + shares[part] * rise <= 0.0 else last
                    below[f] = last
            below[fine] = fine if row[nx - 2] + (row[nx - 1] - row[nx - 2]) <= 0.0 else last
            last = 1 << 30
            for f in range(fine, -1, -1):
                last = f if below[f] == f else last
                above[f] = last
            if period > 0.0:
                first, final = above[0], below[fine]
                for f in range(fine + 1):
                    below[f] = below[f] if below[f] >= 0 else final - fine
                    above[f] = above[f] if above[f] <= fine else first + fine
            for place in range(count):
                x, f = at[place], cell[place]
                lower, upper = below[f], above[min(f + 1, fine)]
                nearest = lower if x - lower <= upper - x else upper
                out_height[place, b, c] = (step * (nearest - x)) ** 2
                out[place, b, c] = nearest % fine if period > 0.0 else nearest


@kernel("i8[,,] f8[,,] f8 f8 f8[] i8 i8[,,] f8[,,]")
def nearest_in_lines(best, height, spacing, period, places, first, out, out_height):
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
                    out[a, i, first + c] = -1
                continue
            lower_envelope(at, heights, label, count, places, found, hull, start)
            for i in range(places.shape[0]):
                j, image = found[i] >> 2, found[i] & 3
                shift = period * (image - 1) if images == 3 else 0.0
                move = spacing * j + shift - places[i]
                out[a, i, first + c] = (best[a, j, c] << 10) | j
                out_height[a, i, first + c] = height[a, j, c] + move * move


@kernel("i8[,,] f8[,,] f8[] f8[] f8[] f8[] f8[] f8[,,]")
def greatest_excess(codes, middle, x, y, z, spacing, period, out):
    """Write by how much |q − s|² may exceed the least squared distance of any site, near a knot.

    s is the knot's own site (its code in `codes`, of steps of `spacing`), q any point nearer to
    this knot than to others. The difference is convex in q, so it is greatest at a corner: in the
    middle of a cell, for which `middle` has the squared distances. Beyond the last knots of an
    axis without a period nothing is known.
    """
    nx, ny, nz = codes.shape
    cells_x, halves_x = np.empty(2 * nx, np.int64), np.empty(2 * nx)
    cells_y, halves_y = np.empty(2 * ny, np.int64), np.empty(2 * ny)
    cells_z, halves_z = np.empty(2 * nz, np.int64), np.empty(2 * nz)
    cells_beside(x, cells_x, halves_x)
    cells_beside(y, cells_y, halves_y)
    cells_beside(z, cells_z, halves_z)
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                open_x = period[0] == 0.0 and (i == 0 or i == nx - 1)
                open_y = period[1] == 0.0 and (j == 0 or j == ny - 1)
                open_z = period[2] == 0.0 and (k == 0 or k == nz - 1)
                if open_x or open_y or open_z:
                    out[i, j, k] = UNKNOWN
                    continue
                code = codes[i, j, k]
                vx = shortest_step(spacing[0] * (code >> 20) - x[i], period[0])
                vy = shortest_step(spacing[1] * ((code >> 10) & 1023) - y[j], period[1])
                vz = shortest_step(spacing[2] * (code & 1023) - z[k], period[2])
                worst = -np.inf
                for right in range(2):
                    a, dx = cells_x[2 * i + right], halves_x[2 * i + right] - vx
                    for up in range(2):
                        b, dy = cells_y[2 * j + up], halves_y[2 * j + up] - vy
                        c, d = cells_z[2 * k], cells_z[2 * k + 1]
                        dz, ez = halves_z[2 * k] - vz, halves_z[2 * k + 1] - vz
                        beside = dx * dx + dy * dy
                        worst = max(worst, beside + dz * dz - middle[a, b, c])
                        worst = max(worst, beside + ez * ez - middle[a, b, d])
                out[i, j, k] = worst


@kernel
def cells_beside(places, cells, halves):
    """Write the cells before and after each of the places, and the ways to their middles."""
    count = places.shape[0]
    for i in range(count):
        for side in range(2):
            cell = (i + side + count - 2) % (count - 1)
            cells[2 * i + side] = cell
            halves[2 * i + side] = (side - 0.5) * (places[cell + 1] - places[cell])


@kernel
def shortest_step(step, period):
    """Return the shortest way along an axis that goes where `step` goes; no period is 0."""
    return step - period * np.rint(step / period) if period > 0.0 else step


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


# Sites of cells parted in two: which are members, and which of them are at the rim.


@kernel("f8[,,] f8 i8[,,]")
def halved_members(nodes, threshold, out):
    """Write 1 where Φ is at most the threshold, at nodes and midpoints, else 0."""
    row = np.empty(nodes.shape[2])
    for i in range(out.shape[0]):
        a, b = i // 2, i // 2 + i % 2
        for j in range(out.shape[1]):
            c, d = j // 2, j // 2 + j % 2
            for k in range(nodes.shape[2]):
                before = 0.5 * (nodes[b, c, k] + nodes[a, c, k])
                after = 0.5 * (nodes[b, d, k] + nodes[a, d, k])
                row[k] = 0.5 * (after + before)
            for k in range(out.shape[2]):
                value = 0.5 * (row[k // 2 + k % 2] + row[k // 2])
                out[i, j, k] = 1 if value <= threshold else 0


@kernel
def neighbour(place, step, count, wraps):
    """Return the place a step away along an axis, or -1 beyond its end."""
    place += step
    if wraps == 1:
        return (place + count) % count
    return place if place < count else -1


@kernel("i8[,,] i8[] i8[]")
def rim_members(members, wraps, out):
    """Write the flat numbers of the members that have another node among the 26 around them.

    Beyond the ends of axes that do not wrap nothing is a member. Returns how many there are.
    """
    nx, ny, nz = members.shape
    inner, count = np.empty(nz, np.int64), 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                inner[k] = 1
            for way in range(9):
                a = neighbour(i, way // 3 - 1, nx, wraps[0])
                b = neighbour(j, way % 3 - 1, ny, wraps[1])
                for k in range(nz):
                    inner[k] = inner[k] & members[a, b, k] if a >= 0 and b >= 0 else 0
            for k in range(nz):
                before = neighbour(k, -1, nz, wraps[2])
                after = neighbour(k, 1, nz, wraps[2])
                left = inner[before] if before >= 0 else 0
                right = inner[after] if after >= 0 else 0
                out[count] = (i * ny + j) * nz + k
                count += 1 if members[i, j, k] == 1 and left + inner[k] + right < 3 else 0
    return count


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
