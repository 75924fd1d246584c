"""Limits along paths: cheapest paths through candidates, roadmaps, and exits from limits."""

from __future__ import annotations

import math

import numpy as np

from .hinges import hinge_stretch
from .jit import kernel
from .layout import DIRECTION_TWIST, HINGES, ROTATION_VECTOR, SWING_TWIST
from .limit import HEADER, measure_lanes, tail
from .rotation import BLOCK, DISTANCE, PX, W0, X, lane_vec3, set_lane_quat
from .vector import (
    angle_between,
    chord,
    lerp,
    norm,
    quat_at,
    quat_dot,
    set_quat,
    slerp,
    vec3_at,
)

NEIGHBOURS = 13  # candidates of a frame
HALVINGS = 45  # of a last step: down to rounding


@kernel("f8[,] f8[,] f8[]")
def angles(one, other, out):
    """Write the angles, in radians from 0 to π, between rotations (n, 4) and others."""
    for i in range(out.shape[0]):
        out[i] = angle_between(quat_at(one[i], 0), quat_at(other[i], 0))


@kernel("f8[,] f8[,] i8[] f8[] f8[,]")
def turn_along(start, end, run, shares, out):
    """Write the rotations at shares (n,) of the shortest rotations `run` (n,) from start to end."""
    for i in range(shares.shape[0]):
        p, q = quat_at(start[run[i]], 0), quat_at(end[run[i]], 0)
        half = math.acos(min(abs(quat_dot(p, q)), 1.0))
        set_quat(out[i], 0, slerp(p, q, half, shares[i]))


@kernel
def write_moves(rotation, target, step, out, at, k):
    """Write two rotations towards a target: by a step, in radians, and by 0.3 of it."""
    near, _ = chord(rotation, target)
    share = step / max(2.0 * near, 1e-300)
    set_quat(out[at], k, lerp(rotation, target, min(share, 1.0)))
    set_quat(out[at + 1], k, lerp(rotation, target, min(0.3 * share, 1.0)))


@kernel("f8[,] f8[,] f8[,] i8[] f8[,] f8 f8[,]")
def neighbours(path, inputs, nearest, frames, steps, size, out):
    """Write, as (n · NEIGHBOURS, 4 S), candidates near to the path in each of n frames.

    Candidates are earlier and later rotations of the path, straighter ones, and ones nearer to the
    input and to its nearest legal rotation, by `size` times the steps (n, S).
    """
    last = path.shape[0] - 1
    for i in range(frames.shape[0]):
        t, at = frames[i], NEIGHBOURS * i
        for s in range(steps.shape[1]):
            k, step = 4 * s, size * steps[i, s]
            here, before = quat_at(path[t], k), quat_at(path[max(t - 1, 0)], k)
            after = quat_at(path[min(t + 1, last)], k)
            set_quat(out[at], k, quat_at(path[max(t - 4, 0)], k))
            set_quat(out[at + 1], k, quat_at(path[max(t - 2, 0)], k))
            set_quat(out[at + 2], k, before)
            set_quat(out[at + 3], k, after)
            set_quat(out[at + 4], k, quat_at(path[min(t + 2, last)], k))
            set_quat(out[at + 5], k, quat_at(path[min(t + 4, last)], k))
            set_quat(out[at + 6], k, lerp(here, before, 0.5 * size))
            set_quat(out[at + 7], k, lerp(here, after, 0.5 * size))
            set_quat(out[at + 8], k, lerp(before, after, 0.5))
            write_moves(here, quat_at(inputs[t], k), step, out, at + 9, k)
            write_moves(here, quat_at(nearest[t], k), step, out, at + 11, k)


@kernel("i8[] f8[,] f8[,] f8[,] f8[] f8[,] f8 f8[]")
def candidate_costs(frames, rotations, inputs, nearest, weights, terms, pull, out):
    """Write the costs of rotations (n, 4 S) of S joints in frames (n,).

    A cost is the sum of squared angles to the inputs, by the joints' `weights` (S,), less
    `terms[t, 0]`, at least 0; plus `pull` times the squared chords to the nearest legal rotations;
    plus `terms[t, 1]` unless it is these rotations.
    """
    for i in range(frames.shape[0]):
        t, same = frames[i], True
        for k in range(rotations.shape[1]):
            same = same and rotations[i, k] == nearest[t, k]
        if same:
            out[i] = 0.0
            continue
        away, moves = 0.0, 0.0
        for s in range(weights.shape[0]):
            rotation = quat_at(rotations[i], 4 * s)
            angle = angle_between(rotation, quat_at(inputs[t], 4 * s))
            move, _ = chord(rotation, quat_at(nearest[t], 4 * s))
            away += weights[s] * angle * angle
            moves += weights[s] * move * move
        out[i] = max(away - terms[t, 0], 0.0) + 4.0 * pull * moves + terms[t, 1]


@kernel("i8[] f8[,] f8[] f8[,] f8 i8[]")
def cheapest_path(first, candidates, costs, bounds, over, chosen):
    """Write the index of the candidate of each frame that gives the least sum of costs.

    The candidates (n, 4 S) of frame t are those from `first[t]` to before `first[t + 1]`. A step of
    a joint to frame t of more than `bounds[t, s]` radians costs `over`, and more the longer it is.
    Dynamic programming over frames.
    """
    frames, joints = chosen.shape[0], bounds.shape[1]
    total, before = np.empty(first[frames]), np.zeros(first[frames], np.int64)
    least = np.empty(joints)
    for b in range(first[1]):
        total[b] = costs[b]
    for t in range(1, frames):
        for s in range(joints):
            least[s] = np.cos(0.5 * min(bounds[t, s], np.pi))
        for b in range(first[t], first[t + 1]):
            best, at = np.inf, first[t - 1]
            for a in range(first[t - 1], first[t]):
                cost = total[a]
                for s in range(joints):
                    if cost >= best:
                        break
                    q = quat_at(candidates[b], 4 * s)
                    cosine = abs(quat_dot(q, quat_at(candidates[a], 4 * s)))
                    if cosine < least[s]:
                        cost += over * (1.0 + least[s] - cosine)
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


@kernel
def shortest_way(first, links, lengths, entries, exits, ahead, before):
    """Write the link to each member on its shortest path; return the last member of the whole path.

    A* with the lower bound `ahead` of the remaining length; see `shortest_ways`.
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
    """Write the last members (n,) of shortest paths through a roadmap, -1 if there is none.

    Member i of m has the `links` from `first[i]` to before `first[i + 1]`: the other member, and
    the index of the length. Path k starts at any member at the cost `entries[k]` (m,), and ends at
    the cost `exits[k]`; `ahead[k]` are lower bounds of the cost from each member to the end. The
    row of `links` that leads to each member is written to `before[k]`, -1 for the first.
    """
    for k in range(last.shape[0]):
        last[k] = shortest_way(first, links, lengths, entries[k], exits[k], ahead[k], before[k])


@kernel("f8[,] i8[] f8 b1[]")
def thin_ways(rotations, first, hop, out):
    """Mark a subset of each path, with its ends, whose steps are at most `hop` radians.

    Path k has the rotations from `first[k]` to before `first[k + 1]`, in steps of at most a hop.
    """
    for k in range(first.shape[0] - 1):
        here = first[k]
        for i in range(first[k], first[k + 1]):
            out[i] = i == here or i == first[k + 1] - 1
            start, end = quat_at(rotations[here], 0), quat_at(rotations[i], 0)
            if i > here + 1 and angle_between(start, end) > hop:
                here = i - 1
                out[here] = True


@kernel
def stretch_within(p, o, block, angle):
    """Return a bound on the length in the chart of a path within `angle` of lane 0, per radian."""
    chart, point = int(p[o + HEADER.chart]), lane_vec3(block, PX)
    if chart == ROTATION_VECTOR:
        half = 0.5 * (norm(point) + angle)
        return half / max(np.sin(half), 1e-9) if half < np.pi else 1e9
    if chart in (SWING_TWIST, DIRECTION_TWIST):
        if chart == SWING_TWIST:
            swing = np.sqrt(point.x * point.x + point.y * point.y)
        else:
            middle = lane_vec3(block, X) + vec3_at(p, o + HEADER.axis)
            swing = 2.0 * np.arccos(min(0.5 * norm(middle), 1.0))
        swing = min(swing + angle, np.pi)
        twist = 1.0 / max(np.cos(0.5 * swing), 1e-9)
        direction = swing / max(np.sin(swing), 1e-9) if chart == SWING_TWIST else 1.0
        return np.sqrt(max(direction, 1.0) ** 2 + twist * twist)
    if chart == HINGES:
        return hinge_stretch(p, tail(p, o), point.y, angle)
    cosine = np.cos(max(0.5 * np.pi - abs(point.y - 0.5 * np.pi) - angle, 0.0))
    return 1.0 / np.sqrt(max(1.0 - cosine, 1e-18))


@kernel
def safe_step(p, o, block):
    """Return an angle in radians: lane 0, already measured, may rotate so far and stays legal."""
    depth = max(-block[DISTANCE], 0.0)
    step = depth / stretch_within(p, o, block, 0.0)
    return depth / stretch_within(p, o, block, step)


@kernel
def last_legal_share(p, start, end, angle, edge, finest, block):
    """Return the largest t in [0, 1] up to which rotating from start to end, by `angle`, is legal.

    It advances by an angle that the depth proves legal, and by at least `finest` radians. Where a
    step ends more than `edge` outside, its boundary is found by bisection.
    """
    last, outside, share, halvings = -1.0, 1.0, 0.0, 0
    while halvings <= HALVINGS:
        set_lane_quat(block, W0, slerp(start, end, 0.5 * angle, share))
        measure_lanes(p, 0, block, 1)
        legal = block[DISTANCE] <= edge
        if legal and halvings == 0:
            if share >= 1.0:
                return 1.0
            step = max(safe_step(p, 0, block), finest) / max(angle, 1e-300)
            last, share = share, min(share + step, 1.0)
            continue
        last, outside = share if legal else last, outside if legal else share
        if last < 0.0:  # not legal from the start
            return 0.0
        share = 0.5 * (last + outside)
        halvings += 1
    return last


@kernel("f8[] f8[] f8[] f8[] f8 f8 f8[]")
def first_exit(start, end, angles, p, edge, finest, out):
    """Write `last_legal_share` of flat rotations from start to end, by `angles` in radians."""
    block = np.zeros(BLOCK)
    for i in range(out.shape[0]):
        a, b = quat_at(start, 4 * i), quat_at(end, 4 * i)
        out[i] = last_legal_share(p, a, b, angles[i], edge, finest, block)
