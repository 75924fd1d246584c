"""Rotations in the forms that networks put out: to unit quaternions, and gradients back to them."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .vector import (
    IDENTITY,
    Mat3,
    conj,
    cross,
    exp,
    largest_quat,
    mat3_at,
    norm,
    normalize,
    quat_at,
    quat_dot,
    set_quat,
    transposed,
    vec3_at,
)

QUATERNION, VECTOR, SIX, MATRIX = range(4)  # as `synovia.torch` numbers its forms
MAX_SIZE = 9  # numbers of a rotation in any form
NUDGE = 1e-5  # of a number, for differences: radians of a vector, else a share of the whole


@kernel
def to_quat(values, at, form, rounding):
    """Return the unit quaternion of the rotation at `values[at:]`.

    A quaternion whose squared length is 1 up to `rounding` is returned as it is.
    """
    if form == QUATERNION:
        q = quat_at(values, at)
        return q if abs(quat_dot(q, q) - 1.0) <= rounding else normalize(q)
    if form == VECTOR:
        return exp(vec3_at(values, at))
    if form == SIX:
        x, y = vec3_at(values, at), vec3_at(values, at + 3)
        x = x / norm(x)
        z = cross(x, y)
        z = z / norm(z)
        q, _ = largest_quat(transposed(Mat3(x, cross(z, x), z)))
        return normalize(q)
    q, _ = largest_quat(mat3_at(values, at))
    return normalize(q)


@kernel
def add_gradient(values, at, form, size, by, gradients):
    """Add the gradient by the numbers of a rotation, given the one by its unit quaternion.

    It comes from central differences of the quaternion, to about 1e-10. Quaternions have a formula:
    of g the part across q, over the length of q.
    """
    moved, q, square = np.empty(MAX_SIZE), to_quat(values, at, form, 0.0), 0.0
    if form == QUATERNION:
        given = quat_at(values, at)
        across = (1.0 / np.sqrt(quat_dot(given, given))) * (by - quat_dot(by, q) * q)
        set_quat(gradients, at, quat_at(gradients, at) + across)
        return
    for k in range(size):
        moved[k] = float(values[at + k])
        square += moved[k] * moved[k]
    nudge = NUDGE * (1.0 if form == VECTOR else np.sqrt(square))
    for k in range(size):
        before, slope = moved[k], 0.0
        for side in range(2):
            step = nudge if side == 0 else -nudge
            moved[k] = before + step
            other = to_quat(moved, 0, form, 0.0)
            slope += (0.5 if quat_dot(other, q) >= 0.0 else -0.5) * quat_dot(by, other) / step
        moved[k] = before
        gradients[at + k] = float(gradients[at + k]) + slope


@kernel
def product_of(values, layout, path, start, first, last, rounding):
    """Return the product of some rotations of a path, the first acting last."""
    product = IDENTITY
    for k in range(first, last):
        at = start + layout[1] * path[1 + k]
        product = product * to_quat(values, at, layout[0], rounding)
    return product


@kernel("f8[] i8[] i8[,] f8 f8[]", "f4[] i8[] i8[,] f8 f4[]")
def relative(values, layout, paths, rounding, out):
    """Write the rotations of joints relative to ancestors, (poses, paths, 4), flat.

    `layout` is the form of `values`, its size, and how many joints a pose has; a row of `paths` has
    how many joints a rotation is the product of, and these, from the outermost on.
    """
    stride, count = layout[1] * layout[2], paths.shape[0]
    for i in range(values.shape[0] // stride):
        for k in range(count):
            q = product_of(values, layout, paths[k], i * stride, 0, paths[k, 0], rounding)
            set_quat(out, 4 * (i * count + k), q)


@kernel("f8[] i8[] i8[,] f8[] f8[]", "f4[] i8[] i8[,] f4[] f4[]")
def add_gradients(values, layout, paths, by, gradients):
    """Add gradients by values, given those by what `relative` writes.

    With r = a · q · b, the gradient by q is ā · g · b̄ for the gradient g by r.
    """
    stride, count = layout[1] * layout[2], paths.shape[0]
    for i in range(values.shape[0] // stride):
        for k in range(count):
            path, start, g = paths[k], i * stride, quat_at(by, 4 * (i * count + k))
            if quat_dot(g, g) == 0.0:
                continue
            for j in range(path[0]):
                before = product_of(values, layout, path, start, 0, j, 0.0)
                after = product_of(values, layout, path, start, j + 1, path[0], 0.0)
                at = start + layout[1] * path[1 + j]
                own = conj(before) * g * conj(after)
                add_gradient(values, at, layout[0], layout[1], own, gradients)
