"""Packed models for games and browsers: queries, looking at something, and reaching with two bones.

`runtime_file` describes and checks files. A pose is a rotation for each joint; bones are as long as
at rest.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from . import dependent
from . import limit as limits
from .clamp import last_legal_share
from .ik_chain import GOAL
from .ik_goals import TURN_SHARE, remaining_turn
from .jit import kernel
from .pair import search_one
from .rotation import BLOCK, DISTANCE, LANES, QW, lane_quat, load, store
from .runtime_file import (
    FILE,
    MAX_DEPENDENTS,
    PAIR,
    PARENT,
    ROW,
    pair_at,
    parent_of,
    row_at,
    row_of,
)
from .shapes import shift_foot
from .vector import (
    IDENTITY,
    TURN,
    ZERO,
    Vec3,
    angle_between,
    conj,
    cross,
    dot,
    exp,
    norm,
    normalize,
    perpendicular,
    quat_at,
    quat_dot,
    rotate,
    set_quat,
    set_vec3,
    shortest_turn,
    vec3_at,
)

TOLERANCE = 1e-9  # radians outside that count as inside; `arrays.tolerance` of float64
FINEST = 3e-5  # radians, the shortest step of `exits`; `model.constraint.MIN_STEP`
EDGE = 0.5e-9  # radians outside that count as legal in `exits`; `model.constraint.EDGE`
ROUNDS = 8  # of `look_at` over all joints; after the first, for what limits have not allowed
MET = 2e-4 / TURN_SHARE  # radians that may remain; `ik.problem.GOAL_TOLERANCE`
SHORT_BONE = 0.2  # share of the bone below: a joint with a shorter own bone is passed over
ILLEGAL_COST = 1e3  # of a swivel outside the limit, against radians from the pole
POLISH = 24  # rounds of single turns after `two_bone`, at most
MAX_SQUARES = 9.0  # of both rotations of `exits`, which else are none
MAX_MEASURED = 3 * 9 * 9  # numbers measured of a dependent joint: three for each cover


@kernel
def limit_of(p, k):
    """Return the packed limit of row k, a part of the file."""
    at = int(p[row_at(p, k) + ROW.limit])
    return p[at : at + int(p[at + limits.HEADER.size])]


@kernel
def usable(q):
    """Return a rotation, or the identity if its length is far from 1."""
    return q if abs(quat_dot(q, q) - 1.0) <= 0.5 else IDENTITY


@kernel
def store_found(block, n, start, out, distances):
    """Copy `n` results and their distances from the limit to the outputs, from index `start` on."""
    store(block, n, start, out)
    for i in range(n):
        distances[start + i] = block[DISTANCE + i]


@kernel("f8[] i8 f8[] f8[] f8[]")
def project(p, k, rotations, out, distances):
    """Write the nearest legal rotations of the limit in row k, and the distances of the given ones.

    Rotations are unit quaternions, w first, flat; those far from unit length count as the identity.
    """
    block, packed = np.empty(BLOCK), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, 4 * start, 4, block, n)
        limits.make_legal(packed, 0, TOLERANCE, block, n)
        store_found(block, n, start, out, distances)


@kernel("f8[] i8 f8[] f8 f8 f8[] f8[]")
def soften(p, k, rotations, radius, falloff, out, distances):
    """As `project`, but what is d outside ends radius · tanh(falloff · d) outside."""
    block, packed = np.empty(BLOCK), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, 4 * start, 4, block, n)
        limits.measure_lanes(packed, 0, block, n)
        for i in range(n):
            distance = block[DISTANCE + i]
            if distance > TOLERANCE:
                share = min(radius * math.tanh(falloff * distance), distance) / distance
                shift_foot(packed, limits.HEADER.SIZE, share, block, i)
        limits.leave(packed, 0, TOLERANCE, block, n)
        store_found(block, n, start, out, distances)


@kernel("f8[] i8 f8[] f8[]")
def measure(p, k, rotations, distances):
    """Write signed distances of rotations from the limit in row k; at most 0 inside."""
    limits.measure(rotations, limit_of(p, k), distances)


@kernel("f8[] i8 f8[] f8[] f8[]")
def exits(p, k, previous, proposed, reached):
    """Write the largest t in [0, 1] up to which rotating from previous to proposed is legal."""
    packed, block = limit_of(p, k), np.zeros(BLOCK)
    for i in range(reached.shape[0]):
        start, end = quat_at(previous, 4 * i), quat_at(proposed, 4 * i)
        reached[i] = 0.0
        if quat_dot(start, start) + quat_dot(end, end) <= MAX_SQUARES:
            angle = angle_between(start, end)
            reached[i] = last_legal_share(packed, start, end, angle, EDGE, FINEST, block)


@kernel
def rotation_above(p, joint, ancestor, pose):
    """Return the rotation of a joint's parent relative to an ancestor; the pose is flat.

    The identity if the ancestor is `PARENT`.
    """
    above = IDENTITY
    if ancestor != PARENT:
        at = parent_of(p, joint)
        while at != ancestor:
            above = quat_at(pose, 4 * at) * above
            at = parent_of(p, at)
    return above


@kernel
def seen_from(p, joint, ancestor, pose):
    """Return the rotation above a joint relative to an ancestor, and that of the joint.

    If the ancestor is the parent, the latter is the pose's own, bit for bit. The identity stands
    for what is no rotation.
    """
    above, rotation = rotation_above(p, joint, ancestor, pose), quat_at(pose, 4 * joint)
    return above, usable(rotation if ancestor == PARENT else normalize(above * rotation))


@kernel
def set_seen(joint, ancestor, above, relative, pose):
    """Set the rotation of a joint from its rotation relative to an ancestor."""
    rotation = relative if ancestor == PARENT else normalize(conj(above) * relative)
    set_quat(pose, 4 * joint, rotation)


@kernel
def make_legal(p, k, pose):
    """Make the joint in row k legal by its own limit; return its distance before."""
    joint, ancestor = int(p[row_at(p, k) + ROW.joint]), ancestor_of(p, k)
    above, relative = seen_from(p, joint, ancestor, pose)
    legal, distance = limits.nearest_legal(limit_of(p, k), 0, TOLERANCE, relative)
    if distance > TOLERANCE:
        set_seen(joint, ancestor, above, legal, pose)
    return distance


@kernel
def project_rows(p, pose, distances):
    """Make joints legal that neither drive nor depend on others, parents first.

    Writes their distances before; for the others, which `project_pairs` moves, 1.
    """
    for k in range(int(p[FILE.limits])):
        distances[k] = 0.0
    for i in range(int(p[FILE.pairs])):
        pair = pair_at(p, i)
        distances[int(p[pair + PAIR.row])] = 1.0
        if p[pair + PAIR.driver_row] >= 0.0:
            distances[int(p[pair + PAIR.driver_row])] = 1.0
    for k in range(int(p[FILE.limits])):
        if distances[k] == 0.0:
            distances[k] = make_legal(p, k, pose)


@kernel
def ancestor_of(p, k):
    """Return the ancestor that the joint of row k is measured from; PARENT if k is −1."""
    return int(p[row_at(p, k) + ROW.ancestor]) if k >= 0 else PARENT


@kernel
def dependent_at(p, i):
    """Return a dependent joint's row of limits, its index, and where its packed limit begins."""
    pair = pair_at(p, i)
    k = int(p[pair + PAIR.row])
    return k, int(p[row_at(p, k) + ROW.joint]), int(p[pair + PAIR.numbers])


@kernel
def measure_driven(p, first, last, driver, pose, found, distances):
    """Write `dependent.measure` and the distances of the dependent joints from `first` to `last`.

    Returns True if one of them is outside while the driver has the rotation `driver`.
    """
    outside, start = False, 0
    for i in range(first, last):
        k, joint, numbers = dependent_at(p, i)
        _above, relative = seen_from(p, joint, ancestor_of(p, k), pose)
        set_quat(found.seen[i - first], 0, relative)
        room = found.measured[start:]
        width = dependent.measure(p, numbers, limit_of(p, k), relative, found.block, room)
        low, high = dependent.values_at(p, numbers, driver)
        distances[k] = dependent.gap_of(p, numbers, room[:width], low, high)
        outside = outside or distances[k] > TOLERANCE
        found.widths[i - first] = width
        start += width
    return outside


@kernel
def move_driven(p, first, last, driver, pose, found):
    """Make the dependent joints from `first` to `last` legal at a rotation of the driver.

    A joint that is measured across the driver keeps its rotation relative to the ancestor as far
    as it is legal, and so rotates against the driver.
    """
    start = 0
    for i in range(first, last):
        k, joint, numbers = dependent_at(p, i)
        ancestor, width = ancestor_of(p, k), found.widths[i - first]
        low, high = dependent.values_at(p, numbers, driver)
        own = found.measured[start : start + width]
        start += width
        inside = dependent.gap_of(p, numbers, own, low, high) <= TOLERANCE
        if inside and ancestor == PARENT:
            continue
        legal = quat_at(found.seen[i - first], 0)
        if not inside:
            dependent.project(p, numbers, limit_of(p, k), legal, driver, found.block)
            legal = lane_quat(found.block, QW)
        above, _seen = seen_from(p, joint, ancestor, pose)
        set_seen(joint, ancestor, above, legal, pose)


Found = namedtuple("Found", ["block", "measured", "widths", "seen"])


@kernel
def project_pairs(p, pose, distances):
    """Move drivers, and joints that depend on them, to the nearest legal rotations of all."""
    found = Found(
        np.empty(BLOCK),
        np.empty(MAX_DEPENDENTS * MAX_MEASURED),
        np.empty(MAX_DEPENDENTS, np.int64),
        np.empty((MAX_DEPENDENTS, 4)),
    )
    first, count = 0, int(p[FILE.pairs])
    while first < count:
        pair, last = pair_at(p, first), first + 1
        while last < count and p[pair_at(p, last) + PAIR.driver] == p[pair + PAIR.driver]:
            last += 1
        joint, row = int(p[pair + PAIR.driver]), int(p[pair + PAIR.driver_row])
        above, driver = seen_from(p, joint, ancestor_of(p, row), pose)
        outside, own = measure_driven(p, first, last, driver, pose, found, distances), p[:0]
        if row >= 0:
            own = limit_of(p, row)
            _legal, distances[row] = limits.nearest_legal(own, 0, TOLERANCE, driver)
            outside = outside or distances[row] > TOLERANCE
        if outside:
            numbers, widths = p[int(p[pair + PAIR.numbers]) :], found.widths[: last - first]
            legal = search_one(own, numbers, found.measured, widths, driver)
            legal = legal if quat_dot(legal, driver) >= 0.0 else -legal
            move = legal - driver
            if quat_dot(move, move) > 0.0:
                set_seen(joint, ancestor_of(p, row), above, legal, pose)
            move_driven(p, first, last, legal, pose, found)
        first = last


@kernel("f8[] f8[] f8[]")
def project_pose(p, pose, distances):
    """Make the rotations of all joints (flat, J × 4) legal, in place, parents first.

    `distances` has one number for each row of limits: the joint's distance before, for a dependent
    joint with the driver as it was. A joint that is measured from an ancestor comes after those
    between, and joints that depend on others come last.
    """
    project_rows(p, pose, distances)
    if p[FILE.pairs] > 0.0:
        project_pairs(p, pose, distances)


@kernel
def offset_of(p, joint):
    """Return the position of a joint at rest, in its parent's frame."""
    return vec3_at(p, int(p[FILE.offsets]) + 3 * joint)


@kernel
def place(p, joint, pose, point):
    """Return a joint's rotation in the world, and the position there of a point of its frame."""
    rotation, at = IDENTITY, joint
    while at >= 0:
        local = quat_at(pose, 4 * at)
        point = rotate(local, point) + offset_of(p, at)
        rotation = local * rotation
        at = parent_of(p, at)
    return rotation, point


@kernel
def set_joint(p, joint, rotation, pose):
    """Set a joint to a rotation, or to the nearest one that its limit allows."""
    set_quat(pose, 4 * joint, usable(normalize(rotation)))
    k = row_of(p, joint)
    if k >= 0:
        make_legal(p, k, pose)


@kernel
def joints_between(p, first, last):
    """Return the number of joints from `first` down to `last`, both included; 0 if none."""
    count, at = 1, last
    while at >= 0 and at != first:
        at = parent_of(p, at)
        count += 1
    return count if at >= 0 else 0


@kernel
def joint_above(p, joint, steps):
    """Return the ancestor of a joint so many steps above it."""
    at = joint
    for _ in range(steps):
        at = parent_of(p, at)
    return at


@kernel
def turn_to_target(p, last, goal, target, pose, head):
    """Return the rotation vector in the world that the axis of the last joint still needs."""
    rotation, position = place(p, last, pose, ZERO)
    set_quat(head, 0, rotation)
    set_vec3(head, 4, position)
    return remaining_turn(goal, target, head)


@kernel("f8[] f8[] i8 i8 f8[] f8[] f8[]")
def look_at(p, pose, first, last, aim, target, distances):
    """Turn the joints from `first` to `last` until an axis of the last points at the target.

    `aim` is the start of the axis and then the axis, in the frame of the last joint. Each joint
    takes its share, from the first to the last. Returns the remaining angle in radians; −1 if
    `last` is not `first` or below it.
    """
    goal, head = np.zeros(GOAL.SIZE), np.zeros(7)
    set_vec3(goal, GOAL.point, vec3_at(aim, 0))
    set_vec3(goal, GOAL.axis, vec3_at(aim, 3))
    count, axis = joints_between(p, first, last), norm(vec3_at(aim, 3))
    if count == 0 or not (axis > 0.0 and axis < np.inf):
        return -1.0
    for _ in range(ROUNDS):
        for m in range(count):
            j, share = joint_above(p, last, count - 1 - m), 1.0 / (count - m)
            turn = share * turn_to_target(p, last, goal, target, pose, head)
            rotation, _position = place(p, j, pose, ZERO)
            local = quat_at(pose, 4 * j) * exp(rotate(conj(rotation), turn))
            set_joint(p, j, local, pose)
        if norm(turn_to_target(p, last, goal, target, pose, head)) <= MET:
            break
    project_pose(p, pose, distances)
    return norm(turn_to_target(p, last, goal, target, pose, head))


@kernel
def middle_joint(p, end, point):
    """Return the middle joint of the two bones that end at a point of `end`; −1 without any."""
    middle, below = parent_of(p, end), offset_of(p, end) + point
    while middle >= 0 and parent_of(p, middle) >= 0:
        own, above = offset_of(p, middle), parent_of(p, middle)
        if norm(own) >= SHORT_BONE * norm(below) or parent_of(p, above) < 0:
            return middle
        middle, below = above, below + own
    return -1


@kernel
def bend_axis(p, middle, upper, lower):
    """Return the axis to bend about: the hinge's own, or the normal of both bones' plane."""
    k = row_of(p, middle)
    if k >= 0:
        hinge = vec3_at(p, row_at(p, k) + ROW.hinge)
        if norm(hinge) > 0.5:
            return hinge
    normal = cross(upper, lower)
    if norm(normal) > 1e-9:
        return normal / norm(normal)
    if not norm(lower) > 0.0:
        return Vec3(0.0, 0.0, 1.0)
    return perpendicular(lower)  # straight bones: any axis across them


@kernel
def bend(p, middle, lower, far, pose):
    """Bend the middle joint so that the end, at `lower` in its frame, is `far` from the first."""
    local, upper = quat_at(pose, 4 * middle), offset_of(p, middle)
    arm = rotate(conj(local), upper)
    hinge = bend_axis(p, middle, arm, lower)
    along = dot(hinge, lower) * hinge
    a = dot(upper, upper) + dot(lower, lower) + 2.0 * dot(arm, along)
    b, c = 2.0 * dot(arm, lower - along), 2.0 * dot(arm, cross(hinge, lower))
    size = math.sqrt(b * b + c * c)
    if not size > 1e-9 * a:  # a bone has no length
        return
    opened = math.acos(min(max((far * far - a) / size, -1.0), 1.0))
    best, cost = local, np.inf
    for side in range(2):
        angle = math.atan2(c, b) + (opened if side == 0 else -opened)
        angle -= TURN * np.floor((angle + np.pi) / TURN)
        set_joint(p, middle, local * exp(angle * hinge), pose)
        legal = quat_at(pose, 4 * middle)
        error = abs(norm(upper + rotate(legal, lower)) - far)
        if ILLEGAL_COST * error + abs(angle) < cost:
            best, cost = legal, ILLEGAL_COST * error + abs(angle)
    set_quat(pose, 4 * middle, best)


@kernel
def swivel_cost(p, row, above, rotation, swivel):
    """Return the angle of a swivel from the pole, or from 0 without one; more if it is illegal.

    `rotation` is that of the first joint, whose limit is in a row, or −1; `above` is the rotation
    that its limit measures before it.
    """
    axis, angle, upper, pole = swivel
    cost = abs(angle)
    if norm(pole) > 0.0:
        bone = rotate(rotation, upper)
        bone = bone - dot(bone, axis) * axis
        cost = math.atan2(norm(cross(bone, pole)), dot(bone, pole))
    if row >= 0:
        relative = usable(above * rotation)
        legal, distance = limits.nearest_legal(limit_of(p, row), 0, TOLERANCE, relative)
        if distance > TOLERANCE:
            cost += ILLEGAL_COST * (1.0 + angle_between(legal, relative))
    return cost


@kernel
def best_swivel(p, first, axis, straight, upper, pole, pose):
    """Return the angle about the direction to the target, `way`, at the least `swivel_cost`.

    `straight` is the rotation of the first joint without a swivel, and `upper` the upper bone.
    Angles are tried all around, then closer together around the best, twice.
    """
    row, best = row_of(p, first), 0.0
    above = rotation_above(p, first, ancestor_of(p, row), pose)
    for stage in range(3):
        reach = np.pi if stage == 0 else (np.pi / 36.0 if stage == 1 else np.pi / 720.0)
        count, winner, least = 73 if stage == 0 else 41, best, np.inf
        for i in range(count):
            angle = best - reach + 2.0 * reach * i / (count - 1)
            rotation = exp(angle * axis) * straight
            cost = swivel_cost(p, row, above, rotation, (axis, angle, upper, pole))
            if cost < least:
                least, winner = cost, angle
        best = winner
    return best


@kernel
def end_error(p, end, point, target, pose):
    """Return the distance of a point of `end` from the target."""
    _rotation, position = place(p, end, pose, point)
    return norm(position - target)


@kernel
def polish(p, joint, end, point, target, pose):
    """Turn a joint so that the end's point comes nearer to the target; undo it if it does not."""
    before, far = quat_at(pose, 4 * joint), end_error(p, end, point, target, pose)
    rotation, center = place(p, joint, pose, ZERO)
    _rotation, position = place(p, end, pose, point)
    arm, wanted = rotate(conj(rotation), position - center), rotate(conj(rotation), target - center)
    one, two = norm(arm), norm(wanted)
    if one > 1e-12 and two > 1e-12:
        set_joint(p, joint, before * exp(shortest_turn(arm / one, wanted / two)), pose)
        if not end_error(p, end, point, target, pose) < far:
            set_quat(pose, 4 * joint, before)


@kernel("f8[] f8[] i8 f8[] f8[] f8[] f8[]")
def two_bone(p, pose, end, point, target, pole, distances):
    """Bring a point of the joint `end` to the target, by the two bones above it.

    The bend of the middle joint follows from the distance; the first joint then swivels to the
    legal rotation nearest to the pole; single turns take up what limits leave. `pole`, if it is not
    0, is the direction in the world, from the first joint, of the middle one. Returns the distance
    of the point from the target; −1 if there are no two bones.
    """
    tip, goal, wanted = vec3_at(point, 0), vec3_at(target, 0), vec3_at(pole, 0)
    middle = middle_joint(p, end, tip)
    if middle < 0:
        return -1.0
    first = parent_of(p, middle)
    # Direction to the target and pole, relative to the parent of the first joint.
    rotation, center = place(p, first, pose, ZERO)
    into = conj(rotation * conj(quat_at(pose, 4 * first)))
    way, wanted = rotate(into, goal - center), rotate(into, wanted)
    far = norm(way)
    rotation, center = place(p, middle, pose, ZERO)
    _rotation, position = place(p, end, pose, tip)
    lower = rotate(conj(rotation), position - center)
    upper = offset_of(p, middle)
    bend(p, middle, lower, far, pose)
    # The end relative to the first joint, turned to the target, then about the direction there.
    now = quat_at(pose, 4 * first)
    arm = rotate(now, upper + rotate(quat_at(pose, 4 * middle), lower))
    if far > 1e-12 and norm(arm) > 1e-12:
        way = way / far
        straight = exp(shortest_turn(arm / norm(arm), way)) * now
        across = wanted - dot(wanted, way) * way
        best = best_swivel(p, first, way, straight, upper, across, pose)
        set_joint(p, first, exp(best * way) * straight, pose)
    enough = 1e-9 * (norm(lower) + norm(upper))
    for _ in range(POLISH):
        if end_error(p, end, tip, goal, pose) <= enough:
            break
        polish(p, middle, end, tip, goal, pose)
        polish(p, first, end, tip, goal, pose)
    project_pose(p, pose, distances)
    return end_error(p, end, tip, goal, pose)
