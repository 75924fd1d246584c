"""How long it takes to fit, and whether that is linear in the samples."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from synovia import SHAPES, Limit, quat
from synovia.learn import thin
from synovia.learn.margins import halve_steps, least_margin

BAR = 3.0  # seconds for a million samples


def seconds(rotations: np.ndarray, shape: str, **options: str) -> float:
    start = time.perf_counter()
    Limit.fit(rotations, shape, SHAPES[shape].charts[-1], **options)
    return time.perf_counter() - start


def least_passing(passes: Callable[[float], bool], low: float, high: float, halvings: int) -> float:
    """Return about the least number that passes, from above, where `high` and all beyond do."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def margin_seconds(rotations: np.ndarray, vectors: np.ndarray, shape: str) -> tuple[float, float]:
    """Return the processor time to find a margin for what goes farther: from a guess, by halves."""
    limit = Limit.fit(rotations, shape, SHAPES[shape].charts[-1], margin=0.0)
    held_out, candidates = quat.exp(vectors), halve_steps(0.0, 0.5 * np.pi, 10)

    def rejected(margin: float) -> float:
        return 1.0 - float(limit.grow(margin).contains(held_out).mean())

    rejected(0.1)  # imports what is needed
    start = time.process_time()
    found = least_margin(rejected, 0.01, candidates, [limit.required_margin(held_out)])
    middle = time.process_time()
    halved = least_passing(lambda m: rejected(m) <= 0.01, 0.0, 0.5 * np.pi, halvings=10)
    if found not in (0.0, halved):
        raise ValueError(f"{shape}: {found} and {halved} are not the same margin")
    return middle - start, time.process_time() - middle


def main() -> None:
    rng = np.random.default_rng(0)
    rotations = quat.exp(rng.normal(size=(1_000_000, 3)) * (0.6, 0.4, 0.3))
    Limit.fit(rotations[:100], "kdop", "swing-twist")  # compiles the kernels
    few = rotations[:250_000]
    print(f"{'':<24}{'250,000':>10}{'1,000,000':>12}{'ratio':>8}   (bar {BAR:.0f} s, linear is 4)")
    for shape, options in [*((name, {}) for name in SHAPES), ("ellipsoid", {"by": "volume"})]:
        small, large = seconds(few, shape, **options), seconds(rotations, shape, **options)
        name = " ".join([shape, *options.values()])
        print(f"{name:<24}{small:>9.2f}s{large:>11.2f}s{large / small:>8.1f}")
    print(f"{'':<24}{'guessed':>10}{'halved':>12}{'ratio':>8}   (least margin for 1 % outside)")
    for shape in SHAPES:
        guessed, halved = margin_seconds(rotations[:1000], 1.2 * quat.log(rotations[-2000:]), shape)
        print(f"{shape:<24}{guessed:>9.3f}s{halved:>11.3f}s{halved / guessed:>8.1f}")
    points = quat.log(rotations)
    thin(points[:100])
    start = time.perf_counter()
    kept = len(thin(points))
    print(f"thinning 1,000,000 points to {kept}: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
