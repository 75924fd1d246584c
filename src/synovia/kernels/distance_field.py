"""Distance fields: interpolation of Φ, and a member near each point outside.

Members have Φ <= threshold and lie in the grid's box; Φ is trilinear between the nodes. *Sites*
are the members among the corners of cells divided into SITE_PARTS along each axis. A trilinear
function is least at a corner of its cell, so some site is within half of HALF_DIAGONAL of any
member. A packed field holds a header, Φ at the nodes, the least Φ of each block of cells, and the
nearest site of each *knot*: the nodes, and some more beyond each end of axes without a period.

Points are measured from the box's lower corner.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .jit import kernel
from .layout import OFFSET, WHOLE, Field, Layout
from .rotation import DISTANCE, PX, X, lane_vec3, set_lane_vec3
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
Cell = namedtuple("Cell", ["a", "b", "c", "d", "e", "f", "g", "h"])
"""Values at the corners of a cell: z changes first, then y."""


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
def value_and_slope(p, grid, point):
    """Return Φ and its gradient at a point of the box."""
    point = point - times(grid.period, floors(times(point, grid.inverse)))
    at = times(point, grid.per)
    cell = floors(clamp_vec3(ON_NODE * at, ZERO, grid.last))
    a = grid.start + int(cell.x) * grid.slab + int(cell.y) * grid.row + int(cell.z)
    values, b, c, d = p.view(np.float32), a + grid.row, a + grid.slab, a + grid.slab + grid.row
    corners = Cell(
        float(values[a]),
        float(values[a + 1]),
        float(values[b]),
        float(values[b + 1]),
        float(values[c]),
        float(values[c + 1]),
        float(values[d]),
        float(values[d + 1]),
    )
    value, slope = interpolate(corners, at - cell)
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
def nearest_site(p, o, grid, q):
    """Return a site near a point q, as near to it as it gets, and what the index proves.

    The site is the nearest of the sites of the eight knots around q. Also returned is a squared
    distance at which a member is near enough. With w the trilinear weights of the knots k, and s(k)
    their nearest sites, every site s satisfies |q − s|² = Σ w |k − s|² − Σ w |k − q|², where
    |k − s| >= |k − s(k)|.
    """
    period, inverse, most = grid.period, grid.inverse, p[o + HEADER.outer]
    spacing, last = vec3_at(p, o + HEADER.spacing), grid.last + ONES
    outer_x, outer_y = most if period.x == 0.0 else 0.0, most if period.y == 0.0 else 0.0
    outer_z = most if period.z == 0.0 else 0.0
    row = int(last.z + 2.0 * outer_z) + 1
    slab = int(last.y + 2.0 * outer_y + 1.0) * row
    x, y, z = times(q, grid.per)
    k = Vec3(
        knot_below(x, last.x, outer_x),
        knot_below(y, last.y, outer_y),
        knot_below(z, last.z, outer_z),
    )
    first = 2 * (o + int(p[o + HEADER.sites]))
    first += int(k.x + outer_x) * slab + int(k.y + outer_y) * row + int(k.z + outer_z)
    knot = knots_at(k, spacing, last)
    size = knots_at(k + ONES, spacing, last) - knot
    share = times(q - knot, inverses(size))
    inner = clamp_vec3(share, ZERO, ONES)
    beyond = share - inner
    bound = dot(times(size, size), times(beyond, beyond) - times(inner, ONES - inner))
    codes, part, mask = p.view(np.int32), (1.0 / SITE_PARTS) * spacing, (1 << CODE_BITS) - 1
    best, site = np.inf, q
    for corner in range(8):
        i, j, m = corner >> 2, (corner >> 1) & 1, corner & 1
        code, ahead = int(codes[first + i * slab + j * row + m]), Vec3(1.0 * i, 1.0 * j, 1.0 * m)
        x, y = float(code >> (2 * CODE_BITS)), float((code >> CODE_BITS) & mask)
        known = times(part, Vec3(x, y, float(code & mask)))
        away = least_periods(known - knot - times(ahead, size), period, inverse)
        a, b, c = ONES - ahead + times(2.0 * ahead - ONES, inner)
        bound += a * b * c * dot(away, away)
        move = least_periods(known - q, period, inverse)
        square = dot(move, move)
        if square < best:
            best, site = square, q + move
    enough = np.sqrt(max(bound, 0.0)) + 0.5 * p[o + HEADER.half_diagonal]
    return site, best, enough * enough


@kernel
def nearer(q, trial, excess, member, square):
    """Return the nearest member known to q and its squared distance, after a trial.

    `excess` is Φ at the trial above what a member may have; `member` and `square` are those before.
    """
    move = q - trial
    away = dot(move, move)
    better = (excess <= 0.0) & (away < square)
    return trial if better else member, away if better else square


@kernel
def slide(p, grid, box, q, aim, trial, member, square):
    """Move a trial to where the boundary is nearest to q; return it, and as `nearer` does.

    Each Newton step goes to the foot of q on the plane where Φ, by its slope at the trial, would
    be `aim`, and a little beyond, farther with each step. The nearest member met is kept.
    """
    near, far = box
    beyond = 1.0 + OVERSHOOT
    value, slope = value_and_slope(p, grid, trial)
    for _ in range(NEWTON_STEPS):
        excess = value - aim
        member, square = nearer(q, trial, excess, member, square)
        rise = dot(q - trial, slope)
        along = (rise + max(beyond * excess, excess)) / (dot(slope, slope) + MIN_SLOPE)
        trial = clamp_vec3(q - along * slope, near, far)
        value, slope = value_and_slope(p, grid, trial)
        beyond = 4.0 * beyond - 3.0
    member, square = nearer(q, trial, value - aim, member, square)
    return trial, member, square


@kernel
def search_segment(p, grid, aim, site, end):
    """Return a member on the segment from a site to a point, near that point."""
    low, high = 0.0, 1.0
    low_excess = min(value_and_slope(p, grid, site)[0] - aim, 0.0)
    high_excess = value_and_slope(p, grid, end)[0] - aim
    if high_excess <= 0.0:
        return end
    for _ in range(CUTS):
        share = low_excess / (low_excess - high_excess)
        middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
        excess = value_and_slope(p, grid, site + middle * (end - site))[0] - aim
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
def squared_gap(p, o, axis, q, first, count):
    """Return the squared distance of q from `count` cells along an axis, from number `first` on."""
    spacing, period = p[o + HEADER.spacing + axis], p[o + HEADER.period + axis]
    move = spacing * (first + 0.5 * count) - q
    move -= period * np.rint(move * p[o + HEADER.inverse_period + axis])
    beyond = max(abs(move) - 0.5 * count * spacing, 0.0)
    return beyond * beyond


@kernel
def search_cells(p, o, grid, q, member, square):
    """Return a member within half a diagonal of the nearest to q, and its squared distance.

    Cells with a node inside that are more than half a diagonal nearer than the member known are
    searched on a lattice of half cells, one of which is within half a diagonal of any member.
    """
    values, threshold, side = p.view(np.float32), p[o + HEADER.threshold], BLOCK_SIDE
    nx, ny, nz = int(grid.last.x) + 1, int(grid.last.y) + 1, int(grid.last.z) + 1
    block, half = 2 * int(o + p[o + HEADER.blocks]) - 1, p[o + HEADER.half_diagonal]
    near = max(np.sqrt(square) - half, 0.0) ** 2
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
                                member, square = search_cell(p, o, grid, q, cell, member, square)
                                near = max(np.sqrt(square) - half, 0.0) ** 2
    return member, square


@kernel
def search_cell(p, o, grid, q, cell, member, square):
    """Try the corners of the half cells of a cell as members; return as `nearer` does."""
    threshold, spacing = p[o + HEADER.threshold], vec3_at(p, o + HEADER.spacing)
    for part in range(27):
        half = Vec3(0.5 * (part // 9), 0.5 * (part // 3 % 3), 0.5 * (part % 3))
        corner = times(spacing, cell + half)
        excess = value_and_slope(p, grid, corner)[0] - threshold
        trial = q + shortest_move(p, o, corner - q)
        member, square = nearer(q, trial, excess, member, square)
    return member, square


@kernel
def least_corner(values, at, slab, row):
    """Return the least Φ at the corners of the cell at an offset."""
    least = np.inf
    for corner in range(8):
        a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
        least = min(least, float(values[at + a * slab + b * row + c]))
    return least


@kernel
def near_member(p, o, grid, box, q, excess):
    """Return a member at most half a diagonal farther than the nearest to a point q outside.

    `excess` is Φ above the threshold at the point of the box nearest to q. A member is accepted at
    half a diagonal more than any member's distance, bounded below by Φ and its greatest slope, and
    by the index. The search begins at that point of the box if its Φ is small, else at a site.
    """
    near, far = box
    inner, half_diagonal = clamp_vec3(q, near, far), p[o + HEADER.half_diagonal]
    beyond, lower = dot(q - inner, q - inner), max(excess, 0.0) / p[o + HEADER.steep_outside]
    site, site_square, enough = nearest_site(p, o, grid, q)
    enough = max(enough, (np.sqrt(beyond + lower * lower) + half_diagonal) ** 2)
    # Close to the boundary a projection goes no farther in than the point is out.
    inset = min(INSET * p[o + HEADER.steep_inside], OVERSHOOT * max(excess, 0.0))
    aim = p[o + HEADER.threshold] - inset
    trial, member, square = site, site, site_square
    if excess <= SLACK:  # the point of the box is a member itself
        trial, member, square = inner, inner, beyond
    elif beyond == 0.0 and excess < half_diagonal:  # a site would be a jump
        trial, square = inner, np.inf
    trial, member, square = slide(p, grid, box, q, aim, trial, member, square)
    if not square < np.inf:
        trial = search_segment(p, grid, aim, site, trial)
        member, square = nearer(q, trial, 0.0, member, square)
        trial, member, square = slide(p, grid, box, q, aim, trial, member, square)
    if not square <= enough:
        member, square = nearer(q, site, 0.0, member, square)
        trial, member, square = slide(p, grid, box, q, aim, site, member, square)
    if not square <= enough:
        member, square = search_cells(p, o, grid, q, member, square)
        trial, member, square = slide(p, grid, box, q, aim, member, member, square)
    return member


@kernel
def within_reach(x):
    """Return x, or 0 for what is not finite: it has no cell, and the caller reports it."""
    return x if abs(x) < FARTHEST else 0.0


@kernel
def excess_at(p, o, grid, box, x):
    """Return a point from the box's corner on, Φ above the threshold there, and how far inside.

    How far inside the box it is, negative outside. For a point outside Φ is that at the nearest
    point of the box.
    """
    near, far = box
    q = Vec3(within_reach(x.x), within_reach(x.y), within_reach(x.z)) - vec3_at(p, o + HEADER.low)
    q = q - times(grid.period, floors(times(q, grid.inverse)))
    value, _ = value_and_slope(p, grid, clamp_vec3(q, near, far))
    side = min(min(q.x - near.x, far.x - q.x), min(q.y - near.y, far.y - q.y))
    return q, value - p[o + HEADER.threshold], min(side, min(q.z - near.z, far.z - q.z))


@kernel
def field(p, o, block, n):
    """Write the signed distances of `n` points of a block, and a member near each one outside."""
    grid, box, gentle = grid_of(p, o), box_of(p, o), 1.0 / p[o + HEADER.steep_inside]
    for i in range(n):
        x = lane_vec3(block, X + i)
        _, excess, side = excess_at(p, o, grid, box, x)
        inside = (side >= -SLACK) & (excess <= SLACK)
        block[DISTANCE + i] = -max(min(side, -excess * gentle), 0.0) if inside else 1.0
        set_lane_vec3(block, PX + i, x)
    for i in range(n):
        if block[DISTANCE + i] > 0.0:
            x = lane_vec3(block, X + i)
            q, excess, _ = excess_at(p, o, grid, box, x)
            move = near_member(p, o, grid, box, q, excess) - q
            set_lane_vec3(block, PX + i, x + move)
            block[DISTANCE + i] = norm(move)
