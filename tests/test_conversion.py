"""From one family to another: what is gained and lost is what uniform rotations say."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import cloud, fitted, placed, random_quats
from synovia import Box, Limit, RotationVector, quat
from synovia.shapes import SHAPES

AXIS = np.array([0.0, 0.6, 0.8])


@pytest.fixture
def limit():
    return Limit(placed("swing-twist"), fitted("ellipsoid", "tilted"))


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "union"])
def test_every_family_can_stand_for_another(limit, name, rng):
    conversion = limit.to(name)
    assert conversion.limit.shape.name == name
    assert np.array_equal(conversion.limit.chart.reference, limit.chart.reference)
    rotations = random_quats(100_000, rng)
    was, now = limit.contains(rotations), conversion.limit.contains(rotations)
    for told, share in (
        (conversion.gained, (now & ~was).mean()),
        (conversion.lost, (was & ~now).mean()),
    ):
        assert abs(told - share) < 5.0 * np.sqrt(max(share, 1e-4) / len(rotations))
    assert conversion.lost < 0.1 * limit.volume()
    assert conversion.gained < (limit.volume() if conversion.limit.compiled else 1.0)
    new = conversion.limit
    assert new.violation(rotations[was & ~now]).max(initial=0.0) < conversion.error + 0.05


def test_a_shape_that_is_there_already_is_found_again():
    box = Box([-0.5, -0.3, -0.9], [0.4, 0.6, 1.1], np.eye(3))
    limit = Limit(RotationVector(), box)
    conversion = limit.to("box", along="chart")
    assert np.allclose(conversion.limit.shape.bounds, box.bounds, atol=1e-9)
    assert conversion.gained == conversion.lost == conversion.error == 0.0


@pytest.mark.parametrize("name", ["reach-cone", "theta-phi", "union"])
def test_a_limit_of_the_family_stays_as_it_is(name):
    limit = Limit.fit(quat.exp(cloud("round")), name, axis=AXIS)
    same = limit.to(name)
    assert same.limit is limit
    assert same.gained == same.lost == same.error == 0.0
    other = limit.to(name, axis=np.array([1.0, 0.0, 0.0]))
    assert other.limit is not limit
    assert np.allclose(other.limit.chart.axis, [1.0, 0.0, 0.0])
    assert other.lost < 0.05 * limit.volume()


@pytest.mark.parametrize("name", ["kdop", "distance-field"])
def test_another_axis_is_another_chart(limit, name):
    conversion = limit.to(name, axis=AXIS[::-1])
    assert np.allclose(conversion.limit.chart.axis, AXIS[::-1])
    assert conversion.lost < 0.1 * limit.volume()
    assert conversion.gained < limit.volume()


def test_regions_beyond_half_a_turn_keep_their_cover():
    box = Box([-0.2, -0.2, 2.6], [0.2, 0.2, 3.8], np.eye(3))
    conversion = Limit(RotationVector(), box).to("kdop", along="chart")
    assert conversion.lost == 0.0
    assert conversion.gained < 1e-4


def test_the_chart_may_change_and_take_an_axis():
    limit = Limit.fit(quat.exp(cloud("round")), "ellipsoid", "rotation-vector")
    conversion = limit.to("product", axis=AXIS)
    assert conversion.limit.chart.name == "swing-twist"
    assert np.allclose(conversion.limit.chart.axis, AXIS)
    assert limit.to("box", "swing-twist").limit.chart.name == "swing-twist"


def test_what_cannot_be_is_refused(limit):
    with pytest.raises(ValueError, match="a product works in swing-twist, got the chart rotation"):
        limit.to("product", "rotation-vector")
    with pytest.raises(ValueError, match="shape must be one of"):
        limit.to("cube")
    for name in ("reach-cone", "distance-field"):
        with pytest.raises(ValueError, match=f"{name} cannot be made with vertexes"):
            limit.to(name, vertexes=5)
