"""Rotations as the direction of a bone and the twist about it, in blocks."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .polynomials import atan_in_pairs, atan_over_root, cos_root, sinc_root
from .rotation import PT, PX, PY, PZ, QW, QX, QY, QZ, T, X, Y, Z


@kernel
def aim(a, o, block, n):
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
def point(a, o, block, n):
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
