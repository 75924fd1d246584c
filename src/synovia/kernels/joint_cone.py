"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .layout import Layout
from .reach_cone import (
    ANGLE,
    EDGE,
    HEADER,
    HEIGHT,
    MARGIN,
    look_up_limits,
    measure_margins,
    place,
    twist,
)
from .rotation import (
    BLOCK,
    LANES,
    PT,
    PX,
    QW,
    T,
    X,
    angle_of,
    from_direction_twist,
    half_angle,
    lane_quat,
    lane_vec3,
    set_lane_quat,
    set_lane_vec3,
    to_direction_twist,
)
from .transforms import quaternions, set_shift, set_turn, shift_at, turn_at
from .vector import Mat3, about, apply, cross, dot, least_axis, matrix_of, norm, vec3_at, wrap_angle

HERE = 1  # where a packed cone begins, after its kind
SLACK = 1e-12  # radians, and shares of lengths: rounding
LAYOUT = Layout(
    "joint cone",
    rest=3,  # direction
    first=3,  # axes of the angles
    second=3,
    pull=1,  # 1 to pull directions outside towards rest
    least_margin=1,  # of the twist, radians; and height over an edge: what counts as inside
    least_height=1,
    sense=1,  # of twists, 1 or -1
)
BEST = ANGLE  # where, on its way to rest, a direction enters the cone


@kernel
def half_turn(angle):
    """Return the cosine and the sine of half an angle, less whole rotations."""
    return half_angle(wrap_angle(angle))


@kernel
def rotate_about(axis, angle, v):
    """Return a vector rotated about a unit axis (Rodrigues' formula)."""
    c, s = half_turn(angle)
    return v + 2.0 * s * c * cross(axis, v) + 2.0 * s * s * (dot(axis, v) * axis - v)


@kernel
def angle_about(axis, start, end):
    """Return the angle about a unit axis that brings one vector nearest to another."""
    flat = dot(axis, start) * dot(axis, end)
    return angle_of(dot(axis, cross(start, end)), dot(start, end) - flat)


@kernel
def two_angles(p, work, out, found, n):
    """Write the angles about the first axis and the second whose turns bring rest where R does.

    With v = R rest the second angle solves first · (turned rest) = first · v, by the root nearest
    to 0, and of two as near by the negative one, so that mirrored axes give the same angles; where
    the axes cannot reach v, it comes as near as they can.
    """
    rest, first, second = (
        vec3_at(p, LAYOUT.rest),
        vec3_at(p, LAYOUT.first),
        vec3_at(p, LAYOUT.second),
    )
    level = dot(rest, second) * dot(first, second)
    cosine, sine = dot(first, rest) - level, dot(first, cross(second, rest))
    size, middle = np.sqrt(cosine * cosine + sine * sine), np.arctan2(sine, cosine)
    reaches = size > 1e-12
    inverse = 1.0 / size if reaches else 0.0
    for i in range(n):
        v = apply(turn_at(work, out + i), rest)
        h = min(max((dot(first, v) - level) * inverse, -1.0), 1.0)
        half = angle_of(np.sqrt((1.0 - h) * (1.0 + h)), h)
        one, other = wrap_angle(middle - half), wrap_angle(middle + half)
        angle = one if abs(one) < abs(other) else other
        angle = min(one, other) if abs(abs(one) - abs(other)) < SLACK else angle
        angle = angle if reaches else 0.0
        found[i] = angle_about(first, rotate_about(second, angle, rest), v)
        found[LANES + i] = angle


@kernel
def last_angle(p, work, out, found, n):
    """Write the remaining angle about rest after those in `found`, measured on a vector across."""
    rest, first, second = (
        vec3_at(p, LAYOUT.rest),
        vec3_at(p, LAYOUT.first),
        vec3_at(p, LAYOUT.second),
    )
    across = least_axis(rest)
    across = across - dot(across, rest) * rest
    for i in range(n):
        v = rotate_about(first, -found[i], apply(turn_at(work, out + i), across))
        v = rotate_about(second, -found[LANES + i], v)
        found[2 * LANES + i] = angle_about(rest, across, v)


@kernel
def enter(p, work, given, angle, block, n):
    """Write the quaternions of transforms, each after a twist about rest, and where they point."""
    rest, sense = vec3_at(p, LAYOUT.rest), p[LAYOUT.sense]
    quaternions(work, given, block[QW:], n)
    for i in range(n):
        c, s = half_turn(sense * work[angle + i])
        set_lane_quat(block, QW + i, lane_quat(block, QW + i) * about(rest, c, s))
    to_direction_twist(p, LAYOUT.rest, block, n)


@kernel
def enter_by_edge(cone, e, p, block, n):
    """Write where, on the chord to rest, directions enter by the edge at `e`, if there first."""
    rest, start = vec3_at(p, LAYOUT.rest), vec3_at(cone, e + EDGE.start)
    along_edge, normal = vec3_at(cone, e + EDGE.tangent), vec3_at(cone, e + EDGE.normal)
    cosine, sine = cone[e + EDGE.cosine], cone[e + EDGE.sine]
    after = dot(normal, rest)
    if not after > 0.0:
        return
    along_rest, across_rest = dot(start, rest), dot(along_edge, rest)
    for i in range(n):
        v = lane_vec3(block, X + i)
        before, along, across = dot(normal, v), dot(start, v), dot(along_edge, v)
        t = min(max(-before / max(after - before, 1e-300), 0.0), 1.0)
        along, across = along + t * (along_rest - along), across + t * (across_rest - across)
        past = across * cosine - along * sine
        enters = (after > before) & (before <= SLACK) & (across >= -SLACK) & (past <= SLACK)
        best = block[BEST + i]
        block[BEST + i] = t if enters & (t < best) else best


@kernel
def move_into_cone(cone, p, block, n):
    """Move directions along the chord to rest to where they enter the cone; tell if all do."""
    for i in range(n):
        block[BEST + i] = 2.0
    first = HERE + int(cone[HERE + HEADER.edges])
    for k in range(int(cone[HERE + HEADER.count])):
        enter_by_edge(cone, first + EDGE.SIZE * k, p, block, n)
    rest, entered = vec3_at(p, LAYOUT.rest), 0
    for i in range(n):
        t, v = block[BEST + i], lane_vec3(block, X + i)
        moved = v + t * (rest - v)
        size = norm(moved)
        enters = (t <= 1.0) & (size > 1e-9)
        set_lane_vec3(block, X + i, (1.0 / max(size, 1e-9)) * moved if enters else v)
        entered += 1 if enters else 0
    return entered == n


@kernel
def measure_lanes(cone, block, n):
    """Write heights over the edges, and what is left of the twist: no boundary is looked for."""
    place(cone, HERE, block, n)
    look_up_limits(cone, HERE, block, n)
    twist(cone, HERE, block, n)


@kernel
def find_legal(cone, p, block, apart, n):
    """Find the legal points for outer directions: where they enter the cone on their way to rest,
    or the nearest ones.

    Outer directions are few, so they are gathered in `apart`, a block of their own.
    """
    numbers = np.empty(LANES + 1, np.int64)
    outside = 0
    for i in range(n):
        numbers[outside] = i
        outside += 1 if block[HEIGHT + i] < p[LAYOUT.least_height] else 0
    if outside == 0:
        return
    for j in range(outside):
        i = numbers[j]
        set_lane_vec3(apart, X + j, lane_vec3(block, X + i))
        apart[T + j] = block[T + i]
    if p[LAYOUT.pull] > 0.0 and move_into_cone(cone, p, apart, outside):
        measure_lanes(cone, apart, outside)
        for j in range(outside):
            set_lane_vec3(apart, PX + j, lane_vec3(apart, X + j))
    else:
        measure_margins(cone, HERE, apart, outside, False)
    for j in range(outside):
        i = numbers[j]
        set_lane_vec3(block, PX + i, lane_vec3(apart, PX + j))
        block[PT + i] = apart[PT + j]


@kernel
def keep_inner(p, block, n):
    """Take inner directions and legal twists as they are, so that they are not moved."""
    least_height, least_margin = p[LAYOUT.least_height], p[LAYOUT.least_margin]
    for i in range(n):
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
        legal = (block[HEIGHT + i] >= least_height) & (block[MARGIN + i] >= least_margin)
        block[PT + i] = block[T + i] if legal else block[PT + i]


@kernel
def leave(p, block, work, given, angle, center, out, n):
    """Write the transforms, about centres that stay where they are; legal ones bit for bit."""
    least_height, least_margin = p[LAYOUT.least_height], p[LAYOUT.least_margin]
    for i in range(n):
        before, made = turn_at(work, given + i), matrix_of(lane_quat(block, QW + i))
        legal = (block[HEIGHT + i] >= least_height) & (block[MARGIN + i] >= least_margin)
        legal = legal & (work[angle + i] == 0.0)
        a = before.a if legal else made.a
        b = before.b if legal else made.b
        c = before.c if legal else made.c
        middle = lane_vec3(work, center + i)
        set_turn(work, out + i, Mat3(a, b, c))
        shift = apply(Mat3(before.a - a, before.b - b, before.c - c), middle)
        set_shift(work, out + i, shift_at(work, given + i) + shift)


@kernel
def joint_cone(p, cone, places, n, stride, work):
    """Write the transforms with legal directions and twists, and their angles about three axes.

    `places` are the offsets of transform, angle and centre, then of the resulting transform and its
    three angles. Angles with a negative offset are not computed.
    """
    given, angle, center, out = places[0], places[1], places[2], places[3]
    first, second, third = places[4], places[5], places[6]
    block, apart, q = np.empty(BLOCK), np.empty(BLOCK), np.empty(3 * LANES)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        a, o = base + given, base + out
        enter(p, work, a, base + angle, block, m)
        measure_lanes(cone, block, m)
        keep_inner(p, block, m)
        find_legal(cone, p, block, apart, m)
        from_direction_twist(p, LAYOUT.rest, block, m)
        leave(p, block, work, a, base + angle, base + center, o, m)
        if max(first, second, third) < 0:
            continue
        two_angles(p, work, o, q, m)
        for i in range(m):
            if first >= 0:
                work[base + first + i] = q[i]
            if second >= 0:
                work[base + second + i] = q[LANES + i]
        if third >= 0:
            last_angle(p, work, o, q, m)
            for i in range(m):
                work[base + third + i] = p[LAYOUT.sense] * q[2 * LANES + i]
