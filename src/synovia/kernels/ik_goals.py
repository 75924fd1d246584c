"""What is left of the goals of a pose, and how that changes as its joints turn."""

from __future__ import annotations

import math

from .ik_chain import AIM, ORIENT, REACH, STAY
from .ik_swing import refresh_basis
from .ik_turns import aside, crossed, length, onward, product, to_vector, turned
from .jit import kernel

TURN_SHARE = 0.3  # a radian of direction counts as much as this share of the chain's length
OPPOSITE = 1e-6  # sine of the angle from straight back, within which any way round is as good


@kernel
def place(chain, q, p, work):
    """Write positions and rotations in the world of the joints that goals hang on."""
    wq, wp = work.world_q, work.world_p
    for k in range(chain.order.shape[0]):
        j = chain.order[k]
        up = chain.parents[j]
        if up < 0:
            for i in range(4):
                wq[j, i] = q[j, i]
            for i in range(3):
                wp[j, i] = p[j, i]
            continue
        w, x, y, z = wq[up, 0], wq[up, 1], wq[up, 2], wq[up, 3]
        px, py, pz = turned(w, x, y, z, p[j, 0], p[j, 1], p[j, 2])
        wp[j, 0], wp[j, 1], wp[j, 2] = wp[up, 0] + px, wp[up, 1] + py, wp[up, 2] + pz
        w, x, y, z = product(w, x, y, z, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3] = w, x, y, z


@kernel
def point_of(chain, g, work):
    """Return where the point of goal g is in the world."""
    j, wq, wp = chain.owners[g], work.world_q, work.world_p
    x, y, z = chain.points[g, 0], chain.points[g, 1], chain.points[g, 2]
    if x != 0.0 or y != 0.0 or z != 0.0:
        x, y, z = turned(wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3], x, y, z)
    return wp[j, 0] + x, wp[j, 1] + y, wp[j, 2] + z


@kernel
def sight(chain, targets, g, work):
    """Return the axis that aims, the direction to the target (unit), and how far off it is.

    Where the axis points straight back it is turned a hair, for the way round to be defined.
    """
    j, wq = chain.owners[g], work.world_q
    cx, cy, cz = turned(
        wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3], chain.axes[g, 0], chain.axes[g, 1], chain.axes[g, 2]
    )
    px, py, pz = point_of(chain, g, work)
    dx, dy, dz = targets[g, 0] - px, targets[g, 1] - py, targets[g, 2] - pz
    far = length(dx, dy, dz)
    if far < 1e-12:  # at the very point every direction is right
        return cx, cy, cz, cx, cy, cz, 1.0
    dx, dy, dz = dx / far, dy / far, dz / far
    x, y, z = crossed(cx, cy, cz, dx, dy, dz)
    if length(x, y, z) < OPPOSITE and cx * dx + cy * dy + cz * dz < 0.0:
        x, y, z = aside(dx, dy, dz)
        cx, cy, cz = cx + OPPOSITE * x, cy + OPPOSITE * y, cz + OPPOSITE * z
    return cx, cy, cz, dx, dy, dz, far


@kernel
def gap(chain, targets, g, q, work):
    """Return what is left of goal g: a way to go, or a rotation vector to turn by."""
    j, kind, wq = chain.owners[g], chain.kinds[g], work.world_q
    if kind == REACH:
        x, y, z = point_of(chain, g, work)
        return targets[g, 0] - x, targets[g, 1] - y, targets[g, 2] - z
    if kind == AIM:
        cx, cy, cz, dx, dy, dz, _ = sight(chain, targets, g, work)
        x, y, z = crossed(cx, cy, cz, dx, dy, dz)
        sine = length(x, y, z)
        angle = math.atan2(sine, cx * dx + cy * dy + cz * dz)
        factor = angle / sine if sine > 1e-12 else 1.0
        return factor * x, factor * y, factor * z
    w, x, y, z = targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3]
    if kind == ORIENT:
        w, x, y, z = product(w, x, y, z, wq[j, 0], -wq[j, 1], -wq[j, 2], -wq[j, 3])
    else:
        w, x, y, z = product(q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3], w, x, y, z)
    return to_vector(w, x, y, z)


@kernel
def left_over(chain, targets, scale, q, p, work, r):
    """Write what is left of all goals, weighted; return its square, and the worst by itself.

    `scale` is 1 over the chain's length. What should only stay is not among the worst.
    """
    place(chain, q, p, work)
    square, worst = 0.0, 0.0
    for g in range(chain.kinds.shape[0]):
        unit = scale if chain.kinds[g] == REACH else TURN_SHARE
        x, y, z = gap(chain, targets, g, q, work)
        size = unit * length(x, y, z)
        if chain.kinds[g] != STAY and not size <= worst:
            worst = size
        unit *= chain.weights[g]
        r[3 * g], r[3 * g + 1], r[3 * g + 2] = unit * x, unit * y, unit * z
        square += (chain.weights[g] * size) ** 2
    return square, worst


@kernel
def aim_change(chain, targets, g, work, vx, vy, vz, tx, ty, tz):
    """Return how fast the gap of an aim closes: joint's point moves by v, and turns by t.

    The gap is f c × d with f = θ/sin θ, of the axis c and the direction d.
    """
    cx, cy, cz, dx, dy, dz, far = sight(chain, targets, g, work)
    nx, ny, nz = crossed(cx, cy, cz, dx, dy, dz)
    sine, cosine = length(nx, ny, nz), cx * dx + cy * dy + cz * dz
    angle = math.atan2(sine, cosine)
    if sine < 1e-4 and cosine > 0.0:
        f, bend = 1.0 + angle * angle / 6.0, 1.0 / 3.0
    else:
        f, bend = angle / sine, (sine - angle * cosine) / sine**3
    ax, ay, az = crossed(tx, ty, tz, cx, cy, cz)
    along = dx * vx + dy * vy + dz * vz
    bx, by, bz = (dx * along - vx) / far, (dy * along - vy) / far, (dz * along - vz) / far
    kx, ky, kz = crossed(ax, ay, az, dx, dy, dz)
    lx, ly, lz = crossed(cx, cy, cz, bx, by, bz)
    bend *= ax * dx + ay * dy + az * dz + cx * bx + cy * by + cz * bz
    return bend * nx - f * (kx + lx), bend * ny - f * (ky + ly), bend * nz - f * (kz + lz)


@kernel
def column(chain, targets, scale, g, work, e, v, t):
    """Return how fast goal g's three numbers close, as its point moves by v and turns by t.

    e is its gap.
    """
    kind = chain.kinds[g]
    if kind == REACH:
        factor = scale * chain.weights[g]
        return factor * v[0], factor * v[1], factor * v[2]
    factor = TURN_SHARE * chain.weights[g]
    if kind == AIM:
        x, y, z = aim_change(chain, targets, g, work, v[0], v[1], v[2], t[0], t[1], t[2])
    else:
        x, y, z = onward(e[0], e[1], e[2], 1.0 if kind == ORIENT else -1.0, t[0], t[1], t[2])
    return factor * x, factor * y, factor * z


@kernel
def differentiate(chain, targets, scale, q, work, jacobian):
    """Write how fast each number of each goal closes with each variable, at the pose `place`d."""
    refresh_basis(chain, q, work)
    wq, wp, movers = work.world_q, work.world_p, chain.movers.shape[0]
    jacobian[:] = 0.0
    for g in range(chain.kinds.shape[0]):
        px, py, pz = point_of(chain, g, work)
        gap_here = gap(chain, targets, g, q, work)
        first = 0
        for m in range(movers):
            j = chain.movers[m]
            for f in range(chain.freedoms[m]):
                if chain.moves[g, m]:
                    axis = (work.basis[m, f, 0], work.basis[m, f, 1], work.basis[m, f, 2])
                    move = (0.0, 0.0, 0.0)
                    if chain.kinds[g] != STAY:
                        axis = turned(
                            wq[j, 0], wq[j, 1], wq[j, 2], wq[j, 3], axis[0], axis[1], axis[2]
                        )
                        dx, dy, dz = px - wp[j, 0], py - wp[j, 1], pz - wp[j, 2]
                        move = crossed(axis[0], axis[1], axis[2], dx, dy, dz)
                    x, y, z = column(chain, targets, scale, g, work, gap_here, move, axis)
                    jacobian[3 * g, first] = x
                    jacobian[3 * g + 1, first] = y
                    jacobian[3 * g + 2, first] = z
                first += 1
        for s in range(chain.slides.shape[0]):
            for i in range(3):
                if chain.moves[g, movers + s]:
                    move = (
                        1.0 if i == 0 else 0.0,
                        1.0 if i == 1 else 0.0,
                        1.0 if i == 2 else 0.0,
                    )
                    still = (0.0, 0.0, 0.0)
                    x, y, z = column(chain, targets, scale, g, work, gap_here, move, still)
                    jacobian[3 * g, first] = x
                    jacobian[3 * g + 1, first] = y
                    jacobian[3 * g + 2, first] = z
                first += 1
