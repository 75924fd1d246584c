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

from .jit import kernel
from .layout import MAX_REACH, Field, Layout
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    OTHER_X,
    PT,
    PX,
    PY,
    PZ,
    QW,
    T,
    X,
    Y,
    Z,
    angle_of,
    half_angle,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
)
from .shapes import region
from .vector import TURN, Quat, Vec3, dot, norm, outside_of, vec3_at, wrap_angle

TAIL = Layout(
    "tail",
    lock=Field(-10.0, 10.0),
    along=1,
    across=1,
    along_far=1,
    across_far=1,
    low=Field(-MAX_REACH, MAX_REACH, count=3),
    high=Field(-MAX_REACH, MAX_REACH, count=3),
)
"""At the end of a packed limit: the numbers of M, and the bounds of the shape."""

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
    return abs(p[t + TAIL.across]) > RIGHT or abs(p[t + TAIL.along_far]) > RIGHT


@kernel
def off_bounds(p, t, point):
    """Return the squared distance of a point from the shape's bounds."""
    off = outside_of(point, vec3_at(p, t + TAIL.low), vec3_at(p, t + TAIL.high))
    return dot(off, off)


@kernel
def to_hinges(p, t, block, n):
    """Write angles of the quaternions, each nearest to the bounds, and those of the other solution.

    Of both solutions the one nearer to the bounds comes first. Also written is how far a rotation
    is out of reach; its angles are those of the nearest within.
    """
    low, high = vec3_at(p, t + TAIL.low), vec3_at(p, t + TAIL.high)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    lock, along, across = p[t + TAIL.lock], p[t + TAIL.along], p[t + TAIL.across]
    along_far, across_far = p[t + TAIL.along_far], p[t + TAIL.across_far]
    narrow = folds(p, t)
    fold = FOLD if narrow else 0.0
    quarter = np.copysign(0.5 * np.pi, across_far)
    for i in range(n):
        w, x, y, z = lane_quat(block, QW + i)
        near = max(x * x + y * y - across * across, 0.0)
        far = max(w * w + z * z - along_far * along_far, 0.0)
        near = 0.0 if near <= fold * far else near
        far = 0.0 if far <= fold * near else far
        block[X + i], block[Y + i] = np.sqrt(near), np.sqrt(far)
    for i in range(n):
        block[Z + i] = 2.0 * angle_of(block[X + i], block[Y + i])
    for i in range(n):
        w, x, y, z = lane_quat(block, QW + i)
        block[PX + i] = angle_of(z, w) if w * w + z * z >= LOCKED else 0.0
        block[PY + i] = angle_of(-x, y) if x * x + y * y >= LOCKED else 0.0
        block[PZ + i], block[DISTANCE + i] = 0.0, quarter
        block[BEYOND + i] = 0.0
    if narrow:
        for i in range(n):
            s, c = block[X + i], block[Y + i]
            block[PZ + i] = angle_of(s * along_far, c * along)
            block[DISTANCE + i] = angle_of(s * across_far, c * across)
            w, x, y, z = lane_quat(block, QW + i)
            apart = angle_of(np.sqrt(x * x + y * y), np.sqrt(w * w + z * z))
            least = angle_of(abs(across), abs(along))
            most = angle_of(abs(across_far), abs(along_far))
            block[BEYOND + i] = 2.0 * max(max(least - apart, apart - most), 0.0)
    for i in range(n):
        w, x, y, z = lane_quat(block, QW + i)
        swing, plus, minus = block[Z + i], block[PX + i], block[PY + i]
        in_plus = 0.0 if w * w + z * z < LOCKED else block[PZ + i]
        in_minus = 0.0 if x * x + y * y < LOCKED else block[DISTANCE + i]
        s, c = block[X + i], block[Y + i]
        opposed = (c * across) ** 2 + (s * across_far) ** 2 < LOCKED
        aligned = (c * along) ** 2 + (s * along_far) ** 2 < LOCKED
        block[SLIDE + i] = -1.0 if opposed else (1.0 if aligned else 0.0)
        # Add whole turns to bring an angle nearest to the middle of its bounds.
        both, apart = in_plus + in_minus, in_minus - in_plus
        a = Vec3(plus + minus - both, lock + swing, plus - minus + apart) - middle
        b = Vec3(plus + minus + both, lock - swing, plus - minus - apart) - middle
        a = Vec3(wrap_angle(a.x), wrap_angle(a.y), wrap_angle(a.z))
        b = Vec3(wrap_angle(b.x), wrap_angle(b.y), wrap_angle(b.z))
        off_a, off_b = outside_of(a, -half, half), outside_of(b, -half, half)
        first = dot(off_a, off_a) <= dot(off_b, off_b)
        set_lane_vec3(block, X + i, (a if first else b) + middle)
        set_lane_vec3(block, OTHER_X + i, (b if first else a) + middle)


@kernel
def from_hinges(p, t, block, n):
    """Write the quaternions of the angles at PX, PY, PZ."""
    lock, along, across = p[t + TAIL.lock], p[t + TAIL.along], p[t + TAIL.across]
    along_far, across_far = p[t + TAIL.along_far], p[t + TAIL.across_far]
    for i in range(n):
        angles = lane_vec3(block, PX + i)
        first, last = wrap_angle(angles.x), wrap_angle(angles.z)
        c, s = half_angle(wrap_angle(angles.y - lock))
        c_plus, s_plus = half_angle(first + last)
        c_minus, s_minus = half_angle(first - last)
        q = Quat(
            c * along * c_plus - s * along_far * s_plus,
            -(c * across * s_minus + s * across_far * c_minus),
            c * across * c_minus - s * across_far * s_minus,
            c * along * s_plus + s * along_far * c_plus,
        )
        set_lane_quat(block, QW + i, q)


@kernel
def other_turn(x, low, high):
    """Return how far the second nearest turn of an angle is from a range, the first in it."""
    half = 0.5 * (high - low)
    return max(TURN - abs(x - 0.5 * (low + high)) - half, 0.0)


@kernel
def most_turns(p, t, away):
    """Return in how many turns either way a point may be `away` from the bounds, or nearer."""
    width = vec3_at(p, t + TAIL.high) - vec3_at(p, t + TAIL.low)
    half = 0.5 * max(max(width.x, width.y), max(width.z, 0.0))
    return int(min((half + away) / TURN + 0.5, 1.0 * MOST_TURNS))


@kernel
def most_away(p, t, i, block):
    """Return a bound on how far lane i is from the nearest member.

    That is the distance that was found, or that of the farthest corner of the bounds if it is less,
    as a damaged file may have a shape beyond its bounds.
    """
    x = lane_vec3(block, X + i)
    below, above = x - vec3_at(p, t + TAIL.low), vec3_at(p, t + TAIL.high) - x
    corner = Vec3(max(below.x, above.x), max(below.y, above.y), max(below.z, above.z))
    return max(min(block[DISTANCE + i], norm(corner)), 0.0)


@kernel
def look_further(p, o, t, block, lanes, count):
    """Take the nearest points of lanes: all periods of both solutions, except the first."""
    other, owners, n = np.empty(BLOCK), np.empty(LANES, np.int64), 0
    for j in range(count):
        i = lanes[j]
        away, one, two = (
            most_away(p, t, i, block),
            lane_vec3(block, X + i),
            lane_vec3(block, OTHER_X + i),
        )
        most = most_turns(p, t, away)
        side = 2 * most + 1
        for k in range(side * side * side):
            a, b, c = k // (side * side) - most, k // side % side - most, k % side - most
            shift = TURN * Vec3(float(a), float(b), float(c))
            for solution in range(2):
                point = shift + (one if solution == 0 else two)
                known = solution == 0 and a == 0 and b == 0 and c == 0
                if known or off_bounds(p, t, point) > away * away:
                    continue
                set_lane_vec3(other, X + n, point)
                owners[n] = i
                n += 1
                if n == LANES:
                    take_nearest(p, o, block, other, owners, n)
                    n = 0
    take_nearest(p, o, block, other, owners, n)


@kernel
def take_nearest(p, o, block, other, owners, count):
    """Run the region at `o` on points in `other`, and take what is nearer for their lanes."""
    region(p, o, other, count)
    for k in range(count):
        take_if_nearer(block, owners[k], other, k)


@kernel
def take_if_nearer(block, i, other, k):
    """Copy point, projection and distance of lane k of `other` to lane i if it is nearer."""
    if other[DISTANCE + k] < block[DISTANCE + i]:
        block[DISTANCE + i] = other[DISTANCE + k]
        set_lane_vec3(block, X + i, lane_vec3(other, X + k))
        set_lane_vec3(block, PX + i, lane_vec3(other, PX + k))


@kernel
def slide_lane(p, o, t, i, block, other):
    """Take the nearest point of lane i along all lines on which its rotation is the same.

    At gimbal lock the outer angles may both grow, or one as the other shrinks. On each line the
    distance is looked at in LANES places, then between the neighbours of the least, and so on.
    """
    way = block[SLIDE + i]
    x, y, z = lane_vec3(block, X + i)
    # What stays along a line is x − way · z, and so it is of the bounds.
    low, high = vec3_at(p, t + TAIL.low), vec3_at(p, t + TAIL.high)
    one, two = low.x - way * high.z, low.x - way * low.z
    three, four = high.x - way * high.z, high.x - way * low.z
    least, most = min(min(one, two), min(three, four)), max(max(one, two), max(three, four))
    for a in range(-2 * MOST_TURNS, 2 * MOST_TURNS + 1):
        for b in range(-MOST_TURNS, MOST_TURNS + 1):
            away = most_away(p, t, i, block)
            stays, across = x + a * TURN - way * z, y + b * TURN
            off = max(max(least - stays, stays - most), 0.0)
            off_y = max(max(low.y - across, across - high.y), 0.0)
            if 0.5 * off * off + off_y * off_y > away * away:
                continue
            start = low.x - x - a * TURN - away
            step = (high.x - low.x + 2.0 * away) / (LANES - 1)
            for _ in range(ZOOMS):
                for k in range(LANES):
                    moved = start + k * step
                    point = Vec3(x + a * TURN + moved, across, z + way * moved)
                    set_lane_vec3(other, X + k, point)
                region(p, o, other, LANES)
                best = 0
                for k in range(LANES):
                    best = k if other[DISTANCE + k] < other[DISTANCE + best] else best
                take_if_nearer(block, i, other, best)
                start += (best - 1) * step
                step *= 2.0 / (LANES - 1)


@kernel
def nearest_hinges(p, o, t, block, n):
    """Write the nearest member over both solutions and all turns, of points that were entered.

    The region, packed at `o`, has been run on the first points. Others are looked at where the
    bounds are not farther than what was found. The points become those of the covers that were
    taken.
    """
    low, high = vec3_at(p, t + TAIL.low), vec3_at(p, t + TAIL.high)
    other, lanes, found = np.empty(BLOCK), np.empty(LANES, np.int64), 0
    for i in range(n):
        point, distance = lane_vec3(block, X + i), block[DISTANCE + i]
        off = outside_of(point, low, high)
        # One angle in the next cover.
        ex, ey = other_turn(point.x, low.x, high.x), other_turn(point.y, low.y, high.y)
        ez = other_turn(point.z, low.z, high.z)
        near = min(ex * ex - off.x * off.x, min(ey * ey - off.y * off.y, ez * ez - off.z * off.z))
        near = min(near + dot(off, off), off_bounds(p, t, lane_vec3(block, OTHER_X + i)))
        away = max(distance, 0.0)
        maybe = (near < SURE * away * away) | ((near <= 0.0) & (distance <= 0.0))
        lanes[found] = i
        found += int(maybe)
    if found > 0:
        look_further(p, o, t, block, lanes, found)
    for i in range(n):
        if block[SLIDE + i] != 0.0:
            slide_lane(p, o, t, i, block, other)
    for i in range(n):
        out = block[BEYOND + i]
        far = out + max(block[DISTANCE + i], 0.0)
        block[DISTANCE + i] = far if out > OUT_OF_REACH else block[DISTANCE + i]


@kernel
def least_stretch(p, t, apart):
    """Return the square of the least rotation angle per radian of combined hinge angles.

    `apart` is the angle between the outer axes. It is the least eigenvalue of the matrix of the
    three axes' cosines, from its characteristic polynomial.
    """
    # Cosines of the least and of the greatest angle between the outer axes.
    near = p[t + TAIL.along] ** 2 - p[t + TAIL.across] ** 2
    far = p[t + TAIL.along_far] ** 2 - p[t + TAIL.across_far] ** 2
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
    h = 0.5 * (middle - p[t + TAIL.lock])
    c, s = np.cos(h), np.sin(h)
    across = np.sqrt((c * p[t + TAIL.across]) ** 2 + (s * p[t + TAIL.across_far]) ** 2)
    along = np.sqrt((c * p[t + TAIL.along]) ** 2 + (s * p[t + TAIL.along_far]) ** 2)
    apart = 2.0 * np.arctan2(across, along)
    least = 2.0 * np.arctan2(abs(p[t + TAIL.across]), abs(p[t + TAIL.along]))
    most = 2.0 * np.arctan2(abs(p[t + TAIL.across_far]), abs(p[t + TAIL.along_far]))
    low = least_stretch(p, t, max(apart - angle, least))
    high = least_stretch(p, t, min(apart + angle, most))
    return 1.0 / np.sqrt(max(min(low, high), 1e-18))
