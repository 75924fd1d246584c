"""Curves of one number, and components that make values by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from .. import kernels
from ..arrays import Floats, Scalars, own
from .component import Component, check_names
from .program import Instruction, Kind

CurveKind = Literal["linear", "piecewise", "spline"]
Extrapolation = Literal["hold", "extend"]

CHECKS_PER_PIECE = 32  # drivers in each piece of a curve at which bounds are compared
DEGREE = np.pi / 180.0
"""Radians in a degree: a factor for curves written in degrees."""


@dataclass(frozen=True, eq=False)
class Curve:
    """y as a function of x through the knots (x, y), x rising.

    A "linear" curve has two knots, a "piecewise" one straight lines between any number of them. A
    "spline" is cubic with continuous second derivatives; at both ends its third derivative is that
    of the cubic through the four last knots (Forsythe, Malcolm and Moler), the same as OpenSim's
    SimmSpline; through three knots it is a parabola. Beyond the ends the curve holds its end value,
    or extends straight. Inputs are multiplied by `x_scale`, and results by `y_scale`: for a curve
    written in degrees these are 1/DEGREE and DEGREE. `low` and `high` bound y.
    """

    x: Floats
    y: Floats
    kind: CurveKind = "piecewise"
    beyond: Extrapolation = "hold"
    x_scale: float = 1.0
    y_scale: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        for name, choices in (("kind", get_args(CurveKind)), ("beyond", get_args(Extrapolation))):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"Curve.{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}"
                )
        own(self, x=(None,), y=(None,))
        count = len(self.x)
        if count < 2 or len(self.y) != count:
            raise ValueError(
                f"a curve needs two knots or more, as many x as y, got {count} and {len(self.y)}"
            )
        if self.kind == "linear" and count != 2:
            raise ValueError(f"a linear curve has two knots, got {count}")
        if not (np.diff(self.x) > 0.0).all():
            where = int(np.flatnonzero(~(np.diff(self.x) > 0.0))[0])
            raise ValueError(f"Curve.x must rise, got {self.x[where]} and then {self.x[where + 1]}")
        for name in ("x_scale", "y_scale"):
            scale = float(getattr(self, name))
            if not np.isfinite(scale) or scale == 0.0:
                raise ValueError(f"Curve.{name} must be finite and not 0, got {scale}")
            object.__setattr__(self, name, scale)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not self.low <= self.high:
            raise ValueError(f"Curve.low must not exceed Curve.high, got {self.low}, {self.high}")
        with np.errstate(all="ignore"):
            finite = np.isfinite(self.coefficients).all()
        if not finite:
            raise ValueError("Curve.x must have knots far enough apart for a finite slope")

    @classmethod
    def linear(cls, start: tuple[float, float], end: tuple[float, float], **options: Any) -> Self:
        """Return the line from the point `start` (x, y) to `end`; options are further fields."""
        knots = np.array([start, end], dtype=float)
        return cls(knots[:, 0], knots[:, 1], "linear", **options)

    @cached_property
    def coefficients(self) -> Floats:
        """Each piece's coefficients (n - 1, 4) of x - x₀, lowest power first."""
        h, rise = np.diff(self.x), np.diff(self.y) / np.diff(self.x)
        if self.kind != "spline" or len(h) == 1:
            return np.stack([self.y[:-1], rise, 0.0 * h, 0.0 * h], axis=1)
        bend = _sixths_of_second_derivatives(self.x, self.y)
        slope = rise - h * (bend[1:] + 2.0 * bend[:-1])
        return np.stack([self.y[:-1], slope, 3.0 * bend[:-1], np.diff(bend) / h], axis=1)

    @cached_property
    def packed(self) -> Floats:
        """The curve, flat, as `kernels.figure` reads it."""
        pieces = self.coefficients
        h, last = self.x[-1] - self.x[-2], pieces[-1]
        slope = last[1] + h * (2.0 * last[2] + 3.0 * h * last[3])
        body = [
            *(self.x_scale, self.y_scale, self.low, self.high),
            *(float(self.beyond == "extend"), len(pieces), *self.x[1:-1]),
            *np.column_stack([self.x[:-1], pieces]).ravel(),
            *(self.x[-1], self.y[-1], slope),
        ]
        return np.array([len(body) + 1, *body], dtype=np.float64)

    def __call__(self, x: Scalars | float) -> Scalars:
        """Return y at each `x`, scales and bounds included."""
        x = np.asarray(x, dtype=np.float64)
        y = np.empty(x.shape)
        kernels.figure.values(self.packed, np.ascontiguousarray(x).ravel(), y.reshape(-1))
        return y

    def with_values(self, y: Floats) -> Self:
        """Return the curve with other values at its knots."""
        return replace(self, y=y)


def _sixths_of_second_derivatives(x: Floats, y: Floats) -> Floats:
    """Return the second derivatives (n,) at the knots of a spline, over 6."""
    n, h = len(x), np.diff(x)
    rise = np.diff(y) / h
    system, right = np.zeros((n, n)), np.zeros(n)
    inner = np.arange(1, n - 1)
    system[inner, inner - 1], system[inner, inner + 1] = h[:-1], h[1:]
    system[inner, inner] = 2.0 * (h[:-1] + h[1:])
    right[inner] = np.diff(rise)
    system[0, :2], system[-1, -2:] = (-h[0], h[0]), (h[-1], -h[-1])
    if n > 3:
        third = np.diff(np.diff(rise) / (x[2:] - x[:-2])) / (x[3:] - x[:-3])
        right[0], right[-1] = h[0] ** 2 * third[0], -(h[-1] ** 2) * third[-1]
    return np.linalg.solve(system, right)


@dataclass(frozen=True, eq=False)
class OneToMany(Component):
    """One scalar for each of `curves`, under its name, from the input `value`.

    The curves convert units and set limits: see `Curve`.
    """

    curves: Mapping[str, Curve]

    kind: ClassVar[str] = "mapping"
    inputs: ClassVar = {"value": "scalar"}

    def __post_init__(self) -> None:
        check_names("the outputs of a mapping", tuple(self.curves))
        check_curves(self.kind, self.curves)
        object.__setattr__(self, "curves", dict(self.curves))

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
    outputs: ClassVar = {"value": "scalar"}

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
