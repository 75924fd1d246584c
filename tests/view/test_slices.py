"""The slice of a cone that the bone is in, beside a plain look at every slice."""

from __future__ import annotations

import numpy as np
import pytest

from cones import CONES, angle_between, inside_by_slices
from synovia import DirectionTwist, Limit, Union, quat
from synovia.shapes import Box, Directional
from synovia.view.slices import slice_of

REFERENCE = quat.exp(np.array([0.3, -0.2, 0.5]))


def limit(shape):
    return Limit(DirectionTwist(REFERENCE, getattr(shape, "visible", [0.0, 0.0, 1.0])), shape)


@pytest.mark.parametrize("name", ["three", "concave", "long edge", "past π", "many"])
def test_the_outline_is_the_triangle_of_the_slice_around_the_direction(name, rng):
    cone = CONES[name]()
    for direction in cone.scatter(20, rng)[:, :3]:
        found = slice_of(limit(cone), direction)
        corners = [np.abs(found.outline - each).sum(axis=1).min() for each in cone.points]
        first, second = np.argsort(corners)[:2]
        assert sorted([abs(first - second), len(cone.points) - abs(first - second)])[0] == 1
        assert max(corners[first], corners[second]) < 1e-12
        np.testing.assert_allclose(found.outline[0], cone.visible)
        gaps = angle_between(found.outline, np.roll(found.outline, -1, axis=0))
        assert gaps.max() < np.radians(2.01)
        ends = cone.points[[first, second]]
        shares = np.linalg.solve(np.stack([cone.visible, *ends], axis=1), direction)
        assert shares.min() > -1e-9
        low, high = inside_by_slices(cone, direction[None])[1][0]
        np.testing.assert_allclose([found.low, found.high], [low, high], atol=1e-9)


def test_of_a_union_it_is_the_part_that_holds_the_direction():
    parts = CONES["three"](), CONES["convex"]()
    both = Limit(DirectionTwist(REFERENCE, parts[1].visible), Union(parts))
    for part in parts:
        outline = slice_of(both, part.visible).outline
        assert min(np.abs(outline[0] - each.visible).max() for each in parts) < 1e-12


def test_there_is_none_outside_and_none_of_other_families():
    cone = CONES["convex"]()
    assert slice_of(limit(cone), -cone.visible) is None
    box = Limit.fit(np.tile(REFERENCE, (3, 1)), "box")
    assert isinstance(box.shape, Box)
    assert not isinstance(box.shape, Directional)
    assert slice_of(box, np.array([0.0, 0.0, 1.0])) is None


def test_a_direction_is_three_numbers():
    with pytest.raises(ValueError, match="direction"):
        slice_of(limit(CONES["convex"]()), np.zeros((2, 3)))
