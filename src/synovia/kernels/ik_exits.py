"""Where one turn of one joint leaves its limit, by as few looks as it takes.

A look is dear, so each is used for all that it tells: how far around it all is legal, and on which
side of the boundary, and how far from it, it was.
"""

from __future__ import annotations

import math

import numpy as np

from .covers import nearest
from .exits import place, safe_step
from .ik_project import note_clear
from .jit import kernel
from .limits import enter, leave
from .rotation import DISTANCE, QW, QX, QY, QZ, W0, X0, Y0, Z0

ONE = np.int64(1)
ROUNDS = 60  # of looks for a boundary, at most; every third halves what is left


@kernel
def look(start, end, angle, t, p, o, edge, block, other, lanes):
    """Return how far outside the limit the rotation a share `t` of the way is; a member, below."""
    place(start, end, angle, t, 0, block, 0)
    enter(p, o, block, ONE)
    nearest(p, o, edge, np.inf, block, other, lanes, ONE)
    return block[DISTANCE] - edge


@kernel
def place_at(start, end, angle, t, block, out):
    """Write the rotation a share `t` of the way."""
    place(start, end, angle, t, 0, block, 0)
    out[0], out[1], out[2], out[3] = block[W0], block[X0], block[Y0], block[Z0]


@kernel
def known_room(m, start, clear):
    """Return by which angle mover m may turn from `start`, any way, by what is known already."""
    along = 0.0
    for i in range(4):
        along += start[i] * clear[m, i]
    along = abs(along)
    if along <= clear[m, 4]:
        return 0.0
    return 2.0 * (math.acos(clear[m, 4]) - math.acos(min(along, 1.0)))


@kernel
def boundary_between(
    start, end, angle, low, high, under, over, p, o, edge, within, block, other, lanes
):
    """Return a legal share of the way, less than the angle `within` before one that is not.

    `low` is legal and `high` is not, by the distances `under` and `over`. Looks are where a
    straight line between these is 0, in turn a little before that and a little after.
    """
    margin, ahead = 0.5 * within / angle, True
    for number in range(ROUNDS):
        if not (high - low) * angle > within:
            break
        if number % 3 == 2:
            here = 0.5 * (low + high)
        else:
            here = low + (high - low) * under / max(under + over, 1e-300)
            here += 0.9 * margin if ahead else -0.9 * margin
            here = min(max(here, low + 0.9 * margin), high - 0.9 * margin)
        outside = look(start, end, angle, here, p, o, edge, block, other, lanes)
        if outside <= 0.0:
            low, under, ahead = here, -outside, True
        else:
            high, over, ahead = here, outside, False
    return low


@kernel
def exit_of_one(
    m, start, end, angle, p, o, tolerance, finest, within, clear, block, other, lanes, beyond
):
    """Return the largest t in [0, 1] with the turn of mover m, from a legal start, legal before it.

    The end is looked at as soon as a way on from the start is known: mostly what is legal around
    both covers all between them. If not, looks go on by the angle that is proved to be legal, and
    by `finest` at least. The boundary is found to an angle `within` of it; then `beyond` is the
    first rotation that was seen outside, at most `finest` farther, brought into the limit.
    """
    edge, low, under = 0.5 * tolerance, min(known_room(m, start, clear) / angle, 1.0), 0.0
    onward, last, seen = max(low, finest / angle), np.inf, False
    here = 1.0 if low > 0.0 else min(onward, 1.0)
    while True:
        over = look(start, end, angle, here, p, o, edge, block, other, lanes)
        if over <= 0.0:
            if here >= 1.0:
                last = 1.0 - note_clear(m, p, o, block, clear) / angle
            else:
                low, under = here, -over
                onward = here + max(safe_step(p, o, block, 0), finest) / angle
            if onward >= last:
                return 1.0
        elif here <= onward:
            break
        seen = seen or here >= 1.0
        here = min(onward, 1.0) if seen else 1.0
    leave(p, o, tolerance, block, ONE)
    beyond[0], beyond[1], beyond[2], beyond[3] = block[QW], block[QX], block[QY], block[QZ]
    return boundary_between(
        start, end, angle, low, here, under, over, p, o, edge, within, block, other, lanes
    )
