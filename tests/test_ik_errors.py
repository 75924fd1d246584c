"""What inverse kinematics says to bad input, and what it does with odd input."""

from __future__ import annotations

import numpy as np
import pytest

from arms import X, arm
from synovia import quat
from synovia.ik import Aim, Orient, Reach, Stay, solve
from synovia.model import LimitModel
from synovia.skeleton import Pose, Skeleton, forward

MODEL = arm()
REST = MODEL.skeleton.rest_pose()


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (lambda: Reach("Hand", [np.nan, 0.0, 0.0]), "Reach.target must be finite, got nan"),
        (lambda: Reach("Hand", [np.inf, 0.0, 0.0]), "Reach.target must be finite, got inf"),
        (lambda: Reach("Hand", [0.0, 0.0]), "Reach.target must have shape"),
        (lambda: Reach("Hand", np.zeros(3), point=np.zeros((2, 3))), "Reach.point must have shape"),
        (lambda: Reach("", np.zeros(3)), "Reach.joint must be the name of a joint"),
        (lambda: Reach("Hand", np.zeros(3), weight=0.0), "Reach.weight must be a number above 0"),
        (lambda: Reach("Hand", np.zeros(3), weight=np.nan), "Reach.weight must be finite"),
        (lambda: Aim("Hand", np.zeros(3), axis=np.zeros(3)), "Aim.axis must have a direction"),
        (lambda: Orient("Hand", np.zeros(4)), "Orient.rotation must be unit quaternions"),
        (lambda: Stay(REST, weight=-1.0), "Stay.weight must be a number above 0"),
        (lambda: Stay(REST, "Hand"), "Stay.joints must be a list of names"),
    ],
)
def test_a_goal_says_what_is_wrong(goal, said):
    with pytest.raises(ValueError, match=said):
        goal()


@pytest.mark.parametrize(
    ("goals", "options", "said"),
    [
        ([Reach("Hnad", np.zeros(3))], {}, "no joint 'Hnad'; did you mean Hand"),
        ([Reach("Hand", np.zeros(3))], {"joints": ["Knee"]}, "no joint 'Knee'"),
        ([Reach("Hand", np.zeros(3))], {"joints": "Hand"}, "joints must be a list of names"),
        ([Reach("Hand", np.zeros(3))], {"pinned": ["Foot"]}, "no joint 'Foot'"),
        ([Reach("Hand", np.zeros(3))], {"pinned": "Hand"}, "pinned must be a list of names"),
        ([Stay(REST, ["Foot"])], {}, "no joint 'Foot'"),
        ([Stay(REST, ["Hand"])], {"joints": ["Elbow"]}, "about a joint that may move"),
        ([], {}, "goals must be some of Reach, Aim, Orient and Stay"),
        (["Hand"], {}, "goals must be some of Reach, Aim, Orient and Stay"),
        ([Reach("Hand", np.zeros(3))], {"method": "magic"}, "no method 'magic'; there are"),
        ([Reach("Hand", np.zeros(3))], {"iterations": 0}, "iterations must be an integer"),
        ([Reach("Hand", np.zeros(3))], {"restarts": -1}, "restarts must be an integer"),
        ([Reach("Hand", np.zeros(3))], {"tolerance": 0.0}, "tolerance must be above 0"),
        ([Reach("Hand", np.zeros((3, 3))), Reach("Wrist", np.zeros((2, 3)))], {}, "leading axes"),
    ],
)
def test_solve_says_what_is_wrong(goals, options, said):
    with pytest.raises(ValueError, match=said):
        solve(MODEL, MODEL.skeleton, REST, goals, **options)


def test_a_pose_of_other_joints_is_refused():
    pose = Pose(REST.rotations[:3], REST.positions[:3])
    with pytest.raises(ValueError, match="pose must have the skeleton's 5 joints, got 3"):
        solve(MODEL, MODEL.skeleton, pose, [Reach("Hand", np.zeros(3))])


def test_an_illegal_start_is_made_legal_and_said():
    rotations = REST.rotations.copy()
    rotations[2] = quat.exp(np.array([0.0, 0.5, 0.0]))  # the elbow bends backwards
    start = Pose(rotations, REST.positions)
    found = solve(MODEL, MODEL.skeleton, start, [Reach("Hand", [0.8, 1.4, 0.1])])
    assert MODEL.contains(found.pose)
    np.testing.assert_allclose(found.mended, [0.0, 0.0, 0.5, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("goal", [Reach, Aim])
def test_a_target_at_the_joint_itself(goal):
    where, _ = forward(MODEL.skeleton, REST)
    found = solve(MODEL, MODEL.skeleton, REST, [goal("Wrist", where[3])])
    assert found.converged
    assert found.iterations == 0
    assert (found.pose.rotations == REST.rotations).all()


def test_bones_without_a_length():
    flat = Skeleton(MODEL.skeleton.names, MODEL.skeleton.parents, np.zeros((5, 3)))
    found = solve(MODEL, flat, flat.rest_pose(), [Reach("Hand", [0.5, 0.0, 0.0])])
    assert not found.converged
    assert found.errors[0] == pytest.approx(0.5)
    assert "beyond the chain's reach" in found.reason()
    assert MODEL.contains(found.pose)


def test_nothing_that_may_move_reaches_the_goal():
    found = solve(
        *(MODEL, MODEL.skeleton, REST, [Reach("Elbow", [0.0, 2.0, 0.0])]), joints=["Wrist"]
    )
    assert not found.converged
    assert (found.pose.rotations == REST.rotations).all()


def test_no_problems_give_no_answers():
    found = solve(MODEL, MODEL.skeleton, REST, [Reach("Hand", np.zeros((0, 3)))])
    assert found.pose.rotations.shape == (0, 5, 4)
    assert found.errors.shape == (0, 1)


def test_a_joint_without_limits_is_free():
    free = LimitModel({}, MODEL.skeleton)
    found = solve(free, MODEL.skeleton, REST, [Reach("Hand", [0.2, 1.5, 0.3])])
    assert found.converged
    assert found.blocking() == {}


def test_many_problems_have_many_reasons():
    found = solve(MODEL, MODEL.skeleton, REST, [Reach("Hand", np.zeros((2, 3)) + X)])
    with pytest.raises(ValueError, match="say which"):
        found.reason()
