"""Measure gradients: distances with a backward pass in PyTorch, relative to plain distances."""

from __future__ import annotations

import sys

import numpy as np
import torch
from timing import side_by_side

from synovia import Limit, quat
from synovia.torch import distance

COUNT = 100_000
BARS = {"box": 40, "ellipsoid": 30, "kdop": 30, "product": 30}  # gradients are by differences
OTHERS = 20


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    cloud = quat.exp(rng.normal(size=(2000, 3)) * (0.6, 0.3, 0.4))
    asked = quat.exp(rng.normal(size=(COUNT, 3)) * (0.8, 0.5, 0.6))
    missed = False
    print(f"{'family':<34}{'outside':>8}{'kernel ns':>11}{'torch ns':>10}{'ratio':>7}{'bar':>5}")
    for name in (
        "box",
        "ellipsoid",
        "kdop",
        "product",
        "reach-cone",
        "theta-phi",
        "distance-field",
    ):
        limit = Limit.fit(cloud, name)
        for kind in (torch.float64, torch.float32):
            given = torch.tensor(asked, dtype=kind, requires_grad=True)
            plain = given.detach().numpy()

            def learn(given=given, limit=limit) -> None:
                given.grad = None
                distance(limit, given).sum().backward()

            kernel, whole = side_by_side(lambda p=plain, o=limit: o.distance(p), learn)
            bar = BARS.get(name, OTHERS)
            missed |= whole > bar * kernel
            title = f"{name} in {limit.chart.name}, {str(kind)[6:]}"
            outside = 1.0 - limit.contains(plain).mean()
            print(
                f"{title:<34}{outside:>8.0%}{kernel / COUNT * 1e9:>11.1f}"
                f"{whole / COUNT * 1e9:>10.1f}{whole / kernel:>7.1f}{bar:>5}"
            )
    sys.exit(missed)


if __name__ == "__main__":
    main()
