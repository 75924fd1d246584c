"""Cyclic coordinate descent: one joint at a time, stopped where its turn would leave the limit."""

from __future__ import annotations

import math

import numpy as np

from .ik_chain import (
    AIM,
    ALL,
    COUNTS,
    FLAGS,
    GOAL,
    MOVER,
    NUMBERS,
    POSITION,
    REACH,
    SETTINGS,
    STATE,
    STAY,
    SWING,
    copy_rows,
    new_work,
    refresh_basis,
    with_twist_of,
)
from .ik_goals import (
    SUMS,
    TURN_SHARE,
    aim_reach,
    best_turn,
    find_gaps,
    gain,
    gather_arm,
    gather_turn,
    place,
    start_sums,
    turn_by,
    weigh,
)
from .ik_limits import Turn, exit_of_one, is_clear, rotation_at
from .jit import inlined, kernel
from .vector import (
    ZERO,
    Quat,
    Vec3,
    conj,
    dot,
    norm,
    quat_at,
    quat_dot,
    rotate,
    set_quat,
    set_vec3,
    vec3_at,
)

APART = 0.05  # radians between evaluations along a turn: narrower gaps of a limit are not seen
NEARNESS = APART / 64.0  # radians before a boundary at which turns end
SWEEPS = 4  # the search ends after so many sweeps over all joints
PROGRESS = 0.995  # that leave more than this share of the squared residual


@inlined
def gather(chain, m, targets, world, state, sums):
    """Write the arms of all goals that mover m moves, from their points and rotations."""
    at, up, goals = world[chain.movers[m, MOVER.joint]], chain.movers[m, MOVER.parent], chain.goals
    center = vec3_at(at, POSITION)
    start_sums(sums, quat_at(at, 0), center)
    for g in range(goals.shape[0]):
        if not chain.moves[g, m]:
            continue
        kind, weight = goals[g, GOAL.kind], TURN_SHARE * goals[g, GOAL.weight]
        rotation = quat_at(state[g], STATE.rotation)
        point, target = vec3_at(state[g], STATE.point) - center, vec3_at(targets[g], 0) - center
        if kind == REACH:
            gather_arm(sums, sums[SUMS.scale] * goals[g, GOAL.weight], point, target)
        elif kind == AIM:
            axis, far = rotate(rotation, vec3_at(goals[g], GOAL.axis)), norm(target - point)
            if far < 1e-12:  # every direction is right at the point itself
                continue
            along = dot(point, axis)
            reach = aim_reach(along, along * along - dot(point, point) + dot(target, target), far)
            gather_arm(sums, weight / max(reach, far), point + reach * axis, target)
        else:
            wanted = quat_at(targets[g], 0)
            if kind == STAY and up >= 0:  # the target is relative to the parent
                wanted = quat_at(world[up], 0) * wanted
            gather_turn(sums, weight, rotation * conj(wanted))


@kernel
def world_turn(up, world, start, end):
    """Return the turn in the world that takes a joint, with the parent `up`, from start to end."""
    turn = end * conj(start)
    if up < 0:
        return turn
    axis = rotate(quat_at(world[up], 0), Vec3(turn.x, turn.y, turn.z))
    return Quat(turn.w, axis.x, axis.y, axis.z)


@inlined
def turn_goals(chain, m, center, turn, state):
    """Turn the points and rotations of goals with mover m, at `center`, by a turn in the world."""
    for g in range(chain.goals.shape[0]):
        if not chain.moves[g, m]:
            continue
        kind = chain.goals[g, GOAL.kind]
        if kind in (REACH, AIM):
            point = vec3_at(state[g], STATE.point) - center
            set_vec3(state[g], STATE.point, center + rotate(turn, point))
        if kind != REACH:
            set_quat(state[g], STATE.rotation, turn * quat_at(state[g], STATE.rotation))


@kernel
def slide_roots(chain, targets, p, state):
    """Move roots that may slide by the weighted mean of the gaps of points."""
    goals, movers = chain.goals, chain.movers.shape[0]
    for s in range(chain.slides.shape[0]):
        root, total, move = p[chain.slides[s]], 0.0, ZERO
        for g in range(goals.shape[0]):
            if goals[g, GOAL.kind] == REACH and chain.moves[g, movers + s]:
                square = goals[g, GOAL.weight] ** 2
                total += square
                move = move + square * (vec3_at(targets[g], 0) - vec3_at(state[g], STATE.point))
        if total > 0.0:
            set_vec3(root, 0, vec3_at(root, 0) + move / total)


@inlined
def best_rotation(chain, m, start, vector, slope, sums, work):
    """Return the rotation with the largest gain that mover m reaches from `start` along `vector`.

    `slope` is that of the gain: at 0 both senses of the vector are tried. A turn that leaves the
    limit is stopped there. The first rotation found outside is projected, and taken where that
    gains more: so a joint slides along its boundary.
    """
    at, up, world = chain.movers[m, MOVER.limit], chain.movers[m, MOVER.parent], work.world
    best, gained = start, -np.inf
    # If the target is opposite, a limit may bar one sense of rotation and not the other.
    for side in range(2 if slope == 0.0 and at >= 0 else 1):
        end = turn_by(start, (1.0 - 2.0 * side) * vector)
        if at >= 0 and chain.swings[m, SWING.active] != 0.0:
            end = with_twist_of(chain.swings[m], start, end)
        # A clearance is a ball of less than a right angle, which is convex.
        known = is_clear(m, start, work.clear) and is_clear(m, end, work.clear)
        if at >= 0 and not known:
            angle = max(2.0 * math.acos(min(abs(quat_dot(start, end)), 1.0)), 1e-12)
            turn = Turn(start, end, angle, chain.tolerance, APART, NEARNESS)
            t, outside = exit_of_one(
                m, turn, chain.packed, at, work.clear, work.block, work.other, work.lanes
            )
            if t < 1.0:
                end = rotation_at(turn, t)
                gains = gain(sums, world_turn(up, world, start, end))
                if gain(sums, world_turn(up, world, start, outside)) > gains:
                    end = outside
        gains = gain(sums, world_turn(up, world, start, end)) if slope == 0.0 else 0.0
        if gains > gained:
            best, gained = end, gains
    return best


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def ccd_each(chain, settings, targets, q, p, numbers, counts, flags):
    """As `descend_each`, one joint at a time, the last first; steps are turns of one joint.

    Within a sweep only the goals turn with a joint: the joints before it have not moved.
    """
    work = new_work(chain)
    movers, goals, world, state = chain.movers, chain.goals, work.world, work.state
    residuals, sums = work.residuals[ALL], np.zeros(SUMS.SIZE)
    trial_q, trial_p = work.trial_q, work.trial_p
    most, enough = int(settings[SETTINGS.iterations]), settings[SETTINGS.goal_tolerance]
    sums[SUMS.largest] = settings[SETTINGS.largest_step]
    wishes = False
    for g in range(goals.shape[0]):
        wishes = wishes or goals[g, GOAL.kind] == STAY
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / numbers[i, NUMBERS.length], 0, 0, targets[i]
        sums[SUMS.scale] = scale
        copy_rows(q[i], trial_q)
        copy_rows(p[i], trial_p)
        place(chain.parents, chain.order, trial_q, trial_p, world)
        find_gaps(goals, target, trial_q, world, state)
        square, worst = weigh(goals, scale, state, residuals)
        while count < most and stalled < SWEEPS and (wishes or worst > enough):
            refresh_basis(movers, chain.ways, chain.swings, chain.basis, trial_q, work.basis)
            for g in range(goals.shape[0]):
                owner = int(goals[g, GOAL.owner])
                set_quat(state[g], STATE.rotation, quat_at(world[owner], 0))
            turning = min(movers.shape[0], most - count)
            count += max(turning, 1)
            for k in range(turning):
                m = movers.shape[0] - 1 - k
                gather(chain, m, target, world, state, sums)
                vector, slope = best_turn(work.basis[m], movers[m, MOVER.freedoms], sums)
                if norm(vector) == 0.0:
                    continue
                own = trial_q[movers[m, MOVER.joint]]
                start = quat_at(own, 0)
                best = best_rotation(chain, m, start, vector, slope, sums, work)
                turn = world_turn(movers[m, MOVER.parent], world, start, best)
                turn_goals(chain, m, vec3_at(sums, SUMS.center), turn, state)
                set_quat(own, 0, best)
            slide_roots(chain, target, trial_p, state)
            place(chain.parents, chain.order, trial_q, trial_p, world)
            find_gaps(goals, target, trial_q, world, state)
            rest, worst_now = weigh(goals, scale, state, residuals)
            stalled = stalled + 1 if rest > PROGRESS * square else 0
            if rest < square:
                square, worst = rest, worst_now
                copy_rows(trial_q, q[i])
                copy_rows(trial_p, p[i])
        counts[i, COUNTS.steps] += count
        numbers[i, NUMBERS.square], flags[i, FLAGS.met] = square, worst <= enough
