"""Charts in blocks of lanes: direction and twist of a bone, and Z-Y-Z Euler angles."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import (
    PT,
    PX,
    QW,
    T,
    X,
    atan_over_root,
    half_angle,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
)
from .vector import Quat, Vec3, about, cross, dot, norm, vec3_at, wrap_angle


@kernel
def to_direction_twist(a, o, block, n):
    """Write the direction to which quaternions rotate the axis at a[o:o+3], and the twist about it.

    The twist is at most π. Where the axis is rotated to its opposite, the twist is not defined, and
    0 is written.
    """
    axis = vec3_at(a, o)
    for i in range(n):
        q = lane_quat(block, QW + i)
        v = Vec3(q.x, q.y, q.z)
        along = dot(v, axis)
        direction = (q.w * q.w - dot(v, v)) * axis + 2.0 * (along * v + q.w * cross(v, axis))
        # Lengths are 1 but for rounding: one step of Newton's method for 1/√ needs no root.
        set_lane_vec3(block, X + i, 0.5 * (3.0 - dot(direction, direction)) * direction)
        # tan(twist/4), as in `split`.
        e = along / max(abs(q.w) + np.sqrt(q.w * q.w + along * along), 1e-18)
        block[T + i] = e if q.w >= 0.0 else -e
    for i in range(n):  # a short loop of its own, so that polynomials of several lanes overlap
        e = block[T + i]
        block[T + i] = 4.0 * e * atan_over_root(e * e)


@kernel
def from_direction_twist(a, o, block, n):
    """Write the quaternions that rotate the axis at a[o:o+3] to PX, PY, PZ with the twist at PT.

    Where only the twist is new, the quaternion in the block is twisted by the difference: this
    is defined at the direction opposite the axis, too.
    """
    axis = vec3_at(a, o)
    across = Vec3(1.0, 0.0, 0.0) if abs(axis.x) < 0.5 else Vec3(0.0, 1.0, 0.0)
    half_turn = cross(across, axis)  # to the opposite direction
    half_turn = half_turn / norm(half_turn)
    for i in range(n):
        before, p = lane_vec3(block, X + i), lane_vec3(block, PX + i)
        moved = (p.x != before.x) | (p.y != before.y) | (p.z != before.z)
        # The swing is (|h|/2, a × h/|h|), with h = a + p.
        h = axis + p
        size = np.sqrt(dot(h, h))
        turned = size > 1e-18
        swing = (1.0 / (size if turned else 1.0)) * cross(axis, h)
        w, x, y, z = lane_quat(block, QW + i)
        w = 0.5 * size if moved else w
        x = (swing.x if turned else half_turn.x) if moved else x
        y = (swing.y if turned else half_turn.y) if moved else y
        z = (swing.z if turned else half_turn.z) if moved else z
        c, s = half_angle(wrap_angle(block[PT + i] if moved else block[PT + i] - block[T + i]))
        set_lane_quat(block, QW + i, Quat(w, x, y, z) * about(axis, c, s))


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
