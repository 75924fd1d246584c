"""An arm with limits of several kinds, goals that it can reach for sure, and ways to try it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import quat
from ...arrays import Mask, Quats, Vectors
from ...charts import DirectionTwist, SwingTwist
from ...ik import Goal, Orient, Reach, solve
from ...limit import Limit
from ...model import LimitModel
from ...shapes import Box, ReachCone
from ...skeleton import Pose, Skeleton, forward

BONES = {"Shoulder": 0.0, "Elbow": 0.30, "Forearm": 0.13, "Wrist": 0.13, "Hand": 0.08}
LENGTH = sum(BONES.values())
JOINTS = ("Shoulder", "Elbow", "Forearm", "Wrist")
CLOSE, STRAIGHT = 1e-3 * LENGTH, np.radians(0.2)
"""A goal is met within this length, and for the pose of the hand also this angle."""
ALONG, ACROSS = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])


@dataclass(frozen=True, eq=False)
class HandGoals:
    """Where legal poses put the hand: (n, 3), and how they turn it: (n, 4)."""

    points: Vectors
    turns: Quats

    @property
    def position(self) -> list[Goal]:
        """Only the place."""
        return [Reach("Hand", self.points)]

    @property
    def pose(self) -> list[Goal]:
        """Place and direction."""
        return [Reach("Hand", self.points), Orient("Hand", self.turns)]

    def met(self, skeleton: Skeleton, pose: Pose) -> tuple[Mask, Mask]:
        """Tell which are met in place, and which in place and direction."""
        where, how = forward(skeleton, pose)
        near = np.linalg.norm(where[..., -1, :] - self.points, axis=-1) <= CLOSE
        return near, near & (quat.angle_between(how[..., -1, :], self.turns) <= STRAIGHT)


def arm(wider: str = "", by: float = 0.0) -> LimitModel:
    """Return the limits of an arm with its skeleton; those of joint `wider` `by` radians wider.

    A shoulder with a reach cone of nine points and a twist that depends on direction, an elbow
    that is a hinge, a forearm that twists, a wrist that swings.
    """
    more = {name: by if name == wider else 0.0 for name in JOINTS}
    directions = DirectionTwist(axis=ALONG)
    around = 2.0 * np.pi * np.arange(9) / 9
    radius = np.radians(75.0 + 20.0 * np.cos(around) + 8.0 * np.sin(2.0 * around))
    lean, spread = np.radians(15.0) * np.sin(around), more["Shoulder"]
    shoulder = ReachCone(
        ring(around, radius + spread),
        lean - np.radians(65.0) - spread,
        lean + np.radians(55.0) + spread,
    )
    eighths = np.pi * np.arange(8) / 4
    still = np.zeros(8)
    wrist = ReachCone(ring(eighths, np.full(8, 0.9 + more["Wrist"])), still, still)
    elbow, turn = np.radians([0.0, 150.0]), np.radians([-80.0, 80.0])
    limits = {
        "Shoulder": Limit(directions, shoulder),
        "Elbow": hinge(ACROSS, elbow[0] - more["Elbow"], elbow[1] + more["Elbow"]),
        "Forearm": hinge(ALONG, turn[0] - more["Forearm"], turn[1] + more["Forearm"]),
        "Wrist": Limit(directions, wrist),
    }
    offsets = np.array([[length, 0.0, 0.0] for length in BONES.values()])
    return LimitModel(limits, Skeleton(tuple(BONES), np.arange(len(BONES)) - 1, offsets))


def loose_arm() -> LimitModel:
    """Return the same arm with the axes of its joints but without their ends."""
    wide = np.array([2.0, 2.0, 0.0])
    swing = Limit(SwingTwist(axis=ALONG), Box(-wide, wide, np.eye(3)))
    limits = {
        "Elbow": hinge(ACROSS, -np.pi, np.pi),
        "Forearm": hinge(ALONG, -np.pi, np.pi),
        "Wrist": swing,
    }
    return LimitModel(limits, arm().skeleton)


def hinge(axis: Vectors, low: float, high: float) -> Limit:
    """Return a limit about one axis, from low to high, radians."""
    ends = np.array([[0.0, 0.0, low], [0.0, 0.0, high]])
    return Limit(SwingTwist(axis=axis), Box(ends[0], ends[1], np.eye(3)))


def sure_goals(model: LimitModel, count: int, seed: int = 1) -> HandGoals:
    """Return goals that legal poses of `model` meet."""
    where, how = forward(model.skeleton, model.sample(count, np.random.default_rng(seed)))
    return HandGoals(where[:, -1], how[:, -1])


def starts(skeleton: Skeleton) -> dict[str, Pose]:
    """Return two poses to start from: stretched out, and with the elbow at 60 degrees."""
    rest = skeleton.rest_pose()
    rotations = rest.rotations.copy()
    rotations[skeleton.index("Elbow")] = quat.exp(np.radians(60.0) * ACROSS)
    return {"straight": rest, "bent": Pose(rotations, rest.positions)}


def clamp_after(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> Pose:
    """Return what comes of solving without limits, and keeping them afterwards."""
    found = solve(loose_arm(), model.skeleton, pose, goals, joints=JOINTS)
    return model.project(found.pose)


def ring(around: Vectors, radius: Vectors) -> Vectors:
    """Return directions `radius` from x, towards `around` (0 is y, a right angle z): (n, 3)."""
    across = np.sin(radius)[:, None] * np.stack([np.cos(around), np.sin(around)], axis=-1)
    return np.column_stack([np.cos(radius), across])
