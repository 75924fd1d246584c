"""Transforms of bones in the work space of a pose, and instructions of programs that compute them.

The work space of a pose is an array of numbers. A value is named by the offset of its first number:
a scalar has one, a vector three, a transform the twelve of its upper three rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import kernel, record
from .rotation import half_angle
from .vector import (
    IDENTITY,
    Mat3,
    Vec3,
    about,
    apply,
    largest_quat,
    mat3_product,
    matrix_of,
    quat_at,
    quat_dot,
    rotate,
    set_quat,
    set_vec3,
    transposed,
    vec3_at,
    wrap_angle,
)


@record
class Transform(NamedTuple):
    """The map x → turn x + shift; `a * b` applies b first."""

    turn: Mat3
    shift: Vec3

    def __mul__(self, other):
        shift = apply(self.turn, other.shift) + self.shift
        return Transform(mat3_product(self.turn, other.turn), shift)


@kernel
def transform_at(work, o):
    """Return the transform at an offset."""
    turn = Mat3(vec3_at(work, o), vec3_at(work, o + 4), vec3_at(work, o + 8))
    return Transform(turn, Vec3(work[o + 3], work[o + 7], work[o + 11]))


@kernel
def set_transform(work, o, turn, shift):
    """Write the transform x → turn x + shift to an offset."""
    set_vec3(work, o, turn.a)
    set_vec3(work, o + 4, turn.b)
    set_vec3(work, o + 8, turn.c)
    work[o + 3], work[o + 7], work[o + 11] = shift.x, shift.y, shift.z


@kernel
def product(factors, out, work):
    """Write the product of the transforms at the offsets `factors`, the last acting first."""
    whole = transform_at(work, factors[0])
    for k in range(1, factors.shape[0]):
        whole = whole * transform_at(work, factors[k])
    set_transform(work, out, whole.turn, whole.shift)


@kernel
def rotation(p, angle, out, work):
    """Write the rotation by the number at `angle` about a common axis and an interval's own centre.

    p: axis, neutral angle, least, greatest, number of intervals, their inner edges, then each
    interval's centre c and arm d: the translation is c + R d, R the whole rotation.
    """
    given, interval, count = work[angle], 0, int(p[6])
    for k in range(1, count):  # the inner edges ascend
        interval = k if given > p[6 + k] else interval
    clamped = p[4] if given < p[4] else (p[5] if given > p[5] else given)  # NaN stays
    cosine, sine = half_angle(wrap_angle(clamped - p[3]))
    turn, first = matrix_of(about(vec3_at(p, 0), cosine, sine)), 6 + count + 6 * interval
    set_transform(work, out, turn, vec3_at(p, first) + apply(turn, vec3_at(p, first + 3)))


@kernel
def translation(p, along, out, work):
    """Write the translation by an offset p[0:3] and by distances along three directions after it.

    `along` are the offsets of the distances.
    """
    shift = vec3_at(p, 0) + work[along[0]] * vec3_at(p, 3) + work[along[1]] * vec3_at(p, 6)
    shift = shift + work[along[2]] * vec3_at(p, 9)
    set_transform(work, out, matrix_of(IDENTITY), shift)


@kernel
def compensation(p, between, ancestor, out, work):
    """Write the rotation about the point p[0:3] that undoes the rotation of `ancestor`.

    With B the product of the rotations `between` it and the segment, B⁻¹ A⁻¹ B undoes A alone.
    """
    point, turn = vec3_at(p, 0), transposed(transform_at(work, ancestor).turn)
    for k in range(between.shape[0]):
        other = transform_at(work, between[k]).turn
        turn = mat3_product(transposed(other), mat3_product(turn, other))
    set_transform(work, out, turn, point - apply(turn, point))


@kernel
def quaternion_of(turn):
    """Return the quaternion of a rotation matrix, w at least 0."""
    quat, _ = largest_quat(turn)
    scale = 1.0 / np.sqrt(quat_dot(quat, quat))
    return (-scale if quat.w < 0.0 else scale) * quat


@kernel("i8[] f8[,,] f8[,,]")
def forward(parents, rotations, positions):
    """Turn rotations (n, J, 4) and positions (n, J, 3) relative to parents into those in the world.

    In place: a parent is in the world when its children are read.
    """
    for item in range(rotations.shape[0]):
        for j in range(parents.shape[0]):
            up = parents[j]
            if up < 0:
                continue
            parent, own = quat_at(rotations[item, up], 0), rotations[item, j]
            position = positions[item]
            moved = rotate(parent, vec3_at(position[j], 0))
            set_vec3(position[j], 0, vec3_at(position[up], 0) + moved)
            set_quat(own, 0, parent * quat_at(own, 0))
