"""Clips: a skeleton in motion."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..arrays import Scalars
from ..quat import angle_between
from .skeleton import Pose, Skeleton, check_joints


@dataclass(frozen=True, eq=False)
class Clip:
    """Poses of a skeleton, frames first, `frame_time` seconds apart; there may be none."""

    skeleton: Skeleton
    pose: Pose
    frame_time: float
    name: str = ""

    def __post_init__(self) -> None:
        shape = self.pose.rotations.shape
        if len(shape) != 3:
            raise ValueError(
                f"Clip.pose must have rotations of shape (frames, joints, 4), got {shape}"
            )
        check_joints(self.skeleton, self.pose)
        if not (self.frame_time > 0.0 and math.isfinite(self.frame_time)):
            raise ValueError(
                f"Clip.frame_time must be above 0 seconds and finite, got {self.frame_time}"
            )
        object.__setattr__(self, "frame_time", float(self.frame_time))

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return int(self.pose.rotations.shape[0])

    @property
    def steps(self) -> Scalars:
        """The angle of each joint from each frame to the next: (frames - 1, joints), radians."""
        rotations = self.pose.rotations
        return angle_between(rotations[:-1], rotations[1:])
