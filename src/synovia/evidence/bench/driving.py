"""Driving: the ends of a body follow a capture, and the rest of it finds its own way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...arrays import Floats, Scalars
from ...clip import Clip
from ...ik import Reach, solve
from ...model import LimitModel
from ...skeleton import Pose, Skeleton, forward
from .body import Body
from .finding import stopped


@dataclass(frozen=True, eq=False)
class Driven:
    """The poses that came out (frames, ...), and for each frame how they were found."""

    pose: Pose
    seconds: Scalars
    met: Floats
    """1 where all ends are where they should be, else 0."""
    legal: bool
    """Whether every pose is legal by `contains`."""


def drive(model: LimitModel, clip: Clip, body: Body) -> Driven:
    """Return the clip with its ends where they were captured, and all limits kept.

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
        run = partial(solve, model, skeleton, start, goals, joints=body.movers, restarts=0)
        found, seconds[frame] = stopped(run)
        turns = rotations[frame] = found.pose.rotations
        met[frame] = found.converged
    pose = Pose(rotations, captured.positions)
    return Driven(pose, seconds, met, _legal(model, skeleton, pose, body))


def deviation(skeleton: Skeleton, found: Pose, captured: Pose, joint: str) -> Scalars:
    """Return how far a joint is from where it was captured, in the skeleton's unit: (...)."""
    index = skeleton.index(joint)
    here, there = (forward(skeleton, pose)[0][..., index, :] for pose in (found, captured))
    return np.asarray(np.linalg.norm(here - there, axis=-1))


def _legal(model: LimitModel, skeleton: Skeleton, pose: Pose, body: Body) -> bool:
    """Tell whether the joints that moved are within their limits in every frame."""
    return all(
        bool(model.limits[name].contains(pose.rotations[:, skeleton.index(name)]).all())
        for name in body.movers
        if name in model.limits
    )
