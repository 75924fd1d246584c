"""Goals of a pose: what is left of them, how that changes, and the best turn of one joint."""

from __future__ import annotations

import math

from .ik_chain import (
    AIM,
    ALL,
    AXIS,
    COMFORT,
    FREEDOMS,
    GAP,
    JOINT,
    KIND,
    ORIENT,
    OWNER,
    PLACE,
    POINT,
    RATES,
    REACH,
    STAY,
    WEIGHT,
    apply_log_jacobian,
    cross,
    from_vector,
    length,
    perpendicular,
    product,
    rotate,
    to_vector,
)
from .jit import kernel

# What is left of the goals of a pose, and how that changes as its joints turn.

TURN_SHARE = 0.3  # a radian of direction counts as much as this share of the chain's length
OPPOSITE = 1e-6  # sine of the angle from straight back, within which any way round is as good


@kernel
def place_one(parents, j, q, p, world):
    """Write the rotation and the position of one joint in the world, its parent's being there."""
    up = parents[j]
    if up < 0:
        for i in range(4):
            world[j, i] = q[j, i]
        for i in range(3):
            world[j, 4 + i] = p[j, i]
        return
    w, x, y, z = world[up, 0], world[up, 1], world[up, 2], world[up, 3]
    px, py, pz = rotate(w, x, y, z, p[j, 0], p[j, 1], p[j, 2])
    world[j, 4], world[j, 5] = world[up, 4] + px, world[up, 5] + py
    world[j, 6] = world[up, 6] + pz
    w, x, y, z = product(w, x, y, z, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    world[j, 0], world[j, 1], world[j, 2], world[j, 3] = w, x, y, z


@kernel
def place(parents, order, q, p, world):
    """Write rotations and positions in the world of the joints that goals hang on."""
    for k in range(order.shape[0]):
        place_one(parents, order[k], q, p, world)


@kernel
def aim_directions(cx, cy, cz, dx, dy, dz):
    """Return the axis c that aims, the unit direction of d, and how far that is.

    Where the axis points straight back it is turned a hair, for the way round to be defined.
    """
    far = length(dx, dy, dz)
    if far < 1e-12:  # at the very point every direction is right
        return cx, cy, cz, cx, cy, cz, 1.0
    dx, dy, dz = dx / far, dy / far, dz / far
    x, y, z = cross(cx, cy, cz, dx, dy, dz)
    if length(x, y, z) < OPPOSITE and cx * dx + cy * dy + cz * dz < 0.0:
        x, y, z = perpendicular(dx, dy, dz)
        cx, cy, cz = cx + OPPOSITE * x, cy + OPPOSITE * y, cz + OPPOSITE * z
    return cx, cy, cz, dx, dy, dz, far


@kernel
def aim_gap(cx, cy, cz, dx, dy, dz):
    """Return the rotation vector that turns the axis c towards the direction d."""
    cx, cy, cz, dx, dy, dz, _ = aim_directions(cx, cy, cz, dx, dy, dz)
    x, y, z = cross(cx, cy, cz, dx, dy, dz)
    sine = length(x, y, z)
    angle = math.atan2(sine, cx * dx + cy * dy + cz * dz)
    factor = angle / sine if sine > 1e-12 else 1.0
    return factor * x, factor * y, factor * z


@kernel
def find_gaps(goals, targets, q, world, state):
    """Write where goals' points are, and their gaps: ways to go, or vectors to turn by.

    That of `COMFORT` is 0 here; see `ik_limits.find_discomfort`.
    """
    for g in range(goals.shape[0]):
        j, kind = int(goals[g, OWNER]), goals[g, KIND]
        if kind == COMFORT:
            state[g, GAP], state[g, GAP + 1], state[g, GAP + 2] = 0.0, 0.0, 0.0
            continue
        w, x, y, z = world[j, 0], world[j, 1], world[j, 2], world[j, 3]
        if kind >= ORIENT:  # or to stay: what counts is how it is turned
            tw, tx, ty, tz = targets[g, 0], targets[g, 1], targets[g, 2], targets[g, 3]
            if kind == ORIENT:
                w, x, y, z = product(tw, tx, ty, tz, w, -x, -y, -z)
            else:
                w, x, y, z = product(q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3], tw, tx, ty, tz)
            state[g, GAP], state[g, GAP + 1], state[g, GAP + 2] = to_vector(w, x, y, z)
            continue
        px, py, pz = goals[g, POINT], goals[g, POINT + 1], goals[g, POINT + 2]
        px, py, pz = rotate(w, x, y, z, px, py, pz)
        px, py, pz = world[j, 4] + px, world[j, 5] + py, world[j, 6] + pz
        state[g, PLACE], state[g, PLACE + 1], state[g, PLACE + 2] = px, py, pz
        px, py, pz = targets[g, 0] - px, targets[g, 1] - py, targets[g, 2] - pz
        if kind == AIM:
            cx, cy, cz = goals[g, AXIS], goals[g, AXIS + 1], goals[g, AXIS + 2]
            x, y, z = rotate(w, x, y, z, cx, cy, cz)
            px, py, pz = aim_gap(x, y, z, px, py, pz)
        state[g, GAP], state[g, GAP + 1], state[g, GAP + 2] = px, py, pz


@kernel
def weigh(goals, scale, state, residuals):
    """Write the residuals of all goals, weighted; return their sum of squares, and the worst goal.

    `scale` is 1 over the chain's length. Wishes are not among the worst, nor is a goal without
    weight.
    """
    square, worst = 0.0, 0.0
    for g in range(goals.shape[0]):
        kind, weight = goals[g, KIND], goals[g, WEIGHT]
        unit = scale if kind == REACH else TURN_SHARE
        x, y, z = unit * state[g, GAP], unit * state[g, GAP + 1], unit * state[g, GAP + 2]
        size = length(x, y, z)
        if kind < STAY and weight > 0.0 and not size <= worst:
            worst = size
        residuals[3 * g], residuals[3 * g + 1] = weight * x, weight * y
        residuals[3 * g + 2] = weight * z
        square += (weight * size) ** 2
    return square, worst


@kernel
def evaluate(chain, targets, scale, q, p, work):
    """Place a pose, and write the residuals of its goals; return as `weigh` does."""
    place(chain.parents, chain.order, q, p, work.world)
    find_gaps(chain.goals, targets, q, work.world, work.state)
    return weigh(chain.goals, scale, work.state, work.residuals[ALL])


@kernel
def point_of(goals, g, world):
    """Return where the point of goal g is in the world."""
    j = int(goals[g, OWNER])
    x, y, z = goals[g, POINT], goals[g, POINT + 1], goals[g, POINT + 2]
    x, y, z = rotate(world[j, 0], world[j, 1], world[j, 2], world[j, 3], x, y, z)
    return world[j, 4] + x, world[j, 5] + y, world[j, 6] + z


@kernel
def unit_vector(k, column):
    """Return the unit vector along axis k - column, or 0 if there is none."""
    c = k - column
    return 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0


@kernel
def aim_change(cx, cy, cz, dx, dy, dz, k):
    """Return how fast the gap of an aim closes, by a unit move along axis k, or a turn about k - 3.

    The gap is f c × d with f = θ/sin θ, of the axis c and the direction d.
    """
    vx, vy, vz = unit_vector(k, 0)
    tx, ty, tz = unit_vector(k, 3)
    cx, cy, cz, dx, dy, dz, far = aim_directions(cx, cy, cz, dx, dy, dz)
    nx, ny, nz = cross(cx, cy, cz, dx, dy, dz)
    sine, cosine = length(nx, ny, nz), cx * dx + cy * dy + cz * dz
    angle = math.atan2(sine, cosine)
    if sine < 1e-4 and cosine > 0.0:
        f, bend = 1.0 + angle * angle / 6.0, 1.0 / 3.0
    else:
        f, bend = angle / sine, (sine - angle * cosine) / sine**3
    ax, ay, az = cross(tx, ty, tz, cx, cy, cz)
    along = dx * vx + dy * vy + dz * vz
    bx, by, bz = (dx * along - vx) / far, (dy * along - vy) / far, (dz * along - vz) / far
    kx, ky, kz = cross(ax, ay, az, dx, dy, dz)
    lx, ly, lz = cross(cx, cy, cz, bx, by, bz)
    bend *= ax * dx + ay * dy + az * dz + cx * bx + cy * by + cz * bz
    return bend * nx - f * (kx + lx), bend * ny - f * (ky + ly), bend * nz - f * (kz + lz)


@kernel
def refresh_rates(goals, targets, scale, world, state):
    """Write how fast the gaps of goals close, weighted, by unit moves of their points and turns."""
    for g in range(goals.shape[0]):
        kind, j = goals[g, KIND], int(goals[g, OWNER])
        if kind == COMFORT:
            continue
        factor = goals[g, WEIGHT] * (scale if kind == REACH else TURN_SHARE)
        if kind == REACH:
            for k in range(18):
                state[g, RATES + k] = factor if k % 4 == 0 and k < 9 else 0.0
            continue
        ex, ey, ez = state[g, GAP], state[g, GAP + 1], state[g, GAP + 2]
        side = 1.0 if kind == ORIENT else -1.0
        cx, cy, cz = goals[g, AXIS], goals[g, AXIS + 1], goals[g, AXIS + 2]
        cx, cy, cz = rotate(world[j, 0], world[j, 1], world[j, 2], world[j, 3], cx, cy, cz)
        dx, dy, dz = targets[g, 0], targets[g, 1], targets[g, 2]
        dx, dy = dx - state[g, PLACE], dy - state[g, PLACE + 1]
        dz = dz - state[g, PLACE + 2]
        for k in range(6):
            if kind == AIM:
                x, y, z = aim_change(cx, cy, cz, dx, dy, dz, k)
            else:
                ux, uy, uz = unit_vector(k, 3)
                x, y, z = apply_log_jacobian(ex, ey, ez, side, ux, uy, uz)
            at = RATES + (k if k < 3 else k + 6)
            state[g, at], state[g, at + 3], state[g, at + 6] = factor * x, factor * y, factor * z


@kernel
def refresh_jacobian(movers, slides, goals, moves, basis, world, state, jacobian):
    """Write how fast each residual of each goal closes with each variable."""
    first = 0
    for k in range(jacobian.shape[1]):
        for a in range(jacobian.shape[2]):
            jacobian[ALL, k, a] = 0.0
    for m in range(movers.shape[0]):
        j = movers[m, JOINT]
        for f in range(movers[m, FREEDOMS]):
            bx, by, bz = basis[m, f, 0], basis[m, f, 1], basis[m, f, 2]
            ax, ay, az = rotate(world[j, 0], world[j, 1], world[j, 2], world[j, 3], bx, by, bz)
            for g in range(goals.shape[0]):
                if not moves[g, m]:
                    continue
                vx, vy, vz = state[g, PLACE], state[g, PLACE + 1], state[g, PLACE + 2]
                vx, vy, vz = vx - world[j, 4], vy - world[j, 5], vz - world[j, 6]
                vx, vy, vz = cross(ax, ay, az, vx, vy, vz)
                if goals[g, KIND] == REACH:
                    jacobian[ALL, first, 3 * g] = state[g, RATES] * vx
                    jacobian[ALL, first, 3 * g + 1] = state[g, RATES + 4] * vy
                    jacobian[ALL, first, 3 * g + 2] = state[g, RATES + 8] * vz
                    continue
                stays = goals[g, KIND] == STAY
                tx, ty, tz = bx if stays else ax, by if stays else ay, bz if stays else az
                for i in range(3):
                    k = RATES + 3 * i
                    by_move = state[g, k] * vx + state[g, k + 1] * vy + state[g, k + 2] * vz
                    k += 9
                    by_turn = state[g, k] * tx + state[g, k + 1] * ty + state[g, k + 2] * tz
                    jacobian[ALL, first, 3 * g + i] = by_move + by_turn
            first += 1
    for s in range(slides.shape[0]):
        for k in range(3):
            for g in range(goals.shape[0]):
                if moves[g, movers.shape[0] + s]:
                    for i in range(3):
                        jacobian[ALL, first, 3 * g + i] = state[g, RATES + 3 * i + k]
            first += 1


# One joint by itself: the turn that is best for all that hangs on it.
#
# For one joint every goal is some arms a, fixed to what it turns, that should lie on targets b,
# both from the joint: one arm for a point, the three axes for a rotation, the place where it comes
# as near as the target for an axis that aims. The turn R that is best is the one with the largest
# sum of b · Ra = tr(R M), M = Σ a bᵀ; about an axis n its angle is atan2(n · Σ a × b, tr M − n · M
# n). `sums` has M first, then the joint's rotation and position in the world, and two numbers that
# are the same for all joints of a problem: 1 over the chain's length, and the largest step.


TURNED, CENTER, SCALE, LARGEST = 9, 13, 16, 17
SUMS = 18
FLAT = 1e-12  # of all there is to gain: less is no direction


@kernel
def gather_turn(sums, weight, w, x, y, z):
    """Add the arms of a rotation: M is the matrix of what is now · inverse of what is wanted."""
    half = 0.5 * weight * weight  # of the squared length of three chords, an angle's square
    sums[0] += half * (1.0 - 2.0 * (y * y + z * z))
    sums[1] += half * 2.0 * (x * y - w * z)
    sums[2] += half * 2.0 * (x * z + w * y)
    sums[3] += half * 2.0 * (x * y + w * z)
    sums[4] += half * (1.0 - 2.0 * (x * x + z * z))
    sums[5] += half * 2.0 * (y * z - w * x)
    sums[6] += half * 2.0 * (x * z - w * y)
    sums[7] += half * 2.0 * (y * z + w * x)
    sums[8] += half * (1.0 - 2.0 * (x * x + y * y))


@kernel
def gather_arm(sums, weight, ax, ay, az, bx, by, bz):
    """Add an arm a that should lie on b."""
    square = weight * weight
    sums[0] += square * ax * bx
    sums[1] += square * ax * by
    sums[2] += square * ax * bz
    sums[3] += square * ay * bx
    sums[4] += square * ay * by
    sums[5] += square * ay * bz
    sums[6] += square * az * bx
    sums[7] += square * az * by
    sums[8] += square * az * bz


@kernel
def aim_reach(along, square, far):
    """Return how far along its axis the arm of an aim ends: as far from the joint as the target.

    Turned until that lies on the target, the axis points at it, though its own point moved too.
    `along` is how far along the axis its point is, `square` how far the end is, squared, and `far`
    how far the target is from the point.
    """
    reach = math.sqrt(square) - along if square > 0.0 else 0.0
    return reach if reach > 0.0 else far


@kernel
def gain(sums, w, x, y, z):
    """Return tr(R M) of a quaternion."""
    gx, gy, gz = sums[5] - sums[7], sums[6] - sums[2], sums[1] - sums[3]
    mx = sums[0] * x + sums[1] * y + sums[2] * z
    my = sums[3] * x + sums[4] * y + sums[5] * z
    mz = sums[6] * x + sums[7] * y + sums[8] * z
    trace = sums[0] + sums[4] + sums[8]
    curl = w * (x * gx + y * gy + z * gz)
    return (2.0 * w * w - 1.0) * trace + 2.0 * (x * mx + y * my + z * mz + curl)


@kernel
def best_turn(basis, m, freedoms, sums):
    """Return the rotation vector, in the joint's frame, of the best turn of a joint by itself.

    `basis[m]` has its axes. Of all that it can turn about, the one with the steepest gain is taken,
    and the best angle about it. Returns that gain too; it is 0 where nothing is to be done, or all
    is straight back: then both ways are as good.
    """
    w, x, y, z = sums[TURNED], sums[TURNED + 1], sums[TURNED + 2], sums[TURNED + 3]
    gx, gy, gz = rotate(w, -x, -y, -z, sums[5] - sums[7], sums[6] - sums[2], sums[1] - sums[3])
    nx, ny, nz = 0.0, 0.0, 0.0
    for f in range(freedoms):
        part = gx * basis[m, f, 0] + gy * basis[m, f, 1] + gz * basis[m, f, 2]
        nx += part * basis[m, f, 0]
        ny += part * basis[m, f, 1]
        nz += part * basis[m, f, 2]
    size = length(nx, ny, nz)
    trace = sums[0] + sums[4] + sums[8]
    if freedoms == 0:
        return 0.0, 0.0, 0.0, 0.0
    if size > FLAT * abs(trace):
        nx, ny, nz = nx / size, ny / size, nz / size
    else:  # as it should be, or straight back
        nx, ny, nz, size = basis[m, 0, 0], basis[m, 0, 1], basis[m, 0, 2], 0.0
    ux, uy, uz = rotate(w, x, y, z, nx, ny, nz)
    along = (
        ux * (sums[0] * ux + sums[1] * uy + sums[2] * uz)
        + uy * (sums[3] * ux + sums[4] * uy + sums[5] * uz)
        + uz * (sums[6] * ux + sums[7] * uy + sums[8] * uz)
    )
    angle = min(math.atan2(size, trace - along), sums[LARGEST])
    return angle * nx, angle * ny, angle * nz, size


@kernel
def turn_by(start, vx, vy, vz, end):
    """Write a rotation, turned on by a rotation vector in its own frame."""
    w, x, y, z = from_vector(vx, vy, vz)
    w, x, y, z = product(start[0], start[1], start[2], start[3], w, x, y, z)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    end[0], end[1], end[2], end[3] = size * w, size * x, size * y, size * z
