# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits as Blender itself has them, with the loss measured: constraints, and ranges for its IK.

Both are about the bone's own axes. Limit Rotation clamps three Euler angles. The solver of inverse
kinematics has a range of twist about the bone's axis, y, and ranges of swings about x and z; it
keeps swings within ellipses in these.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from synovia import Box, Limit, SwingTwist, quat
from synovia.arrays import Points, Quats
from synovia.charts import Hinges
from synovia.export import Loss, measure_loss

from .limits import Bound, bound
from .rig import OWN

MEMBERS = 5000
"""Legal rotations that ranges are fitted to."""
DETAIL = 2
"""How fine the boundary is that ranges hold, too."""
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def euler_ranges(limits: Bound, bone: str) -> tuple[str, Points, Loss]:
    """Return an order, ranges (2, 3) of a bone's Euler angles x, y, z in radians, and the loss.

    Of the six orders it is the one whose ranges take the smallest share of all rotations.
    """
    limit, frame = _limit_and_frame(limits, bone)
    own = quat.rotate(frame, np.eye(3))
    members = _members(limit)
    tried = []
    for order in ORDERS:
        letters = ["XYZ".index(letter) for letter in order[::-1]]
        chart = Hinges(quat.IDENTITY, own[letters])
        points = chart.gather(members)
        ends = np.stack([points.min(axis=0), points.max(axis=0)])
        tried.append((_box_share(ends), order, letters, chart, ends))
    _, order, letters, chart, ends = min(tried, key=lambda each: each[0])
    loss = measure_loss(limit, Limit(chart, Box(ends[0], ends[1], np.eye(3))))
    return order, ends[:, np.argsort(letters)], loss


def _box_share(ends: Points) -> float:
    """Return about what share of all rotations ranges (2, 3) of three square hinges take."""
    middle = np.linspace(ends[0, 1], ends[1, 1], 65)
    wide = np.minimum(ends[1] - ends[0], 2.0 * np.pi)
    return float(wide.prod() * np.abs(np.cos(middle)).mean() / (8.0 * np.pi**2))


def swing_twist_ranges(limits: Bound, bone: str) -> tuple[Points, Loss]:
    """Return ranges (2, 3) of a bone's swing about x, twist about y, swing about z, and the loss.

    The bone at rest is in them, since Blender's ranges begin at most at 0.
    """
    limit, frame = _limit_and_frame(limits, bone)
    x, y, z = quat.rotate(frame, np.eye(3))
    chart = SwingTwist(quat.IDENTITY, y)
    points = chart.gather(_members(limit))
    swings = quat.rotate(chart.swing_frame, np.column_stack([points[:, :2], np.zeros(len(points))]))
    turns = np.column_stack([swings @ x, points[:, 2], swings @ z])
    ranges = np.stack([np.minimum(turns.min(axis=0), 0.0), np.maximum(turns.max(axis=0), 0.0)])
    ranges = np.clip(ranges, -np.pi, np.pi)
    # The same ranges as a box of the chart, whose axes of swings are turned about the bone.
    own = quat.rotate(quat.inverse(chart.swing_frame), np.stack([x, z, y]))
    box = Box(ranges[0, [0, 2, 1]], ranges[1, [0, 2, 1]], own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ranges may be all around, however little that says
        return ranges, measure_loss(limit, Limit(chart, box))


def _members(limit: Limit) -> Quats:
    """Return legal rotations (n, 4): all over a limit, and on its boundary."""
    scattered = limit.sample(MEMBERS, np.random.default_rng(0))
    boundary = limit.chart.rotations(limit.shape.surface(DETAIL).vertices)
    return np.concatenate([scattered, boundary])


def _limit_and_frame(limits: Bound, bone: str) -> tuple[Limit, Any]:
    limit = limits.model.limits[bone]
    return Limit(limit.chart, limit.shape), limits.rig.frames[limits.rig.skeleton.index(bone)]


def write_limit_rotation(bone: Any, order: str, ranges: Points) -> None:
    """Give a pose bone a Limit Rotation constraint with these ranges, in place of ours."""
    remove_limit_rotation(bone)
    made = bone.constraints.new("LIMIT_ROTATION")
    made.name, made.owner_space, made.euler_order = OWN, "LOCAL", order
    made.use_transform_limit = True
    for letter, low, high in zip("xyz", *ranges.tolist(), strict=True):
        setattr(made, f"use_limit_{letter}", True)
        setattr(made, f"min_{letter}", low)
        setattr(made, f"max_{letter}", high)


def remove_limit_rotation(bone: Any) -> bool:
    """Take our constraint away from a pose bone; tell whether there was one."""
    found = [each for each in bone.constraints if each.name == OWN]
    for each in found:
        bone.constraints.remove(each)
    return bool(found)


def write_ik_limits(bone: Any, ranges: Points) -> None:
    """Give a pose bone these ranges for inverse kinematics."""
    for letter, low, high in zip("xyz", *ranges.tolist(), strict=True):
        setattr(bone, f"use_ik_limit_{letter}", True)
        setattr(bone, f"ik_min_{letter}", low)
        setattr(bone, f"ik_max_{letter}", high)


def write(thing: Any, form: str) -> dict[str, Loss]:
    """Write all limits of an armature object as Blender has them; return the loss of each bone."""
    limits, losses = bound(thing), {}
    for name in limits.model.limits:
        bone = thing.pose.bones[name]
        if form == "ik":
            ranges, losses[name] = swing_twist_ranges(limits, name)
            write_ik_limits(bone, ranges)
        else:
            order, ranges, losses[name] = euler_ranges(limits, name)
            write_limit_rotation(bone, order, ranges)
    return losses
