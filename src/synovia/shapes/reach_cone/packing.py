"""The packed form of a reach cone; `kernels.reach_cone` declares its layout."""

from __future__ import annotations

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Vectors, cross
from ...kernels.layout import CONE
from ..extent import tangent_basis

MOST_BUCKETS = 4096
FINEST = 64


def pack_cone(
    points: Vectors, visible: Vectors, low: Floats, high: Floats, at_visible: tuple[float, float]
) -> Floats:
    """Return everything the kernels need, flat, with the kind first."""
    edges = edge_rows(points)
    frame = tangent_basis(visible)
    table, most = _buckets(points, frame)
    planes = slice_rows(points, visible, low, high)
    planes = planes[np.arange(len(points) + most) % len(points)]
    layout = kernels.reach_cone.HEADER
    table = layout.SIZE + planes.shape[1] * table
    side = min(max(4, 1 << int(np.ceil(np.log2(2.0 * np.sqrt(len(points)))))), FINEST)
    cells = cell_rows(edges, side)
    widths = np.append(high - low, at_visible[1] - at_visible[0])
    steep = steepest(points, visible, low, high, at_visible)
    parts = [planes.ravel(), edges.ravel(), table, cells]
    begins = layout.SIZE + np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    header = layout.pack(
        size=begins[-1],
        buckets=len(table),
        most=most,
        side=side,
        slope=1.0 / np.hypot(1.0, steep),
        free=float(widths.min() >= 2.0 * np.pi),
        visible=at_visible,
        frame=frame,
        slices=begins[0],
        edges=begins[1],
        table=begins[2],
        cells=begins[3],
        count=len(points),
    )
    return np.concatenate([[float(CONE)], header, *parts])


def slice_rows(points: Vectors, visible: Vectors, low: Floats, high: Floats) -> Floats:
    """Return for each slice the normals of its two sides and its edge, and the limits there."""
    following = np.roll(points, -1, axis=0)
    rows = np.zeros((len(points), 16))
    # Products with differences: those of a small cone's directions would lose half the digits.
    rows[:, 0:3] = cross(visible, points - visible)
    rows[:, 3:6] = np.roll(rows[:, 0:3], -1, axis=0)
    rows[:, 6:9] = cross(points, following - points)
    rows[:, 9:13] = np.stack([low, high, np.roll(low, -1), np.roll(high, -1)], axis=1)
    return rows


def edge_rows(points: Vectors) -> Floats:
    """Return for each edge its start, tangent, normal, cosine and sine of its length, end."""
    following = np.roll(points, -1, axis=0)
    normal = cross(points, following - points)
    sine = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = normal / sine
    cosine = np.sum(points * following, axis=1, keepdims=True)
    size = np.hypot(sine, cosine)
    rows = [points, cross(normal, points), normal, cosine / size, sine / size, following]
    return np.concatenate([*rows, np.zeros((len(points), 2))], axis=1)


def _buckets(points: Vectors, frame: Floats) -> tuple[Floats, int]:
    """Return the slice in which each bucket of azimuth begins, and the most vertices in one."""
    u, v = points @ frame[0], points @ frame[1]
    q = v / (np.abs(u) + np.abs(v))
    diamond = 1.0 + np.where(u >= 0.0, q, 2.0 - q)
    count = max(4, 1 << int(np.ceil(np.log2(len(points)))))
    while True:
        bucket = np.minimum(diamond * (0.25 * count), count - 1.0).astype(np.int64)
        most = int(np.bincount(bucket).max())
        if most == 1 or count >= MOST_BUCKETS:
            break
        count *= 2
    order = np.argsort(diamond, kind="stable")
    before = np.searchsorted(bucket[order], np.arange(count)) - 1
    return order[before].astype(np.float64), most


def edge_cells(edges: Floats, side: int) -> tuple[Ints, Ints]:
    """Return the edges that can be nearest in each cell of 6 · side²: starts, and their numbers."""
    starts = np.array([0, len(edges)], dtype=np.int64)
    items = np.arange(len(edges), dtype=np.int64)
    flat, coarse = np.ascontiguousarray(edges).ravel(), 0
    while True:
        fine = max(2 * coarse, 1)
        new_starts = np.empty(6 * fine * fine + 1, dtype=np.int64)
        new_items = np.empty(6 * len(items), dtype=np.int64)
        count = kernels.reach_cone.refine(flat, coarse, starts, items, new_starts, new_items)
        starts, items, coarse = new_starts, new_items[:count], fine
        if coarse >= side:
            return starts, items


def cell_rows(edges: Floats, side: int) -> Floats:
    """Return, flat, where each cell's edges are listed and how far off they are; then the lists."""
    starts, items = edge_cells(edges, side)
    clear = np.zeros(len(starts))
    kernels.reach_cone.clearances(np.ascontiguousarray(edges).ravel(), side, starts, items, clear)
    rows = np.stack([starts + 2 * len(starts), clear], axis=1)
    return np.concatenate([rows.ravel(), items])


def steepest(
    points: Vectors, visible: Vectors, low: Floats, high: Floats, at_visible: tuple[float, float]
) -> float:
    """Return a bound on how fast the twist limits change, per radian of direction.

    They are linear on the plane triangle of a slice, at distance h from the centre: a direction
    turns by at least h times the way that its point in the triangle goes.
    """
    rows = slice_rows(points, visible, low, high)
    weights = rows[:, 0:3] - rows[:, 3:6] + rows[:, 6:9]
    size = np.linalg.norm(weights, axis=1)
    depth = np.sum(rows[:, 6:9] * visible, axis=1)
    unit, worst = weights / size[:, None], 0.0
    for limits, middle in (((9, 11), at_visible[0]), ((10, 12), at_visible[1])):
        first, second = rows[:, limits[0]] - middle, rows[:, limits[1]] - middle
        # Zero at the visible point: L·g = b·first + c·second, over the triangle's plane.
        gradient = (second[:, None] * rows[:, 0:3] - first[:, None] * rows[:, 3:6]) / depth[:, None]
        gradient -= np.sum(gradient * unit, axis=1, keepdims=True) * unit
        worst = max(worst, float((np.linalg.norm(gradient, axis=1) * size / depth).max()))
    return worst
