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
from .vector import Vec3, dot, set_vec3, vec3_at

TIE = 1e-12  # edges that are as near as this, in cosine, stay
ROUNDING = 1e-7  # of an angle from its cosine, at worst


@kernel
def closeness(p, e, v):
    """Return the cosine of the angle from a unit vector to the edge at `e`, and the nearest point.

    That point is given by its components along the edge's start and tangent.
    """
    a, t = dot(vec3_at(p, e + EDGE.start), v), dot(vec3_at(p, e + EDGE.tangent), v)
    cosine, sine = p[e + EDGE.cosine], p[e + EDGE.sine]
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
    side = 1.0 if face % 2 == 0 else -1.0
    point = Vec3(side, u, v) if face < 2 else (Vec3(u, side, v) if face < 4 else Vec3(u, v, side))
    return (1.0 / np.sqrt(1.0 + u * u + v * v)) * point


@kernel("f8[] i8 i8[] i8[] i8[] i8[]")
def refine(edges, side, starts, items, new_starts, new_items):
    """Write the edges that stay in each cell of 6 · (2 side)² from those of 6 · side².

    `starts` and `items` list the edges of the coarser cells in order; returns how many were
    written. With `side` 0 the cells are whole faces and `items` serve all of them.
    """
    fine = max(2 * side, 1)
    corners, points, best, heights = np.empty(15), np.empty(15), np.empty(5), np.empty(4)
    count = 0
    for cell in range(6 * fine * fine):
        face, row, column = cell // (fine * fine), cell // fine % fine, cell % fine
        coarse = (face * side + row // 2) * side + column // 2 if side > 0 else 0
        first, last = starts[coarse], starts[coarse + 1]
        for k in range(5):  # four corners, and the middle
            du = 0.5 if k == 4 else float(k % 2)
            dv = 0.5 if k == 4 else float(k // 2)
            u, v = -1.0 + 2.0 * (row + du) / fine, -1.0 + 2.0 * (column + dv) / fine
            set_vec3(corners, 3 * k, on_face(face, u, v))
            best[k] = -2.0
        for at in range(first, last):
            e = EDGE.SIZE * items[at]
            for k in range(5):
                h, along, across = closeness(edges, e, vec3_at(corners, 3 * k))
                if h > best[k]:
                    best[k] = h
                    point = along * vec3_at(edges, e + EDGE.start)
                    set_vec3(points, 3 * k, point + across * vec3_at(edges, e + EDGE.tangent))
        new_starts[cell] = count
        for at in range(first, last):
            for k in range(4):
                heights[k], _, _ = closeness(edges, EDGE.SIZE * items[at], vec3_at(corners, 3 * k))
            beaten = False
            for k in range(5):
                nearer = True
                for c in range(4):
                    cosine = dot(vec3_at(corners, 3 * c), vec3_at(points, 3 * k))
                    nearer = nearer and cosine >= heights[c] + TIE
                beaten = beaten or nearer
            if not beaten:
                new_items[count] = items[at]
                count += 1
    new_starts[6 * fine * fine] = count
    return count


@kernel("f8[] i8 i8[] i8[] f8[]")
def clearances(edges, side, starts, items, out):
    """Write for each cell of 6 · side² a lower bound of the distance to the boundary, in radians.

    That is the distance from its middle, less that to its farthest corner.
    """
    for cell in range(6 * side * side):
        face, row, column = cell // (side * side), cell // side % side, cell % side
        u, v = -1.0 + (2.0 * row + 1.0) / side, -1.0 + (2.0 * column + 1.0) / side
        middle, nearest, corner = on_face(face, u, v), -1.0, 1.0
        for at in range(starts[cell], starts[cell + 1]):
            nearest = max(nearest, closeness(edges, EDGE.SIZE * items[at], middle)[0])
        for k in range(4):
            du, dv = (2.0 * (k % 2) - 1.0) / side, (k // 2 * 2.0 - 1.0) / side
            corner = min(corner, dot(on_face(face, u + du, v + dv), middle))
        out[cell] = np.arccos(min(nearest, 1.0)) - np.arccos(corner) - ROUNDING
