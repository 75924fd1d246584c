"""Single steps of the joints of a control group, no longer than a bound."""

from __future__ import annotations

import numpy as np

from ..arrays import Quats, Scalars
from .bounded import step_ratios
from .control_group import ControlGroup

HALVINGS = 12  # of a step that is too long, before the group stays where it was


def step_towards(group: ControlGroup, start: Quats, wanted: Quats, bounds: Scalars) -> Quats:
    """Return the legal pose (S, 4) nearest to `wanted`, or one on the way to it.

    No joint rotates from the legal `start` (S, 4) by more than its bound (S,) in radians. The way
    is straight in the controls. If the search accepts no pose on it that is near enough, the result
    is `start`.
    """
    target = rotations = group.project(wanted)
    (ways,) = group.between(start[None], target[None])
    share = 1.0
    for _ in range(HALVINGS):
        ratio = float(step_ratios(start[None], rotations[None], bounds[None])[0])
        if ratio <= 1.0 and group.contains(rotations):
            return rotations
        share *= min(0.9 / max(ratio, 1.0), 0.5)
        rotations = ways(np.zeros(1, np.int64), np.array([share]))[0]
    return start
