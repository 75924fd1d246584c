"""FABRIK (Aristidou & Lasenby 2011): targets are passed back to the root, then joints turn forward.

Nodes are the movers, then the points of goals: where the chain bends, and its ends. The backward
pass goes from the ends to the root: every mover is turned so that its nodes come to their targets,
and its own target is the position that this needs; where chains meet, the weighted mean. The
forward pass goes from the root to the ends, turns each joint to these targets and projects it onto
its limit before the next, so the pose is always legal. Positions alone leave the twist of a bone
open, and a hinge below it stuck across its axis: so a joint turns twice, to its own nodes, and then
to these and all goals that it moves.

The tree has, by node, the mover it is attached to (`parent`, -1 for none); all nodes in the order
of these movers (`child`); and by mover, the index of its first node in that order (`first_child`,
one more at the end) and the goal that prescribes its rotation (`orient`, -1 for none).
"""

from __future__ import annotations

import numpy as np

from .ik_ccd import slide_roots
from .ik_chain import (
    COUNTS,
    FLAGS,
    GOAL,
    MOVER,
    NUMBERS,
    POSITION,
    REACH,
    SETTINGS,
    STATE,
    copy_rows,
    new_work,
    refresh_basis,
)
from .ik_chain import NODE as TREE
from .ik_goals import (
    SUMS,
    TURN_SHARE,
    best_turn,
    evaluate,
    gather_arm,
    gather_turn,
    place,
    point_of,
    start_sums,
    turn_by,
)
from .ik_limits import legal_rotation
from .jit import kernel
from .layout import Layout
from .vector import (
    IDENTITY,
    ZERO,
    conj,
    quat_at,
    rotate,
    set_quat,
    set_vec3,
    vec3_at,
)

STALLED = 12  # the search ends after so many passes
PROGRESS = 0.995  # that leave more than this share of the least squared residual

NODE = Layout("node", bone=3, frame=4, target=3, pull=1)
"""Its position relative to the mover it is attached to; the rotation of its parent, or of the
goal's joint, relative to that; the position that it should have, and the weight of that."""
PASS = Layout("pass", backward=4, rotation=4, position=3)
"""Of a mover in the world: rotation by the backward pass; rotation and position by the forward."""


@kernel
def relative_frames(chain, world, nodes):
    """Write bones and frames of all nodes, which do not change as movers turn."""
    movers = chain.movers.shape[0]
    for k in range(nodes.shape[0]):
        if k < movers:
            position = vec3_at(world[chain.movers[k, MOVER.joint]], POSITION)
            j = chain.movers[k, MOVER.parent]
        else:
            position = point_of(chain.goals, k - movers, world)
            j = int(chain.goals[k - movers, GOAL.owner])
        frame = quat_at(world[j], 0) if j >= 0 else IDENTITY
        up = chain.tree[k, TREE.parent]
        if up >= 0:
            parent = world[chain.movers[up, MOVER.joint]]
            inverse = conj(quat_at(parent, 0))
            position = rotate(inverse, position - vec3_at(parent, POSITION))
            frame = inverse * frame
        set_vec3(nodes[k], NODE.bone, position)
        set_quat(nodes[k], NODE.frame, frame)


@kernel
def gather_nodes(tree, m, nodes, sums):
    """Add the arms of the nodes attached to mover m."""
    rotation, center = quat_at(sums, SUMS.rotation), vec3_at(sums, SUMS.center)
    for at in range(tree[m, TREE.first_child], tree[m + 1, TREE.first_child]):
        node = nodes[tree[at, TREE.child]]
        arm = rotate(rotation, vec3_at(node, NODE.bone))
        gather_arm(sums, node[NODE.pull], arm, vec3_at(node, NODE.target) - center)


@kernel
def wanted_rotation(chain, targets, m, nodes):
    """Return the rotation in the world that a goal prescribes for mover m."""
    g = chain.tree[m, TREE.orient]
    return quat_at(targets[g], 0) * conj(quat_at(nodes[chain.movers.shape[0] + g], NODE.frame))


@kernel
def reach_backward(chain, targets, world, nodes, passes, sums):
    """Write the targets of all nodes, from the ends to the root."""
    tree, goals = chain.tree, chain.goals
    movers, all_axes = chain.movers.shape[0], np.zeros((3, 3))
    all_axes[0, 0] = all_axes[1, 1] = all_axes[2, 2] = 1.0
    longest, sums[SUMS.largest] = sums[SUMS.largest], 9.0  # radians: turns are not bounded here
    for g in range(goals.shape[0]):
        reaches, node = goals[g, GOAL.kind] == REACH, nodes[movers + g]
        node[NODE.pull] = sums[SUMS.scale] * goals[g, GOAL.weight] if reaches else 0.0
        set_vec3(node, NODE.target, vec3_at(targets[g], 0))
    for m in range(movers - 1, -1, -1):
        at = world[chain.movers[m, MOVER.joint]]
        if tree[m, TREE.orient] >= 0:
            rotation = wanted_rotation(chain, targets, m, nodes)
        else:
            rotation = quat_at(at, 0)
            start_sums(sums, rotation, vec3_at(at, POSITION))
            gather_nodes(tree, m, nodes, sums)
            turn, _ = best_turn(all_axes, 3, sums)
            rotation = turn_by(rotation, turn)
        set_quat(passes[m], PASS.backward, rotation)
        place_mover(tree, m, rotation, nodes)
    sums[SUMS.largest] = longest


@kernel
def place_mover(tree, m, rotation, nodes):
    """Write the target of mover m that its nodes' targets need: the weighted mean."""
    total, mean = 0.0, ZERO
    for at in range(tree[m, TREE.first_child], tree[m + 1, TREE.first_child]):
        node = nodes[tree[at, TREE.child]]
        square = node[NODE.pull] ** 2
        total += square
        arm = rotate(rotation, vec3_at(node, NODE.bone))
        mean = mean + square * (vec3_at(node, NODE.target) - arm)
    nodes[m, NODE.pull] = np.sqrt(total)
    set_vec3(nodes[m], NODE.target, mean / max(total, 1e-300))


@kernel
def gather_ends(chain, targets, m, work, sums):
    """Add the arms of the goals below the nodes of mover m.

    The joints after it still have the rotations at which the world was placed.
    """
    goals, state, movers = chain.goals, work.state, chain.movers.shape[0]
    old, center = work.world[chain.movers[m, MOVER.joint]], vec3_at(sums, SUMS.center)
    turn = quat_at(sums, SUMS.rotation) * conj(quat_at(old, 0))
    for g in range(goals.shape[0]):
        if not chain.moves[g, m] or chain.tree[movers + g, TREE.parent] == m:
            continue
        if goals[g, GOAL.kind] == REACH:
            arm = rotate(turn, vec3_at(state[g], STATE.point) - vec3_at(old, POSITION))
            weight = sums[SUMS.scale] * goals[g, GOAL.weight]
            gather_arm(sums, weight, arm, vec3_at(targets[g], 0) - center)
        else:
            rotation = turn * quat_at(work.world[int(goals[g, GOAL.owner])], 0)
            weight = TURN_SHARE * goals[g, GOAL.weight]
            gather_turn(sums, weight, rotation * conj(quat_at(targets[g], 0)))


@kernel
def turn_mover(chain, targets, m, ends, work, nodes, passes, sums):
    """Turn mover m, in the trial, to the targets of its nodes, and with `ends` to the goals below.

    The result is legal.
    """
    own, tree = work.trial_q[chain.movers[m, MOVER.joint]], chain.tree
    rotation = quat_at(passes[m], PASS.rotation) * quat_at(own, 0)
    start_sums(sums, rotation, vec3_at(passes[m], PASS.position))
    gather_nodes(tree, m, nodes, sums)
    if tree[m, TREE.orient] >= 0:
        weight = TURN_SHARE * chain.goals[tree[m, TREE.orient], GOAL.weight]
        gather_turn(sums, weight, rotation * conj(wanted_rotation(chain, targets, m, nodes)))
    if ends:
        gather_ends(chain, targets, m, work, sums)
    turn, _ = best_turn(work.basis[m], chain.movers[m, MOVER.freedoms], sums)
    legal, _ = legal_rotation(chain, m, turn_by(quat_at(own, 0), turn), work)
    set_quat(own, 0, legal)


@kernel
def move_with_parent(tree, m, nodes, passes):
    """Write the forward position of mover m, and as its rotation that of its parent."""
    up, frame = tree[m, TREE.parent], quat_at(nodes[m], NODE.frame)
    position = vec3_at(nodes[m], NODE.bone)
    if up >= 0:
        parent = quat_at(passes[up], PASS.rotation)
        frame = parent * frame
        position = vec3_at(passes[up], PASS.position) + rotate(parent, position)
    set_quat(passes[m], PASS.rotation, frame)
    set_vec3(passes[m], PASS.position, position)


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def fabrik_each(chain, settings, targets, q, p, numbers, counts, flags):
    """As `descend_each`, by backward and forward passes; steps are pairs of them."""
    work, slides, movers = new_work(chain), chain.slides.shape[0] > 0, chain.movers
    trial_q, trial_p, world = work.trial_q, work.trial_p, work.world
    nodes = np.zeros((movers.shape[0] + chain.goals.shape[0], NODE.SIZE))
    passes, sums = np.zeros((movers.shape[0], PASS.SIZE)), np.zeros(SUMS.SIZE)
    most, enough = int(settings[SETTINGS.iterations]), settings[SETTINGS.goal_tolerance]
    sums[SUMS.largest] = settings[SETTINGS.largest_step]
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / numbers[i, NUMBERS.length], 0, 0, targets[i]
        sums[SUMS.scale] = scale
        square, worst = evaluate(chain, target, scale, q[i], p[i], work)
        relative_frames(chain, world, nodes)
        copy_rows(q[i], trial_q)
        copy_rows(p[i], trial_p)
        while count < most and stalled < STALLED and worst > enough:
            count += 1
            reach_backward(chain, target, world, nodes, passes, sums)
            refresh_basis(movers, chain.ways, chain.swings, chain.basis, trial_q, work.basis)
            for m in range(movers.shape[0]):
                move_with_parent(chain.tree, m, nodes, passes)
                turn_mover(chain, target, m, False, work, nodes, passes, sums)
                turn_mover(chain, target, m, True, work, nodes, passes, sums)
                own = quat_at(trial_q[movers[m, MOVER.joint]], 0)
                set_quat(passes[m], PASS.rotation, quat_at(passes[m], PASS.rotation) * own)
            if slides:
                place(chain.parents, chain.order, trial_q, trial_p, world)
                for g in range(chain.goals.shape[0]):
                    set_vec3(work.state[g], STATE.point, point_of(chain.goals, g, world))
                slide_roots(chain, target, trial_p, work.state)
            now, worst_now = evaluate(chain, target, scale, trial_q, trial_p, work)
            if slides:
                relative_frames(chain, world, nodes)
            stalled = stalled + 1 if now > PROGRESS * square else 0
            if now < square:
                square, worst = now, worst_now
                copy_rows(trial_q, q[i])
                copy_rows(trial_p, p[i])
        counts[i, COUNTS.steps] += count
        numbers[i, NUMBERS.square], flags[i, FLAGS.met] = square, worst <= enough
