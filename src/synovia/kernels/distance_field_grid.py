"""Grids of distance fields: transforms, nearest primitives, values and levels."""

from __future__ import annotations

import numpy as np

from .distance_field import Corners, interpolate
from .jit import kernel
from .vector import (
    ZERO,
    Quat,
    Vec3,
    clamp_vec3,
    cross,
    dot,
    least_periods,
    norm,
    outside_of,
    set_vec3,
    times,
    vec3_at,
)

# Rows of primitives and blocks: middle and half sides of the bounding box, then the corners of a
# triangle (a sample has none), or the first primitive of a block and the one after its last.
HALF, CORNERS, FIRST, LAST = 3, 6, 6, 7
# Of a grid: three numbers each (periods are 0 without wrapping), and its first row of nodes.
LOW, SPACING, PERIOD, INVERSE_PERIOD, ROW = 0, 3, 6, 9, 12
NODE_SIDE = 4  # nodes along the sides of a cube whose candidates are found together
DEGENERATE = 1e-60  # squared normal of a triangle that is a line


@kernel
def lower_envelope(at, height, label, count, places, out, hull, start):
    """Write the label of the parabola (x − at)² + height that is lowest at each of the places.

    This is the one-dimensional transform of Felzenszwalb & Huttenlocher. `at` and `places` ascend;
    `hull` and `start` are work space for the parabolas of the lower envelope.
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
    """Search for the nearest sites along the middle axis of three: one pass of the transform.

    `best` (a, m, c) holds the code of the nearest site by the axes before, or -1, and `height` its
    squared distance. `out` (a, places, c) receives the codes with the index along this axis
    appended, in 10 bits, and `out_height` the squared distances.
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


@kernel
def to_segment(point, a, b):
    """Return the squared distance of a point from the segment between two others."""
    edge, from_a = b - a, point - a
    square = dot(edge, edge)
    t = min(max(dot(edge, from_a) / square, 0.0), 1.0) if square > 0.0 else 0.0
    rest = from_a - t * edge
    return dot(rest, rest)


@kernel
def to_triangle(point, row, best):
    """Return the squared distance of a point from a triangle; any number >= `best` if farther.

    Beside the triangle the nearest point is on an edge that the point is beyond (Ericson, §5.1.5).
    """
    a, b, c = vec3_at(row, CORNERS), vec3_at(row, CORNERS + 3), vec3_at(row, CORNERS + 6)
    u, v, w = b - a, c - a, point - a
    normal = cross(u, v)
    square = dot(normal, normal)
    least = np.inf
    ab = bc = ca = -1.0
    if square > DEGENERATE:
        height = dot(w, normal)
        above = height * height / square
        if above >= best:
            return above
        ab, ca = dot(cross(u, w), normal), dot(cross(w, v), normal)
        bc = square - ab - ca
        if ab >= 0.0 and bc >= 0.0 and ca >= 0.0:
            return above
    if ab < 0.0:
        least = to_segment(point, a, b)
    if bc < 0.0:
        least = min(least, to_segment(point, b, c))
    if ca < 0.0:
        least = min(least, to_segment(point, c, a))
    return least


@kernel
def shortest_move(grid, move):
    """Return a move without whole periods."""
    return least_periods(move, vec3_at(grid, PERIOD), vec3_at(grid, INVERSE_PERIOD))


@kernel
def squared_gap(grid, at, half, box):
    """Return the squared distance of a row's box from the box of `half` sides about a point."""
    move, sides = shortest_move(grid, vec3_at(box, 0) - at), vec3_at(box, HALF) + half
    gap = outside_of(move, -sides, sides)
    return dot(gap, gap)


@kernel
def squared_distance(grid, at, primitives, n, best):
    """Return the squared distance of a point from a primitive; any number >= `best` if farther.

    Of a triangle's images a period apart, the one with the nearest middle counts: half a period
    away another may be nearer by part of a cell.
    """
    square = squared_gap(grid, at, ZERO, primitives[n])
    if primitives.shape[1] == CORNERS or square >= best:
        return square
    middle = vec3_at(primitives[n], 0)
    return to_triangle(middle - shortest_move(grid, middle - at), primitives[n], best)


@kernel
def search(grid, at, primitives, blocks, near, count, nearest):
    """Return the number of the nearest primitive to a point, and its squared distance.

    `near` lists the blocks to search, `count` of them; the primitive `nearest` is tried first.
    """
    best = squared_distance(grid, at, primitives, nearest, np.inf)
    for m in range(count):
        b = near[m]
        if squared_gap(grid, at, ZERO, blocks[b]) >= best:
            continue
        for n in range(int(blocks[b, FIRST]), int(blocks[b, LAST])):
            square = squared_distance(grid, at, primitives, n, best)
            if square < best:
                best, nearest = square, n
    return nearest, best


@kernel("f8[] f8[,] f8[,] f8[,,]")
def nearest_primitives(grid, primitives, blocks, out):
    """Write the squared distance of each node of a grid from the nearest primitive.

    Node (i, j, k) is at low + spacing · (row + i, j, k). For each cube of nodes the blocks that can
    hold the nearest primitive of any of them are listed first.
    """
    (nx, ny, nz), side, nearest = out.shape, NODE_SIDE, 0
    total = blocks.shape[0]
    every, near = np.empty(total, np.int64), np.empty(total, np.int64)
    for b in range(total):
        every[b] = b
    spacing = vec3_at(grid, SPACING)
    low = vec3_at(grid, LOW) + Vec3(spacing.x * grid[ROW], 0.0, 0.0)
    for i in range(0, nx, side):
        for j in range(0, ny, side):
            for k in range(0, nz, side):
                end_x, end_y, end_z = min(i + side, nx), min(j + side, ny), min(k + side, nz)
                half = Vec3(
                    0.5 * spacing.x * (end_x - 1 - i),
                    0.5 * spacing.y * (end_y - 1 - j),
                    0.5 * spacing.z * (end_z - 1 - k),
                )
                middle = node_position(low, spacing, i, j, k) + half
                nearest, best = search(grid, middle, primitives, blocks, every, total, nearest)
                reach = (1.0 + 1e-12) * (np.sqrt(best) + norm(half)) ** 2
                count = 0
                for b in range(total):
                    near[count] = b
                    count += 1 if squared_gap(grid, middle, half, blocks[b]) <= reach else 0
                for a in range(i, end_x):
                    for b in range(j, end_y):
                        for c in range(k, end_z):
                            at = node_position(low, spacing, a, b, c)
                            nearest, best = search(
                                grid, at, primitives, blocks, near, count, nearest
                            )
                            out[a, b, c] = best


@kernel
def node_position(low, spacing, i, j, k):
    """Return the position of a node of a grid."""
    return low + Vec3(spacing.x * i, spacing.y * j, spacing.z * k)


@kernel
def cell_at(nodes, i, j, k):
    """Return the values at the corners of a cell."""
    a, b = nodes[i, j, k], nodes[i, j, k + 1]
    c, d = nodes[i, j + 1, k], nodes[i, j + 1, k + 1]
    e, f = nodes[i + 1, j, k], nodes[i + 1, j, k + 1]
    far = Quat(e, f, nodes[i + 1, j + 1, k], nodes[i + 1, j + 1, k + 1])
    return Corners(Quat(a, b, c, d), far)


@kernel
def value_and_slope(nodes, point):
    """Return the value at a point in units of cells, and its slope along each axis."""
    i = min(int(point.x), nodes.shape[0] - 2)
    j = min(int(point.y), nodes.shape[1] - 2)
    k = min(int(point.z), nodes.shape[2] - 2)
    return interpolate(cell_at(nodes, i, j, k), point - Vec3(float(i), float(j), float(k)))


@kernel("f8[,,] f8[,] f8[]")
def values_at(nodes, points, out):
    """Write the values at points (n, 3) in units of cells."""
    for n in range(points.shape[0]):
        out[n] = value_and_slope(nodes, vec3_at(points[n], 0))[0]


@kernel("f8[,,] f8 b1[,] b1[] i8 f8 f8[,]")
def move_to_level(nodes, level, free, moving, steps, longest, points):
    """Move the `moving` points (n, 3), in units of cells, to where the value is `level`.

    They take Newton steps along the slope of the `free` (n, 3) axes, of at most `longest` cells,
    and stay in the grid.
    """
    far = Vec3(nodes.shape[0] - 1.0, nodes.shape[1] - 1.0, nodes.shape[2] - 1.0)
    for n in range(points.shape[0]):
        if not moving[n]:
            continue
        axes = Vec3(1.0 * free[n, 0], 1.0 * free[n, 1], 1.0 * free[n, 2])
        for _ in range(steps):
            point = vec3_at(points[n], 0)
            value, slope = value_and_slope(nodes, point)
            slope = times(slope, axes)
            length = max(norm(slope), 1e-150)
            step = min(max((level - value) / length, -longest), longest) / length
            set_vec3(points[n], 0, clamp_vec3(point + step * slope, ZERO, far))
