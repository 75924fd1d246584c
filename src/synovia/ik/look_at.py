"""look_at: turn spine, neck and head towards a target, each by its share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels, quat
from ..arrays import Floats, Quats, Vectors, floats
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .descent import Batch, begun, ended, press_on
from .goals import Aim
from .lines import line_to, part_of
from .problem import Problem, pack
from .settings import TOLERANCE, Settings
from .solution import Solution

ROUNDS = 8
"""How often all joints are asked; after the first, only for what limits have kept back."""
MOST = 60  # steps that share out what is left after that


def look_at(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    target: Vectors,
    joints: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    axis: Vectors | None = None,
    point: Vectors | None = None,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> Solution:
    """Return a legal pose in which `axis` of the last of `joints` points at `target` (..., 3).

    The axis, z unless given, and the `point` it starts from are in that joint's frame. From the
    first joint to the last, each takes its share of the turn, by `weights` (alike unless given);
    what its limit does not allow, those after it take up, and then those before. Leading axes of
    pose and target are problems of their own; the tolerance is that of `solve`.
    """
    if isinstance(joints, str) or len(joints) == 0:
        raise ValueError(f"joints must be a list of names, at least one, got {joints!r}")
    settings = Settings(0, MOST, 0.7, tolerance, threads)
    shares = _shares(weights, len(joints))
    goal = Aim(
        joints[-1],
        target,
        np.array([0.0, 0.0, 1.0]) if axis is None else axis,
        np.zeros(3) if point is None else point,
    )
    numbers = [skeleton.index(name) for name in joints]
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError(f"joints must go from the body to the head, got {', '.join(joints)}")
    problem = pack(model, skeleton, pose, [goal], joints)
    missing = set(numbers) - set(problem.chain.movers.tolist())
    if missing:
        aside = ", ".join(skeleton.names[j] for j in sorted(missing))
        raise ValueError(f"joints must be on the way to {joints[-1]}, got {aside} beside it")
    batch = begun(problem)
    for _ in range(ROUNDS):
        for joint, share in zip(numbers, shares, strict=True):
            _turn(problem, batch, goal, joint, share)
        batch.steps += 1
        angle = np.linalg.norm(_way_to_turn(problem, batch, goal)[0], axis=-1)
        batch.met = np.asarray(kernels.ik_goals.TURN_SHARE * angle <= tolerance)
        if batch.met.all():
            break
    batch.left = (kernels.ik_goals.TURN_SHARE * angle) ** 2
    press_on(problem, batch, settings)
    return ended(problem, batch, settings, pose.rotations.dtype)


def _shares(weights: ArrayLike | None, count: int) -> Floats:
    """Return the part of what is still to be turned that each joint is asked for; 1 at last."""
    given = np.ones(count) if weights is None else floats("weights", weights)
    if given.shape != (count,) or (given < 0.0).any() or not given[-1] > 0.0:
        raise ValueError(
            f"weights must be {count} numbers of at least 0, one for each joint, the last above 0, "
            f"got {weights!r:.80}"
        )
    return np.asarray(given / np.cumsum(given[::-1])[::-1])


def _way_to_turn(problem: Problem, batch: Batch, goal: Aim) -> tuple[Vectors, Quats]:
    """Return the turns (n, 3) in the world, as vectors, that bring the axis to the target.

    Beside them, the rotations in the world of the joints on the way to the head, (n, joints, 4).
    """
    skeleton = problem.model.skeleton
    line = line_to(skeleton, skeleton.index(goal.joint))[::-1]
    pose = Pose(batch.rotations[:, line], batch.positions[:, line])
    where, how = forward(part_of(skeleton, line), pose)
    along = quat.rotate(how[:, -1], goal.axis)
    way = batch.targets[:, 0, :3] - where[:, -1] - quat.rotate(how[:, -1], goal.point)
    far = np.linalg.norm(way, axis=-1, keepdims=True)
    way = np.where(far > 1e-12, way / np.maximum(far, 1e-12), along)
    return quat.log(quat.between(along, way)), how


def _turn(problem: Problem, batch: Batch, goal: Aim, joint: int, share: float) -> None:
    """Turn one joint by a share of what is left, as far as its limit lets it."""
    model = problem.model
    way, how = _way_to_turn(problem, batch, goal)
    place = len(line_to(model.skeleton, joint)) - 1
    own = quat.rotate(quat.inverse(how[:, place]), share * way)  # as the joint itself sees it
    turned = quat.normalize(quat.mul(batch.rotations[:, joint], quat.exp(own)))
    limit = model.limits.get(model.skeleton.names[joint])
    batch.rotations[:, joint] = turned if limit is None else limit.project(turned)
