"""Euler angles of rotations, continuous from frame to frame as motion files hold them.

An order such as "zxy" stands for rotations about moving axes: q = Rz(a) · Rx(b) · Ry(c).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Quats, wrap_angles
from ..quat import IDENTITY, from_euler, to_euler


def euler_angles_deg(rotations: Quats, order: str) -> Floats:
    """Return the Euler angles (frames, n), in degrees, of a path of `rotations` (frames, 4).

    Two triples of angles give the same rotation. The one nearer to the previous frame's is chosen.
    An `order` of fewer than three axes gives the nearest rotation that they can make.
    """
    angles = nearest_angles(rotations, order)
    if len(order) < 3 or not len(angles):
        return _unwrap_deg(angles)
    other = np.pi + angles * np.array([1.0, -1.0, 1.0])  # the same rotations
    # Switching triples costs the same whichever of the two the previous frame uses.
    stay = np.abs(wrap_angles(angles[1:] - angles[:-1])).sum(axis=-1)
    switch = np.abs(wrap_angles(other[1:] - angles[:-1])).sum(axis=-1)
    switched = np.concatenate([[False], np.cumsum(switch < stay) % 2 == 1])
    return _unwrap_deg(np.where(switched[:, None], other, angles))


def _unwrap_deg(angles: Floats) -> Floats:
    """Return `angles` (frames, n), radians, in degrees, without steps above 180 degrees."""
    wrapped_deg = np.degrees(angles)
    steps = np.diff(wrapped_deg, axis=0, prepend=wrapped_deg[:1])
    short = np.mod(steps + 180.0, 360.0) - 180.0
    short[(short == -180.0) & (steps > 0.0)] = 180.0
    corrections = np.where(np.abs(steps) < 180.0, 0.0, short - steps)
    return np.asarray(wrapped_deg + np.cumsum(corrections, axis=0))


def nearest_angles(rotations: Quats, order: str) -> Floats:
    """Return angles (frames, n), in radians, about the n axes of `order`, 0 to 3 of them.

    The rotation by these angles is the nearest to each of `rotations` (frames, 4).
    """
    if len(order) == 3:
        return to_euler(rotations, order)
    if not order:
        return np.zeros((len(rotations), 0))
    axes = ["xyz".index(axis) for axis in order.lower()]
    w, first = rotations[:, 0], rotations[:, 1 + axes[0]]
    if len(axes) == 1:
        return 2.0 * np.arctan2(first, w)[:, None]
    second, third = rotations[:, 1 + axes[1]], rotations[:, 1 + 3 - sum(axes)]
    # The quaternion of a product of two rotations about axes is the outer product of the cosines
    # and sines of their half angles: the nearest one is the best approximation of rank one.
    sign = 1.0 if (axes[1] - axes[0]) % 3 == 1 else -1.0
    parts = np.stack([np.stack([w, first], -1), np.stack([second, sign * third], -1)], -2)
    left, _, right = np.linalg.svd(parts)
    half_angles = (right[:, 0], left[:, :, 0])
    return 2.0 * np.stack([np.arctan2(half[:, 1], half[:, 0]) for half in half_angles], -1)


def rotations_about(angles: Floats, order: str) -> Quats:
    """Return the rotations (frames, 4) by `angles` (frames, n), radians, about n axes in order."""
    return from_euler(angles, order) if order else np.tile(IDENTITY, (len(angles), 1))
