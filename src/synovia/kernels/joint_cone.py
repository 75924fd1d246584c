"""Transforms brought into a reach cone, about a joint centre that stays where it is."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .layout import Layout
from .reach_cone import EDGE, HEADER, find_slice, nearest_member, twist_limits, twist_margin
from .rotation import (
    angle_of,
    direction_and_twist,
    half_angle,
    with_direction_and_twist,
)
from .vector import (
    Mat3,
    Vec3,
    about,
    apply,
    cross,
    dot,
    least_axis,
    matrix_of,
    norm,
    quaternion_of,
    set_transform,
    transform_at,
    vec3_at,
    wrap_angle,
)

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
def axes_of(p):
    """Return the direction at rest, and the axes of the first and the second angle."""
    return vec3_at(p, LAYOUT.rest), vec3_at(p, LAYOUT.first), vec3_at(p, LAYOUT.second)


@kernel
def three_angles(p, turn):
    """Return the angles about the first axis, the second, and rest whose product is a rotation R.

    With v = R rest the second angle solves first · (turned rest) = first · v, by the root nearest
    to 0, and of two as near by the negative one, so that mirrored axes give the same angles; where
    the axes cannot reach v, it comes as near as they can. The last angle is measured on a vector
    across rest.
    """
    rest, first, second = axes_of(p)
    level, v = dot(rest, second) * dot(first, second), apply(turn, rest)
    cosine, sine = dot(first, rest) - level, dot(first, cross(second, rest))
    size, middle = np.sqrt(cosine * cosine + sine * sine), np.arctan2(sine, cosine)
    angle = 0.0
    if size > 1e-12:
        h = min(max((dot(first, v) - level) / size, -1.0), 1.0)
        half = angle_of(np.sqrt((1.0 - h) * (1.0 + h)), h)
        one, other = wrap_angle(middle - half), wrap_angle(middle + half)
        angle = one if abs(one) < abs(other) else other
        angle = min(one, other) if abs(abs(one) - abs(other)) < SLACK else angle
    about_first = angle_about(first, rotate_about(second, angle, rest), v)
    across = least_axis(rest)
    across = across - dot(across, rest) * rest
    seen = rotate_about(first, -about_first, apply(turn, across))
    seen = rotate_about(second, -angle, seen)
    return Vec3(about_first, angle, p[LAYOUT.sense] * angle_about(rest, across, seen))


@kernel
def share_by_edge(cone, e, rest, v):
    """Return the share of the chord from v to rest where it enters by the edge at `e`, 2 if not."""
    start, along_edge = vec3_at(cone, e + EDGE.start), vec3_at(cone, e + EDGE.tangent)
    normal = vec3_at(cone, e + EDGE.normal)
    before, after = dot(normal, v), dot(normal, rest)
    if not (after > 0.0 and after > before and before <= SLACK):
        return 2.0
    share = min(max(-before / max(after - before, 1e-300), 0.0), 1.0)
    point = v + share * (rest - v)
    along, across = dot(start, point), dot(along_edge, point)
    past = across * cone[e + EDGE.cosine] - along * cone[e + EDGE.sine]
    return share if across >= -SLACK and past <= SLACK else 2.0


@kernel
def pulled(cone, rest, v):
    """Return where a direction first enters the cone on the chord to rest; 0 if it does not."""
    first, share = HERE + int(cone[HERE + HEADER.edges]), 2.0
    for k in range(int(cone[HERE + HEADER.count])):
        share = min(share, share_by_edge(cone, first + EDGE.SIZE * k, rest, v))
    moved = v + share * (rest - v)
    size = norm(moved)
    return (1.0 / size if share <= 1.0 and size > 1e-9 else 0.0) * moved


@kernel
def legal_point(p, cone, v, given):
    """Return the legal direction and twist for given ones, and whether these are legal already.

    An outer direction is moved to where it enters the cone on its way to rest, or to the nearest
    one.
    """
    low, high, height = twist_limits(cone, HERE, find_slice(cone, HERE, v), v)
    margin, twist = twist_margin(cone, HERE, low, high, given)
    if height >= p[LAYOUT.least_height]:
        legal = margin >= p[LAYOUT.least_margin]
        return v, given if legal else twist, legal
    if p[LAYOUT.pull] > 0.0:
        moved = pulled(cone, vec3_at(p, LAYOUT.rest), v)
        if norm(moved) > 0.0:
            low, high, _ = twist_limits(cone, HERE, find_slice(cone, HERE, moved), moved)
            _, twist = twist_margin(cone, HERE, low, high, given)
            return moved, twist, False
    foot, twist = nearest_member(cone, HERE, v, given)
    return foot, twist, False


@kernel
def legal_turn(p, cone, turn, angle):
    """Return the rotation, after a twist about rest, with a legal direction and twist.

    A legal one without twist comes back bit for bit.
    """
    rest = vec3_at(p, LAYOUT.rest)
    c, s = half_turn(p[LAYOUT.sense] * angle)
    q = quaternion_of(turn) * about(rest, c, s)
    v, given = direction_and_twist(rest, q)
    direction, twist, legal = legal_point(p, cone, v, given)
    if legal and angle == 0.0:
        return turn
    return matrix_of(with_direction_and_twist(rest, q, v, given, direction, twist))


@kernel
def joint_cone(p, cone, places, work):
    """Write the transform with a legal direction and twist, and its angles about three axes.

    `places` are the offsets of transform, angle and centre, then of the resulting transform and its
    three angles. Angles with a negative offset are not computed.
    """
    given, center = transform_at(work, places[0]), vec3_at(work, places[2])
    before = given.turn
    turn = legal_turn(p, cone, before, work[places[1]])
    gone = Mat3(before.a - turn.a, before.b - turn.b, before.c - turn.c)
    set_transform(work, places[3], turn, given.shift + apply(gone, center))
    if max(places[4], places[5], places[6]) >= 0:
        angles = three_angles(p, turn)
        for k in range(3):
            if places[4 + k] >= 0:
                work[places[4 + k]] = angles[k]
