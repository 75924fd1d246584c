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
    WHOLE,
    Field,
    Layout,
)
from .vector import norm, vec3_at

MAX_JOINTS = 100_000  # far more than any rig has
MAX_BETWEEN = 1_000_000  # joints between limits and the ancestors they are measured from, summed
MAX_DEPENDENTS = 8  # of one driver
MAX_PAIRS = 1000  # of all drivers: each is compared with each
MAX_VALUE = 100.0  # radians, of the values at the nodes of a dependent limit
MIN_SINES = 1e-7  # product of the sines of the angles between neighbouring hinges
PRIME = 4294967291  # below 2³²

BEGINS = float(np.frombuffer(b"SYNOVIA\n", "<f8")[0])
FORMAT = 5.0  # version of the file
FILE = Layout(
    "packed file",
    magic=1,  # BEGINS
    version=1,  # FORMAT
    size=1,  # of the file, in numbers
    checksum=Field(0.0, 2.0**53, kind=WHOLE),
    joints=Field(0.0, MAX_JOINTS, kind=WHOLE),
    limits=Field(0.0, MAX_JOINTS, kind=WHOLE),
    # Offsets of the tables. `names` has where each joint's name begins in `text`, in bytes.
    parents=Field(kind=OFFSET),
    offsets=Field(kind=OFFSET),
    names=Field(kind=OFFSET),
    text=Field(kind=OFFSET),
    rows=Field(kind=OFFSET),
    pairs=Field(0.0, MAX_PAIRS, kind=WHOLE),  # number of joints that depend on another
    pair_rows=Field(kind=OFFSET),
)
ROW = Layout(
    "row of a limit",
    joint=Field(0.0, MAX_JOINTS, kind=WHOLE),
    ancestor=Field(-2.0, MAX_JOINTS, kind=WHOLE),  # it is measured from; PARENT for the parent
    limit=Field(FILE.SIZE, kind=WHOLE),  # offset of the packed limit
    hinge=3,  # axis of a hinge in the joint's own frame, or 0
)
PAIR = Layout(
    "row of a dependent joint",
    row=Field(0.0, MAX_JOINTS, kind=WHOLE),  # index of its limit's row
    driver=Field(0.0, MAX_JOINTS, kind=WHOLE),
    driver_row=Field(-1.0, MAX_JOINTS, kind=WHOLE),  # of the driver's limit, −1 without one
    numbers=Field(FILE.SIZE, kind=WHOLE),  # offset of the packed dependent limit
)
"""Rows of one driver are consecutive, and so are their packed dependent limits."""
PARENT = -2  # an ancestor that stands for the parent

WHOLE_FILE, NO_LIMITS, OTHER_VERSION, CUT, DAMAGED, BAD_SKELETON, BAD_LIMIT = range(7)
"""Results of `check_file`."""

# Arrays that kernels may read.
FILE_BOUNDS, ROW_BOUNDS, PAIR_BOUNDS = FILE.bounds, ROW.bounds, PAIR.bounds
LIMIT_BOUNDS, TAIL_BOUNDS, NODES_BOUNDS = limits.HEADER.bounds, TAIL.bounds, NODES.bounds
CONE_BOUNDS, TABLE_BOUNDS = cones.HEADER.bounds, tables.HEADER.bounds
FIELD_BOUNDS = fields.HEADER.bounds


@kernel("f8[]")
def checksum(p):
    """Return the checksum of a file: like Adler-32, but of 32-bit words, without its own."""
    halves = p.view(np.int32)
    a, b = 1, 0
    for i in range(2 * p.shape[0]):
        if i // 2 != FILE.checksum:
            a = (a + (int(halves[i]) & 0xFFFFFFFF)) % PRIME
            b = (b + a) % PRIME
    return float((a ^ (b << 20)) & 0x1FFFFFFFFFFFFF)


@kernel
def row_at(p, k):
    """Return the offset of the row of limit k."""
    return int(p[FILE.rows]) + ROW.SIZE * k


@kernel
def pair_at(p, k):
    """Return the offset of the row of dependent joint k."""
    return int(p[FILE.pair_rows]) + PAIR.SIZE * k


@kernel
def parent_of(p, joint):
    """Return the index of a joint's parent, −1 for a root."""
    return int(p[int(p[FILE.parents]) + joint])


@kernel
def is_whole(x, least, most):
    """Return True if a number is an integer from `least` to `most`."""
    return x >= least and x <= most and x == np.floor(x)


@kernel
def are_finite(p, first, count):
    """Return True if `count` numbers from `first` on are in the buffer, and within MAX_NUMBER."""
    if first < 0 or count < 0 or first + count > p.shape[0]:
        return False
    valid = True
    for i in range(first, first + count):
        valid = valid and abs(p[i]) <= MAX_NUMBER
    return valid


@kernel
def fits(p, o, bounds, end):
    """Return True if the numbers of a layout at `o` end before `end` and are within `bounds`."""
    if o < 0 or o + bounds.shape[0] > min(end, p.shape[0]):
        return False
    valid = True
    for k in range(bounds.shape[0]):
        x, most, kind = p[o + k], bounds[k, 1], int(bounds[k, 2])
        if kind in (COUNT, OFFSET):
            most = float(end - o)
        valid = valid and x >= bounds[k, 0] and x <= most and (kind == REAL or x == np.floor(x))
    return valid


@kernel
def is_unit(p, o, count):
    """Return True if `count` numbers at `o` are a unit vector or quaternion."""
    square = 0.0
    for k in range(o, o + count):
        square += p[k] * p[k]
    return abs(square - 1.0) <= 1e-6


@kernel
def check_solid(p, o, end, kind):
    """Return True if a convex shape of this kind fills exactly `o` to `end`."""
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
    """Return True if there is a reach cone at `o`, all of whose data is before `end`."""
    if not fits(p, o, CONE_BOUNDS, end) or not are_finite(p, o, int(p[o + cones.HEADER.size])):
        return False
    size, side = p[o + cones.HEADER.size], p[o + cones.HEADER.side]
    count = p[o + cones.HEADER.count]
    buckets, most = p[o + cones.HEADER.buckets], p[o + cones.HEADER.most]
    slices, edges = p[o + cones.HEADER.slices], p[o + cones.HEADER.edges]
    table, cells = p[o + cones.HEADER.table], p[o + cones.HEADER.cells]
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
    """Return True if consecutive cones fill exactly `o` to `end`."""
    if o >= end or not is_whole(p[o], 1.0, 10000.0):
        return False
    at = o + 1
    for _ in range(int(p[o])):
        if at >= end or p[at] != CONE or not check_cone(p, at + 1, end):
            return False
        at += 1 + int(p[at + 1 + cones.HEADER.size])
    return at == end


@kernel
def check_walls(p, o, size, entry):
    """Return the number of walls of a table's entry at offset `entry`; 0 if it is not valid."""
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
    """Return True if there is a theta-phi table at `o`, all of whose data is before `end`."""
    if not fits(p, o, TABLE_BOUNDS, end) or not are_finite(p, o, end - o):
        return False
    size, rows, columns = float(end - o), p[o + tables.HEADER.rows], p[o + tables.HEADER.columns]
    fine, twists = p[o + tables.HEADER.fine], p[o + tables.HEADER.twists]
    around, places = p[o + tables.HEADER.around], p[o + tables.HEADER.nodes]
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
    """Return True if there is a complete distance field at `o`, before `end`."""
    if not fits(p, o, FIELD_BOUNDS, end):
        return False
    valid = True
    nodes, blocks, knots = 1.0, 1.0, 1.0
    for axis in range(3):
        count, period = p[o + fields.HEADER.nodes + axis], p[o + fields.HEADER.period + axis]
        inverse, wraps = p[o + fields.HEADER.inverse_period + axis], period > 0.0
        valid = valid and (inverse == 0.0 if period == 0.0 else period >= 1e-5)
        valid = valid and (period == 0.0 or abs(period * inverse - 1.0) < 1e-9)
        nodes *= count
        blocks *= np.floor((count - 2.0) / fields.BLOCK_SIDE) + 1.0
        knots *= count if wraps else count + 2.0 * p[o + fields.HEADER.outer]
    least, sites, size = p[o + fields.HEADER.blocks], p[o + fields.HEADER.sites], float(end - o)
    valid = valid and sites >= least and nodes <= 2.0 * (least - fields.HEADER.SIZE)
    if not valid or blocks > 2.0 * (sites - least) or knots > 2.0 * (size - sites):
        return False
    singles, first = p.view(np.float32), 2 * (o + fields.HEADER.SIZE)
    for k in range(int(nodes)):
        valid = valid and abs(float(singles[first + k])) <= 1e9
    return valid


@kernel
def check_tail(p, t):
    """Return True if there is the tail of a limit in the hinges chart at `t`.

    Its angles must be within a few turns. The middle hinge is given by two unit vectors, and must
    change the angle between the outer axes; otherwise all rotations would be at gimbal lock.
    """
    valid = fits(p, t, TAIL_BOUNDS, p.shape[0])
    valid = valid and is_unit(p, t + TAIL.along, 2) and is_unit(p, t + TAIL.along_far, 2)
    valid = valid and p[t + TAIL.along] ** 2 - p[t + TAIL.along_far] ** 2 >= MIN_SINES
    for k in range(3):
        valid = valid and p[t + TAIL.low + k] <= p[t + TAIL.high + k]
    return valid


@kernel
def check_limit(p, o):
    """Return True if there is a complete packed limit at `o`."""
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
        return check_cone(p, o, end) and o + int(p[o + cones.HEADER.size]) == end
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
    """Return True if the header, names, parents, offsets and rows of limits are consistent."""
    if not fits(p, 0, FILE_BOUNDS, p.shape[0]):
        return False
    size, joints, count = p[FILE.size], int(p[FILE.joints]), int(p[FILE.limits])
    names, offsets = int(p[FILE.names]), int(p[FILE.offsets])
    rows_end = p[FILE.rows] + float(ROW.SIZE * count)
    pairs_end = p[FILE.pair_rows] + PAIR.SIZE * p[FILE.pairs]
    names_end = p[FILE.names] + joints + 1.0
    if max(p[FILE.parents] + joints, names_end, rows_end, pairs_end) > size:
        return False
    if not are_finite(p, offsets, 3 * joints):
        return False
    before = 0.0
    for k in range(joints + 1):
        if not is_whole(p[names + k], before, 8.0 * (size - p[FILE.text])):
            return False
        before = p[names + k]
    for k in range(joints):
        if not is_whole(p[int(p[FILE.parents]) + k], -1.0, k - 1.0):
            return False
    return check_rows(p)


@kernel
def check_rows(p):
    """Return True if the rows of limits are valid, and in the order of joints.

    Limits must be measured from ancestors, with at most MAX_BETWEEN joints in between in total.
    """
    last, between = -1.0, 0
    for k in range(int(p[FILE.limits])):
        row = row_at(p, k)
        if not fits(p, row, ROW_BOUNDS, p.shape[0]):
            return False
        joint, ancestor, hinge = p[row + ROW.joint], int(p[row + ROW.ancestor]), row + ROW.hinge
        if not (joint > last and joint < p[FILE.joints]):
            return False
        last = joint
        if norm(vec3_at(p, hinge)) > 0.0 and not is_unit(p, hinge, 3):
            return False
        if ancestor == PARENT:
            continue
        if ancestor < 0:
            return False
        above = parent_of(p, int(joint))
        while above > ancestor and between < MAX_BETWEEN:
            above = parent_of(p, above)
            between += 1
        if above != ancestor:
            return False
    return True


@kernel
def check_numbers(p, o):
    """Return the size of a valid packed dependent limit at `o`, or 0."""
    valid = fits(p, o, NODES_BOUNDS, p.shape[0])
    numbers = p[o + NODES.numbers] if valid else 0.0
    valid = valid and is_unit(p, o + NODES.axis, 3) and is_unit(p, o + NODES.into, 4)
    valid = valid and is_unit(p, o + NODES.bone, 4)
    valid = valid and (numbers == 1.0 or is_unit(p, o + NODES.along, 3))
    valid = valid and p[o + NODES.low] <= p[o + NODES.high]
    if not valid:
        return 0
    n = int(p[o + NODES.divisions])
    by_rotation = p[o + NODES.by_rotation] > 0.0
    nodes = (4 * n * n * n + 8 * n) // 3 if by_rotation else 4 * n * n + 2
    size = NODES.SIZE + int(numbers) * nodes
    if p[o + NODES.size] != float(size) or not are_finite(p, o, size):
        return 0
    for k in range(o + NODES.SIZE, o + size):
        if not abs(p[k]) <= MAX_VALUE:
            return 0
    return size


@kernel
def is_flat(p, o):
    """Return True if pairs can be searched in the chart of the limit at `o`: not in hinges."""
    return int(p[o + limits.HEADER.chart]) != HINGES


@kernel
def row_of(p, joint):
    """Return the index of the row of a joint's limit, −1 without one, by bisection."""
    first, last = 0, int(p[FILE.limits])
    while first < last:
        middle = (first + last) // 2
        if p[row_at(p, middle) + ROW.joint] < joint:
            first = middle + 1
        else:
            last = middle
    found = first < int(p[FILE.limits]) and p[row_at(p, first) + ROW.joint] == joint
    return first if found else -1


@kernel
def is_at_or_below(p, joint, other):
    """Return True if `joint` is `other` or below it; parents have smaller indices."""
    while joint > other:
        joint = parent_of(p, joint)
    return joint == other


@kernel
def check_pair(p, pair):
    """Return True if the row of a dependent joint at `pair`, and its data, is valid."""
    if not fits(p, pair, PAIR_BOUNDS, p.shape[0]):
        return False
    if not (p[pair + PAIR.row] < p[FILE.limits] and p[pair + PAIR.driver] < p[FILE.joints]):
        return False
    row, driver = row_at(p, int(p[pair + PAIR.row])), int(p[pair + PAIR.driver])
    driver_row = row_of(p, driver)
    if p[pair + PAIR.driver_row] != float(driver_row):
        return False
    if is_at_or_below(p, driver, int(p[row + ROW.joint])):
        return False
    if driver_row >= 0 and not is_flat(p, int(p[row_at(p, driver_row) + ROW.limit])):
        return False
    return check_numbers(p, int(p[pair + PAIR.numbers])) > 0 and is_flat(p, int(p[row + ROW.limit]))


@kernel
def check_pairs(p):
    """Return True if the rows of dependent joints are consistent, given valid limits.

    Their packed dependent limits are in the order of the rows and do not overlap, so each is
    checked once.
    """
    together, end = 0, 0.0
    for k in range(int(p[FILE.pairs])):
        pair = pair_at(p, k)
        numbers = p[pair + PAIR.numbers]
        if not (numbers >= end and check_pair(p, pair)):
            return False
        same = k > 0 and p[pair - PAIR.SIZE + PAIR.driver] == p[pair + PAIR.driver]
        together = together + 1 if same else 1
        if together > MAX_DEPENDENTS or (same and numbers != end):
            return False
        end = numbers + p[int(numbers) + NODES.size]
        if not is_alone(p, k, k - together + 1):
            return False
    return True


@kernel
def is_alone(p, k, begin):
    """Return True if no earlier row of a dependent joint contradicts row k.

    A joint has one driver, which depends on no joint itself; rows of the same driver are
    consecutive and begin with row `begin`.
    """
    alone, pair = True, pair_at(p, k)
    for i in range(k):
        other = pair_at(p, i)
        alone = alone and p[other + PAIR.row] != p[pair + PAIR.row]
        alone = alone and p[other + PAIR.row] != p[pair + PAIR.driver_row]
        alone = alone and p[other + PAIR.driver_row] != p[pair + PAIR.row]
        alone = alone and (i >= begin or p[other + PAIR.driver] != p[pair + PAIR.driver])
    return alone


@kernel("f8[]")
def check_file(p):
    """Return WHOLE_FILE if all kernels can safely read the file, or the code of an error."""
    if p.shape[0] < FILE.SIZE or p[FILE.magic] != BEGINS:
        return NO_LIMITS
    if p[FILE.version] != FORMAT:
        return OTHER_VERSION
    if p[FILE.size] != float(p.shape[0]):
        return CUT
    if p[FILE.checksum] != checksum(p):
        return DAMAGED
    if not check_skeleton(p):
        return BAD_SKELETON
    end = 0.0
    for k in range(int(p[FILE.limits])):
        at = p[row_at(p, k) + ROW.limit]
        if at < end or not check_limit(p, int(at)):
            return BAD_LIMIT
        end = at + p[int(at) + limits.HEADER.size]
    return WHOLE_FILE if check_pairs(p) else BAD_LIMIT
