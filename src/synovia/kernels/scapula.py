"""Two turns that put two points of a bone onto an ellipsoid."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .transforms import LANES

STEPS = 48  # of half a turn to each side, where a root or a nearest approach is looked for
ITERATIONS = 80  # at most: halvings, where Newton's steps do not do better
CLOSE = 1e-12
GRID = np.pi / STEPS * np.arange(STEPS + 1)
GRID_COSINE, GRID_SINE = np.cos(GRID), np.sin(GRID)
# Of the parameters: first axis, centre of the ellipsoid, the three rows that make it a unit ball,
# then three pairs of points.
AXIS, CENTER, SHRINK, PAIRS = 0, 3, 6, 15


@kernel
def wave(circle, k):
    """Write f(t) = k₀ + k₁ cos t + k₂ sin t + k₃ cos 2t + k₄ sin 2t = |q(t)|² - 1 of a circle.

    The circle is q(t) = a + b cos t + c sin t, in the frame where the ellipsoid is the unit ball.
    """
    k[:] = 0.0
    for i in range(3):
        a, b, c = circle[i], circle[3 + i], circle[6 + i]
        k[0] += a * a + 0.5 * (b * b + c * c)
        k[1] += 2.0 * a * b
        k[2] += 2.0 * a * c
        k[3] += 0.5 * (b * b - c * c)
        k[4] += b * c
    k[0] -= 1.0


@kernel
def value(k, c, s):
    """Return f where the cosine and the sine are these."""
    return k[0] + k[1] * c + k[2] * s + k[3] * (c * c - s * s) + 2.0 * k[4] * c * s


@kernel
def slope(k, c, s):
    """Return f' where the cosine and the sine are these."""
    return k[2] * c - k[1] * s - 4.0 * k[3] * c * s + 2.0 * k[4] * (c * c - s * s)


@kernel
def bend(k, c, s):
    """Return f'' where the cosine and the sine are these."""
    return -k[1] * c - k[2] * s - 4.0 * k[3] * (c * c - s * s) - 8.0 * k[4] * c * s


@kernel
def settled(k, near, far, of_slope):
    """Return where f, or f' if `of_slope`, is 0 between two angles where its signs differ."""
    c, s = np.cos(near), np.sin(near)
    positive = (slope(k, c, s) if of_slope else value(k, c, s)) > 0.0
    t = 0.5 * (near + far)
    for _ in range(ITERATIONS):
        c, s = np.cos(t), np.sin(t)
        height = slope(k, c, s) if of_slope else value(k, c, s)
        steep = bend(k, c, s) if of_slope else slope(k, c, s)
        if (height > 0.0) == positive:
            near = t
        else:
            far = t
        after = t - height / steep if steep != 0.0 else near
        if not min(near, far) < after < max(near, far):
            after = 0.5 * (near + far)
        if abs(after - t) <= 1e-16 * abs(t) or after in (near, far):
            return after
        t = after
    return t


@kernel
def search(k):
    """Return the angle nearest to 0 that puts the point on the ball, and how far off it is then.

    Intervals are looked at from 0 outwards on both sides; one whose ends are on the same side
    may still dip to the ball between them, where the distance turns. If none reaches, the closest
    approach is returned.
    """
    start = value(k, 1.0, 0.0)
    if abs(start) <= CLOSE:
        return 0.0, 0.0
    best, gap, outside = 0.0, abs(start), start > 0.0
    ahead = behind = slope(k, 1.0, 0.0) > 0.0  # whether f rises, at the last place on each side
    for step in range(STEPS):
        found, where = False, 0.0
        c = GRID_COSINE[step + 1]
        for number in range(2):
            side = 1.0 - 2.0 * number
            near, far, s = side * GRID[step], side * GRID[step + 1], side * GRID_SINE[step + 1]
            there = value(k, c, s)
            rises = slope(k, c, s) > 0.0
            answer, has = 0.0, False
            if (there > 0.0) != outside:
                answer, has = settled(k, near, far, False), True
            else:
                if abs(there) < gap:
                    best, gap = far, abs(there)
                if (ahead if number == 0 else behind) != rises:
                    middle = settled(k, near, far, True)
                    dip = value(k, np.cos(middle), np.sin(middle))
                    if (dip > 0.0) != outside:
                        answer, has = settled(k, near, middle, False), True
                    elif abs(dip) < gap:
                        best, gap = middle, abs(dip)
            if number == 0:
                ahead = rises
            else:
                behind = rises
            if has and (not found or abs(answer) < abs(where)):
                found, where = True, answer
        if found:
            return where, 0.0
    off = abs(np.sqrt(max(1.0 + value(k, np.cos(best), np.sin(best)), 0.0)) - 1.0)
    return best, off if gap > CLOSE else 0.0


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
    place, moved, circle, f = np.empty(12), np.empty(12), np.empty(9), np.empty(5)
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
        wave(circle, f)
        theta, off = search(f)
        turn_about(p[AXIS : AXIS + 3], theta, r1)
        after(place, r1, moved)
        size = np.sqrt(one[0] ** 2 + one[1] ** 2 + one[2] ** 2)
        for k in range(3):
            axis[k] = one[k] / max(size, 1e-300)
        ring(p, moved, axis, other, circle)
        wave(circle, f)
        psi, off_second = search(f)
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
