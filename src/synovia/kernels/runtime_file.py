"""Packed models for games and browsers, `*.limits.bin`: their layout, and the check on load.

A file is one flat buffer of float64: a header, the skeleton, a row for each limit and for each
joint that depends on another, and the packed limits. `check_file` checks every number that becomes
an index, a count or a size, so that no file, however damaged, makes other kernels read outside it.
"""

from __future__ import annotations

import numpy as np

from . import distance_field as fields
from . import limit as limits
from . import reach_cone as cones
from . import theta_phi as tables
from .dependent import NODES
from .distance_field import HEADER as FIELD_HEADER
from .hinges import TAIL
from .jit import kernel
from .layout import (
    BOX,
    CONE,
    COUNT,
    ELLIPSOID,
    FIELD,
    HINGES,
    KDOP,
    MAX_AXES,
    MAX_NUMBER,
    OFFSET,
    PRODUCT,
    REAL,
    SHAPE_KINDS,
    SOLIDS,
    TABLE,
    UNION,
)
from .reach_cone import HEADER as CONE_HEADER
from .theta_phi import HEADER as TABLE_HEADER

# Offsets in the header of a file. Tables are given by the offsets at which they start.
MAGIC, FILE_VERSION, FILE_SIZE, CHECKSUM, JOINTS, LIMITS = range(6)
PARENTS, OFFSETS, NAMES, TEXT, ROWS = 6, 7, 8, 9, 10
PAIRS, PAIR_ROWS = 11, 12  # number of joints that depend on another, and offset of their rows
FILE_HEADER = 13
# Offsets in the row of a limit: its joint, the ancestor that it is measured from (PARENT for the
# parent), the offset of the limit, and the axis of a hinge in the joint's own frame, or 0.
JOINT, ANCESTOR, AT, HINGE = 0, 1, 2, 3
ROW = 6
PARENT = -2.0  # an ancestor that stands for the parent
# Offsets in the row of a dependent joint: the row of its limit, the driver and the row of its limit
# (-1 if it has none), and the offset of its packed numbers. Rows of one driver are consecutive, and
# so are their numbers.
ROW_OF, DRIVER, DRIVER_ROW, NUMBERS_AT = range(4)
PAIR_ROW = 4
MAX_DEPENDENTS = 8  # of one driver
MAX_PAIRS = 1000  # of all drivers: each is compared with each
BEGINS = float(np.frombuffer(b"SYNOVIA\n", "<f8")[0])
FORMAT = 5.0  # version of the file
WHOLE, NO_LIMITS, OTHER_VERSION, CUT, DAMAGED, BAD_SKELETON, BAD_LIMIT = range(7)
"""Results of `check_file`."""

MAX_JOINTS = 100_000  # far more than any rig has
MAX_BETWEEN = 1_000_000  # joints between limits and the ancestors they are measured from, summed
MIN_SINES = 1e-7  # product of the sines of the angles between neighbouring hinges
PRIME = 4294967291  # below 2³²

# Arrays that kernels may read.
LIMIT_BOUNDS, TAIL_BOUNDS, NODES_BOUNDS = limits.HEADER.bounds, TAIL.bounds, NODES.bounds
CONE_BOUNDS, TABLE_BOUNDS = CONE_HEADER.bounds, TABLE_HEADER.bounds
FIELD_BOUNDS = FIELD_HEADER.bounds


@kernel
def checksum(p):
    """Return the checksum of a file: as Adler-32, but over words of 32 bits without its own."""
    halves = p.view(np.int32)
    a, b = 1, 0
    for i in range(2 * p.shape[0]):
        if i // 2 != CHECKSUM:
            a = (a + (int(halves[i]) & 0xFFFFFFFF)) % PRIME
            b = (b + a) % PRIME
    return float((a ^ (b << 20)) & 0x1FFFFFFFFFFFFF)


@kernel("f8[]")
def sum_of(p):
    """Return the checksum that a file must have, for its writer."""
    return checksum(p)


@kernel
def is_whole(x, least, most):
    """Return True if a number is an integer from `least` to `most`."""
    return x >= least and x <= most and x == np.floor(x)


@kernel
def are_finite(p, first, count):
    """Return True if `count` numbers from `first` on are in the buffer, and within MAX_NUMBER."""
    if first < 0 or count < 0 or first + count > p.shape[0]:
        return False
    known = True
    for i in range(first, first + count):
        known = known and abs(p[i]) <= MAX_NUMBER
    return known


@kernel
def fits(p, o, bounds, end):
    """Return True if the numbers of a layout are at `o`, before `end`, each within its bounds."""
    if o < 0 or o + bounds.shape[0] > min(end, p.shape[0]):
        return False
    known = True
    for k in range(bounds.shape[0]):
        x, most, kind = p[o + k], bounds[k, 1], int(bounds[k, 2])
        if kind in (COUNT, OFFSET):
            most = float(end - o)
        known = known and x >= bounds[k, 0] and x <= most and (kind == REAL or x == np.floor(x))
    return known


@kernel
def is_unit(p, o, count):
    """Return True if `count` numbers at `o` are a unit vector or quaternion."""
    square = 0.0
    for k in range(o, o + count):
        square += p[k] * p[k]
    return abs(square - 1.0) <= 1e-6


@kernel
def check_solid(p, o, end, kind):
    """Return True if a convex shape with all its planes fills `o` to `end`."""
    count = 15
    if kind == KDOP:
        if o >= end or not is_whole(p[o], 1.0, MAX_AXES):
            return False
        count = 1 + 5 * int(p[o])
    elif kind != BOX and kind != ELLIPSOID:
        return False
    return o + count == end and are_finite(p, o, count)


@kernel
def check_cone(p, o, end):
    """Return True if a reach cone is at `o`, and everything that it points to before `end`."""
    if not fits(p, o, CONE_BOUNDS, end) or not are_finite(p, o, int(p[o + CONE_HEADER.size])):
        return False
    size, side, count = (
        p[o + CONE_HEADER.size],
        p[o + CONE_HEADER.side],
        p[o + CONE_HEADER.count],
    )
    buckets, most = p[o + CONE_HEADER.buckets], p[o + CONE_HEADER.most]
    slices, edges = p[o + CONE_HEADER.slices], p[o + CONE_HEADER.edges]
    table, cells = p[o + CONE_HEADER.table], p[o + CONE_HEADER.cells]
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
    """Return True if consecutive cones are at `o`, the last of which ends at `end`."""
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
    """Return the number of walls of a valid entry of a table, or 0."""
    if not is_whole(entry, 1.0, size - 2.0):
        return 0
    count = p[o + int(entry)]
    if not is_whole(count, 1.0, size - entry - 1.0):
        return 0
    for k in range(int(count)):
        if not is_whole(p[o + int(entry) + 1 + k], 0.0, size - 8.0):
            return 0
    return int(count)


@kernel
def check_table(p, o, end):
    """Return True if a theta-phi table is at `o`, and everything that it points to before `end`."""
    if not fits(p, o, TABLE_BOUNDS, end) or not are_finite(p, o, end - o):
        return False
    size, rows, columns = float(end - o), p[o + TABLE_HEADER.rows], p[o + TABLE_HEADER.columns]
    fine, twists = p[o + TABLE_HEADER.fine], p[o + TABLE_HEADER.twists]
    around, places = p[o + TABLE_HEADER.around], p[o + TABLE_HEADER.nodes]
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
def check_field(p, o, end):
    """Return True if a whole distance field is at `o`, before `end`."""
    if not fits(p, o, FIELD_BOUNDS, end):
        return False
    known = True
    nodes, blocks, knots = 1.0, 1.0, 1.0
    for axis in range(3):
        count, period = p[o + FIELD_HEADER.nodes + axis], p[o + FIELD_HEADER.period + axis]
        inverse, wraps = p[o + FIELD_HEADER.inverse_period + axis], period > 0.0
        known = known and (inverse == 0.0 if period == 0.0 else period >= 1e-5)
        known = known and (period == 0.0 or abs(period * inverse - 1.0) < 1e-9)
        nodes *= count
        blocks *= np.floor((count - 2.0) / fields.BLOCK_SIDE) + 1.0
        knots *= count if wraps else count + 2.0 * p[o + FIELD_HEADER.outer]
    least, sites, size = p[o + FIELD_HEADER.blocks], p[o + FIELD_HEADER.sites], float(end - o)
    known = known and sites >= least and nodes <= 2.0 * (least - FIELD_HEADER.SIZE)
    if not known or blocks > 2.0 * (sites - least) or knots > 2.0 * (size - sites):
        return False
    singles, first = p.view(np.float32), 2 * (o + FIELD_HEADER.SIZE)
    for k in range(int(nodes)):
        known = known and abs(float(singles[first + k])) <= 1e9
    return known


@kernel
def check_tail(p, t):
    """Return True if the tail of a limit of hinges is at `t`, with angles within a few turns.

    The middle hinge consists of two unit vectors, and must change the angle between the outer
    axes: otherwise all rotations were at gimbal lock.
    """
    known = fits(p, t, TAIL_BOUNDS, p.shape[0])
    known = known and is_unit(p, t + TAIL.along, 2) and is_unit(p, t + TAIL.along_far, 2)
    known = known and p[t + TAIL.along] ** 2 - p[t + TAIL.along_far] ** 2 >= MIN_SINES
    for k in range(3):
        known = known and p[t + TAIL.low + k] <= p[t + TAIL.high + k]
    return known


@kernel
def check_limit(p, o):
    """Return True if a whole packed limit is at `o`, with everything that it points to."""
    if not limits.is_whole(p, o) or not fits(p, o, LIMIT_BOUNDS, p.shape[0]):
        return False
    size, shape = p[o + limits.HEADER.size], o + limits.HEADER.SIZE
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
    """Return True if names, parents, offsets and the rows of limits are there and consistent."""
    size = p[FILE_SIZE]
    if not (is_whole(p[JOINTS], 0.0, MAX_JOINTS) and is_whole(p[LIMITS], 0.0, p[JOINTS])):
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
        while above > ancestor and between < MAX_BETWEEN:  # parents come before children
            above = p[parents + int(above)]
            between += 1
        if above != ancestor:
            return False
    return True


@kernel
def check_numbers(p, o):
    """Return the size of a valid packed dependent limit at `o`, or 0."""
    known = fits(p, o, NODES_BOUNDS, p.shape[0])
    numbers = p[o + NODES.numbers] if known else 0.0
    known = known and is_unit(p, o + NODES.axis, 3) and is_unit(p, o + NODES.into, 4)
    known = known and is_unit(p, o + NODES.bone, 4)
    known = known and (numbers == 1.0 or is_unit(p, o + NODES.along, 3))
    known = known and p[o + NODES.low] <= p[o + NODES.high]
    if not known:
        return 0
    n = int(p[o + NODES.divisions])
    by_rotation = p[o + NODES.by_rotation] > 0.0
    nodes = (4 * n * n * n + 8 * n) // 3 if by_rotation else 4 * n * n + 2
    size = NODES.SIZE + int(numbers) * nodes
    if p[o + NODES.size] != float(size) or not are_finite(p, o, size):
        return 0
    for k in range(o + NODES.SIZE, o + size):
        if not abs(p[k]) <= 100.0:
            return 0
    return size


@kernel
def is_flat(p, o):
    """Return True if pairs can be searched in the chart of a packed limit: not in hinges."""
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
    """Return True if a joint is another one or below it; parents come before children."""
    while joint > other:
        joint = int(p[int(p[PARENTS]) + joint])
    return joint == other


@kernel
def check_pair(p, at):
    """Return True if a row of a dependent joint is at `at`, with everything that it points to."""
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
    """Return True if the rows of dependent joints are there and consistent, given valid limits.

    Their numbers are in the order of the rows and do not overlap, so each is checked once.
    """
    if not is_whole(p[PAIRS], 0.0, min(p[LIMITS], MAX_PAIRS)):
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
        if together > MAX_DEPENDENTS or (same and numbers != numbers_end):
            return False
        numbers_end = numbers + p[int(numbers) + NODES.size]
        if not is_alone(p, at, k - together + 1):
            return False
    return True


@kernel
def is_alone(p, at, begin):
    """Return True if no earlier row of pairs than the one at `at` has the same joints.

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
    """Return WHOLE for a file that all kernels may read, or the reason against it."""
    if p.shape[0] < FILE_HEADER or p[MAGIC] != BEGINS:
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
