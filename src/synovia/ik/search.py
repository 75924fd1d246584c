"""The search that all solvers share, over variables that give a pose: joints or controls.

Damped Gauss–Newton from the start, then with weak soft goals, then from other starts: a few steps
from each, and the best continue.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from ..arrays import Ints, Mask, Scalars, whole_number

GOAL_TOLERANCE = 2e-4  # a goal is met below this share of the chain's length
SOFT_FACTOR = 1e-3  # factor of soft weights where the other goals are not met beside them
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

    finalists: ClassVar[int] = 1
    """Number of trials that continue after each race."""

    @abstractmethod
    def descend(self, trials: T, iterations: int) -> None:
        """Take at most so many damped Gauss–Newton steps, in place; 0 steps only measure."""

    @abstractmethod
    def weaken_soft_goals(self) -> Self | None:
        """Return the variables with soft goals of almost no weight; None without soft goals."""

    @abstractmethod
    def races(self, restarts: int) -> Iterable[slice]:
        """Return, for each race, the slice of the ranked other starts that take part."""

    @abstractmethod
    def other_starts(self, initial: T, current: T, race: slice) -> T:
        """Return other starts for each row, those of the first row first.

        `initial` are the rows where the search began, `current` the best so far.
        """


def search(variables: Variables[T], trials: T, settings: SearchSettings) -> None:
    """Run the whole search for trials, in place: descend, then restart where goals are unmet."""
    initial = trials.take(np.arange(len(trials.met)))
    weak = descend_from_start(variables, trials, settings)
    restart(weak, trials, initial, settings)


def restart(variables: Variables[T], trials: T, initial: T, settings: SearchSettings) -> None:
    """Continue unmet rows from other starts, in place; `initial` are the rows at their start."""
    for race in variables.races(settings.restarts):
        unmet = np.flatnonzero(~trials.met)
        if len(unmet) and race.start < race.stop:
            _run_race(variables, trials, unmet, initial.take(unmet), race, settings)


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


def _run_race(
    variables: Variables[T],
    trials: T,
    unmet: Ints,
    initial: T,
    race: slice,
    settings: SearchSettings,
) -> None:
    """Try other starts for unmet rows: a few steps from each, then the best continue."""
    runners = variables.other_starts(initial, trials.take(unmet), race)
    variables.descend(runners, RACE_STEPS)
    count = len(runners.met) // len(unmet)
    order = np.argsort(runners.squares.reshape(-1, count), axis=1, kind="stable")
    order += count * np.arange(len(unmet))[:, None]
    trials.steps[unmet] += runners.steps.reshape(-1, count).sum(axis=1)
    for rank in range(min(variables.finalists, count)):
        rows = np.flatnonzero(~trials.met[unmet])
        if len(rows) == 0:
            break
        finalists = runners.take(order[rows, rank])
        race_steps = finalists.steps.copy()
        variables.descend(finalists, settings.iterations)
        total_steps = trials.steps[unmet[rows]] + finalists.steps - race_steps
        better = np.flatnonzero((finalists.squares < trials.squares[unmet[rows]]) | finalists.met)
        trials.put(unmet[rows[better]], finalists.take(better))
        trials.steps[unmet[rows]] = total_steps
