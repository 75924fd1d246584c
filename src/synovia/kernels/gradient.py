"""How signed distances of rotations change: their gradients, for losses and for training."""

from __future__ import annotations

import numpy as np

from .charts import half_angle
from .forms import GX, GY, GZ, add_form, half_angle_of, load_form, write_form
from .hinges import ACROSS_FAR, LOCK, folds
from .jit import kernel
from .kinds import BOX, CONVEX, ELLIPSOID, HINGES, PRODUCT, ROTATION_VECTOR, SWING_TWIST
from .limit import (
    CHART,
    HEADER,
    INTO_RIGHT,
    MARGIN,
    OTHER_LAYOUT,
    cover_of_foot,
    enter,
    is_whole,
    nearest,
    tail,
)
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    OFF_UNIT,
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
    is_turn,
    set_lane_vec3,
    sinc_root,
)
from .vector import Vec3

# First that by the vector ω of a turn q · exp(ω) is found, at GX, GY and GZ; `forms` has what
# follows from it for the numbers by which a rotation is given.
#
# Of convex shapes by formulas: in the chart the distance grows away from the foot, by 1 a unit, and
# how points of the chart change with ω is known. Of all others by differences of the distances
# themselves, a turn of NUDGE to either side about each axis.

IX, IY, IZ = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES, SCRATCH + 5 * LANES  # gradients inside
DEPTH = SCRATCH + 6 * LANES
NUDGE = 1e-5  # radians; rounding of distances and the third derivative both count for 1e-10
RIM = 1e-7  # radians; nearer to the boundary the foot gives no direction, and the face's counts
STEEPEST = 1e-6  # cosine of half a swing: nearer to the opposite of the axis slopes stay as here


@kernel
def has_formula(p, o):
    """Tell whether gradients of the limit at `o` have a formula: of convex shapes in three charts.

    Of hinges, those at right angles. Limits with a margin have none.
    """
    if p[o + MARGIN] != 0.0:
        return False
    chart, kind = int(p[o + CHART]), int(p[o + HEADER])
    if chart == HINGES:
        return kind in CONVEX and not folds(p, tail(p, o))
    return chart in (ROTATION_VECTOR, SWING_TWIST) and kind in CONVEX


@kernel
def solid_slopes(kind, p, o, block, n):
    """Write gradients of the distance inside a convex shape, or at its boundary, and the depth.

    Of the points at PX, PY, PZ; to IX, IY, IZ and DEPTH, which is not positive.
    """
    if kind == BOX:
        box_slopes(p, o, block, n)
    elif kind == ELLIPSOID:
        ellipsoid_slopes(p, o, block, n)
    else:
        kdop_slopes(p, o, block, n)


@kernel
def box_slopes(p, o, block, n):
    """Write the direction of the nearest face of a box."""
    real = block.dtype.type
    zero, one = real(0.0), real(1.0)
    a, b, c = real(p[o]), real(p[o + 1]), real(p[o + 2])
    d, e, f = real(p[o + 3]), real(p[o + 4]), real(p[o + 5])
    g, h, k = real(p[o + 6]), real(p[o + 7]), real(p[o + 8])
    m0, m1, m2 = real(p[o + 9]), real(p[o + 10]), real(p[o + 11])
    r0, r1, r2 = real(p[o + 12]), real(p[o + 13]), real(p[o + 14])
    for i in range(n):
        x, y, z = block[PX + i], block[PY + i], block[PZ + i]
        u = a * x + b * y + c * z - m0
        v = d * x + e * y + f * z - m1
        w = g * x + h * y + k * z - m2
        over0, over1, over2 = abs(u) - r0, abs(v) - r1, abs(w) - r2
        most = max(over0, max(over1, over2))
        u, v, w = np.copysign(one, u), np.copysign(one, v), np.copysign(one, w)
        # Of faces that are equally near, the first.
        w = w if over2 > max(over0, over1) else zero
        v = v if (over1 > over0) & (over1 >= over2) else zero
        u = u if over0 >= most else zero
        block[DEPTH + i] = most
        block[IX + i] = a * u + d * v + g * w
        block[IY + i] = b * u + e * v + h * w
        block[IZ + i] = c * u + f * v + k * w


@kernel
def ellipsoid_slopes(p, o, block, n):
    """Write the gradient of (level − 1) times the least radius, by which an ellipsoid is deep."""
    real, single = block.dtype.type, block.itemsize == 4
    flat = real(1e-15 if single else 1e-150)
    least = max(real(min(p[o + 12], min(p[o + 13], p[o + 14]))), flat)
    cx, cy, cz = real(p[o]), real(p[o + 1]), real(p[o + 2])
    for i in range(n):
        block[DEPTH + i], block[IX + i] = real(0.0), real(0.0)
        block[IY + i], block[IZ + i] = real(0.0), real(0.0)
    for k in range(3):
        at = o + 3 + 3 * k
        a, b, c = real(p[at]), real(p[at + 1]), real(p[at + 2])
        inverse = real(1.0) / max(real(p[o + 12 + k]), flat)
        for i in range(n):
            x, y, z = block[PX + i] - cx, block[PY + i] - cy, block[PZ + i] - cz
            share = (a * x + b * y + c * z) * inverse
            block[DEPTH + i] += share * share
            share *= inverse
            block[IX + i] += share * a
            block[IY + i] += share * b
            block[IZ + i] += share * c
    for i in range(n):
        level = np.sqrt(block[DEPTH + i])
        scale = least / level if level > real(0.0) else real(0.0)
        block[DEPTH + i] = (level - real(1.0)) * least
        block[IX + i] *= scale
        block[IY + i] *= scale
        block[IZ + i] *= scale


@kernel
def kdop_slopes(p, o, block, n):
    """Write the direction of the nearest face of a k-DOP."""
    real = block.dtype.type
    count = int(p[o])
    lows = o + 1 + 3 * count
    for i in range(n):
        block[DEPTH + i] = -np.inf
    for j in range(count):
        at = o + 1 + 3 * j
        a, b, c = real(p[at]), real(p[at + 1]), real(p[at + 2])
        low, high = real(p[lows + j]), real(p[lows + count + j])
        for i in range(n):
            along = a * block[PX + i] + b * block[PY + i] + c * block[PZ + i]
            below, above = low - along, along - high
            over = max(below, above)
            nearer = over > block[DEPTH + i]
            side = real(1.0) if above >= below else real(-1.0)
            block[DEPTH + i] = over if nearer else block[DEPTH + i]
            block[IX + i] = side * a if nearer else block[IX + i]
            block[IY + i] = side * b if nearer else block[IY + i]
            block[IZ + i] = side * c if nearer else block[IZ + i]


@kernel
def inner_slopes(p, o, block, n):
    """Write gradients of the distance of members of the convex shape at `o`."""
    real, kind = block.dtype.type, int(p[o])
    if kind != PRODUCT:
        solid_slopes(kind, p, o + 1, block, n)
        return
    low, high = real(p[o + 1]), real(p[o + 2])
    twist = SCRATCH + 7 * LANES
    for i in range(n):
        block[twist + i] = block[PZ + i]
        block[PZ + i] = real(0.0)
    solid_slopes(int(p[o + 3]), p, o + 4, block, n)
    for i in range(n):
        z = block[twist + i]
        block[PZ + i] = z
        below, above = low - z, z - high
        twisted = max(below, above) > block[DEPTH + i]
        side = real(1.0) if above >= below else real(-1.0)
        block[IX + i] = real(0.0) if twisted else block[IX + i]
        block[IY + i] = real(0.0) if twisted else block[IY + i]
        block[IZ + i] = side if twisted else block[IZ + i]


@kernel
def slopes_in_chart(p, o, members, block, n):
    """Write the gradient by the point of the chart, and move points to the cover of their foot.

    `members` is how many lanes inside have a gradient to be written: if none, that of all is 0.
    """
    flat = int(p[o + CHART]) == SWING_TWIST
    real = block.dtype.type
    zero, one, rim, strays = real(0.0), real(1.0), real(RIM), 0
    if members > 0:
        inner_slopes(p, o + HEADER, block, n)
    else:
        for i in range(n):
            block[IX + i], block[IY + i], block[IZ + i] = zero, zero, zero
    for i in range(n):
        distance = block[DISTANCE + i]
        inside = not distance > rim
        inverse = one / max(distance, rim)
        dx = inverse * (block[X + i] - block[PX + i])
        dy = inverse * (block[Y + i] - block[PY + i])
        dz = inverse * (block[Z + i] - block[PZ + i])
        off = abs(dx * dx + dy * dy + dz * dz - (zero if inside else one)) > real(1e-3)
        strays += 1 if off else 0
        block[GX + i] = block[IX + i] if inside else dx
        block[GY + i] = block[IY + i] if inside else dy
        block[GZ + i] = block[IZ + i] if inside else dz
    if strays == 0:
        return
    for i in range(n):
        away = float(block[DISTANCE + i])
        if not away > RIM:  # a member is its own foot, in the cover where it is one
            block[X + i], block[Y + i], block[Z + i] = block[PX + i], block[PY + i], block[PZ + i]
            continue
        length = block[GX + i] ** 2 + block[GY + i] ** 2 + block[GZ + i] ** 2
        if abs(length - 1.0) > 1e-3:  # the foot is in another cover
            point = Vec3(float(block[X + i]), float(block[Y + i]), float(block[Z + i]))
            foot = Vec3(float(block[PX + i]), float(block[PY + i]), float(block[PZ + i]))
            point = cover_of_foot(flat, point, foot, away)
            set_lane_vec3(block, X + i, point)
            set_lane_vec3(block, GX + i, (point - foot) / away)


@kernel
def cotangent_rest(u, real):
    """Return (1 − θ/2 · cot θ/2)/θ² for u = θ² up to π², to 4e-14."""
    p = real(2.5329148626022952e-17)
    p = p * u - real(3.751202876203512e-16)
    p = p * u + real(1.74262807530096e-14)
    p = p * u + real(2.609313676888175e-13)
    p = p * u + real(1.3814341864847686e-11)
    p = p * u + real(5.269067501286465e-10)
    p = p * u + real(2.088002705362665e-08)
    p = p * u + real(8.267154803087776e-07)
    p = p * u + real(3.3068785686209746e-05)
    p = p * u + real(0.0013888888882396134)
    return p * u + real(0.08333333333335985)


@kernel
def cotangent_rest_single(u, real):
    """As `cotangent_rest`, for float32: to 2e-8."""
    p = real(1.2152911278231695e-09)
    p = p * u + real(1.1977336410854618e-08)
    p = p * u + real(8.756801574367589e-07)
    p = p * u + real(3.295108230019573e-05)
    p = p * u + real(0.0013889903823178277)
    return p * u + real(0.08333331935834974)


@kernel
def cotangent_rest_far(u, real):
    """As `cotangent_rest`, beyond π, from its definition."""
    share, cosine, sine = half_angle_of(u, real)
    sine *= share
    sine = sine if abs(sine) > real(STEEPEST) else real(STEEPEST)
    return (real(1.0) - cosine / sine) / u


@kernel
def turn_vectors(block, n):
    """Make gradients by rotation vectors x those by turns: γ − ½ x × γ + k x × (x × γ).

    k = (1 − θ/2 · cot θ/2)/θ², the transpose of the inverse right Jacobian of the exponential.
    """
    real, single = block.dtype.type, block.itemsize == 4
    half, longest = real(0.5), real(np.pi**2)
    far, rest = 0, DEPTH
    for i in range(n):
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        square = x * x + y * y + z * z
        far += 1 if square > longest else 0
        block[rest + i] = (
            cotangent_rest_single(square, real) if single else cotangent_rest(square, real)
        )
    if far > 0:
        for i in range(n):
            square = block[X + i] ** 2 + block[Y + i] ** 2 + block[Z + i] ** 2
            if square > longest:
                block[rest + i] = cotangent_rest_far(square, real)
    for i in range(n):
        x, y, z, k = block[X + i], block[Y + i], block[Z + i], block[rest + i]
        gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
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
def turn_hinges(p, t, block, n):
    """Make gradients by angles of hinges at right angles those by turns, in the chart's frame.

    Turned back by the last angle, the axes are (0, ∓sin σ, cos σ), (∓1, 0, 0) and z, with σ the
    middle angle from gimbal lock: along each, the gradient is the one by its angle.
    """
    real = block.dtype.type
    side, steep, lock = real(np.copysign(1.0, p[t + ACROSS_FAR])), real(STEEPEST), real(p[t + LOCK])
    turn, part = real(TURN), real(1.0 / TURN)
    for i in range(n):
        middle, last = block[Y + i] - lock, block[Z + i]
        middle -= turn * np.rint(middle * part)
        last -= turn * np.rint(last * part)
        c, s = half_angle(middle, real)
        c, s = c * c - s * s, real(2.0) * c * s
        s = s if abs(s) > steep else (steep if s >= real(0.0) else -steep)
        first, second, third = block[GX + i], block[GY + i], block[GZ + i]
        hx, hy = -side * second, -side * (first - c * third) / s
        c, s = half_angle(last, real)
        c, s = c * c - s * s, real(2.0) * c * s
        block[GX + i] = c * hx + s * hy
        block[GY + i] = c * hy - s * hx


@kernel
def turn_to_joint(p, o, block, n):
    """Turn the gradients from the chart's frame into the joint's own."""
    if not is_turn(p, o + INTO_RIGHT):
        return
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


@kernel
def load_turned(unit, axis, angle, block, n):
    """Load quaternions, row by row, turned about an axis of their own, 0 to 2, by a small angle."""
    real = block.dtype.type
    zero, c, s = real(0.0), real(np.cos(0.5 * angle)), real(np.sin(0.5 * angle))
    a, b, d = s if axis == 0 else zero, s if axis == 1 else zero, s if axis == 2 else zero
    for i in range(n):
        w, x, y, z = unit[i], unit[LANES + i], unit[2 * LANES + i], unit[3 * LANES + i]
        block[W0 + i] = w * c - x * a - y * b - z * d
        block[X0 + i] = x * c + w * a + y * d - z * b
        block[Y0 + i] = y * c + w * b + z * a - x * d
        block[Z0 + i] = z * c + w * d + x * b - y * a


@kernel
def differences(p, o, block, other, lanes, n):
    """Write gradients by differences of distances, a turn to either side about each axis.

    Rotations that came in and their distances, which were measured, stay in the block.
    """
    real = block.dtype.type
    unit, found = np.empty(4 * LANES, block.dtype), np.empty(LANES, block.dtype)
    slopes, scale = np.empty(3 * LANES, block.dtype), real(0.5 / NUDGE)
    for i in range(n):
        found[i] = block[DISTANCE + i]
        unit[i], unit[LANES + i] = block[W0 + i], block[X0 + i]
        unit[2 * LANES + i], unit[3 * LANES + i] = block[Y0 + i], block[Z0 + i]
    for axis in range(3):
        for side in range(2):
            load_turned(unit, axis, NUDGE if side == 0 else -NUDGE, block, n)
            enter(p, o, block, n)
            nearest(p, o, -np.inf, np.inf, block, other, lanes, n)
            for i in range(n):
                at = axis * LANES + i
                if side == 0:
                    slopes[at] = block[DISTANCE + i]
                else:
                    slopes[at] = (slopes[at] - block[DISTANCE + i]) * scale
    for i in range(n):
        block[DISTANCE + i] = found[i]
        block[W0 + i], block[X0 + i] = unit[i], unit[LANES + i]
        block[Y0 + i], block[Z0 + i] = unit[2 * LANES + i], unit[3 * LANES + i]
        block[GX + i], block[GY + i] = slopes[i], slopes[LANES + i]
        block[GZ + i] = slopes[2 * LANES + i]


@kernel
def measure_block(p, o, least, block, other, lanes, n):
    """Write distances of the rotations that came in, and gradients by turns; tell if there are any.

    Where all are at most `least`, no gradient is written.
    """
    enter(p, o, block, n)
    nearest(p, o, -np.inf, np.inf, block, other, lanes, n)
    real = block.dtype.type
    rim, enough, count, members = real(RIM), real(least), 0, 0
    for i in range(n):
        distance = block[DISTANCE + i]
        count += 1 if not distance <= enough else 0
        members += 1 if (not distance > rim) & (distance > enough) else 0
    if count == 0:
        return False
    if block.itemsize == 8:  # without a formula there is float64 alone
        exact = has_formula(p, o)
        if not exact:
            differences(p, o, block, other, lanes, n)
            return True
    slopes_in_chart(p, o, members, block, n)
    chart = int(p[o + CHART])
    if chart == ROTATION_VECTOR:
        turn_vectors(block, n)
    elif block.itemsize == 4 or chart == SWING_TWIST:
        turn_swings(block, n)
    else:
        turn_hinges(p, tail(p, o), block, n)
    turn_to_joint(p, o, block, n)
    return True


@kernel(
    "f8[] i8 i8 f8[] f8[] f8[] f8[]",
    "f4[] i8 i8 f8[] f4[] f4[] f4[]",
    "f4[] i8 i8 f8[] f4[] f4[] f8[]",
)
def measure(values, form, size, p, distances, gradients, work):
    """Write signed distances of rotations of a form, flat, `size` numbers each, and gradients.

    Gradients are by these numbers. `work` is room for two blocks, of the type that is computed in:
    float32 for limits that have a formula (see `has_formula`). Returns 0, or OTHER_LAYOUT.
    """
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block, other = work[:BLOCK], work[BLOCK : 2 * BLOCK]
    lanes, kind = np.empty(2 * LANES, np.int64), distances.dtype.type
    for i in range(LANES):
        block[OFF_UNIT + i] = 0.0
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load_form(values, form, size * start, size, block, n)
        measure_block(p, 0, -np.inf, block, other, lanes, n)
        for i in range(n):
            distances[start + i] = kind(block[DISTANCE + i])
        write_form(values, form, size * start, size, block, n, gradients)
    return 0.0


# The loss of whole poses.

PATH = 2  # of a row of paths: where the limit stands, how many joints, then these


@kernel
def load_path(values, layout, path, start, block, n):
    """Write what the joints of a path turn together, from the outermost on, in `n` poses."""
    form, size, stride = layout[0], layout[1], layout[1] * layout[2]
    above = np.empty(4 * LANES, block.dtype)
    for k in range(path[1]):
        load_form(values, form, start * stride + size * path[PATH + k], stride, block, n)
        if k > 0:
            for i in range(n):
                aw, ax = above[i], above[LANES + i]
                ay, az = above[2 * LANES + i], above[3 * LANES + i]
                w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
                block[W0 + i] = aw * w - ax * x - ay * y - az * z
                block[X0 + i] = aw * x + ax * w + ay * z - az * y
                block[Y0 + i] = aw * y - ax * z + ay * w + az * x
                block[Z0 + i] = aw * z + ax * y - ay * x + az * w
        for i in range(n):
            above[i], above[LANES + i] = block[W0 + i], block[X0 + i]
            above[2 * LANES + i], above[3 * LANES + i] = block[Y0 + i], block[Z0 + i]


@kernel
def add_path(values, layout, path, start, block, n, gradients):
    """Add gradients by the values of all joints of a path: a turn of one is seen through the next.

    With q that of the last joint, a turn ω of the one above is q⁻¹ ω q of the whole.
    """
    real = block.dtype.type
    two = real(2.0)
    form, size, stride = layout[0], layout[1], layout[1] * layout[2]
    for back in range(path[1]):
        k = path[1] - 1 - back
        first = start * stride + size * path[PATH + k]
        if path[1] > 1:
            load_form(values, form, first, stride, block, n)
        add_form(values, form, first, stride, block, n, gradients)
        if k > 0:
            for i in range(n):
                w, x, y, z = block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i]
                gx, gy, gz = block[GX + i], block[GY + i], block[GZ + i]
                # v + 2 w (u × v) + 2 u × (u × v)
                cx, cy, cz = y * gz - z * gy, z * gx - x * gz, x * gy - y * gx
                block[GX + i] = gx + two * (w * cx + y * cz - z * cy)
                block[GY + i] = gy + two * (w * cy + z * cx - x * cz)
                block[GZ + i] = gz + two * (w * cz + x * cy - y * cx)


@kernel(
    "f8[] i8[] i8[,] f8[] f8 f8[] f8[]",
    "f4[] i8[] i8[,] f8[] f8 f4[] f8[]",
)
def loss(values, layout, paths, p, margin, gradients, work):
    """Return the sum of squares by which joints of poses are outside, less `margin` radians.

    `layout` is the form, its size, and how many joints a pose has; a row of `paths` has where a
    limit stands in `p`, how many joints it is measured over, and these. Gradients, which are 0
    before, are of the mean over poses. Returns a negative number for limits of another layout.
    """
    block, other = work[:BLOCK], work[BLOCK : 2 * BLOCK]
    lanes = np.empty(2 * LANES, np.int64)
    poses, total = values.shape[0] // max(layout[1] * layout[2], 1), 0.0
    for i in range(LANES):
        block[OFF_UNIT + i] = 0.0
    for k in range(paths.shape[0]):
        path, o = paths[k], paths[k, 0]
        if not is_whole(p, o):
            return OTHER_LAYOUT
        for start in range(0, poses, LANES):
            n = min(LANES, poses - start)
            load_path(values, layout, path, start, block, n)
            if not measure_block(p, o, -margin, block, other, lanes, n):
                continue
            for i in range(n):
                outside = max(block[DISTANCE + i] + margin, 0.0)
                total += outside * outside
                # Not a number stays none.
                total = block[DISTANCE + i] if block[DISTANCE + i] != block[DISTANCE + i] else total
                scale = 2.0 * outside / poses
                alive = outside > 0.0
                block[GX + i] = scale * block[GX + i] if alive else 0.0
                block[GY + i] = scale * block[GY + i] if alive else 0.0
                block[GZ + i] = scale * block[GZ + i] if alive else 0.0
            add_path(values, layout, path, start, block, n, gradients)
    return total / max(poses, 1)
