"""Cyclic coordinate descent: one joint at a time, stopped where its move would leave the limit."""

from __future__ import annotations

import math

import numpy as np

from .exits import exit_of_one, place
from .ik_arms import best_turn, gain, gather_aim, gather_arm, gather_turn, turned_on
from .ik_chain import AIM, REACH, STAY, new_work
from .ik_goals import TURN_SHARE, left_over, point_of
from .ik_legal import pull_in
from .ik_swing import refresh_basis, with_twist_of
from .ik_turns import product, turned
from .jit import kernel
from .rotation import W0, X0, Y0, Z0

APART = 0.05  # radians between looks along a move: narrower gaps of a limit are not seen
LAST = 6  # halvings of the last of them
SWEEPS = 4  # over all joints with less than
PROGRESS = 0.995  # this share left are enough


@kernel
def gather(chain, targets, scale, m, work, points, turns, sums):
    """Write M of mover m, of all goals that it moves; `points` and `turns` are the goals' own."""
    j, wq, wp = chain.movers[m], work.world_q, work.world_p
    cx, cy, cz = wp[j, 0], wp[j, 1], wp[j, 2]
    sums[:] = 0.0
    for g in range(chain.kinds.shape[0]):
        if not chain.moves[g, m]:
            continue
        kind, weight = chain.kinds[g], TURN_SHARE * chain.weights[g]
        tx, ty, tz = targets[g, 0], targets[g, 1], targets[g, 2]
        x, y, z = points[g, 0] - cx, points[g, 1] - cy, points[g, 2] - cz
        if kind == REACH:
            weight = scale * chain.weights[g]
            gather_arm(sums, weight, x, y, z, tx - cx, ty - cy, tz - cz)
        elif kind == AIM:
            w, u, v, t = turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3]
            dx, dy, dz = turned(w, u, v, t, chain.axes[g, 0], chain.axes[g, 1], chain.axes[g, 2])
            gather_aim(sums, weight, x, y, z, dx, dy, dz, tx - cx, ty - cy, tz - cz)
        else:
            w, x, y, z = targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3]
            up = chain.parents[j]
            if kind == STAY and up >= 0:  # the target is as the parent sees it
                w, x, y, z = product(wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3], w, x, y, z)
            w, x, y, z = product(turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3], w, -x, -y, -z)
            gather_turn(sums, weight, w, x, y, z)


@kernel
def in_world(chain, j, q, work, r):
    """Return the turn in the world that takes joint j from its rotation in q to r."""
    up, wq = chain.parents[j], work.world_q
    w, x, y, z = product(r[0], r[1], r[2], r[3], q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3])
    if up >= 0:
        x, y, z = turned(wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3], x, y, z)
    return w, x, y, z


@kernel
def gain_of(chain, m, q, work, sums, r):
    """Return what a rotation r of mover m would bring."""
    w, x, y, z = in_world(chain, chain.movers[m], q, work, r)
    return gain(sums, w, x, y, z)


@kernel
def turn_goals(chain, m, q, end, work, points, turns):
    """Turn the points and rotations of goals with mover m, and its own rotation."""
    j, wp = chain.movers[m], work.world_p
    w, x, y, z = in_world(chain, j, q, work, end)
    for g in range(chain.kinds.shape[0]):
        if not chain.moves[g, m]:
            continue
        if chain.kinds[g] <= AIM:
            px, py, pz = points[g, 0] - wp[j, 0], points[g, 1] - wp[j, 1], points[g, 2] - wp[j, 2]
            px, py, pz = turned(w, x, y, z, px, py, pz)
            points[g, 0], points[g, 1], points[g, 2] = wp[j, 0] + px, wp[j, 1] + py, wp[j, 2] + pz
        if chain.kinds[g] != REACH:
            a, b, c, d = product(w, x, y, z, turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3])
            turns[g, 0], turns[g, 1], turns[g, 2], turns[g, 3] = a, b, c, d
    for i in range(4):
        q[j, i] = end[i]


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
def begin_sweep(chain, q, work, points, turns):
    """Write the axes of movers, and where the points and rotations of goals are."""
    refresh_basis(chain.movers, chain.swings, chain.basis, q, work.basis)
    for g in range(chain.kinds.shape[0]):
        j = chain.owners[g]
        points[g, 0], points[g, 1], points[g, 2] = point_of(chain, g, work)
        for i in range(4):
            turns[g, i] = work.world_q[j, i]


@kernel
def way_to(swing, start, end):
    """Return the angle from start to `end`; a joint without twist is first made to end without."""
    if swing[0] != 0.0:
        with_twist_of(swing, start, end)
    cosine = abs(start[0] * end[0] + start[1] * end[1] + start[2] * end[2] + start[3] * end[3])
    return 2.0 * math.acos(min(cosine, 1.0))


@kernel
def place_at(start, end, angle, t, block, out):
    """Write the rotation a share `t` of the way."""
    place(start, end, angle, t, 0, block, 0)
    out[0], out[1], out[2], out[3] = block[W0], block[X0], block[Y0], block[Z0]


@kernel
def ccd_each(chain, targets, lengths, most, longest, enough, q, p, steps, left, met):
    """As `descend_each`, one joint at a time, the last first; steps are moves of one joint.

    Where the way of a joint leaves its limit it is stopped there. The next stretch of it is then
    projected, and taken where that brings more: so a joint slides along its boundary, and is not
    stuck where it first met it. What turns with a joint is not needed again until the next sweep,
    but for the goals: the joints before it have not moved. This is one long loop because every
    kernel that asks a limit has all shapes compiled into it once more.
    """
    work, goals, movers = new_work(chain), chain.kinds.shape[0], chain.movers.shape[0]
    points, turns, sums = np.zeros((goals, 3)), np.zeros((goals, 4)), np.zeros(9)
    end, slid, best, angle = np.zeros(4), np.zeros(4), np.zeros(4), 0.0
    packed, tolerance, edge = chain.packed, chain.tolerance, 0.5 * chain.tolerance
    block, other, lanes = work.block, work.other, work.lanes
    wishes = False
    for g in range(goals):
        wishes = wishes or chain.kinds[g] == STAY
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / lengths[i], 0, 0, targets[i]
        square, worst = left_over(chain, target, scale, q[i], p[i], work, work.r)
        trial_q, trial_p = work.trial_q, work.trial_p
        trial_q[:] = q[i]
        trial_p[:] = p[i]
        while count < most and stalled < SWEEPS and (wishes or worst > enough):
            begin_sweep(chain, trial_q, work, points, turns)
            turning = min(movers, most - count)
            count += max(turning, 1)
            for k in range(turning):
                m = movers - 1 - k
                j, at = chain.movers[m], chain.limits[m]
                start, now = trial_q[j], work.world_q[j]
                gather(chain, target, scale, m, work, points, turns, sums)
                vx, vy, vz, steep = best_turn(
                    work.basis[m], chain.freedoms[m], longest, sums, now[0], now[1], now[2], now[3]
                )
                if vx == 0.0 and vy == 0.0 and vz == 0.0:
                    continue
                gained = -np.inf
                # Straight back, a limit may bar the one way round and not the other.
                for side in range(2 if steep == 0.0 and at >= 0 else 1):
                    sign, t = 1.0 - 2.0 * side, 1.0
                    turned_on(start, sign * vx, sign * vy, sign * vz, end)
                    if at >= 0:
                        angle = way_to(chain.swings[m], start, end)
                        t = exit_of_one(
                            start, end, angle, packed, at, edge, APART, LAST, block, other, lanes
                        )
                    if t < 1.0:
                        on = min(t + APART / max(angle, 1e-300), 1.0)
                        place_at(start, end, angle, on, block, slid)
                        pull_in(packed, at, tolerance, slid, block, other, lanes)
                        place_at(start, end, angle, t, block, end)
                        gains = gain_of(chain, m, trial_q, work, sums, end)
                        if gain_of(chain, m, trial_q, work, sums, slid) > gains:
                            end[:] = slid
                    gains = gain_of(chain, m, trial_q, work, sums, end)
                    if gains > gained:
                        gained = gains
                        best[:] = end
                turn_goals(chain, m, trial_q, best, work, points, turns)
            slide_roots(chain, target, trial_p, points)
            rest, worst_now = left_over(chain, target, scale, trial_q, trial_p, work, work.r)
            stalled = stalled + 1 if rest > PROGRESS * square else 0
            if rest < square:
                square, worst = rest, worst_now
                q[i] = trial_q
                p[i] = trial_p
        steps[i] += count
        left[i], met[i] = square, worst <= enough
