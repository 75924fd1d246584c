"""Charts in blocks of lanes: direction and twist of a bone, and Z-Y-Z Euler angles."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import (
    PT,
    PX,
    PY,
    PZ,
    QW,
    QX,
    QY,
    QZ,
    T,
    X,
    Y,
    Z,
    atan_in_pairs,
    atan_over_root,
    cos_root,
    sinc_root,
)

# Rotations as the direction of a bone and the twist about it, in blocks.


@kernel
def to_direction_twist(a, o, block, n):
    """Write where the quaternions turn the axis at a[o:o+3], and the twist about it, at most π.

    Where the axis is turned to its opposite, the twist is not defined, and 0 is written.
    """
    real, single = block.dtype.type, block.itemsize == 4
    zero, half, two, three = real(0.0), real(0.5), real(2.0), real(3.0)
    four, tiny = real(4.0), real(1e-18)
    ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2])
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        along = x * ax + y * ay + z * az
        straight = w * w - (x * x + y * y + z * z)
        block[X + i] = straight * ax + two * (along * x + w * (y * az - z * ay))
        block[Y + i] = straight * ay + two * (along * y + w * (z * ax - x * az))
        block[Z + i] = straight * az + two * (along * z + w * (x * ay - y * ax))
        # tan(twist/4), as in `split`.
        e = along / max(abs(w) + np.sqrt(w * w + along * along), tiny)
        block[T + i] = e if w >= zero else -e
    for i in range(n):
        e = block[T + i]
        block[T + i] = four * e * (atan_over_root(e * e, real) if single else atan_in_pairs(e * e))
        # Lengths are 1 but for rounding: one step of Newton's method for 1/√ needs no root.
        square = block[X + i] ** 2 + block[Y + i] ** 2 + block[Z + i] ** 2
        inverse = half * (three - square)
        block[X + i] *= inverse
        block[Y + i] *= inverse
        block[Z + i] *= inverse


@kernel
def from_direction_twist(a, o, block, n):
    """Write the quaternions that turn the axis at a[o:o+3] to PX, PY, PZ with the twist at PT.

    Where only the twist is new, the quaternion in the block is twisted by the difference: this
    is defined at the direction opposite the axis, too.
    """
    real = block.dtype.type
    one, two, half = real(1.0), real(2.0), real(0.5)
    turn, part, quarter, tiny = real(2.0 * np.pi), real(0.5 / np.pi), real(0.0625), real(1e-18)
    ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2])
    # Some axis across, for the half turn to the opposite direction.
    if abs(ax) < real(0.5):
        ux, uy, uz = real(0.0), -az, ay
    else:
        ux, uy, uz = az, real(0.0), -ax
    inverse = one / np.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux * inverse, uy * inverse, uz * inverse
    for i in range(n):
        px, py, pz = block[PX + i], block[PY + i], block[PZ + i]
        moved = (px != block[X + i]) | (py != block[Y + i]) | (pz != block[Z + i])
        # The swing is (|h|/2, a × h/|h|), with h = a + p.
        hx, hy, hz = ax + px, ay + py, az + pz
        size = np.sqrt(hx * hx + hy * hy + hz * hz)
        turned = size > tiny
        scale = one / (size if turned else one)
        sx = (ay * hz - az * hy) * scale if turned else ux
        sy = (az * hx - ax * hz) * scale if turned else uy
        sz = (ax * hy - ay * hx) * scale if turned else uz
        w = half * size if moved else block[QW + i]
        x = sx if moved else block[QX + i]
        y = sy if moved else block[QY + i]
        z = sz if moved else block[QZ + i]
        twist = block[PT + i] if moved else block[PT + i] - block[T + i]
        twist -= turn * np.rint(twist * part)
        u = twist * twist * quarter
        cosine, sine = cos_root(u, real), sinc_root(u, real)
        c = two * cosine * cosine - one
        s = half * sine * cosine * twist
        block[QW + i] = w * c - s * (x * ax + y * ay + z * az)
        block[QX + i] = c * x + s * (w * ax + y * az - z * ay)
        block[QY + i] = c * y + s * (w * ay + z * ax - x * az)
        block[QZ + i] = c * z + s * (w * az + x * ay - y * ax)


# Rotations as Z-Y-Z Euler angles, in blocks: q = z(φ) · y(ψ) · z(θ), at X, Y and Z.


@kernel
def angle_of(y, x, real):
    """Return atan2(y, x), 0 at the origin: tan of half of it is y/(|x| + √(x² + y²))."""
    e = y / max(abs(x) + np.sqrt(x * x + y * y), real(1e-18))
    angle = real(2.0) * e * atan_over_root(e * e, real)
    beyond = real(np.pi) - angle if y >= real(0.0) else -real(np.pi) - angle
    return angle if x >= real(0.0) else beyond


@kernel
def to_angles(block, n):
    """Write φ and θ from −π to π, and ψ from 0 to π.

    (φ + θ)/2 and (φ − θ)/2 are the angles of (w, z) and of (y, −x). Where ψ is 0 or π one of them
    is not defined, and is 0.
    """
    real = block.dtype.type
    turn, part, two = real(2.0 * np.pi), real(0.5 / np.pi), real(2.0)
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        plus, minus = angle_of(z, w, real), angle_of(-x, y, real)
        phi, theta = plus + minus, plus - minus
        block[X + i] = phi - turn * np.rint(phi * part)
        block[Y + i] = two * angle_of(np.sqrt(x * x + y * y), np.sqrt(w * w + z * z), real)
        block[Z + i] = theta - turn * np.rint(theta * part)


@kernel
def half_angle(angle, real):
    """Return cosine and sine of half of an angle from −2π to 2π."""
    u = angle * angle * real(0.0625)
    cosine, sine = cos_root(u, real), sinc_root(u, real)
    c = real(2.0) * cosine * cosine - real(1.0)
    return c, real(0.5) * sine * cosine * angle


@kernel
def from_angles(block, n):
    """Write the quaternions of the angles at PX, PY, PZ."""
    real = block.dtype.type
    turn, part = real(2.0 * np.pi), real(0.5 / np.pi)
    for i in range(n):
        phi, psi, theta = block[PX + i], block[PY + i], block[PZ + i]
        phi -= turn * np.rint(phi * part)
        theta -= turn * np.rint(theta * part)
        c, s = half_angle(psi, real)
        c_plus, s_plus = half_angle(phi + theta, real)
        c_minus, s_minus = half_angle(phi - theta, real)
        block[QW + i] = c * c_plus
        block[QX + i] = -s * s_minus
        block[QY + i] = s * c_minus
        block[QZ + i] = c * s_plus
