"""Cyclic coordinate descent: one joint at a time, stopped where its move would leave the limit."""

from __future__ import annotations

import math

import numpy as np

from .ik_chain import (
    AIM,
    ALL,
    AXIS,
    FREEDOMS,
    GOAL_TOLERANCE,
    ITERATIONS,
    JOINT,
    KIND,
    LARGEST_STEP,
    LENGTH,
    LIMIT,
    MET,
    OWNER,
    PARENT,
    PLACE,
    REACH,
    ROTATION,
    SQUARE,
    STAY,
    STEPS,
    WEIGHT,
    copy_rows,
    length,
    new_work,
    product,
    refresh_basis,
    rotate,
    with_twist_of,
)
from .ik_goals import (
    CENTER,
    LARGEST,
    SCALE,
    SUMS,
    TURN_SHARE,
    TURNED,
    aim_reach,
    best_turn,
    find_gaps,
    gain,
    gather_arm,
    gather_turn,
    place,
    turn_by,
    weigh,
)
from .ik_limits import (
    ANGLE,
    END,
    FINEST,
    OUTSIDE,
    START,
    TOLERANCE,
    TURN_SIZE,
    WITHIN,
    exit_of_one,
    is_clear,
    place_at,
)
from .jit import kernel

APART = 0.05  # radians between looks along a move: narrower gaps of a limit are not seen
NEARNESS = APART / 64.0  # radians before a boundary where moves end
SWEEPS = 4  # over all joints with less than
PROGRESS = 0.995  # this share left are enough


@kernel
def gather(movers, m, goals, moves, targets, world, state, sums):
    """Write M of mover m of all goals that it moves, with their own points and rotations."""
    j, up = movers[m, JOINT], movers[m, PARENT]
    cx, cy, cz = world[j, 4], world[j, 5], world[j, 6]
    for i in range(9):
        sums[i] = 0.0
    for i in range(4):
        sums[TURNED + i] = world[j, i]
    sums[CENTER], sums[CENTER + 1], sums[CENTER + 2] = cx, cy, cz
    for g in range(goals.shape[0]):
        if not moves[g, m]:
            continue
        kind, weight = goals[g, KIND], TURN_SHARE * goals[g, WEIGHT]
        tx, ty, tz = targets[g, 0], targets[g, 1], targets[g, 2]
        x, y = state[g, PLACE] - cx, state[g, PLACE + 1] - cy
        z = state[g, PLACE + 2] - cz
        w, u, v, t = (
            state[g, ROTATION],
            state[g, ROTATION + 1],
            state[g, ROTATION + 2],
            state[g, ROTATION + 3],
        )
        if kind == REACH:
            weight = sums[SCALE] * goals[g, WEIGHT]
            gather_arm(sums, weight, x, y, z, tx - cx, ty - cy, tz - cz)
        elif kind == AIM:
            dx, dy, dz = goals[g, AXIS], goals[g, AXIS + 1], goals[g, AXIS + 2]
            dx, dy, dz = rotate(w, u, v, t, dx, dy, dz)
            bx, by, bz = tx - cx, ty - cy, tz - cz
            far = length(bx - x, by - y, bz - z)
            if far < 1e-12:  # at the very point every direction is right
                continue
            along = x * dx + y * dy + z * dz
            square = along * along - (x * x + y * y + z * z) + bx * bx + by * by + bz * bz
            reach = aim_reach(along, square, far)
            x, y, z = x + reach * dx, y + reach * dy, z + reach * dz
            gather_arm(sums, weight / max(reach, far), x, y, z, bx, by, bz)
        else:
            a, x, y, z = targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3]
            if kind == STAY and up >= 0:  # the target is as the parent sees it
                a, x, y, z = product(
                    world[up, 0], world[up, 1], world[up, 2], world[up, 3], a, x, y, z
                )
            w, x, y, z = product(w, u, v, t, a, -x, -y, -z)
            gather_turn(sums, weight, w, x, y, z)


@kernel
def world_turn(up, world, start, end):
    """Return the turn in the world that takes a joint, with the parent `up`, from start to end."""
    w, x, y, z = product(end[0], end[1], end[2], end[3], start[0], -start[1], -start[2], -start[3])
    if up >= 0:
        x, y, z = rotate(world[up, 0], world[up, 1], world[up, 2], world[up, 3], x, y, z)
    return w, x, y, z


@kernel
def gain_of(up, world, sums, start, end):
    """Return what it would bring to turn a joint, with the parent `up`, from start to end."""
    w, x, y, z = world_turn(up, world, start, end)
    return gain(sums, w, x, y, z)


@kernel
def turn_goals(goals, moves, m, center, turn, state):
    """Turn the points and rotations of goals with mover m, at `center`, by a turn in the world."""
    cx, cy, cz = center[0], center[1], center[2]
    w, x, y, z = turn[0], turn[1], turn[2], turn[3]
    for g in range(goals.shape[0]):
        if not moves[g, m]:
            continue
        if goals[g, KIND] <= AIM:
            px, py = state[g, PLACE] - cx, state[g, PLACE + 1] - cy
            pz = state[g, PLACE + 2] - cz
            px, py, pz = rotate(w, x, y, z, px, py, pz)
            state[g, PLACE], state[g, PLACE + 1] = cx + px, cy + py
            state[g, PLACE + 2] = cz + pz
        if goals[g, KIND] != REACH:
            r = state[g, ROTATION:]
            a, b, c, d = product(w, x, y, z, r[0], r[1], r[2], r[3])
            r[0], r[1], r[2], r[3] = a, b, c, d


@kernel
def slide_roots(chain, targets, p, state):
    """Move roots that may slide by the mean of what is left for points to go."""
    goals, movers = chain.goals, chain.movers.shape[0]
    for s in range(chain.slides.shape[0]):
        j, total, x, y, z = chain.slides[s], 0.0, 0.0, 0.0, 0.0
        for g in range(goals.shape[0]):
            if goals[g, KIND] == REACH and chain.moves[g, movers + s]:
                square = goals[g, WEIGHT] ** 2
                total += square
                x += square * (targets[g, 0] - state[g, PLACE])
                y += square * (targets[g, 1] - state[g, PLACE + 1])
                z += square * (targets[g, 2] - state[g, PLACE + 2])
        if total > 0.0:
            p[j, 0], p[j, 1], p[j, 2] = (
                p[j, 0] + x / total,
                p[j, 1] + y / total,
                p[j, 2] + z / total,
            )


@kernel
def angle_to(start, end):
    """Return the angle from start to end."""
    cosine = abs(start[0] * end[0] + start[1] * end[1] + start[2] * end[2] + start[3] * end[3])
    return max(2.0 * math.acos(min(cosine, 1.0)), 1e-12)


@kernel
def both_clear(m, start, end, clear):
    """Tell whether start and end, and so the way between them, are known to be legal.

    What is known is a ball, less than a right angle about its middle: those are convex.
    """
    return is_clear(m, start[0], start[1], start[2], start[3], clear) and is_clear(
        m, end[0], end[1], end[2], end[3], clear
    )


@kernel
def copy(given, out):
    """Write the four numbers of a rotation into another."""
    for i in range(4):
        out[i] = given[i]


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def ccd_each(chain, settings, targets, q, p, numbers, counts, flags):
    """As `descend_each`, one joint at a time, the last first; steps are moves of one joint.

    Where the way of a joint leaves its limit it is stopped there. What was first seen outside is
    projected, and taken where that brings more: so a joint slides along its boundary, and is not
    stuck where it first met it. What turns with a joint is not needed again until the next sweep,
    but for the goals: the joints before it have not moved.
    """
    work = new_work(chain)
    parents, order, movers, goals = chain.parents, chain.order, chain.movers, chain.goals
    moves, swings, packed, fixed = chain.moves, chain.swings, chain.packed, chain.basis
    basis, world, state, residuals = work.basis, work.world, work.state, work.residuals[ALL]
    trial_q, trial_p, clear = work.trial_q, work.trial_p, work.clear
    block, other, lanes = work.block, work.other, work.lanes
    turn, sums, best, whole = np.zeros(TURN_SIZE), np.zeros(SUMS), np.zeros(4), np.zeros(4)
    start, end, outside = turn[START:END], turn[END:OUTSIDE], turn[OUTSIDE:ANGLE]
    turn[TOLERANCE], turn[FINEST], turn[WITHIN] = chain.tolerance, APART, NEARNESS
    most, enough = int(settings[ITERATIONS]), settings[GOAL_TOLERANCE]
    sums[LARGEST] = settings[LARGEST_STEP]
    slides, wishes = chain.slides.shape[0] > 0, False
    for g in range(goals.shape[0]):
        wishes = wishes or goals[g, KIND] == STAY
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / numbers[i, LENGTH], 0, 0, targets[i]
        sums[SCALE] = scale
        copy_rows(q[i], trial_q)
        copy_rows(p[i], trial_p)
        place(parents, order, trial_q, trial_p, world)
        find_gaps(goals, target, trial_q, world, state)
        square, worst = weigh(goals, scale, state, residuals)
        while count < most and stalled < SWEEPS and (wishes or worst > enough):
            refresh_basis(movers, chain.ways, swings, fixed, trial_q, basis)
            for g in range(goals.shape[0]):
                for k in range(4):
                    state[g, ROTATION + k] = world[int(goals[g, OWNER]), k]
            turning = min(movers.shape[0], most - count)
            count += max(turning, 1)
            for k in range(turning):
                m = movers.shape[0] - 1 - k
                j, up, at = movers[m, JOINT], movers[m, PARENT], movers[m, LIMIT]
                gather(movers, m, goals, moves, target, world, state, sums)
                vx, vy, vz, steep = best_turn(basis, m, movers[m, FREEDOMS], sums)
                if vx == 0.0 and vy == 0.0 and vz == 0.0:
                    continue
                for c in range(4):
                    start[c] = trial_q[j, c]
                gained = -np.inf
                # Straight back, a limit may bar the one way round and not the other.
                for side in range(2 if steep == 0.0 and at >= 0 else 1):
                    sign, t = 1.0 - 2.0 * side, 1.0
                    turn_by(start, sign * vx, sign * vy, sign * vz, end)
                    if at >= 0 and swings[m, 0] != 0.0:
                        with_twist_of(swings, m, start, end)
                    if at >= 0 and not both_clear(m, start, end, clear):
                        turn[ANGLE] = angle_to(start, end)
                        t = exit_of_one(m, turn, packed, at, clear, block, other, lanes)
                        if t < 1.0:
                            place_at(turn, t, block)
                            gains = gain_of(up, world, sums, start, end)
                            if gain_of(up, world, sums, start, outside) > gains:
                                copy(outside, end)
                    if steep == 0.0:
                        gains = gain_of(up, world, sums, start, end)
                        if gains <= gained:
                            continue
                        gained = gains
                    copy(end, best)
                whole[0], whole[1], whole[2], whole[3] = world_turn(up, world, start, best)
                turn_goals(goals, moves, m, sums[CENTER:], whole, state)
                for c in range(4):
                    trial_q[j, c] = best[c]
            if slides:
                slide_roots(chain, target, trial_p, state)
            place(parents, order, trial_q, trial_p, world)
            find_gaps(goals, target, trial_q, world, state)
            rest, worst_now = weigh(goals, scale, state, residuals)
            stalled = stalled + 1 if rest > PROGRESS * square else 0
            if rest < square:
                square, worst = rest, worst_now
                copy_rows(trial_q, q[i])
                copy_rows(trial_p, p[i])
        counts[i, STEPS] += count
        numbers[i, SQUARE], flags[i, MET] = square, worst <= enough
