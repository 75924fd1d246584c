"""ControlSolution: controls of a figure that were found for goals, and how near they come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars
from ..components import Figure, Posed
from .goals import Goal, Reach, Stay


@dataclass(frozen=True, eq=False)
class ControlSolution:
    """Controls within their ranges for each problem, with the problems' leading axes (...)."""

    figure: Figure
    goals: tuple[Goal, ...]
    controls: Floats
    """(..., C), in the figure's order and units."""
    pose: Posed
    """What the controls give."""
    errors: Scalars
    """(..., goals): a length for `Reach`, radians for others, the largest turn for `Stay`."""
    iterations: Ints
    """(...): steps taken, those of restarts among them."""
    converged: Mask
    """(...): whether all goals are met, `Stay` apart."""
    ends: Ints
    """(..., C): 1 for controls at the high end of their range, -1 at the low end, 0 between."""
    wanted: Mask
    """(..., C): controls at an end that the goals would take farther."""

    def at_end(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return the controls at an end of their range, by name, and that end in their unit."""
        return self._named(self.ends[item] != 0, item)

    def blocking(self, item: int | tuple[int, ...] = ()) -> dict[str, float]:
        """Return those of them that the goals would take farther; none where goals are met."""
        return self._named(self.wanted[item], item)

    def beyond(self, item: int | tuple[int, ...] = ()) -> tuple[str, ...]:
        """Return the joints of `Reach` whose target is too far off, whatever the controls are.

        It is farther from the root than all bones between are long. A root that a joint set moves
        may go anywhere.
        """
        skeleton, shape = self.figure.skeleton, self.converged.shape
        places = self.pose.positions[item]
        found = []
        for goal in self.goals:
            if not isinstance(goal, Reach):
                continue
            length, joint = float(np.linalg.norm(goal.point)), skeleton.index(goal.joint)
            while skeleton.parents[joint] >= 0:
                length += float(np.linalg.norm(places[joint]))
                joint = int(skeleton.parents[joint])
            target = np.broadcast_to(goal.target, (*shape, 3))[item]
            away = float(np.linalg.norm(target - places[joint]))
            if away > length and skeleton.names[joint] not in self.figure.moved:
                found.append(goal.joint)
        return tuple(found)

    def reason(self, item: int | tuple[int, ...] = ()) -> str:
        """Return one sentence on how a problem ended: what is not met, and why not."""
        blocking = self.blocking(item)
        if self.converged[item]:
            return "all goals are met"
        demands = [k for k, goal in enumerate(self.goals) if not isinstance(goal, Stay)]
        worst = max(demands, key=lambda k: self.errors[item][k] * self.goals[k].weight)
        said = _missed(self.goals[worst], float(self.errors[item][worst]))
        far = self.beyond(item)
        if far:
            return f"{said}: beyond the bones' reach for {', '.join(far)}"
        if not blocking:
            return f"{said}: no control's range holds it; it is out of reach, or the start is bad"
        held = ", ".join(f"{control} at {value:g}" for control, value in blocking.items())
        return f"{said}: held by the range of {held}"

    def _named(self, which: Mask, item: int | tuple[int, ...]) -> dict[str, float]:
        if which.ndim != 1:
            shape = self.converged.shape
            raise ValueError(f"this is for one problem, got {shape} of them: say which")
        names = list(self.figure.controls)
        return {names[c]: float(self.controls[item][c]) for c in np.flatnonzero(which)}


def _missed(goal: Goal, error: float) -> str:
    if isinstance(goal, Reach):
        return f"{goal.joint} is {error:.4g} from its target"
    name = "" if isinstance(goal, Stay) else goal.joint
    return f"{name} is {np.degrees(error):.1f} degrees off its target"
