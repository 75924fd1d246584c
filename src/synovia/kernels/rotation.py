"""Rotations in blocks of lanes: circular functions, and charts of quaternions and back.

A block is one flat array of rows of LANES numbers (structure of arrays), so that it stays in the
first cache and loops over lanes become vector code. Rows are named by their offset: coordinate x of
lane i is block[X + i]. Blocks are of float64; float32 is converted when it is loaded and stored.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import inlined, kernel
from .vector import (
    Quat,
    Vec3,
    about,
    cross,
    dot,
    norm,
    quat_at,
    quat_dot,
    set_quat,
    vec3_at,
    wrap_angle,
)

# Circular functions as polynomials in u, by Chebyshev interpolation on the interval named: without
# branches and library calls, loops become vector code.


@kernel
def atan_over_root(u):
    """Return atan(√u)/√u for u in [0, 1], to 2e-16.

    Summed in pairs, which wait less for each other than one power after the other; but the 1 is
    added last, so that the rounding of the others does not count.
    """
    square = u * u
    fourth = square * square
    eighth = fourth * fourth
    a = (-0.333333333333307 + 0.1999999999964796 * u) + (
        -0.14285714266926733 + 0.11111110578002083 * u
    ) * square
    b = (-0.09090899793217341 + 0.07692198997458294 * u) + (
        -0.06665764910689723 + 0.058768281144872724 * u
    ) * square
    c = (-0.052374234719188166 + 0.04668745304848529 * u) + (
        -0.040811247503178855 + 0.03387126702700675 * u
    ) * square
    d = (-0.02556862364437174 + 0.01671959606350739 * u) + (
        -0.00899108054265826 + 0.003751138483965141 * u
    ) * square
    e = (-0.0011252544302234645 + 0.00021423810738603946 * u) + (-1.93423475928923e-05 * square)
    rest = (a + b * fourth) + ((c + d * fourth) + e * eighth) * eighth
    return rest * u + 1.0


@kernel
def cos_root(u):
    """Return cos √u for u in [0, 3.86], to 3e-16."""
    p = -1.4845602223097356e-16 * u + 4.773189772358186e-14
    p = p * u - 1.147046152838386e-11
    p = p * u + 2.08767492195548e-09
    p = p * u - 2.7557319092399505e-07
    p = p * u + 2.4801587300229745e-05
    p = p * u - 0.0013888888888880842
    p = p * u + 0.04166666666666642
    p = p * u - 0.49999999999999994
    return p * u + 1.0


@kernel
def sinc_root(u):
    """Return sin √u/√u for u in [0, 3.86], to 1e-16."""
    p = 2.6722226657626883e-15 * u - 7.637178773522992e-13
    p = p * u + 1.6058656122442538e-10
    p = p * u - 2.505209959680481e-08
    p = p * u + 2.7557319106863094e-06
    p = p * u - 0.00019841269840392624
    p = p * u + 0.00833333333333004
    p = p * u - 0.16666666666666619
    return p * u + 1.0


LANES = 96
X, Y, Z = 0, LANES, 2 * LANES  # the point in its chart
PX, PY, PZ = 3 * LANES, 4 * LANES, 5 * LANES  # its projection
DISTANCE = 6 * LANES  # its signed distance from the shape
W0, X0, Y0, Z0 = 7 * LANES, 8 * LANES, 9 * LANES, 10 * LANES  # the given quaternion
QW, QX, QY, QZ = 11 * LANES, 12 * LANES, 13 * LANES, 14 * LANES  # in the chart's frame; the result
OFF_UNIT = 15 * LANES  # sum over blocks of the squared errors of |q|² − 1
T, PT = 16 * LANES, 17 * LANES  # the twist beside a direction, and its projection
SCRATCH = 18 * LANES  # eight rows for the shapes
OTHER_X = 26 * LANES  # the second solution of hinges, three rows
BLOCK = 29 * LANES

MAX_OFF = 0.5  # of |q|² − 1: a quaternion that is farther off is no rotation
FAR = 2.5 * math.pi  # radians: longer vectors are beyond the polynomials' range


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


@inlined
def load(rotations, first, stride, block, n):
    """Copy `n` quaternions into the block, `stride` numbers apart, the first at index `first`.

    Adds the squared errors of |q|² − 1 to OFF_UNIT. The identity takes the place of a quaternion
    whose length is far from 1, or not a number.
    """
    for i in range(n):
        q = quat_at(rotations, first + stride * i)
        off = quat_dot(q, q) - 1.0
        block[OFF_UNIT + i] += off * off
        usable = abs(off) <= MAX_OFF
        block[W0 + i] = q.w if usable else 1.0
        block[X0 + i] = q.x if usable else 0.0
        block[Y0 + i] = q.y if usable else 0.0
        block[Z0 + i] = q.z if usable else 0.0


@kernel
def store(block, n, start, out):
    """Copy the `n` resulting quaternions to `out`, from number `start` on."""
    for i in range(n):
        set_quat(out, 4 * (start + i), lane_quat(block, QW + i))


@kernel
def turn_in(a, o, block, n):
    """Write a · q for the given quaternions q, a at a[o:o+4]."""
    left = quat_at(a, o)
    for i in range(n):
        set_lane_quat(block, QW + i, left * lane_quat(block, W0 + i))


@kernel
def turn_right(a, o, block, n):
    """Multiply every quaternion of the block by the one at a[o:o+4] from the right."""
    right = quat_at(a, o)
    for i in range(n):
        set_lane_quat(block, QW + i, lane_quat(block, QW + i) * right)


@kernel
def is_turn(a, o):
    """Return True if the quaternion at a[o:o+4] is not the identity."""
    return (a[o + 1] != 0.0) | (a[o + 2] != 0.0) | (a[o + 3] != 0.0)


@kernel
def turn_out(a, o, tolerance, block, n):
    """Write a · q, a at a[o:o+4], or the given quaternion where that is inside.

    Of the two quaternions of a rotation, the one nearer to the given one is written.
    """
    left = quat_at(a, o)
    for i in range(n):
        q, given = left * lane_quat(block, QW + i), lane_quat(block, W0 + i)
        side = 1.0 if quat_dot(q, given) >= 0.0 else -1.0
        inside = block[DISTANCE + i] <= tolerance
        block[QW + i] = given.w if inside else side * q.w
        block[QX + i] = given.x if inside else side * q.x
        block[QY + i] = given.y if inside else side * q.y
        block[QZ + i] = given.z if inside else side * q.z


@kernel
def to_rotation_vector(block, n):
    """Write the rotation vectors, at most π long, of the quaternions in the chart's frame.

    With s and w the vector's length and the scalar, tan(angle/4) = s/(|w| + 1): one division and a
    polynomial, good from 0 to π.
    """
    for i in range(n):
        q = lane_quat(block, QW + i)
        d = 1.0 / (abs(q.w) + 1.0)
        v = (d if q.w >= 0.0 else -d) * Vec3(q.x, q.y, q.z)
        u = dot(v, v)
        factor = 4.0 * atan_over_root(u)
        set_lane_vec3(block, X + i, factor * v)


@kernel
def half_angle(angle):
    """Return cosine and sine of half of an angle from −2.5π to 2.5π."""
    u = angle * angle * 0.0625
    cosine, sine = cos_root(u), sinc_root(u)
    return 2.0 * cosine * cosine - 1.0, 0.5 * sine * cosine * angle


@kernel
def from_rotation_vector(block, n):
    """Write the quaternions of the rotation vectors at PX, PY, PZ."""
    for i in range(n):
        v = lane_vec3(block, PX + i)
        u = dot(v, v) * 0.0625
        cosine = cos_root(u)
        sine = sinc_root(u)
        factor = 0.5 * sine * cosine
        block[QW + i] = 2.0 * cosine * cosine - 1.0
        set_lane_vec3(block, QX + i, factor * v)


@kernel
def to_swing_twist(block, n):
    """Write the swing across z and the twist about z of the quaternions as points.

    q = swing · twist. The twist (w, z)/√(w² + z²) is folded to at most π. Where the swing is π,
    w and z are both 0, and the twist is 0: the limit from the side of pure swings.
    """
    for i in range(n):
        w, x, y, z = lane_quat(block, QW + i)
        across = x * x + y * y
        cosine = np.sqrt(w * w + z * z)
        # Twist (c, s) = (w, z)/cosine, swing = q · twist⁻¹; tan(angle/4) of each as above.
        # One division for three.
        safe = max(cosine, 1e-18)
        swinging, twisting = cosine + 1.0, abs(w) + safe
        inverse = 1.0 / (safe * swinging * twisting)
        c = w * (inverse * swinging * twisting) if cosine > 0.0 else 1.0
        s = z * (inverse * swinging * twisting)
        d = inverse * safe * twisting
        factor = 4.0 * d * atan_over_root(across * d * d)
        e = z * (inverse * safe * swinging)
        twist = 4.0 * e * atan_over_root(e * e)
        twist = twist if w >= 0.0 else -twist
        set_lane_vec3(block, X + i, Vec3(factor * (x * c - y * s), factor * (y * c + x * s), twist))


@kernel
def from_swing_twist(block, n):
    """Write the quaternions swing · twist of the points at PX, PY, PZ."""
    for i in range(n):
        x, y, twist = lane_vec3(block, PX + i)
        u = (x * x + y * y) * 0.0625
        cosine, sine = cos_root(u), sinc_root(u)
        w, factor = 2.0 * cosine * cosine - 1.0, 0.5 * sine * cosine
        c, s = half_angle(twist)
        x, y = factor * x, factor * y
        set_lane_quat(block, QW + i, Quat(w * c, x * c + y * s, y * c - x * s, w * s))


@kernel
def direction_and_twist(axis, q):
    """Return the direction to which a quaternion rotates an axis, and the twist about it.

    The twist is at most π. Where the axis is rotated to its opposite, the twist is not defined, and
    0 is returned.
    """
    v = Vec3(q.x, q.y, q.z)
    along = dot(v, axis)
    direction = (q.w * q.w - dot(v, v)) * axis + 2.0 * (along * v + q.w * cross(v, axis))
    # tan(twist/4), as in `to_swing_twist`.
    e = along / max(abs(q.w) + np.sqrt(q.w * q.w + along * along), 1e-18)
    e = e if q.w >= 0.0 else -e
    # Lengths are 1 but for rounding: one step of Newton's method for 1/√ needs no root.
    scale = 0.5 * (3.0 - dot(direction, direction))
    return scale * direction, 4.0 * e * atan_over_root(e * e)


@kernel
def to_direction_twist(a, o, block, n):
    """Write `direction_and_twist` of the quaternions, of the axis at a[o:o+3]."""
    axis = vec3_at(a, o)
    for i in range(n):
        direction, block[T + i] = direction_and_twist(axis, lane_quat(block, QW + i))
        set_lane_vec3(block, X + i, direction)


@kernel
def with_direction_and_twist(axis, q, before, twist_before, direction, twist):
    """Return the quaternion that rotates the axis to a direction, with a twist.

    Where only the twist differs from those of q, this is q twisted by the difference: it is defined
    at the direction opposite the axis, too.
    """
    moved = (direction.x != before.x) | (direction.y != before.y) | (direction.z != before.z)
    # The swing is (|h|/2, a × h/|h|), with h = a + p; to the opposite direction a half turn.
    across = Vec3(1.0, 0.0, 0.0) if abs(axis.x) < 0.5 else Vec3(0.0, 1.0, 0.0)
    half_turn = cross(across, axis)
    half_turn = half_turn / norm(half_turn)
    h = axis + direction
    size = np.sqrt(dot(h, h))
    turned = size > 1e-18
    swing = (1.0 / (size if turned else 1.0)) * cross(axis, h)
    w = 0.5 * size if moved else q.w
    x = (swing.x if turned else half_turn.x) if moved else q.x
    y = (swing.y if turned else half_turn.y) if moved else q.y
    z = (swing.z if turned else half_turn.z) if moved else q.z
    c, s = half_angle(wrap_angle(twist if moved else twist - twist_before))
    return Quat(w, x, y, z) * about(axis, c, s)


@kernel
def from_direction_twist(a, o, block, n):
    """Write the quaternions that rotate the axis at a[o:o+3] to PX, PY, PZ with the twist at PT."""
    axis = vec3_at(a, o)
    for i in range(n):
        q, x, foot = lane_quat(block, QW + i), lane_vec3(block, X + i), lane_vec3(block, PX + i)
        q = with_direction_and_twist(axis, q, x, block[T + i], foot, block[PT + i])
        set_lane_quat(block, QW + i, q)


@kernel
def angle_of(y, x):
    """Return atan2(y, x), 0 at the origin: tan of half of it is y/(|x| + √(x² + y²))."""
    e = y / max(abs(x) + np.sqrt(x * x + y * y), 1e-18)
    angle = 2.0 * e * atan_over_root(e * e)
    beyond = np.pi - angle if y >= 0.0 else -np.pi - angle
    return angle if x >= 0.0 else beyond


@kernel
def to_angles(block, n):
    """Write Z-Y-Z angles of q = z(φ) · y(ψ) · z(θ): φ and θ from −π to π, and ψ from 0 to π.

    (φ + θ)/2 and (φ − θ)/2 are the angles of (w, z) and of (y, −x). Where ψ is 0 or π one of them
    is not defined, and is 0.
    """
    for i in range(n):
        w, x, y, z = lane_quat(block, QW + i)
        plus, minus = angle_of(z, w), angle_of(-x, y)
        psi = 2.0 * angle_of(np.sqrt(x * x + y * y), np.sqrt(w * w + z * z))
        set_lane_vec3(block, X + i, Vec3(wrap_angle(plus + minus), psi, wrap_angle(plus - minus)))


@kernel
def from_angles(block, n):
    """Write the quaternions of the angles at PX, PY, PZ."""
    for i in range(n):
        p = lane_vec3(block, PX + i)
        phi, theta = wrap_angle(p.x), wrap_angle(p.z)
        c, s = half_angle(p.y)
        c_plus, s_plus = half_angle(phi + theta)
        c_minus, s_minus = half_angle(phi - theta)
        set_lane_quat(block, QW + i, Quat(c * c_plus, -s * s_minus, s * c_minus, c * s_plus))
