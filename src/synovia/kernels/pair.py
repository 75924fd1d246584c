"""Pairs of a driver and of joints that depend on it: the nearest legal rotation of the driver.

A dependent limit is packed as a header, then its numbers at the nodes; several stand one after the
other. What there is to know of the joints' own rotations does not change while the driver is turned
about: it is measured before, a row for each pair. See `limit.pair` for the search itself.
"""

from __future__ import annotations

import math

import numpy as np

from . import distance_field as fields
from .ik_chain import cross, from_vector, length, product, rotate
from .jit import kernel
from .kinds import DIRECTION_TWIST, FIELD, ROTATION_VECTOR, SWING_TWIST
from .limit import CHART, HEADER, enter, leave, nearest
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

# Where things stand in a packed dependent limit. Numbers are 2 for the ends of a range, 1 for a
# margin; nodes are directions of the driver's bone, `AXIS` in its own frame, or its rotations.
SIZE, NUMBERS, BY_ROTATION, DIVISIONS, LARGEST = 0, 1, 2, 3, 4
AXIS, INTO, BONE = 5, 8, 12  # nodes' rotation = into · rotation · bone
VALUES = 16

# How the driver's rotation is searched for.
RADII = np.array([0.12, 0.3, 0.5, 0.75, 1.0])  # first turns, as shares of what may pay
WAYS = 16  # into how many directions the bone is turned at first, each as far
TWISTED = WAYS + 2 + WAYS // 2  # the same where the twist counts: about the bone, and both
FIRST_STEP, MOST_STEPS = 0.15, 26  # of shorter turns: the first, as a share of what may pay
LEAST_STEP = 0.5**11  # the last, as a share of the first
STEP_BACK = 1e-12  # radians² by which a step must be better to be taken
TOLERANCE = 1e-9  # radians outside that count as inside
EDGE = 0.5 * TOLERANCE


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


# Nodes: whole numbers whose sizes sum to n, in the order of their coordinates.


@kernel
def ring_node(m, j, k):
    """Return the number of (j, k) among those with |j| + |k| = m."""
    before = 0 if j == -m else 1 + 2 * (j + m - 1)
    return before + (1 if k > 0 and j != -m and j != m else 0)


@kernel
def direction_node(n, i, j, k):
    """Return the number of the node (i, j, k) among those with |i| + |j| + |k| = n."""
    if i <= 0:
        s = i + n
        before = 0 if s == 0 else 1 + 2 * s * (s - 1)
        return before + ring_node(s, j, k)
    m = n - i
    before = 4 * n * n + 2 - (1 + 2 * m * (m + 1))
    return before + ring_node(m, j, k)


@kernel
def squares_to(m):
    """Return 1 + 4 + … + m²."""
    return m * (m + 1) * (2 * m + 1) // 6


@kernel
def rotation_node(n, w, x, y, z):
    """Return the number of the node (w, x, y, z), or of the opposite one, which is the same."""
    first = w if w != 0 else (x if x != 0 else (y if y != 0 else z))
    if first < 0:
        w, x, y, z = -w, -x, -y, -z
    if w > 0:
        m = n - w
        before = 2 * n * n + 1 + 4 * (squares_to(n - 1) - squares_to(m)) + 2 * (w - 1)
        return before if m == 0 else before + direction_node(m, x, y, z)
    if x > 0:
        m = n - x
        before = 2 * n + 4 * ((x - 1) * n - x * (x - 1) // 2)
        return before + ring_node(m, y, z)
    if y > 0:
        return 1 + 2 * (y - 1) + (1 if z > 0 else 0)
    return 0


@kernel
def corner_values(t, o, node, weight, low, high):
    """Return the sums of two numbers with those at a node, by its weight; a margin has one."""
    if t[o + NUMBERS] == 2.0:
        at = o + VALUES + 2 * node
        return low + weight * t[at], high + weight * t[at + 1]
    return low + weight * t[o + VALUES + node], high


@kernel
def at_direction(t, o, x, y, z):
    """Return the numbers, two at most, at a direction; see `octahedral.locate`."""
    n = int(t[o + DIVISIONS])
    scale = n / max(abs(x) + abs(y) + abs(z), 1e-300)
    px, py, pz = scale * abs(x), scale * abs(y), scale * abs(z)
    a, b, c = int(px), int(py), int(pz)
    fx, fy, fz = px - a, py - b, pz - c
    kind = int(np.rint(fx + fy + fz))
    sx, sy, sz = -1 if x < 0.0 else 1, -1 if y < 0.0 else 1, -1 if z < 0.0 else 1
    if kind == 0 or kind == 3:
        more = 1 if kind == 3 else 0
        node = direction_node(n, sx * (a + more), sy * (b + more), sz * (c + more))
        return corner_values(t, o, node, 1.0, 0.0, 0.0)
    # Parts that sum to 1 are weights of the corners one step on; to 2, of those two steps on.
    one, other = (1, 0) if kind == 1 else (0, 1)
    wx, wy, wz = (fx, fy, fz) if kind == 1 else (1.0 - fx, 1.0 - fy, 1.0 - fz)
    whole = 1.0 / (wx + wy + wz)
    node = direction_node(n, sx * (a + one), sy * (b + other), sz * (c + other))
    low, high = corner_values(t, o, node, wx * whole, 0.0, 0.0)
    node = direction_node(n, sx * (a + other), sy * (b + one), sz * (c + other))
    low, high = corner_values(t, o, node, wy * whole, low, high)
    node = direction_node(n, sx * (a + other), sy * (b + other), sz * (c + one))
    return corner_values(t, o, node, wz * whole, low, high)


@kernel
def at_rotation(t, o, w, x, y, z):
    """Return the numbers, two at most, at a rotation; see `rotation_nodes.locate`."""
    n = int(t[o + DIVISIONS])
    total = max(abs(w) + abs(x) + abs(y) + abs(z), 1e-300)
    first = abs(w) / total
    second = first + abs(x) / total
    third = second + abs(y) / total
    p0, p1, p2 = n * min(first, 1.0), n * min(second, 1.0), n * min(third, 1.0)
    a, b, c = int(p0), int(p1), int(p2)
    f0, f1, f2 = p0 - a, p1 - b, p2 - c
    sw, sx = -1 if w < 0.0 else 1, -1 if x < 0.0 else 1
    sy, sz = -1 if y < 0.0 else 1, -1 if z < 0.0 else 1
    # Kuhn's tetrahedra: one step along each axis, the largest part first, of equal ones the last.
    before, low, high = 1.0, 0.0, 0.0
    left0, left1, left2 = True, True, True
    for step in range(4):
        largest, which = 0.0, 3
        if left0:
            largest, which = f0, 0
        if left1 and (which == 3 or f1 >= largest):
            largest, which = f1, 1
        if left2 and (which == 3 or f2 >= largest):
            largest, which = f2, 2
        weight = before - largest if step < 3 else before
        if weight > 0.0:
            node = rotation_node(n, sw * a, sx * (b - a), sy * (c - b), sz * (n - c))
            low, high = corner_values(t, o, node, weight, low, high)
        before = largest
        if which == 0:
            a, left0 = a + 1, False
        elif which == 1:
            b, left1 = b + 1, False
        elif which == 2:
            c, left2 = c + 1, False
    return low, high


@kernel
def values_at(t, o, w, x, y, z):
    """Return the numbers of the dependent limit at `o` at a rotation of the driver."""
    iw, ix, iy, iz = t[o + INTO], t[o + INTO + 1], t[o + INTO + 2], t[o + INTO + 3]
    qw, qx, qy, qz = product(iw, ix, iy, iz, w, x, y, z)
    if t[o + BY_ROTATION] > 0.0:
        bw, bx, by, bz = t[o + BONE], t[o + BONE + 1], t[o + BONE + 2], t[o + BONE + 3]
        rw, rx, ry, rz = product(qw, qx, qy, qz, bw, bx, by, bz)
        return at_rotation(t, o, rw, rx, ry, rz)
    ax, ay, az = t[o + AXIS], t[o + AXIS + 1], t[o + AXIS + 2]
    dx, dy, dz = rotate(qw, qx, qy, qz, ax, ay, az)
    return at_direction(t, o, dx, dy, dz)


@kernel
def gap_of(t, o, measured, low, high):
    """Return how far outside a joint is, by what was measured of it, at such numbers."""
    if t[o + NUMBERS] == 1.0:
        return measured[0] - (t[o + LARGEST] - low)
    least = np.inf
    for k in range(0, measured.shape[0], 3):
        across, along, depth = measured[k], measured[k + 1], measured[k + 2]
        beyond = max(low - along, along - high)
        more = max(beyond, 0.0)
        outside = math.sqrt(across * across + more * more)
        least = min(least, outside if outside > 0.0 else max(beyond, depth))
    return least


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
def wrapped(p, axis, move):
    """Return a move along an axis of a limit's shape, less whole periods where it has some."""
    if int(p[HEADER]) == FIELD:
        period = p[HEADER + 1 + fields.PERIOD + axis]
        if period > 0.0:
            return move - period * np.rint(move / period)
    return move


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


@kernel
def clear(block):
    """Begin a block, whose lanes count how far off 1 lengths are."""
    for i in range(LANES):
        block[OFF_UNIT + i] = 0.0


@kernel
def put(block, i, w, x, y, z):
    """Set the rotation that comes in at a lane."""
    block[W0 + i], block[X0 + i], block[Y0 + i], block[Z0 + i] = w, x, y, z


@kernel
def make_legal(p, blocks, lanes, n):
    """Make the driver's rotations that come into blocks[0] legal: they come into blocks[2].

    There, their points in the chart are found, too. Without a limit of its own all are legal.
    """
    block, seen = blocks[0], blocks[2]
    if p.shape[0] == 0:
        for k in range(W0, Z0 + 1, LANES):
            for i in range(n):
                seen[k + i] = block[k + i]
        return
    enter(p, 0, block, n)
    nearest(p, 0, TOLERANCE, 0.0, block, blocks[1], lanes, n)
    leave(p, 0, TOLERANCE, block, n)
    for i in range(n):
        put(seen, i, block[QW + i], block[QX + i], block[QY + i], block[QZ + i])
    enter(p, 0, seen, n)


@kernel
def score(p, t, measured, widths, blocks, n, scores):
    """Write the squared ways of pairs with the legal rotations in blocks[2], from blocks[3].

    That of the driver alone goes to `scores` after all others, at LANES.
    """
    source, seen = blocks[3], blocks[2]
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
def search_fan(p, t, measured, widths, blocks, lanes, scores, best):
    """Turn the driver all ways as far as may pay, from best[0]; write the nearest to best[1].

    A row of `best` has a rotation, and the square of its pair; of row 0 what may pay comes last.
    """
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
            put(blocks[0], k, rw, rx, ry, rz)
        make_legal(p, blocks, lanes, around)
        score(p, t, measured, widths, blocks, around, scores)
        i = lowest(scores, 0, around)
        if scores[i] < best[1, 4]:
            keep(blocks[2], scores, i, best[1])


@kernel
def keep(seen, scores, i, best):
    """Write the rotation of a lane, and the square of its pair."""
    best[0], best[1], best[2], best[3] = seen[W0 + i], seen[X0 + i], seen[Y0 + i], seen[Z0 + i]
    best[4] = scores[i]


@kernel
def refine(p, t, measured, widths, blocks, lanes, scores, best):
    """Follow both rows of `best` by ever shorter turns, while these make pairs nearer."""
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
                put(blocks[0], COMPASS * basin + way, rw, rx, ry, rz)
        make_legal(p, blocks, lanes, 2 * COMPASS)
        score(p, t, measured, widths, blocks, 2 * COMPASS, scores)
        for basin in range(2):
            i = lowest(scores, COMPASS * basin, COMPASS)
            step = first if basin == 0 else second
            if scores[i] < best[basin, 4] - STEP_BACK and step >= least:
                keep(blocks[2], scores, i, best[basin])
            elif basin == 0:
                first = 0.5 * first
            else:
                second = 0.5 * second
        if first < least and second < least:
            break


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
    blocks, lanes = np.empty((4, BLOCK)), np.empty(2 * LANES, np.int64)
    scores, best = np.empty(2 * LANES), np.empty((2, 6))
    for k in range(4):
        clear(blocks[k])
    for i in range(source.shape[0]):
        own = measured[i]
        for k in range(0, 4, 3):
            put(blocks[k], 0, source[i, 0], source[i, 1], source[i, 2], source[i, 3])
        if p.shape[0] > 0:
            enter(p, 0, blocks[3], 1)
        make_legal(p, blocks, lanes, 1)
        score(p, t, own, widths, blocks, 1, scores)
        keep(blocks[2], scores, 0, best[0])
        if best[0, 4] > scores[LANES] + STEP_BACK:
            best[0, 5] = math.sqrt(best[0, 4]) + math.sqrt(scores[LANES])
            search_fan(p, t, own, widths, blocks, lanes, scores, best)
            refine(p, t, own, widths, blocks, lanes, scores, best)
            if best[1, 4] < best[0, 4]:
                for k in range(5):
                    best[0, k] = best[1, k]
        for k in range(4):
            out[i, k] = best[0, k]
        squares[i] = best[0, 4]
