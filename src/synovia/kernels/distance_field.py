"""Distance fields: interpolation of Φ, and a member near each point outside.

Members have Φ <= threshold and lie in the grid's box; Φ is trilinear between the nodes. *Sites*
are the members among the corners of cells divided into SITE_PARTS along each axis. A trilinear
function is least at a corner of its cell, so some site is within half of HALF_DIAGONAL of any
member. A packed field holds a header, Φ at the nodes, the least Φ of each block of cells, and the
nearest site of each *knot*: the nodes, and some more beyond each end of axes without a period.

Points are measured from the box's lower corner. Work arrays hold one row of LANES numbers for each
quantity, so that loops over points become vector code.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .jit import kernel
from .layout import OFFSET, WHOLE, Field, Layout
from .rotation import DISTANCE, LANES, PX, X, lane_quat, lane_vec3, set_lane_vec3
from .vector import (
    ONES,
    ZERO,
    Vec3,
    clamp_vec3,
    dot,
    floors,
    inverses,
    least_periods,
    norm,
    times,
    vec3_at,
)

MAX_NODES = 1000  # along an axis: more take gigabytes

HEADER = Layout(
    "distance field",
    threshold=1,  # radians
    steep_inside=Field(1e-6),  # greatest slope of Φ in cells with members, and in the others
    steep_outside=Field(1e-6),
    half_diagonal=Field(1e-300),  # of a cell, radians
    low=Field(-1e4, 1e4, count=3),  # corner of the box
    spacing=Field(1e-5, 1e4, count=3),
    period=Field(0.0, count=3),  # 0 along axes that do not wrap, and its inverse likewise
    inverse_period=3,
    nodes=Field(2.0, MAX_NODES, count=3, kind=WHOLE),
    outer=Field(1.0, MAX_NODES, kind=WHOLE),  # knots beyond each end of axes without a period
    blocks=Field(kind=OFFSET),  # where the least Φ of blocks begins (float32)
    sites=Field(kind=OFFSET),  # where codes of sites begin (int32)
)
"""Followed by Φ at the nodes (float32)."""

BLOCK_SIDE = 4  # cells along each axis of a block
SITE_PARTS = 4  # so that sites miss members by at most half of what a projection may
CODE_BITS = 10  # for each axis of a site code; 256 nodes have at most 1024 parts
ON_NODE = 1.0 + 1e-12  # factor by which rounding cannot place a node in the cell before it
SLACK = 1e-10  # radians that Φ may exceed the threshold by, and a point its box, for rounding
INSET = 5e-7  # radians that projections go on inside, so that float32 results are members
NEWTON_STEPS = 2  # towards the boundary; the result is checked against a bound afterwards
OVERSHOOT = 0.02  # share of a step that is added, so that it ends inside
CUTS = 4  # of the segment from a member to a point outside
MIN_SLOPE = 1e-12  # added to squared slopes, so that none is 0
FARTHEST = 1e9  # radians: more than any point of a chart

# Rows of the work array: the point, a trial, the nearest member found and its squared distance,
# the squared distance that is near enough, the nearest known site and its squared distance.
QX, AX = 0, 3 * LANES
MX, LEAST, ENOUGH = 6 * LANES, 9 * LANES, 10 * LANES
SX, SITE = 11 * LANES, 14 * LANES
AIM = 15 * LANES  # the value that Φ must not exceed at a trial
EXCESS = 16 * LANES  # Φ above the threshold
CELL, UX = 17 * LANES, 18 * LANES  # offset of a cell, position in it
CORNERS = 21 * LANES  # eight rows: Φ at the corners of the cell
WORK = 29 * LANES
# The same eight rows while knots are read: corner and size of a cell of knots, bound, code.
KX, KSX = CORNERS, CORNERS + 3 * LANES
BOUND, CODE = CORNERS + 6 * LANES, CORNERS + 7 * LANES


Grid = namedtuple(
    "Grid",
    [
        "start",  # offset of Φ at the nodes, in float32
        "slab",  # from a node to the next along x, and along y
        "row",
        "last",  # index of the last cell along each axis
        "per",  # cells per radian
        "period",
        "inverse",
    ],
)
Cell = namedtuple(
    "Cell", ["a", "b", "c", "d", "e", "f", "g", "h"]
)  # values at its corners: z changes first, then y


@kernel
def grid_of(p, o):
    """Return the numbers that interpolation needs."""
    row = int(p[o + HEADER.nodes + 2])
    return Grid(
        2 * (o + HEADER.SIZE),
        int(p[o + HEADER.nodes + 1]) * row,
        row,
        vec3_at(p, o + HEADER.nodes) - 2.0 * ONES,
        inverses(vec3_at(p, o + HEADER.spacing)),
        vec3_at(p, o + HEADER.period),
        vec3_at(p, o + HEADER.inverse_period),
    )


@kernel
def box_of(p, o):
    """Return the lower and upper corner of the box; −∞ and ∞ along axes that wrap."""
    nodes, spacing = vec3_at(p, o + HEADER.nodes), vec3_at(p, o + HEADER.spacing)
    period = vec3_at(p, o + HEADER.period)
    x, y, z = period.x > 0.0, period.y > 0.0, period.z > 0.0
    far = Vec3(
        np.inf if x else (nodes.x - 1.0) * spacing.x,
        np.inf if y else (nodes.y - 1.0) * spacing.y,
        np.inf if z else (nodes.z - 1.0) * spacing.z,
    )
    return Vec3(-np.inf if x else 0.0, -np.inf if y else 0.0, -np.inf if z else 0.0), far


@kernel
def fetch_corners(p, grid, work, first, last):
    """Read Φ at the corners of the cells that contain the points at AX, of lanes first to last.

    Indices, then loads, then (in the callers) sums: no loop waits for another's memory.
    """
    row, slab, values = grid.row, grid.slab, p.view(np.float32)
    begin, down, across = np.float64(grid.start), np.float64(slab), np.float64(row)
    for i in range(first, last):
        point = lane_vec3(work, AX + i)
        point = point - times(grid.period, floors(times(point, grid.inverse)))
        at = times(point, grid.per)
        cell = floors(clamp_vec3(ON_NODE * at, ZERO, grid.last))
        work[CELL + i] = begin + cell.x * down + cell.y * across + cell.z
        set_lane_vec3(work, UX + i, at - cell)
    for i in range(first, last):
        a = int(work[CELL + i])
        b, c, d = a + row, a + slab, a + slab + row
        work[CORNERS + i] = float(values[a])
        work[CORNERS + LANES + i] = float(values[a + 1])
        work[CORNERS + 2 * LANES + i] = float(values[b])
        work[CORNERS + 3 * LANES + i] = float(values[b + 1])
        work[CORNERS + 4 * LANES + i] = float(values[c])
        work[CORNERS + 5 * LANES + i] = float(values[c + 1])
        work[CORNERS + 6 * LANES + i] = float(values[d])
        work[CORNERS + 7 * LANES + i] = float(values[d + 1])


@kernel
def interpolate(cell, at):
    """Return the trilinear value at a position in a cell, and its slope, per cell."""
    a, b, c, d, e, f, g, h = cell
    u, v, w = at
    ab, cd, ef, gh = a + w * (b - a), c + w * (d - c), e + w * (f - e), g + w * (h - g)
    near, far = ab + v * (cd - ab), ef + v * (gh - ef)
    low, high = (b - a) + v * ((d - c) - (b - a)), (f - e) + v * ((h - g) - (f - e))
    along_y = (cd - ab) + u * ((gh - ef) - (cd - ab))
    return near + u * (far - near), Vec3(far - near, along_y, low + u * (high - low))


@kernel
def value_and_slope(grid, work, i):
    """Return Φ and its gradient in the cell of lane `i`, from the corners fetched."""
    at = CORNERS + i
    near = lane_quat(work, at)
    far = lane_quat(work, at + 4 * LANES)
    cell = Cell(near.w, near.x, near.y, near.z, far.w, far.x, far.y, far.z)
    value, slope = interpolate(cell, lane_vec3(work, UX + i))
    return value, times(slope, grid.per)


@kernel
def knot_position(k, last):
    """Return the coordinate, in cells, of node `k`, or of a knot beyond the first or `last` node.

    There knots are 1, 4, 9, … cells away: at distance d from the sites, knots √d apart bound
    distances as well as those nearby.
    """
    beyond = max(max(-k, k - last), 0.0)
    return min(max(k, 0.0), last) + np.copysign(beyond * beyond, k)


@kernel
def knot_below(u, last, outer):
    """Return the last knot at or before `u` (in cells), up to the last knot but one."""
    beyond = np.floor(np.sqrt(max(max(-u, u - last), 0.0)))
    k = -1.0 - beyond if u < 0.0 else (last + beyond if u >= last else np.floor(u))
    return min(max(k, -outer), last + outer - 1.0)


@kernel
def knots_at(k, spacing, last):
    """Return the point of a knot, given its index along each axis."""
    x, y = knot_position(k.x, last.x), knot_position(k.y, last.y)
    return times(spacing, Vec3(x, y, knot_position(k.z, last.z)))


@kernel
def find_sites(p, o, grid, work, n):
    """Find a site near each of `n` points, and raise ENOUGH to what the index proves.

    SX and SITE get the nearest of the sites of the eight knots around the point q. With w
    the trilinear weights of the knots k, and s(k) their nearest sites, every site s satisfies
    |q − s|² = Σ w |k − s|² − Σ w |k − q|², where |k − s| >= |k − s(k)|.
    """
    period, inverse, most = grid.period, grid.inverse, p[o + HEADER.outer]
    spacing, last = vec3_at(p, o + HEADER.spacing), grid.last + ONES
    outer = Vec3(
        most if period.x == 0.0 else 0.0,
        most if period.y == 0.0 else 0.0,
        most if period.z == 0.0 else 0.0,
    )
    row = last.z + 2.0 * outer.z + 1.0
    slab = (last.y + 2.0 * outer.y + 1.0) * row
    first = 2.0 * (o + p[o + HEADER.sites]) + outer.x * slab + outer.y * row + outer.z
    codes = p.view(np.int32)
    for i in range(n):
        q = lane_vec3(work, QX + i)
        x, y, z = times(q, grid.per)
        k = Vec3(
            knot_below(x, last.x, outer.x),
            knot_below(y, last.y, outer.y),
            knot_below(z, last.z, outer.z),
        )
        work[CELL + i] = first + k.x * slab + k.y * row + k.z
        knot = knots_at(k, spacing, last)
        size = knots_at(k + ONES, spacing, last) - knot
        share = times(q - knot, inverses(size))
        inner = clamp_vec3(share, ZERO, ONES)
        beyond = share - inner
        rest = times(beyond, beyond) - times(inner, ONES - inner)
        work[BOUND + i] = dot(times(size, size), rest)
        set_lane_vec3(work, UX + i, inner)
        set_lane_vec3(work, KX + i, knot)
        set_lane_vec3(work, KSX + i, size)
        work[SITE + i] = np.inf
    part, parts = (1.0 / SITE_PARTS) * spacing, float(1 << CODE_BITS)
    per_row, per_slab = 1.0 / parts, 1.0 / (parts * parts)
    for corner in range(8):
        ahead = Vec3(float(corner >> 2), float((corner >> 1) & 1), float(corner & 1))
        at = ahead.x * slab + ahead.y * row + ahead.z
        for i in range(n):
            work[CODE + i] = float(codes[int(work[CELL + i] + at)])
        for i in range(n):
            code = work[CODE + i]
            x, y = np.floor(code * per_slab), np.floor(code * per_row)
            site = times(part, Vec3(x, y - parts * x, code - parts * y))
            knot = lane_vec3(work, KX + i) + times(ahead, lane_vec3(work, KSX + i))
            away = least_periods(site - knot, period, inverse)
            a, b, c = ONES - ahead + times(2.0 * ahead - ONES, lane_vec3(work, UX + i))
            work[BOUND + i] += a * b * c * dot(away, away)
            q = lane_vec3(work, QX + i)
            move = least_periods(site - q, period, inverse)
            square = dot(move, move)
            nearer, found = square < work[SITE + i], lane_vec3(work, SX + i)
            work[SITE + i] = square if nearer else work[SITE + i]
            set_lane_vec3(work, SX + i, q + move if nearer else found)
    missed = 0.5 * p[o + HEADER.half_diagonal]
    for i in range(n):
        enough = np.sqrt(max(work[BOUND + i], 0.0)) + missed
        work[ENOUGH + i] = max(work[ENOUGH + i], enough * enough)


@kernel
def keep_nearest(work, i, excess):
    """Keep the trial of lane `i` as its member, if it is one and the nearest yet."""
    trial = lane_vec3(work, AX + i)
    move = lane_vec3(work, QX + i) - trial
    square = dot(move, move)
    better = (excess <= 0.0) & (square < work[LEAST + i])
    work[LEAST + i] = square if better else work[LEAST + i]
    member = lane_vec3(work, MX + i)
    set_lane_vec3(work, MX + i, trial if better else member)


@kernel
def slide(p, grid, box, work, first, last):
    """Move trials to where the boundary is nearest to the points, for lanes `first` to `last`.

    Each Newton step goes to the foot of q on the plane where Φ, by its slope at the trial, would
    be at its aim, and a little beyond, farther with each step. The nearest member met is kept.
    """
    near, far = box
    beyond = 1.0 + OVERSHOOT
    fetch_corners(p, grid, work, first, last)
    for _ in range(NEWTON_STEPS):
        for i in range(first, last):
            q, trial = lane_vec3(work, QX + i), lane_vec3(work, AX + i)
            value, slope = value_and_slope(grid, work, i)
            excess = value - work[AIM + i]
            keep_nearest(work, i, excess)
            rise = dot(q - trial, slope)
            along = (rise + max(beyond * excess, excess)) / (dot(slope, slope) + MIN_SLOPE)
            set_lane_vec3(work, AX + i, clamp_vec3(q - along * slope, near, far))
        fetch_corners(p, grid, work, first, last)
        beyond = 4.0 * beyond - 3.0
    for i in range(first, last):
        keep_nearest(work, i, value_and_slope(grid, work, i)[0] - work[AIM + i])


@kernel
def choose_starts(p, o, box, work, n):
    """Choose a first trial for each point, and how near a member must be to be near enough.

    A member is accepted at half a diagonal more than any member's distance, bounded below by Φ
    and its greatest slope, and by the index. A point of the box with a small Φ starts where it is,
    others at their site.
    """
    near, far = box
    threshold, half_diagonal = p[o + HEADER.threshold], p[o + HEADER.half_diagonal]
    gentle, inset = 1.0 / p[o + HEADER.steep_outside], INSET * p[o + HEADER.steep_inside]
    for i in range(n):
        q, site = lane_vec3(work, QX + i), lane_vec3(work, SX + i)
        inner = clamp_vec3(q, near, far)
        beyond = dot(q - inner, q - inner)
        excess = work[EXCESS + i]
        lower = max(excess, 0.0) * gentle
        # Close to the boundary a projection goes no farther in than the point is out.
        work[AIM + i] = threshold - min(inset, OVERSHOOT * max(excess, 0.0))
        enough = np.sqrt(beyond + lower * lower) + half_diagonal
        work[ENOUGH + i] = max(work[ENOUGH + i], enough * enough)
        # The point of the box that is nearest to q may be a member itself.
        member = excess <= SLACK
        start = member | ((beyond == 0.0) & (excess < half_diagonal))
        set_lane_vec3(work, AX + i, inner if start else site)
        set_lane_vec3(work, MX + i, inner if member else site)
        # Close to the boundary a site would be a jump.
        work[LEAST + i] = beyond if member else (np.inf if start else work[SITE + i])


@kernel
def value_at(p, grid, work, i, point):
    """Return Φ at a point of the box, which becomes the trial of lane `i`."""
    set_lane_vec3(work, AX + i, point)
    fetch_corners(p, grid, work, i, i + 1)
    return value_and_slope(grid, work, i)[0]


@kernel
def search_segment(p, grid, work, i):
    """Find a member between the site of lane `i` and its trial, near the trial."""
    aim, site, end = work[AIM + i], lane_vec3(work, SX + i), lane_vec3(work, AX + i)
    low, high = 0.0, 1.0
    low_excess = min(value_at(p, grid, work, i, site) - aim, 0.0)
    high_excess = value_at(p, grid, work, i, end) - aim
    if high_excess <= 0.0:
        low = 1.0
    else:
        for _ in range(CUTS):
            share = low_excess / (low_excess - high_excess)
            middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
            excess = value_at(p, grid, work, i, site + middle * (end - site)) - aim
            if excess <= 0.0:
                low, low_excess = middle, excess
            else:
                high, high_excess = middle, excess
    set_lane_vec3(work, AX + i, site + low * (end - site))
    keep_nearest(work, i, 0.0)


@kernel
def shortest_move(p, o, move):
    """Return a move without whole periods."""
    period, inverse = vec3_at(p, o + HEADER.period), vec3_at(p, o + HEADER.inverse_period)
    return least_periods(move, period, inverse)


@kernel
def squared_gap(p, o, axis, q, first, count):
    """Return the squared distance of q from `count` cells along an axis, from number `first` on."""
    spacing, period = p[o + HEADER.spacing + axis], p[o + HEADER.period + axis]
    move = spacing * (first + 0.5 * count) - q
    move -= period * np.rint(move * p[o + HEADER.inverse_period + axis])
    beyond = max(abs(move) - 0.5 * count * spacing, 0.0)
    return beyond * beyond


@kernel
def search_cells(p, o, grid, work, i):
    """Bring the member of lane `i` to within half a diagonal of the nearest.

    Cells with a node inside that are more than half a diagonal nearer than the member known are
    searched on a lattice of half cells, one of which is within half a diagonal of any member.
    """
    values, threshold = p.view(np.float32), p[o + HEADER.threshold]
    q, side = lane_vec3(work, QX + i), BLOCK_SIDE
    nx, ny, nz = int(grid.last.x) + 1, int(grid.last.y) + 1, int(grid.last.z) + 1
    block, near = 2 * int(o + p[o + HEADER.blocks]) - 1, nearer_square(p, o, work, i)
    for x in range(0, nx, side):
        gap_x = squared_gap(p, o, 0, q.x, x, side)
        for y in range(0, ny, side):
            gap_y = gap_x + squared_gap(p, o, 1, q.y, y, side)
            for z in range(0, nz, side):
                block += 1
                if gap_y >= near or float(values[block]) > threshold:
                    continue
                if gap_y + squared_gap(p, o, 2, q.z, z, side) >= near:
                    continue
                for a in range(x, min(x + side, nx)):
                    apart_x = squared_gap(p, o, 0, q.x, a, 1)
                    for b in range(y, min(y + side, ny)):
                        apart_y = apart_x + squared_gap(p, o, 1, q.y, b, 1)
                        for c in range(z, min(z + side, nz)):
                            if apart_y + squared_gap(p, o, 2, q.z, c, 1) >= near:
                                continue
                            at = grid.start + a * grid.slab + b * grid.row + c
                            if least_corner(values, at, grid.slab, grid.row) <= threshold:
                                cell = Vec3(float(a), float(b), float(c))
                                search_cell(p, o, grid, work, i, cell)
                                near = nearer_square(p, o, work, i)


@kernel
def nearer_square(p, o, work, i):
    """Return the square of half a diagonal less than the distance of lane `i` to its member."""
    return max(np.sqrt(work[LEAST + i]) - p[o + HEADER.half_diagonal], 0.0) ** 2


@kernel
def search_cell(p, o, grid, work, i, cell):
    """Keep the nearest member among the corners of half cells of a cell as that of lane `i`."""
    threshold, spacing = p[o + HEADER.threshold], vec3_at(p, o + HEADER.spacing)
    q = lane_vec3(work, QX + i)
    for part in range(27):
        half = Vec3(0.5 * (part // 9), 0.5 * (part // 3 % 3), 0.5 * (part % 3))
        corner = times(spacing, cell + half)
        excess = value_at(p, grid, work, i, corner) - threshold
        set_lane_vec3(work, AX + i, q + shortest_move(p, o, corner - q))
        keep_nearest(work, i, excess)


@kernel
def least_corner(values, at, slab, row):
    """Return the least Φ at the corners of the cell at an offset."""
    least = np.inf
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        least = min(least, float(values[at + a * slab + b * row + c]))
    return least


@kernel
def list_unfinished(work, n, lanes):
    """List the lanes whose member is not near enough; return how many."""
    count = 0
    for i in range(n):
        lanes[count] = i
        count += 0 if work[LEAST + i] <= work[ENOUGH + i] else 1
    return count


@kernel
def refine(p, o, grid, box, work, n):
    """Find members near enough where the first slide did not: from the site, then by cells."""
    lanes = np.empty(LANES, np.int64)
    for k in range(list_unfinished(work, n, lanes)):
        i = lanes[k]
        if not work[LEAST + i] < np.inf:
            search_segment(p, grid, work, i)
            slide(p, grid, box, work, i, i + 1)
        if not work[LEAST + i] <= work[ENOUGH + i]:
            set_lane_vec3(work, AX + i, lane_vec3(work, SX + i))
            keep_nearest(work, i, 0.0)
            slide(p, grid, box, work, i, i + 1)
        if not work[LEAST + i] <= work[ENOUGH + i]:
            search_cells(p, o, grid, work, i)
            set_lane_vec3(work, AX + i, lane_vec3(work, MX + i))
            slide(p, grid, box, work, i, i + 1)


@kernel
def within_reach(x):
    """Return x, or 0 for what is not finite: it has no cell, and the caller reports it."""
    return x if abs(x) < FARTHEST else 0.0


@kernel
def field(p, o, block, n):
    """Write the signed distances of `n` points of a block, and a member near each one outside."""
    work = np.empty(WORK)
    grid, box = grid_of(p, o), box_of(p, o)
    (near, far), low = box, vec3_at(p, o + HEADER.low)
    threshold, steep = p[o + HEADER.threshold], 1.0 / p[o + HEADER.steep_inside]
    for i in range(n):
        x, y, z = lane_vec3(block, X + i)
        q = Vec3(within_reach(x), within_reach(y), within_reach(z)) - low
        q = q - times(grid.period, floors(times(q, grid.inverse)))
        set_lane_vec3(work, QX + i, q)
        set_lane_vec3(work, AX + i, clamp_vec3(q, near, far))
    fetch_corners(p, grid, work, 0, n)
    for i in range(n):
        q = lane_vec3(work, QX + i)
        excess = value_and_slope(grid, work, i)[0] - threshold
        work[EXCESS + i] = excess
        side = min(min(q.x - near.x, far.x - q.x), min(q.y - near.y, far.y - q.y))
        side = min(side, min(q.z - near.z, far.z - q.z))
        depth = max(min(side, -excess * steep), 0.0)
        inside = (side >= -SLACK) & (excess <= SLACK)
        block[DISTANCE + i] = -depth if inside else 1.0
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
    lanes = np.empty(LANES, np.int64)
    count = 0
    for i in range(n):  # without a branch, which processors could not predict
        lanes[count] = i
        set_lane_vec3(work, QX + count, lane_vec3(work, QX + i))
        work[EXCESS + count] = work[EXCESS + i]
        work[ENOUGH + count] = 0.0
        count += 1 if block[DISTANCE + i] > 0.0 else 0
    if count == 0:
        return
    find_sites(p, o, grid, work, count)
    choose_starts(p, o, box, work, count)
    slide(p, grid, box, work, 0, count)
    refine(p, o, grid, box, work, count)
    for k in range(count):
        i, move = lanes[k], lane_vec3(work, MX + k) - lane_vec3(work, QX + k)
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i) + move)
        block[DISTANCE + i] = norm(move)
