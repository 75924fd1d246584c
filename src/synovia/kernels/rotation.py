"""Rotations in blocks: quaternion to chart and back, 96 at a time, without branches.

A block is one flat buffer of rows of LANES numbers (structure of arrays), so that it stays in
the first cache and every loop below becomes vector instructions. Rows are named by where they
start: coordinate x of lane i is at block[X + i]. A block has the type of the rotations, `real`,
and so have all constants: one number of float64 in a loop would halve the pace of float32.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .polynomials import (
    atan_over_root,
    atan_over_root_single,
    cos_root,
    cos_root_single,
    sinc_root,
    sinc_root_single,
)

LANES = 96
# The point in its chart, its projection, and its signed distance from the shape.
X, Y, Z = 0, LANES, 2 * LANES
PX, PY, PZ = 3 * LANES, 4 * LANES, 5 * LANES
DISTANCE = 6 * LANES
# The quaternion that came in; the one in the chart's frame, and then the one to go out.
W0, X0, Y0, Z0 = 7 * LANES, 8 * LANES, 9 * LANES, 10 * LANES
QW, QX, QY, QZ = 11 * LANES, 12 * LANES, 13 * LANES, 14 * LANES
OFF_UNIT = 15 * LANES  # sum of squared errors of the length, a lane
T, PT = 17 * LANES, 18 * LANES  # the twist beside a direction, and its projection
SCRATCH = 19 * LANES  # for the shapes
BLOCK = 27 * LANES

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
FAR = (2.5 * math.pi) ** 2  # |vector|² beyond which `exp` leaves its polynomials


@kernel
def load(rotations, start, block, n):
    """Copy `n` quaternions from number `start` on into the block.

    Places are counted without a sign, here and in `store`: a look whether they count from the end
    would keep the loops from becoming vector code.
    """
    part = rotations[4 * start : 4 * (start + n)]
    for i in range(n):
        at = FOUR * np.uint64(i)
        block[W0 + i] = part[at]
        block[X0 + i] = part[at + ONE]
        block[Y0 + i] = part[at + TWO]
        block[Z0 + i] = part[at + THREE]


@kernel
def store(block, n, start, out):
    """Copy the `n` quaternions to go out to `out`, from number `start` on."""
    part = out[4 * start : 4 * (start + n)]
    for i in range(n):
        at = FOUR * np.uint64(i)
        part[at] = block[QW + i]
        part[at + ONE] = block[QX + i]
        part[at + TWO] = block[QY + i]
        part[at + THREE] = block[QZ + i]


@kernel
def load_strided(rotations, first, stride, block, n):
    """As `load`, for quaternions that lie `stride` numbers apart, from number `first` on."""
    for i in range(n):
        at = first + stride * i
        block[W0 + i] = rotations[at]
        block[X0 + i] = rotations[at + 1]
        block[Y0 + i] = rotations[at + 2]
        block[Z0 + i] = rotations[at + 3]


@kernel
def turn_in(a, o, block, n):
    """Write a · q for what came in, a at a[o:o+4], and note lengths that are off."""
    real = block.dtype.type
    one = real(1.0)
    aw, ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2]), real(a[o + 3])
    for i in range(n):
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        block[QW + i] = aw * w - ax * x - ay * y - az * z
        block[QX + i] = aw * x + ax * w + ay * z - az * y
        block[QY + i] = aw * y - ax * z + ay * w + az * x
        block[QZ + i] = aw * z + ax * y - ay * x + az * w
        off = w * w + x * x + y * y + z * z - one
        block[OFF_UNIT + i] += off * off


@kernel
def turn_right(a, o, block, n):
    """Multiply every quaternion of the block by the one at a[o:o+4] from the right."""
    real = block.dtype.type
    aw, ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2]), real(a[o + 3])
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        block[QW + i] = w * aw - x * ax - y * ay - z * az
        block[QX + i] = w * ax + x * aw + y * az - z * ay
        block[QY + i] = w * ay - x * az + y * aw + z * ax
        block[QZ + i] = w * az + x * ay - y * ax + z * aw


@kernel
def turn_out(a, o, tolerance, block, n):
    """Write a · q, a at a[o:o+4], or what came in, where that is inside.

    Of the two quaternions of a rotation, the one on the side of what came in.
    """
    real = block.dtype.type
    zero, one, slack = real(0.0), real(1.0), real(tolerance)
    aw, ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2]), real(a[o + 3])
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        qw = aw * w - ax * x - ay * y - az * z
        qx = aw * x + ax * w + ay * z - az * y
        qy = aw * y - ax * z + ay * w + az * x
        qz = aw * z + ax * y - ay * x + az * w
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        side = one if w * qw + x * qx + y * qy + z * qz >= zero else -one
        inside = block[DISTANCE + i] <= slack
        block[QW + i] = w if inside else side * qw
        block[QX + i] = x if inside else side * qx
        block[QY + i] = y if inside else side * qy
        block[QZ + i] = z if inside else side * qz


@kernel
def turn_in_and_log(a, o, block, n):
    """Write the rotation vectors, at most π long, of a · q for what came in, a at a[o:o+4].

    With s and w the vector's length and the scalar, tan(angle/4) = s/(|w| + 1): one division
    and a polynomial, good from 0 to π. Notes lengths that are off, as `turn_in` does. In two
    loops: of a long one too little fits into the processor to go on while it waits.
    """
    real, single = block.dtype.type, block.itemsize == 4
    zero, one, four = real(0.0), real(1.0), real(4.0)
    aw, ax, ay, az = real(a[o]), real(a[o + 1]), real(a[o + 2]), real(a[o + 3])
    for i in range(n):
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        off = w * w + x * x + y * y + z * z - one
        block[OFF_UNIT + i] += off * off
        qw = aw * w - ax * x - ay * y - az * z
        qx = aw * x + ax * w + ay * z - az * y
        qy = aw * y - ax * z + ay * w + az * x
        qz = aw * z + ax * y - ay * x + az * w
        d = one / (abs(qw) + one)
        d = d if qw >= zero else -d
        block[X + i] = d * qx
        block[Y + i] = d * qy
        block[Z + i] = d * qz
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        u = x * x + y * y + z * z
        factor = four * (atan_over_root_single(u, real) if single else atan_over_root(u, real))
        block[X + i] = factor * x
        block[Y + i] = factor * y
        block[Z + i] = factor * z


@kernel
def exp(block, n):
    """Write the quaternions of the rotation vectors at PX, PY, PZ."""
    real, single = block.dtype.type, block.itemsize == 4
    one, two, half, sixteenth = real(1.0), real(2.0), real(0.5), real(0.0625)
    for i in range(n):
        x, y, z = block[PX + i], block[PY + i], block[PZ + i]
        u = (x * x + y * y + z * z) * sixteenth
        cosine = cos_root_single(u, real) if single else cos_root(u, real)
        sine = sinc_root_single(u, real) if single else sinc_root(u, real)
        factor = half * sine * cosine
        block[QW + i] = two * cosine * cosine - one
        block[QX + i] = factor * x
        block[QY + i] = factor * y
        block[QZ + i] = factor * z


@kernel
def exp_far(block, n):
    """As `exp`, for vectors of any length."""
    for i in range(n):
        x, y, z = block[PX + i], block[PY + i], block[PZ + i]
        half = 0.5 * np.sqrt(x * x + y * y + z * z)
        factor = 0.5 * np.sin(half) / half if half > 0.0 else 0.5
        block[QW + i] = np.cos(half)
        block[QX + i] = factor * x
        block[QY + i] = factor * y
        block[QZ + i] = factor * z


@kernel
def split(block, n):
    """Write the swing across z and the twist about z of the quaternions as points.

    q = swing · twist. The twist (w, z)/√(w² + z²) is folded to at most π. Where the swing is π,
    w and z are both 0, and the twist is 0: the limit from the side of pure swings.
    """
    real = block.dtype.type
    zero, one, four, tiny = real(0.0), real(1.0), real(4.0), real(1e-18)
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        across = x * x + y * y
        cosine = np.sqrt(w * w + z * z)
        # Twist (c, s) = (w, z)/cosine, swing = q · twist⁻¹; tan(angle/4) of each as in `log`.
        # One division for three.
        safe = max(cosine, tiny)
        swinging, twisting = cosine + one, abs(w) + safe
        inverse = one / (safe * swinging * twisting)
        c = w * (inverse * swinging * twisting) if cosine > zero else one
        s = z * (inverse * swinging * twisting)
        d = inverse * safe * twisting
        factor = four * d * atan_over_root(across * d * d, real)
        block[X + i] = factor * (x * c - y * s)
        block[Y + i] = factor * (y * c + x * s)
        e = z * (inverse * safe * swinging)
        twist = four * e * atan_over_root(e * e, real)
        block[Z + i] = twist if w >= zero else -twist


@kernel
def join(block, n):
    """Write the quaternions swing · twist of the points at PX, PY, PZ."""
    real = block.dtype.type
    one, two, half, sixteenth = real(1.0), real(2.0), real(0.5), real(0.0625)
    for i in range(n):
        x, y, twist = real(block[PX + i]), real(block[PY + i]), real(block[PZ + i])
        u = (x * x + y * y) * sixteenth
        cosine, sine = cos_root(u, real), sinc_root(u, real)
        w = two * cosine * cosine - one
        factor = half * sine * cosine
        x, y = factor * x, factor * y
        v = twist * twist * sixteenth
        cosine, sine = cos_root(v, real), sinc_root(v, real)
        c = two * cosine * cosine - one
        s = half * sine * cosine * twist
        block[QW + i] = w * c
        block[QX + i] = x * c + y * s
        block[QY + i] = y * c - x * s
        block[QZ + i] = w * s


@kernel
def join_far(block, n):
    """As `join`, for swings and twists of any size."""
    for i in range(n):
        x, y, twist = block[PX + i], block[PY + i], block[PZ + i]
        half = 0.5 * np.sqrt(x * x + y * y)
        w = np.cos(half)
        factor = 0.5 * np.sin(half) / half if half > 0.0 else 0.5
        x, y = factor * x, factor * y
        c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
        block[QW + i] = w * c
        block[QX + i] = x * c + y * s
        block[QY + i] = y * c - x * s
        block[QZ + i] = w * s
