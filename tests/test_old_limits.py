"""Limits files of version 1: margins in shapes, and dependent margins that were narrower."""

from __future__ import annotations

import json

import numpy as np
import pytest

from oracles import random_quats
from synovia import Box, DirectionTwist, Limit, LimitModel, RotationVector, quat
from synovia.io import load_limits, save_limits
from synovia.shapes import Offset
from synovia.skeleton import Skeleton
from tables import table

AXIS = np.array([0.0, 1.0, 0.0])
SKELETON = Skeleton(("Hips", "Leg"), [-1, 0], np.zeros((2, 3)))
BOX = Box([-0.5, -0.4, -0.3], [0.5, 0.4, 0.3], np.eye(3))


def load_old(limit: Limit, tmp_path, change) -> LimitModel:
    """Save a limit, make it a file of version 1 with what `change` does to it, and load that."""
    path = tmp_path / "old.limits.json"
    save_limits(LimitModel({"Leg": limit}, SKELETON), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["version"] = 1
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return load_limits(path)


def test_an_offset_becomes_a_margin(tmp_path, rng):
    limit = Limit(RotationVector(), Offset(BOX, 0.1))
    found = load_old(limit, tmp_path, lambda document: None).limits["Leg"]
    assert (found.shape.name, found.margin) == ("box", 0.1)
    rotations = random_quats(5000, rng)
    legal = limit.contains(rotations)
    assert 0 < legal.sum() < len(legal)
    np.testing.assert_array_equal(found.contains(rotations), legal)


def test_the_margin_of_a_table_becomes_the_limits(tmp_path):
    limit = Limit(DirectionTwist(axis=AXIS), table("blob"))

    def give_margin(document):
        document["limits"]["Leg"]["shape"]["margin"] = 0.1

    found = load_old(limit, tmp_path, give_margin).limits["Leg"]
    assert found.margin == 0.1
    wide = limit.shape.high - limit.shape.low > 0.2
    legal = limit.shape.legal & wide
    assert legal.any()
    np.testing.assert_allclose(found.shape.high[legal], limit.shape.high[legal] - 0.1)
    np.testing.assert_allclose(found.shape.low[legal], limit.shape.low[legal] + 0.1)


def test_a_dependent_margin_says_what_it_loses(tmp_path, rng):
    limit, narrower = Limit(RotationVector(), BOX), np.linspace(0.0, 0.2, 6)

    def depend(document):
        document["dependents"] = {
            "Leg": {
                "type": "margin",
                "driver": "Hips",
                "axis": AXIS.tolist(),
                "margin": narrower.tolist(),
            }
        }

    with pytest.warns(UserWarning, match=r"Leg: its limit depends on Hips .* loses \d+\.\d%"):
        model = load_old(limit, tmp_path, depend)
    each = model.dependents["Leg"]
    assert model.limits["Leg"] is each.limit
    np.testing.assert_allclose(each.margin, 0.2 - narrower)
    rotations = random_quats(5000, rng)
    for k, wide in ((0, 0.0), (5, 0.2)):
        legal = each.contains(rotations, quat.between(AXIS, each.nodes[k]))
        assert legal.any()
        assert (limit.distance(rotations[legal]) <= -wide + 1e-9).all()
