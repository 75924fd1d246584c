"""Pairs of a driver and of joints that depend on it: the nearest legal rotation of the driver.

Packed dependent limits stand one after the other. What there is to know of the joints' own
rotations does not change while the driver is turned about: it is measured before, see `dependent`.
`limit.pair` says how the driver's rotation is searched for.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .dependent import AXIS, BY_ROTATION, EDGE, SIZE, TOLERANCE, gap_of, put, values_at, wrapped
from .ik_chain import cross, from_vector, length, product, rotate
from .jit import kernel
from .kinds import DIRECTION_TWIST, ROTATION_VECTOR, SWING_TWIST
from .limit import CHART, enter, leave, nearest
from .rotation import (
    BLOCK,
    LANES,
    OFF_UNIT,
    QW,
    QX,
    QY,
    QZ,
    TURN,
    W0,
    X0,
    Y0,
    Z0,
    T,
    X,
    Y,
    Z,
)

# How the driver's rotation is searched for.
RADII = np.array([0.12, 0.3, 0.5, 0.75, 1.0])  # first turns, as shares of what may pay
WAYS = 16  # into how many directions the bone is turned at first, each as far
TWISTED = WAYS + 2 + WAYS // 2  # the same where the twist counts: about the bone, and both
FIRST_STEP, MOST_STEPS = 0.15, 26  # of shorter turns: the first, as a share of what may pay
LEAST_STEP = 0.5**11  # the last, as a share of the first
STEP_BACK = 1e-12  # radians² by which a step must be better to be taken


def _compass():
    """Return unit vectors (14, 3) to the faces and corners of a cube."""
    faces = np.concatenate([np.eye(3), -np.eye(3)])
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), axis=-1).reshape(-1, 3) / np.sqrt(3.0)
    return np.concatenate([faces, corners])


def _turned_compass():
    """Return the compass of each step, (MOST_STEPS, 14, 3), turned at random."""
    compass = _compass()
    spins = np.random.default_rng(0).normal(size=(MOST_STEPS, 4))
    spins /= np.linalg.norm(spins, axis=1, keepdims=True)
    return np.array([[rotate(*spin, *way) for way in compass] for spin in spins])


COMPASS = 14
AROUND = _turned_compass().ravel()  # by step, then by way, then x, y, z


@kernel
def squared_gaps(t, measured, widths, w, x, y, z):
    """Return the sum over the dependent joints of how far each is outside, squared."""
    total, o, first = 0.0, 0, 0
    for k in range(widths.shape[0]):
        low, high = values_at(t, o, w, x, y, z)
        gap = gap_of(t, o, measured[first : first + widths[k]], low, high)
        total += gap * gap if gap > EDGE else 0.0
        first += widths[k]
        o += int(t[o + SIZE])
    return total


# The driver's own limit: where turns of it become legal, and how far they are.


@kernel
def wound(x, y, z, turns):
    """Return how much longer a vector is, of 1, that goes on by whole turns."""
    size = length(x, y, z)
    return 1.0 + TURN * turns / size if size > 0.0 else 1.0


@kernel
def vector_square(ax, ay, az, bx, by, bz):
    """Return the square of the way from a rotation vector to the nearest cover of another."""
    best = (bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2
    if best > np.pi * np.pi:  # a whole turn away there may be a nearer way
        for turns in range(-1, 2, 2):
            s = wound(bx, by, bz, turns)
            best = min(best, (s * bx - ax) ** 2 + (s * by - ay) ** 2 + (s * bz - az) ** 2)
    return best


@kernel
def move_square(p, chart, block, a, seen, b):
    """Return the squared way between points of lanes, as the driver's limit has it."""
    ax, ay, az = block[X + a], block[Y + a], block[Z + a]
    bx, by, bz = seen[X + b], seen[Y + b], seen[Z + b]
    if chart == DIRECTION_TWIST:
        apart, together = length(ax - bx, ay - by, az - bz), length(ax + bx, ay + by, az + bz)
        angle, turn = 2.0 * math.atan2(apart, together), seen[T + b] - block[T + a]
        turn -= TURN * np.rint(turn / TURN)
        return angle * angle + turn * turn
    x, y, z = wrapped(p, 0, bx - ax), wrapped(p, 1, by - ay), wrapped(p, 2, bz - az)
    best = x * x + y * y + z * z
    if best <= np.pi * np.pi:
        return best
    if chart == ROTATION_VECTOR:
        return min(best, vector_square(ax, ay, az, bx, by, bz))
    if chart == SWING_TWIST:
        turn = bz - az
        twist = min(min(turn * turn, (turn - TURN) ** 2), (turn + TURN) ** 2)
        swing = (bx - ax) ** 2 + (by - ay) ** 2
        for turns in range(-1, 2, 2):
            s = wound(bx, by, 0.0, turns)
            swing = min(swing, (s * bx - ax) ** 2 + (s * by - ay) ** 2)
        return min(best, swing + twist)
    return best


@kernel
def angle_square(block, a, seen, b):
    """Return the squared angle between the rotations of lanes."""
    less, more = 0.0, 0.0
    for k in range(W0, Z0 + 1, LANES):
        less += (block[k + a] - seen[k + b]) ** 2
        more += (block[k + a] + seen[k + b]) ** 2
    angle = 4.0 * math.atan2(math.sqrt(min(less, more)), math.sqrt(max(less, more)))
    return angle * angle


Room = namedtuple(
    "Room",
    [
        "block",  # of rotations that come in
        "other",
        "seen",  # of those that are legal
        "source",  # whose lane 0 has the driver's rotation
        "lanes",
        "scores",  # (2 · LANES) the squared ways of pairs, and of the driver alone
        "best",  # (2, 6) see `search_fan`
    ],
)


@kernel
def clear(room):
    """Begin the blocks, whose lanes count how far off 1 lengths are."""
    for i in range(LANES):
        room.block[OFF_UNIT + i] = 0.0
        room.other[OFF_UNIT + i] = 0.0
        room.seen[OFF_UNIT + i] = 0.0
        room.source[OFF_UNIT + i] = 0.0


@kernel
def make_legal(p, room, n):
    """Make the driver's rotations that come into the block legal: they come in as `seen`.

    There, their points in the chart are found, too. Without a limit of its own all are legal.
    """
    block, seen = room.block, room.seen
    if p.shape[0] == 0:
        for k in range(W0, Z0 + 1, LANES):
            for i in range(n):
                seen[k + i] = block[k + i]
        return
    enter(p, 0, block, n)
    nearest(p, 0, TOLERANCE, 0.0, block, room.other, room.lanes, n)
    leave(p, 0, TOLERANCE, block, n)
    for i in range(n):
        put(seen, i, block[QW + i], block[QX + i], block[QY + i], block[QZ + i])
    enter(p, 0, seen, n)


@kernel
def score(p, t, measured, widths, room, n):
    """Write the squared ways of pairs with the legal rotations that are `seen`, from the source.

    That of the driver alone goes to the scores after all others, at LANES.
    """
    source, seen, scores = room.source, room.seen, room.scores
    for i in range(n):
        if p.shape[0] == 0:
            square = angle_square(source, 0, seen, i)
        else:
            square = move_square(p, int(p[CHART]), source, 0, seen, i)
        w, x, y, z = seen[W0 + i], seen[X0 + i], seen[Y0 + i], seen[Z0 + i]
        scores[i] = square + squared_gaps(t, measured, widths, w, x, y, z)
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
def fan_axis(k, ox, oy, oz, tx, ty, tz, along):
    """Return the axis of way k of a fan: across the bone, about it, or between.

    `along` is the bone's direction, and o and t are across it and each other.
    """
    if k < WAYS:
        angle = 2.0 * np.pi * k / WAYS
        c, s = math.cos(angle), math.sin(angle)
        return c * ox + s * tx, c * oy + s * ty, c * oz + s * tz
    side = 1.0
    if k < WAYS + 2:
        side = 1.0 if k == WAYS else -1.0
        return side * along[0], side * along[1], side * along[2]
    way = k - WAYS - 2
    side = 1.0 if way < WAYS // 4 else -1.0
    angle = 2.0 * np.pi * (4 * (way % (WAYS // 4))) / WAYS
    c, s, half = math.cos(angle), math.sin(angle), math.sqrt(0.5)
    return (
        half * (c * ox + s * tx + side * along[0]),
        half * (c * oy + s * ty + side * along[1]),
        half * (c * oz + s * tz + side * along[2]),
    )


@kernel
def least_axis(x, y, z):
    """Return the axis along which a vector is shortest, the first of several."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        return 1.0, 0.0, 0.0
    if abs(y) <= abs(z):
        return 0.0, 1.0, 0.0
    return 0.0, 0.0, 1.0


@kernel
def turns_by_rotation(t, count):
    """Tell whether the driver's twist counts for one of the dependent limits."""
    o, counts = 0, False
    for _ in range(count):
        counts = counts or t[o + BY_ROTATION] > 0.0
        o += int(t[o + SIZE])
    return counts


@kernel
def search_fan(p, t, measured, widths, room):
    """Turn the driver all ways as far as may pay, from best[0]; write the nearest to best[1].

    A row of `best` has a rotation, and the square of its pair; of row 0 what may pay comes last.
    """
    best, scores = room.best, room.scores
    along, around = np.empty(3), TWISTED if turns_by_rotation(t, widths.shape[0]) else WAYS
    w, x, y, z = best[0, 0], best[0, 1], best[0, 2], best[0, 3]
    dx, dy, dz = rotate(w, x, y, z, t[AXIS], t[AXIS + 1], t[AXIS + 2])
    along[0], along[1], along[2] = dx, dy, dz
    lx, ly, lz = least_axis(dx, dy, dz)
    ox, oy, oz = cross(dx, dy, dz, lx, ly, lz)
    size = length(ox, oy, oz)
    ox, oy, oz = ox / size, oy / size, oz / size
    tx, ty, tz = cross(dx, dy, dz, ox, oy, oz)
    best[1, 4] = np.inf
    far = min(best[0, 5], np.pi)
    for radius in range(RADII.shape[0]):
        angle = far * RADII[radius]
        for k in range(around):
            vx, vy, vz = fan_axis(k, ox, oy, oz, tx, ty, tz, along)
            qw, qx, qy, qz = from_vector(angle * vx, angle * vy, angle * vz)
            rw, rx, ry, rz = product(qw, qx, qy, qz, w, x, y, z)
            put(room.block, k, rw, rx, ry, rz)
        make_legal(p, room, around)
        score(p, t, measured, widths, room, around)
        i = lowest(scores, 0, around)
        if scores[i] < best[1, 4]:
            keep(room.seen, scores, i, best[1])


@kernel
def keep(seen, scores, i, best):
    """Write the rotation of a lane, and the square of its pair."""
    best[0], best[1], best[2], best[3] = seen[W0 + i], seen[X0 + i], seen[Y0 + i], seen[Z0 + i]
    best[4] = scores[i]


@kernel
def refine(p, t, measured, widths, room):
    """Follow both rows of `best` by ever shorter turns, while these make pairs nearer."""
    best, scores = room.best, room.scores
    start = FIRST_STEP * best[0, 5]
    first, second = start, start
    least = start * LEAST_STEP
    for k in range(MOST_STEPS):
        for basin in range(2):
            step = first if basin == 0 else second
            w, x, y, z = best[basin, 0], best[basin, 1], best[basin, 2], best[basin, 3]
            for way in range(COMPASS):
                at = 3 * (COMPASS * k + way)
                vx, vy, vz = step * AROUND[at], step * AROUND[at + 1], step * AROUND[at + 2]
                qw, qx, qy, qz = from_vector(vx, vy, vz)
                rw, rx, ry, rz = product(qw, qx, qy, qz, w, x, y, z)
                put(room.block, COMPASS * basin + way, rw, rx, ry, rz)
        make_legal(p, room, 2 * COMPASS)
        score(p, t, measured, widths, room, 2 * COMPASS)
        for basin in range(2):
            i = lowest(scores, COMPASS * basin, COMPASS)
            step = first if basin == 0 else second
            if scores[i] < best[basin, 4] - STEP_BACK and step >= least:
                keep(room.seen, scores, i, best[basin])
            elif basin == 0:
                first = 0.5 * first
            else:
                second = 0.5 * second
        if first < least and second < least:
            break


@kernel
def search_one(p, t, measured, widths, rotation, room):
    """Write the driver's rotation of the nearest legal pair to best[0], and how far it is, squared.

    See `search` for what is given.
    """
    best, scores = room.best, room.scores
    w, x, y, z = rotation
    put(room.block, 0, w, x, y, z)
    put(room.source, 0, w, x, y, z)
    if p.shape[0] > 0:
        enter(p, 0, room.source, 1)
    make_legal(p, room, 1)
    score(p, t, measured, widths, room, 1)
    keep(room.seen, scores, 0, best[0])
    if best[0, 4] > scores[LANES] + STEP_BACK:
        best[0, 5] = math.sqrt(best[0, 4]) + math.sqrt(scores[LANES])
        search_fan(p, t, measured, widths, room)
        refine(p, t, measured, widths, room)
        if best[1, 4] < best[0, 4]:
            for k in range(5):
                best[0, k] = best[1, k]


@kernel("f8[,] f8[] f8[] f8[,] i8[] f8[,] f8[]")
def search(source, p, t, measured, widths, out, squares):
    """Write the driver's rotations of the nearest legal pairs, and how far these are, squared.

    Parameters
    ----------
    source
        The driver's rotations (n, 4), of pairs that are not legal.
    p
        The driver's packed limit; empty where it has none. Not in the chart of hinges.
    t
        The packed dependent limits, one after the other.
    measured
        What is known of the joints' rotations: (n, sum of widths), by dependent limit the distance
        from the core, or for each cover how far it is across the range, where along it, and depth.
    widths
        How many numbers of that each dependent limit has.
    """
    room = Room(
        np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK),
        np.empty(2 * LANES, np.int64), np.empty(2 * LANES), np.empty((2, 6)),
    )  # fmt: skip
    clear(room)
    for i in range(source.shape[0]):
        w, x, y, z = source[i, 0], source[i, 1], source[i, 2], source[i, 3]
        search_one(p, t, measured[i], widths, (w, x, y, z), room)
        for k in range(4):
            out[i, k] = room.best[0, k]
        squares[i] = room.best[0, 4]
