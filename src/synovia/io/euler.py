"""Euler angles as motion files hold them: going on from frame to frame without a jump."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats, Quats, wrap_angles
from ..quat import to_euler


@dataclass
class Unwrapping:
    """Whole turns, added to angles of consecutive frames so that no step is above half a turn.

    A path may come in pieces; the angles are the same bit for bit.
    """

    last: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    added: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def unwrap_deg(self, angles: Floats) -> Floats:
        """Return the next `angles` (frames, n), radians, in degrees."""
        given_deg = np.degrees(angles)
        if not given_deg.size:
            return given_deg
        if not self.last.size:
            self.last, self.added = given_deg[:1], np.zeros_like(given_deg[:1])
        steps = np.diff(given_deg, axis=0, prepend=self.last)
        short = np.mod(steps + 180.0, 360.0) - 180.0
        short[(short == -180.0) & (steps > 0.0)] = 180.0
        turns = np.where(np.abs(steps) < 180.0, 0.0, short - steps)
        # One sum from the first frame on: rounding does not depend on where pieces begin.
        added = np.cumsum(np.concatenate([self.added, turns]), axis=0)[1:]
        self.last, self.added = given_deg[-1:], added[-1:]
        return np.asarray(given_deg + added)


@dataclass
class EulerPath:
    """Euler angles of a path that may come in pieces, going on without a jump."""

    order: str
    last: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    changed: bool = False
    unwrapping: Unwrapping = field(default_factory=Unwrapping)

    def angles_deg(self, rotations: Quats) -> Floats:
        """Return the angles (frames, 3), degrees, of the next `rotations` (frames, 4)."""
        angles = to_euler(rotations, self.order)
        if not len(angles):
            return angles
        before = np.concatenate([self.last if len(self.last) else angles[:1], angles[:-1]])
        other = other_triple(angles)
        # Changing to the other triple costs the same whichever of the two the frame before used.
        stay = np.abs(wrap_angles(angles - before)).sum(axis=-1)
        change = np.abs(wrap_angles(other - before)).sum(axis=-1)
        changed = (self.changed + np.cumsum(change < stay)) % 2 == 1
        self.last, self.changed = angles[-1:], bool(changed[-1])
        return self.unwrapping.unwrap_deg(np.where(changed[:, None], other, angles))


def euler_angles_deg(rotations: Quats, order: str) -> Floats:
    """Return angles (frames, 3), degrees, that go on from frame to frame without a jump."""
    return EulerPath(order).angles_deg(rotations)


def other_triple(angles: Floats) -> Floats:
    """Return the other three angles, about three different axes, of the same rotations."""
    other: Floats = np.pi + angles * np.array([1.0, -1.0, 1.0])
    return other
