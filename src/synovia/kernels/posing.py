"""From the transforms of bones to the rotations and positions of a pose."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .transforms import LANES


@kernel
def quaternion(work, o, q, at, step, i):
    """Write the quaternion, w at least 0, of the rotation of lane i at q[at], q[at + step], …

    Of the four rows of 4 q qᵀ the one with the largest diagonal keeps its digits.
    """
    xx, xy, xz = work[o + i], work[o + LANES + i], work[o + 2 * LANES + i]
    yx, yy, yz = work[o + 4 * LANES + i], work[o + 5 * LANES + i], work[o + 6 * LANES + i]
    zx, zy, zz = work[o + 8 * LANES + i], work[o + 9 * LANES + i], work[o + 10 * LANES + i]
    if xx + yy + zz > 0.0:
        w, x, y, z = 1.0 + xx + yy + zz, zy - yz, xz - zx, yx - xy
    elif xx >= yy and xx >= zz:
        w, x, y, z = zy - yz, 1.0 + xx - yy - zz, xy + yx, xz + zx
    elif yy >= zz:
        w, x, y, z = xz - zx, xy + yx, 1.0 - xx + yy - zz, yz + zy
    else:
        w, x, y, z = yx - xy, xz + zx, yz + zy, 1.0 - xx - yy + zz
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    scale = -scale if w < 0.0 else scale
    q[at] = scale * w
    q[at + step] = scale * x
    q[at + 2 * step] = scale * y
    q[at + 3 * step] = scale * z


@kernel
def matrix(w, x, y, z, work, o, i):
    """Write the rotation of lane i that a unit quaternion means."""
    work[o + i] = 1.0 - 2.0 * (y * y + z * z)
    work[o + LANES + i] = 2.0 * (x * y - w * z)
    work[o + 2 * LANES + i] = 2.0 * (x * z + w * y)
    work[o + 4 * LANES + i] = 2.0 * (x * y + w * z)
    work[o + 5 * LANES + i] = 1.0 - 2.0 * (x * x + z * z)
    work[o + 6 * LANES + i] = 2.0 * (y * z - w * x)
    work[o + 8 * LANES + i] = 2.0 * (x * z - w * y)
    work[o + 9 * LANES + i] = 2.0 * (y * z + w * x)
    work[o + 10 * LANES + i] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def pose(transforms, offsets, n, stride, work, rotations, positions):
    """Write the flat rotations and positions of n poses, every segment as its parent sees it.

    `transforms[j]` names the transform of segment j, -1 if it has none and stays at its offset.
    """
    joints = transforms.shape[0]
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for j in range(joints):
            if transforms[j] < 0:
                for i in range(m):
                    item = (start + i) * joints + j
                    rotations[4 * item] = 1.0
                    for k in range(3):
                        rotations[4 * item + 1 + k] = 0.0
                        positions[3 * item + k] = offsets[j, k]
                continue
            o = base + transforms[j]
            for i in range(m):
                item = (start + i) * joints + j
                quaternion(work, o, rotations, 4 * item, 1, i)
                for k in range(3):
                    positions[3 * item + k] = offsets[j, k] + work[o + (4 * k + 3) * LANES + i]
