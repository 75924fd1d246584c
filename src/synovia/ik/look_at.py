"""look_at: spine, neck and head share a rotation towards a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..arrays import Floats, Vectors, floats
from ..model import LimitModel
from ..skeleton import Pose, Skeleton
from .controls import solve_groups
from .goals import Aim
from .problem import pack
from .search import GOAL_TOLERANCE, SearchSettings, descend_unmet
from .solution import Solution
from .solve import JointVariables, run_in_threads

ROUNDS = 8  # sweeps over all joints; later ones distribute what limits did not allow


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
    tolerance: float = GOAL_TOLERANCE,
    threads: int | None = None,
) -> Solution:
    """Return a legal pose in which `axis` of the last of `joints` points at `target`.

    From the first joint to the last, each takes its share of the rotation. What its limit does not
    allow, the joints after it take over, and then those before.

    Parameters
    ----------
    model
        The limits; joints without one rotate freely.
    skeleton
        The skeleton of the pose.
    pose
        The start. Its leading axes, and the target's, are independent problems.
    target
        A position (..., 3) in the world.
    joints
        Joints that rotate, from the body to the head.
    weights
        Relative shares of the joints; equal unless given. For groups of a figure it only counts
        which are above 0.
    axis
        Direction (3,) in the frame of the last joint; z unless given.
    point
        Origin (3,) of the axis in the same frame, such as the eyes; the joint unless given.
    tolerance, threads
        As for `SearchSettings`.

    Returns
    -------
    Solution
        The pose, its error, and the limits that block.

    Examples
    --------
    >>> from synovia import LimitModel, Skeleton
    >>> from synovia.ik import look_at
    >>> names, offsets = ("Chest", "Neck", "Head"), [[0, 1, 0], [0, 0.4, 0], [0, 0.1, 0]]
    >>> neck = Skeleton(names, [-1, 0, 1], offsets)
    >>> free = LimitModel({}, neck)
    >>> solution = look_at(free, neck, neck.rest_pose(), [1.0, 1.5, 1.0], ["Neck", "Head"])
    >>> bool(solution.converged)
    True
    """
    if isinstance(joints, str) or len(joints) == 0:
        raise ValueError(f"joints must be a list of names, at least one, got {joints!r}")
    settings = SearchSettings(tolerance=tolerance, threads=threads)
    values = _weights(weights, len(joints))
    goal = Aim(
        joints[-1],
        target,
        np.array([0.0, 0.0, 1.0]) if axis is None else axis,
        np.zeros(3) if point is None else point,
    )
    indices = [skeleton.index(name) for name in joints]
    if any(a >= b for a, b in pairwise(indices)):
        raise ValueError(f"joints must go from the body to the head, got {', '.join(joints)}")
    fitted = model.for_skeleton(skeleton)
    if fitted.groups:
        settings = replace(settings, restarts=0)
        moving = [name for name, weight in zip(joints, values, strict=True) if weight > 0.0]
        return solve_groups(fitted, pose, [goal], moving, settings=settings)
    problem = pack(model, skeleton, pose, [goal], joints)
    missing = set(indices) - set(problem.movers)
    if missing:
        aside = ", ".join(skeleton.names[j] for j in sorted(missing))
        raise ValueError(f"joints must be on the way to {joints[-1]}, got {aside} beside it")
    variables = JointVariables(problem, settings)
    shares = values / np.cumsum(values[::-1])[::-1]  # of the remaining rotation; 1 for the last
    batch, packed = variables.start(), np.array([ROUNDS, tolerance, *shares])
    run_in_threads(
        *(len(batch.targets), threads),
        lambda rows: kernels.ik_descent.look_each(problem.chain, packed, batch.rows(rows)),
    )
    descend_unmet(variables, batch, settings)
    return variables.finish(batch)


def _weights(weights: ArrayLike | None, count: int) -> Floats:
    """Return the checked weights (count,), 1 unless given."""
    values = np.ones(count) if weights is None else floats("weights", weights)
    if values.shape != (count,) or (values < 0.0).any() or not values[-1] > 0.0:
        raise ValueError(
            f"weights must be {count} numbers of at least 0, one for each joint, the last above 0, "
            f"got {weights!r:.80}"
        )
    return values
