"""Packed models for games and browsers: `*.limits.bin` checked on load, and what it answers.

A file is one flat buffer of float64: a header, the skeleton, a row for each limit, and the packed
limits. `check_file` looks at every number that an index, a count or a size is made of, so that no
file, however damaged, makes the other kernels read outside it.
"""

from __future__ import annotations

import numpy as np

from . import distance_field as fields
from . import hinges
from . import limit as limits
from . import reach_cone as cones
from . import theta_phi as tables
from .clamp import first_exit
from .jit import kernel
from .kinds import BOX, CONE, ELLIPSOID, FIELD, HINGES, KDOP, PRODUCT, TABLE, UNION
from .limit import enter, leave, nearest
from .rotation import BLOCK, DISTANCE, LANES, OFF_UNIT, QW, QX, QY, QZ, W0, X0, Y0, Z0, store

# Where things stand in a file. Tables are given by where they start.
MAGIC, FILE_VERSION, FILE_SIZE, CHECKSUM, JOINTS, LIMITS = range(6)
PARENTS, OFFSETS, NAMES, TEXT, ROWS = 6, 7, 8, 9, 10
FILE_HEADER = 11
# Of a row: of whom, measured from (−2: its parent), where its limit is, and the axis of a hinge in
# the joint's own frame (0 if it is none).
JOINT, ANCESTOR, AT, HINGE = 0, 1, 2, 3
ROW = 6
PARENT = -2.0
BEGINS = 0x0A41_4956_4F4E_5953  # "SYNOVIA\\n"
FORMAT = 2.0
TOLERANCE = 1e-9  # radians outside that count as inside; `arrays.tolerance` of float64
FINEST = 3e-5  # radians, the shortest step of `exits`; `model.clamp.MIN_STEP`
EDGE = 0.5e-9  # of a limit, for `exits`; `model.clamp.EDGE`

# What may be wrong with a file.
WHOLE, NO_LIMITS, OTHER_VERSION, CUT, DAMAGED, BAD_SKELETON, BAD_LIMIT = range(7)

MOST_JOINTS = 100_000
MOST_NUMBER = 1e12  # parameters are within this, so that nothing that is made of them overflows
MOST_NODES = 1000  # along an axis
PRIME = 4294967291  # below 2³²
MOST_SCALE, MOST_LEVELS = 2.0**20, 2.0**30  # of features of a field


@kernel
def checksum(p):
    """Return a number that nearly every change of a file changes, of all but itself."""
    halves = p.view(np.int32)
    a, b = 1, 0
    for i in range(2 * p.shape[0]):
        if i // 2 != CHECKSUM:
            a = (a + (int(halves[i]) & 0xFFFFFFFF)) % PRIME
            b = (b + a) % PRIME
    return float((a ^ (b << 20)) & 0x1FFFFFFFFFFFFF)


@kernel("f8[]")
def sum_of(p):
    """Return the checksum that a file must have, for whoever writes it."""
    return checksum(p)


@kernel
def is_whole(x, least, most):
    """Tell whether a number is an integer from `least` to `most`."""
    return x >= least and x <= most and x == np.floor(x)


@kernel
def are_finite(p, first, count):
    """Tell whether numbers are there, and within what is computed with."""
    if first < 0 or count < 0 or first + count > p.shape[0]:
        return False
    known = True
    for i in range(first, first + count):
        known = known and abs(p[i]) <= MOST_NUMBER
    return known


@kernel
def check_solid(p, o, end, kind):
    """Tell whether a convex shape, of all the planes that it says it has, fills `o` to `end`."""
    count = 15
    if kind == KDOP:
        if o >= end or not is_whole(p[o], 1.0, 10000.0):
            return False
        count = 1 + 5 * int(p[o])
    elif kind != BOX and kind != ELLIPSOID:
        return False
    return o + count == end and are_finite(p, o, count)


@kernel
def check_cone(p, o, end):
    """Tell whether a reach cone stands at `o`, and all that it points to before `end`."""
    header = cones.COUNT + 1
    if o + header > end or not are_finite(p, o, header):
        return False
    size = p[o + cones.SIZE]
    if not is_whole(size, header, end - o):
        return False
    buckets, most, side = p[o + cones.BUCKETS], p[o + cones.MOST], p[o + cones.SIDE]
    count, slices, edges = p[o + cones.COUNT], p[o + cones.SLICES], p[o + cones.EDGES]
    table, cells = p[o + cones.TABLE], p[o + cones.CELLS]
    known = is_whole(buckets, 1.0, size) and is_whole(most, 0.0, size)
    known = known and is_whole(side, 1.0, 1000.0) and is_whole(count, 1.0, size)
    known = known and is_whole(slices, header, size) and is_whole(edges, header, size)
    known = known and is_whole(table, header, size) and is_whole(cells, header, size)
    if not (known and are_finite(p, o, int(size))):
        return False
    places = 6.0 * side * side
    if table + buckets > size or edges + cones.EDGE * count > size:
        return False
    if slices + cones.SLICE * count > size or cells + cones.CELL_ROW * places + 1.0 > size:
        return False
    for k in range(int(buckets)):
        if not is_whole(p[o + int(table) + k], 0.0, size - cones.SLICE * (most + 1.0)):
            return False
    first = o + int(cells)
    for k in range(int(places)):
        here, onward = p[first + cones.CELL_ROW * k], p[first + cones.CELL_ROW * (k + 1)]
        if not (is_whole(here, 0.0, size - cells) and is_whole(onward, here + 1.0, size - cells)):
            return False
        for at in range(int(here), int(onward)):
            if not is_whole(p[first + at], 0.0, count - 1.0):
                return False
    return True


@kernel
def check_union(p, o, end):
    """Tell whether cones stand at `o`, one after the other, of which the last ends at `end`."""
    if o >= end or not is_whole(p[o], 1.0, 10000.0):
        return False
    at = o + 1
    for _ in range(int(p[o])):
        if at >= end or p[at] != CONE or not check_cone(p, at + 1, end):
            return False
        at += 1 + int(p[at + 1 + cones.SIZE])
    return at == end


@kernel
def check_walls(p, o, size, entry):
    """Return how many walls an entry of a table has, all of them there; 0 if not.

    An entry with one wall names it twice.
    """
    if not is_whole(entry, 1.0, size - 3.0):
        return 0
    count = max(p[o + int(entry)], 2.0)
    if not is_whole(count, 2.0, size - entry - 1.0) or not p[o + int(entry)] >= 1.0:
        return 0
    for k in range(int(count)):
        if not is_whole(p[o + int(entry) + 1 + k], 0.0, size - 8.0):
            return 0
    return int(count)


@kernel
def check_table(p, o, end):
    """Tell whether a theta-phi table stands at `o`, and all that it points to before `end`."""
    if o + tables.PLACES >= end or not are_finite(p, o, end - o):
        return False
    size = float(end - o)
    rows, columns, fine = p[o + tables.ROWS], p[o + tables.COLUMNS], p[o + tables.FINE]
    twists, around, places = p[o + tables.TWISTS], p[o + tables.AROUND], p[o + tables.PLACES]
    known = is_whole(rows, 1.0, 1e4) and is_whole(columns, 1.0, 1e4) and is_whole(fine, 1.0, 100.0)
    known = known and is_whole(twists, 0.0, size) and is_whole(around, 0.0, size)
    if not (known and is_whole(places, 0.0, size)):
        return False
    if twists + 2.0 * (columns + 2.0) * (rows + 2.0) > size:
        return False
    if around + 2.0 * rows * columns > size or places + fine * fine * rows * columns > size:
        return False
    looked, first = 0, o + int(places)
    for k in range(int(fine * fine * rows * columns)):
        code = p[first + k]
        if code >= 0.0 and code < tables.DEEP:
            continue
        found = check_walls(p, o, size, abs(code))
        looked += found
        if found == 0 or looked > 1000 * (end - o):
            return False
    return True


@kernel
def check_axis(p, o, axis):
    """Tell whether a field's numbers along an axis can be what they are said to be."""
    spacing, period, turns = (
        p[o + fields.SPACING + axis],
        p[o + fields.PERIOD + axis],
        p[o + fields.TURNS + axis],
    )
    known = abs(p[o + fields.LOW + axis]) <= 1e4 and spacing >= 1e-5 and spacing <= 1e4
    known = known and is_whole(p[o + fields.NODES + axis], 2.0, MOST_NODES)
    known = known and is_whole(p[o + fields.INNER + axis], 1.0, MOST_NODES)
    known = known and is_whole(p[o + fields.OUTER + axis], 0.0, MOST_NODES)
    known = known and is_whole(p[o + fields.BLOCKS + axis], 1.0, MOST_NODES)
    known = known and p[o + fields.STRIDE + axis] >= 1e-5 and p[o + fields.STRIDE + axis] <= 1e4
    if period == 0.0:
        return known and turns == 0.0
    return known and period >= 1e-5 and abs(period * turns - 1.0) < 1e-9


@kernel
def check_field(p, o, end):
    """Tell whether a distance field stands at `o`, and all that it points to before `end`."""
    if o + fields.HEADER > end or not are_finite(p, o, fields.HEADER):
        return False
    if not (check_axis(p, o, 0) and check_axis(p, o, 1) and check_axis(p, o, 2)):
        return False
    steep = min(p[o + fields.STEEP_INSIDE], p[o + fields.STEEP_OUTSIDE])
    known = steep >= 1e-6 and p[o + fields.HALF_DIAGONAL] > 0.0
    known = known and is_whole(p[o + fields.SCALE], 1.0, MOST_SCALE)
    known = known and is_whole(p[o + fields.LEVELS], 2.0, MOST_LEVELS)
    known = known and (p[o + fields.WIDE] == 0.0 or p[o + fields.WIDE] == 1.0)
    values, features = p[o + fields.VALUES], p[o + fields.FEATURES]
    starts, sites, size = p[o + fields.STARTS], p[o + fields.SITES], float(end - o)
    known = known and is_whole(values, fields.HEADER, size)
    known = known and is_whole(features, fields.HEADER, size)
    known = known and is_whole(starts, fields.HEADER, size)
    if not (known and is_whole(sites, fields.HEADER, size)):
        return False
    nodes, knots, blocks = 1.0, 1.0, 1.0
    for axis in range(3):
        nodes *= p[o + fields.NODES + axis]
        knots *= p[o + fields.INNER + axis] + 2.0 * p[o + fields.OUTER + axis] + 1.0
        blocks *= p[o + fields.BLOCKS + axis]
    wide = p[o + fields.WIDE] > 0.0
    room = size - features if wide else 2.0 * (size - features)
    if nodes > 2.0 * (size - values) or knots > room or starts + blocks + 1.0 > size:
        return False
    singles, first = p.view(np.float32), 2 * (o + int(values))
    for k in range(int(nodes)):
        if not abs(float(singles[first + k])) <= 1e9:
            return False
    if wide and not are_finite(p, o + int(features), int(knots)):
        return False
    before = 0.0
    for k in range(int(blocks) + 1):
        here = p[o + int(starts) + k]
        if not is_whole(here, before, 2.0 * (size - sites)):
            return False
        before = here
    return True


@kernel
def check_tail(p, t):
    """Tell whether what ends a limit of hinges stands at `t`: angles within a few turns."""
    known = are_finite(p, t, hinges.TAIL) and abs(p[t + hinges.LOCK]) <= 10.0
    for k in range(hinges.ALONG, hinges.LOW):
        known = known and abs(p[t + k]) <= 1.0
    for k in range(3):
        low, high = p[t + hinges.LOW + k], p[t + hinges.HIGH + k]
        known = known and low >= -100.0 and high <= 100.0 and low <= high
    return known


@kernel
def check_limit(p, o):
    """Tell whether a packed limit stands at `o`, all of it there and all that it points to."""
    if not limits.is_whole(p, o) or not are_finite(p, o, limits.HEADER + 1):
        return False
    size, shape = p[o + limits.SIZE], o + limits.HEADER
    if size != np.floor(size) or not is_whole(p[o + limits.CHART], 0.0, HINGES):
        return False
    far = max(p[o + limits.REACH], p[o + limits.REACH_TWIST])
    if not (min(p[o + limits.REACH], p[o + limits.REACH_TWIST]) >= 0.0 and far <= 100.0):
        return False
    end = o + int(size)
    if int(p[o + limits.CHART]) == HINGES:
        end -= hinges.TAIL
        if end <= shape or not check_tail(p, end):
            return False
    if not is_whole(p[shape], BOX, UNION):
        return False
    kind, o = int(p[shape]), shape + 1
    if kind == CONE:
        return check_cone(p, o, end) and o + int(p[o + cones.SIZE]) == end
    if kind == TABLE:
        return check_table(p, o, end)
    if kind == FIELD:
        return check_field(p, o, end)
    if kind == UNION:
        return check_union(p, o, end)
    if kind == PRODUCT:
        if o + 3 > end or not are_finite(p, o, 3) or not is_whole(p[o + 2], BOX, KDOP):
            return False
        return check_solid(p, o + 3, end, int(p[o + 2]))
    return check_solid(p, o, end, kind)


@kernel
def check_skeleton(p):
    """Tell whether names, parents, offsets and the rows of limits are there, and go together."""
    size = p[FILE_SIZE]
    if not (is_whole(p[JOINTS], 0.0, MOST_JOINTS) and is_whole(p[LIMITS], 0.0, p[JOINTS])):
        return False
    joints, count = int(p[JOINTS]), int(p[LIMITS])
    for table in range(PARENTS, FILE_HEADER):
        if not is_whole(p[table], FILE_HEADER, size):
            return False
    parents, names, rows = int(p[PARENTS]), int(p[NAMES]), int(p[ROWS])
    there = p[PARENTS] + joints <= size and p[OFFSETS] + 3.0 * joints <= size
    there = there and p[NAMES] + joints + 1.0 <= size and p[ROWS] + float(ROW * count) <= size
    if not (there and are_finite(p, int(p[OFFSETS]), 3 * joints)):
        return False
    before = 0.0
    for k in range(joints + 1):
        if not is_whole(p[names + k], before, 8.0 * (size - p[TEXT])):
            return False
        before = p[names + k]
    for k in range(joints):
        if not is_whole(p[parents + k], -1.0, k - 1.0):
            return False
    last = -1.0
    for k in range(count):
        joint, ancestor = p[rows + ROW * k + JOINT], p[rows + ROW * k + ANCESTOR]
        if not is_whole(joint, last + 1.0, joints - 1.0):
            return False
        if not is_whole(p[rows + ROW * k + AT], FILE_HEADER, size):
            return False
        last, at = joint, rows + ROW * k + HINGE
        square = p[at] ** 2 + p[at + 1] ** 2 + p[at + 2] ** 2
        if not (square == 0.0 or abs(square - 1.0) <= 1e-6):
            return False
        if ancestor == PARENT:
            continue
        above = p[parents + int(joint)]
        while above >= 0.0 and above != ancestor:
            above = p[parents + int(above)]
        if not (ancestor >= 0.0 and above == ancestor):
            return False
    return True


@kernel("f8[]")
def check_file(p):
    """Return WHOLE, or what is wrong with a file; of one that is whole all kernels may read."""
    if p.shape[0] < FILE_HEADER or p[MAGIC].view(np.int64) != BEGINS:
        return NO_LIMITS
    if p[FILE_VERSION] != FORMAT:
        return OTHER_VERSION
    if p[FILE_SIZE] != float(p.shape[0]):
        return CUT
    if p[CHECKSUM] != checksum(p):
        return DAMAGED
    if not check_skeleton(p):
        return BAD_SKELETON
    rows = int(p[ROWS])
    for k in range(int(p[LIMITS])):
        if not check_limit(p, int(p[rows + ROW * k + AT])):
            return BAD_LIMIT
    return WHOLE


@kernel
def limit_of(p, k):
    """Return the packed limit of row k, as a stretch of the file."""
    at = int(p[int(p[ROWS]) + ROW * k + AT])
    return p[at : at + int(p[at + limits.SIZE])]


@kernel
def load_usable(rotations, start, block, n):
    """Copy `n` quaternions into the block, the identity where one is no rotation."""
    for i in range(n):
        at = 4 * (start + i)
        w, x, y, z = rotations[at], rotations[at + 1], rotations[at + 2], rotations[at + 3]
        off = abs(w * w + x * x + y * y + z * z - 1.0)
        usable = off <= 0.5
        block[W0 + i] = w if usable else 1.0
        block[X0 + i] = x if usable else 0.0
        block[Y0 + i] = y if usable else 0.0
        block[Z0 + i] = z if usable else 0.0
        block[OFF_UNIT + i] = 0.0


@kernel
def store_found(block, n, start, out, distances):
    """Copy the `n` rotations to go out, and how far outside they were, from number `start` on."""
    store(block, n, start, out)
    for i in range(n):
        distances[start + i] = block[DISTANCE + i]


@kernel("f8[] i8 f8[] f8[] f8[]")
def project(p, k, rotations, out, distances):
    """Write the nearest legal rotations of the limit in row k, and how far outside they were.

    Rotations are unit quaternions, w first, flat; what is no rotation counts as the identity. How
    deep inside one is `measure` tells; here it is at most the tolerance.
    """
    block, other = np.empty(BLOCK), np.empty(BLOCK)
    lanes, packed = np.empty(2 * LANES, np.int64), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load_usable(rotations, start, block, n)
        enter(packed, 0, block, n)
        nearest(packed, 0, TOLERANCE, 0.0, block, other, lanes, n)
        leave(packed, 0, TOLERANCE, block, n)
        store_found(block, n, start, out, distances)


@kernel("f8[] i8 f8[] f8[]")
def measure(p, k, rotations, distances):
    """Write how far outside the limit in row k rotations are; at most 0 inside."""
    block, other = np.empty(BLOCK), np.empty(BLOCK)
    lanes, packed = np.empty(2 * LANES, np.int64), limit_of(p, k)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load_usable(rotations, start, block, n)
        enter(packed, 0, block, n)
        nearest(packed, 0, -np.inf, np.inf, block, other, lanes, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]


@kernel
def turn_angle(a, b, at):
    """Return the angle of the turn between two unit quaternions; 0 if one is none."""
    less, more = 0.0, 0.0
    for k in range(at, at + 4):
        less += (a[k] - b[k]) ** 2
        more += (a[k] + b[k]) ** 2
    angle = 4.0 * np.arctan2(np.sqrt(min(less, more)), np.sqrt(max(less, more)))
    return angle if angle <= 2.0 * np.pi else 0.0


@kernel("f8[] i8 f8[] f8[] f8[]")
def exits(p, k, previous, proposed, reached):
    """Write the largest t in [0, 1] with each turn from previous to proposed legal before it."""
    packed, angle, one = limit_of(p, k), np.empty(1), np.empty(1)
    start, end = np.empty(4), np.empty(4)
    for i in range(reached.shape[0]):
        usable = True
        for j in range(4):
            start[j], end[j] = previous[4 * i + j], proposed[4 * i + j]
            usable = usable and abs(start[j]) <= 1.5 and abs(end[j]) <= 1.5
        angle[0], one[0] = turn_angle(start, end, 0), 0.0
        if usable:
            first_exit(start, end, angle, packed, EDGE, FINEST, one)
        reached[i] = one[0]


@kernel
def multiply(a, b):
    """Return the product of two quaternions."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def rotation_above(p, joint, ancestor, pose):
    """Return the rotation of a joint's parent as the ancestor sees it; pose is flat."""
    parents, above = int(p[PARENTS]), (1.0, 0.0, 0.0, 0.0)
    at = int(p[parents + joint])
    while at != ancestor:
        own = (pose[4 * at], pose[4 * at + 1], pose[4 * at + 2], pose[4 * at + 3])
        above = multiply(own, above)
        at = int(p[parents + at])
    return above


@kernel("f8[] f8[] f8[]")
def project_pose(p, pose, distances):
    """Make the rotations of all joints (flat, J × 4) legal, in place, parents first.

    To each row of limits comes how far outside its joint was. A joint that is measured from an
    ancestor is looked at when those between are legal.
    """
    block, other, one = np.empty(BLOCK), np.empty(BLOCK), np.empty(4)
    lanes, rows = np.empty(2 * LANES, np.int64), int(p[ROWS])
    for k in range(int(p[LIMITS])):
        packed, at = limit_of(p, k), 4 * int(p[rows + ROW * k + JOINT])
        ancestor = int(p[rows + ROW * k + ANCESTOR])
        above = (1.0, 0.0, 0.0, 0.0)
        if ancestor != int(PARENT):
            above = rotation_above(p, at // 4, ancestor, pose)
        own = (pose[at], pose[at + 1], pose[at + 2], pose[at + 3])
        seen = multiply(above, own) if ancestor != int(PARENT) else own
        scale = 1.0
        if ancestor != int(PARENT):
            scale = 1.0 / np.sqrt(seen[0] ** 2 + seen[1] ** 2 + seen[2] ** 2 + seen[3] ** 2)
        one[0], one[1], one[2], one[3] = (
            scale * seen[0],
            scale * seen[1],
            scale * seen[2],
            scale * seen[3],
        )
        load_usable(one, 0, block, 1)
        enter(packed, 0, block, 1)
        nearest(packed, 0, TOLERANCE, 0.0, block, other, lanes, 1)
        distances[k] = block[DISTANCE]
        if block[DISTANCE] <= TOLERANCE:
            continue
        leave(packed, 0, TOLERANCE, block, 1)
        local = (block[QW], block[QX], block[QY], block[QZ])
        if ancestor != int(PARENT):
            local = multiply((above[0], -above[1], -above[2], -above[3]), local)
        scale = 1.0
        if ancestor != int(PARENT):
            square = local[0] ** 2 + local[1] ** 2 + local[2] ** 2 + local[3] ** 2
            scale = 1.0 / np.sqrt(square)
        pose[at], pose[at + 1] = scale * local[0], scale * local[1]
        pose[at + 2], pose[at + 3] = scale * local[2], scale * local[3]
