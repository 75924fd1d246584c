"""Distance fields of many sorts, and slow plain answers about them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.spatial import cKDTree

from oracles import EXHAUSTIVE
from synovia.edit import add_sample, pull, push
from synovia.shapes import DistanceField
from synovia.shapes.mesh import shape_surface

EULER = (2.0 * np.pi, 0.0, 2.0 * np.pi)
FIELDS = (
    "sparse",
    "dense",
    "one",
    "line",
    "islands",
    "shell",
    "filled",
    "sculpted",
    "random",
    "coarse",
)
WRAPPED = ("euler", "seam", "random wrapped", "coarse euler")
CUT_OFF = ("cut off",)
ALL = FIELDS + WRAPPED + CUT_OFF
FEW = ALL if EXHAUSTIVE else ("dense", "one", "islands", "shell", "sculpted", "seam", *CUT_OFF)


@cache
def field(kind):
    rng = np.random.default_rng(3)
    normal = rng.normal(size=(200, 3))
    sphere = rng.normal(size=(800, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    cloud = normal * [0.5, 0.3, 0.2]
    line = np.linspace(-1.0, 1.0, 60)[:, None] * [1.0, 0.2, 0.3]
    if kind in ("random", "random wrapped", "cut off"):
        plain = DistanceField.fit(cloud, resolution=14)
        values = np.random.default_rng(5).normal(size=(9, 8, 10))
        spacing = np.array([0.2, 0.3, 0.25])
        if kind == "random":
            return DistanceField(plain.low, spacing, values, -0.8)
        if kind == "cut off":
            return replace(plain, threshold=1.0)
        spacing = np.array([2.0 * np.pi / 9, 0.3, 2.0 * np.pi / 10])
        return DistanceField([-np.pi, 0.4, -np.pi], spacing, values, -0.8, [1.0, 0.0, 1.0])
    fit = DistanceField.fit
    made = {
        "sparse": lambda: fit(cloud, resolution=24),
        "dense": lambda: fit(0.3 * rng.normal(size=(3000, 3)), resolution=24),
        "one": lambda: fit(cloud[:1]),
        "line": lambda: fit(line, resolution=20),
        "islands": lambda: fit(np.concatenate([0.2 * cloud + 0.8, 0.2 * cloud - 0.8])),
        "shell": lambda: fit(0.6 * sphere, resolution=20, closing=0.0),
        "filled": lambda: fit(0.6 * sphere, resolution=20),
        "sculpted": lambda: pull(
            push(add_sample(fit(cloud, resolution=20), [0.0, 0.9, 0.0]), [0.9, 0, 0], 0.5, 0.2),
            [-0.5, 0.0, 0.0],
            0.4,
            0.3,
        ),
        "euler": lambda: fit(cloud + np.array([0.0, 1.5, 0.0]), resolution=24, periods=EULER),
        "coarse": lambda: fit(cloud, resolution=8),
        "coarse euler": lambda: fit(
            0.5 * cloud + np.array([0.0, 1.5, 0.0]), resolution=8, periods=EULER
        ),
        "seam": lambda: fit(cloud + np.array([3.1, 1.5, -3.1]), resolution=24, periods=EULER),
    }[kind]
    return made()


def queries(shape, n=3000, seed=11):
    """Points in the box, around it and far away, and some right at the boundary."""
    rng = np.random.default_rng(seed)
    low, high = shape.bounds
    near = rng.uniform(low - 0.4, high + 0.4, size=(n, 3))
    far = 4.0 * rng.normal(size=(n // 3, 3))
    rim = shape_surface(shape).vertices
    rim = rim[rng.integers(len(rim), size=n // 3)]
    beside = rim + 10.0 ** rng.uniform(-12, -1, size=(len(rim), 1)) * rng.normal(size=rim.shape)
    return np.concatenate([near, far, shape.scatter(n // 3, rng), rim, beside])


def value(shape, points):
    """Φ by plain trilinear interpolation, one point at a time; ∞ outside the box."""
    count = np.array(shape.values.shape)
    out = np.empty(len(points))
    for row, point in enumerate(points):
        cell = (point - shape.low) / shape.spacing
        cell = np.where(shape.wraps == 1.0, np.mod(cell, count), cell)
        if ((cell < 0.0) | (cell > count - 1.0))[shape.wraps == 0.0].any():
            out[row] = np.inf
            continue
        below = np.clip(np.floor(cell), 0, np.where(shape.wraps == 1.0, count, count - 2))
        below, total = below.astype(int), 0.0
        for corner in np.ndindex(2, 2, 2):
            share = np.where(np.array(corner) == 1, cell - below, 1.0 - (cell - below))
            at = below + np.array(corner)
            at = np.where(shape.wraps == 1.0, at % count, at)
            total += share.prod() * shape.values[tuple(at)]
        out[row] = total
    return out


@cache
def members(kind, parts=5):
    """Many members of a field, every image of those that wrap."""
    shape = field(kind)
    axes = [
        low + spacing / parts * np.arange(parts * (n if wrap else n - 1) + 1)
        for low, spacing, n, wrap in zip(
            shape.low, shape.spacing, shape.values.shape, shape.wraps, strict=True
        )
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[shape.value(points) <= shape.threshold]
    points = np.concatenate([points, shape.project(shape_surface(shape, 3).vertices)])
    for axis in np.flatnonzero(shape.wraps):
        shift = np.eye(3)[axis] * shape.periods[axis]
        points = np.concatenate([points - shift, points, points + shift])
    return points


def nearest_distance(kind, points):
    """How far the nearest of many members is: a little more than the nearest of all."""
    shape = field(kind)
    wrapped = shape.moves(np.asarray(shape.low + 0.5 * shape.periods), points)
    inside = shape.low + 0.5 * shape.periods + wrapped
    return cKDTree(members(kind)).query(np.where(shape.wraps == 1.0, inside, points))[0]
