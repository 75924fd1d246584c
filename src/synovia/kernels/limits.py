"""Limits on rotations: quaternion → chart → shape → quaternion, block by block.

A packed limit is a stretch of one flat float64 buffer: see `covers`. A packed model is many of
them in one buffer, with the offset of each, so one compiled loop serves joints of every kind.
"""

from __future__ import annotations

import numpy as np

from .covers import (
    AXIS,
    BACK_LEFT,
    BACK_RIGHT,
    CHART,
    DIRECTION_TWIST,
    INTO_LEFT,
    INTO_RIGHT,
    REACH,
    REACH_TWIST,
    ROTATION_VECTOR,
    SWING_TWIST,
    nearest,
)
from .directions import aim, point
from .euler import from_angles, to_angles
from .jit import kernel
from .rotation import (
    BLOCK,
    DISTANCE,
    FAR,
    LANES,
    OFF_UNIT,
    QW,
    QX,
    QY,
    QZ,
    exp,
    exp_far,
    join,
    join_far,
    load,
    load_strided,
    split,
    store,
    turn_in,
    turn_in_and_log,
    turn_out,
    turn_right,
)
from .shapes import HERE


@kernel
def enter(p, o, block, n):
    """Turn the quaternions into the chart's frame, and write their points."""
    chart = int(p[o + CHART])
    if chart == ROTATION_VECTOR:
        turn_in_and_log(p, o + INTO_LEFT, block, n)
        return
    turn_in(p, o + INTO_LEFT, block, n)
    if chart == SWING_TWIST:
        turn_right(p, o + INTO_RIGHT, block, n)
        split(block, n)
    elif chart == DIRECTION_TWIST:
        aim(p, o + AXIS, block, n)
    else:
        to_angles(block, n)


@kernel
def leave(p, o, tolerance, block, n):
    """Write the quaternions to go out: of the projected points, or what came in if inside."""
    chart = int(p[o + CHART])
    near = p[o + REACH] ** 2 <= FAR and p[o + REACH_TWIST] ** 2 <= FAR
    if chart == ROTATION_VECTOR:
        if near:
            exp(block, n)
        else:
            exp_far(block, n)
    elif chart == SWING_TWIST:
        if near:
            join(block, n)
        else:
            join_far(block, n)
        turn_right(p, o + BACK_RIGHT, block, n)
    elif chart == DIRECTION_TWIST:
        point(p, o + AXIS, block, n)
    else:
        from_angles(block, n)
    turn_out(p, o + BACK_LEFT, tolerance, block, n)


@kernel
def off_unit(block):
    """Return the largest sum of squared errors of length over the lanes; NaN if one is NaN."""
    worst = 0.0
    for i in range(LANES):
        if not block[OFF_UNIT + i] <= worst:
            worst = block[OFF_UNIT + i]
        if worst != worst:
            break
    return worst


@kernel
def project(rotations, p, tolerance, out):
    """Write the nearest legal rotations, members bit for bit.

    `rotations` and `out` are flat; returns how far lengths are off 1, squared (see `off_unit`).
    """
    block, other = np.zeros(BLOCK, rotations.dtype), np.zeros(BLOCK, rotations.dtype)
    lanes = np.empty(2 * LANES, np.int64)
    count = rotations.shape[0] // 4
    for start in range(0, count, LANES):
        n = min(LANES, count - start)
        load(rotations, start, block, n)
        enter(p, HERE, block, n)
        nearest(p, HERE, tolerance, 0.0, block, other, lanes, n)
        leave(p, HERE, tolerance, block, n)
        store(block, n, start, out)
    return off_unit(block)


@kernel
def measure(rotations, p, distances):
    """Write the signed distances of flat `rotations`; returns as `project` does."""
    block, other = np.zeros(BLOCK, rotations.dtype), np.zeros(BLOCK, rotations.dtype)
    lanes = np.empty(2 * LANES, np.int64)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, start, block, n)
        enter(p, HERE, block, n)
        nearest(p, HERE, -np.inf, np.inf, block, other, lanes, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
    return off_unit(block)


@kernel
def project_poses(rotations, joints, offsets, p, tolerance, out, distances):
    """As `project`, for poses: flat rotations of frames × all joints, limits for some.

    `joints[k]` is the joint that the limit at `offsets[k]` of `p` is for; `out` holds a copy of
    the rotations, `distances` is (frames, limits).
    """
    block, other = np.zeros(BLOCK, rotations.dtype), np.zeros(BLOCK, rotations.dtype)
    lanes = np.empty(2 * LANES, np.int64)
    frames = distances.shape[0]
    stride = rotations.shape[0] // max(frames, 1)
    for k in range(joints.shape[0]):
        o = offsets[k]
        for start in range(0, frames, LANES):
            n = min(LANES, frames - start)
            first = start * stride + 4 * joints[k]
            load_strided(rotations, first, stride, block, n)
            enter(p, o, block, n)
            nearest(p, o, -np.inf, np.inf, block, other, lanes, n)
            leave(p, o, tolerance, block, n)
            for i in range(n):
                at = first + stride * i
                out[at] = block[QW + i]
                out[at + 1] = block[QX + i]
                out[at + 2] = block[QY + i]
                out[at + 3] = block[QZ + i]
                distances[start + i, k] = block[DISTANCE + i]
    return off_unit(block)
