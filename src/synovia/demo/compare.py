"""How close learned limits come to the truth, beside the ranges of Euler angles of every day."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, own
from ..charts import CHARTS
from ..limit import Limit, compared_charts, suits
from ..model import LimitModel
from ..processes import process_pool
from ..shapes import SHAPES
from ..skeleton import Clip, lineage
from .clips import ANCESTORS, FREE_VOLUME, JOINTS, joint_rotations, near_misses, random_controls

MARGIN = 0.05
"""How much wider than what was observed every region is, in radians."""
ORDER = "ZXY"
"""The order of the angles in the demo's files."""
CASES = tuple(
    (shape, name)
    for shape in SHAPES
    for name in compared_charts()
    if suits(CHARTS[name], SHAPES[shape])
)
"""Every shape in every chart that it works in, that kernels know and that is compared."""


@dataclass(frozen=True, eq=False)
class EulerRanges:
    """All rotations whose Euler angles (Z, X, Y, radians) are each from `low` to `high`."""

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        own(self, low=(3,), high=(3,))

    @classmethod
    def fit(cls, rotations: Quats, *, margin: float = MARGIN) -> Self:
        """Return the least and the greatest of each angle, `margin` wider."""
        angles = quat.to_euler(rotations, ORDER)
        limit = np.array([np.pi, 0.5 * np.pi, np.pi])
        low, high = angles.min(axis=0) - margin, angles.max(axis=0) + margin
        return cls(np.maximum(low, -limit), np.minimum(high, limit))

    def contains(self, rotations: Quats) -> Mask:
        """Tell which rotations are legal."""
        angles = quat.to_euler(rotations, ORDER)
        return np.asarray(((self.low <= angles) & (angles <= self.high)).all(axis=-1))

    def volume(self) -> float:
        """Return the share of all rotations that is legal."""
        (z0, x0, y0), (z1, x1, y1) = self.low, self.high
        return float((z1 - z0) * (np.sin(x1) - np.sin(x0)) * (y1 - y0) / (8.0 * np.pi**2))


Regions = Mapping[str, Limit] | Mapping[str, EulerRanges]
"""Sets of legal rotations, by joint."""


@dataclass(frozen=True)
class Score:
    """How close one kind of limit came, as means over the joints."""

    shape: str
    chart: str
    legal: float
    """The share of legal rotations that it accepts."""
    near: float
    """The share of near misses that it accepts, too."""
    volume: float
    """How many times as large as the truth it is, over joints that turn freely about three axes."""


class Exam:
    """The same questions for every kind of limit: legal rotations, and near misses, by joint."""

    def __init__(self, truth: LimitModel, n: int = 2000, seed: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.volumes = {name: size for name, size in truth.volume().items() if size > FREE_VOLUME}
        controls = random_controls(n, rng)
        self.legal = {
            name: limit.sample(n, rng) if name in self.volumes else joint_rotations(name, controls)
            for name, limit in truth.limits.items()
        }
        self.near = {name: near_misses(limit, n, rng) for name, limit in truth.limits.items()}

    def score(self, shape: str, chart: str, regions: Regions) -> Score:
        """Return how `regions`, by joint, did."""
        return Score(
            shape,
            chart,
            legal=_mean_accepted(regions, self.legal),
            near=_mean_accepted(regions, self.near),
            volume=float(np.mean([regions[k].volume() / v for k, v in self.volumes.items()])),
        )


def learn_limits(clip: Clip, shape: str, chart: str) -> LimitModel:
    """Return limits of this shape in this chart, learned from `clip`."""
    with warnings.catch_warnings():
        # An arm overhead is opposite to one that hangs, where the twist is not defined.
        warnings.filterwarnings("ignore", ".*the direction opposite", UserWarning)
        return LimitModel.fit(
            [clip], shape, chart, margin=MARGIN, joints=JOINTS, relative_to=ANCESTORS
        )


def score_families(exam: Exam, clip: Clip, cases: Sequence[tuple[str, str]]) -> Iterator[Score]:
    """Yield how each shape in its chart does when it is learned from `clip`, on all processors.

    What processes do not finish, since one of them was killed, is done by this one.
    """
    jobs = min(os.cpu_count() or 1, len(cases))
    ask, left = partial(_score_family, exam, clip), list(cases)
    if jobs > 1:
        with suppress(BrokenProcessPool), process_pool(jobs) as pool:
            for score in pool.map(ask, cases):
                del left[0]
                yield score
    yield from map(ask, left)


def _score_family(exam: Exam, clip: Clip, case: tuple[str, str]) -> Score:
    return exam.score(*case, learn_limits(clip, *case).limits)


def euler_ranges(clip: Clip) -> dict[str, EulerRanges]:
    """Return the ranges of Euler angles in `clip`, by joint."""
    return {
        name: EulerRanges.fit(
            lineage(clip.skeleton, name, ANCESTORS.get(name)).relative_rotation(clip.pose.rotations)
        )
        for name in JOINTS
    }


def largest_step(clip: Clip) -> tuple[float, str]:
    """Return the largest turn from one frame to the next, in radians, and the joint's name."""
    steps = clip.steps.max(axis=0)
    joint = int(steps.argmax())
    return float(steps[joint]), clip.skeleton.names[joint]


def _mean_accepted(regions: Regions, asked: Mapping[str, Quats]) -> float:
    return float(np.mean([regions[name].contains(rows).mean() for name, rows in asked.items()]))
