"""Peak memory and time of saving, reading, checking and clamping long clips in chunks.

    python benchmarks/long_clips.py [FRAMES] [JOINTS]

Each step runs in a process of its own; 1,000,000 frames of 60 joints are 2 GB of text.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from synovia import Clip, LimitModel, Pose, Skeleton, load_limits, quat, save_limits
from synovia.io import Chunks, load_chunks, project_chunks, save_chunks

STEPS = ("save", "read", "check", "clamp")


def skeleton(joints: int) -> Skeleton:
    """Chains of ten joints on one root."""
    parents = [-1, *(0 if joint % 10 == 1 else joint - 1 for joint in range(1, joints))]
    names = tuple(f"Joint{joint}" for joint in range(joints))
    return Skeleton(names, parents, np.tile([0.0, 0.1, 0.02], (joints, 1)))


def long_clip(frames: int, joints: int, size: float = 0.6, chunk: int = 4096) -> Chunks:
    """Every joint waves about its three axes, out of phase and ever anew."""
    bones, rng = skeleton(joints), np.random.default_rng(0)
    speeds, phases = rng.uniform(0.5, 3.0, (2, joints, 3))

    def read() -> Iterator[Clip]:
        for start in range(0, frames, chunk):
            seconds = np.arange(start, min(start + chunk, frames))[:, None, None] / 120.0
            vectors = size * np.sin(speeds * seconds + phases)
            pose = Pose(quat.exp(vectors), np.tile(bones.offsets, (len(seconds), 1, 1)))
            yield Clip(bones, pose, 1.0 / 120.0, "long", start=start)

    return Chunks(bones, frames, 1.0 / 120.0, "long", read)


def run_step(step: str, folder: Path, frames: int, joints: int) -> None:
    """Do one thing, in this process."""
    path, limits = folder / "long.bvh", folder / "long.limits.json"
    if step == "save":
        save_chunks(long_clip(frames, joints), path)
        save_limits(LimitModel.fit([next(iter(long_clip(2000, joints, 0.5)))]), limits)
    elif step == "read":
        sum(clip.frames for clip in load_chunks(path))
    elif step == "check":
        report = load_limits(limits).check_chunks(load_chunks(path))
        assert len(report.joints) == joints - 1
    else:
        clamped = project_chunks(load_limits(limits), load_chunks(path), folder=folder)
        save_chunks(clamped, folder / "clamped.bvh")


def main() -> None:
    if len(sys.argv) > 3:
        import resource

        step, folder, frames, joints = sys.argv[1:]
        start = time.perf_counter()
        run_step(step, Path(folder), int(frames), int(joints))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        print(json.dumps([seconds, peak]))
        return
    frames, joints = (*map(int, sys.argv[1:]), *(100_000, 60)[len(sys.argv) - 1 :])
    print(f"{frames} frames, {joints} joints")
    with tempfile.TemporaryDirectory() as folder:
        for step in STEPS:
            words = [sys.executable, __file__, step, folder, str(frames), str(joints)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            seconds, peak = json.loads(done.stdout)
            each = 1e6 * seconds / frames
            print(f"{step:6} {seconds:7.1f} s  {each:6.1f} µs a frame  {peak:6.0f} MB", flush=True)
        print(f"the file has {(Path(folder) / 'long.bvh').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
