"""Surfaces: triangles around a solid, or along a curve; closed, with outsides outwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from synovia.arrays import Floats, Ints, Scalars, Vectors, cross, unit_vectors

from .solid import Solid, turn


@dataclass(frozen=True, eq=False)
class Surface:
    """Vertices (n, 3), triangles (m, 3) counter-clockwise as seen from outside, and shares (n,).

    A vertex goes with one joint, and by its share, from 0 to 1, with a second one.
    """

    vertices: Vectors
    triangles: Ints
    shares: Scalars

    def place(self, placing: Floats) -> Surface:
        """Return the surface placed by a matrix (3, 4); a mirror turns its triangles."""
        vertices = self.vertices @ placing[:, :3].T + placing[:, 3]
        flipped = np.linalg.det(placing[:, :3]) < 0.0
        triangles = self.triangles[:, ::-1] if flipped else self.triangles
        return replace(self, vertices=vertices, triangles=triangles)


@dataclass(frozen=True, eq=False)
class WeightedMesh:
    """Vertices (n, 3) in the bind pose, triangles (m, 3), segments (n, 4) and weights (n, 4)."""

    vertices: Vectors
    triangles: Ints
    segments: Ints
    weights: Floats


def without_shares(vertices: Vectors, triangles: Ints) -> Surface:
    """Return a surface whose vertices all follow the first joint."""
    return Surface(vertices, triangles, np.zeros(len(vertices)))


def join_surfaces(*surfaces: Surface) -> Surface:
    """Return several surfaces as one."""
    starts = np.cumsum([0, *(len(each.vertices) for each in surfaces)])
    return Surface(
        np.concatenate([each.vertices for each in surfaces]),
        np.concatenate(
            [each.triangles + start for each, start in zip(surfaces, starts, strict=False)]
        ),
        np.concatenate([each.shares for each in surfaces]),
    )


def around(
    solid: Solid,
    cell: float | Sequence[float],
    ends: tuple[float, float] = (0, 0),
    axes: Floats | None = None,
) -> Surface:
    """Return the surface of a solid, from cells of this size, along the rows of `axes` if given.

    With `ends`, cells along y grow from `cell` at either end of the solid, where they stay so over
    that length, to three times as much between.
    """
    if axes is not None:
        made = around(turn(solid, axes), cell, ends)
        return replace(made, vertices=made.vertices @ axes)
    sizes = np.broadcast_to(np.asarray(cell, dtype=float), 3)
    lines = [
        _ticks(low - 1.5 * size, high + 1.5 * size, size, ends if axis == 1 else (0, 0))
        for axis, (low, high, size) in enumerate(zip(solid.low, solid.high, sizes, strict=True))
    ]
    return along_grid(solid, lines)


def along_grid(solid: Solid, lines: Sequence[Floats]) -> Surface:
    """Return the surface of a solid, from the cells between lines across x, y and z."""
    surface = _net(lines, _sample(solid, lines))
    sizes = np.array([np.diff(line).min() for line in lines])
    step = 0.02 * float(sizes.min())
    vertices = surface.vertices
    for _ in range(2):
        slope = np.stack(
            [
                (solid.distance(vertices + axis) - solid.distance(vertices - axis)) / (2.0 * step)
                for axis in step * np.eye(3)
            ],
            axis=-1,
        )
        square = np.maximum((slope * slope).sum(axis=-1), 0.1)
        way = -(solid.distance(vertices) / square)[:, None] * slope
        far = np.linalg.norm(way, axis=-1, keepdims=True)
        most = 0.4 * float(sizes.min())
        vertices = vertices + way * np.minimum(1.0, most / np.maximum(far, 1e-9))
    return replace(surface, vertices=vertices)


COARSE = 4
"""Step of the coarse grid; finer values are computed near the surface only."""


def _sample(solid: Solid, lines: Sequence[Floats]) -> Floats:
    """Return a solid's distances on a grid; far from the surface only their signs are right."""
    few = [np.append(line[::COARSE], line[-1]) for line in lines]
    grid = np.stack(np.meshgrid(*few, indexing="ij"), axis=-1)
    rough = solid.distance(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    nearest = [(np.arange(len(line)) + COARSE // 2) // COARSE for line in lines]
    every = rough[np.ix_(*nearest)]
    reach = 0.5 * COARSE * float(np.linalg.norm([np.diff(line).max() for line in lines]))
    near = np.argwhere(np.abs(every) < 1.1 * reach)
    points = np.stack([line[near[:, axis]] for axis, line in enumerate(lines)], axis=-1)
    every[tuple(near.T)] = solid.distance(points)
    return every


def _ticks(low: float, high: float, cell: float, ends: tuple[float, float]) -> Floats:
    if not any(ends):
        return np.linspace(low, high, max(int(np.ceil((high - low) / cell)), 2) + 1)
    ticks = [low]
    while ticks[-1] < high:
        inner = min(ticks[-1] - low - ends[0], high - ends[1] - ticks[-1])
        ticks.append(ticks[-1] + cell * float(np.clip(1.0 + 0.12 * inner / cell, 1.0, 3.0)))
    return np.array(ticks)


def _net(lines: Sequence[Floats], values: Floats) -> Surface:
    """Return the triangles of the zero level of a grid, with a vertex a cell (surface nets)."""
    shape = tuple(size - 1 for size in values.shape)
    sums, counts = np.zeros((*shape, 3)), np.zeros(shape)
    inside = values < 0.0
    quads = []
    number = np.arange(int(np.prod(shape))).reshape(shape)
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        first = [slice(None)] * 3
        second = [slice(None)] * 3
        first[axis], second[axis] = slice(None, -1), slice(1, None)
        a, b = values[tuple(first)], values[tuple(second)]
        at = np.argwhere(inside[tuple(first)] != inside[tuple(second)])
        share = a[tuple(at.T)] / (a[tuple(at.T)] - b[tuple(at.T)])
        place = np.stack([lines[k][at[:, k]] for k in range(3)], axis=-1)
        step = np.diff(lines[axis])
        place[:, axis] += share * step[at[:, axis]]
        around_edge = []
        for du, dv in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = at.copy()
            cell[:, u] += du
            cell[:, v] += dv
            np.add.at(sums, tuple(cell.T), place)
            np.add.at(counts, tuple(cell.T), 1.0)
            around_edge.append(number[tuple(cell.T)])
        quad = np.stack(around_edge, axis=-1)
        outwards = inside[tuple(first)][tuple(at.T)]
        quads.append(np.where(outwards[:, None], quad, quad[:, ::-1]))
    every = np.concatenate(quads)
    used = np.flatnonzero(counts.reshape(-1))
    place_of = np.zeros(counts.size, dtype=int)
    place_of[used] = np.arange(len(used))
    vertices = sums.reshape(-1, 3)[used] / counts.reshape(-1, 1)[used]
    corner = place_of[every]
    # Each quad is cut along its shorter diagonal.
    p = vertices[corner]
    short = np.linalg.norm(p[:, 0] - p[:, 2], axis=-1) <= np.linalg.norm(p[:, 1] - p[:, 3], axis=-1)
    one = np.where(short[:, None], corner[:, [0, 1, 2]], corner[:, [0, 1, 3]])
    two = np.where(short[:, None], corner[:, [0, 2, 3]], corner[:, [1, 2, 3]])
    return without_shares(vertices, np.concatenate([one, two]))


def curve_through(points: ArrayLike, count: int) -> Vectors:
    """Return `count` points (count, 3) of a smooth curve through points (n, 3), evenly spaced."""
    p = np.asarray(points, dtype=float)
    knots = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=-1) ** 0.5)])
    steps = np.diff(knots)
    n = len(p)
    # A natural cubic spline: its second derivatives solve a band of equations.
    system, right = np.eye(n), np.zeros((n, p.shape[1]))
    slopes = np.diff(p, axis=0) / steps[:, None]
    for k in range(1, n - 1):
        system[k, k - 1 : k + 2] = steps[k - 1], 2.0 * (steps[k - 1] + steps[k]), steps[k]
        right[k] = 6.0 * (slopes[k] - slopes[k - 1])
    bends = np.linalg.solve(system, right)

    def at(t: Floats) -> Vectors:
        k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, n - 2)
        h, x = steps[k, None], (t - knots[k])[:, None]
        y = h - x
        return np.asarray(
            (bends[k] * y**3 + bends[k + 1] * x**3) / (6.0 * h)
            + (p[k] / h - bends[k] * h / 6.0) * y
            + (p[k + 1] / h - bends[k + 1] * h / 6.0) * x
        )

    dense = at(np.linspace(0.0, knots[-1], 400))
    run = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=-1))])
    even = np.interp(np.linspace(0.0, run[-1], count), run, np.linspace(0.0, knots[-1], 400))
    return at(even)


def sweep(
    path: Vectors, wide: ArrayLike, thick: ArrayLike, across: Vectors, *, sides: int = 8
) -> Surface:
    """Return the surface of an oval drawn along a path (n, 3), with round ends.

    It is `wide` along `across` (3,) or (n, 3), made square to the path, and `thick` the other way;
    both are half widths, (n,) or one for all.
    """
    along = unit_vectors(np.gradient(path, axis=0))
    side = across - (across * along).sum(axis=-1, keepdims=True) * along
    side = unit_vectors(side)
    other = cross(along, side)
    count = len(path)
    a, b = (np.broadcast_to(np.asarray(each, dtype=float), count) for each in (wide, thick))
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rings = (
        path[:, None]
        + (a[:, None] * np.cos(angles))[..., None] * side[:, None]
        + (b[:, None] * np.sin(angles))[..., None] * other[:, None]
    )
    tips = np.stack(
        [path[0] - 0.6 * min(a[0], b[0]) * along[0], path[-1] + 0.6 * min(a[-1], b[-1]) * along[-1]]
    )
    vertices = np.concatenate([rings.reshape(-1, 3), tips])
    k, i = np.meshgrid(np.arange(count - 1), np.arange(sides), indexing="ij")
    j = (i + 1) % sides
    p, q, r, s = (sides * m + n for m, n in ((k, i), (k, j), (k + 1, j), (k + 1, i)))
    walls = np.concatenate(
        [np.stack([p, q, r], -1).reshape(-1, 3), np.stack([p, r, s], -1).reshape(-1, 3)]
    )
    ring, after = np.arange(sides), (np.arange(sides) + 1) % sides
    first, last = np.full(sides, count * sides), np.full(sides, count * sides + 1)
    caps = np.concatenate(
        [
            np.stack([first, after, ring], -1),
            np.stack([last, sides * (count - 1) + ring, sides * (count - 1) + after], -1),
        ]
    )
    return without_shares(vertices, np.concatenate([walls, caps]))
