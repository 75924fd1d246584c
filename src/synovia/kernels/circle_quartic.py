"""Where circles first meet a unit ball, for many lanes at once.

A circle is q(t) = a + b cos t + c sin t, and f(t) = |q(t)|² - 1 = k₀ + k₁ cos t + k₂ sin t +
k₃ cos 2t + k₄ sin 2t has two harmonics. Of its roots the one nearest to 0 is looked for in steps
from 0 outwards, then by Halley's method. What that does not settle, such as a circle that touches
the ball or misses it, is searched lane by lane.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import cos_root, sinc_root
from .transforms import LANES

STEPS = 48  # of half a turn to each side, where a root or a nearest approach is looked for
ITERATIONS = 80  # at most: halvings, where Newton's steps do not do better
ROUNDS = 12  # of Halley's method for all lanes; three are usual
LAST = 1e-7  # radians; after a step of Halley's method as short as this, the next would be nothing
CLOSE = 1e-12
GRID = np.pi / STEPS * np.arange(STEPS + 1)
GRID_COSINE, GRID_SINE = np.cos(GRID), np.sin(GRID)
# Rows of the work space: coefficients k, the angle found, how far off it is, an interval with
# a root, and how far the search has come.
HARMONICS, FOUND, OFF, NEAR, FAR, STATE = (k * LANES for k in (0, 5, 6, 7, 8, 9))
ROWS = 10
SETTLED, OPEN, AHEAD, BEHIND, HARD = 0.0, 1.0, 2.0, 3.0, 4.0


@kernel
def value(k, c, s):
    """Return f where the cosine and the sine are these."""
    return k[0] + k[1] * c + k[2] * s + k[3] * (c * c - s * s) + 2.0 * k[4] * c * s


@kernel
def slope(k, c, s):
    """Return f' where the cosine and the sine are these."""
    return k[2] * c - k[1] * s - 4.0 * k[3] * c * s + 2.0 * k[4] * (c * c - s * s)


@kernel
def second_derivative(k, c, s):
    """Return f'' where the cosine and the sine are these."""
    return -k[1] * c - k[2] * s - 4.0 * k[3] * (c * c - s * s) - 8.0 * k[4] * c * s


@kernel
def bracketed_root(k, near, far, of_slope):
    """Return where f, or f' if `of_slope`, is 0 between two angles where its signs differ."""
    c, s = np.cos(near), np.sin(near)
    positive = (slope(k, c, s) if of_slope else value(k, c, s)) > 0.0
    t = 0.5 * (near + far)
    for _ in range(ITERATIONS):
        c, s = np.cos(t), np.sin(t)
        height = slope(k, c, s) if of_slope else value(k, c, s)
        steep = second_derivative(k, c, s) if of_slope else slope(k, c, s)
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
                answer, has = bracketed_root(k, near, far, False), True
            else:
                if abs(there) < gap:
                    best, gap = far, abs(there)
                if (ahead if number == 0 else behind) != rises:
                    middle = bracketed_root(k, near, far, True)
                    dip = value(k, np.cos(middle), np.sin(middle))
                    if (dip > 0.0) != outside:
                        answer, has = bracketed_root(k, near, middle, False), True
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
def start_search(s, n):
    """Settle the lanes that are on the ball at 0; return how many are not."""
    opened = 0
    for i in range(n):
        on_ball = (
            abs(s[HARMONICS + i] + s[HARMONICS + LANES + i] + s[HARMONICS + 3 * LANES + i]) <= CLOSE
        )
        s[STATE + i] = SETTLED if on_ball else OPEN
        s[FOUND + i] = 0.0
        s[OFF + i] = 0.0
        s[NEAR + i] = 0.0
        s[FAR + i] = 0.0
        opened += 0 if on_ball else 1
    return opened


@kernel
def scan_interval(step, s, n):
    """Look for a change of sign in one interval ahead and one behind; return how many go on.

    A change on both sides is hard to settle, and so is an interval in which f may come to the ball
    and go back: it approaches where the interval begins, and leaves where it ends.
    """
    c0, s0, c1, s1 = GRID_COSINE[step], GRID_SINE[step], GRID_COSINE[step + 1], GRID_SINE[step + 1]
    near, far = GRID[step], GRID[step + 1]
    double_c0, double_s0 = c0 * c0 - s0 * s0, 2.0 * c0 * s0
    double_c1, double_s1 = c1 * c1 - s1 * s1, 2.0 * c1 * s1
    opened = 0
    for i in range(n):
        k0, k1, k2 = s[HARMONICS + i], s[HARMONICS + LANES + i], s[HARMONICS + 2 * LANES + i]
        k3, k4 = s[HARMONICS + 3 * LANES + i], s[HARMONICS + 4 * LANES + i]
        sign = 1.0 if k0 + k1 + k3 > 0.0 else -1.0
        even, odd = k0 + k1 * c1 + k3 * double_c1, k2 * s1 + k4 * double_s1
        ahead, behind = sign * (even + odd) <= 0.0, sign * (even - odd) <= 0.0
        # Slopes away from 0: on both sides the same share, and one with the side's sign.
        both0, side0 = -k1 * s0 - 2.0 * k3 * double_s0, k2 * c0 + 2.0 * k4 * double_c0
        both1, side1 = -k1 * s1 - 2.0 * k3 * double_s1, k2 * c1 + 2.0 * k4 * double_c1
        comes, goes = sign * (both0 + side0) <= 0.0, sign * (both1 + side1) >= 0.0
        hard = (ahead & behind) | (comes & goes & (not ahead))
        comes, goes = sign * (both0 - side0) <= 0.0, sign * (both1 - side1) >= 0.0
        hard = hard | (comes & goes & (not behind))
        state = HARD if hard else (AHEAD if ahead else (BEHIND if behind else OPEN))
        active = s[STATE + i] == OPEN
        side = -1.0 if state == BEHIND else 1.0
        s[STATE + i] = state if active else s[STATE + i]
        s[NEAR + i] = side * near if active else s[NEAR + i]
        s[FAR + i] = side * far if active else s[FAR + i]
        opened += 1 if active & (state == OPEN) else 0
    return opened


@kernel
def refine_roots(s, n):
    """Take one step of Halley's method in all intervals, or halve them; return how many go on."""
    going = 0
    for i in range(n):
        k0, k1, k2 = s[HARMONICS + i], s[HARMONICS + LANES + i], s[HARMONICS + 2 * LANES + i]
        k3, k4 = s[HARMONICS + 3 * LANES + i], s[HARMONICS + 4 * LANES + i]
        t, near, far, state = s[FOUND + i], s[NEAR + i], s[FAR + i], s[STATE + i]
        u = 0.25 * t * t
        half_c, half_s = cos_root(u), 0.5 * t * sinc_root(u)
        sine, cosine = 2.0 * half_s * half_c, 1.0 - 2.0 * half_s * half_s
        double_c, double_s = 1.0 - 2.0 * sine * sine, 2.0 * sine * cosine
        once, twice = k1 * cosine + k2 * sine, k3 * double_c + k4 * double_s
        height = k0 + once + twice
        steep = k2 * cosine - k1 * sine + 2.0 * (k4 * double_c - k3 * double_s)
        bent = -once - 4.0 * twice
        same = (height > 0.0) == (k0 + k1 + k3 > 0.0)
        near, far = t if same else near, far if same else t
        share = 2.0 * steep * steep - height * bent
        after = t - 2.0 * height * steep / (share if share != 0.0 else 1e-300)
        inner = (min(near, far) <= after) & (after <= max(near, far))
        after = after if inner else 0.5 * (near + far)
        works = (state == AHEAD) | (state == BEHIND)
        done = inner & (abs(after - t) <= LAST)
        s[NEAR + i] = near
        s[FAR + i] = far
        s[FOUND + i] = after if works else t
        s[STATE + i] = SETTLED if works & done else state
        going += 1 if works & (not done) else 0
    return going


@kernel("f8[] i8")
def search_lanes(s, n):
    """Write the angles nearest to 0 that put points on the ball, and how far off they are then."""
    going, step = start_search(s, n), 0
    while going > 0 and step < STEPS:
        going = scan_interval(step, s, n)
        step += 1
    for i in range(n):
        works = (s[STATE + i] == AHEAD) | (s[STATE + i] == BEHIND)
        s[FOUND + i] = 0.5 * (s[NEAR + i] + s[FAR + i]) if works else 0.0
    going, step = n, 0
    while going > 0 and step < ROUNDS:
        going = refine_roots(s, n)
        step += 1
    coefficients = np.empty(5)
    for i in range(n):
        if s[STATE + i] != SETTLED:
            for k in range(5):
                coefficients[k] = s[HARMONICS + k * LANES + i]
            s[FOUND + i], s[OFF + i] = search(coefficients)
