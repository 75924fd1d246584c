# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation channels of pose bones: quaternions, Euler angles of any order, axis and angle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synovia import quat
from synovia.arrays import Floats, Ints, Quats

from .rig import Rig

MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
CHANNELS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
"""The property with a pose bone's rotation by mode, where it is not `rotation_euler`."""


def channel(mode: str) -> tuple[str, int]:
    """Return the rotation property of a pose bone of this mode, and how many numbers it has."""
    name = CHANNELS.get(mode, "rotation_euler")
    return name, 3 if name == "rotation_euler" else 4


def rotations_of(values: Floats, mode: str) -> Quats:
    """Return the rotations (..., 4) for values (..., 3 or 4) of a pose bone's channel."""
    values = np.asarray(values, np.float64)
    if mode == "QUATERNION":
        length = np.sqrt(np.einsum("...i,...i->...", values, values))[..., None]
        if length.all():
            return np.asarray(values / length)
        return np.where(length > 0.0, values / np.where(length > 0.0, length, 1.0), quat.IDENTITY)
    if mode == "AXIS_ANGLE":
        axis = values[..., 1:]
        length = np.linalg.norm(axis, axis=-1, keepdims=True)
        unit = np.where(length > 0.0, axis / np.where(length > 0.0, length, 1.0), [0.0, 1.0, 0.0])
        return quat.exp(values[..., :1] * unit)
    letters = ["XYZ".index(letter) for letter in mode[::-1]]  # XYZ is Rz Ry Rx in Blender
    return quat.from_euler(values[..., letters], mode[::-1])


def channel_values(rotations: Quats, mode: str, before: Floats) -> Floats:
    """Return channel values of a sequence of rotations (n, 4) that follows the values `before`.

    Several values represent the same rotation; those nearest to the previous frame are chosen, so
    that curves interpolate along the short path.
    """
    before = np.asarray(before, np.float64)
    if mode == "QUATERNION":
        first = rotations_of(before, mode)
        return quat.unroll(np.concatenate([first[None], rotations]))[1:] * _sign(first)
    if mode == "AXIS_ANGLE":
        return _axis_angles(rotations, before)
    angles, previous = np.empty((len(rotations), 3)), before.tolist()
    for frame, rotation in enumerate(rotations.tolist()):
        previous = angles[frame] = euler_near(rotation, mode, previous)
    return angles


def euler_near(rotation: Sequence[float], mode: str, before: Sequence[float]) -> list[float]:
    """Return the Euler angles x, y, z of a rotation that are nearest to `before`, in radians.

    R = R_k(c) · R_j(b) · R_i(a) for the letters i, j, k of the mode, so that R[k][i] = ∓sin b. At
    gimbal lock c keeps its value. Plain numbers are faster than arrays for a single rotation.
    """
    i, j, k = ("XYZ".index(letter) for letter in mode)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = _matrix(rotation)
    across = math.hypot(m[i][i], m[j][i])
    b = math.atan2(-sign * m[k][i], across)
    if across < 1e-9:
        c = before[k]
        a = math.atan2(-sign * m[j][k], m[j][j]) + math.copysign(1.0, b) * sign * c
    else:
        a = math.atan2(sign * m[k][j], m[k][k])
        c = math.atan2(sign * m[j][i], m[i][i])
    candidates = []
    for values in ((a, b, c), (a + math.pi, math.pi - b, c + math.pi)):
        angles = [0.0, 0.0, 0.0]
        for axis, value in zip((i, j, k), values, strict=True):
            angles[axis] = value + math.tau * round((before[axis] - value) / math.tau)
        candidates.append(angles)
    return min(candidates, key=lambda angles: math.dist(angles, before))


def _matrix(rotation: Sequence[float]) -> list[list[float]]:
    w, x, y, z = rotation
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def _sign(rotation: Quats) -> float:
    """Return the sign that `quat.unroll` removes from its first rotation to make w >= 0."""
    return float(np.sign(rotation[0])) or 1.0


def _axis_angles(rotations: Quats, before: Floats) -> Floats:
    vectors = quat.log(rotations)
    values, last = np.empty((len(vectors), 4)), np.asarray(before, np.float64)
    for frame, vector in enumerate(vectors):
        angle = float(np.linalg.norm(vector))
        axis = vector / angle if angle > 1e-9 else last[1:]
        if axis @ last[1:] < 0.0:
            axis, angle = -axis, -angle
        angle += 2.0 * np.pi * round((last[0] - angle) / (2.0 * np.pi))
        last = values[frame] = np.concatenate([[angle], axis])
    return values


def read_modes(armature: Any, rig: Rig) -> list[str]:
    """Return the rotation mode of each joint's pose bone."""
    modes = [bone.rotation_mode for bone in armature.pose.bones]
    return [modes[index] for index in rig.order]


def mode_named(number: int) -> str:
    """Return the name of the rotation mode that Blender stores as this number."""
    return MODES[number] if number >= 0 else "AXIS_ANGLE"


@dataclass(frozen=True, eq=False)
class Channels:
    """The rotation values of an armature object's pose bones, in the order of `Pose.bones`.

    All bones are read and written at once, because one by one takes 5 µs a bone.
    """

    modes: Ints
    """The rotation mode of each bone, as Blender stores it."""
    values: dict[str, Floats]
    """The values (bones, 3 or 4) of all bones by the name of each property in use; float32."""

    @classmethod
    def read(cls, armature: Any) -> Channels:
        """Read the current values of an armature object."""
        bones, count = armature.pose.bones, len(armature.pose.bones)
        modes = np.empty(count, np.int32)
        bones.foreach_get("rotation_mode", modes)
        values = {}
        for mode in _distinct(modes):
            name, size = channel(mode_named(mode))
            if name not in values:
                values[name] = np.empty((count, size), np.float32)
                bones.foreach_get(name, values[name].ravel())
        return cls(modes, values)

    def write(self, armature: Any) -> None:
        """Write the values into an armature object's pose bones."""
        for name, values in self.values.items():
            armature.pose.bones.foreach_set(name, values.ravel())
        armature.update_tag(refresh={"DATA"})  # foreach_set does not tag it

    def tobytes(self) -> bytes:
        """Return the values as bytes, to compare states."""
        return b"".join(array.tobytes() for array in (self.modes, *self.values.values()))

    def basis(self) -> Quats:
        """Return the rotations (bones, 4), each relative to the bone's rest, in the bone's axes."""
        rotations = np.empty((len(self.modes), 4))
        for number in _distinct(self.modes):
            mode, rows = mode_named(number), self.modes == number
            rotations[rows] = rotations_of(self.values[channel(mode)[0]][rows], mode)
        return rotations

    def with_basis(self, bones: Ints, basis: Quats) -> Channels:
        """Return the channels with other rotations (n, 4) of bones, given by index (n,).

        Of all values that represent a rotation, those nearest to the current ones are chosen.
        """
        values = {name: array.copy() for name, array in self.values.items()}
        for number in _distinct(self.modes[bones]):
            mode, rows = mode_named(number), self.modes[bones] == number
            array = values[channel(mode)[0]]
            array[bones[rows]] = _nearest_values(basis[rows], mode, array[bones[rows]])
        return Channels(self.modes, values)


def _distinct(numbers: Ints) -> list[int]:
    return sorted(set(numbers.tolist()))


def _nearest_values(rotations: Quats, mode: str, before: Floats) -> Floats:
    """Return the channel values (n, 3 or 4) of rotations (n, 4), each nearest to its `before`."""
    if mode == "QUATERNION":
        same = np.einsum("ij,ij->i", rotations, before) >= 0.0
        return np.where(same[:, None], rotations, -rotations)
    if mode == "AXIS_ANGLE":
        pairs = zip(rotations, before, strict=True)
        return np.array([_axis_angles(rotation[None], last)[0] for rotation, last in pairs])
    pairs = zip(rotations.tolist(), before.tolist(), strict=True)
    return np.array([euler_near(rotation, mode, last) for rotation, last in pairs])
