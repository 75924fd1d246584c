"""Limits on rotations: quaternion → chart → shape → quaternion, over all covers."""

from __future__ import annotations

import numpy as np

from .hinges import TAIL, from_hinges, nearest_hinges, take_nearest, to_hinges
from .jit import kernel
from .layout import (
    CHART_KINDS,
    DIRECTION_TWIST,
    EULER,
    HINGES,
    MAX_REACH,
    OFFSET,
    ROTATION_VECTOR,
    SWING_TWIST,
    WHOLE,
    Field,
    Layout,
)
from .rotation import (
    BLOCK,
    DISTANCE,
    FAR,
    LANES,
    OFF_UNIT,
    PX,
    QW,
    W0,
    X,
    from_angles,
    from_direction_twist,
    from_rotation_vector,
    from_swing_twist,
    is_turn,
    lane_quat,
    lane_vec3,
    load,
    set_lane_quat,
    set_lane_vec3,
    store,
    to_angles,
    to_direction_twist,
    to_rotation_vector,
    to_swing_twist,
    turn_in,
    turn_out,
    turn_right,
)
from .shapes import region
from .vector import (
    TURN,
    ZERO,
    Quat,
    Vec3,
    about,
    axis_vector,
    conj,
    dot,
    log,
    norm,
    quat_at,
    quat_dot,
    set_quat,
    set_vec3,
    vec3_at,
    wrap_angle,
)

HEADER = Layout(
    "limit",
    version=1,  # LAYOUT
    size=Field(kind=OFFSET),  # of the whole packed limit, in numbers
    chart=Field(0.0, len(CHART_KINDS) - 1, kind=WHOLE),
    into_left=4,  # the chart's quaternion is left · rotation · right
    into_right=4,
    back_left=4,  # the inverses of both
    back_right=4,
    axis=3,  # of the bone, in the chart's frame, for directions
    # Bound on the distance of members from the chart's origin, in radians: of the swing, and of the
    # twist, if the chart has both.
    reach=Field(0.0, MAX_REACH),
    reach_twist=Field(0.0, MAX_REACH),
    margin=Field(
        0.0, MAX_REACH
    ),  # around the shape, in radians; `shapes.region` reads it and the shape
)
"""Followed by the shape, and for hinges by `hinges.TAIL`."""
LAYOUT = 5  # the version that these kernels read
OTHER_LAYOUT = -1.0  # returned for a limit of another version, or one that is cut short

NUDGE = 1e-5  # radians; rounding and the third derivative both cause errors of about 1e-10
RIM = 1e-7  # radians; nearer to the boundary the projection gives no direction
MAX_SLOPE = 10.0  # length of a gradient, per radian: longer ones occur only next to a chart's
# singularities (opposite the axis, gimbal lock), where derivatives are unbounded, and across jumps


@kernel
def cover_angle(angle, k):
    """Return entry k of φ, φ − 2π, φ + 2π, φ − 4π, …, for an angle φ.

    From 0 to π, their sizes rise with k.
    """
    return angle + k * np.pi if k % 2 == 0 else angle - (k + 1) * np.pi


@kernel
def vector_cover(v, k):
    """Return cover k of a rotation vector: the same rotation, of the length `cover_angle`.

    At the origin every direction is a cover's: x stands for all.
    """
    size = norm(v)
    if size == 0.0:
        return Vec3(cover_angle(0.0, k), 0.0, 0.0)
    return v if k == 0 else (cover_angle(size, k) / size) * v


@kernel
def swing_of(point, flat):
    """Return the part of a point that is one rotation vector: the swing if `flat`, else all."""
    return Vec3(point.x, point.y, 0.0 if flat else point.z)


@kernel
def cover(point, flat, swings, twists):
    """Return the point of a rotation in another cover.

    With `flat`, x and y are a swing and z is a twist, which wind independently.
    """
    swing = vector_cover(swing_of(point, flat), swings)
    if not flat:
        return swing
    twist = cover_angle(abs(point.z), twists)
    return Vec3(swing.x, swing.y, twist if point.z >= 0.0 else -twist)


@kernel
def has_other_cover(block, i, spare, spare_twist, flat):
    """Return True if another cover of lane i may be nearer than `spare` less its distance.

    None is for a vector shorter than that; in a chart that keeps the twist apart (`flat`), for a
    swing shorter than that with a twist under `spare_twist` less the distance.
    """
    x, y, z = lane_vec3(block, X + i)
    distance = block[DISTANCE + i]
    room = max(spare - distance, 0.0)
    excess = x * x + y * y + (0.0 if flat else z * z) - room * room
    if flat:
        excess = max(excess, abs(z) - spare_twist + distance)
    return excess >= 0.0


@kernel
def nearest_covers(p, o, block, n):
    """Take the nearest members over all covers but the first, which was compared before."""
    flat, reach_twist = int(p[o + HEADER.chart]) == SWING_TWIST, p[o + HEADER.reach_twist]
    reach, found = p[o + HEADER.reach], 0
    for i in range(n):  # nearly always none, which is soon seen
        other = has_other_cover(block, i, TURN - reach, TURN - reach_twist, flat)
        found += 1 if other else 0
    if found == 0:
        return
    # Points of cover k are at least k·π from the origin, and the nearest member is at most 2π plus
    # both reaches away. So the search ends, also where a damaged file has a shape beyond its reach.
    most = 5 + int(3.0 * (reach + reach_twist) / np.pi)
    gathered, owners, count = np.empty(BLOCK), np.empty(LANES, np.int64), 0
    for i in range(n):
        if not has_other_cover(block, i, TURN - reach, TURN - reach_twist, flat):
            continue
        first, distance = lane_vec3(block, X + i), block[DISTANCE + i]
        for swings in range(0 if flat else 1, most):
            swing = cover(first, flat, swings, 0)
            if norm(swing_of(swing, flat)) - reach >= distance:
                break  # the lengths of covers rise
            for twists in range(most - swings if flat else 1):
                point = cover(first, flat, swings, twists) if flat else swing
                if flat and abs(point.z) - reach_twist >= distance:
                    break
                if swings + twists == 0:
                    continue
                set_lane_vec3(gathered, X + count, point)
                owners[count] = i
                count += 1
                if count == LANES:
                    take_nearest(p, o + HEADER.margin, block, gathered, owners, count)
                    count = 0
    take_nearest(p, o + HEADER.margin, block, gathered, owners, count)


@kernel
def nearest(p, o, block, n):
    """Write the nearest member over all covers, and its signed distance.

    The points become those of the covers that were taken. A cover of size r is at least r − reach
    away, so few lanes are looked at twice.
    """
    region(p, o + HEADER.margin, block, n)
    chart = int(p[o + HEADER.chart])
    if chart == HINGES:
        nearest_hinges(p, o + HEADER.margin, tail(p, o), block, n)
    elif chart in (ROTATION_VECTOR, SWING_TWIST):  # others have one point for each rotation
        nearest_covers(p, o, block, n)


@kernel
def cover_near(v, before):
    """Return the cover of a rotation vector that is nearest to another vector."""
    size = norm(v)
    if size > 1e-12:
        turns = np.rint((dot(v, before) / size - size) / TURN)
        return (1.0 + turns * TURN / size) * v
    size = norm(before)  # every direction is a cover's
    return (TURN * np.rint(size / TURN) / max(size, 1e-300)) * before


@kernel("f8[,] i8 f8[,]")
def follow(points, chart, out):
    """Write, for each of the (n, 3) points in time, its cover nearest to the one before.

    The covers of a rotation vector lie 2π apart on the line through it and the origin; those of
    a swing and a twist likewise, each by itself. The first point stays as it is.
    """
    flat, before = chart == SWING_TWIST, vec3_at(points[0], 0)
    for i in range(points.shape[0]):
        point = vec3_at(points[i], 0)
        near = cover_near(swing_of(point, flat), swing_of(before, flat))
        twist = point.z + TURN * np.rint((before.z - point.z) / TURN)
        before = Vec3(near.x, near.y, twist if flat else near.z)
        set_vec3(out[i], 0, before)


@kernel
def tail(p, o):
    """Return where the tail of the packed limit at `o` begins."""
    return o + int(p[o + HEADER.size]) - TAIL.SIZE


@kernel
def enter(p, o, block, n):
    """Bring the quaternions into the chart's frame, and write their points."""
    chart = int(p[o + HEADER.chart])
    turn_in(p, o + HEADER.into_left, block, n)
    if is_turn(p, o + HEADER.into_right):
        turn_right(p, o + HEADER.into_right, block, n)
    if chart == ROTATION_VECTOR:
        to_rotation_vector(block, n)
    elif chart == SWING_TWIST:
        to_swing_twist(block, n)
    elif chart == EULER:
        to_angles(block, n)
    elif chart == DIRECTION_TWIST:
        to_direction_twist(p, o + HEADER.axis, block, n)
    else:
        to_hinges(p, tail(p, o), block, n)


@kernel
def remove_turns(flat, block, n):
    """Replace the points at PX, PY, PZ by the shortest ones of the same rotations."""
    for i in range(n):
        point = lane_vec3(block, PX + i)
        short = cover_near(swing_of(point, flat), ZERO)
        twist = wrap_angle(point.z) if flat else short.z
        set_lane_vec3(block, PX + i, Vec3(short.x, short.y, twist))


@kernel
def leave(p, o, tolerance, block, n):
    """Write the quaternions to go out: of the projected points, or what came in if inside."""
    chart = int(p[o + HEADER.chart])
    if chart in (ROTATION_VECTOR, SWING_TWIST):
        if max(p[o + HEADER.reach], p[o + HEADER.reach_twist]) > FAR:
            remove_turns(chart == SWING_TWIST, block, n)
        if chart == ROTATION_VECTOR:
            from_rotation_vector(block, n)
        else:
            from_swing_twist(block, n)
    elif chart == EULER:
        from_angles(block, n)
    elif chart == DIRECTION_TWIST:
        from_direction_twist(p, o + HEADER.axis, block, n)
    else:
        from_hinges(p, tail(p, o), block, n)
    if is_turn(p, o + HEADER.back_right):
        turn_right(p, o + HEADER.back_right, block, n)
    turn_out(p, o + HEADER.back_left, tolerance, block, n)


@kernel
def make_legal(p, o, tolerance, block, n):
    """Write the nearest legal rotations of the given ones, and the signed distances of these."""
    measure_lanes(p, o, block, n)
    leave(p, o, tolerance, block, n)


@kernel
def measure_lanes(p, o, block, n):
    """Write the signed distances of the given rotations, and their nearest points."""
    enter(p, o, block, n)
    nearest(p, o, block, n)


@kernel
def nearest_legal(p, o, tolerance, q):
    """Return the legal rotation nearest to q, or q if it is legal, and the distance of q."""
    block = np.empty(BLOCK)
    set_lane_quat(block, W0, q)
    measure_lanes(p, o, block, 1)
    if block[DISTANCE] <= tolerance:
        return q, block[DISTANCE]
    leave(p, o, tolerance, block, 1)
    return lane_quat(block, QW), block[DISTANCE]


@kernel
def distance_of(p, o, q):
    """Return the signed distance of the rotation q."""
    block = np.empty(BLOCK)
    set_lane_quat(block, W0, q)
    measure_lanes(p, o, block, 1)
    return block[DISTANCE]


@kernel
def off_unit(block):
    """Return the largest sum of squared errors of length over the lanes; NaN if one is NaN."""
    worst = 0.0
    for i in range(LANES):
        off = block[OFF_UNIT + i]
        if not off <= worst:
            worst = off
        if worst != worst:
            break
    return worst


@kernel
def is_whole(p, o):
    """Tell whether a packed limit of the layout that is known here stands at `o`, all of it."""
    room = p.shape[0] - o
    if o < 0 or room < HEADER.SIZE:
        return False
    size = p[o + HEADER.size]
    return (p[o + HEADER.version] == LAYOUT) & (size > HEADER.SIZE) & (size <= room)


@kernel("f8[] f8[] f8 f8[]", "f4[] f8[] f8 f4[]")
def project(rotations, p, tolerance, out):
    """Write the nearest legal rotations, members bit for bit.

    `rotations` and `out` are flat; returns how far lengths are off 1, squared (see `off_unit`), or
    OTHER_LAYOUT.
    """
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block = np.zeros(BLOCK)
    count = rotations.shape[0] // 4
    for start in range(0, count, LANES):
        n = min(LANES, count - start)
        load(rotations, 4 * start, 4, block, n)
        make_legal(p, 0, tolerance, block, n)
        store(block, n, start, out)
    return off_unit(block)


@kernel("f8[] f8[] f8[]", "f4[] f8[] f4[]")
def measure(rotations, p, distances):
    """Write the signed distances of flat `rotations`; returns as `project` does."""
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block = np.zeros(BLOCK)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, 4 * start, 4, block, n)
        measure_lanes(p, 0, block, n)
        for i in range(n):
            distances[start + i] = block[DISTANCE + i]
    return off_unit(block)


@kernel("f8[] i8[] i8[] f8[] f8 f8[] f8[,]", "f4[] i8[] i8[] f8[] f8 f4[] f4[,]")
def project_poses(rotations, joints, offsets, p, tolerance, out, distances):
    """As `project`, for poses: flat rotations of frames × all joints, limits for some.

    `joints[k]` is the joint that the limit at `offsets[k]` of `p` is for; `out` holds a copy of
    the rotations, `distances` is (frames, limits).
    """
    for k in range(joints.shape[0]):
        if not is_whole(p, offsets[k]):
            return OTHER_LAYOUT
    block = np.zeros(BLOCK)
    frames = distances.shape[0]
    stride = rotations.shape[0] // max(frames, 1)
    for k in range(joints.shape[0]):
        o = offsets[k]
        for start in range(0, frames, LANES):
            n = min(LANES, frames - start)
            first = start * stride + 4 * joints[k]
            load(rotations, first, stride, block, n)
            make_legal(p, o, tolerance, block, n)
            for i in range(n):
                set_quat(out, first + stride * i, lane_quat(block, QW + i))
                distances[start + i, k] = block[DISTANCE + i]
    return off_unit(block)


@kernel
def differences(p, o, block, listed, count, slopes):
    """Write gradients of `count` listed lanes by central differences about each axis."""
    trial = np.empty(BLOCK)
    for axis in range(3):
        for side in range(2):
            angle = NUDGE if side == 0 else -NUDGE
            turn = about(axis_vector(axis), np.cos(0.5 * angle), np.sin(0.5 * angle))
            for k in range(count):
                set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]) * turn)
            measure_lanes(p, o, trial, count)
            for k in range(count):
                at, distance = axis * LANES + listed[k], trial[DISTANCE + k]
                slopes[at] = distance if side == 0 else (slopes[at] - distance) * (0.5 / NUDGE)


@kernel
def bound_slopes(p, o, block, listed, count, slopes):
    """Replace gradients of `count` listed lanes by gradients of length 1.

    Outside, it is the gradient of the angle to the projection r: with r⁻¹ q = exp(v), v / |v|.
    Inside, the gradient keeps its direction.
    """
    trial = np.empty(BLOCK)
    for k in range(count):
        set_lane_quat(trial, W0 + k, lane_quat(block, W0 + listed[k]))
    make_legal(p, o, 0.0, trial, count)
    for k in range(count):
        i = listed[k]
        move = log(conj(lane_quat(trial, QW + k)) * lane_quat(trial, W0 + k))
        move = move if norm(move) > RIM else lane_vec3(slopes, i)
        set_lane_vec3(slopes, i, move / norm(move))


@kernel
def measure_block(p, o, least, block, slopes, n):
    """Write distances of the given rotations, and gradients of at most MAX_SLOPE.

    `slopes` has three rows of lanes: gradients by the vector ω of a rotation q · exp(ω). Gradients
    of members at most `least` outside are 0.
    """
    listed, count = np.empty(LANES, np.int64), 0
    measure_lanes(p, o, block, n)
    for i in range(n):
        set_lane_vec3(slopes, i, ZERO)
        listed[count] = i
        count += 0 if block[DISTANCE + i] <= least else 1
    if count == 0:
        return
    differences(p, o, block, listed, count, slopes)
    count = 0
    for i in range(n):
        listed[count] = i
        count += 1 if norm(lane_vec3(slopes, i)) > MAX_SLOPE else 0
    if count > 0:
        bound_slopes(p, o, block, listed, count, slopes)


@kernel("f8[] i8[] f8[] f8 f8[,] f8[]", "f4[] i8[] f8[] f8 f4[,] f4[]")
def measure_gradients(rotations, offsets, p, least, distances, gradients):
    """Write signed distances (n, limits) of unit quaternions, and gradients by their components.

    `rotations` (n, limits, 4) and `gradients` are flat; the limit of each column is at `offsets` of
    `p`. Gradients where the distance is at most `least` are 0. Returns 0, or OTHER_LAYOUT.
    """
    block, slopes = np.zeros(BLOCK), np.empty(3 * LANES)
    stride = 4 * offsets.shape[0]
    for k in range(offsets.shape[0]):
        if not is_whole(p, offsets[k]):
            return OTHER_LAYOUT
        for start in range(0, distances.shape[0], LANES):
            n, first = min(LANES, distances.shape[0] - start), start * stride + 4 * k
            load(rotations, first, stride, block, n)
            measure_block(p, offsets[k], least, block, slopes, n)
            for i in range(n):
                q, g = quat_at(rotations, first + stride * i), lane_vec3(slopes, i)
                # What is not a number stays none.
                distances[start + i, k] = block[DISTANCE + i] + 0.0 * quat_dot(q, q)
                set_quat(gradients, first + stride * i, 2.0 * q * Quat(0.0, g.x, g.y, g.z))
    return 0.0
