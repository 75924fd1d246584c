"""A little bend for limbs that are stretched, whose ends no small turn brings nearer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Quats
from ..ik.lines import line_to
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose

BEND = np.radians(3.0)
SAMPLES = 64


def bent(model: LimitModel, pose: Pose, ends: Iterable[str], joints: Collection[str]) -> Pose:
    """Return the pose, those of `joints` from `ends` to the root turned a little into their limits.

    Joints that are measured from an ancestor stay as they are.
    """
    skeleton, rotations = model.skeleton, np.array(pose.rotations)
    for joint in {above for end in ends for above in line_to(skeleton, skeleton.index(end))}:
        limit = model.limits.get(skeleton.names[joint])
        if skeleton.names[joint] in joints and limit is not None and limit.relative_to is None:
            rotations[joint] = _towards(rotations[joint], _middle(limit))
    return pose.turned(rotations)


def _towards(start: Quats, end: Quats) -> Quats:
    way = quat.log(quat.mul(quat.inverse(start), end))
    share = BEND / max(float(np.linalg.norm(way)), BEND)
    return quat.normalize(quat.mul(start, quat.exp(share * way)))


@lru_cache(maxsize=256)
def _middle(limit: Limit) -> Quats:
    """Return a rotation in the middle of what is allowed, more or less."""
    some = limit.sample(SAMPLES, np.random.default_rng(0))
    toward = np.einsum("ni,nj->ij", some, some)  # whose main direction is their mean, q or -q
    return np.asarray(np.linalg.eigh(toward)[1][:, -1])
