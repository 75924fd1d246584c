"""TrueLimit: what a joint of the demo can really do, in terms that no chart or shape shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Scalars, Vectors, own, unit_quats

SLACK = 1e-6
"""Rotations this far outside, in radians, still count as legal: files hold so many digits."""
TINY = 1e-12
NEAR = (float(np.radians(5.0)), float(np.radians(45.0)))
"""Near misses are turned by at least and at most so much, in radians, from a legal rotation."""


@dataclass(frozen=True, eq=False)
class TrueLimit:
    """The bone points into a tilted oval on the sphere, and twists by as much as it may there.

    The oval has the bone's direction at `center` in its middle, and is `reach[0]` radians long,
    each way, along `along`, and `reach[1]` wide. The twist about `axis` is within `twist` of its
    middle; towards the far end of the oval that middle moves by `drift`, and the range narrows by
    `narrowing` each way. Without twist this is a universal joint; without reach, a hinge.
    """

    center: Quats
    axis: Vectors
    along: Vectors
    reach: Floats
    twist: float
    drift: float = 0.0
    narrowing: float = 0.0

    def __post_init__(self) -> None:
        own(self, center=(4,), axis=(3,), along=(3,), reach=(2,))
        if not np.allclose([self.axis @ self.axis, self.along @ self.along], 1.0):
            raise ValueError("TrueLimit.axis and TrueLimit.along must be unit vectors")
        if abs(self.axis @ self.along) > 1e-9:
            raise ValueError("TrueLimit.along must be across TrueLimit.axis")
        if not ((self.reach >= 0.0) & (self.reach < 0.5 * np.pi)).all():
            raise ValueError(f"TrueLimit.reach must be from 0 to π/2 radians, got {self.reach}")
        if not abs(self.narrowing) <= self.twist < np.pi - abs(self.drift):
            raise ValueError(f"TrueLimit.twist must leave a range everywhere, got {self.twist}")

    @property
    def thin(self) -> bool:
        """Whether the joint turns about fewer than three axes."""
        return self.twist == 0.0 or not self.reach.all()

    def rotations(self, controls: Floats) -> Quats:
        """Return legal rotations for `controls` (..., 3).

        The first two, in the unit disk, move the bone in its oval; the third, from -1 to 1, twists.
        """
        disk, turn = controls[..., :2], controls[..., 2]
        radius = np.linalg.norm(disk, axis=-1, keepdims=True)
        way = disk / np.where(radius > 0.0, radius, 1.0)
        steepness = np.linalg.norm(way / np.tan(self.reach + TINY), axis=-1, keepdims=True)
        angle = radius * np.arctan2(1.0, steepness)
        across = np.cross(self.axis, self.along)
        bones = np.cos(angle) * self.axis + np.sin(angle) * way @ np.stack([self.along, across])
        middle, half = self.twists(bones)
        twist = quat.exp((middle + turn * half)[..., None] * self.axis)
        return quat.mul(quat.mul(self.center, quat.between(self.axis, bones)), twist)

    def twists(self, bones: Vectors) -> tuple[Scalars, Scalars]:
        """Return the middle of the legal twists, and half their range, where the bone points so."""
        elevation = np.arcsin(np.clip(bones @ self.along, -1.0, 1.0)) / (self.reach[0] or np.inf)
        return self.drift * elevation, self.twist - self.narrowing * elevation

    def contains(self, rotations: Quats) -> Mask:
        """Tell which rotations are legal."""
        rotations = unit_quats("rotations", rotations)
        swing, twist = quat.swing_twist(quat.mul(quat.inverse(self.center), rotations), self.axis)
        bones = quat.rotate(swing, self.axis)
        middle, half = self.twists(bones)
        turned = np.abs(quat.log(twist) @ self.axis - middle) <= half + SLACK
        return np.asarray(self._in_oval(bones) & turned)

    def sample(self, n: int, rng: np.random.Generator) -> Quats:
        """Return `n` legal rotations, uniform in rotation; if thin, in their own dimensions."""
        legal = np.empty((0, 4))
        while len(legal) < n:
            bones = self._bones(4 * n + 64, rng)
            middle, _ = self.twists(bones)
            twist = middle + rng.uniform(-1.0, 1.0, len(bones)) * (self.twist + abs(self.narrowing))
            swing = quat.mul(self.center, quat.between(self.axis, bones))
            drawn = quat.mul(swing, quat.exp(twist[:, None] * self.axis))
            legal = np.concatenate([legal, drawn[self.contains(drawn)]])
        return legal[:n]

    def near_misses(self, n: int, rng: np.random.Generator) -> Quats:
        """Return `n` illegal rotations, 5 to 45 degrees from a legal one."""
        illegal = np.empty((0, 4))
        while len(illegal) < n:
            axes = rng.normal(size=(2 * n, 3))
            axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
            turns = quat.exp(rng.uniform(*NEAR, size=(2 * n, 1)) * axes)
            drawn = quat.mul(self.sample(2 * n, rng), turns)
            illegal = np.concatenate([illegal, drawn[~self.contains(drawn)]])
        return illegal[:n]

    def volume(self, samples: int = 100_000, seed: int = 0) -> float:
        """Return the share of all rotations that is legal, to about a percent; 0 if thin."""
        if self.thin:
            return 0.0
        bones = self._bones(samples, np.random.default_rng(seed))
        cap = 0.5 * (1.0 - np.cos(self.reach.max()))
        return float(cap * np.mean(self._in_oval(bones) * self.twists(bones)[1] / np.pi))

    def mirrored(self) -> Self:
        """Return the same joint on the other side of the body, where x is the other way."""
        flip = np.array([-1.0, 1.0, 1.0])
        return type(self)(
            self.center * [1.0, 1.0, -1.0, -1.0],
            self.axis * flip,
            self.along * flip,
            self.reach,
            self.twist,
            -self.drift,
            self.narrowing,
        )

    def _in_oval(self, bones: Vectors) -> Mask:
        """Tell which directions are in the oval, the section of a cone over an ellipse."""
        long, wide = np.tan(self.reach + SLACK)
        x, y, z = bones @ self.along, bones @ np.cross(self.axis, self.along), bones @ self.axis
        return np.asarray((z > 0.0) & ((x / long) ** 2 + (y / wide) ** 2 <= z * z))

    def _bones(self, n: int, rng: np.random.Generator) -> Vectors:
        """Return directions, uniform in the cap that is as wide as the oval is long."""
        height = rng.uniform(np.cos(self.reach.max()), 1.0, n)
        azimuth = rng.uniform(0.0, 2.0 * np.pi, n)
        width = np.sqrt(1.0 - height * height)
        across = np.cross(self.axis, self.along)
        frame = np.stack([self.along, across, self.axis])
        return np.stack([width * np.cos(azimuth), width * np.sin(azimuth), height], axis=-1) @ frame
