"""Which joints of a capture are its hands, feet and head, its elbows and knees, and how tall."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...clip import Clip
from ...fitting import invented_first_frame
from ...skeleton import Pose, Skeleton

ENDS = {
    "left hand": ("lefthand", "leftwrist", "lhand", "lwrist"),
    "right hand": ("righthand", "rightwrist", "rhand", "rwrist"),
    "left foot": ("leftfoot", "leftankle", "lfoot", "lankle"),
    "right foot": ("rightfoot", "rightankle", "rfoot", "rankle"),
    "head": ("head",),
}
"""What captures call the joints that are driven, in small letters without marks."""
TALL_CM, ARM = 175.0, 0.332
"""The person lengths are told for, and the share of the height from shoulder to wrist (Winter)."""
SHORT = 0.3
"""A bone that is shorter, by the one below it, is no limb: a forearm may turn beside its elbow."""
FRAME_TIME = 1.0 / 30.0
"""Seconds from one frame that is looked at to the next."""


@dataclass(frozen=True)
class Body:
    """The joints of a skeleton that matter here, by name."""

    ends: tuple[str, ...]
    """Those that are driven: hands, feet and head."""
    elbows: tuple[str, str]
    knees: tuple[str, str]
    movers: tuple[str, ...]
    """Those that take the ends where they go, parents first, roots apart."""
    cm: float
    """Centimetres a unit of length, were the arm that of a person of 175 cm."""


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
    """Return a joint's name without what stands before a colon, and without marks."""
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
    """Yield the joints above an end, roots apart."""
    joint = int(skeleton.parents[skeleton.index(end)])
    while joint >= 0 and skeleton.parents[joint] >= 0:
        yield skeleton.names[joint]
        joint = int(skeleton.parents[joint])
