"""Joints within cones: what is outside moves, towards rest or to the nearest, and its twist."""

from __future__ import annotations

import numpy as np
import pytest

from cones import nearest_by_edges
from joints import random_matrices, round_cone, turn
from synovia import DirectionTwist, Limit, quat
from synovia.components import JointCone

Z = np.array([0.0, 0.0, 1.0])
AXIS = np.array([0.3, -0.2, 1.0]) / np.linalg.norm([0.3, -0.2, 1.0])


@pytest.mark.parametrize("towards", ["rest", "nearest"])
def test_a_cone_moves_what_is_outside_and_nothing_else(towards, rng):
    cone, center = round_cone(), rng.normal(size=(500, 3))
    joint = JointCone(cone, AXIS, towards=towards)
    limit = Limit(DirectionTwist(axis=AXIS), cone)
    given = random_matrices((500,), rng, 0.6)
    found = joint(matrix=given, center=center)["matrix"]
    before, after = (quat.from_matrix(each[:, :3, :3]) for each in (given, found))
    legal = limit.contains(before)
    assert 50 < legal.sum() < 450
    np.testing.assert_array_equal(found[legal], given[legal])
    assert limit.distance(after).max() < 1e-9
    held = np.concatenate([center, np.ones((500, 1))], axis=1)[..., None]
    np.testing.assert_allclose(found @ held, given @ held, atol=1e-12)
    points = limit.chart.points(before)
    if towards == "rest":
        outside = ~cone.contains_direction(points[:, :3])
        ways = np.cross(points[outside, :3], AXIS)
        points[outside, :3] = after_directions = limit.chart.points(after)[outside, :3]
        assert nearest_by_edges(cone, points[outside, :3])[0].max() < 1e-9
        assert np.abs(np.sum(ways * after_directions, axis=1)).max() < 1e-9
    moved = cone.project(points)
    assert quat.angle_between(after, limit.chart.rotations(moved)).max() < 1e-9


def test_the_twist_of_a_cone_adds_up_and_is_limited():
    joint = JointCone(round_cone(), Z)
    given = turn([1.0, 0.0, 0.0], 0.3)
    found = joint(matrix=given, twist=[-9.0, -0.2, 0.4, 0.9])
    np.testing.assert_allclose(found["twist"][1:], [-0.2, 0.4, 0.7], atol=1e-12)
    np.testing.assert_allclose(found["matrix"][2], given @ turn(Z, 0.4), atol=1e-12)


def test_the_new_angles_make_the_new_matrix(rng):
    axes = np.array([[1.0, 0.2, 0.1], [-0.1, 1.0, 0.0]])
    joint = JointCone(round_cone(), AXIS, axes=axes)
    found = joint(matrix=random_matrices((100,), rng))
    for k in range(100):
        angles = (found["first"][k], found["second"][k], found["twist"][k])
        turns = [turn(a, t) for a, t in zip((*axes, AXIS), angles, strict=True)]
        made = turns[0] @ turns[1] @ turns[2]
        np.testing.assert_allclose(made[:3, :3], found["matrix"][k, :3, :3], atol=1e-9)


def test_bad_cones_are_refused():
    with pytest.raises(ValueError, match="rest must be a legal direction"):
        JointCone(round_cone(), -Z)
    for out in (0.79, 0.81):  # the cone is 0.8 wide at its points, less between them
        beside = [np.sin(out), 0.0, np.cos(out)]
        if out < 0.8:
            JointCone(round_cone(), beside)
        else:
            with pytest.raises(ValueError, match="rest must be a legal direction"):
                JointCone(round_cone(), beside)
    with pytest.raises(ValueError, match="rest must not be zero"):
        JointCone(round_cone(), np.zeros(3))
    with pytest.raises(ValueError, match="towards must be one of rest, nearest"):
        JointCone(round_cone(), Z, towards="home")
    with pytest.raises(ValueError, match="sense must be 1 or -1"):
        JointCone(round_cone(), Z, sense=0.0)
    with pytest.raises(ValueError, match="must be a ReachCone"):
        JointCone("cone", Z)
