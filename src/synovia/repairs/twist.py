"""Twist along limbs: moved to the bones whose limits allow it, without moving a joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import Mask, Quats, Scalars, tolerance, wrap_angles
from ..model import Limb, LimitModel
from ..model.clamp import same_sign
from ..model.placed import Placed
from ..skeleton import Clip
from .steps import ROUNDING, joint_step_bounds, shorten_steps

SHARES = (0.75, 0.5, 0.25)  # of the twist that makes joints legal: the last that suffices is taken
BLEND_TIME = 0.1  # seconds in which a redistribution begins and ends


def redistribute_twist(model: LimitModel, clip: Clip, max_speed: float) -> Clip:
    """Return a clip with twist shared along its limbs.

    Only limbs that have a joint outside its own limit change, and frames nearby. The twist moves
    only as far as necessary, and the limb as a whole is legal if it was before. No step is longer
    than twice that of the clip, or than `max_speed` radians a second allows.
    """
    for placed in model.placed:
        if isinstance(placed.constraint, Limb):
            clip = _redistribute(placed, placed.constraint, clip, max_speed)
    return clip


def _redistribute(placed: Placed, limb: Limb, clip: Clip, max_speed: float) -> Clip:
    """Return a clip with twist shared along one limb where a joint of it is outside."""
    given = placed.relative(clip.pose.rotations)
    slack = tolerance(given.dtype)
    outside = np.flatnonzero((limb.joint_distance(given) > slack).any(axis=-1))
    if len(outside) == 0:
        return clip
    shared = limb.share_twist(given.astype(np.float64), slack)
    twist = 2.0 * np.arctan2(shared.twist[:, 1:] @ limb.axes[1], shared.twist[:, 0])
    twist = np.unwrap(wrap_angles(twist))
    bounds = joint_step_bounds(clip, max_speed)

    def change(share: Scalars) -> tuple[Clip, Mask]:
        moved = same_sign(_move_twist(limb, given, share * twist, share * shared.shift), given)
        moved = np.where((share > 0.0)[:, None, None], moved, given).astype(given.dtype)
        rotations = clip.pose.rotations.copy()
        placed.set_relative(rotations, moved)
        changed = replace(clip, pose=clip.pose.with_rotations(rotations))
        return changed, np.asarray((changed.steps > bounds + ROUNDING).any(axis=1))

    share = np.zeros(clip.frames)
    share[outside] = 1.0
    for less in SHARES:
        part = less * twist[outside], less * shared.shift[outside]
        legal = ~(limb.joint_distance(_move_twist(limb, given[outside], *part)) > slack).any(axis=1)
        share[outside[legal]] = less
    return shorten_steps(change, _envelope(share, max(1, round(BLEND_TIME / clip.frame_time))))


def _move_twist(limb: Limb, rotations: Quats, twist: Scalars, shift: Scalars) -> Quats:
    """Return limbs (n, k, 4) with `twist` moved from end to lower, `shift` from lower to upper."""
    limbs = rotations.astype(np.float64)
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
