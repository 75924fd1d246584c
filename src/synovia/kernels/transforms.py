"""Transforms of many bones at once: rows of LANES numbers in one flat work space.

The work space is in blocks of `stride` numbers, each for LANES poses. A value is named by where
its first row starts in a block: a scalar has one row, a vector 3, a transform the 12 of its upper
three rows; lane i of row k is at [value + k · LANES + i]. So every loop over lanes is vector code.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import half_angle
from .vector import wrap_angle

LANES = 64


@kernel
def load(table, values, n, stride, work):
    """Copy each column of `table` (n, columns) to the row that `values` names."""
    for column in range(table.shape[1]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[column]
            for i in range(min(LANES, n - start)):
                work[here + i] = table[start + i, column]


@kernel
def fill(numbers, values, n, stride, work):
    """Write each number to all lanes of the row that `values` names."""
    for k in range(values.shape[0]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[k]
            for i in range(min(LANES, n - start)):
                work[here + i] = numbers[k]


@kernel
def store(values, n, stride, work, first, table):
    """Copy the rows that `values` names to the columns of `table` (n, columns), from `first` on."""
    for column in range(values.shape[0]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[column]
            for i in range(min(LANES, n - start)):
                table[start + i, first + column] = work[here + i]


@kernel
def multiply(left, a, right, b, out, o, n):
    """Write the products of transforms; `out` must not be where either factor is."""
    for r in range(3):
        row, to = a + 4 * r * LANES, o + 4 * r * LANES
        for i in range(n):
            x, y, z = left[row + i], left[row + LANES + i], left[row + 2 * LANES + i]
            j = b + i
            out[to + i] = x * right[j] + y * right[j + 4 * LANES] + z * right[j + 8 * LANES]
            j += LANES
            out[to + LANES + i] = x * right[j] + y * right[j + 4 * LANES] + z * right[j + 8 * LANES]
            j += LANES
            third = x * right[j] + y * right[j + 4 * LANES] + z * right[j + 8 * LANES]
            out[to + 2 * LANES + i] = third
            j += LANES
            shift = x * right[j] + y * right[j + 4 * LANES] + z * right[j + 8 * LANES]
            out[to + 3 * LANES + i] = shift + left[row + 3 * LANES + i]


@kernel
def product(factors, out, n, stride, work):
    """Write the product of the transforms that `factors` name, the last acting first."""
    count = factors.shape[0]
    kept = np.empty(24 * LANES)  # two products so far, in turn
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        if count == 1:
            for k in range(12):
                for i in range(m):
                    work[base + out + k * LANES + i] = work[base + factors[0] + k * LANES + i]
            continue
        if count == 2:
            multiply(work, base + factors[0], work, base + factors[1], work, base + out, m)
            continue
        multiply(work, base + factors[0], work, base + factors[1], kept, 0, m)
        here = 0
        for k in range(2, count - 1):
            multiply(kept, here, work, base + factors[k], kept, 12 * LANES - here, m)
            here = 12 * LANES - here
        multiply(kept, here, work, base + factors[count - 1], work, base + out, m)


@kernel
def turn(p, at, work, a, o, n):
    """Write the turns about the axis p[0:3] by angles within p[4:6], counted from p[3].

    The translations are those of the interval at p[at:at+6]: its centre, and its arm turned. Sines
    first, and then what they make: a short loop waits less for its polynomials than a long one.
    """
    x, y, z, neutral, low, high = p[0], p[1], p[2], p[3], p[4], p[5]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    dx, dy, dz = p[at + 3], p[at + 4], p[at + 5]
    # The arm across the axis, and the axis times the arm: what 1 - cosine and sine go with.
    along = x * dx + y * dy + z * dz
    ux, uy, uz = x * along - dx, y * along - dy, z * along - dz
    wx, wy, wz = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    sx, sy, sz = p[at] + dx, p[at + 1] + dy, p[at + 2] + dz
    for i in range(n):
        given = work[a + i]
        given = low if given < low else given
        angle = (high if given > high else given) - neutral
        half_cosine, half_sine = half_angle(wrap_angle(angle))
        work[o + 3 * LANES + i] = 2.0 * half_sine * half_cosine
        work[o + 7 * LANES + i] = 2.0 * half_sine * half_sine  # 1 - cosine
    for i in range(n):
        s, v = work[o + 3 * LANES + i], work[o + 7 * LANES + i]
        work[o + i] = 1.0 - v * (yy + zz)
        work[o + LANES + i] = v * xy - s * z
        work[o + 2 * LANES + i] = v * xz + s * y
        work[o + 3 * LANES + i] = sx + s * wx + v * ux
        work[o + 4 * LANES + i] = v * xy + s * z
        work[o + 5 * LANES + i] = 1.0 - v * (xx + zz)
        work[o + 6 * LANES + i] = v * yz - s * x
        work[o + 7 * LANES + i] = sy + s * wy + v * uy
        work[o + 8 * LANES + i] = v * xz - s * y
        work[o + 9 * LANES + i] = v * yz + s * x
        work[o + 10 * LANES + i] = 1.0 - v * (xx + yy)
        work[o + 11 * LANES + i] = sz + s * wz + v * uz


@kernel
def carry(p, at, edge, work, a, o, n):
    """Write the translations of another interval, at p[at:at+6], for angles beyond its edge."""
    dx, dy, dz = p[at + 3], p[at + 4], p[at + 5]
    for r in range(3):
        row, c = o + 4 * r * LANES, p[at + r]
        for i in range(n):
            x, y, z = work[row + i], work[row + LANES + i], work[row + 2 * LANES + i]
            there = c + x * dx + y * dy + z * dz
            work[row + 3 * LANES + i] = there if work[a + i] > edge else work[row + 3 * LANES + i]


@kernel
def rotation(p, angle, out, n, stride, work):
    """Write the turns by `angle` about a common axis and each interval's own centre.

    p: axis, neutral angle, least, greatest, number of intervals, their inner edges, then each
    interval's centre c and arm d: the translation is c + R d, R the whole turn.
    """
    count = int(p[6])
    first = 6 + count  # after count - 1 inner edges
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        turn(p, first, work, base + angle, base + out, m)
        for k in range(1, count):
            carry(p, first + 6 * k, p[6 + k], work, base + angle, base + out, m)


@kernel
def translation(p, along, out, n, stride, work):
    """Write the translations by an offset p[0:3] and the ways `along` three directions after it."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = base + out
        u, v = base + along[0], base + along[1]
        w = base + along[2]
        for r in range(3):
            here, a, b, c = p[r], p[3 + r], p[6 + r], p[9 + r]
            row = o + 4 * r * LANES
            one, two, three = 1.0 * (r == 0), 1.0 * (r == 1), 1.0 * (r == 2)
            for i in range(m):
                way = a * work[u + i] + b * work[v + i] + c * work[w + i]
                work[row + i] = one
                work[row + LANES + i] = two
                work[row + 2 * LANES + i] = three
                work[row + 3 * LANES + i] = here + way


@kernel
def compensation(p, between, ancestor, out, n, stride, work):
    """Write the turns about the point p[0:3] that undo the rotation of `ancestor`.

    With B the product of the rotations `between` it and the segment, B⁻¹ A⁻¹ B undoes A alone.
    """
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, a = base + out, base + ancestor
        for r in range(3):
            for c in range(3):
                to, row = o + (4 * r + c) * LANES, a + (4 * c + r) * LANES
                for i in range(m):
                    work[to + i] = work[row + i]
        for k in range(between.shape[0]):
            for i in range(m):
                conjugate(work, o, base + between[k], i)
        x, y, z = p[0], p[1], p[2]
        for r in range(3):
            row, here = o + 4 * r * LANES, p[r]
            for i in range(m):
                j = row + i
                work[j + 3 * LANES] = here - (
                    work[j] * x + work[j + LANES] * y + work[j + 2 * LANES] * z
                )


@kernel
def conjugate(work, o, b, i):
    """Replace the rotation C of lane i by Bᵀ C B."""
    for r in range(3):
        row = o + 4 * r * LANES + i
        x, y, z = work[row], work[row + LANES], work[row + 2 * LANES]
        for c in range(3):
            at = b + c * LANES + i
            work[row + c * LANES] = (
                x * work[at] + y * work[at + 4 * LANES] + z * work[at + 8 * LANES]
            )
    for c in range(3):
        column = o + c * LANES + i
        x, y, z = work[column], work[column + 4 * LANES], work[column + 8 * LANES]
        for r in range(3):
            at = b + r * LANES + i
            work[column + 4 * r * LANES] = (
                x * work[at] + y * work[at + 4 * LANES] + z * work[at + 8 * LANES]
            )


# From the transforms of bones to the rotations and positions of a pose.


@kernel
def quaternions(work, o, q, n):
    """Write the quaternions, w at least 0, of the rotations of n lanes as four rows of `q`.

    Of the four rows of 4 q qᵀ the one with the largest diagonal keeps its digits; where two are as
    long, either will do.
    """
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
def pose(segments, transforms, offsets, n, stride, work, rotations, positions):
    """Write the rotations and positions of some segments, as their parents see them.

    `transforms[k]` names the transform of segment number `segments[k]`; the lanes are the poses
    of rotations (n, joints, 4) and positions (n, joints, 3).
    """
    q = np.empty(4 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for k in range(transforms.shape[0]):
            o, j = base + transforms[k], segments[k]
            quaternions(work, o, q, m)
            ox, oy, oz = offsets[j, 0], offsets[j, 1], offsets[j, 2]
            for i in range(m):
                item = start + i
                rotations[item, j, 0] = q[i]
                rotations[item, j, 1] = q[LANES + i]
                rotations[item, j, 2] = q[2 * LANES + i]
                rotations[item, j, 3] = q[3 * LANES + i]
                positions[item, j, 0] = ox + work[o + 3 * LANES + i]
                positions[item, j, 1] = oy + work[o + 7 * LANES + i]
                positions[item, j, 2] = oz + work[o + 11 * LANES + i]
