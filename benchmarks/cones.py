"""Measure reach cones relative to a copy of the data, and to a scan over all slices.

python benchmarks/cones.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
from timing import best

from synovia import DirectionTwist, Limit, ReachCone, kernels
from synovia.kernels.jit import kernel
from synovia.native.build import load_outside
from synovia.shapes.reach_cone.star import slice_rows

ROTATIONS = 200_000


def shoulder(vertices):
    """Return a star-shaped cone about z with this number of vertices."""
    rng = np.random.default_rng(vertices)
    around = 2.0 * np.pi * (np.arange(vertices) + 0.5 * rng.random(vertices)) / vertices
    out = rng.uniform(0.6, 1.2, vertices)
    points = [np.sin(out) * np.cos(around), np.sin(out) * np.sin(around), np.cos(out)]
    low, high = rng.uniform(-2.0, -1.0, vertices), rng.uniform(0.5, 2.0, vertices)
    return ReachCone(np.stack(points, axis=1), low, high)


@kernel("f8[,] f8[,] f8 f8 f8[] f8[,]")
def scan(directions, planes, middle_low, middle_high, heights, ranges):
    """Test one slice after the other, as in the paper."""
    for i in range(heights.shape[0]):
        x, y, z = directions[i, 0], directions[i, 1], directions[i, 2]
        for k in range(planes.shape[0]):
            row = planes[k]
            q = row[0] * x + row[1] * y + row[2] * z
            w = -(row[3] * x + row[4] * y + row[5] * z)
            if q >= 0.0 and w > 0.0:
                v = row[6] * x + row[7] * y + row[8] * z
                heights[i] = v
                whole = q + w + v
                ranges[i, 0] = (v * middle_low + w * row[9] + q * row[11]) / whole
                ranges[i, 1] = (v * middle_high + w * row[10] + q * row[12]) / whole
                break


def line(vertices):
    """Return the times for a cone with this number of vertices."""
    rng, cone = np.random.default_rng(0), shoulder(vertices)
    limit = Limit(DirectionTwist(), cone)
    legal = limit.sample(ROTATIONS // 2, rng)
    anything = rng.normal(size=(2 * ROTATIONS, 4))
    anything /= np.linalg.norm(anything, axis=1, keepdims=True)
    outside = anything[~limit.contains(anything)][: ROTATIONS // 2]
    rotations = rng.permutation(np.concatenate([legal, outside]))
    out = np.empty_like(rotations)
    directions = np.ascontiguousarray(limit.chart.points(rotations)[:, :3])
    slices, heights = np.empty(ROTATIONS, np.int64), np.empty(ROTATIONS)
    ranges, flat = np.empty((ROTATIONS, 2)), directions.ravel()
    planes = slice_rows(cone.points, cone.visible, cone.low, cone.high)
    ends = cone.visible_low, cone.visible_high
    scanned = load_outside(sys.modules[__name__]).__main___scan
    runs = [
        lambda: np.copyto(out, rotations),
        lambda: limit.project(rotations),
        lambda: kernels.reach_cone.locate(flat, cone.packed, slices, heights, ranges.ravel()),
        lambda: scanned(directions, planes, *ends, heights, ranges),
    ]
    took = [1e9 * best(run) / ROTATIONS for run in runs]
    build = min(_built(cone) for _ in range(5))
    return "".join(f"{t:>10.1f} ns" for t in took) + f"{1e3 * build:>10.1f} ms"


def main():
    """Print the table."""
    titles = ("copy", "project", "locate", "by a scan", "tables")
    print("vertices".ljust(10) + "".join(f"{title:>13}" for title in titles))
    for vertices in (8, 25, 200):
        print(f"{vertices:<10}{line(vertices)}")


def _built(cone):
    start = time.perf_counter()
    _ = ReachCone(cone.points, cone.low, cone.high, cone.visible).packed
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
