"""One joint by itself: the turn that is best for all that hangs on it.

For one joint every goal is some arms a, fixed to what it turns, that should lie on targets b, both
from the joint: one arm for a point, the three axes for a rotation, the place where it comes as near
as the target for an axis that aims. The turn R that is best is the one with the largest sum of
b · Ra = tr(R M), M = Σ a bᵀ; about an axis n its angle is atan2(n · Σ a × b, tr M − n · M n).
"""

from __future__ import annotations

import math

from .ik_turns import from_vector, length, product, turned
from .jit import kernel

FLAT = 1e-12  # of all there is to gain: less is no direction


@kernel
def gather_turn(sums, weight, w, x, y, z):
    """Add the arms of a rotation: M is the matrix of what is now · inverse of what is wanted."""
    half = 0.5 * weight * weight  # of the squared length of three chords, an angle's square
    sums[0] += half * (1.0 - 2.0 * (y * y + z * z))
    sums[1] += half * 2.0 * (x * y - w * z)
    sums[2] += half * 2.0 * (x * z + w * y)
    sums[3] += half * 2.0 * (x * y + w * z)
    sums[4] += half * (1.0 - 2.0 * (x * x + z * z))
    sums[5] += half * 2.0 * (y * z - w * x)
    sums[6] += half * 2.0 * (x * z - w * y)
    sums[7] += half * 2.0 * (y * z + w * x)
    sums[8] += half * (1.0 - 2.0 * (x * x + y * y))


@kernel
def gather_arm(sums, weight, ax, ay, az, bx, by, bz):
    """Add an arm a that should lie on b."""
    square = weight * weight
    sums[0] += square * ax * bx
    sums[1] += square * ax * by
    sums[2] += square * ax * bz
    sums[3] += square * ay * bx
    sums[4] += square * ay * by
    sums[5] += square * ay * bz
    sums[6] += square * az * bx
    sums[7] += square * az * by
    sums[8] += square * az * bz


@kernel
def gather_aim(sums, weight, x, y, z, dx, dy, dz, bx, by, bz):
    """Add the arm of an axis d at the point x: where it is as far from the joint as the target b.

    Turned until that lies on the target, the axis points at it, though its own point moved too.
    """
    far = length(bx - x, by - y, bz - z)
    if far < 1e-12:  # at the very point every direction is right
        return
    along = x * dx + y * dy + z * dz
    square = along * along - (x * x + y * y + z * z) + bx * bx + by * by + bz * bz
    reach = math.sqrt(square) - along if square > 0.0 else 0.0
    reach = reach if reach > 0.0 else far
    weight /= max(reach, far)
    gather_arm(sums, weight, x + reach * dx, y + reach * dy, z + reach * dz, bx, by, bz)


@kernel
def gain(sums, w, x, y, z):
    """Return tr(R M) of a quaternion."""
    gx, gy, gz = sums[5] - sums[7], sums[6] - sums[2], sums[1] - sums[3]
    mx = sums[0] * x + sums[1] * y + sums[2] * z
    my = sums[3] * x + sums[4] * y + sums[5] * z
    mz = sums[6] * x + sums[7] * y + sums[8] * z
    trace = sums[0] + sums[4] + sums[8]
    curl = w * (x * gx + y * gy + z * gz)
    return (2.0 * w * w - 1.0) * trace + 2.0 * (x * mx + y * my + z * mz + curl)


@kernel
def best_turn(basis, m, freedoms, longest, sums, w, x, y, z):
    """Return the rotation vector, in the joint's frame, of the best turn of a joint by itself.

    The quaternion is the joint's in the world, `basis[m]` has its axes. Of all that it can turn
    about, the one with the steepest gain is taken, and the best angle about it. Returns that gain
    too; it is 0 where nothing is to be done, or all is straight back: then both ways are as good.
    """
    gx, gy, gz = turned(w, -x, -y, -z, sums[5] - sums[7], sums[6] - sums[2], sums[1] - sums[3])
    nx, ny, nz = 0.0, 0.0, 0.0
    for f in range(freedoms):
        part = gx * basis[m, f, 0] + gy * basis[m, f, 1] + gz * basis[m, f, 2]
        nx += part * basis[m, f, 0]
        ny += part * basis[m, f, 1]
        nz += part * basis[m, f, 2]
    size = length(nx, ny, nz)
    trace = sums[0] + sums[4] + sums[8]
    if freedoms == 0:
        return 0.0, 0.0, 0.0, 0.0
    if size > FLAT * abs(trace):
        nx, ny, nz = nx / size, ny / size, nz / size
    else:  # as it should be, or straight back
        nx, ny, nz, size = basis[m, 0, 0], basis[m, 0, 1], basis[m, 0, 2], 0.0
    ux, uy, uz = turned(w, x, y, z, nx, ny, nz)
    along = (
        ux * (sums[0] * ux + sums[1] * uy + sums[2] * uz)
        + uy * (sums[3] * ux + sums[4] * uy + sums[5] * uz)
        + uz * (sums[6] * ux + sums[7] * uy + sums[8] * uz)
    )
    angle = min(math.atan2(size, trace - along), longest)
    return angle * nx, angle * ny, angle * nz, size


@kernel
def turned_on(start, vx, vy, vz, end):
    """Write a rotation, turned on by a rotation vector in its own frame."""
    w, x, y, z = from_vector(vx, vy, vz)
    w, x, y, z = product(start[0], start[1], start[2], start[3], w, x, y, z)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    end[0], end[1], end[2], end[3] = size * w, size * x, size * y, size * z
