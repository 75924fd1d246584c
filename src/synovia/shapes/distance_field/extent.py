"""Grids of distance fields: wrapping, interpolation, volume, members and boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Points, Scalars
from ..triangles import bisect, march_tetrahedra, number_edges

if TYPE_CHECKING:
    from .field import DistanceField


def close_axes(values: Floats, wraps: Mask) -> Floats:
    """Return the node values with the first repeated at the end of each axis that wraps."""
    return np.pad(values, [(0, int(w)) for w in wraps], mode="wrap")


def _some_corner(nodes: Mask) -> Mask:
    """Return True for each cell that has a true node at a corner."""
    for axis in range(3):
        along = np.moveaxis(nodes, axis, 0)
        nodes = np.moveaxis(along[:-1] | along[1:], 0, axis)
    return np.asarray(nodes)


def member_cells(nodes: Floats, threshold: float) -> Ints:
    """Return the cells that have members, by their first nodes: (n, 3)."""
    return np.argwhere(_some_corner(nodes <= threshold))


NET_STEPS, NET_STEP = 3, 0.5  # Newton steps of a net's points to the level, and cells in each


def surface_net(values: Floats, level: float, wraps: Mask) -> tuple[Points, Ints]:
    """Return the surface net of a level: points (n, 3) in units of cells, and quads (m, 4).

    Each cell that the level cuts has a point; the four cells around each edge that crosses it make
    a quad, counter-clockwise from outside. Beyond axes that do not wrap nothing is inside.
    """
    pads = [(0, 0) if wrap else (1, 1) for wrap in wraps]
    nodes = np.pad(values, pads, constant_values=np.inf)
    inside = nodes <= level
    crossings = sum((inside != np.roll(inside, -1, axis)).sum() for axis in range(3))
    quads = np.empty((int(crossings), 4), np.int64)
    places = np.empty((min(quads.size, nodes.size), 3))
    count = kernels.distance_field_grid.surface_net(
        nodes, level, np.full(nodes.shape, -1), places, quads
    )
    return places[:count] - [before for before, _ in pads], quads


def values_at(nodes: Floats, points: Points) -> Scalars:
    """Return the values at points (n, 3) of the grid, in units of cells."""
    found = np.empty(len(points))
    kernels.distance_field_grid.values_at(nodes, np.ascontiguousarray(points), found)
    return found


def move_to_level(nodes: Floats, level: float, points: Points, free: Mask, moving: Mask) -> Points:
    """Return points (n, 3), in units of cells, the `moving` ones moved to a level.

    They move along the slope of the `free` (n, 3) axes.
    """
    points = np.array(points, order="C")
    kernels.distance_field_grid.move_to_level(
        nodes, level, free, moving, NET_STEPS, NET_STEP, points
    )
    return points


def surface_triangles(
    values: Floats,
    threshold: float,
    low: Floats,
    spacing: Floats,
    wraps: Mask,
    *,
    capped: bool = True,
) -> tuple[Points, Ints]:
    """Return points (n, 3) where Φ is `threshold`, and triangles (m, 3) that face outwards.

    They come from marching tetrahedra, six to a cell. If `capped`, triangles in the sides of the
    box close the region there.
    """
    nodes = close_axes(values, wraps)
    # A layer of nodes outside closes the region at sides that do not wrap.
    high = max(float(nodes.max()), threshold) + 1.0
    pads = [(0, 0) if wrap or not capped else (1, 1) for wrap in wraps]
    wide = np.pad(nodes, pads, constant_values=high)
    edges = march_tetrahedra(wide <= threshold) - np.array([before for before, _ in pads])
    # An edge to a node beyond the side has no length.
    start, end = edges[..., 0, :], edges[..., 1, :]
    beyond = ((end < 0) | (end >= nodes.shape)).any(axis=-1, keepdims=True)
    lines, triangles = number_edges(np.stack([start, np.where(beyond, start, end)], axis=-2))
    inner, outer = np.moveaxis(lines.astype(float), 1, 0)
    inner, _ = bisect(inner, outer, lambda at: values_at(nodes, at) > threshold, EDGE_HALVINGS)
    return low + spacing * inner, triangles


EDGE_HALVINGS = 60  # to the last bit
AT_SIDE = 1e-9  # cells from a side of the box, or from the level, that are rounding


def surface_net_triangles(field: DistanceField) -> tuple[Points, Ints]:
    """Return the surface net of the boundary: points (n, 3) and triangles (m, 3)."""
    points, quads = surface_net(field.values, field.threshold, field.wrapping)
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    at_side = ((points <= 0.0) | (points >= last)) & ~field.wrapping
    inner = np.clip(points, 0.0, last)
    moving = (values_at(nodes, inner) > field.threshold) | ~at_side.any(axis=1)
    settled = move_to_level(nodes, field.threshold, inner, ~at_side, np.asarray(moving))
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.asarray(field.low + field.spacing * settled), triangles


def level_midpoints(field: DistanceField, start: Points, end: Points) -> Points:
    """Return the midpoints of edges, moved to where Φ is the threshold.

    Edges in a side of the box stay in it; their midpoints move only if both ends are on the level.
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
    points = move_to_level(nodes, field.threshold, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)
