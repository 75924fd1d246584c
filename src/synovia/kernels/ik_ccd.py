"""Cyclic coordinate descent: one joint at a time, stopped where its move would leave the limit."""

from __future__ import annotations

import math

import numpy as np

from .exits import exit_of_one, place
from .ik_arms import best_turn, gain, gather_aim, gather_arm, gather_turn, turned_on
from .ik_chain import AIM, REACH, STAY, new_work
from .ik_goals import TURN_SHARE, left_over, point_of
from .ik_legal import pulled_in
from .ik_swing import refresh_basis, with_twist_of
from .ik_turns import product, turned
from .jit import kernel
from .rotation import W0, X0, Y0, Z0

APART = 0.05  # radians between looks along a move: narrower gaps of a limit are not seen
HALVINGS = 6  # of the last of them
SWEEPS = 4  # over all joints with less than
PROGRESS = 0.995  # this share left are enough


@kernel
def gather(chain, targets, scale, m, q, work, points, turns, sums):
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
def legal_turn(chain, m, q, end, work, sums):
    """Move `end`, to which mover m should turn, back to where its limit lets it.

    Where the way leaves the limit it is stopped there. The next stretch of it is then projected,
    and taken where that brings more: so a joint slides along its boundary, and is not stuck where
    it first met it.
    """
    j, at, block, swing = chain.movers[m], chain.limits[m], work.block, chain.swings[m]
    start = q[j]
    if swing[0] != 0.0:
        with_twist_of(swing, start, end)
    cosine = abs(start[0] * end[0] + start[1] * end[1] + start[2] * end[2] + start[3] * end[3])
    angle = 2.0 * math.acos(min(cosine, 1.0))
    p, edge = chain.packed, 0.5 * chain.tolerance
    t = exit_of_one(start, end, angle, p, at, edge, APART, HALVINGS, block, work.other, work.lanes)
    if t >= 1.0:
        return
    place(start, end, angle, min(t + APART / angle, 1.0), 0, block, 0)
    w, x, y, z = block[W0], block[X0], block[Y0], block[Z0]
    place(start, end, angle, t, 0, block, 0)
    end[0], end[1], end[2], end[3] = block[W0], block[X0], block[Y0], block[Z0]
    stopped = gain_of(chain, m, q, work, sums, end[0], end[1], end[2], end[3])
    w, x, y, z = pulled_in(p, at, chain.tolerance, w, x, y, z, block, work.other, work.lanes)
    if gain_of(chain, m, q, work, sums, w, x, y, z) > stopped:
        end[0], end[1], end[2], end[3] = w, x, y, z


@kernel
def in_world(chain, j, q, work, w, x, y, z):
    """Return the turn in the world that takes joint j from its rotation q to another."""
    up, wq = chain.parents[j], work.world_q
    w, x, y, z = product(w, x, y, z, q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3])
    if up >= 0:
        x, y, z = turned(wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3], x, y, z)
    return w, x, y, z


@kernel
def gain_of(chain, m, q, work, sums, w, x, y, z):
    """Return what a rotation of mover m would bring."""
    w, x, y, z = in_world(chain, chain.movers[m], q, work, w, x, y, z)
    return gain(sums, w, x, y, z)


@kernel
def turn_goals(chain, m, q, end, work, points, turns):
    """Turn the points and rotations of goals with mover m, and its own rotation."""
    j, wp = chain.movers[m], work.world_p
    w, x, y, z = in_world(chain, j, q, work, end[0], end[1], end[2], end[3])
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
def sweep(chain, targets, scale, longest, most, q, p, work, points, turns, end, sums):
    """Turn the movers once, the last first, at most so many; return how many.

    What turns with a joint is not needed again until the next sweep, but for the goals: those
    before it have not moved.
    """
    refresh_basis(chain, q, work)
    wq = work.world_q
    for g in range(chain.kinds.shape[0]):
        j = chain.owners[g]
        points[g, 0], points[g, 1], points[g, 2] = point_of(chain, g, work)
        for i in range(4):
            turns[g, i] = wq[j, i]
    movers = chain.movers.shape[0]
    count = min(movers, most)
    for k in range(count):
        m = movers - 1 - k
        gather(chain, targets, scale, m, q, work, points, turns, sums)
        j, n = chain.movers[m], chain.freedoms[m]
        w, x, y, z = wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3]
        vx, vy, vz, steep = best_turn(work.basis[m], n, longest, sums, w, x, y, z)
        if vx == 0.0 and vy == 0.0 and vz == 0.0:
            continue
        turned_on(q[j], vx, vy, vz, end)
        if chain.limits[m] >= 0:
            legal_turn(chain, m, q, end, work, sums)
            w, x, y, z = end[0], end[1], end[2], end[3]
            if steep == 0.0:  # a limit may bar the one way round, and not the other
                turned_on(q[j], -vx, -vy, -vz, end)
                legal_turn(chain, m, q, end, work, sums)
                other = gain_of(chain, m, q, work, sums, end[0], end[1], end[2], end[3])
                if gain_of(chain, m, q, work, sums, w, x, y, z) >= other:
                    end[0], end[1], end[2], end[3] = w, x, y, z
        turn_goals(chain, m, q, end, work, points, turns)
    slide_roots(chain, targets, p, points)
    return max(count, 1)


@kernel
def ccd_each(chain, targets, lengths, most, longest, enough, q, p, steps, left, met):
    """As `descend_each`, one joint at a time, the last first; steps are moves of one joint."""
    work = new_work(chain)
    goals = chain.kinds.shape[0]
    points, turns = np.zeros((goals, 3)), np.zeros((goals, 4))
    end, sums = np.zeros(4), np.zeros(9)
    wishes = False
    for g in range(goals):
        wishes = wishes or chain.kinds[g] == STAY
    for i in range(q.shape[0]):
        scale, stalled, count = 1.0 / lengths[i], 0, 0
        square, worst = left_over(chain, targets[i], scale, q[i], p[i], work, work.r)
        work.trial_q[:] = q[i]
        work.trial_p[:] = p[i]
        trial_q, trial_p = work.trial_q, work.trial_p
        while count < most and stalled < SWEEPS and (wishes or worst > enough):
            more = most - count
            count += sweep(
                chain,
                targets[i],
                scale,
                longest,
                more,
                trial_q,
                trial_p,
                work,
                points,
                turns,
                end,
                sums,
            )
            now, worst_now = left_over(chain, targets[i], scale, trial_q, trial_p, work, work.r)
            stalled = stalled + 1 if now > PROGRESS * square else 0
            if now < square:
                square, worst = now, worst_now
                q[i] = trial_q
                p[i] = trial_p
        steps[i], left[i], met[i] = count, square, worst <= enough
