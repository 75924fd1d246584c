"""Programs of joint components: all instructions on a block of poses in one call.

A block is small, so that values stay in the caches from one instruction to the next. A program is
`code` (instructions, COLUMNS), `lists` of offsets in the work space, and `numbers`; the offsets of
the segments come first in the numbers. Columns of the code:

0       the operation, below
1 to 4  begin and end of one or two ranges of numbers
5, 6    begin and end of a range of the lists
7 to 9  up to three offsets; for POSE the begin and end of a second range of the lists, for STORE
        the first column that is written

A packed curve, piecewise cubic, has from `o` on: how many numbers in all, factors of what comes in
and goes out, least and greatest result, 1 if it goes on straight beyond its ends (else it holds
them), the number of pieces, the inner knots, then each piece's start and four coefficients, lowest
power first, and last the end's knot, value and slope.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .joint_cone import joint_cone
from .rotation import LANES
from .scapula import scapula
from .transforms import compensation, fill, load, pose, product, rotation, store, translation

IN, OUT, LOW, HIGH, EXTEND, COUNT, KNOTS = 1, 2, 3, 4, 5, 6, 7


@kernel
def evaluate(p, o, given):
    """Return the value of the curve at `given`."""
    x, count = given * p[o + IN], int(p[o + COUNT])
    number = 0
    for k in range(count - 1):
        number += 1 if x > p[o + KNOTS + k] else 0
    first = o + KNOTS + count - 1
    end = first + 5 * count
    extends = p[o + EXTEND] > 0.0
    if x < p[first]:
        y = p[first + 1] + (p[first + 2] * (x - p[first]) if extends else 0.0)
    elif x > p[end]:
        y = p[end + 1] + (p[end + 2] * (x - p[end]) if extends else 0.0)
    else:
        piece = first + 5 * number
        t = x - p[piece]
        y = p[piece + 1] + t * (p[piece + 2] + t * (p[piece + 3] + t * p[piece + 4]))
    y = p[o + LOW] if y < p[o + LOW] else y
    return p[o + OUT] * (p[o + HIGH] if y > p[o + HIGH] else y)


@kernel
def evaluate_lanes(p, o, work, a, out, to, n):
    """Write the values of the curve at `o` for n numbers of `work` from `a` on."""
    for i in range(n):
        out[to + i] = evaluate(p, o, work[a + i])


@kernel
def mapping(p, given, outs, n, stride, work):
    """Write the value of every curve at `given`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = 0
        for k in range(outs.shape[0]):
            evaluate_lanes(p, o, work, base + given, work, base + outs[k], m)
            o += int(p[o])


@kernel
def bounded(lower, upper, driver, given, out, n, stride, work):
    """Write `given` brought between the values of the curves; an empty one is no bound."""
    least, most = np.full(LANES, -np.inf), np.full(LANES, np.inf)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        if lower.shape[0] > 0:
            evaluate_lanes(lower, 0, work, base + driver, least, 0, m)
        if upper.shape[0] > 0:
            evaluate_lanes(upper, 0, work, base + driver, most, 0, m)
        a, to = base + given, base + out
        for i in range(m):
            y = work[a + i]
            y = least[i] if y < least[i] else y
            work[to + i] = most[i] if y > most[i] else y


@kernel("f8[] f8[] f8[]")
def values(p, given, out):
    """Write the curve's value at each number."""
    for i in range(given.shape[0]):
        out[i] = evaluate(p, 0, given[i])


FILL, PRODUCT, ROTATION, TRANSLATION, COMPENSATION = range(5)
MAPPING, BOUNDED, JOINT_CONE, SCAPULA = range(5, 9)
LOAD, POSE, STORE = range(9, 12)  # of the caller's arrays: copy controls, write segments and values
COLUMNS = 10


@kernel
def perform(row, lists, numbers, n, stride, work):
    """Run the instruction of a component on the first n lanes."""
    operation, p, q = row[0], numbers[row[1] : row[2]], numbers[row[3] : row[4]]
    values, at = lists[row[5] : row[6]], row[7:]
    if operation == ROTATION:
        rotation(p, at[0], at[1], n, stride, work)
    elif operation == PRODUCT:
        product(values, at[0], n, stride, work)
    elif operation == MAPPING:
        mapping(p, at[0], values, n, stride, work)
    elif operation == TRANSLATION:
        translation(p, values, at[0], n, stride, work)
    elif operation == COMPENSATION:
        compensation(p, values, at[0], at[1], n, stride, work)
    elif operation == FILL:
        fill(p, values, n, stride, work)
    elif operation == BOUNDED:
        bounded(p, q, at[0], at[1], at[2], n, stride, work)
    elif operation == JOINT_CONE:
        joint_cone(p, q, values, n, stride, work)
    elif operation == SCAPULA:
        scapula(p, values, n, stride, work)


@kernel("i8[,] i8[] f8[] f8[,] f8[,] f8[,,] f8[,,] f8[,]")
def run(code, lists, numbers, table, work, rotations, positions, stored):
    """Run instructions on a block of poses, one for each row of controls in `table` (n, C).

    `work` has a row of numbers for every LANES poses. POSE writes rotations (n, J, 4) and positions
    (n, J, 3) of segments, STORE writes columns of `stored` (n, …).
    """
    n, joints = table.shape[0], rotations.shape[1]
    blocks, stride = work.shape
    flat = work.reshape(blocks * stride)
    offsets = numbers[: 3 * joints].reshape(joints, 3)
    for k in range(code.shape[0]):
        row = code[k]
        values = lists[row[5] : row[6]]
        if row[0] == LOAD:
            load(table, values, n, stride, flat)
        elif row[0] == POSE:
            transforms = lists[row[7] : row[8]]
            pose(values, transforms, offsets, n, stride, flat, rotations, positions)
        elif row[0] == STORE:
            store(values, n, stride, flat, row[7], stored)
        else:
            perform(row, lists, numbers, n, stride, flat)
