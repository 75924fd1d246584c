"""Rotations in the forms that networks put out: to unit quaternions, and gradients back to them.

Values of rotation i begin at `first + stride · i` of a flat array. A block may be of float64 where
values are of float32. Gradients by the vector ω of a turn q · exp(ω) stand in the rows GX, GY, GZ;
those by values are added to what stands in `gradients`, at the same places.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import (
    LANES,
    SCALE,
    SCRATCH,
    TURN,
    W0,
    X0,
    Y0,
    Z0,
    cos_root,
    set_lane_quat,
    sinc_root,
)
from .vector import Quat, Vec3, cross, dot, quat_dot

QUATERNION, VECTOR, SIX, MATRIX = range(4)  # as `synovia.torch` numbers its forms

GX, GY, GZ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES  # rows of the gradient
V0 = SCRATCH + 3 * LANES  # and of up to four values, then of the gradients by them
NEAR_UNIT = 1e-5  # |q|² − 1 of which the cube is rounding


@kernel
def half_angle_of(square, real):
    """Return the angle φ of a length² less whole turns, as a share, and cos φ/2 and sinc φ/2."""
    length = np.sqrt(square)
    angle = length - real(TURN) * np.rint(length * real(1.0 / TURN))
    share = angle / length if length > real(1e-9) else real(1.0)
    u = angle * angle * real(0.0625)
    cosine, sine = cos_root(u, real), sinc_root(u, real)
    return share, real(2.0) * cosine * cosine - real(1.0), sine * cosine


@kernel
def load_form(values, form, first, stride, block, n):
    """Write unit quaternions of `n` rotations of a form into the rows that come in."""
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
    """As `add_form`, over what stood there, for rotations one after another."""
    if form == QUATERNION:
        write_by_quaternions(first, block, n, gradients)
        return
    kind = gradients.dtype.type
    for k in range(first, first + size * n):
        gradients[k] = kind(0.0)
    add_form(values, form, first, size, block, n, gradients)


@kernel
def gather(values, first, stride, count, row, block, n):
    """Copy `count` numbers of each rotation to rows, on which arithmetic becomes vector code."""
    real = block.dtype.type
    for k in range(count):
        for i in range(n):
            block[row + k * LANES + i] = real(values[first + stride * i + k])


@kernel
def scatter(count, block, n, first, stride, gradients):
    """Add the rows from V0 on to `count` numbers of each rotation."""
    kind = gradients.dtype.type
    for i in range(n):
        for k in range(count):
            gradients[first + stride * i + k] += kind(block[V0 + k * LANES + i])


@kernel
def load_quaternions(values, first, stride, block, n):
    """Write quaternions, of length 1, and what made them so; none is of length 0."""
    real = block.dtype.type
    if stride == 4:  # one after another: with a known stride, the loop becomes vector code
        for i in range(n):
            at = first + 4 * i
            block[W0 + i], block[X0 + i] = real(values[at]), real(values[at + 1])
            block[Y0 + i], block[Z0 + i] = real(values[at + 2]), real(values[at + 3])
    else:
        gather(values, first, stride, 4, W0, block, n)
    far = 0
    for i in range(n):
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        off = w * w + x * x + y * y + z * z - real(1.0)
        block[SCALE + i] = off
        far += 1 if not abs(off) <= real(NEAR_UNIT) else 0
    if far == 0:  # as most are: three terms of a series, to the last digit, without a root
        for i in range(n):
            off = block[SCALE + i]
            inverse = real(1.0) - off * (real(0.5) - real(0.375) * off)
            block[W0 + i] *= inverse
            block[X0 + i] *= inverse
            block[Y0 + i] *= inverse
            block[Z0 + i] *= inverse
            block[SCALE + i] = inverse
        return
    for i in range(n):
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        inverse = real(1.0) / np.sqrt(w * w + x * x + y * y + z * z)
        block[W0 + i], block[X0 + i] = inverse * w, inverse * x
        block[Y0 + i], block[Z0 + i] = inverse * y, inverse * z
        block[SCALE + i] = inverse


@kernel
def by_quaternion(block, i):
    """Return 2 u · (0, g)/|r| for a quaternion r, of which u, of length 1, was loaded."""
    real = block.dtype.type
    w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
    scale = real(2.0) * block[SCALE + i]
    gx, gy, gz = scale * block[GX + i], scale * block[GY + i], scale * block[GZ + i]
    return (
        -x * gx - y * gy - z * gz,
        w * gx + y * gz - z * gy,
        w * gy + z * gx - x * gz,
        w * gz + x * gy - y * gx,
    )


@kernel
def add_by_quaternions(first, stride, block, n, gradients):
    """Add gradients by quaternions, which were loaded."""
    kind = gradients.dtype.type
    for i in range(n):
        dw, dx, dy, dz = by_quaternion(block, i)
        block[V0 + i], block[V0 + LANES + i] = dw, dx
        block[V0 + 2 * LANES + i], block[V0 + 3 * LANES + i] = dy, dz
    if stride != 4:
        scatter(4, block, n, first, stride, gradients)
        return
    for i in range(n):
        at = first + 4 * i
        gradients[at] += kind(block[V0 + i])
        gradients[at + 1] += kind(block[V0 + LANES + i])
        gradients[at + 2] += kind(block[V0 + 2 * LANES + i])
        gradients[at + 3] += kind(block[V0 + 3 * LANES + i])


@kernel
def write_by_quaternions(first, block, n, gradients):
    """As `add_by_quaternions`, over what stood there, for rotations one after another."""
    kind = gradients.dtype.type
    for i in range(n):
        at = first + 4 * i
        dw, dx, dy, dz = by_quaternion(block, i)
        gradients[at], gradients[at + 1] = kind(dw), kind(dx)
        gradients[at + 2], gradients[at + 3] = kind(dy), kind(dz)


@kernel
def load_vectors(values, first, stride, block, n):
    """Write the quaternions of rotation vectors of any length."""
    real = block.dtype.type
    gather(values, first, stride, 3, X0, block, n)
    for i in range(n):
        x, y, z = block[X0 + i], block[Y0 + i], block[Z0 + i]
        share, cosine, sine = half_angle_of(x * x + y * y + z * z, real)
        factor = real(0.5) * share * sine
        block[W0 + i], block[X0 + i] = cosine, factor * x
        block[Y0 + i], block[Z0 + i] = factor * y, factor * z


@kernel
def add_by_vectors(values, first, stride, block, n, gradients):
    """Add g + a v × g + b v × (v × g): by the transposed right Jacobian of the exponential.

    a = (1 − cos θ)/θ² and b = (θ − sin θ)/θ³.
    """
    real = block.dtype.type
    gather(values, first, stride, 3, V0, block, n)
    for i in range(n):
        x, y, z = block[V0 + i], block[V0 + LANES + i], block[V0 + 2 * LANES + i]
        gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
        square = x * x + y * y + z * z
        share, cosine, sine = half_angle_of(square, real)
        sine *= share
        near = real(1.0 / 6.0) - square * (real(1.0 / 120.0) - square * real(1.0 / 5040.0))
        far = (real(1.0) - sine * cosine) / max(square, real(1e-3))
        a, b = real(0.5) * sine * sine, near if square < real(1e-2) else far
        cx, cy, cz = y * gz - z * gy, z * gx - x * gz, x * gy - y * gx
        block[V0 + i] = gx + a * cx + b * (y * cz - z * cy)
        block[V0 + LANES + i] = gy + a * cy + b * (z * cx - x * cz)
        block[V0 + 2 * LANES + i] = gz + a * cz + b * (x * cy - y * cx)
    scatter(3, block, n, first, stride, gradients)


@kernel
def vector_of(values, at, real):
    """Return three values as a vector of the type to compute in."""
    return Vec3(real(values[at]), real(values[at + 1]), real(values[at + 2]))


@kernel
def unit(a):
    """Return a vector scaled to length 1, and its length before."""
    length = np.sqrt(dot(a, a))
    return a / length, length


@kernel
def orthonormal(values, at, real):
    """Return the axes x, y, z of two columns, |first|, and the second across it and along it."""
    b = vector_of(values, at + 3, real)
    x, length = unit(vector_of(values, at, real))
    z, across = unit(cross(x, b))
    return x, cross(z, x), z, length, across, dot(b, x)


@kernel
def largest_row(a, b, c):
    """Return a quaternion of a matrix with rows a, b, c, of some length, and which of four it is.

    Each is linear in the matrix; the one with the largest own component is taken (Shepperd 1978).
    """
    x, y, z = c.y - b.z, a.z - c.x, b.x - a.y
    xy, yz, zx = a.y + b.x, b.z + c.y, c.x + a.z
    one = a.x * 0.0 + 1.0
    s0, s1 = one + a.x + b.y + c.z, one + a.x - b.y - c.z
    s2, s3 = one - a.x + b.y - c.z, one - a.x - b.y + c.z
    if s0 >= max(s1, max(s2, s3)):
        return Quat(s0, x, y, z), 0
    if s1 >= max(s2, s3):
        return Quat(x, s1, xy, zx), 1
    if s2 >= s3:
        return Quat(y, xy, s2, yz), 2
    return Quat(z, zx, yz, s3), 3


@kernel
def rows_of(values, at, real):
    """Return the rows of a matrix."""
    a, b = vector_of(values, at, real), vector_of(values, at + 3, real)
    return a, b, vector_of(values, at + 6, real)


@kernel
def load_matrices(values, form, first, stride, block, n):
    """Write the quaternions of matrices, or of two columns of them."""
    real = block.dtype.type
    for i in range(n):
        at = first + stride * i
        if form == SIX:
            x, y, z, _, _, _ = orthonormal(values, at, real)
            a, b, c = Vec3(x.x, y.x, z.x), Vec3(x.y, y.y, z.y), Vec3(x.z, y.z, z.z)
        else:
            a, b, c = rows_of(values, at, real)
        q, _ = largest_row(a, b, c)
        set_lane_quat(block, W0 + i, (real(1.0) / np.sqrt(quat_dot(q, q))) * q)


@kernel
def add_by_columns(values, first, stride, block, n, gradients):
    """Add gradients by two columns a and b, of which x = a/|a| and z is along x × b.

    A turn ω changes x by y ω_z − z ω_y, and the plane of both by ω_x: so ω_z is y · da/|a|,
    ω_y is −z · da/|a|, and ω_x is z · db, less what a has turned of b, over the part of b across.
    """
    real, kind = block.dtype.type, gradients.dtype.type
    for i in range(n):
        at = first + stride * i
        _, y, z, length, across, along = orthonormal(values, at, real)
        gx, gy, gz = block[GX + i], block[GY + i] / length, block[GZ + i] / length
        gx /= across
        gy += gx * along / length
        for k in range(3):
            gradients[at + k] += kind(gz * y[k] - gy * z[k])
            gradients[at + 3 + k] += kind(gx * z[k])


@kernel
def add_by_matrices(values, first, stride, block, n, gradients):
    """Add gradients by matrices: those by the quaternion that is linear in them, spread."""
    real, kind = block.dtype.type, gradients.dtype.type
    none = real(0.0)
    for i in range(n):
        at = first + stride * i
        a, b, c = rows_of(values, at, real)
        q, row = largest_row(a, b, c)
        w, x, y, z = q
        scale = real(2.0) / (w * w + x * x + y * y + z * z)
        gx, gy, gz = scale * block[GX + i], scale * block[GY + i], scale * block[GZ + i]
        dw, dx = -x * gx - y * gy - z * gz, w * gx + y * gz - z * gy
        dy, dz = w * gy + z * gx - x * gz, w * gz + x * gy - y * gx
        # By the differences m21 − m12 …, by the sums m01 + m10 …, and by the diagonal.
        ax = dx if row == 0 else (dw if row == 1 else none)
        ay = dy if row == 0 else (dw if row == 2 else none)
        az = dz if row == 0 else (dw if row == 3 else none)
        xy = dy if row == 1 else (dx if row == 2 else none)
        zx = dz if row == 1 else (dx if row == 3 else none)
        yz = dz if row == 2 else (dy if row == 3 else none)
        own = dw if row == 0 else (dx if row == 1 else (dy if row == 2 else dz))
        gradients[at] += kind(own if row <= 1 else -own)
        gradients[at + 4] += kind(own if row == 0 or row == 2 else -own)
        gradients[at + 8] += kind(own if row == 0 or row == 3 else -own)
        gradients[at + 1] += kind(xy - az)
        gradients[at + 3] += kind(xy + az)
        gradients[at + 2] += kind(zx + ay)
        gradients[at + 6] += kind(zx - ay)
        gradients[at + 5] += kind(yz - ax)
        gradients[at + 7] += kind(yz + ax)
