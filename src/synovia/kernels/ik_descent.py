"""A step towards the goals that no limit forbids: an active set, found by projection alone."""

from __future__ import annotations

import numpy as np

from .ik_chain import (
    ALL,
    BEFORE,
    FACTOR,
    FREE,
    REACH,
    SETTLED,
    STAY,
    STEP,
    copy_rows,
    from_vector,
    length,
    new_work,
    product,
    refresh_basis,
    to_vector,
)
from .ik_goals import find_gaps, place, refresh_rates, refresh_slopes, weigh
from .ik_limits import is_clear, note_clear, project_one
from .jit import kernel
from .rotation import LANES, QW, QX, QY, QZ, W0, X0, Y0, Z0

ROUNDS = 6  # in which joints are found to be at their limit
ALONG = 1e-10  # radians; a projection that moves a joint less along its freedoms blocks nothing
PROBE = 1e-3  # radians; a small turn, to see what a limit leaves of it
ZERO = np.int64(0)  # not a literal, for which numba would compile what it is passed to once more
SAME = 1e-12  # radians; a step that changes less needs no new projection


@kernel
def multiply_out(slopes, gram):
    """Write J Jᵀ, the lower half; slopes are J's columns as rows."""
    rows = gram.shape[1]
    for a in range(rows):
        for b in range(a + 1):
            gram[ALL, a, b] = 0.0
    for k in range(slopes.shape[1]):
        for a in range(rows):
            along = slopes[ALL, k, a]
            if along != 0.0:  # a joint moves few goals
                for b in range(a + 1):
                    gram[ALL, a, b] += along * slopes[ALL, k, b]


@kernel
def begin_free(r, free_r, slopes, gram, steps, counts):
    """Begin with nothing settled."""
    rows = r.shape[0]
    for a in range(rows):
        free_r[a] = r[a]
        for b in range(a + 1):
            gram[FREE, a, b] = gram[ALL, a, b]
    for k in range(slopes.shape[1]):
        steps[SETTLED, k] = 0.0
        for a in range(rows):
            slopes[FREE, k, a] = slopes[ALL, k, a]
    for m in range(counts.shape[0]):
        counts[m] = 0


@kernel
def dual_solve(gram, damping, r, slopes, y, steps):
    """Write the free step x = Jᵀ (J Jᵀ + μ)⁻¹ r, by Cholesky's method."""
    rows = r.shape[0]
    for a in range(rows):
        for b in range(a):
            total = gram[FREE, a, b]
            for k in range(b):
                total -= gram[FACTOR, a, k] * gram[FACTOR, b, k]
            gram[FACTOR, a, b] = total * gram[FACTOR, b, b]
        total, value = gram[FREE, a, a] + damping, r[a]
        for k in range(a):
            total -= gram[FACTOR, a, k] * gram[FACTOR, a, k]
            value -= gram[FACTOR, a, k] * y[k]
        inverse = 1.0 / np.sqrt(max(total, 1e-14))
        gram[FACTOR, a, a] = inverse  # so that nothing is divided again
        y[a] = value * inverse
    for a in range(rows - 1, -1, -1):
        y[a] *= gram[FACTOR, a, a]
        for k in range(a):
            y[k] -= gram[FACTOR, a, k] * y[a]
    for k in range(slopes.shape[1]):
        total = 0.0
        for a in range(rows):
            total += slopes[FREE, k, a] * y[a]
        steps[STEP, k] = total


@kernel
def shorten(freedoms, longest, steps):
    """Scale the free step so that no joint turns by more than `longest`, and add the settled."""
    most, first = 0.0, 0
    for m in range(freedoms.shape[0]):
        square = 0.0
        for f in range(freedoms[m]):
            square += steps[STEP, first + f] ** 2
        most = max(most, square)
        first += freedoms[m]
    scale = longest / np.sqrt(most) if most > longest * longest else 1.0
    for k in range(steps.shape[1]):
        steps[STEP, k] = scale * steps[STEP, k] + steps[SETTLED, k]


@kernel
def new_normal(m, n, known, vx, vy, vz, basis, normals):
    """Write the direction of v in which mover m, of n axes, is not settled yet; tell if it is one.

    As numbers along its axes, of length 1, in `normals` after those known.
    """
    if known >= n:
        return False
    for f in range(n):
        normals[m, known, f] = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]
    for k in range(known):
        along = 0.0
        for f in range(n):
            along += normals[m, known, f] * normals[m, k, f]
        for f in range(n):
            normals[m, known, f] -= along * normals[m, k, f]
    square = 0.0
    for f in range(n):
        square += normals[m, known, f] ** 2
    if square <= ALONG * ALONG:
        return False
    scale = 1.0 / np.sqrt(square)
    for f in range(n):
        normals[m, known, f] *= scale
    return True


@kernel
def settle(m, n, first, known, vx, vy, vz, basis, normals, steps, slopes, gram, r, slope):
    """Settle mover m along its newest normal, at the turn v from where it is.

    What is settled goes out of the gap and its slopes, so that the next solve gives the rest of
    the error to those still free.
    """
    part = 0.0
    for f in range(n):
        along = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]
        part += normals[m, known, f] * (along - steps[SETTLED, first + f])
    for f in range(n):
        steps[SETTLED, first + f] += part * normals[m, known, f]
    for a in range(r.shape[0]):
        total = 0.0
        for f in range(n):
            total += slopes[FREE, first + f, a] * normals[m, known, f]
        slope[a] = total
        if total == 0.0:
            continue
        r[a] -= total * part
        for f in range(n):
            slopes[FREE, first + f, a] -= total * normals[m, known, f]
        for b in range(a + 1):
            gram[FREE, a, b] -= total * slope[b]


@kernel
def propose_turn(m, j, n, first, steps, basis, q, t):
    """Write, as t[j], the rotation of mover m after its part of the step."""
    vx, vy, vz = 0.0, 0.0, 0.0
    for f in range(n):
        along = steps[STEP, first + f]
        vx += along * basis[m, f, 0]
        vy += along * basis[m, f, 1]
        vz += along * basis[m, f, 2]
    w, x, y, z = from_vector(vx, vy, vz)
    w, x, y, z = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], w, x, y, z)
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    t[j, 0], t[j, 1], t[j, 2], t[j, 3] = scale * w, scale * x, scale * y, scale * z


@kernel
def step_changed(first, n, steps):
    """Tell whether the step of a mover differs from that of the round before; note it."""
    news = False
    for k in range(first, first + n):
        news = news or abs(steps[STEP, k] - steps[BEFORE, k]) > SAME
        steps[BEFORE, k] = steps[STEP, k]
    return news


@kernel
def turn_between(a, j, w, x, y, z):
    """Return the rotation vector, in the joint's frame, from a[j] to another rotation."""
    w, x, y, z = product(a[j, 0], -a[j, 1], -a[j, 2], -a[j, 3], w, x, y, z)
    return to_vector(w, x, y, z)


@kernel
def propose(
    movers,
    freedoms,
    limits,
    slides,
    packed,
    tolerance,
    lifted,
    damping,
    longest,
    q,
    p,
    basis,
    r,
    free_r,
    y,
    slopes,
    gram,
    steps,
    normals,
    counts,
    clear,
    trial_q,
    trial_p,
    block,
    other,
    lanes,
):
    """Write, as `trial_q` and `trial_p`, a legal pose nearer to the goals, by their slopes.

    The limit of the mover `lifted` is left out of account.
    """
    t = trial_q
    begin_free(r, free_r, slopes, gram, steps, counts)
    for number in range(ROUNDS):
        dual_solve(gram, damping, free_r, slopes, y, steps)
        shorten(freedoms, longest, steps)
        first, again = ZERO, False
        for m in range(movers.shape[0]):
            j, n, known, at = movers[m], freedoms[m], counts[m], limits[m]
            if step_changed(first, n, steps) or number == 0:
                propose_turn(m, j, n, first, steps, basis, q, t)
                w, x, y_, z = t[j, 0], t[j, 1], t[j, 2], t[j, 3]
                if at >= 0 and m != lifted and not is_clear(m, w, x, y_, z, clear):
                    block[W0], block[X0], block[Y0], block[Z0] = w, x, y_, z
                    if project_one(packed, at, tolerance, block, other, lanes):
                        for i in range(4):
                            t[j, i] = block[QW + LANES * i]
                        vx, vy, vz = turn_between(t, j, w, x, y_, z)
                        if new_normal(m, n, known, vx, vy, vz, basis, normals):
                            vx, vy, vz = turn_between(q, j, t[j, 0], t[j, 1], t[j, 2], t[j, 3])
                            settle(
                                *(m, n, first, known, vx, vy, vz, basis, normals, steps),
                                *(slopes, gram, free_r, y),
                            )
                            counts[m] = known + 1
                            again = True
                    else:
                        note_clear(m, packed, at, block, clear)
            first += n
        for k in range(slides.shape[0]):
            for i in range(3):
                trial_p[slides[k], i] = p[slides[k], i] + steps[STEP, first + 3 * k + i]
        if not again:
            break


@kernel
def probe(m, j, n, first, flat, r, slopes, basis, q, steps, t):
    """Write, as t[j], mover m after a small turn down the slope; tell if that would do something.

    What it could do, squared, is held against `flat`.
    """
    size = 0.0
    for k in range(first, first + n):
        along = 0.0
        for a in range(r.shape[0]):
            along += slopes[ALL, k, a] * r[a]
        steps[STEP, k] = along
        size += along * along
    if size <= flat:
        return False
    for k in range(first, first + n):
        steps[STEP, k] *= PROBE / np.sqrt(size)
    propose_turn(m, j, n, first, steps, basis, q, t)
    return True


@kernel
def accept_trial(movers, slides, trial_q, trial_p, q, p):
    """Take the trial's rotations and positions for those of the pose."""
    for m in range(movers.shape[0]):
        for i in range(4):
            q[movers[m], i] = trial_q[movers[m], i]
    for s in range(slides.shape[0]):
        for i in range(3):
            p[slides[s], i] = trial_p[slides[s], i]


# Damped least squares within limits, problem after problem.


DAMPING = 0.3  # at first, times what is left
STALLED = 4  # rounds with less than
PROGRESS = 0.995  # this share left are enough
TRIES = 8  # with more damping, before a step is given up
FLAT = 0.02  # of what is left: a joint that could do less is not hindered
TAKEN = 0.1  # of a small turn: a limit that takes away less does not hinder


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
                    accept_trial(movers, slides, trial_q, trial_p, q_i, p_i)
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
