"""The clips of the demo, made by the human's controls: a performer who explores every joint, and
one gone wild.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Scalars, Vectors
from ..clip import Clip
from ..components.motion import clip_of
from ..skeleton import Pose
from .truth import body, drawn_controls

FRAME_TIME = 1.0 / 60.0
ROM_FRAMES, WILD_FRAMES = 2400, 480
MOVE = 30
"""Frames from one pose to the next."""
BALLS = ("LeftUpperArm", "RightUpperArm", "LeftUpperLeg", "RightUpperLeg")
LEAP = np.radians(20.0)
"""A turn from one frame to the next that is none: a joint at its limit has changed sides."""
ROUNDS = 60
"""How often stops are drawn once more where the way to them leaps; fewer are needed."""
BEYOND = 0.4
"""How far stops would be beyond the ends, as a share of the range: so many are at the ends."""
CALM = 0.07
"""How much of its range a control of the wild clip uses where nothing is wild."""
STANDING = {
    "shoulder.flexion": 18.0,
    "shoulder.abduction": 22.0,
    "elbow.flexion": 35.0,
    "wrist.flexion": 8.0,
    "hip.flexion": 14.0,
    "hip.abduction": 5.0,
    "knee.flexion": 22.0,
    "ankle.dorsiflexion": 4.0,
}
"""The controls of both sides about which the wild clip moves, in degrees; the others are 0."""
MISDEEDS: dict[str, tuple[tuple[float, float, float], float, float, float]] = {
    # The elbow bends backwards,
    "LeftLowerArm": ((1.0, 0.0, 0.0), 100.0, 0.03, 0.33),
    # the arm goes all the way round, out by one side and in by another,
    "RightUpperArm": ((0.985, 0.17, 0.0), 360.0, 0.18, 0.66),
    # the knee gives way to the side,
    "LeftLowerLeg": ((0.0, 0.0, 1.0), 60.0, 0.45, 0.75),
    # the hand spins once about the forearm,
    "LeftHand": ((0.0, 1.0, 0.0), 360.0, 0.60, 0.80),
    # and the head looks behind.
    "Head": ((0.0, 1.0, 0.0), 150.0, 0.65, 0.97),
}
"""By joint: axis in the parent's frame, angle in degrees, and when it starts and ends (0 to 1)."""
WILD_JOINTS = tuple(MISDEEDS)


def range_of_motion(frames: int = ROM_FRAMES, seed: int = 0) -> Clip:
    """Return a clip in which every control goes to the ends of its range, legal in every frame."""
    rng, count = np.random.default_rng(seed), frames // MOVE + 2
    stops = drawn_controls(count, rng, BEYOND)
    for _ in range(ROUNDS):
        legs = _leaps(_travel(stops, frames, MOVE))
        if len(legs) == 0:
            break
        stops[legs + 1] = drawn_controls(count, rng, BEYOND)[legs + 1]
    return _clip("rom", _travel(stops, frames, MOVE), {})


def wild(frames: int = WILD_FRAMES, seed: int = 1) -> Clip:
    """Return a smooth clip that breaks the limits of `WILD_JOINTS`, one after another."""
    low, high = np.array([(each.low, each.high) for each in body().controls.values()]).T
    names = [name.removeprefix("left_").removeprefix("right_") for name in body().controls]
    standing = np.array([STANDING.get(name, 0.0) for name in names])
    shares = np.random.default_rng(seed).uniform(-1.0, 1.0, (frames // (2 * MOVE) + 2, len(low)))
    stops = standing + CALM * shares * (high - low)
    time, turns = np.linspace(0.0, 1.0, frames), {}
    for name, (axis, degrees, start, end) in MISDEEDS.items():
        share = np.clip((time - start) / (end - start), 0.0, 1.0)
        # There and back, but for whole turns, which end where they began.
        course = _ease(share) if degrees == 360.0 else _ease(1.0 - np.abs(2.0 * share - 1.0))
        turns[name] = quat.exp(np.radians(degrees) * course[:, None] * _unit(axis))
    return _clip("wild", _travel(stops, frames, 2 * MOVE), turns)


def _travel(stops: Floats, frames: int, move: int) -> Floats:
    """Return controls (frames, C) that go straight from stop to stop, as smoothly as people do."""
    leg, frame = np.divmod(np.arange(frames), move)
    share = _ease(frame / move)[:, None]
    return np.asarray(stops[leg] + share * (stops[leg + 1] - stops[leg]))


def _leaps(controls: Floats) -> Ints:
    """Return the numbers of the legs in which a joint leaps."""
    balls = [body().skeleton.index(name) for name in BALLS]
    rotations = body().pose(controls).rotations[:, balls]
    steps = quat.angle_between(rotations[:-1], rotations[1:]).max(axis=-1)
    return np.unique(np.flatnonzero(steps > LEAP) // MOVE)


def _ease(t: Scalars) -> Scalars:
    """Return the course, from 0 to 1, of a movement of least jerk."""
    return t**3 * (10.0 - 15.0 * t + 6.0 * t * t)


def _unit(vector: tuple[float, float, float]) -> Vectors:
    return np.asarray(np.asarray(vector) / np.linalg.norm(vector))


def _clip(name: str, controls: Floats, turns: dict[str, Quats]) -> Clip:
    """Return the clip of these controls, some joints turned further; the hips sway a little."""
    figure = body()
    posed = figure.pose(controls)
    rotations, positions = posed.rotations.copy(), posed.positions.copy()
    for joint, turn in turns.items():
        place = figure.skeleton.index(joint)
        rotations[:, place] = quat.mul(turn, rotations[:, place])
    time = np.arange(len(controls)) * FRAME_TIME
    rotations[:, 0] = quat.exp(0.3 * np.sin(0.9 * time)[:, None] * np.array([0.0, 1.0, 0.0]))
    positions[:, 0, 0] += 0.04 * np.sin(0.7 * time)
    positions[:, 0, 1] += 0.01 * np.sin(1.9 * time)
    pose = Pose(quat.unroll(rotations), positions)
    return replace(clip_of(figure, pose, FRAME_TIME), name=name)
