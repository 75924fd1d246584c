"""From the transforms of bones to the rotations and positions of a pose."""

from __future__ import annotations

import numpy as np

from .cone_edges import place_of
from .jit import kernel
from .transforms import LANES


@kernel
def quaternions(work, o, q, n):
    """Write the quaternions, w at least 0, of the rotations of n lanes as four rows of `q`.

    Of the four rows of 4 q qᵀ the one with the largest diagonal keeps its digits; where two are as
    long, either will do.
    """
    o = place_of(o)
    for i in range(n):
        xx, xy, xz = work[o + i], work[o + LANES + i], work[o + 2 * LANES + i]
        yx, yy, yz = work[o + 4 * LANES + i], work[o + 5 * LANES + i], work[o + 6 * LANES + i]
        zx, zy, zz = work[o + 8 * LANES + i], work[o + 9 * LANES + i], work[o + 10 * LANES + i]
        whole = xx + yy + zz > 0.0
        along_x = (xx >= yy) & (xx >= zz)
        along_y = yy >= zz
        a, b, c = zy - yz, xz - zx, yx - xy
        d, e, f = xy + yx, xz + zx, yz + zy
        w = a if along_x else (b if along_y else c)
        x = 1.0 + xx - yy - zz if along_x else (d if along_y else e)
        y = d if along_x else (1.0 - xx + yy - zz if along_y else f)
        z = e if along_x else (f if along_y else 1.0 - xx - yy + zz)
        w, x = 1.0 + xx + yy + zz if whole else w, a if whole else x
        y, z = b if whole else y, c if whole else z
        scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
        scale = -scale if w < 0.0 else scale
        q[i] = scale * w
        q[LANES + i] = scale * x
        q[2 * LANES + i] = scale * y
        q[3 * LANES + i] = scale * z


@kernel
def pose(segments, transforms, offsets, first, n, stride, work, rotations, positions):
    """Write the rotations and positions of some segments, as their parents see them.

    `transforms[k]` names the transform of segment number `segments[k]`; the lanes are the poses
    from number `first` on of rotations (poses, joints, 4) and positions (poses, joints, 3).
    """
    q = np.empty(4 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for k in range(transforms.shape[0]):
            o, j = place_of(base + transforms[k]), place_of(segments[k])
            quaternions(work, o, q, m)
            ox, oy, oz = offsets[j, 0], offsets[j, 1], offsets[j, 2]
            for i in range(m):
                item = place_of(first + start + i)
                rotations[item, j, 0] = q[i]
                rotations[item, j, 1] = q[LANES + i]
                rotations[item, j, 2] = q[2 * LANES + i]
                rotations[item, j, 3] = q[3 * LANES + i]
                positions[item, j, 0] = ox + work[o + 3 * LANES + i]
                positions[item, j, 1] = oy + work[o + 7 * LANES + i]
                positions[item, j, 2] = oz + work[o + 11 * LANES + i]
