"""The command line run by tests, and clips and limits to run it on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
from click.testing import CliRunner

from synovia import Clip, Pose, Skeleton, quat, save_clip
from synovia.cli import main

NAMES = ("Hips", "Chest", "UpperArm", "Forearm")
FRAMES = 200


def heed_ctrl_c():
    """What runs in the background may have been told to ignore it, and tells its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def skeleton(names=NAMES):
    offsets = np.array([[0.0, 0, 0], [0, 3, 0], [2, 1, 0], [3, 0, 0]])
    return Skeleton(
        names,
        np.array([-1, 0, 1, 2]),
        offsets,
        end_parents=np.array([3]),
        end_offsets=np.array([[2.0, 0, 0]]),
    )


def acted(seed=0, size=1.0, names=NAMES, frames=FRAMES):
    """A chest and an arm that swing in all directions, a forearm that bends; `size` is how far."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / 60.0
    vectors = np.zeros((frames, 4, 3))
    for joint, reach in ((0, 0.2), (1, 0.3), (2, 0.8)):
        turns = np.sin(time * rng.uniform(3.0, 6.0, 3) + rng.uniform(0.0, 6.0, 3))
        vectors[:, joint] = size * reach * turns
    vectors[:, 3, 2] = size * (0.7 + 0.7 * np.sin(4.0 * time[:, 0] + seed))
    positions = np.broadcast_to(skeleton().offsets, (frames, 4, 3))
    return Clip(skeleton(names), Pose(quat.exp(vectors), positions), 1.0 / 60.0)


def run(*arguments, code=0, **more):
    """Run synovia here, and return what it printed to stdout."""
    return result_of(*arguments, code=code, **more).stdout


def result_of(*arguments, code=0, **more):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **more)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def process(*arguments, **more):
    """Run synovia as a process of its own."""
    command = [sys.executable, "-m", "synovia", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)


def wait_for(condition):
    """Wait until `condition()` is true; a minute without it is a hang."""
    give_up = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < give_up, "waited for a minute"
        time.sleep(0.01)


def studio(folder):
    """Three performers, limits learned from them, and a clip that goes beyond."""
    captures = folder / "captures"
    captures.mkdir()
    for seed, name in enumerate(("ann_1", "ann_2", "bob_1", "cat_1")):
        save_clip(acted(seed), captures / f"{name}.bvh")
    save_clip(acted(9, size=1.6), folder / "wild.bvh")
    run("fit", captures, "-o", folder / "human.limits.json", "--trim", "0")
    return folder
