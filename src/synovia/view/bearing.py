"""How a clip stands: which way is up, which joint looks, and along which of its axes."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..clip import Clip
from ..skeleton import Pose, forward

AXES = {
    f"{sign}{name}": (-1.0 if sign else 1.0) * np.eye(3)[number]
    for number, name in enumerate("xyz")
    for sign in ("", "-")
}
"""The axes that a joint may look along, by name."""
MOST_FRAMES = 50
UPRIGHT = 0.3
"""Cosine between up and across of a body that stands, at most."""
_HIGH, _LOW = re.compile(r"head|neck", re.IGNORECASE), re.compile(r"foot|toe|ankle", re.IGNORECASE)
_HEADS = (re.compile(r"head$", re.IGNORECASE), re.compile(r"head", re.IGNORECASE))
_LEFT = re.compile(r"[Ll]eft|LEFT|(?:^|[._ :-])[Ll](?=[A-Z._ -]|$)")
_RIGHT = re.compile(r"[Rr]ight|RIGHT|(?:^|[._ :-])[Rr](?=[A-Z._ -]|$)")


def up_axis(clip: Clip) -> Literal["y", "z"]:
    """Return the axis of the world, "y" or "z", along which the clip stands.

    From feet to head, where joints are called so; otherwise the one that joints extend along.
    """
    where, _ = forward(clip.skeleton, _some(clip))
    rise = _between(clip, where, _LOW, _HIGH)
    _, y, z = (np.ptp(where, axis=1) if rise is None else rise).mean(axis=0)
    return "z" if z > abs(y) else "y"


def looker(clip: Clip) -> str | None:
    """Return the joint that looks, which is called a head; None where there is none."""
    skeleton = clip.skeleton
    below = [
        name for name, parent in zip(skeleton.names, skeleton.parents, strict=True) if parent >= 0
    ]
    return next((name for head in _HEADS for name in below if head.search(name)), None)


def look_axis(clip: Clip, joint: str) -> str:
    """Return the axis of a joint that points to where the body faces: ahead of left and right.

    At rest, where the body stands upright then; otherwise mostly so in the clip. Where joints are
    not called left and right, it is to the front.
    """
    rest = clip.skeleton.rest_pose()
    still = Pose(rest.rotations[None], rest.positions[None])
    for pose, bent in ((still, UPRIGHT), (_some(clip), 1.0)):
        where, how = forward(clip.skeleton, pose)
        across, rise = _between(clip, where, _RIGHT, _LEFT), _between(clip, where, _LOW, _HIGH)
        if across is None or rise is None:
            break
        lengths = np.linalg.norm(across, axis=-1) * np.linalg.norm(rise, axis=-1)
        if (np.abs((across * rise).sum(axis=-1)) <= bent * lengths).all():
            own = quat.rotate(
                quat.inverse(how[:, clip.skeleton.index(joint)]), np.cross(across, rise)
            )
            return max(AXES, key=lambda name: float(AXES[name] @ own.mean(axis=0)))
    return "z" if up_axis(clip) == "y" else "-y"


def _some(clip: Clip) -> Pose:
    """Return the poses of some of the frames."""
    step = max(clip.frames // MOST_FRAMES, 1)
    return Pose(clip.pose.rotations[::step], clip.pose.positions[::step])


def _between(
    clip: Clip, where: Vectors, start: re.Pattern[str], end: re.Pattern[str]
) -> Vectors | None:
    """Return the way (frames, 3) from the joints that are called one thing to another's."""
    ours, others = (
        [joint for joint, name in enumerate(clip.skeleton.names) if called.search(name)]
        for called in (start, end)
    )
    if not ours or not others:
        return None
    return np.asarray(where[:, others].mean(axis=1) - where[:, ours].mean(axis=1))
