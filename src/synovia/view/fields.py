"""The boundary of a distance field: fine by tetrahedra, or soon as a net of one point a cell."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints, Mask, Points, Scalars
from ..shapes import DistanceField
from ..shapes.field_tables import closed
from .mesh import Finish
from .skins import DETAIL, Skin

AT_SIDE = 1e-9
SETTLINGS = 3
LONGEST = 0.5
"""Of a step to a field's level, in cells."""
BY_TETRAHEDRA = 3
"""About how many times the triangles of a net tetrahedra have."""


def skin_of_field(field: DistanceField, finish: Finish) -> Skin:
    """Return the boundary of a field, as a net where tetrahedra would have too many triangles."""
    points, triangles = _net(field)
    if BY_TETRAHEDRA * len(triangles) < finish.most:
        surface = field.surface(DETAIL)
        points, triangles = surface.vertices, surface.triangles.astype(np.int64)
    return Skin(
        points, triangles, lambda start, end: _between(field, start, end), lambda points: points
    )


def _net(field: DistanceField) -> tuple[Points, Ints]:
    """Return a point of the boundary for each cell that it goes through, and triangles.

    Around each edge of the grid that crosses the boundary, its four cells make two.
    """
    pads = [(0, 0) if wrap else (1, 1) for wrap in field.wrapping]
    nodes = np.pad(field.values, pads, constant_values=np.inf)
    inside = nodes <= field.threshold
    size = np.array(nodes.shape)
    # An axis that wraps goes on at its beginning; beyond the ends of others nothing is inside.
    cells, crossings, turned = [], [], []
    for axis in range(3):
        ahead = np.roll(inside, -1, axis)
        place = np.argwhere(inside != ahead)
        step = np.eye(3, dtype=np.int64)
        one, two = step[(axis + 1) % 3], step[(axis + 2) % 3]
        start, end = nodes[tuple(place.T)], nodes[tuple(((place + step[axis]) % size).T)]
        share = _share(start, end, field.threshold)
        around = np.stack([place, place - one, place - one - two, place - two], axis=1)
        cells.append(around % size)
        crossings.append((place + share[:, None] * step[axis])[:, None] - around)
        turned.append(inside[tuple(place.T)])
    every = np.concatenate(cells)
    key = (every[..., 0] * size[1] + every[..., 1]) * size[2] + every[..., 2]
    kept, number = np.unique(key, return_inverse=True)
    number = number.reshape(-1, 4)
    total = np.bincount(number.ravel())
    within = np.concatenate(crossings).reshape(-1, 3)
    mean = [np.bincount(number.ravel(), weights=each) / total for each in within.T]
    cell = np.stack(np.unravel_index(kept, nodes.shape), axis=1)
    outward = np.concatenate(turned)
    quads = np.where(outward[:, None], number, number[:, ::-1])
    points = cell + np.stack(mean, axis=1) - [before for before, _ in pads]
    values = closed(field.values, field.wrapping)
    last = np.array(values.shape) - 1
    at_side = ((points <= 0.0) | (points >= last)) & ~field.wrapping
    inner = np.clip(points, 0.0, last)
    moving = (_value_and_slope(values, inner)[0] > field.threshold) | ~at_side.any(axis=1)
    settled = _settled(field, values, inner, ~at_side, np.asarray(moving))
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.asarray(field.low + field.spacing * settled), triangles


def _share(start: Scalars, end: Scalars, level: float) -> Scalars:
    """Return where between two nodes the level is; at the inner one, if the other is beyond."""
    within = np.isfinite(start) & np.isfinite(end)
    share = (level - start) / np.where(within, end - start, 1.0)
    return np.where(within, share, np.where(np.isfinite(start), 0.0, 1.0))


def _between(field: DistanceField, start: Points, end: Points) -> Points:
    """Return points half way, brought to where the field is at its threshold.

    In a side of the field's box, which closes the region there, points stay in it; and where they
    are, unless they are between two on the level.
    """
    nodes = closed(field.values, field.wrapping)
    last = np.array(nodes.shape) - 1
    start, end = (start - field.low) / field.spacing, (end - field.low) / field.spacing
    at_side = [
        (np.abs(start - side) < AT_SIDE) & (np.abs(end - side) < AT_SIDE)
        for side in (np.zeros(3), last)
    ]
    free = ~((at_side[0] | at_side[1]) & ~field.wrapping)
    moving: Mask = np.asarray(free.all(axis=1))
    if not moving.all():
        off = [_value_and_slope(nodes, each)[0] - field.threshold for each in (start, end)]
        moving |= np.max(np.abs(off), axis=0) < AT_SIDE
    points = _settled(field, nodes, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)


def _settled(
    field: DistanceField, nodes: Floats, points: Points, free: Mask, moving: Mask
) -> Points:
    """Return the `moving` points, counted in nodes, at the threshold, as far as axes are `free`."""
    last = np.array(nodes.shape) - 1
    which = np.flatnonzero(moving)
    points = points.copy()
    for _ in range(SETTLINGS):
        value, slope = _value_and_slope(nodes, points[which])
        slope *= free[which]
        square = np.maximum(np.einsum("ij,ij->i", slope, slope), 1e-300)
        step = slope * ((field.threshold - value) / square)[:, None]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST / np.maximum(length, 1e-300))
        points[which] = np.clip(points[which] + step, 0.0, last)
    return points


def _value_and_slope(nodes: Floats, points: Points) -> tuple[Scalars, Points]:
    """Return values between nodes, and their slope, at points counted in nodes."""
    size = np.array(nodes.shape)
    below = np.minimum(points.astype(np.int64), size - 2)
    x, y, z = (points - below).T
    first = (below[:, 0] * size[1] + below[:, 1]) * size[2] + below[:, 2]
    flat, up, over = nodes.ravel(), size[2], size[1] * size[2]
    a, b = flat[first], flat[first + 1]
    c, d = flat[first + up], flat[first + up + 1]
    e, f = flat[first + over], flat[first + over + 1]
    g, h = flat[first + over + up], flat[first + over + up + 1]
    # Along z, then y, then x, with the differences that are the slope.
    ab, cd, ef, gh = a + z * (b - a), c + z * (d - c), e + z * (f - e), g + z * (h - g)
    near, far = ab + y * (cd - ab), ef + y * (gh - ef)
    along_y = (1.0 - x) * (cd - ab) + x * (gh - ef)
    low = (1.0 - y) * (b - a) + y * (d - c)
    high = (1.0 - y) * (f - e) + y * (h - g)
    along_z = (1.0 - x) * low + x * high
    return near + x * (far - near), np.stack([far - near, along_y, along_z], axis=1)
