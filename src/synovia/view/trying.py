"""What can be tried at the page: reaching, looking, and the controls of a figure."""

from __future__ import annotations

import time

import numpy as np

from ..arrays import Floats
from ..ik import Reach, Solution, look_at, solve
from ..ik.held import between
from ..model import LimitModel
from ..skeleton import Pose
from .messages import Answer, Request
from .scene import Scene
from .session import Session

STEPS, LARGEST_STEP = 20, 0.3
"""How a dragged hand is followed: few iterations, and no large step (radians a joint)."""


def reached(session: Session, asked: Request) -> Answer:
    """Return the pose in which a joint, or a point on it, is at a target, or near it.

    With `limits` false every joint is free; `joints` may turn, all if it is null. Beside the pose:
    how long it took, whether the target is met, and by how many degrees the limits of joints would
    have to give way.
    """
    scene = session.scene
    pose = _pose(scene, asked)
    goal = Reach(asked["joint"], np.array(asked["target"]), np.array(asked["point"]))
    started = time.perf_counter()
    found = solve(
        _limits(scene, asked),
        scene.clip.skeleton,
        pose,
        [goal],
        joints=_free(scene, asked),
        restarts=0,
        iterations=STEPS,
        largest_step=LARGEST_STEP,
        threads=1,
    )
    return _told(scene, found, started)


def looked(session: Session, asked: Request) -> Answer:
    """Return the pose in which the last of `joints` looks, along its z axis, at a target.

    Each of the joints takes its share of the turn. The rest is as in `reached`.
    """
    scene = session.scene
    pose, target = _pose(scene, asked), np.array(asked["target"])
    started = time.perf_counter()
    skeleton, joints = scene.clip.skeleton, _free(scene, asked) or []
    found = look_at(_limits(scene, asked), skeleton, pose, target, joints, threads=1)
    return _told(scene, found, started)


def _free(scene: Scene, asked: Request) -> list[str] | None:
    """Return the joints that a request lets turn, but those that limits below keep still."""
    if asked["joints"] is None:
        return None
    still = between(scene.model) if asked["limits"] is True else []
    return [name for name in asked["joints"] if name not in still]


def _limits(scene: Scene, asked: Request) -> LimitModel:
    """Return the limits that a request wants to be kept: all, or none."""
    return scene.model if asked["limits"] is True else LimitModel({}, scene.clip.skeleton)


def _told(scene: Scene, found: Solution, started: float) -> Answer:
    seconds = time.perf_counter() - started
    header = {
        "ms": 1000.0 * seconds,
        "met": bool(found.converged),
        "left": float(found.errors[0]),
        "blockingDeg": {name: float(np.degrees(angle)) for name, angle in found.blocking().items()},
        "outsideDeg": _outside_deg(scene, found.pose),
    }
    return header, {"rotations": found.pose.rotations}


def posed(session: Session, asked: Request) -> Answer:
    """Return the pose that controls of the figure give, and what became of them."""
    scene = session.scene
    if scene.figure is None:
        raise ValueError("there is no figure here, so there are no controls")
    values = asked["values"]
    if not isinstance(values, dict):
        raise ValueError(f"values must be controls by name, got {values!r:.60}")
    pose = scene.figure.pose(values)
    header = {
        "clamped": {name: float(off) for name, off in pose.clamped.items()},
        "gaps": {name: float(off) for name, off in pose.gaps.items()},
        "outsideDeg": _outside_deg(scene, pose),
    }
    return header, {"rotations": pose.rotations, "positions": pose.positions}


def _outside_deg(scene: Scene, pose: Pose) -> list[float]:
    violation = np.degrees(scene.model.violation(pose))
    return [float(angle) for angle in violation[scene.limited]]


def _pose(scene: Scene, asked: Request) -> Pose:
    """Return the pose that a request sends: rotations, at the positions of one of the frames."""
    number = asked["frame"]
    if not (isinstance(number, int) and 0 <= number < scene.clip.frames):
        raise ValueError(f"frame must be from 0 to {scene.clip.frames - 1}, got {number!r:.60}")
    count = len(scene.clip.skeleton)
    flat: Floats = np.array(asked["rotations"], dtype=np.float64)
    if flat.shape != (4 * count,):
        raise ValueError(f"rotations must be 4 numbers for each of {count} joints")
    return Pose(flat.reshape(count, 4), scene.frame(number).positions)


TRIED = {"reach": reached, "look": looked, "pose": posed}
"""What may be asked for, by name."""
