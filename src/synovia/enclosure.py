"""An enclosure: the smallest set of rotations that holds some, and the shortest ways between them.

Seen from the middle such a set ends at planes through the origin of quaternions, which are flat
in the metric of angles. A plane is kept for each of many directions: the set is a little too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from . import quat
from .arrays import Floats, Quats, Scalars, own

DIRECTIONS = 1024
"""Planes of an enclosure."""
TINY = 1e-9
"""The least real part of a quaternion, half a turn from the reference."""
BLOCK = 4096
"""Rotations that are held against all planes at once."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """All rotations q with normals · q at most 0, for q or −q relative to `reference`."""

    reference: Quats
    normals: Floats

    def __post_init__(self) -> None:
        own(self, reference=(4,), normals=(None, 4))

    @classmethod
    def around(cls, rotations: Quats, pulled: Scalars) -> Self:
        """Return the enclosure of `rotations` (n, 4), each `pulled` so many radians inwards."""
        reference = quat.mean(rotations)
        facing = _facing(reference, rotations)
        directions = _spread(DIRECTIONS)
        farthest = np.full(DIRECTIONS, -np.pi)
        # Of those not pulled, whoever has the largest tangent is the farthest: one arc a direction.
        slopes = facing[:, 1:] / np.maximum(facing[:, :1], TINY)
        free = slopes[pulled == 0.0]
        for k in range(0, len(free), BLOCK):
            tangents = (free[k : k + BLOCK] @ directions.T).max(axis=0)
            farthest = np.maximum(farthest, 2.0 * np.arctan(tangents))
        held, inwards = slopes[pulled > 0.0], pulled[pulled > 0.0]
        for k in range(0, len(held), BLOCK):
            angles = 2.0 * np.arctan(held[k : k + BLOCK] @ directions.T)
            reached = (angles - inwards[k : k + BLOCK, None]).max(axis=0)
            farthest = np.maximum(farthest, reached)
        half = 0.5 * farthest[:, None]
        return cls(reference, np.concatenate([-np.sin(half), np.cos(half) * directions], axis=1))

    def beyond(self, rotations: Quats) -> Scalars:
        """Return how far outside each of the rotations (n, 4) is, in radians; below 0 inside."""
        facing = _facing(self.reference, rotations)
        found = np.empty(len(facing))
        for k in range(0, len(facing), BLOCK):
            over = facing[k : k + BLOCK] @ self.normals.T
            # A rotation is two quaternions; the nearer one counts.
            found[k : k + BLOCK] = np.minimum(over.max(axis=1), -over.min(axis=1))
        return np.asarray(2.0 * np.arcsin(np.clip(found, -1.0, 1.0)))


def _facing(reference: Quats, rotations: Quats) -> Quats:
    """Return rotations relative to the reference, with a real part that is not negative."""
    relative = quat.mul(quat.inverse(reference), rotations)
    return np.asarray(np.where(relative[:, :1] < 0.0, -relative, relative))


def _spread(n: int) -> Floats:
    """Return `n` unit vectors (n, 3), spread evenly along a spiral."""
    z = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    turn = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(n)
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
