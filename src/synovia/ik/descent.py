"""Descent in NumPy, over joints or controls, for residuals and components without a kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask
from ..components import DEGREE, Figure
from ..model import LimitModel
from ..skeleton import Pose

TRIES, GROWTH = 8, 6.0  # most increases of damping in one step, and their factor
STALL_STEPS, STALL_RATIO = 4, 0.995**2  # stop after so many steps that leave more of the square
ACTIVE_ROUNDS = 8  # of finding which one-sided residuals count
DIFFERENCE = 1e-7  # step of forward differences, radians or shares of a range

Point = Any
"""Values of coordinates, with leading axes: controls (..., C), or rotations and positions."""


@dataclass(frozen=True, eq=False)
class Coordinates(ABC):
    """Variables that give poses.

    A step of 1 is 1 radian, or `length` for lengths, or the whole range of any other control.
    """

    _: KW_ONLY
    length: float = 1.0
    stiffness: Floats | float = 1.0
    """(F,): stiff variables move less; see `Differentiable.step`."""
    max_step: float = math.inf
    """Maximum length of the step of a block."""

    block: ClassVar[int]
    """Number of variables that are legal or not together: 3 of a joint, 1 of a control."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number F of variables."""

    @abstractmethod
    def pose(self, points: Point) -> Pose:
        """Return the poses of points."""

    @abstractmethod
    def moved(self, point: Point, steps: Floats) -> Point:
        """Return the points (..., *) that steps (..., F) from one point lead to, legal or not."""

    @abstractmethod
    def project(self, point: Point) -> Point:
        """Return the nearest legal point."""

    @abstractmethod
    def steps_to(self, points: Point, end: Point) -> Floats:
        """Return the steps (..., F) from points to the point `end`."""

    def perturbed(self, point: Point) -> tuple[Point, Floats]:
        """Return F points, each a small step along one variable, and the signed steps (F,)."""
        steps = np.full(self.count, DIFFERENCE)
        return self.moved(point, np.diag(steps)), steps

    def retract(self, point: Point, step: Floats) -> tuple[Point, Floats]:
        """Return the legal point nearest to a step (F,) from a point, and the step to it."""
        blocks = step.reshape(-1, self.block)
        lengths = np.linalg.norm(blocks, axis=1, keepdims=True)
        blocks = blocks * np.minimum(1.0, self.max_step / np.maximum(lengths, 1e-300))
        reached = self.project(self.moved(point, blocks.ravel()))
        return reached, self.steps_to(point, reached)


@dataclass(frozen=True, eq=False)
class JointCoordinates(Coordinates):
    """Rotation vectors of joints in their own frames, then positions of roots that may move.

    A point is (rotations (..., J, 4), positions (..., J, 3)).
    """

    model: LimitModel
    """The limits that `project` keeps."""
    movers: Sequence[int]
    """Indices of the joints that may rotate."""
    slides: Sequence[int] = ()
    """Indices of the roots that may move."""

    block = 3

    @property
    def count(self) -> int:
        return 3 * (len(self.movers) + len(self.slides))

    def pose(self, points: Point) -> Pose:
        return Pose(*points)

    def moved(self, point: Point, steps: Floats) -> Point:
        shape, count = steps.shape[:-1], len(self.movers)
        rotations, positions = (
            np.array(np.broadcast_to(array, (*shape, *array.shape))) for array in point
        )
        moves = steps.reshape(*shape, count + len(self.slides), 3)
        rotated = quat.mul(rotations[..., self.movers, :], quat.exp(moves[..., :count, :]))
        rotations[..., self.movers, :] = quat.normalize(rotated)
        positions[..., self.slides, :] += self.length * moves[..., count:, :]
        return rotations, positions

    def project(self, point: Point) -> Point:
        return self.model.project(Pose(*point)).rotations, point[1]

    def steps_to(self, points: Point, end: Point) -> Floats:
        before = quat.inverse(points[0][..., self.movers, :])
        rotated = quat.log(quat.mul(before, end[0][..., self.movers, :]))
        moved = (end[1] - points[1])[..., self.slides, :] / self.length
        steps = np.concatenate([rotated, moved], axis=-2)
        return steps.reshape(*steps.shape[:-2], self.count)


@dataclass(frozen=True, eq=False)
class ControlCoordinates(Coordinates):
    """Controls of a figure within their ranges; a point is all controls (..., C)."""

    figure: Figure
    free: Ints
    """(F,): indices of the controls that may change."""
    in_shares: bool = False
    """Whether a step of 1 is the whole range of every control."""

    block = 1

    @property
    def count(self) -> int:
        return len(self.free)

    @cached_property
    def units(self) -> Floats:
        """Changes (F,) of the free controls that a step of 1 makes."""
        units = {"radians": 1.0, "degrees": 1.0 / DEGREE, "length": self.length}
        names = [control.unit for control in self.figure.controls.values()]
        low, _, high = self.figure.ranges
        if self.in_shares:
            units = {}
        return np.array([units.get(names[k], high[k] - low[k]) for k in self.free])

    def pose(self, points: Point) -> Pose:
        return self.figure.pose(points)

    def moved(self, point: Point, steps: Floats) -> Point:
        points = np.array(np.broadcast_to(point, (*steps.shape[:-1], *point.shape)))
        points[..., self.free] += self.units * steps
        return points

    def project(self, point: Point) -> Point:
        low, _, high = self.figure.ranges
        return np.clip(point, low, high)

    def steps_to(self, points: Point, end: Point) -> Floats:
        return np.asarray((end - points)[..., self.free] / self.units)

    def perturbed(self, point: Point) -> tuple[Point, Floats]:
        high = self.figure.ranges[2]
        beyond = point[self.free] + DIFFERENCE * self.units > high[self.free]
        steps = np.where(beyond, -DIFFERENCE, DIFFERENCE)
        return self.moved(point, np.diag(steps)), steps


class Differentiable(ABC):
    """Residuals of one problem at points of coordinates, differentiated numerically."""

    coordinates: Coordinates

    @property
    def one_sided(self) -> Mask:
        """Mask (R,), or of shape (1,) for all, of residuals that count only where above 0."""
        return np.zeros(1, np.bool_)

    @abstractmethod
    def residuals(self, points: Point) -> Floats:
        """Return the weighted residuals (..., R) at points."""

    def jacobian(self, point: Point, residuals: Floats) -> Floats:
        """Return the derivatives (R, F) at a point with these residuals, by forward differences."""
        points, steps = self.coordinates.perturbed(point)
        return np.asarray((self.residuals(points) - residuals).T / steps)

    def square(self, residuals: Floats) -> float:
        """Return the sum of squares of the residuals (R,) that count."""
        counted = np.where(self.one_sided, np.maximum(residuals, 0.0), residuals)
        return float(counted @ counted)

    def step_towards(
        self, jacobian: Floats, residuals: Floats, damping: float, normals: Floats, fixed: Floats
    ) -> Floats:
        """Return the damped Gauss–Newton step (F,) from `fixed` (F,), orthogonal to `normals`.

        It minimises |r + J x|² + `damping` |stiffness x|². Normals (n, F) are unit vectors. Which
        one-sided residuals count is iterated from those that count without a step.
        """
        stiffness = self.coordinates.stiffness
        free = (jacobian - (jacobian @ normals.T) @ normals) / stiffness
        residuals = residuals + jacobian @ fixed
        counted = ~self.one_sided | (residuals > 0.0)
        for _ in range(ACTIVE_ROUNDS):
            rows = slice(None) if counted.all() else counted
            step = -damped_step(free[rows], residuals[rows], damping)
            ahead = ~self.one_sided | (residuals + free @ step > 0.0)
            if (ahead == counted).all():
                break
            counted = ahead
        return np.asarray(step / stiffness)


def descend(
    problem: Differentiable,
    point: Point,
    *,
    iterations: int,
    damping: float,
    rounds: int | None = None,
    tries: int = TRIES,
) -> tuple[Point, Floats, int]:
    """Take damped Gauss–Newton steps; return the last point, its residuals, and their number.

    `damping` is relative to the sum of squares. `rounds` is the maximum number of projections in
    one step; by default, one more than there are variables. `tries` is how often damping may grow
    in one step; with fewer tries it grows faster.
    """
    if not problem.coordinates.count:
        iterations = 0
    residuals = problem.residuals(point)
    square, stalled, steps = problem.square(residuals), 0, 0
    while steps < iterations and stalled < STALL_STEPS:
        jacobian, before, improved = problem.jacobian(point, residuals), square, False
        for _ in range(tries):
            trial = _propose(problem, point, jacobian, residuals, damping * square + 1e-10, rounds)
            trial_residuals = problem.residuals(trial)
            trial_square = problem.square(trial_residuals)
            if trial_square < square:
                point, residuals, square, improved = trial, trial_residuals, trial_square, True
                break
            damping = GROWTH ** (TRIES / tries) * damping + 1e-4
        if not improved:
            break
        steps += 1
        if square < 0.5 * before:
            damping = max(0.3 * damping, 1e-4)
        stalled = stalled + 1 if square > STALL_RATIO * before else 0
    return point, residuals, steps


def _propose(
    problem: Differentiable,
    point: Point,
    jacobian: Floats,
    residuals: Floats,
    damping: float,
    rounds: int | None,
) -> Point:
    """Return a legal point nearer to the goals, by an active-set method that needs projection only.

    Where projection changes the step of a block, the step is fixed along the direction of that
    change, and solved again for the other directions.
    """
    coordinates, count = problem.coordinates, problem.coordinates.count
    normals, fixed = np.zeros((0, count)), np.zeros(count)
    for _ in range(count + 1 if rounds is None else rounds):
        step = problem.step_towards(jacobian, residuals, damping, normals, fixed) + fixed
        trial, actual = coordinates.retract(point, step)
        excess = step - actual
        excess -= normals.T @ (normals @ excess)
        directions = unit_blocks(excess, coordinates.block, 1e-9)
        if len(directions) == 0:
            break
        normals = np.concatenate([normals, directions])
        fixed = normals.T @ (normals @ actual)
    return trial


def unit_blocks(step: Floats, block: int, threshold: float) -> Floats:
    """Return unit vectors (n, F), one along each block of a step longer than a threshold."""
    blocks = step.reshape(-1, block)
    lengths = np.linalg.norm(blocks, axis=1)
    rows = np.flatnonzero(lengths > threshold)
    directions = np.zeros((len(rows), *blocks.shape))
    directions[np.arange(len(rows)), rows] = blocks[rows] / lengths[rows, None]
    return directions.reshape(len(rows), len(step))


def damped_step(jacobian: Floats, residuals: Floats, damping: float) -> Floats:
    """Return x = (Jᵀ J + μ)⁻¹ Jᵀ r = Jᵀ (J Jᵀ + μ)⁻¹ r, by the smaller of the two systems."""
    rows, columns = jacobian.shape
    if rows < columns:
        gram = jacobian @ jacobian.T + damping * np.eye(rows)
        return np.asarray(jacobian.T @ np.linalg.solve(gram, residuals))
    gram = jacobian.T @ jacobian + damping * np.eye(columns)
    return np.asarray(np.linalg.solve(gram, jacobian.T @ residuals))
