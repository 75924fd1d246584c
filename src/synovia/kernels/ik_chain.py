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

Work = namedtuple(
    "Work",
    [
        "basis",  # (movers, 3, 3) axes from where the joints are
        "world_q",  # (joints, 4)
        "world_p",  # (joints, 3)
        "r",  # (rows,) what is left of the goals
        "jacobian",  # (rows, variables)
        "free_r",  # the same, less what limits have settled
        "free_jacobian",
        "gram",  # (rows, rows)
        "y",  # (rows,)
        "x",  # (variables,) the step
        "settled",  # (variables,) the part of it that limits have settled
        "normals",  # (movers, 3, 3) directions in which each is settled
        "counts",  # (movers,) and how many
        "trial_q",  # (joints, 4)
        "trial_p",  # (joints, 3)
        "block",
        "other",
        "lanes",
    ],
)


@kernel
def new_work(chain):
    """Return room to solve problems of this chain, one after the other."""
    joints, rows = chain.parents.shape[0], 3 * chain.kinds.shape[0]
    movers = chain.movers.shape[0]
    variables = 3 * chain.slides.shape[0]
    for m in range(movers):
        variables += chain.freedoms[m]
    return Work(
        np.zeros((movers, 3, 3)),
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros(rows),
        np.zeros((rows, variables)),
        np.zeros(rows),
        np.zeros((rows, variables)),
        np.zeros((rows, rows)),
        np.zeros(rows),
        np.zeros(variables),
        np.zeros(variables),
        np.zeros((movers, 3, 3)),
        np.zeros(movers, np.int64),
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros(BLOCK),
        np.zeros(BLOCK),
        np.zeros(2 * LANES, np.int64),
    )
