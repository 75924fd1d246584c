# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion to Blender's constraints and IK limits, with the loss measured.

Both are about the bone's axes. Limit Rotation clamps three Euler angles. IK limits are not Euler
angles: see `IKRanges`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from synovia import Box, Limit, quat
from synovia.arrays import Floats, Mask, Points, Quats, Scalars
from synovia.charts import Hinges
from synovia.export import Loss, measure_loss
from synovia.shapes.mesh import shape_surface

from .limits import Bound, bound
from .rig import CONSTRAINT_NAME

MEMBERS = 5000  # legal rotations that ranges are fitted to
DETAIL = 2  # of the boundary's mesh, whose vertices the ranges contain as well
ENDS_TRIED = 96  # candidates for each end of a swing range
MIN_END = 1e-6  # smallest half sine of an end; an ellipse needs a width
EDGE = 1e-9  # tolerance
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def euler_ranges(limits: Bound, bone: str) -> tuple[str, Points, Loss]:
    """Return an Euler order, ranges (2, 3) of the angles x, y, z in radians, and the loss.

    The order is the one of six whose ranges contain the smallest share of all rotations.
    """
    limit, frame = _limit_and_frame(limits, bone)
    axes = quat.rotate(frame, np.eye(3))
    members = _members(limit)
    tried = []
    for order in ORDERS:
        letters = ["XYZ".index(letter) for letter in order[::-1]]
        chart = Hinges(quat.IDENTITY, axes[letters])
        points = chart.gather(members)
        ends = np.stack([points.min(axis=0), points.max(axis=0)])
        tried.append((_box_share(ends), order, letters, chart, ends))
    _, order, letters, chart, ends = min(tried, key=itemgetter(0))
    loss = measure_loss(limit, Limit(chart, Box(ends[0], ends[1], np.eye(3))))
    return order, ends[:, np.argsort(letters)], loss


def _box_share(ends: Points) -> float:
    """Return the approximate share of all rotations within ranges (2, 3) of orthogonal hinges."""
    middle = np.linspace(ends[0, 1], ends[1, 1], 65)
    widths = np.minimum(ends[1] - ends[0], 2.0 * np.pi)
    return float(widths.prod() * np.abs(np.cos(middle)).mean() / (8.0 * np.pi**2))


@dataclass(frozen=True, eq=False)
class IKRanges:
    """The rotations of a bone that Blender's IK solver allows.

    A rotation is a twist about the bone's axis y, then a swing about an axis in the plane of x and
    z. The twist has a range. The point sin(angle / 2) · axis of the swing is limited by four
    quarter ellipses, whose ends on x and z are sin(end / 2) of the ranges. A swing about both axes
    is therefore smaller than in a box of ranges.
    """

    frame: Quats
    """The rotation (4,) of the bone at rest."""
    ranges: Points
    """Low and high (2, 3), in radians, about x, y and z; each contains 0."""

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask of the rotations (..., 4) that the solver does not change."""
        swings, twists = swing_and_twist(self.frame, rotations)
        low, high = self.ranges[:, 1]
        beyond = np.maximum(low - twists, twists - high)
        return np.asarray(np.maximum(self._level(swings) - 1.0, beyond) <= EDGE)

    def correction(self, rotations: Quats) -> Scalars:
        """Return the angles, in radians, by which the solver changes rotations (..., 4)."""
        swings, twists = swing_and_twist(self.frame, rotations)
        inward = swings / np.maximum(self._level(swings), 1.0)[..., None]
        allowed = _join(self.frame, inward, np.clip(twists, *self.ranges[:, 1]))
        return quat.angle_between(rotations, allowed)

    def sample(self, n: int, rng: np.random.Generator) -> Quats:
        """Return n allowed rotations (n, 4), uniformly distributed, as half sines preserve area."""
        low, high = self._ends
        side = rng.random((n, 2)) < high / np.maximum(high - low, 1e-300)
        azimuth, radius = rng.uniform(0.0, 0.5 * np.pi, n), np.sqrt(rng.random(n))
        quarter = radius[:, None] * np.column_stack([np.cos(azimuth), np.sin(azimuth)])
        return _join(
            self.frame,
            quarter * np.where(side, high, low),
            rng.uniform(self.ranges[0, 1], self.ranges[1, 1], n),
        )

    def volume(self) -> float:
        """Return the share of all rotations that is allowed."""
        low, high = self._ends
        twist = float(self.ranges[1, 1] - self.ranges[0, 1]) / (2.0 * np.pi)
        return float((high - low).prod()) / 4.0 * twist

    @property
    def _ends(self) -> Floats:
        """The ends (2, 2) of swings about x and z, as half sines."""
        return np.asarray(np.sin(0.5 * self.ranges[:, [0, 2]]))

    def _level(self, swings: Points) -> Scalars:
        """Return how far swings (..., 2) are from 0: 1 on the boundary, less inside."""
        low, high = self._ends
        ends = np.where(swings < 0.0, -low, high)
        return np.asarray(np.linalg.norm(swings / np.maximum(ends, EDGE), axis=-1))


def swing_and_twist(frame: Quats, rotations: Quats) -> tuple[Points, Scalars]:
    """Return swings (..., 2) about a bone's x and z, as half sines, and twists in radians."""
    local = quat.mul(quat.mul(quat.inverse(frame), rotations), frame)
    swings, twists = quat.swing_twist(local, np.array([0.0, 1.0, 0.0]))
    upright = np.where(swings[..., :1] < 0.0, -1.0, 1.0)
    return upright * swings[..., [1, 3]], quat.log(twists)[..., 1]


def _join(frame: Quats, swings: Points, twists: Scalars) -> Quats:
    """Return the rotations (..., 4) for swings and twists; the inverse of `swing_and_twist`."""
    swing, twist = np.zeros((*twists.shape, 4)), np.zeros((*twists.shape, 4))
    swing[..., [1, 3]] = swings
    swing[..., 0] = np.sqrt(np.maximum(1.0 - (swings**2).sum(axis=-1), 0.0))
    twist[..., 0], twist[..., 2] = np.cos(0.5 * twists), np.sin(0.5 * twists)
    local = quat.normalize(quat.mul(swing, twist))
    return quat.normalize(quat.mul(quat.mul(frame, local), quat.inverse(frame)))


def ik_ranges(limits: Bound, bone: str) -> tuple[Points, Loss]:
    """Return ranges (2, 3) about a bone's x, y, z for inverse kinematics, and the loss.

    The ranges contain all legal rotations and nearly the smallest share of all rotations. They
    contain the rest rotation, because Blender's ranges include 0.
    """
    limit, frame = _limit_and_frame(limits, bone)
    swings, twists = swing_and_twist(frame, _members(limit))
    ranges = np.empty((2, 3))
    ranges[:, 1] = min(float(twists.min()), 0.0), max(float(twists.max()), 0.0)
    ranges[:, [0, 2]] = 2.0 * np.arcsin(quarter_ellipses(swings))
    return ranges, measure_loss(limit, IKRanges(frame, ranges))


def quarter_ellipses(points: Points) -> Points:
    """Return low and high (2, 2) of the smallest quarter ellipses that contain points (n, 2).

    Ends along the first axis are tried from the farthest point to 1, a swing of 180°. For an end on
    the first axis, a point (x, z) needs an end of z / √(1 − x² / end²) on the second.
    """
    tried = [_ends_tried(sign * points[:, 0]) for sign in (-1.0, 1.0)]
    needed = np.array(
        [[_ends_needed(points * (sign, up), ends) for up in (-1.0, 1.0)]
         for sign, ends in zip((-1.0, 1.0), tried, strict=True)]
    )  # fmt: skip
    across = np.maximum(needed[0][:, :, None], needed[1][:, None, :])
    sizes = (tried[0][:, None] + tried[1]) * across.sum(axis=0)
    beyond = across.max(axis=0) > 1.0  # an end beyond 180° is a last resort
    sizes += np.where(beyond, across.sum(axis=0) + 4.0, 0.0)
    i, j = np.unravel_index(sizes.argmin(), sizes.shape)
    low, high = np.minimum(across[:, i, j], 1.0)
    return np.array([[-tried[0][i], -low], [tried[1][j], high]])


def _ends_tried(along: Scalars) -> Scalars:
    return np.geomspace(max(float(along.max(initial=0.0)), MIN_END), 1.0, ENDS_TRIED)


def _ends_needed(points: Points, ends: Scalars) -> Scalars:
    """Return the end on the second axis that points need for each end on the first."""
    x, z = points[(points >= 0.0).all(axis=1)].T
    height = np.sqrt(np.maximum(1.0 - (x[:, None] / ends) ** 2, 1e-12))
    return np.asarray((z[:, None] / height).max(axis=0, initial=MIN_END))


def _members(limit: Limit) -> Quats:
    """Return legal rotations (n, 4), uniform samples and vertices of the boundary."""
    samples = limit.sample(MEMBERS, np.random.default_rng(0))
    boundary = limit.chart.rotations(shape_surface(limit.region, DETAIL).vertices)
    return np.concatenate([samples, boundary])


def _limit_and_frame(limits: Bound, bone: str) -> tuple[Limit, Any]:
    limit = limits.model.limits[bone]
    return replace(limit, relative_to=None), limits.rig.frames[limits.rig.skeleton.index(bone)]


def write_limit_rotation(bone: Any, order: str, ranges: Points) -> None:
    """Replace the extension's Limit Rotation constraint of a pose bone; ranges are (2, 3)."""
    remove_limit_rotation(bone)
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.name, constraint.owner_space = CONSTRAINT_NAME, "LOCAL"
    constraint.euler_order = order
    constraint.use_transform_limit = True
    for letter, low, high in zip("xyz", *ranges.tolist(), strict=True):
        setattr(constraint, f"use_limit_{letter}", True)
        setattr(constraint, f"min_{letter}", low)
        setattr(constraint, f"max_{letter}", high)


def remove_limit_rotation(bone: Any) -> None:
    """Remove the extension's constraints of a pose bone."""
    for constraint in [each for each in bone.constraints if each.name == CONSTRAINT_NAME]:
        bone.constraints.remove(constraint)


def write_ik_limits(bone: Any, ranges: Points) -> None:
    """Set the IK limits of a pose bone to ranges (2, 3), in radians."""
    for letter, low, high in zip("xyz", *ranges.tolist(), strict=True):
        setattr(bone, f"use_ik_limit_{letter}", True)
        setattr(bone, f"ik_min_{letter}", low)
        setattr(bone, f"ik_max_{letter}", high)


def write(armature: Any, form: str) -> dict[str, Loss]:
    """Write all limits of an armature object in a Blender form; return the loss of each bone."""
    limits, losses = bound(armature), {}
    for name in limits.model.limits:
        bone = armature.pose.bones[name]
        if form == "ik":
            ranges, losses[name] = ik_ranges(limits, name)
            write_ik_limits(bone, ranges)
        else:
            order, ranges, losses[name] = euler_ranges(limits, name)
            write_limit_rotation(bone, order, ranges)
    return losses
