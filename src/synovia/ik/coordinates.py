"""Coordinates of a pull: what moves, over the controls of a figure or the joints of a skeleton."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Vectors
from ..components import DEGREE, Figure
from ..model import LimitModel
from ..skeleton import Pose

Point = Any
"""Values of coordinates, with leading axes: controls (..., C), or rotations and positions."""


class Coordinates(ABC):
    """Variables that give poses.

    A step of 1 is 1 radian, or `length` for lengths, or the whole range of any other control.
    """

    block: int
    """Number of variables that are legal or not together: 3 of a joint, 1 of a control."""

    @property
    @abstractmethod
    def indices(self) -> Sequence[int] | Ints:
        """Indices of the joints that may rotate, or of the controls that may change."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number F of variables."""

    @abstractmethod
    def pose(self, points: Point) -> Pose:
        """Return the poses of points."""

    @abstractmethod
    def moved(self, point: Point, steps: Floats) -> Point:
        """Return the points (n, ...) that steps (n, F) from one point lead to, legal or not."""

    @abstractmethod
    def retract(self, point: Point, step: Floats) -> tuple[Point, Floats]:
        """Return the legal point nearest to a step (F,) from a point, and the step to it."""

    @abstractmethod
    def steps_to(self, points: Point, end: Point) -> Floats:
        """Return the steps (n, F) from points (n, ...) to the point `end`."""

    @abstractmethod
    def bend(
        self, point: Point, hinges: Mapping[int, tuple[Vectors, Vectors]], angle: float
    ) -> Point:
        """Return the point with hinges bent by at least an angle in radians.

        `hinges` are as in `Person`. Joints may leave their limits; controls are kept at least the
        angle from both ends of their ranges, or at the middle of narrow ranges.
        """

    def perturbed(self, point: Point, size: float) -> tuple[Point, Floats]:
        """Return F points a small step along each variable, and the signed steps (F,)."""
        return self.moved(point, size * np.eye(self.count)), np.full(self.count, size)


@dataclass(frozen=True, eq=False)
class JointCoordinates(Coordinates):
    """Rotation vectors of joints in their own frames, then positions of roots that may move.

    A point is (rotations (..., J, 4), positions (..., J, 3)).
    """

    model: LimitModel
    """The limits that `retract` keeps."""
    movers: Sequence[int]
    slides: Sequence[int] = ()
    length: float = 1.0

    block = 3

    @property
    def indices(self) -> Sequence[int]:
        return self.movers

    @property
    def count(self) -> int:
        return 3 * (len(self.movers) + len(self.slides))

    def pose(self, points: Point) -> Pose:
        return Pose(*points)

    def moved(self, point: Point, steps: Floats) -> Point:
        rotations, positions = (np.repeat(array[None], len(steps), axis=0) for array in point)
        moves, count = steps.reshape(len(steps), -1, 3), len(self.movers)
        rotated = quat.mul(rotations[:, self.movers], quat.exp(moves[:, :count]))
        rotations[:, self.movers] = quat.normalize(rotated)
        positions[:, self.slides] += self.length * moves[:, count:]
        return rotations, positions

    def retract(self, point: Point, step: Floats) -> tuple[Point, Floats]:
        rotations, positions = (array[0] for array in self.moved(point, step[None]))
        legal = self.model.project(Pose(rotations, positions)).rotations
        reached = (legal, positions)
        return reached, self.steps_to(tuple(array[None] for array in point), reached)[0]

    def bend(
        self, point: Point, hinges: Mapping[int, tuple[Vectors, Vectors]], angle: float
    ) -> Point:
        rotations, offsets = np.array(point[0]), self.model.skeleton.offsets
        for joint, (bone, axis) in hinges.items():
            if joint in self.movers:
                straight = quat.between(offsets[joint], quat.rotate(rotations[joint], bone))
                missing = max(angle - float(np.linalg.norm(quat.log(straight))), 0.0)
                bent = quat.mul(rotations[joint], quat.exp(missing * axis))
                rotations[joint] = quat.normalize(bent)
        return rotations, point[1]

    def steps_to(self, points: Point, end: Point) -> Floats:
        before = quat.inverse(points[0][:, self.movers])
        rotated = quat.log(quat.mul(before, end[0][self.movers]))
        moved = (end[1][self.slides] - points[1][:, self.slides]) / self.length
        parts = (part.reshape(len(before), -1) for part in (rotated, moved))
        return np.concatenate([*parts], axis=1)


@dataclass(frozen=True, eq=False)
class ControlCoordinates(Coordinates):
    """Controls of a figure within their ranges; a point is all controls (..., C)."""

    figure: Figure
    free: Ints
    """(F,): indices of the controls that may change."""
    length: float = 1.0

    block = 1

    @property
    def indices(self) -> Ints:
        return self.free

    @property
    def count(self) -> int:
        return len(self.free)

    @cached_property
    def units(self) -> Floats:
        """Changes (F,) of the free controls that a step of 1 makes."""
        controls = [*self.figure.controls.values()]
        values = {"radians": 1.0, "degrees": 1.0 / DEGREE, "length": self.length}
        return np.array(
            [values.get(controls[k].unit, controls[k].high - controls[k].low) for k in self.free]
        )

    def pose(self, points: Point) -> Pose:
        return self.figure.pose(points)

    def moved(self, point: Point, steps: Floats) -> Point:
        points = np.repeat(point[None], len(steps), axis=0)
        points[:, self.free] += self.units * steps
        return points

    def perturbed(self, point: Point, size: float) -> tuple[Point, Floats]:
        high = self.figure.ranges[2]
        inwards = point[self.free] + size * self.units > high[self.free]
        steps = np.where(inwards, -size, size)
        return self.moved(point, np.diag(steps)), steps

    def retract(self, point: Point, step: Floats) -> tuple[Point, Floats]:
        low, _, high = self.figure.ranges
        reached = np.clip(self.moved(point, step[None])[0], low, high)
        actual = self.steps_to(point[None], reached)[0]
        inside = np.abs(actual - step) < 1e-12
        return reached, np.where(inside, step, actual)

    def steps_to(self, points: Point, end: Point) -> Floats:
        return np.asarray((end - points)[:, self.free] / self.units)

    def bend(
        self, point: Point, hinges: Mapping[int, tuple[Vectors, Vectors]], angle: float
    ) -> Point:
        low, _, high = self.figure.ranges
        names = {self.figure.skeleton.names[joint] for joint in hinges}
        bent, first = point.copy(), 0
        for joint_set in self.figure.joint_sets.values():
            part = slice(first, first + len(joint_set.controls))
            first = part.stop
            if not names.isdisjoint(joint_set.network.outputs):
                units = [
                    DEGREE if c.unit == "degrees" else 1.0 for c in joint_set.controls.values()
                ]
                margins = np.minimum(angle / np.array(units), 0.5 * (high - low)[part])
                bent[part] = np.clip(point[part], low[part] + margins, high[part] - margins)
        return bent
