"""Two turns that put two points of a bone onto an ellipsoid."""

from __future__ import annotations

import numpy as np

from .circle_quartic import FOUND, HARMONICS, OFF, search_lanes
from .circle_quartic import ROWS as SEARCH_ROWS
from .jit import kernel
from .rotation import half_angle
from .transforms import LANES

# Of the parameters: first axis, centre of the ellipsoid, the three rows that make it a unit ball,
# then three pairs of points.
AXIS, CENTER, SHRINK, PAIRS = 0, 3, 6, 15
# Rows of the work space, after those of the search: the two points, the axis, the matrix and the
# shift into the ball's frame, both turns, and a circle there and here.
ONE, OTHER, LINE, INTO, SHIFT, TURNED, AGAIN, THERE, HERE = (
    (SEARCH_ROWS + k) * LANES for k in (0, 3, 6, 9, 18, 21, 30, 39, 48)
)
ROWS = SEARCH_ROWS + 57


@kernel
def blend(p, work, lift, rotation, s, n):
    """Write the two points: a share of three pairs."""
    for k in range(6):
        q = PAIRS + k
        a, b, c = p[q], p[q + 6], p[q + 12]
        for i in range(n):
            u = min(max(work[lift + i], 0.0), 1.0)
            w = min(max(work[rotation + i], 0.0), 1.0)
            s[ONE + k * LANES + i] = (1.0 - w) * ((1.0 - u) * b + u * a) + w * c


@kernel
def enter(p, work, given, s, n):
    """Write how the bone's frame stands in the one where the ellipsoid is the unit ball."""
    for k in range(3):
        a, b, c = p[SHRINK + 3 * k], p[SHRINK + 3 * k + 1], p[SHRINK + 3 * k + 2]
        middle = a * p[CENTER] + b * p[CENTER + 1] + c * p[CENTER + 2]
        for column in range(4):
            to = SHIFT + k * LANES if column == 3 else INTO + (3 * k + column) * LANES
            away = middle if column == 3 else 0.0
            at = given + column * LANES
            for i in range(n):
                x, y, z = work[at + i], work[at + 4 * LANES + i], work[at + 8 * LANES + i]
                s[to + i] = a * x + b * y + c * z - away


@kernel
def write_harmonics(s, point, n):
    """Write the harmonics of points turned about the line: how they come and go from the ball."""
    for i in range(n):
        ax, ay, az = s[LINE + i], s[LINE + LANES + i], s[LINE + 2 * LANES + i]
        x, y, z = s[point + i], s[point + LANES + i], s[point + 2 * LANES + i]
        along = ax * x + ay * y + az * z
        mx, my, mz = along * ax, along * ay, along * az
        s[THERE + i], s[THERE + LANES + i], s[THERE + 2 * LANES + i] = mx, my, mz
        s[THERE + 3 * LANES + i] = x - mx
        s[THERE + 4 * LANES + i] = y - my
        s[THERE + 5 * LANES + i] = z - mz
        s[THERE + 6 * LANES + i] = ay * z - az * y
        s[THERE + 7 * LANES + i] = az * x - ax * z
        s[THERE + 8 * LANES + i] = ax * y - ay * x
    for k in range(9):
        row, v = INTO + 3 * (k % 3) * LANES, THERE + 3 * (k // 3) * LANES
        for i in range(n):
            x, y, z = s[v + i], s[v + LANES + i], s[v + 2 * LANES + i]
            moved = s[row + i] * x + s[row + LANES + i] * y + s[row + 2 * LANES + i] * z
            s[HERE + k * LANES + i] = moved
    for k in range(5):
        for i in range(n):
            s[HARMONICS + k * LANES + i] = -1.0 if k == 0 else 0.0
    for k in range(3):
        for i in range(n):
            a = s[HERE + k * LANES + i] + s[SHIFT + k * LANES + i]
            b, c = s[HERE + (3 + k) * LANES + i], s[HERE + (6 + k) * LANES + i]
            s[HARMONICS + i] += a * a + 0.5 * (b * b + c * c)
            s[HARMONICS + LANES + i] += 2.0 * a * b
            s[HARMONICS + 2 * LANES + i] += 2.0 * a * c
            s[HARMONICS + 3 * LANES + i] += 0.5 * (b * b - c * c)
            s[HARMONICS + 4 * LANES + i] += b * c


@kernel
def turn(s, to, n):
    """Write the rotation matrices about the line by the angles found."""
    for i in range(n):
        x, y, z, angle = s[LINE + i], s[LINE + LANES + i], s[LINE + 2 * LANES + i], s[FOUND + i]
        half_cosine, half_sine = half_angle(angle)
        r, v = 2.0 * half_sine * half_cosine, 2.0 * half_sine * half_sine  # v = 1 - cosine
        c = 1.0 - v
        s[to + i] = c + v * x * x
        s[to + LANES + i] = v * x * y - r * z
        s[to + 2 * LANES + i] = v * x * z + r * y
        s[to + 3 * LANES + i] = v * x * y + r * z
        s[to + 4 * LANES + i] = c + v * y * y
        s[to + 5 * LANES + i] = v * y * z - r * x
        s[to + 6 * LANES + i] = v * x * z - r * y
        s[to + 7 * LANES + i] = v * y * z + r * x
        s[to + 8 * LANES + i] = c + v * z * z


@kernel
def multiply_matrices(s, a, b, out, o, wide, n):
    """Write the products of matrices a and b of `s` to rows of `out`, `wide` apart; not to a, b."""
    for k in range(9):
        row, column = a + k // 3 * 3 * LANES, b + k % 3 * LANES
        to = o + (k // 3 * wide + k % 3) * LANES
        for i in range(n):
            x, y, z = s[row + i], s[row + LANES + i], s[row + 2 * LANES + i]
            u, v, w = s[column + i], s[column + 3 * LANES + i], s[column + 6 * LANES + i]
            out[to + i] = x * u + y * v + z * w


@kernel("f8[] i8[] i8 i8 f8[]")
def scapula(p, places, n, stride, work):
    """Write the two turns as one transform, their angles, and how far off the ellipsoid it is.

    The places are those of transform, lift and rotation, then of all that is written, in order.
    """
    given, lift, rotation, out = places[0], places[1], places[2], places[3]
    first, second, gap = places[4], places[5], places[6]
    s, moved = np.empty(ROWS * LANES), np.empty(9 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        one, two, off = (
            base + first,
            base + second,
            base + gap,
        )
        blend(p, work, base + lift, base + rotation, s, m)
        enter(p, work, base + given, s, m)
        for k in range(3):
            for i in range(m):
                s[LINE + k * LANES + i] = p[AXIS + k]
        write_harmonics(s, ONE, m)
        search_lanes(s, m)
        for i in range(m):
            work[one + i] = s[FOUND + i]
            work[off + i] = s[OFF + i]
        turn(s, TURNED, m)
        multiply_matrices(s, INTO, TURNED, moved, 0, 3, m)
        for k in range(9):
            for i in range(m):
                s[INTO + k * LANES + i] = moved[k * LANES + i]
        for i in range(m):
            x, y, z = s[ONE + i], s[ONE + LANES + i], s[ONE + 2 * LANES + i]
            scale = 1.0 / max(np.sqrt(x * x + y * y + z * z), 1e-300)
            s[LINE + i], s[LINE + LANES + i] = x * scale, y * scale
            s[LINE + 2 * LANES + i] = z * scale
        write_harmonics(s, OTHER, m)
        search_lanes(s, m)
        for i in range(m):
            x, y, z = s[ONE + i], s[ONE + LANES + i], s[ONE + 2 * LANES + i]
            lies = (x != 0.0) | (y != 0.0) | (z != 0.0)  # else there is no line to turn about
            s[FOUND + i] = s[FOUND + i] if lies else 0.0
            work[two + i] = s[FOUND + i]
            work[off + i] = max(work[off + i], s[OFF + i])
        turn(s, AGAIN, m)
        multiply_matrices(s, TURNED, AGAIN, work, base + out, 4, m)
        for k in range(3):
            to = base + out + (4 * k + 3) * LANES
            for i in range(m):
                work[to + i] = 0.0
