"""Limits on rotations: quaternion → chart → shape → quaternion, over all covers."""

from __future__ import annotations

import numpy as np

from .charts import from_angles, from_direction_twist, to_angles, to_direction_twist
from .hinges import TAIL, from_hinges, nearest_hinges, to_hinges
from .jit import kernel
from .layout import DIRECTION_TWIST, EULER, HINGES, ROTATION_VECTOR, SWING_TWIST, Layout
from .rotation import (
    BLOCK,
    BOUND,
    DISTANCE,
    FAR,
    LANES,
    OFF_UNIT,
    PX,
    PY,
    PZ,
    QW,
    QX,
    QY,
    QZ,
    X,
    Y,
    Z,
    exp,
    exp_far,
    is_turn,
    join,
    join_far,
    load,
    load_strided,
    log,
    split,
    store,
    turn_in,
    turn_out,
    turn_right,
)
from .shapes import region
from .vector import TURN, Vec3, norm

HEADER = Layout(
    "limit",
    version=1,  # LAYOUT
    size=1,  # of the whole packed limit, in numbers
    chart=1,  # see CHART_KINDS
    into_left=4,  # the chart's quaternion is left · rotation · right
    into_right=4,
    back_left=4,  # the inverses of both
    back_right=4,
    axis=3,  # of the bone, in the chart's frame, for directions
    reach=1,  # bound on the distance of members from the chart's origin, in radians: of the swing
    reach_twist=1,  # and of the twist, if the chart has both
    margin=1,  # around the shape, in radians; `shapes.region` reads it and the shape
)
"""Followed by the shape, and for hinges by `hinges.TAIL`."""
LAYOUT = 5  # the version that these kernels read
OTHER_LAYOUT = -1.0  # returned for a limit of another version, or one that is cut short
COVERS = 8  # covers that `cover_of_foot` searches


@kernel
def cover_angle(radius, turns):
    """Return the size of an angle of size `radius` <= π in its cover number `turns`.

    Covers 1, 3, … lie on the other side, at 2π − radius, 4π − radius, …
    """
    if turns % 2 == 1:
        return (turns + 1) * np.pi - radius
    return turns * np.pi + radius


@kernel
def cover_of_foot(flat, point, foot, distance):
    """Return the cover of a point whose distance from its foot is the measured one.

    `flat` is True for swing and twist, which wind independently.
    """
    radius = norm(Vec3(point.x, point.y, 0.0 if flat else point.z))
    best, found = np.inf, point
    for turns in range(COVERS):
        for twists in range(turns + 1 if flat else 1):
            swings = turns - twists
            size = cover_angle(radius, swings)
            scale = size / radius if radius > 0.0 else 0.0
            scale = -scale if swings % 2 == 1 else scale
            twist = scale * point.z
            if flat:
                twist = cover_angle(abs(point.z), twists)
                twist = twist if (point.z >= 0.0) == (twists % 2 == 0) else -twist
            cover = Vec3(scale * point.x if radius > 0.0 else size, scale * point.y, twist)
            off = abs(norm(cover - foot) - distance)
            if off < best - 1e-12:
                best, found = off, cover
    return found


@kernel
def cover_excess(x, y, z, spare, spare_twist, flat):
    """Return a number that is negative where no other cover can be near enough to look at.

    A vector shorter than `spare` has none; in a chart that keeps the twist apart (`flat`), a swing
    shorter than that with a twist under `spare_twist`.
    """
    if flat:
        return max(x * x + y * y - spare * spare, abs(z) - spare_twist)
    return x * x + y * y + z * z - spare * spare


@kernel
def find_lanes(p, o, settled, block, lanes, n):
    """List the lanes that could have a nearer member in a cover but the first; return how many.

    Lanes at a distance of at most `settled` need none.
    """
    swing, twist = TURN - p[o + HEADER.reach], TURN - p[o + HEADER.reach_twist]
    flat = int(p[o + HEADER.chart]) == SWING_TWIST
    found = 0
    for i in range(n):  # nearly always none, which is soon seen
        x, y, z, distance = block[X + i], block[Y + i], block[Z + i], block[DISTANCE + i]
        near = cover_excess(x, y, z, max(swing - distance, 0.0), twist - distance, flat) >= 0.0
        found += 1 if near & (distance > settled) else 0
    count = 0
    if found > 0:
        for i in range(n):
            x, y, z, distance = block[X + i], block[Y + i], block[Z + i], block[DISTANCE + i]
            near = cover_excess(x, y, z, max(swing - distance, 0.0), twist - distance, flat) >= 0.0
            lanes[count] = i
            count += int(near & (distance > settled))
    return count


@kernel
def gather_cover(p, o, swings, twists, block, other, lanes, n):
    """Write, as `other`, the points of a cover of the first `n` of `lanes` that may be nearer.

    Returns how many there are; their numbers go to `lanes` from LANES on.
    """
    reach, reach_twist = p[o + HEADER.reach], p[o + HEADER.reach_twist]
    flat = int(p[o + HEADER.chart]) == SWING_TWIST
    count = 0
    for k in range(n):
        i = lanes[k]
        x, y, z = block[X + i], block[Y + i], block[Z + i]
        radius = np.sqrt(x * x + y * y + (0.0 if flat else z * z))
        size = cover_angle(radius, swings)
        bound = size - reach
        if flat:
            bound = max(bound, cover_angle(abs(z), twists) - reach_twist)
        if not bound < block[DISTANCE + i]:
            continue
        # At the origin every direction is a cover's: x stands for all.
        scale = size / radius if radius > 0.0 else 0.0
        scale = -scale if swings % 2 == 1 else scale
        other[X + count] = scale * x if radius > 0.0 else size
        other[Y + count] = scale * y
        if flat:
            twist = cover_angle(abs(z), twists)
            other[Z + count] = twist if (z >= 0.0) == (twists % 2 == 0) else -twist
        else:
            other[Z + count] = scale * z
        other[BOUND + count] = block[DISTANCE + i]
        lanes[LANES + count] = i
        count += 1
    return count


@kernel
def take_nearer(p, o, depth, block, other, lanes, count):
    """Take what is nearer in the cover that was gathered."""
    if count == 0:
        return
    region(p, o + HEADER.margin, depth, other, count)
    for k in range(count):
        i = lanes[LANES + k]
        if other[DISTANCE + k] < block[DISTANCE + i]:
            block[DISTANCE + i] = other[DISTANCE + k]
            block[PX + i] = other[PX + k]
            block[PY + i] = other[PY + k]
            block[PZ + i] = other[PZ + k]


@kernel
def nearest(p, o, settled, depth, block, other, lanes, n):
    """Write the nearest member over all covers, and its distance, unless that is `settled`.

    A cover of size r is at least r − reach away, so few lanes are looked at twice. `lanes` is room
    for two numbers a lane. How far inside members are is told up to `depth`, in the first cover:
    see `shapes`.
    """
    for i in range(n):
        block[BOUND + i] = np.inf
    region(p, o + HEADER.margin, depth, block, n)
    if int(p[o + HEADER.chart]) == HINGES:
        nearest_hinges(p, o + HEADER.margin, tail(p, o), settled, block, other, lanes, n)
        return
    if int(p[o + HEADER.chart]) >= DIRECTION_TWIST:  # these charts have one point for each rotation
        return
    found = find_lanes(p, o, settled, block, lanes, n)
    if found == 0:
        return
    both = int(p[o + HEADER.chart]) == SWING_TWIST
    # Points of cover k are at least k·π from the origin, and the nearest member is at most 2π plus
    # both reaches away. So the search ends, also where a damaged file has a shape beyond its reach.
    most = 4 + int(3.0 * (p[o + HEADER.reach] + p[o + HEADER.reach_twist]) / np.pi)
    for turns in range(1, most + 1):
        looked = 0
        for twists in range(turns + 1 if both else 1):
            count = gather_cover(p, o, turns - twists, twists, block, other, lanes, found)
            take_nearer(p, o, depth, block, other, lanes, count)
            looked += count
        if looked == 0:
            break


@kernel("f8[,] i8 f8[,]")
def follow(points, chart, out):
    """Write, for each of the (n, 3) points in time, its cover nearest to the one before.

    The covers of a rotation vector lie 2π apart on the line through it and the origin; those of
    a swing and a twist likewise, each by itself. The first point stays as it is.
    """
    flat = chart == SWING_TWIST
    px, py, pz = points[0, 0], points[0, 1], points[0, 2]
    for i in range(points.shape[0]):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        if flat:
            z += TURN * np.rint((pz - z) / TURN)
        square = x * x + y * y + (0.0 if flat else z * z)
        radius = np.sqrt(square)
        if radius > 1e-12:
            dot = x * px + y * py + (0.0 if flat else z * pz)
            turns = np.rint((dot / radius - radius) / TURN)
            scale = 1.0 + turns * TURN / radius
            x, y = scale * x, scale * y
            z = z if flat else scale * z
        else:
            # Every direction is a cover's: take the one of the point before.
            size = np.sqrt(px * px + py * py + (0.0 if flat else pz * pz))
            turns = np.rint(size / TURN)
            scale = turns * TURN / size if turns > 0.0 else 0.0
            x, y = scale * px, scale * py
            z = z if flat else scale * pz
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
        px, py, pz = x, y, z


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
        log(block, n)
    elif chart == SWING_TWIST:
        split(block, n)
    elif chart == EULER:
        to_angles(block, n)
    elif chart == DIRECTION_TWIST:
        to_direction_twist(p, o + HEADER.axis, block, n)
    else:
        to_hinges(p, tail(p, o), block, n)


@kernel
def leave(p, o, tolerance, block, n):
    """Write the quaternions to go out: of the projected points, or what came in if inside."""
    chart = int(p[o + HEADER.chart])
    near = p[o + HEADER.reach] ** 2 <= FAR and p[o + HEADER.reach_twist] ** 2 <= FAR
    if chart == ROTATION_VECTOR:
        if near:
            exp(block, n)
        else:
            exp_far(block, n)
    elif chart == SWING_TWIST:
        if near:
            join(block, n)
        else:
            join_far(block, n)
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
    block, other = np.zeros(BLOCK), np.zeros(BLOCK)
    lanes = np.empty(2 * LANES, np.int64)
    count = rotations.shape[0] // 4
    for start in range(0, count, LANES):
        n = min(LANES, count - start)
        load(rotations, start, block, n)
        enter(p, 0, block, n)
        nearest(p, 0, tolerance, 0.0, block, other, lanes, n)
        leave(p, 0, tolerance, block, n)
        store(block, n, start, out)
    return off_unit(block)


@kernel("f8[] f8[] f8[]", "f4[] f8[] f4[]")
def measure(rotations, p, distances):
    """Write the signed distances of flat `rotations`; returns as `project` does."""
    if not is_whole(p, 0):
        return OTHER_LAYOUT
    block, other = np.zeros(BLOCK), np.zeros(BLOCK)
    lanes = np.empty(2 * LANES, np.int64)
    for start in range(0, distances.shape[0], LANES):
        n = min(LANES, distances.shape[0] - start)
        load(rotations, start, block, n)
        enter(p, 0, block, n)
        nearest(p, 0, -np.inf, np.inf, block, other, lanes, n)
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
    block, other = np.zeros(BLOCK), np.zeros(BLOCK)
    lanes = np.empty(2 * LANES, np.int64)
    frames = distances.shape[0]
    stride = rotations.shape[0] // max(frames, 1)
    for k in range(joints.shape[0]):
        o = offsets[k]
        for start in range(0, frames, LANES):
            n = min(LANES, frames - start)
            first = start * stride + 4 * joints[k]
            load_strided(rotations, first, stride, block, n)
            enter(p, o, block, n)
            nearest(p, o, -np.inf, np.inf, block, other, lanes, n)
            leave(p, o, tolerance, block, n)
            for i in range(n):
                at = first + stride * i
                out[at] = block[QW + i]
                out[at + 1] = block[QX + i]
                out[at + 2] = block[QY + i]
                out[at + 3] = block[QZ + i]
                distances[start + i, k] = block[DISTANCE + i]
    return off_unit(block)
