"""The clips of the demo, made in code: a performer who explores every joint, and one gone wild."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors
from ..clip import Clip
from ..skeleton import Pose, Skeleton
from .human import human, true_limits
from .truth import TrueLimit

FRAME_TIME = 1.0 / 60.0
ROM_FRAMES, WILD_FRAMES = 2400, 480
MOVE = 40
"""Frames from one pose to the next."""
CALM = 0.14
"""How much of its range a joint of the wild clip uses where it is not wild."""
STANDING = {
    "Spine": (-0.35, 0.0, 0.0),
    "Chest": (-0.25, 0.0, 0.0),
    "LeftShoulder": (-0.82, 0.0, 0.1),
    "RightShoulder": (-0.82, 0.0, -0.1),
    "LeftElbow": (0.0, 0.0, -0.6),
    "RightElbow": (0.0, 0.0, 0.6),
    "LeftHip": (-0.68, 0.0, 0.0),
    "RightHip": (-0.62, 0.0, 0.0),
    "LeftKnee": (0.0, 0.0, -0.84),
    "RightKnee": (0.0, 0.0, 0.80),
    "LeftAnkle": (0.3, 0.0, 0.0),
    "RightAnkle": (0.3, 0.0, 0.0),
}
"""The controls about which the wild clip moves; the middle where none are given.

On the right side the twist is the other way round."""


def range_of_motion(frames: int = ROM_FRAMES, seed: int = 0) -> Clip:
    """Return a clip in which every joint goes to the ends of its range, legal in every frame."""
    skeleton, rng = human(), np.random.default_rng(seed)
    rotations = {
        name: limit.rotations(_travel(_extremes(frames // MOVE + 2, rng), frames))
        for name, limit in true_limits().items()
    }
    return _clip("rom", skeleton, rotations, frames)


def wild(frames: int = WILD_FRAMES, seed: int = 1) -> Clip:
    """Return a smooth clip that breaks the limits of `WILD_JOINTS`, one after another."""
    skeleton, rng, truth = human(), np.random.default_rng(seed), true_limits()
    rotations = {
        name: limit.rotations(STANDING.get(name, (0.0, 0.0, 0.0)) + CALM * _calm(frames, rng))
        for name, limit in truth.items()
    }
    time = np.linspace(0.0, 1.0, frames)
    for name, (axis, angle, start, end) in _misdeeds(truth).items():
        share = np.clip((time - start) / (end - start), 0.0, 1.0)
        # There and back, but for whole turns, which end where they began.
        course = _ease(share) if angle == 2.0 * np.pi else _ease(1.0 - np.abs(2.0 * share - 1.0))
        rotations[name] = quat.mul(quat.exp(angle * course[:, None] * axis), rotations[name])
    return _clip("wild", skeleton, rotations, frames)


WILD_JOINTS = ("LeftElbow", "RightShoulder", "LeftKnee", "LeftWrist", "Head")


def _misdeeds(truth: Mapping[str, TrueLimit]) -> dict[str, tuple[Vectors, float, float, float]]:
    """Return, by joint: axis in the parent's frame, angle, and when it starts and ends (0 to 1)."""
    x, y, z = np.eye(3)
    around = x + 0.15 * y
    hand = quat.rotate(truth["LeftWrist"].center, truth["LeftWrist"].axis)
    return {
        # The elbow bends backwards,
        "LeftElbow": (truth["LeftElbow"].axis, np.radians(-100.0), 0.03, 0.33),
        # the arm goes all the way round, out by one side and in by another,
        "RightShoulder": (around / np.linalg.norm(around), 2.0 * np.pi, 0.18, 0.66),
        # the knee gives way to the side,
        "LeftKnee": (z, np.radians(60.0), 0.45, 0.75),
        # the hand spins once about the forearm,
        "LeftWrist": (hand, 2.0 * np.pi, 0.60, 0.80),
        # and the head looks behind.
        "Head": (y, np.radians(150.0), 0.65, 0.97),
    }


def _calm(frames: int, rng: np.random.Generator) -> Floats:
    return _travel(_extremes(frames // (2 * MOVE) + 2, rng), frames, 2 * MOVE)


def _extremes(n: int, rng: np.random.Generator) -> Floats:
    """Return `n` controls (n, 3) on the rim of the disk, at an end of the twist or near it."""
    azimuth = rng.uniform(0.0, 2.0 * np.pi, n)
    twist = rng.choice([-1.0, 1.0], n) * rng.choice([1.0, 1.0, 1.0, 0.6], n)
    return np.stack([np.cos(azimuth), np.sin(azimuth), twist], axis=-1)


def _travel(stops: Floats, frames: int, move: int = MOVE) -> Floats:
    """Return controls (frames, 3) that go straight from stop to stop, as smoothly as people do.

    The way between legal controls is legal, for the disk and the interval are convex.
    """
    leg, frame = np.divmod(np.arange(frames), move)
    share = _ease(frame / move)[:, None]
    return np.asarray(stops[leg] + share * (stops[leg + 1] - stops[leg]))


def _ease(t: Scalars) -> Scalars:
    """Return the course, from 0 to 1, of a movement of least jerk."""
    return t**3 * (10.0 - 15.0 * t + 6.0 * t * t)


def _clip(name: str, skeleton: Skeleton, rotations: Mapping[str, Quats], frames: int) -> Clip:
    """Return the clip with these rotations; the hips sway a little, as the body's place."""
    turns = np.tile(skeleton.rest_pose().rotations, (frames, 1, 1))
    for joint, path in rotations.items():
        turns[:, skeleton.index(joint)] = path
    time = np.arange(frames) * FRAME_TIME
    heading = 0.3 * np.sin(0.9 * time)[:, None]
    turns[:, 0] = quat.exp(heading * np.array([0.0, 1.0, 0.0]))
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0, 0] += 0.04 * np.sin(0.7 * time)
    positions[:, 0, 1] += 0.01 * np.sin(1.9 * time)
    return Clip(skeleton, Pose(quat.unroll(turns), positions), FRAME_TIME, name)
