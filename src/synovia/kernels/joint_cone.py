"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .charts import from_direction_twist, to_direction_twist
from .jit import kernel
from .joint_angles import REST, half_turn, last_angle, two_angles
from .reach_cone import (
    ANGLE,
    COUNT,
    EDGE,
    EDGES,
    HEIGHT,
    MARGIN,
    as_unsigned,
    look_up_limits,
    measure_margins,
    place,
    twist,
)
from .rotation import BLOCK, PT, PX, PY, PZ, QW, QX, QY, QZ, T, X, Y, Z
from .transforms import LANES, quaternions

HERE = np.int64(1)  # where a packed cone begins, after its kind
SLACK = 1e-12
# Of the parameters, after the rest direction and two axes: 1 to pull towards rest, the least twist
# margin and height over an edge that count as inside, and the sense of twists, 1 or -1.
PULL, LEAST_MARGIN, LEAST_HEIGHT, SENSE = 9, 10, 11, 12
BEST = ANGLE  # where, on its way to rest, a direction enters the cone


@kernel
def enter(p, work, given, angle, q, block, n):
    """Write the quaternions of transforms, each after a twist about rest, and where they point."""
    quaternions(work, given, q, n)
    rx, ry, rz, sense = p[REST], p[REST + 1], p[REST + 2], p[SENSE]
    angle = as_unsigned(angle)
    for i in range(n):
        c, s = half_turn(sense * work[angle + i])
        x2, y2, z2 = s * rx, s * ry, s * rz
        w, x, y, z = q[i], q[LANES + i], q[2 * LANES + i], q[3 * LANES + i]
        block[QW + i] = w * c - x * x2 - y * y2 - z * z2
        block[QX + i] = w * x2 + x * c + y * z2 - z * y2
        block[QY + i] = w * y2 - x * z2 + y * c + z * x2
        block[QZ + i] = w * z2 + x * y2 - y * x2 + z * c
    to_direction_twist(p, REST, block, n)


@kernel
def enter_by_edge(cone, e, p, block, n):
    """Write where, on the chord to rest, directions enter by the edge at `e`, if there first."""
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    ax, ay, az = cone[e], cone[e + 1], cone[e + 2]
    tx, ty, tz = cone[e + 3], cone[e + 4], cone[e + 5]
    nx, ny, nz = cone[e + 6], cone[e + 7], cone[e + 8]
    cosine, sine = cone[e + 9], cone[e + 10]
    after = nx * rx + ny * ry + nz * rz
    if not after > 0.0:
        return
    along_rest, across_rest = ax * rx + ay * ry + az * rz, tx * rx + ty * ry + tz * rz
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        before = nx * x + ny * y + nz * z
        along, across = ax * x + ay * y + az * z, tx * x + ty * y + tz * z
        t = min(max(-before / max(after - before, 1e-300), 0.0), 1.0)
        along, across = along + t * (along_rest - along), across + t * (across_rest - across)
        past = across * cosine - along * sine
        enters = (after > before) & (before <= SLACK) & (across >= -SLACK) & (past <= SLACK)
        best = block[BEST + i]
        block[BEST + i] = t if enters & (t < best) else best


@kernel
def move_into_cone(cone, p, block, n):
    """Move directions along the chord to rest to where they enter the cone; tell if all do."""
    for i in range(n):
        block[BEST + i] = 2.0
    for k in range(int(cone[HERE + COUNT])):
        enter_by_edge(cone, HERE + int(cone[HERE + EDGES]) + EDGE * k, p, block, n)
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    entered = 0
    for i in range(n):
        t, x, y, z = block[BEST + i], block[X + i], block[Y + i], block[Z + i]
        cx, cy, cz = x + t * (rx - x), y + t * (ry - y), z + t * (rz - z)
        size = np.sqrt(cx * cx + cy * cy + cz * cz)
        enters = (t <= 1.0) & (size > 1e-9)
        scale = 1.0 / max(size, 1e-9)
        block[X + i] = cx * scale if enters else x
        block[Y + i] = cy * scale if enters else y
        block[Z + i] = cz * scale if enters else z
        entered += 1 if enters else 0
    return entered == n


@kernel
def measure_lanes(cone, block, n):
    """Write heights over the edges, and what is left of the twist: no boundary is looked for."""
    place(cone, HERE, block, n)
    look_up_limits(cone, HERE, block, n)
    twist(cone, HERE, block, n)


@kernel
def find_legal(cone, p, block, apart, n):
    """Find the legal points for outer directions: where they enter the cone on their way to rest,
    or the nearest ones.

    Outer directions are few, so they are gathered in `apart`, a block of their own.
    """
    numbers = np.empty(LANES + 1)
    outside = 0
    for i in range(n):
        numbers[outside] = i
        outside += 1 if block[HEIGHT + i] < p[LEAST_HEIGHT] else 0
    if outside == 0:
        return
    for j in range(outside):
        i = as_unsigned(numbers[j])
        apart[X + j], apart[Y + j], apart[Z + j] = block[X + i], block[Y + i], block[Z + i]
        apart[T + j] = block[T + i]
    if p[PULL] > 0.0 and move_into_cone(cone, p, apart, outside):
        measure_lanes(cone, apart, outside)
        for j in range(outside):
            apart[PX + j], apart[PY + j], apart[PZ + j] = apart[X + j], apart[Y + j], apart[Z + j]
    else:
        measure_margins(cone, HERE, apart, outside, False)
    for j in range(outside):
        i = as_unsigned(numbers[j])
        block[PX + i], block[PY + i], block[PZ + i] = apart[PX + j], apart[PY + j], apart[PZ + j]
        block[PT + i] = apart[PT + j]


@kernel
def keep_inner(p, block, n):
    """Take inner directions and legal twists as they are, so that they are not moved."""
    least_height, least_margin = p[LEAST_HEIGHT], p[LEAST_MARGIN]
    for i in range(n):
        block[PX + i] = block[X + i]
        block[PY + i] = block[Y + i]
        block[PZ + i] = block[Z + i]
        legal = (block[HEIGHT + i] >= least_height) & (block[MARGIN + i] >= least_margin)
        block[PT + i] = block[T + i] if legal else block[PT + i]


@kernel
def leave(p, block, work, given, angle, center, out, n):
    """Write the transforms, about centres that stay where they are; legal ones bit for bit."""
    least_height, least_margin = p[LEAST_HEIGHT], p[LEAST_MARGIN]
    a, o, angle, c = as_unsigned(given), as_unsigned(out), as_unsigned(angle), as_unsigned(center)
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        legal = (block[HEIGHT + i] >= least_height) & (block[MARGIN + i] >= least_margin)
        legal = legal & (work[angle + i] == 0.0)
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
def joint_cone(p, cone, places, n, stride, work):
    """Write the transforms with legal directions and twists, and their angles about three axes.

    The places are those of transform, angle and centre, then of transform and three angles that are
    written. Angles whose place is negative are not asked for.
    """
    given, angle, center, out = places[0], places[1], places[2], places[3]
    first, second, third = places[4], places[5], places[6]
    block, apart, q = np.empty(BLOCK), np.empty(BLOCK), np.empty(4 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        a, o = base + given, base + out
        enter(p, work, a, base + angle, q, block, m)
        measure_lanes(cone, block, m)
        keep_inner(p, block, m)
        find_legal(cone, p, block, apart, m)
        from_direction_twist(p, REST, block, m)
        leave(p, block, work, a, base + angle, base + center, o, m)
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
