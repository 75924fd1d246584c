"""Programs of joint components: all instructions on a block of poses in one call.

A block is small, so that values stay in the caches from one instruction to the next. A program is
`code` (instructions, COLUMNS), `lists` of offsets in the work space, and `numbers`; the offsets of
the segments come first in the numbers. Columns of the code:

0       the operation, below
1 to 4  begin and end of one or two ranges of numbers
5, 6    begin and end of a range of the lists
7 to 9  up to three offsets; for POSE the begin and end of a second range of the lists, for STORE
        the first column that is written
"""

from __future__ import annotations

from .curve import bounded, mapping
from .jit import kernel
from .joint_cone import joint_cone
from .scapula import scapula
from .transforms import compensation, fill, load, pose, product, rotation, store, translation

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
