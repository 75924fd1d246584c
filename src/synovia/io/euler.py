"""Euler angles of paths, continuous from frame to frame as motion files hold them."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Quats, wrap_angles
from ..quat import to_euler


def euler_angles_deg(rotations: Quats, order: str) -> Floats:
    """Return the Euler angles (frames, 3), in degrees, of a path of `rotations` (frames, 4).

    Of the two triples of each frame, the one nearer to the frame before is taken.
    """
    angles = to_euler(rotations, order)
    if not len(angles):
        return angles
    other = other_triple(angles)
    # Switching triples costs the same whichever of the two the frame before uses.
    stay = np.abs(wrap_angles(angles[1:] - angles[:-1])).sum(axis=-1)
    switch = np.abs(wrap_angles(other[1:] - angles[:-1])).sum(axis=-1)
    switched = np.concatenate([[False], np.cumsum(switch < stay) % 2 == 1])
    return unwrap_deg(np.where(switched[:, None], other, angles))


def unwrap_deg(angles: Floats) -> Floats:
    """Return `angles` (frames, n), radians, in degrees, with no step above half a turn."""
    wrapped_deg = np.degrees(angles)
    steps = np.diff(wrapped_deg, axis=0, prepend=wrapped_deg[:1])
    short = np.mod(steps + 180.0, 360.0) - 180.0
    short[(short == -180.0) & (steps > 0.0)] = 180.0
    turns = np.where(np.abs(steps) < 180.0, 0.0, short - steps)
    return np.asarray(wrapped_deg + np.cumsum(turns, axis=0))


def other_triple(angles: Floats) -> Floats:
    """Return the other three angles, about three different axes, of the same rotations."""
    other: Floats = np.pi + angles * np.array([1.0, -1.0, 1.0])
    return other
