"""One joint and its limit: projection, clearance, and comfort within a margin."""

from __future__ import annotations

import math

import numpy as np

from .clamp import safe_step
from .ik_chain import COMFORT, GOAL, INNER_LIMIT, INNER_MOVER, MOVER, STATE, about, to_relative
from .ik_goals import TURN_SHARE
from .jit import inlined, kernel
from .layout import DIRECTION_TWIST, HINGES, ROTATION_VECTOR, SWING_TWIST
from .limit import HEADER, enter, leave, nearest
from .rotation import DISTANCE, QW, W0, X, lane_quat, lane_vec3, set_lane_quat
from .vector import axis_vector, dot, norm, quat_at, quat_dot, rotate, set_quat, vec3_at

ROOM = 0.5  # radians; the largest clearance that is claimed
STEEP = 2.5  # radians of swing, beyond which a chart changes too fast for a bound
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

    A turn by δ moves a point of a chart, s from its origin, by at most
    δ √((s/sin s)² + 1/cos²(s/2)), s the swing or the whole angle; depths are never overstated.
    """
    depth, chart = -block[DISTANCE], int(packed[at + HEADER.chart])
    if depth <= LEAST:
        return 0.0
    if chart == HINGES:
        return min(ROOM, safe_step(packed, at, block, 0))
    point = lane_vec3(block, X)
    if chart == DIRECTION_TWIST:
        along = dot(vec3_at(packed, at + HEADER.axis), point)
        s = math.acos(min(max(along, -1.0), 1.0)) + ROOM
    elif chart == SWING_TWIST:
        s = math.sqrt(point.x * point.x + point.y * point.y) + ROOM
    elif chart == ROTATION_VECTOR:
        s = norm(point) + ROOM
    else:
        return 0.0
    if s > STEEP:
        return 0.0
    stretch, cosine = s / math.sin(s), math.cos(0.5 * s)
    return min(ROOM, depth / math.sqrt(stretch * stretch + 1.0 / (cosine * cosine)))


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
    enter(packed, at, block, 1)
    nearest(packed, at, -np.inf, np.inf, block, other, lanes, 1)
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
