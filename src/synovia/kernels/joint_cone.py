"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .cone import gauge
from .cone_edges import place_of
from .cone_layout import ANGLE, COUNT, EDGE, EDGES, MARGIN
from .directions import aim, point
from .jit import kernel
from .joint_angles import REST, half_turn, last_angle, two_angles
from .posing import quaternions
from .rotation import BLOCK, PT, PX, PY, PZ, QW, QX, QY, QZ, T, X, Y, Z
from .transforms import LANES

HERE = np.int64(1)  # where a packed cone begins, after its kind
SLACK = 1e-12
# Of the parameters, after the rest direction and two axes: 1 to pull towards rest, the tolerance,
# and the sense of twists, 1 or -1.
PULL, TOLERANCE, SENSE = 9, 10, 11
BEST = ANGLE  # where, on its way to rest, a direction enters the cone, until it is gauged there


@kernel
def enter(p, work, given, twist, q, block, n):
    """Write the quaternions of transforms, each after a twist about rest, and where they point."""
    quaternions(work, given, q, n)
    rx, ry, rz, sense = p[REST], p[REST + 1], p[REST + 2], p[SENSE]
    twist = place_of(twist)
    for i in range(n):
        c, s = half_turn(sense * work[twist + i])
        x2, y2, z2 = s * rx, s * ry, s * rz
        w, x, y, z = q[i], q[LANES + i], q[2 * LANES + i], q[3 * LANES + i]
        block[QW + i] = w * c - x * x2 - y * y2 - z * z2
        block[QX + i] = w * x2 + x * c + y * z2 - z * y2
        block[QY + i] = w * y2 - x * z2 + y * c + z * x2
        block[QZ + i] = w * z2 + x * y2 - y * x2 + z * c
    aim(p, REST, block, n)


@kernel
def pass_edge(cone, e, p, block, n):
    """Write where, on the chord to rest, directions enter by the edge at `e`, if there first."""
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    ax, ay, az = cone[e], cone[e + 1], cone[e + 2]
    tx, ty, tz = cone[e + 3], cone[e + 4], cone[e + 5]
    nx, ny, nz = cone[e + 6], cone[e + 7], cone[e + 8]
    cosine, sine = cone[e + 9], cone[e + 10]
    after = nx * rx + ny * ry + nz * rz
    if not after > 0.0:
        return
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        before = nx * x + ny * y + nz * z
        t = min(max(-before / max(after - before, 1e-300), 0.0), 1.0)
        cx, cy, cz = x + t * (rx - x), y + t * (ry - y), z + t * (rz - z)
        along, across = ax * cx + ay * cy + az * cz, tx * cx + ty * cy + tz * cz
        past = across * cosine - along * sine
        enters = (after > before) & (before <= SLACK) & (across >= -SLACK) & (past <= SLACK)
        best = block[BEST + i]
        block[BEST + i] = t if enters & (t < best) else best


@kernel
def draw_in(cone, p, block, n):
    """Move directions along the chord to rest to where they enter the cone, if they do."""
    for i in range(n):
        block[BEST + i] = 2.0
    for k in range(int(cone[HERE + COUNT])):
        pass_edge(cone, HERE + int(cone[HERE + EDGES]) + EDGE * k, p, block, n)
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    for i in range(n):
        t, x, y, z = block[BEST + i], block[X + i], block[Y + i], block[Z + i]
        cx, cy, cz = x + t * (rx - x), y + t * (ry - y), z + t * (rz - z)
        size = np.sqrt(cx * cx + cy * cy + cz * cz)
        enters = (t <= 1.0) & (size > 1e-9)
        scale = 1.0 / max(size, 1e-9)
        block[X + i] = cx * scale if enters else x
        block[Y + i] = cy * scale if enters else y
        block[Z + i] = cz * scale if enters else z


@kernel
def pull(cone, p, block, n):
    """Find the legal points where outer directions, on their way to rest, enter the cone.

    Those are few, so they are gathered in a block of their own.
    """
    numbers = np.empty(LANES + 1)
    outside = 0
    for i in range(n):
        numbers[outside] = i
        outside += 1 if block[ANGLE + i] < -p[TOLERANCE] else 0
    if outside == 0:
        return
    apart = np.zeros(BLOCK)
    for j in range(outside):
        i = place_of(numbers[j])
        apart[X + j], apart[Y + j], apart[Z + j] = block[X + i], block[Y + i], block[Z + i]
        apart[T + j] = block[T + i]
    draw_in(cone, p, apart, outside)
    gauge(cone, HERE, apart, outside, False)
    for j in range(outside):
        i = place_of(numbers[j])
        block[PX + i], block[PY + i], block[PZ + i] = apart[PX + j], apart[PY + j], apart[PZ + j]
        block[PT + i] = apart[PT + j]


@kernel
def keep(p, block, n):
    """Take legal points as they are, so that they are not moved."""
    slack = -p[TOLERANCE]
    for i in range(n):
        legal = (block[ANGLE + i] >= slack) & (block[MARGIN + i] >= slack)
        block[PX + i] = block[X + i] if legal else block[PX + i]
        block[PY + i] = block[Y + i] if legal else block[PY + i]
        block[PZ + i] = block[Z + i] if legal else block[PZ + i]
        block[PT + i] = block[T + i] if legal else block[PT + i]


@kernel
def leave(p, block, work, given, twist, center, out, n):
    """Write the transforms, about centres that stay where they are; legal ones bit for bit."""
    slack = -p[TOLERANCE]
    a, o, twist, c = place_of(given), place_of(out), place_of(twist), place_of(center)
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        legal = (block[ANGLE + i] >= slack) & (block[MARGIN + i] >= slack)
        legal = legal & (work[twist + i] == 0.0)
        j, k = a + i, o + i
        work[k] = work[j] if legal else 1.0 - 2.0 * (y * y + z * z)
        work[k + LANES] = work[j + LANES] if legal else 2.0 * (x * y - w * z)
        work[k + 2 * LANES] = work[j + 2 * LANES] if legal else 2.0 * (x * z + w * y)
        work[k + 4 * LANES] = work[j + 4 * LANES] if legal else 2.0 * (x * y + w * z)
        work[k + 5 * LANES] = work[j + 5 * LANES] if legal else 1.0 - 2.0 * (x * x + z * z)
        work[k + 6 * LANES] = work[j + 6 * LANES] if legal else 2.0 * (y * z - w * x)
        work[k + 8 * LANES] = work[j + 8 * LANES] if legal else 2.0 * (x * z - w * y)
        work[k + 9 * LANES] = work[j + 9 * LANES] if legal else 2.0 * (y * z + w * x)
        work[k + 10 * LANES] = work[j + 10 * LANES] if legal else 1.0 - 2.0 * (x * x + y * y)
    for r in range(3):
        row, to = a + 4 * r * LANES, o + 4 * r * LANES
        for i in range(n):
            place = work[row + 3 * LANES + i]
            place += (work[row + i] - work[to + i]) * work[c + i]
            place += (work[row + LANES + i] - work[to + LANES + i]) * work[c + LANES + i]
            j = 2 * LANES + i
            work[to + 3 * LANES + i] = place + (work[row + j] - work[to + j]) * work[c + j]


@kernel
def joint_cone(p, cone, given, twist, center, out, first, second, third, n, stride, work):
    """Write the transforms with legal directions and twists, and their angles about three axes.

    Angles whose place is negative are not asked for.
    """
    block, q = np.zeros(BLOCK), np.empty(4 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        a, o = base + given, base + out
        enter(p, work, a, base + twist, q, block, m)
        gauge(cone, HERE, block, m, False)
        if p[PULL] > 0.0:
            pull(cone, p, block, m)
        keep(p, block, m)
        point(p, REST, block, m)
        leave(p, block, work, a, base + twist, base + center, o, m)
        if max(first, second, third) < 0:
            continue  # nobody asks
        two_angles(p, work, o, q, m)
        for i in range(m):
            if first >= 0:
                work[base + first + i] = q[i]
            if second >= 0:
                work[base + second + i] = q[LANES + i]
        if third >= 0:
            last_angle(p, work, o, q, m)
            for i in range(m):
                work[base + third + i] = p[SENSE] * q[2 * LANES + i]
