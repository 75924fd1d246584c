"""Spine, neck and head turn towards a target, each by its share and within its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import random_quats
from synovia import quat
from synovia.charts import SwingTwist
from synovia.ik import look_at
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import Box
from synovia.skeleton import Pose, Skeleton, forward

NAMES = ("Spine", "Neck", "Head")
BODY = Skeleton(("Hips", *NAMES, "Arm"), [-1, 0, 1, 2, 1], [[0, 1, 0]] + [[0, 0.2, 0]] * 4)
UP = np.array([0.0, 1.0, 0.0])


def turning(**most):
    """Joints that turn about the vertical alone, so far at most."""
    return LimitModel(
        {
            name: Limit(SwingTwist(axis=UP), Box([0, 0, -angle], [0, 0, angle], np.eye(3)))
            for name, angle in most.items()
        },
        BODY,
    )


def target(angle):
    """At the height of the eyes, so far to the left, in radians."""
    return np.array([4.0 * np.sin(angle), 1.6, 4.0 * np.cos(angle)])


def angles(found):
    return quat.log(found.pose.rotations)[..., 1:4, 1]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ((0.1, 2.0, 2.0), [0.1, 0.4, 0.4]),  # what the spine cannot give, neck and head share
        ((2.0, 0.1, 2.0), [0.3, 0.1, 0.5]),  # what the neck cannot, the head takes up
        ((0.1, 0.2, 2.0), [0.1, 0.2, 0.6]),
        ((0.3, 0.3, 0.3), [0.3, 0.3, 0.3]),
    ],
)
def test_what_one_cannot_give_the_next_takes_up(ranges, expected):
    model = turning(**dict(zip(NAMES, ranges, strict=True)))
    found = look_at(model, BODY, BODY.rest_pose(), target(0.9), NAMES)
    assert found.converged
    assert model.contains(found.pose)
    np.testing.assert_allclose(angles(found), expected, atol=2e-3)


def test_a_look_too_far_back_says_who_holds_it():
    model = turning(Spine=0.2, Neck=0.3, Head=0.4)
    found = look_at(model, BODY, BODY.rest_pose(), target(1.5), NAMES)
    assert not found.converged
    np.testing.assert_allclose(angles(found), [0.2, 0.3, 0.4], atol=1e-6)
    assert found.errors[0] == pytest.approx(0.6, abs=1e-3)
    assert set(found.blocking()) == set(NAMES)
    np.testing.assert_allclose(list(found.blocking().values()), 0.6, atol=1e-2)
    assert "Head is 34.4 degrees off its target: held by the limit of" in found.reason()


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_look_is_legal_and_straight_where_it_can_be(seed):
    rng = np.random.default_rng(seed)
    limits = {n: Limit.fit(quat.exp(rng.normal(scale=0.4, size=(100, 3))), "kdop") for n in NAMES}
    model = LimitModel(limits, BODY)
    start = Pose(random_quats(5, rng), BODY.offsets)
    points = rng.normal(scale=3.0, size=(6, 3))
    found = look_at(model, BODY, start, points, NAMES, axis=[0, 0.1, 1], point=[0, 0.1, 0.1])
    assert model.contains(found.pose).all()
    where, how = forward(BODY, found.pose)
    axis = quat.rotate(how[:, 3], np.array([0, 0.1, 1]) / np.sqrt(1.01))
    way = points - where[:, 3] - quat.rotate(how[:, 3], np.array([0, 0.1, 0.1]))
    off = np.arccos(np.clip(np.sum(axis * way, axis=1) / np.linalg.norm(way, axis=1), -1, 1))
    np.testing.assert_allclose(found.errors[:, 0], off, atol=1e-6)
    assert (found.converged == (0.3 * off <= 2e-4 + 1e-9)).all()
    assert (found.pose.rotations[:, [0, 4]] == start.rotations[[0, 4]]).all()


def turned_by_numpy(model, start, point, axis, eyes, shares):
    """Return the rotations after at most eight rounds, the rounds taken, and the angle left."""
    rotations, numbers = model.project(start).rotations.copy(), (1, 2, 3)

    def remaining():
        where, how = forward(BODY, Pose(rotations, start.positions))
        along = quat.rotate(how[3], axis)
        return quat.log(quat.between(along, point - where[3] - quat.rotate(how[3], eyes))), how

    rounds, angle = 0, np.pi
    while rounds < 8 and 0.3 * angle > 2e-4:
        rounds += 1
        for joint, share in zip(numbers, shares, strict=True):
            way, how = remaining()
            own = quat.rotate(quat.inverse(how[joint]), share * way)
            turned = quat.normalize(quat.mul(rotations[joint], quat.exp(own)))
            rotations[joint] = model.limits[BODY.names[joint]].project(turned)
        angle = np.linalg.norm(remaining()[0])
    return rotations, rounds, angle


@pytest.mark.parametrize("seed", range(4))
def test_rounds_are_those_of_numpy_and_what_follows_comes_nearer(seed):
    rng = np.random.default_rng(seed)
    limits = {n: Limit.fit(quat.exp(rng.normal(scale=0.5, size=(100, 3))), "kdop") for n in NAMES}
    model, axis = LimitModel(limits, BODY), np.array([0.0, 0.6, 0.8])
    starts = Pose(random_quats(60, rng).reshape(12, 5, 4), np.tile(BODY.offsets, (12, 1, 1)))
    points, eyes = rng.normal(scale=3.0, size=(12, 3)), np.array([0.0, 0.1, 0.1])
    found = look_at(model, BODY, starts, points, NAMES, weights=[1, 2, 3], axis=axis, point=eyes)
    same = 0
    for k in range(12):
        start = Pose(starts.rotations[k], starts.positions[k])
        shares = [1 / 6, 2 / 5, 1.0]
        wanted, rounds, angle = turned_by_numpy(model, start, points[k], axis, eyes, shares)
        if 0.3 * angle <= 2e-4:
            np.testing.assert_allclose(found.pose.rotations[k], wanted, atol=1e-9)
            assert found.iterations[k] == rounds
            same += 1
        else:
            assert found.errors[k, 0] <= angle + 1e-9
    assert same > 2


def test_an_axis_that_points_straight_back_turns_round():
    free = LimitModel({}, BODY)
    found = look_at(free, BODY, BODY.rest_pose(), [0.0, 1.6, -2.0], NAMES)
    assert found.converged
    at_the_eyes = look_at(free, BODY, BODY.rest_pose(), [0.0, 1.6, 0.0], NAMES)
    assert at_the_eyes.converged
    np.testing.assert_array_equal(at_the_eyes.pose.rotations, BODY.rest_pose().rotations)


@pytest.mark.parametrize(
    ("joints", "options", "said"),
    [
        (("Spine", "Brain"), {}, "no joint 'Brain'"),
        ((), {}, "joints must be a list of names"),
        ("Head", {}, "joints must be a list of names"),
        (("Head", "Neck"), {}, "joints must go from the body to the head"),
        (("Head", "Arm"), {}, "must be on the way to Arm, got Head beside it"),
        (NAMES, {"weights": [1, 2]}, "weights must be 3 numbers"),
        (NAMES, {"weights": [1, -2, 1]}, "weights must be 3 numbers"),
        (NAMES, {"weights": [1, 1, np.nan]}, "weights must be finite"),
        (NAMES, {"axis": [0, 0, 0]}, "Aim.axis must have a direction"),
    ],
)
def test_look_at_says_what_is_wrong(joints, options, said):
    with pytest.raises(ValueError, match=said):
        look_at(turning(), BODY, BODY.rest_pose(), target(0.5), joints, **options)
