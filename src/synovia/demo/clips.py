"""Clips made of the default human's controls, and limits learned from them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np

from .. import quat
from ..anatomy import human
from ..arrays import Floats, Ints, Quats, Scalars, Vectors
from ..components import Figure
from ..components.figure import clip_of
from ..model import LimitModel
from ..skeleton import Clip, Pose, lineage

LIMBS = ("Clavicle", "UpperArm", "LowerArm", "Forearm", "Hand", "UpperLeg", "LowerLeg", "Foot")
JOINTS = ("Head", *(f"{side}{limb}" for side in ("Left", "Right") for limb in LIMBS))
"""Joints with learned limits; single vertebrae and ribs move too little."""
ANCESTORS = {"Head": "T1", "LeftUpperArm": "Sternum", "RightUpperArm": "Sternum"}
"""Joints measured from an ancestor above their parent."""
SAMPLES = 2000  # random poses
MARGIN = 0.05  # radians: margin of learned limits


@cache
def body() -> Figure:
    """Return the default human."""
    return human()


def random_controls(n: int, rng: np.random.Generator, beyond: float = 0.0) -> Floats:
    """Return controls (n, C) at random, those `beyond` their ends, as a share, at the ends.

    Flexion and abduction of a shoulder are within an ellipse of their ranges, because an arm that
    does both to the end could as well be on the other side of the body. Head and neck go together.
    """
    controls = body().controls
    index = {name: k for k, name in enumerate(controls)}
    low, neutral, high = np.array([(c.low, c.neutral, c.high) for c in controls.values()]).T
    shares = rng.uniform(-beyond, 1.0 + beyond, (n, len(low)))
    table = low + np.clip(shares, 0.0, 1.0) * (high - low)
    for side in ("left", "right"):
        pair = [index[f"{side}_shoulder.{move}"] for move in ("flexion", "abduction")]
        around = rng.uniform(0.0, 2.0 * np.pi, n)
        size = np.minimum(np.sqrt(rng.uniform(0.0, 1.0 + 2.0 * beyond, n)), 1.0)
        for k, part in zip(pair, (np.cos(around), np.sin(around)), strict=True):
            ends = np.where(part > 0.0, high[k] - neutral[k], neutral[k] - low[k])
            table[:, k] = neutral[k] + size * part * ends
    for move in ("flexion", "bend", "twist"):
        neck, head = index[f"cervical.{move}"], index[f"head.{move}"]
        share = (table[:, neck] - low[neck]) / (high[neck] - low[neck])
        table[:, head] = low[head] + share * (high[head] - low[head])
    return np.asarray(table)


def learn_limits(clip: Clip, shape: str, chart: str) -> LimitModel:
    """Return limits of `JOINTS`, of this shape in this chart, learned from a clip."""
    with warnings.catch_warnings():
        # An arm overhead is opposite to one that hangs, where the twist is not defined.
        warnings.filterwarnings("ignore", ".*the direction opposite", UserWarning)
        return LimitModel.fit(
            [clip], shape, chart, margin=MARGIN, joints=JOINTS, relative_to=ANCESTORS
        )


def share_accepted(model: LimitModel) -> float:
    """Return the share of random poses whose joints are legal, as a mean over `JOINTS`."""
    controls = random_controls(SAMPLES, np.random.default_rng(2))
    shares = [model.limits[n].contains(joint_rotations(n, controls)).mean() for n in JOINTS]
    return float(np.mean(shares))


def joint_rotations(name: str, controls: Floats) -> Quats:
    """Return the rotations (n, 4) of a joint for controls (n, C), from its measuring ancestor."""
    figure = body()
    return lineage(figure.skeleton, name, ANCESTORS.get(name)).relative_rotation(
        figure.pose(controls).rotations
    )


FRAME_TIME = 1.0 / 60.0
ROM_FRAMES, WILD_FRAMES = 3000, 480
MOVE_FRAMES = 30
"""Frames from one pose to the next."""
BALLS = ("LeftUpperArm", "RightUpperArm", "LeftUpperLeg", "RightUpperLeg")
LEAP = np.radians(20.0)
"""Radians from frame to frame above which a joint at its limit has changed sides."""
ROUNDS = 60
"""Maximum rounds of drawing stops again where the path to them leaps."""
BEYOND = 0.4
"""Random stops are drawn up to this share of the range beyond its ends, then clamped."""
CALM = 0.07
"""Share of its range that a control uses in the legal parts of the wild clip."""
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
"""Means of the controls in the wild clip, both sides, in degrees; others have 0."""
VIOLATIONS: dict[str, tuple[tuple[float, float, float], float, float, float]] = {
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
WILD_JOINTS = tuple(VIOLATIONS)


def range_of_motion(frames: int = ROM_FRAMES, seed: int = 0) -> Clip:
    """Return a clip in which every control goes to the ends of its range, legal in every frame."""
    rng, count = np.random.default_rng(seed), frames // MOVE_FRAMES + 2
    stops = random_controls(count, rng, BEYOND)
    for _ in range(ROUNDS):
        legs = _leaps(_travel(stops, frames, MOVE_FRAMES))
        if len(legs) == 0:
            break
        stops[legs + 1] = random_controls(count, rng, BEYOND)[legs + 1]
    return _clip("rom", _travel(stops, frames, MOVE_FRAMES), {})


def wild(frames: int = WILD_FRAMES, seed: int = 1) -> Clip:
    """Return a smooth clip that breaks the limits of `WILD_JOINTS`, one after another."""
    low, high = np.array([(control.low, control.high) for control in body().controls.values()]).T
    names = [name.removeprefix("left_").removeprefix("right_") for name in body().controls]
    standing = np.array([STANDING.get(name, 0.0) for name in names])
    shares = np.random.default_rng(seed).uniform(
        -1.0, 1.0, (frames // (2 * MOVE_FRAMES) + 2, len(low))
    )
    stops = standing + CALM * shares * (high - low)
    time, extra = np.linspace(0.0, 1.0, frames), {}
    for name, (axis, degrees, start, end) in VIOLATIONS.items():
        share = np.clip((time - start) / (end - start), 0.0, 1.0)
        # There and back, but for whole turns, which end where they began.
        course = _ease(share) if degrees == 360.0 else _ease(1.0 - np.abs(2.0 * share - 1.0))
        extra[name] = quat.exp(np.radians(degrees) * course[:, None] * _unit(axis))
    return _clip("wild", _travel(stops, frames, 2 * MOVE_FRAMES), extra)


def _travel(stops: Floats, frames: int, move: int) -> Floats:
    """Return controls (frames, C) on straight, eased paths from stop to stop."""
    leg, frame = np.divmod(np.arange(frames), move)
    share = _ease(frame / move)[:, None]
    return np.asarray(stops[leg] + share * (stops[leg + 1] - stops[leg]))


def _leaps(controls: Floats) -> Ints:
    """Return the indices of the paths between stops in which a joint leaps."""
    balls = [body().skeleton.index(name) for name in BALLS]
    rotations = body().pose(controls).rotations[:, balls]
    steps = quat.angle_between(rotations[:-1], rotations[1:]).max(axis=-1)
    return np.unique(np.flatnonzero(steps > LEAP) // MOVE_FRAMES)


def _ease(t: Scalars) -> Scalars:
    """Return the minimum-jerk profile from 0 to 1 at times `t` from 0 to 1 (Flash & Hogan 1985)."""
    return t**3 * (10.0 - 15.0 * t + 6.0 * t * t)


def _unit(vector: tuple[float, float, float]) -> Vectors:
    return np.asarray(np.asarray(vector) / np.linalg.norm(vector))


def _clip(name: str, controls: Floats, extra: dict[str, Quats]) -> Clip:
    """Return the clip of controls (frames, C), with extra rotations of joints."""
    figure = body()
    posed = figure.pose(controls)
    rotations, positions = posed.rotations.copy(), posed.positions.copy()
    for name, rotation in extra.items():
        joint = figure.skeleton.index(name)
        rotations[:, joint] = quat.mul(rotation, rotations[:, joint])
    time = np.arange(len(controls)) * FRAME_TIME
    rotations[:, 0] = quat.exp(0.3 * np.sin(0.9 * time)[:, None] * np.array([0.0, 1.0, 0.0]))
    positions[:, 0, 0] += 0.04 * np.sin(0.7 * time)
    positions[:, 0, 1] += 0.01 * np.sin(1.9 * time)
    pose = Pose(quat.unroll(rotations), positions)
    return replace(clip_of(figure, pose, FRAME_TIME), name=name)
