"""The nearest legal pairs of a hip and a knee: by the kernel, and by NumPy, in turns.

python benchmarks/pairs.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.timing import side_by_side
from synovia import Box, Limit, RotationVector, quat
from synovia.limit import DependentRange, PairLimit, pair
from synovia.limit.octahedral import node_directions

HINGE, DOWN = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
COUNT = 200  # pairs of a batch


def knee() -> DependentRange:
    """Return a knee that bends less where the thigh points backwards, learned or not."""
    own = Limit(RotationVector(), Box([0.0, 0.0, 0.0], [2.5, 0.0, 0.0], np.eye(3)))
    high = 1.5 + 0.9 * node_directions(8)[:, 2]
    return DependentRange(own, "Hip", DOWN, np.zeros(len(high)), high, HINGE)


def main() -> None:
    """Print, by family of the hip's limit, how long one pair takes and the ratio to NumPy."""
    rng = np.random.default_rng(1)
    seen = quat.exp(rng.normal(size=(400, 3)) * [0.5, 0.2, 0.2])
    hips, knees = (quat.exp(1.2 * rng.normal(size=(COUNT, 3))) for _ in range(2))
    print(f"{'hip':<16} {'a pair, of many':>16} {'NumPy':>8} {'one alone':>12} {'NumPy':>8}")
    for family in ("box", "kdop", "ellipsoid", "reach-cone", "distance-field"):
        options = {"axis": DOWN} if family == "reach-cone" else {}
        both = PairLimit(Limit.fit(seen, family, **options), knee())

        def oracle(count: int, both: PairLimit = both) -> None:
            with patch.object(pair, "has_kernel", lambda driver: False):
                both.project(hips[:count], knees[:count])

        def kernel(count: int, both: PairLimit = both) -> None:
            both.project(hips[:count], knees[:count])

        row = [f"{family:<16}"]
        for count in (COUNT, 1):
            fast, slow = side_by_side(
                lambda count=count: kernel(count),
                lambda count=count: oracle(count),
                repeats=5,
            )
            row.append(f"{1e6 * fast / count:>13.0f} µs {slow / fast:>6.1f} ×")
        print(" ".join(row))


if __name__ == "__main__":
    main()
