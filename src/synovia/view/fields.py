"""The boundary of a distance field: fine by tetrahedra, or soon as a net of one point a cell."""

from __future__ import annotations

import numpy as np

from ..arrays import Ints, Mask, Points
from ..shapes import DistanceField
from ..shapes.field_net import net_of, settled_on, values_at
from .mesh import Finish
from .skins import DETAIL, Skin

AT_SIDE = 1e-9
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
    """Return a point of the boundary for each cell that it goes through, and triangles."""
    points, quads = net_of(field.values, field.threshold, field.wrapping)
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    at_side = ((points <= 0.0) | (points >= last)) & ~field.wrapping
    inner = np.clip(points, 0.0, last)
    moving = (values_at(nodes, inner) > field.threshold) | ~at_side.any(axis=1)
    settled = settled_on(nodes, field.threshold, inner, ~at_side, np.asarray(moving))
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.asarray(field.low + field.spacing * settled), triangles


def _between(field: DistanceField, start: Points, end: Points) -> Points:
    """Return points half way, brought to where the field is at its threshold.

    In a side of the field's box, which closes the region there, points stay in it; and where they
    are, unless they are between two on the level.
    """
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    start, end = (start - field.low) / field.spacing, (end - field.low) / field.spacing
    at_side = [
        (np.abs(start - side) < AT_SIDE) & (np.abs(end - side) < AT_SIDE)
        for side in (np.zeros(3), last)
    ]
    free = ~((at_side[0] | at_side[1]) & ~field.wrapping)
    moving: Mask = np.asarray(free.all(axis=1))
    if not moving.all():
        off = [values_at(nodes, each) - field.threshold for each in (start, end)]
        moving |= np.max(np.abs(off), axis=0) < AT_SIDE
    points = settled_on(nodes, field.threshold, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)
