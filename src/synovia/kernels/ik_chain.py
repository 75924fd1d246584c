"""What a solver is given, and the room it works in: two bundles of arrays.

The variables are a few numbers for each joint that may move: how far it turns about each axis of
its `basis`, in its own frame, from where it is; then three for each root that may slide. Every
goal is three numbers that should become zero.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .jit import kernel
from .rotation import BLOCK, LANES

REACH, AIM, ORIENT, STAY = 0, 1, 2, 3

Chain = namedtuple(
    "Chain",
    [
        "parents",  # (joints,)
        "order",  # the joints that goals hang on, parents first
        "movers",  # (movers,) joints that may turn, parents first
        "freedoms",  # (movers,) about how many axes
        "basis",  # (movers, 3, 3) axes as rows, in the joint's own frame
        "swings",  # (movers, 8) 1 where it swings without twist, inverse reference, bone's axis
        "limits",  # (movers,) where the limit begins in `packed`; -1 for none
        "packed",  # all limits
        "slides",  # (slides,) roots that may move
        "kinds",  # (goals,) one of the four above
        "owners",  # (goals,) the joint
        "weights",  # (goals,)
        "points",  # (goals, 3) what is to reach, or to aim from, in the joint's frame
        "axes",  # (goals, 3) what aims, in the joint's frame
        "moves",  # (goals, movers + slides) whether a mover moves the goal
        "tolerance",  # radians, of limits
    ],
)

ALL, FREE, FACTOR = 0, 1, 2  # of slopes and products: of all variables, of those still free
STEP, SETTLED, BEFORE = 0, 1, 2  # of steps: this one, its settled part, that of the round before

Work = namedtuple(
    "Work",
    [
        "basis",  # (movers, 3, 3) axes from where the joints are
        "world_q",  # (joints, 4)
        "world_p",  # (joints, 3)
        "places",  # (goals, 3) where the points of goals are in the world
        "gaps",  # (goals, 3) what is left of the goals, lengths or radians
        "rates",  # (goals, 18) how fast they close: 3 × 3 by moves, then 3 × 3 by turns
        "r",  # (rows,) what is left of the goals, by weight
        "free_r",  # (rows,) the same, less what limits have settled
        "y",  # (rows,)
        "slopes",  # (2, variables, rows)
        "gram",  # (3, rows, rows) what columns of slopes are, multiplied with each other
        "steps",  # (3, variables)
        "normals",  # (movers, 3, 3) directions in which each is settled
        "counts",  # (movers,) and how many
        "clear",  # (movers, 5) a legal rotation, and cos α/2: within α of it all is legal
        "trial_q",  # (joints, 4)
        "trial_p",  # (joints, 3)
        "block",
        "other",
        "lanes",
    ],
)


@kernel
def new_work(chain):
    """Return room to solve problems of this chain, one after the other.

    Kernels that run often take from it what they need, array by array: to hand on a bundle of so
    many costs more than most of them do.
    """
    joints, goals = chain.parents.shape[0], chain.kinds.shape[0]
    rows, movers = 3 * goals, chain.movers.shape[0]
    variables = 3 * chain.slides.shape[0]
    for m in range(movers):
        variables += chain.freedoms[m]
    clear = np.zeros((movers, 5))
    for m in range(movers):
        clear[m, 4] = 1.0  # nothing is known yet
    return Work(
        np.zeros((movers, 3, 3)),
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros((goals, 3)),
        np.zeros((goals, 3)),
        np.zeros((goals, 18)),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros((2, variables, rows)),
        np.zeros((3, rows, rows)),
        np.zeros((3, variables)),
        np.zeros((movers, 3, 3)),
        np.zeros(movers, np.int64),
        clear,
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros(BLOCK),
        np.zeros(BLOCK),
        np.zeros(2 * LANES, np.int64),
    )


@kernel
def copy_rows(given, out):
    """Write the numbers of a 2-D array into another."""
    for i in range(given.shape[0]):
        for k in range(given.shape[1]):
            out[i, k] = given[i, k]
