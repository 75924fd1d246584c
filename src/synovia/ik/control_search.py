"""The search for controls: damped steps within their ranges, from the start and from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats, Ints, Mask
from .control_goals import ControlGoals

ITERATIONS = 60
DAMPING, TRIES = 0.3, 8  # at first, times what is left; how often it may grow in a step
LARGEST = 0.3  # share of its range that a control goes in one step
STALLED, PROGRESS = 4, 0.995  # so many steps that leave more than this share are enough
SCATTERED = 256  # controls that are looked at where the start leads nowhere
NEAR = 0.2  # shares of ranges, by which those are moved that goals that are met hang on, too
RESTARTS, RACE, FINALISTS = 8, 4, 3  # of them, the best go some steps each, and then fewer go on
ROUNDS = 2  # of all this
LIGHT = 1e-3  # of the weight of wishes, where goals are not met beside them
AT_END = 1e-9  # shares of a range
FLAT = 0.02  # of what is left: a control that could do less is not wanted farther


@dataclass(frozen=True, eq=False)
class Ended:
    """Where a descent ended: the shares, what they leave, and of each demand by itself."""

    share: Floats
    left: Floats
    alone: Floats
    steps: int

    @property
    def square(self) -> float:
        """The sum of squares of what is left."""
        return float(self.left @ self.left)

    @property
    def worst(self) -> float:
        """What is left of the worst demand."""
        return float(self.alone.max(initial=0.0))


def searched(problem: ControlGoals, tolerance: float) -> Ended:
    """Return the best that is found from the start, and from elsewhere where that is not enough."""
    found = _descended(problem, problem.shares, ITERATIONS)
    if found.worst > tolerance:
        problem, before = problem.lighter(LIGHT), found.steps
        found = _descended(problem, found.share, ITERATIONS)
        found = replace(found, steps=found.steps + before)
    for _ in range(ROUNDS):
        if found.worst <= tolerance or len(problem.free) == 0:
            break
        found = _restarted(problem, found, tolerance)
    return found


def _restarted(problem: ControlGoals, found: Ended, tolerance: float) -> Ended:
    """Return the best of `found` and of what other controls lead to."""
    scattered = _scattered(problem, found, tolerance)
    left, _ = problem.left(scattered)
    nearest = np.argsort(np.square(left).sum(axis=1))[:RESTARTS]
    racers = [_descended(problem, share, RACE) for share in scattered[nearest]]
    steps, best = found.steps + sum(racer.steps for racer in racers), found
    for racer in sorted(racers, key=lambda racer: racer.square)[:FINALISTS]:
        last = _descended(problem, racer.share, ITERATIONS)
        steps, best = steps + last.steps, min(best, last, key=lambda end: end.square)
        if last.worst <= tolerance:
            break
    return replace(best, steps=steps)


def _scattered(problem: ControlGoals, found: Ended, tolerance: float) -> Floats:
    """Return shares to begin anew from.

    Controls that only goals that are not met hang on are anywhere; others that these hang on are
    near to where they were found.
    """
    rng, shape = np.random.default_rng(found.steps), (SCATTERED, len(problem.free))
    unmet = found.alone > tolerance
    asked = problem.drives[unmet].any(axis=0)
    alone = asked & ~problem.drives[~unmet].any(axis=0)
    near = np.clip(found.share + NEAR * rng.normal(size=shape), 0.0, 1.0)
    half = (np.arange(SCATTERED) % 2 == 0)[:, None]
    kept = np.where(asked & half, near, found.share)
    return np.where(alone, rng.random(shape), kept)


def _descended(problem: ControlGoals, share: Floats, most: int) -> Ended:
    """Return where damped steps lead, in at most so many of them."""
    (left,), (alone,) = problem.left(share[None])
    found, damping, stalled = Ended(share, left, alone, 0), DAMPING, 0
    while found.steps < most and stalled < STALLED and len(share):
        slopes = problem.slopes(found.share)
        before, better = found, None
        for _ in range(TRIES):
            trial = _stepped(found.share, found.left, slopes, damping * found.square + 1e-10)
            (left,), (alone,) = problem.left(trial[None])
            if left @ left < found.square:
                better = Ended(trial, left, alone, found.steps + 1)
                break
            damping = 6.0 * damping + 1e-4
        if better is None:
            return replace(found, steps=found.steps + 1)
        found = better
        if found.square < 0.5 * before.square:
            damping = max(0.3 * damping, 1e-4)
        stalled = stalled + 1 if found.square > PROGRESS**2 * before.square else 0
    return found


def _stepped(share: Floats, left: Floats, slopes: Floats, damping: float) -> Floats:
    """Return shares after a step: what would leave its range is settled, and the others go on."""
    step, free = np.zeros(len(share)), np.ones(len(share), np.bool_)
    while free.any():
        part = slopes[:, free]
        rest = left + slopes[:, ~free] @ step[~free]
        square = part @ part.T + damping * np.eye(len(left))
        step[free] = -part.T @ np.linalg.solve(square, rest)
        out = free & ((share + step < 0.0) | (share + step > 1.0))
        if not out.any():
            break
        step[out] = np.clip(share + step, 0.0, 1.0)[out] - share[out]
        free &= ~out
    scale = LARGEST / max(float(np.abs(step).max(initial=0.0)), LARGEST)
    return np.asarray(np.clip(share + scale * step, 0.0, 1.0))


def ends_of(share: Floats) -> Ints:
    """Return 1 for shares at the high end, -1 at the low end, 0 between."""
    return (share >= 1.0 - AT_END).astype(np.int64) - (share <= AT_END)


def wanted_farther(problem: ControlGoals, share: Floats) -> Mask:
    """Tell which controls at an end would go on, if they could, for the demands to come nearer."""
    if len(share) == 0:
        return np.zeros(0, np.bool_)
    demands = problem.lighter(0.0)
    (left,), _ = demands.left(share[None])
    onward = -demands.slopes(share).T @ left
    return np.asarray(onward * ends_of(share) > FLAT * np.linalg.norm(left))
