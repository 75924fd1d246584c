"""Damped least squares within limits: steps that no limit forbids, problem after problem."""

from __future__ import annotations

import numpy as np

from .ik_chain import (
    ALL,
    BEFORE,
    BLOCKED,
    ERRORS,
    FACTOR,
    FIXED,
    FREE,
    FREEDOMS,
    GAP,
    GOAL_TOLERANCE,
    ITERATIONS,
    JOINT,
    KIND,
    LARGEST_STEP,
    LENGTH,
    LIMIT,
    MET,
    OWNER,
    POINT,
    REACH,
    SQUARE,
    STAY,
    STEP,
    STEPS,
    UNLIMITED,
    WANTED,
    WAY_LENGTH,
    copy_rows,
    from_relative,
    from_vector,
    length,
    new_work,
    product,
    refresh_basis,
    to_relative,
    to_vector,
)
from .ik_goals import find_gaps, place, refresh_jacobian, refresh_rates, weigh
from .ik_limits import find_discomfort, is_clear, note_clear, project_one, refresh_discomfort
from .jit import kernel
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

# A step towards the goals that no limit forbids: an active set, found by projection alone.

ROUNDS = 6  # in which joints are found to be at their limit
MIN_ALONG = 1e-10  # radians; a projection that moves a joint less along its freedoms blocks nothing
PROBE = 1e-3  # radians; a small turn, to see what a limit leaves of it
SAME = 1e-12  # radians; a step that changes less needs no new projection


@kernel
def multiply_out(jacobian, gram):
    """Write J Jᵀ, the lower half; J's columns are rows here."""
    rows = gram.shape[1]
    for a in range(rows):
        for b in range(a + 1):
            gram[ALL, a, b] = 0.0
    for k in range(jacobian.shape[1]):
        for a in range(rows):
            along = jacobian[ALL, k, a]
            if along != 0.0:  # a joint moves few goals
                for b in range(a + 1):
                    gram[ALL, a, b] += along * jacobian[ALL, k, b]


@kernel
def begin_free(residuals, jacobian, gram, steps, counts):
    """Begin with nothing fixed."""
    rows = residuals.shape[1]
    for a in range(rows):
        residuals[FREE, a] = residuals[ALL, a]
        for b in range(a + 1):
            gram[FREE, a, b] = gram[ALL, a, b]
    for k in range(jacobian.shape[1]):
        steps[FIXED, k] = 0.0
        for a in range(rows):
            jacobian[FREE, k, a] = jacobian[ALL, k, a]
    for m in range(counts.shape[0]):
        counts[m] = 0


@kernel
def dual_solve(damping, residuals, jacobian, gram, steps):
    """Write the free step x = Jᵀ (J Jᵀ + μ)⁻¹ r, by Cholesky's method."""
    rows, y = residuals.shape[1], residuals[FACTOR]
    for a in range(rows):
        for b in range(a):
            total = gram[FREE, a, b]
            for k in range(b):
                total -= gram[FACTOR, a, k] * gram[FACTOR, b, k]
            gram[FACTOR, a, b] = total * gram[FACTOR, b, b]
        total, value = gram[FREE, a, a] + damping, residuals[FREE, a]
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
    for k in range(jacobian.shape[1]):
        total = 0.0
        for a in range(rows):
            total += jacobian[FREE, k, a] * y[a]
        steps[STEP, k] = total


@kernel
def shorten(movers, longest, steps):
    """Scale the free step so that no joint turns by more than `longest`, and add what is fixed."""
    most, first = 0.0, 0
    for m in range(movers.shape[0]):
        square = 0.0
        for f in range(movers[m, FREEDOMS]):
            square += steps[STEP, first + f] ** 2
        most = max(most, square)
        first += movers[m, FREEDOMS]
    scale = longest / np.sqrt(most) if most > longest * longest else 1.0
    for k in range(steps.shape[1]):
        steps[STEP, k] = scale * steps[STEP, k] + steps[FIXED, k]


@kernel
def resolve(m, n, first, vx, vy, vz, basis, steps):
    """Write the turn v of mover m, of n axes, as numbers along these, for where it is wanted."""
    for f in range(n):
        steps[WANTED, first + f] = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]


@kernel
def new_normal(m, n, first, known, steps, normals):
    """Write the direction of the wanted turn in which mover m is not fixed yet; tell if it is one.

    As numbers along its n axes, of length 1, in `normals` after those known.
    """
    if known >= n:
        return False
    for f in range(n):
        normals[m, known, f] = steps[WANTED, first + f]
    for k in range(known):
        along = 0.0
        for f in range(n):
            along += normals[m, known, f] * normals[m, k, f]
        for f in range(n):
            normals[m, known, f] -= along * normals[m, k, f]
    square = 0.0
    for f in range(n):
        square += normals[m, known, f] ** 2
    if square <= MIN_ALONG * MIN_ALONG:
        return False
    scale = 1.0 / np.sqrt(square)
    for f in range(n):
        normals[m, known, f] *= scale
    return True


@kernel
def fix_along(normal, n, first, steps, residuals, jacobian, gram):
    """Fix a mover of n axes along a normal, at its wanted turn from where it is.

    What is fixed goes out of the residuals and the Jacobian, so that the next solve gives the rest
    of the error to what is still free.
    """
    part, along = 0.0, residuals[FACTOR]
    for f in range(n):
        part += normal[f] * (steps[WANTED, first + f] - steps[FIXED, first + f])
    for f in range(n):
        steps[FIXED, first + f] += part * normal[f]
    for a in range(residuals.shape[1]):
        total = 0.0
        for f in range(n):
            total += jacobian[FREE, first + f, a] * normal[f]
        along[a] = total
        if total == 0.0:
            continue
        residuals[FREE, a] -= total * part
        for f in range(n):
            jacobian[FREE, first + f, a] -= total * normal[f]
        for b in range(a + 1):
            gram[FREE, a, b] -= total * along[b]


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
def propose(chain, work, q, p, unlimited, damping, longest):
    """Write, as the trial, a legal pose nearer to the goals than q and p, by the Jacobian.

    The limit of the mover `unlimited` is left out of account.
    """
    movers, slides, packed, tolerance = chain.movers, chain.slides, chain.packed, chain.tolerance
    basis, residuals, jacobian, gram = work.basis, work.residuals, work.jacobian, work.gram
    steps, normals, counts, clear = work.steps, work.normals, work.counts, work.clear
    t, block, other, lanes, ways = work.trial_q, work.block, work.other, work.lanes, chain.ways
    begin_free(residuals, jacobian, gram, steps, counts)
    for number in range(ROUNDS):
        dual_solve(damping, residuals, jacobian, gram, steps)
        shorten(movers, longest, steps)
        first, again = 0, False
        for m in range(movers.shape[0]):
            j, n, known = movers[m, JOINT], movers[m, FREEDOMS], counts[m]
            at = movers[m, LIMIT]
            changed = step_changed(first, n, steps) or number == 0
            if changed or ways[m, WAY_LENGTH] > 0:  # or what is above it may have changed
                propose_turn(m, j, n, first, steps, basis, q, t)
                aw, ax, ay, az = t[j, 0], t[j, 1], t[j, 2], t[j, 3]
                w, x, y, z = to_relative(ways, m, t, q, aw, ax, ay, az)
                if at >= 0 and m != unlimited and not is_clear(m, w, x, y, z, clear):
                    block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
                    if project_one(packed, at, tolerance, block, other, lanes):
                        w, x, y, z = block[QW], block[QX], block[QY], block[QZ]
                        w, x, y, z = from_relative(ways, m, t, q, w, x, y, z)
                        t[j, 0], t[j, 1], t[j, 2], t[j, 3] = w, x, y, z
                        vx, vy, vz = turn_between(t, j, aw, ax, ay, az)
                        resolve(m, n, first, vx, vy, vz, basis, steps)
                        if new_normal(m, n, first, known, steps, normals):
                            vx, vy, vz = turn_between(q, j, t[j, 0], t[j, 1], t[j, 2], t[j, 3])
                            resolve(m, n, first, vx, vy, vz, basis, steps)
                            normal = normals[m, known]
                            fix_along(normal, n, first, steps, residuals, jacobian, gram)
                            counts[m] = known + 1
                            again = True
                    else:
                        note_clear(m, packed, at, block, clear)
            first += n
        for k in range(slides.shape[0]):
            for i in range(3):
                work.trial_p[slides[k], i] = p[slides[k], i] + steps[STEP, first + 3 * k + i]
        if not again:
            break


@kernel
def probe(first, n, flat, residuals, jacobian, steps):
    """Write, as the step, a small turn of a mover down the slope; tell if that would do something.

    What it could do, squared, is held against `flat`.
    """
    size = 0.0
    for k in range(first, first + n):
        along = 0.0
        for a in range(residuals.shape[1]):
            along += jacobian[ALL, k, a] * residuals[ALL, a]
        steps[STEP, k] = along
        size += along * along
    if size <= flat:
        return False
    for k in range(first, first + n):
        steps[STEP, k] *= PROBE / np.sqrt(size)
    return True


@kernel
def accept_trial(movers, slides, trial_q, trial_p, q, p):
    """Take the trial's rotations and positions for those of the pose."""
    for m in range(movers.shape[0]):
        j = movers[m, JOINT]
        for i in range(4):
            q[j, i] = trial_q[j, i]
    for s in range(slides.shape[0]):
        for i in range(3):
            p[slides[s], i] = trial_p[slides[s], i]


# Damped least squares within limits, problem after problem.


DAMPING = 0.3  # at first, times what is left
STALLED = 4  # rounds with less than
PROGRESS = 0.995  # this share left are enough
TRIES = 8  # with more damping, before a step is given up
FLAT = 0.02  # of what is left: a joint that could do less is not blocked
TAKEN = 0.1  # of a small turn: a limit that takes away less does not block


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def descend_each(chain, settings, targets, q, p, numbers, counts, flags):
    """Bring poses q (n, joints, 4), p (n, joints, 3) nearer to their goals, until met or stalled.

    `numbers` have the length of each chain, `counts` the mover whose limit is left out of account,
    if there is one. Adds the steps taken, writes the square of what is left, and whether all goals
    are met. Where no steps are asked for, also how far goals are from being met, lengths or angles,
    and which movers their limits block, of the unmet.
    """
    work = new_work(chain)
    parents, order, movers, goals = chain.parents, chain.order, chain.movers, chain.goals
    slides, moves, swings, fixed = chain.slides, chain.moves, chain.swings, chain.basis
    basis, world, state, residuals = work.basis, work.world, work.state, work.residuals
    jacobian, trial_q, trial_p = work.jacobian, work.trial_q, work.trial_p
    steps, block = work.steps, work.block
    r, trial_r = residuals[ALL], residuals[FACTOR]
    most, longest = int(settings[ITERATIONS]), settings[LARGEST_STEP]
    enough, wishes = settings[GOAL_TOLERANCE], False
    for g in range(goals.shape[0]):
        wishes = wishes or goals[g, KIND] >= STAY
    for i in range(q.shape[0]):
        target, q_i, p_i = targets[i], q[i], p[i]
        copy_rows(q_i, trial_q)
        copy_rows(p_i, trial_p)
        scale, damping, stalled, count = 1.0 / numbers[i, LENGTH], DAMPING, 0, 0
        place(parents, order, q_i, p_i, world)
        find_gaps(goals, target, q_i, world, state)
        find_discomfort(chain, q_i, work)
        square, worst = weigh(goals, scale, state, r)
        while count < most and stalled < STALLED and (wishes or worst > enough):
            count += 1
            refresh_basis(movers, chain.ways, swings, fixed, q_i, basis)
            refresh_rates(goals, target, scale, world, state)
            refresh_discomfort(chain, q_i, work)
            refresh_jacobian(movers, slides, goals, moves, basis, world, state, jacobian)
            multiply_out(jacobian, work.gram)
            taken, last = False, square
            for _ in range(TRIES):
                strength = damping * square + 1e-10
                propose(chain, work, q_i, p_i, counts[i, UNLIMITED], strength, longest)
                place(parents, order, trial_q, trial_p, world)
                find_gaps(goals, target, trial_q, world, state)
                find_discomfort(chain, trial_q, work)
                now, worst_now = weigh(goals, scale, state, trial_r)
                if now < square:
                    accept_trial(movers, slides, trial_q, trial_p, q_i, p_i)
                    for a in range(r.shape[0]):
                        r[a] = trial_r[a]
                    square, worst, taken = now, worst_now, True
                    break
                damping = 6.0 * damping + 1e-4
            if not taken:
                break
            if square < 0.5 * last:
                damping = max(0.3 * damping, 1e-4)
            stalled = stalled + 1 if square > PROGRESS * last else 0
        counts[i, STEPS] += count
        numbers[i, SQUARE], flags[i, MET] = square, worst <= enough
        if most > 0:
            continue
        for g in range(goals.shape[0]):
            numbers[i, ERRORS + g] = length(state[g, GAP], state[g, GAP + 1], state[g, GAP + 2])
        if worst <= enough:
            continue
        refresh_basis(movers, chain.ways, swings, fixed, q_i, basis)
        refresh_rates(goals, target, scale, world, state)
        refresh_discomfort(chain, q_i, work)
        refresh_jacobian(movers, slides, goals, moves, basis, world, state, jacobian)
        first = 0
        for m in range(movers.shape[0]):
            j, n, at = movers[m, JOINT], movers[m, FREEDOMS], movers[m, LIMIT]
            flat = FLAT * FLAT * square
            flags[i, BLOCKED + m] = False
            if at >= 0 and probe(first, n, flat, residuals, jacobian, steps):
                propose_turn(m, j, n, first, steps, basis, q_i, trial_q)
                w, x, y, z = trial_q[j, 0], trial_q[j, 1], trial_q[j, 2], trial_q[j, 3]
                w, x, y, z = to_relative(chain.ways, m, q_i, q_i, w, x, y, z)
                block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
                if project_one(chain.packed, at, chain.tolerance, block, work.other, work.lanes):
                    w, x, y, z = block[QW], block[QX], block[QY], block[QZ]
                    w, x, y, z = from_relative(chain.ways, m, q_i, q_i, w, x, y, z)
                    vx, vy, vz = turn_between(trial_q, j, w, x, y, z)
                    flags[i, BLOCKED + m] = length(vx, vy, vz) > TAKEN * PROBE
            first += n


@kernel("Chain f8[,,] f8[,] f8[,,] f8[,,] f8[,,] f8[,] i8[,]")
def rank_each(chain, targets, numbers, library, q, p, scores, ranks):
    """Write the stored poses (n, wanted) that are nearest to the goals, best first.

    `library` (stored, movers, 4) has the rotations of movers, q and p those of all others.
    """
    work = new_work(chain)
    parents, order, goals, movers = chain.parents, chain.order, chain.goals, chain.movers
    world, state, residuals = work.world, work.state, work.residuals[ALL]
    pose, wanted = work.trial_q, ranks.shape[1]
    for i in range(q.shape[0]):
        target, p_i, scale = targets[i], p[i], 1.0 / numbers[i, LENGTH]
        copy_rows(q[i], pose)
        count = 0
        for number in range(library.shape[0]):
            for m in range(movers.shape[0]):
                for k in range(4):
                    pose[movers[m, JOINT], k] = library[number, m, k]
            place(parents, order, pose, p_i, world)
            find_gaps(goals, target, pose, world, state)
            square, _ = weigh(goals, scale, state, residuals)
            at = count
            while at > 0 and square < scores[i, at - 1]:
                if at < wanted:
                    scores[i, at], ranks[i, at] = scores[i, at - 1], ranks[i, at - 1]
                at -= 1
            if at < wanted:
                scores[i, at], ranks[i, at] = square, number
                count = min(count + 1, wanted)


@kernel("Chain f8[,,] f8[,,] f8[,,] f8[,] b1[,]")
def chain_lengths(chain, targets, q, p, numbers, beyond):
    """Write how long chains are along their bones, and which targets are farther (n, goals).

    A chain goes from the first joint that may turn to the point that is to reach; the longest of a
    problem counts, or 1 where nothing has a length. A root that slides goes anywhere.
    """
    work = new_work(chain)
    movers, goals, world = chain.movers.shape[0], chain.goals, work.world
    for i in range(q.shape[0]):
        place(chain.parents, chain.order, q[i], p[i], world)
        longest = 0.0
        for g in range(goals.shape[0]):
            beyond[i, g] = False
            top, slides = -1, False
            for m in range(chain.moves.shape[1] - 1, -1, -1):
                if chain.moves[g, m]:
                    slides = slides or m >= movers
                    top = chain.movers[m, JOINT] if m < movers else top
            if top < 0 or goals[g, KIND] >= STAY:
                continue
            total = length(goals[g, POINT], goals[g, POINT + 1], goals[g, POINT + 2])
            j = int(goals[g, OWNER])
            while j != top:
                total += length(p[i, j, 0], p[i, j, 1], p[i, j, 2])
                j = chain.parents[j]
            longest = max(longest, total)
            if goals[g, KIND] == REACH and not slides:
                x, y, z = (
                    targets[i, g, 0] - world[top, 4],
                    targets[i, g, 1] - world[top, 5],
                    targets[i, g, 2] - world[top, 6],
                )
                beyond[i, g] = length(x, y, z) > total * (1.0 + 1e-9)
        numbers[i, LENGTH] = 1.0 if longest == 0.0 else longest
