"""Rotations in blocks of lanes: circular functions, quaternion to chart and back."""

from __future__ import annotations

import math

import numpy as np

from .jit import inlined, kernel
from .vector import Quat, Vec3, quat_at, set_quat

# Circular functions as polynomials: no branch, no library call, so loops become vector code.
#
# `real` is the type to compute in. The coefficients are those of Chebyshev interpolation on the
# interval named, in powers of u; float32 needs fewer.


@kernel
def atan_over_root(u, real):
    """Return atan(√u)/√u for u in [0, 1], to 2e-16.

    Summed in pairs, which wait less for each other than one power after the other; but the 1 is
    added last, so that the rounding of the others does not count.
    """
    square = u * u
    fourth = square * square
    eighth = fourth * fourth
    a = (real(-0.333333333333307) + real(0.1999999999964796) * u) + (
        real(-0.14285714266926733) + real(0.11111110578002083) * u
    ) * square
    b = (real(-0.09090899793217341) + real(0.07692198997458294) * u) + (
        real(-0.06665764910689723) + real(0.058768281144872724) * u
    ) * square
    c = (real(-0.052374234719188166) + real(0.04668745304848529) * u) + (
        real(-0.040811247503178855) + real(0.03387126702700675) * u
    ) * square
    d = (real(-0.02556862364437174) + real(0.01671959606350739) * u) + (
        real(-0.00899108054265826) + real(0.003751138483965141) * u
    ) * square
    e = (real(-0.0011252544302234645) + real(0.00021423810738603946) * u) + (
        real(-1.93423475928923e-05) * square
    )
    rest = (a + b * fourth) + ((c + d * fourth) + e * eighth) * eighth
    return rest * u + real(1.0)


@kernel
def atan_in_pairs(u):
    """Return atan(√u)/√u for u in [0, 1], to 5e-14.

    For float64 alone, and for what is compared with limits as exact as that: four terms less.
    """
    square = u * u
    fourth = square * square
    a = (0.9999999999999529 - 0.333333333309179 * u) + (
        0.19999999793216372 - 0.14285707228207567 * u
    ) * square
    b = (0.11110983522633062 - 0.09089500392413241 * u) + (
        0.07681973191148486 - 0.06613449609041708 * u
    ) * square
    c = (0.05682524416240832 - 0.04700284191414538 * u) + (
        0.03544443655247964 - 0.02278861717360462 * u
    ) * square
    d = (0.011592281749386492 - 0.00426835161867844 * u) + (
        0.000995812809390005 - 0.0001094606339388557 * u
    ) * square
    return (a + b * fourth) + (c + d * fourth) * (fourth * fourth)


@kernel
def cos_root(u, real):
    """Return cos √u for u in [0, 3.86], to 3e-16."""
    p = real(-1.4845602223097356e-16)
    p = p * u + real(4.773189772358186e-14)
    p = p * u - real(1.147046152838386e-11)
    p = p * u + real(2.08767492195548e-09)
    p = p * u - real(2.7557319092399505e-07)
    p = p * u + real(2.4801587300229745e-05)
    p = p * u - real(0.0013888888888880842)
    p = p * u + real(0.04166666666666642)
    p = p * u - real(0.49999999999999994)
    return p * u + real(1.0)


@kernel
def sinc_root(u, real):
    """Return sin √u/√u for u in [0, 3.86], to 1e-16."""
    p = real(2.6722226657626883e-15)
    p = p * u - real(7.637178773522992e-13)
    p = p * u + real(1.6058656122442538e-10)
    p = p * u - real(2.505209959680481e-08)
    p = p * u + real(2.7557319106863094e-06)
    p = p * u - real(0.00019841269840392624)
    p = p * u + real(0.00833333333333004)
    p = p * u - real(0.16666666666666619)
    return p * u + real(1.0)


@kernel
def atan_over_root_single(u, real):
    """As `atan_over_root`, for float32: to 2e-8."""
    p = real(0.002766283501762026)
    p = p * u - real(0.01573124912218365)
    p = p * u + real(0.04213762358919304)
    p = p * u - real(0.07456854826004547)
    p = p * u + real(0.10618370636953849)
    p = p * u - real(0.14197797794085124)
    p = p * u + real(0.19991872029109073)
    p = p * u - real(0.33333036709286273)
    return p * u + real(0.9999999817886557)


@kernel
def cos_root_single(u, real):
    """As `cos_root`, for float32: to 2e-8."""
    p = real(-2.523633954279267e-07)
    p = p * u + real(2.4702219115060048e-05)
    p = p * u - real(0.001388691454493305)
    p = p * u + real(0.041666488835908254)
    p = p * u - real(0.4999999413255055)
    return p * u + real(0.9999999968591522)


@kernel
def sinc_root_single(u, real):
    """As `sinc_root`, for float32: to 1e-9."""
    p = real(-2.3257315137201244e-08)
    p = p * u + real(2.7480343938325943e-06)
    p = p * u - real(0.00019839739157494766)
    p = p * u + real(0.008333319540368773)
    p = p * u - real(0.1666666621147838)
    return p * u + real(0.9999999997563277)


# Rotations in blocks: quaternion to chart and back, 96 at a time, without branches.
#
# A block is one flat buffer of rows of LANES numbers (structure of arrays), so that it stays in
# the first cache and every loop below becomes vector instructions. Rows are named by where they
# start: coordinate x of lane i is at block[X + i]. A block has the type of the rotations, `real`,
# and so have all constants: one number of float64 in a loop would halve the pace of float32.


TURN = 2.0 * np.pi  # a whole turn, in radians

LANES = 96
# The point in its chart, its projection, and its signed distance from the shape.
X, Y, Z = 0, LANES, 2 * LANES
PX, PY, PZ = 3 * LANES, 4 * LANES, 5 * LANES
DISTANCE = 6 * LANES
# The quaternion that came in; the one in the chart's frame, and then the one to go out.
W0, X0, Y0, Z0 = 7 * LANES, 8 * LANES, 9 * LANES, 10 * LANES
QW, QX, QY, QZ = 11 * LANES, 12 * LANES, 13 * LANES, 14 * LANES
OFF_UNIT = 15 * LANES  # sum of squared errors of the length, a lane
BOUND = 16 * LANES  # a distance from which on none need be told: what is nearer is known
T, PT = 17 * LANES, 18 * LANES  # the twist beside a direction, and its projection
SCRATCH = 19 * LANES  # for the shapes
OTHER_X, OTHER_Y, OTHER_Z = 27 * LANES, 28 * LANES, 29 * LANES  # a second point, of hinges
SCALE = 30 * LANES  # what a quaternion of any length was multiplied by, to be of length 1
BLOCK = 31 * LANES

FAR = (2.5 * math.pi) ** 2  # |vector|² beyond which `exp` leaves its polynomials


@kernel
def lane_vec3(block, at):
    """Return the vector of a lane: `at` is the row of x and the lane, X + i."""
    return Vec3(block[at], block[at + LANES], block[at + 2 * LANES])


@kernel
def set_lane_vec3(block, at, v):
    """Write the vector of a lane."""
    block[at], block[at + LANES], block[at + 2 * LANES] = v.x, v.y, v.z


@kernel
def lane_quat(block, at):
    """Return the quaternion of a lane: `at` is the row of w and the lane, QW + i."""
    return Quat(block[at], block[at + LANES], block[at + 2 * LANES], block[at + 3 * LANES])


@kernel
def set_lane_quat(block, at, q):
    """Write the quaternion of a lane."""
    block[at], block[at + LANES] = q.w, q.x
    block[at + 2 * LANES], block[at + 3 * LANES] = q.y, q.z


@kernel
def load(rotations, start, block, n):
    """Copy `n` quaternions from number `start` on into the block."""
    load_strided(rotations, 4 * start, 4, block, n)


@kernel
def store(block, n, start, out):
    """Copy the `n` quaternions to go out to `out`, from number `start` on."""
    for i in range(n):
        set_quat(out, 4 * (start + i), lane_quat(block, QW + i))


@inlined
def load_strided(rotations, first, stride, block, n):
    """As `load`, for quaternions `stride` numbers apart, the first at index `first`."""
    for i in range(n):
        set_lane_quat(block, W0 + i, quat_at(rotations, first + stride * i))


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
def is_turn(a, o):
    """Tell whether the quaternion at a[o:o+4] turns anything: whether it is not the identity."""
    return (a[o + 1] != 0.0) | (a[o + 2] != 0.0) | (a[o + 3] != 0.0)


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
    real = block.dtype.type
    zero, one = real(0.0), real(1.0)
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
    to_whole_angles(block, n)


@kernel
def log(block, n):
    """Write the rotation vectors, at most π long, of the quaternions in the chart's frame."""
    real = block.dtype.type
    zero, one = real(0.0), real(1.0)
    for i in range(n):
        w = block[QW + i]
        d = one / (abs(w) + one)
        d = d if w >= zero else -d
        block[X + i] = d * block[QX + i]
        block[Y + i] = d * block[QY + i]
        block[Z + i] = d * block[QZ + i]
    to_whole_angles(block, n)


@kernel
def to_whole_angles(block, n):
    """Lengthen vectors as long as tan(angle/4) to the angle."""
    real, single = block.dtype.type, block.itemsize == 4
    four = real(4.0)
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
