"""The chart of three hinges in blocks of lanes: to angles and back, and the nearest of all covers.

Between the outer axes a rotation is z(θ1) · M · z(θ3), with θ1 and θ3 about z. M depends on the
middle angle alone, θ2 = lock + σ: with c and s the cosine and sine of σ/2, and with the chart's
frames chosen so that the rest is 0, M = (c · along, −s · across_far, c · across, s · along_far). So

    w + i z = (c · along + i s · along_far) · exp(i (θ1 + θ3)/2),
    y − i x = (c · across + i s · across_far) · exp(i (θ1 − θ3)/2),

and |w + i z|² gives σ, up to its sign: the two solutions. Where neighbouring axes are at right
angles, `across` and `along_far` are 0, and every rotation has a σ. Angles are in float64 alone.
"""

from __future__ import annotations

import numpy as np

from .charts import angle_of, half_angle
from .jit import kernel
from .rotation import (
    BOUND,
    DISTANCE,
    LANES,
    OTHER_X,
    OTHER_Y,
    OTHER_Z,
    PT,
    PX,
    PY,
    PZ,
    QW,
    QX,
    QY,
    QZ,
    TURN,
    T,
    X,
    Y,
    Z,
)
from .shapes import region

# Where things stand in what a packed limit of this chart ends with.
LOCK, ALONG, ACROSS, ALONG_FAR, ACROSS_FAR = range(5)
LOW, HIGH = 5, 8  # bounds of the shape, three each
TAIL = 11

BEYOND, SLIDE = T, PT  # rows: radians out of the hinges' reach; which way points slide, 0 if none
LOCKED = 0.25e-12  # (radians/2)² from gimbal lock within which rounding shares two angles
FOLD = 1e-14  # tan² of σ/2 below which, or above whose inverse, both solutions are one
RIGHT = 1e-9  # sines up to this are of axes at right angles
OUT_OF_REACH = 1e-9  # radians; less is rounding
MOST_TURNS = 8  # whole turns either way in which a cover may be
SURE = 1.0 - 1e-12  # of a squared distance, below which another cover may be nearer
ZOOMS = 12  # of the search along a line: each narrows it to a 48th


@kernel
def folds(p, t):
    """Tell whether there are rotations that the hinges of the tail at `t` cannot make."""
    return abs(p[t + ACROSS]) > RIGHT or abs(p[t + ALONG_FAR]) > RIGHT


@kernel
def off_bounds(p, t, x, y, z):
    """Return the squared distance of a point from the shape's bounds."""
    dx = max(max(p[t + LOW] - x, x - p[t + HIGH]), 0.0)
    dy = max(max(p[t + LOW + 1] - y, y - p[t + HIGH + 1]), 0.0)
    dz = max(max(p[t + LOW + 2] - z, z - p[t + HIGH + 2]), 0.0)
    return dx * dx + dy * dy + dz * dz


@kernel
def to_hinges(p, t, block, n):
    """Write angles of the quaternions, each nearest to the bounds, and those of the other solution.

    Of both solutions the one nearer to the bounds comes first. Also written is how far a rotation
    is out of reach; its angles are those of the nearest within.
    """
    real = block.dtype.type
    one, zero, turn, part = real(1.0), real(0.0), real(TURN), real(1.0 / TURN)
    lock, along, across = real(p[t + LOCK]), real(p[t + ALONG]), real(p[t + ACROSS])
    along_far, across_far = real(p[t + ALONG_FAR]), real(p[t + ACROSS_FAR])
    mx = real(0.5 * (p[t + LOW] + p[t + HIGH]))
    my = real(0.5 * (p[t + LOW + 1] + p[t + HIGH + 1]))
    mz = real(0.5 * (p[t + LOW + 2] + p[t + HIGH + 2]))
    rx = real(0.5 * (p[t + HIGH] - p[t + LOW]))
    ry = real(0.5 * (p[t + HIGH + 1] - p[t + LOW + 1]))
    rz = real(0.5 * (p[t + HIGH + 2] - p[t + LOW + 2]))
    narrow, locked = folds(p, t), real(LOCKED)
    fold = real(FOLD) if narrow else zero
    quarter = real(np.copysign(0.5 * np.pi, p[t + ACROSS_FAR]))
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        near = max(x * x + y * y - across * across, zero)
        far = max(w * w + z * z - along_far * along_far, zero)
        near = zero if near <= fold * far else near
        far = zero if far <= fold * near else far
        block[X + i], block[Y + i] = np.sqrt(near), np.sqrt(far)
    for i in range(n):
        block[Z + i] = real(2.0) * angle_of(block[X + i], block[Y + i], real)
    for i in range(n):
        w, z = block[QW + i], block[QZ + i]
        block[PX + i] = angle_of(z, w, real) if w * w + z * z >= locked else zero
    for i in range(n):
        x, y = block[QX + i], block[QY + i]
        block[PY + i] = angle_of(-x, y, real) if x * x + y * y >= locked else zero
    for i in range(n):
        block[PZ + i], block[DISTANCE + i] = zero, quarter
        block[BEYOND + i], block[SLIDE + i] = zero, zero
    if narrow:
        for i in range(n):
            s, c = block[X + i], block[Y + i]
            block[PZ + i] = angle_of(s * along_far, c * along, real)
            block[DISTANCE + i] = angle_of(s * across_far, c * across, real)
            w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
            apart = angle_of(np.sqrt(x * x + y * y), np.sqrt(w * w + z * z), real)
            least = angle_of(abs(across), abs(along), real)
            most = angle_of(abs(across_far), abs(along_far), real)
            block[BEYOND + i] = real(2.0) * max(max(least - apart, apart - most), zero)
    for i in range(n):
        w, x, y, z = block[QW + i], block[QX + i], block[QY + i], block[QZ + i]
        swing, plus, minus = block[Z + i], block[PX + i], block[PY + i]
        in_plus, in_minus = block[PZ + i], block[DISTANCE + i]
        opposed, aligned = x * x + y * y < locked, w * w + z * z < locked
        in_minus = zero if opposed else in_minus
        in_plus = zero if aligned else in_plus
        s, c = block[X + i], block[Y + i]
        c_across, s_across = c * across, s * across_far
        c_along, s_along = c * along, s * along_far
        opposed = c_across * c_across + s_across * s_across < locked
        aligned = c_along * c_along + s_along * s_along < locked
        block[SLIDE + i] = -one if opposed else (one if aligned else zero)
        # Each angle in the turn in which it is nearest to the middle of the bounds.
        a1, a2 = plus + minus - in_plus - in_minus - mx, lock + swing - my
        a3 = plus - minus - in_plus + in_minus - mz
        b1, b2 = plus + minus + in_plus + in_minus - mx, lock - swing - my
        b3 = plus - minus + in_plus - in_minus - mz
        a1, a2 = a1 - turn * np.rint(a1 * part), a2 - turn * np.rint(a2 * part)
        a3, b1 = a3 - turn * np.rint(a3 * part), b1 - turn * np.rint(b1 * part)
        b2, b3 = b2 - turn * np.rint(b2 * part), b3 - turn * np.rint(b3 * part)
        d1, d2 = max(abs(a1) - rx, zero), max(abs(a2) - ry, zero)
        d3, e1 = max(abs(a3) - rz, zero), max(abs(b1) - rx, zero)
        e2, e3 = max(abs(b2) - ry, zero), max(abs(b3) - rz, zero)
        first = d1 * d1 + d2 * d2 + d3 * d3 <= e1 * e1 + e2 * e2 + e3 * e3
        block[X + i] = (a1 if first else b1) + mx
        block[Y + i] = (a2 if first else b2) + my
        block[Z + i] = (a3 if first else b3) + mz
        block[OTHER_X + i] = (b1 if first else a1) + mx
        block[OTHER_Y + i] = (b2 if first else a2) + my
        block[OTHER_Z + i] = (b3 if first else a3) + mz


@kernel
def from_hinges(p, t, block, n):
    """Write the quaternions of the angles at PX, PY, PZ."""
    real = block.dtype.type
    turn, part = real(TURN), real(1.0 / TURN)
    lock, along, across = real(p[t + LOCK]), real(p[t + ALONG]), real(p[t + ACROSS])
    along_far, across_far = real(p[t + ALONG_FAR]), real(p[t + ACROSS_FAR])
    for i in range(n):
        first, middle, last = block[PX + i], block[PY + i] - lock, block[PZ + i]
        first -= turn * np.rint(first * part)
        middle -= turn * np.rint(middle * part)
        last -= turn * np.rint(last * part)
        c, s = half_angle(middle, real)
        c_plus, s_plus = half_angle(first + last, real)
        c_minus, s_minus = half_angle(first - last, real)
        block[QW + i] = c * along * c_plus - s * along_far * s_plus
        block[QZ + i] = c * along * s_plus + s * along_far * c_plus
        block[QY + i] = c * across * c_minus - s * across_far * s_minus
        block[QX + i] = -(c * across * s_minus + s * across_far * c_minus)


@kernel
def other_turn(x, low, high):
    """Return how far the second nearest turn of an angle is from a range, the first in it."""
    half = 0.5 * (high - low)
    return max(TURN - abs(x - 0.5 * (low + high)) - half, 0.0)


@kernel
def most_turns(p, t, away):
    """Return in how many turns either way a point may be `away` from the bounds, or nearer."""
    half = 0.0
    for k in range(3):
        half = max(half, 0.5 * (p[t + HIGH + k] - p[t + LOW + k]))
    return int(min((half + away) / TURN + 0.5, 1.0 * MOST_TURNS))


@kernel
def most_away(p, t, i, block):
    """Return a bound on how far lane i is from the nearest member.

    That is the distance that was found, or that of the farthest corner of the bounds if it is less,
    as a damaged file may have a shape beyond its bounds.
    """
    dx = max(block[X + i] - p[t + LOW], p[t + HIGH] - block[X + i])
    dy = max(block[Y + i] - p[t + LOW + 1], p[t + HIGH + 1] - block[Y + i])
    dz = max(block[Z + i] - p[t + LOW + 2], p[t + HIGH + 2] - block[Z + i])
    corner = np.sqrt(dx * dx + dy * dy + dz * dz)
    return max(min(block[DISTANCE + i], corner), 0.0)


@kernel
def look_further(p, o, t, i, block, other):
    """Take the nearest of lane i's points in all turns of both solutions, but for the first."""
    away, count = most_away(p, t, i, block), 0
    most, square = most_turns(p, t, away), away * away
    y_in, z_in = p[t + LOW + 1], p[t + LOW + 2]
    for solution in range(2):
        x0 = block[X + i] if solution == 0 else block[OTHER_X + i]
        y0 = block[Y + i] if solution == 0 else block[OTHER_Y + i]
        z0 = block[Z + i] if solution == 0 else block[OTHER_Z + i]
        for a in range(-most, most + 1):
            x = x0 + a * TURN
            if off_bounds(p, t, x, y_in, z_in) > square:
                continue
            for b in range(-most, most + 1):
                y = y0 + b * TURN
                if off_bounds(p, t, x, y, z_in) > square:
                    continue
                for c in range(-most, most + 1):
                    z = z0 + c * TURN
                    known = solution == 0 and a == 0 and b == 0 and c == 0
                    if known or off_bounds(p, t, x, y, z) > square:
                        continue
                    other[X + count], other[Y + count], other[Z + count] = x, y, z
                    other[BOUND + count] = np.inf
                    count += 1
                    if count == LANES:
                        take_nearest(p, o, i, block, other, count)
                        count = 0
    take_nearest(p, o, i, block, other, count)


@kernel
def take_nearest(p, o, i, block, other, count):
    """Take for lane i what is nearer of its covers that were gathered in `other`."""
    region(p, o, np.inf, other, count)
    for k in range(count):
        if other[DISTANCE + k] < block[DISTANCE + i]:
            take_lane(block, i, other, k)


@kernel
def take_lane(block, i, other, k):
    """Copy lane k of `other` to lane i: point, projection and distance."""
    block[DISTANCE + i] = other[DISTANCE + k]
    block[X + i], block[Y + i], block[Z + i] = other[X + k], other[Y + k], other[Z + k]
    block[PX + i], block[PY + i], block[PZ + i] = other[PX + k], other[PY + k], other[PZ + k]


@kernel
def slide_lane(p, o, t, i, block, other):
    """Take the nearest point of lane i along all lines on which its rotation is the same.

    At gimbal lock the outer angles may both grow, or one as the other shrinks. On each line the
    distance is looked at in LANES places, then between the neighbours of the least, and so on.
    """
    way = block[SLIDE + i]
    x, y, z = block[X + i], block[Y + i], block[Z + i]
    # What stays along a line is x − way · z, and so it is of the bounds.
    one, two = p[t + LOW] - way * p[t + HIGH + 2], p[t + LOW] - way * p[t + LOW + 2]
    three, four = p[t + HIGH] - way * p[t + HIGH + 2], p[t + HIGH] - way * p[t + LOW + 2]
    least, most = min(min(one, two), min(three, four)), max(max(one, two), max(three, four))
    for a in range(-2 * MOST_TURNS, 2 * MOST_TURNS + 1):
        for b in range(-MOST_TURNS, MOST_TURNS + 1):
            away = most_away(p, t, i, block)
            stays, across = x + a * TURN - way * z, y + b * TURN
            off = max(max(least - stays, stays - most), 0.0)
            off_y = max(max(p[t + LOW + 1] - across, across - p[t + HIGH + 1]), 0.0)
            if 0.5 * off * off + off_y * off_y > away * away:
                continue
            start = p[t + LOW] - x - a * TURN - away
            step = (p[t + HIGH] - p[t + LOW] + 2.0 * away) / (LANES - 1)
            for _ in range(ZOOMS):
                for k in range(LANES):
                    moved = start + k * step
                    other[X + k], other[Y + k] = x + a * TURN + moved, across
                    other[Z + k], other[BOUND + k] = z + way * moved, np.inf
                region(p, o, np.inf, other, LANES)
                best = 0
                for k in range(LANES):
                    best = k if other[DISTANCE + k] < other[DISTANCE + best] else best
                if other[DISTANCE + best] < block[DISTANCE + i]:
                    take_lane(block, i, other, best)
                start += (best - 1) * step
                step *= 2.0 / (LANES - 1)


@kernel
def nearest_hinges(p, o, t, settled, block, other, lanes, n):
    """Write the nearest member over both solutions and all turns, of points that were entered.

    The region, packed at `o`, has been run on the first points. Others are looked at where the
    bounds are not farther than what was found, in lanes farther than `settled`. The points become
    those of the covers that were taken.
    """
    low0, low1, low2 = p[t + LOW], p[t + LOW + 1], p[t + LOW + 2]
    high0, high1, high2 = p[t + HIGH], p[t + HIGH + 1], p[t + HIGH + 2]
    found = 0
    for i in range(n):
        x, y, z, distance = block[X + i], block[Y + i], block[Z + i], block[DISTANCE + i]
        dx = max(max(low0 - x, x - high0), 0.0)
        dy = max(max(low1 - y, y - high1), 0.0)
        dz = max(max(low2 - z, z - high2), 0.0)
        # In the next turn of one angle.
        ex, ey = other_turn(x, low0, high0), other_turn(y, low1, high1)
        ez = other_turn(z, low2, high2)
        near = min(ex * ex - dx * dx, min(ey * ey - dy * dy, ez * ez - dz * dz))
        near += dx * dx + dy * dy + dz * dz
        near = min(
            near, off_bounds(p, t, block[OTHER_X + i], block[OTHER_Y + i], block[OTHER_Z + i])
        )
        away = max(distance, 0.0)
        maybe = (near < SURE * away * away) | ((near <= 0.0) & (distance <= 0.0))
        lanes[found] = i
        found += int(maybe & (distance > settled))
    for j in range(found):
        look_further(p, o, t, lanes[j], block, other)
    for i in range(n):
        if block[SLIDE + i] != 0.0 and block[DISTANCE + i] > settled:
            slide_lane(p, o, t, i, block, other)
    for i in range(n):
        out = block[BEYOND + i]
        far = out + max(block[DISTANCE + i], 0.0)
        block[DISTANCE + i] = far if out > OUT_OF_REACH else block[DISTANCE + i]


@kernel
def least_stretch(p, t, apart):
    """Return the square of how far a rotation turns at least, per radian of angles together.

    `apart` is the angle between the outer axes. It is the least eigenvalue of the matrix of the
    three axes' cosines, from its characteristic polynomial.
    """
    near = p[t + ALONG] ** 2 - p[t + ACROSS] ** 2  # cosines of the least and greatest angle
    far = p[t + ALONG_FAR] ** 2 - p[t + ACROSS_FAR] ** 2
    both, sines, c = 0.5 * (near + far), 0.5 * (near - far), np.cos(apart)
    square = (1.0 + both * both - sines * sines + c * c) / 3.0
    root = np.sqrt(max(square, 1e-300))
    share = min(max(both * c / (root * root * root), -1.0), 1.0)
    return 1.0 + 2.0 * root * np.cos((np.arccos(share) + TURN) / 3.0)


@kernel
def hinge_stretch(p, t, middle, angle):
    """Return how much longer a path within `angle` of a middle angle is than its true angle.

    The angle between the outer axes changes by at most `angle`, and the eigenvalue is concave in
    its cosine: the ends count.
    """
    h = 0.5 * (middle - p[t + LOCK])
    c, s = np.cos(h), np.sin(h)
    across = np.sqrt((c * p[t + ACROSS]) ** 2 + (s * p[t + ACROSS_FAR]) ** 2)
    along = np.sqrt((c * p[t + ALONG]) ** 2 + (s * p[t + ALONG_FAR]) ** 2)
    apart = 2.0 * np.arctan2(across, along)
    least = 2.0 * np.arctan2(abs(p[t + ACROSS]), abs(p[t + ALONG]))
    most = 2.0 * np.arctan2(abs(p[t + ACROSS_FAR]), abs(p[t + ALONG_FAR]))
    low = least_stretch(p, t, max(apart - angle, least))
    high = least_stretch(p, t, min(apart + angle, most))
    return 1.0 / np.sqrt(max(min(low, high), 1e-18))
