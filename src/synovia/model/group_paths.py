"""Paths in time of the joints of a control group, with bounded steps.

Each frame is projected by itself first. Around jumps, branches are followed by continuous controls,
and transitions go through the controls. The group's own search accepts the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Scalars, unit_quats
from .clamp import allowed_steps, check_speed, same_sign
from .constraint import ClampedPaths
from .control_group import ControlGroup, NearestPose
from .joint_paths import JointPaths, step_ratios
from .live import LivePaths

SAME = 1e-6  # radians; branches that are nearer than this have merged
HALVINGS = 12  # of a single step that is too long, before the group stays where it was
AS_NEAR = 1.0 + 1e-6  # factor within which two squared distances are equal


def clamp_group(group: ControlGroup, rotations: Quats, bounds: Floats) -> ClampedPaths:
    """Return legal paths (frames, S, 4) of a group's joints near the given ones.

    No step exceeds its bound (frames, S), in radians, unless no path through the controls is found
    that keeps to it; such steps are reported. Frames that are legal move only around such steps.
    """
    rotations = unit_quats("rotations", rotations)
    found = group.nearest(rotations)
    nearest = group.move_to_edge(rotations, found)
    kept = (nearest == rotations).all(axis=(1, 2))
    path = JointPaths(
        *(GroupMoves(group), rotations.astype(np.float64), bounds, kept),
        *(found.controls.copy(), nearest.astype(np.float64)),
    )
    changed = path.remove_jumps()
    out = same_sign(path.rotations, rotations).astype(rotations.dtype)
    out = np.where(changed[:, None, None], out, nearest)
    over = np.zeros(out.shape[:2], dtype=bool)
    over[1:] = step_ratios(path.rotations[:-1], path.rotations[1:], bounds[1:]) > 1.0
    return ClampedPaths(out, kept[:, None] & (out != rotations).any(axis=-1), over)


@dataclass(frozen=True, eq=False)
class GroupMoves:
    """Movements of a group's joints through its controls."""

    group: ControlGroup

    @property
    def weights(self) -> Scalars:
        """Weights (S,) of the joints."""
        return self.group.weights

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (n,) of the rotations (n, S, 4) that the group's search accepts."""
        return self.group.contains(rotations)

    def branch(self, inputs: Quats, controls: Floats, path: Floats) -> tuple[Floats, Quats]:
        """Return controls (m, C) and rotations (m, S, 4) by following continuous controls."""
        found = self.group.follow(inputs, controls)
        away = quat.angle_between(found.rotations, self.group.pose(path))
        met = int(np.argmax(np.append((away <= SAME).all(axis=-1), True)))
        found = NearestPose(*(each[:met] for each in found))
        return found.controls, self.group.move_to_edge(inputs[:met], found)

    def between(self, controls: Floats, rotations: Quats, share: Scalars) -> tuple[Floats, Quats]:
        """Return controls (n, C) and legal rotations (n, S, 4) at shares (n,) between two poses.

        The controls (2, C) of the poses are interpolated, and so are the deviations of their
        rotations (2, S, 4) from what the controls give: none is larger than at one of the ends.
        """
        between = controls[0] + share[:, None] * (controls[1] - controls[0])
        off = quat.log(quat.mul(quat.inverse(self.group.pose(controls)), rotations))
        off = off[0] + share[:, None, None] * (off[1] - off[0])
        return between, quat.mul(self.group.pose(between), quat.exp(off))


def step_towards(
    group: ControlGroup, start: Quats, controls: Floats, wanted: Quats, bounds: Scalars
) -> tuple[Quats, Floats]:
    """Return the legal pose nearest to `wanted`, or one on the path to it, and its controls.

    No joint rotates from `start` (S, 4), legal with `controls` (C,), by more than its bound (S,) in
    radians. The path is straight in the controls. If the search accepts no pose on it that is near
    enough, the result is `start`.
    """
    target, ends = _nearest_one(group, wanted, controls)
    rotations, found, share = target, ends, 1.0
    for _ in range(HALVINGS):
        ratio = float(step_ratios(start, rotations, bounds).max())
        if ratio <= 1.0 and group.contains(rotations):
            return rotations, found
        share *= min(0.9 / max(ratio, 1.0), 0.5)
        between, steps = GroupMoves(group).between(
            np.stack([controls, ends]), np.stack([start, target]), np.array([share])
        )
        rotations, found = steps[0], between[0]
    return start, controls


def _nearest_one(group: ControlGroup, rotations: Quats, controls: Floats) -> tuple[Quats, Floats]:
    """Return the legal pose nearest to rotations (S, 4), and its controls (C,).

    Of controls that come equally near, those are taken that `controls` (C,) lead to.
    """
    nearest, followed = group.nearest(rotations[None]), group.follow(rotations[None], controls)
    squares = [
        (group.weights * np.maximum(each.angles[0] - group.tolerances, 0.0) ** 2).sum()
        for each in (nearest, followed)
    ]
    found = followed if squares[1] <= AS_NEAR * squares[0] else nearest
    legal: Quats = group.move_to_edge(rotations[None], found)[0]
    return legal, found.controls[0]


class LiveGroup(LivePaths):
    """Clamps the joints of a group frame by frame, without look-ahead; see `step_towards`."""

    def __init__(self, group: ControlGroup, frame_time: float, max_speed: float) -> None:
        check_speed(max_speed)
        self.group, self.max_step = group, max_speed * frame_time
        self.last: tuple[Quats, Quats, Floats] | None = None  # input, output and its controls

    def push(self, rotations: Quats) -> Quats:
        rotations = unit_quats("rotations", rotations).astype(np.float64)
        if self.last is None:
            legal, controls = self.group.project(rotations), self.group.nearest(rotations).controls
        else:
            given, before, controls = self.last
            bounds = allowed_steps(quat.angle_between(given, rotations), self.max_step)
            legal, controls = step_towards(self.group, before, controls, rotations, bounds)
        legal = same_sign(legal, rotations)
        self.last = rotations, legal, controls
        return legal

    def finish(self) -> list[Quats]:
        return []
