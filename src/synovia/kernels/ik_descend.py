"""Damped least squares within limits, problem after problem."""

from __future__ import annotations

import numpy as np

from .ik_chain import REACH, STAY, copy_rows, new_work
from .ik_goals import (
    find_gaps,
    place,
    refresh_rates,
    refresh_slopes,
    weigh,
)
from .ik_project import project_one
from .ik_steps import PROBE, keep, multiply_out, probe, propose, turn_between
from .ik_swing import refresh_basis
from .ik_turns import length
from .jit import kernel
from .rotation import LANES, QW, QX, QY, QZ, W0

DAMPING = 0.3  # at first, times what is left
STALLED = 4  # rounds with less than
PROGRESS = 0.995  # this share left are enough
TRIES = 8  # with more damping, before a step is given up
FLAT = 0.02  # of what is left: a joint that could do less is not hindered
TAKEN = 0.1  # of a small turn: a limit that takes away less does not hinder
ZERO = np.int64(0)


@kernel
def descend_each(
    chain,
    targets,
    lengths,
    lifted,
    most,
    longest,
    enough,
    q,
    p,
    steps,
    left,
    met,
    errors,
    hindered,
):
    """Bring poses q (n, joints, 4), p (n, joints, 3) nearer to their goals, until met or stalled.

    `lengths` are the chains'; the limit of mover `lifted[i]` is left out of account, if there is
    one. Adds the steps taken, writes the square of what is left, and whether all goals are met.
    Where no steps are asked for, also how far goals are from being met (n, goals), lengths or
    angles, and which movers (n, movers) their limits hinder, of the unmet.
    """
    work = new_work(chain)
    parents, order, kinds, owners = chain.parents, chain.order, chain.kinds, chain.owners
    movers, freedoms, slides, moves = chain.movers, chain.freedoms, chain.slides, chain.moves
    weights, points, axes, limits = chain.weights, chain.points, chain.axes, chain.limits
    packed = chain.packed
    basis, wq, wp, places, gaps = work.basis, work.world_q, work.world_p, work.places, work.gaps
    rates, r, y, slopes, gram = work.rates, work.r, work.y, work.slopes, work.gram
    trial_q, trial_p, block = work.trial_q, work.trial_p, work.block
    joints = movers.shape[0]
    wishes = False
    for g in range(kinds.shape[0]):
        wishes = wishes or kinds[g] == STAY
    for i in range(q.shape[0]):
        target, q_i, p_i = targets[i], q[i], p[i]
        copy_rows(q_i, trial_q)
        copy_rows(p_i, trial_p)
        scale, damping, stalled, count = 1.0 / lengths[i], DAMPING, 0, 0
        place(parents, order, q_i, p_i, wq, wp)
        find_gaps(kinds, owners, points, axes, target, q_i, wq, wp, places, gaps)
        square, worst = weigh(kinds, weights, scale, gaps, r)
        while count < most and stalled < STALLED and (wishes or worst > enough):
            count += 1
            refresh_basis(movers, chain.swings, chain.basis, q_i, basis)
            refresh_rates(kinds, owners, weights, axes, target, scale, wq, places, gaps, rates)
            refresh_slopes(
                movers, freedoms, slides, moves, kinds, basis, wq, wp, places, rates, slopes
            )
            multiply_out(slopes, gram)
            taken, last = False, square
            for _ in range(TRIES):
                propose(
                    *(movers, freedoms, limits, slides, packed, chain.tolerance, lifted[i]),
                    *(damping * square + 1e-10, longest, q_i, p_i, basis, r, work.free_r, y),
                    *(slopes, gram, work.steps, work.normals, work.counts, work.clear),
                    *(trial_q, trial_p, block, work.other, work.lanes),
                )
                place(parents, order, trial_q, trial_p, wq, wp)
                find_gaps(kinds, owners, points, axes, target, trial_q, wq, wp, places, gaps)
                now, worst_now = weigh(kinds, weights, scale, gaps, y)
                if now < square:
                    keep(movers, slides, trial_q, trial_p, q_i, p_i)
                    for a in range(r.shape[0]):
                        r[a] = y[a]
                    square, worst, taken = now, worst_now, True
                    break
                damping = 6.0 * damping + 1e-4
            if not taken:
                break
            if square < 0.5 * last:
                damping = max(0.3 * damping, 1e-4)
            stalled = stalled + 1 if square > PROGRESS * last else 0
        steps[i] += count
        left[i], met[i] = square, worst <= enough
        if most > 0:
            continue
        for g in range(kinds.shape[0]):
            errors[i, g] = length(gaps[g, 0], gaps[g, 1], gaps[g, 2])
        if worst <= enough:
            continue
        refresh_basis(movers, chain.swings, chain.basis, q_i, basis)
        refresh_rates(kinds, owners, weights, axes, target, scale, wq, places, gaps, rates)
        refresh_slopes(movers, freedoms, slides, moves, kinds, basis, wq, wp, places, rates, slopes)
        first = ZERO
        for m in range(joints):
            j, at, flat = movers[m], limits[m], FLAT * FLAT * square
            hindered[i, m] = False
            if at >= 0 and probe(
                *(m, j, freedoms[m], first, flat, r, slopes, basis, q_i, work.steps, trial_q)
            ):
                for k in range(4):
                    block[W0 + LANES * k] = trial_q[j, k]
                if project_one(packed, at, chain.tolerance, block, work.other, work.lanes):
                    w, vx, vy, vz = block[QW], block[QX], block[QY], block[QZ]
                    vx, vy, vz = turn_between(trial_q, j, w, vx, vy, vz)
                    hindered[i, m] = length(vx, vy, vz) > TAKEN * PROBE
            first += freedoms[m]


@kernel
def rank_each(chain, targets, lengths, library, q, p, scores, ranks):
    """Write the stored poses (n, wanted) that are nearest to the goals, best first.

    `library` (stored, movers, 4) has the rotations of movers, q and p those of all others.
    """
    work = new_work(chain)
    parents, order, kinds, owners = chain.parents, chain.order, chain.kinds, chain.owners
    weights, points, axes, movers = chain.weights, chain.points, chain.axes, chain.movers
    wq, wp, places, gaps, r = work.world_q, work.world_p, work.places, work.gaps, work.r
    pose, wanted = work.trial_q, ranks.shape[1]
    for i in range(q.shape[0]):
        target, p_i, scale = targets[i], p[i], 1.0 / lengths[i]
        copy_rows(q[i], pose)
        count = 0
        for number in range(library.shape[0]):
            for m in range(movers.shape[0]):
                for k in range(4):
                    pose[movers[m], k] = library[number, m, k]
            place(parents, order, pose, p_i, wq, wp)
            find_gaps(kinds, owners, points, axes, target, pose, wq, wp, places, gaps)
            square, _ = weigh(kinds, weights, scale, gaps, r)
            at = count
            while at > 0 and square < scores[i, at - 1]:
                if at < wanted:
                    scores[i, at], ranks[i, at] = scores[i, at - 1], ranks[i, at - 1]
                at -= 1
            if at < wanted:
                scores[i, at], ranks[i, at] = square, number
                count = min(count + 1, wanted)


@kernel
def chain_lengths(chain, targets, q, p, lengths, beyond):
    """Write how long chains are along their bones (n,), and which targets are farther (n, goals).

    A chain goes from the first joint that may turn to the point that is to reach; the longest of a
    problem counts, or 1 where nothing has a length. A root that slides goes anywhere.
    """
    work = new_work(chain)
    movers = chain.movers.shape[0]
    for i in range(q.shape[0]):
        place(chain.parents, chain.order, q[i], p[i], work.world_q, work.world_p)
        lengths[i] = 0.0
        for g in range(chain.kinds.shape[0]):
            beyond[i, g] = False
            top, slides = -1, False
            for m in range(chain.moves.shape[1] - 1, -1, -1):
                if chain.moves[g, m]:
                    slides = slides or m >= movers
                    top = chain.movers[m] if m < movers else top
            if top < 0 or chain.kinds[g] == STAY:
                continue
            total = length(chain.points[g, 0], chain.points[g, 1], chain.points[g, 2])
            j = chain.owners[g]
            while j != top:
                total += length(p[i, j, 0], p[i, j, 1], p[i, j, 2])
                j = chain.parents[j]
            lengths[i] = max(lengths[i], total)
            if chain.kinds[g] == REACH and not slides:
                x, y, z = (
                    targets[i, g, 0] - work.world_p[top, 0],
                    targets[i, g, 1] - work.world_p[top, 1],
                    targets[i, g, 2] - work.world_p[top, 2],
                )
                beyond[i, g] = length(x, y, z) > total * (1.0 + 1e-9)
        if lengths[i] == 0.0:
            lengths[i] = 1.0
