"""Bodies driven by captures: joints, learned limits, and inverse kinematics."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from synovia.arrays import Floats, Scalars, Vectors
from synovia.edit import push
from synovia.ik import Reach, SearchSettings, solve
from synovia.learn import (
    FitOptions,
    Take,
    TrimResult,
    bone_axes,
    fit_joint,
    invented_first_frame,
    takes_of,
    trim,
)
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import DistanceField
from synovia.skeleton import Clip, Pose, Skeleton, forward

from .finding import timed

ENDS = {
    "left hand": ("lefthand", "leftwrist", "lhand", "lwrist"),
    "right hand": ("righthand", "rightwrist", "rhand", "rwrist"),
    "left foot": ("leftfoot", "leftankle", "lfoot", "lankle"),
    "right foot": ("rightfoot", "rightankle", "rfoot", "rankle"),
    "head": ("head",),
}
"""Names of the driven joints in captures, in lower case without punctuation."""
TALL_CM, ARM = 175.0, 0.332
"""Reference height in centimetres, and the arm's length as a share of height (Winter)."""
ONCE = SearchSettings(restarts=0)
SHORT = 0.3
"""Smallest ratio of a limb's bone to the next; shorter bones are twist bones."""
FRAME_TIME = 1.0 / 30.0
"""Seconds between the frames used."""
STROKE = np.radians(8.0)
"""Radians by which the sculpting stroke pushes the boundary of a field outwards."""


@dataclass(frozen=True)
class Body:
    """Names of the joints of a skeleton that are used."""

    ends: tuple[str, ...]
    """Driven joints: hands, feet and head."""
    elbows: tuple[str, str]
    knees: tuple[str, str]
    movers: tuple[str, ...]
    """Joints that move the ends, parents first, without roots."""
    cm: float
    """Centimetres per unit of length, scaled to a person of 175 cm."""


def body_of(skeleton: Skeleton) -> Body:
    """Return the parts of a body, found by the names of its hands, feet and head."""
    plain = {_plain(name): name for name in reversed(skeleton.names)}
    ends = []
    for part, names in ENDS.items():
        found = next((plain[name] for name in names if name in plain), None)
        if found is None:
            raise ValueError(
                f"a capture must have a joint for the {part}, called something like {names[0]}; "
                f"it has {', '.join(skeleton.names)}"
            )
        ends.append(found)
    hands, feet = ends[:2], ends[2:4]
    elbows = [_above(skeleton, hand) for hand in hands]
    arms = [[skeleton.index(name) for name in pair] for pair in zip(hands, elbows, strict=True)]
    arm = np.mean([np.linalg.norm(skeleton.offsets[pair], axis=-1).sum() for pair in arms])
    used = {name for end in ends for name in _line(skeleton, end)}
    return Body(
        tuple(ends),
        (elbows[0], elbows[1]),
        (_above(skeleton, feet[0]), _above(skeleton, feet[1])),
        tuple(name for name in skeleton.names if name in used),
        TALL_CM * ARM / float(arm),
    )


def at_30(clip: Clip, most: int | None = None) -> Clip:
    """Return the clip at 30 frames a second or so, and `most` frames of it at most.

    A first frame that nobody performed is left out.
    """
    every = max(round(FRAME_TIME / clip.frame_time), 1)
    frames = np.arange(int(invented_first_frame(clip)), clip.frames, every)[:most]
    pose = Pose(clip.pose.rotations[frames], clip.pose.positions[frames])
    return Clip(clip.skeleton, pose, every * clip.frame_time, clip.name)


def _plain(name: str) -> str:
    """Return a joint's name without prefix and punctuation."""
    return re.sub(r"[^a-z0-9]", "", re.split("[:|]", name)[-1].lower())


def _above(skeleton: Skeleton, end: str) -> str:
    """Return the elbow or knee above an end: joints that come right after it are passed over."""
    lengths = np.linalg.norm(skeleton.offsets, axis=-1)
    joint = skeleton.index(end)
    above = int(skeleton.parents[joint])
    while lengths[above] < SHORT * lengths[joint] and skeleton.parents[above] >= 0:
        above = int(skeleton.parents[above])
    return skeleton.names[above]


def _line(skeleton: Skeleton, end: str) -> Iterable[str]:
    """Yield the joints above an end, without roots."""
    for joint in skeleton.path_to_root(skeleton.index(end))[1:-1]:
        yield skeleton.names[joint]


@dataclass(frozen=True)
class Family:
    """A shape in a chart, with the options of its fit; `sculpted` ones get a stroke of a brush."""

    name: str
    shape: str
    chart: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sculpted: bool = False


PAPER_FIELD = {"resolution": 32, "closing": 0.0}
"""Only sampled rotations; with 32 cells for 360°, one cell is the paper's threshold of 0.2."""
BOX = Family("box", "box", "rotation-vector", {"along": "chart"})
SAMPLED = Family("field, sampled", "distance-field", "euler", PAPER_FIELD)
FAMILIES = (
    BOX,
    SAMPLED,
    Family("field, sculpted", "distance-field", "euler", PAPER_FIELD, sculpted=True),
    Family("reach cone", "reach-cone", "direction-twist"),
    Family("box, turned", "box", "swing-twist"),
    Family("ellipsoid", "ellipsoid", "swing-twist"),
    Family("k-DOP", "kdop", "swing-twist"),
    Family("product", "product", "swing-twist"),
    Family("theta-phi table", "theta-phi", "direction-twist"),
    Family("field, filled", "distance-field", "rotation-vector"),
)
"""Families of the paper first: box, field, sculpted field; then reach cones, then ours."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Observed rotations of each joint, and the frames that are kept."""

    skeleton: Skeleton
    joints: Mapping[str, tuple[Sequence[Take], TrimResult, Vectors]]

    @classmethod
    def of(cls, clips: Sequence[Clip], joints: Sequence[str]) -> Lesson:
        """Collect the rotations of `joints`, named as in the first clip, from `clips`."""
        skeleton = clips[0].skeleton
        axes = bone_axes(skeleton)
        takes = takes_of(clips, list(joints), drop_first=[False] * len(clips))
        seen = {
            name: (takes[name], trim(takes[name]), axes[skeleton.index(name)])
            for name in joints
            if takes[name]
        }
        return cls(skeleton, seen)

    def model(self, family: Family) -> LimitModel:
        """Return the limits of one family for all joints."""
        options = FitOptions(family.shape, family.chart, shape_options=dict(family.options))
        limits = {}
        with warnings.catch_warnings():
            # About directions that no frame comes near.
            warnings.simplefilter("ignore", UserWarning)
            for name, (takes, trimmed, axis) in self.joints.items():
                fitted = fit_joint(takes, options, reference=None, axis=axis, trimmed=trimmed)
                limits[name] = sculpt(fitted.limit) if family.sculpted else fitted.limit
        return LimitModel(limits, self.skeleton)


def sculpt(limit: Limit) -> Limit:
    """Return the limit with its field pushed out by one broad stroke from the middle.

    The paper's animator left no record; this is ours, the plainest there is.
    """
    shape = limit.shape
    if not isinstance(shape, DistanceField):
        raise ValueError(f"only distance fields are sculpted, got {shape.name}")
    inside = shape.nodes[shape.values <= shape.threshold]
    middle = inside.mean(axis=0)
    radius = 2.0 * float(np.linalg.norm(inside - middle, axis=-1).max()) + STROKE
    return replace(limit, shape=push(shape, middle, radius, STROKE))


@dataclass(frozen=True, eq=False)
class Driven:
    """Solved poses (frames, ...), with results by frame."""

    pose: Pose
    seconds: Scalars
    met: Floats
    """1 where all ends reach their targets, else 0."""
    legal: bool
    """True if every pose is legal."""


def drive(model: LimitModel, clip: Clip, body: Body) -> Driven:
    """Solve for the captured positions of the ends within limits.

    Each frame starts from the pose found for the last, the first from its own capture. The root
    goes as captured; joints that move no end stay as they were at first.
    """
    skeleton, captured = clip.skeleton, clip.pose
    places = forward(skeleton, captured)[0]
    ends = {name: skeleton.index(name) for name in body.ends}
    roots = skeleton.parents < 0
    rotations = np.array(captured.rotations)
    seconds, met = np.empty(clip.frames), np.empty(clip.frames)
    turns = captured.rotations[0]
    for frame in range(clip.frames):
        turns = np.where(roots[:, None], captured.rotations[frame], turns)
        start = Pose(turns, captured.positions[frame])
        goals = [Reach(name, places[frame, joint]) for name, joint in ends.items()]
        run = partial(solve, model, skeleton, start, goals, joints=body.movers, settings=ONCE)
        found, seconds[frame] = timed(run)
        turns = rotations[frame] = found.pose.rotations
        met[frame] = found.converged
    pose = Pose(rotations, captured.positions)
    return Driven(pose, seconds, met, _legal(model, skeleton, pose, body))


def deviation(skeleton: Skeleton, found: Pose, captured: Pose, joint: str) -> Scalars:
    """Return the distance (...) of a joint from its captured position, in the skeleton's unit."""
    index = skeleton.index(joint)
    here, there = (forward(skeleton, pose)[0][..., index, :] for pose in (found, captured))
    return np.asarray(np.linalg.norm(here - there, axis=-1))


def _legal(model: LimitModel, skeleton: Skeleton, pose: Pose, body: Body) -> bool:
    """Return True if the moved joints are within their limits in every frame."""
    return all(
        bool(model.limits[name].contains(pose.rotations[:, skeleton.index(name)]).all())
        for name in body.movers
        if name in model.limits
    )
