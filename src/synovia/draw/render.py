"""A small deterministic renderer of triangles in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Mask, Vectors, cross, unit_vectors

KEY = unit_vectors(np.array([-0.45, 0.75, 0.65]))
RIM = unit_vectors(np.array([0.75, 0.35, -0.35]))
SAMPLES = 2
"""Samples per pixel each way."""
CHUNK = 1 << 21
HALF = 2
"""Samples per point of the ambient occlusion, each way."""


@dataclass(frozen=True, eq=False)
class Depths:
    """The visible triangle at each sample (-1 for none), barycentric weights and depth."""

    triangle: Ints
    weights: Floats
    depth: Floats


def render(
    vertices: Vectors,
    triangles: Ints,
    colors: Floats,
    window: tuple[float, float, float, float],
    size: tuple[int, int],
    *,
    veil: float = 1.0,
) -> Floats:
    """Return the picture (rows, columns, 4) of triangles, 0 to 1, see-through where none is.

    Vertices (n, 3) are as they are seen: x to the right, y up, z to the viewer. Colours (n, 3 or
    4) belong to them. `window` is left, right, bottom, top of what is shown; `size` the columns and
    rows in pixels. With a `veil` below 1 one sees through, the more the straighter one looks at it:
    where it faces the viewer it covers that share.
    """
    columns, rows = size[0] * SAMPLES, size[1] * SAMPLES
    left, right, bottom, top = window
    scale = np.array([columns / (right - left), rows / (top - bottom)])
    flat = (vertices[:, :2] - [left, bottom]) * scale
    seen = _rasterize(flat, vertices[:, 2], triangles, (columns, rows))
    shown = seen.triangle >= 0
    corners = triangles[seen.triangle[shown]]
    weights = seen.weights[shown]
    normal = (weights[..., None] * _normals(vertices, triangles)[corners]).sum(axis=1)
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    color = (weights[..., None] * colors[corners][..., :3]).sum(axis=1)
    light = _shade(color, normal, _hollows(seen.depth, shown, float(scale.mean()))[shown])
    picture = np.zeros((rows, columns, 4))
    picture[shown, :3] = light
    slant = 1.0 - np.abs(normal[:, 2])
    picture[shown, 3] = 1.0 if veil >= 1.0 else veil + (1.0 - veil) * 0.75 * slant**2.2
    picture[..., :3] *= picture[..., 3:]
    small = picture.reshape(size[1], SAMPLES, size[0], SAMPLES, 4).mean(axis=(1, 3))
    small[..., :3] /= np.maximum(small[..., 3:], 1e-9)
    return np.asarray(np.clip(small[::-1], 0.0, 1.0))


def _normals(vertices: Vectors, triangles: Ints) -> Vectors:
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    faces = cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, triangles[:, k], faces)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=-1, keepdims=True), 1e-30))


def _shade(color: Floats, normal: Vectors, hollow: Floats) -> Floats:
    """Return colours in the light of a sky, a key and a rim, darker in hollows."""
    sky = 0.5 + 0.5 * normal[:, 1]
    key = np.clip(normal @ KEY, 0.0, None)
    rim = np.clip(normal @ RIM, 0.0, None) * (1.0 - np.clip(normal[:, 2], 0.0, 1.0)) ** 2
    half = unit_vectors(KEY + np.array([0.0, 0.0, 1.0]))
    gloss = np.clip(normal @ half, 0.0, None) ** 28
    amount = (0.42 + 0.27 * sky + 0.52 * key) * (1.0 - 0.58 * hollow)
    return np.asarray(
        np.clip(color * amount[:, None] + (0.10 * gloss + 0.20 * rim)[:, None], 0.0, 1.0)
    )


def _hollows(depth: Floats, shown: Mask, scale: float) -> Floats:
    """Return an approximate ambient occlusion (0 to 1): depth below the mean around a sample."""
    there = shown[::HALF, ::HALF]
    base = np.where(there, depth[::HALF, ::HALF], 0.0)
    found = np.zeros(there.shape)
    for share in (0.004, 0.012, 0.03):
        reach = max(int(share * max(there.shape)), 1)
        mean = _blur(base, reach) / np.maximum(_blur(there.astype(float), reach), 1e-9)
        deep = np.clip((mean - base) * scale / HALF / (2.0 * reach + 4.0), 0.0, 1.0)
        found = np.maximum(found, deep)
    whole = np.repeat(np.repeat(found, HALF, axis=0), HALF, axis=1)
    return np.asarray(whole[: depth.shape[0], : depth.shape[1]])


def _blur(values: Floats, reach: int) -> Floats:
    """Return a box blur of `values`, applied twice."""
    for _ in range(2):
        for axis in range(2):
            padded = np.concatenate(
                [np.zeros_like(np.take(values, [0], axis)), np.cumsum(values, axis)], axis
            )
            count = values.shape[axis]
            high = np.minimum(np.arange(count) + reach + 1, count)
            low = np.maximum(np.arange(count) - reach, 0)
            values = (np.take(padded, high, axis) - np.take(padded, low, axis)) / (2 * reach + 1)
    return values


def _rasterize(flat: Floats, depth: Floats, triangles: Ints, size: tuple[int, int]) -> Depths:
    """Return the nearest triangle at each sample (rows, columns)."""
    columns, rows = size
    best = np.full(rows * columns, -np.inf)
    chosen = np.full(rows * columns, -1)
    weights = np.zeros((rows * columns, 3))
    corner = flat[triangles]
    a, b, c = corner[:, 0], corner[:, 1], corner[:, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    low = np.floor(corner.min(axis=1) - 0.5).astype(int)
    high = np.ceil(corner.max(axis=1) + 0.5).astype(int)
    faces = (area > 1e-9) & (high[:, 0] > 0) & (high[:, 1] > 0)
    faces &= (low[:, 0] < columns) & (low[:, 1] < rows)
    extent = (high - low).max(axis=1)
    sides = np.unique(np.round(2.0 * 1.25 ** np.arange(40)).astype(int))
    bucket = sides[np.minimum(np.searchsorted(sides, extent), len(sides) - 1)]
    z = depth[triangles]
    for side in np.unique(bucket[faces]):
        members = np.flatnonzero(faces & (bucket == side))
        step = max(CHUNK // int(side * side), 1)
        dx, dy = (each.reshape(-1) for each in np.meshgrid(np.arange(side), np.arange(side)))
        for start in range(0, len(members), step):
            some = members[start : start + step]
            x = low[some, 0, None] + dx
            y = low[some, 1, None] + dy
            first, second = (
                _weight(start[some], end[some], area[some], low[some], dx, dy)
                for start, end in ((b, c), (c, a))
            )
            hit = (first >= -1e-9) & (second >= -1e-9) & (first + second <= 1.0 + 1e-9)
            hit &= (x >= 0) & (y >= 0) & (x < columns) & (y < rows)
            which, where = np.nonzero(hit)
            one, two = first[which, where], second[which, where]
            share = np.stack([one, two, 1.0 - one - two], axis=-1)
            there = (share * z[some[which]]).sum(axis=-1)
            pixel = y[which, where] * columns + x[which, where]
            nearer = np.flatnonzero(there > best[pixel])
            order = nearer[np.argsort(there[nearer], kind="stable")]  # the nearest stays, the last
            pixel = pixel[order]
            best[pixel] = there[order]
            chosen[pixel] = some[which[order]]
            weights[pixel] = share[order]
    return Depths(
        chosen.reshape(rows, columns),
        weights.reshape(rows, columns, 3),
        best.reshape(rows, columns),
    )


def _weight(start: Floats, end: Floats, area: Floats, low: Ints, dx: Ints, dy: Ints) -> Floats:
    """Return the weights (k, n) of the corners opposite to edges, at the middles of points."""
    way = (end - start) / area[:, None]
    off = low + 0.5 - start
    base = way[:, 0] * off[:, 1] - way[:, 1] * off[:, 0]
    return np.asarray(base[:, None] + way[:, :1] * dy - way[:, 1:] * dx)
