"""Which edges of a spherical polygon can be nearest, for each cell of a grid over the sphere.

The sphere is seen as a cube, each face a square of cells. With h_e(x) = max x·q over the points q
of edge e, the cosine of the distance, edge e is out of the question in a cell if one point q of
the boundary has c·q >= h_e(c) at its four corners c: h_e is convex and c·q is linear, and the cell
is a convex cone over its corners, so q is then nearer than e to every point of the cell.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .reach_cone import EDGE

TIE = 1e-12  # edges that are as near as this, in cosine, stay
ROUNDING = 1e-7  # of an angle from its cosine, at worst


@kernel
def closeness(p, e, x, y, z):
    """Return the cosine of the angle from a unit direction to the edge at `e`, and where it is.

    That is a share of the start, of the tangent, and of nothing else.
    """
    a = p[e] * x + p[e + 1] * y + p[e + 2] * z
    t = p[e + 3] * x + p[e + 4] * y + p[e + 5] * z
    cosine, sine = p[e + 9], p[e + 10]
    if t >= 0.0 and t * cosine - a * sine <= 0.0:
        size = np.sqrt(a * a + t * t)
        if size > 1e-300:
            return size, a / size, t / size
    end = a * cosine + t * sine
    if a >= end:
        return a, 1.0, 0.0
    return end, cosine, sine


@kernel
def on_face(face, u, v):
    """Return the unit vector at (u, v), each from -1 to 1, on a face of the cube."""
    scale = 1.0 / np.sqrt(1.0 + u * u + v * v)
    side = scale if face % 2 == 0 else -scale
    u, v = u * scale, v * scale
    if face < 2:
        return side, u, v
    if face < 4:
        return u, side, v
    return u, v, side


@kernel("f8[] i8 i8[] i8[] i8[] i8[]")
def refine(edges, side, starts, items, new_starts, new_items):
    """Write the edges that stay in each cell of 6 · (2 side)² from those of 6 · side².

    `starts` and `items` list the edges of the coarser cells in order; returns how many were
    written. With `side` 0 the cells are whole faces and `items` serve all of them.
    """
    fine = max(2 * side, 1)
    corners = np.empty(15)
    points = np.empty(15)
    best = np.empty(5)
    count = 0
    for cell in range(6 * fine * fine):
        face, row, column = cell // (fine * fine), cell // fine % fine, cell % fine
        coarse = (face * side + row // 2) * side + column // 2 if side > 0 else 0
        first, last = starts[coarse], starts[coarse + 1]
        for k in range(5):
            du = 0.5 if k == 4 else float(k % 2)
            dv = 0.5 if k == 4 else float(k // 2)
            u, v = -1.0 + 2.0 * (row + du) / fine, -1.0 + 2.0 * (column + dv) / fine
            corners[3 * k], corners[3 * k + 1], corners[3 * k + 2] = on_face(face, u, v)
            best[k] = -2.0
        for at in range(first, last):
            e = EDGE.SIZE * items[at]
            for k in range(5):
                x, y, z = corners[3 * k], corners[3 * k + 1], corners[3 * k + 2]
                h, along, across = closeness(edges, e, x, y, z)
                if h > best[k]:
                    best[k] = h
                    for j in range(3):
                        points[3 * k + j] = along * edges[e + j] + across * edges[e + 3 + j]
        new_starts[cell] = count
        for at in range(first, last):
            e = EDGE.SIZE * items[at]
            beaten = False
            h0 = closeness(edges, e, corners[0], corners[1], corners[2])[0]
            h1 = closeness(edges, e, corners[3], corners[4], corners[5])[0]
            h2 = closeness(edges, e, corners[6], corners[7], corners[8])[0]
            h3 = closeness(edges, e, corners[9], corners[10], corners[11])[0]
            for k in range(5):
                x, y, z = points[3 * k], points[3 * k + 1], points[3 * k + 2]
                beaten = beaten or (
                    corners[0] * x + corners[1] * y + corners[2] * z >= h0 + TIE
                    and corners[3] * x + corners[4] * y + corners[5] * z >= h1 + TIE
                    and corners[6] * x + corners[7] * y + corners[8] * z >= h2 + TIE
                    and corners[9] * x + corners[10] * y + corners[11] * z >= h3 + TIE
                )
            if not beaten:
                new_items[count] = items[at]
                count += 1
    new_starts[6 * fine * fine] = count
    return count


@kernel("f8[] i8 i8[] i8[] f8[]")
def clearances(edges, side, starts, items, out):
    """Write for each cell of 6 · side² how far off the boundary is at least, in radians.

    That is the distance from its middle, less that to its farthest corner.
    """
    for cell in range(6 * side * side):
        face, row, column = cell // (side * side), cell // side % side, cell % side
        u, v = -1.0 + (2.0 * row + 1.0) / side, -1.0 + (2.0 * column + 1.0) / side
        x, y, z = on_face(face, u, v)
        nearest = -1.0
        for at in range(starts[cell], starts[cell + 1]):
            nearest = max(nearest, closeness(edges, EDGE.SIZE * items[at], x, y, z)[0])
        corner = 1.0
        for k in range(4):
            a, b, c = on_face(
                face, u + (2.0 * (k % 2) - 1.0) / side, v + (k // 2 * 2.0 - 1.0) / side
            )
            corner = min(corner, a * x + b * y + c * z)
        out[cell] = np.arccos(min(nearest, 1.0)) - np.arccos(corner) - ROUNDING
