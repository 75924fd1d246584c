"""Measure reading of 10,000 frames of 60 joints, relative to pybvh, in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybvh

from synovia import quat
from synovia.io import load_clip, save_clip
from synovia.skeleton import Clip, Pose, Skeleton

FRAMES, JOINTS, ROUNDS = 10_000, 60, 5


def wandering_clip() -> Clip:
    """Return a clip in which every joint moves smoothly."""
    rng = np.random.default_rng(1)
    skeleton = Skeleton(
        tuple(f"joint{k}" for k in range(JOINTS)),
        np.maximum(np.arange(JOINTS) - 1 - rng.integers(0, 3, JOINTS), 0) - (np.arange(JOINTS) < 1),
        rng.normal(size=(JOINTS, 3)).round(4),
    )
    time_s = np.arange(FRAMES)[:, None, None] / 120.0
    turns = np.sin(time_s * rng.uniform(0.5, 3.0, (JOINTS, 3)) + rng.uniform(0, 6, (JOINTS, 3)))
    positions = np.broadcast_to(skeleton.offsets, (FRAMES, JOINTS, 3)).copy()
    positions[:, 0] = turns[:, 0].round(6)
    return Clip(skeleton, Pose(quat.exp(turns), positions), 1 / 120)


def seconds(read: Callable[[Path], object], path: Path) -> float:
    """Return the time of one reading, in seconds."""
    start = time.perf_counter()
    read(path)
    return time.perf_counter() - start


def main() -> None:
    readers: dict[str, Callable[[Path], object]] = {
        "synovia": load_clip,
        "pybvh": pybvh.read_bvh_file,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wander.bvh"
        save_clip(wandering_clip(), path)
        load_clip(path)  # compiles, or loads what was compiled
        times: dict[str, list[float]] = {name: [] for name in readers}
        for _ in range(ROUNDS):
            for name, read in readers.items():
                times[name].append(seconds(read, path))
        size = path.stat().st_size
    best = {name: min(each) for name, each in times.items()}
    print(f"{FRAMES:,} frames x {JOINTS} joints, {size / 1e6:.0f} MB, best of {ROUNDS}")
    for name, each in best.items():
        print(f"  {name:<8} {each:6.3f} s  {size / each / 1e6:6.0f} MB/s")
    print(f"  pybvh / synovia: {best['pybvh'] / best['synovia']:.1f}")


if __name__ == "__main__":
    main()
