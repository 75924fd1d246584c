"""Signed distances of rotations with their gradients, for losses and for training.

The gradient by the vector ω of a rotation q · exp(ω) is written to the three rows from GX on. It
comes from central differences over turns by NUDGE about each axis.
"""

from __future__ import annotations

import numpy as np

from .hinges import folds
from .jit import kernel
from .layout import CONVEX, EULER, HINGES
from .limit import HEADER, OTHER_LAYOUT, enter, is_whole, make_legal, measure_lanes, nearest, tail
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    PX,
    QW,
    SCRATCH,
    W0,
    X,
    lane_quat,
    lane_vec3,
    load,
    set_lane_quat,
    set_lane_vec3,
)
from .vector import (
    ZERO,
    Quat,
    Vec3,
    about,
    axis_vector,
    conj,
    dot,
    log,
    norm,
    quat_at,
    quat_dot,
    set_quat,
)

GX = SCRATCH  # rows of the gradient, three
NUDGE = 1e-5  # radians; rounding and the third derivative both cause errors of about 1e-10
RIM = 1e-7  # radians; nearer to the boundary the foot gives no direction
MAX_SLOPE = 10.0  # length of a gradient, per radian: longer ones occur only next to a chart's
# singularities (opposite the axis, gimbal lock), where derivatives are unbounded, and across jumps


@kernel
def has_feet(p, o):
    """Return True if the distance outside the limit at `o` is that from the nearest point.

    That is so for convex shapes, except for hinges that cannot make every rotation.
    """
    chart, kind = int(p[o + HEADER.chart]), int(p[o + HEADER.SIZE])
    bends = chart == HINGES and folds(p, tail(p, o))
    return kind in CONVEX and chart != EULER and not bends


@kernel
def differences(p, o, by_feet, listed, count, block):
    """Write gradients of listed lanes by central differences of distances, over small turns.

    With `by_feet` the foot stays (Danskin's theorem), so that only the point in the chart is
    computed again: its distance changes by its move along the direction away from the foot.
    """
    trial = np.empty(BLOCK)
    for axis in range(3):
        for side in range(2):
            angle = NUDGE if side == 0 else -NUDGE
            turn = about(axis_vector(axis), np.cos(0.5 * angle), np.sin(0.5 * angle))
            for k in range(count):
                set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]) * turn)
            if by_feet:
                enter(p, o, trial, count)
                for k in range(count):
                    x, foot = lane_vec3(block, X + listed[k]), lane_vec3(block, PX + listed[k])
                    along = dot(x - foot, lane_vec3(trial, X + k) - foot)
                    trial[DISTANCE + k] = along / block[DISTANCE + listed[k]]
            else:
                measure_lanes(p, o, trial, count)
            for k in range(count):
                at, distance = GX + axis * LANES + listed[k], trial[DISTANCE + k]
                block[at] = distance if side == 0 else (block[at] - distance) * (0.5 / NUDGE)


@kernel
def list_steep(block, listed, n):
    """List the lanes with gradients longer than MAX_SLOPE; return how many there are."""
    count = 0
    for i in range(n):
        slope = lane_vec3(block, GX + i)
        listed[count] = i
        count += 1 if dot(slope, slope) > MAX_SLOPE * MAX_SLOPE else 0
    return count


@kernel
def bound_slopes(p, o, listed, count, block):
    """Replace gradients of listed lanes by gradients of length 1.

    Outside, it is the gradient of the angle to the projection r: with r⁻¹ q = exp(v), v / |v|.
    Inside, the gradient keeps its direction.
    """
    trial = np.empty(BLOCK)
    for k in range(count):
        set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]))
    make_legal(p, o, 0.0, trial, count)
    for k in range(count):
        i = listed[k]
        move = log(conj(lane_quat(trial, QW + k)) * lane_quat(trial, W0 + k))
        move = move if norm(move) > RIM else lane_vec3(block, GX + i)
        set_lane_vec3(block, GX + i, move / norm(move))


@kernel
def measure_block(p, o, least, block, n):
    """Write distances of the given rotations, and gradients of at most MAX_SLOPE by rotations.

    Gradients of members at most `least` outside are 0.
    """
    entered, listed = np.empty(3 * LANES), np.empty(LANES, np.int64)
    enter(p, o, block, n)
    for i in range(n):
        set_lane_vec3(entered, i, lane_vec3(block, X + i))
    nearest(p, o, -np.inf, np.inf, block, n)
    count = 0
    for i in range(n):
        unknown = not block[DISTANCE + i] <= least
        set_lane_vec3(block, GX + i, Vec3(np.inf, 0.0, 0.0) if unknown else ZERO)
        move = lane_vec3(block, X + i) - lane_vec3(entered, i)  # not 0 in another cover
        listed[count] = i
        count += 1 if unknown & (block[DISTANCE + i] > RIM) & (dot(move, move) == 0.0) else 0
    if count > 0 and has_feet(p, o):
        differences(p, o, True, listed, count, block)
    count = list_steep(block, listed, n)
    if count > 0:
        differences(p, o, False, listed, count, block)
        count = list_steep(block, listed, n)
    if count > 0:
        bound_slopes(p, o, listed, count, block)


@kernel("f8[] i8[] f8[] f8 f8[,] f8[]", "f4[] i8[] f8[] f8 f4[,] f4[]")
def measure(rotations, offsets, p, least, distances, gradients):
    """Write signed distances (n, limits) of unit quaternions, and gradients by their components.

    `rotations` (n, limits, 4) and `gradients` are flat; the limit of each column is at `offsets` of
    `p`. Gradients where the distance is at most `least` are 0. Returns 0, or OTHER_LAYOUT.
    """
    block = np.zeros(BLOCK)
    stride = 4 * offsets.shape[0]
    for k in range(offsets.shape[0]):
        if not is_whole(p, offsets[k]):
            return OTHER_LAYOUT
        for start in range(0, distances.shape[0], LANES):
            n, first = min(LANES, distances.shape[0] - start), start * stride + 4 * k
            load(rotations, first, stride, block, n)
            measure_block(p, offsets[k], least, block, n)
            for i in range(n):
                q, g = quat_at(rotations, first + stride * i), lane_vec3(block, GX + i)
                # What is not a number stays none.
                distances[start + i, k] = block[DISTANCE + i] + 0.0 * quat_dot(q, q)
                set_quat(gradients, first + stride * i, 2.0 * q * Quat(0.0, g.x, g.y, g.z))
    return 0.0
