"""The packed form of a distance field: nodes, steepest slopes, nearest sites."""

from __future__ import annotations

from collections.abc import Sequence
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


SLAB = 6  # cells of the third axis that sites are looked for in at a time
BEYOND = 2.0 * np.pi  # radians around the box in which sites are looked up


def pack_values(
    low: Floats, spacing: Floats, nodes: Floats, threshold: float, wraps: Mask
) -> Floats:
    """Return the field, flat, as `kernels.field` reads it, without its kind and without sites.

    `nodes` are closed.
    """
    layout = kernels.distance_field
    period = np.where(wraps, spacing * (np.array(nodes.shape) - 1), 0.0)
    header = np.zeros(layout.HEADER)
    inside, outside = steepest(nodes, spacing, threshold)
    header[: layout.LOW] = threshold, inside, outside, 0.5 * float(np.linalg.norm(spacing))
    turns = np.divide(1.0, period, out=np.zeros(3), where=wraps)
    header[layout.LOW : layout.KNOTS] = [*low, *spacing, *period, *turns, *nodes.shape]
    header[layout.VALUES] = layout.HEADER
    return np.concatenate([header, nodes.ravel()])


def with_sites(packed: Floats, wraps: Mask, beyond: float = BEYOND) -> Floats:
    """Return what `pack_values` gave, with the sites, which only projections need.

    They are looked up at once as far as `beyond` radians from the box; farther off it takes longer.
    """
    layout = kernels.distance_field
    header = packed[: layout.HEADER].copy()
    threshold = float(header[layout.THRESHOLD])
    spacing, period, count = header[layout.SPACING : layout.TURNS + 6].reshape(-1, 3)[[0, 1, 3]]
    nodes = packed[layout.HEADER :].reshape(count.astype(int))
    members = add_midpoints(nodes, wraps) <= threshold
    knots = [
        _knots(n - 1, h, bool(w), beyond)
        for n, h, w in zip(nodes.shape, spacing, wraps, strict=True)
    ]
    axes = [places for places, _ in knots]
    starts, sites, blocks = _blocks(members, wraps, layout.SIDE, layout.SHIFT)
    middles: list[Floats] = [0.5 * (places[1:] + places[:-1]) for places in axes]
    (features, _), (_, middle) = _features(
        nodes, threshold, spacing, period, wraps, (axes, middles)
    )
    excess = np.empty(features.shape)
    steps = spacing / layout.PARTS
    kernels.distance_field_packing.greatest_excess(features, middle, *axes, steps, period, excess)
    near, excess_step = _share_numbers(features, excess, layout.EXCESSES)
    halves = [_halves(places, h) for places, h in zip(axes, spacing, strict=True)]
    strides = np.array([features[0].size, features[0, 0].size, 1.0])
    by_half = [stride * knot for stride, (knot, _) in zip(strides, halves, strict=True)]
    tables = [*axes, near, starts, sites, *by_half]
    first = len(packed) + np.cumsum([0, *map(len, tables)])
    header[layout.KNOTS : layout.VALUES] = [
        *map(len, axes),
        *(before for _, before in knots),
        *blocks,
    ]
    header[layout.PLACES :] = [
        *first[[0, 3]],
        excess_step,
        *first[4:9],
        *(below for _, below in halves),
        *(len(knot) - 1 for knot, _ in halves),
    ]
    return np.concatenate([header, nodes.ravel(), *tables])


def _share_numbers(features: Ints, excess: Floats, count: float) -> tuple[Floats, float]:
    """Return codes of sites and excesses in one number each, and the step of excesses, rounded up.

    An excess that is not known has the last of `count` steps.
    """
    known = excess < kernels.distance_field.UNKNOWN
    step = max(float(excess.max(where=known, initial=0.0)), 1e-30) / (count - 2.0)
    steps = np.where(known, np.ceil(np.maximum(excess, 0.0) / step), count - 1.0)
    return (count * features + steps).ravel(), step


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


def _features(
    nodes: Floats,
    threshold: float,
    spacing: Floats,
    period: Floats,
    wraps: Mask,
    wanted: Sequence[list[Floats]],
) -> list[tuple[Ints, Floats]]:
    """Return, for each list of places wanted, the codes of the nearest sites, and squares.

    The first two axes go slab by slab of the third: whole, they would not fit a cache, and new
    memory takes longer to get than to fill.
    """
    parts = kernels.distance_field.PARTS
    steps = spacing / parts
    fine = [parts * (n - 1) + int(not wrap) for n, wrap in zip(nodes.shape, wraps, strict=True)]
    first = np.concatenate([places[0] for places in wanted])
    ends = np.cumsum([len(places[0]) for places in wanted])
    found = []
    for places in wanted:
        shape = (len(places[0]), len(places[1]), fine[2])
        found.append((np.empty(shape, np.int64), np.empty(shape)))
    best, height = np.empty((0, 0, 0), np.int64), np.empty((0, 0, 0))
    for start in range(0, nodes.shape[2] - 1, SLAB):
        slab = np.ascontiguousarray(nodes[:, :, start : start + SLAB + 1])
        last = start + SLAB >= nodes.shape[2] - 1
        lines = slice(parts * start, fine[2] if last else parts * (start + SLAB))
        shape = (len(first), fine[1], lines.stop - lines.start)
        if shape != best.shape:
            best, height = np.empty(shape, np.int64), np.empty(shape)
        kernels.distance_field_packing.member_lines(
            slab, threshold, parts, float(spacing[0]), float(period[0]), first, best, height
        )
        for places, end, (codes, squares) in zip(wanted, ends, found, strict=True):
            own = slice(end - len(places[0]), end)
            kernels.distance_field_packing.nearest_in_lines(
                *(best[own], height[own], float(steps[1]), float(period[1]), places[1]),
                *(lines.start, codes, squares),
            )
    return [
        _search_axis(codes, squares, 2, steps, period, places)
        for places, (codes, squares) in zip(wanted, found, strict=True)
    ]


def _search_axis(
    best: Ints, height: Floats, axis: int, spacing: Floats, period: Floats, places: list[Floats]
) -> tuple[Ints, Floats]:
    """Search along an axis for the nearest members, after the axes before it."""
    before, after = int(np.prod(best.shape[:axis])), int(np.prod(best.shape[axis + 1 :]))
    shape = (*best.shape[:axis], len(places[axis]), *best.shape[axis + 1 :])
    lines = (before, -1, after)
    out, out_height = np.empty(shape, np.int64), np.empty(shape)
    kernels.distance_field_packing.nearest_in_lines(
        best.reshape(lines),
        height.reshape(lines),
        float(spacing[axis]),
        float(period[axis]),
        places[axis],
        0,
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


def _knots(cells: int, h: float, wrap: bool, beyond: float) -> tuple[Floats, int]:
    """Return places for looking sites up along an axis, from the box's corner, and those below 0.

    In the box they are its nodes; around it they are at 1, 4, 9, … cells: d away from a site, knots
    √(d h) apart tell distances to a share of a cell h.
    """
    inner = h * np.arange(cells + 1)
    if wrap:
        return inner, 0
    outer = h * np.arange(1.0, 2.0 + np.sqrt(beyond / h)) ** 2
    return np.concatenate([-outer[::-1], inner, inner[-1] + outer]), len(outer)


def _halves(places: Floats, h: float) -> tuple[Ints, int]:
    """Return the number of the nearest of the places for each half cell, and the halves below 0.

    The middles between neighbours are multiples of half a cell.
    """
    first, last = int(np.rint(2.0 * places[0] / h)), int(np.rint(2.0 * places[-1] / h))
    between = 0.5 * (places[1:] + places[:-1])
    return np.searchsorted(between, (np.arange(first, last) + 0.5) * (0.5 * h)), -first


def _blocks(members: Mask, wraps: Mask, side: int, shift: int) -> tuple[Floats, Floats, list[int]]:
    """Return the sites on the rim of the region, block by block, and where each block starts."""
    deep: Mask = members
    for axis, wrap in enumerate(wraps):
        along = np.asarray(np.moveaxis(deep, axis, 0))
        ends = [along[-1:], along[:1]] if wrap else [np.zeros_like(along[:1])] * 2
        wide = np.concatenate([ends[0], along, ends[1]])
        deep = np.moveaxis(wide[:-2] & wide[1:-1] & wide[2:], 0, axis)
    rim = np.argwhere(members & ~np.asarray(deep))
    count = [-(-n // side) for n in members.shape]
    block = np.asarray(np.ravel_multi_index(tuple((rim // side).T), count))
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(np.sort(block), np.arange(np.prod(count) + 1))
    codes = (rim[:, 0] << (2 * shift)) | (rim[:, 1] << shift) | rim[:, 2]
    return starts.astype(np.float64), codes[order].astype(np.float64), [int(n) for n in count]
