"""The share of all rotations that a picture tells: a draft's is nearly that of the fine one."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import Limit, quat
from synovia.mesh import DRAFT, FINE, share_of, sheet_and_boundary

AXIS = np.array([0.0, 0.6, 0.8])
CASES = (
    ("box", "rotation-vector", {}),
    ("box", "rotation-vector", {"margin": 1.2}),
    ("box", "rotation-vector", {"reference": quat.exp([0.5, 0.5, 2.5])}),
    ("kdop", "swing-twist", {}),
    ("kdop", "swing-twist", {"reference": quat.exp([0.5, 1.5, 0.5])}),
    ("kdop", "rotation-vector", {"margin": 0.8}),
    ("reach-cone", "direction-twist", {}),
    ("union", "direction-twist", {}),
    ("theta-phi", "direction-twist", {}),
    ("theta-phi", "direction-twist", {"margin": 0.0}),
    ("distance-field", "rotation-vector", {}),
    ("distance-field", "euler", {}),
    ("distance-field", "rotation-vector", {"margin": 2.0}),
)


@pytest.mark.parametrize(("family", "chart", "options"), CASES)
def test_a_draft_tells_nearly_the_share_of_the_limit(family, chart, options, rng):
    spread = rng.normal(size=(300, 3)) * [0.5, 0.3, 0.2]
    axis = AXIS if chart in ("swing-twist", "direction-twist") else None
    rotations = quat.mul(quat.exp([0.3, -0.2, 0.5]), quat.exp(spread))
    limit = Limit.fit(rotations, family, chart, axis=axis, **options)
    drawn = sheet_and_boundary(limit, AXIS, DRAFT)
    share = limit.volume()
    assert share_of(limit, *drawn, DRAFT) == pytest.approx(share, rel=0.03)
    assert share_of(limit, *drawn, FINE) == pytest.approx(share, rel=0.03)
