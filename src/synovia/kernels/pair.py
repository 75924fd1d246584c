"""The nearest legal pair of a driver and of joints that depend on it, by a search over the driver.

Packed dependent limits are concatenated. The joints' own rotations are measured once, before the
search (see `dependent.measure`). If the joints are legal at the driver's own nearest legal
rotation, that is the nearest. Otherwise the search tries a fan of rotations of the driver, then a
pattern search from the best of them.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .dependent import EDGE, NODES, TOLERANCE, gap_of, values_at
from .jit import kernel
from .layout import DIRECTION_TWIST, HINGES, ROTATION_VECTOR, SWING_TWIST
from .limit import HEADER, enter, nearest_legal, vector_cover
from .rotation import BLOCK, OTHER_X, W0, T, X, lane_vec3, set_lane_quat
from .shapes import periodic_move
from .vector import (
    TURN,
    Quat,
    Vec3,
    angle_between,
    cross,
    dot,
    exp,
    norm,
    perpendicular,
    quat_at,
    rotate,
    set_quat,
    vec3_at,
    wrap_angle,
)

RADII = np.array([0.12, 0.3, 0.5, 0.75, 1.0])  # angles of the fan: shares of the largest useful
FAN = 16  # axes of the fan, across the bone
TWISTED_FAN = FAN + 2 + FAN // 2  # axes if twist counts: also along the bone, and between
FIRST_STEP, MAX_STEPS = 0.15, 26  # of the pattern search; the first as a share of the useful angle
MIN_STEP = 0.5**11  # the last step, as a share of the first
MIN_GAIN = 1e-12  # squared radians; least improvement of an accepted step


def _compass():
    """Return unit vectors (14, 3) to the faces and corners of a cube."""
    faces = np.concatenate([np.eye(3), -np.eye(3)])
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), axis=-1).reshape(-1, 3) / np.sqrt(3.0)
    return np.concatenate([faces, corners])


def _turned_compass():
    """Return the compass of each step, randomly rotated: (MAX_STEPS, 14, 3)."""
    compass = _compass()
    spins = np.random.default_rng(0).normal(size=(MAX_STEPS, 4))
    spins /= np.linalg.norm(spins, axis=1, keepdims=True)
    return np.array([[rotate(Quat(*spin), Vec3(*axis)) for axis in compass] for spin in spins])


COMPASS = 14  # directions of a step of the pattern search
AROUND = _turned_compass().ravel()  # by step, then by axis, then x, y, z

Point = namedtuple(
    "Point",
    [
        "x",  # of a rotation in the driver's chart
        "twist",  # of charts of a direction and a twist
        "other",  # the other solution of hinges
    ],
)
Problem = namedtuple(
    "Problem",
    [
        "p",  # the driver's packed limit; empty if it has none
        "t",  # the packed dependent limits, concatenated
        "measured",  # `dependent.measure` of the joints' rotations, concatenated
        "widths",  # the number of these for each dependent limit
        "source",  # the driver's given rotation
        "point",  # of the source
    ],
)


@kernel
def squared_gaps(t, measured, widths, q):
    """Return the sum over the dependent joints of their squared distances from their limits."""
    total, o, first = 0.0, 0, 0
    for k in range(widths.shape[0]):
        low, high = values_at(t, o, q)
        gap = gap_of(t, o, measured[first : first + widths[k]], low, high)
        total += gap * gap if gap > EDGE else 0.0
        first += widths[k]
        o += int(t[o + NODES.size])
    return total


@kernel
def vector_square(a, b):
    """Return the squared distance from a rotation vector to the nearest cover of another."""
    best = dot(b - a, b - a)
    if best > np.pi * np.pi:  # another cover may be nearer
        for k in range(1, 3):
            move = vector_cover(b, k) - a
            best = min(best, dot(move, move))
    return best


@kernel
def wrap_vec3(v):
    """Return a vector of angles, each less whole rotations."""
    return Vec3(wrap_angle(v.x), wrap_angle(v.y), wrap_angle(v.z))


@kernel
def point_of(p, q):
    """Return the point of a rotation in the chart of the packed limit p, if there is one."""
    block = np.empty(BLOCK)
    set_lane_quat(block, W0, q)
    if p.shape[0] > 0:
        enter(p, 0, block, 1)
    return Point(lane_vec3(block, X), block[T], lane_vec3(block, OTHER_X))


@kernel
def move_square(p, one, other):
    """Return the squared distance between points, in the chart of the driver's limit."""
    a, b, chart = one.x, other.x, int(p[HEADER.chart])
    if chart == DIRECTION_TWIST:
        angle = 2.0 * math.atan2(norm(a - b), norm(a + b))
        turn = wrap_angle(other.twist - one.twist)
        return angle * angle + turn * turn
    if chart == HINGES:  # both solutions for the angles
        first, second = wrap_vec3(b - a), wrap_vec3(other.other - a)
        return min(dot(first, first), dot(second, second))
    move = periodic_move(p, HEADER.SIZE, b - a)
    best = dot(move, move)
    if best <= np.pi * np.pi:
        return best
    if chart == ROTATION_VECTOR:
        return min(best, vector_square(a, b))
    if chart == SWING_TWIST:
        turn = b.z - a.z
        twist = min(min(turn * turn, (turn - TURN) ** 2), (turn + TURN) ** 2)
        swing = vector_square(Vec3(a.x, a.y, 0.0), Vec3(b.x, b.y, 0.0))
        return min(best, swing + twist)
    return best


@kernel
def evaluate(problem, q):
    """Return the legal rotation nearest to q, and squared distances of its pair and of the driver.

    The distances are from the given rotations. Without a limit, every rotation of the driver is
    legal.
    """
    if problem.p.shape[0] == 0:
        legal, square = q, angle_between(problem.source, q) ** 2
    else:
        legal, _ = nearest_legal(problem.p, 0, TOLERANCE, q)
        square = move_square(problem.p, problem.point, point_of(problem.p, legal))
    return legal, square + squared_gaps(problem.t, problem.measured, problem.widths, legal), square


@kernel
def fan_axis(k, across, other, along):
    """Return axis k of the fan: at a right angle to the bone, along it, or between.

    `along` is the bone's direction; the three unit vectors are orthogonal.
    """
    if k < FAN:
        angle = 2.0 * np.pi * k / FAN
        return math.cos(angle) * across + math.sin(angle) * other
    if k < FAN + 2:
        return (1.0 if k == FAN else -1.0) * along
    tilted = k - FAN - 2
    side = 1.0 if tilted < FAN // 4 else -1.0
    angle = 2.0 * np.pi * (4 * (tilted % (FAN // 4))) / FAN
    middle = math.cos(angle) * across + math.sin(angle) * other + side * along
    return math.sqrt(0.5) * middle


@kernel
def turns_by_rotation(t, count):
    """Return True if one of the dependent limits depends on the driver's twist."""
    o, counts = 0, False
    for _ in range(count):
        counts = counts or t[o + NODES.by_rotation] > 0.0
        o += int(t[o + NODES.size])
    return counts


@kernel
def search_fan(problem, rotation, useful):
    """Rotate the driver about the axes of the fan; return the best rotation, and its square.

    `useful` is the largest useful angle, in radians; a square is the squared distance of a pair.
    """
    count = TWISTED_FAN if turns_by_rotation(problem.t, problem.widths.shape[0]) else FAN
    along = rotate(rotation, vec3_at(problem.t, NODES.axis))
    across = perpendicular(along)
    other = cross(along, across)
    best, least = rotation, np.inf
    for radius in range(RADII.shape[0]):
        angle = min(useful, np.pi) * RADII[radius]
        for k in range(count):
            turned = exp(angle * fan_axis(k, across, other, along)) * rotation
            legal, square, _ = evaluate(problem, turned)
            if square < least:
                best, least = legal, square
    return best, least


@kernel
def refine(problem, best, least, useful):
    """Improve a rotation of square `least` by a pattern search with decreasing steps.

    Returns as `search_fan` does; `useful` is the largest useful angle.
    """
    step = FIRST_STEP * useful
    last = step * MIN_STEP
    for k in range(MAX_STEPS):
        if step < last:
            break
        start, nearest, found = best, best, np.inf
        for axis in range(COMPASS):
            turned = exp(step * vec3_at(AROUND, 3 * (COMPASS * k + axis))) * start
            legal, square, _ = evaluate(problem, turned)
            if square < found:
                nearest, found = legal, square
        if found < least - MIN_GAIN:
            best, least = nearest, found
        else:
            step = 0.5 * step
    return best, least


@kernel
def search_one(p, t, measured, widths, rotation):
    """Return the driver's rotation of the nearest legal pair; `search` has the parameters."""
    problem = Problem(p, t, measured, widths, rotation, point_of(p, rotation))
    best, least, own = evaluate(problem, rotation)
    if least > own + MIN_GAIN:
        useful = math.sqrt(least) + math.sqrt(own)
        other, square = search_fan(problem, best, useful)
        best, least = refine(problem, best, least, useful)
        other, square = refine(problem, other, square, useful)
        if square < least:
            return other
    return best


@kernel("f8[,] f8[] f8[] f8[,] i8[] f8[,]")
def search(source, p, t, measured, widths, out):
    """Write the driver's rotations (n, 4) of the nearest legal pairs into `out`.

    Parameters
    ----------
    source
        The driver's rotations (n, 4), of pairs that are not legal.
    p
        The driver's packed limit; empty if it has none.
    t
        The packed dependent limits, concatenated.
    measured
        `dependent.measure` of the joints' rotations, (n, sum of widths): for a margin the distance
        from the shape, for a range three numbers for each cover.
    widths
        The number of these for each dependent limit.
    """
    for i in range(source.shape[0]):
        best = search_one(p, t, measured[i], widths, quat_at(source[i], 0))
        set_quat(out[i], 0, best)
