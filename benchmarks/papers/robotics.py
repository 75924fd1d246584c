"""Beside what robotics people use: mink on MuJoCo, and SciPy's least squares with bounds."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from synovia import quat
from synovia.arrays import Floats, Quats, Scalars, Vectors
from synovia.ik import Goal, Orient, Reach, SearchSettings, solve
from synovia.model import LimitModel
from synovia.skeleton import Pose, Skeleton, forward

from .arm import hinge
from .finding import Finding, Order, Table, timed


@dataclass(frozen=True)
class Hinge:
    """A hinge: how far along x after the last, its axis, and its range in degrees."""

    offset: float
    axis: tuple[float, float, float]
    low_deg: float
    high_deg: float


HINGES = (
    Hinge(0.0, (0.0, 0.0, 1.0), -90.0, 90.0),
    Hinge(0.0, (0.0, -1.0, 0.0), -90.0, 90.0),
    Hinge(0.0, (1.0, 0.0, 0.0), -70.0, 70.0),
    Hinge(0.30, (0.0, -1.0, 0.0), 0.0, 150.0),
    Hinge(0.13, (1.0, 0.0, 0.0), -80.0, 80.0),
    Hinge(0.13, (0.0, -1.0, 0.0), -50.0, 50.0),
    Hinge(0.0, (0.0, 0.0, 1.0), -30.0, 30.0),
)
"""Shoulder of three, elbow, forearm, wrist of two."""
TIP = 0.08
LENGTH = sum(each.offset for each in HINGES) + TIP
NAMES = tuple(f"Hinge{k}" for k in range(len(HINGES)))
CLOSE, STRAIGHT = 1e-3 * LENGTH, float(np.radians(0.2))
AXES = np.array([each.axis for each in HINGES])
CROSSES = np.cross(AXES[:, None], -np.eye(3))
"""The matrices of a vector product with each axis: (7, 3, 3)."""
ALONG = np.array([*(each.offset for each in HINGES[1:]), TIP])
TURN_SHARE = 0.3  # of the chain's length: what a radian counts for, as in `solve`
RANGES = np.radians([[each.low_deg, each.high_deg] for each in HINGES]).T
START = np.radians([0.0, 0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
"""The elbow is bent: stretched out, every solver is stuck."""
SETTINGS = tuple(
    (solver, damping) for solver in ("daqp", "quadprog") for damping in (1.0, 1e-2, 1e-4)
)
"""Solvers and Levenberg–Marquardt dampings; its examples have daqp and 1.0."""
MOST_STEPS = 200  # of mink for one goal
DT = 0.1  # seconds; without a limit on speeds it plays no part
GOALS, QUICK_GOALS, ALONE, TRIED = 1000, 4, 200, 60
MOST_EVALUATIONS = 100  # of SciPy
SLACK = TURN_SHARE * STRAIGHT
BAR = 20.0
HOW = "mink is not installed; pip install --editable '.[papers]' brings it"
PACKAGES = ("mink", "mujoco", "daqp", "quadprog", "scipy", "numpy")
OURS, ALONE_NAME = "synovia, a batch on one thread", "synovia, one call a goal"

Solver = Callable[[Vectors, "Quats | None"], Floats]


@cache
def chain_model() -> LimitModel:
    """Return the chain's limits with its skeleton, the hand at the end; the same at every call."""
    offsets = np.array([[each.offset, 0.0, 0.0] for each in HINGES] + [[TIP, 0.0, 0.0]])
    skeleton = Skeleton((*NAMES, "Hand"), np.arange(len(offsets)) - 1, offsets)
    limits = {
        name: hinge(np.array(each.axis), *np.radians([each.low_deg, each.high_deg]))
        for name, each in zip(NAMES, HINGES, strict=True)
    }
    return LimitModel(limits, skeleton)


def posed(skeleton: Skeleton, angles: Floats) -> Pose:
    """Return the pose of angles (..., 7)."""
    rest = skeleton.rest_pose()
    turns = quat.exp(angles[..., None] * AXES)
    hand = np.broadcast_to(rest.rotations[-1], (*angles.shape[:-1], 1, 4))
    positions = np.broadcast_to(rest.positions, (*angles.shape[:-1], *rest.positions.shape))
    return Pose(np.concatenate([turns, hand], axis=-2), positions)


def hand_at(skeleton: Skeleton, angles: Floats) -> tuple[Vectors, Quats]:
    """Return where the hand is (..., 3), and its rotation in the world (..., 4)."""
    where, how = forward(skeleton, posed(skeleton, angles))
    return where[..., -1, :], how[..., -1, :]


def angles_of(pose: Pose) -> Floats:
    """Return the angles (..., 7) of a pose whose joints turn about their own axes."""
    vectors = quat.log(pose.rotations[..., : len(NAMES), :])
    return np.asarray((vectors * AXES).sum(axis=-1))


def within_ranges(angles: Floats) -> bool:
    """Tell whether all angles are in range, to a millionth of a radian."""
    return bool(((angles >= RANGES[0] - 1e-6) & (angles <= RANGES[1] + 1e-6)).all())


def as_mjcf() -> str:
    """Return the chain as a model for MuJoCo."""
    opening, closing = [], []
    for name, each in zip(NAMES, HINGES, strict=True):
        axis = " ".join(f"{value:g}" for value in each.axis)
        opening.append(
            f'<body name="{name}" pos="{each.offset} 0 0">'
            f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
            f'<joint type="hinge" axis="{axis}" range="{each.low_deg} {each.high_deg}"/>'
        )
        closing.append("</body>")
    tip = f'<site name="hand" pos="{TIP} 0 0"/>'
    inside = "".join(opening) + tip + "".join(closing)
    return (
        '<mujoco><compiler angle="degree" autolimits="true"/>'
        f"<worldbody>{inside}</worldbody></mujoco>"
    )


class PlainChain:
    """The same chain as a residual with its slopes, in matrices, for SciPy's least squares."""

    def __init__(self, target: Vectors, turn: Quats | None) -> None:
        self.target = target
        self.turn = None if turn is None else quat.to_matrix(turn)

    def residual(self, angles: Scalars) -> Scalars:
        """Return what is left of the goal: lengths over the chain's, then 0.3 of radians."""
        from scipy.spatial.transform import Rotation

        places, turns = self._walk(angles)
        off = (places[-1] - self.target) / LENGTH
        if self.turn is None:
            return np.asarray(off)
        twist = Rotation.from_matrix(turns[-1] @ self.turn.T).as_rotvec()
        return np.concatenate([off, TURN_SHARE * twist])

    def slopes(self, angles: Scalars) -> Floats:
        """Return how the residual changes with each angle, (3 or 6, 7), near the goal."""
        places, turns = self._walk(angles)
        axes = np.einsum("kij,kj->ki", turns, AXES)
        moving = np.cross(axes, places[-1] - places[:-1]).T / LENGTH
        if self.turn is None:
            return np.asarray(moving)
        return np.concatenate([moving, TURN_SHARE * axes.T])

    def _walk(self, angles: Scalars) -> tuple[Vectors, Floats]:
        """Return places of hinges and hand (8, 3), and rotations after each hinge (7, 3, 3)."""
        sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
        turns = np.eye(3) + sine * CROSSES + (1.0 - cosine) * (CROSSES @ CROSSES)
        places = np.zeros((len(HINGES) + 1, 3))
        for k in range(len(HINGES)):
            if k > 0:
                turns[k] = turns[k - 1] @ turns[k]
            places[k + 1] = places[k] + ALONG[k] * turns[k, :, 0]
        return places, turns


def mink_missing() -> bool:
    """Tell whether mink, or what it stands on, is not there."""
    return any(find_spec(name) is None for name in ("mink", "mujoco", "daqp", "quadprog"))


class MinkChain:
    """The chain in MuJoCo, its hand led by a frame task, its ranges kept by mink."""

    def __init__(self, solver: str, damping: float) -> None:
        self.mink: Any = importlib.import_module("mink")
        mujoco: Any = importlib.import_module("mujoco")
        model = mujoco.MjModel.from_xml_string(as_mjcf())
        self.configuration = self.mink.Configuration(model)
        self.limits = [self.mink.ConfigurationLimit(model)]
        self.solver, self.damping = solver, damping
        self.tasks = {
            turned: self.mink.FrameTask(
                "hand",
                "site",
                position_cost=1.0,
                orientation_cost=float(turned),
                lm_damping=damping,
            )
            for turned in (False, True)
        }

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"mink, {self.solver}"

    @property
    def said(self) -> str:
        """The settings, in a sentence."""
        return (
            f"mink: frame task of costs 1, lm_damping {self.damping:g}, {self.solver}, "
            f"configuration limit, at most {MOST_STEPS} steps from the same start; of "
            f"{len(SETTINGS)} settings the one that meets most goals, and of these the quickest"
        )

    @classmethod
    def best(cls, where: Vectors, how: Quats) -> MinkChain:
        """Return the chain with the settings that meet most poses, and of these the quickest."""
        ranked = []
        for solver, damping in SETTINGS:
            chain = cls(solver, damping)
            found, seconds = timed(partial(list, map(chain.solve, where, how)))
            hands, turns = hand_at(chain_model().skeleton, np.array(found))
            near = np.linalg.norm(hands - where, axis=-1) <= CLOSE
            met = int((near & (quat.angle_between(turns, how) <= STRAIGHT)).sum())
            ranked.append((-met, seconds, solver, damping))
        _, _, solver, damping = min(ranked)
        return cls(solver, damping)

    def solve(self, point: Vectors, turn: Quats | None) -> Floats:
        """Return the angles at which steps end: close enough, or given up.

        Of a goal without direction the target is turned as the hand is at every step: then only
        the place counts, which is the best that can be done for mink.
        """
        task, here = self.tasks[turn is not None], self.configuration
        here.update(START)
        if turn is not None:
            task.set_target(self.mink.SE3(np.concatenate([turn, point])))
        for _ in range(MOST_STEPS):
            far = float(np.linalg.norm(here.data.site_xpos[0] - point)) > CLOSE
            if turn is None:
                hand = here.get_transform_frame_to_world("hand", "site").rotation()
                task.set_target(self.mink.SE3.from_rotation_and_translation(hand, point))
            else:
                far = far or float(np.linalg.norm(task.compute_error(here)[3:])) > STRAIGHT
            if not far:
                break
            velocity = self.mink.solve_ik(here, [task], DT, self.solver, limits=self.limits)
            here.integrate_inplace(velocity, DT)
        return np.array(here.q)


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


def run(order: Order) -> Robotics:
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

    def solve_all() -> Pose:
        return solve(
            model,
            model.skeleton,
            start,
            goals,
            joints=NAMES,
            settings=SearchSettings(threads=threads),
        ).pose

    solve_all()
    pose, seconds = min((timed(solve_all) for _ in range(3)), key=lambda found: found[1])
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
            residual,
            start,
            jac=chain.slopes,
            bounds=(RANGES[0], RANGES[1]),
            max_nfev=MOST_EVALUATIONS,
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
