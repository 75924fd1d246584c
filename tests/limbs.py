"""Synthetic limbs of the canonical human for tests: limits are plain, sizes are human."""

from __future__ import annotations

import numpy as np

from synovia import Box, Ellipsoid, Limit, LimitModel, SwingTwist, quat
from synovia.charts import Hinges
from synovia.model import ARM_SHIFTS, LEG_SHIFTS, Limb, TwoJointMuscle, couple
from synovia.rigs import canonical_skeleton

X, Y, Z = np.eye(3)


def hinges(axes, low_deg, high_deg):
    box = Box(np.radians(low_deg), np.radians(high_deg), np.eye(3))
    return Limit(Hinges(axes=np.array(axes, float)), box)


def shoulder():
    reference = quat.between(X, np.array([0.7, -0.17, 0.7]) / np.linalg.norm([0.7, -0.17, 0.7]))
    shape = Ellipsoid(np.zeros(3), np.radians([60.0, 105.0, 95.0]), np.eye(3)[[2, 0, 1]])
    return Limit(SwingTwist(reference, X), shape)


def arm(**changes):
    limits = {
        "leftUpperArm": shoulder(),
        "leftLowerArm": hinges([-Y, Z, X], [-10, -12, -100], [155, 12, 95]),
        "leftHand": Limit(
            SwingTwist(axis=X),
            Box(np.radians([-90, -45, -20]), np.radians([90, 45, 20]), np.eye(3)),
        ),
    }
    return Limb(**{"limits": limits, "axes": [X, X], "shifts": ARM_SHIFTS, **changes})


def leg(muscles=False, **changes):
    hip = Limit(
        SwingTwist(quat.exp(np.radians([-45.0, 0, 0])), -Y),
        Ellipsoid(np.zeros(3), np.radians([85.0, 50.0, 50.0]), np.eye(3)),
    )
    knee = hinges([X, Z, -Y], [-10, -9, -40], [160, 9, 40])
    ankle = hinges([X, Z, Y], [-50, -40, -30], [70, 40, 30])
    limits = {"leftUpperLeg": hip, "leftLowerLeg": knee, "leftFoot": ankle}
    fields = {"axes": [-Y, -Y], "shifts": LEG_SHIFTS, "neutral": None}
    if muscles:
        fields["muscles"] = [
            TwoJointMuscle(
                "hamstrings", "leftUpperLeg", -Y, -Y, -X, np.radians([[0, 60], [60, 110]])
            ),
            TwoJointMuscle("rectus", "leftUpperLeg", -Y, -Y, X, np.radians([[60, 40], [140, 0]])),
            TwoJointMuscle("calf", "leftFoot", -Y, -Y, -X, np.radians([[0, 20], [40, 45]])),
        ]
    return Limb(**{"limits": limits, **fields, **changes})


LIMBS = {
    "arm": arm(),
    "two bones": arm(limits=dict(list(arm().limits.items())[:2])),
    "leg": leg(),
    "leg with muscles": leg(muscles=True),
}


def model_of(*limbs, others=None):
    limits = {name: limit for limb in limbs for name, limit in limb.limits.items()}
    constraints = couple({**limits, **(others or {})}, {}, limbs)
    return LimitModel(constraints, canonical_skeleton())


def random_limbs(limb, n, seed=0, spread=0.7):
    """Limbs (n, k, 4): legal ones, each joint rotated further by a random rotation."""
    rng = np.random.default_rng(seed)
    limbs = limb.sample(n, rng, quat.IDENTITY)
    size = spread * rng.random((n, 1, 1)) ** 2
    return quat.mul(limbs, quat.exp(size * rng.normal(size=(*limbs.shape[:2], 3))))


def twins(limb, rotations, shift, twist=None):
    """The same limbs with twist (n,) moved from lower to upper bone, and from end to lower."""
    moved = limb.shift_twist(rotations, shift)
    if twist is not None and moved.shape[1] == 3:
        turn = quat.exp(np.asarray(twist)[:, None] * limb.axes[1])
        moved[:, 1] = quat.mul(moved[:, 1], turn)
        moved[:, 2] = quat.mul(quat.inverse(turn), moved[:, 2])
    return moved


def legal_by_search(limb, rotations, step_deg=0.1):
    """The definition, by the plainest search: (n,) masks, and the least excess of each limb."""
    pooled, _ = limb.pool(rotations)
    most = np.degrees(limb.max_shift(pooled))
    legal, least = [], []
    for each, end in zip(pooled, most, strict=True):
        steps = np.radians(np.append(np.arange(-end, end, step_deg), [end, 0.0]))
        tried = limb.shift_twist(np.broadcast_to(each, (len(steps), *each.shape)), steps)
        distance = np.maximum(limb.joint_distance(tried), limb.muscle_excess(each)).max(axis=-1)
        legal.append((distance <= 1e-9).any())
        least.append(distance.min())
    return np.array(legal), np.array(least)
