"""Shapes in blocks: the nearest member of each point, and the signed distance to it.

Each function reads the points at X, Y, Z and writes projections at PX, PY, PZ and DISTANCE;
those of directions read the twist at T, and write PT. Deeper inside than `depth`, a distance need
not be told: there it may be any that is not positive.
`p` is a flat buffer of parameters in which a shape's own begin at `o`: its kind, then what its
`packed` method wrote.
"""

from __future__ import annotations

import numpy as np

from .cone import cone
from .field import field
from .jit import by_precision, kernel
from .polytope import FARTHEST, nearest_in_polytope
from .rotation import BLOCK, DISTANCE, LANES, PT, PX, PY, PZ, SCRATCH, T, X, Y, Z
from .table import table
from .union import union

BOX, ELLIPSOID, KDOP, PRODUCT, CONE, TABLE, FIELD, UNION = 0, 1, 2, 3, 4, 5, 6, 7
ROUNDING = 1e-14  # directions whose squared length is as near to 1 are taken as they are
HERE = np.int64(0)  # not a literal 0, for which numba would compile all it is passed to once more


@kernel
def box(p, o, block, n):
    """Clamp along the axes. Parameters: 3 × 3 axes (rows), middle, half the widths."""
    real = block.dtype.type
    zero = real(0.0)
    a, b, c = real(p[o]), real(p[o + 1]), real(p[o + 2])
    d, e, f = real(p[o + 3]), real(p[o + 4]), real(p[o + 5])
    g, h, k = real(p[o + 6]), real(p[o + 7]), real(p[o + 8])
    m0, m1, m2 = real(p[o + 9]), real(p[o + 10]), real(p[o + 11])
    r0, r1, r2 = real(p[o + 12]), real(p[o + 13]), real(p[o + 14])
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        u = a * x + b * y + c * z - m0
        v = d * x + e * y + f * z - m1
        w = g * x + h * y + k * z - m2
        over0, over1, over2 = abs(u) - r0, abs(v) - r1, abs(w) - r2
        u = np.copysign(max(over0, zero), u)
        v = np.copysign(max(over1, zero), v)
        w = np.copysign(max(over2, zero), w)
        block[PX + i] = x - (a * u + d * v + g * w)
        block[PY + i] = y - (b * u + e * v + h * w)
        block[PZ + i] = z - (c * u + f * v + k * w)
        inner = max(max(over0, over1), over2)
        outer = np.sqrt(u * u + v * v + w * w)
        block[DISTANCE + i] = outer if inner > zero else inner


@kernel
def ellipsoid(p, o, block, n):
    """Find the foot of the normal. Parameters: centre, 3 × 3 axes (rows), radii.

    With y the point along the axes and a the radii, the foot is a²y/(a² + t) where t solves
    ‖s(t)‖ = 1, s = ay/(a² + t). 1/‖s‖ is concave in t, so Newton's method on 1/‖s‖ = 1 from
    below climbs to the root without ever passing it; the block goes on until all lanes are there.
    """
    cx, cy, cz = p[o], p[o + 1], p[o + 2]
    a, b, c = p[o + 3], p[o + 4], p[o + 5]
    d, e, f = p[o + 6], p[o + 7], p[o + 8]
    g, h, k = p[o + 9], p[o + 10], p[o + 11]
    r0, r1, r2 = p[o + 12], p[o + 13], p[o + 14]
    # A flat ellipsoid has radii of 0: a tiny t and a huge inverse stand for the limits.
    tiny = 1e-60
    inverse0 = 1.0 / max(r0, 1e-150)
    inverse1 = 1.0 / max(r1, 1e-150)
    inverse2 = 1.0 / max(r2, 1e-150)
    s0, s1, s2 = r0 * r0, r1 * r1, r2 * r2
    largest = max(s0, max(s1, s2))
    least = min(r0, min(r1, r2))
    u_, v_, w_ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
    t_, excess_ = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
    for i in range(n):
        x, y, z = block[X + i] - cx, block[Y + i] - cy, block[Z + i] - cz
        u = a * x + b * y + c * z
        v = d * x + e * y + f * z
        w = g * x + h * y + k * z
        block[u_ + i] = u
        block[v_ + i] = v
        block[w_ + i] = w
        u, v, w = r0 * abs(u), r1 * abs(v), r2 * abs(w)
        t = max(max(u - s0, v - s1), max(w - s2, tiny))
        block[t_ + i] = max(t, np.sqrt(u * u + v * v + w * w) - largest)
    for _ in range(100):
        worst = 0.0
        for i in range(n):
            t = block[t_ + i]
            d0, d1, d2 = s0 + t, s1 + t, s2 + t
            inverse = 1.0 / (d0 * d1 * d2)  # one division for three
            d0, d1, d2 = d1 * d2 * inverse, d0 * d2 * inverse, d0 * d1 * inverse
            u, v, w = r0 * block[u_ + i] * d0, r1 * block[v_ + i] * d1, r2 * block[w_ + i] * d2
            u, v, w = u * u, v * v, w * w
            square = u + v + w
            excess = max(np.sqrt(square) - 1.0, 0.0)
            block[excess_ + i] = excess
            block[t_ + i] = t + excess * square / (u * d0 + v * d1 + w * d2 + tiny)
        for i in range(n):
            worst = max(worst, block[excess_ + i])
        if not worst > 1e-15:
            break
    for i in range(n):
        u, v, w, t = block[u_ + i], block[v_ + i], block[w_ + i], block[t_ + i]
        x, y, z = u * inverse0, v * inverse1, w * inverse2
        level = np.sqrt(x * x + y * y + z * z)
        u, v, w = u * (t / (s0 + t)), v * (t / (s1 + t)), w * (t / (s2 + t))
        block[PX + i] = block[X + i] - (a * u + d * v + g * w)
        block[PY + i] = block[Y + i] - (b * u + e * v + h * w)
        block[PZ + i] = block[Z + i] - (c * u + f * v + k * w)
        outer = np.sqrt(u * u + v * v + w * w)
        # Inside: the ball of this radius is inside too, so the depth is never overstated.
        block[DISTANCE + i] = outer if level > 1.0 else (level - 1.0) * least


@kernel
def kdop(p, o, block, n):
    """Flag the points beyond a plane, then find the nearest for those alone.

    Parameters: number of axes k, k × 3 unit axes, k lows, k highs.
    """
    count = int(p[o])
    axes = o + 1
    lows = axes + 3 * count
    highs = lows + count
    for i in range(n):
        block[DISTANCE + i] = -np.inf
        block[FARTHEST + i] = 0.0
    for j in range(count):
        a, b, c = p[axes + 3 * j], p[axes + 3 * j + 1], p[axes + 3 * j + 2]
        low, high = p[lows + j], p[highs + j]
        number = np.float64(j)
        for i in range(n):
            along = a * block[X + i] + b * block[Y + i] + c * block[Z + i]
            worst = max(low - along, along - high)
            beyond = worst > block[DISTANCE + i]
            block[FARTHEST + i] = number if beyond else block[FARTHEST + i]
            block[DISTANCE + i] = worst if beyond else block[DISTANCE + i]
    for i in range(n):
        block[PX + i] = block[X + i]
        block[PY + i] = block[Y + i]
        block[PZ + i] = block[Z + i]
    for i in range(n):
        if block[DISTANCE + i] > 0.0:
            nearest_in_polytope(p, count, axes, lows, highs, block, i)


@kernel
def solid(kind, p, o, block, n):
    """Run the shape of the given kind, whose parameters begin at `o`."""
    if kind == BOX:
        box(p, o, block, n)
    elif kind == ELLIPSOID:
        ellipsoid(p, o, block, n)
    else:
        kdop(p, o, block, n)


@kernel
def product(p, o, block, n):
    """Project swing and twist apart. Parameters: twist low, high, then kind and swing shape.

    The swing shape is packed as a cylinder along z, so at z = 0 its distances are those of the
    plane.
    """
    low, high = p[o], p[o + 1]
    twist = SCRATCH + 6 * LANES
    for i in range(n):
        block[twist + i] = block[Z + i]
        block[Z + i] = 0.0
    solid(int(p[o + 2]), p, o + 3, block, n)
    for i in range(n):
        t = block[twist + i]
        block[Z + i] = t
        below, above = low - t, t - high
        outside = max(above, 0.0) - max(below, 0.0)
        block[PZ + i] = t - outside
        swing = block[DISTANCE + i]
        inner = max(swing, max(below, above))
        outer = np.sqrt(max(swing, 0.0) ** 2 + outside * outside)
        block[DISTANCE + i] = outer if inner > 0.0 else inner


@kernel
def any_shape(p, o, depth, block, n):
    """Run the shape that is packed at `o`: its kind, then its parameters."""
    kind = int(p[o])
    if kind == PRODUCT:
        product(p, o + 1, block, n)
    elif kind == CONE:
        cone(p, o + 1, block, n)
    elif kind == TABLE:
        table(p, o + 1, depth, block, n)
    elif kind == FIELD:
        field(p, o + 1, block, n)
    elif kind == UNION:
        union(p, o + 1, block, n)
    else:
        solid(kind, p, o + 1, block, n)


@kernel
def only_box(p, o, depth, block, n):
    """Run the box that is packed at `o`, in the block's own type.

    The other shapes iterate to the last digit, in float64 only.
    """
    box(p, o + 1, block, n)


shape = by_precision(only_box, any_shape)


@kernel
def project_points(points, p, out, distances):
    """Write the nearest members of flat `points` (x, y, z, x, …), and the signed distances."""
    block = np.empty(BLOCK)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        first = 3 * start
        for i in range(n):
            block[X + i] = points[first + 3 * i]
            block[Y + i] = points[first + 3 * i + 1]
            block[Z + i] = points[first + 3 * i + 2]
        any_shape(p, HERE, np.inf, block, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
            out[first + 3 * i] = block[PX + i]
            out[first + 3 * i + 1] = block[PY + i]
            out[first + 3 * i + 2] = block[PZ + i]


@kernel
def project_directions(points, p, out, distances):
    """As `project_points`, for flat directions and twists (x, y, z, twist, x, …).

    Directions may be a little off their unit length; those that need not move stay as they are.
    """
    block = np.empty(BLOCK)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        first = 4 * start
        for i in range(n):
            at = first + 4 * i
            x, y, z = points[at], points[at + 1], points[at + 2]
            square = x * x + y * y + z * z
            scale = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
            block[X + i], block[Y + i], block[Z + i] = scale * x, scale * y, scale * z
            block[T + i] = points[at + 3]
        any_shape(p, HERE, np.inf, block, n)
        for i in range(n):
            at = first + 4 * i
            x, y, z = block[PX + i], block[PY + i], block[PZ + i]
            still = (x == block[X + i]) & (y == block[Y + i]) & (z == block[Z + i])
            distances[start + i] = block[DISTANCE + i]
            out[at] = points[at] if still else x
            out[at + 1] = points[at + 1] if still else y
            out[at + 2] = points[at + 2] if still else z
            out[at + 3] = block[PT + i]
