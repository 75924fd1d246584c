"""Distance fields: interpolation of Φ, and a member near each point outside.

Members have Φ <= threshold and lie in the grid's box; Φ is trilinear between the nodes. *Sites*
are the members among the corners of cells divided into SITE_PARTS along each axis. A trilinear
function is least at a corner of its cell, so some site is within half of HALF_DIAGONAL of any
member. A packed field holds a header, Φ at the nodes, the least Φ of each block of cells, and the
nearest site of each *knot*: the nodes, and some more beyond each end of axes without a period.

Points are measured from the box's lower corner. Those of a block are looked up together, except
the few for which a first search along the slope of Φ finds no member near enough.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .jit import kernel
from .layout import OFFSET, WHOLE, Field, Layout
from .rotation import DISTANCE, LANES, PX, X, lane_quat, lane_vec3, set_lane_quat, set_lane_vec3
from .vector import (
    ONES,
    ZERO,
    Quat,
    Vec3,
    clamp_vec3,
    dot,
    floors,
    inverses,
    least_periods,
    norm,
    outside_of,
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
ON_NODE = 1.0 + 1e-12  # factor that prevents rounding of a node into the cell before it
SLACK = 1e-10  # radians that Φ may exceed the threshold by, and a point its box, for rounding
INSET = 5e-7  # radians that projections go on inside, so that float32 results are members
NEWTON_STEPS = 2  # towards the boundary; the result is checked against a bound afterwards
OVERSHOOT = 0.02  # share of a step that is added, so that it ends inside
CUTS = 4  # of the segment from a member to a point outside
MIN_SLOPE = 1e-12  # added to squared slopes, so that none is 0
FARTHEST = 1e9  # radians: more than any point of a chart

# Rows of LANES numbers in work arrays, so that loops over points become vector code.
Q, EXCESS, AIM = 0, 3 * LANES, 4 * LANES  # the point; Φ above the threshold; most Φ of a member
TRIAL, MEMBER, LEAST = 5 * LANES, 8 * LANES, 11 * LANES  # nearest member, its squared distance
ENOUGH = 12 * LANES  # the squared distance at which a member is near enough
SITE, SITE_SQUARE = 13 * LANES, 16 * LANES  # the nearest known site, and its squared distance
CELL, AT, NEAR, FAR = 17 * LANES, 18 * LANES, 21 * LANES, 25 * LANES  # of the trial
# The same rows before there are trials: the cell of knots, its corner and size, the point in it.
KNOT, LOW, SIZE, SHARE = 17 * LANES, 18 * LANES, 21 * LANES, 24 * LANES
BOUND, CODE = 27 * LANES, 28 * LANES
WORK = 29 * LANES

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
        "spacing",
        "outer",  # knots beyond each end of each axis
    ],
)
Corners = namedtuple("Corners", ["near", "far"])
"""Φ at the corners of a cell, each four as one record: z changes first, then y, then x."""


@kernel
def grid_of(p, o):
    """Return the numbers that describe nodes and knots."""
    row, period = int(p[o + HEADER.nodes + 2]), vec3_at(p, o + HEADER.period)
    spacing, outer = vec3_at(p, o + HEADER.spacing), p[o + HEADER.outer]
    return Grid(
        2 * (o + HEADER.SIZE),
        int(p[o + HEADER.nodes + 1]) * row,
        row,
        vec3_at(p, o + HEADER.nodes) - 2.0 * ONES,
        inverses(spacing),
        period,
        vec3_at(p, o + HEADER.inverse_period),
        spacing,
        Vec3(
            outer if period.x == 0.0 else 0.0,
            outer if period.y == 0.0 else 0.0,
            outer if period.z == 0.0 else 0.0,
        ),
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
def cell_at(grid, point):
    """Return the offset of the cell that contains a point of the box, and the position in it."""
    point = point - times(grid.period, floors(times(point, grid.inverse)))
    at = times(point, grid.per)
    cell = floors(clamp_vec3(ON_NODE * at, ZERO, grid.last))
    return grid.start + cell.x * grid.slab + cell.y * grid.row + cell.z, at - cell


@kernel
def corners_at(values, a, grid):
    """Return Φ at the corners of the cell at an offset."""
    b, c, d = a + grid.row, a + grid.slab, a + grid.slab + grid.row
    return Corners(
        Quat(float(values[a]), float(values[a + 1]), float(values[b]), float(values[b + 1])),
        Quat(float(values[c]), float(values[c + 1]), float(values[d]), float(values[d + 1])),
    )


@kernel
def interpolate(corners, at):
    """Return the trilinear value at a position in a cell, and its slope, per cell."""
    (a, b, c, d), (e, f, g, h) = corners
    u, v, w = at
    ab, cd, ef, gh = a + w * (b - a), c + w * (d - c), e + w * (f - e), g + w * (h - g)
    near, far = ab + v * (cd - ab), ef + v * (gh - ef)
    low, high = (b - a) + v * ((d - c) - (b - a)), (f - e) + v * ((h - g) - (f - e))
    along_y = (cd - ab) + u * ((gh - ef) - (cd - ab))
    return near + u * (far - near), Vec3(far - near, along_y, low + u * (high - low))


@kernel
def value_at(p, grid, point):
    """Return Φ at a point of the box."""
    cell, at = cell_at(grid, point)
    return interpolate(corners_at(p.view(np.float32), int(cell), grid), at)[0]


@kernel
def fetch_cells(p, grid, work, first, last):
    """Read Φ at the corners of the cells that contain the trials of lanes `first` to `last`.

    The loop of loads is apart, so that the others become vector code.
    """
    values = p.view(np.float32)
    for i in range(first, last):
        work[CELL + i], at = cell_at(grid, lane_vec3(work, TRIAL + i))
        set_lane_vec3(work, AT + i, at)
    for i in range(first, last):
        corners = corners_at(values, int(work[CELL + i]), grid)
        set_lane_quat(work, NEAR + i, corners.near)
        set_lane_quat(work, FAR + i, corners.far)


@kernel
def fetched(grid, work, i):
    """Return Φ and its gradient at the trial of lane `i`, from the values that were fetched."""
    corners = Corners(lane_quat(work, NEAR + i), lane_quat(work, FAR + i))
    value, slope = interpolate(corners, lane_vec3(work, AT + i))
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
    """Write a site near each point q, as near to it as it gets, and what the index proves.

    The site is the nearest of the sites of the eight knots around q. BOUND becomes a squared
    distance that no site is nearer than. With w the trilinear weights of the knots k, and s(k)
    their nearest sites, every site s satisfies |q − s|² = Σ w |k − s|² − Σ w |k − q|², where
    |k − s| >= |k − s(k)|.
    """
    spacing, outer, last = grid.spacing, grid.outer, grid.last + ONES
    row = last.z + 2.0 * outer.z + 1.0
    slab = (last.y + 2.0 * outer.y + 1.0) * row
    first, codes = 2.0 * (o + p[o + HEADER.sites]), p.view(np.int32)
    for i in range(n):
        q = lane_vec3(work, Q + i)
        x, y, z = times(q, grid.per)
        k = Vec3(
            knot_below(x, last.x, outer.x),
            knot_below(y, last.y, outer.y),
            knot_below(z, last.z, outer.z),
        )
        work[KNOT + i] = first + dot(k + outer, Vec3(slab, row, 1.0))
        knot = knots_at(k, spacing, last)
        size = knots_at(k + ONES, spacing, last) - knot
        share = times(q - knot, inverses(size))
        inner = clamp_vec3(share, ZERO, ONES)
        beyond = share - inner
        rest = times(beyond, beyond) - times(inner, ONES - inner)
        work[BOUND + i], work[SITE_SQUARE + i] = dot(times(size, size), rest), np.inf
        set_lane_vec3(work, LOW + i, knot)
        set_lane_vec3(work, SIZE + i, size)
        set_lane_vec3(work, SHARE + i, inner)
    part, base = (1.0 / SITE_PARTS) * spacing, float(1 << CODE_BITS)
    for corner in range(8):
        ahead = Vec3(float(corner >> 2), float((corner >> 1) & 1), float(corner & 1))
        at = dot(ahead, Vec3(slab, row, 1.0))
        for i in range(n):
            work[CODE + i] = float(codes[int(work[KNOT + i] + at)])
        for i in range(n):
            code, q = work[CODE + i], lane_vec3(work, Q + i)
            x, y = np.floor(code * (1.0 / (base * base))), np.floor(code * (1.0 / base))
            site = times(part, Vec3(x, y - base * x, code - base * y))
            knot = lane_vec3(work, LOW + i) + times(ahead, lane_vec3(work, SIZE + i))
            away = least_periods(site - knot, grid.period, grid.inverse)
            a, b, c = ONES - ahead + times(2.0 * ahead - ONES, lane_vec3(work, SHARE + i))
            work[BOUND + i] += a * b * c * dot(away, away)
            move = least_periods(site - q, grid.period, grid.inverse)
            square, least = dot(move, move), work[SITE_SQUARE + i]
            work[SITE_SQUARE + i] = square if square < least else least
            before = lane_vec3(work, SITE + i)
            set_lane_vec3(work, SITE + i, q + move if square < least else before)


@kernel
def keep_nearer(work, i, trial, excess):
    """Make a trial the member of lane `i` if its `excess` is at most 0 and it is nearer."""
    move, member = lane_vec3(work, Q + i) - trial, lane_vec3(work, MEMBER + i)
    square, least = dot(move, move), work[LEAST + i]
    better = (excess <= 0.0) & (square < least)
    work[LEAST + i] = square if better else least
    set_lane_vec3(work, MEMBER + i, trial if better else member)


@kernel
def slide(p, grid, box, work, first, last):
    """Move the trials of lanes `first` to `last` to where the boundary is nearest to the points q.

    Each Newton step goes to the foot of q on the plane where Φ, by its slope at the trial, would
    be at its aim, and a little beyond, farther with each step. The nearest member met is kept.
    """
    (near, far), beyond = box, 1.0 + OVERSHOOT
    for _ in range(NEWTON_STEPS):
        fetch_cells(p, grid, work, first, last)
        for i in range(first, last):
            q, trial = lane_vec3(work, Q + i), lane_vec3(work, TRIAL + i)
            value, slope = fetched(grid, work, i)
            excess = value - work[AIM + i]
            keep_nearer(work, i, trial, excess)
            rise = dot(q - trial, slope)
            along = (rise + max(beyond * excess, excess)) / (dot(slope, slope) + MIN_SLOPE)
            set_lane_vec3(work, TRIAL + i, clamp_vec3(q - along * slope, near, far))
        beyond = 4.0 * beyond - 3.0
    fetch_cells(p, grid, work, first, last)
    for i in range(first, last):
        excess = fetched(grid, work, i)[0] - work[AIM + i]
        keep_nearer(work, i, lane_vec3(work, TRIAL + i), excess)


@kernel
def search_segment(p, grid, aim, site, end):
    """Return a member on the segment from a site to a point, near that point."""
    low, high = 0.0, 1.0
    low_excess = min(value_at(p, grid, site) - aim, 0.0)
    high_excess = value_at(p, grid, end) - aim
    if high_excess <= 0.0:
        return end
    for _ in range(CUTS):
        share = low_excess / (low_excess - high_excess)
        middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
        excess = value_at(p, grid, site + middle * (end - site)) - aim
        if excess <= 0.0:
            low, low_excess = middle, excess
        else:
            high, high_excess = middle, excess
    return site + low * (end - site)


@kernel
def shortest_move(p, o, move):
    """Return a move without whole periods."""
    period, inverse = vec3_at(p, o + HEADER.period), vec3_at(p, o + HEADER.inverse_period)
    return least_periods(move, period, inverse)


@kernel
def squared_gap(p, o, q, first, side):
    """Return the squared distance of q from `side` cells along each axis, beginning at `first`."""
    spacing = vec3_at(p, o + HEADER.spacing)
    half = (0.5 * side) * spacing
    gap = outside_of(shortest_move(p, o, times(spacing, first) + half - q), -half, half)
    return dot(gap, gap)


@kernel
def cube_at(number, rows, columns, side):
    """Return the first cell of a cube of cells, given its number among all, z changing first."""
    x, y, z = number // (rows * columns), number // columns % rows, number % columns
    return Vec3(1.0 * side * x, 1.0 * side * y, 1.0 * side * z)


@kernel
def search_cells(p, o, grid, work, i):
    """Bring the member of lane `i` to within half a diagonal of the nearest.

    Cells with a node inside that are more than half a diagonal nearer than the member known are
    searched on a lattice of half cells, one of which is within half a diagonal of any member.
    """
    q, side, half = lane_vec3(work, Q + i), BLOCK_SIDE, p[o + HEADER.half_diagonal]
    values, threshold = p.view(np.float32), p[o + HEADER.threshold]
    blocks = floors((1.0 / side) * grid.last) + ONES
    rows, columns, first = int(blocks.y), int(blocks.z), 2 * int(o + p[o + HEADER.blocks])
    near = max(np.sqrt(work[LEAST + i]) - half, 0.0) ** 2
    for number in range(int(blocks.x) * rows * columns):
        block = cube_at(number, rows, columns, side)
        if float(values[first + number]) > threshold or squared_gap(p, o, q, block, side) >= near:
            continue
        for part in range(side * side * side):
            cell = block + cube_at(part, side, side, 1)
            beyond = outside_of(cell, ZERO, grid.last)
            if dot(beyond, beyond) > 0.0 or squared_gap(p, o, q, cell, 1) >= near:
                continue
            at = grid.start + int(cell.x) * grid.slab + int(cell.y) * grid.row + int(cell.z)
            if least_corner(values, at, grid.slab, grid.row) <= threshold:
                search_cell(p, o, grid, work, i, cell)
                near = max(np.sqrt(work[LEAST + i]) - half, 0.0) ** 2


@kernel
def search_cell(p, o, grid, work, i, cell):
    """Try the corners of the half cells of a cell as members of lane `i`."""
    q, threshold = lane_vec3(work, Q + i), p[o + HEADER.threshold]
    for part in range(27):
        half = Vec3(0.5 * (part // 9), 0.5 * (part // 3 % 3), 0.5 * (part % 3))
        corner = times(grid.spacing, cell + half)
        excess = value_at(p, grid, corner) - threshold
        keep_nearer(work, i, q + shortest_move(p, o, corner - q), excess)


@kernel
def least_corner(values, at, slab, row):
    """Return the least Φ at the corners of the cell at an offset."""
    least = np.inf
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        least = min(least, float(values[at + a * slab + b * row + c]))
    return least


@kernel
def choose_starts(p, o, box, work, n):
    """Choose a first trial for each point, and how near a member must be to be near enough.

    A member is accepted at half a diagonal more than any member's distance, bounded below by Φ and
    its greatest slope, and by the index. The search begins at the point of the box nearest to q if
    its Φ is small, else at the site.
    """
    (near, far), half_diagonal = box, p[o + HEADER.half_diagonal]
    threshold, inset = p[o + HEADER.threshold], INSET * p[o + HEADER.steep_inside]
    gentle = 1.0 / p[o + HEADER.steep_outside]
    for i in range(n):
        q, site, excess = lane_vec3(work, Q + i), lane_vec3(work, SITE + i), work[EXCESS + i]
        inner = clamp_vec3(q, near, far)
        beyond, lower = dot(q - inner, q - inner), max(excess, 0.0) * gentle
        proved = np.sqrt(max(work[BOUND + i], 0.0)) - 0.5 * half_diagonal  # of members
        enough = half_diagonal + max(np.sqrt(beyond + lower * lower), proved)
        work[ENOUGH + i] = enough * enough
        # Close to the boundary a projection goes no farther in than the point is out.
        work[AIM + i] = threshold - min(inset, OVERSHOOT * max(excess, 0.0))
        # The point of the box may be a member itself; close to the boundary a site would be a jump.
        member = excess <= SLACK
        close = member | ((beyond == 0.0) & (excess < half_diagonal))
        square = np.inf if close else work[SITE_SQUARE + i]
        work[LEAST + i] = beyond if member else square
        set_lane_vec3(work, TRIAL + i, inner if close else site)
        set_lane_vec3(work, MEMBER + i, inner if member else site)


@kernel
def search_farther(p, o, grid, box, work, i):
    """Find a member near enough for lane `i` where the first slide did not."""
    site = lane_vec3(work, SITE + i)
    if not work[LEAST + i] < np.inf:
        trial = search_segment(p, grid, work[AIM + i], site, lane_vec3(work, TRIAL + i))
        keep_nearer(work, i, trial, 0.0)
        set_lane_vec3(work, TRIAL + i, trial)
        slide(p, grid, box, work, i, i + 1)
    if not work[LEAST + i] <= work[ENOUGH + i]:
        keep_nearer(work, i, site, 0.0)
        set_lane_vec3(work, TRIAL + i, site)
        slide(p, grid, box, work, i, i + 1)
    if not work[LEAST + i] <= work[ENOUGH + i]:
        search_cells(p, o, grid, work, i)
        set_lane_vec3(work, TRIAL + i, lane_vec3(work, MEMBER + i))
        slide(p, grid, box, work, i, i + 1)


@kernel
def within_reach(x):
    """Return x, or 0 for what is not finite: it has no cell, and the caller reports it."""
    return x if abs(x) < FARTHEST else 0.0


@kernel
def field(p, o, block, n):
    """Write the signed distances of `n` points of a block, and a member near each one outside."""
    work, lanes = np.empty(WORK), np.empty(LANES, np.int64)
    grid, box, low = grid_of(p, o), box_of(p, o), vec3_at(p, o + HEADER.low)
    (near, far), threshold, gentle = box, p[o + HEADER.threshold], 1.0 / p[o + HEADER.steep_inside]
    for i in range(n):
        x, y, z = lane_vec3(block, X + i)
        q = Vec3(within_reach(x), within_reach(y), within_reach(z)) - low
        q = q - times(grid.period, floors(times(q, grid.inverse)))
        set_lane_vec3(work, Q + i, q)
        set_lane_vec3(work, TRIAL + i, clamp_vec3(q, near, far))
    fetch_cells(p, grid, work, 0, n)
    for i in range(n):
        q, excess = lane_vec3(work, Q + i), fetched(grid, work, i)[0] - threshold
        side = min(min(q.x - near.x, far.x - q.x), min(q.y - near.y, far.y - q.y))
        side = min(side, min(q.z - near.z, far.z - q.z))
        inside = (side >= -SLACK) & (excess <= SLACK)
        block[DISTANCE + i] = -max(min(side, -excess * gentle), 0.0) if inside else 1.0
        work[EXCESS + i] = excess
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i))
    count = 0
    for i in range(n):  # without a branch, which processors could not predict
        lanes[count], work[EXCESS + count] = i, work[EXCESS + i]
        set_lane_vec3(work, Q + count, lane_vec3(work, Q + i))
        count += 1 if block[DISTANCE + i] > 0.0 else 0
    find_sites(p, o, grid, work, count)
    choose_starts(p, o, box, work, count)
    slide(p, grid, box, work, 0, count)
    for k in range(count):
        if not work[LEAST + k] <= work[ENOUGH + k]:
            search_farther(p, o, grid, box, work, k)
        i, move = lanes[k], lane_vec3(work, MEMBER + k) - lane_vec3(work, Q + k)
        set_lane_vec3(block, PX + i, lane_vec3(block, X + i) + move)
        block[DISTANCE + i] = norm(move)
