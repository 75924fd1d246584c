"""Signed distances of rotations with their gradients, for losses and for training."""

from __future__ import annotations

import numpy as np

from .forms import GX, add_form, half_angle_of, load_form, write_form
from .hinges import TAIL, folds
from .jit import kernel
from .layout import CONVEX, HINGES, ROTATION_VECTOR, SWING_TWIST
from .limit import HEADER, OTHER_LAYOUT, is_whole, make_legal, measure_lanes, tail
from .rotation import (
    BLOCK,
    BOUND,
    DISTANCE,
    LANES,
    PX,
    QW,
    SCRATCH,
    W0,
    X,
    half_angle,
    is_turn,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
)
from .shapes import shape
from .vector import (
    ZERO,
    about,
    apply,
    axis_vector,
    conj,
    cross,
    dot,
    log,
    matrix_of,
    norm,
    quat_at,
    rotate,
    wrap_angle,
)

# The gradient by the vector ω of a rotation q · exp(ω) is written to the three rows from GX on;
# `forms` converts it to one by the components of a rotation. Convex shapes have a formula: in the
# chart the gradient outside is the unit vector away from the foot, and the derivative of the chart
# by ω is known. All others use central differences over turns by NUDGE about each axis.

REST = SCRATCH + 3 * LANES  # row of `cotangent_rest`
NUDGE = 1e-5  # radians; rounding and the third derivative both cause errors of about 1e-10
RIM = 1e-7  # radians; nearer to the boundary the foot gives no direction
STEEPEST = 1e-6  # smallest divisor of a chart's derivative, so that gradients stay finite
MAX_SLOPE = 10.0  # length of a gradient, per radian: longer ones occur only next to a chart's
# singularities (opposite the axis, gimbal lock), where derivatives are unbounded, and across jumps


@kernel
def has_formula(p, o):
    """Return True if gradients of the limit at `o` have a formula.

    That is so for convex shapes without a margin, in rotation vectors, swing and twist, or hinges
    at right angles.
    """
    if p[o + HEADER.margin] != 0.0:
        return False
    chart, kind = int(p[o + HEADER.chart]), int(p[o + HEADER.SIZE])
    if chart == HINGES:
        return kind in CONVEX and not folds(p, tail(p, o))
    return chart in (ROTATION_VECTOR, SWING_TWIST) and kind in CONVEX


@kernel
def take_difference(trial, axis, side, listed, count, block):
    """Write distances of the first of two nudges along an axis; then the central difference."""
    for k in range(count):
        at, distance = GX + axis * LANES + listed[k], trial[DISTANCE + k]
        block[at] = distance if side == 0 else (block[at] - distance) * (0.5 / NUDGE)


@kernel
def slopes_in_chart(p, o, listed, count, block, n):
    """Write gradients by the points of the chart.

    Outside, that is the unit vector away from the foot. For the lanes listed, which are members, it
    comes from central differences of the shape's distances.
    """
    for i in range(n):
        move = lane_vec3(block, X + i) - lane_vec3(block, PX + i)
        set_lane_vec3(block, GX + i, (1.0 / max(block[DISTANCE + i], RIM)) * move)
    if count == 0:
        return
    trial = np.empty(BLOCK)
    for axis in range(3):
        for side in range(2):
            nudge = (NUDGE if side == 0 else -NUDGE) * axis_vector(axis)
            for k in range(count):
                set_lane_vec3(trial, X + k, lane_vec3(block, X + listed[k]) + nudge)
                trial[BOUND + k] = np.inf
            shape(p, o + HEADER.SIZE, np.inf, trial, count)
            take_difference(trial, axis, side, listed, count, block)


@kernel
def cotangent_rest(u):
    """Return (1 − θ/2 · cot θ/2)/θ² for u = θ² up to π², to 4e-14."""
    p = 2.5329148626022952e-17 * u - 3.751202876203512e-16
    p = p * u + 1.74262807530096e-14
    p = p * u + 2.609313676888175e-13
    p = p * u + 1.3814341864847686e-11
    p = p * u + 5.269067501286465e-10
    p = p * u + 2.088002705362665e-08
    p = p * u + 8.267154803087776e-07
    p = p * u + 3.3068785686209746e-05
    p = p * u + 0.0013888888882396134
    return p * u + 0.08333333333335985


@kernel
def cotangent_rest_far(u):
    """As `cotangent_rest`, beyond π, from its definition."""
    share, cosine, sine = half_angle_of(u)
    sine *= share
    sine = sine if abs(sine) > STEEPEST else STEEPEST
    return (1.0 - cosine / sine) / u


@kernel
def turn_vectors(block, n):
    """Make gradients by rotation vectors x those by turns: γ − ½ x × γ + k x × (x × γ).

    k = (1 − θ/2 · cot θ/2)/θ², the transpose of the inverse right Jacobian of the exponential.
    """
    far = 0
    for i in range(n):
        x = lane_vec3(block, X + i)
        square = dot(x, x)
        far += 1 if square > np.pi * np.pi else 0
        block[REST + i] = cotangent_rest(square)
    if far > 0:
        for i in range(n):
            x = lane_vec3(block, X + i)
            if dot(x, x) > np.pi * np.pi:
                block[REST + i] = cotangent_rest_far(dot(x, x))
    for i in range(n):
        x, g = lane_vec3(block, X + i), lane_vec3(block, GX + i)
        across = cross(x, g)
        set_lane_vec3(block, GX + i, g - 0.5 * across + block[REST + i] * cross(x, across))


@kernel
def away_from_zero(x):
    """Return x, or ±STEEPEST if it is nearer to 0."""
    return x if abs(x) > STEEPEST else (STEEPEST if x >= 0.0 else -STEEPEST)


@kernel
def turn_back(block, i, hx, hy, angle):
    """Write a gradient across z to the first rows of lane i, turned about z by −`angle`."""
    c, s = half_angle(wrap_angle(angle))
    c, s = c * c - s * s, 2.0 * c * s
    block[GX + i] = c * hx + s * hy
    block[GX + LANES + i] = c * hy - s * hx


@kernel
def turn_swings(block, n):
    """Make gradients by swing (x, y) and twist z those by turns, in the chart's frame.

    A turn u after the swing, of size θ, changes the swing by u along it and by u · θ/sin θ across,
    and the twist by u_z and by the turn across times tan θ/2; it is seen through the twist.
    """
    for i in range(n):
        x, y, z = lane_vec3(block, X + i)
        gx, gy, gz = lane_vec3(block, GX + i)
        square = x * x + y * y
        share, cosine, sine = half_angle_of(square)
        safe = away_from_zero(cosine)
        ratio = away_from_zero(share * sine * safe)  # sin θ/θ
        far = (1.0 / ratio - 1.0) / max(square, 1e-3)
        near = 1.0 / 6.0 + square * (7.0 / 360.0 + square * (31.0 / 15120.0))
        across = (near if square < 1e-3 else far) * (x * gy - y * gx)
        across += gz * (0.5 * share * sine / safe)
        turn_back(block, i, gx - across * y, gy + across * x, z)


@kernel
def turn_hinges(p, t, block, n):
    """Make gradients by angles of hinges at right angles those by turns, in the chart's frame.

    Turned back by the last angle, the axes are (0, ∓sin σ, cos σ), (∓1, 0, 0) and z, with σ the
    middle angle from gimbal lock: along each, the gradient is the one by its angle.
    """
    side, lock = np.copysign(1.0, p[t + TAIL.across_far]), p[t + TAIL.lock]
    for i in range(n):
        angles, g = lane_vec3(block, X + i), lane_vec3(block, GX + i)
        c, s = half_angle(wrap_angle(angles.y - lock))
        c, s = c * c - s * s, away_from_zero(2.0 * c * s)
        turn_back(block, i, -side * g.y, -side * (g.x - c * g.z) / s, angles.z)


@kernel
def turn_to_joint(p, o, block, n):
    """Rotate the gradients from the chart's frame into the joint's own."""
    if is_turn(p, o + HEADER.into_right):
        matrix = matrix_of(quat_at(p, o + HEADER.into_right))
        for i in range(n):
            set_lane_vec3(block, GX + i, apply(matrix, lane_vec3(block, GX + i)))


@kernel
def differences(p, o, listed, count, block, other, lanes):
    """Write gradients of listed lanes by central differences of distances, over small turns."""
    trial = np.empty(BLOCK)
    for axis in range(3):
        for side in range(2):
            angle = NUDGE if side == 0 else -NUDGE
            turn = about(axis_vector(axis), np.cos(0.5 * angle), np.sin(0.5 * angle))
            for k in range(count):
                set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]) * turn)
            measure_lanes(p, o, trial, other, lanes, count)
            take_difference(trial, axis, side, listed, count, block)


@kernel
def bound_slopes(p, o, block, other, lanes, n):
    """Replace gradients longer than MAX_SLOPE by gradients of length 1.

    Outside, it is the gradient of the angle to the projection r: with r⁻¹ q = exp(v), v / |v|.
    Inside, the gradient keeps its direction.
    """
    steep = np.empty(LANES, np.int64)
    count = 0
    for i in range(n):
        slope = lane_vec3(block, GX + i)
        steep[count] = i
        count += 1 if dot(slope, slope) > MAX_SLOPE * MAX_SLOPE else 0
    if count == 0:
        return
    trial = np.empty(BLOCK)
    for k in range(count):
        set_lane_quat(trial, W0 + k, lane_quat(block, W0 + steep[k]))
    make_legal(p, o, 0.0, trial, other, lanes, count)
    for k in range(count):
        i = steep[k]
        move = log(conj(lane_quat(trial, QW + k)) * lane_quat(trial, W0 + k))
        move = move if norm(move) > RIM else lane_vec3(block, GX + i)
        set_lane_vec3(block, GX + i, move / norm(move))


@kernel
def measure_block(p, o, least, block, other, lanes, n):
    """Write distances of the given rotations, and gradients of at most MAX_SLOPE by rotations.

    Gradients of members at most `least` outside are arbitrary. Returns False, and writes none, if
    that is all of them.
    """
    measure_lanes(p, o, block, other, lanes, n)
    listed = np.empty(LANES, np.int64)
    wanted, count, formula = 0, 0, has_formula(p, o)
    known = RIM if formula else np.inf  # outside this the formula holds
    for i in range(n):
        distance = block[DISTANCE + i]
        wanted += 0 if distance <= least else 1
        count += 0 if (distance <= least) | (distance > known) else 1
    if wanted == 0:
        return False
    if count > 0:
        count = 0
        for i in range(n):
            distance = block[DISTANCE + i]
            listed[count] = i
            count += 0 if (distance <= least) | (distance > known) else 1
    if formula:
        chart = int(p[o + HEADER.chart])
        slopes_in_chart(p, o, listed, count, block, n)
        if chart == ROTATION_VECTOR:
            turn_vectors(block, n)
        elif chart == SWING_TWIST:
            turn_swings(block, n)
        else:
            turn_hinges(p, tail(p, o), block, n)
        turn_to_joint(p, o, block, n)
    else:
        for i in range(n):
            set_lane_vec3(block, GX + i, ZERO)
        differences(p, o, listed, count, block, other, lanes)
    bound_slopes(p, o, block, other, lanes, n)
    return True


@kernel("f8[] i8 i8 f8[] f8[] f8[]", "f4[] i8 i8 f8[] f4[] f4[]")
def measure(values, form, size, p, distances, gradients):
    """Write signed distances of rotations of a form, flat, `size` numbers each, and gradients.

    Gradients are by these numbers. Returns 0, or OTHER_LAYOUT.
    """
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block, other, lanes = np.zeros(BLOCK), np.zeros(BLOCK), np.empty(2 * LANES, np.int64)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load_form(values, form, size * start, size, block, n)
        measure_block(p, 0, -np.inf, block, other, lanes, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
        write_form(values, form, size * start, size, block, n, gradients)
    return 0.0


# The loss of whole poses.

PATH = 2  # of a row of paths: where the limit stands, how many joints, then these


@kernel
def load_path(values, layout, path, start, block, n):
    """Write what the joints of a path turn together, from the outermost on, in `n` poses."""
    form, size, stride = layout[0], layout[1], layout[1] * layout[2]
    above = np.empty(4 * LANES)
    for k in range(path[1]):
        load_form(values, form, start * stride + size * path[PATH + k], stride, block, n)
        if k > 0:
            for i in range(n):
                set_lane_quat(block, W0 + i, lane_quat(above, i) * lane_quat(block, W0 + i))
        for i in range(n):
            set_lane_quat(above, i, lane_quat(block, W0 + i))


@kernel
def add_path(values, layout, path, start, block, n, gradients):
    """Add gradients by the values of all joints of a path: a turn of one is seen through the next.

    With q that of the last joint, a turn ω of the one above is q⁻¹ ω q of the whole.
    """
    form, size, stride = layout[0], layout[1], layout[1] * layout[2]
    for back in range(path[1]):
        k = path[1] - 1 - back
        first = start * stride + size * path[PATH + k]
        if path[1] > 1:
            load_form(values, form, first, stride, block, n)
        add_form(values, form, first, stride, block, n, gradients)
        if k > 0:
            for i in range(n):
                turned = rotate(lane_quat(block, W0 + i), lane_vec3(block, GX + i))
                set_lane_vec3(block, GX + i, turned)


@kernel("f8[] i8[] i8[,] f8[] f8 f8[]", "f4[] i8[] i8[,] f8[] f8 f4[]")
def loss(values, layout, paths, p, margin, gradients):
    """Return the sum of squares by which joints of poses are outside, less `margin` radians.

    `layout` is the form, its size, and how many joints a pose has; a row of `paths` has where a
    limit stands in `p`, how many joints it is measured over, and these. Gradients, which are 0
    before, are of the mean over poses. Returns a negative number for limits of another layout.
    """
    block, other, lanes = np.zeros(BLOCK), np.zeros(BLOCK), np.empty(2 * LANES, np.int64)
    poses, total = values.shape[0] // max(layout[1] * layout[2], 1), 0.0
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
                slope = (2.0 * outside / poses) * lane_vec3(block, GX + i)
                set_lane_vec3(block, GX + i, slope if outside > 0.0 else ZERO)
            add_path(values, layout, path, start, block, n, gradients)
    return total / max(poses, 1)
