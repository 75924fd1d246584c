"""What controls leave of goals: a function of their shares, from 0 to 1, of their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Quats, Vectors
from ..components import Figure
from ..skeleton import Pose, Skeleton
from .gaps import gaps
from .goals import WISH, Goal, Reach, Stay
from .lines import line_to, part_of

STEP = 1e-6
"""The share of a range by which slopes are measured, to both sides."""

NARROW = 0.1
"""The share of a range below which the room on one side of a start counts no less."""


@dataclass(frozen=True, eq=False)
class ControlGoals:
    """One problem: a figure, its controls at the start, and goals without leading axes."""

    figure: Figure
    start: Floats
    """(C,): all controls; those that are not free stay there."""
    free: Ints
    """(F,): the controls that may change, and that matter to the goals."""
    demands: tuple[Goal, ...]
    wishes: tuple[Stay, ...]
    bones: Skeleton
    """The segments that the demands hang on."""
    order: Ints
    """Their numbers in the figure."""
    drives: Mask
    """(D, F): which free controls move what a demand is about."""
    units: Floats
    """What a goal's gap is worth, demands first: 1 / length, or a share for angles."""
    weights: Floats
    ease: float
    """The weight of a wish: that controls stay where they start."""

    @classmethod
    def of(
        cls, figure: Figure, start: Floats, goals: Sequence[Goal], changing: Sequence[int]
    ) -> Self:
        """Return the problem with those of the controls `changing` that the goals depend on."""
        demands = tuple(goal for goal in goals if not isinstance(goal, Stay))
        wishes = tuple(goal for goal in goals if isinstance(goal, Stay))
        skeleton = figure.skeleton
        above = [line_to(skeleton, skeleton.index(goal.joint)) for goal in demands]
        order = sorted(set[int]().union(*above)) or list(range(len(skeleton)))
        moved = {skeleton.names[j] for line in above for j in line}
        for goal in wishes:
            moved |= set(skeleton.names if goal.joints is None else goal.joints)
        moving = _moving(figure)
        free = [c for c in changing if moving[c] & moved]
        lines = [{skeleton.names[j] for j in line} for line in above]
        drives = [[bool(moving[c] & line) for c in free] for line in lines]
        lengths = [np.linalg.norm(skeleton.offsets[line[:-1]], axis=1).sum() for line in above]
        length = max(lengths, default=0.0) or 1.0
        angle = kernels.ik_goals.TURN_SHARE
        each = (*demands, *wishes)
        return cls(
            figure,
            start,
            np.array(free, np.int64),
            demands,
            wishes,
            part_of(skeleton, order),
            np.array(order, np.int64),
            np.array(drives, np.bool_).reshape(len(demands), len(free)),
            np.array([1.0 / length if isinstance(goal, Reach) else angle for goal in each]),
            np.array([goal.weight for goal in each]),
            0.0 if wishes else WISH,
        )

    def lighter(self, share: float) -> Self:
        """Return the problem with wishes that weigh but a share of what they did."""
        wishes = np.arange(len(self.weights)) >= len(self.demands)
        weights = np.where(wishes, share, 1.0) * self.weights
        return replace(self, weights=weights, ease=share * self.ease)

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """The low ends (F,) and the widths (F,) of the free controls' ranges."""
        each = list(self.figure.controls.values())
        low, high = np.array([(each[c].low, each[c].high) for c in self.free]).reshape(-1, 2).T
        return low, high - low

    @cached_property
    def shares(self) -> Floats:
        """The shares (F,) of their ranges at which the free controls start."""
        low, width = self.ranges
        return np.clip((self.start[self.free] - low) / width, 0.0, 1.0)

    def values(self, shares: Floats) -> Floats:
        """Return all controls (..., C) for shares (..., F) of those that are free."""
        low, width = self.ranges
        values = np.tile(self.start, (*shares.shape[:-1], 1))
        values[..., self.free] = low + width * shares
        return values

    def left(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return what is left of all goals, weighted, (n, R), and of demands alone, (n, D)."""
        pose = self.figure.pose(self.values(shares))
        part = Pose(pose.rotations[:, self.order], pose.positions[:, self.order])
        placed = _placed(self.bones, part)
        each = [gap[:, None] for gap in gaps(self.demands, self.bones, part, placed)]
        each += gaps(self.wishes, self.figure.skeleton, pose, (pose.positions, pose.rotations))
        sizes = [unit * gap for unit, gap in zip(self.units, each, strict=True)]
        parts = [
            (weight * size).reshape(len(shares), -1)
            for weight, size in zip(self.weights, sizes, strict=True)
        ]
        away = shares - self.shares
        room = np.where(away < 0.0, self.shares, 1.0 - self.shares)  # on the side it goes to
        parts.append(-self.ease * away / np.maximum(room, NARROW))
        alone = [np.linalg.norm(size[:, 0], axis=-1) for size in sizes[: len(self.demands)]]
        return np.concatenate(parts, axis=1), np.array(alone).reshape(-1, len(shares)).T

    def slopes(self, share: Floats) -> Floats:
        """Return how what is left (R,) changes with shares (F,), one-sided at the ends: (R, F)."""
        both = STEP * np.eye(len(share))
        up, down = np.minimum(share + both, 1.0), np.maximum(share - both, 0.0)
        rows, _ = self.left(np.concatenate([up, down]))
        way = (up - down).sum(axis=1)
        return np.asarray((rows[: len(share)] - rows[len(share) :]).T / way)


def _moving(figure: Figure) -> list[frozenset[str]]:
    """Return for each control the segments of its joint set."""
    return [
        frozenset(joint_set.network.outputs)
        for joint_set in figure.joint_sets.values()
        for _ in joint_set.controls
    ]


def _placed(skeleton: Skeleton, pose: Pose) -> tuple[Vectors, Quats]:
    """Return what `forward` does, by matrices: sooner done for a few poses of many joints."""
    where, turns = pose.positions.copy(), quat.to_matrix(pose.rotations)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            turned = turns[:, parent] @ where[:, joint, :, None]
            where[:, joint] = where[:, parent] + turned[..., 0]
            turns[:, joint] = turns[:, parent] @ turns[:, joint]
    return where, quat.from_matrix(turns)
