"""Controls: the few numbers that pose a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from .network import Network
from .wiring import unknown

Unit = Literal["radians", "degrees", "length", "share"]


@dataclass(frozen=True)
class Control:
    """The range of a control, its neutral value and its unit.

    A "length" is in the figure's own unit, a "share" is a bare number, such as -1 to 1.
    """

    low: float
    high: float
    neutral: float = 0.0
    unit: Unit = "radians"

    def __post_init__(self) -> None:
        for name in ("low", "high", "neutral"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not -np.inf < self.low <= self.neutral <= self.high < np.inf:
            raise ValueError(
                "a control must have low <= neutral <= high, all finite, got "
                f"{self.low}, {self.neutral}, {self.high}"
            )
        if self.unit not in get_args(Unit):
            raise ValueError(
                f"Control.unit must be one of {', '.join(get_args(Unit))}, got {self.unit!r}"
            )


@dataclass(frozen=True, eq=False)
class JointSet:
    """A network whose outputs are the transforms of segments, by the segments' names.

    `controls` are the ranges of the network's controls, which are all scalars.
    """

    network: Network
    controls: Mapping[str, Control] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.controls:
            if name not in self.network.controls:
                raise ValueError(unknown("control", name, self.network.controls))
        for name, kind in self.network.kinds.items():
            if name not in self.controls:
                raise ValueError(f"the control {name!r} must have a range, got none")
            if kind != "scalar":
                raise ValueError(
                    f"the control {name!r} of a joint set must be a scalar, got a {kind}"
                )
        for name, kind in self.network.results.items():
            if kind != "matrix":
                raise ValueError(
                    f"the output {name!r} of a joint set must be a matrix, got a {kind}"
                )
        in_order = {name: self.controls[name] for name in self.network.controls}
        object.__setattr__(self, "controls", in_order)
