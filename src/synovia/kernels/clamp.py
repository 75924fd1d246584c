"""Limits along paths: the cheapest covers of a path, and where turns leave a limit."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .kinds import DIRECTION_TWIST, ROTATION_VECTOR, SWING_TWIST
from .limit import AXIS, CHART, enter, nearest
from .rotation import BLOCK, DISTANCE, LANES, PX, PY, PZ, W0, X, Y, Z

# Paths in time: the cheapest way through covers, and where a turn leaves its limit.


@kernel("f8[,,] f8[,] f8 i8[]")
def cheapest_covers(covers, costs, switch, out):
    """Write, for each frame, which cover to take: the least sum of `costs` and of switches.

    `covers` is (covers, frames, 3), `costs` (covers, frames). A step of more than π in the chart
    is a switch, and costs `switch`. Dynamic programming over frames.
    """
    count, frames = costs.shape
    total = np.empty(count)
    for b in range(count):
        total[b] = costs[b, 0]
    before = np.zeros((count, frames), np.int64)
    following = np.empty(count)
    for t in range(1, frames):
        for b in range(count):
            best, chosen = np.inf, 0
            for a in range(count):
                x = covers[b, t, 0] - covers[a, t - 1, 0]
                y = covers[b, t, 1] - covers[a, t - 1, 1]
                z = covers[b, t, 2] - covers[a, t - 1, 2]
                cost = total[a]
                if x * x + y * y + z * z > np.pi * np.pi:
                    cost += switch
                if cost < best:
                    best, chosen = cost, a
            following[b] = best + costs[b, t]
            before[b, t] = chosen
        for b in range(count):
            total[b] = following[b]
    at = 0
    for b in range(count):
        if total[b] < total[at]:
            at = b
    for t in range(frames - 1, -1, -1):
        out[t] = at
        at = before[at, t]


# Where turns leave a limit, by steps that the depth inside proves safe.
#
# Of many turns lanes go on side by side, each at its own pace; a lane that is done is dropped.


HALVINGS = 45  # of a last step: down to rounding
# Of a turn: its number and angle, how often its last step was halved, its last legal share, the
# least that is not legal, and the next to look at.
NUMBER, WHOLE, HALVED, LAST, OUTSIDE, AHEAD = range(6)
TURN_COLUMNS = 6


@kernel
def stretch_within(p, o, block, i, angle):
    """Return how much longer a path within `angle` of lane i is in the chart than its angle."""
    chart = int(p[o + CHART])
    x, y, z = block[PX + i], block[PY + i], block[PZ + i]
    if chart == ROTATION_VECTOR:
        half = 0.5 * (np.sqrt(x * x + y * y + z * z) + angle)
        return half / max(np.sin(half), 1e-9) if half < np.pi else 1e9
    if chart in (SWING_TWIST, DIRECTION_TWIST):
        if chart == SWING_TWIST:
            swing = np.sqrt(x * x + y * y)
        else:
            x = block[X + i] + p[o + AXIS]
            y = block[Y + i] + p[o + AXIS + 1]
            z = block[Z + i] + p[o + AXIS + 2]
            swing = 2.0 * np.arccos(min(0.5 * np.sqrt(x * x + y * y + z * z), 1.0))
        swing = min(swing + angle, np.pi)
        twist = 1.0 / max(np.cos(0.5 * swing), 1e-9)
        direction = swing / max(np.sin(swing), 1e-9) if chart == SWING_TWIST else 1.0
        return np.sqrt(max(direction, 1.0) ** 2 + twist * twist)
    cosine = np.cos(max(0.5 * np.pi - abs(y - 0.5 * np.pi) - angle, 0.0))
    return 1.0 / np.sqrt(max(1.0 - cosine, 1e-18))


@kernel
def safe_step(p, o, block, i):
    """Return an angle by which lane i, measured, may turn any way and stay as legal as it is."""
    depth = max(-block[DISTANCE + i], 0.0)
    step = depth / stretch_within(p, o, block, i, 0.0)
    return depth / stretch_within(p, o, block, i, step)


@kernel
def place_on_turn(start, end, angle, t, lane, block, i):
    """Write the rotation a share `t` of the way from start to end of `lane` as lane i."""
    first = 4 * lane
    dot = 0.0
    for k in range(4):
        dot += start[first + k] * end[first + k]
    sign = 1.0 if dot >= 0.0 else -1.0
    half = 0.5 * angle
    if half < 1e-9:
        a, b = 1.0 - t, t
    else:
        a, b = np.sin((1.0 - t) * half) / np.sin(half), np.sin(t * half) / np.sin(half)
    square = 0.0
    for k in range(4):
        value = a * start[first + k] + sign * b * end[first + k]
        square += value * value
        block[W0 + k * LANES + i] = value
    for k in range(4):
        block[W0 + k * LANES + i] /= np.sqrt(square)


@kernel
def advance(p, o, block, i, edge, finest, turns):
    """Go on with the turn of lane i from its share `AHEAD`, which was measured; tell if done.

    Where a step ends outside, its boundary is found by halving.
    """
    legal, turn = block[DISTANCE + i] <= edge, turns[i]
    here = turn[AHEAD]
    if turn[HALVED] > 0.0 or not legal:  # the boundary is between the last and here
        if legal:
            turn[LAST] = here
        else:
            turn[OUTSIDE] = here
        if turn[LAST] < 0.0:  # not legal from the start
            turn[LAST] = 0.0
            return True
        turn[AHEAD] = 0.5 * (turn[LAST] + turn[OUTSIDE])
        turn[HALVED] += 1.0
        return turn[HALVED] > HALVINGS
    if here >= 1.0:
        turn[LAST] = 1.0
        return True
    step = max(safe_step(p, o, block, i), finest) / max(turn[WHOLE], 1e-300)
    turn[LAST], turn[AHEAD] = here, min(here + step, 1.0)
    return False


@kernel("f8[] f8[] f8[] f8[] f8 f8 f8[]")
def first_exit(start, end, angles, p, edge, finest, reached):
    """Write the largest t in [0, 1] with the turn from start to end legal before it.

    A lane that is `depth` inside goes on by the angle that stays within it, and by `finest` at
    least.
    """
    block, other = np.zeros(BLOCK), np.empty(BLOCK)
    lanes = np.empty(2 * LANES, np.int64)
    turns = np.empty((LANES, TURN_COLUMNS))
    count, begun, active = reached.shape[0], 0, 0
    while begun < count or active > 0:
        while active < LANES and begun < count:
            turn = turns[active]
            turn[NUMBER], turn[WHOLE], turn[HALVED] = begun, angles[begun], 0.0
            turn[LAST], turn[OUTSIDE], turn[AHEAD] = -1.0, 1.0, 0.0
            active += 1
            begun += 1
        for i in range(active):
            turn = turns[i]
            place_on_turn(start, end, turn[WHOLE], turn[AHEAD], int(turn[NUMBER]), block, i)
        enter(p, 0, block, active)
        nearest(p, 0, -np.inf, np.inf, block, other, lanes, active)
        kept = 0
        for i in range(active):
            if advance(p, 0, block, i, edge, finest, turns):
                reached[int(turns[i, NUMBER])] = turns[i, LAST]
            else:
                for k in range(TURN_COLUMNS):
                    turns[kept, k] = turns[i, k]
                kept += 1
        active = kept
