"""Where OpenSim puts a body; without OpenSim the tests here skip."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its wrappers, on import
    opensim = pytest.importorskip(
        "opensim", reason="OpenSim is not installed here: `make test-opensim` brings it"
    )
opensim.Logger.setLevelString("error")


def ground_transforms(model, joint, body, coordinates):
    """Return the body's transforms (n, 4, 4) in ground, for coordinates (n, k) of its joint."""
    state = model.initSystem()
    out = np.zeros((len(coordinates), 4, 4))
    out[:, 3, 3] = 1.0
    for values, matrix in zip(np.asarray(coordinates), out, strict=True):
        for number, value in enumerate(values):
            joint.get_coordinates(number).setValue(state, float(value), False)
        model.realizePosition(state)
        there = body.getTransformInGround(state)
        turn, place = there.R(), there.p()
        for row in range(3):
            matrix[row] = [*(turn.get(row, column) for column in range(3)), place.get(row)]
    return out
