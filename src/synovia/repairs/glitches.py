"""Glitches of captures: joints that jump away for a few frames and come back."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Mask, Quats
from ..model.clamp import same_sign

MAX_ACCELERATION = float(np.radians(1e5))  # radians / s²; joints in fast throws stay below it
MIN_DEVIATION = float(np.radians(15.0))  # radians; smaller jumps are hardly visible
MAX_DURATION = 0.05  # seconds; what lasts longer is taken for motion
PAD_FRAMES = ((1, 1), (0, 0), (0, 0))  # joints are at rest before the first step and after the last
MAX_SHIFT = 0.5  # of the deviation: a joint that comes back farther away has moved


def find_glitches(rotations: Quats, frame_time: float) -> Mask:
    """Return which rotations (frames, J, 4) are glitches: a mask (frames, J).

    A run of frames is a glitch if it begins and ends with an acceleration that no human joint has,
    its frames are far from the interpolation across the run, and the frames before and after it
    are near each other.
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
        returns = quat.angle_between(before, after) <= MAX_SHIFT * deviation
        known = found[frames, joints] | found[frames + length + 1, joints]
        glitch = (deviation >= least) & returns & ~known
        for k in range(1, length + 1):
            found[frames[glitch] + k, joints[glitch]] = True
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
