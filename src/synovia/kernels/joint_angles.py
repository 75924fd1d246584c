"""The angles about two axes, and about a bone at rest, whose turns make a rotation."""

from __future__ import annotations

import numpy as np

from .charts import angle_of
from .jit import kernel
from .reach_cone import as_unsigned
from .rotation import TURN, cos_root, sinc_root
from .transforms import LANES

REST, FIRST, SECOND = 0, 3, 6  # unit vectors among the parameters


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
    o = as_unsigned(out)
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
    o = as_unsigned(out)
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
