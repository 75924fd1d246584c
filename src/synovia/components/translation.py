"""Translation: bones that slide, which Shao & Ng-Thow-Hing (2003) have no component for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Vectors, own
from ..charts.chart import reflect
from .component import Component
from .program import Instruction, Kind

AXIS_NAMES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Translation(Component):
    """A shift by `offset` + x·d₀ + y·d₁ + z·d₂, d the rows of `directions`, which may be skew.

    The inputs x, y, z are lengths; one that is not wired is 0.
    """

    offset: Vectors = field(default_factory=lambda: np.zeros(3))
    directions: Floats = field(default_factory=lambda: np.eye(3))

    kind: ClassVar[str] = "translation"

    def __post_init__(self) -> None:
        own(self, offset=(3,), directions=(3, 3))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(AXIS_NAMES, "scalar")

    @property
    def defaults(self) -> Mapping[str, Floats]:
        return dict.fromkeys(AXIS_NAMES, np.zeros(()))

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        packed = np.concatenate([self.offset, self.directions.ravel()])
        return Instruction(kernels.figure.TRANSLATION, (packed,), (inputs,), outputs)

    def mirror(self, normal: Vectors) -> Self:
        offset, directions = reflect(self.offset, normal), reflect(self.directions, normal)
        return replace(self, offset=offset, directions=directions)
