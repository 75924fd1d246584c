"""Measure distance fields: speed relative to a copy, the paper's Table I, and its parameters.

The source says that poses stall or jitter below 16 nodes a side and below a threshold of 0.2. Here
that is measured: how many points two of its steps leave above the threshold, how far neighbours on
smooth paths are thrown apart, and how much longer corrections are than they need to be.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.spatial import cKDTree
from timing import best

from synovia import DistanceField, EulerZYZ, Limit, RotationVector, kernels, quat
from synovia.arrays import tolerance
from synovia.edit import push
from synovia.shapes.distance_field.grid import sample_distance
from synovia.shapes.mesh import shape_surface

COUNT = 1_000_000
BAR = 25  # copies, at 32³
SOURCE = {8: (0.21, 4.0), 16: (1.34, 32.7), 32: (8.30, 262.0)}  # seconds for 30 joints, kB


def jumping(rng: np.random.Generator, n: int = 200) -> np.ndarray:
    """Return rotation vectors of a smooth motion."""
    t = np.linspace(0.0, 1.0, n)[:, None]
    phase, pace = rng.uniform(0.0, 2.0 * np.pi, (2, 3)), rng.integers(1, 4, (2, 3))
    waves = np.sin(2.0 * np.pi * pace[:, None] * t + phase[:, None])
    return 0.5 * waves[0] + 0.2 * waves[1]


def speed(rng: np.random.Generator) -> None:
    cloud = rng.normal(size=(COUNT, 3)) * (0.9, 0.7, 0.5)
    rotations = quat.exp(cloud)
    flat, out = rotations.reshape(-1), np.empty(rotations.size)
    copy = best(lambda: np.copyto(out, flat))
    print(f"a copy takes {copy / COUNT * 1e9:.1f} ns a rotation")
    print(f"{'grid':<22}{'outside':>8}{'ns':>8}{'copies':>8}{'bar':>6}{'pack ms':>9}{'MB':>7}")
    for name, chart in (("rotation-vector", RotationVector()), ("euler", EulerZYZ())):
        for resolution in (32, 64):
            around = chart.points(quat.exp(0.4 * cloud[:50_000]))
            shape = DistanceField.fit(
                around, resolution=resolution, threshold=2.0, periods=chart.periods
            )
            limit = Limit(chart, shape)
            start = time.perf_counter()
            packed = limit.packed
            pack = time.perf_counter() - start
            slack = tolerance(rotations.dtype)
            seconds = best(lambda p=packed, s=slack: kernels.limit.project(flat, p, s, out))
            outside = 1.0 - limit.contains(rotations[:100_000]).mean()
            bar = BAR if resolution == 32 else 2 * BAR
            print(
                f"{name + f' {resolution}³':<22}{outside:>8.0%}{seconds / COUNT * 1e9:>8.1f}"
                f"{seconds / copy:>8.1f}{bar:>6}{pack * 1e3:>9.0f}{packed.nbytes / 1e6:>7.1f}"
            )


def sizes(rng: np.random.Generator) -> None:
    print("\npacked fields, 32 nodes along the longest side, with chart and frames (bar 600 kB)")
    print(f"{'joint':<12}{'chart':<18}{'nodes':<14}{'nodes kB':>9}{'all kB':>8}{'sculpted':>10}")
    spread = {"shoulder": (0.9, 0.7, 0.8), "hip": (0.7, 0.6, 0.6), "knee": (0.7, 0.15, 0.1)}
    spread |= {"spine": (0.08, 0.07, 0.06)}
    for joint, sides in spread.items():
        rotations = quat.exp(0.5 * rng.normal(size=(20_000, 3)) * sides)
        for chart in ("rotation-vector", "swing-twist", "euler"):
            axis = [1.0, 0.0, 0.0] if chart == "swing-twist" else None
            limit = Limit.fit(rotations, "distance-field", chart, axis=axis)
            shape, at = limit.shape, shape_surface(limit.shape, 1).vertices
            for amount in (1.5, -1.5, 1.0):  # in cells, so that the box stays as it is
                cell = float(shape.spacing.max())
                shape = push(shape, at[rng.integers(len(at))], 4.0 * cell, amount * cell)
            sculpted = Limit(limit.chart, shape).packed.nbytes / 1e3
            nodes = "×".join(map(str, limit.shape.values.shape))
            print(
                f"{joint:<12}{chart:<18}{nodes:<14}{limit.shape.closed.size * 4 / 1e3:>9.0f}"
                f"{limit.packed.nbytes / 1e3:>8.0f}{sculpted:>10.0f}"
            )


def table_one(rng: np.random.Generator) -> None:
    print("\n30 joints × 200 samples, exact distances (the source's Table I)")
    print(f"{'grid':<8}{'s':>9}{'source s':>10}{'faster':>8}{'kB':>8}{'source kB':>11}")
    joints = [jumping(rng) for _ in range(30)]
    for resolution, (seconds, kilobytes) in SOURCE.items():
        counts = (resolution,) * 3
        grids = []
        for points in joints:
            low, high = points.min(axis=0) - 0.3, points.max(axis=0) + 0.3
            grids.append((points, low, (high - low) / (resolution - 1)))
        took = best(
            lambda g=grids, c=counts: [sample_distance(*each, c, np.zeros(3)) for each in g], 3
        )
        print(
            f"{resolution}³{took:>12.3f}{seconds:>10.2f}{seconds / took:>7.0f}x"
            f"{resolution**3 * 8 / 1e3:>8.1f}{kilobytes:>11.1f}"
        )
    whole = best(lambda: [DistanceField.fit(points) for points in joints], 3)
    print(f"with interiors filled, 32 nodes along the longest side: {whole:.3f} s (bar 0.4)")
    many = rng.normal(size=(100_000, 3)) * (0.5, 0.4, 0.3)
    print(f"one joint, 100,000 samples: {best(lambda: DistanceField.fit(many), 1):.2f} s (bar 1)")


def exact_nearest(shape: DistanceField, points: np.ndarray) -> np.ndarray:
    """Return the distance to the nearest of many members."""
    low, high = shape.bounds
    axes = [np.arange(a, b, h / 5.0) for a, b, h in zip(low, high, shape.spacing, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    members = np.concatenate([grid[shape.contains(grid)], shape_surface(shape, 3).vertices])
    return cKDTree(members).query(points)[0]


def study(rng: np.random.Generator) -> None:
    print("\nthe study: one motion of 200 samples; points around it, 60 smooth paths of 400 frames")
    print(
        f"{'grid':<8}{'threshold':>10}{'cells':>7} |{'left above':>11}{'jump, src':>11}"
        f" |{'left':>6}{'jump, ours':>12}{'too far':>9}{'of half diagonal':>18}"
    )
    samples = jumping(rng)
    reach = np.abs(samples).max() + 0.4
    points = rng.uniform(-reach, reach, size=(20_000, 3))
    paths = [1.6 * jumping(rng, 400) for _ in range(60)]
    step = max(np.linalg.norm(np.diff(path, axis=0), axis=1).max() for path in paths)
    for resolution in (8, 12, 16, 24, 32, 48):
        low = np.full(3, -reach)
        spacing = np.full(3, 2.0 * reach / (resolution - 1))
        values = sample_distance(samples, low, spacing, (resolution,) * 3, np.zeros(3))
        for threshold in (0.05, 0.1, 0.2, 0.4):
            if threshold < values.min():
                print(f"{resolution}³{threshold:>14.2f}{threshold / spacing[0]:>7.2f} | empty")
                continue
            shape = DistanceField(low, spacing, values, threshold)
            outside = points[~shape.contains(points)]
            twice = shape.step(shape.step(outside))
            left = (shape.value(twice) > threshold).mean()
            moved = shape.project(outside)
            extra = shape.distance(outside) - exact_nearest(shape, outside)
            source = [shape.step(shape.step(path)) for path in paths]
            source = [
                np.where(shape.contains(p)[:, None], p, s)
                for p, s in zip(paths, source, strict=True)
            ]
            ours = [shape.project(path) for path in paths]
            print(
                f"{resolution}³{threshold:>14.2f}{threshold / spacing[0]:>7.2f} |{left:>11.1%}"
                f"{largest_step(source) / step:>10.1f}x |{(~shape.contains(moved)).mean():>6.1%}"
                f"{largest_step(ours) / step:>11.1f}x{np.degrees(extra.mean()):>8.2f}°"
                f"{extra.max() / shape.half_diagonal:>18.2f}"
            )


def largest_step(paths: list[np.ndarray]) -> float:
    return max(float(np.linalg.norm(np.diff(path, axis=0), axis=1).max()) for path in paths)


def main() -> None:
    rng = np.random.default_rng(0)
    speed(rng)
    sizes(rng)
    table_one(rng)
    study(rng)


if __name__ == "__main__":
    main()
