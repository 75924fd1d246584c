"""Measure the time of fits, and its growth with the number of samples."""

from __future__ import annotations

import time

import numpy as np

from synovia import SHAPES, Limit, quat
from synovia.learn import thin

BAR = 3.0  # seconds for a million samples


def seconds(rotations: np.ndarray, shape: str, **options: str) -> float:
    start = time.perf_counter()
    Limit.fit(rotations, shape, SHAPES[shape].charts[-1], **options)
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    rotations = quat.exp(rng.normal(size=(1_000_000, 3)) * (0.6, 0.4, 0.3))
    Limit.fit(rotations[:100], "kdop", "swing-twist")  # compiles the kernels
    few = rotations[:250_000]
    print(f"{'':<24}{'250,000':>10}{'1,000,000':>12}{'ratio':>8}   (bar {BAR:.0f} s, linear is 4)")
    for shape in SHAPES:
        small, large = seconds(few, shape), seconds(rotations, shape)
        print(f"{shape:<24}{small:>9.2f}s{large:>11.2f}s{large / small:>8.1f}")
    points = quat.log(rotations)
    thin(points[:100])
    start = time.perf_counter()
    kept = len(thin(points))
    print(f"thinning 1,000,000 points to {kept}: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
