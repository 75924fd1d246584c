"""Turn joints one after the other, from the body to the head, until an axis points at a target."""

from __future__ import annotations

import numpy as np

from .ik_chain import (
    COUNTS,
    FLAGS,
    GOAL,
    MOVER,
    NUMBERS,
    POSITION,
    from_relative,
    new_work,
    to_relative,
)
from .ik_goals import TURN_SHARE, legal_rotation, place_one, turn_by
from .jit import kernel
from .layout import Layout
from .vector import (
    ZERO,
    conj,
    copy,
    norm,
    quat_at,
    rotate,
    set_quat,
    set_vec3,
    shortest_turn,
    vec3_at,
)

SETTINGS = Layout("settings", rounds=1, tolerance=1, shares=0)
"""Rounds over all joints, at most; residual that counts as met; then the share of each mover."""


@kernel
def remaining_turn(goal, target, head):
    """Return the rotation vector, in the world, that turns the axis of a goal to the target.

    `head` is the rotation and position in the world of the goal's joint. The vector is 0 if the
    axis starts at the target.
    """
    rotation = quat_at(head, 0)
    axis = rotate(rotation, vec3_at(goal, GOAL.axis))
    start = vec3_at(head, POSITION) + rotate(rotation, vec3_at(goal, GOAL.point))
    way = vec3_at(target, 0) - start
    far = norm(way)
    return shortest_turn((1.0 / norm(axis)) * axis, way / far) if far > 1e-12 else ZERO


@kernel
def turn_head(head, center, turn):
    """Turn the head by a rotation in the world about a center."""
    arm = vec3_at(head, POSITION) - center
    set_vec3(head, POSITION, center + rotate(turn, arm))
    set_quat(head, 0, turn * quat_at(head, 0))


@kernel
def sweep(chain, settings, target, q, p, work, head):
    """Turn all movers once, from the body to the head, each by its share of the remaining turn."""
    parents, order, movers, world = chain.parents, chain.order, chain.movers, work.world
    last, m = order[order.shape[0] - 1], 0
    for k in range(order.shape[0]):
        j = order[k]
        place_one(parents, j, q, p, world)
        if j == last:  # its exact place, not the one carried along
            copy(world[j], head)
        if m < movers.shape[0] and movers[m, MOVER.joint] == j:
            before, own = quat_at(world[j], 0), quat_at(q[j], 0)
            share = settings[SETTINGS.shares + m]
            turn = rotate(conj(before), share * remaining_turn(chain.goals[0], target, head))
            own = turn_by(own, turn)
            legal, moved = legal_rotation(chain, m, to_relative(chain.ways[m], q, q, own))
            set_quat(q[j], 0, from_relative(chain.ways[m], q, q, legal) if moved else own)
            place_one(parents, j, q, p, world)
            turn_head(head, vec3_at(world[j], POSITION), quat_at(world[j], 0) * conj(before))
            m += 1


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def look_each(chain, settings, targets, q, p, numbers, counts, flags):
    """Turn the movers of poses q (n, joints, 4), p (n, joints, 3) until the head's axis is right.

    Adds the rounds taken, writes the squared residual, and True if the goal is met.
    """
    work, head, order = new_work(chain), np.zeros(7), chain.order
    last = order[order.shape[0] - 1]
    for i in range(q.shape[0]):
        target, angle = targets[i, 0], 0.0
        for k in range(order.shape[0]):
            place_one(chain.parents, order[k], q[i], p[i], work.world)
        copy(work.world[last], head)
        for _ in range(int(settings[SETTINGS.rounds])):
            sweep(chain, settings, target, q[i], p[i], work, head)
            counts[i, COUNTS.steps] += 1
            angle = TURN_SHARE * norm(remaining_turn(chain.goals[0], target, head))
            flags[i, FLAGS.met] = angle <= settings[SETTINGS.tolerance]
            if flags[i, FLAGS.met]:
                break
        numbers[i, NUMBERS.square] = angle * angle
