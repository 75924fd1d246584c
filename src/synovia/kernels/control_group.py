"""Controls of a group whose pose is nearest to a given one, with a tolerance for each segment.

The residual of a segment is its angle to the pose of the controls, less its tolerance. The weighted
sum of squared residuals is the squared distance to the poses within the tolerances. The goals of
the given task of `controls` are `STAY`, one for each segment, with its weight.
"""

from __future__ import annotations

import numpy as np

from .controls import (
    Plan,
    dead_zone,
    descend_shares,
    evaluate,
    new_work,
    pose_controls,
    start_pose,
    weight_of,
)
from .ik_chain import GOAL, STATE
from .jit import kernel
from .vector import angle_between, copy, norm, quat_at, set_quat, vec3_at

STEPS, RACE_STEPS = 60.0, 4.0  # of one descent, at most; and of each of many that compete
DAMPING, LEAST_DAMPING = 1e-2, 1e-14  # times the sum of squares, and the minimum
FLOOR = 1e-6  # least damping factor, which decreases after good steps
ENOUGH = 1e-20  # squared radians at which a pose is a member
STALL_STEPS, STALL_RATIO = 2.0, 1.0 - 1e-5  # a descent ends after so many steps above this ratio
NEAR_STARTS = 2  # initial guesses: stored controls whose poses are nearest
MANY_CONTROLS = 4  # least number of controls that need more initial guesses:
FAR_STARTS, FEW_STARTS = 24, 1  # the first of the stored controls, with many controls and with few
FINALISTS = 2  # initial guesses that continue after RACE_STEPS
CLOSE = 0.03  # squared radians below which a member may have been missed
NEXT_ROUNDS = 16  # further rounds of NEAR_STARTS initial guesses in that case
ROUNDS, HALVINGS = 2, 8  # over controls without effect, and bisections for where an effect begins
BEYOND = 0.01  # such a control is set beyond that by this share of its range
SAME, WORTH = 1e-9, 0.99  # relative change that is no effect; ratio below which a round pays
FLAT = 1e-9  # share of the largest squared rate below which a control has no effect
APART = 0.1  # initial guesses differ by this share of a range in at least one control
COLD, QUICK, FOLLOW = range(3)  # kinds of search; see `nearest_each`


@kernel
def plan_of(steps, slack):
    """Return the plan of a descent of at most so many steps, with a share of the tolerances."""
    return Plan(
        steps, 0.0, 1.0, DAMPING, LEAST_DAMPING, FLOOR, ENOUGH, STALL_STEPS, STALL_RATIO, slack
    )


@kernel
def descend(task, tolerances, slack, target, steps, shares, work):
    """Minimise the distance to a pose (G, 4) over shares (F,), in place, by at most `steps` steps.

    `slack` is the share of the tolerances that counts. Returns the sum of squares; the segments are
    then posed by these shares.
    """
    return descend_shares(task, plan_of(steps, slack), tolerances, target, shares, work)[1]


@kernel
def measure(task, tolerances, target, shares, work):
    """Pose the segments by shares (F,); return the squared distance beyond the tolerances."""
    pose_controls(task, shares, False, work)
    return evaluate(task, plan_of(0.0, 1.0), tolerances, target, shares, work)


@kernel
def end_of_flat(task, tolerances, target, square, c, end, trial, work):
    """Return the share, from the present one towards `end`, at which control c takes effect.

    Returns `end` if it has none. `trial` are all shares, and come back unchanged.
    """
    here = trial[c]
    low, high = here, end
    for k in range(HALVINGS + 1):
        trial[c] = end if k == 0 else 0.5 * (low + high)
        now = measure(task, tolerances, target, trial, work)
        same = abs(now - square) <= SAME * square
        if k == 0 and same:
            break
        if same:
            low = trial[c]
        else:
            high = trial[c]
    trial[c] = here
    return high


@kernel
def leave_flat(task, tolerances, target, square, shares, work):
    """Move controls without effect to where they have one, and descend from there.

    Beyond a cone or a bound a control changes nothing, so no gradient leads back. Moves that bring
    the pose nearer are kept. Returns the sum of squares.
    """
    free, best = shares.shape[0], square
    flat, trial, there = np.zeros(free), np.empty(free), np.empty(free)
    steepest = 0.0
    for c in range(free):
        steepest = max(steepest, work.normal[0, c, c])
    for c in range(free):
        flat[c] = 1.0 if work.normal[0, c, c] <= FLAT * steepest else 0.0
    for c in range(free):
        for side in range(2):
            if flat[c] == 0.0 or best <= ENOUGH:
                continue
            copy(shares, trial)
            copy(shares, there)
            end = 1.0 * side
            edge = end_of_flat(task, tolerances, target, best, c, end, trial, work)
            there[c] = min(max(edge + BEYOND * (2.0 * side - 1.0), 0.0), 1.0)
            if there[c] == shares[c] or edge == end:
                continue
            now = descend(task, tolerances, 1.0, target, STEPS, there, work)
            if now < best:
                best = now
                copy(there, shares)
    return best


@kernel
def settle(task, tolerances, target, square, shares, work):
    """Improve shares (F,) at which a descent ended by controls that have no effect there.

    `square` is the sum of squares before; returns the one afterwards.
    """
    for _ in range(ROUNDS):
        if square <= ENOUGH:
            break
        now = leave_flat(task, tolerances, target, square, shares, work)
        if not now < WORTH * square:
            return min(now, square)
        square = now
    return square


@kernel
def fit_from(task, tolerances, target, shares, work):
    """Descend from shares (F,), in place; return the sum of squares.

    First without tolerances. For most members the search ends there, so that the controls of a
    member depend on the pose only, not on the initial guess.
    """
    descend(task, tolerances, 0.0, target, STEPS, shares, work)
    square = dead_zone(task, tolerances, 1.0, work)
    if square > ENOUGH:
        square = descend(task, tolerances, 1.0, target, STEPS, shares, work)
    return square


@kernel
def stored_square(task, tolerances, target, pose):
    """Return the squared distance beyond the tolerances from a pose to a stored one (G, 4)."""
    square = 0.0
    for g in range(target.shape[0]):
        angle = angle_between(quat_at(target[g], 0), quat_at(pose[g], 0)) - tolerances[g]
        if angle > 0.0:
            square += (weight_of(task, g) * angle) ** 2
    return square


@kernel
def far_from(library, chosen, count, n):
    """Return True if the controls of row n differ by APART from those of the first chosen rows."""
    for k in range(count):
        apart = 0.0
        for c in range(library.shape[1]):
            apart = max(apart, abs(library[n, c] - library[chosen[k], c]))
        if apart <= APART:
            return False
    return True


@kernel
def choose_starts(library, far, squares, chosen):
    """Write rows of the library: the nearest that are APART, then the first `far` ones.

    Returns their number.
    """
    count = 0
    while count < NEAR_STARTS:
        best = -1
        for n in range(library.shape[0]):
            if squares[n] < np.inf and (best < 0 or squares[n] < squares[best]):
                best = n
        if best < 0:
            break
        squares[best] = np.inf
        if far_from(library, chosen, count, best):
            chosen[count] = best
            count += 1
    for n in range(min(far, library.shape[0])):
        chosen[count] = n
        count += 1
    return count


@kernel
def race(task, tolerances, target, runners, work):
    """Descend from rows of shares (n, F): a few steps each, then the best continue.

    Returns the sum of squares of the best, or of the first member, and copies it to the first row.
    """
    squares, n, best = np.empty(NEAR_STARTS + FAR_STARTS), runners.shape[0], -1
    for k in range(n):
        squares[k] = descend(task, tolerances, 1.0, target, RACE_STEPS, runners[k], work)
        if squares[k] <= ENOUGH:
            best = k
            break
    last = -1.0
    for _ in range(FINALISTS):
        first = -1
        for k in range(n):
            if squares[k] > last and (first < 0 or squares[k] < squares[first]):
                first = k
        if first < 0 or (best >= 0 and squares[best] <= ENOUGH):
            break
        last = squares[first]
        now = descend(task, tolerances, 1.0, target, STEPS, runners[first], work)
        squares[first] = settle(task, tolerances, target, now, runners[first], work)
        if best < 0 or squares[first] < squares[best]:
            best = first
    copy(runners[best], runners[0])
    return squares[best]


@kernel
def take_found(task, work, found):
    """Write rotations of the posed segments, each with its remaining angle: (G, 5)."""
    for g in range(found.shape[0]):
        j = int(task.goals[g, GOAL.owner])
        set_quat(found[g], 0, quat_at(work.q[j], 0))
        found[g, 4] = norm(vec3_at(work.state[g], STATE.gap))


@kernel
def rank_stored(task, tolerances, target, stored, squares):
    """Write the squared distances of a pose from stored ones; return the index of the nearest."""
    best = 0
    for n in range(stored.shape[0]):
        squares[n] = stored_square(task, tolerances, target, stored[n])
        if squares[n] < squares[best]:
            best = n
    return best


@kernel
def find_elsewhere(task, tolerances, library, target, square, stored_squares, runners, work):
    """Search for a nearer pose than that of runner 0, which is replaced; return its sum of squares.

    `square` is that of runner 0. The search starts at the nearest stored controls and at others;
    with many controls it goes on with the next nearest while a member is likely.
    """
    chosen, many = np.zeros(NEAR_STARTS + FAR_STARTS, np.int64), runners.shape[1] >= MANY_CONTROLS
    for k in range(1 + NEXT_ROUNDS if many else 1):
        far = 0 if k > 0 else (FAR_STARTS if many else FEW_STARTS)
        count = choose_starts(library, far, stored_squares, chosen)
        if count == 0 or square <= ENOUGH or (k > 0 and square > CLOSE):
            break
        for c in range(count):
            copy(library[chosen[c]], runners[1 + c])
        now = race(task, tolerances, target, runners[1 : 1 + count], work)
        if now < square:
            copy(runners[1], runners[0])
            square = now
    return square


@kernel("Task f8[] f8[,] f8[,,] f8[,,] f8[,] i8 f8[,,]")
def nearest_each(task, tolerances, library, stored, targets, shares, search, found):
    """Write shares (n, F) whose poses are nearest to `targets` (n, G, 4), and the poses (n, G, 5).

    `library` (N, F) are stored controls, neutral ones first, and `stored` (N, G, 4) their poses.
    The kind of `search` is `QUICK`: descend from the nearest stored pose; `COLD`: then from others
    as well, if that does not find a member; or `FOLLOW`: descend from the result of the row before,
    for the first row from its own `shares`.
    """
    work, free = new_work(task), task.free.shape[0]
    start_pose(task, work)
    stored_squares = np.empty(library.shape[0])
    runners = np.empty((1 + NEAR_STARTS + FAR_STARTS, free))
    for i in range(targets.shape[0]):
        here, target = shares[i], targets[i]
        if free > 0 and search == FOLLOW:
            copy(shares[max(i - 1, 0)], here)
        elif free > 0:
            copy(library[rank_stored(task, tolerances, target, stored, stored_squares)], here)
        square = fit_from(task, tolerances, target, here, work)
        if free > 0 and square > ENOUGH:
            copy(here, runners[0])
            now = settle(task, tolerances, target, square, runners[0], work)
            if search == COLD:
                now = find_elsewhere(
                    task, tolerances, library, target, now, stored_squares, runners, work
                )
            if now < square:
                copy(runners[0], here)
            measure(task, tolerances, target, here, work)
        take_found(task, work, found[i])
