"""Twist along limbs: moved to the bones whose limits allow it, without moving a joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Mask, Quats, Scalars, wrap_angles
from ..model import Limb, LimitModel
from ..model.clamp import same_sign
from ..model.placed import Placed
from ..skeleton import Clip
from .paths import ROUNDING, joint_step_bounds, measured_steps, shorten_steps

SHARES = (0.75, 0.5, 0.25)  # of the twist that makes joints legal: the last that suffices is taken
MIN_EXCESS = float(np.radians(0.5))  # radians; joints that are less outside are left as they are
MAX_LEFT = 0.2 * MIN_EXCESS  # what may be left of the others, so that a second repair finds none
MAX_GAIN = 3.0  # twist to move for an excess; a straight elbow would need 80° for 1°
UNCHANGED = 1e-12  # components of quaternions that differ by less are equal but for rounding
BLEND_TIME = 0.1  # seconds in which a redistribution begins and ends


def redistribute_twist(model: LimitModel, clip: Clip, max_speed: float) -> Clip:
    """Return a clip with twist shared along its limbs.

    Only limbs change that have a joint outside its own limit, and that are legal with shared
    twist; and frames nearby. The twist moves only as far as necessary, and the limb as a whole is
    legal if it was before. No step is longer than twice that of the clip, or than `max_speed`
    radians a second allows.
    """
    for placed in model.placed:
        if isinstance(placed.constraint, Limb):
            clip = _redistribute(model, placed, placed.constraint, clip, max_speed)
    return clip


def _redistribute(
    model: LimitModel, placed: Placed, limb: Limb, clip: Clip, max_speed: float
) -> Clip:
    """Return a clip with twist shared along one limb where a joint of it is outside."""
    given = placed.relative(clip.pose.rotations)
    excess = limb.joint_distance(given).max(axis=-1)
    outside = np.flatnonzero(excess > MIN_EXCESS)
    if len(outside) == 0:
        return clip
    shared = limb.share_twist(given, TOLERANCE)
    outside = outside[(shared.distance[outside] <= MAX_LEFT).all(axis=-1)]
    twist = 2.0 * np.arctan2(shared.twist[:, 1:] @ limb.axes[1], shared.twist[:, 0])
    twist = np.unwrap(wrap_angles(twist))
    bounds = joint_step_bounds(model, clip, max_speed)

    def change(share: Scalars) -> tuple[Clip, Mask]:
        moved = same_sign(_move_twist(limb, given, share * twist, share * shared.shift), given)
        same = (np.abs(moved - given) < UNCHANGED).all(axis=-1, keepdims=True)
        moved = np.where(same, given, moved)
        rotations = clip.pose.rotations.copy()
        placed.set_relative(rotations, moved)
        changed = replace(clip, pose=clip.pose.with_rotations(rotations))
        return changed, np.asarray((measured_steps(model, changed) > bounds + ROUNDING).any(axis=1))

    share = np.zeros(clip.frames)
    share[outside] = 1.0
    for less in SHARES:
        part = less * twist[outside], less * shared.shift[outside]
        left = limb.joint_distance(_move_twist(limb, given[outside], *part)).max(axis=-1)
        share[outside[left <= MAX_LEFT]] = less
    share[share * np.maximum(np.abs(twist), np.abs(shared.shift)) > MAX_GAIN * excess] = 0.0
    return shorten_steps(change, _envelope(share, max(1, round(BLEND_TIME / clip.frame_time))))


def _move_twist(limb: Limb, rotations: Quats, twist: Scalars, shift: Scalars) -> Quats:
    """Return limbs (n, k, 4) with `twist` moved from end to lower, `shift` from lower to upper."""
    limbs = rotations.copy()
    if limb.moves_end_twist:
        rotation = quat.exp(twist[:, None] * limb.axes[1])
        limbs[:, 1] = quat.mul(limbs[:, 1], rotation)
        limbs[:, 2] = quat.mul(quat.inverse(rotation), limbs[:, 2])
    return quat.normalize(limb.shift_twist(limbs, shift))


def _envelope(values: Scalars, width: int) -> Scalars:
    """Return a curve (n,) at or above `values` that changes within `width` frames, not at once.

    It is the maximum over 2 `width` + 1 frames, averaged over as many.
    """
    size = 2 * width + 1
    padded = np.pad(values, 2 * width, mode="edge")
    highest = np.lib.stride_tricks.sliding_window_view(padded, size).max(axis=-1)
    return np.asarray(np.convolve(highest, np.full(size, 1.0 / size), mode="valid"))
