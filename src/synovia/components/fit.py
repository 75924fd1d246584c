"""Fit parameters of a network to observed transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ..arrays import Floats
from .component import error_weights, stack_values
from .network import Network, unknown_name
from .program import WIDTH

INVALID_ERROR = 1e6  # residual, radians, of parameters that a component refuses
MAX_STEPS = 200  # of the descent


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The network with its new parameters, and how far it is from what was observed.

    `angle` is the root mean square of the rotations left over, in radians, and `shift` that of the
    distances between positions, in the unit of the observations.
    """

    network: Network
    angle: float
    shift: float


def fit_network(
    network: Network,
    controls: Mapping[str, Any],
    observed: Mapping[str, Any],
    parameters: Sequence[str],
    *,
    length: float = 1.0,
) -> FittedNetwork:
    """Return the network whose outputs come nearest to what was observed, by least squares.

    `observed` are matrices (..., 4, 4) of some outputs, for `controls` (...), of which all are
    given. `parameters` are the ones to change, "component.parameter": axes, centres, bounds, or
    the values of a curve at its knots ("map.c7"). They start from what they are. `length` is the
    distance that weighs as much as a radian. Values that the observations do not determine, such as
    the position of a centre along its axis, stay near their start.
    """
    from scipy.optimize import least_squares

    if not parameters:
        raise ValueError("parameters must name at least one to fit, got none")
    start = {name: network.parameter(name) for name in parameters}
    ends = np.cumsum([value.size for value in start.values()])
    if not (np.isfinite(length) and length > 0.0):
        raise ValueError(f"length must be above 0 and finite, got {length}")
    columns, wanted, table = _observations(network, controls, observed)
    scale = error_weights(len(observed), length)

    def change(numbers: Floats) -> Network:
        parts = zip(start.items(), np.split(numbers, ends[:-1]), strict=True)
        return network.with_parameters(
            {name: part.reshape(value.shape) for (name, value), part in parts}
        )

    def errors(numbers: Floats) -> Floats:
        try:
            changed = change(numbers)
        except ValueError:
            return np.full(wanted.size, INVALID_ERROR)
        return np.asarray(((changed.rows(table)[:, columns] - wanted) * scale).ravel())

    first = np.concatenate([value.ravel() for value in start.values()])
    fit = least_squares(errors, first, ftol=1e-12, xtol=1e-12, gtol=1e-12, max_nfev=MAX_STEPS)
    squares = np.square(fit.fun).reshape(-1, 3, 4)
    angle, shift = squares[..., :3].sum(axis=(1, 2)), squares[..., 3].sum(axis=1)
    return FittedNetwork(
        change(fit.x), float(np.sqrt(angle.mean())), length * float(np.sqrt(shift.mean()))
    )


def _observations(
    network: Network, controls: Mapping[str, Any], observed: Mapping[str, Any]
) -> tuple[Floats, Floats, Floats]:
    """Return columns of the network's outputs, their observed values, and rows of controls."""
    kinds = network.results
    if not observed:
        raise ValueError("observed must have at least one output, got none")
    for name in observed:
        if name not in kinds:
            raise ValueError(unknown_name("output", name, tuple(kinds)))
        if kinds[name] != "matrix":
            raise ValueError(f"the output {name!r} must be a matrix to fit to, got a {kinds[name]}")
    for name in network.controls:
        if name not in controls:
            raise ValueError(f"the control {name!r} must be given, got none")
    control_values = {f"control {name}": controls[name] for name in network.controls}
    control_kinds = {f"control {name}": kind for name, kind in network.kinds.items()}
    observed_kinds = {name: kinds[name] for name in observed}
    table, _ = stack_values({**control_values, **observed}, {**control_kinds, **observed_kinds})
    firsts = dict(
        zip(kinds, accumulate((WIDTH[kind] for kind in kinds.values()), initial=0), strict=False)
    )
    columns = np.concatenate([firsts[name] + np.arange(12) for name in observed])
    split = table.shape[1] - len(columns)
    return columns, table[:, split:], np.ascontiguousarray(table[:, :split])
