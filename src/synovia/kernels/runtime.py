"""Queries on packed models for games and browsers; `runtime_file` describes and checks files."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from . import dependent
from . import limit as limits
from .clamp import first_exit
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
)
from .vector import IDENTITY, angle_between, conj, normalize, quat_at, quat_dot, set_quat

TOLERANCE = 1e-9  # radians outside that count as inside; `arrays.tolerance` of float64
FINEST = 3e-5  # radians, the shortest step of `exits`; `model.clamp.MIN_STEP`
EDGE = 0.5e-9  # radians outside that count as legal in `exits`; `model.clamp.EDGE`
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
    Distances of members are at most the tolerance, but not their depth: see `measure`.
    """
    block, packed = np.empty(BLOCK), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, 4 * start, 4, block, n)
        limits.make_legal(packed, 0, TOLERANCE, block, n)
        store_found(block, n, start, out, distances)


@kernel("f8[] i8 f8[] f8[]")
def measure(p, k, rotations, distances):
    """Write signed distances of rotations from the limit in row k; at most 0 inside."""
    limits.measure(rotations, limit_of(p, k), distances)


@kernel("f8[] i8 f8[] f8[] f8[]")
def exits(p, k, previous, proposed, reached):
    """Write the largest t in [0, 1] up to which rotating from previous to proposed is legal."""
    packed, angle, one = limit_of(p, k), np.empty(1), np.empty(1)
    start, end = np.empty(4), np.empty(4)
    for i in range(reached.shape[0]):
        known = True
        for j in range(4):
            start[j], end[j] = previous[4 * i + j], proposed[4 * i + j]
            known = known and abs(start[j]) <= 1.5 and abs(end[j]) <= 1.5
        angle[0], one[0] = angle_between(quat_at(start, 0), quat_at(end, 0)), 0.0
        if known:
            first_exit(start, end, angle, packed, EDGE, FINEST, one)
        reached[i] = one[0]


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
    above, own = rotation_above(p, joint, ancestor, pose), quat_at(pose, 4 * joint)
    return above, usable(own if ancestor == PARENT else normalize(above * own))


@kernel
def set_seen(joint, ancestor, above, seen, pose):
    """Set the rotation of a joint from its rotation relative to an ancestor."""
    own = seen if ancestor == PARENT else normalize(conj(above) * seen)
    set_quat(pose, 4 * joint, own)


@kernel
def make_legal(p, k, pose):
    """Make the joint in row k legal by its own limit; return its distance before."""
    joint, ancestor = int(p[row_at(p, k) + ROW.joint]), ancestor_of(p, k)
    above, seen = seen_from(p, joint, ancestor, pose)
    legal, distance = limits.nearest_legal(limit_of(p, k), 0, TOLERANCE, seen)
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
        _above, seen = seen_from(p, joint, ancestor_of(p, k), pose)
        set_quat(found.seen[i - first], 0, seen)
        room = found.measured[start:]
        width = dependent.measure(p, numbers, limit_of(p, k), seen, found.block, room)
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
            legal, _ = search_one(own, numbers, found.measured, widths, driver)
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
