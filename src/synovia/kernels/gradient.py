"""How signed distances of rotations change: their gradients, for losses and for training."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .kinds import BOX, ELLIPSOID, PRODUCT, ROTATION_VECTOR, SWING_TWIST
from .limit import (
    CHART,
    HEADER,
    INTO_RIGHT,
    OTHER_LAYOUT,
    enter,
    is_whole,
    nearest,
    off_unit,
)
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    PX,
    PY,
    PZ,
    SCRATCH,
    TURN,
    W0,
    X0,
    Y0,
    Z0,
    X,
    Y,
    Z,
    cos_root,
    load,
    sinc_root,
)

# First that by the vector ω of a turn q · exp(ω) is found, g. By the components of the quaternion,
# across it, the gradient is 2 q · (0, g): that is what comes out.
#
# Of convex shapes by formulas: in the chart the distance grows away from the foot, by 1 a unit, and
# how points of the chart change with ω is known. Of all others by differences of the distances
# themselves, a turn of NUDGE to either side about each axis.

GX, GY, GZ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES  # rows of the gradient
NUDGE = 1e-5  # radians; rounding of distances and the third derivative both count for 1e-10
RIM = 1e-7  # radians; nearer to the boundary the foot gives no direction, and the face's counts
STEEPEST = 1e-6  # cosine of half a swing: nearer to the opposite of the axis slopes stay as here
COVERS = 6  # of each coordinate that winds, in which the foot of a point may be


@kernel
def has_formula(p, o):
    """Tell whether gradients of the limit at `o` have a formula: of convex shapes in two charts."""
    chart, kind = int(p[o + CHART]), int(p[o + HEADER])
    return chart in (ROTATION_VECTOR, SWING_TWIST) and kind <= PRODUCT


@kernel
def solid_slope(kind, p, o, x, y, z):
    """Return the gradient of the distance inside a convex shape, or at its boundary."""
    if kind == BOX:
        worst, gx, gy, gz = -np.inf, 0.0, 0.0, 0.0
        for k in range(3):
            a, b, c = p[o + 3 * k], p[o + 3 * k + 1], p[o + 3 * k + 2]
            along = a * x + b * y + c * z - p[o + 9 + k]
            over = abs(along) - p[o + 12 + k]
            if over > worst:
                side = 1.0 if along >= 0.0 else -1.0
                worst, gx, gy, gz = over, side * a, side * b, side * c
        return worst, gx, gy, gz
    if kind == ELLIPSOID:
        x, y, z = x - p[o], y - p[o + 1], z - p[o + 2]
        level, least, gx, gy, gz = 0.0, np.inf, 0.0, 0.0, 0.0
        for k in range(3):
            at = o + 3 + 3 * k
            radius = max(p[o + 12 + k], 1e-150)
            share = (p[at] * x + p[at + 1] * y + p[at + 2] * z) / radius
            level += share * share
            least = min(least, radius)
            share /= radius
            gx, gy, gz = gx + share * p[at], gy + share * p[at + 1], gz + share * p[at + 2]
        level = np.sqrt(level)
        scale = least / level if level > 0.0 else 0.0
        return (level - 1.0) * least, scale * gx, scale * gy, scale * gz
    count = int(p[o])
    lows = o + 1 + 3 * count
    worst, gx, gy, gz = -np.inf, 0.0, 0.0, 0.0
    for j in range(count):
        a, b, c = p[o + 1 + 3 * j], p[o + 2 + 3 * j], p[o + 3 + 3 * j]
        along = a * x + b * y + c * z
        over = max(p[lows + j] - along, along - p[lows + count + j])
        if over > worst:
            side = 1.0 if along - p[lows + count + j] >= p[lows + j] - along else -1.0
            worst, gx, gy, gz = over, side * a, side * b, side * c
    return worst, gx, gy, gz


@kernel
def inner_slope(p, o, x, y, z):
    """Return the gradient of the distance of a member of the convex shape at `o`."""
    kind = int(p[o])
    if kind != PRODUCT:
        _, gx, gy, gz = solid_slope(kind, p, o + 1, x, y, z)
        return gx, gy, gz
    over, gx, gy, gz = solid_slope(int(p[o + 3]), p, o + 4, x, y, 0.0)
    below, above = p[o + 1] - z, z - p[o + 2]
    if max(below, above) > over:
        return 0.0, 0.0, 1.0 if above >= below else -1.0
    return gx, gy, gz


@kernel
def cover_size(angle, turns):
    """Return the size of an angle of at most π in its cover number `turns`, as `cover_angle`."""
    return (turns + 1) * np.pi - angle if turns % 2 == 1 else turns * np.pi + angle


@kernel
def cover_of_foot(flat, distance, block, i):
    """Return the point of lane i in the cover where its foot is `distance` away."""
    x, y, z = float(block[X + i]), float(block[Y + i]), float(block[Z + i])
    fx, fy, fz = float(block[PX + i]), float(block[PY + i]), float(block[PZ + i])
    radius = np.sqrt(x * x + y * y + (0.0 if flat else z * z))
    best, cx, cy, cz = np.inf, x, y, z
    for swings in range(COVERS):
        size = cover_size(radius, swings)
        scale = size / radius if radius > 0.0 else 0.0
        scale = -scale if swings % 2 == 1 else scale
        u, v = scale * x if radius > 0.0 else size, scale * y
        for twists in range(COVERS if flat else 1):
            w = scale * z
            if flat:
                twist = cover_size(abs(z), twists)
                w = twist if (z >= 0.0) == (twists % 2 == 0) else -twist
            away = np.sqrt((u - fx) ** 2 + (v - fy) ** 2 + (w - fz) ** 2)
            if abs(away - distance) < best:
                best, cx, cy, cz = abs(away - distance), u, v, w
    return cx, cy, cz


@kernel
def slopes_in_chart(p, o, block, n):
    """Write the gradient by the point of the chart, and move points to the cover of their foot."""
    flat = int(p[o + CHART]) == SWING_TWIST
    real = block.dtype.type
    for i in range(n):
        dx, dy, dz = (
            block[X + i] - block[PX + i],
            block[Y + i] - block[PY + i],
            block[Z + i] - block[PZ + i],
        )
        inverse = real(1.0) / max(block[DISTANCE + i], real(RIM))
        block[GX + i], block[GY + i], block[GZ + i] = inverse * dx, inverse * dy, inverse * dz
    for i in range(n):
        distance = float(block[DISTANCE + i])
        if not distance > RIM:
            # A member is its own foot, in the cover where it is one.
            block[X + i], block[Y + i], block[Z + i] = block[PX + i], block[PY + i], block[PZ + i]
            x, y, z = float(block[X + i]), float(block[Y + i]), float(block[Z + i])
            gx, gy, gz = inner_slope(p, o + HEADER, x, y, z)
            block[GX + i], block[GY + i], block[GZ + i] = gx, gy, gz
            continue
        length = block[GX + i] ** 2 + block[GY + i] ** 2 + block[GZ + i] ** 2
        if abs(length - 1.0) > 1e-3:  # the foot is in another cover
            x, y, z = cover_of_foot(flat, distance, block, i)
            block[X + i], block[Y + i], block[Z + i] = x, y, z
            block[GX + i] = (x - float(block[PX + i])) / distance
            block[GY + i] = (y - float(block[PY + i])) / distance
            block[GZ + i] = (z - float(block[PZ + i])) / distance


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
def turn_vectors(block, n):
    """Make gradients by rotation vectors x those by turns: γ − ½ x × γ + k x × (x × γ).

    k = (1 − θ/2 · cot θ/2)/θ², the transpose of the inverse right Jacobian of the exponential.
    """
    real = block.dtype.type
    one, half = real(1.0), real(0.5)
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
        square = x * x + y * y + z * z
        share, cosine, sine = half_angle_of(square, real)
        safe = share * sine
        safe = safe if abs(safe) > real(STEEPEST) else real(STEEPEST)
        far = (one - cosine / safe) / max(square, real(1e-3))
        near = real(1.0 / 12.0) + square * (real(1.0 / 720.0) + square * real(1.0 / 30240.0))
        k = near if square < real(1e-2) else far
        cx, cy, cz = y * gz - z * gy, z * gx - x * gz, x * gy - y * gx
        block[GX + i] = gx - half * cx + k * (y * cz - z * cy)
        block[GY + i] = gy - half * cy + k * (z * cx - x * cz)
        block[GZ + i] = gz - half * cz + k * (x * cy - y * cx)


@kernel
def turn_swings(block, n):
    """Make gradients by swing (x, y) and twist z those by turns, in the chart's frame.

    A turn u after the swing, of size θ, changes the swing by u along it and by u · θ/sin θ across,
    and the twist by u_z and by the turn across times tan θ/2; it is seen through the twist.
    """
    real = block.dtype.type
    one, two, half = real(1.0), real(2.0), real(0.5)
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
        square = x * x + y * y
        share, cosine, sine = half_angle_of(square, real)
        steep = real(STEEPEST)
        safe = cosine if abs(cosine) > steep else (steep if cosine >= real(0.0) else -steep)
        ratio = share * sine * safe  # sin θ/θ
        ratio = ratio if abs(ratio) > steep else (steep if ratio >= real(0.0) else -steep)
        far = (one / ratio - one) / max(square, real(1e-3))
        near = real(1.0 / 6.0) + square * (real(7.0 / 360.0) + square * real(31.0 / 15120.0))
        across = (near if square < real(1e-3) else far) * (x * gy - y * gx)
        across += gz * (half * share * sine / safe)
        hx, hy = gx - across * y, gy + across * x
        angle = z - real(TURN) * np.rint(z * real(1.0 / TURN))
        u = angle * angle * real(0.0625)
        c, s = cos_root(u, real), sinc_root(u, real)
        c, s = two * c * c - one, half * s * c * angle  # of half the twist
        c, s = c * c - s * s, two * c * s
        block[GX + i] = c * hx + s * hy
        block[GY + i] = c * hy - s * hx


@kernel
def store_gradients(p, o, block, n, start, gradients):
    """Write the gradients, from the chart's frame turned into the joint's own."""
    real = block.dtype.type
    one, two = real(1.0), real(2.0)
    w, x, y = real(p[o + INTO_RIGHT]), real(p[o + INTO_RIGHT + 1]), real(p[o + INTO_RIGHT + 2])
    z = real(p[o + INTO_RIGHT + 3])
    xx, xy, xz = one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)
    yx, yy, yz = two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x)
    zx, zy, zz = two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y)
    for i in range(n):
        gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
        block[GX + i] = xx * gx + xy * gy + xz * gz
        block[GY + i] = yx * gx + yy * gy + yz * gz
        block[GZ + i] = zx * gx + zy * gy + zz * gz
    for i in range(n):
        w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
        gx, gy, gz = two * block[GX + i], two * block[GY + i], two * block[GZ + i]
        at = 4 * (start + i)
        gradients[at] = -x * gx - y * gy - z * gz
        gradients[at + 1] = w * gx + y * gz - z * gy
        gradients[at + 2] = w * gy + z * gx - x * gz
        gradients[at + 3] = w * gz + x * gy - y * gx


@kernel
def load_turned(rotations, start, axis, angle, block, n):
    """Load quaternions turned about an axis of their own, 0 to 2, by a small angle."""
    real = block.dtype.type
    zero, c, s = real(0.0), real(np.cos(0.5 * angle)), real(np.sin(0.5 * angle))
    a, b, d = s if axis == 0 else zero, s if axis == 1 else zero, s if axis == 2 else zero
    for i in range(n):
        at = 4 * (start + i)
        w, x, y, z = rotations[at], rotations[at + 1], rotations[at + 2], rotations[at + 3]
        block[W0 + i] = w * c - x * a - y * b - z * d
        block[X0 + i] = x * c + w * a + y * d - z * b
        block[Y0 + i] = y * c + w * b + z * a - x * d
        block[Z0 + i] = z * c + w * d + x * b - y * a


@kernel
def differences(rotations, start, p, block, other, lanes, n, gradients):
    """Write gradients by differences of distances, a turn to either side about each axis."""
    real = block.dtype.type
    scale = real(1.0 / NUDGE)  # twice the slope, as is asked for
    for axis in range(3):
        for side in range(2):
            angle = NUDGE if side == 0 else -NUDGE
            load_turned(rotations, start, axis, angle, block, n)
            enter(p, 0, block, n)
            nearest(p, 0, -np.inf, np.inf, block, other, lanes, n)
            for i in range(n):
                at = 4 * (start + i) + axis
                if side == 0:
                    gradients[at] = block[DISTANCE + i]
                else:
                    gradients[at] = (gradients[at] - block[DISTANCE + i]) * scale
    for i in range(n):
        at = 4 * (start + i)
        w, x, y, z = rotations[at], rotations[at + 1], rotations[at + 2], rotations[at + 3]
        gx, gy, gz = gradients[at], gradients[at + 1], gradients[at + 2]
        gradients[at] = -x * gx - y * gy - z * gz
        gradients[at + 1] = w * gx + y * gz - z * gy
        gradients[at + 2] = w * gy + z * gx - x * gz
        gradients[at + 3] = w * gz + x * gy - y * gx


@kernel("f8[] f8[] f8[] f8[]", "f4[] f8[] f4[] f4[]")
def measure(rotations, p, distances, gradients):
    """Write signed distances of flat `rotations`, and their gradients (w, x, y, z, w, …).

    Returns how far lengths are off 1, squared, or OTHER_LAYOUT, as `limit.measure` does. In float32
    only limits that have a formula (see `has_formula`).
    """
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block, other = np.zeros(BLOCK, rotations.dtype), np.zeros(BLOCK, rotations.dtype)
    lanes = np.empty(2 * LANES, np.int64)
    formula = has_formula(p, 0)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, start, block, n)
        enter(p, 0, block, n)
        nearest(p, 0, -np.inf, np.inf, block, other, lanes, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
        if formula:
            slopes_in_chart(p, 0, block, n)
            if int(p[CHART]) == ROTATION_VECTOR:
                turn_vectors(block, n)
            else:
                turn_swings(block, n)
            store_gradients(p, 0, block, n, start, gradients)
        else:
            differences(rotations, start, p, block, other, lanes, n, gradients)
    return off_unit(block)
