"""Paths of joints over time: glitches, twist along limbs, and steps that stay within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Mask, Quats, Scalars, wrap_angles
from ..model import Limb, LimitModel
from ..model.clamp import same_sign, step_bounds
from ..model.placed import Placed
from ..skeleton import Clip

MAX_ACCELERATION = float(np.radians(1e5))  # radians / s²; joints in fast throws stay below it
MIN_DEVIATION = float(np.radians(15.0))  # radians; smaller jumps are hardly visible
MAX_DURATION = 0.05  # seconds; what lasts longer is taken for motion
PAD_FRAMES = ((1, 1), (0, 0), (0, 0))  # joints are at rest before the first step and after the last
MAX_SHIFT = 0.5  # of the deviation: a joint that comes back farther away has moved
ROUNDING = 1e-6  # radians or lengths over the bound that count as rounding
MAX_ROUNDS = 12  # the window around a long step doubles in each, up to 1,000 frames
SHARES = (0.75, 0.5, 0.25)  # of the twist that makes joints legal: the last that suffices is taken
MIN_EXCESS = float(np.radians(0.5))  # radians; joints that are less outside are left as they are
MAX_LEFT = 0.2 * MIN_EXCESS  # what may be left of the others, so that a second repair finds none
MAX_GAIN = 3.0  # twist to move for an excess; a straight elbow would need 80° for 1°
UNCHANGED = 1e-12  # components of quaternions that differ by less are equal but for rounding
BLEND_TIME = 0.1  # seconds in which a redistribution begins and ends


def find_glitches(rotations: Quats, frame_time: float, max_speed: float) -> Mask:
    """Return which rotations (frames, J, 4) are glitches: a mask (frames, J).

    A run of frames is a glitch if it begins and ends with an acceleration that no human joint has,
    its frames are far from the interpolation across the run, and the frames before and after it
    are near each other: the interpolation is no faster than `max_speed` radians a second.
    """
    found = np.zeros(rotations.shape[:2], np.bool_)
    least = max(MIN_DEVIATION, MAX_ACCELERATION * frame_time**2)
    steps = np.pad(quat.log(quat.mul(quat.inverse(rotations[:-1]), rotations[1:])), PAD_FRAMES)
    jumps = np.linalg.norm(np.diff(steps, axis=0), axis=-1) >= least  # at each frame
    for length in range(1, 1 + max(1, round(MAX_DURATION / frame_time))):
        # The joint leaves its path after a frame, and is back `length` + 1 frames later.
        frames, joints = np.nonzero(jumps[: -length - 1] & jumps[length + 1 :])
        before, after = rotations[frames, joints], rotations[frames + length + 1, joints]
        deviation = np.full(len(frames), np.inf)
        for k in range(1, length + 1):
            between = quat.slerp(before, after, k / (length + 1))
            angle = quat.angle_between(rotations[frames + k, joints], between)
            deviation = np.minimum(deviation, angle)
        reach = np.minimum(MAX_SHIFT * deviation, (length + 1) * max_speed * frame_time)
        returns = quat.angle_between(before, after) <= reach
        glitch = (deviation >= least) & returns
        for frame, joint in zip(frames[glitch], joints[glitch], strict=True):
            if not found[[frame, frame + length + 1], joint].any():
                found[frame + 1 : frame + 1 + length, joint] = True
    return found


def interpolate_glitches(rotations: Quats, glitches: Mask) -> Quats:
    """Return rotations (frames, J, 4) with those of a mask (frames, J) interpolated in between.

    First and last frames must not be in the mask.
    """
    out = rotations.copy()
    for joint in np.flatnonzero(glitches.any(axis=0)):
        bad = np.flatnonzero(glitches[:, joint])
        good = np.flatnonzero(~glitches[:, joint])
        after = np.searchsorted(good, bad)
        first, last = good[after - 1], good[after]
        between = quat.slerp(
            rotations[first, joint], rotations[last, joint], (bad - first) / (last - first)
        )
        out[bad, joint] = same_sign(between, rotations[first, joint])
    return out


def measured_rotations(model: LimitModel, clip: Clip) -> Quats:
    """Return rotations (frames, J, 4) as limits measure them: from the parent or an ancestor."""
    rotations = clip.pose.rotations.astype(np.float64)
    for placed in model.placed:
        rotations[:, placed.joints] = placed.relative(clip.pose.rotations)
    return rotations


def measured_steps(model: LimitModel, clip: Clip) -> Scalars:
    """Return the angles (frames − 1, J) between consecutive `measured_rotations`, in radians."""
    rotations = measured_rotations(model, clip)
    return quat.angle_between(rotations[:-1], rotations[1:])


def joint_step_bounds(model: LimitModel, clip: Clip, max_speed: float) -> Scalars:
    """Return the longest steps (frames − 1, J) that a repair of a clip may have, in radians.

    A step may be twice that of the clip, or what `max_speed` (radians a second) allows.
    """
    return step_bounds(measured_rotations(model, clip), clip.frame_time, max_speed)[1:]


def shorten_steps(change: Callable[[Scalars], tuple[Clip, Mask]], share: Scalars) -> Clip:
    """Return a clip that is changed as far as its steps stay within their bounds.

    `change` returns the clip changed by a share (frames,) between 0 and 1, and a mask
    (frames − 1,) of the steps that are too long; without a change none may be. The share is reduced
    around such steps, over twice as many frames in each round.
    """
    for doubling in range(MAX_ROUNDS):
        changed, long = change(share)
        long &= np.maximum(share[:-1], share[1:]) > 0.0
        if not long.any():
            return changed
        frames, middles = np.arange(len(share)), np.flatnonzero(long) + 0.5
        after = np.searchsorted(middles, frames).clip(0, len(middles) - 1)
        nearest = np.stack([middles[after], middles[(after - 1).clip(0)]])
        distance = np.abs(frames - nearest).min(axis=0)
        share = np.minimum(share, np.clip((distance - 0.5) / 2.0**doubling, 0.0, 1.0))
    return change(np.zeros(len(share)))[0]


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
