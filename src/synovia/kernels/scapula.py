"""Two turns that put two points of a bone onto an ellipsoid."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .transforms import LANES

STEPS = 48  # of half a turn to each side, where a root or a nearest approach is looked for
HALVINGS = 60
CLOSE = 1e-12
# Of the parameters: first axis, centre of the ellipsoid, the three rows that make it a unit ball,
# then three pairs of points.
AXIS, CENTER, SHRINK, PAIRS = 0, 3, 6, 15


@kernel
def at(circle, angle):
    """Return by how much the point of a circle at `angle` is outside the unit ball."""
    c, s = np.cos(angle), np.sin(angle)
    square = 0.0
    for k in range(3):
        q = circle[k] + circle[3 + k] * c + circle[6 + k] * s
        square += q * q
    return np.sqrt(square) - 1.0


@kernel
def slope(circle, angle):
    """Return the sign's worth of how that changes: the derivative of half the square."""
    c, s = np.cos(angle), np.sin(angle)
    total = 0.0
    for k in range(3):
        q = circle[k] + circle[3 + k] * c + circle[6 + k] * s
        total += q * (circle[6 + k] * c - circle[3 + k] * s)
    return total


@kernel
def root(circle, near, far):
    """Return the angle between `near` and `far`, where the signs differ, that is on the ball."""
    outside = at(circle, near) > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if (at(circle, middle) > 0.0) == outside:
            near = middle
        else:
            far = middle
    return 0.5 * (near + far)


@kernel
def turning(circle, near, far):
    """Return the angle between `near` and `far` where the distance stops falling or rising."""
    sign = slope(circle, near) > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if (slope(circle, middle) > 0.0) == sign:
            near = middle
        else:
            far = middle
    return 0.5 * (near + far)


@kernel
def search(circle):
    """Return the angle nearest to 0 that puts the point on the ball, and how far off it is then.

    Intervals are looked at from 0 outwards on both sides; one whose ends are on the same side
    may still dip to the ball between them, where the distance turns. If none reaches, the closest
    approach is returned.
    """
    start = at(circle, 0.0)
    if abs(start) <= CLOSE:
        return 0.0, 0.0
    best, gap = 0.0, abs(start)
    step = np.pi / STEPS
    for k in range(STEPS):
        found, where = False, 0.0
        for side in (1.0, -1.0):
            near, far = side * k * step, side * (k + 1) * step
            here, there = at(circle, near), at(circle, far)
            answer, has = 0.0, False
            if (here > 0.0) != (there > 0.0):
                answer, has = root(circle, near, far), True
            else:
                if abs(there) < gap:
                    best, gap = far, abs(there)
                if (slope(circle, near) > 0.0) != (slope(circle, far) > 0.0):
                    middle = turning(circle, near, far)
                    dip = at(circle, middle)
                    if (dip > 0.0) != (here > 0.0):
                        answer, has = root(circle, near, middle), True
                    elif abs(dip) < gap:
                        best, gap = middle, abs(dip)
            if has and (not found or abs(answer) < abs(where)):
                found, where = True, answer
        if found:
            return where, 0.0
    return best, gap if gap > CLOSE else 0.0


@kernel
def ring(p, place, axis, point, circle):
    """Write the circle of `point` turned about `axis` through the origin, in the ball's frame.

    `place` (12) is the transform into the ellipsoid's frame; rows of the circle: middle, cosine's
    part, sine's part.
    """
    along = axis[0] * point[0] + axis[1] * point[1] + axis[2] * point[2]
    parts = np.empty(9)
    for k in range(3):
        n, m = (k + 1) % 3, (k + 2) % 3
        parts[k] = along * axis[k]
        parts[3 + k] = point[k] - along * axis[k]
        parts[6 + k] = axis[n] * point[m] - axis[m] * point[n]
    for part in range(3):
        for k in range(3):
            circle[3 * part + k] = 0.0
        for r in range(3):
            moved = place[4 * r + 3] - p[CENTER + r] if part == 0 else 0.0
            for c in range(3):
                moved += place[4 * r + c] * parts[3 * part + c]
            for k in range(3):
                circle[3 * part + k] += p[SHRINK + 3 * k + r] * moved


@kernel
def turn_about(axis, angle, r):
    """Write the rotation matrix, 9 numbers, about a unit axis."""
    c, s = np.cos(angle), np.sin(angle)
    v = 2.0 * np.sin(0.5 * angle) ** 2
    x, y, z = axis[0], axis[1], axis[2]
    r[0], r[1], r[2] = c + v * x * x, v * x * y - s * z, v * x * z + s * y
    r[3], r[4], r[5] = v * x * y + s * z, c + v * y * y, v * y * z - s * x
    r[6], r[7], r[8] = v * x * z - s * y, v * y * z + s * x, c + v * z * z


@kernel
def after(place, r, out):
    """Write the transform `place` after the rotation `r`."""
    for row in range(3):
        for c in range(3):
            total = 0.0
            for k in range(3):
                total += place[4 * row + k] * r[3 * k + c]
            out[4 * row + c] = total
        out[4 * row + 3] = place[4 * row + 3]


@kernel
def scapula(p, given, lift, rotation, out, first, second, gap, n, stride, work):
    """Write the two turns as one transform, their angles, and how far off the ellipsoid it is."""
    place, moved, circle = np.empty(12), np.empty(12), np.empty(9)
    one, other, axis = np.empty(3), np.empty(3), np.empty(3)
    r1, r2 = np.empty(9), np.empty(9)
    for lane in range(n):
        base, i = lane // LANES * stride, lane % LANES
        for k in range(12):
            place[k] = work[base + given + k * LANES + i]
        u = min(max(work[base + lift + i], 0.0), 1.0)
        w = min(max(work[base + rotation + i], 0.0), 1.0)
        for k in range(3):
            for j in range(2):
                q = PAIRS + 3 * j + k
                blend = (1.0 - w) * ((1.0 - u) * p[q + 6] + u * p[q]) + w * p[q + 12]
                if j == 0:
                    one[k] = blend
                else:
                    other[k] = blend
        ring(p, place, p[AXIS : AXIS + 3], one, circle)
        theta, off = search(circle)
        turn_about(p[AXIS : AXIS + 3], theta, r1)
        after(place, r1, moved)
        size = np.sqrt(one[0] ** 2 + one[1] ** 2 + one[2] ** 2)
        for k in range(3):
            axis[k] = one[k] / max(size, 1e-300)
        ring(p, moved, axis, other, circle)
        psi, off_second = search(circle)
        psi = psi if size > 0.0 else 0.0  # no line to turn about
        turn_about(axis, psi, r2)
        for row in range(3):
            for c in range(3):
                total = 0.0
                for k in range(3):
                    total += r1[3 * row + k] * r2[3 * k + c]
                work[base + out + (4 * row + c) * LANES + i] = total
            work[base + out + (4 * row + 3) * LANES + i] = 0.0
        work[base + first + i] = theta
        work[base + second + i] = psi
        work[base + gap + i] = max(off, off_second)
