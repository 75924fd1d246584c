"""Transforms of many bones at once: rows of LANES numbers in one flat work space.

The work space is in blocks of `stride` numbers, each for LANES poses. A value is named by where
its first row starts in a block: a scalar has one row, a vector 3, a transform the 12 of its upper
three rows; lane i of row k is at [value + k · LANES + i]. So every loop over lanes is vector code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import kernel, record
from .rotation import LANES, half_angle, lane_vec3, set_lane_vec3
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

ROW = 4 * LANES  # from one row of a transform's matrix to the next


@record
class Transform(NamedTuple):
    """The map x → turn x + shift; `a * b` applies b first."""

    turn: Mat3
    shift: Vec3

    def __mul__(self, other):
        shift = apply(self.turn, other.shift) + self.shift
        return Transform(mat3_product(self.turn, other.turn), shift)


@kernel
def turn_at(work, o):
    """Return the matrix of the transform at `o`, its first row and the lane."""
    return Mat3(lane_vec3(work, o), lane_vec3(work, o + ROW), lane_vec3(work, o + 2 * ROW))


@kernel
def set_turn(work, o, turn):
    """Write the matrix of the transform at `o`."""
    set_lane_vec3(work, o, turn.a)
    set_lane_vec3(work, o + ROW, turn.b)
    set_lane_vec3(work, o + 2 * ROW, turn.c)


@kernel
def shift_at(work, o):
    """Return the translation of the transform at `o`."""
    last = o + 3 * LANES
    return Vec3(work[last], work[last + ROW], work[last + 2 * ROW])


@kernel
def set_shift(work, o, shift):
    """Write the translation of the transform at `o`."""
    last = o + 3 * LANES
    work[last], work[last + ROW], work[last + 2 * ROW] = shift.x, shift.y, shift.z


@kernel
def load(table, values, n, stride, work):
    """Copy each column of `table` (n, columns) to the row that `values` names."""
    for column in range(table.shape[1]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[column]
            for i in range(min(LANES, n - start)):
                work[here + i] = table[start + i, column]


@kernel
def fill(numbers, values, n, stride, work):
    """Write each number to all lanes of the row that `values` names."""
    for k in range(values.shape[0]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[k]
            for i in range(min(LANES, n - start)):
                work[here + i] = numbers[k]


@kernel
def store(values, n, stride, work, first, table):
    """Copy the rows that `values` names to the columns of `table` (n, columns), from `first` on."""
    for column in range(values.shape[0]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[column]
            for i in range(min(LANES, n - start)):
                table[start + i, first + column] = work[here + i]


@kernel
def product(factors, out, n, stride, work):
    """Write the product of the transforms that `factors` name, the last acting first."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, a = base + out, base + factors[0]
        for i in range(m):
            set_turn(work, o + i, turn_at(work, a + i))
            set_shift(work, o + i, shift_at(work, a + i))
        for k in range(1, factors.shape[0]):
            b = base + factors[k]
            for i in range(m):
                left = Transform(turn_at(work, o + i), shift_at(work, o + i))
                whole = left * Transform(turn_at(work, b + i), shift_at(work, b + i))
                set_turn(work, o + i, whole.turn)
                set_shift(work, o + i, whole.shift)


@kernel
def rotation(p, angle, out, n, stride, work):
    """Write the turns by `angle` about a common axis and each interval's own centre.

    p: axis, neutral angle, least, greatest, number of intervals, their inner edges, then each
    interval's centre c and arm d: the translation is c + R d, R the whole turn.
    """
    axis, neutral, low, high, count = vec3_at(p, 0), p[3], p[4], p[5], int(p[6])
    first = 6 + count  # after count - 1 inner edges
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, a = base + out, base + angle
        center, arm = vec3_at(p, first), vec3_at(p, first + 3)
        for i in range(m):
            given = work[a + i]
            given = low if given < low else given
            turn = wrap_angle((high if given > high else given) - neutral)
            cosine, sine = half_angle(turn)
            matrix = matrix_of(about(axis, cosine, sine))
            set_turn(work, o + i, matrix)
            set_shift(work, o + i, center + apply(matrix, arm))
        for k in range(1, count):
            edge = p[6 + k]
            center, arm = vec3_at(p, first + 6 * k), vec3_at(p, first + 6 * k + 3)
            for i in range(m):
                shift, moved = shift_at(work, o + i), center + apply(turn_at(work, o + i), arm)
                set_shift(work, o + i, moved if work[a + i] > edge else shift)


@kernel
def translation(p, along, out, n, stride, work):
    """Write the translations by an offset p[0:3] and the ways `along` three directions after it."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, u, v, w = base + out, base + along[0], base + along[1], base + along[2]
        offset, turn = vec3_at(p, 0), matrix_of(IDENTITY)
        one, two, three = vec3_at(p, 3), vec3_at(p, 6), vec3_at(p, 9)
        for i in range(m):
            set_turn(work, o + i, turn)
            way = work[u + i] * one + work[v + i] * two + work[w + i] * three
            set_shift(work, o + i, offset + way)


@kernel
def compensation(p, between, ancestor, out, n, stride, work):
    """Write the turns about the point p[0:3] that undo the rotation of `ancestor`.

    With B the product of the rotations `between` it and the segment, B⁻¹ A⁻¹ B undoes A alone.
    """
    point = vec3_at(p, 0)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, a = base + out, base + ancestor
        for i in range(m):
            set_turn(work, o + i, transposed(turn_at(work, a + i)))
        for k in range(between.shape[0]):
            b = base + between[k]
            for i in range(m):
                turn, other = turn_at(work, o + i), turn_at(work, b + i)
                undone = mat3_product(transposed(other), mat3_product(turn, other))
                set_turn(work, o + i, undone)
        for i in range(m):
            set_shift(work, o + i, point - apply(turn_at(work, o + i), point))


# From the transforms of bones to the rotations and positions of a pose.


@kernel
def quaternion_of(turn):
    """Return the quaternion of a rotation matrix, w at least 0."""
    quat, _ = largest_quat(turn)
    scale = 1.0 / np.sqrt(quat_dot(quat, quat))
    return (-scale if quat.w < 0.0 else scale) * quat


@kernel
def pose(segments, transforms, offsets, n, stride, work, rotations, positions):
    """Write the rotations and positions of some segments, as their parents see them.

    `transforms[k]` names the transform of segment number `segments[k]`; the lanes are the poses
    of rotations (n, joints, 4) and positions (n, joints, 3).
    """
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for k in range(transforms.shape[0]):
            o, j = base + transforms[k], segments[k]
            offset = vec3_at(offsets[j], 0)
            for i in range(m):
                set_quat(rotations[start + i, j], 0, quaternion_of(turn_at(work, o + i)))
                set_vec3(positions[start + i, j], 0, offset + shift_at(work, o + i))


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
