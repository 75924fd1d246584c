"""Shapes in blocks of lanes: the nearest member of each point, and the signed distance to it."""

from __future__ import annotations

import numpy as np

from .distance_field import field, shortest_move
from .jit import inlined, kernel
from .layout import BOX, CONE, ELLIPSOID, FIELD, KDOP, PRODUCT, TABLE, UNION
from .reach_cone import HEADER as CONE_HEADER
from .reach_cone import cone
from .rotation import (
    BLOCK,
    DISTANCE,
    LANES,
    PT,
    PX,
    PZ,
    SCRATCH,
    T,
    X,
    Z,
    atan_over_root,
    cos_root,
    lane_vec3,
    set_lane_vec3,
    sinc_root,
)
from .theta_phi import table
from .vector import (
    Vec3,
    apply,
    apply_transposed,
    dot,
    mat3_at,
    norm,
    set_vec3,
    vec3_at,
    wrap_angle,
)

FARTHEST = SCRATCH  # row of the index of the axis along which a point is farthest out
BEYOND = SCRATCH + LANES  # row of how far that is, negative below the low side
# Rows of the lanes outside, packed: their numbers, their feet on one plane (three rows), and the
# axis along which these are farthest out, and how far.
LANE, QX = SCRATCH + 2 * LANES, SCRATCH + 3 * LANES
SECOND, SECOND_BEYOND = SCRATCH + 7 * LANES, PX
VIOLATION = 1e-13  # radians beyond a plane that count as on it
DEPENDENT = 1e-20  # squared length of what is left of a normal across the active ones


@kernel
def excess(p, j, count, axes, point):
    """Return how far a point is beyond the bounds along axis j; at most 0 between them."""
    low, along = axes + 3 * count + j, dot(vec3_at(p, axes + 3 * j), point)
    return max(along - p[low + count], p[low] - along)


@kernel
def nearest_in_polytope(p, count, axes, block, m):
    """Write the foot and the distance of one lane: the nearest x with low <= axis · x <= high.

    `m` is the lane's number among those outside; the foot goes to the rows QX and the distance to
    DISTANCE. `axes` is the offset of the `count` axes in `p`, which lows and highs follow.

    This is the dual active-set method of Goldfarb & Idnani (1983). It starts at the projection
    onto one plane, and adds the plane that is violated most. Each step keeps the planes already
    met, and drops one when its multiplier would become negative. At most three are active.
    """
    i, lows = int(block[LANE + m]), axes + 3 * count
    normals, multipliers, shares = np.empty(9), np.empty(3), np.empty(3)
    basis, scales, triangle = np.empty(9), np.empty(3), np.empty((3, 3))
    start, multipliers[0] = lane_vec3(block, X + i), abs(block[BEYOND + i])
    side = 1.0 if block[BEYOND + i] > 0.0 else -1.0
    set_vec3(normals, 0, side * vec3_at(p, axes + 3 * int(block[FARTHEST + i])))
    x, chosen = start - multipliers[0] * vec3_at(normals, 0), int(block[SECOND + m])
    active, orthogonal = 1, 0  # planes, and those of them whose normals are in the basis
    for _ in range(8 * count + 32):
        # The chosen plane, as n · x <= offset.
        n, offset = vec3_at(p, axes + 3 * chosen), p[lows + count + chosen]
        along = dot(n, x)
        if p[lows + chosen] - along > along - offset:
            n, offset = -n, -p[lows + chosen]
        multiplier, meets, leaving = 0.0, np.inf, -1
        for _ in range(8):  # at most three planes can leave
            # Gram–Schmidt: z is the part of n across the active normals, `shares` the rest of it.
            # For nearly parallel normals z is mostly rounding, so it is made orthogonal twice.
            for a in range(orthogonal, active):
                normal = vec3_at(normals, 3 * a)
                e = normal
                for b in range(a):
                    before = vec3_at(basis, 3 * b)
                    triangle[a, b] = scales[b] * dot(normal, before)
                    e = e - triangle[a, b] * before
                scales[a] = 1.0 / dot(e, e)
                set_vec3(basis, 3 * a, e)
            z, orthogonal = n, active
            for a in range(active):
                e = vec3_at(basis, 3 * a)
                shares[a] = scales[a] * dot(e, z)
                z = z - shares[a] * e
            for a in range(active - 1, -1, -1):
                for b in range(a):
                    shares[b] -= triangle[a, b] * shares[a]
                e = vec3_at(basis, 3 * a)
                z = z - scales[a] * dot(e, z) * e
            length = dot(z, z) if active < 3 else 0.0
            # The step at which a multiplier reaches 0, and the one at which the plane is met.
            until, leaving = np.inf, -1
            for a in range(active):
                if shares[a] > 1e-14 and multipliers[a] < until * shares[a]:
                    until, leaving = multipliers[a] / shares[a], a
            meets = (dot(n, x) - offset) / length if length > DEPENDENT else np.inf
            if leaving < 0 and meets == np.inf:
                break
            step = min(until, meets)
            if length > DEPENDENT:
                x = x - step * z
            for a in range(active):
                multipliers[a] -= step * shares[a]
            multiplier += step
            if meets <= until:
                set_vec3(normals, 3 * active, n)
                multipliers[active] = multiplier
                active += 1
                break
            active, orthogonal = active - 1, leaving
            for a in range(leaving, active):
                set_vec3(normals, 3 * a, vec3_at(normals, 3 * a + 3))
                multipliers[a] = multipliers[a + 1]
        if meets == np.inf and leaving < 0:
            break  # no point meets all planes exactly, because of rounding
        worst, chosen, last = VIOLATION, -1, count - 1
        for j in range(0, count, 4):  # four independent comparisons
            j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
            e0, e1 = excess(p, j, count, axes, x), excess(p, j1, count, axes, x)
            e2, e3 = excess(p, j2, count, axes, x), excess(p, j3, count, axes, x)
            k01, k23 = j if e0 >= e1 else j1, j2 if e2 >= e3 else j3
            e01, e23 = max(e0, e1), max(e2, e3)
            best, most = k01 if e01 >= e23 else k23, max(e01, e23)
            chosen = best if most > worst else chosen
            worst = max(worst, most)
        if chosen < 0:
            break
    set_lane_vec3(block, QX + m, x)
    block[DISTANCE + i] = norm(start - x)


# Each function of a block reads the points at X and writes feet to PX and distances to DISTANCE.
# `p` is a flat buffer, in which a shape's parameters begin at `o`.

ROUNDING = 1e-14  # directions whose squared length is as near to 1 are taken as they are


@kernel
def load_box(p, o):
    """Return the axes of a box, as rows, its middle along them, and half its widths."""
    return mat3_at(p, o), vec3_at(p, o + 9), vec3_at(p, o + 12)


@kernel
def box(p, o, block, n):
    """Clamp along the axes. Parameters: see `load_box`."""
    axes, middle, half = load_box(p, o)
    for i in range(n):
        x = lane_vec3(block, X + i)
        local = apply(axes, x) - middle
        over0, over1 = abs(local.x) - half.x, abs(local.y) - half.y
        over2 = abs(local.z) - half.z
        beyond = Vec3(
            np.copysign(max(over0, 0.0), local.x),
            np.copysign(max(over1, 0.0), local.y),
            np.copysign(max(over2, 0.0), local.z),
        )
        set_lane_vec3(block, PX + i, x - apply_transposed(axes, beyond))
        inner = max(max(over0, over1), over2)
        outer = np.sqrt(dot(beyond, beyond))
        block[DISTANCE + i] = outer if inner > 0.0 else inner


@kernel
def ellipsoid(p, o, block, n):
    """Project onto an ellipsoid. Parameters: centre, 3 × 3 axes (rows), radii.

    With y the point along the axes and a the radii, the foot is a²y/(a² + t) where t solves
    ‖s(t)‖ = 1, s = ay/(a² + t). 1/‖s‖ is concave in t, so Newton's method on 1/‖s‖ = 1 from
    below rises to the root without passing it. Iterations end when all lanes have converged.

    A step reduces the excess e = ‖s‖ − 1 to at most 3/2 · e² · var(1/d)/mean(1/d)², d = a² + t,
    with the squares of s as weights. This is at most 3/8 · e² · (largest d)/(least d). The last
    step is the one that starts from an e for which this bound is rounding.
    """
    center, axes, radii = vec3_at(p, o), mat3_at(p, o + 3), vec3_at(p, o + 12)
    # A flat ellipsoid has radii of 0: a tiny t and a huge inverse stand for the limits. Products of
    # six times t are no denormal numbers.
    tiny, flat, nonzero, rounding = 1e-40, 1e-150, 1e-300, 1e-15
    squares = Vec3(radii.x * radii.x, radii.y * radii.y, radii.z * radii.z)
    largest = max(squares.x, max(squares.y, squares.z))
    least = min(radii.x, min(radii.y, radii.z))
    spread = least * least / (0.375 * largest + tiny)
    enough = max(rounding, np.sqrt(rounding * spread))
    y_, t_, excess_ = SCRATCH, SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
    for i in range(n):
        y = apply(axes, lane_vec3(block, X + i) - center)
        set_lane_vec3(block, y_ + i, y)
        u, v, w = radii.x * abs(y.x), radii.y * abs(y.y), radii.z * abs(y.z)
        t = max(max(u - squares.x, v - squares.y), max(w - squares.z, tiny))
        block[t_ + i] = max(t, np.sqrt(u * u + v * v + w * w) - largest)
    for _ in range(100):
        going = 0
        for i in range(n):
            t, y = block[t_ + i], lane_vec3(block, y_ + i)
            # All of s times the product of d: then the step has one division, the longest to wait
            # for.
            d0, d1, d2 = squares.x + t, squares.y + t, squares.z + t
            e0, e1, e2 = d1 * d2, d0 * d2, d0 * d1
            whole = d0 * e0
            u, v, w = radii.x * y.x * e0, radii.y * y.y * e1, radii.z * y.z * e2
            u, v, w = u * u, v * v, w * w
            square = u + v + w
            excess = max(np.sqrt(square) - whole, 0.0)
            block[excess_ + i] = excess - enough * whole
            block[t_ + i] = t + excess * square / (u * e0 + v * e1 + w * e2 + nonzero)
        for i in range(n):
            going += 1 if block[excess_ + i] > 0.0 else 0
        if going == 0:
            break
    i0, i1, i2 = 1.0 / max(radii.x, flat), 1.0 / max(radii.y, flat), 1.0 / max(radii.z, flat)
    for i in range(n):
        t, y = block[t_ + i], lane_vec3(block, y_ + i)
        level = (y.x * i0) ** 2 + (y.y * i1) ** 2 + (y.z * i2) ** 2
        d0, d1, d2 = squares.x + t, squares.y + t, squares.z + t
        ratio = t / (d0 * d1 * d2)
        move = Vec3(y.x * (d1 * d2 * ratio), y.y * (d0 * d2 * ratio), y.z * (d0 * d1 * ratio))
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i) - apply_transposed(axes, move))
        outside = level > 1.0
        size = np.sqrt(dot(move, move) if outside else level)
        # Inside: the ball of this radius is inside too, so the depth is never overstated.
        block[DISTANCE + i] = size if outside else (size - 1.0) * least


@inlined
def farthest_beyond(p, o, block, x, worst, number, n):
    """Write the largest excess of each point beyond the bounds of an axis, and that axis' index.

    The excess is negative inside; the axis is then the one with the nearest bound. Points are in
    the rows from `x` on, results go to the rows `worst` and `number`. The parameters of the k-DOP
    are at `o`.
    """
    count = int(p[o])
    lows = o + 1 + 3 * count
    for i in range(n):
        block[worst + i] = -np.inf
        block[number + i] = 0.0
    for j in range(count):
        axis = vec3_at(p, o + 1 + 3 * j)
        low, high, this = p[lows + j], p[lows + count + j], float(j)
        for i in range(n):
            along = dot(axis, lane_vec3(block, x + i))
            beyond = max(low - along, along - high)
            farther = beyond > block[worst + i]
            block[number + i] = this if farther else block[number + i]
            block[worst + i] = beyond if farther else block[worst + i]


@kernel
def kdop(p, o, block, n):
    """Project onto a k-DOP. Parameters: number of axes k, k × 3 unit axes, k lows, k highs.

    The foot of most points is on the plane that they are farthest beyond. This is tried for all
    points outside; `nearest_in_polytope` projects those for which it fails.
    """
    count = int(p[o])
    axes = o + 1
    lows = axes + 3 * count
    farthest_beyond(p, o, block, X, DISTANCE, FARTHEST, n)
    outside = 0
    for i in range(n):
        block[LANE + outside] = i
        outside += 1 if block[DISTANCE + i] > 0.0 else 0
    for m in range(outside):
        i = int(block[LANE + m])
        j = int(block[FARTHEST + i])
        axis, x = vec3_at(p, axes + 3 * j), lane_vec3(block, X + i)
        beyond = block[DISTANCE + i]
        if dot(axis, x) < p[lows + j]:
            beyond = -beyond
        block[BEYOND + i] = beyond
        set_lane_vec3(block, QX + m, x - beyond * axis)
    farthest_beyond(p, o, block, QX, SECOND_BEYOND, SECOND, outside)
    for m in range(outside):
        if block[SECOND_BEYOND + m] > VIOLATION:
            nearest_in_polytope(p, count, axes, block, m)
    for i in range(n):
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
    for m in range(outside):
        set_lane_vec3(block, PX + int(block[LANE + m]), lane_vec3(block, QX + m))


@kernel
def solid(kind, p, o, block, n):
    """Project onto a convex shape with parameters at `o`; distances are NaN for unknown kinds."""
    if kind == BOX:
        box(p, o, block, n)
    elif kind == ELLIPSOID:
        ellipsoid(p, o, block, n)
    elif kind == KDOP:
        kdop(p, o, block, n)
    else:
        for i in range(n):
            block[DISTANCE + i] = np.nan


@kernel
def product(p, o, block, n):
    """Project swing and twist separately. Parameters: twist low, high, kind and swing shape.

    The swing shape is packed as a cylinder along z, so at z = 0 its distances are distances in
    the plane.
    """
    low, high = p[o], p[o + 1]
    twist = SCRATCH + 6 * LANES
    for i in range(n):
        block[twist + i] = block[Z + i]
        block[Z + i] = 0.0
    solid(int(p[o + 2]), p, o + 3, block, n)
    for i in range(n):
        t = block[twist + i]
        block[Z + i] = t
        below, above = low - t, t - high
        outside = max(above, 0.0) - max(below, 0.0)
        block[PZ + i] = t - outside
        swing = block[DISTANCE + i]
        inner = max(swing, max(below, above))
        outer = np.sqrt(max(swing, 0.0) ** 2 + outside * outside)
        block[DISTANCE + i] = outer if inner > 0.0 else inner


@kernel
def union(p, o, block, n):
    """Project onto a union of cones. If two are equally near, the first one is used.

    Parameters: the number of cones, then the packed cones, with their kinds.
    """
    best = np.empty(5 * LANES)  # rows: the nearest direction, its twist, the distance
    at = o + 1
    for part in range(int(p[o])):
        cone(p, at + 1, block, n)
        for i in range(n):
            if part == 0 or block[DISTANCE + i] < best[4 * LANES + i]:
                set_lane_vec3(best, i, lane_vec3(block, PX + i))
                best[3 * LANES + i], best[4 * LANES + i] = block[PT + i], block[DISTANCE + i]
        at += 1 + int(p[at + 1 + CONE_HEADER.size])
    for i in range(n):
        set_lane_vec3(block, PX + i, lane_vec3(best, i))
        block[PT + i], block[DISTANCE + i] = best[3 * LANES + i], best[4 * LANES + i]


@kernel
def shape(p, o, block, n):
    """Project onto the shape that is packed at `o`: its kind, then its parameters."""
    kind = int(p[o])
    if kind == PRODUCT:
        product(p, o + 1, block, n)
    elif kind == CONE:
        cone(p, o + 1, block, n)
    elif kind == TABLE:
        table(p, o + 1, block, n)
    elif kind == FIELD:
        field(p, o + 1, block, n)
    elif kind == UNION:
        union(p, o + 1, block, n)
    else:
        solid(kind, p, o + 1, block, n)


WALKS = 8  # steps into the margin of a field, whose distances are not exact; 2 mostly suffice
EDGE = 1e-12  # radians beyond a margin that count as within it


@kernel
def region(p, o, block, n):
    """Project onto the region that is packed at `o`: its margin in radians, then its shape."""
    shape(p, o + 1, block, n)
    if p[o] != 0.0:
        grow(p, o + 1, p[o], block, n)


@kernel
def grow(p, o, margin, block, n):
    """Grow the shape at `o`, whose feet and distances are in the block, by `margin` radians.

    With foot f of x and d = |x − f| > margin, the nearest member is f + (margin / d)(x − f); for
    directions this goes along the great circle. Points within the margin are members: see
    `grown_distance`. A negative margin changes distances alone.
    """
    kind = int(p[o])
    if kind in (CONE, TABLE, UNION):
        grow_directions(margin, block, n)
        return
    if kind == FIELD:
        grow_field(p, o, margin, block, n)
        return
    for i in range(n):
        foot, distance = lane_vec3(block, PX + i), block[DISTANCE + i]
        outside = (distance > margin) & (margin >= 0.0)
        share = margin / distance if outside else 1.0
        set_lane_vec3(block, PX + i, foot + share * (lane_vec3(block, X + i) - foot))
        block[DISTANCE + i] = distance - margin


@inlined
def grown_distance(distance, margin):
    """Return the signed distance to a shape grown by `margin`, for a `distance` to the shape.

    This is for shapes whose distance is not always that of the nearest member. It may then jump,
    so within the margin the depth is not known, and the result is 0.
    """
    inside = (distance <= margin) & (margin >= 0.0)
    return min(distance, 0.0) if inside else distance - margin


@kernel
def toward_point(block, i, share):
    """Return direction and twist at `share` of the path from the foot of lane i to its point.

    The direction moves along the great circle.
    """
    foot, x = lane_vec3(block, PX + i), lane_vec3(block, X + i)
    square = dot(foot - x, foot - x)
    apart, along, together = np.sqrt(square), 1.0 - 0.5 * square, norm(foot + x)
    quarter = apart / (together + 2.0)  # the tangent of a quarter of the angle
    half = share * 2.0 * quarter * atan_over_root(quarter * quarter)  # of the angle to go
    sine, cosine = half * sinc_root(half * half), cos_root(half * half)
    scale = 2.0 * sine * cosine / max(0.5 * apart * together, 1e-300)
    moved = (1.0 - 2.0 * sine * sine - scale * along) * foot + scale * x
    turn = block[PT + i] + share * wrap_angle(block[T + i] - block[PT + i])
    return (1.0 / norm(moved)) * moved, turn


@kernel
def grow_directions(margin, block, n):
    """Do the same as `grow`, for a shape of directions and twists."""
    for i in range(n):
        distance, x = block[DISTANCE + i], lane_vec3(block, X + i)
        block[DISTANCE + i] = grown_distance(distance, margin)
        outside = distance > margin
        share = max(margin, 0.0) / max(distance, 1e-300) if outside else 1.0
        moved, turn = toward_point(block, i, share)
        set_lane_vec3(block, PX + i, moved if outside else x)
        block[PT + i] = turn if outside else block[T + i]


@kernel
def shift_foot(p, o, share, block, i):
    """Move the foot of lane i on the shape at `o` towards its point, by `share` of the path."""
    if int(p[o]) in (CONE, TABLE, UNION):
        foot, block[PT + i] = toward_point(block, i, share)
    else:
        foot = lane_vec3(block, PX + i)
        foot = foot + share * periodic_move(p, o, lane_vec3(block, X + i) - foot)
    set_lane_vec3(block, PX + i, foot)


@kernel
def grow_field(p, o, margin, block, n):
    """Do the same as `grow`, for a distance field; projections are members.

    The foot of a point is not always the nearest member of a field. A projection may therefore
    have another foot, farther away than the margin; it then moves on towards that one. After WALKS
    steps the result is the foot itself.
    """
    trial = np.empty(BLOCK)
    for i in range(n):
        x, foot, distance = lane_vec3(block, X + i), lane_vec3(block, PX + i), block[DISTANCE + i]
        point, outside = x, distance > margin and margin >= 0.0
        block[DISTANCE + i] = grown_distance(distance, margin)
        for walk in range(WALKS + 1 if outside else 0):
            if distance <= margin + EDGE:
                break
            share = margin / distance if walk < WALKS else 0.0
            point = foot + share * periodic_move(p, o, point - foot)
            set_lane_vec3(trial, X, point)
            field(p, o + 1, trial, 1)
            foot, distance = lane_vec3(trial, PX), trial[DISTANCE]
        if outside:
            block[DISTANCE + i] = norm(periodic_move(p, o, point - x))
        set_lane_vec3(block, PX + i, point)


@kernel
def periodic_move(p, o, move):
    """Return a difference of points, reduced by whole periods of the shape at `o`, if it wraps."""
    return shortest_move(p, o + 1, move) if int(p[o]) == FIELD else move


@kernel("f8[] f8[] f8[] f8[]")
def project_points(points, p, out, distances):
    """Write to `out` the nearest members of flat `points` (x, y, z, x, …), and signed distances.

    `p` is the packed shape.
    """
    block = np.empty(BLOCK)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        for i in range(n):
            set_lane_vec3(block, X + i, vec3_at(points, 3 * (start + i)))
        shape(p, 0, block, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
            set_vec3(out, 3 * (start + i), lane_vec3(block, PX + i))


@kernel("f8[] f8[] f8[] f8[]")
def project_directions(points, p, out, distances):
    """Do the same as `project_points`, for flat directions and twists (x, y, z, twist, x, …).

    Directions need only approximately unit length; those of members are returned unchanged.
    """
    block = np.empty(BLOCK)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        for i in range(n):
            given = vec3_at(points, 4 * (start + i))
            square = dot(given, given)
            scale = 1.0 / np.sqrt(square) if abs(square - 1.0) > ROUNDING else 1.0
            set_lane_vec3(block, X + i, scale * given)
            block[T + i] = points[4 * (start + i) + 3]
        shape(p, 0, block, n)
        for i in range(n):
            at, x, foot = 4 * (start + i), lane_vec3(block, X + i), lane_vec3(block, PX + i)
            still = (foot.x == x.x) & (foot.y == x.y) & (foot.z == x.z)
            distances[start + i] = block[DISTANCE + i]
            set_vec3(out, at, vec3_at(points, at) if still else foot)
            out[at + 3] = block[PT + i]
