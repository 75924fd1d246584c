"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .cone import gauge
from .cone_layout import ANGLE, COUNT, EDGE, EDGES, MARGIN
from .directions import aim, point
from .jit import kernel
from .posing import matrix, quaternion
from .rotation import BLOCK, PT, PX, PY, PZ, QW, QX, QY, QZ, T, X, Y, Z
from .rotation import LANES as WIDE
from .transforms import LANES

HERE = np.int64(1)  # where a packed cone begins, after its kind
SLACK = 1e-12
TURN = 2.0 * np.pi
# Of the parameters: the rest direction, two axes, 1 to pull towards rest, the tolerance, and
# the sense of twists, 1 or -1.
REST, FIRST, SECOND, PULL, TOLERANCE, SENSE = 0, 3, 6, 9, 10, 11


@kernel
def entrance(cone, rest, x, y, z):
    """Return the first share of the chord from a direction to `rest` that is inside; 2 if none."""
    best = 2.0
    for k in range(int(cone[HERE + COUNT])):
        e = HERE + int(cone[HERE + EDGES]) + EDGE * k
        before = cone[e + 6] * x + cone[e + 7] * y + cone[e + 8] * z
        after = cone[e + 6] * rest[0] + cone[e + 7] * rest[1] + cone[e + 8] * rest[2]
        if not (after > before and before <= SLACK and after > 0.0):
            continue
        t = min(max(-before / (after - before), 0.0), 1.0)
        cx, cy, cz = x + t * (rest[0] - x), y + t * (rest[1] - y), z + t * (rest[2] - z)
        along = cone[e] * cx + cone[e + 1] * cy + cone[e + 2] * cz
        across = cone[e + 3] * cx + cone[e + 4] * cy + cone[e + 5] * cz
        past = across * cone[e + 9] - along * cone[e + 10]
        if across >= -SLACK and past <= SLACK and t < best:
            best = t
    return best


@kernel
def pull(cone, rest, slack, block, n):
    """Find the legal points where outer directions, on their way to `rest`, enter the cone."""
    outside = 0
    for i in range(n):
        outside += 1 if block[ANGLE + i] < -slack else 0
    if outside == 0:
        return
    kept = np.empty(5 * WIDE)
    for i in range(n):
        for k in range(3):
            kept[k * WIDE + i] = block[X + k * WIDE + i]
        kept[3 * WIDE + i], kept[4 * WIDE + i] = block[ANGLE + i], block[MARGIN + i]
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        t = entrance(cone, rest, x, y, z) if block[ANGLE + i] < -slack else 2.0
        if t <= 1.0:
            x, y, z = x + t * (rest[0] - x), y + t * (rest[1] - y), z + t * (rest[2] - z)
            size = np.sqrt(x * x + y * y + z * z)
            if size > 1e-9:
                block[X + i], block[Y + i], block[Z + i] = x / size, y / size, z / size
    gauge(cone, HERE, block, n, False)
    for i in range(n):
        for k in range(3):
            block[X + k * WIDE + i] = kept[k * WIDE + i]
        block[ANGLE + i], block[MARGIN + i] = kept[3 * WIDE + i], kept[4 * WIDE + i]


@kernel
def twisted(rest, twist, block, i):
    """Turn the quaternion of lane i by `twist` about `rest` first."""
    c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
    x2, y2, z2 = s * rest[0], s * rest[1], s * rest[2]
    w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
    block[QW + i] = w * c - x * x2 - y * y2 - z * z2
    block[QX + i] = w * x2 + x * c + y * z2 - z * y2
    block[QY + i] = w * y2 - x * z2 + y * c + z * x2
    block[QZ + i] = w * z2 + x * y2 - y * x2 + z * c


@kernel
def turned(p, axis, angle, v):
    """Turn the vector `v` about the unit axis at p[axis]."""
    ax, ay, az = p[axis], p[axis + 1], p[axis + 2]
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = v[0], v[1], v[2]
    along = (1.0 - c) * (ax * x + ay * y + az * z)
    v[0] = c * x + s * (ay * z - az * y) + along * ax
    v[1] = c * y + s * (az * x - ax * z) + along * ay
    v[2] = c * z + s * (ax * y - ay * x) + along * az


@kernel
def about(p, axis, a, b):
    """Return the angle about the axis at p[axis] that brings `a` nearest to `b`."""
    ax, ay, az = p[axis], p[axis + 1], p[axis + 2]
    out = ax * (a[1] * b[2] - a[2] * b[1])
    out += ay * (a[2] * b[0] - a[0] * b[2]) + az * (a[0] * b[1] - a[1] * b[0])
    from_a, from_b = ax * a[0] + ay * a[1] + az * a[2], ax * b[0] + ay * b[1] + az * b[2]
    return np.arctan2(out, a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - from_a * from_b)


@kernel
def angles(p, work, o, i, v, w, found):
    """Write the angles about the first axis, the second and rest whose turns make lane i's R.

    The bone's direction is v = R rest. The second angle solves first · (turned rest) = first · v,
    by the root nearest to 0; where the axes cannot reach v, it comes as near as they can.
    """
    for k in range(3):
        row = o + 4 * k * LANES + i
        v[k] = work[row] * p[0] + work[row + LANES] * p[1] + work[row + 2 * LANES] * p[2]
    k = p[0] * p[SECOND] + p[1] * p[SECOND + 1] + p[2] * p[SECOND + 2]
    level, cosine, sine, height = 0.0, 0.0, 0.0, 0.0
    for c in range(3):
        n, m = (c + 1) % 3, (c + 2) % 3
        level += k * p[FIRST + c] * p[SECOND + c]
        cosine += p[FIRST + c] * (p[REST + c] - k * p[SECOND + c])
        sine += p[FIRST + c] * (p[SECOND + n] * p[REST + m] - p[SECOND + m] * p[REST + n])
        height += p[FIRST + c] * v[c]
    size = np.sqrt(cosine * cosine + sine * sine)
    second = 0.0
    if size > 1e-12:
        middle = np.arctan2(sine, cosine)
        half = np.arccos(min(max((height - level) / size, -1.0), 1.0))
        one, other = middle - half, middle + half
        one, other = one - TURN * np.rint(one / TURN), other - TURN * np.rint(other / TURN)
        second = one if abs(one) <= abs(other) else other
    for c in range(3):
        w[c] = p[REST + c]
    turned(p, SECOND, second, w)
    first = about(p, FIRST, w, v)
    found[0], found[1] = first, second
    # What is left about rest, seen on a vector across it.
    ax = 0 if abs(p[0]) <= abs(p[1]) and abs(p[0]) <= abs(p[2]) else 1
    ax = 2 if abs(p[2]) < abs(p[ax]) else ax
    for c in range(3):
        v[c] = -p[REST + c] * p[REST + ax]
    v[ax] += 1.0
    for c in range(3):
        row = o + 4 * c * LANES + i
        w[c] = work[row] * v[0] + work[row + LANES] * v[1] + work[row + 2 * LANES] * v[2]
    turned(p, FIRST, -first, w)
    turned(p, SECOND, -second, w)
    found[2] = about(p, REST, v, w)


@kernel
def joint_cone(p, cone, given, twist, center, out, first, second, third, n, stride, work):
    """Write the transforms with legal directions and twists, and their angles about three axes.

    Angles whose place is negative are not asked for.
    """
    block = np.zeros(BLOCK)
    rest, v, w, found = p[0:3], np.empty(3), np.empty(3), np.empty(3)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        a, o = base + given, base + out
        for i in range(m):
            quaternion(work, a, block, QW + i, WIDE, i)
            if work[base + twist + i] != 0.0:
                twisted(rest, p[SENSE] * work[base + twist + i], block, i)
        aim(p, REST, block, m)
        gauge(cone, HERE, block, m, False)
        if p[PULL] > 0.0:
            pull(cone, rest, p[TOLERANCE], block, m)
        for i in range(m):
            legal = block[ANGLE + i] >= -p[TOLERANCE] and block[MARGIN + i] >= -p[TOLERANCE]
            if legal:  # the point as it is, so that it is not moved
                block[PX + i], block[PY + i], block[PZ + i] = (
                    block[X + i],
                    block[Y + i],
                    block[Z + i],
                )
                block[PT + i] = block[T + i]
        point(p, REST, block, m)
        for i in range(m):
            legal = block[ANGLE + i] >= -p[TOLERANCE] and block[MARGIN + i] >= -p[TOLERANCE]
            if legal and work[base + twist + i] == 0.0:
                for k in range(12):
                    work[o + k * LANES + i] = work[a + k * LANES + i]
            else:
                matrix(block[QW + i], block[QX + i], block[QY + i], block[QZ + i], work, o, i)
                for r in range(3):
                    row, to = a + 4 * r * LANES + i, o + 4 * r * LANES + i
                    place = work[row + 3 * LANES]
                    for c in range(3):
                        at = c * LANES
                        place += (work[row + at] - work[to + at]) * work[base + center + at + i]
                    work[to + 3 * LANES] = place
        if max(first, second, third) < 0:
            continue  # nobody asks
        for i in range(m):
            angles(p, work, o, i, v, w, found)
            if first >= 0:
                work[base + first + i] = found[0]
            if second >= 0:
                work[base + second + i] = found[1]
            if third >= 0:
                work[base + third + i] = p[SENSE] * found[2]
