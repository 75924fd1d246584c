"""Cyclic coordinate descent: one joint at a time, stopped where its move would leave the limit."""

from __future__ import annotations

import math

import numpy as np

from .ik_chain import (
    AIM,
    REACH,
    STAY,
    copy_rows,
    new_work,
    product,
    refresh_basis,
    rotate,
    with_twist_of,
)
from .ik_goals import (
    TURN_SHARE,
    best_turn,
    find_gaps,
    gain,
    gather_aim,
    gather_arm,
    gather_turn,
    place,
    turn_by,
    weigh,
)
from .ik_limits import exit_of_one, is_clear, place_at
from .jit import kernel

APART = 0.05  # radians between looks along a move: narrower gaps of a limit are not seen
WITHIN = APART / 64.0  # radians before a boundary where moves end
SWEEPS = 4  # over all joints with less than
PROGRESS = 0.995  # this share left are enough


@kernel
def gather(kinds, weights, axes, moves, targets, scale, m, j, up, wq, wp, points, turns, sums):
    """Write M of mover m, joint j, of all goals that it moves, with their own points and turns."""
    cx, cy, cz = wp[j, 0], wp[j, 1], wp[j, 2]
    for i in range(9):
        sums[i] = 0.0
    for g in range(kinds.shape[0]):
        if not moves[g, m]:
            continue
        kind, weight = kinds[g], TURN_SHARE * weights[g]
        tx, ty, tz = targets[g, 0], targets[g, 1], targets[g, 2]
        x, y, z = points[g, 0] - cx, points[g, 1] - cy, points[g, 2] - cz
        if kind == REACH:
            gather_arm(sums, scale * weights[g], x, y, z, tx - cx, ty - cy, tz - cz)
        elif kind == AIM:
            w, u, v, t = turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3]
            dx, dy, dz = rotate(w, u, v, t, axes[g, 0], axes[g, 1], axes[g, 2])
            gather_aim(sums, weight, x, y, z, dx, dy, dz, tx - cx, ty - cy, tz - cz)
        else:
            w, x, y, z = targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3]
            if kind == STAY and up >= 0:  # the target is as the parent sees it
                w, x, y, z = product(wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3], w, x, y, z)
            w, x, y, z = product(turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3], w, -x, -y, -z)
            gather_turn(sums, weight, w, x, y, z)


@kernel
def world_turn(up, wq, start, end):
    """Return the turn in the world that takes a joint, with the parent `up`, from start to end."""
    w, x, y, z = product(end[0], end[1], end[2], end[3], start[0], -start[1], -start[2], -start[3])
    if up >= 0:
        x, y, z = rotate(wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3], x, y, z)
    return w, x, y, z


@kernel
def gain_of(up, wq, sums, start, end):
    """Return what it would bring to turn a joint, with the parent `up`, from start to end."""
    w, x, y, z = world_turn(up, wq, start, end)
    return gain(sums, w, x, y, z)


@kernel
def turn_goals(kinds, moves, m, j, w, x, y, z, wp, points, turns):
    """Turn the points and rotations of goals with mover m, joint j, by a turn in the world."""
    cx, cy, cz = wp[j, 0], wp[j, 1], wp[j, 2]
    for g in range(kinds.shape[0]):
        if not moves[g, m]:
            continue
        if kinds[g] <= AIM:
            px, py, pz = points[g, 0] - cx, points[g, 1] - cy, points[g, 2] - cz
            px, py, pz = rotate(w, x, y, z, px, py, pz)
            points[g, 0], points[g, 1], points[g, 2] = cx + px, cy + py, cz + pz
        if kinds[g] != REACH:
            a, b, c, d = product(w, x, y, z, turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3])
            turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3] = a, b, c, d


@kernel
def slide_roots(chain, targets, p, points):
    """Move roots that may slide by the mean of what is left for points to go."""
    movers = chain.movers.shape[0]
    for s in range(chain.slides.shape[0]):
        j, total, x, y, z = chain.slides[s], 0.0, 0.0, 0.0, 0.0
        for g in range(chain.kinds.shape[0]):
            if chain.kinds[g] == REACH and chain.moves[g, movers + s]:
                square = chain.weights[g] ** 2
                total += square
                x += square * (targets[g, 0] - points[g, 0])
                y += square * (targets[g, 1] - points[g, 1])
                z += square * (targets[g, 2] - points[g, 2])
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


@kernel
def ccd_each(chain, targets, lengths, most, longest, enough, q, p, steps, left, met):
    """As `descend_each`, one joint at a time, the last first; steps are moves of one joint.

    Where the way of a joint leaves its limit it is stopped there. What was first seen outside is
    projected, and taken where that brings more: so a joint slides along its boundary, and is not
    stuck where it first met it. What turns with a joint is not needed again until the next sweep,
    but for the goals: the joints before it have not moved. This is one long loop because every
    kernel that asks a limit has all shapes compiled into it once more.
    """
    work = new_work(chain)
    parents, order, kinds, owners = chain.parents, chain.order, chain.kinds, chain.owners
    movers, freedoms, limits, swings = chain.movers, chain.freedoms, chain.limits, chain.swings
    weights, axes, moves, own_points = chain.weights, chain.axes, chain.moves, chain.points
    packed, tolerance, fixed = chain.packed, chain.tolerance, chain.basis
    basis, wq, wp, points, gaps = work.basis, work.world_q, work.world_p, work.places, work.gaps
    trial_q, trial_p, clear, r = work.trial_q, work.trial_p, work.clear, work.r
    block, other, lanes = work.block, work.other, work.lanes
    turns, sums = np.zeros((kinds.shape[0], 4)), np.zeros(9)
    start, end, slid, best = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)
    count_of, slides, wishes = movers.shape[0], chain.slides.shape[0] > 0, False
    for g in range(kinds.shape[0]):
        wishes = wishes or kinds[g] == STAY
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / lengths[i], 0, 0, targets[i]
        copy_rows(q[i], trial_q)
        copy_rows(p[i], trial_p)
        place(parents, order, trial_q, trial_p, wq, wp)
        find_gaps(kinds, owners, own_points, axes, target, trial_q, wq, wp, points, gaps)
        square, worst = weigh(kinds, weights, scale, gaps, r)
        while count < most and stalled < SWEEPS and (wishes or worst > enough):
            refresh_basis(movers, swings, fixed, trial_q, basis)
            for g in range(kinds.shape[0]):
                for k in range(4):
                    turns[g, k] = wq[owners[g], k]
            turning = min(count_of, most - count)
            count += max(turning, 1)
            for k in range(turning):
                m = count_of - 1 - k
                j, at = movers[m], limits[m]
                up = parents[j]
                gather(
                    *(kinds, weights, axes, moves, target, scale, m, j, up),
                    *(wq, wp, points, turns, sums),
                )
                vx, vy, vz, steep = best_turn(
                    basis, m, freedoms[m], longest, sums, wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3]
                )
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
                        angle = angle_to(start, end)
                        t = exit_of_one(
                            *(m, start, end, angle, packed, at, tolerance, APART, WITHIN),
                            *(clear, block, other, lanes, slid),
                        )
                        if t < 1.0:
                            place_at(start, end, angle, t, block, end)
                            gains = gain_of(up, wq, sums, start, end)
                            if gain_of(up, wq, sums, start, slid) > gains:
                                copy(slid, end)
                    if steep == 0.0:
                        gains = gain_of(up, wq, sums, start, end)
                        if gains <= gained:
                            continue
                        gained = gains
                    copy(end, best)
                w, x, y, z = world_turn(up, wq, start, best)
                turn_goals(kinds, moves, m, j, w, x, y, z, wp, points, turns)
                for c in range(4):
                    trial_q[j, c] = best[c]
            if slides:
                slide_roots(chain, target, trial_p, points)
            place(parents, order, trial_q, trial_p, wq, wp)
            find_gaps(kinds, owners, own_points, axes, target, trial_q, wq, wp, points, gaps)
            rest, worst_now = weigh(kinds, weights, scale, gaps, r)
            stalled = stalled + 1 if rest > PROGRESS * square else 0
            if rest < square:
                square, worst = rest, worst_now
                copy_rows(trial_q, q[i])
                copy_rows(trial_p, p[i])
        steps[i] += count
        left[i], met[i] = square, worst <= enough
