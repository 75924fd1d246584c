"""Solution: the pose that was found, how near it comes to the goals, and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Ints, Mask, Scalars
from ..skeleton import Clip, Pose, Skeleton
from .goals import Goal, Reach, Wish

PIN_TOLERANCE = 1e-6
"""A pinned joint that is farther from its place, in the skeleton's unit, has slipped."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A legal pose for each problem; all fields have the problems' leading axes (...)."""

    pose: Pose
    errors: Scalars
    """(..., goals): how far each is from being met, a length for `Reach`, radians for others.

    For `Stay`, the largest turn of a joint; for `Comfort`, by how much a joint is at most nearer to
    its limit than the margin.
    """
    iterations: Ints
    """(...): steps taken, those of restarts among them."""
    converged: Mask
    """(...): whether all goals are met, wishes apart."""
    blocked_angle: Scalars
    """(..., joints): radians by which a joint's limit would have to give way to come nearer.

    Each joint by itself, the others within their limits; 0 where its limit does not block.
    """
    beyond: Mask
    """(..., goals): targets that are farther away than the chain is long."""
    start_correction: Scalars
    """(..., joints): radians by which the start was turned to be legal."""
    goals: tuple[Goal, ...]
    """Those that were asked for, then one for each pin."""
    skeleton: Skeleton
    pins: int = 0
    """How many of the goals, the last ones, keep a joint where it was."""
    immovable: tuple[int, ...] = ()
    """The goals, by number, that none of the joints that may turn has a part in."""
    kept_still: tuple[str, ...] = ()
    """Limited joints that `two_bone` does not turn, because limits below are measured across them.

    `solve` turns them.
    """
    control_names: tuple[str, ...] = ()
    """The controls of the figure, where limits are those of one."""
    blocking_controls: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    """(..., controls): those at an end of their range that the goals would take farther."""

    def blocking(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the joints that block, worst first, and how much further each would turn."""
        angles = self.blocked_angle[item]
        if angles.ndim != 1:
            raise ValueError(
                f"blocking is for one problem, got {self.converged.shape} of them: say which"
            )
        order = np.argsort(-angles, kind="stable")
        return {self.skeleton.names[j]: float(angles[j]) for j in order if angles[j] > 0.0}

    def slipped(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the pinned joints that could not be kept in place, and how far off each is."""
        errors = self.errors[item]
        if errors.ndim != 1:
            raise ValueError(
                f"slipped is for one problem, got {self.converged.shape} of them: say which"
            )
        first = len(self.goals) - self.pins
        return {
            _name(self.goals[k]): float(errors[k])
            for k in range(first, len(self.goals))
            if errors[k] > PIN_TOLERANCE
        }

    def reason(self, item: int | tuple[int, ...] = ()) -> str:
        """Return one sentence on how a problem ended: what is not met, and why not."""
        blocking = self.blocking(item)
        if self.converged[item]:
            return "all goals are met"
        said = self._miss(item, blocking)
        if not self.kept_still:
            return said
        return f"{said}; two_bone keeps {', '.join(self.kept_still)} still"

    def _miss(self, item: int | tuple[int, ...], blocking: Mapping[str, float]) -> str:
        slipped = self.slipped(item)
        if slipped:
            off = ", ".join(f"{name} is {error:.4g} off" for name, error in slipped.items())
            return f"pins could not be kept: {off}"
        demands = [k for k, goal in enumerate(self.goals) if not isinstance(goal, Wish)]
        worst = max(demands, key=lambda k: self.errors[item][k] * self.goals[k].weight)
        miss = describe_miss(self.goals[worst], float(self.errors[item][worst]))
        if worst in self.immovable:
            return f"{miss}: no joint that may turn moves it"
        far = [_name(self.goals[k]) for k in demands if self.beyond[item][k]]
        if far:
            return f"{miss}: beyond the chain's reach for {', '.join(far)}"
        if self.control_names and self.blocking_controls[item].any():
            named = zip(self.control_names, self.blocking_controls[item].tolist(), strict=True)
            return f"{miss}: held by the range of {', '.join(name for name, at in named if at)}"
        if blocking:
            more = ", ".join(f"{n} ({np.degrees(a):.1f} degrees more)" for n, a in blocking.items())
            return f"{miss}: held by the limit of {more}"
        return (
            f"{miss}: no one limit holds it; goals may contradict each other, or the start is bad"
        )


def _name(goal: Goal) -> str:
    return "" if isinstance(goal, Wish) else goal.joint


def describe_miss(goal: Goal, error: float) -> str:
    """Return the words on how far a goal is from being met, a length or radians."""
    if isinstance(goal, Reach):
        return f"{goal.joint} is {error:.4g} from its target"
    return f"{_name(goal)} is {np.degrees(error):.1f} degrees off its target"


@dataclass(frozen=True, eq=False)
class ClipSolution:
    """A clip that was driven by goals, and how near it came."""

    clip: Clip
    """Legal in every frame."""
    solution: Solution
    """Frames first: poses, errors, and what is in the way."""
    late: Mask
    """(frames,): still on the way to the goals, as fast as joints may turn."""
    elsewhere: Mask
    """(frames,): not met, though another pose would do, which is too far away to go to at once."""

    def reason(self, frame: int) -> str:
        """Return one sentence on a frame: what is not met, and why not."""
        reason = self.solution.reason(frame)
        if self.late[frame]:
            missed, target, _ = reason.partition(" its target: ")
            return f"{missed}{target}still on the way, as fast as joints may turn"
        if self.elsewhere[frame]:
            return f"{reason}; another pose would do, too far away to go to at once"
        return reason
