"""The search that all solvers share, over variables that give a pose: joints or controls.

Damped Gauss–Newton from the start, then with weak soft goals, then from other starts: a few steps
from each, and the best continue.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Generic, Self, TypeVar

import numpy as np

from ..arrays import Ints, Mask, Scalars, whole_number

GOAL_TOLERANCE = 2e-4  # a goal is met below this share of the chain's length
SOFT_FACTOR = 1e-3  # factor of soft weights where the other goals are not met beside them
FIRST_RESTARTS = 2  # restarts that are tried before all others
RACE_STEPS = 4  # steps from each other start, before the best continue
BETTER_START = 0.9  # a later start must leave at most this share of the error


@dataclass(frozen=True)
class SearchSettings:
    """How long solvers search, and which goals count as met.

    Parameters
    ----------
    restarts
        Number of other starts to try if the given start does not lead to the goals.
    iterations
        Maximum number of steps of one descent; most problems take fewer than 20.
    largest_step
        Maximum rotation of a joint in one step, in radians.
    tolerance
        A goal is met when its error is below this share of the chain's length; an angle of 1 radian
        counts as 0.3 of that length.
    threads
        Number of threads for a batch; as many as there are processors unless given.
    """

    restarts: int = 8
    iterations: int = 60
    largest_step: float = 0.7
    tolerance: float = GOAL_TOLERANCE
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("restarts", 0), ("iterations", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.threads is not None:
            object.__setattr__(self, "threads", whole_number("threads", self.threads, 1))
        for name in ("largest_step", "tolerance"):
            check_above_0(name, getattr(self, name))


def check_above_0(name: str, number: float) -> None:
    """Raise ValueError unless `number` is finite and above 0."""
    if not (isinstance(number, Real) and 0.0 < float(number) < math.inf):
        raise ValueError(f"{name} must be above 0 and finite, got {number!r}")


@dataclass(eq=False)
class Trials:
    """Arrays that have one row for each trial, with the results of a descent."""

    squares: Scalars
    """(n,): sums of squares of the weighted residuals."""
    steps: Ints
    """(n,): numbers of steps."""
    met: Mask
    """(n,): True where all goals but the soft ones are met."""

    def take(self, rows: Ints) -> Self:
        """Return a copy of some rows."""
        arrays = vars(self).items()
        return type(self)(**{name: np.ascontiguousarray(array[rows]) for name, array in arrays})

    def put(self, rows: Ints, other: Self) -> None:
        """Replace some rows by those of `other`."""
        for name, array in vars(other).items():
            getattr(self, name)[rows] = array


T = TypeVar("T", bound=Trials)


class Variables(ABC, Generic[T]):
    """Variables that give poses, and goals for these poses. Rows of trials are independent."""

    @abstractmethod
    def descend(self, trials: T, iterations: int) -> None:
        """Take at most so many damped Gauss–Newton steps, in place; 0 steps only measure."""

    @abstractmethod
    def weaken_soft_goals(self) -> Self | None:
        """Return the variables with soft goals of almost no weight; None without soft goals."""

    @abstractmethod
    def other_starts(self, initial: T, current: T, ranks: slice) -> T:
        """Return other starts for each row by their ranks, those of the first row first.

        `initial` are the rows where the search began, `current` the best so far.
        """


def search(variables: Variables[T], trials: T, settings: SearchSettings) -> None:
    """Run the whole search for trials, in place: descend, then restart where goals are unmet."""
    initial = trials.take(np.arange(len(trials.met)))
    weak = descend_from_start(variables, trials, settings)
    restart(weak, trials, initial, settings)


def restart(variables: Variables[T], trials: T, initial: T, settings: SearchSettings) -> None:
    """Continue unmet rows from other starts, in place; `initial` are the rows at their start.

    A few steps are taken from each start, then the best one continues. A few starts are tried
    before all others.
    """
    first = min(FIRST_RESTARTS, settings.restarts)
    for ranks in (slice(0, first), slice(first, settings.restarts)):
        unmet = np.flatnonzero(~trials.met)
        if len(unmet) == 0 or ranks.start == ranks.stop:
            break
        current = trials.take(unmet)
        runners = variables.other_starts(initial.take(unmet), current, ranks)
        variables.descend(runners, RACE_STEPS)
        squares = runners.squares.reshape(len(unmet), -1)
        race_steps = runners.steps.reshape(squares.shape).sum(axis=1)
        best = runners.take(squares.argmin(axis=1) + squares.shape[1] * np.arange(len(unmet)))
        best_steps = best.steps.copy()
        variables.descend(best, settings.iterations)
        total_steps = current.steps + race_steps + best.steps - best_steps
        better = np.flatnonzero((best.squares < current.squares) | best.met)
        trials.put(unmet[better], best.take(better))
        trials.steps[unmet] = total_steps


def descend_from_start(
    variables: Variables[T], trials: T, settings: SearchSettings
) -> Variables[T]:
    """Descend in place, and again with weak soft goals where goals are unmet.

    Returns the variables with weak soft goals, or `variables` if there are no soft goals.
    """
    variables.descend(trials, settings.iterations)
    weak = variables.weaken_soft_goals()
    if weak is None:
        return variables
    descend_unmet(weak, trials, settings)
    return weak


def descend_unmet(variables: Variables[T], trials: T, settings: SearchSettings) -> None:
    """Descend in place in the rows whose goals are not met."""
    unmet = np.flatnonzero(~trials.met)
    if len(unmet):
        part = trials.take(unmet)
        variables.descend(part, settings.iterations)
        trials.put(unmet, part)
