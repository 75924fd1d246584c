"""What inverse kinematics says to bad input, and what it does with odd input."""

from __future__ import annotations

import numpy as np
import pytest

from arms import SOLVERS, X, arm
from synovia import quat
from synovia.ik import Aim, Orient, Reach, SearchSettings, Stay, solve, two_bone
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
        ([], {}, "goals must be some of Reach, Aim, Orient, Stay and Comfort"),
        (["Hand"], {}, "goals must be some of Reach, Aim, Orient, Stay and Comfort"),
        ([Reach("Hand", np.zeros((3, 3))), Reach("Wrist", np.zeros((2, 3)))], {}, "leading axes"),
    ],
)
def test_solve_says_what_is_wrong(goals, options, said):
    with pytest.raises(ValueError, match=said):
        solve(MODEL, MODEL.skeleton, REST, goals, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations must be an integer"),
        ({"iterations": True}, "iterations must be an integer"),
        ({"restarts": -1}, "restarts must be an integer"),
        ({"threads": 0}, "threads must be an integer of at least 1"),
        ({"tolerance": "small"}, "tolerance must be above 0"),
        ({"tolerance": 0.0}, "tolerance must be above 0"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        SearchSettings(**options)


def test_a_pose_of_other_joints_is_refused():
    pose = Pose(REST.rotations[:3], REST.positions[:3])
    with pytest.raises(ValueError, match="pose must have the skeleton's 5 joints, got 3"):
        solve(MODEL, MODEL.skeleton, pose, [Reach("Hand", np.zeros(3))])


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_says_which_joint_there_is_not(solver):
    with pytest.raises(ValueError, match="no joint 'Hnad'; did you mean Hand"):
        solver(MODEL, MODEL.skeleton, REST, Reach("Hnad", np.zeros(3)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_illegal_start_is_made_legal_and_said(solver):
    rotations = REST.rotations.copy()
    rotations[2] = quat.exp(np.array([0.0, 0.5, 0.0]))  # the elbow bends backwards
    start = Pose(rotations, REST.positions)
    found = solver(MODEL, MODEL.skeleton, start, Reach("Wrist", [0.8, 1.4, 0.1]))
    assert MODEL.contains(found.pose)
    np.testing.assert_allclose(found.start_correction, [0.0, 0.0, 0.5, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_where_the_joint_is(solver):
    where, _ = forward(MODEL.skeleton, REST)
    found = solver(MODEL, MODEL.skeleton, REST, Reach("Wrist", where[3]))
    assert found.converged
    assert found.iterations == 0
    assert found.reason() == "all goals are met"
    np.testing.assert_allclose(found.pose.rotations, REST.rotations, atol=1e-7)


def test_an_aim_at_the_place_of_its_joint_is_met():
    where, _ = forward(MODEL.skeleton, REST)
    found = solve(MODEL, MODEL.skeleton, REST, [Aim("Wrist", where[3])])
    assert found.converged
    assert (found.pose.rotations == REST.rotations).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_on_the_shoulder(solver):
    """As far as the elbow bends, two bones of 0.3: 0.6 cos 1.3 from it, and the elbow blocks."""
    where, _ = forward(MODEL.skeleton, REST)
    names = {} if solver is two_bone else {"joints": ["Shoulder", "Elbow"]}
    found = solver(MODEL, MODEL.skeleton, REST, Reach("Wrist", where[1]), **names)
    assert MODEL.contains(found.pose)
    assert not found.converged
    assert found.errors[0] == pytest.approx(0.6 * np.cos(1.3), abs=0.02)
    assert list(found.blocking()) == ["Elbow"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_bone_without_a_length(solver):
    """The forearm has none: what reaches is the upper arm alone, or the hand beyond it."""
    offsets = MODEL.skeleton.offsets.copy()
    offsets[3] = 0.0
    short = Skeleton(MODEL.skeleton.names, MODEL.skeleton.parents, offsets)
    origin = offsets[:2].sum(axis=0)
    reached = origin + 0.3 * np.array([np.cos(0.5), np.sin(0.5), 0.0])
    found = solver(MODEL, short, short.rest_pose(), Reach("Wrist", reached))
    assert found.converged, found.reason()
    far = solver(MODEL, short, short.rest_pose(), Reach("Wrist", 2.0 * reached))
    assert "beyond the chain's reach" in far.reason()
    assert MODEL.contains(far.pose)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bones_without_a_length(solver):
    flat = Skeleton(MODEL.skeleton.names, MODEL.skeleton.parents, np.zeros((5, 3)))
    found = solver(MODEL, flat, flat.rest_pose(), Reach("Hand", [0.5, 0.0, 0.0]))
    assert not found.converged
    assert found.errors[0] == pytest.approx(0.5)
    assert "beyond the chain's reach" in found.reason()
    assert MODEL.contains(found.pose)


def test_goals_that_contradict_each_other_are_met_half_way():
    """The hand at two places at once: as far from the one as from the other, on the line."""
    free = LimitModel({}, MODEL.skeleton)
    a, b = np.array([0.7, 1.5, 0.1]), np.array([0.7, 1.5, 0.3])
    goals = [Reach("Hand", a), Reach("Hand", b)]
    found = solve(free, MODEL.skeleton, REST, goals)
    assert not found.converged
    assert "contradict" in found.reason()
    np.testing.assert_allclose(found.errors, [0.1, 0.1], atol=0.01)


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


def test_many_problems_have_many_reasons():
    found = solve(MODEL, MODEL.skeleton, REST, [Reach("Hand", np.zeros((2, 3)) + X)])
    with pytest.raises(ValueError, match="say which"):
        found.reason()


def test_a_goal_that_no_joint_moves_is_called_so():
    """Turning the hand does not move the hand, nor does the wrist move the elbow."""
    for goal, joint in (("Hand", "Hand"), ("Elbow", "Wrist")):
        found = solve(MODEL, MODEL.skeleton, REST, [Reach(goal, np.zeros(3))], joints=[joint])
        assert not found.converged
        assert found.immovable == (0,)
        assert found.reason().endswith("no joint that may turn moves it")
    aimed = solve(MODEL, MODEL.skeleton, REST, [Aim("Hand", np.ones(3))], joints=["Hand"])
    assert aimed.immovable == ()


def test_numbers_of_numpy_are_numbers():
    goal = Reach("Hand", np.zeros(3), priority=np.int64(2))
    assert goal.priority == 2
    found = solve(
        *(MODEL, MODEL.skeleton, REST, [goal]),
        settings=SearchSettings(iterations=np.int32(5), tolerance=np.float32(1e-3)),
    )
    assert found.iterations >= 1
