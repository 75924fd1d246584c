"""Inverse kinematics that brings hands, feet and head back to where they were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Mask, Scalars, Vectors
from ..ik.goals import Goal, Orient, Reach
from ..ik.problem import pack, passive_joints
from ..ik.search import SearchSettings, descend_from_start
from ..ik.solve import JointVariables
from ..model import Limb, LimitModel, couple
from ..skeleton import Clip, Pose
from .effectors import Effectors
from .paths import ROUNDING, joint_step_bounds, measured_steps, shorten_steps

ROUNDS = 3  # of solving and projecting; limbs and dependent limits are met by the projection
SMOOTHING_TIME = 0.1  # seconds before and after; at 30 Hz 3 frames
GOOD_ENOUGH = 0.1  # of the tolerance: frames that are nearer are not solved
HEAD_WEIGHT = 0.3  # of the head's rotation, relative to positions
SETTINGS = SearchSettings(iterations=25, largest_step=0.3)  # starts are near: most take under 10
MAX_ROOT_SPEED = 1.0  # heights a second; slower steps of the root are never shortened


@dataclass(frozen=True, eq=False)
class Repositioning:
    """The search for legal poses of a clip in which effectors are where they were."""

    model: LimitModel
    effectors: Effectors
    root: int | None
    """The joint that may rotate and move without a limit; None if the body must stay."""

    def solve(self, legal: Clip) -> Clip:
        """Return a clip, legal in each frame, with effectors nearer to where they were.

        Other frames stay unchanged, except next to changes: the changes of each round are smoothed
        over time before the next round. Steps are not bounded.
        """
        start = legal.pose
        pose = self._improve(start)
        for _ in range(ROUNDS - 1):
            if pose is start:
                break
            pose = self._improve(self._smooth(legal, pose))
        return replace(legal, pose=pose)

    def _improve(self, pose: Pose) -> Pose:
        """Return the poses (frames, J) of a clip, changed where that brings effectors nearer."""
        error = self.effectors.worst(pose)
        frames = np.flatnonzero(error > GOOD_ENOUGH)
        if len(frames) == 0 or not self.movers:
            return pose
        effectors = self.effectors.at(frames)
        solved = self._solve(Pose(pose.rotations[frames], pose.positions[frames]), effectors)
        better = effectors.worst(solved) < error[frames]
        rotations, positions = pose.rotations.copy(), pose.positions.copy()
        rotations[frames[better]] = solved.rotations[better]
        positions[frames[better]] = solved.positions[better]
        return Pose(rotations, positions)

    def _smooth(self, legal: Clip, pose: Pose) -> Pose:
        """Return legal poses whose changes from a legal clip are averaged over time."""
        start = legal.pose
        width = max(1, round(SMOOTHING_TIME / legal.frame_time))
        rotated = quat.log(quat.mul(quat.inverse(start.rotations), pose.rotations))
        rotated = _average(rotated, width)
        changed = rotated.any(axis=-1, keepdims=True)
        rotations = quat.normalize(quat.mul(start.rotations, quat.exp(rotated)))
        positions = start.positions + _average(pose.positions - start.positions, width)
        return self.model.project(Pose(np.where(changed, rotations, start.rotations), positions))

    @cached_property
    def joint_model(self) -> LimitModel:
        """The limits of single joints. With shared twist, limbs that meet them are legal."""
        return LimitModel(couple(self.model.limits, self.model.dependents), self.model.skeleton)

    @cached_property
    def movers(self) -> list[str]:
        """Joints between effectors and the root whose rotations limits bound, and the root."""
        skeleton, model, head = self.model.skeleton, self.model, self.effectors.head
        bounded = {*model.limits, *passive_joints(model)}
        ends = [*self.effectors.points, *([] if head is None else [head])]
        above = {joint for end in ends for joint in skeleton.path_to_root(end)}
        names = {joint: skeleton.names[joint] for joint in sorted(above)}
        return [name for joint, name in names.items() if name in bounded or joint == self.root]

    def _solve(self, pose: Pose, effectors: Effectors) -> Pose:
        """Return legal poses (n, J) that are nearer to the effectors of as many frames."""
        skeleton, rotations, positions = self.model.skeleton, pose.rotations.copy(), pose.positions
        shared = [
            (placed, limb, limb.share_twist(placed.relative(pose.rotations), TOLERANCE))
            for placed in self.model.placed
            if isinstance(limb := placed.constraint, Limb)
        ]
        for placed, _, limbs in shared:
            placed.set_relative(rotations, limbs.rotations)
        names = skeleton.names
        goals: list[Goal] = [
            Reach(names[joint], effectors.positions[:, k])
            for k, joint in enumerate(effectors.points)
        ]
        if effectors.head is not None:
            head = names[effectors.head]
            goals.append(Orient(head, effectors.head_rotations, weight=HEAD_WEIGHT))
        start, free_root = Pose(rotations, positions), self.root is not None
        problem = pack(self.joint_model, skeleton, start, goals, self.movers, free_root=free_root)
        variables = JointVariables(problem, SETTINGS)
        batch = variables.start()
        descend_from_start(variables, batch, SETTINGS)
        rotations, positions = batch.rotations, batch.positions
        for placed, limb, limbs in shared:
            given, moved = placed.relative(pose.rotations), placed.relative(rotations)
            placed.set_relative(rotations, limb.restore_twist(given, limbs, moved))
        return self.model.project(Pose(quat.normalize(rotations), positions))


def blend_long_steps(
    model: LimitModel, clip: Clip, legal: Clip, moved: Clip, height: float, max_speed: float
) -> Clip:
    """Return `moved`, blended into `legal` around frames where its steps are too long.

    Both are legal versions of `clip`. A step of a joint may be twice that of the clip, or what
    `max_speed` (radians a second) allows; steps of roots are bounded likewise.
    """
    bounds = np.maximum(joint_step_bounds(model, clip, max_speed), measured_steps(model, legal))
    reach = np.maximum(2.0 * _position_steps(clip), MAX_ROOT_SPEED * height * clip.frame_time)

    start, end = legal.pose, moved.pose

    def blend(share: Scalars) -> tuple[Clip, Mask]:
        rotations = np.where((share == 1.0)[:, None, None], end.rotations, start.rotations)
        positions = start.positions + share[:, None, None] * (end.positions - start.positions)
        part = np.flatnonzero((share > 0.0) & (share < 1.0))
        mixed = quat.slerp(start.rotations[part], end.rotations[part], share[part, None])
        mixed_pose = Pose(quat.normalize(mixed), positions[part])
        rotations[part] = model.project(mixed_pose).rotations
        blended = replace(legal, pose=Pose(rotations, positions))
        long = (measured_steps(model, blended) > bounds + ROUNDING).any(axis=1)
        return blended, long | (_position_steps(blended) > reach + ROUNDING).any(axis=1)

    return shorten_steps(blend, np.ones(clip.frames))


def _average(values: Vectors, width: int) -> Vectors:
    """Return values (frames, J, 3) averaged over `width` frames before and after, near ones more.

    Values of 0 that are farther than that from others stay 0.
    """
    weights = np.hanning(2 * width + 3)[1:-1]
    padded = np.pad(values, ((width, width), (0, 0), (0, 0)), mode="edge")
    total = np.zeros_like(values)
    for offset, weight in enumerate(weights / weights.sum()):
        total += weight * padded[offset : offset + len(values)]
    return total


def _position_steps(clip: Clip) -> Scalars:
    """Return the lengths (frames − 1, J) of the steps of positions relative to parents."""
    return np.asarray(np.linalg.norm(np.diff(clip.pose.positions, axis=0), axis=-1))
