"""Inverse kinematics within limits of a figure: its controls are solved for, joints follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Floats, Quats
from ..components import Figure
from ..model import LimitModel
from ..skeleton import Pose, check_joints
from .controls import solve_controls
from .goals import Goal, errors_of
from .search import SearchSettings
from .solution import ControlSolution, Solution

SAME_PLACE = 1e-3
"""Offsets of a skeleton may differ from the figure's by this share of the longest."""
HALVINGS = 30  # of the way to the controls that are found, where joints may turn only so far


@dataclass(frozen=True)
class GroupSolver:
    """Poses of a model whose groups are those of one figure, whose skeleton it has."""

    model: LimitModel
    figure: Figure
    root: int

    @classmethod
    def of(cls, model: LimitModel) -> GroupSolver:
        """Return the solver; ValueError where the model is not that of one figure's skeleton."""
        figures = {id(group.figure): group.figure for group in model.groups}
        figure = next(iter(figures.values()))
        own, skeleton = figure.skeleton, model.skeleton
        names = {
            segment: joint
            for group in model.groups
            for segment, joint in zip(group.segments, group.joints, strict=True)
        }
        same = (
            len(figures) == 1
            and not model.limits
            and figure.moved_segments <= names.keys()
            and len(own) == len(skeleton)
            and np.array_equal(own.parents, skeleton.parents)
            and all(names.get(a, b) == b for a, b in zip(own.names, skeleton.names, strict=True))
        )
        if not same:
            raise ValueError(
                "inverse kinematics within groups takes all groups of one figure, and a skeleton "
                f"with the same joints as {figure.name!r} in the same order, and no others"
            )
        roots = np.flatnonzero(own.parents < 0)
        if len(roots) != 1 or own.names[int(roots[0])] in figure.moved_segments:
            raise ValueError("a figure to be solved for must have one root, which no control moves")
        off = np.linalg.norm((own.offsets - skeleton.offsets)[own.parents >= 0], axis=-1)
        if off.max(initial=0.0) > SAME_PLACE * figure.size:
            raise ValueError(
                f"the skeleton must have the figure's bones; {own.names[int(off.argmax()) + 1]} "
                f"is {off.max():.3g} elsewhere"
            )
        return cls(model, figure, int(roots[0]))

    def controls_of(self, rotations: Quats) -> Floats:
        """Return the controls (..., C) that come nearest to poses with these rotations."""
        places = {name: k for k, name in enumerate(self.figure.controls)}
        values = np.tile(self.figure.ranges[1], (*rotations.shape[:-2], 1))
        for group in self.model.groups:
            joints = [self.model.skeleton.index(name) for name in group.joints]
            found = group.nearest(rotations[..., joints, :])
            values[..., [places[name] for name in group.controls]] = found.controls
        return values

    def controls_for_joints(self, joints: Sequence[str] | None) -> list[str] | None:
        """Return the controls that move any of these joints; None for all."""
        if joints is None:
            return None
        for name in joints:
            self.model.skeleton.index(name)
        groups = [each for each in self.model.groups if set(each.joints) & set(joints)]
        return [name for group in groups for name in group.controls]

    def solve(
        self,
        pose: Pose,
        goals: Sequence[Goal],
        joints: Sequence[str] | None,
        *,
        settings: SearchSettings,
        largest_turn: float,
        stiffness: Mapping[str, float] | None = None,
    ) -> Solution:
        """Return a pose that controls give and that meets goals, found from `pose`.

        No joint turns by more than `largest_turn` radians from the legal start.
        """
        check_joints(self.model.skeleton, pose)
        rotations = pose.rotations.astype(np.float64)
        start = self.controls_of(rotations)
        root_turn, root_place = rotations[..., self.root, :], pose.positions[..., self.root, :]
        at_rest = self.figure.skeleton.offsets[self.root]
        found = solve_controls(
            self.figure,
            start,
            [self._in_figure(goal, root_turn, root_place - at_rest) for goal in goals],
            only=self.controls_for_joints(joints),
            stiffness=stiffness,
            settings=settings,
        )
        if largest_turn < math.pi:
            found = self._shorten(found, np.broadcast_to(start, found.controls.shape), largest_turn)
        return self._solution(pose, goals, start, found)

    def look(
        self,
        pose: Pose,
        goal: Goal,
        joints: Sequence[str],
        weights: ArrayLike | None,
        *,
        tolerance: float,
    ) -> Solution:
        """Return a pose in which controls of some joints meet one goal, each group by its weights.

        Controls share what is to be turned as their ranges do; a group whose joints weigh twice as
        much stays half as near to where it starts.
        """
        given = np.ones(len(joints)) if weights is None else np.asarray(weights, dtype=float)
        by_joint = dict(zip(joints, given.tolist(), strict=True))
        turning = [name for name, weight in by_joint.items() if weight > 0.0]
        stiffness: dict[str, float] = {}
        for group in self.model.groups:
            if mine := [by_joint[name] for name in group.joints if name in turning]:
                stiffness |= dict.fromkeys(group.controls, len(mine) / sum(mine))
        return self.solve(
            *(pose, [goal], turning),
            settings=SearchSettings(restarts=0, tolerance=tolerance),
            largest_turn=math.pi,
            stiffness=stiffness,
        )

    def _in_figure(self, goal: Goal, turn: Quats, shift: Floats) -> Goal:
        """Return a goal as the figure sees it, whose root is at rest, with the figure's names."""
        names = dict(zip(self.model.skeleton.names, self.figure.skeleton.names, strict=True))
        goal.check(self.model.skeleton)
        back, center = quat.inverse(turn), self.figure.skeleton.offsets[self.root]
        return goal.in_frame(back, center - quat.rotate(back, shift + center), names)

    def _shorten(
        self, found: ControlSolution, start: Floats, largest_turn: float
    ) -> ControlSolution:
        """Return as much of the way from the start to the controls found as joints may turn."""
        before = self.figure.pose(start).rotations
        low, high = np.zeros(start.shape[:-1]), np.ones(start.shape[:-1])
        share = high.copy()
        for _ in range(HALVINGS):
            posed = self.figure.pose(start + share[..., None] * (found.controls - start))
            turns = quat.angle_between(before, posed.rotations).max(axis=-1)
            fits = turns <= largest_turn
            if fits.all() and (share == high).all():
                break
            low, high = np.where(fits, share, low), np.where(fits, high, share)
            share = np.where(fits & (high == 1.0), 1.0, 0.5 * (low + high))
        posed = self.figure.pose(start + low[..., None] * (found.controls - start))
        all_the_way = low == 1.0 if share.shape else np.asarray(low == 1.0)
        return replace(
            found, controls=posed.controls, pose=posed, converged=found.converged & all_the_way
        )

    def _solution(
        self, pose: Pose, goals: Sequence[Goal], start: Floats, found: ControlSolution
    ) -> Solution:
        skeleton, dtype, root = self.model.skeleton, pose.rotations.dtype, self.root
        batch = found.controls.shape[:-1]
        rotations, positions = found.pose.rotations.copy(), found.pose.positions.copy()
        rotations[..., root, :] = pose.rotations[..., root, :]
        positions[..., root, :] = pose.positions[..., root, :]
        corrected = quat.angle_between(self.figure.pose(start).rotations, pose.rotations)
        corrected[..., root] = 0.0
        posed, errors = Pose(rotations, positions), found.errors.copy()
        for k, goal in enumerate(goals):
            if goal.range_margins(self.figure, ()) is None:  # others depend on controls alone
                errors[..., k] = errors_of([goal], self.model, posed)[..., 0]
        return replace(
            found,
            pose=Pose(rotations.astype(dtype), positions.astype(dtype)),
            errors=errors,
            start_correction=np.broadcast_to(corrected, (*batch, len(skeleton))),
            goals=tuple(goals),
            skeleton=skeleton,
        )
