"""Steps between frames: their bounds, and changes that are reduced where steps become too long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Mask, Scalars
from ..model.clamp import step_bounds
from ..skeleton import Clip

ROUNDING = 1e-6  # radians or lengths by which a step may exceed its bound
NOTABLE_EXCESS = 1e-3  # radians over the bound that are reported; rounding of float32 is less
MAX_ROUNDS = 12  # the window around a long step doubles in each, up to 1,000 frames


def joint_step_bounds(clip: Clip, max_speed: float) -> Scalars:
    """Return the longest steps (frames − 1, J) that a repair of a clip may have, in radians.

    A step may be twice that of the clip, or what `max_speed` (radians a second) allows.
    """
    paths = clip.pose.rotations.astype(np.float64).swapaxes(0, 1)
    return np.stack([step_bounds(path, clip.frame_time, max_speed)[1:] for path in paths], axis=-1)


def find_long_steps(clip: Clip, repaired: Clip, max_speed: float) -> Mask:
    """Return which steps of a repaired clip exceed their bounds (frames, J), by the frame after."""
    long = repaired.steps > joint_step_bounds(clip, max_speed) + NOTABLE_EXCESS
    return np.concatenate([np.zeros((1, long.shape[1]), np.bool_), long])[: clip.frames]


def shorten_steps(change: Callable[[Scalars], tuple[Clip, Mask]], share: Scalars) -> Clip:
    """Return a clip that is changed as far as its steps stay within their bounds.

    `change` returns the clip changed by a share (frames,) between 0 and 1, and a mask
    (frames − 1,) of the steps that are too long; without a change none may be. The share is reduced
    around such steps, over ever more frames.
    """
    for doubling in range(MAX_ROUNDS):
        changed, long = change(share)
        long &= np.maximum(share[:-1], share[1:]) > 0.0
        if not long.any():
            return changed
        frames = np.arange(len(share))[:, None]
        distance = np.abs(frames - np.flatnonzero(long) - 0.5).min(axis=1)
        share = np.minimum(share, np.clip((distance - 0.5) / 2.0**doubling, 0.0, 1.0))
    return change(np.zeros(len(share)))[0]
