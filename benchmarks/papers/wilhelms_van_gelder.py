"""Wilhelms & Van Gelder (2001), Table 1: a chain of three segments with and without its limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from synovia.arrays import TOLERANCE, Ints, Mask, Quats, Scalars, Vectors
from synovia.charts import DirectionTwist, SwingTwist
from synovia.limit import Limit
from synovia.shapes import Box, ReachCone

from .arm import ring
from .finding import Finding, Order, Table, timed
from .wilhelms_van_gelder_kernel import follow_goals

BONES = np.array([0.30, 0.26, 0.18])
LENGTH = float(BONES.sum())
CLOSE, GAIN = 0.01, 0.01
"""A goal is met within 1 % of the chain, and given up where a sweep gains less than 1 %."""
GOALS, QUICK_GOALS, REPEATS, STRETCH = 10_000, 20, 15, 50
PAPER = {"ratio": 1.26, "with_us": 173.0, "without_us": 163.0, "stopped": 0.25}
BAR_NS = 150.0


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over all goals."""

    executions: Ints
    stops: Ints
    met: Mask
    seconds: Scalars
    """By stretches of goals, so short that a busy machine leaves some of them in peace."""

    @property
    def ns(self) -> float:
        """Nanoseconds an execution."""
        return float(1e9 * self.seconds.sum() / self.executions.sum())


@dataclass(frozen=True, eq=False)
class WilhelmsVanGelder:
    """Runs of the same goals with limits, without, and with limits tested but not enforced."""

    with_limits: Pass
    without: Pass
    watched: Pass
    beyond: float
    """The share of goals that are farther away than the chain is long."""

    @cached_property
    def finding(self) -> Finding:
        """The four figures of the paper, and the check by itself."""
        ours, bare, watched = self.with_limits, self.without, self.watched
        both = ours.met & bare.met
        ratio = float(ours.executions.sum() / bare.executions.sum())
        reached = float(ours.executions[both].sum() / max(bare.executions[both].sum(), 1))
        share = float(ours.stops.sum() / ours.executions.sum())
        check = watched.ns - bare.ns
        rows = (
            ("executions with limits", f"{ours.executions.sum():,}", "166,027"),
            ("executions without", f"{bare.executions.sum():,}", "131,417"),
            ("ratio", f"{ratio:.2f}", f"{PAPER['ratio']:.2f}"),
            ("ratio, goals met both ways", f"{reached:.2f}", "-"),
            ("stopped at a boundary", f"{100 * share:.0f}%", "about 25%"),
            ("an execution with limits", f"{ours.ns:.0f} ns", "173,000 ns"),
            ("an execution without", f"{bare.ns:.0f} ns", "163,000 ns"),
            ("limits add", f"{ours.ns - bare.ns:.0f} ns ({_more(ours, bare)})", "10,000 ns (6%)"),
            ("of that the check", f"{check:.0f} ns ({_more(watched, bare)})", "-"),
        )
        return Finding(
            "wilhelms-van-gelder",
            (
                Table(
                    f"{len(both):,} goals for a chain of three segments, {100 * self.beyond:.0f}% "
                    "of them beyond its reach",
                    ("", "here", "paper"),
                    rows,
                ),
            ),
            (
                "cones of 25 and 8 points on the first and the last segment, ranges of angles on "
                "the middle one; each goal is followed from where the last one left the chain",
                "the paper does not say how wide its limits are, nor in which order segments "
                "move or when it stops: the ratio of executions hangs on these",
                "the check is timed by following the same way with limits looked at but not kept, "
                f"so that executions are the same; it should take at most {BAR_NS:.0f} ns. The "
                "rest is the search for the boundary, in the moves that it stops",
            ),
            {
                "goals": len(both),
                "beyond_reach": self.beyond,
                "executions_with": int(ours.executions.sum()),
                "executions_without": int(bare.executions.sum()),
                "executions_ratio": ratio,
                "executions_ratio_met_both_ways": reached,
                "stopped": share,
                "ns_with": ours.ns,
                "ns_without": bare.ns,
                "check_ns": check,
                "met_with": float(ours.met.mean()),
                "met_without": float(bare.met.mean()),
                "paper": PAPER,
            },
        )


def chain_limits() -> tuple[Limit, Limit, Limit]:
    """Return the limits of the segments, along x: cone, ranges of angles, cone."""
    directions = DirectionTwist(axis=np.array([1.0, 0.0, 0.0]))
    angles = np.radians([75.0, 75.0, 90.0])
    return (
        Limit(directions, ReachCone(_ring(25, 100.0, 15.0), *np.radians([-80.0, 80.0]))),
        Limit(SwingTwist(axis=np.array([1.0, 0.0, 0.0])), Box(-angles, angles, np.eye(3))),
        Limit(directions, ReachCone(_ring(8, 60.0, 10.0), *np.radians([-90.0, 90.0]))),
    )


def random_goals(count: int, rng: np.random.Generator) -> Vectors:
    """Return goals (count, 3) all over a ball, half of whose volume is beyond reach."""
    ways = rng.normal(size=(count, 3))
    far = LENGTH * np.cbrt(2.0 * rng.random(count))
    return np.asarray(far[:, None] * ways / np.linalg.norm(ways, axis=-1, keepdims=True))


def run(order: Order) -> WilhelmsVanGelder:
    """Return the executions, and their times: the quickest of some passes, stretch by stretch."""
    goals = random_goals(QUICK_GOALS if order.quick else GOALS, np.random.default_rng(0))
    limits = chain_limits()
    packed = np.concatenate([limit.packed for limit in limits])
    starts = np.cumsum([0, *(len(limit.packed) for limit in limits[:-1])])
    ways = ((starts, True), (np.full(3, -1), True), (starts, False))
    passes: list[list[Pass]] = [[], [], []]
    for _ in order.step(range(1 if order.quick else REPEATS)):
        for number, (offsets, obey) in enumerate(ways):  # by turns: the same load for all
            passes[number].append(follow_all(offsets, packed, obey, goals))
    best = [
        replace(runs[0], seconds=np.min([run.seconds for run in runs], axis=0)) for runs in passes
    ]
    beyond = float((np.linalg.norm(goals, axis=-1) > LENGTH).mean())
    return WilhelmsVanGelder(best[0], best[1], best[2], beyond)


def follow_all(offsets: Ints, packed: Scalars, obey: bool, goals: Vectors) -> Pass:
    """Time a pass over all goals after a warm-up."""
    moves, stops = np.zeros((2, len(goals)), np.int64)
    left, close = np.zeros(len(goals)), CLOSE * LENGTH
    start = np.tile([1.0, 0.0, 0.0, 0.0], (len(BONES), 1))
    start[1] = [np.cos(0.25), 0.0, np.sin(0.25), 0.0]  # not stretched out, where all is stuck

    def follow(some: slice, turns: Quats) -> None:
        follow_goals(
            *(BONES, offsets, packed, 0.5 * TOLERANCE, obey, goals[some], close, GAIN),
            *(turns, moves[some], stops[some], left[some]),
        )

    follow(slice(2), start.copy())
    stretches = [slice(first, first + STRETCH) for first in range(0, len(goals), STRETCH)]
    seconds = [timed(partial(follow, some, start))[1] for some in stretches]
    return Pass(moves, stops, left <= close, np.array(seconds))


def _more(one: Pass, other: Pass) -> str:
    return f"{100.0 * (one.ns / other.ns - 1.0):.0f}%"


def _ring(count: int, radius_deg: float, bulge_deg: float) -> Vectors:
    """Return the vertices of a cone about x, wider towards ±y than towards ±z."""
    around = 2.0 * np.pi * np.arange(count) / count
    return ring(around, np.radians(radius_deg + bulge_deg * np.cos(2.0 * around)))
