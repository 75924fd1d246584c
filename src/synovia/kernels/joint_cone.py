"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .charts import angle_of, from_direction_twist, to_direction_twist
from .jit import kernel
from .reach_cone import (
    ANGLE,
    COUNT,
    EDGE,
    EDGES,
    HEIGHT,
    MARGIN,
    look_up_limits,
    measure_margins,
    place,
    twist,
)
from .rotation import (
    BLOCK,
    PT,
    PX,
    PY,
    PZ,
    QW,
    QX,
    QY,
    QZ,
    TURN,
    T,
    X,
    Y,
    Z,
    cos_root,
    sinc_root,
)
from .transforms import LANES, quaternions

HERE = 1  # where a packed cone begins, after its kind
SLACK = 1e-12
# Of the parameters: rest direction and two axes; 1 to pull towards rest, the least twist
# margin and height over an edge that count as inside, and the sense of twists, 1 or -1.
REST, FIRST, SECOND = 0, 3, 6
PULL, LEAST_MARGIN, LEAST_HEIGHT, SENSE = 9, 10, 11, 12
BEST = ANGLE  # where, on its way to rest, a direction enters the cone


# The angles about two axes, and about a bone at rest, whose turns make a rotation.


@kernel
def half_turn(angle):
    """Return the cosine and the sine of half an angle, whole turns taken off."""
    angle -= TURN * np.rint(angle / TURN)
    u = 0.25 * angle * angle
    return cos_root(u, np.float64), 0.5 * angle * sinc_root(u, np.float64)


@kernel
def dot(ax, ay, az, bx, by, bz):
    """Return a · b."""
    return ax * bx + ay * by + az * bz


@kernel
def cross(ax, ay, az, bx, by, bz):
    """Return a × b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def rotate_about(ax, ay, az, angle, x, y, z):
    """Return a vector turned about a unit axis."""
    c, s = half_turn(angle)
    s, v = 2.0 * s * c, 2.0 * s * s  # sine, and 1 - cosine
    ux, uy, uz = cross(ax, ay, az, x, y, z)
    along = ax * x + ay * y + az * z
    return (
        x + s * ux + v * (along * ax - x),
        y + s * uy + v * (along * ay - y),
        z + s * uz + v * (along * az - z),
    )


@kernel
def rotate_by_lane(work, o, i, x, y, z):
    """Return a vector turned by the rotation of lane i."""
    j = o + i
    return (
        work[j] * x + work[j + LANES] * y + work[j + 2 * LANES] * z,
        work[j + 4 * LANES] * x + work[j + 5 * LANES] * y + work[j + 6 * LANES] * z,
        work[j + 8 * LANES] * x + work[j + 9 * LANES] * y + work[j + 10 * LANES] * z,
    )


@kernel
def two_angles(p, work, out, found, n):
    """Write the angles about the first axis and the second whose turns bring rest where R does.

    With v = R rest the second angle solves first · (turned rest) = first · v, by the root nearest
    to 0; where the axes cannot reach v, it comes as near as they can.
    """
    o = out
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    fx, fy, fz = p[FIRST], p[FIRST + 1], p[FIRST + 2]
    sx, sy, sz = p[SECOND], p[SECOND + 1], p[SECOND + 2]
    qx, qy, qz = cross(sx, sy, sz, rx, ry, rz)
    level = dot(rx, ry, rz, sx, sy, sz) * dot(fx, fy, fz, sx, sy, sz)
    cosine, sine = dot(fx, fy, fz, rx, ry, rz) - level, dot(fx, fy, fz, qx, qy, qz)
    size, middle = np.sqrt(cosine * cosine + sine * sine), np.arctan2(sine, cosine)
    reaches = size > 1e-12
    inverse = 1.0 / size if reaches else 0.0
    for i in range(n):
        vx, vy, vz = rotate_by_lane(work, o, i, rx, ry, rz)
        h = min(max((dot(fx, fy, fz, vx, vy, vz) - level) * inverse, -1.0), 1.0)
        half = angle_of(np.sqrt((1.0 - h) * (1.0 + h)), h, np.float64)
        one, other = middle - half, middle + half
        one, other = one - TURN * np.rint(one / TURN), other - TURN * np.rint(other / TURN)
        second = one if abs(one) <= abs(other) else other
        second = second if reaches else 0.0
        wx, wy, wz = rotate_about(sx, sy, sz, second, rx, ry, rz)
        # The angle about the first axis that brings w nearest to v.
        cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
        flat = dot(fx, fy, fz, wx, wy, wz) * dot(fx, fy, fz, vx, vy, vz)
        across, ahead = dot(fx, fy, fz, cx, cy, cz), dot(wx, wy, wz, vx, vy, vz) - flat
        found[i] = angle_of(across, ahead, np.float64)
        found[LANES + i] = second


@kernel
def last_angle(p, work, out, found, n):
    """Write the angle about rest that is left after those in `found`, seen on a vector across."""
    o = out
    rx, ry, rz = p[REST], p[REST + 1], p[REST + 2]
    fx, fy, fz = p[FIRST], p[FIRST + 1], p[FIRST + 2]
    sx, sy, sz = p[SECOND], p[SECOND + 1], p[SECOND + 2]
    ax = 0 if abs(rx) <= abs(ry) and abs(rx) <= abs(rz) else 1
    ax = 2 if abs(rz) < abs(p[REST + ax]) else ax
    away = -p[REST + ax]
    ux, uy, uz = away * rx, away * ry, away * rz
    ux, uy, uz = ux + (ax == 0), uy + (ax == 1), uz + (ax == 2)
    for i in range(n):
        wx, wy, wz = rotate_by_lane(work, o, i, ux, uy, uz)
        wx, wy, wz = rotate_about(fx, fy, fz, -found[i], wx, wy, wz)
        wx, wy, wz = rotate_about(sx, sy, sz, -found[LANES + i], wx, wy, wz)
        cx, cy, cz = cross(ux, uy, uz, wx, wy, wz)
        flat = dot(rx, ry, rz, ux, uy, uz) * dot(rx, ry, rz, wx, wy, wz)
        across, ahead = dot(rx, ry, rz, cx, cy, cz), dot(ux, uy, uz, wx, wy, wz) - flat
        found[2 * LANES + i] = angle_of(across, ahead, np.float64)


# Transforms into the cone and out of it.


@kernel
def enter(p, work, given, angle, q, block, n):
    """Write the quaternions of transforms, each after a twist about rest, and where they point."""
    quaternions(work, given, q, n)
    rx, ry, rz, sense = p[REST], p[REST + 1], p[REST + 2], p[SENSE]
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
    numbers = np.empty(LANES + 1, np.int64)
    outside = 0
    for i in range(n):
        numbers[outside] = i
        outside += 1 if block[HEIGHT + i] < p[LEAST_HEIGHT] else 0
    if outside == 0:
        return
    for j in range(outside):
        i = numbers[j]
        apart[X + j], apart[Y + j], apart[Z + j] = block[X + i], block[Y + i], block[Z + i]
        apart[T + j] = block[T + i]
    if p[PULL] > 0.0 and move_into_cone(cone, p, apart, outside):
        measure_lanes(cone, apart, outside)
        for j in range(outside):
            apart[PX + j], apart[PY + j], apart[PZ + j] = apart[X + j], apart[Y + j], apart[Z + j]
    else:
        measure_margins(cone, HERE, apart, outside, False)
    for j in range(outside):
        i = numbers[j]
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
    a, o, angle, c = given, out, angle, center
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


@kernel("f8[] f8[] i8[] i8 i8 f8[]")
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
