"""Limits fitted to rotations: the defaults, what may be given, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import random_quats
from synovia import quat
from synovia.charts import CHARTS, RotationVector, SwingTwist
from synovia.limit import Limit, chart_named, shape_named
from synovia.shapes import SHAPES, Box, KDop

EYE = np.eye(3)


def test_the_reference_may_be_given(rng):
    reference = random_quats(1, rng)[0]
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    assert np.array_equal(Limit.fit(rotations, reference=reference).chart.reference, reference)


def test_names_and_classes_are_the_same(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    for shape in SHAPES.values():
        for name in shape.charts:
            by_name = Limit.fit(rotations, shape.name, name)
            by_class = Limit.fit(rotations, shape, CHARTS[name])
            assert type(by_class.shape) is type(by_name.shape) is shape
            assert type(by_class.chart) is type(by_name.chart) is CHARTS[name]
            assert np.array_equal(by_class.project(-rotations), by_name.project(-rotations))


def test_defaults_are_a_kdop_in_rotation_vectors_with_a_margin(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    limit = Limit.fit(rotations)
    assert isinstance(limit.shape, KDop)
    assert isinstance(limit.chart, RotationVector)
    assert limit.distance(rotations).max() == pytest.approx(-0.05)


def test_the_bone_s_axis_goes_to_the_chart(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    limit = Limit.fit(rotations, "product", "swing-twist", axis=[0.0, 2.0, 0.0], swing="box")
    assert limit.chart.axis.tolist() == [0.0, 1.0, 0.0]
    assert isinstance(limit.shape.swing, Box)


def test_unknown_names_are_answered_with_the_known_ones(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    with pytest.raises(ValueError, match=r"shape must be one of box, ellipsoid, kdop.*got 'cube'"):
        Limit.fit(rotations, "cube")
    with pytest.raises(
        ValueError, match=r"chart must be one of rotation-vector, swing-twist.*'polar'"
    ):
        Limit.fit(rotations, "box", "polar")
    with pytest.raises(ValueError, match="shape must be one of"):
        shape_named(dict)
    with pytest.raises(ValueError, match="chart must be one of"):
        chart_named(dict, quat.IDENTITY, None)


def test_a_limit_refuses_what_does_not_go_together(rng):
    with pytest.raises(
        ValueError, match="a product works in swing-twist, got the chart rotation-v"
    ):
        Limit.fit(quat.exp(0.2 * rng.normal(size=(50, 3))), "product", "rotation-vector")
    plane = Box(np.zeros(2), np.ones(2), np.eye(2))
    with pytest.raises(ValueError, match="a limit needs a shape of space, got one of 2-D"):
        Limit(RotationVector(), plane)


def test_a_swing_that_reaches_the_opposite_direction_warns():
    wide = Box([-3.2, -0.1, -0.1], [0.1, 0.1, 0.1], EYE)
    with pytest.warns(UserWarning, match="contains the direction opposite the bone's axis"):
        Limit(SwingTwist(), wide)
    Limit(RotationVector(), wide)
    Limit(SwingTwist(), Box([-3.0, -0.1, -9.0], [0.1, 0.1, 9.0], EYE))


@pytest.mark.parametrize("empty", [np.zeros((0, 4)), [], [np.zeros((0, 4))]])
def test_a_fit_needs_rotations(empty):
    with pytest.raises(ValueError, match="at least one rotation"):
        Limit.fit(empty)


def test_paths_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"path in time, got shape \(2, 1, 4\)"):
        Limit.fit(np.tile(quat.IDENTITY, (2, 1, 1)))
    with pytest.raises(ValueError, match=r"rotations must have shape \(..., 4\), got \(5, 3\)"):
        Limit.fit(np.zeros((5, 3)))


def test_what_a_fit_cannot_take_is_refused_by_name():
    samples = quat.exp(np.random.default_rng(0).normal(size=(20, 3)) * 0.2)
    with pytest.raises(ValueError, match="box cannot be fitted with by"):
        Limit.fit(samples, "box", by="volume")
    with pytest.raises(ValueError, match="product cannot be fitted with swing, by"):
        Limit.fit(samples, "product", "swing-twist", swing="box", by="volume")
    with pytest.raises(ValueError, match="rotation-vector has no axis"):
        Limit.fit(samples, axis=[1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="a list with one of shape"):
        Limit.fit([[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]])
    with pytest.raises(ValueError, match="n must be at least 0"):
        Limit.fit(samples).sample(-1, np.random.default_rng(0))
