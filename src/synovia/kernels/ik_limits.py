"""One joint and its limit: projection, clearance, and comfort within a margin."""

from __future__ import annotations

import math

import numpy as np

from .clamp import safe_step
from .ik_chain import COMFORT, GOAL, INNER_LIMIT, INNER_MOVER, MOVER, STATE, to_relative
from .ik_goals import TURN_SHARE
from .jit import inlined, kernel
from .limit import enter, leave, measure_lanes, nearest
from .rotation import DISTANCE, QW, W0, lane_quat, set_lane_quat
from .vector import about, axis_vector, quat_at, quat_dot, rotate, set_quat

ROOM = 0.5  # radians; the largest clearance that is claimed
LEAST = 1e-3  # radians; smaller clearances are not worth noting, and cosines cannot hold them
NUDGE = 1e-5  # radians to either side, for slopes of distances


@kernel
def project_one(packed, at, tolerance, block, other, lanes):
    """Project the quaternion of lane 0 onto one limit; return True if it moved."""
    enter(packed, at, block, 1)
    nearest(packed, at, tolerance, np.inf, block, other, lanes, 1)
    if block[DISTANCE] <= tolerance:
        return False
    leave(packed, at, tolerance, block, 1)
    return True


@kernel
def clearance(packed, at, block):
    """Return an angle by which the legal rotation of lane 0 may turn about any axis and stay legal.

    It is 0 if that is too small to be worth noting.
    """
    return min(ROOM, safe_step(packed, at, block, 0)) if -block[DISTANCE] > LEAST else 0.0


@kernel
def is_clear(m, q, clear):
    """Return True if a rotation of mover m is within a clearance that was noted."""
    return abs(quat_dot(q, quat_at(clear[m], 0))) > clear[m, 4]


@kernel
def note_clear(m, packed, at, block, clear):
    """Note the clearance of the legal rotation of lane 0; return it, 0 if it is too small."""
    angle = clearance(packed, at, block)
    if angle <= LEAST:
        return 0.0
    set_quat(clear[m], 0, lane_quat(block, W0))
    clear[m, 4] = math.cos(0.499 * angle)
    return angle


@inlined  # chain and work are large to pass
def legal_rotation(chain, m, q, work):
    """Return the nearest legal rotation of mover m, as its limit measures it, and True if it moved.

    Without a limit, or within a noted clearance, that is q itself.
    """
    at, block = chain.movers[m, MOVER.limit], work.block
    if at < 0 or is_clear(m, q, work.clear):
        return q, False
    set_lane_quat(block, W0, q)
    if project_one(chain.packed, at, chain.tolerance, block, work.other, work.lanes):
        return lane_quat(block, QW), True
    note_clear(m, chain.packed, at, block, work.clear)
    return q, False


@kernel
def distance_from(packed, at, q, block, other, lanes):
    """Return the signed distance of a rotation from a limit."""
    set_lane_quat(block, W0, q)
    measure_lanes(packed, at, block, other, lanes, 1)
    return block[DISTANCE]


@kernel
def find_discomfort(chain, q, work):
    """Write the gaps of `COMFORT`: how far joints are outside their inner limits."""
    goals, block, other, lanes = chain.goals, work.block, work.other, work.lanes
    for g in range(goals.shape[0]):
        if goals[g, GOAL.kind] != COMFORT:
            continue
        m, at = int(goals[g, INNER_MOVER]), int(goals[g, INNER_LIMIT])
        r = to_relative(chain.ways[m], q, q, quat_at(q[chain.movers[m, MOVER.joint]], 0))
        distance = distance_from(chain.packed, at, r, block, other, lanes)
        work.state[g, STATE.gap] = max(distance, 0.0)


@kernel
def refresh_discomfort(chain, q, work):
    """Write the weighted rates of the gaps of `COMFORT` by turns of their joints in the world.

    A limit that is measured from an ancestor measures a product, which a turn of any of its factors
    in the world changes alike.
    """
    goals, state = chain.goals, work.state
    block, other, lanes = work.block, work.other, work.lanes
    c, s = math.cos(0.5 * NUDGE), math.sin(0.5 * NUDGE)
    for g in range(goals.shape[0]):
        if goals[g, GOAL.kind] != COMFORT:
            continue
        for k in range(18):
            state[g, STATE.by_move + k] = 0.0
        if state[g, STATE.gap] <= 0.0:
            continue
        m, at = int(goals[g, INNER_MOVER]), int(goals[g, INNER_LIMIT])
        j = chain.movers[m, MOVER.joint]
        r = to_relative(chain.ways[m], q, q, quat_at(q[j], 0))
        factor = goals[g, GOAL.weight] * TURN_SHARE / (2.0 * NUDGE)
        for k in range(3):
            axis = axis_vector(k)
            ahead = distance_from(chain.packed, at, r * about(axis, c, s), block, other, lanes)
            behind = distance_from(chain.packed, at, r * about(axis, c, -s), block, other, lanes)
            rate = factor * (ahead - behind) * rotate(quat_at(work.world[j], 0), axis)
            for i in range(3):
                state[g, STATE.by_turn + i] -= rate[i]
