"""An arm to pose by goals: one joint of each family, or the same family at every joint."""

from __future__ import annotations

from functools import cache

import numpy as np

from synovia import quat
from synovia.charts import DirectionTwist, SwingTwist
from synovia.ik import solve, two_bone
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import Box, ReachCone
from synovia.skeleton import Skeleton

X = np.array([1.0, 0.0, 0.0])
NAMES = ("Chest", "Shoulder", "Elbow", "Wrist", "Hand")
FAMILIES = {
    "box": "swing-twist",
    "kdop": "swing-twist",
    "reach-cone": "direction-twist",
    "theta-phi": "direction-twist",
    "distance-field": "swing-twist",
}
"""The families that a solver must never leave, each in a chart that it works in."""


def skeleton(joints=5, length=0.3):
    offsets = np.tile([length, 0.0, 0.0], (joints, 1))
    offsets[0] = [0.1, 1.2, 0.0]
    names = (*NAMES, *(f"Finger{k}" for k in range(joints)))[:joints]
    return Skeleton(names, np.arange(joints) - 1, offsets)


def hinge(axis, low, high):
    chart = SwingTwist(axis=np.asarray(axis, float))
    return Limit(chart, Box([0.0, 0.0, low], [0.0, 0.0, high], np.eye(3)))


def cone(radius, low, high, points=9):
    around = 2.0 * np.pi * np.arange(points) / points
    ring = np.sin(radius) * np.array([np.cos(around), np.sin(around)])
    shape = ReachCone(np.stack([np.full(points, np.cos(radius)), *ring], axis=1), low, high)
    return Limit(DirectionTwist(axis=X), shape)


def arm():
    """Shoulder with a cone and a twist, elbow a hinge, wrist a cone without a twist."""
    limits = {
        "Shoulder": cone(1.2, -1.0, 0.8),
        "Elbow": hinge([0.0, -1.0, 0.0], 0.0, 2.6),
        "Wrist": cone(0.8, 0.0, 0.0),
    }
    return LimitModel(limits, skeleton())


def legs():
    """Two legs on a hip, whose knees bend one way."""
    names = ("Hips", "LeftHip", "LeftKnee", "LeftFoot", "RightHip", "RightKnee", "RightFoot")
    leg = [[0.1, 0.0, 0.0], [0.0, -0.4, 0.0], [0.0, -0.4, 0.0]]
    offsets = np.array([[0.0, 0.75, 0.0], *leg, *(np.array(leg) * [-1.0, 1.0, 1.0])])
    body = Skeleton(names, [-1, 0, 1, 2, 0, 4, 5], offsets)
    return LimitModel({n: hinge([1.0, 0.0, 0.0], 0.0, 2.4) for n in names if "Knee" in n}, body)


@cache
def of_family(name):
    """The same joints, each with a limit of one family, fitted to turns about its own mean."""
    limits = {}
    for k, joint in enumerate(NAMES[1:]):
        rng = np.random.default_rng(k)
        turns = quat.exp(rng.normal([0.0, 0.3, -0.2], [0.2, 0.5, 0.4], size=(400, 3)))
        limits[joint] = Limit.fit(turns, name, FAMILIES[name], axis=X)
    return LimitModel(limits, skeleton())


def solve_one(model, skeleton, pose, goal, **options):
    """Meet one goal by `solve`, called as `two_bone` is."""
    return solve(model, skeleton, pose, [goal], **options)


SOLVERS = [solve_one, two_bone]
