"""Joints turn one after the other, from the body to the head, until an axis points at a target."""

from __future__ import annotations

import math

import numpy as np

from .ik_chain import (
    AXIS,
    JOINT,
    LIMIT,
    MET,
    POINT,
    SQUARE,
    STEPS,
    cross,
    from_relative,
    from_vector,
    length,
    new_work,
    product,
    rotate,
    to_relative,
)
from .ik_goals import TURN_SHARE, place_one
from .ik_limits import is_clear, note_clear, project_one
from .jit import kernel
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

# Of the settings: rounds over all joints at most, what counts as met, then the share of each mover.
ROUNDS, TOLERANCE, SHARES = 0, 1, 2
# Of the buffer that is handed around: the head's rotation and position in the world, and the turn
# that brings its axis to the target, in the world.
HEAD, WAY = 0, 7
BUFFER = 10
PARALLEL = 4.0 * 2.220446049250313e-16  # sine within which directions are opposite


@kernel
def shortest_turn(ax, ay, az, bx, by, bz):
    """Return the rotation vector of the shortest turn from one unit vector to another.

    The sine is that of a and the small difference of a and ±b: of near parallels a × b cancels.
    Opposite ones give a half turn about an axis across a.
    """
    along = ax * bx + ay * by + az * bz
    side = 1.0 if along < 0.0 else -1.0
    x, y, z = cross(ax, ay, az, bx + side * ax, by + side * ay, bz + side * az)
    sine = length(x, y, z)
    if along < 0.0 and sine <= PARALLEL:
        first = abs(ax) <= abs(ay) and abs(ax) <= abs(az)
        second = not first and abs(ay) <= abs(az)
        ex, ey = 1.0 if first else 0.0, 1.0 if second else 0.0
        x, y, z = cross(ax, ay, az, ex, ey, 1.0 - ex - ey)
        factor = np.pi / length(x, y, z)
    else:
        cx, cy, cz = ax + bx, ay + by, az + bz
        angle = 2.0 * math.atan2(sine, 0.5 * (cx * cx + cy * cy + cz * cz))
        factor = angle / sine if sine > 0.0 else 1.0
    return factor * x, factor * y, factor * z


@kernel
def remaining_turn(goals, target, buffer):
    """Write the turn that brings the head's axis to the target; return its angle.

    An axis that starts at the very target points at it.
    """
    w, x, y, z = buffer[HEAD], buffer[HEAD + 1], buffer[HEAD + 2], buffer[HEAD + 3]
    ax, ay, az = rotate(w, x, y, z, goals[0, AXIS], goals[0, AXIS + 1], goals[0, AXIS + 2])
    px, py, pz = rotate(w, x, y, z, goals[0, POINT], goals[0, POINT + 1], goals[0, POINT + 2])
    px, py = target[0] - buffer[HEAD + 4] - px, target[1] - buffer[HEAD + 5] - py
    pz = target[2] - buffer[HEAD + 6] - pz
    far = length(px, py, pz)
    if far <= 1e-12:
        buffer[WAY], buffer[WAY + 1], buffer[WAY + 2] = 0.0, 0.0, 0.0
        return 0.0
    px, py, pz = px / far, py / far, pz / far
    size = 1.0 / length(ax, ay, az)
    px, py, pz = shortest_turn(size * ax, size * ay, size * az, px, py, pz)
    buffer[WAY], buffer[WAY + 1], buffer[WAY + 2] = px, py, pz
    return length(px, py, pz)


@kernel
def turn_head(j, w, x, y, z, world, buffer):
    """Carry the head along, as joint j has turned; its rotation in the world was w, x, y, z."""
    w, x, y, z = product(world[j, 0], world[j, 1], world[j, 2], world[j, 3], w, -x, -y, -z)
    px, py, pz = world[j, 4], world[j, 5], world[j, 6]
    vx, vy, vz = buffer[HEAD + 4] - px, buffer[HEAD + 5] - py, buffer[HEAD + 6] - pz
    vx, vy, vz = rotate(w, x, y, z, vx, vy, vz)
    buffer[HEAD + 4], buffer[HEAD + 5], buffer[HEAD + 6] = px + vx, py + vy, pz + vz
    hw, hx, hy, hz = buffer[HEAD], buffer[HEAD + 1], buffer[HEAD + 2], buffer[HEAD + 3]
    w, x, y, z = product(w, x, y, z, hw, hx, hy, hz)
    buffer[HEAD], buffer[HEAD + 1], buffer[HEAD + 2], buffer[HEAD + 3] = w, x, y, z


@kernel
def propose_turn(j, share, q, world, buffer, block):
    """Write joint j's rotation to the block, turned by a share of what the head still has to."""
    vx, vy, vz = share * buffer[WAY], share * buffer[WAY + 1], share * buffer[WAY + 2]
    # The same vector as the joint itself sees it.
    vx, vy, vz = rotate(world[j, 0], -world[j, 1], -world[j, 2], -world[j, 3], vx, vy, vz)
    w, x, y, z = from_vector(vx, vy, vz)
    w, x, y, z = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], w, x, y, z)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    block[W0], block[X0], block[Y0], block[Z0] = size * w, size * x, size * y, size * z


@kernel
def take_turn(m, j, chain, q, work):
    """Turn mover m, the joint j, to the rotation in the block, as far as its limit allows."""
    block, at = work.block, chain.movers[m, LIMIT]
    aw, ax, ay, az = block[W0], block[X0], block[Y0], block[Z0]
    w, x, y, z = to_relative(chain.ways, m, q, q, aw, ax, ay, az)
    if at >= 0 and not is_clear(m, w, x, y, z, work.clear):
        block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
        if project_one(chain.packed, at, chain.tolerance, block, work.other, work.lanes):
            w, x, y, z = block[QW], block[QX], block[QY], block[QZ]
            aw, ax, ay, az = from_relative(chain.ways, m, q, q, w, x, y, z)
        else:
            note_clear(m, chain.packed, at, block, work.clear)
    w, x, y, z = aw, ax, ay, az
    q[j, 0], q[j, 1], q[j, 2], q[j, 3] = w, x, y, z


@kernel
def sweep(chain, settings, target, q, p, work, buffer):
    """Turn all movers once, from the body to the head."""
    parents, order, movers, world = chain.parents, chain.order, chain.movers, work.world
    last, m = order[order.shape[0] - 1], 0
    for k in range(order.shape[0]):
        j = order[k]
        place_one(parents, j, q, p, world)
        if j == last:  # from where it is, and not from how it was carried along
            for i in range(7):
                buffer[HEAD + i] = world[j, i]
        if m < movers.shape[0] and movers[m, JOINT] == j:
            remaining_turn(chain.goals, target, buffer)
            propose_turn(j, settings[SHARES + m], q, world, buffer, work.block)
            take_turn(m, j, chain, q, work)
            w, x, y, z = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
            place_one(parents, j, q, p, world)
            turn_head(j, w, x, y, z, world, buffer)
            m += 1


@kernel("Chain f8[] f8[,,] f8[,,] f8[,,] f8[,] i8[,] b1[,]")
def look_each(chain, settings, targets, q, p, numbers, counts, flags):
    """Turn the movers of poses q (n, joints, 4), p (n, joints, 3) until the head's axis is right.

    Adds the rounds taken, writes the square of what is left, and whether the goal is met.
    """
    work, buffer = new_work(chain), np.zeros(BUFFER)
    order = chain.order
    last = order[order.shape[0] - 1]
    for i in range(q.shape[0]):
        q_i, p_i, target, angle = q[i], p[i], targets[i, 0], 0.0
        for k in range(order.shape[0]):
            place_one(chain.parents, order[k], q_i, p_i, work.world)
        for k in range(7):
            buffer[HEAD + k] = work.world[last, k]
        for _ in range(int(settings[ROUNDS])):
            sweep(chain, settings, target, q_i, p_i, work, buffer)
            counts[i, STEPS] += 1
            angle = TURN_SHARE * remaining_turn(chain.goals, target, buffer)
            flags[i, MET] = angle <= settings[TOLERANCE]
            if flags[i, MET]:
                break
        numbers[i, SQUARE] = angle * angle
