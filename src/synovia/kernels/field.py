"""Distance fields in blocks: look-up between the nodes of a grid, and the way to a member nearby.

A field is Φ, trilinear between the nodes; members have Φ <= threshold and lie in the grid's box.
Packed with it is, for every node of a wider grid, the nearest *site*: a member among the corners
of cells parted in four along each axis. A trilinear function is least at a corner, so a site lies
within a quarter of a cell's diagonal of any member. Points are measured from the box's corner.
"""

from __future__ import annotations

import numpy as np

from .field_lookup import (
    AIM,
    AX,
    AY,
    AZ,
    CUTS,
    DOWN,
    ENOUGH,
    FEATURES,
    FLAT,
    HALF_DIAGONAL,
    LEAST,
    LOW,
    MX,
    MY,
    MZ,
    NEARBY,
    PARTS,
    QX,
    QY,
    QZ,
    SITE,
    SLACK,
    STEEP_INSIDE,
    STEEP_OUTSIDE,
    STEPS,
    SX,
    SY,
    SZ,
    THRESHOLD,
    WITHIN,
    WORK,
    box_of,
    grid_of,
    look,
    look_up,
    slope_at,
    value_at,
)
from .field_sites import cell_of, least_distance, nearest_knots, nearest_site, towards, wide_of
from .jit import kernel
from .rotation import DISTANCE, LANES, PX, PY, PZ, X, Y, Z


@kernel
def keep(work, i, excess):
    """Keep where lane `i` is as its best member, if it is one and the nearest yet."""
    x, y, z = work[AX + i], work[AY + i], work[AZ + i]
    apart = (work[QX + i] - x) ** 2 + (work[QY + i] - y) ** 2 + (work[QZ + i] - z) ** 2
    better = (excess <= 0.0) & (apart < work[LEAST + i])
    work[LEAST + i] = apart if better else work[LEAST + i]
    work[MX + i] = x if better else work[MX + i]
    work[MY + i] = y if better else work[MY + i]
    work[MZ + i] = z if better else work[MZ + i]


@kernel
def slide(p, grid, box, work, first, last):
    """Go from points of the box to where the boundary is nearest to q, lanes `first` to `last`.

    Each step goes to the foot of q on the plane where Φ, as it rises here, would be the
    threshold, and a little farther down, each time more. The nearest members met on the way are
    kept at MX, MY, MZ, with their squared distances at LEAST.
    """
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    down = 1.0 + DOWN
    look(p, grid, work, first, last)
    for _ in range(STEPS):
        for i in range(first, last):
            x, y, z = work[AX + i], work[AY + i], work[AZ + i]
            qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
            value, gx, gy, gz = slope_at(grid, work, i)
            excess = value - work[AIM + i]
            keep(work, i, excess)
            steep = gx * gx + gy * gy + gz * gz + FLAT
            rise = (qx - x) * gx + (qy - y) * gy + (qz - z) * gz
            along = (rise + max(down * excess, excess)) / steep
            work[AX + i] = min(max(qx - along * gx, near_x), far_x)
            work[AY + i] = min(max(qy - along * gy, near_y), far_y)
            work[AZ + i] = min(max(qz - along * gz, near_z), far_z)
        look(p, grid, work, first, last)
        down = 4.0 * down - 3.0
    for i in range(first, last):
        keep(work, i, value_at(work, i) - work[AIM + i])


@kernel
def choose_starts(p, o, box, work, n):
    """Choose where lanes start to slide, and how near a member must be to be near enough.

    Half a cell's diagonal more than any member is away is enough. What none can be nearer than
    is known twice: from the sites around, a quarter diagonal from any member, and from Φ, at AX,
    and its steepest slope. Nearby the slope of Φ shows the way; farther off, start from the site.
    """
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, half_diagonal = p[o + THRESHOLD], p[o + HALF_DIAGONAL]
    gentle, within = 1.0 / p[o + STEEP_OUTSIDE], WITHIN * p[o + STEEP_INSIDE]
    for i in range(n):
        qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
        x, y = min(max(qx, near_x), far_x), min(max(qy, near_y), far_y)
        z = min(max(qz, near_z), far_z)
        beyond = (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2
        excess = work[AX + i] - threshold
        lower = max(excess, 0.0) * gentle
        # Right at the boundary the way must not be longer than it is: no farther in than out.
        work[AIM + i] = threshold - min(within, DOWN * max(excess, 0.0))
        enough = np.sqrt(beyond + lower * lower) + half_diagonal
        enough = max(enough, work[ENOUGH + i] + 0.5 * half_diagonal)
        work[ENOUGH + i] = enough * enough
        # The point of the box that is nearest to q may be a member itself.
        here = (excess <= SLACK) | ((beyond == 0.0) & (excess < NEARBY * half_diagonal))
        done = excess <= SLACK
        work[AX + i] = x if here else work[SX + i]
        work[AY + i] = y if here else work[SY + i]
        work[AZ + i] = z if here else work[SZ + i]
        work[MX + i] = x if done else work[SX + i]
        work[MY + i] = y if done else work[SY + i]
        work[MZ + i] = z if done else work[SZ + i]
        # Who starts here must find a member here: the site would be a jump.
        work[LEAST + i] = beyond if done else (np.inf if here else work[SITE + i])


@kernel
def cut(p, o, grid, work, i):
    """Find a member between a site and where lane `i` came sliding, as near to that as it can.

    One end is a member, the other is not, or all is done: each cut takes the place of either.
    """
    threshold = work[AIM + i]
    x, y, z = work[SX + i], work[SY + i], work[SZ + i]
    dx, dy, dz = work[AX + i] - x, work[AY + i] - y, work[AZ + i] - z
    low, high = 0.0, 1.0
    low_excess = min(look_up(p, grid, x, y, z) - threshold, 0.0)
    high_excess = look_up(p, grid, x + dx, y + dy, z + dz) - threshold
    if high_excess <= 0.0:
        low = 1.0
    else:
        for _ in range(CUTS):
            share = low_excess / (low_excess - high_excess)
            middle = low + min(max(0.95 * share, 0.25), 0.98) * (high - low)
            excess = look_up(p, grid, x + middle * dx, y + middle * dy, z + middle * dz) - threshold
            if excess <= 0.0:
                low, low_excess = middle, excess
            else:
                high, high_excess = middle, excess
    x, y, z = x + low * dx, y + low * dy, z + low * dz
    apart = (work[QX + i] - x) ** 2 + (work[QY + i] - y) ** 2 + (work[QZ + i] - z) ** 2
    if apart < work[LEAST + i]:
        work[MX + i], work[MY + i], work[MZ + i], work[LEAST + i] = x, y, z, apart


@kernel
def take_site(work, i):
    """Let the site of lane `i` be its best member, if it is nearer than that."""
    if work[SITE + i] < work[LEAST + i]:
        work[MX + i], work[MY + i], work[MZ + i] = work[SX + i], work[SY + i], work[SZ + i]
        work[LEAST + i] = work[SITE + i]


@kernel
def search(p, o, grid, box, wide, work, i):
    """Find a member near enough for lane `i` where sliding from one place did not: from more.

    First from between there and the site, then from the best of the sites around, then from the
    nearest of all; but a better bound may tell that it is near enough.
    """
    qx, qy, qz = work[QX + i], work[QY + i], work[QZ + i]
    cell = cell_of(grid, wide, qx, qy, qz)
    least = least_distance(p, wide, cell, qx, qy, qz)
    work[ENOUGH + i] = max(work[ENOUGH + i], (least + 0.5 * p[o + HALF_DIAGONAL]) ** 2)
    if work[LEAST + i] <= work[ENOUGH + i]:
        return
    if not work[LEAST + i] < np.inf:
        cut(p, o, grid, work, i)
        work[AX + i], work[AY + i], work[AZ + i] = work[MX + i], work[MY + i], work[MZ + i]
        slide(p, grid, box, work, i, i + 1)
        if work[LEAST + i] <= work[ENOUGH + i]:
            return
    if work[SITE + i] <= work[ENOUGH + i]:
        take_site(work, i)
        return
    _, slab, row = wide[4]
    for corner in range(8):
        at = cell + (corner >> 2) * slab + ((corner >> 1) & 1) * row + (corner & 1)
        site = np.int64(p[np.uint32(wide[5] + 2 * at)])
        x, y, z = towards(p, o, site, 1.0 / PARTS, qx, qy, qz)
        apart = x * x + y * y + z * z
        if apart < work[SITE + i]:
            work[SX + i], work[SY + i], work[SZ + i] = qx + x, qy + y, qz + z
            work[SITE + i] = apart
    for everywhere in range(2):
        take_site(work, i)
        work[AX + i], work[AY + i], work[AZ + i] = work[SX + i], work[SY + i], work[SZ + i]
        slide(p, grid, box, work, i, i + 1)
        if everywhere == 1 or work[LEAST + i] <= work[ENOUGH + i]:
            return
        x, y, z, apart = nearest_site(p, o, qx, qy, qz, qx, qy, qz, work[LEAST + i])
        if not apart < work[LEAST + i]:
            return
        work[SX + i], work[SY + i], work[SZ + i], work[SITE + i] = x, y, z, apart


@kernel
def bound(p, o, box, block, work, lanes, n):
    """Write as the distances of `n` lanes outside what no member can be nearer than, by Φ alone."""
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, gentle = p[o + THRESHOLD], 1.0 / p[o + STEEP_OUTSIDE]
    for k in range(n):
        qx, qy, qz = work[QX + k], work[QY + k], work[QZ + k]
        x, y = qx - min(max(qx, near_x), far_x), qy - min(max(qy, near_y), far_y)
        z, lower = qz - min(max(qz, near_z), far_z), max(work[AX + k] - threshold, 0.0) * gentle
        block[DISTANCE + lanes[k]] = np.sqrt(x * x + y * y + z * z + lower * lower)


@kernel
def number(x):
    """Return x, or 0 for what is no number: it has no cell, and its caller sees it anyway."""
    return x if x == x else 0.0


@kernel
def field(p, o, block, n):
    """Look Φ up; where it exceeds the threshold, or outside the box, find a member nearby.

    A field that is packed without sites moves nothing, and its distances outside are bounds.
    """
    work, wide = np.empty(WORK), wide_of(p, o)
    grid, box = grid_of(p, o), box_of(p, o)
    period, turns, wraps = grid[5], grid[6], grid[7]
    (near_x, near_y, near_z), (far_x, far_y, far_z) = box
    threshold, steep = p[o + THRESHOLD], 1.0 / p[o + STEEP_INSIDE]
    low_x, low_y, low_z = p[o + LOW], p[o + LOW + 1], p[o + LOW + 2]
    for i in range(n):
        x, y, z = number(block[X + i]), number(block[Y + i]), number(block[Z + i])
        x, y, z = x - low_x, y - low_y, z - low_z
        if wraps:
            x -= period[0] * np.floor(x * turns[0])
            y -= period[1] * np.floor(y * turns[1])
            z -= period[2] * np.floor(z * turns[2])
        work[QX + i], work[QY + i], work[QZ + i] = x, y, z
        work[AX + i] = min(max(x, near_x), far_x)
        work[AY + i] = min(max(y, near_y), far_y)
        work[AZ + i] = min(max(z, near_z), far_z)
    look(p, grid, work, 0, n)
    for i in range(n):
        x, y, z, value = work[QX + i], work[QY + i], work[QZ + i], value_at(work, i)
        work[AX + i] = value
        side = min(min(x - near_x, far_x - x), min(y - near_y, far_y - y))
        side = min(side, min(z - near_z, far_z - z))
        depth = max(min(side, (threshold - value) * steep), 0.0)
        inside = (side >= -SLACK) & (value <= threshold + SLACK)
        block[DISTANCE + i] = -depth if inside else 1.0
        block[PX + i], block[PY + i], block[PZ + i] = block[X + i], block[Y + i], block[Z + i]
    lanes = np.empty(LANES, np.uint32)
    count = 0
    for i in range(n):  # without a branch: whether a lane is outside is anybody's guess
        lanes[count] = i
        work[QX + count] = work[QX + i]
        work[QY + count] = work[QY + i]
        work[QZ + count] = work[QZ + i]
        work[AX + count] = work[AX + i]
        count += 1 if block[DISTANCE + i] > 0.0 else 0
    if count == 0:
        return
    if p[o + FEATURES] == 0.0:
        bound(p, o, box, block, work, lanes, count)
        return
    nearest_knots(p, o, grid, work, count)
    choose_starts(p, o, box, work, count)
    slide(p, grid, box, work, 0, count)
    for k in range(count):
        if not work[LEAST + k] <= work[ENOUGH + k]:
            search(p, o, grid, box, wide, work, k)
    for k in range(count):
        i = lanes[k]
        x, y = work[MX + k] - work[QX + k], work[MY + k] - work[QY + k]
        z = work[MZ + k] - work[QZ + k]
        block[PX + i] = block[X + i] + x
        block[PY + i] = block[Y + i] + y
        block[PZ + i] = block[Z + i] + z
        block[DISTANCE + i] = np.sqrt(x * x + y * y + z * z)
