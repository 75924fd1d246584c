"""Measure clamping of clips: processor time of 10,000 frames × 30 joints, and its growth.

    python benchmarks/clips.py [FRAMES] [JOINTS]

Each joint has a limit of one family, and wanders in and out of it; `plain` is the projection of
each frame by itself. `changed` is the share of frames that differ from that: around changes of
side. The bar is 3 seconds for 10,000 frames of 30 joints; the script exits with 1 if it is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from synovia import Clip, Limit, LimitModel, Pose, Skeleton, quat

FAMILIES = (
    ("kdop", "swing-twist"),
    ("ellipsoid", "rotation-vector"),
    ("reach-cone", "direction-twist"),
    ("theta-phi", "direction-twist"),
    ("distance-field", "rotation-vector"),
)
BAR = 3.0  # seconds of processor time


def region(rng: np.random.Generator) -> np.ndarray:
    """Return rotations (n, 4) of a curved region, similar to a shoulder's."""
    turn = rng.uniform(-1.3, 1.3, size=1500)
    bow = np.stack([1.1 * np.sin(turn), 0.9 * np.cos(1.6 * turn) - 0.4, 0.3 * turn], axis=1)
    return quat.exp(bow + rng.normal(scale=0.12, size=(1500, 3)))


def wandering(frames: int, joints: int, rng: np.random.Generator) -> np.ndarray:
    """Return smooth rotations (frames, joints, 4) at 60 frames a second, mostly legal."""
    seconds = np.arange(frames)[:, None, None] / 60.0
    speed, phase = rng.uniform(0.3, 2.0, (4, joints, 3)), rng.uniform(0.0, 6.3, (4, joints, 3))
    size = np.array([0.7, 0.5, 0.4]) / np.sqrt(4.0)
    waves = [size * np.sin(s * seconds + p) for s, p in zip(speed, phase, strict=True)]
    return quat.exp(1.4 * np.sum(waves, axis=0))


def processor_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    frames, joints = (*map(int, sys.argv[1:]), *(10_000, 30)[len(sys.argv) - 1 :])
    missed = False
    print(f"{frames} frames, {joints} joints, processor seconds; half: of half the frames")
    for shape, chart in FAMILIES:
        rng = np.random.default_rng(0)
        axis = None if chart == "rotation-vector" else np.array([0.0, 0.0, 1.0])
        limit = Limit.fit(region(rng), shape, chart, axis=axis)
        names = ("Root", *(f"Joint{k}" for k in range(joints)))
        skeleton = Skeleton(names, [-1] + [0] * joints, np.ones((joints + 1, 3)))
        model = LimitModel(dict.fromkeys(names[1:], limit), skeleton)
        still = np.tile(quat.IDENTITY, (frames, 1, 1))
        rotations = np.concatenate([still, wandering(frames, joints, rng)], axis=1)
        pose = Pose(rotations, np.tile(skeleton.offsets, (frames, 1, 1)))
        clip, half, warm_up = (
            Clip(skeleton, Pose(rotations[:n], pose.positions[:n]), 1.0 / 60.0, "wandering")
            for n in (frames, frames // 2, 100)
        )
        model.project(warm_up)
        plain = processor_seconds(lambda: model.project(pose))  # noqa: B023
        first = processor_seconds(lambda: model.project(half))  # noqa: B023
        whole = processor_seconds(lambda: model.project(clip))  # noqa: B023
        alone, path = model.project(pose).rotations, model.project(clip).pose.rotations
        outside = (alone != rotations).any(axis=-1)[:, 1:].mean()
        changed = (alone != path).any(axis=-1)[:, 1:].mean()
        missed |= whole > BAR
        print(
            f"{shape:15} {whole:6.2f} s  half {first:6.2f} s  plain {plain:6.2f} s  "
            f"outside {outside:5.1%}  changed {changed:5.2%}",
            flush=True,
        )
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
