"""Components that make transforms: products, rotations, compensations and translations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Vectors, own
from ..charts.chart import unit_axis
from .component import Component, check_names
from .program import Instruction, Kind


@dataclass(frozen=True, eq=False)
class MatrixProduct(Component):
    """The product of the matrices on the inputs named `factors`, in that order.

    For column vectors the last factor acts first.
    """

    factors: tuple[str, ...]

    kind: ClassVar[str] = "product"
    mirror_signs: ClassVar = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", check_names("Product.factors", self.factors))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.factors, "matrix")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        return Instruction(kernels.figure.PRODUCT, lists=(inputs,), offsets=outputs)


@dataclass(frozen=True, eq=False)
class Rotation(Component):
    """A rotation by `angle` (radians) about `axis`, in each interval about its own centre.

    `bounds` (n + 1,) are a₀ < a₁ < … < aₙ, `centers` (n, 3) the centres between them: the rotation
    is about the first centre until a₁, from there on about the second, and so on. Angles beyond
    the bounds count as the bound. The matrix is the identity at `neutral`, which is 0 unless given,
    or the nearest bound; equation 1 of the paper has it at a₀, which would move the neutral pose.
    """

    axis: Vectors
    bounds: Floats = field(default_factory=lambda: np.array([-np.pi, np.pi]))
    centers: Floats = field(default_factory=lambda: np.zeros((1, 3)))
    neutral: float = 0.0

    kind: ClassVar[str] = "rotation"
    inputs: ClassVar = {"angle": "scalar"}
    mirror_signs: ClassVar = {"axis": -1, "centers": 1}

    def __post_init__(self) -> None:
        own(self, axis=(3,), bounds=(None,), centers=(None, 3))
        object.__setattr__(self, "axis", unit_axis(self.axis, "Rotation.axis"))
        count = len(self.bounds) - 1
        if count < 1 or len(self.centers) != count:
            raise ValueError(
                "Rotation.bounds must be one more than Rotation.centers, and two at least, "
                f"got {count + 1} and {len(self.centers)}"
            )
        if not (np.diff(self.bounds) > 0.0).all():
            where = int(np.flatnonzero(~(np.diff(self.bounds) > 0.0))[0])
            raise ValueError(
                "Rotation.bounds must rise, so that intervals are in order and do not overlap, "
                f"got {self.bounds[where]} and then {self.bounds[where + 1]}"
            )
        if not np.isfinite(self.neutral):
            raise ValueError(f"Rotation.neutral must be finite, got {self.neutral}")
        object.__setattr__(self, "neutral", float(self.neutral))

    @cached_property
    def _arms(self) -> Vectors:
        """The vectors d (n, 3) of t = c + R d, by interval.

        In an interval the rotation R(α - ν) is about its centre c. Neighbours agree at the bound
        between them: c + R d = c' + R d', so that d' = d + Rᵀ(c - c'). In the interval of the
        neutral angle d is -c.
        """
        neutral = np.clip(self.neutral, self.bounds[0], self.bounds[-1])
        inner = self.bounds[1:-1]
        back = quat.exp((neutral - inner)[:, None] * self.axis)
        changes = quat.rotate(back, self.centers[:-1] - self.centers[1:])
        arms = np.concatenate([np.zeros((1, 3)), np.cumsum(changes, axis=0)])
        start = np.searchsorted(inner, neutral)
        return np.asarray(arms - arms[start] - self.centers[start])

    @cached_property
    def _packed(self) -> Floats:
        low, high = self.bounds[0], self.bounds[-1]
        neutral = np.clip(self.neutral, low, high)
        pairs = np.concatenate([self.centers, self._arms], axis=1).ravel()
        head = [*self.axis, neutral, low, high, len(self.centers)]
        return np.concatenate([head, self.bounds[1:-1], pairs])

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        offsets = (*inputs, *outputs)
        return Instruction(kernels.figure.ROTATION, (self._packed,), offsets=offsets)


@dataclass(frozen=True, eq=False)
class Compensation(Component):
    """The rotation about `joint` that undoes that of the matrix on the input `ancestor`.

    `joint` is where the segment is attached, in its own frame. The paper inverts the ancestor's
    matrix A and then shifts by the displacement of the joint o: A⁻¹ · T(Ao - o) is A's rotation
    undone about o, and A's translation cancels. This is for a parent; for several ancestors
    multiply one compensation each, the nearest first. To cancel a farther one alone, `between`
    names inputs for the matrices from below it down to the parent, which keep their rotations B:
    B⁻¹ A⁻¹ B.
    """

    joint: Vectors = field(default_factory=lambda: np.zeros(3))
    between: tuple[str, ...] = ()

    kind: ClassVar[str] = "compensation"
    mirror_signs: ClassVar = {"joint": 1}

    def __post_init__(self) -> None:
        own(self, joint=(3,))
        if self.between:
            check_names("Compensation.between", ("ancestor", *self.between))
        object.__setattr__(self, "between", tuple(self.between))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(("ancestor", *self.between), "matrix")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        ancestor, *between = inputs
        at = (ancestor, *outputs)
        return Instruction(kernels.figure.COMPENSATION, (self.joint,), (between,), at)


@dataclass(frozen=True, eq=False)
class Translation(Component):
    """A shift by `offset` + x·d₀ + y·d₁ + z·d₂, d the rows of `directions`, which may be skew.

    The inputs x, y, z are lengths; one that is not wired is 0.
    """

    offset: Vectors = field(default_factory=lambda: np.zeros(3))
    directions: Floats = field(default_factory=lambda: np.eye(3))

    kind: ClassVar[str] = "translation"
    inputs: ClassVar = dict.fromkeys("xyz", "scalar")
    defaults: ClassVar = dict.fromkeys("xyz", np.zeros(()))
    mirror_signs: ClassVar = {"offset": 1, "directions": 1}

    def __post_init__(self) -> None:
        own(self, offset=(3,), directions=(3, 3))

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        packed = np.concatenate([self.offset, self.directions.ravel()])
        return Instruction(kernels.figure.TRANSLATION, (packed,), (inputs,), outputs)
