"""A chain that follows goals by the method of Wilhelms & Van Gelder (2001), segment by segment.

Every execution turns one segment so that the chain's end lies in the direction of the goal. Where
that leaves the segment's limit, the move ends before the boundary.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any

import numpy as np

from synovia.kernels.jit import kernel
from synovia.kernels.limit import HEADER, enter, nearest
from synovia.kernels.reach_cone import find_slice, twist_limits, twist_margin
from synovia.kernels.rotation import BLOCK, DISTANCE, W0, T, X, lane_vec3, set_lane_quat
from synovia.kernels.shapes import CONE, shape
from synovia.kernels.vector import (
    IDENTITY,
    Quat,
    Vec3,
    conj,
    cross,
    dot,
    lerp,
    norm,
    normalize,
    quat_at,
    quat_dot,
    rotate,
    set_quat,
    set_vec3,
    vec3_at,
)
from synovia.native.build import load_outside

PARTS = 128  # of a move that has to end before a boundary
GIVE_UP = 600  # executions for one goal


@kernel
def inside(p, o, edge, q, block):
    """Return a number that is not negative for a rotation within the limit at p[o:].

    Near the boundary it grows evenly with the distance from it. Of a cone it is enough to see on
    which side of its slice's edge a direction is; a shape that reaches less than half a turn has
    members in the first cover only.
    """
    set_lane_quat(block, W0, q)
    enter(p, o, block, 1)
    first = o + HEADER.SIZE
    if int(p[first]) == CONE:
        o, x = first + 1, lane_vec3(block, X)
        low, high, height = twist_limits(p, o, find_slice(p, o, x), x)
        margin, _ = twist_margin(p, o, low, high, block[T])
        return min(height, margin) if height >= 0.0 else height
    if p[o + HEADER.reach] < math.pi and p[o + HEADER.reach_twist] < math.pi:
        shape(p, first, block, 1)
    else:
        nearest(p, o, block, 1)
    return edge - block[DISTANCE]


@kernel
def part_of_move(p, o, edge, start, end, over, block):
    """Return the last legal rotation of a move whose end is outside by `over`.

    Evaluations are next to the root of a straight line between the ends of the interval, and every
    third one bisects. Mostly a segment is at its boundary already, which the first one shows.
    """
    low, high, under, number, beyond = 0, PARTS, 0.0, 0, 1
    while high - low > 1:
        if number % 3 == 2:
            part = (low + high) // 2
        else:
            part = low + beyond + int((high - low) * under / (under + over))
            part = min(max(part, low + 1), high - 1)
        room = inside(p, o, edge, lerp(start, end, part / PARTS), block)
        if room >= 0.0:
            low, under, beyond = part, room, 1
        else:
            high, over, beyond = part, -room, 0
        number += 1
    return lerp(start, end, low / PARTS)


@kernel
def shortest_turn(a, b):
    """Return the rotation from direction a to direction b; the identity if they are opposite."""
    across, sizes = cross(a, b), math.sqrt(dot(a, a) * dot(b, b))
    turn = Quat(sizes + dot(a, b), across.x, across.y, across.z)
    return normalize(turn) if quat_dot(turn, turn) > 1e-24 * sizes * sizes else IDENTITY


@kernel
def set_out(bones, q, j, world, places):
    """Write the end of segment j, and its rotation in the world, from those of the one before."""
    rotation = quat_at(world[j], 0) * quat_at(q[j], 0)
    set_quat(world[j + 1], 0, rotation)
    bone = rotate(rotation, Vec3(bones[j], 0.0, 0.0))
    set_vec3(places[j + 1], 0, vec3_at(places[j], 0) + bone)


@kernel("f8[] i8[] f8[] f8 b1 f8[,] f8 f8 f8[,] i8[] i8[] f8[]")
def follow_plainly(bones, offsets, p, edge, obey, goals, close, gain, q, moves, stops, left):
    """Follow goals (n, 3) one after the other, with segments along x, from rotations q (bones, 4).

    Sweeps from the first segment to the last end when the goal is `close`, or nearer by less than
    a share `gain`. Writes executions, those that a limit would stop, and the remaining distance.
    Unless told to `obey`, limits are evaluated and moves go on. `offsets` are where limits begin
    in p, -1 for none.
    """
    block = np.zeros(BLOCK)
    count = bones.shape[0]
    world, places = np.zeros((count + 1, 4)), np.zeros((count + 1, 3))
    world[0, 0] = 1.0
    for i in range(goals.shape[0]):
        goal, executions, stopped, before = vec3_at(goals[i], 0), 0, 0, np.inf
        while True:
            for j in range(count):
                set_out(bones, q, j, world, places)
            end = vec3_at(places[count], 0)
            gap = norm(end - goal)
            if gap <= close or gap > (1.0 - gain) * before or executions >= GIVE_UP:
                break
            before = gap
            for j in range(count):
                start, frame, own = vec3_at(places[j], 0), quat_at(world[j], 0), quat_at(q[j], 0)
                arm = rotate(conj(frame), end - start)
                turned = shortest_turn(arm, rotate(conj(frame), goal - start)) * own
                executions += 1
                o, room = offsets[j], 0.0
                if o >= 0:
                    room = inside(p, o, edge, turned, block)
                if room < 0.0:
                    stopped += 1
                    if obey:
                        turned = part_of_move(p, o, edge, own, turned, -room, block)
                turned = (1.5 - 0.5 * quat_dot(turned, turned)) * turned  # back to length 1
                end = start + rotate(frame, rotate(turned * conj(own), arm))
                set_quat(q[j], 0, turned)
                set_out(bones, q, j, world, places)
        moves[i], stops[i], left[i] = executions, stopped, gap


@cache
def _compiled() -> Any:
    return load_outside(sys.modules[__name__]).wilhelms_van_gelder_kernel_follow_plainly


def follow_goals(*given: Any) -> None:
    """As `follow_plainly`, compiled at the first call."""
    _compiled()(*given)
