"""One number to many: each output its own curve of the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats
from .component import Component, check_names
from .curve import Curve
from .program import Instruction, Kind


@dataclass(frozen=True, eq=False)
class OneToMany(Component):
    """One scalar for each of `curves`, under its name, from the input `value`.

    The curves convert units and set limits: see `Curve`.
    """

    curves: Mapping[str, Curve]

    kind: ClassVar[str] = "mapping"

    def __post_init__(self) -> None:
        check_names("the outputs of a mapping", tuple(self.curves))
        check_curves(self.kind, self.curves)
        object.__setattr__(self, "curves", dict(self.curves))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return {"value": "scalar"}

    @property
    def outputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.curves, "scalar")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        packed = np.concatenate([curve.packed for curve in self.curves.values()])
        return Instruction(kernels.figure.MAPPING, (packed,), (outputs,), inputs)

    def parameters(self) -> dict[str, Floats]:
        return {name: curve.y for name, curve in self.curves.items()}

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        changed = {name: self.curves[name].with_values(y) for name, y in values.items()}
        return replace(self, curves={**self.curves, **changed})


def check_curves(owner: str, curves: Mapping[str, Curve]) -> None:
    """Raise ValueError unless all these are curves."""
    for name, curve in curves.items():
        if not isinstance(curve, Curve):
            raise ValueError(f"{owner} needs a Curve for {name!r}, got {curve!r:.80}")
