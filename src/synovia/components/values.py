"""Components that make values: one value to many, and values that depend on a driver."""

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

CHECKS_PER_PIECE = 32  # drivers in each piece of a curve at which bounds are compared


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


@dataclass(frozen=True, eq=False)
class Dependency(Component):
    """A value given or bounded by curves of the input `driver`.

    With `exact` the output is that curve's, and there is no input `value`. Otherwise the output is
    the input `value`, clamped to `lower` and `upper`, of which one may be missing.
    """

    exact: Curve | None = None
    lower: Curve | None = None
    upper: Curve | None = None

    kind: ClassVar[str] = "dependency"

    def __post_init__(self) -> None:
        check_curves(self.kind, self._curves)
        bounds = [name for name in self._curves if name != "exact"]
        if (self.exact is None) == (not bounds):
            raise ValueError(
                "a dependency has an exact curve, or bounds: lower, upper or both; "
                f"got {' and '.join(self._curves) or 'none'}"
            )
        if self.lower is not None and self.upper is not None:
            _check_order(self.lower, self.upper)

    @property
    def _curves(self) -> dict[str, Curve]:
        named = {"exact": self.exact, "lower": self.lower, "upper": self.upper}
        return {name: curve for name, curve in named.items() if curve is not None}

    @property
    def inputs(self) -> Mapping[str, Kind]:
        names = ("driver",) if self.exact is not None else ("driver", "value")
        return dict.fromkeys(names, "scalar")

    @property
    def outputs(self) -> Mapping[str, Kind]:
        return {"value": "scalar"}

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        if self.exact is not None:
            return Instruction(kernels.figure.MAPPING, (self.exact.packed,), (outputs,), inputs)
        bounds = tuple(
            np.empty(0) if curve is None else curve.packed for curve in (self.lower, self.upper)
        )
        return Instruction(kernels.figure.BOUNDED, bounds, offsets=(*inputs, *outputs))

    def parameters(self) -> dict[str, Floats]:
        return {name: curve.y for name, curve in self._curves.items()}

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        changed = {name: self._curves[name].with_values(y) for name, y in values.items()}
        return replace(self, **changed)


def _check_order(lower: Curve, upper: Curve) -> None:
    """Raise ValueError where the lower bound passes the upper, at knots or between them."""
    knots = np.unique(np.concatenate([curve.x / curve.x_scale for curve in (lower, upper)]))
    share = np.arange(CHECKS_PER_PIECE) / CHECKS_PER_PIECE
    between = (knots[:-1, None] + np.diff(knots)[:, None] * share).ravel()
    drivers = np.append(between, knots[-1])
    crossed = np.flatnonzero(lower(drivers) > upper(drivers) + 1e-12)
    if len(crossed):
        driver = drivers[crossed[0]]
        raise ValueError(
            "Dependency.lower must not exceed Dependency.upper, got "
            f"{float(lower(driver)):.6g} and {float(upper(driver)):.6g} at driver {driver:.6g}"
        )
