"""FABRIK: goals pull positions back to the root, then joints turn after them within their limits.

Nodes are the movers, and after them the points of goals: what the chain bends at, and its ends.
The backward pass goes from the ends to the root: every mover is turned so that its nodes come to
their targets, and its own target is the place that leads there; where chains meet, the mean of
those. The forward pass goes from the root to the ends, turns each joint after these targets and
pulls it into its limit before the next, so the pose is legal after each. Positions alone would
leave the twist of a bone open, and a hinge below it stuck across its axis: so a joint turns twice,
after its own nodes, and then after these and all goals that it moves.

The tree has, by node, the mover that it hangs on (PARENT_NODE, -1 for none); nodes by the mover
that they hang on, one after the other (CHILD); by mover, where its own begin among these
(FIRST_CHILD, one more at the end), and the goal that says how it is turned in the world
(ORIENT_GOAL, -1 for none).
"""

from __future__ import annotations

import numpy as np

from .ik_ccd import slide_roots
from .ik_chain import (
    CHILD,
    FIRST_CHILD,
    FREEDOMS,
    GOAL_TOLERANCE,
    ITERATIONS,
    JOINT,
    KIND,
    LARGEST_STEP,
    LENGTH,
    LIMIT,
    MET,
    ORIENT_GOAL,
    OWNER,
    PARENT,
    PARENT_NODE,
    PLACE,
    REACH,
    SQUARE,
    STEPS,
    WEIGHT,
    copy_rows,
    new_work,
    product,
    refresh_basis,
    rotate,
)
from .ik_goals import (
    CENTER,
    LARGEST,
    SCALE,
    SUMS,
    TURN_SHARE,
    TURNED,
    best_turn,
    evaluate,
    gather_arm,
    gather_turn,
    place,
    point_of,
    turn_by,
)
from .ik_limits import is_clear, note_clear, project_one
from .jit import kernel
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

STALLED = 12  # passes with less than
PROGRESS = 0.995  # of the best so far are enough

# Of each node: where it is, as the mover sees it that it hangs on; the rotation of its parent, or
# of the goal's joint, as that sees it; where it should be, and how much that weighs.
BONE, FRAME, TARGET, PULL = 0, 3, 7, 10
NODE_COLUMNS = 11
# Of each mover: its rotation in the world by the backward pass, by the forward pass, and its place.
BACKWARD, FORWARD, FORWARD_PLACE = 0, 4, 8
PASS_COLUMNS = 11


@kernel
def relative_frames(chain, world, nodes):
    """Write bones and frames of all nodes: what stays the same however movers turn."""
    movers = chain.movers.shape[0]
    for k in range(nodes.shape[0]):
        if k < movers:
            j = chain.movers[k, JOINT]
            x, y, z = world[j, 4], world[j, 5], world[j, 6]
            j = chain.movers[k, PARENT]
        else:
            j = int(chain.goals[k - movers, OWNER])
            x, y, z = point_of(chain.goals, k - movers, world)
        a, b, c, d = 1.0, 0.0, 0.0, 0.0
        if j >= 0:
            a, b, c, d = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
        up = chain.tree[k, PARENT_NODE]
        if up >= 0:
            u = chain.movers[up, JOINT]
            w, i, m, n = world[u, 0], -world[u, 1], -world[u, 2], -world[u, 3]
            x, y, z = rotate(w, i, m, n, x - world[u, 4], y - world[u, 5], z - world[u, 6])
            a, b, c, d = product(w, i, m, n, a, b, c, d)
        bone, frame = nodes[k, BONE:], nodes[k, FRAME:]
        bone[0], bone[1], bone[2] = x, y, z
        frame[0], frame[1], frame[2], frame[3] = a, b, c, d


@kernel
def begin_sums(place, w, x, y, z, sums):
    """Begin the sums of a mover at `place`, with its rotation in the world."""
    for i in range(9):
        sums[i] = 0.0
    for i in range(3):
        sums[CENTER + i] = place[i]
    sums[TURNED], sums[TURNED + 1], sums[TURNED + 2], sums[TURNED + 3] = w, x, y, z


@kernel
def gather_nodes(tree, m, nodes, sums):
    """Add the nodes that hang on mover m to its sums."""
    w, x, y, z = sums[TURNED], sums[TURNED + 1], sums[TURNED + 2], sums[TURNED + 3]
    for at in range(tree[m, FIRST_CHILD], tree[m + 1, FIRST_CHILD]):
        k = tree[at, CHILD]
        bone, target = nodes[k, BONE:], nodes[k, TARGET:]
        ax, ay, az = rotate(w, x, y, z, bone[0], bone[1], bone[2])
        bx, by = target[0] - sums[CENTER], target[1] - sums[CENTER + 1]
        bz = target[2] - sums[CENTER + 2]
        gather_arm(sums, nodes[k, PULL], ax, ay, az, bx, by, bz)


@kernel
def wanted_turn(chain, targets, m, nodes):
    """Return the rotation in the world that a goal wants of mover m."""
    g = chain.tree[m, ORIENT_GOAL]
    frame = nodes[chain.movers.shape[0] + g, FRAME:]
    w, x, y, z = frame[0], frame[1], frame[2], frame[3]
    return product(targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3], w, -x, -y, -z)


@kernel
def reach_backward(chain, targets, world, nodes, passes, sums):
    """Go back from the ends to the root: write where each node should be."""
    tree, goals = chain.tree, chain.goals
    movers, all_axes, end = chain.movers.shape[0], np.zeros((1, 3, 3)), np.zeros(4)
    all_axes[0, 0, 0] = all_axes[0, 1, 1] = all_axes[0, 2, 2] = 1.0
    longest, sums[LARGEST] = sums[LARGEST], 9.0  # no turn is too large here
    for g in range(goals.shape[0]):
        reaches = goals[g, KIND] == REACH
        nodes[movers + g, PULL] = sums[SCALE] * goals[g, WEIGHT] if reaches else 0.0
        for i in range(3):
            nodes[movers + g, TARGET + i] = targets[g, i]
    for m in range(movers - 1, -1, -1):
        j = chain.movers[m, JOINT]
        w, x, y, z = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
        if tree[m, ORIENT_GOAL] >= 0:
            w, x, y, z = wanted_turn(chain, targets, m, nodes)
        else:
            begin_sums(world[j, 4:], w, x, y, z, sums)
            gather_nodes(tree, m, nodes, sums)
            vx, vy, vz, _ = best_turn(all_axes, 0, 3, sums)
            turn_by(world[j], vx, vy, vz, end)
            w, x, y, z = end[0], end[1], end[2], end[3]
        backward = passes[m, BACKWARD:]
        backward[0], backward[1], backward[2], backward[3] = w, x, y, z
        place_mover(tree, m, nodes, passes)
    sums[LARGEST] = longest


@kernel
def place_mover(tree, m, nodes, passes):
    """Write where mover m should be for its nodes to be where they should: the weighted mean."""
    b = passes[m, BACKWARD:]
    total, x, y, z = 0.0, 0.0, 0.0, 0.0
    for at in range(tree[m, FIRST_CHILD], tree[m + 1, FIRST_CHILD]):
        k = tree[at, CHILD]
        bone, target = nodes[k, BONE:], nodes[k, TARGET:]
        px, py, pz = rotate(b[0], b[1], b[2], b[3], bone[0], bone[1], bone[2])
        square = nodes[k, PULL] ** 2
        total += square
        x += square * (target[0] - px)
        y += square * (target[1] - py)
        z += square * (target[2] - pz)
    nodes[m, PULL] = np.sqrt(total)
    total = max(total, 1e-300)
    target = nodes[m, TARGET:]
    target[0], target[1], target[2] = x / total, y / total, z / total


@kernel
def gather_ends(chain, targets, m, work, sums):
    """Add to the sums the goals below the nodes of mover m.

    The joints after it are still as they were when the world was placed.
    """
    goals, state, j = chain.goals, work.state, chain.movers[m, JOINT]
    old, movers = work.world[j], chain.movers.shape[0]
    w, x, y, z = sums[TURNED], sums[TURNED + 1], sums[TURNED + 2], sums[TURNED + 3]
    w, x, y, z = product(w, x, y, z, old[0], -old[1], -old[2], -old[3])  # turned since
    for g in range(goals.shape[0]):
        if not chain.moves[g, m] or chain.tree[movers + g, PARENT_NODE] == m:
            continue
        t = targets[g]
        if goals[g, KIND] == REACH:
            px, py = state[g, PLACE] - old[4], state[g, PLACE + 1] - old[5]
            px, py, pz = rotate(w, x, y, z, px, py, state[g, PLACE + 2] - old[6])
            bx, by = t[0] - sums[CENTER], t[1] - sums[CENTER + 1]
            bz = t[2] - sums[CENTER + 2]
            gather_arm(sums, sums[SCALE] * goals[g, WEIGHT], px, py, pz, bx, by, bz)
        else:
            r = work.world[int(goals[g, OWNER])]
            a, b, c, d = product(w, x, y, z, r[0], r[1], r[2], r[3])
            a, b, c, d = product(a, b, c, d, t[0], -t[1], -t[2], -t[3])
            gather_turn(sums, TURN_SHARE * goals[g, WEIGHT], a, b, c, d)


@kernel
def turn_mover(chain, targets, m, ends, work, nodes, passes, sums):
    """Turn mover m, in the trial, after the targets of its nodes, and of the `ends` below."""
    r, o = work.trial_q[chain.movers[m, JOINT]], passes[m, FORWARD:]
    w, x, y, z = product(o[0], o[1], o[2], o[3], r[0], r[1], r[2], r[3])
    begin_sums(passes[m, FORWARD_PLACE:], w, x, y, z, sums)
    gather_nodes(chain.tree, m, nodes, sums)
    g = chain.tree[m, ORIENT_GOAL]
    if g >= 0:
        tw, tx, ty, tz = wanted_turn(chain, targets, m, nodes)
        tw, tx, ty, tz = product(w, x, y, z, tw, -tx, -ty, -tz)
        gather_turn(sums, TURN_SHARE * chain.goals[g, WEIGHT], tw, tx, ty, tz)
    if ends:
        gather_ends(chain, targets, m, work, sums)
    vx, vy, vz, _ = best_turn(work.basis, m, chain.movers[m, FREEDOMS], sums)
    turn_by(r, vx, vy, vz, r)


@kernel
def move_with_parent(tree, m, nodes, passes):
    """Write where mover m has come to, and as its rotation that of its parent."""
    up, f, bone = tree[m, PARENT_NODE], nodes[m, FRAME:], nodes[m, BONE:]
    a, b, c, d = f[0], f[1], f[2], f[3]
    x, y, z = bone[0], bone[1], bone[2]
    if up >= 0:
        u, v = passes[up, FORWARD:], passes[up, FORWARD_PLACE:]
        a, b, c, d = product(u[0], u[1], u[2], u[3], a, b, c, d)
        x, y, z = rotate(u[0], u[1], u[2], u[3], x, y, z)
        x, y, z = v[0] + x, v[1] + y, v[2] + z
    o, here = passes[m, FORWARD:], passes[m, FORWARD_PLACE:]
    o[0], o[1], o[2], o[3] = a, b, c, d
    here[0], here[1], here[2] = x, y, z


@kernel
def slide(chain, targets, q, p, work):
    """Move the roots that may, after the points as they are now."""
    goals, state = chain.goals, work.state
    place(chain.parents, chain.order, q, p, work.world)
    for g in range(goals.shape[0]):
        x, y, z = point_of(goals, g, work.world)
        state[g, PLACE], state[g, PLACE + 1], state[g, PLACE + 2] = x, y, z
    slide_roots(chain, targets, p, state)


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def fabrik_each(chain, settings, targets, q, p, numbers, counts, flags):
    """As `descend_each`, by backward and forward passes; steps are pairs of them."""
    work, slides, tree = new_work(chain), chain.slides.shape[0] > 0, chain.tree
    movers, packed, tolerance = chain.movers, chain.packed, chain.tolerance
    clear, block, other, lanes = work.clear, work.block, work.other, work.lanes
    trial_q, trial_p, world = work.trial_q, work.trial_p, work.world
    nodes = np.zeros((movers.shape[0] + chain.goals.shape[0], NODE_COLUMNS))
    passes, sums = np.zeros((movers.shape[0], PASS_COLUMNS)), np.zeros(SUMS)
    most, enough = int(settings[ITERATIONS]), settings[GOAL_TOLERANCE]
    sums[LARGEST] = settings[LARGEST_STEP]
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / numbers[i, LENGTH], 0, 0, targets[i]
        sums[SCALE] = scale
        square, worst = evaluate(chain, target, scale, q[i], p[i], work)
        relative_frames(chain, world, nodes)
        copy_rows(q[i], trial_q)
        copy_rows(p[i], trial_p)
        while count < most and stalled < STALLED and worst > enough:
            count += 1
            reach_backward(chain, target, world, nodes, passes, sums)
            refresh_basis(movers, chain.ways, chain.swings, chain.basis, trial_q, work.basis)
            for m in range(movers.shape[0]):
                move_with_parent(tree, m, nodes, passes)
                r, at = trial_q[movers[m, JOINT]], movers[m, LIMIT]
                for ends in range(2):
                    turn_mover(chain, target, m, ends == 1, work, nodes, passes, sums)
                    if at >= 0 and not is_clear(m, r[0], r[1], r[2], r[3], clear):
                        block[W0], block[X0], block[Y0], block[Z0] = r[0], r[1], r[2], r[3]
                        if project_one(packed, at, tolerance, block, other, lanes):
                            r[0], r[1], r[2], r[3] = block[QW], block[QX], block[QY], block[QZ]
                        else:
                            note_clear(m, packed, at, block, clear)
                o = passes[m, FORWARD:]
                w, x, y, z = product(o[0], o[1], o[2], o[3], r[0], r[1], r[2], r[3])
                o[0], o[1], o[2], o[3] = w, x, y, z
            if slides:
                slide(chain, target, trial_q, trial_p, work)
            now, worst_now = evaluate(chain, target, scale, trial_q, trial_p, work)
            if slides:
                relative_frames(chain, world, nodes)
            stalled = stalled + 1 if now > PROGRESS * square else 0
            if now < square:
                square, worst = now, worst_now
                copy_rows(trial_q, q[i])
                copy_rows(trial_p, p[i])
        counts[i, STEPS] += count
        numbers[i, SQUARE], flags[i, MET] = square, worst <= enough
