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
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars, whole_number

GOAL_TOLERANCE = 2e-4  # a goal is met below this share of the chain's length
SOFT_FACTOR = 1e-3  # factor of soft weights where the other goals are not met beside them
RACE_STEPS = 4  # steps from each other start, before the best continue
BETTER_START = 0.9  # a later start must leave at most this share of the error
TRIES, GROWTH = 8, 6.0  # how often damping may grow in one step, and by which factor
STALL_STEPS, STALL_RATIO = 4, 0.995**2  # stop after so many steps that leave more of the square
ACTIVE_ROUNDS = 8  # of finding which one-sided residuals count
DIFFERENCE = 1e-7  # step of forward differences, radians or shares of a range


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


class Rows:
    """Base of dataclasses of arrays that have one row for each trial."""

    def take(self, rows: Ints) -> Self:
        """Return a copy of some rows."""
        return type(self)(*(np.ascontiguousarray(array[rows]) for array in vars(self).values()))

    def put(self, rows: Ints, other: Self) -> None:
        """Replace some rows by those of `other`."""
        for name, array in vars(other).items():
            getattr(self, name)[rows] = array


class Trials(Protocol):
    """Rows with the results of a descent."""

    @property
    def squares(self) -> Scalars:
        """Sums of squares of the weighted residuals (n,)."""

    @property
    def steps(self) -> Ints:
        """Numbers of steps (n,)."""

    @property
    def met(self) -> Mask:
        """Whether all goals but the soft ones are met (n,)."""

    def take(self, rows: Ints) -> Self:
        """Return a copy of some rows."""

    def put(self, rows: Ints, other: Self) -> None:
        """Replace some rows by those of `other`."""


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

    def polish(self, trials: T, iterations: int) -> None:
        """Reduce the errors of unmet rows further, in place, after all races."""


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
    variables.polish(trials, settings.iterations)


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


class Differentiable(ABC):
    """Residuals of one problem at points of a manifold, differentiated numerically."""

    block: int
    """Number of variables that are legal or not together: 3 of a joint, 1 of a control."""

    @property
    def one_sided(self) -> Mask:
        """Mask (R,), or of shape (1,) for all, of residuals that count only where above 0."""
        return np.zeros(1, np.bool_)

    @abstractmethod
    def residuals(self, points: Any) -> Floats:
        """Return the weighted residuals (n, R) at several points."""

    @abstractmethod
    def perturbed(self, point: Any, size: float) -> tuple[Any, Floats]:
        """Return F points a small step along each variable, and the signed steps (F,)."""

    def jacobian(self, point: Any, residuals: Floats) -> Floats:
        """Return the derivatives (R, F) at a point with these residuals, by forward differences."""
        points, steps = self.perturbed(point, DIFFERENCE)
        return np.asarray((self.residuals(points) - residuals).T / steps)

    @abstractmethod
    def retract(self, point: Any, step: Floats) -> tuple[Any, Floats]:
        """Return the legal point nearest to a step (F,) from a point, and the step to it."""


def residuals_at(problem: Differentiable, point: Any) -> Floats:
    """Return the residuals (R,) at one point, an array or a tuple of arrays."""
    is_tuple = isinstance(point, tuple)
    batch = tuple(array[None] for array in point) if is_tuple else point[None]
    return np.asarray(problem.residuals(batch)[0])


def descend_numerically(
    problem: Differentiable,
    point: Any,
    *,
    iterations: int,
    damping: float,
    largest_step: float,
    rounds: int | None = None,
    tries: int = TRIES,
) -> tuple[Any, Floats, int]:
    """Take damped Gauss–Newton steps; return the last point, its residuals, and their number.

    For goals and components that the kernels do not know. `damping` is relative to the sum of
    squares. `rounds` is the maximum number of projections in one step; by default, one more than
    there are variables. `tries` is how often damping may grow in one step; with fewer tries it
    grows faster.
    """
    residuals, one_sided = residuals_at(problem, point), problem.one_sided
    square, stalled, steps = _square(residuals, one_sided), 0, 0
    while steps < iterations and stalled < STALL_STEPS:
        jacobian = problem.jacobian(point, residuals)
        if jacobian.shape[1] == 0:
            break
        before, improved = square, False
        for _ in range(tries):
            linear = LinearModel(jacobian, residuals, one_sided, damping * square + 1e-10)
            trial = _propose(problem, point, linear, largest_step, rounds)
            after = residuals_at(problem, trial)
            if _square(after, one_sided) < square:
                square, improved = _square(after, one_sided), True
                point, residuals = trial, after
                break
            damping = GROWTH ** (TRIES / tries) * damping + 1e-4
        if not improved:
            break
        steps += 1
        if square < 0.5 * before:
            damping = max(0.3 * damping, 1e-4)
        stalled = stalled + 1 if square > STALL_RATIO * before else 0
    return point, residuals, steps


def _square(residuals: Floats, one_sided: Mask) -> float:
    """Return the sum of squares of the residuals that count."""
    counted = np.where(one_sided, np.maximum(residuals, 0.0), residuals)
    return float(counted @ counted)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Residuals r + J x of a step x, with the damping of its length."""

    jacobian: Floats
    """(R, F)."""
    residuals: Floats
    """(R,)."""
    one_sided: Mask
    damping: float

    def step(self, normals: Floats, fixed: Floats) -> Floats:
        """Return the best step (F,) orthogonal to unit `normals` (n, F), to be added to `fixed`.

        Which one-sided residuals count is iterated from those that count without a step.
        """
        free = self.jacobian - (self.jacobian @ normals.T) @ normals
        residuals = self.residuals + self.jacobian @ fixed
        counted, step = ~self.one_sided | (residuals > 0.0), fixed
        for _ in range(ACTIVE_ROUNDS):
            rows = free if counted.all() else free[counted]
            step = -damped_step(
                rows, residuals if counted.all() else residuals[counted], self.damping
            )
            ahead = ~self.one_sided | (residuals + free @ step > 0.0)
            if (ahead == counted).all():
                break
            counted = ahead
        return step


def _propose(
    problem: Differentiable,
    point: Any,
    linear: LinearModel,
    largest_step: float,
    rounds: int | None,
) -> Any:
    """Return a legal point nearer to the goals, by an active-set method that needs projection only.

    Where projection changes the step of a block, the step is fixed along the direction of that
    change, and solved again for the other directions.
    """
    count = linear.jacobian.shape[1]
    normals, fixed = np.zeros((0, count)), np.zeros(count)
    for _ in range(count + 1 if rounds is None else rounds):
        step = linear.step(normals, fixed)
        step *= min(1.0, largest_step / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        trial, actual = problem.retract(point, step + fixed)
        excess = step + fixed - actual
        excess -= normals.T @ (normals @ excess)
        blocks = excess.reshape(-1, problem.block)
        lengths = np.linalg.norm(blocks, axis=1)
        blocked = np.flatnonzero(lengths > 1e-9)
        if len(blocked) == 0:
            break
        new_normals = np.zeros((len(blocked), *blocks.shape))
        new_normals[np.arange(len(blocked)), blocked] = blocks[blocked] / lengths[blocked, None]
        normals = np.concatenate([normals, new_normals.reshape(len(blocked), count)])
        fixed = normals.T @ (normals @ actual)
    return trial


def damped_step(jacobian: Floats, residuals: Floats, damping: float) -> Floats:
    """Return x = (Jᵀ J + μ)⁻¹ Jᵀ r = Jᵀ (J Jᵀ + μ)⁻¹ r, by the smaller of the two systems."""
    rows, columns = jacobian.shape
    if rows < columns:
        gram = jacobian @ jacobian.T + damping * np.eye(rows)
        return np.asarray(jacobian.T @ np.linalg.solve(gram, residuals))
    gram = jacobian.T @ jacobian + damping * np.eye(columns)
    return np.asarray(np.linalg.solve(gram, jacobian.T @ residuals))
