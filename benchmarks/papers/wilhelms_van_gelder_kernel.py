"""A chain that follows goals as Wilhelms & Van Gelder (2001) have it: one segment at a time.

Every execution turns one segment so that the chain's end lies in the direction of the goal. Where
that leaves the segment's limit, the move ends before the boundary.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any

import numpy as np

from synovia.kernels.ik_chain import product, rotate
from synovia.kernels.jit import kernel
from synovia.kernels.limit import HEADER, REACH, REACH_TWIST, enter, nearest
from synovia.kernels.reach_cone import HEIGHT, MARGIN, look_up_limits, place, twist
from synovia.kernels.rotation import BLOCK, DISTANCE, LANES, W0, X0, Y0, Z0
from synovia.kernels.shapes import CONE, shape
from synovia.native.build import load_outside

PARTS = 128  # of a move that has to end before a boundary
GIVE_UP = 600  # executions for one goal


@kernel
def inside(p, o, edge, w, x, y, z, block, other, lanes):
    """Return a number that is not negative for a rotation within the limit at p[o:].

    Near the boundary it grows evenly with the distance from it. Of a cone it is enough to see on
    which side of its slice's edge a direction is; a shape that reaches less than half a turn has
    members in the first cover only.
    """
    block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
    enter(p, o, block, 1)
    first = o + HEADER
    if int(p[first]) == CONE:
        place(p, first + 1, block, 1)
        look_up_limits(p, first + 1, block, 1)
        if block[HEIGHT] < 0.0:
            return block[HEIGHT]
        twist(p, first + 1, block, 1)
        return min(block[HEIGHT], block[MARGIN])
    if p[o + REACH] < math.pi and p[o + REACH_TWIST] < math.pi:
        shape(p, first, np.inf, block, 1)
    else:
        nearest(p, o, edge, np.inf, block, other, lanes, 1)
    return edge - block[DISTANCE]


@kernel
def between(start, w, x, y, z, t):
    """Return a rotation on the shortest way from `start`, t of 1 along the chord."""
    a, b, c, d = start[0], start[1], start[2], start[3]
    side = t if a * w + b * x + c * y + d * z >= 0.0 else -t
    rest = 1.0 - t
    w, x, y, z = rest * a + side * w, rest * b + side * x, rest * c + side * y, rest * d + side * z
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return scale * w, scale * x, scale * y, scale * z


@kernel
def part_of_move(p, o, edge, start, w, x, y, z, over, block, other, lanes):
    """Return the end of a move that is outside by `over` as a whole: its last legal part.

    Looks are next to where a straight line between the two ends of what is left is 0, and every
    third in the middle. Mostly a segment is at its boundary already, which is seen at the first.
    """
    low, high, under, number, beyond = 0, PARTS, 0.0, 0, 1
    while high - low > 1:
        if number % 3 == 2:
            part = (low + high) // 2
        else:
            part = low + beyond + int((high - low) * under / (under + over))
            part = min(max(part, low + 1), high - 1)
        a, b, c, d = between(start, w, x, y, z, part / PARTS)
        room = inside(p, o, edge, a, b, c, d, block, other, lanes)
        if room >= 0.0:
            low, under, beyond = part, room, 1
        else:
            high, over, beyond = part, -room, 0
        number += 1
    return between(start, w, x, y, z, low / PARTS)


@kernel
def shortest_turn(ax, ay, az, bx, by, bz):
    """Return the quaternion that turns the direction of a to that of b, unless it is opposite."""
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    sizes = math.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    w = sizes + ax * bx + ay * by + az * bz
    square = w * w + x * x + y * y + z * z
    if square <= 1e-24 * sizes * sizes:
        return 1.0, 0.0, 0.0, 0.0
    scale = 1.0 / math.sqrt(square)
    return scale * w, scale * x, scale * y, scale * z


@kernel
def set_out(bones, q, j, world, places):
    """Write where segment j ends, and its rotation in the world, from those of the one before."""
    w, x, y, z = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
    w, x, y, z = product(w, x, y, z, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    world[j + 1, 0], world[j + 1, 1], world[j + 1, 2], world[j + 1, 3] = w, x, y, z
    x, y, z = rotate(w, x, y, z, bones[j], 0.0, 0.0)
    places[j + 1, 0] = places[j, 0] + x
    places[j + 1, 1] = places[j, 1] + y
    places[j + 1, 2] = places[j, 2] + z


@kernel("f8[] i8[] f8[] f8 b1 f8[,] f8 f8 f8[,] i8[] i8[] f8[]")
def follow_plainly(bones, offsets, p, edge, obey, goals, close, gain, q, moves, stops, left):
    """Follow goals (n, 3) one after the other, with segments along x, from rotations q (bones, 4).

    Sweeps from the first segment to the last end when the goal is `close`, or nearer by less than
    a share `gain`. Writes executions, those that a limit would stop, and how far the goal is off.
    Unless told to `obey`, limits are looked at and moves go on. `offsets` are where limits begin
    in p, -1 for none.
    """
    block, other = np.zeros(BLOCK), np.zeros(BLOCK)
    lanes = np.zeros(2 * LANES, np.int64)
    count = bones.shape[0]
    world, places = np.zeros((count + 1, 4)), np.zeros((count + 1, 3))
    world[0, 0] = 1.0
    for i in range(goals.shape[0]):
        gx, gy, gz = goals[i, 0], goals[i, 1], goals[i, 2]
        executions, stopped, before = 0, 0, np.inf
        while True:
            for j in range(count):
                set_out(bones, q, j, world, places)
            ex, ey, ez = places[count, 0], places[count, 1], places[count, 2]
            gap = math.sqrt((ex - gx) ** 2 + (ey - gy) ** 2 + (ez - gz) ** 2)
            if gap <= close or gap > (1.0 - gain) * before or executions >= GIVE_UP:
                break
            before = gap
            for j in range(count):
                px, py, pz = places[j, 0], places[j, 1], places[j, 2]
                w, x, y, z = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
                ux, uy, uz = rotate(w, -x, -y, -z, ex - px, ey - py, ez - pz)
                vx, vy, vz = rotate(w, -x, -y, -z, gx - px, gy - py, gz - pz)
                a, b, c, d = shortest_turn(ux, uy, uz, vx, vy, vz)
                a, b, c, d = product(a, b, c, d, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
                executions += 1
                o, room = offsets[j], 0.0
                if o >= 0:
                    room = inside(p, o, edge, a, b, c, d, block, other, lanes)
                if room < 0.0:
                    stopped += 1
                    if obey:
                        a, b, c, d = part_of_move(
                            p, o, edge, q[j], a, b, c, d, -room, block, other, lanes
                        )
                scale = 1.5 - 0.5 * (a * a + b * b + c * c + d * d)  # back to length 1
                a, b, c, d = scale * a, scale * b, scale * c, scale * d
                tw, tx, ty, tz = product(a, b, c, d, q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3])
                ux, uy, uz = rotate(tw, tx, ty, tz, ux, uy, uz)
                ux, uy, uz = rotate(w, x, y, z, ux, uy, uz)
                ex, ey, ez = px + ux, py + uy, pz + uz
                q[j, 0], q[j, 1], q[j, 2], q[j, 3] = a, b, c, d
                set_out(bones, q, j, world, places)
        moves[i], stops[i], left[i] = executions, stopped, gap


@cache
def _compiled() -> Any:
    return load_outside(sys.modules[__name__]).wilhelms_van_gelder_kernel_follow_plainly


def follow_goals(*given: Any) -> None:
    """As `follow_plainly`, compiled at the first call."""
    _compiled()(*given)
