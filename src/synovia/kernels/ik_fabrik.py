"""FABRIK: goals pull positions back to the root, then joints turn after them within their limits.

Nodes are the movers, and after them the points of goals: what the chain bends at, and its ends.
A pass back goes from the ends to the root: every mover is turned so that its nodes come to where
they should be, and asks for the place that leads there; where chains meet, for the mean of what
they ask. A pass forth goes from the root to the ends, turns each joint after what was asked and
pulls it into its limit before the next, so the pose is legal after each. Positions alone would
leave the twist of a bone open, and a hinge below it stuck across its axis: so a joint turns twice,
after its own nodes, and then after these and all goals that it moves.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .ik_ccd import slide_roots
from .ik_chain import REACH, new_work, product, refresh_basis, rotate
from .ik_goals import (
    TURN_SHARE,
    best_turn,
    gather_arm,
    gather_turn,
    place,
    point_of,
    residuals,
    turn_by,
)
from .ik_limits import is_clear, note_clear, project_one
from .jit import kernel
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

STALLED = 12  # passes with less than
PROGRESS = 0.995  # of the best so far are enough

Tree = namedtuple(
    "Tree",
    [
        "above",  # (nodes,) the mover that a node hangs on; -1 for none
        "kids",  # nodes by the mover that they hang on, one after the other
        "first",  # (movers + 1,) where those of each begin
        "turns",  # (movers,) the goal that says how a mover is turned in the world; -1 for none
    ],
)

Room = namedtuple(
    "Room",
    [
        "bones",  # (nodes, 3) where it is, as the mover sees it that it hangs on
        "frames",  # (nodes, 4) rotation of its parent, or of the goal's joint, as that sees it
        "asked",  # (nodes, 3) where it should be
        "weights",  # (nodes,) and how much that weighs
        "back",  # (movers, 4) rotations in the world, by the pass back
        "forth_q",  # (movers, 4) and by the pass forth
        "forth_p",  # (movers, 3) with the places
        "sums",  # (9,)
        "end",  # (4,)
        "points",  # (goals, 3) where those of goals are before the pass forth
    ],
)


@kernel
def new_room(chain, tree):
    """Return room for the passes."""
    nodes, movers = tree.above.shape[0], chain.movers.shape[0]
    return Room(
        np.zeros((nodes, 3)),
        np.zeros((nodes, 4)),
        np.zeros((nodes, 3)),
        np.zeros(nodes),
        np.zeros((movers, 4)),
        np.zeros((movers, 4)),
        np.zeros((movers, 3)),
        np.zeros(9),
        np.zeros(4),
        np.zeros((chain.kinds.shape[0], 3)),
    )


@kernel
def relative_frames(chain, tree, work, room):
    """Write bones and frames of all nodes: what stays the same however movers turn."""
    movers, wq, wp = chain.movers.shape[0], work.world_q, work.world_p
    for k in range(tree.above.shape[0]):
        if k < movers:
            j = chain.movers[k]
            x, y, z = wp[j, 0], wp[j, 1], wp[j, 2]
            j = chain.parents[j]
        else:
            j = chain.owners[k - movers]
            x, y, z = point_of(chain, k - movers, work)
        a, b, c, d = 1.0, 0.0, 0.0, 0.0
        if j >= 0:
            a, b, c, d = wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3]
        up = tree.above[k]
        if up >= 0:
            u = chain.movers[up]
            w, i, m, n = wq[u, 0], -wq[u, 1], -wq[u, 2], -wq[u, 3]
            x, y, z = rotate(w, i, m, n, x - wp[u, 0], y - wp[u, 1], z - wp[u, 2])
            a, b, c, d = product(w, i, m, n, a, b, c, d)
        room.bones[k, 0], room.bones[k, 1], room.bones[k, 2] = x, y, z
        room.frames[k, 0], room.frames[k, 1], room.frames[k, 2], room.frames[k, 3] = a, b, c, d


@kernel
def gather_node(room, k, weight, cx, cy, cz, qw, qx, qy, qz):
    """Add node k, whose mover is at c with the rotation q in the world, to the sums."""
    x, y, z = rotate(qw, qx, qy, qz, room.bones[k, 0], room.bones[k, 1], room.bones[k, 2])
    asked = room.asked[k]
    gather_arm(room.sums, weight, x, y, z, asked[0] - cx, asked[1] - cy, asked[2] - cz)


@kernel
def wanted_turn(chain, tree, targets, m, room):
    """Return the rotation in the world that a goal wants of mover m."""
    g = tree.turns[m]
    k = chain.movers.shape[0] + g
    w, x, y, z = room.frames[k, 0], room.frames[k, 1], room.frames[k, 2], room.frames[k, 3]
    return product(targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3], w, -x, -y, -z)


@kernel
def reach_backward(chain, tree, targets, scale, work, room):
    """Go back from the ends to the root: write where each node should be."""
    movers, all_axes = chain.movers.shape[0], np.eye(3).reshape(1, 3, 3)
    for g in range(chain.kinds.shape[0]):
        room.weights[movers + g] = scale * chain.weights[g] if chain.kinds[g] == REACH else 0.0
        for i in range(3):
            room.asked[movers + g, i] = targets[g, i]
    for m in range(movers - 1, -1, -1):
        j, wq, wp = chain.movers[m], work.world_q, work.world_p
        w, x, y, z = wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3]
        if tree.turns[m] >= 0:
            w, x, y, z = wanted_turn(chain, tree, targets, m, room)
        else:
            room.sums[:] = 0.0
            for at in range(tree.first[m], tree.first[m + 1]):
                k = tree.kids[at]
                gather_node(room, k, room.weights[k], wp[j, 0], wp[j, 1], wp[j, 2], w, x, y, z)
            vx, vy, vz, _ = best_turn(all_axes, 0, 3, 9.0, room.sums, w, x, y, z)
            turn_by(wq[j], vx, vy, vz, room.end)
            w, x, y, z = room.end[0], room.end[1], room.end[2], room.end[3]
        room.back[m, 0], room.back[m, 1], room.back[m, 2], room.back[m, 3] = w, x, y, z
        place_mover(tree, m, room)


@kernel
def place_mover(tree, m, room):
    """Write where mover m should be for its nodes to be where they should: the weighted mean."""
    b, asked, bones = room.back[m], room.asked, room.bones
    total, x, y, z = 0.0, 0.0, 0.0, 0.0
    for at in range(tree.first[m], tree.first[m + 1]):
        k = tree.kids[at]
        px, py, pz = rotate(b[0], b[1], b[2], b[3], bones[k, 0], bones[k, 1], bones[k, 2])
        square = room.weights[k] ** 2
        total += square
        x += square * (asked[k, 0] - px)
        y += square * (asked[k, 1] - py)
        z += square * (asked[k, 2] - pz)
    room.weights[m] = np.sqrt(total)
    total = max(total, 1e-300)
    asked[m, 0], asked[m, 1], asked[m, 2] = x / total, y / total, z / total


@kernel
def gather_ends(chain, tree, targets, scale, m, work, room, w, x, y, z):
    """Add to the sums the goals below the nodes of mover m, which has that rotation by now.

    The joints after it are still as they were when `work` was placed.
    """
    j, movers = chain.movers[m], chain.movers.shape[0]
    old, at, here = work.world_q[j], work.world_p[j], room.forth_p[m]
    w, x, y, z = product(w, x, y, z, old[0], -old[1], -old[2], -old[3])  # turned since
    for g in range(chain.kinds.shape[0]):
        if not chain.moves[g, m] or tree.above[movers + g] == m:
            continue
        t = targets[g]
        if chain.kinds[g] == REACH:
            e = room.points[g]
            px, py, pz = rotate(w, x, y, z, e[0] - at[0], e[1] - at[1], e[2] - at[2])
            bx, by, bz = t[0] - here[0], t[1] - here[1], t[2] - here[2]
            gather_arm(room.sums, scale * chain.weights[g], px, py, pz, bx, by, bz)
        else:
            r = work.world_q[chain.owners[g]]
            a, b, c, d = product(w, x, y, z, r[0], r[1], r[2], r[3])
            a, b, c, d = product(a, b, c, d, t[0], -t[1], -t[2], -t[3])
            gather_turn(room.sums, TURN_SHARE * chain.weights[g], a, b, c, d)


@kernel
def turn_mover(chain, tree, targets, scale, longest, m, ends, r, work, room):
    """Turn the rotation r of mover m after what was asked of its nodes, and of the `ends` below."""
    here, o = room.forth_p[m], room.forth_q[m]
    w, x, y, z = product(o[0], o[1], o[2], o[3], r[0], r[1], r[2], r[3])
    room.sums[:] = 0.0
    for number in range(tree.first[m], tree.first[m + 1]):
        k = tree.kids[number]
        gather_node(room, k, room.weights[k], here[0], here[1], here[2], w, x, y, z)
    g = tree.turns[m]
    if g >= 0:
        tw, tx, ty, tz = wanted_turn(chain, tree, targets, m, room)
        tw, tx, ty, tz = product(w, x, y, z, tw, -tx, -ty, -tz)
        gather_turn(room.sums, TURN_SHARE * chain.weights[g], tw, tx, ty, tz)
    if ends:
        gather_ends(chain, tree, targets, scale, m, work, room, w, x, y, z)
    vx, vy, vz, _ = best_turn(work.basis, m, chain.freedoms[m], longest, room.sums, w, x, y, z)
    turn_by(r, vx, vy, vz, r)


@kernel
def start_forward(chain, q, work, room):
    """Write the axes of movers, and where the points of goals are."""
    refresh_basis(chain.movers, chain.swings, chain.basis, q, work.basis)
    for g in range(chain.kinds.shape[0]):
        room.points[g, 0], room.points[g, 1], room.points[g, 2] = point_of(chain, g, work)


@kernel
def move_with_parent(tree, m, room):
    """Write where mover m has come to, and as its rotation that of its parent."""
    up, f, bone = tree.above[m], room.frames[m], room.bones[m]
    a, b, c, d = f[0], f[1], f[2], f[3]
    x, y, z = bone[0], bone[1], bone[2]
    if up >= 0:
        u, v = room.forth_q[up], room.forth_p[up]
        a, b, c, d = product(u[0], u[1], u[2], u[3], a, b, c, d)
        x, y, z = rotate(u[0], u[1], u[2], u[3], x, y, z)
        x, y, z = v[0] + x, v[1] + y, v[2] + z
    o, here = room.forth_q[m], room.forth_p[m]
    o[0], o[1], o[2], o[3] = a, b, c, d
    here[0], here[1], here[2] = x, y, z


@kernel
def slide(chain, targets, q, p, work, room):
    """Move the roots that may, after the points as they are now."""
    place(chain.parents, chain.order, q, p, work.world_q, work.world_p)
    for g in range(chain.kinds.shape[0]):
        room.points[g, 0], room.points[g, 1], room.points[g, 2] = point_of(chain, g, work)
    slide_roots(chain, targets, p, room.points)


@kernel
def fabrik_each(chain, tree, targets, lengths, most, longest, enough, q, p, steps, left, met):
    """As `descend_each`, by passes back and forth; steps are pairs of them.

    The pass forth is in this loop because every kernel that asks a limit has all shapes compiled
    into it once more.
    """
    work, room, slides = new_work(chain), new_room(chain, tree), chain.slides.shape[0] > 0
    packed, tolerance = chain.packed, chain.tolerance
    clear, block, other, lanes = work.clear, work.block, work.other, work.lanes
    for i in range(q.shape[0]):
        scale, stalled, count, target = 1.0 / lengths[i], 0, 0, targets[i]
        square, worst = residuals(chain, target, scale, q[i], p[i], work, work.r)
        relative_frames(chain, tree, work, room)
        work.trial_q[:] = q[i]
        work.trial_p[:] = p[i]
        trial_q, trial_p = work.trial_q, work.trial_p
        while count < most and stalled < STALLED and worst > enough:
            count += 1
            reach_backward(chain, tree, target, scale, work, room)
            start_forward(chain, trial_q, work, room)
            for m in range(chain.movers.shape[0]):
                move_with_parent(tree, m, room)
                r, at = trial_q[chain.movers[m]], chain.limits[m]
                for ends in range(2):
                    turn_mover(chain, tree, target, scale, longest, m, ends == 1, r, work, room)
                    if at >= 0 and not is_clear(m, r[0], r[1], r[2], r[3], clear):
                        block[W0], block[X0], block[Y0], block[Z0] = r[0], r[1], r[2], r[3]
                        if project_one(packed, at, tolerance, block, other, lanes):
                            r[0], r[1], r[2], r[3] = block[QW], block[QX], block[QY], block[QZ]
                        else:
                            note_clear(m, packed, at, block, clear)
                o = room.forth_q[m]
                w, x, y, z = product(o[0], o[1], o[2], o[3], r[0], r[1], r[2], r[3])
                o[0], o[1], o[2], o[3] = w, x, y, z
            if slides:
                slide(chain, target, trial_q, trial_p, work, room)
            now, worst_now = residuals(chain, target, scale, trial_q, trial_p, work, work.r)
            if slides:
                relative_frames(chain, tree, work, room)
            stalled = stalled + 1 if now > PROGRESS * square else 0
            if now < square:
                square, worst = now, worst_now
                q[i] = trial_q
                p[i] = trial_p
        steps[i] += count
        left[i], met[i] = square, worst <= enough
