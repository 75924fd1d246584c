"""Theta-phi tables in blocks of lanes: cells, nearest walls, twists there; and packing."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .layout import OFFSET, WHOLE, Field, Layout
from .rotation import (
    DISTANCE,
    LANES,
    PT,
    PX,
    PY,
    PZ,
    SCRATCH,
    T,
    X,
    atan_over_root,
    lane_quat,
    lane_vec3,
    set_lane_vec3,
)
from .vector import TURN, Vec3, apply, apply_transposed, mat3_at, norm, wrap_angle

HEADER = Layout(
    "theta-phi table",
    frame=9,  # rows of the matrix into the table's frame
    rows=Field(1.0, 1e4, kind=WHOLE),
    columns=Field(1.0, 1e4, kind=WHOLE),
    fine=Field(1.0, 100.0, kind=WHOLE),  # nodes of the grid of walls along the side of a cell
    gentle=1,  # 1/√(1 + G²), with G the steepest slope of the twist's ends anywhere
    # Offsets of middle and half of the twist at the cells, of slopes around, of walls.
    twists=Field(kind=OFFSET),
    around=Field(kind=OFFSET),
    places=Field(kind=OFFSET),
)
"""Followed by what `pack_lists` writes."""

# Rows of scratch: the point in the table's frame, its foot, then its place in columns and rows.
U, V, W = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
FU, FV, FW = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES, SCRATCH + 5 * LANES
INVERSE = FU  # 1/√(u² + v²), before there is a foot
COLUMN, ROW = SCRATCH + 6 * LANES, SCRATCH + 7 * LANES


@kernel
def place(values, n, rows, columns):
    """Write in which column and row, as real numbers from 0 on, unit vectors lie.

    They are in the first three rows of `values`; columns go to the seventh, rows to the eighth,
    and to the fourth goes 1/√(u² + v²), at most 1e100.
    """
    across, along = columns / TURN, rows / math.pi
    for i in range(n):
        u, v, w = values[i], values[LANES + i], values[2 * LANES + i]
        radius = np.sqrt(u * u + v * v)
        # Half-angle tangents of longitude and latitude, as in `euler.angle_of`. One division.
        safe = max(radius, 1e-100)
        d, e = max(abs(u) + radius, 1e-100), 1.0 + radius
        inverse = 1.0 / (d * e * safe)
        values[3 * LANES + i] = inverse * d * e
        values[6 * LANES + i] = v * e * safe * inverse
        values[7 * LANES + i] = w * d * safe * inverse
    # Short loops: of a long one too little fits into the processor to go on while it waits.
    for i in range(n):
        u, v, d = values[i], values[LANES + i], values[6 * LANES + i]
        angle = 2.0 * d * atan_over_root(d * d)
        beyond = math.pi - angle if v >= 0.0 else -math.pi - angle
        angle = angle if u >= 0.0 else beyond
        values[6 * LANES + i] = (angle + math.pi) * across
    for i in range(n):
        e = values[7 * LANES + i]
        values[7 * LANES + i] = 2.0 * e * atan_over_root(e * e) * along + 0.5 * rows


@kernel
def slopes_around(p, o, block, n):
    """Write to V how gentle the twists' slopes are at COLUMN, ROW and around, to W how far."""
    q = p[o:]
    rows, columns, around = q[HEADER.rows], q[HEADER.columns], q[HEADER.around]
    for i in range(n):
        left = min(max(0.0, np.floor(block[COLUMN + i])), columns - 1.0)
        below = min(max(0.0, np.floor(block[ROW + i])), rows - 1.0)
        block[U + i] = around + 2.0 * (below * columns + left)
    for i in range(n):
        k = int(block[U + i])
        block[V + i] = q[k]
        block[W + i] = q[k + 1]


@kernel
def interpolate(p, o, block, n):
    """Write the middle and the half-width of the twists at COLUMN, ROW to FU and FV."""
    q = p[o:]
    rows, columns, twists = q[HEADER.rows], q[HEADER.columns], q[HEADER.twists]
    stride = 2.0 * (columns + 2.0)
    step = int(stride)
    for i in range(n):
        column, row = block[COLUMN + i] + 0.5, block[ROW + i] + 0.5
        left = min(max(0.0, np.floor(column)), columns)
        below = min(max(0.0, np.floor(row)), rows)
        block[FW + i] = twists + below * stride + 2.0 * left
        block[COLUMN + i] = column - left
        block[ROW + i] = row - below
    for i in range(n):
        a, b = block[COLUMN + i], block[ROW + i]
        k = int(block[FW + i])
        m = k + step
        block[FU + i] = (1.0 - b) * ((1.0 - a) * q[k] + a * q[k + 2]) + b * (
            (1.0 - a) * q[m] + a * q[m + 2]
        )
        half = (1.0 - b) * ((1.0 - a) * q[k + 1] + a * q[k + 3]) + b * (
            (1.0 - a) * q[m + 1] + a * q[m + 3]
        )
        block[FV + i] = max(half, 0.0)


@kernel("f8[,] f8[,,] f8[,]")
def ranges(vectors, ends, out):
    """Write the least and greatest twist (n, 2) at vectors (n, 3) of the table's frame.

    `ends` (2, rows + 2, columns + 2) are low and high at all centres, and around them.
    """
    rows, columns = ends.shape[1] - 2, ends.shape[2] - 2
    block = np.empty(8 * LANES)
    for start in range(0, vectors.shape[0], LANES):
        n = min(LANES, vectors.shape[0] - start)
        for i in range(n):
            x, y, z = vectors[start + i, 0], vectors[start + i, 1], vectors[start + i, 2]
            scale = 1.0 / max(np.sqrt(x * x + y * y + z * z), 1e-100)
            block[i], block[LANES + i], block[2 * LANES + i] = scale * x, scale * y, scale * z
        place(block, n, float(rows), float(columns))
        for i in range(n):
            column, row = block[6 * LANES + i] + 0.5, block[7 * LANES + i] + 0.5
            left = min(max(0.0, np.floor(column)), float(columns))
            below = min(max(0.0, np.floor(row)), float(rows))
            a, b, j, k = column - left, row - below, int(below), int(left)
            for end in range(2):
                south = (1.0 - a) * ends[end, j, k] + a * ends[end, j, k + 1]
                north = (1.0 - a) * ends[end, j + 1, k] + a * ends[end, j + 1, k + 1]
                out[start + i, end] = (1.0 - b) * south + b * north
            out[start + i, 1] = max(out[start + i, 0], out[start + i, 1])


@kernel
def take_wall(q, wall, pair, m):
    """Copy a wall to the pair `m`: from the fifth row on."""
    for k in range(8):
        pair[(4 + k) * LANES + m] = q[wall + k]


@kernel
def measure(pair, n):
    """Write the squared chords from points to the nearest points of walls, pair by pair, and those.

    A point: u, v, w, 1/√(u² + v²). A wall: cosine and sine of the longitudes where it begins and
    ends, less than half a turn apart, then of the latitudes; either the longitudes are equal or
    the latitudes are. Feet on great circles are left with the length of the point's shadow there.
    """
    for i in range(n):
        x, y, z = lane_vec3(pair, i)
        ax, ay, bx, by = lane_quat(pair, 4 * LANES + i)
        c0, s0, c1, s1 = lane_quat(pair, 8 * LANES + i)
        # The nearest longitude: that of the point, or of the nearer end.
        inverse = pair[3 * LANES + i]
        between = (ax * y > ay * x) & (x * by > y * bx)
        first = x * ax + y * ay >= x * bx + y * by
        ex = x * inverse if between else (ax if first else bx)
        ey = y * inverse if between else (ay if first else by)
        # On that meridian the foot on the great circle, or the nearer end.
        along, aside = x * ex + y * ey, y * ex - x * ey
        between = (z * c0 > along * s0) & (along * s1 > z * c1)
        first = along * c0 + z * s0 >= along * c1 + z * s1
        c, s = c0 if first else c1, s0 if first else s1
        chord = aside * aside + (along - c) ** 2 + (z - s) ** 2
        shadow = 2.0 * aside * aside / (1.0 + np.sqrt(along * along + z * z))
        pair[12 * LANES + i] = shadow if between else chord
        c, s = along if between else c, z if between else s
        set_lane_vec3(pair, 13 * LANES + i, Vec3(c * ex, c * ey, s))


@kernel
def keep_nearest(block, pair, owner, n):
    """Measure the first `n` pairs, and keep for each point the nearest foot so far."""
    measure(pair, n)
    for m in range(n):
        k = owner[m]
        # A product is no branch, which would be guessed wrong half the time.
        new = np.float64(pair[12 * LANES + m] < block[PZ + k])
        old = 1.0 - new
        block[PZ + k] = min(pair[12 * LANES + m], block[PZ + k])
        foot = new * lane_vec3(pair, 13 * LANES + m) + old * lane_vec3(block, FU + k)
        set_lane_vec3(block, FU + k, foot)


@kernel
def feet(p, o, block, pair, owner, n):
    """Write the nearest point of any wall to FU, FV, FW, for the first `n` of U, V, W.

    Pairs of a point and a wall are gathered, then measured together, without branches. First
    come the two walls that every entry has, for all points, then the others of those that have
    more; `owner` is room for the numbers of these points, and of each pair's.
    """
    q = p[o:]
    for k in range(n):
        set_lane_vec3(pair, k, lane_vec3(block, U + k))
        pair[3 * LANES + k] = block[PT + k]
    for number in range(1, 3):
        for k in range(n):
            take_wall(q, int(q[int(block[PX + k] + number)]), pair, k)
        measure(pair, n)
        for k in range(n):
            chord = pair[12 * LANES + k]
            nearer = (number == 1) | (chord < block[PZ + k])
            block[PZ + k] = chord if nearer else block[PZ + k]
            foot, before = lane_vec3(pair, 13 * LANES + k), lane_vec3(block, FU + k)
            set_lane_vec3(block, FU + k, foot if nearer else before)
    many = 0
    for k in range(n):
        owner[many] = k
        many += 1 if q[int(block[PX + k])] > 2.0 else 0
    m = 0
    for j in range(many):
        k = owner[j]
        point, inverse = lane_vec3(block, U + k), block[PT + k]
        entry = int(block[PX + k])
        last = int(block[PX + k] + q[entry])
        entry += 2
        while entry < last:
            entry += 1
            set_lane_vec3(pair, m, point)
            pair[3 * LANES + m] = inverse
            take_wall(q, int(q[entry]), pair, m)
            owner[LANES + m] = k
            m += 1
            if m == LANES:
                keep_nearest(block, pair, owner[LANES:], LANES)
                m = 0
    keep_nearest(block, pair, owner[LANES:], m)


# Tables of directions, in blocks: which cell, the nearest wall, the twists there.
#
# Walls are where legal and illegal cells meet: arcs of meridians, and of parallels. A grid, as fine
# as the table's cells or finer, keeps for each of its places the few walls that can be nearest to
# any point of it, so a look-up and two or three distances give the nearest boundary point exactly,
# however many cells there are. Places deep inside keep how deep they are, at least: points there,
# which are most, need no wall.


DEEP = 4.0  # a place's number: below this its depth, beyond it where its entry stands


@kernel
def near_walls(p, o, depth, block, lanes, n):
    """Write −depth to DISTANCE where it is known; return how many lanes need the nearest wall.

    Inside none does where `depth` is 0. Those that do are listed in `lanes`. Their points are moved
    to the front of U, V, W, and 1/√(u² + v²) of them to the front of PT; to PX at the front goes
    where the entry of each stands, to PY 1 outside the cells, −1 inside.
    """
    q = p[o:]
    fine = q[HEADER.fine]
    rows, columns, places = q[HEADER.rows] * fine, q[HEADER.columns] * fine, q[HEADER.places]
    for i in range(n):
        # In this order NaN, which is seen to later, becomes 0 instead of no place at all.
        row = min(max(0.0, np.floor(block[ROW + i] * fine)), rows - 1.0)
        column = min(max(0.0, np.floor(block[COLUMN + i] * fine)), columns - 1.0)
        block[PX + i] = places + row * columns + column
    active, last = 0, DEEP if depth > 0.0 else np.inf
    for i in range(n):
        code = q[int(block[PX + i])]
        block[DISTANCE + i] = -code if code < DEEP else 0.0
        block[PX + active] = code
        lanes[active] = i
        active += 0 if (code >= 0.0) & (code < last) else 1
    for k in range(active):
        lane = lanes[k]
        set_lane_vec3(block, U + k, lane_vec3(block, U + lane))
        block[PT + k] = block[INVERSE + lane]
    for k in range(active):
        code = block[PX + k]
        block[PY + k] = 1.0 if code < 0.0 else -1.0
        block[PX + k] = abs(code)
    return active


@kernel
def measure_excess(p, o, block, pair, lanes, n):
    """Write to DISTANCE how far outside the first `n` points are; return how many are.

    Their lanes are put to the front of `lanes`, the nearest legal directions, in the table's
    frame, to the first rows of `pair`, and the places of these to its seventh and eighth.
    """
    for k in range(n):
        x, foot = lane_vec3(block, U + k), lane_vec3(block, FU + k)
        foot = (1.0 / max(norm(foot), 1e-300)) * foot
        # Tangent of a quarter of the angle.
        pair[3 * LANES + k] = norm(x - foot) / (norm(x + foot) + 2.0)
        set_lane_vec3(pair, k, foot)
    for k in range(n):
        t = pair[3 * LANES + k]
        pair[3 * LANES + k] = block[PY + k] * 4.0 * t * atan_over_root(t * t)
    out = 0
    for k in range(n):
        lane, beyond = lanes[k], pair[3 * LANES + k]
        block[DISTANCE + lane] = beyond
        lanes[out] = lane
        set_lane_vec3(pair, out, lane_vec3(pair, k))
        out += 1 if beyond > 0.0 else 0
    place(pair, out, p[o + HEADER.rows], p[o + HEADER.columns])
    return out


@kernel
def table(p, o, depth, block, n):
    """Move to the nearest legal direction, then to the nearest twist that is legal there.

    Inside, the depth is the distance to the walls, or the room of the twist over √(1 + G²), G the
    slope of its ends: however direction and twist share a move of that length, it stays inside.
    """
    frame = mat3_at(p, o + HEADER.frame)
    gentle = p[o + HEADER.gentle]
    pair = np.empty(16 * LANES)
    numbers = np.empty(3 * LANES, np.int64)
    lanes = numbers[:LANES]
    for i in range(n):
        set_lane_vec3(block, U + i, apply(frame, lane_vec3(block, X + i)))
    place(block[U:], n, p[o + HEADER.rows], p[o + HEADER.columns])
    active = near_walls(p, o, depth, block, lanes, n)
    feet(p, o, block, pair, numbers[LANES:], active)
    out = measure_excess(p, o, block, pair, lanes, active)
    for i in range(n):
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
    for m in range(out):
        i = lanes[m]
        set_lane_vec3(block, PX + i, apply_transposed(frame, lane_vec3(pair, m)))
        block[COLUMN + i] = pair[6 * LANES + m]
        block[ROW + i] = pair[7 * LANES + m]
    if depth > 0.0:
        slopes_around(p, o, block, n)
    else:
        for i in range(n):
            block[V + i] = 0.0
            block[W + i] = 0.0
    interpolate(p, o, block, n)
    for i in range(n):
        twist = block[T + i]
        off = twist - block[FU + i]
        off = wrap_angle(off)
        excess = abs(off) - block[FV + i]
        move = max(excess, 0.0)
        block[PT + i] = twist - (move if off >= 0.0 else -move)
        beyond = block[DISTANCE + i]
        outer = max(beyond, 0.0)
        outside = (beyond > 0.0) | (excess > 0.0)
        length = np.sqrt(outer * outer + move * move)
        # The slopes of the whole table hold for any move; those around, for a short one.
        room = max(-excess * gentle, min(-excess * block[V + i], block[W + i]))
        block[DISTANCE + i] = length if outside else max(beyond, -room)


# Packing: which walls can be nearest to any point of each node of a grid, and how near.

SLACK = 1e-9  # for rounding
ALIKE = 1e-12  # cosines that differ by less are the same


@kernel
def corner_of(walls, w, x, y, z, sine, corner):
    """Write the corner of wall `w` that is its foot for all of a node; tell if there is one.

    The node lies about (x, y, z), within an angle of this sine. Whether the foot is a corner is a
    matter of the signs of a few linear functions: where one exceeds the sine at the centre, its
    sign is the same all over the node.
    """
    ax, ay, bx, by = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
    c0, s0, c1, s1 = walls[w, 4], walls[w, 5], walls[w, 6], walls[w, 7]
    if ax == bx and ay == by:
        along = x * ax + y * ay
        ahead = along > sine
        first = ahead and along * s0 - z * c0 > sine
        last = ahead and z * c1 - along * s1 > sine
    else:
        nearer = x * (ax - bx) + y * (ay - by)
        first = ay * x - ax * y > sine and nearer > 2.0 * sine
        last = y * bx - x * by > sine and -nearer > 2.0 * sine
    corner[0] = ax * c0 if first else bx * c1
    corner[1] = ay * c0 if first else by * c1
    corner[2] = s0 if first else s1
    return first or last


@kernel
def cosine_to(walls, w, x, y, z, radius):
    """Return the cosine of the angle from (x, y, z) to wall `w`; `radius` is √(x² + y²)."""
    ax, ay, bx, by = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
    c0, s0, c1, s1 = walls[w, 4], walls[w, 5], walls[w, 6], walls[w, 7]
    along = max(x * ax + y * ay, x * bx + y * by)
    if ax * y > ay * x and x * by > y * bx:
        along = radius
    if z * c0 > along * s0 and along * s1 > z * c1:
        return math.sqrt(along * along + z * z)
    return max(along * c0 + z * s0, along * c1 + z * s1)


@kernel
def band(i, size, width, rows):
    """Return height, distance from the pole's axis and radius of the nodes of row `i`.

    They are `size` places high, of `rows`, and `width` radians wide.
    """
    south = i * size * math.pi / rows - 0.5 * math.pi
    north = min((i + 1) * size, rows) * math.pi / rows - 0.5 * math.pi
    z, radius = math.sin(0.5 * (south + north)), math.cos(0.5 * (south + north))
    half = math.cos(0.5 * width)
    reach = max(
        math.acos(min(z * math.sin(south) + radius * math.cos(south) * half, 1.0)),
        math.acos(min(z * math.sin(north) + radius * math.cos(north) * half, 1.0)),
    )
    return z, radius, reach


@kernel
def meridians(size, columns, across, out):
    """Write cosine and sine of the longitudes amid the nodes of a row; return the last's width."""
    width = 0.0
    for j in range(across):
        west = j * size * 2.0 * math.pi / columns
        east = min((j + 1) * size, columns) * 2.0 * math.pi / columns
        out[j, 0] = math.cos(0.5 * (west + east) - math.pi)
        out[j, 1] = math.sin(0.5 * (west + east) - math.pi)
        width = east - west
    return width


@kernel("f8[,] i8 i8 i8 i8[] i8[] i8[] i8[]")
def prune(walls, rows, columns, size, coarse_start, coarse_number, start, number):
    """Write the lists of the nodes of `size` × `size` places, from those of nodes twice as large.

    `rows` and `columns` are those of places. From a node with centre c and radius r, a wall is at
    least d(c, wall) − r away, and some wall at most the least d(c, wall) + r: what is farther is
    dropped. So are walls of which only a corner counts that a wall before them has, too.
    """
    down, across = -(-rows // size), -(-columns // size)
    wide = -(-columns // (2 * size))
    cosines = np.empty(max(len(walls), 1))
    corners = np.empty((max(len(walls), 1), 3))
    corner = np.empty(3)
    middle = np.empty((across, 2))
    last_width = meridians(size, columns, across, middle)
    count = 0
    for i in range(down):
        for j in range(across):
            if j == 0 or j == across - 1:  # the last node may be narrower
                width = last_width if j == across - 1 else size * 2.0 * math.pi / columns
                z, radius, reach = band(i, size, width, rows)
                sine = math.sin(reach) + SLACK
                twice, twice_sine = math.cos(2.0 * reach), math.sin(2.0 * reach)
            start[i * across + j] = count
            x, y = radius * middle[j, 0], radius * middle[j, 1]
            coarse = i // 2 * wide + j // 2
            first, last = coarse_start[coarse], coarse_start[coarse + 1]
            most = -1.0
            for k in range(first, last):
                cosine = cosine_to(walls, coarse_number[k], x, y, z, radius)
                cosines[k - first] = cosine
                most = max(most, cosine)
            # The cosine of two radii more than the angle to the nearest wall, if below half a turn.
            bound = most * twice - math.sqrt(max(1.0 - most * most, 0.0)) * twice_sine - SLACK
            bound = bound if most > -twice else -2.0
            named = 0
            for k in range(first, last):
                if cosines[k - first] < bound:
                    continue
                w = coarse_number[k]
                if corner_of(walls, w, x, y, z, sine, corner):
                    known = False
                    for m in range(named):
                        away = abs(corners[m, 0] - corner[0]) + abs(corners[m, 1] - corner[1])
                        known = known or away + abs(corners[m, 2] - corner[2]) < SLACK
                    if known:
                        continue
                    corners[named, 0] = corner[0]
                    corners[named, 1] = corner[1]
                    corners[named, 2] = corner[2]
                    named += 1
                number[count] = w
                count += 1
    start[down * across] = count
    return count


@kernel("i8 i8 i8[] i8[] i8[] i8[]")
def unite(rows, columns, half_start, half_number, start, number):
    """Write the lists of places, each of what its four quarters have; return how long they are.

    `rows` and `columns` are those of places. Lists rise, before and after.
    """
    count = 0
    at, end = np.empty(4, np.int64), np.empty(4, np.int64)
    for k in range(rows * columns):
        start[k] = count
        corner = k // columns * 4 * columns + k % columns * 2
        for quarter in range(4):
            node = corner + quarter // 2 * 2 * columns + quarter % 2
            at[quarter], end[quarter] = half_start[node], half_start[node + 1]
        while True:
            least = 1 << 62
            for quarter in range(4):
                if at[quarter] < end[quarter]:
                    least = min(least, half_number[at[quarter]])
            if least == 1 << 62:
                break
            for quarter in range(4):
                if at[quarter] < end[quarter] and half_number[at[quarter]] == least:
                    at[quarter] += 1
            number[count] = least
            count += 1
    start[rows * columns] = count
    return count


@kernel("f8[,] i8 i8 i8[] i8[] f8[]")
def clearances(walls, rows, columns, start, number, clearance):
    """Write how far all of each place is from the walls, at least; π without any wall.

    `shape` are rows and columns of places; place k has the walls number[start[k]:start[k + 1]].
    """
    middle = np.empty((columns, 2))
    width = meridians(1, columns, columns, middle)
    for i in range(rows):
        z, radius, reach = band(i, 1, width, rows)
        for j in range(columns):
            k = i * columns + j
            x, y, most = radius * middle[j, 0], radius * middle[j, 1], -1.0
            for m in range(start[k], start[k + 1]):
                most = max(most, cosine_to(walls, number[m], x, y, z, radius))
            near = math.acos(min(most, 1.0)) - reach - SLACK
            clearance[k] = near if start[k + 1] > start[k] else math.pi


@kernel("f8[,] i8[] i8[] i8[]")
def nearest_centres(centres, cells, others, out):
    """Write for each of some cells which of the others has the nearest centre, by numbers.

    Of centres equally near, but for rounding, the first is taken.
    """
    count = others.shape[0]
    x, y, z = np.empty(count), np.empty(count), np.empty(count)
    for k in range(count):
        x[k], y[k], z[k] = centres[others[k], 0], centres[others[k], 1], centres[others[k], 2]
    for i in range(cells.shape[0]):
        a, b, c = centres[cells[i], 0], centres[cells[i], 1], centres[cells[i], 2]
        best = -2.0
        for k in range(count):
            best = max(best, a * x[k] + b * y[k] + c * z[k])
        k = 0
        while a * x[k] + b * y[k] + c * z[k] < best - ALIKE:
            k += 1
        out[i] = others[k]
