"""Least squares within bounds for many independent problems at once, by differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints, Mask, Scalars

Residuals = Callable[[Floats, Ints], Floats]
"""From points (..., n, d), and the index (n,) of the problem of each, to residuals (..., n, r)."""

STEP = 1e-7  # of one-sided differences: errors of some 1e-7 of second derivatives
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-2, 1e-9, 1e6  # times the diagonal of JᵀJ
DECREASE, INCREASE = 0.1, 8.0  # factors of the damping after a step that is taken, and is not


def difference_quotients(
    function: Callable[..., Floats], points: Floats, steps: Floats, *arguments: Ints
) -> Floats:
    """Return rates (d, n, r) of a function along each coordinate, at points (n, d).

    `function` maps points (..., n, d), and further `arguments`, to values (..., n, r). `steps`
    (n, d) have a sign: (f(x + hᵢ eᵢ) − f(x)) / hᵢ.
    """
    moved = points + steps * np.eye(points.shape[1])[:, None, :]
    rounded = np.moveaxis(np.diagonal(moved, axis1=0, axis2=2), 0, 1) - points.T
    return np.asarray(
        (function(moved, *arguments) - function(points, *arguments)) / rounded[..., None]
    )


@dataclass(frozen=True, eq=False)
class Minima:
    """Points (n, d) where descents ended, with their residuals (n, r)."""

    points: Floats
    residuals: Floats

    @property
    def squares(self) -> Scalars:
        """Sums of squares (n,) of the residuals."""
        return np.asarray(np.square(self.residuals).sum(axis=-1))


def normal_equations(rates: Floats, residuals: Floats, held: Mask) -> tuple[Floats, Floats]:
    """Return JᵀJ (n, d, d) and −Jᵀr (n, d) for rates (d, n, r).

    Rows and columns of variables that are `held` (n, d) are those of the identity, with 0 at the
    right-hand side.
    """
    jacobian = np.swapaxes(rates, 0, 1)
    square = np.where(held[:, None] | held[:, :, None], 0.0, jacobian @ np.swapaxes(jacobian, 1, 2))
    square += np.where(held, 1.0, 0.0)[..., None] * np.eye(held.shape[1])
    return square, np.where(held, 0.0, -(jacobian @ residuals[..., None])[..., 0])


def held_at_bounds(points: Floats, descent: Floats, low: Floats, high: Floats) -> Mask:
    """Return the coordinates (n, d) at a bound that −Jᵀr (n, d) would move beyond it."""
    return ((points <= low) & (descent < 0.0)) | ((points >= high) & (descent > 0.0))


def minimize(
    residuals: Residuals,
    start: Floats,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    max_steps: int = 60,
    max_move: float = np.inf,
    enough: float = 0.0,
    least_gain: float = 1e-12,
) -> Minima:
    """Return a local minimum of the sum of squares within bounds, for each start (n, d).

    The projected Levenberg–Marquardt method (Kanzow, Yamashita and Fukushima 2004): variables at a
    bound that would leave it are held, and steps are clipped to the bounds. A problem ends when its
    sum of squares is at most `enough`, a step lessens it by less than the share `least_gain`, or no
    step does. No coordinate moves by more than `max_move` in one step.
    """
    points = np.array(start, np.float64)
    low, high = (
        np.broadcast_to(np.asarray(bound, float), points.shape[1:]) for bound in (low, high)
    )
    best_residuals = residuals(points, np.arange(len(points)))
    damping = np.full(len(points), FIRST_DAMPING)
    active = np.flatnonzero(np.square(best_residuals).sum(axis=-1) > enough)
    for _ in range(max_steps):
        if len(active) == 0 or points.shape[1] == 0:
            break
        current, before = points[active], best_residuals[active]
        inward = np.where(current - low < high - current, STEP, -STEP)
        steps = inward * np.maximum(1.0, np.abs(current))
        rates = difference_quotients(residuals, current, steps, active)
        descent = -np.einsum("dnr,nr->nd", rates, before)
        held = held_at_bounds(current, descent, low, high)
        square, right_side = normal_equations(rates, before, held)
        sizes = np.einsum("ndd->nd", square)
        sizes = sizes + sizes.mean(axis=1, keepdims=True)
        damped = square + (damping[active, None] * sizes)[..., None] * np.eye(len(low))
        step = np.linalg.solve(damped, right_side[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, initial=0.0, keepdims=True)
        step *= np.minimum(1.0, max_move / np.maximum(longest, 1e-300))
        trial = np.clip(current + step, low, high)
        after = residuals(trial, active)
        new_squares, old_squares = np.square(after).sum(axis=-1), np.square(before).sum(axis=-1)
        better = new_squares < old_squares
        points[active[better]], best_residuals[active[better]] = trial[better], after[better]
        factor = np.where(better, DECREASE, INCREASE)
        damping[active] = np.maximum(factor * damping[active], MIN_DAMPING)
        small_gain = old_squares - new_squares < least_gain * old_squares
        ended = better & (small_gain | (new_squares <= enough))
        active = active[~ended & (damping[active] <= MAX_DAMPING)]
    return Minima(points, best_residuals)
