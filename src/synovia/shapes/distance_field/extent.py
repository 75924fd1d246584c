"""How large a distance field is: volume, bounds, uniform members, and its surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Points, Scalars
from ..boundary import Boundary, march_tetrahedra, number_edges
from .packing import add_midpoints, close_axes

if TYPE_CHECKING:
    from .field import DistanceField


SPECK = 1e-6
"""A region with a volume of less than this share of a cell is thin."""
FINEST, LINES = 24, 400_000  # lines a side of a cell, and in all, along which volume is measured


def volume_of(nodes: Floats, threshold: float, spacing: Floats) -> float:
    """Return the volume of {Φ <= threshold}, in the unit of the spacing; 0 for a speck.

    Along a line of the third axis Φ is linear in a cell, so the line's share inside is exact;
    lines are spread evenly over the cells that the boundary goes through, as many in each as give
    the volume to about a thousandth.
    """
    cut = kernels.distance_field_extent.count_cut_cells(nodes, threshold)
    side = int(np.clip(np.sqrt(LINES / max(cut, 1)), 4, FINEST))
    volume = float(kernels.distance_field_extent.volume(nodes, threshold, side))
    return volume * float(spacing.prod()) if volume > SPECK else 0.0


def bounds_of(nodes: Floats, threshold: float, low: Floats, spacing: Floats) -> Points:
    """Return the least and greatest coordinates of the cells that have members: (2, 3)."""
    cells = np.argwhere(least_at_corners(nodes) <= threshold)
    return np.asarray(low + spacing * np.stack([cells.min(axis=0), cells.max(axis=0) + 1]))


def least_at_corners(nodes: Floats) -> Floats:
    """Return the least value at the corners of each cell."""
    for axis in range(3):
        along = np.moveaxis(nodes, axis, 0)
        nodes = np.moveaxis(np.minimum(along[:-1], along[1:]), 0, axis)
    return nodes


def reach_of(
    nodes: Floats, threshold: float, low: Floats, spacing: Floats, columns: tuple[int, ...]
) -> float:
    """Return a bound on how far members are from the origin, in these coordinates alone."""
    weights = np.zeros(3)
    weights[list(columns)] = 1.0
    square = kernels.distance_field_extent.farthest(nodes, threshold, low, spacing, weights)
    return float(np.sqrt(square))


def sample_field(
    n: int,
    rng: np.random.Generator,
    nodes: Floats,
    threshold: float,
    low: Floats,
    spacing: Floats,
    thin: bool,
) -> Points:
    """Return `n` members, uniform: points at random in the cells that have any, those inside."""
    if thin:
        members = np.argwhere(nodes <= threshold)
        return low + spacing * members[rng.integers(len(members), size=n)]
    cells = np.flatnonzero(least_at_corners(nodes) <= threshold)
    _, rows, columns = nodes.shape
    kept: list[Points] = [np.empty((0, 3))]
    while sum(map(len, kept)) < n:
        chosen = cells[rng.integers(len(cells), size=2 * n + 64)]
        at = rng.random((len(chosen), 3))
        first = np.stack(np.unravel_index(chosen, [m - 1 for m in nodes.shape]), axis=1)
        number, value = (first[:, 0] * rows + first[:, 1]) * columns + first[:, 2], 0.0
        shares = np.stack([1.0 - at, at])
        for i, j, k in np.ndindex(2, 2, 2):
            weight = shares[i, :, 0] * shares[j, :, 1] * shares[k, :, 2]
            value = value + weight * nodes.ravel()[number + (i * rows + j) * columns + k]
        inside = value <= threshold
        kept.append(low + spacing * (first + at)[inside])
    return np.concatenate(kept)[:n]


# The boundary of a distance field as a net: soon made, with a point in each cell that it cuts.


STEPS, LONGEST = 3, 0.5
"""Steps that points go to a field's level, and how long each may be, in cells."""


def surface_net(values: Floats, level: float, wraps: Mask) -> tuple[Points, Ints]:
    """Return a point for each cell that the level cuts, counted in nodes, and the quads of them.

    Around each edge of the grid that crosses the level, its four cells make one, counter-clockwise
    as seen from outside. Beyond the ends of axes that do not wrap nothing is inside.
    """
    pads = [(0, 0) if wrap else (1, 1) for wrap in wraps]
    nodes = np.pad(values, pads, constant_values=np.inf)
    quads = np.empty((kernels.distance_field_extent.count_crossings(nodes, level), 4), np.int64)
    places = np.empty((min(quads.size, nodes.size), 3))
    count = kernels.distance_field_extent.surface_net(
        nodes, level, np.full(nodes.shape, -1), places, quads
    )
    return places[:count] - [before for before, _ in pads], quads


def values_at(nodes: Floats, points: Points) -> Scalars:
    """Return the values at points (n, 3) within the grid, counted in nodes."""
    found = np.empty(len(points))
    kernels.distance_field_extent.values_at(nodes, np.ascontiguousarray(points), found)
    return found


def move_to_level(nodes: Floats, level: float, points: Points, free: Mask, moving: Mask) -> Points:
    """Return points (n, 3), counted in nodes, the `moving` ones at a level, along `free` axes."""
    points = np.array(points, order="C")
    kernels.distance_field_extent.move_to_level(nodes, level, free, moving, STEPS, LONGEST, points)
    return points


# The boundary of a distance field as triangles: marching tetrahedra, six to a cell.
#
# Vertices lie where Φ is the threshold along edges of the tetrahedra, found to rounding; a region
# that the box cuts off is closed by triangles in the box's side.


COARSEST = 2
"""The detail at which the cells are the field's own."""


def surface_triangles(
    values: Floats,
    threshold: float,
    low: Floats,
    spacing: Floats,
    wraps: Mask,
    detail: int = COARSEST,
    *,
    capped: bool = True,
) -> tuple[Points, Ints]:
    """Return points where Φ is `threshold`, and triangles between them, facing outwards.

    Where the box ends the region they close it, if `capped`.
    """
    nodes = close_axes(values, wraps)
    for _ in range(max(detail - COARSEST, 0)):
        nodes = close_axes(add_midpoints(nodes, wraps), wraps)
        spacing = 0.5 * spacing
    # One more node beyond each side that does not wrap, high enough to be outside.
    high = max(float(nodes.max()), threshold) + 1.0
    pads = [(0, 0) if wrap or not capped else (1, 1) for wrap in wraps]
    wide = np.pad(nodes, pads, constant_values=high)
    edges = march_tetrahedra(wide <= threshold) - np.array([before for before, _ in pads])
    # To a node beyond the side no edge goes anywhere: the region ends where it starts.
    start, end = edges[..., 0, :], edges[..., 1, :]
    beyond = ((end < 0) | (end >= nodes.shape)).any(axis=-1, keepdims=True)
    lines, triangles = number_edges(np.stack([start, np.where(beyond, start, end)], axis=-2))
    places = _crossings(nodes, threshold, lines[:, 0], lines[:, 1])
    return low + spacing * places, triangles


def _crossings(nodes: Floats, threshold: float, inner: Ints, outer: Ints) -> Points:
    """Return where Φ reaches the threshold between nodes of one cell, in numbers of nodes.

    On the way by a share t along some of the axes at once Φ is a cubic in t, whose coefficients
    are sums and differences of the corners on the way. Bisected, and ended inside.
    """
    way = outer - inner
    parts = {}
    for corner in np.ndindex(2, 2, 2):
        i, j, k = (inner + way * np.array(corner)).T
        parts[corner] = nodes[i, j, k] - threshold
    coefficients = np.zeros((4, len(inner)))
    for corner, part in parts.items():
        for above in np.ndindex(2, 2, 2):
            if all(u >= c for u, c in zip(above, corner, strict=True)):
                coefficients[sum(above)] += (-1) ** (sum(above) - sum(corner)) * part
    a, b, c, d = coefficients
    low, high = np.zeros(len(inner)), np.ones(len(inner))
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = a + middle * (b + middle * (c + middle * d)) <= 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    still = (way == 0).all(axis=1)
    return inner + way * np.where(still, 0.0, low)[:, None]


AT_SIDE = 1e-9


def field_boundary(field: DistanceField, detail: int) -> Boundary:
    """Return the boundary: with a detail of 0 as a net of one point a cell, else by tetrahedra."""
    if detail == 0:
        points, triangles = _net(field)
    else:
        points, triangles = surface_triangles(
            field.values, field.threshold, field.low, field.spacing, field.wrapping, detail
        )
    return Boundary(points, triangles, lambda start, end: _midpoint_on_level(field, start, end))


def _net(field: DistanceField) -> tuple[Points, Ints]:
    """Return a point of the boundary for each cell that it goes through, and triangles."""
    points, quads = surface_net(field.values, field.threshold, field.wrapping)
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    at_side = ((points <= 0.0) | (points >= last)) & ~field.wrapping
    inner = np.clip(points, 0.0, last)
    moving = (values_at(nodes, inner) > field.threshold) | ~at_side.any(axis=1)
    settled = move_to_level(nodes, field.threshold, inner, ~at_side, np.asarray(moving))
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.asarray(field.low + field.spacing * settled), triangles


def _midpoint_on_level(field: DistanceField, start: Points, end: Points) -> Points:
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
    points = move_to_level(nodes, field.threshold, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)
