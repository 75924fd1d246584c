"""All steps of a figure in one call, for batches: a few poses at a time through all of them.

What a step computes stays in the caches for the next, and threads need not wait for each other.
A program is `code` (steps, COLUMNS), `lists` of places and `numbers`: each row of the code has the
number of its step in `STEPS`, then from where to where its one or two stretches of numbers and its
list of places go, and then up to three places. First in the lists are the places of the controls,
first in the numbers the offsets of the segments.
"""

from __future__ import annotations

from .curve import bounded, exact, mapping
from .jit import kernel
from .joint_cone import joint_cone
from .scapula import scapula
from .transforms import LANES, compensation, fill, load, pose, product, rotation, store, translation

STEPS = (
    *(fill, product, rotation, translation, compensation),
    *(mapping, exact, bounded, joint_cone, scapula),
    *(pose, store),
)
FILL, PRODUCT, ROTATION, TRANSLATION, COMPENSATION = range(5)
MAPPING, EXACT, BOUNDED, JOINT_CONE, SCAPULA = range(5, 10)
POSE, STORE = range(10, 12)
COLUMNS = 10


@kernel
def perform(row, lists, numbers, n, stride, work):
    """Do the step that a row of the code describes."""
    step, p, q = row[0], numbers[row[1] : row[2]], numbers[row[3] : row[4]]
    those, to = lists[row[5] : row[6]], row[7:]
    if step == ROTATION:
        rotation(p, to[0], to[1], n, stride, work)
    elif step == PRODUCT:
        product(those, to[0], n, stride, work)
    elif step == MAPPING:
        mapping(p, to[0], those, n, stride, work)
    elif step == TRANSLATION:
        translation(p, those, to[0], n, stride, work)
    elif step == COMPENSATION:
        compensation(p, those, to[0], to[1], n, stride, work)
    elif step == FILL:
        fill(p, those, n, stride, work)
    elif step == EXACT:
        exact(p, to[0], to[1], n, stride, work)
    elif step == BOUNDED:
        bounded(p, q, to[0], to[1], to[2], n, stride, work)
    elif step == JOINT_CONE:
        joint_cone(p, q, those, n, stride, work)
    elif step == SCAPULA:
        scapula(p, those, n, stride, work)


@kernel("i8[,] i8[] f8[] f8[,] f8[,] f8[,,] f8[,,] f8[,]")
def run(code, lists, numbers, table, work, rotations, positions, gaps):
    """Pose the rows of controls of `table`, as many at a time as `work` (blocks, stride) is for.

    Rotations and positions are by segment; `gaps` get how far components are off.
    """
    blocks, stride = work.shape
    most, flat = blocks * LANES, work.reshape(blocks * stride)
    offsets = numbers[: 3 * rotations.shape[1]].reshape(rotations.shape[1], 3)
    for start in range(0, table.shape[0], most):
        n = min(most, table.shape[0] - start)
        load(table[start : start + n], lists, n, stride, flat)
        for k in range(code.shape[0]):
            row = code[k]
            those = lists[row[5] : row[6]]
            if row[0] == POSE:
                q, p = rotations[start : start + n], positions[start : start + n]
                pose(those, lists[row[7] : row[8]], offsets, n, stride, flat, q, p)
            elif row[0] == STORE:
                store(those, n, stride, flat, row[7], gaps[start : start + n])
            else:
                perform(row, lists, numbers, n, stride, flat)
