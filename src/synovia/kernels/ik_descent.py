"""Damped least squares within limits, and rotating joints towards a target one after another."""

from __future__ import annotations

import numpy as np

from .ik_chain import (
    ALL,
    FACTOR,
    FIXED,
    FREE,
    GOAL,
    MOVER,
    POSITION,
    REACH,
    SETTINGS,
    STATE,
    STEP,
    copy_rows,
    from_relative,
    new_work,
    refresh_basis,
    to_relative,
)
from .ik_goals import (
    TURN_SHARE,
    find_discomfort,
    find_gaps,
    is_wish,
    legal_rotation,
    place,
    place_one,
    refresh_discomfort,
    refresh_jacobian,
    refresh_rates,
    remaining_turn,
    turn_by,
    weigh,
)
from .jit import kernel
from .layout import Layout
from .vector import (
    ZERO,
    apply,
    apply_transposed,
    conj,
    copy,
    dot,
    log,
    mat3_at,
    norm,
    quat_at,
    rotate,
    set_quat,
    set_vec3,
    solve_positive,
    vec3_at,
)

ROUNDS = 6  # of the active-set method, at most
MIN_ALONG = 1e-10  # radians; a projection that moves a joint less along its freedoms blocks nothing
PROBE = 1e-3  # radians; a small rotation, to measure the part that a limit removes
DAMPING = 0.3  # initial damping, as a share of the squared residual
STALLED = 4  # consecutive rounds without progress that end the search
PROGRESS = 0.995  # share of the squared residual; leaving more is no progress
TRIES = 8  # of a step with increasing damping
FLAT = 0.02  # share of the residual: a joint that could reduce it by less is not blocked
TAKEN = 0.1  # share of a small rotation: a limit that removes less does not block


@kernel
def multiply_out(jacobian, gram):
    """Write the lower half of J Jᵀ. The rows of `jacobian` are the columns of J."""
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
def begin_free(damping, residuals, jacobian, gram, steps, counts):
    """Copy residuals, J and J Jᵀ to the parts of free variables, with damping, and fix nothing."""
    rows = residuals.shape[1]
    for a in range(rows):
        residuals[FREE, a] = residuals[ALL, a]
        for b in range(a + 1):
            gram[FREE, a, b] = gram[ALL, a, b] + (damping if a == b else 0.0)
    for k in range(jacobian.shape[1]):
        steps[FIXED, k] = 0.0
        copy(jacobian[ALL, k], jacobian[FREE, k])
    for m in range(counts.shape[0]):
        counts[m] = 0


@kernel
def dual_solve(residuals, jacobian, gram, steps):
    """Write the free step x = Jᵀ (J Jᵀ + μ)⁻¹ r."""
    y = residuals[FACTOR]
    copy(residuals[FREE], y)
    solve_positive(gram[FREE], gram[FACTOR], y)
    for k in range(jacobian.shape[1]):
        total = 0.0
        for a in range(y.shape[0]):
            total += jacobian[FREE, k, a] * y[a]
        steps[STEP, k] = total


@kernel
def shorten(movers, longest, steps):
    """Scale the free step to rotations of at most `longest` radians, and add the fixed part."""
    most = longest
    for m in range(movers.shape[0]):
        most = max(most, norm(vec3_at(steps[STEP], 3 * m)))
    for k in range(steps.shape[1]):
        steps[STEP, k] = longest / most * steps[STEP, k] + steps[FIXED, k]


@kernel
def new_normal(back, count, normals):
    """Append the part of `back` orthogonal to the first `count` normals, as a unit vector.

    `back` is the step by which a projection moved the mover. Returns False, and writes nothing, if
    it has no such part.
    """
    normal = back
    for k in range(count):
        other = vec3_at(normals[k], 0)
        normal = normal - dot(normal, other) * other
    size = norm(normal)
    if count == 3 or size <= MIN_ALONG:
        return False
    set_vec3(normals[count], 0, normal / size)
    return True


@kernel
def fix_along(normal, first, wanted, steps, residuals, jacobian, gram):
    """Fix a mover's three variables, from index `first` on, along `normal`, at the step `wanted`.

    The fixed part is subtracted from residuals, Jacobian and J Jᵀ, so that the next solve
    distributes the remaining error among the free variables.
    """
    fixed, along = vec3_at(steps[FIXED], first), residuals[FACTOR]
    part = dot(normal, wanted - fixed)
    set_vec3(steps[FIXED], first, fixed + part * normal)
    for a in range(residuals.shape[1]):
        total = 0.0
        for f in range(3):
            total += jacobian[FREE, first + f, a] * normal[f]
        along[a] = total
        if total == 0.0:
            continue
        residuals[FREE, a] -= total * part
        for f in range(3):
            jacobian[FREE, first + f, a] -= total * normal[f]
        for b in range(a + 1):
            gram[FREE, a, b] -= total * along[b]


@kernel
def propose(chain, work, q, p, unlimited, damping, longest):
    """Write to the trial pose of `work` the result of one damped step from q and p, made legal.

    This is an active-set method based on projections: a joint that its limit moves back is fixed
    in that direction, and the step is solved again. The limit of the mover `unlimited` is ignored.
    """
    movers, slides, ways, trial = chain.movers, chain.slides, chain.ways, work.trial_q
    residuals, jacobian, gram = work.residuals, work.jacobian, work.gram
    steps, counts = work.steps, work.counts
    begin_free(damping, residuals, jacobian, gram, steps, counts)
    for _ in range(ROUNDS):
        dual_solve(residuals, jacobian, gram, steps)
        shorten(movers, longest, steps)
        again = False
        for m in range(movers.shape[0]):
            j, axes = movers[m, MOVER.joint], mat3_at(work.basis[m], 0)
            own = quat_at(q[j], 0)
            wanted = turn_by(own, apply_transposed(axes, vec3_at(steps[STEP], 3 * m)))
            set_quat(trial[j], 0, wanted)
            if m == unlimited:
                continue
            legal, moved = legal_rotation(chain, m, to_relative(ways[m], trial, q, wanted))
            if not moved:
                continue
            legal = from_relative(ways[m], trial, q, legal)
            set_quat(trial[j], 0, legal)
            back, normals = apply(axes, log(conj(legal) * wanted)), work.normals[m]
            if new_normal(back, counts[m], normals):
                normal, reached = normals[counts[m]], apply(axes, log(conj(own) * legal))
                fix_along(vec3_at(normal, 0), 3 * m, reached, steps, residuals, jacobian, gram)
                counts[m] += 1
                again = True
        for k in range(slides.shape[0]):
            move = vec3_at(steps[STEP], 3 * (movers.shape[0] + k))
            set_vec3(work.trial_p[slides[k]], 0, vec3_at(p[slides[k]], 0) + move)
        if not again:
            break


@kernel
def probe(m, flat, residuals, jacobian):
    """Return a step (radians about its axes) of mover m along the steepest descent, `PROBE` long.

    It is 0 if the squared slope is at most `flat`.
    """
    slope = np.zeros(3)
    for k in range(3):
        for a in range(residuals.shape[1]):
            slope[k] += jacobian[ALL, 3 * m + k, a] * residuals[ALL, a]
    step = vec3_at(slope, 0)
    size = norm(step)
    return (PROBE / size) * step if size * size > flat else ZERO


@kernel
def accept_trial(movers, slides, trial_q, trial_p, q, p):
    """Copy the trial's rotations of movers and positions of sliding roots to the pose q, p."""
    for m in range(movers.shape[0]):
        j = movers[m, MOVER.joint]
        copy(trial_q[j], q[j])
    for s in range(slides.shape[0]):
        copy(trial_p[slides[s]], p[slides[s]])


@kernel
def evaluate(chain, targets, scale, q, p, work, residuals):
    """Write world transforms and residuals of the pose q, p; return the result of `weigh`."""
    place(chain.parents, chain.order, q, p, work.world)
    find_gaps(chain.goals, targets, q, work.world, work.state)
    find_discomfort(chain, q, work)
    return weigh(chain.goals, scale, work.state, residuals)


@kernel
def linearize(chain, targets, scale, q, work):
    """Write the Jacobian of the residuals of the pose that was evaluated."""
    goals, world, state = chain.goals, work.world, work.state
    refresh_basis(chain.movers, chain.ways, chain.swings, chain.basis, q, work.basis)
    refresh_rates(goals, targets, scale, world, state)
    refresh_discomfort(chain, q, work)
    basis, jacobian = work.basis, work.jacobian
    refresh_jacobian(chain.movers, goals, chain.moves, basis, world, state, jacobian)


@kernel("Chain f8[] Trials")
def descend_each(chain, settings, trials):
    """Move `rotations` and `positions` of trials towards goals until met, or the descent stalls.

    Also adds to `steps`, and writes `squares` and `met`. If the settings allow 0 iterations, it
    moves nothing, and writes `errors`, and `blocked` for trials with unmet goals.
    """
    targets, q, p = trials.targets, trials.rotations, trials.positions
    lengths, unlimited, met = trials.lengths, trials.unlimited, trials.met
    work = new_work(chain)
    movers, slides, goals = chain.movers, chain.slides, chain.goals
    basis, state, residuals = work.basis, work.state, work.residuals
    jacobian, trial_q, trial_p = work.jacobian, work.trial_q, work.trial_p
    r, trial_r = residuals[ALL], residuals[FACTOR]
    most, longest = int(settings[SETTINGS.iterations]), settings[SETTINGS.largest_step]
    enough, wishes = settings[SETTINGS.goal_tolerance], False
    for g in range(goals.shape[0]):
        wishes = wishes or is_wish(goals[g, GOAL.kind])
    for i in range(q.shape[0]):
        target, q_i, p_i = targets[i], q[i], p[i]
        copy_rows(q_i, trial_q)
        copy_rows(p_i, trial_p)
        scale, damping, stalled, count = 1.0 / lengths[i], DAMPING, 0, 0
        square, worst = evaluate(chain, target, scale, q_i, p_i, work, r)
        while count < most and stalled < STALLED and (wishes or worst > enough):
            count += 1
            linearize(chain, target, scale, q_i, work)
            multiply_out(jacobian, work.gram)
            taken, last = False, square
            for _ in range(TRIES):
                strength = damping * square + 1e-10
                propose(chain, work, q_i, p_i, unlimited[i], strength, longest)
                now, worst_now = evaluate(chain, target, scale, trial_q, trial_p, work, trial_r)
                if now < square:
                    accept_trial(movers, slides, trial_q, trial_p, q_i, p_i)
                    copy(trial_r, r)
                    square, worst, taken = now, worst_now, True
                    break
                damping = 6.0 * damping + 1e-4
            if not taken:
                break
            if square < 0.5 * last:
                damping = max(0.3 * damping, 1e-4)
            stalled = stalled + 1 if square > PROGRESS * last else 0
        trials.steps[i] += count
        trials.squares[i], met[i] = square, worst <= enough
        if most > 0:
            continue
        for g in range(goals.shape[0]):
            trials.errors[i, g] = norm(vec3_at(state[g], STATE.gap))
        if worst <= enough:
            continue
        linearize(chain, target, scale, q_i, work)
        for m in range(movers.shape[0]):
            trials.blocked[i, m] = False
            step = probe(m, FLAT * FLAT * square, residuals, jacobian)
            if movers[m, MOVER.limit] < 0 or norm(step) == 0.0:
                continue
            turn = apply_transposed(mat3_at(basis[m], 0), step)
            wanted = turn_by(quat_at(q_i[movers[m, MOVER.joint]], 0), turn)
            seen = to_relative(chain.ways[m], q_i, q_i, wanted)
            legal, moved = legal_rotation(chain, m, seen)
            if moved:
                legal = from_relative(chain.ways[m], q_i, q_i, legal)
                removed = norm(log(conj(wanted) * legal))
                trials.blocked[i, m] = removed > TAKEN * PROBE


@kernel("Chain Trials f8[,,] f8[,] i8[,]")
def rank_each(chain, trials, library, scores, ranks):
    """Write indices `ranks` (n, wanted) of the stored poses nearest to the goals, best first.

    `scores` (n, wanted) gets their squared residuals. `library` (stored, movers, 4) has the
    rotations of movers; those of the other joints are in the trials.
    """
    targets, q, p = trials.targets, trials.rotations, trials.positions
    work = new_work(chain)
    parents, order, goals, movers = chain.parents, chain.order, chain.goals, chain.movers
    world, state, residuals = work.world, work.state, work.residuals[ALL]
    pose, wanted = work.trial_q, ranks.shape[1]
    for i in range(q.shape[0]):
        target, p_i, scale = targets[i], p[i], 1.0 / trials.lengths[i]
        copy_rows(q[i], pose)
        count = 0
        for number in range(library.shape[0]):
            for m in range(movers.shape[0]):
                copy(library[number, m], pose[movers[m, MOVER.joint]])
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


@kernel("Chain Trials b1[,]")
def chain_lengths(chain, trials, beyond):
    """Write the lengths of chains along their bones, and a mask `beyond` (n, goals).

    A chain goes from the first joint that may rotate to the goal's point. `lengths` of a trial is
    that of its longest chain, or 1 if that is 0. The mask is True for targets of `REACH` farther
    away than the chain is long, unless a root slides.
    """
    work = new_work(chain)
    targets, q, p = trials.targets, trials.rotations, trials.positions
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
                    top = chain.movers[m, MOVER.joint] if m < movers else top
            if top < 0 or is_wish(goals[g, GOAL.kind]):
                continue
            total = norm(vec3_at(goals[g], GOAL.point))
            j = int(goals[g, GOAL.owner])
            while j != top:
                total += norm(vec3_at(p[i, j], 0))
                j = chain.parents[j]
            longest = max(longest, total)
            if goals[g, GOAL.kind] == REACH and not slides:
                away = vec3_at(targets[i, g], 0) - vec3_at(world[top], POSITION)
                beyond[i, g] = norm(away) > total * (1.0 + 1e-9)
        trials.lengths[i] = 1.0 if longest == 0.0 else longest


LOOK = Layout("settings", rounds=1, tolerance=1, shares=0)
"""Settings of `look_each`: most rounds over all joints; tolerance of the residual; shares of the
remaining rotation by mover."""


@kernel
def turn_head(head, center, turn):
    """Rotate the transform `head` by `turn`, in the world, about `center`."""
    arm = vec3_at(head, POSITION) - center
    set_vec3(head, POSITION, center + rotate(turn, arm))
    set_quat(head, 0, turn * quat_at(head, 0))


@kernel
def sweep(chain, settings, target, q, p, work, head):
    """Rotate every mover once, from body to head, by its share of the remaining rotation."""
    parents, order, movers, world = chain.parents, chain.order, chain.movers, work.world
    last, m = order[order.shape[0] - 1], 0
    for k in range(order.shape[0]):
        j = order[k]
        place_one(parents, j, q, p, world)
        if j == last:  # its exact transform, without accumulated errors
            copy(world[j], head)
        if m < movers.shape[0] and movers[m, MOVER.joint] == j:
            before, own = quat_at(world[j], 0), quat_at(q[j], 0)
            share = settings[LOOK.shares + m]
            turn = rotate(conj(before), share * remaining_turn(chain.goals[0], target, head))
            own = turn_by(own, turn)
            legal, moved = legal_rotation(chain, m, to_relative(chain.ways[m], q, q, own))
            set_quat(q[j], 0, from_relative(chain.ways[m], q, q, legal) if moved else own)
            place_one(parents, j, q, p, world)
            turn_head(head, vec3_at(world[j], POSITION), quat_at(world[j], 0) * conj(before))
            m += 1


@kernel("Chain f8[] Trials")
def look_each(chain, settings, trials):
    """Rotate the movers of the trials, in place, until the head's axis points at the target.

    Adds the number of rounds to `steps`, and writes `squares` and `met`.
    """
    work, head, order = new_work(chain), np.zeros(7), chain.order
    targets, q, p, met = trials.targets, trials.rotations, trials.positions, trials.met
    last = order[order.shape[0] - 1]
    for i in range(q.shape[0]):
        target, angle = targets[i, 0], 0.0
        for k in range(order.shape[0]):
            place_one(chain.parents, order[k], q[i], p[i], work.world)
        copy(work.world[last], head)
        for _ in range(int(settings[LOOK.rounds])):
            sweep(chain, settings, target, q[i], p[i], work, head)
            trials.steps[i] += 1
            angle = TURN_SHARE * norm(remaining_turn(chain.goals[0], target, head))
            met[i] = angle <= settings[LOOK.tolerance]
            if met[i]:
                break
        trials.squares[i] = angle * angle
