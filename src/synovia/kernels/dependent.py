"""Limits that depend on another joint, the driver: interpolated values, and the nearest rotation.

A packed dependent limit is a header, then its values at the nodes: the ends of a range, or a margin
around the shape of the joint's own packed limit, which is passed separately.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .layout import OFFSET, ROTATION_VECTOR, SWING_TWIST, WHOLE, Field, Layout
from .limit import HEADER, cover, enter, leave
from .rotation import (
    DISTANCE,
    PT,
    PX,
    W0,
    T,
    X,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
)
from .shapes import grow, shape
from .vector import Vec3, dot, quat_at, rotate, set_vec3, vec3_at

MAX_DIVISIONS = 64.0  # of an edge: some 350,000 nodes
MAX_TURNS = 4.0  # whole turns; a limit reaches at most five

NODES = Layout(
    "dependent limit",
    size=Field(kind=OFFSET),  # of the whole, in numbers
    numbers=Field(1.0, 2.0, kind=WHOLE),  # at each node: 2 for the ends of a range, 1 for a margin
    # 1 if nodes are rotations of the driver, 0 if directions of its bone
    by_rotation=Field(0.0, 1.0, kind=WHOLE),
    divisions=Field(1.0, MAX_DIVISIONS, kind=WHOLE),
    axis=3,  # of the driver's bone, in its own frame
    into=4,  # the rotation at the nodes is into · rotation · bone
    bone=4,
    along=3,  # the direction of a range in its limit's chart, and its widest ends
    low=1,
    high=1,
    turns=Field(
        1.0, MAX_TURNS, kind=WHOLE
    ),  # largest distance of the nearest cover, in whole turns
)
"""Followed by the numbers at the nodes."""

TOLERANCE = 1e-9  # radians outside that count as inside
EDGE = 0.5 * TOLERANCE  # radians that the search of pairs counts as inside
MAX_TOTAL = 1e100  # of absolute coordinates; beyond it, and for NaN, the first axis is taken

# Nodes are integer points whose absolute coordinates sum to n, in lexicographic order.


@kernel
def ring_node(m, j, k):
    """Return the index of (j, k) among those with |j| + |k| = m."""
    before = 0 if j == -m else 1 + 2 * (j + m - 1)
    return before + (1 if k > 0 and j != -m and j != m else 0)


@kernel
def direction_node(n, i, j, k):
    """Return the index of the node (i, j, k) among those with |i| + |j| + |k| = n."""
    if i <= 0:
        s = i + n
        before = 0 if s == 0 else 1 + 2 * s * (s - 1)
        return before + ring_node(s, j, k)
    m = n - i
    before = 4 * n * n + 2 - (1 + 2 * m * (m + 1))
    return before + ring_node(m, j, k)


@kernel
def squares_to(m):
    """Return 1 + 4 + … + m²."""
    return m * (m + 1) * (2 * m + 1) // 6


@kernel
def rotation_node(n, w, x, y, z):
    """Return the index of the node (w, x, y, z), or of the opposite one, which is the same."""
    first = w if w != 0 else (x if x != 0 else (y if y != 0 else z))
    if first < 0:
        w, x, y, z = -w, -x, -y, -z
    if w > 0:
        m = n - w
        before = 2 * n * n + 1 + 4 * (squares_to(n - 1) - squares_to(m)) + 2 * (w - 1)
        return before if m == 0 else before + direction_node(m, x, y, z)
    if x > 0:
        m = n - x
        before = 2 * n + 4 * ((x - 1) * n - x * (x - 1) // 2)
        return before + ring_node(m, y, z)
    if y > 0:
        return 1 + 2 * (y - 1) + (1 if z > 0 else 0)
    return 0


@kernel
def corner_values(t, o, node, weight, low, high):
    """Return two numbers, each plus the weighted value at a node; a margin has one value."""
    if t[o + NODES.numbers] == 2.0:
        at = o + NODES.SIZE + 2 * node
        return low + weight * t[at], high + weight * t[at + 1]
    return low + weight * t[o + NODES.SIZE + node], high


@kernel
def at_direction(t, o, direction):
    """Return the one or two values at a direction; see `limit.node_grid`."""
    x, y, z = direction
    n, total = int(t[o + NODES.divisions]), abs(x) + abs(y) + abs(z)
    if not total <= MAX_TOTAL:
        x, y, z, total = 1.0, 0.0, 0.0, 1.0
    scale = n / max(total, 1e-300)
    px, py, pz = scale * abs(x), scale * abs(y), scale * abs(z)
    a, b, c = int(px), int(py), int(pz)
    fx, fy, fz = px - a, py - b, pz - c
    kind = int(np.rint(fx + fy + fz))
    sx, sy, sz = -1 if x < 0.0 else 1, -1 if y < 0.0 else 1, -1 if z < 0.0 else 1
    if kind == 0 or kind == 3:
        more = 1 if kind == 3 else 0
        node = direction_node(n, sx * (a + more), sy * (b + more), sz * (c + more))
        return corner_values(t, o, node, 1.0, 0.0, 0.0)
    # Parts that sum to 1 are weights of the corners one step on; to 2, of those two steps on.
    one, other = (1, 0) if kind == 1 else (0, 1)
    wx, wy, wz = (fx, fy, fz) if kind == 1 else (1.0 - fx, 1.0 - fy, 1.0 - fz)
    whole = 1.0 / (wx + wy + wz)
    node = direction_node(n, sx * (a + one), sy * (b + other), sz * (c + other))
    low, high = corner_values(t, o, node, wx * whole, 0.0, 0.0)
    node = direction_node(n, sx * (a + other), sy * (b + one), sz * (c + other))
    low, high = corner_values(t, o, node, wy * whole, low, high)
    node = direction_node(n, sx * (a + other), sy * (b + other), sz * (c + one))
    return corner_values(t, o, node, wz * whole, low, high)


@kernel
def at_rotation(t, o, rotation):
    """Return the one or two values at a rotation; see `limit.node_grid`."""
    w, x, y, z = rotation
    n, total = int(t[o + NODES.divisions]), abs(w) + abs(x) + abs(y) + abs(z)
    if not total <= MAX_TOTAL:
        w, x, y, z, total = 1.0, 0.0, 0.0, 0.0, 1.0
    total = max(total, 1e-300)
    first = abs(w) / total
    second = first + abs(x) / total
    third = second + abs(y) / total
    p0, p1, p2 = n * min(first, 1.0), n * min(second, 1.0), n * min(third, 1.0)
    a, b, c = int(p0), int(p1), int(p2)
    f0, f1, f2 = p0 - a, p1 - b, p2 - c
    sw, sx = -1 if w < 0.0 else 1, -1 if x < 0.0 else 1
    sy, sz = -1 if y < 0.0 else 1, -1 if z < 0.0 else 1
    # Kuhn's tetrahedra: one step along each axis, the largest part first, of equal ones the last.
    before, low, high = 1.0, 0.0, 0.0
    left0, left1, left2 = True, True, True
    for step in range(4):
        largest, which = 0.0, 3
        if left0:
            largest, which = f0, 0
        if left1 and (which == 3 or f1 >= largest):
            largest, which = f1, 1
        if left2 and (which == 3 or f2 >= largest):
            largest, which = f2, 2
        weight = before - largest if step < 3 else before
        if weight > 0.0:
            node = rotation_node(n, sw * a, sx * (b - a), sy * (c - b), sz * (n - c))
            low, high = corner_values(t, o, node, weight, low, high)
        before = largest
        if which == 0:
            a, left0 = a + 1, False
        elif which == 1:
            b, left1 = b + 1, False
        elif which == 2:
            c, left2 = c + 1, False
    return low, high


@kernel
def values_at(t, o, driver):
    """Return the values of the dependent limit at `o` at a rotation of the driver.

    They are the two ends of a range, or a margin and 0.
    """
    q = quat_at(t, o + NODES.into) * driver
    if t[o + NODES.by_rotation] > 0.0:
        return at_rotation(t, o, q * quat_at(t, o + NODES.bone))
    return at_direction(t, o, rotate(q, vec3_at(t, o + NODES.axis)))


@kernel
def range_gap(across, along, depth, low, high):
    """Return the signed distance of a point from a limit whose range has the ends `low` and `high`.

    `across` is its distance across the range, `along` its coordinate, `depth` at most 0.
    """
    beyond = max(low - along, along - high)
    more = max(beyond, 0.0)
    outside = math.sqrt(across * across + more * more)
    return outside if outside > 0.0 else max(beyond, depth)


@kernel
def gap_of(t, o, measured, low, high):
    """Return the signed distance of a joint from its limit, given what `measure` wrote."""
    if t[o + NODES.numbers] == 1.0:
        return measured[0] - low
    least = np.inf
    for k in range(0, measured.shape[0], 3):
        gap = range_gap(measured[k], measured[k + 1], measured[k + 2], low, high)
        least = min(least, gap)
    return least


@kernel
def load_covers(p, turns, rotation, block):
    """Write the points of a rotation in all covers up to `turns` away, and their nearest members.

    These are members of the shape without its margin. Returns the number of covers.
    """
    set_lane_quat(block, W0, rotation)
    enter(p, 0, block, 1)
    chart, count = int(p[HEADER.chart]), 2 * turns + 1
    point, n, flat = lane_vec3(block, X), 1, chart == SWING_TWIST
    if chart in (ROTATION_VECTOR, SWING_TWIST):
        n = count * count if flat else count
        for k in range(n):
            swings = k // count if flat else k
            set_lane_vec3(block, X + k, cover(point, flat, swings, k % count))
    shape(p, HEADER.SIZE, block, n)
    return n


@kernel
def measure_cover(t, o, block, k):
    """Return the three numbers that `range_gap` needs of a cover."""
    along, distance = dot(vec3_at(t, o + NODES.along), lane_vec3(block, X + k)), block[DISTANCE + k]
    beyond = max(max(t[o + NODES.low] - along, along - t[o + NODES.high]), 0.0)
    outside = max(distance, 0.0)
    across = math.sqrt(max(outside * outside - beyond * beyond, 0.0))
    return Vec3(across, along, min(distance, 0.0))


@kernel
def measure(t, o, p, rotation, block, measured):
    """Write what `gap_of` needs of a joint's rotation; return the number of values.

    For a margin that is the distance from the shape. For a range it is `measure_cover` of each.
    """
    n = load_covers(p, int(t[o + NODES.turns]), rotation, block)
    if t[o + NODES.numbers] == 1.0:
        measured[0] = block[DISTANCE + nearest_lane(block, n)]
        return 1
    for k in range(n):
        set_vec3(measured, 3 * k, measure_cover(t, o, block, k))
    return 3 * n


@kernel
def nearest_lane(block, n):
    """Return the lane whose point is the nearest to its member."""
    best = 0
    for k in range(1, n):
        if block[DISTANCE + k] < block[DISTANCE + best]:
            best = k
    return best


@kernel
def keep_lane(block, k):
    """Copy the point of a lane, and its member, to the first."""
    set_lane_vec3(block, X, lane_vec3(block, X + k))
    set_lane_vec3(block, PX, lane_vec3(block, PX + k))
    block[T], block[PT] = block[T + k], block[PT + k]


@kernel
def move_to_range(t, o, p, rotation, low, high, block):
    """Write to lane 0 the nearest point that is legal between the ends `low` and `high`."""
    n = load_covers(p, int(t[o + NODES.turns]), rotation, block)
    least, own = np.inf, 0
    for k in range(n):
        across, along, depth = measure_cover(t, o, block, k)
        gap = range_gap(across, along, depth, low, high)
        if gap < least:
            least, own = gap, k
    keep_lane(block, own)
    axis, foot = vec3_at(t, o + NODES.along), lane_vec3(block, PX)
    along = dot(axis, foot)
    set_lane_vec3(block, PX, foot + (min(max(along, low), high) - along) * axis)


@kernel
def move_into_margin(t, o, p, rotation, margin, block):
    """Write to lane 0 the nearest point within a margin of the limit's shape, in radians."""
    n = load_covers(p, int(t[o + NODES.turns]), rotation, block)
    nearest = nearest_lane(block, n)
    keep_lane(block, nearest)
    block[DISTANCE] = block[DISTANCE + nearest]
    grow(p, HEADER.SIZE, margin, block, 1)


@kernel
def project(t, o, p, rotation, driver, block):
    """Write to QW of lane 0 the nearest legal rotation of an illegal one, with the driver fixed.

    `p` is the joint's own packed limit.
    """
    low, high = values_at(t, o, driver)
    if t[o + NODES.numbers] == 1.0:
        move_into_margin(t, o, p, rotation, low, block)
    else:
        move_to_range(t, o, p, rotation, low, high, block)
    set_lane_quat(block, W0, rotation)
    block[DISTANCE] = 1.0  # outside, so that `leave` does not keep the given rotation
    leave(p, 0, TOLERANCE, block, 1)
