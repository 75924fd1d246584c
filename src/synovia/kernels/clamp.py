"""Limits along paths: the cheapest path through candidates, and where turns leave a limit."""

from __future__ import annotations

import numpy as np

from .hinges import hinge_stretch
from .jit import kernel
from .kinds import DIRECTION_TWIST, HINGES, ROTATION_VECTOR, SWING_TWIST
from .limit import AXIS, CHART, enter, nearest, tail
from .rotation import BLOCK, DISTANCE, LANES, PX, PY, PZ, W0, X, Y, Z

# Paths in time: the cheapest one through candidates, frame by frame.


@kernel
def angle_between(one, i, other, j):
    """Return the angle, in radians from 0 to π, between row i of one array and j of another."""
    apart, along = 0.0, 0.0
    for k in range(4):
        less, more = one[i, k] - other[j, k], one[i, k] + other[j, k]
        apart += less * less
        along += more * more
    # Quaternions are half as far apart as rotations, and q and -q are the same.
    return 4.0 * np.arctan2(np.sqrt(min(apart, along)), np.sqrt(max(apart, along)))


@kernel("f8[,] f8[,] f8[]")
def angles(one, other, out):
    """Write the angles, in radians from 0 to π, between rotations (n, 4) and others."""
    for i in range(out.shape[0]):
        out[i] = angle_between(one, i, other, i)


@kernel
def turn_toward(one, i, other, j, share, out, at):
    """Write, as row `at`, what is a `share` of the shortest turn from row i of `one` to j."""
    dot = 0.0
    for k in range(4):
        dot += one[i, k] * other[j, k]
    half = np.arccos(min(abs(dot), 1.0))
    a, b = 1.0 - share, share
    if half > 1e-6:
        a, b = np.sin((1.0 - share) * half) / np.sin(half), np.sin(share * half) / np.sin(half)
    if dot < 0.0:
        b = -b
    square = 0.0
    for k in range(4):
        value = a * one[i, k] + b * other[j, k]
        square += value * value
        out[at, k] = value
    for k in range(4):
        out[at, k] /= np.sqrt(square)


@kernel("f8[,] f8[,] i8[] f8[] f8[,]")
def turn_along(start, end, run, shares, out):
    """Write the rotations at shares (n,) of the turns, by number (n,), from `start` to `end`."""
    for i in range(shares.shape[0]):
        turn_toward(start, run[i], end, run[i], shares[i], out, i)


NEIGHBOURS = 13  # candidates of a frame


@kernel
def move_toward(one, i, other, j, share, out, at):
    """Write, as row `at`, what is about a `share` of the turn from row i of `one` to j.

    It is a share of the chord, which is not as far where turns are large.
    """
    dot = 0.0
    for k in range(4):
        dot += one[i, k] * other[j, k]
    b = share if dot >= 0.0 else -share
    square = 0.0
    for k in range(4):
        value = (1.0 - share) * one[i, k] + b * other[j, k]
        square += value * value
        out[at, k] = value
    scale = 1.0 / np.sqrt(square)
    for k in range(4):
        out[at, k] *= scale


@kernel
def chord_between(one, i, other, j):
    """Return twice how far row i of one array is from j of another: about the angle."""
    apart, along = 0.0, 0.0
    for k in range(4):
        less, more = one[i, k] - other[j, k], one[i, k] + other[j, k]
        apart += less * less
        along += more * more
    return 2.0 * np.sqrt(min(apart, along))


@kernel("f8[,] f8[,] f8[,] i8[] f8[] f8 f8[,]")
def neighbours(path, inputs, nearest, frames, steps, size, out):
    """Write, as (n · NEIGHBOURS, 4), candidates near to the path in each of n frames.

    They are earlier and later on it, straighter, and nearer to the input and to what is nearest
    to that, by `size` of a step.
    """
    last = path.shape[0] - 1
    for i in range(frames.shape[0]):
        t, at = frames[i], NEIGHBOURS * i
        before, after = max(t - 1, 0), min(t + 1, last)
        for k in range(4):
            out[at, k] = path[max(t - 4, 0), k]
            out[at + 1, k] = path[max(t - 2, 0), k]
            out[at + 2, k] = path[before, k]
            out[at + 3, k] = path[after, k]
            out[at + 4, k] = path[min(t + 2, last), k]
            out[at + 5, k] = path[min(t + 4, last), k]
        move_toward(path, t, path, before, 0.5 * size, out, at + 6)
        move_toward(path, t, path, after, 0.5 * size, out, at + 7)
        move_toward(path, before, path, after, 0.5, out, at + 8)
        step = size * steps[i]
        share = step / max(chord_between(path, t, inputs, t), 1e-300)
        move_toward(path, t, inputs, t, min(share, 1.0), out, at + 9)
        move_toward(path, t, inputs, t, min(0.3 * share, 1.0), out, at + 10)
        share = step / max(chord_between(path, t, nearest, t), 1e-300)
        move_toward(path, t, nearest, t, min(share, 1.0), out, at + 11)
        move_toward(path, t, nearest, t, min(0.3 * share, 1.0), out, at + 12)


@kernel("i8[] f8[,] f8[,] f8[,] f8[,] f8 f8[]")
def candidate_costs(frames, rotations, inputs, nearest, weights, pull, out):
    """Write what rotations (n, 4) cost in frames (n,).

    That is their squared angle to the input less `weights[t, 0]`, but at least 0; `pull` times the
    squared chord to the nearest; and `weights[t, 1]` where they are not the nearest.
    """
    for i in range(frames.shape[0]):
        t = frames[i]
        same = True
        for k in range(4):
            same = same and rotations[i, k] == nearest[t, k]
        if same:
            out[i] = 0.0
            continue
        away, move = angle_between(rotations, i, inputs, t), chord_between(rotations, i, nearest, t)
        more = max(away * away - weights[t, 0], 0.0)
        out[i] = more + pull * move * move + weights[t, 1]


@kernel("i8[] f8[,] f8[] f8[] f8 i8[]")
def cheapest_path(first, candidates, costs, bounds, over, chosen):
    """Write, for each frame, which of its candidates to take: the least sum of costs.

    The candidates (n, 4) of frame t are those from `first[t]` to before `first[t + 1]`. A step to
    frame t of more than `bounds[t]` radians costs `over`, and more the longer it is. Dynamic
    programming over frames.
    """
    frames = chosen.shape[0]
    total, before = np.empty(first[frames]), np.zeros(first[frames], np.int64)
    for b in range(first[1]):
        total[b] = costs[b]
    for t in range(1, frames):
        least = np.cos(0.5 * min(bounds[t], np.pi))
        for b in range(first[t], first[t + 1]):
            w, x, y, z = candidates[b, 0], candidates[b, 1], candidates[b, 2], candidates[b, 3]
            best, at = np.inf, first[t - 1]
            for a in range(first[t - 1], first[t]):
                if total[a] >= best:
                    continue
                dot = abs(
                    w * candidates[a, 0]
                    + x * candidates[a, 1]
                    + y * candidates[a, 2]
                    + z * candidates[a, 3]
                )
                cost = total[a]
                if dot < least:
                    cost += over * (1.0 + least - dot)
                if cost < best:
                    best, at = cost, a
            total[b] = best + costs[b]
            before[b] = at
    at = first[frames - 1]
    for b in range(first[frames - 1], first[frames]):
        if total[b] < total[at]:
            at = b
    for t in range(frames - 1, -1, -1):
        chosen[t] = at
        at = before[at]


@kernel("f8[,] f8[,] i8[] i8[] i8[] f8[,] i8[] f8[,]")
def gather_candidates(path, nearest, frames, counts, first, candidates, every, out):
    """Write what each of `frames` (n,) may take, as rows from `first[i]` on, and of which frame.

    That is the path itself; if `counts[i]` is not negative also the nearest, and so many of the
    `candidates`, which are in the order of frames.
    """
    taken = 0
    for i in range(frames.shape[0]):
        t, at = frames[i], first[i]
        for k in range(4):
            out[at, k] = path[t, k]
        every[at] = t
        if counts[i] >= 0:
            for k in range(4):
                out[at + 1, k] = nearest[t, k]
            every[at + 1] = t
            for j in range(counts[i]):
                for k in range(4):
                    out[at + 2 + j, k] = candidates[taken + j, k]
                every[at + 2 + j] = t
            taken += counts[i]


# Ways through a roadmap, where none is straight.


@kernel("f8[,] f8[,] i8[,]")
def nearest_members(rotations, members, out):
    """Write the numbers of the members nearest to each rotation, in any order: (n, count).

    There are `count` members or more.
    """
    count = out.shape[1]
    nearness = np.empty(count)  # cosines of half the angles
    for i in range(out.shape[0]):
        w, x, y, z = rotations[i, 0], rotations[i, 1], rotations[i, 2], rotations[i, 3]
        last = 0  # the farthest of those that are kept
        for j in range(members.shape[0]):
            dot = w * members[j, 0] + x * members[j, 1] + y * members[j, 2] + z * members[j, 3]
            if j < count:
                out[i, j], nearness[j] = j, abs(dot)
            elif abs(dot) > nearness[last]:
                out[i, last], nearness[last] = j, abs(dot)
            else:
                continue
            if j >= count - 1:
                last = 0
                for k in range(1, count):
                    if nearness[k] < nearness[last]:
                        last = k


@kernel
def shortest_way(first, links, lengths, entries, exits, ahead, before):
    """Write, for each member, the link to it on the shortest way; return the last of that way.

    See `shortest_ways`. By A*: from each member it is at least `ahead` to the end.
    """
    n = before.shape[0]
    cost, reached, waiting = np.empty(n), np.empty(n, np.int64), 0
    for i in range(n):
        cost[i], before[i] = entries[i], -1
        if entries[i] < np.inf:
            reached[waiting] = i
            waiting += 1
    best, last = np.inf, -1
    while True:
        at, least = -1, best
        for k in range(waiting):
            bound = cost[reached[k]] + ahead[reached[k]]
            if bound < least:
                at, least = k, bound
        if at < 0:
            return last
        here = reached[at]
        waiting -= 1
        reached[at] = reached[waiting]
        if cost[here] + exits[here] < best:
            best, last = cost[here] + exits[here], here
        for k in range(first[here], first[here + 1]):
            other = links[k, 0]
            by_here = cost[here] + lengths[links[k, 1]]
            if by_here < cost[other]:
                if cost[other] == np.inf:
                    reached[waiting] = other
                    waiting += 1
                cost[other], before[other] = by_here, k


@kernel("i8[] i8[,] f8[] f8[,] f8[,] f8[,] i8[,] i8[]")
def shortest_ways(first, links, lengths, entries, exits, ahead, before, last):
    """Write the last members (n,) of shortest ways through a roadmap, -1 where there is none.

    Of m members, number i has `links` from `first[i]` to before `first[i + 1]`: the other member,
    and the number of its length. Way k begins at any member, at the cost of `entries[k]`, (m,), and
    ends at that of `exits[k]`; from each member it is at least `ahead[k]` to the end. The row of
    `links` that leads to a member on it is written to `before[k]`, -1 for the first.
    """
    for k in range(last.shape[0]):
        last[k] = shortest_way(first, links, lengths, entries[k], exits[k], ahead[k], before[k])


@kernel("f8[,] i8[] f8 b1[]")
def thin_ways(rotations, first, hop, out):
    """Mark as few rotations as go from the first to the last of each way by hops, in radians.

    Way k has those from `first[k]` to before `first[k + 1]`, in steps of at most a hop.
    """
    for k in range(first.shape[0] - 1):
        here = first[k]
        for i in range(first[k], first[k + 1]):
            out[i] = i == here or i == first[k + 1] - 1
            if i > here + 1 and angle_between(rotations, here, rotations, i) > hop:
                here = i - 1
                out[here] = True


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
    if chart == HINGES:
        return hinge_stretch(p, tail(p, o), y, angle)
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
