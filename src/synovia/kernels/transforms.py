"""Transforms of many bones at once: rows of LANES numbers in one flat work space.

The work space is in blocks of `stride` numbers, each for LANES poses. A value is named by where
its first row starts in a block: a scalar has one row, a vector 3, a transform the 12 of its upper
three rows; lane i of row k is at [value + k · LANES + i]. So every loop over lanes is vector code.
"""

from __future__ import annotations

import numpy as np

from .cone_edges import place_of
from .jit import kernel
from .polynomials import cos_root, sinc_root

LANES = 64
TURN = 2.0 * np.pi


@kernel
def load(table, values, n, stride, work):
    """Copy each column of `table` (n, columns) to the row that `values` names."""
    for column in range(values.shape[0]):
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
def store(values, n, stride, work, table):
    """Copy the rows that `values` names to the columns of `table` (n, columns)."""
    for column in range(values.shape[0]):
        for start in range(0, n, LANES):
            here = start // LANES * stride + values[column]
            for i in range(min(LANES, n - start)):
                table[start + i, column] = work[here + i]


@kernel
def multiply(left, a, right, b, out, o, n):
    """Write the products of transforms; `out` must not be where either factor is."""
    a, b, o = place_of(a), place_of(b), place_of(o)
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
def turn(p, work, a, o, n):
    """Write the rotation part of turns about the axis p[0:3] by angles within p[4:6], from p[3]."""
    x, y, z, neutral, low, high = p[0], p[1], p[2], p[3], p[4], p[5]
    a, o = place_of(a), place_of(o)
    for i in range(n):
        given = work[a + i]
        given = low if given < low else given
        angle = (high if given > high else given) - neutral
        angle -= TURN * np.rint(angle / TURN)
        u = 0.0625 * angle * angle
        quarter, sine = cos_root(u, np.float64), 0.25 * angle * sinc_root(u, np.float64)
        half_cosine, half_sine = 1.0 - 2.0 * sine * sine, 2.0 * sine * quarter
        s, v = 2.0 * half_sine * half_cosine, 2.0 * half_sine * half_sine  # v = 1 - cosine
        work[o + i] = 1.0 - v * (y * y + z * z)
        work[o + LANES + i] = v * x * y - s * z
        work[o + 2 * LANES + i] = v * x * z + s * y
        work[o + 4 * LANES + i] = v * x * y + s * z
        work[o + 5 * LANES + i] = 1.0 - v * (x * x + z * z)
        work[o + 6 * LANES + i] = v * y * z - s * x
        work[o + 8 * LANES + i] = v * x * z - s * y
        work[o + 9 * LANES + i] = v * y * z + s * x
        work[o + 10 * LANES + i] = 1.0 - v * (x * x + y * y)


@kernel
def carry(p, at, work, o, n):
    """Write the translations: the centre at p[at:at+3] and the arm after it, turned."""
    dx, dy, dz = p[at + 3], p[at + 4], p[at + 5]
    o = place_of(o)
    for r in range(3):
        row, c = o + 4 * r * LANES, p[at + r]
        for i in range(n):
            x, y, z = work[row + i], work[row + LANES + i], work[row + 2 * LANES + i]
            work[row + 3 * LANES + i] = c + x * dx + y * dy + z * dz


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
        o = base + out
        turn(p, work, base + angle, o, m)
        if count == 1:
            carry(p, 7, work, o, m)
            continue
        for i in range(m):
            number = 0
            for k in range(count - 1):
                number += 1 if work[base + angle + i] > p[7 + k] else 0
            carry(p, first + 6 * number, work, o + i, 1)


@kernel
def translation(p, along, out, n, stride, work):
    """Write the translations by an offset p[0:3] and the ways `along` three directions after it."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = base + out
        u, v, w = base + along[0], base + along[1], base + along[2]
        for r in range(3):
            here, a, b, c = p[r], p[3 + r], p[6 + r], p[9 + r]
            row = o + 4 * r * LANES
            for i in range(m):
                work[row + i] = 1.0 if r == 0 else 0.0
                work[row + LANES + i] = 1.0 if r == 1 else 0.0
                work[row + 2 * LANES + i] = 1.0 if r == 2 else 0.0
                way = a * work[u + i] + b * work[v + i] + c * work[w + i]
                work[row + 3 * LANES + i] = here + way


@kernel
def compensation(p, between, ancestor, out, n, stride, work):
    """Write the turns about the point p[0:3] that undo the rotation of `ancestor`.

    With B the product of the rotations `between` it and the segment, B⁻¹ A⁻¹ B undoes A alone.
    """
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o, a = place_of(base + out), place_of(base + ancestor)
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
