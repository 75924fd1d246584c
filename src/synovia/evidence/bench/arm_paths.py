"""Smooth paths: how far a joint goes from one frame to the next, while the target creeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import quat
from ...arrays import Floats, Scalars, Vectors
from ...ik import Reach, solve, track
from ...model import LimitModel
from ...skeleton import Pose, forward
from .arm_model import JOINTS, LENGTH, loose_arm, starts
from .finding import Order, Table

STEP = 0.01 * LENGTH
"""How far the target goes in a frame."""
PATHS, QUICK_PATHS, FRAMES, QUICK_FRAMES = 1000, 4, 60, 6
CLAMPED = "clamp after the solve"
STATISTICS = ("median_deg", "99.9th_deg", "worst_deg")


@dataclass(frozen=True, eq=False)
class Followed:
    """One way to follow: the largest step of a joint in each frame, and how far off the hand is."""

    name: str
    steps_deg: Floats
    """(paths, frames - 1)."""
    off: Floats
    """As shares of the arm's length: (paths, frames)."""
    legal: bool


@dataclass(frozen=True, eq=False)
class PathStudy:
    """All ways to follow the same paths."""

    followed: tuple[Followed, ...]

    @property
    def legal(self) -> bool:
        """Whether every pose of every frame is."""
        return all(way.legal for way in self.followed)

    @property
    def table(self) -> Table:
        """Steps in degrees, beside how far the hand lags behind."""
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


def studied(model: LimitModel, order: Order) -> PathStudy:
    """Return how limits inside the solver, and clamped afterwards, follow random paths."""
    paths, frames = (QUICK_PATHS, QUICK_FRAMES) if order.quick else (PATHS, FRAMES)
    targets = smooth_paths(model, paths, frames)
    inside = _follow(model, model, targets, "track", order)
    after = _follow(model, loose_arm(), targets, CLAMPED, order)
    return PathStudy((inside, after))


def smooth_paths(model: LimitModel, paths: int, frames: int, seed: int = 2) -> Vectors:
    """Return random paths (paths, frames, 3) of steps of `STEP`, by places a legal hand can be."""
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
    """Return the smooth curve of Catmull and Rom through knots (n, 3), at 0 to n - 1."""
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
    """Return how the hand follows `targets`, solved within some limits and kept to those of model.

    The first frame is solved from the bent start, in full, and all others from the one before.
    """
    skeleton = model.skeleton
    joints = [skeleton.index(joint) for joint in JOINTS]
    found = solve(
        within, skeleton, starts(skeleton)["bent"], [Reach("Hand", targets[:, 0])], joints=JOINTS
    ).pose
    onward = track if within is model else partial(solve, restarts=0)
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
    """Return the angle, in degrees, of the joint that turned most: (...)."""
    angles = quat.angle_between(before.rotations[..., joints, :], after.rotations[..., joints, :])
    return np.asarray(np.degrees(angles.max(axis=-1)))


def _spread(values: Floats) -> tuple[float, float, float]:
    """Return median, 99.9th percentile and worst."""
    return float(np.median(values)), float(np.quantile(values, 0.999)), float(values.max())
