"""Goals by priority, and pins: what comes first is met as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from arms import arm, legs
from synovia import quat
from synovia.ik import Aim, Orient, Reach, Stay, solve
from synovia.skeleton import Pose, forward

CHAIN = 0.9  # from the arm's shoulder to its hand


@pytest.fixture(scope="module")
def model():
    return arm()


@pytest.fixture(scope="module")
def places(model):
    where, how = forward(model.skeleton, model.sample(24, np.random.default_rng(3)))
    return where[:, -1], how


def test_of_contradictory_goals_the_first_is_met(model, places):
    a, b = places[0][:12], places[0][12:]
    rest = model.skeleton.rest_pose()
    for first, then in ((a, b), (b, a)):
        goals = [Reach("Hand", then, priority=7), Reach("Hand", first, priority=-1)]
        found = solve(model, model.skeleton, rest, goals)
        assert found.errors[:, 1].max() < 1e-3 * CHAIN
        apart = np.linalg.norm(first - then, axis=-1)
        np.testing.assert_allclose(found.errors[:, 0], apart, atol=2e-3 * CHAIN)
        assert model.contains(found.pose).all()
        assert not found.converged.any()


def test_a_later_goal_gets_what_earlier_ones_leave_open(model, places):
    """The place of the hand first; of all poses that have it, one that aims the elbow best."""
    where, _ = places
    rest = model.skeleton.rest_pose()
    target = np.array([0.3, 2.0, 0.4])
    first = Reach("Hand", where)
    alone = solve(model, model.skeleton, rest, [first])
    both = solve(
        *(model, model.skeleton, rest),
        [first, Aim("Elbow", target, axis=[0.0, 1.0, 0.0], weight=50.0, priority=1)],
    )
    assert both.errors[:, 0].max() <= max(alone.errors[:, 0].max(), 2e-4 * CHAIN) * 1.01
    where, how = forward(model.skeleton, alone.pose)
    along = quat.rotate(how[:, 2], np.array([0.0, 1.0, 0.0]))
    way = target - where[:, 2]
    cosine = np.sum(along * way, axis=-1) / np.linalg.norm(way, axis=-1)
    assert both.errors[:, 1].mean() < 0.8 * np.arccos(cosine).mean()


def test_a_later_goal_never_takes_from_one_that_cannot_be_met(model):
    far = Reach("Hand", [3.0, 1.5, 0.5])
    rest = model.skeleton.rest_pose()
    alone = solve(model, model.skeleton, rest, [far])
    pulled = solve(
        *(model, model.skeleton, rest), [far, Reach("Hand", [-1.0, 1.2, 0.0], priority=1)]
    )
    assert pulled.errors[0] <= alone.errors[0] + 1e-3 * CHAIN


def test_a_wish_has_no_priority(model, places):
    rest = model.skeleton.rest_pose()
    goals = [Reach("Hand", places[0]), Orient("Elbow", [1.0, 0, 0, 0], priority=1), Stay(rest)]
    found = solve(model, model.skeleton, rest, goals)
    assert found.errors[:, 0].max() < 1e-3 * CHAIN


@pytest.mark.parametrize("target", [[-0.3, 0.1, 0.4], [5.0, 3.0, 0.0], [0.1, 0.9, -0.8]])
def test_a_pinned_joint_keeps_its_place_whatever_the_goals_want(target):
    model = legs()
    rest = model.skeleton.rest_pose()
    turned = rest.rotations.copy()
    turned[[2, 5]] = quat.exp(np.array([0.5, 0.0, 0.0]))
    start = Pose(turned, rest.positions)
    found = solve(
        *(model, model.skeleton, start, [Reach("RightFoot", target, weight=100.0)]),
        pinned=["LeftFoot"],
        free_root=True,
    )
    before, after = (forward(model.skeleton, pose)[0] for pose in (start, found.pose))
    assert np.linalg.norm(after[3] - before[3]) < 1e-8
    assert found.slipped() == {}
    assert np.linalg.norm(after[6] - target) < np.linalg.norm(before[6] - target)
    assert model.contains(found.pose)


def test_it_says_when_a_pin_could_not_be_kept():
    """The knee starts bent the wrong way: made legal, the foot cannot be where it was."""
    model = legs()
    rest = model.skeleton.rest_pose()
    turned = rest.rotations.copy()
    turned[2] = quat.exp(np.array([-1.0, 0.0, 0.0]))
    found = solve(
        *(model, model.skeleton, Pose(turned, rest.positions)),
        [Reach("RightFoot", [-0.1, 0.0, 0.1])],
        joints=["LeftKnee", "RightKnee", "RightHip"],
        pinned=["LeftFoot"],
    )
    assert list(found.slipped()) == ["LeftFoot"]
    assert found.slipped()["LeftFoot"] > 0.1
    assert "pins could not be kept: LeftFoot is" in found.reason()
    assert not found.converged


def test_a_priority_is_an_integer():
    with pytest.raises(ValueError, match=r"Reach\.priority must be an integer, got 0.5"):
        Reach("Hand", [0.0, 0.0, 0.0], priority=0.5)
