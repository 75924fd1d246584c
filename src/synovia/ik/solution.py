"""Solutions: poses, the errors of the goals, and the limits that block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars
from ..components import Figure
from ..skeleton import Clip, Pose, Skeleton
from .goals import Goal

PIN_TOLERANCE = 1e-6  # a pinned joint farther from its position, in the skeleton's unit, slipped
Item = int | tuple[int, ...]  # index of one problem of a batch


@dataclass(frozen=True, eq=False)
class Solution:
    """A legal pose for each problem; all arrays have the leading axes (...) of the batch."""

    pose: Pose
    errors: Scalars
    """(..., goals): error of each goal, a length for `Reach`, radians for others.

    For `Stay` it is the largest rotation of a joint; for `Comfort` the largest part of the margin
    that is missing.
    """
    iterations: Ints
    """(...): number of steps, including restarts."""
    converged: Mask
    """(...): True if all goals but the soft ones are met."""
    blocked_angle: Scalars
    """(..., joints): violation of a joint's limit, in radians, if that limit alone were ignored.

    0 if the limit does not block, that is, if the errors would not decrease without it.
    """
    beyond: Mask
    """(..., goals): True for targets that are farther away than the chain is long."""
    start_correction: Scalars
    """(..., joints): correction of the start, in radians, to make it legal."""
    goals: tuple[Goal, ...]
    """The goals given, then one for each pin."""
    skeleton: Skeleton
    pins: int = 0
    """Number of pins; they are the last goals."""
    immovable: tuple[int, ...] = ()
    """Indices of the goals that no joint that may rotate has an effect on."""

    def blocking(self, item: Item = ()) -> dict[str, float]:
        """Return the `blocked_angle` of joints whose limits block, by name, largest first."""
        self._check_item(item)
        angles = self.blocked_angle[item]
        order = np.argsort(-angles, kind="stable")
        return {self.skeleton.names[j]: float(angles[j]) for j in order if angles[j] > 0.0}

    def slipped(self, item: Item = ()) -> dict[str, float]:
        """Return the distances of pinned joints that moved from their positions, by name."""
        self._check_item(item)
        errors = self.errors[item]
        return {
            self.goals[k].label: float(errors[k])
            for k in range(len(self.goals) - self.pins, len(self.goals))
            if errors[k] > PIN_TOLERANCE
        }

    def _check_item(self, item: Item) -> None:
        if np.ndim(self.converged[item]) != 0:
            raise ValueError(
                f"this is for one problem, got {self.converged.shape} of them: say which"
            )

    def _holders(self, item: Item) -> str:
        """Return which limits block, in words; an empty string if none does."""
        blocking = self.blocking(item).items()
        held = ", ".join(f"{name} ({np.degrees(a):.1f} degrees more)" for name, a in blocking)
        return f"the limit of {held}" if held else ""

    def reason(self, item: Item = ()) -> str:
        """Return a sentence: the goal that is missed most, and why; or that all goals are met."""
        self._check_item(item)
        if self.converged[item]:
            return "all goals are met"
        slipped = self.slipped(item)
        if slipped:
            off = ", ".join(f"{name} is {error:.4g} off" for name, error in slipped.items())
            return f"pins could not be kept: {off}"
        demands = [k for k, goal in enumerate(self.goals) if not goal.soft]
        worst = max(demands, key=lambda k: self.errors[item][k] * self.goals[k].weight)
        miss = _describe_miss(self.goals[worst], float(self.errors[item][worst]))
        if worst in self.immovable:
            return f"{miss}: no joint that may turn moves it"
        far = [self.goals[k].label for k in demands if self.beyond[item][k]]
        if far:
            return f"{miss}: beyond the chain's reach for {', '.join(far)}"
        if holders := self._holders(item):
            return f"{miss}: held by {holders}"
        return (
            f"{miss}: no one limit holds it; goals may contradict each other, or the start is bad"
        )


def _describe_miss(goal: Goal, error: float) -> str:
    """Return the error of a goal, a length or radians, in words."""
    if goal.is_length:
        return f"{goal.label} is {error:.4g} from its target"
    return f"{goal.label} is {np.degrees(error):.1f} degrees off its target"


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlSolution(Solution):
    """A solution over the controls of a figure; arrays have the leading axes of the batch."""

    figure: Figure
    controls: Floats
    """(..., C): values within their ranges, in the figure's order and units."""
    ends: Ints
    """(..., C): 1 for controls at the high end of their range, -1 at the low end, 0 between."""
    wanted: Mask
    """(..., C): True for controls at an end that the goals would take farther."""

    def at_end(self, item: Item = ()) -> dict[str, float]:
        """Return the values of controls at an end of their range, by name."""
        return self._named(self.ends != 0, item)

    def blocking_controls(self, item: Item = ()) -> dict[str, float]:
        """Return the values of controls at an end that the goals would take farther, by name."""
        return self._named(self.wanted & ~self.converged[..., None], item)

    def _holders(self, item: Item) -> str:
        ends = (f"{name} at {value:g}" for name, value in self.blocking_controls(item).items())
        held = ", ".join(ends)
        return f"the range of {held}" if held else ""

    def _named(self, mask: Mask, item: Item) -> dict[str, float]:
        """Return the values of the controls in a mask (..., C), by name."""
        self._check_item(item)
        names = list(self.figure.controls)
        return {names[c]: float(self.controls[item][c]) for c in np.flatnonzero(mask[item])}


@dataclass(frozen=True, eq=False)
class ClipSolution:
    """A clip driven by goals."""

    clip: Clip
    """Legal in every frame."""
    solution: Solution
    """The solution of all frames; its leading axis is that of the frames."""
    late: Mask
    """(frames,): True if the speed limit delays the pose."""

    def reason(self, frame: int) -> str:
        """Return a sentence on a frame, as `Solution.reason` does."""
        reason = self.solution.reason(frame)
        if self.late[frame]:
            missed, target, _ = reason.partition(" its target: ")
            return f"{missed}{target}still on the way, as fast as joints may turn"
        return reason
