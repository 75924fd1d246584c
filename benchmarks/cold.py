"""Measure the processor time of each command as a separate process, including start-up.

Run: python benchmarks/cold.py. The first run of a command is held to the same bar as the best of
the later ones, since nothing is left to be done once. Python's own compiling does not count: pip
does it when it installs a package. `view` is timed until its page answers, and ended then.
"""

from __future__ import annotations

import compileall
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import numpy as np

import synovia
from synovia import Clip, Pose, Skeleton, demo, quat, save_clip, save_limits

FRAMES, JOINTS, REPEATS = 2400, 75, 5
SYNOVIA = (sys.executable, "-m", "synovia")
PACKAGE = Path(synovia.__file__).parent
COMMANDS = {
    "--help": 0.2,
    "info rom.bvh": 0.7,
    "info wild.bvh": 0.7,
    "info human.limits.json": 0.7,
    "check wild.bvh": 0.9,
    "check wild.bvh -l human.limits.json": 0.8,
    "clamp wild.bvh -l human.limits.json -fo clamped.bvh": 0.9,
    "fit wander.bvh -fo wander.limits.json": 3.0,
    "figure human --list": 0.6,
    "figure human --set shoulder.abduction=90 -fo pose.bvh": 0.6,
    "view wild.bvh -l human.limits.json --no-browser": 1.5,
}
"""Limit for each command, in seconds of user and system time."""
FINISHED = {0, 1, -signal.SIGINT}


def main() -> None:
    """Print a line for each command; exit with 1 if one exceeds its limit."""
    compileall.compile_dir(PACKAGE, quiet=1)
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        print(f"{'processor seconds':<58}{'first':>7}{'best':>7}{'bar':>7}")
        for command, bar in COMMANDS.items():
            first, *later = (seconds(command, folder) for _ in range(1 + REPEATS))
            if max(first, min(later)) > bar:
                missed.append(command)
            mark = "  missed" * (command in missed)
            print(f"{command:<58}{first:>7.2f}{min(later):>7.2f}{bar:>7.2f}{mark}", flush=True)
    sys.exit(1 if missed else 0)


def write_files(folder: Path) -> None:
    """Write the demo's clips and limits, and a clip of many moving joints."""
    rom = demo.range_of_motion()
    save_clip(rom, folder / "rom.bvh")
    save_clip(demo.wild(), folder / "wild.bvh")
    save_limits(demo.learn_limits(rom, "kdop", "swing-twist"), folder / "human.limits.json")
    save_clip(wandering_clip(), folder / "wander.bvh")


def wandering_clip() -> Clip:
    """Return a clip in which every joint rotates smoothly about three axes."""
    rng = np.random.default_rng(1)
    parents = np.maximum(np.arange(JOINTS) - 1 - rng.integers(0, 3, JOINTS), 0)
    parents[0] = -1
    names = tuple(f"joint{k}" for k in range(JOINTS))
    skeleton = Skeleton(names, parents, rng.normal(size=(JOINTS, 3)))
    time_s = np.arange(FRAMES)[:, None, None] / 60.0
    turns = np.sin(time_s * rng.uniform(0.5, 3.0, (JOINTS, 3)) + rng.uniform(0, 6, (JOINTS, 3)))
    positions = np.broadcast_to(skeleton.offsets, (FRAMES, JOINTS, 3))
    return Clip(skeleton, Pose(quat.exp(0.6 * turns), positions), 1 / 60)


def seconds(command: str, folder: str) -> float:
    """Return the user and system time of a command, in seconds."""
    before = os.times()
    process = subprocess.Popen(
        [*SYNOVIA, *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    if command.startswith("view"):
        url = process.stdout.readline().strip()
        urllib.request.urlopen(url, timeout=60).read()
        process.send_signal(signal.SIGINT)
    process.communicate()
    if process.returncode not in FINISHED:
        raise RuntimeError(f"synovia {command} ended with exit code {process.returncode}")
    after = os.times()
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


if __name__ == "__main__":
    main()
