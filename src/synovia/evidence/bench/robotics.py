"""Beside what robotics people use: mink on MuJoCo, and SciPy's least squares with bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ... import quat
from ...arrays import Floats, Quats, Vectors
from ...ik import Goal, Orient, Reach, solve
from ...skeleton import Pose
from .finding import Finding, Order, Table, stopped
from .robotics_chain import (
    CLOSE,
    LENGTH,
    NAMES,
    RANGES,
    START,
    STRAIGHT,
    TURN_SHARE,
    PlainChain,
    angles_of,
    chain_model,
    hand_at,
    posed,
    within_ranges,
)
from .robotics_mink import MinkChain, mink_missing

GOALS, QUICK_GOALS, ALONE, TRIED = 1000, 4, 200, 60
MOST = 100  # evaluations of SciPy
SLACK = TURN_SHARE * STRAIGHT
BAR = 20.0
HOW = "mink is not installed; pip install 'synovia[robotics]' brings it"
PACKAGES = ("mink", "mujoco", "daqp", "quadprog", "scipy", "numpy", "numba")
OURS, ALONE_NAME = "synovia, a batch on one thread", "synovia, one call a goal"

Solver = Callable[[Vectors, "Quats | None"], Floats]


@dataclass(frozen=True)
class Score:
    """How one solver did on goals of one kind."""

    name: str
    kind: str
    """Position or pose."""
    success: float
    us: float
    """Microseconds a solve, on one thread unless the name says otherwise."""
    legal: bool


@dataclass(frozen=True, eq=False)
class Robotics:
    """All scores, and the versions of what was compared."""

    scores: tuple[Score, ...]
    goals: int
    versions: dict[str, str]
    settings: str
    """Of mink, chosen from those that were tried; empty without it."""

    def _score(self, name: str, kind: str) -> Score | None:
        return next((s for s in self.scores if s.name == name and s.kind == kind), None)

    @cached_property
    def finding(self) -> Finding:
        """Success and time side by side, and how many times as fast."""
        names = list(dict.fromkeys(score.name for score in self.scores))
        mink = next((name for name in names if name.startswith("mink")), None)
        rows = []
        for name in names:
            cells = [name]
            for kind in ("position", "pose"):
                score, beside = self._score(name, kind), self._score(mink or "", kind)
                if score is None:
                    cells += ["-"] * 3
                    continue
                faster = f"{beside.us / score.us:.1f}x" if beside else "-"
                cells += [f"{100.0 * score.success:.1f}%", f"{score.us:,.0f}", faster]
            rows.append(tuple(cells))
        legal = all(score.legal for score in self.scores)
        notes = [
            f"{self.goals:,} goals that angles in range reach, from a bent elbow; a solve ends "
            "within 0.1% of the chain's length, for the pose also 0.2 degrees",
            "a batch is what this library is made for; one call a goal pays for checks and packing "
            "every time. SciPy is given the slopes; all stop at the same tolerance",
            "versions: " + ", ".join(f"{name} {v}" for name, v in self.versions.items()),
            f"all results in range: {'yes' if legal else 'NO'}",
        ]
        notes.append(self.settings if mink else HOW)
        return Finding(
            "robotics",
            (
                Table(
                    "seven hinges with ranges: goals met, µs a solve, and times as fast as mink "
                    f"(at least {BAR:.0f} is asked for); position, then pose",
                    ("solver", "met", "µs", "faster", "met", "µs", "faster"),
                    tuple(rows),
                ),
            ),
            tuple(notes),
            {
                "goals": self.goals,
                "legal": legal,
                "versions": self.versions,
                "mink_settings": self.settings,
                "scores": [vars(score) for score in self.scores],
            },
        )


def run_robotics(order: Order) -> Robotics:
    """Return how solvers do on the same chain; without mink, all others."""
    count = QUICK_GOALS if order.quick else GOALS
    angles = np.random.default_rng(4).uniform(RANGES[0], RANGES[1], size=(count, len(NAMES)))
    where, how = hand_at(chain_model().skeleton, angles)
    mink, settings = None, ""
    if not mink_missing():
        mink = MinkChain.best(where[:TRIED], how[:TRIED])
        settings = mink.said
    jobs = [
        (name, kind)
        for name in (OURS, "synovia, a batch on all", ALONE_NAME, "mink", "scipy least_squares")
        for kind in ("position", "pose")
        if name != "mink" or mink is not None
    ]
    scores = []
    for name, kind in order.step(jobs):
        turns = how if kind == "pose" else None
        if name.startswith("synovia, a batch"):
            scores.append(_batch(name, kind, where, turns))
        else:
            one = _one_by_ours if name == ALONE_NAME else _scipy
            few = where if name == "mink" else where[:ALONE]
            solver: Solver = mink.solve if name == "mink" and mink is not None else one
            label = mink.name if name == "mink" and mink is not None else name
            scores.append(_one_by_one(label, kind, solver, few, turns))
    return Robotics(tuple(scores), count, _versions(), settings)


def _batch(name: str, kind: str, where: Vectors, turns: Quats | None) -> Score:
    """Solve all goals in one call."""
    model = chain_model()
    start = posed(model.skeleton, START)
    goals = _goals(where, turns)
    threads = 1 if name == OURS else None

    def run() -> Pose:
        return solve(model, model.skeleton, start, goals, joints=NAMES, threads=threads).pose

    run()
    pose, seconds = min((stopped(run) for _ in range(3)), key=lambda found: found[1])
    met = _met(hand_at(model.skeleton, angles_of(pose)), where, turns)
    legal = bool(model.contains(pose).all())
    return Score(name, kind, met, 1e6 * seconds / len(where), legal)


def _goals(where: Vectors, turns: Quats | None) -> list[Goal]:
    place = Reach("Hand", where)
    return [place] if turns is None else [place, Orient("Hand", turns)]


def _one_by_one(name: str, kind: str, solver: Solver, where: Vectors, turns: Quats | None) -> Score:
    """Solve goals one after the other; the mean time counts."""
    skeleton = chain_model().skeleton
    solver(where[0], None if turns is None else turns[0])
    found, seconds = [], []
    for k, point in enumerate(where):
        start = time.perf_counter()
        found.append(solver(point, None if turns is None else turns[k]))
        seconds.append(time.perf_counter() - start)
    angles = np.array(found)
    some = None if turns is None else turns[: len(where)]
    met = _met(hand_at(skeleton, angles), where, some)
    return Score(name, kind, met, 1e6 * float(np.mean(seconds)), within_ranges(angles))


def _one_by_ours(point: Vectors, turn: Quats | None) -> Floats:
    model = chain_model()
    goals = _goals(point, turn)
    found = solve(model, model.skeleton, posed(model.skeleton, START), goals, joints=NAMES)
    return angles_of(found.pose)


def _scipy(point: Vectors, turn: Quats | None) -> Floats:
    from scipy.optimize import least_squares

    chain = PlainChain(point, turn)
    close: list[Floats] = []

    def residual(angles: Floats) -> Floats:
        left = chain.residual(angles)
        if LENGTH * np.linalg.norm(left[:3]) <= CLOSE and np.linalg.norm(left[3:]) <= SLACK:
            close.append(angles)
            raise StopIteration
        return left

    start = np.clip(START, RANGES[0] + 1e-6, RANGES[1] - 1e-6)
    try:
        found = least_squares(
            residual, start, jac=chain.slopes, bounds=(RANGES[0], RANGES[1]), max_nfev=MOST
        )
    except StopIteration:  # as soon as the goal is met, like all others
        return close[0]
    return np.asarray(found.x)


def _met(hands: tuple[Vectors, Quats], where: Vectors, turns: Quats | None) -> float:
    """Return the share of goals that hands meet."""
    near = np.linalg.norm(hands[0] - where, axis=-1) <= CLOSE
    if turns is not None:
        near &= quat.angle_between(hands[1], turns) <= STRAIGHT
    return float(near.mean())


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
