"""Rotations in the forms that networks put out: to unit quaternions, and gradients back to them.

Values of rotation i begin at `first + stride · i` of a flat array of float64 or float32. Gradients
by the rotation vector ω of q · exp(ω) are in the three rows from GX on; those by values are added
to `gradients`, at the same indices.
"""

from __future__ import annotations

import numpy as np

from .jit import inlined, kernel
from .rotation import (
    LANES,
    SCALE,
    SCRATCH,
    W0,
    X0,
    cos_root,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
    sinc_root,
)
from .vector import (
    Mat3,
    Quat,
    cross,
    dot,
    largest_quat,
    mat3_at,
    quat_at,
    quat_dot,
    transposed,
    vec3_at,
    wrap_angle,
)

QUATERNION, VECTOR, SIX, MATRIX = range(4)  # as `synovia.torch` numbers its forms

GX = SCRATCH  # rows of the gradient, three
V0 = SCRATCH + 3 * LANES  # rows of up to four values, then of the gradients by them


@kernel
def half_angle_of(square):
    """Return the angle φ of a length² less whole turns, as a share, and cos φ/2 and sinc φ/2."""
    length = np.sqrt(square)
    angle = wrap_angle(length)
    share = angle / length if length > 1e-9 else 1.0
    u = angle * angle * 0.0625
    cosine, sine = cos_root(u), sinc_root(u)
    return share, 2.0 * cosine * cosine - 1.0, sine * cosine


@kernel
def load_form(values, form, first, stride, block, n):
    """Write unit quaternions of `n` rotations of a form of the block."""
    if form == QUATERNION:
        load_quaternions(values, first, stride, block, n)
    elif form == VECTOR:
        load_vectors(values, first, stride, block, n)
    else:
        load_matrices(values, form, first, stride, block, n)


@kernel
def add_form(values, form, first, stride, block, n, gradients):
    """Add gradients by the values of `n` rotations of a form, which were loaded, to `gradients`."""
    if form == QUATERNION:
        add_by_quaternions(first, stride, block, n, gradients)
    elif form == VECTOR:
        add_by_vectors(values, first, stride, block, n, gradients)
    elif form == SIX:
        add_by_columns(values, first, stride, block, n, gradients)
    else:
        add_by_matrices(values, first, stride, block, n, gradients)


@kernel
def write_form(values, form, first, size, block, n, gradients):
    """As `add_form`, but overwrite the gradients, of rotations one after another."""
    for k in range(first, first + size * n):
        gradients[k] = 0.0
    add_form(values, form, first, size, block, n, gradients)


@kernel
def gather(values, first, stride, count, row, block, n):
    """Copy `count` numbers of each rotation to rows of the block, from `row` on."""
    for k in range(count):
        for i in range(n):
            block[row + k * LANES + i] = float(values[first + stride * i + k])


@kernel
def add_to(array, at, value):
    """Add a number to an element of an array of float64 or float32."""
    array[at] = float(array[at]) + value


@inlined
def scatter(count, block, n, first, stride, gradients):
    """Add the rows from V0 on to `count` numbers of each rotation."""
    for i in range(n):
        for k in range(count):
            add_to(gradients, first + stride * i + k, block[V0 + k * LANES + i])


@kernel
def load_quaternions(values, first, stride, block, n):
    """Write quaternions scaled to length 1, and the factors; none may be of length 0."""
    if stride == 4:  # with a known stride, the loop becomes vector code
        for i in range(n):
            set_lane_quat(block, W0 + i, quat_at(values, first + 4 * i))
    else:
        gather(values, first, stride, 4, W0, block, n)
    for i in range(n):
        q = lane_quat(block, W0 + i)
        scale = 1.0 / np.sqrt(quat_dot(q, q))
        block[SCALE + i] = scale
        set_lane_quat(block, W0 + i, scale * q)


@kernel
def by_quaternion(q, g):
    """Return 2 q · (0, g), the gradient by a unit quaternion q, g by its turns."""
    return 2.0 * q * Quat(0.0, g.x, g.y, g.z)


@kernel
def add_by_quaternions(first, stride, block, n, gradients):
    """Add gradients by quaternions, which were loaded."""
    for i in range(n):
        by = by_quaternion(lane_quat(block, W0 + i), block[SCALE + i] * lane_vec3(block, GX + i))
        set_lane_quat(block, V0 + i, by)
    if stride == 4:
        scatter(4, block, n, first, 4, gradients)
    else:
        scatter(4, block, n, first, stride, gradients)


@kernel
def load_vectors(values, first, stride, block, n):
    """Write the quaternions of rotation vectors of any length."""
    gather(values, first, stride, 3, X0, block, n)
    for i in range(n):
        v = lane_vec3(block, X0 + i)
        share, cosine, sine = half_angle_of(dot(v, v))
        block[W0 + i] = cosine
        set_lane_vec3(block, X0 + i, (0.5 * share * sine) * v)


@kernel
def add_by_vectors(values, first, stride, block, n, gradients):
    """Add g + a v × g + b v × (v × g): by the transposed right Jacobian of the exponential.

    a = (1 − cos θ)/θ² and b = (θ − sin θ)/θ³.
    """
    gather(values, first, stride, 3, V0, block, n)
    for i in range(n):
        v, g = lane_vec3(block, V0 + i), lane_vec3(block, GX + i)
        square = dot(v, v)
        share, cosine, sine = half_angle_of(square)
        sine *= share
        near = 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0))
        far = (1.0 - sine * cosine) / max(square, 1e-3)
        a, b = 0.5 * sine * sine, near if square < 1e-2 else far
        across = cross(v, g)
        set_lane_vec3(block, V0 + i, g + a * across + b * cross(v, across))
    scatter(3, block, n, first, stride, gradients)


@kernel
def unit(a):
    """Return a vector scaled to length 1, and its length before."""
    length = np.sqrt(dot(a, a))
    return a / length, length


@kernel
def orthonormal(values, at):
    """Return the axes x, y, z of two columns, |first|, and the second across it and along it."""
    b = vec3_at(values, at + 3)
    x, length = unit(vec3_at(values, at))
    z, across = unit(cross(x, b))
    return x, cross(z, x), z, length, across, dot(b, x)


@kernel
def load_matrices(values, form, first, stride, block, n):
    """Write the quaternions of matrices, or of two columns of them."""
    for i in range(n):
        at = first + stride * i
        m = mat3_at(values, at) if form == MATRIX else columns_at(values, at)
        q, _ = largest_quat(m)
        set_lane_quat(block, W0 + i, (1.0 / np.sqrt(quat_dot(q, q))) * q)


@kernel
def columns_at(values, at):
    """Return the rotation matrix of two columns."""
    x, y, z, _, _, _ = orthonormal(values, at)
    return transposed(Mat3(x, y, z))


@kernel
def add_by_columns(values, first, stride, block, n, gradients):
    """Add gradients by two columns a and b, of which x = a/|a| and z is along x × b.

    A turn ω changes x by y ω_z − z ω_y, and the plane of both by ω_x: so ω_z is y · da/|a|,
    ω_y is −z · da/|a|, and ω_x is z · db, less what a has turned of b, over the part of b across.
    """
    for i in range(n):
        at = first + stride * i
        _, y, z, length, across, along = orthonormal(values, at)
        g = lane_vec3(block, GX + i)
        gx, gz = g.x / across, g.z / length
        gy = (g.y + gx * along) / length
        for k in range(3):
            add_to(gradients, at + k, gz * y[k] - gy * z[k])
            add_to(gradients, at + 3 + k, gx * z[k])


@kernel
def add_by_matrices(values, first, stride, block, n, gradients):
    """Add gradients by matrices: those by the quaternion that is linear in them, spread."""
    for i in range(n):
        at = first + stride * i
        q, row = largest_quat(mat3_at(values, at))
        dw, dx, dy, dz = by_quaternion(q, lane_vec3(block, GX + i) / quat_dot(q, q))
        # By the differences m21 − m12 …, by the sums m01 + m10 …, and by the diagonal.
        ax = dx if row == 0 else (dw if row == 1 else 0.0)
        ay = dy if row == 0 else (dw if row == 2 else 0.0)
        az = dz if row == 0 else (dw if row == 3 else 0.0)
        xy = dy if row == 1 else (dx if row == 2 else 0.0)
        zx = dz if row == 1 else (dx if row == 3 else 0.0)
        yz = dz if row == 2 else (dy if row == 3 else 0.0)
        own = dw if row == 0 else (dx if row == 1 else (dy if row == 2 else dz))
        add_to(gradients, at, own if row <= 1 else -own)
        add_to(gradients, at + 4, own if row == 0 or row == 2 else -own)
        add_to(gradients, at + 8, own if row == 0 or row == 3 else -own)
        add_to(gradients, at + 1, xy - az)
        add_to(gradients, at + 3, xy + az)
        add_to(gradients, at + 2, zx + ay)
        add_to(gradients, at + 6, zx - ay)
        add_to(gradients, at + 5, yz - ax)
        add_to(gradients, at + 7, yz + ax)
