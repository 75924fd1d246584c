"""The packed form of a distance field: nodes, steepest slopes, nearest sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
BEYOND = np.pi  # radians around the box in which sites are looked up
STRIDES = 1.05 ** np.arange(25)  # cells between two knots in the box
SIZE, USUAL_NODES, SIZE_A_NODE = 300_000, 36_000, 16
"""Bytes that a packed field has at most, up to so many nodes; and for each node more."""
SPARE = 50  # numbers of 4 bytes: chart and frames of a limit
FEWEST_BITS = 7  # for levels of excess


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
    header[layout.LOW : layout.INNER] = [*low, *spacing, *period, *turns, *nodes.shape]
    header[layout.VALUES] = layout.HEADER
    return np.concatenate([header, halves(nodes, np.float32)])


def with_sites(packed: Floats, wraps: Mask) -> Floats:
    """Return what `pack_values` gave, with the sites, which only projections need.

    They are looked up at once as far as `BEYOND` radians from the box; farther off it takes longer.
    """
    layout = kernels.distance_field
    header = packed[: layout.HEADER].copy()
    threshold = float(header[layout.THRESHOLD])
    spacing, period = header[layout.SPACING : layout.TURNS].reshape(2, 3)
    nodes = _nodes_of(packed)
    starts, sites, blocks = _blocks(nodes, threshold, wraps)
    room = SIZE + SIZE_A_NODE * max(nodes.size - USUAL_NODES, 0) - packed.nbytes - starts.nbytes
    knots = _knots(nodes.shape, spacing, wraps, room // 4 - sites.size - SPARE)
    axes = [each.places for each in knots]
    middles: list[Floats] = [0.5 * (places[1:] + places[:-1]) for places in axes]
    corners: list[Floats] = [h * np.arange(n) for n, h in zip(nodes.shape, spacing, strict=True)]
    (features, _), (_, middle), (_, square) = _features(
        nodes, threshold, spacing, period, wraps, (axes, middles, corners)
    )
    excess = np.empty(features.shape)
    steps = spacing / layout.PARTS
    kernels.distance_field_packing.greatest_excess(features, middle, *axes, steps, period, excess)
    overstated = _greatest_around(nodes - threshold - np.sqrt(square), knots, spacing)
    near, numbers = _share_numbers(features, excess, overstated, knots)
    tables = [near, starts, halves(sites, np.int32)]
    header[layout.INNER : layout.BLOCKS] = np.transpose(
        [(each.inner, each.outer, each.stride) for each in knots]
    ).ravel()
    header[layout.BLOCKS : layout.VALUES] = blocks
    header[layout.FEATURES : layout.WIDE] = len(packed) + np.cumsum([0, *map(len, tables[:-1])])
    header[layout.WIDE :] = numbers
    return np.concatenate([header, packed[layout.HEADER :], *tables])


def with_few_sites(packed: Floats, wraps: Mask) -> Floats:
    """Return what `pack_values` gave, with the sites of `with_sites` but no knots: soon made.

    For each point that is projected all sites are looked at.
    """
    layout = kernels.distance_field
    header = packed[: layout.HEADER].copy()
    starts, sites, blocks = _blocks(_nodes_of(packed), float(header[layout.THRESHOLD]), wraps)
    header[layout.BLOCKS : layout.VALUES] = blocks
    header[layout.STARTS], header[layout.SITES] = len(packed), len(packed) + len(starts)
    return np.concatenate([header, packed[layout.HEADER :], starts, halves(sites, np.int32)])


def _nodes_of(packed: Floats) -> Floats:
    """Return the node values that `pack_values` packed."""
    layout = kernels.distance_field
    shape = packed[layout.NODES : layout.NODES + 3].astype(int)
    values = packed[layout.HEADER :].view(np.float32)[: shape.prod()]
    return np.asarray(values.reshape(shape).astype(np.float64))


def halves(numbers: Floats | Ints, kind: type) -> Floats:
    """Return numbers of 4 bytes, two in each float64 of the buffer."""
    flat = np.zeros(-(-numbers.size // 2))
    flat.view(kind)[: numbers.size] = numbers.ravel()
    return flat


def _greatest_around(values: Floats, knots: list[Knots], spacing: Floats) -> Floats:
    """Return the greatest value, or 0, at a corner of any cell that each knot in the box is for."""
    for axis, (each, h) in enumerate(zip(knots, spacing, strict=True)):
        along, middle = np.moveaxis(values, axis, 0), np.arange(each.inner + 1.0)
        first = np.floor((middle - 0.5) * each.stride / h - 1e-9).astype(int)
        last = np.ceil((middle + 0.5) * each.stride / h + 1e-9).astype(int)
        most = [along[max(a, 0) : b + 1].max(axis=0) for a, b in zip(first, last, strict=True)]
        values = np.moveaxis(np.stack(most), 0, axis)
    return np.maximum(values, 0.0)


def _share_numbers(
    features: Ints, excess: Floats, overstated: Floats, knots: list[Knots]
) -> tuple[Floats, list[float]]:
    """Return sites and levels in one number each, packed, and what is told of them in the header.

    A level is the least that tells no less than `excess`, of knots beyond the box, or than what is
    `overstated`, of those in it; the last level is for what is not known. Where 31 bits would leave
    too few levels, numbers take a float64.
    """
    low = (1 << 10) - 1
    x, y, z = features >> 20, (features >> 10) & low, features & low
    shift, wide = int(max(x.max(), y.max(), z.max())).bit_length(), False
    bits = min(31 - 3 * shift, 22)
    if bits < FEWEST_BITS:
        shift, bits, wide = 10, 22, True
    most = (1 << bits) - 2.0
    box = tuple(slice(each.outer, each.outer + each.inner + 1) for each in knots)
    known = excess < kernels.distance_field.UNKNOWN
    known[box] = True
    rise = max(float(overstated.max()), 1e-30) / most
    excess[box] = 0.0
    step = max(float(excess.max(where=known, initial=0.0)), 1e-30) / most**2
    level = np.sqrt(np.maximum(excess, 0.0) / step)
    level[box] = overstated / rise
    level = np.minimum(np.ceil(level * (1.0 + 1e-12)), most)
    numbers = np.where(known, level, most + 1.0).astype(np.int64)
    numbers |= ((((x << shift) | y) << shift) | z) << bits
    told = [float(wide), float(1 << shift), most + 2.0, step, rise]
    return numbers.ravel().astype(np.float64) if wide else halves(numbers, np.int32), told


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


@dataclass(frozen=True)
class Knots:
    """Where sites are looked up along an axis: `inner` intervals in the box, `outer` knots beyond.

    See `kernels.distance_field.place_of` for where they are, from the box's corner.
    """

    inner: int
    outer: int
    stride: float

    @property
    def places(self) -> Floats:
        """The knots, in radians from the box's corner."""
        away = np.arange(1.0, self.outer + 1.0) ** 2
        inside = np.arange(self.inner + 1.0)
        return self.stride * np.concatenate([-away[::-1], inside, self.inner + away])


def _knots(count: tuple[int, ...], spacing: Floats, wraps: Mask, most: int) -> list[Knots]:
    """Return knots on to `BEYOND` radians around the box, as dense as there is room for `most`.

    Where even the sparsest are too many, they do not reach as far.
    """
    found: list[Knots] = []
    for k in range(len(STRIDES) + 20):
        cells, far = STRIDES[min(k, len(STRIDES) - 1)], BEYOND * 0.5 ** max(k - len(STRIDES), 0)
        found = []
        for n, h, wrap in zip(count, spacing, wraps, strict=True):
            inner = max(int(np.ceil((n - 1) / cells)), 2 if wrap else 1)
            stride = (n - 1) * h / inner
            outer = 0 if wrap else 1 + int(np.ceil(np.sqrt(max(far / stride, 1.0))))
            found.append(Knots(inner, outer, stride))
        if np.prod([each.inner + 2 * each.outer + 1 for each in found]) <= most:
            break
    return found


def _blocks(nodes: Floats, threshold: float, wraps: Mask) -> tuple[Floats, Ints, list[int]]:
    """Return the sites on the rim of the region, block by block, and where each block starts."""
    layout, kernel = kernels.distance_field, kernels.distance_field_packing
    fine = [2 * n - 1 - int(wrap) for n, wrap in zip(nodes.shape, wraps, strict=True)]
    members = np.empty(fine, np.int64)
    kernel.halved_members(nodes, threshold, members)
    numbers = np.empty(members.size, np.int64)
    found = kernel.rim_members(members, wraps.astype(np.int64), numbers)
    rim = np.stack(np.unravel_index(numbers[:found], fine))
    count = [-(-n // layout.SIDE) for n in fine]
    block = np.asarray(np.ravel_multi_index(tuple(rim // layout.SIDE), count))
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(np.prod(count) + 1))
    codes = (rim[0] << (2 * layout.SHIFT)) | (rim[1] << layout.SHIFT) | rim[2]
    return starts.astype(np.float64), codes[order], count
