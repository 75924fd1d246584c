"""Damped least squares within limits, problem after problem."""

from __future__ import annotations

import numpy as np

from .ik_chain import REACH, STAY, new_work
from .ik_goals import differentiate, gap, left_over, place
from .ik_steps import keep, propose
from .ik_turns import length
from .jit import kernel

DAMPING = 0.3  # at first, times what is left
STALLED = 4  # rounds with less than
PROGRESS = 0.995  # this share left are enough
TRIES = 8  # with more damping, before a step is given up


@kernel
def descend_each(chain, targets, lengths, most, longest, enough, q, p, steps, left, met):
    """Bring poses q (n, joints, 4), p (n, joints, 3) nearer to their goals, until met or stalled.

    `lengths` are the chains'. Writes the steps taken, the square of what is left, and whether all
    goals are met.
    """
    work = new_work(chain)
    wishes = False
    for g in range(chain.kinds.shape[0]):
        wishes = wishes or chain.kinds[g] == STAY
    for i in range(q.shape[0]):
        work.trial_q[:] = q[i]
        work.trial_p[:] = p[i]
        scale, damping, stalled, count = 1.0 / lengths[i], DAMPING, 0, 0
        square, worst = left_over(chain, targets[i], scale, q[i], p[i], work, work.r)
        while count < most and stalled < STALLED and (wishes or worst > enough):
            count += 1
            differentiate(chain, targets[i], scale, q[i], work, work.jacobian)
            taken, last = False, square
            for _ in range(TRIES):
                propose(chain, q[i], p[i], damping * square + 1e-10, longest, work)
                now, worst_now = left_over(
                    chain, targets[i], scale, work.trial_q, work.trial_p, work, work.y
                )
                if now < square:
                    keep(chain, work, q[i], p[i])
                    work.r[:] = work.y
                    square, worst, taken = now, worst_now, True
                    break
                damping = 6.0 * damping + 1e-4
            if not taken:
                break
            if square < 0.5 * last:
                damping = max(0.3 * damping, 1e-4)
            stalled = stalled + 1 if square > PROGRESS * last else 0
        steps[i], left[i], met[i] = count, square, worst <= enough


@kernel
def rank_each(chain, targets, lengths, library, q, p, scores, ranks):
    """Write the stored poses (n, wanted) that are nearest to the goals, best first.

    `library` (stored, movers, 4) has the rotations of movers, q and p those of all others.
    """
    work = new_work(chain)
    pose = np.zeros((q.shape[1], 4))
    wanted = ranks.shape[1]
    for i in range(q.shape[0]):
        pose[:] = q[i]
        count = 0
        for number in range(library.shape[0]):
            for m in range(chain.movers.shape[0]):
                pose[chain.movers[m]] = library[number, m]
            square, _ = left_over(chain, targets[i], 1.0 / lengths[i], pose, p[i], work, work.r)
            at = count
            while at > 0 and square < scores[i, at - 1]:
                if at < wanted:
                    scores[i, at], ranks[i, at] = scores[i, at - 1], ranks[i, at - 1]
                at -= 1
            if at < wanted:
                scores[i, at], ranks[i, at] = square, number
                count = min(count + 1, wanted)


@kernel
def measure_each(chain, targets, lengths, q, p, errors, slopes):
    """Write how far goals are from being met (n, goals), lengths or angles, and slopes.

    `slopes` (n, movers, 3) are rotation vectors in the joint's frame: where it would turn, and how
    much that would do, as a share of what is left.
    """
    work = new_work(chain)
    for i in range(q.shape[0]):
        square, _ = left_over(chain, targets[i], 1.0 / lengths[i], q[i], p[i], work, work.r)
        for g in range(chain.kinds.shape[0]):
            x, y, z = gap(chain, targets[i], g, q[i], work)
            errors[i, g] = length(x, y, z)
        differentiate(chain, targets[i], 1.0 / lengths[i], q[i], work, work.jacobian)
        first = 0
        for m in range(chain.movers.shape[0]):
            for f in range(chain.freedoms[m]):
                slope = 0.0
                for a in range(work.r.shape[0]):
                    slope += work.jacobian[a, first + f] * work.r[a]
                slope /= np.sqrt(max(square, 1e-300))
                for k in range(3):
                    slopes[i, m, k] += slope * work.basis[m, f, k]
            first += chain.freedoms[m]


@kernel
def chain_lengths(chain, targets, q, p, lengths, beyond):
    """Write how long chains are along their bones (n,), and which targets are farther (n, goals).

    A chain goes from the first joint that may turn to the point that is to reach; the longest of a
    problem counts, or 1 where nothing has a length. A root that slides goes anywhere.
    """
    work = new_work(chain)
    movers = chain.movers.shape[0]
    for i in range(q.shape[0]):
        place(chain, q[i], p[i], work)
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
