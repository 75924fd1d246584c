"""All steps of a figure in one call, for batches: a few poses at a time through all of them.

What a step computes stays in the caches for the next, and threads need not wait for each other.
A program is `code` (steps, COLUMNS), `lists` of places and `numbers`: each row of the code has the
number of its step in `STEPS`, then from where to where its one or two stretches of numbers and its
list of places go, and then up to seven places.
"""

from __future__ import annotations

import numpy as np

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
COLUMNS = 14


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
        a, b, c, d, e, f, g = to[0], to[1], to[2], to[3], to[4], to[5], to[6]
        joint_cone(p, q, a, b, c, d, e, f, g, n, stride, work)
    elif step == SCAPULA:
        a, b, c, d, e, f, g = to[0], to[1], to[2], to[3], to[4], to[5], to[6]
        scapula(p, a, b, c, d, e, f, g, n, stride, work)


@kernel
def run(code, lists, numbers, table, takes, first, last, most, stride, offsets, into, at, off):
    """Pose the rows of controls `first` to `last` of `table`, `most` at a time.

    `takes` are the places of the columns. Rotations go to `into` and positions to `at`, by segment,
    and how far components are off to `off`.
    """
    work = np.empty(most // LANES * stride)
    for start in range(first, last, most):
        n = min(most, last - start)
        load(table[start : start + n], takes, n, stride, work)
        for k in range(code.shape[0]):
            row = code[k]
            if row[0] == POSE:
                segments, transforms = lists[row[5] : row[6]], lists[row[7] : row[8]]
                pose(segments, transforms, offsets, start, n, stride, work, into, at)
            elif row[0] == STORE:
                gaps = off[start : start + n, row[7] : row[8]]
                store(lists[row[5] : row[6]], n, stride, work, gaps)
            else:
                perform(row, lists, numbers, n, stride, work)
