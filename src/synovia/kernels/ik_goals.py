"""Residuals of goals, their derivatives, and projection of joints onto their limits."""

from __future__ import annotations

import math

from .ik_chain import (
    AIM,
    ALL,
    COMFORT,
    GOAL,
    INNER_LIMIT,
    INNER_MOVER,
    MOVER,
    ORIENT,
    POSITION,
    REACH,
    STATE,
    STAY,
    apply_log_jacobian,
    to_relative,
)
from .jit import kernel
from .limit import distance_of, nearest_legal
from .vector import (
    ZERO,
    about,
    axis_vector,
    conj,
    cross,
    dot,
    exp,
    log,
    norm,
    normalize,
    perpendicular,
    quat_at,
    rotate,
    set_quat,
    set_vec3,
    shortest_turn,
    vec3_at,
)

TURN_SHARE = 0.3  # a radian of direction counts as much as this share of the chain's length
OPPOSITE = 1e-6  # sine of the angle from the opposite direction, where the turn is not defined


@kernel
def is_wish(kind):
    """Return True for kinds of goals that are never met or missed: to stay, and comfort."""
    return kind in (STAY, COMFORT)


@kernel
def place_one(parents, j, q, p, world):
    """Write the rotation and the position of a joint in the world, after those of its parent."""
    up, rotation, position = parents[j], quat_at(q[j], 0), vec3_at(p[j], 0)
    if up >= 0:
        parent = quat_at(world[up], 0)
        position = vec3_at(world[up], POSITION) + rotate(parent, position)
        rotation = parent * rotation
    set_quat(world[j], 0, rotation)
    set_vec3(world[j], POSITION, position)


@kernel
def place(parents, order, q, p, world):
    """Write rotations and positions in the world of the joints that goals depend on."""
    for k in range(order.shape[0]):
        place_one(parents, order[k], q, p, world)


@kernel
def aim_directions(c, d):
    """Return the aiming axis c, the unit direction of d, and the length of d.

    If the axis points the opposite way it is turned by `OPPOSITE`, which defines the turn.
    """
    far = norm(d)
    if far < 1e-12:  # every direction is right at the point itself
        return c, c, 1.0
    d = d / far
    if norm(cross(c, d)) < OPPOSITE and dot(c, d) < 0.0:
        c = c + OPPOSITE * perpendicular(d)
    return c, d, far


@kernel
def aim_gap(c, d):
    """Return the rotation vector that turns the axis c to the direction d."""
    c, d, _ = aim_directions(c, d)
    across = cross(c, d)
    sine = norm(across)
    return (math.atan2(sine, dot(c, d)) / sine if sine > 1e-12 else 1.0) * across


@kernel
def remaining_turn(goal, target, head):
    """Return the rotation vector, in the world, that turns the axis of a goal to the target.

    `head` is the rotation and position in the world of the goal's joint. The vector is 0 if the
    axis starts at the target.
    """
    rotation = quat_at(head, 0)
    axis = rotate(rotation, vec3_at(goal, GOAL.axis))
    start = vec3_at(head, POSITION) + rotate(rotation, vec3_at(goal, GOAL.point))
    direction = vec3_at(target, 0) - start
    far = norm(direction)
    return shortest_turn((1.0 / norm(axis)) * axis, direction / far) if far > 1e-12 else ZERO


@kernel
def find_gaps(goals, targets, q, world, state):
    """Write the points of goals, and their gaps: translations or rotation vectors.

    The gap of `COMFORT` is set to 0; see `find_discomfort`.
    """
    for g in range(goals.shape[0]):
        j, kind, gap = int(goals[g, GOAL.owner]), goals[g, GOAL.kind], ZERO
        if kind == ORIENT:
            gap = log(quat_at(targets[g], 0) * conj(quat_at(world[j], 0)))
        elif kind == STAY:
            gap = log(conj(quat_at(q[j], 0)) * quat_at(targets[g], 0))
        elif kind != COMFORT:
            at = world[j]
            point = vec3_at(at, POSITION) + rotate(quat_at(at, 0), vec3_at(goals[g], GOAL.point))
            set_vec3(state[g], STATE.point, point)
            gap = vec3_at(targets[g], 0) - point
            if kind == AIM:
                gap = aim_gap(rotate(quat_at(world[j], 0), vec3_at(goals[g], GOAL.axis)), gap)
        set_vec3(state[g], STATE.gap, gap)


@kernel
def weigh(goals, scale, state, residuals):
    """Write the weighted residuals of all goals; return their sum of squares, and the largest.

    `scale` is 1 over the chain's length. The largest is without weights, and without wishes and
    goals of weight 0.
    """
    square, worst = 0.0, 0.0
    for g in range(goals.shape[0]):
        kind, weight = goals[g, GOAL.kind], goals[g, GOAL.weight]
        gap = (scale if kind == REACH else TURN_SHARE) * vec3_at(state[g], STATE.gap)
        size = norm(gap)
        if not is_wish(kind) and weight > 0.0 and not size <= worst:
            worst = size
        set_vec3(residuals, 3 * g, weight * gap)
        square += (weight * size) ** 2
    return square, worst


@kernel
def aim_change(axis, direction, k):
    """Return the closing rate of an aim's gap for moves along axis k, or rotations about k − 3.

    The gap is f c × d with f = θ/sin θ, of the axis c and the unit direction d.
    """
    move, turn = axis_vector(k), axis_vector(k - 3)
    c, d, far = aim_directions(axis, direction)
    n = cross(c, d)
    sine, cosine = norm(n), dot(c, d)
    angle = math.atan2(sine, cosine)
    if sine < 1e-4 and cosine > 0.0:
        f, bend = 1.0 + angle * angle / 6.0, 1.0 / 3.0
    else:
        f, bend = angle / sine, (sine - angle * cosine) / sine**3
    c_rate, d_rate = cross(turn, c), (dot(d, move) * d - move) / far
    bend *= dot(c_rate, d) + dot(c, d_rate)
    return bend * n - f * (cross(c_rate, d) + cross(c, d_rate))


@kernel
def refresh_rates(goals, targets, scale, world, state):
    """Write the weighted rates at which gaps close, by unit moves of goals' points and by turns."""
    for g in range(goals.shape[0]):
        kind, j = goals[g, GOAL.kind], int(goals[g, GOAL.owner])
        if kind == COMFORT:
            continue
        factor = goals[g, GOAL.weight] * (scale if kind == REACH else TURN_SHARE)
        if kind == REACH:
            for k in range(18):
                state[g, STATE.by_move + k] = factor if k % 4 == 0 and k < 9 else 0.0
            continue
        gap, side = vec3_at(state[g], STATE.gap), 1.0 if kind == ORIENT else -1.0
        axis = rotate(quat_at(world[j], 0), vec3_at(goals[g], GOAL.axis))
        direction = vec3_at(targets[g], 0) - vec3_at(state[g], STATE.point)
        for k in range(6):
            if kind == AIM:
                rate = factor * aim_change(axis, direction, k)
            else:
                rate = factor * apply_log_jacobian(gap, side, axis_vector(k - 3))
            at = STATE.by_move + k if k < 3 else STATE.by_turn + k - 3
            state[g, at], state[g, at + 3], state[g, at + 6] = rate.x, rate.y, rate.z


@kernel
def refresh_jacobian(movers, goals, moves, basis, world, state, jacobian):
    """Write the rate at which each residual of each goal closes with each variable."""
    for k in range(jacobian.shape[1]):
        for a in range(jacobian.shape[2]):
            jacobian[ALL, k, a] = 0.0
    for k in range(3 * movers.shape[0]):
        at, own = world[movers[k // 3, MOVER.joint]], vec3_at(basis[k // 3], 3 * (k % 3))
        axis = rotate(quat_at(at, 0), own)
        for g in range(goals.shape[0]):
            if not moves[g, k // 3]:
                continue
            row, rates = jacobian[ALL, k], state[g]
            move = cross(axis, vec3_at(rates, STATE.point) - vec3_at(at, POSITION))
            turn = own if goals[g, GOAL.kind] == STAY else axis
            for i in range(3):
                by_move = dot(vec3_at(rates, STATE.by_move + 3 * i), move)
                row[3 * g + i] = by_move + dot(vec3_at(rates, STATE.by_turn + 3 * i), turn)
    for k in range(3 * movers.shape[0], jacobian.shape[1]):
        for g in range(goals.shape[0]):
            if moves[g, k // 3]:
                for i in range(3):
                    jacobian[ALL, k, 3 * g + i] = state[g, STATE.by_move + 3 * i + k % 3]


@kernel
def turn_by(q, v):
    """Return a rotation followed by a rotation vector in its own frame."""
    return normalize(q * exp(v))


NUDGE = 1e-5  # radians to either side, for slopes of distances


@kernel
def legal_rotation(chain, m, q):
    """Return the nearest legal rotation of mover m, as its limit measures it, and True if it moved.

    Without a limit, or if it is legal, that is q itself.
    """
    at = chain.movers[m, MOVER.limit]
    if at < 0:
        return q, False
    legal, distance = nearest_legal(chain.packed, at, chain.tolerance, q)
    return legal, distance > chain.tolerance


@kernel
def find_discomfort(chain, q, work):
    """Write the gaps of `COMFORT`: how far joints are outside their inner limits."""
    goals = chain.goals
    for g in range(goals.shape[0]):
        if goals[g, GOAL.kind] != COMFORT:
            continue
        m, at = int(goals[g, INNER_MOVER]), int(goals[g, INNER_LIMIT])
        r = to_relative(chain.ways[m], q, q, quat_at(q[chain.movers[m, MOVER.joint]], 0))
        distance = distance_of(chain.packed, at, r)
        work.state[g, STATE.gap] = max(distance, 0.0)


@kernel
def refresh_discomfort(chain, q, work):
    """Write the weighted rates of the gaps of `COMFORT` for rotations of their joints in the world.

    A limit that is measured from an ancestor measures a product, which a turn of any of its factors
    in the world changes alike.
    """
    goals, state = chain.goals, work.state
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
            ahead = distance_of(chain.packed, at, r * about(axis, c, s))
            behind = distance_of(chain.packed, at, r * about(axis, c, -s))
            rate = factor * (ahead - behind) * rotate(quat_at(work.world[j], 0), axis)
            for i in range(3):
                state[g, STATE.by_turn + i] -= rate[i]
