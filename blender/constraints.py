# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits as Blender itself has them, with the loss measured: constraints, and ranges for its IK.

Both are about the bone's own axes. Limit Rotation clamps three Euler angles. Ranges for inverse
kinematics are no Euler angles: see `IKRanges`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synovia import Box, Limit, quat
from synovia.arrays import Floats, Mask, Points, Quats, Scalars
from synovia.charts import Hinges
from synovia.export import Loss, measure_loss
from synovia.limit import gather
from synovia.shapes.mesh import shape_surface

from .limits import Bound, bound
from .rig import OWN

MEMBERS = 5000
"""Legal rotations that ranges are fitted to."""
DETAIL = 2
"""How fine the boundary is that ranges hold, too."""
ENDS = 96
"""How many ends of a range are tried on either side."""
THINNEST = 1e-6
"""The least half sine of a range's end; a range of no width would be a corner, not an ellipse."""
EDGE = 1e-9
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
        points = gather(chart, members)
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


@dataclass(frozen=True, eq=False)
class IKRanges:
    """The rotations that Blender's solver of inverse kinematics keeps a bone to.

    A rotation is a twist about the bone's axis, y, and then a swing, by an angle about an axis in
    the plane of x and z. The twist has a range. Of the swing, the point sin(angle / 2) · axis is
    held within four quarters of ellipses, which end on each half of x and z at sin(end / 2) of the
    range there. So a swing about both axes at once goes less far than a box of ranges would let it.
    """

    frame: Quats
    """How the bone is turned at rest (4,)."""
    ranges: Points
    """Low and high (2, 3), in radians, about x, y and z; 0 is among each."""

    def contains(self, rotations: Quats) -> Mask:
        """Tell which rotations (..., 4) the solver leaves alone."""
        swings, twists = swing_and_twist(self.frame, rotations)
        low, high = self.ranges[:, 1]
        beyond = np.maximum(low - twists, twists - high)
        return np.asarray(np.maximum(self._level(swings) - 1.0, beyond) <= EDGE)

    def correction(self, rotations: Quats) -> Scalars:
        """Return the angles, in radians, by which the solver would turn rotations (..., 4)."""
        swings, twists = swing_and_twist(self.frame, rotations)
        inward = swings / np.maximum(self._level(swings), 1.0)[..., None]
        made = _join(self.frame, inward, np.clip(twists, *self.ranges[:, 1]))
        return quat.angle_between(rotations, made)

    def sample(self, n: int, rng: np.random.Generator) -> Quats:
        """Return rotations (n, 4), uniform in what is allowed: half sines keep areas."""
        low, high = self._ends
        side = rng.random((n, 2)) < high / np.maximum(high - low, 1e-300)
        way, out = rng.uniform(0.0, 0.5 * np.pi, n), np.sqrt(rng.random(n))
        quarter = out[:, None] * np.column_stack([np.cos(way), np.sin(way)])
        return _join(
            self.frame,
            quarter * np.where(side, high, low),
            rng.uniform(self.ranges[0, 1], self.ranges[1, 1], n),
        )

    def volume(self) -> float:
        """Return the share of all rotations."""
        low, high = self._ends
        turn = float(self.ranges[1, 1] - self.ranges[0, 1]) / (2.0 * np.pi)
        return float((high - low).prod()) / 4.0 * turn

    @property
    def _ends(self) -> Floats:
        """The ends (2, 2) of swings about x and z, as half sines."""
        return np.asarray(np.sin(0.5 * self.ranges[:, [0, 2]]))

    def _level(self, swings: Points) -> Scalars:
        """Return how far out swings (..., 2) are, as a share of the way to the edge."""
        low, high = self._ends
        ends = np.where(swings < 0.0, -low, high)
        return np.asarray(np.linalg.norm(swings / np.maximum(ends, EDGE), axis=-1))


def swing_and_twist(frame: Quats, rotations: Quats) -> tuple[Points, Scalars]:
    """Return swings (..., 2) about a bone's x and z, as half sines, and twists in radians."""
    own = quat.mul(quat.mul(quat.inverse(frame), rotations), frame)
    swings, twists = quat.swing_twist(own, np.array([0.0, 1.0, 0.0]))
    upright = np.where(swings[..., :1] < 0.0, -1.0, 1.0)
    return upright * swings[..., [1, 3]], quat.log(twists)[..., 1]


def _join(frame: Quats, swings: Points, twists: Scalars) -> Quats:
    """Return the rotations (..., 4) of swings and twists."""
    swing, twist = np.zeros((*twists.shape, 4)), np.zeros((*twists.shape, 4))
    swing[..., [1, 3]] = swings
    swing[..., 0] = np.sqrt(np.maximum(1.0 - (swings**2).sum(axis=-1), 0.0))
    twist[..., 0], twist[..., 2] = np.cos(0.5 * twists), np.sin(0.5 * twists)
    own = quat.normalize(quat.mul(swing, twist))
    return quat.normalize(quat.mul(quat.mul(frame, own), quat.inverse(frame)))


def ik_ranges(limits: Bound, bone: str) -> tuple[Points, Loss]:
    """Return ranges (2, 3) about a bone's x, y, z for inverse kinematics, and the loss.

    Of all ranges whose ellipses hold what is legal, they are those of the smallest share of
    rotations, nearly. The bone at rest is in them, since Blender's ranges begin at most at 0.
    """
    limit, frame = _limit_and_frame(limits, bone)
    swings, twists = swing_and_twist(frame, _members(limit))
    ranges = np.empty((2, 3))
    ranges[:, 1] = min(float(twists.min()), 0.0), max(float(twists.max()), 0.0)
    ranges[:, [0, 2]] = 2.0 * np.arcsin(quarter_ellipses(swings))
    return ranges, measure_loss(limit, IKRanges(frame, ranges))


def quarter_ellipses(points: Points) -> Points:
    """Return low and high (2, 2) of the smallest quarters of ellipses that hold points (n, 2).

    Ends along the first axis are tried from the farthest point to 1, which is all around; with one
    of them given, a point (x, z) needs an end of z / √(1 − x² / end²) along the second.
    """
    tried = [_ends_tried(sign * points[:, 0]) for sign in (-1.0, 1.0)]
    needed = np.array(
        [[_ends_needed(points * (sign, up), ends) for up in (-1.0, 1.0)]
         for sign, ends in zip((-1.0, 1.0), tried, strict=True)]
    )  # fmt: skip
    across = np.maximum(needed[0][:, :, None], needed[1][:, None, :])
    sizes = (tried[0][:, None] + tried[1]) * across.sum(axis=0)
    sizes += np.where(across.max(axis=0) > 1.0, across.sum(axis=0) + 4.0, 0.0)  # only if it must be
    i, j = np.unravel_index(sizes.argmin(), sizes.shape)
    low, high = np.minimum(across[:, i, j], 1.0)
    return np.array([[-tried[0][i], -low], [tried[1][j], high]])


def _ends_tried(along: Scalars) -> Scalars:
    return np.geomspace(max(float(along.max(initial=0.0)), THINNEST), 1.0, ENDS)


def _ends_needed(points: Points, ends: Scalars) -> Scalars:
    """Return the ends across that points of the first quadrant need for each end along."""
    x, z = points[(points >= 0.0).all(axis=1)].T
    room = np.sqrt(np.maximum(1.0 - (x[:, None] / ends) ** 2, 1e-12))
    return np.asarray((z[:, None] / room).max(axis=0, initial=THINNEST))


def _members(limit: Limit) -> Quats:
    """Return legal rotations (n, 4): all over a limit, and on its boundary."""
    scattered = limit.sample(MEMBERS, np.random.default_rng(0))
    boundary = limit.chart.rotations(shape_surface(limit.region, DETAIL).vertices)
    return np.concatenate([scattered, boundary])


def _limit_and_frame(limits: Bound, bone: str) -> tuple[Limit, Any]:
    limit = limits.model.limits[bone]
    return replace(limit, relative_to=None), limits.rig.frames[limits.rig.skeleton.index(bone)]


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
            ranges, losses[name] = ik_ranges(limits, name)
            write_ik_limits(bone, ranges)
        else:
            order, ranges, losses[name] = euler_ranges(limits, name)
            write_limit_rotation(bone, order, ranges)
    return losses
