"""Packed models for games and browsers: `*.limits.bin` checked on load, and what it answers.

A file is one flat buffer of float64: a header, the skeleton, a row for each limit and for each
joint that depends on another, and the packed limits. `check_file` looks at every number that an
index, a count or a size is made of, so that no file, however damaged, makes the other kernels read
outside it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from . import dependent
from . import distance_field as fields
from . import limit as limits
from . import reach_cone as cones
from . import theta_phi as tables
from .clamp import first_exit
from .dependent import NODES
from .distance_field import HEADER as FIELD_HEADER
from .hinges import TAIL
from .jit import kernel
from .kinds import (
    BOX,
    CHART_KINDS,
    CONE,
    ELLIPSOID,
    FIELD,
    HINGES,
    KDOP,
    MOST_AXES,
    PRODUCT,
    SHAPE_KINDS,
    SOLIDS,
    TABLE,
    UNION,
)
from .limit import enter, leave, nearest
from .pair import Room, clear, search_one
from .reach_cone import HEADER as CONE_HEADER
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    OFF_UNIT,
    QW,
    W0,
    lane_quat,
    set_lane_quat,
    store,
)
from .theta_phi import HEADER as TABLE_HEADER
from .vector import IDENTITY, angle_between, conj, normalize, quat_at, quat_dot, set_quat

# Where things stand in a file. Tables are given by where they start.
MAGIC, FILE_VERSION, FILE_SIZE, CHECKSUM, JOINTS, LIMITS = range(6)
PARENTS, OFFSETS, NAMES, TEXT, ROWS = 6, 7, 8, 9, 10
PAIRS, PAIR_ROWS = 11, 12  # how many joints depend on another, and where their rows begin
FILE_HEADER = 13
# Of a row: of whom, measured from (−2: its parent), where its limit is, and the axis of a hinge in
# the joint's own frame (0 if it is none).
JOINT, ANCESTOR, AT, HINGE = 0, 1, 2, 3
ROW = 6
PARENT = -2.0
# Of a row of a joint that depends on another: the row of its limit, the driver and the row of its
# limit (−1: none), and where its packed numbers are. Rows of one driver stand together, and so do
# their numbers.
ROW_OF, DRIVER, DRIVER_ROW, NUMBERS_AT = range(4)
PAIR_ROW = 4
MOST_DEPENDENTS = 8  # of one driver
MOST_PAIRS = 1000  # of all: each is compared with each
MOST_MEASURED = 3 * 9 * 9  # numbers of one of them: three a cover
MOST_DIVISIONS, MOST_TURNS = 64.0, 4.0
BEGINS = 0x0A41_4956_4F4E_5953  # "SYNOVIA\\n"
FORMAT = 4.0
TOLERANCE = 1e-9  # radians outside that count as inside; `arrays.tolerance` of float64
FINEST = 3e-5  # radians, the shortest step of `exits`; `model.clamp.MIN_STEP`
EDGE = 0.5e-9  # of a limit, for `exits`; `model.clamp.EDGE`

# What may be wrong with a file.
WHOLE, NO_LIMITS, OTHER_VERSION, CUT, DAMAGED, BAD_SKELETON, BAD_LIMIT = range(7)

MOST_JOINTS = 100_000
MOST_BETWEEN = 1_000_000  # joints between limits and what they are measured from, of all limits
MOST_NUMBER = 1e12  # parameters are within this, so that nothing that is made of them overflows
MOST_REACH = 32.0  # radians: a little more than the five turns that a limit may reach
LEAST_SINES = 1e-7  # product of the sines of the angles between neighbouring hinges
MOST_NODES = 1000  # along an axis
PRIME = 4294967291  # below 2³²


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
def is_unit(p, o, count):
    """Tell whether so many numbers are those of a unit vector or quaternion."""
    square = 0.0
    for k in range(o, o + count):
        square += p[k] * p[k]
    return abs(square - 1.0) <= 1e-6


@kernel
def check_solid(p, o, end, kind):
    """Tell whether a convex shape, of all the planes that it says it has, fills `o` to `end`."""
    count = 15
    if kind == KDOP:
        if o >= end or not is_whole(p[o], 1.0, MOST_AXES):
            return False
        count = 1 + 5 * int(p[o])
    elif kind != BOX and kind != ELLIPSOID:
        return False
    return o + count == end and are_finite(p, o, count)


@kernel
def check_cone(p, o, end):
    """Tell whether a reach cone stands at `o`, and all that it points to before `end`."""
    header = CONE_HEADER.SIZE
    if o + header > end or not are_finite(p, o, header):
        return False
    size = p[o + CONE_HEADER.size]
    if not is_whole(size, header, end - o):
        return False
    buckets, most, side = (
        p[o + CONE_HEADER.buckets],
        p[o + CONE_HEADER.most],
        p[o + CONE_HEADER.side],
    )
    count, slices, edges = (
        p[o + CONE_HEADER.count],
        p[o + CONE_HEADER.slices],
        p[o + CONE_HEADER.edges],
    )
    table, cells = p[o + CONE_HEADER.table], p[o + CONE_HEADER.cells]
    known = is_whole(buckets, 1.0, size) and is_whole(most, 0.0, size)
    known = known and is_whole(side, 1.0, 1000.0) and is_whole(count, 1.0, size)
    known = known and is_whole(slices, header, size) and is_whole(edges, header, size)
    known = known and is_whole(table, header, size) and is_whole(cells, header, size)
    if not (known and are_finite(p, o, int(size))):
        return False
    places = 6.0 * side * side
    if table + buckets > size or edges + cones.EDGE.SIZE * count > size:
        return False
    if slices + cones.SLICE.SIZE * count > size or cells + cones.CELL.SIZE * places + 1.0 > size:
        return False
    for k in range(int(buckets)):
        if not is_whole(p[o + int(table) + k], 0.0, size - cones.SLICE.SIZE * (most + 1.0)):
            return False
    first = o + int(cells)
    for k in range(int(places)):
        here, onward = p[first + cones.CELL.SIZE * k], p[first + cones.CELL.SIZE * (k + 1)]
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
        at += 1 + int(p[at + 1 + CONE_HEADER.size])
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
    if o + TABLE_HEADER.SIZE > end or not are_finite(p, o, end - o):
        return False
    size = float(end - o)
    rows, columns, fine = (
        p[o + TABLE_HEADER.rows],
        p[o + TABLE_HEADER.columns],
        p[o + TABLE_HEADER.fine],
    )
    twists, around, places = (
        p[o + TABLE_HEADER.twists],
        p[o + TABLE_HEADER.around],
        p[o + TABLE_HEADER.places],
    )
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
    """Return True if the numbers of a field along an axis are in range."""
    spacing, period = p[o + FIELD_HEADER.spacing + axis], p[o + FIELD_HEADER.period + axis]
    inverse = p[o + FIELD_HEADER.inverse_period + axis]
    known = abs(p[o + FIELD_HEADER.low + axis]) <= 1e4 and spacing >= 1e-5 and spacing <= 1e4
    known = known and is_whole(p[o + FIELD_HEADER.nodes + axis], 2.0, MOST_NODES)
    if period == 0.0:
        return known and inverse == 0.0
    return known and period >= 1e-5 and abs(period * inverse - 1.0) < 1e-9


@kernel
def check_field(p, o, end):
    """Return True if a whole distance field is at `o`, before `end`."""
    if o + FIELD_HEADER.SIZE > end or not are_finite(p, o, FIELD_HEADER.SIZE):
        return False
    if not (check_axis(p, o, 0) and check_axis(p, o, 1) and check_axis(p, o, 2)):
        return False
    steep = min(p[o + FIELD_HEADER.steep_inside], p[o + FIELD_HEADER.steep_outside])
    known = steep >= 1e-6 and p[o + FIELD_HEADER.half_diagonal] > 0.0
    known = known and is_whole(p[o + FIELD_HEADER.outer], 1.0, MOST_NODES)
    nodes, blocks, knots = 1.0, 1.0, 1.0
    for axis in range(3):
        count, wraps = p[o + FIELD_HEADER.nodes + axis], p[o + FIELD_HEADER.period + axis] > 0.0
        nodes *= count
        blocks *= np.floor((count - 2.0) / fields.BLOCK_SIDE) + 1.0
        knots *= count if wraps else count + 2.0 * p[o + FIELD_HEADER.outer]
    least, sites, size = p[o + FIELD_HEADER.blocks], p[o + FIELD_HEADER.sites], float(end - o)
    known = known and is_whole(least, FIELD_HEADER.SIZE, size) and is_whole(sites, least, size)
    known = known and nodes <= 2.0 * (least - FIELD_HEADER.SIZE)
    if not known or blocks > 2.0 * (sites - least) or knots > 2.0 * (size - sites):
        return False
    singles, first = p.view(np.float32), 2 * (o + FIELD_HEADER.SIZE)
    for k in range(int(nodes)):
        known = known and abs(float(singles[first + k])) <= 1e9
    return known


@kernel
def check_tail(p, t):
    """Tell whether what ends a limit of hinges stands at `t`: angles within a few turns.

    The middle hinge is made of two unit vectors, and turns the outer axes towards each other: else
    all rotations were at gimbal lock.
    """
    known = are_finite(p, t, TAIL.SIZE) and abs(p[t + TAIL.lock]) <= 10.0
    known = known and is_unit(p, t + TAIL.along, 2) and is_unit(p, t + TAIL.along_far, 2)
    known = known and p[t + TAIL.along] ** 2 - p[t + TAIL.along_far] ** 2 >= LEAST_SINES
    for k in range(3):
        low, high = p[t + TAIL.low + k], p[t + TAIL.high + k]
        known = known and low >= -MOST_REACH and high <= MOST_REACH and low <= high
    return known


@kernel
def check_limit(p, o):
    """Tell whether a packed limit stands at `o`, all of it there and all that it points to."""
    if not limits.is_whole(p, o) or not are_finite(p, o, limits.HEADER.SIZE + 1):
        return False
    size, shape = p[o + limits.HEADER.size], o + limits.HEADER.SIZE
    if size != np.floor(size) or p[o + limits.HEADER.chart] not in CHART_KINDS:
        return False
    for k in range(limits.HEADER.reach, limits.HEADER.SIZE):  # reaches and margin
        if not (p[o + k] >= 0.0 and p[o + k] <= MOST_REACH):
            return False
    for k in range(limits.HEADER.into_left, limits.HEADER.axis, 4):
        if not is_unit(p, o + k, 4):
            return False
    end = o + int(size)
    if int(p[o + limits.HEADER.chart]) == HINGES:
        end -= TAIL.SIZE
        if end <= shape or not check_tail(p, end):
            return False
    if p[shape] not in SHAPE_KINDS:
        return False
    kind, o = int(p[shape]), shape + 1
    if kind == CONE:
        return check_cone(p, o, end) and o + int(p[o + CONE_HEADER.size]) == end
    if kind == TABLE:
        return check_table(p, o, end)
    if kind == FIELD:
        return check_field(p, o, end)
    if kind == UNION:
        return check_union(p, o, end)
    if kind == PRODUCT:
        if o + 3 > end or not are_finite(p, o, 3) or p[o + 2] not in SOLIDS:
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
    for table in range(PARENTS, ROWS + 1):
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
    last, between = -1.0, 0
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
        if not ancestor >= 0.0:
            return False
        above = p[parents + int(joint)]
        while above > ancestor and between < MOST_BETWEEN:  # parents come before children
            above = p[parents + int(above)]
            between += 1
        if above != ancestor:
            return False
    return True


@kernel
def check_numbers(p, o):
    """Return the size of a packed dependent limit at `o`, all of it there; 0 if it cannot be."""
    if o + NODES.SIZE > p.shape[0] or not are_finite(p, o, NODES.SIZE):
        return 0
    numbers, by_rotation = p[o + NODES.numbers], p[o + NODES.by_rotation]
    known = is_whole(numbers, 1.0, 2.0) and is_whole(by_rotation, 0.0, 1.0)
    known = known and is_whole(p[o + NODES.divisions], 1.0, MOST_DIVISIONS)
    known = known and is_whole(p[o + NODES.turns], 1.0, MOST_TURNS)
    known = known and is_unit(p, o + NODES.axis, 3) and is_unit(p, o + NODES.into, 4)
    known = known and is_unit(p, o + NODES.bone, 4)
    known = known and (numbers == 1.0 or is_unit(p, o + NODES.along, 3))
    known = known and p[o + NODES.low] <= p[o + NODES.high]
    if not known:
        return 0
    n = int(p[o + NODES.divisions])
    nodes = (4 * n * n * n + 8 * n) // 3 if by_rotation > 0.0 else 4 * n * n + 2
    size = NODES.SIZE + int(numbers) * nodes
    if p[o + NODES.size] != float(size) or not are_finite(p, o, size):
        return 0
    for k in range(o + NODES.SIZE, o + size):
        if not abs(p[k]) <= 100.0:
            return 0
    return size


@kernel
def is_flat(p, o):
    """Tell whether a packed limit is in a chart that pairs are searched for in: not of hinges."""
    return int(p[o + limits.HEADER.chart]) != HINGES


@kernel
def row_of(p, joint):
    """Return the row of a joint's limit, −1 if it has none; rows are in the order of joints."""
    rows, first, last = int(p[ROWS]), 0, int(p[LIMITS])
    while first < last:
        middle = (first + last) // 2
        if p[rows + ROW * middle + JOINT] < joint:
            first = middle + 1
        else:
            last = middle
    found = first < int(p[LIMITS]) and p[rows + ROW * first + JOINT] == joint
    return first if found else -1


@kernel
def is_at_or_below(p, joint, other):
    """Tell whether a joint is another one, or hangs from it; parents come before children."""
    while joint > other:
        joint = int(p[int(p[PARENTS]) + joint])
    return joint == other


@kernel
def check_pair(p, at):
    """Tell whether a row of a dependent joint stands at `at`, with all that it points to."""
    rows = int(p[ROWS])
    if not (are_finite(p, at, PAIR_ROW) and is_whole(p[at + ROW_OF], 0.0, p[LIMITS] - 1.0)):
        return False
    known = is_whole(p[at + DRIVER], 0.0, p[JOINTS] - 1.0)
    known = known and is_whole(p[at + NUMBERS_AT], FILE_HEADER, p[FILE_SIZE])
    if not known:
        return False
    own = rows + ROW * int(p[at + ROW_OF])
    driver, joint = int(p[at + DRIVER]), int(p[own + JOINT])
    row = row_of(p, driver)
    if p[at + DRIVER_ROW] != float(row) or is_at_or_below(p, driver, joint):
        return False
    if row >= 0 and not is_flat(p, int(p[rows + ROW * row + AT])):
        return False
    return check_numbers(p, int(p[at + NUMBERS_AT])) > 0 and is_flat(p, int(p[own + AT]))


@kernel
def check_pairs(p):
    """Tell whether the rows of dependent joints are there, and go together; limits are.

    What they point to is in their order and does not overlap, so that it is checked once.
    """
    if not is_whole(p[PAIRS], 0.0, min(p[LIMITS], MOST_PAIRS)):
        return False
    if not is_whole(p[PAIR_ROWS], FILE_HEADER, p[FILE_SIZE]):
        return False
    count, first = int(p[PAIRS]), int(p[PAIR_ROWS])
    if p[PAIR_ROWS] + float(PAIR_ROW * count) > p[FILE_SIZE]:
        return False
    together, numbers_end = 0, 0.0
    for k in range(count):
        at = first + PAIR_ROW * k
        numbers = p[at + NUMBERS_AT]
        if not (numbers >= numbers_end and check_pair(p, at)):
            return False
        same = k > 0 and p[at - PAIR_ROW + DRIVER] == p[at + DRIVER]
        together = together + 1 if same else 1
        if together > MOST_DEPENDENTS or (same and numbers != numbers_end):
            return False
        numbers_end = numbers + p[int(numbers) + NODES.size]
        if not is_alone(p, at, k - together + 1):
            return False
    return True


@kernel
def is_alone(p, at, begin):
    """Tell whether no row of pairs before the one at `at` speaks of the same joints.

    Rows of the same driver begin with number `begin`; a driver depends on no joint itself.
    """
    alone, first = True, int(p[PAIR_ROWS])
    for i in range((at - first) // PAIR_ROW):
        other = first + PAIR_ROW * i
        alone = alone and p[other + ROW_OF] != p[at + ROW_OF]
        alone = alone and p[other + ROW_OF] != p[at + DRIVER_ROW]
        alone = alone and p[other + DRIVER_ROW] != p[at + ROW_OF]
        alone = alone and (i >= begin or p[other + DRIVER] != p[at + DRIVER])
    return alone


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
    rows, end = int(p[ROWS]), 0.0
    for k in range(int(p[LIMITS])):
        at = p[rows + ROW * k + AT]
        if at < end or not check_limit(p, int(at)):
            return BAD_LIMIT
        end = at + p[int(at) + limits.HEADER.size]
    return WHOLE if check_pairs(p) else BAD_LIMIT


@kernel
def limit_of(p, k):
    """Return the packed limit of row k, as a stretch of the file."""
    at = int(p[int(p[ROWS]) + ROW * k + AT])
    return p[at : at + int(p[at + limits.HEADER.size])]


@kernel
def usable(q):
    """Return a rotation, or the identity if its length is far from 1."""
    return q if abs(quat_dot(q, q) - 1.0) <= 0.5 else IDENTITY


@kernel
def load_usable(rotations, start, block, n):
    """Copy `n` quaternions into the block, the identity where one is no rotation."""
    for i in range(n):
        set_lane_quat(block, W0 + i, usable(quat_at(rotations, 4 * (start + i))))
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


@kernel("f8[] i8 f8[] f8[] f8[]")
def exits(p, k, previous, proposed, reached):
    """Write the largest t in [0, 1] with each turn from previous to proposed legal before it."""
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
    if ancestor != int(PARENT):
        at = int(p[int(p[PARENTS]) + joint])
        while at != ancestor:
            above = quat_at(pose, 4 * at) * above
            at = int(p[int(p[PARENTS]) + at])
    return above


@kernel
def seen_from(p, joint, ancestor, pose):
    """Return the rotation above a joint relative to an ancestor, and that of the joint.

    If the ancestor is the parent, the latter is the pose's own, bit for bit.
    """
    above, own = rotation_above(p, joint, ancestor, pose), quat_at(pose, 4 * joint)
    return above, own if ancestor == int(PARENT) else normalize(above * own)


@kernel
def set_seen(joint, ancestor, above, seen, pose):
    """Set the rotation of a joint from its rotation relative to an ancestor."""
    own = seen if ancestor == int(PARENT) else normalize(conj(above) * seen)
    set_quat(pose, 4 * joint, own)


@kernel
def mark_pairs(p, distances):
    """Write 1 to the rows of joints that depend on another one or drive one, 0 to all others."""
    for k in range(int(p[LIMITS])):
        distances[k] = 0.0
    for i in range(int(p[PAIRS])):
        at = int(p[PAIR_ROWS]) + PAIR_ROW * i
        distances[int(p[at + ROW_OF])] = 1.0
        if p[at + DRIVER_ROW] >= 0.0:
            distances[int(p[at + DRIVER_ROW])] = 1.0


@kernel
def project_rows(p, pose, distances):
    """Make the joints legal that have nothing to do with others, parents first."""
    block, other = np.empty(BLOCK), np.empty(BLOCK)
    lanes, rows = np.empty(2 * LANES, np.int64), int(p[ROWS])
    block[OFF_UNIT] = 0.0
    mark_pairs(p, distances)  # `project_pairs` writes how far these are outside
    for k in range(int(p[LIMITS])):
        if distances[k] > 0.0:
            continue
        packed, joint = limit_of(p, k), int(p[rows + ROW * k + JOINT])
        ancestor = int(p[rows + ROW * k + ANCESTOR])
        above, seen = seen_from(p, joint, ancestor, pose)
        set_lane_quat(block, W0, usable(seen))
        enter(packed, 0, block, 1)
        nearest(packed, 0, TOLERANCE, 0.0, block, other, lanes, 1)
        distances[k] = block[DISTANCE]
        if block[DISTANCE] <= TOLERANCE:
            continue
        leave(packed, 0, TOLERANCE, block, 1)
        set_seen(joint, ancestor, above, lane_quat(block, QW), pose)


@kernel
def ancestor_of(p, row):
    """Return what the joint of a row is measured from; without a row its parent."""
    if row < 0:
        return int(PARENT)
    return int(p[int(p[ROWS]) + ROW * row + ANCESTOR])


@kernel
def measure_driven(p, first, last, driver, pose, found, distances):
    """Write what is known of the joints in rows of pairs, and how far outside they are.

    Returns whether one of them is, while the driver stays.
    """
    outside, start = False, 0
    for i in range(first, last):
        at = int(p[PAIR_ROWS]) + PAIR_ROW * i
        k, numbers = int(p[at + ROW_OF]), int(p[at + NUMBERS_AT])
        joint = int(p[int(p[ROWS]) + ROW * k + JOINT])
        _above, seen = seen_from(p, joint, ancestor_of(p, k), pose)
        seen = usable(seen)
        set_quat(found.seen[i - first], 0, seen)
        room, limit = found.measured[start:], limit_of(p, k)
        width = dependent.measure(p, numbers, limit, seen, found.block, room)
        low, high = dependent.values_at(p, numbers, driver.w, driver.x, driver.y, driver.z)
        distances[k] = dependent.gap_of(p, numbers, room[:width], low, high)
        outside = outside or distances[k] > TOLERANCE
        found.widths[i - first] = width
        start += width
    return outside


@kernel
def move_driven(p, first, last, driver, pose, found):
    """Make the joints in rows of pairs legal at the rotation that the driver has now.

    What an ancestor saw of them before stays as near as it may, so that a joint that is measured
    across the driver turns against it.
    """
    start = 0
    for i in range(first, last):
        at = int(p[PAIR_ROWS]) + PAIR_ROW * i
        k, numbers = int(p[at + ROW_OF]), int(p[at + NUMBERS_AT])
        joint, ancestor = int(p[int(p[ROWS]) + ROW * k + JOINT]), ancestor_of(p, k)
        low, high = dependent.values_at(p, numbers, driver.w, driver.x, driver.y, driver.z)
        width = found.widths[i - first]
        own = found.measured[start : start + width]
        start += width
        inside = dependent.gap_of(p, numbers, own, low, high) <= TOLERANCE
        if inside and ancestor == int(PARENT):
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
    room = Room(
        np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK),
        np.empty(2 * LANES, np.int64), np.empty(2 * LANES), np.empty((2, 6)),
    )  # fmt: skip
    measured = np.empty(MOST_DEPENDENTS * MOST_MEASURED)
    found = Found(
        room.block, measured, np.empty(MOST_DEPENDENTS, np.int64), np.empty((MOST_DEPENDENTS, 4))
    )
    clear(room)
    first, count = 0, int(p[PAIRS])
    while first < count:
        at, last = int(p[PAIR_ROWS]) + PAIR_ROW * first, first + 1
        while last < count and p[at + PAIR_ROW * (last - first) + DRIVER] == p[at + DRIVER]:
            last += 1
        joint, row = int(p[at + DRIVER]), int(p[at + DRIVER_ROW])
        above, seen = seen_from(p, joint, ancestor_of(p, row), pose)
        driver, own = usable(seen), p[:0]
        outside = measure_driven(p, first, last, driver, pose, found, distances)
        if row >= 0:
            own = limit_of(p, row)
            set_lane_quat(room.block, W0, driver)
            enter(own, 0, room.block, 1)
            nearest(own, 0, TOLERANCE, 0.0, room.block, room.other, room.lanes, 1)
            distances[row] = room.block[DISTANCE]
            outside = outside or distances[row] > TOLERANCE
        if outside:
            numbers = p[int(p[at + NUMBERS_AT]) :]
            search_one(own, numbers, measured, found.widths[: last - first], driver, room)
            legal = quat_at(room.best[0], 0)
            legal = legal if quat_dot(legal, driver) >= 0.0 else -legal
            move = legal - driver
            if quat_dot(move, move) > 0.0:
                set_seen(joint, ancestor_of(p, row), above, legal, pose)
            move_driven(p, first, last, legal, pose, found)
        first = last


@kernel("f8[] f8[] f8[]")
def project_pose(p, pose, distances):
    """Make the rotations of all joints (flat, J × 4) legal, in place, parents first.

    To each row of limits comes how far outside its joint was; of one that depends on another while
    that stays. A joint that is measured from an ancestor is looked at when those between are legal,
    and joints that depend on others when all others are.
    """
    project_rows(p, pose, distances)
    if p[PAIRS] > 0.0:
        project_pairs(p, pose, distances)
