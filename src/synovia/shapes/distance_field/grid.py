"""Grids of distance fields: values, exact distances, holes, surfaces, nearest sites, packing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Points, Scalars
from ..triangles import bisect, march_tetrahedra, number_edges

if TYPE_CHECKING:
    from .field import DistanceField

BLOCK_CELLS = 2  # cells along each axis of a block of samples or triangles; fastest at 32 nodes
THREADS = 2
LEAST_NODES, LARGEST = 8, 256  # nodes along the longest side of a grid
LEAST_CELL = 0.01  # radians, so that a single sample has a region
INDEXED, MAX_OUTER = 2.5, 8  # radians around the box that the index covers, up to 64 cells
NET_STEPS, NET_STEP = 3, 0.5  # Newton steps of a net's points to the level, and cells in each
EDGE_HALVINGS = 60  # to the last bit
AT_SIDE = 1e-9  # cells from a side of the box, or from the level, that are rounding
EDGE = 0.05  # radians between ψ of Euler angles and 0 or π: errors of φ and θ grow as 1/ψ


def grid_around(
    points: Points, margin: float, cells: float, resolution: int, periods: tuple[float, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return low corner (3,), spacing (3,) and node counts of a grid around points (n, 3).

    The box extends the points by `margin` (radians) and a number of `cells` on every side;
    `resolution` is the number of nodes along its longest axis. An axis with a period is covered
    completely, from −period / 2 on. If there is one, the other axes are limited to angles between
    0 and π, and end at least `EDGE` from both unless points are nearer. ValueError if the numbers
    do not fit together.
    """
    if not LEAST_NODES <= resolution <= LARGEST:
        raise ValueError(
            f"resolution must be from {LEAST_NODES} to {LARGEST} nodes, got {resolution}"
        )
    across = resolution - 1.0 - 2.0 * cells
    if not across >= 1.0:
        raise ValueError(
            f"resolution must be at least {np.ceil(2.0 + 2.0 * cells):.0f} nodes where {cells:g} "
            f"cells are free on each side, got {resolution}"
        )
    period = np.asarray(periods, dtype=np.float64)
    if period.shape != (3,) or not ((period >= 0.0) & np.isfinite(period)).all():
        raise ValueError(f"periods must be 3 numbers, 0 where an axis has none, got {periods}")
    wraps = period > 0.0
    least, most = points.min(axis=0) - margin, points.max(axis=0) + margin
    extent = np.where(wraps, 0.0, most - least)
    cell = max(
        float(extent.max()) / across,
        float(period.max()) / resolution,
        LEAST_CELL,
    )
    low, high = least - cells * cell, most + cells * cell
    if wraps.any():
        angles = points[:, ~wraps]
        if angles.min(initial=0.0) < 0.0 or angles.max(initial=0.0) > np.pi:
            raise ValueError(
                f"beside axes that wrap, points must be from 0 to π, got {angles.min():.6g} to "
                f"{angles.max():.6g}"
            )
        near, far = np.minimum(EDGE, least + margin), np.maximum(np.pi - EDGE, most - margin)
        low, high = np.maximum(low, near), np.minimum(high, far)
    count = np.where(wraps, np.ceil(period / cell - 1e-9), np.ceil((high - low) / cell - 1e-9) + 1)
    count = np.maximum(count, 2).astype(int)
    if wraps.any():  # cells that end where the box must
        spacing = np.where(wraps, period / count, (high - low) / (count - 1))
    else:
        spacing = np.full(3, cell)
        low = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    return np.where(wraps, -0.5 * period, low), spacing, tuple(int(n) for n in count)


def node_points(low: Floats, spacing: Floats, count: tuple[int, ...]) -> Points:
    """Return the points of the nodes of a grid: (I, J, K, 3)."""
    axes = [a + h * np.arange(n) for a, h, n in zip(low, spacing, count, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


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
    """Return the indices (n, 3) of the first nodes of cells that have members."""
    return np.argwhere(_some_corner(nodes <= threshold))


def values_at(nodes: Floats, points: Points) -> Scalars:
    """Return trilinear values (n,) at points (n, 3), in cells from the first of the nodes."""
    values = np.empty(len(points))
    kernels.distance_field_grid.values_at(nodes, np.ascontiguousarray(points), values)
    return values


def sample_distance(
    points: Points, low: Floats, spacing: Floats, count: tuple[int, ...], period: Floats
) -> Scalars:
    """Return the exact distance of each node from the nearest of `points` (n, 3): (I, J, K).

    `period` (3,) is 0 for axes that do not wrap.
    """
    boxes = np.concatenate([points, np.zeros(points.shape)], axis=1)
    return _nearest_distance(boxes, low, spacing, count, period)


def _nearest_distance(
    primitives: Floats, low: Floats, spacing: Floats, count: tuple[int, ...], period: Floats
) -> Scalars:
    """Return the distance of each node from the nearest primitive: (I, J, K).

    A primitive is a row with the centre and the half sides of its bounding box, followed by the
    corners if it is a triangle.
    """
    cells = np.floor((primitives[:, :3] - low) / (BLOCK_CELLS * spacing)).astype(np.int64)
    cells -= cells.min(axis=0)
    number = np.ravel_multi_index(tuple(cells.T), tuple(cells.max(axis=0) + 1))
    order = np.argsort(number, kind="stable")
    primitives, number = np.ascontiguousarray(primitives[order]), number[order]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    middle, half = primitives[:, :3], primitives[:, 3:6]
    least = np.minimum.reduceat(middle - half, first)
    most = np.maximum.reduceat(middle + half, first)
    last = np.append(first[1:], len(number))
    ends = np.stack([first, last], axis=1)
    blocks = np.concatenate([0.5 * (least + most), 0.5 * (most - least), ends], axis=1)
    inverse = np.divide(1.0, period, out=np.zeros(3), where=period > 0.0)
    squares, side = np.empty(count), kernels.distance_field_grid.NODE_SIDE

    def run(row: int) -> None:
        grid = np.array([*low, *spacing, *period, *inverse, row], np.float64)
        kernels.distance_field_grid.nearest_primitives(
            grid, primitives, blocks, squares[row : row + side]
        )

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(0, count[0], side)))
    return np.sqrt(squares)


def fill_holes(distance: Scalars, r: float, spacing: Floats, wraps: Mask) -> Scalars:
    """Return distances from samples with holes filled, negative inside: (I, J, K).

    A node is outside if a path of nodes at more than `r` radians from all samples connects it with
    a side of the box, or with the farthest node if all axes wrap. Elsewhere the result is at most
    r less the distance to the outside, as in a morphological closing by balls of radius `r`.
    """
    wall = distance <= r
    if wall.all():
        return np.asarray(distance - r)
    reached = np.zeros(distance.shape, dtype=bool)
    for axis, wrap in enumerate(wraps):
        if not wrap:
            np.moveaxis(reached, axis, 0)[[0, -1]] = True
    reached &= ~wall
    if not reached.any():
        reached[np.unravel_index(distance.argmax(), distance.shape)] = True
    outside = _flood(reached, ~wall, wraps)
    period = np.where(wraps, spacing * distance.shape, 0.0)
    positions = [h * np.arange(n) for h, n in zip(spacing, distance.shape, strict=True)]
    nearest = nearest_sites(outside, spacing, period, positions)
    inside, shape = np.argwhere(~outside), np.array(distance.shape)
    codes = nearest[~outside]
    sites = np.stack([codes >> 20, (codes >> 10) & 1023, codes & 1023], axis=1)
    least = np.full(len(inside), np.inf)
    # A node outside at distance d from the samples has a ball of radius d − r around it that is
    # outside too. Use the best of the nearest node outside and its neighbours.
    for step in product((-1, 0, 1), repeat=3):
        node = np.where(wraps, (sites + step) % shape, sites + step)
        legal = np.asarray(((node >= 0) & (node < shape)).all(axis=1))
        at = tuple(np.where(legal[:, None], node, 0).T)
        cells = np.abs(node - inside)
        cells = np.where(wraps, np.minimum(cells, shape - cells), cells)
        away = np.linalg.norm(spacing * cells, axis=1) - (distance[at] - r)
        least = np.where(legal & outside[at], np.minimum(least, away), least)
    filled = distance.copy()
    filled[~outside] = np.minimum(distance[~outside], r - np.maximum(least, 0.0))
    return filled


def _flood(reached: Mask, free: Mask, wraps: Mask) -> Mask:
    """Return a mask of the free nodes connected to those reached (six neighbours, wrapping)."""
    reached, shape, front = reached.copy(), np.array(free.shape), np.argwhere(reached)
    steps = np.concatenate([np.eye(3, dtype=np.int64), -np.eye(3, dtype=np.int64)])
    while len(front):  # breadth first
        around = (front[:, None] + steps).reshape(-1, 3)
        around = np.where(wraps, around % shape, around)
        around = around[((around >= 0) & (around < shape)).all(axis=1)]
        indices = tuple(around.T)
        around = around[free[indices] & ~reached[indices]]
        reached[tuple(around.T)] = True
        numbers = np.unique(np.ravel_multi_index(tuple(around.T), free.shape))
        front = np.stack(np.unravel_index(numbers, free.shape), axis=1)
    return reached


def redistance(values: Floats, level: float, low: Floats, spacing: Floats, wraps: Mask) -> Floats:
    """Return the signed distance, in radians, of each node from the surface where Φ is `level`.

    Nodes with values of at most `level` are inside, and have distances of at most 0. The surface
    consists of the triangles of `surface_triangles`, without the sides of the box. ValueError if
    all nodes are inside, or none.
    """
    inside = values <= level
    if inside.all() or not inside.any():
        raise ValueError(
            f"the level must part the nodes, some inside and some outside, got {level} for "
            f"values from {values.min():.6g} to {values.max():.6g}"
        )
    points, triangles = surface_triangles(values, level, low, spacing, wraps, capped=False)
    corners = points[triangles]
    least, most = corners.min(axis=1), corners.max(axis=1)
    rows = np.concatenate(
        [0.5 * (least + most), 0.5 * (most - least), corners.reshape(-1, 9)], axis=1
    )
    period = np.where(wraps, spacing * values.shape, 0.0)
    distance = _nearest_distance(rows, low, spacing, values.shape, period)
    return np.where(inside, -distance, distance)


def surface_net(values: Floats, level: float, wraps: Mask) -> tuple[Points, Ints]:
    """Return the surface net of a level: points (n, 3) in units of cells, and quads (m, 4).

    Every cell that the level cuts has a point. Every edge between nodes that the level cuts has a
    quad of the four cells around it, counter-clockwise seen from outside. Nothing beyond the sides
    of axes that do not wrap is inside.
    """
    pads = [(0, 0) if wrap else (1, 1) for wrap in wraps]
    nodes = np.pad(values, pads, constant_values=np.inf)
    cells, points = [], []  # around each crossing edge: the four cells, and its crossing in each
    for axis in range(3):
        one, two = np.eye(3, dtype=np.int64)[[(axis + 1) % 3, (axis + 2) % 3]]
        ahead = np.roll(nodes, -1, axis)
        crossed = (nodes <= level) != (ahead <= level)
        start, end, at = nodes[crossed], ahead[crossed], np.argwhere(crossed)
        share = np.isinf(start).astype(np.float64)  # a crossing is at the finite node
        finite = np.isfinite(start) & np.isfinite(end)
        share[finite] = (level - start[finite]) / (end[finite] - start[finite])
        corners = np.array([0 * one, one, one + two, two])  # less than the cell's first node
        turned = np.where((start <= level)[:, None], [0, 1, 2, 3], [3, 2, 1, 0])
        cells.append(at[:, None] - corners[turned])
        points.append(corners[turned] + share[:, None, None] * np.eye(3)[axis])
    all_cells = np.concatenate(cells) % nodes.shape
    number, quads = np.unique(
        np.ravel_multi_index(tuple(np.moveaxis(all_cells, -1, 0)), nodes.shape), return_inverse=True
    )
    quads, crossings = quads.reshape(-1, 4), np.concatenate(points).reshape(-1, 3)
    count = np.bincount(quads.ravel())
    sums = np.stack([np.bincount(quads.ravel(), crossings[:, k]) for k in range(3)], axis=1)
    first_nodes = np.stack(np.unravel_index(number, nodes.shape), axis=1)
    return first_nodes + sums / count[:, None] - [before for before, _ in pads], quads


def move_to_level(nodes: Floats, level: float, points: Points, free: Mask, moving: Mask) -> Points:
    """Return points (n, 3), in units of cells, with those of the mask `moving` moved to a level.

    They move along the gradient, restricted to the axes of the mask `free` (n, 3).
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

    Triangles come from marching tetrahedra, six to a cell. If `capped`, triangles in the sides of
    the box close the region.
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
    """Return the midpoints of edges between `start` and `end`, moved to where Φ is the threshold.

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
        off = [values_at(nodes, points) - field.threshold for points in (start, end)]
        moving |= np.max(np.abs(off), axis=0) < AT_SIDE
    points = move_to_level(nodes, field.threshold, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)


def nearest_sites(members: Mask, spacing: Floats, period: Floats, positions: list[Floats]) -> Ints:
    """Return the code of the exactly nearest member for every combination of `positions`.

    This is the distance transform of Felzenszwalb & Huttenlocher, axis by axis. A code holds the
    three indices of a node, 10 bits each. Positions along an axis are in radians from the first
    node. At least one node must be a member.
    """
    best: Ints = np.where(members, 0, -1)
    height: Floats = np.zeros(members.shape)
    for axis in range(3):
        best, height = _search_axis(best, height, axis, spacing, period, positions)
    return best


def _search_axis(
    best: Ints, height: Floats, axis: int, spacing: Floats, period: Floats, positions: list[Floats]
) -> tuple[Ints, Floats]:
    """Return nearest members and squared distances (see `nearest_sites`) after one more axis."""
    before, after = int(np.prod(best.shape[:axis])), int(np.prod(best.shape[axis + 1 :]))
    shape = (*best.shape[:axis], len(positions[axis]), *best.shape[axis + 1 :])
    lines = (before, -1, after)
    out, out_height = np.empty(shape, np.int64), np.empty(shape)
    kernels.distance_field_grid.nearest_in_lines(
        best.reshape(lines),
        height.reshape(lines),
        float(spacing[axis]),
        float(period[axis]),
        positions[axis],
        out.reshape(lines),
        out_height.reshape(lines),
    )
    return out, out_height


def site_index(
    nodes: Floats, threshold: float, spacing: Floats, period: Floats, positions: list[Floats]
) -> Ints:
    """Return the codes of the exactly nearest sites for all combinations of `positions`.

    Sites are defined in `kernels.distance_field`. Positions along an axis are in radians from the
    corner of the box.
    """
    parts = kernels.distance_field.SITE_PARTS
    fine = [parts * (n - 1) + int(not wrap) for n, wrap in zip(nodes.shape, period, strict=True)]
    shape = (len(positions[0]), fine[1], fine[2])
    best, height = np.empty(shape, np.int64), np.empty(shape)
    kernels.distance_field_grid.sites_in_lines(
        nodes, threshold, parts, float(spacing[0]), float(period[0]), positions[0], best, height
    )
    for axis in (1, 2):
        best, height = _search_axis(best, height, axis, spacing / parts, period, positions)
    return best


def pack_field(
    low: Floats, spacing: Floats, nodes: Floats, threshold: float, wraps: Mask
) -> Floats:
    """Return the packed field for `kernels.distance_field`, without its kind.

    `nodes` repeats the first node at the end of axes that wrap.
    """
    layout = kernels.distance_field.HEADER
    period = np.where(wraps, spacing * (np.array(nodes.shape) - 1), 0.0)
    outer = min(int(np.ceil(np.sqrt(INDEXED / spacing.min()))), MAX_OUTER)
    away = np.arange(1.0, outer + 1.0) ** 2
    knots = [
        h * (np.arange(n) if wrap else np.concatenate([-away[::-1], np.arange(n), n - 1 + away]))
        for n, h, wrap in zip(nodes.shape, spacing, wraps, strict=True)
    ]
    codes = site_index(nodes, threshold, spacing, period, knots)
    tables = [_halves(nodes, np.float32), _halves(_least_of_blocks(nodes), np.float32)]
    inside, outside = steepest(nodes, spacing, threshold)
    blocks, sites = layout.SIZE + np.cumsum([len(table) for table in tables])
    header = layout.pack(
        threshold=threshold,
        steep_inside=inside,
        steep_outside=outside,
        half_diagonal=0.5 * float(np.linalg.norm(spacing)),
        low=low,
        spacing=spacing,
        period=period,
        inverse_period=np.divide(1.0, period, out=np.zeros(3), where=wraps),
        nodes=nodes.shape,
        outer=outer,
        blocks=blocks,
        sites=sites,
    )
    return np.concatenate([header, *tables, _halves(codes, np.int32)])


def _least_of_blocks(nodes: Floats) -> Floats:
    """Return the least value in each block of cells of a grid."""
    side = kernels.distance_field.BLOCK_SIDE
    for axis in range(3):
        along = np.moveaxis(nodes, axis, 0)
        least = np.minimum(along[:-1], along[1:])
        starts = np.arange(0, len(least), side)
        nodes = np.moveaxis(np.minimum.reduceat(least, starts, axis=0), 0, axis)
    return nodes


def _halves(numbers: Floats | Ints, kind: type) -> Floats:
    """Return numbers as 4 bytes of type `kind`, two in each float64 of the result."""
    flat = np.zeros(-(-numbers.size // 2))
    flat.view(kind)[: numbers.size] = numbers.ravel()
    return flat


def steepest(nodes: Floats, spacing: Floats, threshold: float) -> tuple[float, float]:
    """Return the greatest slopes of Φ: in cells with members, and in cells with other nodes.

    Cells that the boundary cuts count for both. The squared slope of a trilinear function is convex
    along each axis, so it is greatest at a corner of the cell.
    """
    cells = tuple(n - 1 for n in nodes.shape)
    squares = [np.square(np.diff(nodes, axis=k) / spacing[k]) for k in range(3)]
    greatest, least, most = np.zeros(cells), np.full(cells, np.inf), np.full(cells, -np.inf)
    for corner in np.ndindex(2, 2, 2):
        window = tuple(slice(at, at + n) for at, n in zip(corner, cells, strict=True))
        # Along its own axis, a cell has one difference.
        windows = [(*window[:k], slice(None), *window[k + 1 :]) for k in range(3)]
        slope = sum(square[part] for square, part in zip(squares, windows, strict=True))
        np.maximum(greatest, slope, out=greatest)
        np.minimum(least, nodes[window], out=least)
        np.maximum(most, nodes[window], out=most)
    slopes = (greatest[least <= threshold], greatest[most > threshold])
    inside, outside = (np.sqrt(part.max(initial=1e-9)) for part in slopes)  # may be empty or flat
    return float(inside), float(outside)
