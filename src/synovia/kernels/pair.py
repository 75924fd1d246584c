"""The nearest legal pair of a driver and of joints that depend on it, by a search over the driver.

Packed dependent limits are concatenated. The joints' own rotations are measured once, before the
search (see `dependent.measure`). `limit.pair` describes the search.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .dependent import EDGE, NODES, TOLERANCE, gap_of, values_at
from .jit import kernel
from .layout import DIRECTION_TWIST, HINGES, ROTATION_VECTOR, SWING_TWIST, Layout
from .limit import HEADER, enter, make_legal, vector_cover
from .rotation import (
    BLOCK,
    LANES,
    OTHER_X,
    QW,
    W0,
    Z0,
    T,
    X,
    lane_quat,
    lane_vec3,
    set_lane_quat,
)
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
MIN_GAIN = 1e-12  # squared radians by which a step must improve to be accepted
BEST = Layout("best", rotation=4, square=1, useful=1)
"""A rotation of the driver, its pair's squared distance, the largest useful angle (radians)."""


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


@kernel
def squared_gaps(t, measured, widths, q):
    """Return the sum over the dependent joints of their squared distances from their limits."""
    total, o, first = 0.0, 0, 0
    for k in range(widths.shape[0]):
        low, high = values_at(t, o, q.w, q.x, q.y, q.z)
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
def move_square(p, chart, block, i, seen, k):
    """Return the squared distance between points of two lanes, in the driver's chart."""
    a, b = lane_vec3(block, X + i), lane_vec3(seen, X + k)
    if chart == DIRECTION_TWIST:
        angle, turn = 2.0 * math.atan2(norm(a - b), norm(a + b)), seen[T + k] - block[T + i]
        turn = wrap_angle(turn)
        return angle * angle + turn * turn
    if chart == HINGES:  # both solutions for the angles
        one, two = wrap_vec3(b - a), wrap_vec3(lane_vec3(seen, OTHER_X + k) - a)
        return min(dot(one, one), dot(two, two))
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


Room = namedtuple(
    "Room",
    [
        "block",  # of rotations to be made legal
        "seen",  # of the legal ones
        "source",  # lane 0 has the driver's given rotation
        "scores",  # (2 · LANES) squared distances of pairs, then of the driver alone
        "best",  # (2, BEST.SIZE) the present rotation, and the best one of the fan
    ],
)


@kernel
def find_legal(p, room, n):
    """Write the nearest legal rotations of the block, and their points in the chart, to `seen`.

    Without a limit of its own, every rotation of the driver is legal.
    """
    block, seen = room.block, room.seen
    if p.shape[0] == 0:
        for k in range(W0, Z0 + 1, LANES):
            for i in range(n):
                seen[k + i] = block[k + i]
        return
    make_legal(p, 0, TOLERANCE, block, n)
    for i in range(n):
        set_lane_quat(seen, W0 + i, lane_quat(block, QW + i))
    enter(p, 0, seen, n)


@kernel
def score(p, t, measured, widths, room, n):
    """Write the squared distances from the source of the pairs with the rotations in `seen`.

    Those of the driver alone follow in the scores at LANES.
    """
    source, seen, scores = room.source, room.seen, room.scores
    for i in range(n):
        rotation = lane_quat(seen, W0 + i)
        if p.shape[0] == 0:
            square = angle_between(lane_quat(source, W0), rotation) ** 2
        else:
            square = move_square(p, int(p[HEADER.chart]), source, 0, seen, i)
        scores[i] = square + squared_gaps(t, measured, widths, rotation)
        scores[LANES + i] = square


@kernel
def lowest(scores, first, count):
    """Return the lane of the lowest score, the first of several."""
    best = first
    for i in range(first + 1, first + count):
        if scores[i] < scores[best]:
            best = i
    return best


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
def search_fan(p, t, measured, widths, room):
    """Rotate the driver from best[0] about the axes of the fan; write the best pair to best[1]."""
    best, scores = room.best, room.scores
    count = TWISTED_FAN if turns_by_rotation(t, widths.shape[0]) else FAN
    rotation = quat_at(best[0], BEST.rotation)
    along = rotate(rotation, vec3_at(t, NODES.axis))
    across = perpendicular(along)
    other = cross(along, across)
    best[1, BEST.square] = np.inf
    far = min(best[0, BEST.useful], np.pi)
    for radius in range(RADII.shape[0]):
        angle = far * RADII[radius]
        for k in range(count):
            turn = exp(angle * fan_axis(k, across, other, along))
            set_lane_quat(room.block, W0 + k, turn * rotation)
        find_legal(p, room, count)
        score(p, t, measured, widths, room, count)
        i = lowest(scores, 0, count)
        if scores[i] < best[1, BEST.square]:
            keep(room.seen, scores, i, best[1])


@kernel
def keep(seen, scores, i, best):
    """Write the rotation of a lane, and the squared distance of its pair."""
    set_quat(best, BEST.rotation, lane_quat(seen, W0 + i))
    best[BEST.square] = scores[i]


@kernel
def refine(p, t, measured, widths, room):
    """Improve both rows of `best` by a pattern search with decreasing steps."""
    best, scores = room.best, room.scores
    start = FIRST_STEP * best[0, BEST.useful]
    steps, least = np.empty(2), start * MIN_STEP
    steps[0] = steps[1] = start
    for k in range(MAX_STEPS):
        for basin in range(2):
            rotation = quat_at(best[basin], BEST.rotation)
            for axis in range(COMPASS):
                turn = exp(steps[basin] * vec3_at(AROUND, 3 * (COMPASS * k + axis)))
                set_lane_quat(room.block, W0 + COMPASS * basin + axis, turn * rotation)
        find_legal(p, room, 2 * COMPASS)
        score(p, t, measured, widths, room, 2 * COMPASS)
        for basin in range(2):
            i = lowest(scores, COMPASS * basin, COMPASS)
            if scores[i] < best[basin, BEST.square] - MIN_GAIN and steps[basin] >= least:
                keep(room.seen, scores, i, best[basin])
            else:
                steps[basin] = 0.5 * steps[basin]
        if steps[0] < least and steps[1] < least:
            break


@kernel
def search_one(p, t, measured, widths, rotation, room):
    """Write the driver's rotation of the nearest legal pair, and its squared distance, to best[0].

    `search` describes the parameters.
    """
    best, scores = room.best, room.scores
    set_lane_quat(room.block, W0, rotation)
    set_lane_quat(room.source, W0, rotation)
    if p.shape[0] > 0:
        enter(p, 0, room.source, 1)
    find_legal(p, room, 1)
    score(p, t, measured, widths, room, 1)
    keep(room.seen, scores, 0, best[0])
    if best[0, BEST.square] > scores[LANES] + MIN_GAIN:
        best[0, BEST.useful] = math.sqrt(best[0, BEST.square]) + math.sqrt(scores[LANES])
        search_fan(p, t, measured, widths, room)
        refine(p, t, measured, widths, room)
        if best[1, BEST.square] < best[0, BEST.square]:
            for k in range(BEST.useful):
                best[0, k] = best[1, k]


@kernel("f8[,] f8[] f8[] f8[,] i8[] f8[,] f8[]")
def search(source, p, t, measured, widths, out, squares):
    """Write the driver's rotations of the nearest legal pairs, and their squared distances.

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
    room = Room(
        np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK),
        np.empty(2 * LANES), np.empty((2, BEST.SIZE)),
    )  # fmt: skip
    for i in range(source.shape[0]):
        search_one(p, t, measured[i], widths, quat_at(source[i], 0), room)
        set_quat(out[i], 0, quat_at(room.best[0], BEST.rotation))
        squares[i] = room.best[0, BEST.square]
