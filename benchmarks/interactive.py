"""Measure interactive calls on the default human, in milliseconds, with their limits.

Seconds are those of the processor, the best of several runs after one that does not count, so that
others on the same machine matter less. Exits with 1 if a bar is missed.

python benchmarks/interactive.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from synovia import Clip, LimitModel, Pose, forward, human, human_limits, quat
from synovia.ik import Reach, arm, follow, look_at, solve_controls, watch
from synovia.ik.drag import ControlDrag, with_free_root

BODY = human()
MODEL = human_limits()
BONES = MODEL.skeleton
SPINE = [
    f"{part}{n}" for part, count in (("L", 5), ("T", 12), ("C", 7)) for n in range(count, 0, -1)
]
LOOKING = [*SPINE, "Head"]
ARM = ["LeftUpperArm", "LeftLowerArm", "LeftForearm", "LeftHand"]
ENDS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot")
FRAMES = 100
POSES = 12  # drawn at random, of which the middle one counts


def best(run: Callable[[], object], repeats: int = 15) -> float:
    """Return the shortest processor time of several runs after a warm-up, in milliseconds."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def rest() -> Pose:
    pose = BODY.pose()
    return Pose(pose.rotations, pose.positions)


def moving_clip() -> Clip:
    """Return a clip in which all joints swing over a third of their ranges."""
    _, neutral, high = BODY.ranges
    sway = np.sin(np.linspace(0.0, 3.0, FRAMES))[:, None]
    posed = BODY.pose(neutral + 0.3 * sway * (high - neutral))
    return Clip(BONES, Pose(posed.rotations, posed.positions), 1.0 / 30.0)


def anywhere(n: int) -> np.ndarray:
    """Return controls distributed over their ranges."""
    low, _, high = BODY.ranges
    return low + (high - low) * np.random.default_rng(0).random((n, len(low)))


def looks() -> dict[str, tuple[float, float]]:
    pose, clip = rest(), moving_clip()
    path = np.stack([np.linspace(-1, 1, FRAMES), np.full(FRAMES, 1.5), np.full(FRAMES, 2.0)], 1)
    ahead = best(lambda: look_at(MODEL, BONES, pose, [0.5, 1.5, 2.0], LOOKING))
    behind = best(lambda: look_at(MODEL, BONES, pose, [-1.0, 1.6, -1.0], LOOKING))
    whole = best(lambda: watch(MODEL, clip, path, LOOKING), 5)
    return {
        "look_at, ahead": (ahead, 2.0),
        "look_at, behind": (behind, 2.0),
        "watch, a frame": (whole / FRAMES, 1.0),
    }


def reach_ends(where: np.ndarray) -> object:
    """Solve for hands and feet at the positions (J, 3) of some pose."""
    return solve_controls(BODY, (), [Reach(name, where[BONES.index(name)]) for name in ENDS])


def controls() -> dict[str, tuple[float, float]]:
    only = [name for name in BODY.controls if name.startswith(("left_sh", "left_el", "left_wr"))]
    near = [Reach("LeftHand", [0.2, 1.3, 0.4])]
    where, _ = forward(BONES, BODY.pose(anywhere(POSES)))
    four = [best(partial(reach_ends, row), 3) for row in where]
    posed = BODY.pose(anywhere(POSES))
    poses = [Pose(q, p) for q, p in zip(posed.rotations, posed.positions, strict=True)]
    back = [best(partial(BODY.controls_for, pose), 3) for pose in poses]
    return {
        "solve_controls, a hand by an arm": (
            best(lambda: solve_controls(BODY, (), near, only=only)),
            5.0,
        ),
        "solve_controls, hands and feet": (float(np.median(four)), 12.0),
        "controls_for": (float(np.median(back)), 20.0),
    }


def pulls() -> dict[str, tuple[float, float | None]]:
    """Measure a step of a hand within the arm's reach, with help of the spine, and out of reach."""
    figure = with_free_root(BODY)
    home = figure.pose().controls

    def drag(*target: float) -> float:
        drag, goal = ControlDrag(figure, home, home), Reach("LeftHand", target)
        return best(lambda: drag.pull(goal))

    return {
        "pull, within the arm's reach": (drag(0.2, 1.3, 0.4), 16.0),
        "pull, the spine helps": (drag(0.35, 2.05, 0.05), 16.0),
        "pull, out of reach": (drag(0.73, 1.68, -0.51), 16.0),
    }


def groups() -> dict[str, tuple[float, float | None]]:
    """Measure projection onto control groups: legal poses and clips, and ones up to 25° outside."""
    model, clip = LimitModel.of_figure(BODY), moving_clip()
    sway = np.sin(np.linspace(0.0, 8.0, FRAMES))[:, None, None] * np.ones((1, len(BONES), 3))
    sway[:, 0] = 0.0
    rotations = quat.mul(clip.pose.rotations, quat.exp(np.radians(14.0) * sway))
    wild = Clip(BONES, Pose(rotations, clip.pose.positions), clip.frame_time)
    posed = BODY.pose(anywhere(POSES))
    legal = [Pose(q, p) for q, p in zip(posed.rotations, posed.positions, strict=True)]
    outside = [Pose(rotations[k], clip.pose.positions[k]) for k in range(5, FRAMES, 8)]
    inside = [best(partial(model.contains, pose), 3) for pose in legal]
    moved = [best(partial(model.project, pose), 3) for pose in outside]
    return {
        "groups, contains a pose": (float(np.median(inside)), 20.0),
        "groups, project a pose": (float(np.median(moved)), 20.0),
        "groups, a legal frame": (best(lambda: model.project(clip), 2) / FRAMES, 3.0),
        "groups, a frame outside": (best(lambda: model.project(wild), 2) / FRAMES, 20.0),
    }


def joints() -> dict[str, tuple[float, float | None]]:
    pose, clip = rest(), moving_clip()
    hand = forward(BONES, clip.pose)[0][:, BONES.index("LeftHand")]
    goals = [Reach("LeftHand", hand + np.array([0.03, 0.05, 0.03]))]
    many = best(lambda: [forward(BONES, pose) for _ in range(100)])
    whole = best(lambda: follow(MODEL, clip, goals, joints=ARM), 3)
    led = best(lambda: arm(MODEL, BONES, pose, ARM[0], ARM[-1], hand), 3)
    return {
        "forward, 75 joints": (many / 100, 0.03),
        "follow, a frame": (whole / FRAMES, None),
        "arm, a frame": (led / FRAMES, None),
    }


def main() -> int:
    """Print the table; return 1 if a limit is exceeded."""
    missed = False
    print(f"{'':<34} {'ms':>8} {'bar':>6}")
    for part in (joints, looks, controls, groups, pulls):
        for name, (taken, bar) in part().items():
            missed |= bar is not None and taken > bar
            print(f"{name:<34} {taken:8.4f} {'' if bar is None else f'{bar:6g}'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
