"""Glitches of captures: joints that jump away for a few frames and come back."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Mask, Quats
from ..model.clamp import same_sign

MAX_ACCELERATION = float(np.radians(1e5))  # radians / s²; fast throws stay below half of it
MIN_DEVIATION = float(np.radians(15.0))  # radians; smaller jumps are hardly visible
MAX_DURATION = 0.05  # seconds; what lasts longer is taken for motion
MAX_SHIFT = 0.5  # of the deviation: a joint that comes back farther away has moved


def find_glitches(rotations: Quats, frame_time: float) -> Mask:
    """Return which rotations (frames, J, 4) are glitches: a mask (frames, J).

    A run of frames is one if every frame is farther from the interpolation across the run than
    the largest acceleration of a human joint explains, and the ends of the run are near each other.
    """
    found = np.zeros(rotations.shape[:2], np.bool_)
    least = max(MIN_DEVIATION, 0.5 * MAX_ACCELERATION * frame_time**2)
    for length in range(1, 1 + max(1, round(MAX_DURATION / frame_time))):
        count = len(rotations) - length - 1
        if count <= 0:
            break
        before, after = rotations[:count], rotations[length + 1 :]
        frames, joints = np.nonzero(quat.angle_between(before, rotations[1 : count + 1]) >= least)
        deviations = np.stack(
            [
                quat.angle_between(
                    rotations[frames + k, joints],
                    quat.slerp(before[frames, joints], after[frames, joints], k / (length + 1)),
                )
                for k in range(1, length + 1)
            ]
        ).min(axis=0)
        shift = quat.angle_between(before[frames, joints], after[frames, joints])
        ends = found[frames, joints] | found[frames + length + 1, joints]
        glitch = (deviations >= least) & (shift <= MAX_SHIFT * deviations) & ~ends
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
