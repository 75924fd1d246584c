"""One joint against its limit: projection, clearance, and where one turn leaves the limit."""

from __future__ import annotations

import math

import numpy as np

from .clamp import place_on_turn, safe_step
from .ik_chain import (
    COMFORT,
    GAP,
    INNER_LIMIT,
    INNER_MOVER,
    JOINT,
    KIND,
    RATES,
    WEIGHT,
    product,
    rotate,
    to_relative,
)
from .ik_goals import TURN_SHARE
from .jit import kernel
from .kinds import DIRECTION_TWIST, HINGES, SWING_TWIST
from .limit import AXIS, CHART, enter, leave, nearest
from .rotation import DISTANCE, QW, QX, QY, QZ, W0, X0, Y0, Z0, X, Y, Z

# One rotation brought into one limit, and how far around a legal one all is legal.

ROOM = 0.5  # radians; farther around nothing is said to be clear
STEEP = 2.5  # radians of swing, beyond which a chart changes too fast to say so
LEAST = 1e-3  # radians; less is not worth a look, and cosines have no digits for it


@kernel
def project_one(packed, at, tolerance, block, other, lanes):
    """Project the quaternion at W0 … onto one limit; return whether it had to move, to QW …"""
    enter(packed, at, block, 1)
    nearest(packed, at, tolerance, np.inf, block, other, lanes, 1)
    if block[DISTANCE] <= tolerance:
        return False
    leave(packed, at, tolerance, block, 1)
    return True


@kernel
def clearance(packed, at, block):
    """Return an angle by which the legal rotation in the block may turn, any way, and stay legal.

    A turn by δ moves a point of a chart, s from its origin, by at most
    δ √((s/sin s)² + 1/cos²(s/2)), s the swing or the whole angle; depths are never overstated.
    """
    depth, chart = -block[DISTANCE], int(packed[at + CHART])
    if depth > LEAST and chart == HINGES:
        return min(ROOM, safe_step(packed, at, block, 0))
    if depth <= LEAST or chart > DIRECTION_TWIST:
        return 0.0
    x, y, z = block[X], block[Y], block[Z]
    if chart == DIRECTION_TWIST:
        a = at + AXIS
        along = packed[a] * x + packed[a + 1] * y + packed[a + 2] * z
        s = math.acos(min(max(along, -1.0), 1.0)) + ROOM
    elif chart == SWING_TWIST:
        s = math.sqrt(x * x + y * y) + ROOM
    else:
        s = math.sqrt(x * x + y * y + z * z) + ROOM
    if s > STEEP:
        return 0.0
    stretch, cosine = s / math.sin(s), math.cos(0.5 * s)
    return min(ROOM, depth / math.sqrt(stretch * stretch + 1.0 / (cosine * cosine)))


@kernel
def is_clear(m, w, x, y, z, clear):
    """Tell whether a rotation is where all is known to be legal for mover m."""
    along = w * clear[m, 0] + x * clear[m, 1] + y * clear[m, 2] + z * clear[m, 3]
    return abs(along) > clear[m, 4]


@kernel
def note_clear(m, packed, at, block, clear):
    """Note around which rotation all is legal: the one in the block, if there is room.

    Returns the angle, 0 where there is too little.
    """
    angle = clearance(packed, at, block)
    if angle <= LEAST:
        return 0.0
    clear[m, 0], clear[m, 1], clear[m, 2] = block[W0], block[X0], block[Y0]
    clear[m, 3], clear[m, 4] = block[Z0], math.cos(0.499 * angle)
    return angle


# Comfort: how far joints are from their limits, shrunk by a margin, and how that changes.

NUDGE = 1e-5  # radians, to either side, for slopes of distances


@kernel
def distance_from(packed, at, block, other, lanes):
    """Return how far outside a limit the quaternion at W0 … is."""
    enter(packed, at, block, 1)
    nearest(packed, at, -np.inf, np.inf, block, other, lanes, 1)
    return block[DISTANCE]


@kernel
def find_discomfort(chain, q, work):
    """Write, as the gaps of `COMFORT`, how far joints are outside their inner limits."""
    goals, movers, ways, state = chain.goals, chain.movers, chain.ways, work.state
    block, other, lanes = work.block, work.other, work.lanes
    for g in range(goals.shape[0]):
        if goals[g, KIND] != COMFORT:
            continue
        m, at = int(goals[g, INNER_MOVER]), int(goals[g, INNER_LIMIT])
        j = movers[m, JOINT]
        w, x, y, z = to_relative(ways, m, q, q, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
        state[g, GAP] = max(distance_from(chain.packed, at, block, other, lanes), 0.0)


@kernel
def refresh_discomfort(chain, q, work):
    """Write how fast the gaps of `COMFORT` close, weighted, by turns of their joints in the world.

    The limit of an ancestor's joint measures a product, which a turn of any of its factors in the
    world changes alike.
    """
    goals, movers, ways, state = chain.goals, chain.movers, chain.ways, work.state
    block, other, lanes, world = work.block, work.other, work.lanes, work.world
    c, s = math.cos(0.5 * NUDGE), math.sin(0.5 * NUDGE)
    for g in range(goals.shape[0]):
        if goals[g, KIND] != COMFORT:
            continue
        for k in range(18):
            state[g, RATES + k] = 0.0
        if state[g, GAP] <= 0.0:
            continue
        m, at = int(goals[g, INNER_MOVER]), int(goals[g, INNER_LIMIT])
        j = movers[m, JOINT]
        w, x, y, z = to_relative(ways, m, q, q, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        factor = goals[g, WEIGHT] * TURN_SHARE / (2.0 * NUDGE)
        for axis in range(3):
            ux, uy, uz = 1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2)
            slope = 0.0
            for side in range(2):
                t = s if side == 0 else -s
                aw, ax, ay, az = product(w, x, y, z, c, t * ux, t * uy, t * uz)
                block[W0], block[X0], block[Y0], block[Z0] = aw, ax, ay, az
                far = distance_from(chain.packed, at, block, other, lanes)
                slope += far if side == 0 else -far
            ux, uy, uz = rotate(world[j, 0], world[j, 1], world[j, 2], world[j, 3], ux, uy, uz)
            state[g, RATES + 9] -= factor * slope * ux
            state[g, RATES + 10] -= factor * slope * uy
            state[g, RATES + 11] -= factor * slope * uz


# Where one turn of one joint leaves its limit, by as few looks as it takes.
#
# A look is dear, so each is used for all that it tells: how far around it all is legal, and on
# which side of the boundary, and how far from it, it was. A turn is one buffer: the rotations at
# its start and end, the first that was seen outside, brought into the limit, and the angle; the
# tolerance of the limit, how far apart looks are at least, and how near the boundary is found; then
# the last legal share and the first that is not, with their distances from the boundary.

START, END, OUTSIDE, ANGLE, TOLERANCE, FINEST, WITHIN = 0, 4, 8, 12, 13, 14, 15
LOW, HIGH, UNDER, OVER = 16, 17, 18, 19
TURN_SIZE = 20
ROUNDS = 60  # of looks for a boundary, at most; every third halves what is left


@kernel
def distance_at(turn, t, p, o, block, other, lanes):
    """Return how far outside the limit the rotation a share `t` of the way is; a member, below."""
    place_on_turn(turn[START:], turn[END:], turn[ANGLE], t, 0, block, 0)
    enter(p, o, block, 1)
    edge = 0.5 * turn[TOLERANCE]
    nearest(p, o, edge, np.inf, block, other, lanes, 1)
    return block[DISTANCE] - edge


@kernel
def place_at(turn, t, block):
    """Write the rotation a share `t` of the way as the end of the turn."""
    place_on_turn(turn[START:], turn[END:], turn[ANGLE], t, 0, block, 0)
    turn[END], turn[END + 1], turn[END + 2] = block[W0], block[X0], block[Y0]
    turn[END + 3] = block[Z0]


@kernel
def known_room(m, turn, clear):
    """Return by which angle mover m may turn from its start, any way, by what is known already."""
    along = 0.0
    for i in range(4):
        along += turn[START + i] * clear[m, i]
    along = abs(along)
    if along <= clear[m, 4]:
        return 0.0
    return 2.0 * (math.acos(clear[m, 4]) - math.acos(min(along, 1.0)))


@kernel
def boundary_between(turn, p, o, block, other, lanes):
    """Return a legal share of the way, less than the angle `WITHIN` before one that is not.

    Looks are where a straight line between the distances at `LOW` and `HIGH` is 0, in turn a little
    before that and a little after.
    """
    angle, within = turn[ANGLE], turn[WITHIN]
    low, high, under, over = turn[LOW], turn[HIGH], turn[UNDER], turn[OVER]
    margin, ahead = 0.5 * within / angle, True
    for number in range(ROUNDS):
        if not (high - low) * angle > within:
            break
        if number % 3 == 2:
            here = 0.5 * (low + high)
        else:
            here = low + (high - low) * under / max(under + over, 1e-300)
            here += 0.9 * margin if ahead else -0.9 * margin
            here = min(max(here, low + 0.9 * margin), high - 0.9 * margin)
        outside = distance_at(turn, here, p, o, block, other, lanes)
        if outside <= 0.0:
            low, under, ahead = here, -outside, True
        else:
            high, over, ahead = here, outside, False
    return low


@kernel
def exit_of_one(m, turn, p, o, clear, block, other, lanes):
    """Return the largest t in [0, 1] with the turn of mover m, from a legal start, legal before it.

    The end is looked at as soon as a way on from the start is known: mostly what is legal around
    both covers all between them. If not, looks go on by the angle that is proved to be legal, and
    by `FINEST` at least. The boundary is found to an angle `WITHIN` of it; then `OUTSIDE` is the
    first rotation that was seen outside, at most `FINEST` farther, brought into the limit.
    """
    angle, finest = turn[ANGLE], turn[FINEST]
    low, under = min(known_room(m, turn, clear) / angle, 1.0), 0.0
    onward, last, seen = max(low, finest / angle), np.inf, False
    here = 1.0 if low > 0.0 else min(onward, 1.0)
    while True:
        over = distance_at(turn, here, p, o, block, other, lanes)
        if over <= 0.0:
            if here >= 1.0:
                last = 1.0 - note_clear(m, p, o, block, clear) / angle
            else:
                low, under = here, -over
                onward = here + max(safe_step(p, o, block, 0), finest) / angle
            if onward >= last:
                return 1.0
        elif here <= onward:
            break
        seen = seen or here >= 1.0
        here = min(onward, 1.0) if seen else 1.0
    leave(p, o, turn[TOLERANCE], block, 1)
    turn[OUTSIDE], turn[OUTSIDE + 1] = block[QW], block[QX]
    turn[OUTSIDE + 2], turn[OUTSIDE + 3] = block[QY], block[QZ]
    turn[LOW], turn[HIGH], turn[UNDER], turn[OVER] = low, here, under, over
    return boundary_between(turn, p, o, block, other, lanes)
