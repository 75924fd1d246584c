"""track: follow moving targets from frame to frame, without jumps."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import LimitModel
from ..skeleton import Pose, Skeleton
from .goals import Goal
from .settings import TOLERANCE
from .solution import Solution
from .solve import solve

STEPS = 4
"""Steps a frame."""


def track(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
    largest_turn: float = 0.14,
    tolerance: float = TOLERANCE,
) -> Solution:
    """Return the pose of the next frame: from that of the last, nearer to where the goals are now.

    As `solve`, but in four small steps from where the pose is, and from nowhere else: no joint is
    turned by more than `largest_turn` (radians), but for what its limit may add. So the pose lags
    behind a target that jumps, or that has to be met in quite another way, rather than to jump
    with it.
    """
    return solve(
        *(model, skeleton, pose, goals),
        joints=joints,
        pinned=pinned,
        free_root=free_root,
        restarts=0,
        iterations=STEPS,
        largest_step=largest_turn / STEPS,
        tolerance=tolerance,
    )
