"""For games and browsers: softening, looking at something, and two bones that reach for a point.

They work on packed files, as `runtime` does: a pose is a rotation for each joint, and bones are as
long as at rest. The whole pose comes out legal.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from . import distance_field as fields
from .ik_chain import AXIS as GOAL_AXIS
from .ik_chain import GOAL_COLUMNS, POINT, cross, from_vector, length, product, rotate
from .ik_goals import TURN_SHARE
from .ik_limits import project_one
from .jit import kernel
from .kinds import DIRECTION_TWIST, FIELD, SWING_TWIST
from .limit import CHART, HEADER, cover_angle, enter, leave, nearest
from .look_at import BUFFER, HEAD, WAY, remaining_turn, shortest_turn
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    OFF_UNIT,
    PT,
    PX,
    PY,
    PZ,
    QW,
    QX,
    QY,
    QZ,
    TURN,
    W0,
    X0,
    Y0,
    Z0,
    T,
    X,
    Y,
    Z,
)
from .runtime import (
    ANCESTOR,
    HINGE,
    JOINT,
    LIMITS,
    OFFSETS,
    PARENT,
    PARENTS,
    ROW,
    ROWS,
    TOLERANCE,
    limit_of,
    load_usable,
    multiply,
    project_pose,
    rotation_above,
    store_found,
)

# Softening: what is d outside ends radius · tanh(falloff · d) outside; see `limit.softening`.

COVERS = 8  # that are looked through for the one whose point is as far from its foot as is said


@kernel
def cover_of_foot(flat, block, i):
    """Return the point of lane i in the cover from which its foot is as near as was found."""
    x, y, z = block[X + i], block[Y + i], block[Z + i]
    radius = math.sqrt(x * x + y * y + (0.0 if flat else z * z))
    best, bx, by, bz = np.inf, x, y, z
    for turns in range(COVERS):
        for twists in range(turns + 1 if flat else 1):
            swings = turns - twists
            size = cover_angle(radius, swings, np.float64)
            scale = size / radius if radius > 0.0 else 0.0
            scale = -scale if swings % 2 == 1 else scale
            cx = scale * x if radius > 0.0 else size
            cy, cz = scale * y, scale * z
            if flat:
                twist = cover_angle(abs(z), twists, np.float64)
                cz = twist if (z >= 0.0) == (twists % 2 == 0) else -twist
            far = length(cx - block[PX + i], cy - block[PY + i], cz - block[PZ + i])
            off = abs(far - block[DISTANCE + i])
            if off < best - 1e-12:
                best, bx, by, bz = off, cx, cy, cz
    return bx, by, bz


@kernel
def soft_share(distance, radius, falloff):
    """Return the share of the way from the foot back to the point at which softening ends."""
    if not distance > 0.0:
        return 0.0
    return min(radius * math.tanh(falloff * distance), distance) / distance


@kernel
def soften_direction(radius, falloff, block, i):
    """Move the foot of lane i back towards its point, along a great circle and by its twist."""
    ax, ay, az = block[PX + i], block[PY + i], block[PZ + i]
    bx, by, bz = block[X + i], block[Y + i], block[Z + i]
    vx, vy, vz = shortest_turn(ax, ay, az, bx, by, bz)
    twist = block[T + i] - block[PT + i]
    twist -= TURN * np.rint(twist / TURN)
    angle = length(vx, vy, vz)
    share = soft_share(math.sqrt(angle * angle + twist * twist), radius, falloff)
    w, x, y, z = from_vector(share * vx, share * vy, share * vz)
    ax, ay, az = rotate(w, x, y, z, ax, ay, az)
    size = 1.0 / length(ax, ay, az)
    block[PX + i], block[PY + i], block[PZ + i] = size * ax, size * ay, size * az
    block[PT + i] += share * twist


@kernel
def soften_point(p, radius, falloff, block, i):
    """Move the foot of lane i back towards its point; of fields, across ends that wrap."""
    chart, shape = int(p[CHART]), int(p[HEADER])
    x, y, z = block[X + i], block[Y + i], block[Z + i]
    if chart < DIRECTION_TWIST:
        x, y, z = cover_of_foot(chart == SWING_TWIST, block, i)
    x, y, z = x - block[PX + i], y - block[PY + i], z - block[PZ + i]
    if shape == FIELD:
        at = HEADER + 1 + fields.PERIOD
        x -= p[at] * np.rint(x / p[at]) if p[at] > 0.0 else 0.0
        y -= p[at + 1] * np.rint(y / p[at + 1]) if p[at + 1] > 0.0 else 0.0
        z -= p[at + 2] * np.rint(z / p[at + 2]) if p[at + 2] > 0.0 else 0.0
    share = soft_share(length(x, y, z), radius, falloff)
    block[PX + i] += share * x
    block[PY + i] += share * y
    block[PZ + i] += share * z


@kernel("f8[] i8 f8[] f8 f8 f8[] f8[]")
def soften(p, k, rotations, radius, falloff, out, distances):
    """As `runtime.project`, but what is d outside ends radius · tanh(falloff · d) outside."""
    block, other = np.empty(BLOCK), np.empty(BLOCK)
    lanes, packed = np.empty(2 * LANES, np.int64), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load_usable(rotations, start, block, n)
        enter(packed, 0, block, n)
        nearest(packed, 0, TOLERANCE, 0.0, block, other, lanes, n)
        for i in range(n):
            if block[DISTANCE + i] > TOLERANCE:
                if int(packed[CHART]) == DIRECTION_TWIST:
                    soften_direction(radius, falloff, block, i)
                else:
                    soften_point(packed, radius, falloff, block, i)
        leave(packed, 0, TOLERANCE, block, n)
        store_found(block, n, start, out, distances)


# Joints of a pose in the world, one by one: chains are short.


@kernel
def place(p, joint, pose, px, py, pz):
    """Return a joint's rotation in the world, and where a point of its frame is there."""
    parents, offsets = int(p[PARENTS]), int(p[OFFSETS])
    w, x, y, z = 1.0, 0.0, 0.0, 0.0
    at = joint
    while at >= 0:
        qw, qx, qy, qz = pose[4 * at], pose[4 * at + 1], pose[4 * at + 2], pose[4 * at + 3]
        px, py, pz = rotate(qw, qx, qy, qz, px, py, pz)
        px, py = px + p[offsets + 3 * at], py + p[offsets + 3 * at + 1]
        pz += p[offsets + 3 * at + 2]
        w, x, y, z = product(qw, qx, qy, qz, w, x, y, z)
        at = int(p[parents + at])
    return w, x, y, z, px, py, pz


@kernel
def row_of(p, joint):
    """Return the number of the limit of a joint, or −1."""
    rows = int(p[ROWS])
    for k in range(int(p[LIMITS])):
        if int(p[rows + ROW * k + JOINT]) == joint:
            return k
    return -1


@kernel
def seen_from(p, k, joint, pose):
    """Return the rotation above a joint, as the one that its limit is measured from sees it."""
    ancestor = int(p[int(p[ROWS]) + ROW * k + ANCESTOR])
    if ancestor == int(PARENT):
        return 1.0, 0.0, 0.0, 0.0
    return rotation_above(p, joint, ancestor, pose)


Work = namedtuple("Work", ["block", "other", "lanes", "costs"])  # room for one limit at a time


@kernel
def put_unit(w, x, y, z, block, i):
    """Write a quaternion of any length but 0 as the unit one of lane i; what is none, as 1."""
    square = w * w + x * x + y * y + z * z
    usable = square > 1e-6 and square < 1e6
    size = 1.0 / math.sqrt(square) if usable else 0.0
    block[W0 + i] = size * w if usable else 1.0
    block[X0 + i] = size * x if usable else 0.0
    block[Y0 + i] = size * y if usable else 0.0
    block[Z0 + i] = size * z if usable else 0.0
    block[OFF_UNIT + i] = 0.0


@kernel
def set_joint(p, joint, turn, pose, work):
    """Turn a joint to a rotation, or to the nearest that its limit allows."""
    k, block = row_of(p, joint), work.block
    put_unit(turn[0], turn[1], turn[2], turn[3], block, 0)
    w, x, y, z = block[W0], block[X0], block[Y0], block[Z0]
    if k >= 0:
        above = seen_from(p, k, joint, pose)
        qw, qx, qy, qz = multiply(above, (w, x, y, z))
        put_unit(qw, qx, qy, qz, block, 0)
        if project_one(limit_of(p, k), 0, TOLERANCE, block, work.other, work.lanes):
            back = (above[0], -above[1], -above[2], -above[3])
            w, x, y, z = multiply(back, (block[QW], block[QX], block[QY], block[QZ]))
            put_unit(w, x, y, z, block, 0)
            w, x, y, z = block[W0], block[X0], block[Y0], block[Z0]
    at = 4 * joint
    pose[at], pose[at + 1], pose[at + 2], pose[at + 3] = w, x, y, z


# Looking at something, as `look_at` has it: from the body to the head each joint takes its share.

ROUNDS = 8  # over all joints; after the first, for what limits have not allowed
MET = 2e-4 / TURN_SHARE  # radians that are left; `ik.problem.GOAL_TOLERANCE`


@kernel
def joints_between(p, first, last):
    """Return how many joints there are from `first` down to `last`, both counted; 0 if none."""
    parents, count, at = int(p[PARENTS]), 1, last
    while at >= 0 and at != first:
        at = int(p[parents + at])
        count += 1
    return count if at >= 0 else 0


@kernel
def joint_above(p, joint, steps):
    """Return the joint so many steps above another."""
    at = joint
    for _ in range(steps):
        at = int(p[int(p[PARENTS]) + at])
    return at


@kernel
def find_head(p, last, pose, buffer):
    """Write where the last joint is, and how it is turned, in the world."""
    w, x, y, z, px, py, pz = place(p, last, pose, 0.0, 0.0, 0.0)
    buffer[HEAD], buffer[HEAD + 1], buffer[HEAD + 2], buffer[HEAD + 3] = w, x, y, z
    buffer[HEAD + 4], buffer[HEAD + 5], buffer[HEAD + 6] = px, py, pz


@kernel("f8[] f8[] i8 i8 f8[] f8[] f8[]")
def look_at(p, pose, first, last, aim, target, distances):
    """Turn the joints from `first` to `last` until an axis of the last points at the target.

    `aim` is the point that the axis starts at and then the axis, in the frame of the last joint.
    Returns the angle that is left, in radians; −1 if `last` is not `first` or below it.
    """
    work = Work(np.empty(BLOCK), np.empty(BLOCK), np.empty(2 * LANES, np.int64), np.empty(LANES))
    goals, buffer = np.zeros((1, GOAL_COLUMNS)), np.zeros(BUFFER)
    for i in range(3):
        goals[0, POINT + i], goals[0, GOAL_AXIS + i] = aim[i], aim[3 + i]
    count, axis = joints_between(p, first, last), length(aim[3], aim[4], aim[5])
    if count == 0 or not (axis > 0.0 and axis < np.inf):
        return -1.0
    for _ in range(ROUNDS):
        for m in range(count):
            j = joint_above(p, last, count - 1 - m)
            find_head(p, last, pose, buffer)
            remaining_turn(goals, target, buffer)
            share = 1.0 / (count - m)
            vx, vy, vz = share * buffer[WAY], share * buffer[WAY + 1], share * buffer[WAY + 2]
            w, x, y, z, _px, _py, _pz = place(p, j, pose, 0.0, 0.0, 0.0)
            vx, vy, vz = rotate(w, -x, -y, -z, vx, vy, vz)
            w, x, y, z = from_vector(vx, vy, vz)
            at = 4 * j
            w, x, y, z = product(pose[at], pose[at + 1], pose[at + 2], pose[at + 3], w, x, y, z)
            set_joint(p, j, (w, x, y, z), pose, work)
        find_head(p, last, pose, buffer)
        if remaining_turn(goals, target, buffer) <= MET:
            break
    project_pose(p, pose, distances)
    find_head(p, last, pose, buffer)
    return remaining_turn(goals, target, buffer)


# Two bones, as `ik.two_bone` has them: how far the middle bends follows from the distance, then the
# first joint swivels to the legal place nearest to the pole. What limits leave, turns one joint
# after the other take up.

SHORT_BONE = 0.2  # of the bone below: a joint whose own bone is shorter is passed over
ILLEGAL_COST = 1e3
POLISH = 24  # rounds of single turns, at most


@kernel
def middle_joint(p, end, px, py, pz):
    """Return the middle joint of the two bones that end at a point of `end`; −1 without any."""
    parents, offsets, o = int(p[PARENTS]), int(p[OFFSETS]), int(p[OFFSETS]) + 3 * end
    middle = int(p[parents + end])
    x, y, z = p[o] + px, p[o + 1] + py, p[o + 2] + pz
    while middle >= 0 and int(p[parents + middle]) >= 0:
        o = offsets + 3 * middle
        own = length(p[o], p[o + 1], p[o + 2])
        above = int(p[parents + middle])
        if own >= SHORT_BONE * length(x, y, z) or int(p[parents + above]) < 0:
            return middle
        middle, x, y, z = above, x + p[o], y + p[o + 1], z + p[o + 2]
    return -1


@kernel
def bend_axis(p, middle, ux, uy, uz, lx, ly, lz):
    """Return the axis to bend about: the hinge's own, or the normal of both bones' plane."""
    k = row_of(p, middle)
    if k >= 0:
        at = int(p[ROWS]) + ROW * k + HINGE
        if length(p[at], p[at + 1], p[at + 2]) > 0.5:
            return p[at], p[at + 1], p[at + 2]
    x, y, z = cross(ux, uy, uz, lx, ly, lz)
    size = length(x, y, z)
    if size > 1e-9:
        return x / size, y / size, z / size
    size = length(lx, ly, lz)
    if not size > 0.0:
        return 0.0, 0.0, 1.0
    first = abs(lx) <= abs(ly) and abs(lx) <= abs(lz)  # straight: any across will do
    second = not first and abs(ly) <= abs(lz)
    ex, ey = 1.0 if first else 0.0, 1.0 if second else 0.0
    x, y, z = cross(lx, ly, lz, ex, ey, 1.0 - ex - ey)
    size = length(x, y, z)
    return x / size, y / size, z / size


@kernel
def bend(p, middle, lower, far, pose, work):
    """Bend the middle joint so that the end, at l in its frame, is `far` from the first."""
    o, at = int(p[OFFSETS]) + 3 * middle, 4 * middle
    lx, ly, lz = lower
    ux, uy, uz = p[o], p[o + 1], p[o + 2]
    qw, qx, qy, qz = pose[at], pose[at + 1], pose[at + 2], pose[at + 3]
    bx, by, bz = rotate(qw, -qx, -qy, -qz, ux, uy, uz)
    hx, hy, hz = bend_axis(p, middle, bx, by, bz, lx, ly, lz)
    along = hx * lx + hy * ly + hz * lz
    tx, ty, tz = along * hx, along * hy, along * hz
    vx, vy, vz = cross(hx, hy, hz, lx, ly, lz)
    a = ux * ux + uy * uy + uz * uz + lx * lx + ly * ly + lz * lz
    a += 2.0 * (bx * tx + by * ty + bz * tz)
    b = 2.0 * (bx * (lx - tx) + by * (ly - ty) + bz * (lz - tz))
    c = 2.0 * (bx * vx + by * vy + bz * vz)
    size = math.sqrt(b * b + c * c)
    if not size > 1e-9 * a:  # a bone has no length
        return
    opened = math.acos(min(max((far * far - a) / size, -1.0), 1.0))
    best, cost = (qw, qx, qy, qz), np.inf
    for side in range(2):
        angle = math.atan2(c, b) + (opened if side == 0 else -opened)
        angle -= TURN * np.floor((angle + np.pi) / TURN)
        w, x, y, z = from_vector(angle * hx, angle * hy, angle * hz)
        w, x, y, z = product(qw, qx, qy, qz, w, x, y, z)
        set_joint(p, middle, (w, x, y, z), pose, work)
        w, x, y, z = pose[at], pose[at + 1], pose[at + 2], pose[at + 3]
        vx, vy, vz = rotate(w, x, y, z, lx, ly, lz)
        price = ILLEGAL_COST * abs(length(ux + vx, uy + vy, uz + vz) - far) + abs(angle)
        if price < cost:
            best, cost = (w, x, y, z), price
    pose[at], pose[at + 1], pose[at + 2], pose[at + 3] = best[0], best[1], best[2], best[3]


@kernel
def illegal_cost(block, i):
    """Return what it costs that the rotation of lane i had to be moved, to QW … of it."""
    if block[DISTANCE + i] <= TOLERANCE:
        return 0.0
    less, more = 0.0, 0.0
    for row in range(4):
        less += (block[QW + LANES * row + i] - block[W0 + LANES * row + i]) ** 2
        more += (block[QW + LANES * row + i] + block[W0 + LANES * row + i]) ** 2
    off = 4.0 * math.atan2(math.sqrt(min(less, more)), math.sqrt(max(less, more)))
    return ILLEGAL_COST * (1.0 + off)


@kernel
def place_swivels(swivel, best, reach, count, above, work):
    """Write the swivels, as the limit sees them, and what each costs by where it goes."""
    way, straight, upper, pole = swivel
    costs = work.costs
    for i in range(count):
        angle = best - reach + 2.0 * reach * i / (count - 1)
        turn = from_vector(angle * way[0], angle * way[1], angle * way[2])
        own = multiply(turn, straight)
        costs[i] = abs(angle)
        if length(pole[0], pole[1], pole[2]) > 0.0:
            bx, by, bz = rotate(own[0], own[1], own[2], own[3], upper[0], upper[1], upper[2])
            along = bx * way[0] + by * way[1] + bz * way[2]
            bx, by, bz = bx - along * way[0], by - along * way[1], bz - along * way[2]
            cx, cy, cz = cross(bx, by, bz, pole[0], pole[1], pole[2])
            along = bx * pole[0] + by * pole[1] + bz * pole[2]
            costs[i] = math.atan2(length(cx, cy, cz), along)
        w, x, y, z = multiply(above, own)
        put_unit(w, x, y, z, work.block, i)


@kernel
def sweep(p, first, swivel, best, stage, pose, work):
    """Return the best of the swivels of a stage, which are closer together at each.

    `swivel` is the way to the target, the rotation that points straight there, the upper bone and
    the pole, as the parent of the first joint sees them; `best` the angle about the way so far.
    """
    reach = np.pi if stage == 0 else (np.pi / 36.0 if stage == 1 else np.pi / 720.0)
    count, k, block = 73 if stage == 0 else 41, row_of(p, first), work.block
    above = seen_from(p, k, first, pose) if k >= 0 else (1.0, 0.0, 0.0, 0.0)
    place_swivels(swivel, best, reach, count, above, work)
    if k >= 0:
        packed = limit_of(p, k)
        enter(packed, 0, block, count)
        nearest(packed, 0, TOLERANCE, 0.0, block, work.other, work.lanes, count)
        leave(packed, 0, TOLERANCE, block, count)
    found, least = best, np.inf
    for i in range(count):
        cost = work.costs[i] + (illegal_cost(block, i) if k >= 0 else 0.0)
        if cost < least:
            least, found = cost, best - reach + 2.0 * reach * i / (count - 1)
    return found


@kernel
def end_error(p, end, point, target, pose):
    """Return how far a point of `end` is from the target."""
    _w, _x, _y, _z, x, y, z = place(p, end, pose, point[0], point[1], point[2])
    return length(x - target[0], y - target[1], z - target[2])


@kernel
def polish(p, joint, end, point, target, pose, work):
    """Turn a joint so that the end's point comes nearer to the target; back if it does not."""
    at = 4 * joint
    before = (pose[at], pose[at + 1], pose[at + 2], pose[at + 3])
    far = end_error(p, end, point, target, pose)
    w, x, y, z, jx, jy, jz = place(p, joint, pose, 0.0, 0.0, 0.0)
    _ew, _ex, _ey, _ez, ex, ey, ez = place(p, end, pose, point[0], point[1], point[2])
    ex, ey, ez = rotate(w, -x, -y, -z, ex - jx, ey - jy, ez - jz)
    tx, ty, tz = rotate(w, -x, -y, -z, target[0] - jx, target[1] - jy, target[2] - jz)
    one, two = length(ex, ey, ez), length(tx, ty, tz)
    if one > 1e-12 and two > 1e-12:
        vx, vy, vz = shortest_turn(ex / one, ey / one, ez / one, tx / two, ty / two, tz / two)
        w, x, y, z = from_vector(vx, vy, vz)
        w, x, y, z = product(before[0], before[1], before[2], before[3], w, x, y, z)
        set_joint(p, joint, (w, x, y, z), pose, work)
        if not end_error(p, end, point, target, pose) < far:
            pose[at], pose[at + 1] = before[0], before[1]
            pose[at + 2], pose[at + 3] = before[2], before[3]


@kernel("f8[] f8[] i8 f8[] f8[] f8[] f8[]")
def two_bone(p, pose, end, point, target, pole, distances):
    """Bring a point of the joint `end` to the target, by the two bones above it.

    `pole`, if it is not 0, is the direction in the world, from the first joint, that the middle one
    should be in. Returns how far the point is from the target; −1 if there are no two bones.
    """
    work = Work(np.empty(BLOCK), np.empty(BLOCK), np.empty(2 * LANES, np.int64), np.empty(LANES))
    px, py, pz = point[0], point[1], point[2]
    middle = middle_joint(p, end, px, py, pz)
    if middle < 0:
        return -1.0
    first, at = int(p[int(p[PARENTS]) + middle]), 4 * int(p[int(p[PARENTS]) + middle])
    # The way to the target and the pole, as the parent of the first joint sees them.
    w, x, y, z, fx, fy, fz = place(p, first, pose, 0.0, 0.0, 0.0)
    own = (pose[at], -pose[at + 1], -pose[at + 2], -pose[at + 3])
    aw, ax, ay, az = multiply((w, x, y, z), own)
    tx, ty, tz = rotate(aw, -ax, -ay, -az, target[0] - fx, target[1] - fy, target[2] - fz)
    pole_x, pole_y, pole_z = rotate(aw, -ax, -ay, -az, pole[0], pole[1], pole[2])
    far = length(tx, ty, tz)
    w, x, y, z, mx, my, mz = place(p, middle, pose, 0.0, 0.0, 0.0)
    _w, _x, _y, _z, ex, ey, ez = place(p, end, pose, px, py, pz)
    lx, ly, lz = rotate(w, -x, -y, -z, ex - mx, ey - my, ez - mz)
    bend(p, middle, (lx, ly, lz), far, pose, work)
    # The end as the first joint sees it, turned straight to the target, then about the way there.
    o, m = int(p[OFFSETS]) + 3 * middle, 4 * middle
    ex, ey, ez = rotate(pose[m], pose[m + 1], pose[m + 2], pose[m + 3], lx, ly, lz)
    ex, ey, ez = rotate(
        pose[at], pose[at + 1], pose[at + 2], pose[at + 3], p[o] + ex, p[o + 1] + ey, p[o + 2] + ez
    )
    size = length(ex, ey, ez)
    if far > 1e-12 and size > 1e-12:
        way = (tx / far, ty / far, tz / far)
        vx, vy, vz = shortest_turn(ex / size, ey / size, ez / size, way[0], way[1], way[2])
        now = (pose[at], pose[at + 1], pose[at + 2], pose[at + 3])
        straight = multiply(from_vector(vx, vy, vz), now)
        along = pole_x * way[0] + pole_y * way[1] + pole_z * way[2]
        pole_x, pole_y = pole_x - along * way[0], pole_y - along * way[1]
        wanted = (pole_x, pole_y, pole_z - along * way[2])
        upper = (p[o], p[o + 1], p[o + 2])
        best, swivel = 0.0, (way, straight, upper, wanted)
        for stage in range(3):
            best = sweep(p, first, swivel, best, stage, pose, work)
        turn = from_vector(best * way[0], best * way[1], best * way[2])
        w, x, y, z = multiply(turn, straight)
        set_joint(p, first, (w, x, y, z), pose, work)
    enough = 1e-9 * (length(lx, ly, lz) + length(p[o], p[o + 1], p[o + 2]))
    for _ in range(POLISH):
        if end_error(p, end, point, target, pose) <= enough:
            break
        polish(p, middle, end, point, target, pose, work)
        polish(p, first, end, point, target, pose, work)
    project_pose(p, pose, distances)
    return end_error(p, end, point, target, pose)
