"""Where a limit is said to be far, it is: no turn within the clearance leaves it."""

from __future__ import annotations

import numpy as np
import pytest

from arms import FAMILIES, arm, of_family
from oracles import random_quats
from synovia import kernels, quat
from synovia.charts import RotationVector, SwingTwist
from synovia.kernels.vector import Quat
from synovia.limit import Limit
from synovia.model import LimitModel, pack_limits
from synovia.shapes import Box


def boxes():
    """The arm, with boxes as wide as can be met with."""
    wide = Box([-1.8, -1.5, -2.0], [1.8, 1.2, 2.5], np.eye(3))
    limits = {"Shoulder": Limit(RotationVector(), wide), "Elbow": Limit(SwingTwist(), wide)}
    return LimitModel(limits, arm().skeleton)


def clearance(model, k, rotation):
    """How far around a legal rotation all is said to be legal, for the k-th limit."""
    offsets, packed = pack_limits([limit.stand_in for limit in model.limits.values()])
    given = Quat(*rotation)
    _, moved, angle = kernels.ik_goals.nearest_and_clearance(packed, offsets[k], 1e-9, given)
    assert not moved
    return angle


@pytest.mark.parametrize("name", [*FAMILIES, "arm", "boxes"])
def test_no_turn_within_the_clearance_is_illegal(name):
    made = {"arm": arm, "boxes": boxes}
    model = made[name]() if name in made else of_family(name)
    rng, seen = np.random.default_rng(5), 0
    for k, limit in enumerate(model.limits.values()):
        for rotation in limit.sample(25, rng):
            angle = clearance(model, k, rotation)
            turns = quat.log(random_quats(40, rng))
            turns *= angle / np.linalg.norm(turns, axis=-1, keepdims=True)
            assert limit.contains(quat.mul(rotation, quat.exp(turns))).all()
            seen += angle > 0.01
    assert seen > 5
