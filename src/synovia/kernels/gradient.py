"""Signed distances of rotations with their gradients, for losses and for training."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .limit import OTHER_LAYOUT, is_whole, make_legal, measure_lanes
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    QW,
    W0,
    lane_quat,
    lane_vec3,
    load,
    set_lane_quat,
    set_lane_vec3,
)
from .vector import (
    ZERO,
    Quat,
    about,
    axis_vector,
    conj,
    log,
    norm,
    quat_at,
    quat_dot,
    set_quat,
)

NUDGE = 1e-5  # radians; rounding and the third derivative both cause errors of about 1e-10
RIM = 1e-7  # radians; nearer to the boundary the projection gives no direction
MAX_SLOPE = 10.0  # length of a gradient, per radian: longer ones occur only next to a chart's
# singularities (opposite the axis, gimbal lock), where derivatives are unbounded, and across jumps


@kernel
def differences(p, o, block, listed, count, slopes):
    """Write gradients of `count` listed lanes by central differences over turns about each axis."""
    trial = np.empty(BLOCK)
    for axis in range(3):
        for side in range(2):
            angle = NUDGE if side == 0 else -NUDGE
            turn = about(axis_vector(axis), np.cos(0.5 * angle), np.sin(0.5 * angle))
            for k in range(count):
                set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]) * turn)
            measure_lanes(p, o, trial, count)
            for k in range(count):
                at, distance = axis * LANES + listed[k], trial[DISTANCE + k]
                slopes[at] = distance if side == 0 else (slopes[at] - distance) * (0.5 / NUDGE)


@kernel
def bound_slopes(p, o, block, listed, count, slopes):
    """Replace gradients of `count` listed lanes by gradients of length 1.

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
        move = move if norm(move) > RIM else lane_vec3(slopes, i)
        set_lane_vec3(slopes, i, move / norm(move))


@kernel
def measure_block(p, o, least, block, slopes, n):
    """Write distances of the given rotations, and gradients of at most MAX_SLOPE.

    `slopes` has three rows of lanes: gradients by the vector ω of a rotation q · exp(ω). Gradients
    of members at most `least` outside are 0.
    """
    listed, count = np.empty(LANES, np.int64), 0
    measure_lanes(p, o, block, n)
    for i in range(n):
        set_lane_vec3(slopes, i, ZERO)
        listed[count] = i
        count += 0 if block[DISTANCE + i] <= least else 1
    if count == 0:
        return
    differences(p, o, block, listed, count, slopes)
    count = 0
    for i in range(n):
        listed[count] = i
        count += 1 if norm(lane_vec3(slopes, i)) > MAX_SLOPE else 0
    if count > 0:
        bound_slopes(p, o, block, listed, count, slopes)


@kernel("f8[] i8[] f8[] f8 f8[,] f8[]", "f4[] i8[] f8[] f8 f4[,] f4[]")
def measure(rotations, offsets, p, least, distances, gradients):
    """Write signed distances (n, limits) of unit quaternions, and gradients by their components.

    `rotations` (n, limits, 4) and `gradients` are flat; the limit of each column is at `offsets` of
    `p`. Gradients where the distance is at most `least` are 0. Returns 0, or OTHER_LAYOUT.
    """
    block, slopes = np.zeros(BLOCK), np.empty(3 * LANES)
    stride = 4 * offsets.shape[0]
    for k in range(offsets.shape[0]):
        if not is_whole(p, offsets[k]):
            return OTHER_LAYOUT
        for start in range(0, distances.shape[0], LANES):
            n, first = min(LANES, distances.shape[0] - start), start * stride + 4 * k
            load(rotations, first, stride, block, n)
            measure_block(p, offsets[k], least, block, slopes, n)
            for i in range(n):
                q, g = quat_at(rotations, first + stride * i), lane_vec3(slopes, i)
                # What is not a number stays none.
                distances[start + i, k] = block[DISTANCE + i] + 0.0 * quat_dot(q, q)
                set_quat(gradients, first + stride * i, 2.0 * q * Quat(0.0, g.x, g.y, g.z))
    return 0.0
