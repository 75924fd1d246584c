"""Solutions: poses, how near they come to the goals, and which limits hold them back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars
from ..components import Figure
from ..skeleton import Clip, Pose, Skeleton
from .goals import Goal

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

    def blocking(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the joints whose limits block, worst first, and how much farther each would go."""
        self._check_item(item)
        angles = self.blocked_angle[item]
        order = np.argsort(-angles, kind="stable")
        return {self.skeleton.names[j]: float(angles[j]) for j in order if angles[j] > 0.0}

    def slipped(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the pinned joints that could not be kept in place, and how far off each is."""
        self._check_item(item)
        errors = self.errors[item]
        return {
            self.goals[k].label: float(errors[k])
            for k in range(len(self.goals) - self.pins, len(self.goals))
            if errors[k] > PIN_TOLERANCE
        }

    def _check_item(self, item: int | tuple[int, ...]) -> None:
        if np.ndim(self.converged[item]) != 0:
            raise ValueError(
                f"this is for one problem, got {self.converged.shape} of them: say which"
            )

    def _holders(self, item: int | tuple[int, ...]) -> str:
        """Return the limits that block, in words; nothing if there are none."""
        blocking = self.blocking(item).items()
        held = ", ".join(f"{name} ({np.degrees(a):.1f} degrees more)" for name, a in blocking)
        return f"the limit of {held}" if held else ""

    def reason(self, item: int | tuple[int, ...] = ()) -> str:
        """Return one sentence on how a problem ended: what is not met, and why not."""
        self._check_item(item)
        if self.converged[item]:
            return "all goals are met"
        miss = self._miss(item)
        if not self.kept_still:
            return miss
        return f"{miss}; two_bone keeps {', '.join(self.kept_still)} still"

    def _miss(self, item: int | tuple[int, ...]) -> str:
        slipped = self.slipped(item)
        if slipped:
            off = ", ".join(f"{name} is {error:.4g} off" for name, error in slipped.items())
            return f"pins could not be kept: {off}"
        demands = [k for k, goal in enumerate(self.goals) if not goal.soft]
        worst = max(demands, key=lambda k: self.errors[item][k] * self.goals[k].weight)
        miss = describe_miss(self.goals[worst], float(self.errors[item][worst]))
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


def describe_miss(goal: Goal, error: float) -> str:
    """Return how far a goal is from being met, in words; `error` is a length or radians."""
    if goal.is_length:
        return f"{goal.label} is {error:.4g} from its target"
    return f"{goal.label} is {np.degrees(error):.1f} degrees off its target"


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlSolution(Solution):
    """A solution by controls of a figure; all fields have the problems' leading axes (...)."""

    figure: Figure
    controls: Floats
    """(..., C): within their ranges, in the figure's order and units."""
    ends: Ints
    """(..., C): 1 for controls at the high end of their range, -1 at the low end, 0 between."""
    wanted: Mask
    """(..., C): controls at an end that would have to go on for the goals."""

    def at_end(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the controls at an end of their range, by name, and that end in their unit."""
        return self._named(self.ends != 0, item)

    def blocking_controls(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the controls at an end that the goals would take farther, and that end."""
        return self._named(self.wanted & ~self.converged[..., None], item)

    def _holders(self, item: int | tuple[int, ...]) -> str:
        ends = (f"{name} at {value:g}" for name, value in self.blocking_controls(item).items())
        held = ", ".join(ends)
        return f"the range of {held}" if held else ""

    def _named(self, mask: Mask, item: int | tuple[int, ...]) -> dict[str, float]:
        self._check_item(item)
        names = list(self.figure.controls)
        return {names[c]: float(self.controls[item][c]) for c in np.flatnonzero(mask[item])}


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
