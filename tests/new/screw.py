"""Screw: a joint that slides along its axis as it rotates, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .component import ArrayComponent


@dataclass(frozen=True, eq=False)
class Screw(ArrayComponent):
    """A rotation by `angle` (radians) about an axis through `center`, and a shift along it."""

    axis: np.ndarray
    center: tuple[float, ...] = (0.0, 0.0, 0.0)
    pitch: float = 0.1
    """Length of the shift per radian."""

    kind: ClassVar = "screw"
    inputs: ClassVar = {"angle": "scalar", "frame": "matrix"}
    outputs: ClassVar = {"matrix": "matrix", "tip": "vector"}

    def __post_init__(self):
        axis = np.asarray(self.axis, float)
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis))

    @property
    def defaults(self):
        return {"frame": np.eye(4)}

    def evaluate(self, angle, frame):
        x, y, z = self.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        rotations = np.eye(3) + np.sin(angle)[:, None, None] * cross
        rotations = rotations + (1.0 - np.cos(angle))[:, None, None] * (cross @ cross)
        screw = np.tile(np.eye(4), (len(angle), 1, 1))
        screw[:, :3, :3] = rotations
        screw[:, :3, 3] = self.pitch * angle[:, None] * self.axis + self.center
        screw[:, :3, 3] -= rotations @ self.center
        whole = frame @ screw
        return whole, whole[:, :3, 3]
