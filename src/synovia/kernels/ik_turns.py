"""One rotation at a time, as numbers: what inverse kinematics needs of quaternions."""

from __future__ import annotations

import math

from .jit import kernel

TINY = 1e-12


@kernel
def product(aw, ax, ay, az, bw, bx, by, bz):
    """Return the quaternion a · b."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@kernel
def turned(w, x, y, z, vx, vy, vz):
    """Return the vector v, turned by a quaternion."""
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


@kernel
def crossed(ax, ay, az, bx, by, bz):
    """Return a × b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def length(x, y, z):
    """Return the length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@kernel
def to_vector(w, x, y, z):
    """Return the rotation vector, at most π long, of a quaternion."""
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = length(x, y, z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > TINY else 2.0
    return factor * x, factor * y, factor * z


@kernel
def from_vector(x, y, z):
    """Return the quaternion of a rotation vector."""
    angle = length(x, y, z)
    factor = math.sin(0.5 * angle) / angle if angle > TINY else 0.5
    return math.cos(0.5 * angle), factor * x, factor * y, factor * z


@kernel
def curl(angle):
    """Return c of J⁻¹ = 1 ± [e]/2 + c [e]², by which log changes as its rotation turns on."""
    if angle < 1e-3:
        return 1.0 / 12.0 + angle * angle / 720.0
    half = 0.5 * angle
    return (1.0 - half / math.tan(half)) / (angle * angle)


@kernel
def onward(ex, ey, ez, side, x, y, z):
    """Return (1 + side [e]/2 + c [e]²) v: how log moves at e, as its rotation turns on by v.

    `side` is 1 for a turn from the right, −1 for one from the left.
    """
    c = curl(length(ex, ey, ez))
    ax, ay, az = crossed(ex, ey, ez, x, y, z)
    bx, by, bz = crossed(ex, ey, ez, ax, ay, az)
    half = 0.5 * side
    return x + half * ax + c * bx, y + half * ay + c * by, z + half * az + c * bz


@kernel
def aside(x, y, z):
    """Return a unit vector across a unit vector."""
    if abs(x) < 0.6:
        ax, ay, az = 0.0, -z, y
    else:
        ax, ay, az = z, 0.0, -x
    size = length(ax, ay, az)
    return ax / size, ay / size, az / size
