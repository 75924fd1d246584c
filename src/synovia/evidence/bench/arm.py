"""An arm and goals that it can reach for sure: how many are met, how fast, and how smoothly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...ik import METHODS, solve
from ...model import LimitModel
from ...skeleton import Pose
from .arm_blocking import Blocking, blocked
from .arm_model import JOINTS, HandGoals, arm, clamp_after, starts, sure_goals
from .arm_paths import PathStudy, studied
from .finding import Finding, Order, Table, stopped

SOLVERS = tuple(name for name in ("least-squares", "ccd", "fabrik") if name in METHODS)
CLAMP = "clamp after the solve"
GOALS, QUICK_GOALS = 10_000, 12
SHORT = 3.0  # seconds


@dataclass(frozen=True)
class Trial:
    """One way to solve from one start: shares met, and problems a second."""

    method: str
    start: str
    position: float
    position_rate: float
    pose: float | None
    """None where the method takes no directions."""
    pose_rate: float | None
    legal: bool


@dataclass(frozen=True, eq=False)
class ArmResult:
    """What was found with the arm."""

    trials: tuple[Trial, ...]
    goals: int
    paths: PathStudy
    blocking: Blocking

    @cached_property
    def finding(self) -> Finding:
        """Tables of goals met, of steps on paths, and of joints named as blocking."""
        rows = tuple(
            (
                f"{trial.method}, {trial.start}",
                f"{100.0 * trial.position:.2f}%",
                f"{trial.position_rate:,.0f}",
                "-" if trial.pose is None else f"{100.0 * trial.pose:.2f}%",
                "-" if trial.pose_rate is None else f"{trial.pose_rate:,.0f}",
            )
            for trial in self.trials
        )
        legal = all(trial.legal for trial in self.trials) and self.paths.legal
        return Finding(
            "arm",
            (
                Table(
                    f"{self.goals:,} goals that legal poses meet, within 0.1% of the arm's length "
                    "and 0.2 degrees",
                    ("method, start", "position", "a second", "pose", "a second"),
                    rows,
                ),
                self.paths.table,
                self.blocking.table,
            ),
            (
                "shoulder with a reach cone and a twist by direction, elbow, forearm, wrist; "
                "batches shared by all processors",
                f"every pose legal by `contains`: {'yes' if legal else 'NO'}",
            ),
            {
                "goals": self.goals,
                "legal": legal,
                "trials": [vars(trial) for trial in self.trials],
                "paths": self.paths.figures,
                "blocking": self.blocking.figures,
            },
        )


def run_arm(order: Order) -> ArmResult:
    """Return how solvers do on goals that can be met, on paths, and on what blocks."""
    model = arm()
    count = QUICK_GOALS if order.quick else GOALS
    goals = sure_goals(model, count)
    jobs = [(method, *start) for method in (*SOLVERS, CLAMP) for start in _starts(model)]
    trials = [_trial(model, goals, *job) for job in order.step(jobs)]
    return ArmResult(
        tuple(trials), count, studied(model, order), blocked(model, 8 if order.quick else 400)
    )


def _starts(model: LimitModel) -> list[tuple[str, Pose]]:
    return list(starts(model.skeleton).items())


def _trial(model: LimitModel, goals: HandGoals, method: str, name: str, start: Pose) -> Trial:
    def run(asked: Any) -> Pose:
        if method == CLAMP:
            return clamp_after(model, start, asked)
        found = solve(model, model.skeleton, start, asked, joints=JOINTS, method=method)
        return found.pose

    count = len(goals.points)
    few = HandGoals(goals.points[:2], goals.turns[:2])
    run(few.position)  # so that no compiling is timed
    place, seconds = _timed(lambda: run(goals.position))
    near = float(goals.met(model.skeleton, place)[0].mean())
    legal = bool(model.contains(place).all())
    try:
        both, longer = _timed(lambda: run(goals.pose))
    except ValueError:  # a method for places alone
        return Trial(method, name, near, count / seconds, None, None, legal)
    right = float(goals.met(model.skeleton, both)[1].mean())
    legal = legal and bool(model.contains(both).all())
    return Trial(method, name, near, count / seconds, right, count / longer, legal)


def _timed(run: Callable[[], Pose]) -> tuple[Pose, float]:
    """Return the result, and the time of the run, of the quickest of three where it is short."""
    pose, seconds = stopped(run)
    if seconds < SHORT:
        seconds = min(seconds, *(stopped(run)[1] for _ in range(2)))
    return pose, seconds
