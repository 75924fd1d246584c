"""Rotations as Z-Y-Z Euler angles, in blocks: q = z(φ) · y(ψ) · z(θ), at X, Y and Z."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .polynomials import atan_over_root, cos_root, sinc_root
from .rotation import PX, PY, PZ, QW, QX, QY, QZ, X, Y, Z


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
