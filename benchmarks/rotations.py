"""Measure the projection of rotations: nanoseconds each, relative to a copy of the data.

A million rotations, about half of them outside, float64 and float32, one thread unless said; each
figure is the best of several runs, and the bars are multiples of the copy in the same run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.spatial.transform import Rotation
from timing import best, side_by_side

from synovia import (
    Box,
    Ellipsoid,
    KDop,
    Limit,
    LimitModel,
    Pose,
    Product,
    RotationVector,
    Skeleton,
    SwingTwist,
    kernels,
    quat,
)
from synovia.arrays import tolerance
from synovia.kernels.jit import kernel
from synovia.kernels.rotation import (
    BLOCK,
    LANES,
    PX,
    X,
    from_rotation_vector,
    load,
    store,
    to_rotation_vector,
    turn_in,
    turn_out,
)
from synovia.native.build import load_outside
from synovia.shapes import Convex

COUNT = 1_000_000
POOL = ThreadPoolExecutor(2)
CONVERSION = "conversion only"
BARS = {CONVERSION: 5, "oriented box": 6, "ellipsoid": 15, "k-DOP, 13 axes": 35}
BARS |= {"swing–twist box": 15, "oriented box, float32": 7}
BARS |= {"reach cone, 25 points": 25, "reach cone, 200 points": 50, "theta-phi table, 5°": 20}
BARS |= {"distance field, 32³": 25, "distance field, 64³": 50}
BARS |= {"oriented box, uniform": 8, "ellipsoid, uniform": 14, "k-DOP, 13 axes, uniform": 35}


@kernel("f8[] f8[] f8[]", "f4[] f8[] f4[]")
def convert(rotations, reference, out):
    """Convert quaternions to rotation vectors and back, without a limit."""
    block = np.zeros(BLOCK)
    count = rotations.shape[0] // 4
    for start in range(0, count, LANES):
        n = min(LANES, count - start)
        load(rotations, 4 * start, 4, block, n)
        turn_in(reference, 0, block, n)
        to_rotation_vector(block, n)
        for i in range(3 * LANES):
            block[PX + i] = block[X + i]
        from_rotation_vector(block, n)
        turn_out(reference, 0, -np.inf, block, n)
        store(block, n, start, out)


converted = load_outside(sys.modules[__name__]).__dict__[f"{__name__}_convert"]


def limits(cloud: np.ndarray) -> dict[str, Limit]:
    """Return a limit of each kind around the middle of the cloud, so that half is outside."""
    points = cloud[:20_000]
    plain, split = RotationVector(), SwingTwist(axis=np.array([1.0, 0.0, 0.0]))
    return {
        "oriented box": Limit(plain, Box.fit(0.32 * points)),
        "ellipsoid": Limit(plain, Ellipsoid.fit(0.3 * points)),
        "k-DOP, 13 axes": Limit(plain, KDop.fit(0.38 * points)),
        "swing–twist box": Limit(split, Box.fit(0.34 * points)),
        "product": Limit(split, Product.fit(0.34 * points)),
    }


def families(cloud: np.ndarray) -> dict[str, Limit]:
    """Return a limit of each family that is not convex, and of hinges, so that half is outside."""
    axis = np.array([1.0, 0.0, 0.0])

    def fitted(scale: float, shape: str, **options: object) -> Limit:
        return Limit.fit(quat.exp(scale * cloud[:20_000]), shape, margin=0.0, **options)

    return {
        "reach cone, 25 points": fitted(0.35, "reach-cone", axis=axis),
        "reach cone, 200 points": fitted(0.35, "reach-cone", axis=axis, vertices=200),
        "theta-phi table, 5°": fitted(0.42, "theta-phi", axis=axis),
        "box of hinges": fitted(0.34, "box", chart="hinges", along="chart"),
        "k-DOP of hinges": fitted(0.38, "kdop", chart="hinges", along="chart"),
        "distance field, 32³": fitted(0.38, "distance-field"),
        "distance field, 64³": fitted(0.42, "distance-field", resolution=64),
    }


def numpy_projection(limit: Limit, rotations: np.ndarray) -> np.ndarray:
    """Project with NumPy, 4096 at a time; for the k-DOP one sweep, as in the article."""
    out = np.empty_like(rotations)
    for start in range(0, len(rotations), 4096):
        part = slice(start, start + 4096)
        points = limit.chart.points(rotations[part])
        out[part] = limit.chart.rotations(numpy_shape(limit.shape, points))
    return out


def numpy_shape(shape: object, points: np.ndarray) -> np.ndarray:
    if isinstance(shape, Box):
        return np.clip(points @ shape.axes.T, shape.low, shape.high) @ shape.axes
    if isinstance(shape, Ellipsoid):
        local = (points - shape.center) @ shape.axes.T
        squares = shape.radii**2
        t = np.maximum((shape.radii * np.abs(local) - squares).max(axis=1), 0.0)
        for _ in range(8):
            s = shape.radii * local / (squares + t[:, None])
            level = np.linalg.norm(s, axis=1)
            slope = (s * s / (squares + t[:, None])).sum(axis=1)
            t = t + np.maximum(level - 1.0, 0.0) * level**2 / np.maximum(slope, 1e-300)
        return local * (squares / (squares + t[:, None])) @ shape.axes + shape.center
    if isinstance(shape, Product):
        plane = numpy_shape(shape.swing, points[:, :2])
        return np.column_stack([plane, np.clip(points[:, 2], shape.low, shape.high)])
    for axis, low, high in zip(shape.axes, shape.low, shape.high, strict=True):
        along = points @ axis
        points = points + (np.clip(along, low, high) - along)[:, None] * axis
    return points


def scipy_box(limit: Limit, rotations: np.ndarray) -> np.ndarray:
    """Clamp rotation vectors to the box, with SciPy's conversions."""
    box = limit.shape
    vectors = Rotation.from_quat(rotations, scalar_first=True).as_rotvec()
    vectors = np.clip(vectors @ box.axes.T, box.low, box.high) @ box.axes
    return Rotation.from_rotvec(vectors).as_quat(scalar_first=True)


def compiled(limit: Limit, rotations: np.ndarray) -> Callable[[], object]:
    """Return the compiled loop alone, with a preallocated output."""
    flat, out = rotations.reshape(-1), np.empty(rotations.size, rotations.dtype)
    slack = tolerance(rotations.dtype)
    return lambda: kernels.limit.project(flat, limit.packed, slack, out)


def in_two_threads(limit: Limit, rotations: np.ndarray) -> Callable[[], object]:
    halves = [compiled(limit, half) for half in np.array_split(rotations, 2)]
    return lambda: list(POOL.map(lambda run: run(), halves))


def nanoseconds(seconds: float) -> float:
    return seconds / COUNT * 1e9


def table(rotations: np.ndarray, regions: dict[str, Limit], suffix: str) -> float:
    out = np.empty_like(rotations)

    def copied() -> None:
        np.copyto(out, rotations)

    copy = best(copied)
    kind = rotations.dtype.name
    print(f"\n{kind}: a copy takes {nanoseconds(copy):.1f} ns a rotation")
    print(f"{'':<24}{'outside':>8}{'ns':>8}{'copies':>8}{'bar':>6}{'2 threads':>11}{'NumPy':>8}")
    flat, into = rotations.reshape(-1), np.empty(rotations.size, rotations.dtype)
    seconds, copy = side_by_side(lambda: converted(flat, quat.IDENTITY, into), copied)
    bar = BARS.get(CONVERSION + suffix, "")
    print(f"{CONVERSION:<32}{nanoseconds(seconds):>8.1f}{seconds / copy:>8.1f}{bar:>6}")
    for name, limit in regions.items():
        outside = 1.0 - limit.contains(rotations).mean()
        seconds, copy = side_by_side(compiled(limit, rotations), copied, repeats=40)
        double = best(in_two_threads(limit, rotations))
        bar, numpy = BARS.get(name + suffix, ""), float("nan")
        if isinstance(limit.shape, Convex):
            numpy = best(lambda limit=limit: numpy_projection(limit, rotations), 1)
        print(
            f"{name:<24}{outside:>8.0%}{nanoseconds(seconds):>8.1f}{seconds / copy:>8.1f}{bar:>6}"
            f"{seconds / double:>10.2f}x{nanoseconds(numpy):>8.0f}"
        )
    return copy


def single_calls(regions: dict[str, Limit], rng: np.random.Generator) -> None:
    limit, rotation = regions["k-DOP, 13 axes"], quat.exp(rng.normal(size=3))
    one = best(lambda: [limit.project(rotation) for _ in range(1000)]) / 1000
    print(f"\none rotation, public call: {one * 1e6:.1f} µs (bar 8)")
    names = tuple(f"joint{k}" for k in range(31))
    skeleton = Skeleton(names, np.arange(-1, 30), np.ones((31, 3)))
    kinds = list(regions.values())
    model = LimitModel({name: kinds[k % len(kinds)] for k, name in enumerate(names[1:])}, skeleton)
    pose = Pose(quat.exp(0.6 * rng.normal(size=(31, 3))), np.ones((31, 3)))
    whole = best(lambda: [model.project(pose) for _ in range(1000)]) / 1000
    print(f"a pose of 30 joints with limits of different kinds: {whole * 1e6:.1f} µs (bar 25)")


def main() -> None:
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(COUNT, 3)) * (0.9, 0.7, 0.5)
    rotations = quat.exp(cloud)
    regions = limits(cloud)
    table(rotations, regions | families(cloud), "")
    scipy = best(lambda: scipy_box(regions["oriented box"], rotations), 2)
    print(f"SciPy doing the oriented box: {nanoseconds(scipy):.0f} ns")
    single = rotations.astype(np.float32)
    table(single, regions, ", float32")  # what is not convex is computed in float64
    uniform = quat.normalize(rng.normal(size=(COUNT, 4)))
    print("\nuniform over all rotations, so that other covers matter more, float64:")
    table(uniform, regions, ", uniform")
    single_calls(regions, rng)


if __name__ == "__main__":
    main()
