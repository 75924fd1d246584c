# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels that turn pose bones: quaternions, Euler angles of any order, an axis with an angle."""

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
"""The property of a pose bone that turns it, where that is not `rotation_euler`."""


def channel(mode: str) -> tuple[str, int]:
    """Return the property that turns a pose bone of this rotation mode, and how many numbers."""
    name = CHANNELS.get(mode, "rotation_euler")
    return name, 3 if name == "rotation_euler" else 4


def rotations_of(values: Floats, mode: str) -> Quats:
    """Return the rotations (..., 4) that values of a pose bone's channel stand for."""
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
    """Return rotations (n, 4) in time as values of a pose bone's channel, following `before`.

    Of all values that stand for a rotation, those nearest to the frame before are taken, so that
    curves between frames stay on the way.
    """
    before = np.asarray(before, np.float64)
    if mode == "QUATERNION":
        first = rotations_of(before, mode)
        return quat.unroll(np.concatenate([first[None], rotations]))[1:] * _sign(first)
    if mode == "AXIS_ANGLE":
        return _axis_angles(rotations, before)
    found, last = np.empty((len(rotations), 3)), before.tolist()
    for frame, rotation in enumerate(rotations.tolist()):
        last = found[frame] = euler_near(rotation, mode, last)
    return found


def euler_near(rotation: Sequence[float], mode: str, before: Sequence[float]) -> list[float]:
    """Return Euler angles x, y, z of a rotation: of all that stand for it, the nearest to `before`.

    Plain numbers, because a pose has few: R = R_k(c) · R_j(b) · R_i(a) for the letters i, j, k, so
    that R[k][i] = ∓sin b and so on. At gimbal lock c stays as it was.
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
    turn, found = 2.0 * math.pi, []
    for values in ((a, b, c), (a + math.pi, math.pi - b, c + math.pi)):
        angles = [0.0, 0.0, 0.0]
        for axis, value in zip((i, j, k), values, strict=True):
            angles[axis] = value + turn * round((before[axis] - value) / turn)
        found.append(angles)
    return min(found, key=lambda each: sum((x - y) ** 2 for x, y in zip(each, before, strict=True)))


def _matrix(rotation: Sequence[float]) -> list[list[float]]:
    w, x, y, z = rotation
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def _sign(rotation: Quats) -> float:
    """Return the sign that `quat.unroll` takes from its first rotation, which it makes w >= 0."""
    return float(np.sign(rotation[0])) or 1.0


def _axis_angles(rotations: Quats, before: Floats) -> Floats:
    vectors = quat.log(rotations)
    found, last = np.empty((len(vectors), 4)), np.asarray(before, np.float64)
    for frame, vector in enumerate(vectors):
        angle = float(np.linalg.norm(vector))
        axis = vector / angle if angle > 1e-9 else last[1:]
        if axis @ last[1:] < 0.0:
            axis, angle = -axis, -angle
        angle += 2.0 * np.pi * round((last[0] - angle) / (2.0 * np.pi))
        last = found[frame] = np.concatenate([[angle], axis])
    return found


def read_modes(thing: Any, rig: Rig) -> list[str]:
    """Return the rotation mode of each joint's pose bone."""
    modes = [bone.rotation_mode for bone in thing.pose.bones]
    return [modes[place] for place in rig.order]


def mode_named(number: int) -> str:
    """Return the rotation mode that Blender stores as this number."""
    return MODES[number] if number >= 0 else "AXIS_ANGLE"


# All bones at once: reading or writing them one by one takes Blender's Python 5 µs a bone.


@dataclass(frozen=True, eq=False)
class Channels:
    """The values that turn an armature object's pose bones, in the order of `Pose.bones`."""

    modes: Ints
    """The rotation mode of each bone, as Blender stores it."""
    values: dict[str, Floats]
    """By property that some bone is turned by, the values (bones, 3 or 4) of all; float32."""

    @classmethod
    def read(cls, thing: Any) -> Channels:
        """Return those of an armature object as they are."""
        bones, count = thing.pose.bones, len(thing.pose.bones)
        modes = np.empty(count, np.int32)
        bones.foreach_get("rotation_mode", modes)
        values = {}
        for mode in _each(modes):
            name, size = channel(mode_named(mode))
            if name not in values:
                values[name] = np.empty((count, size), np.float32)
                bones.foreach_get(name, values[name].ravel())
        return cls(modes, values)

    def write(self, thing: Any) -> None:
        """Turn an armature object's pose bones by these values."""
        for name, values in self.values.items():
            thing.pose.bones.foreach_set(name, values.ravel())
        thing.update_tag(refresh={"DATA"})  # which setting many values at once does not do

    def tobytes(self) -> bytes:
        """Return what is the same only if no value has changed."""
        return b"".join(each.tobytes() for each in (self.modes, *self.values.values()))

    def basis(self) -> Quats:
        """Return the rotations (bones, 4), each from the bone's rest and about its own axes."""
        found = np.empty((len(self.modes), 4))
        for number in _each(self.modes):
            mode, rows = mode_named(number), self.modes == number
            found[rows] = rotations_of(self.values[channel(mode)[0]][rows], mode)
        return found

    def turn(self, places: Ints, basis: Quats) -> Channels:
        """Return those with bones, by number (n,), turned to rotations (n, 4).

        Of all values that stand for a rotation, they are those nearest to what was there.
        """
        values = {name: each.copy() for name, each in self.values.items()}
        for number in _each(self.modes[places]):
            mode, here = mode_named(number), self.modes[places] == number
            found = values[channel(mode)[0]]
            found[places[here]] = _nearest_values(basis[here], mode, found[places[here]])
        return Channels(self.modes, values)


def _each(numbers: Ints) -> list[int]:
    return sorted(set(numbers.tolist()))


def _nearest_values(rotations: Quats, mode: str, before: Floats) -> Floats:
    """Return rotations (n, 4) as values (n, 3 or 4) of a channel, each near to its own `before`."""
    if mode == "QUATERNION":
        same = np.einsum("ij,ij->i", rotations, before) >= 0.0
        return np.where(same[:, None], rotations, -rotations)
    if mode == "AXIS_ANGLE":
        pairs = zip(rotations, before, strict=True)
        return np.array([_axis_angles(one[None], last)[0] for one, last in pairs])
    pairs = zip(rotations.tolist(), before.tolist(), strict=True)
    return np.array([euler_near(one, mode, last) for one, last in pairs])
