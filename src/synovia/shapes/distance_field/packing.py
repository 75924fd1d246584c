"""The packed form of a distance field: nodes, steepest slopes, nearest sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Points

if TYPE_CHECKING:
    from .field import DistanceField


# Tables of a field's nodes looked up between them, and slopes at the nodes.


def central_slopes(values: Floats, spacing: Floats, wraps: Mask) -> Any:
    """Return the gradient at the nodes by central differences: (i, j, k, 3); one-sided at sides."""
    slopes = []
    for axis, (h, wrap) in enumerate(zip(spacing, wraps, strict=True)):
        if wrap:
            ahead, behind = np.roll(values, -1, axis), np.roll(values, 1, axis)
            slopes.append((ahead - behind) / (2.0 * h))
        else:
            slopes.append(np.gradient(values, h, axis=axis))
    return np.stack(slopes, axis=-1)


def places_in(field: DistanceField, points: Points) -> Points:
    """Return points (..., 3) of a chart counted in nodes, those beyond the box at its sides."""
    places = (np.asarray(points, np.float64) - field.low) / field.spacing
    count = np.array(field.values.shape, float)
    turned = places - count * np.floor(places / count)
    return np.where(field.wrapping, turned, np.clip(places, 0.0, count - 1.0))


def interpolate(points: Points, field: DistanceField, table: Floats) -> Floats:
    """Return a table of node values (I, J, K, m) at the points, trilinear between the nodes."""
    nodes = close_axes(table, np.append(field.wrapping, False))
    cells = places_in(field, points)
    below = np.minimum(cells.astype(int), nodes.shape[0:3] - np.array(2))
    share: Any = cells - below
    total = np.zeros((*points.shape[:-1], table.shape[-1]))
    for corner in np.ndindex(2, 2, 2):
        weight = np.where(np.array(corner) == 1, share, 1.0 - share).prod(axis=-1)
        i, j, k = np.moveaxis(below + np.array(corner), -1, 0)
        total += weight[..., None] * nodes[i, j, k]
    return total


# What a packed distance field holds: nodes, steepest slopes, and the sites nearest to places.
#
# A site is a node, or a midpoint between nodes, that is a member. See `kernels.field`.


INDEXED, MAX_OUTER = 2.5, 8  # radians around the box that the index covers, up to 64 cells


def pack_field(
    low: Floats, spacing: Floats, nodes: Floats, threshold: float, wraps: Mask
) -> Floats:
    """Return the packed field, as `kernels.distance_field` reads it, without its kind.

    `nodes` has the first node repeated at the end of axes that wrap.
    """
    layout = kernels.distance_field
    period = np.where(wraps, spacing * (np.array(nodes.shape) - 1), 0.0)
    outer = min(int(np.ceil(np.sqrt(INDEXED / spacing.min()))), MAX_OUTER)
    away = np.arange(1.0, outer + 1.0) ** 2
    knots = [
        h * (np.arange(n) if wrap else np.concatenate([-away[::-1], np.arange(n), n - 1 + away]))
        for n, h, wrap in zip(nodes.shape, spacing, wraps, strict=True)
    ]
    codes = site_index(nodes, threshold, spacing, period, knots)
    tables = [_halves(nodes, np.float32), _halves(_least_of_blocks(nodes), np.float32)]
    header = np.zeros(layout.HEADER)
    slopes = steepest(nodes, spacing, threshold)
    header[: layout.LOW] = threshold, *slopes, 0.5 * float(np.linalg.norm(spacing))
    inverse = np.divide(1.0, period, out=np.zeros(3), where=wraps)
    header[layout.LOW : layout.BLOCKS] = [*low, *spacing, *period, *inverse, *nodes.shape, outer]
    header[layout.BLOCKS :] = layout.HEADER + np.cumsum([len(table) for table in tables])
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


def site_index(
    nodes: Floats, threshold: float, spacing: Floats, period: Floats, places: list[Floats]
) -> Ints:
    """Return the codes of the sites nearest to all combinations of `places`, exactly.

    Sites are defined in `kernels.distance_field`; places are in radians from the box's corner.
    """
    parts = kernels.distance_field.SITE_PARTS
    fine = [parts * (n - 1) + int(not wrap) for n, wrap in zip(nodes.shape, period, strict=True)]
    shape = (len(places[0]), fine[1], fine[2])
    best, height = np.empty(shape, np.int64), np.empty(shape)
    kernels.distance_field_build.sites_in_lines(
        nodes, threshold, parts, float(spacing[0]), float(period[0]), places[0], best, height
    )
    for axis in (1, 2):
        best, height = _search_axis(best, height, axis, spacing / parts, period, places)
    return best


def _halves(numbers: Floats | Ints, kind: type) -> Floats:
    """Return numbers of 4 bytes, two in each float64 of the buffer."""
    flat = np.zeros(-(-numbers.size // 2))
    flat.view(kind)[: numbers.size] = numbers.ravel()
    return flat


def round_down(values: Floats) -> Floats:
    """Return the greatest numbers of float32 that are not above `values`, as float64, locked."""
    most = np.finfo(np.float32).max
    single = np.clip(values, -most, most).astype(np.float32)
    above = single > values
    if above.any():
        with np.errstate(over="ignore"):
            single[above] = np.nextafter(single[above], np.float32(-np.inf))
        np.maximum(single, -most, out=single)
    rounded = single.astype(np.float64)
    rounded.flags.writeable = False
    return rounded


def close_axes(values: Floats, wraps: Mask) -> Floats:
    """Return the node values with the first repeated at the end of each axis that wraps."""
    return np.pad(values, [(0, int(w)) for w in wraps], mode="wrap")


def add_midpoints(nodes: Floats, wraps: Mask) -> Floats:
    """Return Φ at nodes and midpoints; of an axis that wraps (and is closed), one period."""
    for axis, wrap in enumerate(wraps):
        along = np.moveaxis(nodes, axis, 0)
        fine = np.empty((2 * len(along) - 1, *along.shape[1:]))
        fine[::2], fine[1::2] = along, 0.5 * (along[1:] + along[:-1])
        nodes = np.moveaxis(fine[:-1] if wrap else fine, 0, axis)
    return nodes


def nearest_sites(members: Mask, spacing: Floats, period: Floats, places: list[Floats]) -> Ints:
    """Return the code of the nearest member of a grid at every combination of places, exactly.

    A code holds a member's three numbers, 10 bits each; the metric wraps where there is a period.
    At least one node must be a member.
    """
    best: Ints = np.where(members, 0, -1)
    height: Floats = np.zeros(members.shape)
    for axis in range(3):
        best, height = _search_axis(best, height, axis, spacing, period, places)
    return best


def _search_axis(
    best: Ints, height: Floats, axis: int, spacing: Floats, period: Floats, places: list[Floats]
) -> tuple[Ints, Floats]:
    """Search along an axis for the nearest members, after the axes before it."""
    before, after = int(np.prod(best.shape[:axis])), int(np.prod(best.shape[axis + 1 :]))
    shape = (*best.shape[:axis], len(places[axis]), *best.shape[axis + 1 :])
    lines = (before, -1, after)
    out, out_height = np.empty(shape, np.int64), np.empty(shape)
    kernels.distance_field_build.nearest_in_lines(
        best.reshape(lines),
        height.reshape(lines),
        float(spacing[axis]),
        float(period[axis]),
        places[axis],
        out.reshape(lines),
        out_height.reshape(lines),
    )
    return out, out_height


def steepest(nodes: Floats, spacing: Floats, threshold: float) -> tuple[float, float]:
    """Return Lipschitz constants of Φ: in cells that meet the region, and in all others' rim."""
    squares = np.full(2, 1e-9)  # a field that is flat has no depth, but must not divide by 0
    kernels.distance_field_extent.steepest(nodes, spacing, threshold, squares)
    inside, outside = np.sqrt(squares)
    return float(inside), float(outside)
