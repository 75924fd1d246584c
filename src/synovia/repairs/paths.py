"""Paths of joints over time: glitches, and changes whose steps stay within bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import quat
from ..arrays import Mask, Quats, Scalars
from ..model import LimitModel
from ..model.clamp import same_sign, step_bounds
from ..skeleton import Clip

MAX_ACCELERATION = float(np.radians(1e5))  # radians / s²; joints in fast throws stay below it
MIN_DEVIATION = float(np.radians(15.0))  # radians; smaller jumps are hardly visible
MAX_DURATION = 0.05  # seconds; what lasts longer is taken for motion
PAD_FRAMES = ((1, 1), (0, 0), (0, 0))  # joints are at rest before the first step and after the last
MAX_SHIFT = 0.5  # of the deviation: a joint that comes back farther away has moved
ROUNDING = 1e-6  # radians or lengths over the bound that count as rounding
NOTABLE_EXCESS = 1e-3  # radians over the bound that are reported; rounding of float32 is less
MAX_ROUNDS = 12  # the window around a long step doubles in each, up to 1,000 frames


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


def find_long_steps(model: LimitModel, clip: Clip, repaired: Clip, max_speed: float) -> Mask:
    """Return which steps of a repaired clip exceed their bounds (frames, J), by the frame after."""
    bounds = joint_step_bounds(model, clip, max_speed)
    long = measured_steps(model, repaired) > bounds + NOTABLE_EXCESS
    return np.concatenate([np.zeros((1, long.shape[1]), np.bool_), long])[: clip.frames]


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
