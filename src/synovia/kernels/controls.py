"""Damped least squares over the controls of a figure, within their ranges: for goals, or a pose.

The variables are the shares, from 0 to 1, of the ranges of the free controls. A joint set has some
of the controls and a part of the figure's program. Its transforms change with its own controls
only, so only these blocks of the Jacobian are computed.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .figure import perform, write_segments
from .ik_chain import GOAL, POSITION, REACH, STATE, STAY
from .ik_goals import TURN_SHARE, find_gaps, place, refresh_rates, weigh
from .jit import bundle, kernel
from .vector import (
    IDENTITY,
    ZERO,
    Vec3,
    axis_vector,
    conj,
    copy,
    cross,
    dot,
    norm,
    quat_at,
    rotate,
    set_quat,
    set_vec3,
    solve_positive,
    transform_at,
    vec3_at,
)

# Columns of `sets`: first row of the code and the end; index of its first free control among all
# free ones, and their number; its first control among all, and the end.
FIRST_ROW, END_ROW, FIRST, COUNT, FIRST_CONTROL, END_CONTROL = range(6)

Task = bundle(
    "Task",
    code="i8[,]",  # (steps, COLUMNS) the program of the joint sets that matter; see `figure`
    lists="i8[]",  # its offsets
    numbers="f8[]",  # its numbers, the offsets of segments first
    sizes="i8[]",  # (2,) numbers of its work space, most free controls of one set
    sets="i8[,]",  # (sets, 6) those with free controls first, see above
    active="i8[]",  # (1,) number of sets with free controls
    free="i8[]",  # (F,) indices of the free controls
    ranges="f8[,]",  # (5, F) of free controls, see below
    values="f8[]",  # (C,) all controls
    parents="i8[]",  # (J,)
    order="i8[]",  # joints that goals hang on, parents first
    set_of="i8[]",  # (J,) index of the set that moves a joint, -1 if none has free controls
    goals="f8[,]",  # (G, GOAL.SIZE) as those of `ik_chain`
    targets="f8[,]",  # (G, 4)
    above="b1[,]",  # (G, J) True if a goal moves with a joint above it; `STAY` with its own joint
    wanted="f8[,]",  # (W, 12) target transforms of segments
    wanted_of="i8[]",  # (J,) index of the target of a segment, -1 for none
    scales="f8[]",  # (12,) weights of their numbers
)
# Rows of `ranges`: low ends, widths, shares to stay near; the share of the range at each
# end that is uncomfortable, and the weight of discomfort.
LOW, WIDTH, HOME, MARGIN, UNEASE = range(5)

Plan = bundle(
    "Plan",
    steps="f8",  # at most
    stay="f8",  # weight of staying near
    scale="f8",  # 1 over the length of a chain
    damping="f8",  # at first, as a share of the sum of squares
    least_damping="f8",
    floor="f8",  # of the share
    enough="f8",  # sum of squares that ends the search
    patience="f8",  # the search ends after so many steps
    ratio="f8",  # that leave more than this share of the sum of squares
    slack="f8",  # share of the tolerances of `STAY` that is subtracted from angles; 0 for goals
)
PLAN = Plan(0.0, 0.0, 1.0, 0.3, 1e-16, 1e-4, 0.0, 4.0, 0.995**2, 0.0)
"""The plan of descents to goals; callers replace some of its values."""

TRIES = 8  # increases of the damping in one step, at most
MAX_STEP = 0.3  # share of its range that a control may move in one step
NO_TOLERANCES = np.zeros(0)
STEP = 1e-7  # share of a range, for derivatives by differences: relative errors of some 1e-7
MIN_ROOM = 0.1  # least divisor of distances from the start, as a share of a range

Work = namedtuple(
    "Work",
    [
        "values",  # the work space of the program
        "moved",  # the same with one control moved
        "q",  # (J, 4) rotations of segments
        "p",  # (J, 3) positions
        "moves",  # (J, most controls, 6) rotation vector and translation per share, parent's frame
        "world",  # (J, 7)
        "state",  # (G, STATE.SIZE)
        "residuals",  # (3 G + 12 W)
        "jacobian",  # (F, 3 G + 12 W) rates at which residuals close
        "normal",  # (3, F, F) Jᵀ J, and what `propose` solves, with its factor
        "vectors",  # (4, F) see below
    ],
)
DOWN, MOVE, TRIAL, FIXED = range(4)
"""Rows of `vectors`: Jᵀ r, the step, shares after it, 1 where a step is fixed."""


@kernel
def new_work(task):
    """Return the tables to solve with."""
    rows, directions = task.sizes[0], task.sizes[1]
    joints, goals, free = task.parents.shape[0], task.goals.shape[0], task.free.shape[0]
    errors = 3 * goals + 12 * task.wanted.shape[0]
    return Work(
        np.empty(rows),
        np.empty(rows),
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros((joints, directions, 6)),
        np.zeros((joints, 7)),
        np.zeros((goals, STATE.SIZE)),
        np.zeros(errors),
        np.zeros((free, errors)),
        np.zeros((3, free, free)),
        np.zeros((4, free)),
    )


@kernel
def start_pose(task, work):
    """Write all controls, and the segments of the joint sets without free controls."""
    for j in range(work.q.shape[0]):
        set_quat(work.q[j], 0, IDENTITY)
        set_vec3(work.p[j], 0, vec3_at(task.numbers, 3 * j))
    for c in range(task.values.shape[0]):
        work.values[c] = task.values[c]
    for s in range(task.active[0], task.sets.shape[0]):
        pose_set(task, s, work)


@kernel
def run_set(task, s, values):
    """Run the program of one joint set on its controls; return its segments and their transforms.

    Transforms are offsets in `values`, the work space of the program.
    """
    last = task.sets[s, END_ROW] - 1
    for k in range(task.sets[s, FIRST_ROW], last):
        perform(task.code[k], task.lists, task.numbers, values)
    row = task.code[last]  # POSE
    return task.lists[row[5] : row[6]], task.lists[row[7] : row[8]]


@kernel
def pose_set(task, s, work):
    """Write the segments of one joint set."""
    segments, transforms = run_set(task, s, work.values)
    write_segments(segments, transforms, task.numbers, work.values, work.q, work.p)


@kernel
def differentiate_set(task, s, d, factor, work):
    """Write the rates of the segments of one joint set, as `work.moved` has its control d moved.

    They are the differences from the segments' transforms, times `factor`: R' Rᵀ as a vector, and
    the translation's, in the parent's frame.
    """
    segments, transforms = run_set(task, s, work.moved)
    for i in range(segments.shape[0]):
        here = transform_at(work.values, transforms[i])
        there, rates = transform_at(work.moved, transforms[i]), work.moves[segments[i], d]
        (a, b, c), (u, v, w) = here.turn, there.turn
        u, v, w = u - a, v - b, w - c
        turn = Vec3(dot(w, b) - dot(v, c), dot(u, c) - dot(w, a), dot(v, a) - dot(u, b))
        set_vec3(rates, 0, 0.5 * factor * turn)
        set_vec3(rates, 3, factor * (there.shift - here.shift))


@kernel
def pose_controls(task, shares, differ, work):
    """Write the segments at some shares of the ranges; with their rates by shares if `differ`.

    Rates are one-sided differences towards the middle of the range, because beyond its ends a
    control has no effect.
    """
    values, moved, ranges = work.values, work.moved, task.ranges
    for c in range(shares.shape[0]):
        values[task.free[c]] = ranges[LOW, c] + ranges[WIDTH, c] * shares[c]
    for s in range(task.active[0]):
        pose_set(task, s, work)
        for c in range(task.sets[s, FIRST_CONTROL], task.sets[s, END_CONTROL]):
            moved[c] = values[c]
        for d in range(task.sets[s, COUNT] if differ else 0):
            c = task.sets[s, FIRST] + d
            at = task.free[c]
            moved[at] += (STEP if shares[c] <= 0.5 else -STEP) * ranges[WIDTH, c]
            step = moved[at] - values[at]  # as rounded
            factor = ranges[WIDTH, c] / step if step != 0.0 else 0.0
            differentiate_set(task, s, d, factor, work)
            moved[at] = values[at]


@kernel
def stay_slope(share, home, weight):
    """Return the weight of a share's distance from home: `weight` over the room on its side."""
    below, above = weight / max(home, MIN_ROOM), weight / max(1.0 - home, MIN_ROOM)
    if share == home and share > 0.0 and share < 1.0:
        return 0.5 * (below + above)
    return below if share < home else above


@kernel
def end_excess(share, margin):
    """Return by how much a share is nearer to an end than `margin`; negative at the high end."""
    low, high = margin - share, margin - (1.0 - share)
    if low <= 0.0 and high <= 0.0:
        return 0.0
    return low if low >= high else -high


@kernel
def range_terms(task, plan, share, c):
    """Return the square of what control c costs by its share alone, and its terms of Jᵀ r and Jᵀ J.

    It costs to leave home, and to come near to an end.
    """
    away = share - task.ranges[HOME, c]
    stay = stay_slope(share, task.ranges[HOME, c], plan.stay) ** 2
    near, ease = end_excess(share, task.ranges[MARGIN, c]), task.ranges[UNEASE, c] ** 2
    square, down = stay * away * away + ease * near * near, ease * near - stay * away
    return square, down, stay + (ease if near != 0.0 else 0.0)


@kernel
def transform_residuals(task, work):
    """Write the weighted residuals of target transforms; return their sum of squares."""
    square, first = 0.0, 3 * task.goals.shape[0]
    for j in range(task.parents.shape[0] if task.wanted.shape[0] > 0 else 0):
        row = task.wanted_of[j]
        for i in range(12 if row >= 0 else 0):
            r, c = i // 4, i % 4
            if c == 3:
                value = work.p[j, r] - task.numbers[3 * j + r]
            else:
                value = rotate(quat_at(work.q[j], 0), axis_vector(c))[r]
            error = task.scales[i] * (task.wanted[row, i] - value)
            work.residuals[first + 12 * row + i] = error
            square += error * error
    return square


@kernel
def transform_rates(task, work):
    """Write the rows of the Jacobian for target transforms."""
    for j in range(task.parents.shape[0] if task.wanted.shape[0] > 0 else 0):
        row, s = 3 * task.goals.shape[0] + 12 * task.wanted_of[j], task.set_of[j]
        for d in range(task.sets[s, COUNT] if task.wanted_of[j] >= 0 and s >= 0 else 0):
            moves, rates = work.moves[j, d], work.jacobian[task.sets[s, FIRST] + d]
            for c in range(3):
                rate = cross(vec3_at(moves, 0), rotate(quat_at(work.q[j], 0), axis_vector(c)))
                for r in range(3):
                    rates[row + 4 * r + c] = task.scales[4 * r + c] * rate[r]
                rates[row + 4 * c + 3] = task.scales[4 * c + 3] * moves[3 + c]


@kernel
def weight_of(task, g):
    """Return the square root of the weight of segment g's squared angle."""
    return TURN_SHARE * task.goals[g, GOAL.weight]


@kernel
def dead_zone(task, tolerances, share, work):
    """Write the residuals beyond a share of the tolerances; return their sum of squares.

    Residuals point along the remaining rotation vectors.
    """
    square = 0.0
    for g in range(task.goals.shape[0]):
        gap = vec3_at(work.state[g], STATE.gap)
        angle, slack = norm(gap), share * tolerances[g]
        over = weight_of(task, g) * (1.0 - slack / angle) if angle > slack else 0.0
        set_vec3(work.residuals, 3 * g, over * gap)
        square += (over * angle) ** 2
    return square


@kernel
def slack_rates(task, tolerances, share, work):
    """Change the rates of gaps to those of residuals, which are 0 within the tolerance.

    The rate of v (1 − t/|v|) with u = v/|v| is v' − (t/|v|) (v' − u (u · v')).
    """
    state = work.state
    for g in range(task.goals.shape[0]):
        gap = vec3_at(state[g], STATE.gap)
        angle, slack = norm(gap), share * tolerances[g]
        if slack == 0.0:
            continue
        for k in range(3):
            a, rate = STATE.by_turn + k, ZERO
            if angle > slack:
                part = slack / angle
                rate = Vec3(state[g, a], state[g, a + 3], state[g, a + 6])
                rate = (1.0 - part) * rate + dot(gap, rate) * (part / (angle * angle)) * gap
            state[g, a], state[g, a + 3], state[g, a + 6] = rate.x, rate.y, rate.z


@kernel
def evaluate(task, plan, tolerances, target, shares, work):
    """Write the residuals of the posed segments; return the sum of squares."""
    place(task.parents, task.order, work.q, work.p, work.world)
    find_gaps(task.goals, target, work.q, work.world, work.state)
    square, _worst = weigh(task.goals, plan.scale, work.state, work.residuals)
    if plan.slack > 0.0:
        square = dead_zone(task, tolerances, plan.slack, work)
    for c in range(shares.shape[0]):
        square += range_terms(task, plan, shares[c], c)[0]
    return square + transform_residuals(task, work)


@kernel
def add_joint(task, j, d, column, work):
    """Add to a column of J the rates at which goals close as control d of joint j changes."""
    up, at = task.parents[j], work.world[j]
    own, move = vec3_at(work.moves[j, d], 0), vec3_at(work.moves[j, d], 3)
    parent = quat_at(work.world[up], 0) if up >= 0 else IDENTITY
    turn, move = rotate(parent, own), rotate(parent, move)
    for g in range(task.goals.shape[0]):
        if not task.above[g, j]:
            continue
        state, row = work.state[g], work.jacobian[column]
        if task.goals[g, GOAL.kind] == STAY:  # relative to the joint itself
            by_turn, by_move = rotate(conj(quat_at(work.q[j], 0)), own), ZERO
        else:
            arm = vec3_at(state, STATE.point) - vec3_at(at, POSITION)
            by_turn, by_move = turn, cross(turn, arm) + move
        for i in range(3):
            closes = dot(vec3_at(state, STATE.by_move + 3 * i), by_move)
            row[3 * g + i] += closes + dot(vec3_at(state, STATE.by_turn + 3 * i), by_turn)


@kernel
def refresh_jacobian(task, work):
    """Write the Jacobian: the rates at which residuals close."""
    jacobian = work.jacobian
    for c in range(jacobian.shape[0]):
        for a in range(jacobian.shape[1]):
            jacobian[c, a] = 0.0
    for k in range(task.order.shape[0]):
        j = task.order[k]
        s = task.set_of[j]
        if s >= 0:
            for d in range(task.sets[s, COUNT]):
                add_joint(task, j, d, task.sets[s, FIRST] + d, work)
    transform_rates(task, work)


@kernel
def linearize(task, plan, tolerances, target, shares, work):
    """Write the lower half of Jᵀ J, and Jᵀ r, for segments that are posed and evaluated."""
    refresh_rates(task.goals, target, plan.scale, work.world, work.state)
    if plan.slack > 0.0:
        slack_rates(task, tolerances, plan.slack, work)
    refresh_jacobian(task, work)
    jacobian, residuals = work.jacobian, work.residuals
    for a in range(shares.shape[0]):
        _square, down, curvature = range_terms(task, plan, shares[a], a)
        for k in range(residuals.shape[0]):
            down += jacobian[a, k] * residuals[k]
        work.vectors[DOWN, a] = down
        for b in range(a + 1):
            total = curvature if b == a else 0.0
            for k in range(residuals.shape[0]):
                total += jacobian[a, k] * jacobian[b, k]
            work.normal[0, a, b] = total


@kernel
def solve_free(damping, work):
    """Write the step of the free variables; that of the fixed ones is given."""
    normal, step, fixed = work.normal, work.vectors[MOVE], work.vectors[FIXED]
    for a in range(step.shape[0]):
        free_a = fixed[a] == 0.0
        if free_a:
            step[a] = work.vectors[DOWN, a]
        for b in range(a):
            coupling = normal[0, a, b]
            normal[1, a, b] = coupling if free_a and fixed[b] == 0.0 else 0.0
        normal[1, a, a] = normal[0, a, a] + damping if free_a else 1.0
    for a in range(step.shape[0]):
        for b in range(step.shape[0]):
            if fixed[a] == 0.0 and fixed[b] > 0.0:
                step[a] -= normal[0, max(a, b), min(a, b)] * step[b]
    solve_positive(normal[1], normal[2], step)


@kernel
def propose(shares, damping, work):
    """Write the shares after a step: those that would leave their range are fixed at its end.

    The step of the others is then solved again.
    """
    move, fixed, again = work.vectors[MOVE], work.vectors[FIXED], True
    for c in range(shares.shape[0]):
        fixed[c] = 0.0
    while again:
        solve_free(damping, work)
        again = False
        for c in range(shares.shape[0]):
            there = shares[c] + move[c]
            if fixed[c] == 0.0 and (there < 0.0 or there > 1.0):
                move[c], fixed[c] = (0.0 if there < 0.0 else 1.0) - shares[c], 1.0
                again = True
    longest = MAX_STEP
    for c in range(shares.shape[0]):
        longest = max(longest, abs(move[c]))
    for c in range(shares.shape[0]):
        there = shares[c] + MAX_STEP / longest * move[c]
        work.vectors[TRIAL, c] = min(max(there, 0.0), 1.0)


@kernel
def descend_shares(task, plan, tolerances, target, shares, work):
    """Minimise over shares (F,), in place, until steps no longer help.

    This is the method of Levenberg and Marquardt. Returns the number of steps and the sum of
    squares; the segments are then posed by these shares.
    """
    damping, stalled, count = plan.damping, 0, 0
    pose_controls(task, shares, True, work)
    square = evaluate(task, plan, tolerances, target, shares, work)
    while count < plan.steps and stalled < plan.patience and square > plan.enough:
        linearize(task, plan, tolerances, target, shares, work)
        count += 1
        taken, again, before = False, False, square
        for _ in range(TRIES):
            propose(shares, damping * square + plan.least_damping, work)
            trial = work.vectors[TRIAL]
            pose_controls(task, trial, not again, work)  # the first is usually accepted
            now = evaluate(task, plan, tolerances, target, trial, work)
            if now < square:
                copy(trial, shares)
                square, taken = now, True
                break
            damping, again = 6.0 * damping + 1e-4, True
        if again:
            pose_controls(task, shares, True, work)
            evaluate(task, plan, tolerances, target, shares, work)
        if not taken:
            break
        if square < 0.5 * before:
            damping = max(0.3 * damping, plan.floor)
        stalled = stalled + 1 if square > plan.ratio * before else 0
    return count, square


@kernel("Task Plan f8[] f8[]")
def descend(task, plan, shares, found):
    """Minimise over shares (F,), in place, until steps no longer help.

    Returns the number of steps and the sum of squares. Writes the errors of goals, then Jᵀ r, half
    the rate at which the sum of squares falls with each share.
    """
    work, goals = new_work(task), task.goals
    start_pose(task, work)
    count, square = descend_shares(task, plan, NO_TOLERANCES, task.targets, shares, work)
    linearize(task, plan, NO_TOLERANCES, task.targets, shares, work)
    for g in range(goals.shape[0]):
        unit = plan.scale if goals[g, GOAL.kind] == REACH else TURN_SHARE
        found[g] = unit * norm(vec3_at(work.state[g], STATE.gap))
    for c in range(shares.shape[0]):
        found[goals.shape[0] + c] = work.vectors[DOWN, c]
    return count, square


@kernel("Task Plan f8[,] f8[]")
def measure_each(task, plan, table, squares):
    """Write the sum of squared residuals for each row of shares (n, F)."""
    work = new_work(task)
    start_pose(task, work)
    for i in range(table.shape[0]):
        pose_controls(task, table[i], False, work)
        squares[i] = evaluate(task, plan, NO_TOLERANCES, task.targets, table[i], work)
