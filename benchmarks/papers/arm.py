"""Solve reachable goals of an arm: share met, time, and smoothness.

Also which joints block where goals cannot be met, checked by widening each limit in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from synovia import quat
from synovia.arrays import Floats, Mask, Quats, Scalars, Vectors
from synovia.charts import DirectionTwist, SwingTwist
from synovia.ik import Goal, Orient, Reach, SearchSettings, Solution, solve, track
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import Box, ReachCone
from synovia.skeleton import Pose, Skeleton, forward

from .finding import Finding, Order, Table, timed

BONES = {"Shoulder": 0.0, "Elbow": 0.30, "Forearm": 0.13, "Wrist": 0.13, "Hand": 0.08}
LENGTH = sum(BONES.values())
JOINTS = ("Shoulder", "Elbow", "Forearm", "Wrist")
CLOSE, STRAIGHT = 1e-3 * LENGTH, np.radians(0.2)
"""A goal is met within this length, and for the pose of the hand also this angle."""
ALONG, ACROSS = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
SOLVE, CLAMP = "least-squares", "clamp after the solve"
GOALS, QUICK_GOALS = 10_000, 12
SHORT = 3.0  # seconds
STEP = 0.01 * LENGTH
"""Step of the target a frame."""
PATHS, QUICK_PATHS, FRAMES, QUICK_FRAMES = 1000, 4, 60, 6
STATISTICS = ("median_deg", "99.9th_deg", "worst_deg")
WIDER = np.radians(10.0)
"""Radians by which the limit of one joint is widened."""
HELPS = 0.95
"""A joint blocks if, with its limit widened, at most this share of the gap is left."""


@dataclass(frozen=True, eq=False)
class HandGoals:
    """Positions (n, 3) and rotations (n, 4) of the hand in legal poses."""

    points: Vectors
    turns: Quats

    @property
    def position(self) -> list[Goal]:
        """The goals of position."""
        return [Reach("Hand", self.points)]

    @property
    def pose(self) -> list[Goal]:
        """The goals of position and rotation."""
        return [Reach("Hand", self.points), Orient("Hand", self.turns)]

    def met(self, skeleton: Skeleton, pose: Pose) -> tuple[Mask, Mask]:
        """Return masks of goals met in position, and in position and rotation."""
        where, how = forward(skeleton, pose)
        near = np.linalg.norm(where[..., -1, :] - self.points, axis=-1) <= CLOSE
        return near, near & (quat.angle_between(how[..., -1, :], self.turns) <= STRAIGHT)


def arm(wider: str = "", by: float = 0.0) -> LimitModel:
    """Return the limits of an arm; those of joint `wider` are widened by `by` radians.

    A shoulder with a reach cone of nine points and a twist that depends on direction, an elbow
    that is a hinge, a forearm that twists, a wrist that swings.
    """
    more = {name: by if name == wider else 0.0 for name in JOINTS}
    directions = DirectionTwist(axis=ALONG)
    around = 2.0 * np.pi * np.arange(9) / 9
    radius = np.radians(75.0 + 20.0 * np.cos(around) + 8.0 * np.sin(2.0 * around))
    lean, spread = np.radians(15.0) * np.sin(around), more["Shoulder"]
    shoulder = ReachCone(
        ring(around, radius + spread),
        lean - np.radians(65.0) - spread,
        lean + np.radians(55.0) + spread,
    )
    eighths = np.pi * np.arange(8) / 4
    still = np.zeros(8)
    wrist = ReachCone(ring(eighths, np.full(8, 0.9 + more["Wrist"])), still, still)
    elbow, turn = np.radians([0.0, 150.0]), np.radians([-80.0, 80.0])
    limits = {
        "Shoulder": Limit(directions, shoulder),
        "Elbow": hinge(ACROSS, elbow[0] - more["Elbow"], elbow[1] + more["Elbow"]),
        "Forearm": hinge(ALONG, turn[0] - more["Forearm"], turn[1] + more["Forearm"]),
        "Wrist": Limit(directions, wrist),
    }
    offsets = np.array([[length, 0.0, 0.0] for length in BONES.values()])
    return LimitModel(limits, Skeleton(tuple(BONES), np.arange(len(BONES)) - 1, offsets))


def loose_arm() -> LimitModel:
    """Return the same arm with limits that only define the axes of its joints."""
    wide = np.array([2.0, 2.0, 0.0])
    swing = Limit(SwingTwist(axis=ALONG), Box(-wide, wide, np.eye(3)))
    limits = {
        "Elbow": hinge(ACROSS, -np.pi, np.pi),
        "Forearm": hinge(ALONG, -np.pi, np.pi),
        "Wrist": swing,
    }
    return LimitModel(limits, arm().skeleton)


def hinge(axis: Vectors, low: float, high: float) -> Limit:
    """Return a limit about one axis, from low to high, radians."""
    ends = np.array([[0.0, 0.0, low], [0.0, 0.0, high]])
    return Limit(SwingTwist(axis=axis), Box(ends[0], ends[1], np.eye(3)))


def sure_goals(model: LimitModel, count: int, seed: int = 1) -> HandGoals:
    """Return goals that legal poses of `model` meet."""
    where, how = forward(model.skeleton, model.sample(count, np.random.default_rng(seed)))
    return HandGoals(where[:, -1], how[:, -1])


def starts(skeleton: Skeleton) -> dict[str, Pose]:
    """Return two start poses: straight, and with the elbow at 60 degrees."""
    rest = skeleton.rest_pose()
    rotations = rest.rotations.copy()
    rotations[skeleton.index("Elbow")] = quat.exp(np.radians(60.0) * ACROSS)
    return {"straight": rest, "bent": Pose(rotations, rest.positions)}


def clamp_after(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> Pose:
    """Solve without limits, then clamp."""
    found = solve(loose_arm(), model.skeleton, pose, goals, joints=JOINTS)
    return model.project(found.pose)


def ring(around: Vectors, radius: Vectors) -> Vectors:
    """Return directions `radius` from x, towards `around` (0 is y, a right angle z): (n, 3)."""
    across = np.sin(radius)[:, None] * np.stack([np.cos(around), np.sin(around)], axis=-1)
    return np.column_stack([np.cos(radius), across])


@dataclass(frozen=True)
class Trial:
    """Results of one solver from one start: shares met, and problems a second."""

    method: str
    start: str
    position: float
    position_rate: float
    pose: float
    pose_rate: float
    legal: bool


@dataclass(frozen=True, eq=False)
class ArmResult:
    """Results of all experiments with the arm."""

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
                f"{100.0 * trial.pose:.2f}%",
                f"{trial.pose_rate:,.0f}",
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


def run(order: Order) -> ArmResult:
    """Run the experiments: reachable goals, paths, and blocking joints."""
    model = arm()
    count = QUICK_GOALS if order.quick else GOALS
    goals = sure_goals(model, count)
    jobs = [(method, *start) for method in (SOLVE, CLAMP) for start in _starts(model)]
    trials = [_trial(model, goals, *job) for job in order.step(jobs)]
    return ArmResult(
        tuple(trials),
        count,
        study_paths(model, order),
        study_blocking(model, 8 if order.quick else 400),
    )


def _starts(model: LimitModel) -> list[tuple[str, Pose]]:
    return list(starts(model.skeleton).items())


def _trial(model: LimitModel, goals: HandGoals, method: str, name: str, start: Pose) -> Trial:
    def solve_for(asked: Any) -> Pose:
        if method == CLAMP:
            return clamp_after(model, start, asked)
        found = solve(model, model.skeleton, start, asked, joints=JOINTS)
        return found.pose

    count = len(goals.points)
    few = HandGoals(goals.points[:2], goals.turns[:2])
    solve_for(few.position)  # so that no compiling is timed
    place, seconds = _quickest(lambda: solve_for(goals.position))
    near = float(goals.met(model.skeleton, place)[0].mean())
    legal = bool(model.contains(place).all())
    both, longer = _quickest(lambda: solve_for(goals.pose))
    right = float(goals.met(model.skeleton, both)[1].mean())
    legal = legal and bool(model.contains(both).all())
    return Trial(method, name, near, count / seconds, right, count / longer, legal)


def _quickest(run: Callable[[], Pose]) -> tuple[Pose, float]:
    """Return the result and the time of a run; of short runs the fastest of three."""
    pose, seconds = timed(run)
    if seconds < SHORT:
        seconds = min(seconds, *(timed(run)[1] for _ in range(2)))
    return pose, seconds


@dataclass(frozen=True, eq=False)
class Followed:
    """Results of one solver on paths: largest step of a joint, and error of the hand, by frame."""

    name: str
    steps_deg: Floats
    """(paths, frames - 1)."""
    off: Floats
    """As shares of the arm's length: (paths, frames)."""
    legal: bool


@dataclass(frozen=True, eq=False)
class PathStudy:
    """Results of all solvers on the same paths."""

    followed: tuple[Followed, ...]

    @property
    def legal(self) -> bool:
        """True if every pose is legal."""
        return all(way.legal for way in self.followed)

    @property
    def table(self) -> Table:
        """Steps in degrees, and errors of the hand."""
        paths, frames = self.followed[0].off.shape
        rows = tuple(
            (
                way.name,
                *(f"{value:.1f}" for value in _spread(way.steps_deg)),
                f"{100.0 * way.off.mean():.1f}%",
            )
            for way in self.followed
        )
        return Table(
            f"{paths:,} smooth paths of {frames} frames, the target going 1% of the arm's length a "
            "frame: a joint's largest step in a frame, degrees (at most 10 is asked for)",
            ("method", "median", "99.9th", "worst", "hand off"),
            rows,
        )

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The same as numbers."""
        return [
            {
                "method": way.name,
                **dict(zip(STATISTICS, _spread(way.steps_deg), strict=True)),
                "hand_off": float(way.off.mean()),
            }
            for way in self.followed
        ]


def study_paths(model: LimitModel, order: Order) -> PathStudy:
    """Follow random paths with limits inside the solver, and by clamping afterwards."""
    paths, frames = (QUICK_PATHS, QUICK_FRAMES) if order.quick else (PATHS, FRAMES)
    targets = smooth_paths(model, paths, frames)
    inside = _follow(model, model, targets, "track", order)
    after = _follow(model, loose_arm(), targets, CLAMP, order)
    return PathStudy((inside, after))


def smooth_paths(model: LimitModel, paths: int, frames: int, seed: int = 2) -> Vectors:
    """Return random paths (paths, frames, 3) with steps of `STEP` through legal positions."""
    rng = np.random.default_rng(seed)
    places = forward(model.skeleton, model.sample(paths * 6, rng))[0][:, -1].reshape(paths, 6, 3)
    fine = np.linspace(0.0, 5.0, 1200)
    out = np.empty((paths, frames, 3))
    for path in range(paths):
        way = _spline(places[path], fine)
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=-1))])
        at = STEP * np.arange(frames)
        at = np.minimum(at, along[-1])
        out[path] = np.stack([np.interp(at, along, way[:, k]) for k in range(3)], axis=-1)
    return out


def _spline(knots: Vectors, at: Scalars) -> Vectors:
    """Return the Catmull-Rom spline through knots (n, 3) at parameters 0 to n - 1."""
    padded = np.concatenate([knots[:1], knots, knots[-1:]])
    leg = np.minimum(at.astype(int), len(knots) - 2)
    t = (at - leg)[:, None]
    a, b, c, d = (padded[leg + k] for k in range(4))
    return np.asarray(
        0.5 * (2.0 * b + (c - a) * t + (2.0 * a - 5.0 * b + 4.0 * c - d) * t**2)
        + 0.5 * (3.0 * b - a - 3.0 * c + d) * t**3
    )


def _follow(
    model: LimitModel, within: LimitModel, targets: Vectors, name: str, order: Order
) -> Followed:
    """Follow `targets` with some limits, and clamp the result to those of `model`.

    The first frame is solved from the bent start, in full, and all others from the one before.
    """
    skeleton = model.skeleton
    joints = [skeleton.index(joint) for joint in JOINTS]
    found = solve(
        within, skeleton, starts(skeleton)["bent"], [Reach("Hand", targets[:, 0])], joints=JOINTS
    ).pose
    onward = track if within is model else partial(solve, settings=SearchSettings(restarts=0))
    before, legal, steps, off = None, True, [], []
    for frame in order.step(range(targets.shape[1])):
        goals = [Reach("Hand", targets[:, frame])]
        found = onward(within, skeleton, found, goals, joints=JOINTS).pose
        kept = found if within is model else model.project(found)
        legal = legal and bool(model.contains(kept).all())
        hand = forward(skeleton, kept)[0][:, -1]
        off.append(np.linalg.norm(hand - targets[:, frame], axis=-1) / LENGTH)
        if before is not None:
            steps.append(largest_step_deg(before, kept, joints))
        before = kept
    return Followed(name, np.stack(steps, axis=-1), np.stack(off, axis=-1), legal)


def largest_step_deg(before: Pose, after: Pose, joints: list[int]) -> Scalars:
    """Return the largest rotation of a joint (...), in degrees."""
    angles = quat.angle_between(before.rotations[..., joints, :], after.rotations[..., joints, :])
    return np.asarray(np.degrees(angles.max(axis=-1)))


def _spread(values: Floats) -> tuple[float, float, float]:
    """Return median, 99.9th percentile and worst."""
    return float(np.median(values)), float(np.quantile(values, 0.999)), float(values.max())


@dataclass(frozen=True, eq=False)
class Blocking:
    """Masks (goals, joints) of joints that block and of joints reported, for goals not met."""

    truth: Mask
    said: Mask

    @property
    def precision(self) -> float:
        """Share of the reported joints that block."""
        return _share(self.truth & self.said, self.said)

    @property
    def recall(self) -> float:
        """Share of the blocking joints that is reported."""
        return _share(self.truth & self.said, self.truth)

    @property
    def table(self) -> Table:
        """Precision and recall."""
        return Table(
            f"{len(self.truth):,} goals that the limits forbid: joints named as blocking, held "
            "against widening each limit by 10 degrees (at least 90% is asked for)",
            ("", "here"),
            (
                ("named, and do block (precision)", f"{100.0 * self.precision:.0f}%"),
                ("block, and are named (recall)", f"{100.0 * self.recall:.0f}%"),
            ),
        )

    @property
    def figures(self) -> dict[str, Any]:
        """The same as numbers."""
        return {"goals": len(self.truth), "precision": self.precision, "recall": self.recall}


def study_blocking(model: LimitModel, count: int) -> Blocking:
    """Compare reported and true blocking joints for goals that need an arm without limits."""
    skeleton = model.skeleton
    points = sure_goals(_reaching_arm(), count, seed=3).points
    found = _reach(model, starts(skeleton)["bent"], points)
    unmet = np.flatnonzero(found.errors[:, 0] > 5.0 * CLOSE)
    here = Pose(found.pose.rotations[unmet], found.pose.positions[unmet])
    gaps = found.errors[unmet, 0]
    truth = [
        _reach(arm(wider=name, by=WIDER), here, points[unmet]).errors[:, 0] <= HELPS * gaps
        for name in JOINTS
    ]
    said = found.blocked_angle[unmet][:, [skeleton.index(name) for name in JOINTS]] > 0.0
    return Blocking(np.stack(truth, axis=-1), np.asarray(said))


def _reaching_arm() -> LimitModel:
    """Return the arm with a shoulder 60° wider and hinges without ends, to sample goals."""
    loose = loose_arm()
    limits = {**arm(wider="Shoulder", by=np.radians(60.0)).limits, **loose.limits}
    return LimitModel(limits, loose.skeleton)


def _reach(model: LimitModel, start: Pose, points: Any) -> Solution:
    return solve(model, model.skeleton, start, [Reach("Hand", points)], joints=JOINTS)


def _share(some: Mask, of: Mask) -> float:
    return float(some.sum() / of.sum()) if of.any() else 1.0
