"""Problem: pose, goals and limits as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Scalars
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, check_joints, forward
from .goals import Aim, Goal, Orient, Reach, Stay
from .held import for_skeleton, held
from .plan import Plan, plan_of


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch of problems with the same joints and the same kinds of goals."""

    model: LimitModel
    """The limits, by the names of the skeleton that is posed."""
    start: Pose
    """Legal, float64, with the problems' leading axes."""
    mended: Scalars
    """By how much it was turned to be legal: (..., joints)."""
    goals: tuple[Goal, ...]
    pins: int
    """How many of them, the last ones, are pins."""
    plan: Plan
    chain: Any
    """That of the plan, or one with other weights."""
    targets: Floats
    """(problems, all, 4)."""

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.start.rotations.shape[:-2]


def pack(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
) -> Problem:
    """Return the problem, after checks of all that came, with its start made legal."""
    check_joints(skeleton, pose)
    if isinstance(goals, (Reach, Aim, Orient, Stay)):
        goals = [goals]
    goals = list(goals)
    if not goals or not all(isinstance(goal, (Reach, Aim, Orient, Stay)) for goal in goals):
        raise ValueError(f"goals must be some of Reach, Aim, Orient and Stay, got {goals!r:.80}")
    fitted, joints = held(for_skeleton(model, skeleton), pose, joints, free_root)
    pins = pins_of(skeleton, pose, pinned, goals)
    asked = (*goals, *pins)
    start, mended = _legal_start(fitted, pose, asked)
    plan = plan_of(fitted, asked, joints, free_root)
    targets = np.zeros((*start.rotations.shape[:-2], len(plan.levels), 4))
    for goal, part, rows in zip(asked, plan.joints, plan.rows, strict=True):
        if isinstance(goal, Stay):
            targets[..., rows, :] = goal.pose.rotations[..., part, :]
        elif isinstance(goal, Orient):
            targets[..., rows, :] = goal.rotation[..., None, :]
        else:
            targets[..., rows, :3] = goal.target[..., None, :]
    targets = targets.reshape(-1, len(plan.levels), 4)
    return Problem(fitted, start, mended, asked, len(pins), plan, plan.chain, targets)


def pins_of(
    skeleton: Skeleton, pose: Pose, pinned: Sequence[str], goals: Sequence[Goal]
) -> list[Goal]:
    """Return goals that keep joints where the pose has them in the world, before all `goals`."""
    if isinstance(pinned, str):
        raise ValueError(f"pinned must be a list of names, got {pinned!r}")
    if not pinned:
        return []
    places, _ = forward(skeleton, pose)
    first = min((goal.priority for goal in goals if not isinstance(goal, Stay)), default=0) - 1
    return [Reach(n, places[..., skeleton.index(n), :], priority=first) for n in pinned]


def _legal_start(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> tuple[Pose, Scalars]:
    """Return the pose, repeated for each problem and legal, and by how much it had to turn."""
    shapes = [pose.rotations.shape[:-2]]
    for goal in goals:
        if isinstance(goal, Stay):
            check_joints(model.skeleton, goal.pose)
            shapes.append(goal.pose.rotations.shape[:-2])
        else:
            wanted = goal.rotation if isinstance(goal, Orient) else goal.target
            shapes.append(wanted.shape[:-1])
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"pose and targets must have leading axes that go together, got {shapes}"
        ) from None
    double = pose.rotations.dtype == pose.positions.dtype == np.float64
    given = pose if double else Pose(pose.rotations.astype(float), pose.positions.astype(float))
    legal = model.project(given)
    same = bool((legal.rotations == given.rotations).all())
    mended = np.zeros(given.rotations.shape[:-1]) if same else model.violation(given)
    count = len(model.skeleton)
    return (
        Pose(
            np.broadcast_to(legal.rotations, (*batch, count, 4)),
            np.broadcast_to(legal.positions, (*batch, count, 3)),
        ),
        np.broadcast_to(mended, (*batch, count)),
    )
