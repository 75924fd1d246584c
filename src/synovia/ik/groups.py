"""Inverse kinematics within groups of a figure: over the figure's controls."""

from __future__ import annotations

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

OFFSET_TOLERANCE = 1e-3  # deviation of offsets from the figure's, as a share of its size


@dataclass(frozen=True)
class GroupSolver:
    """Solver for a model whose limits are all groups of one figure, over that figure's controls."""

    model: LimitModel
    figure: Figure
    root: int
    """Index of the root joint."""

    @classmethod
    def of(cls, model: LimitModel) -> GroupSolver:
        """Return the solver; ValueError unless the model has one figure and its skeleton."""
        figures = {id(group.figure): group.figure for group in model.groups}
        figure = next(iter(figures.values()))
        segments, skeleton = figure.skeleton, model.skeleton
        names = {
            segment: joint
            for group in model.groups
            for segment, joint in zip(group.segments, group.joints, strict=True)
        }
        matches = (
            len(figures) == 1
            and not model.limits
            and figure.moved_segments <= names.keys()
            and len(segments) == len(skeleton)
            and np.array_equal(segments.parents, skeleton.parents)
            and all(
                names.get(segment, joint) == joint
                for segment, joint in zip(segments.names, skeleton.names, strict=True)
            )
        )
        if not matches:
            raise ValueError(
                "inverse kinematics within groups takes all groups of one figure, and a skeleton "
                f"with the same joints as {figure.name!r} in the same order, and no others"
            )
        roots = np.flatnonzero(segments.parents < 0)
        if len(roots) != 1 or segments.names[int(roots[0])] in figure.moved_segments:
            raise ValueError("a figure to be solved for must have one root, which no control moves")
        deviations = np.linalg.norm((segments.offsets - skeleton.offsets)[1:], axis=-1)
        if deviations.max(initial=0.0) > OFFSET_TOLERANCE * figure.size:
            raise ValueError(
                "the skeleton must have the figure's bones; "
                f"{segments.names[int(deviations.argmax()) + 1]} is {deviations.max():.3g} "
                "elsewhere"
            )
        return cls(model, figure, int(roots[0]))

    def nearest_controls(self, rotations: Quats) -> Floats:
        """Return the controls (..., C) whose poses are nearest to rotations (..., J, 4)."""
        index = {name: k for k, name in enumerate(self.figure.controls)}
        values = np.tile(self.figure.ranges[1], (*rotations.shape[:-2], 1))
        for group in self.model.groups:
            joints = [self.model.skeleton.index(name) for name in group.joints]
            nearest = group.nearest(rotations[..., joints, :])
            values[..., [index[name] for name in group.controls]] = nearest.controls
        return values

    def _controls_of(self, joints: Sequence[str] | None) -> list[str] | None:
        """Return the controls that move any of these joints; None, for all, without joints."""
        if joints is None:
            return None
        for name in joints:
            self.model.skeleton.index(name)
        groups = [group for group in self.model.groups if set(group.joints) & set(joints)]
        return [name for group in groups for name in group.controls]

    def solve(
        self,
        pose: Pose,
        goals: Sequence[Goal],
        joints: Sequence[str] | None,
        *,
        settings: SearchSettings,
        stiffness: Mapping[str, float] | None = None,
    ) -> Solution:
        """Return a pose that the controls produce and that meets goals, starting from `pose`."""
        check_joints(self.model.skeleton, pose)
        rotations, root = pose.rotations.astype(np.float64), self.root
        start, center = self.nearest_controls(rotations), self.figure.skeleton.offsets[root]
        # Transform goals to the figure's frame, where the root is at rest; rename their joints.
        rotation = quat.inverse(rotations[..., root, :])
        translation = center - quat.rotate(rotation, pose.positions[..., root, :])
        names = dict(zip(self.model.skeleton.names, self.figure.skeleton.names, strict=True))
        for goal in goals:
            goal.check(self.model.skeleton)
        solution = solve_controls(
            *(self.figure, start, [goal.in_frame(rotation, translation, names) for goal in goals]),
            only=self._controls_of(joints),
            stiffness=stiffness,
            settings=settings,
        )
        return self._in_world(solution, pose, goals, start)

    def look(
        self,
        pose: Pose,
        goal: Goal,
        joints: Sequence[str],
        weights: ArrayLike | None,
        *,
        tolerance: float,
    ) -> Solution:
        """Return a pose in which the controls of some joints meet one goal.

        A control deviates from its start in proportion to its range and to the mean of `weights`
        over the joints of its group: least squares with the inverse of that mean as stiffness.
        """
        values = np.ones(len(joints)) if weights is None else np.asarray(weights, dtype=float)
        shares = {name: w for name, w in zip(joints, values.tolist(), strict=True) if w > 0.0}
        stiffness: dict[str, float] = {}
        for group in self.model.groups:
            if group_weights := [shares[name] for name in group.joints if name in shares]:
                stiffness |= dict.fromkeys(group.controls, len(group_weights) / sum(group_weights))
        settings = SearchSettings(restarts=0, tolerance=tolerance)
        return self.solve(pose, [goal], [*shares], settings=settings, stiffness=stiffness)

    def _in_world(
        self, solution: ControlSolution, pose: Pose, goals: Sequence[Goal], start: Floats
    ) -> Solution:
        """Return the solution moved to the root of `pose`, with errors measured there.

        `start` (..., C) are the controls nearest to `pose`, from which `start_correction` follows.
        """
        skeleton, dtype, root = self.model.skeleton, pose.rotations.dtype, self.root
        rotations, positions = solution.pose.rotations.copy(), solution.pose.positions.copy()
        rotations[..., root, :] = pose.rotations[..., root, :]
        positions[..., root, :] = pose.positions[..., root, :]
        corrected = quat.angle_between(self.figure.pose(start).rotations, pose.rotations)
        corrected[..., root] = 0.0
        posed, errors = Pose(rotations, positions), solution.errors.copy()
        for k, goal in enumerate(goals):
            if not goal.on_ranges:
                errors[..., k] = errors_of([goal], self.model, posed)[..., 0]
        return replace(
            solution,
            pose=Pose(rotations.astype(dtype), positions.astype(dtype)),
            errors=errors,
            start_correction=np.broadcast_to(corrected, rotations.shape[:-1]),
            goals=tuple(goals),
            skeleton=skeleton,
        )
