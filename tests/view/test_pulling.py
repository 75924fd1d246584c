"""A figure that is pulled and turned: limb first, spine last, and "out of reach" is true."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clips import clip
from synovia import Clip, LimitModel, Pose, forward, human, human_limits, quat
from synovia.ik import ControlDrag, Reach
from synovia.ik.drag import controls_of, with_free_root
from synovia.rigs import canonical_skeleton
from synovia.view import messages
from synovia.view.answers import answer
from synovia.view.session import Session, scene_of

BODY = human()
BONES = BODY.skeleton
ARM = ["LeftClavicle", "LeftScapula", "LeftUpperArm", "LeftLowerArm", "LeftForearm", "LeftHand"]
SPINE = controls_of(BODY, ["L5", "T5"])
REST = BODY.pose().controls
PATH = [
    [0.523, 1.320, -0.309],
    [0.658, 1.180, -0.362],
    [0.731, 1.684, -0.514],
    [-0.002, 1.740, -0.077],
    [-0.137, 0.621, 0.245],
]
"""Where a drag led that once left an arm jammed behind the head: the hand starts beside the hip."""


@pytest.fixture(scope="module")
def session():
    return Session(scene_of(human_limits(), figure=BODY))


def ask(session, name, **given):
    header, arrays = messages.unpack(answer(session, json.dumps({"id": 0, "ask": name, **given})))
    assert "error" not in header, header["error"]
    return header | arrays


def pose_request(pose):
    rotations, positions = pose.rotations.ravel().tolist(), pose.positions.ravel().tolist()
    return {"frame": 0, "rotations": rotations, "positions": positions}


def pulled(session, joint, target, pose=None, **given):
    request = {"values": {}, "limb": ARM, "alone": False, "thorough": False, "point": [0, 0, 0]}
    pose = BODY.pose() if pose is None else pose
    request |= {**pose_request(pose), "joint": joint, "target": list(target), **given}
    return ask(session, "pull", **request)


def turned_deg(answer, joint):
    place = BONES.index(joint)
    return np.degrees(quat.angle_between(BODY.pose().rotations[place], answer["rotations"][place]))


def bend_of_spine_deg(answer):
    _, world = forward(BONES, pose_of(answer))
    return np.degrees(quat.angle_between(world[0], world[BONES.index("T1")]))


def pose_of(answer):
    return Pose(quat.normalize(answer["rotations"].astype(float)), answer["positions"])


@pytest.mark.parametrize("target", [[0.3, 1.9, 0.2], [0.35, 2.05, 0.05]])
def test_an_arm_that_is_pulled_up_takes_its_girdle_and_hardly_the_spine(session, target):
    found = pulled(session, "LeftHand", target)
    assert found["met"]
    hand = forward(BONES, pose_of(found))[0][BONES.index("LeftHand")]
    np.testing.assert_allclose(hand, target, atol=2e-3)
    assert 5.0 < turned_deg(found, "LeftClavicle") < 50.0  # with backward rotation
    assert 10.0 < turned_deg(found, "LeftScapula") < 60.0
    assert bend_of_spine_deg(found) < 10.0
    np.testing.assert_allclose(
        ask(session, "pose", values=found["values"])["rotations"], found["rotations"], atol=1e-6
    )


def test_what_the_arm_reaches_leaves_the_spine_alone(session):
    found = pulled(session, "LeftHand", [0.2, 1.3, 0.4])
    values = {**dict.fromkeys(SPINE, 0.0), **found["values"]}
    assert found["met"]
    assert all(values[name] == 0.0 for name in SPINE)


def test_a_drag_ends_as_near_as_a_straight_one(session):
    """Whatever way the hand went before, it is not stuck there."""
    last = None
    for start, end in zip([[0.21, 0.83, 0.0], *PATH], PATH, strict=False):
        for share in np.linspace(0.1, 1.0, 10):
            target = (1.0 - share) * np.array(start) + share * np.array(end)
            last = pulled(session, "LeftHand", target, last=last and last["values"])
    straight = pulled(session, "LeftHand", PATH[-1])
    assert last["met"]
    assert straight["met"]
    alone = pulled(session, "LeftHand", PATH[-1], alone=True, last=last["values"])
    direct = pulled(session, "LeftHand", PATH[-1], alone=True)
    assert not alone["met"]
    assert alone["left"] == pytest.approx(direct["left"], abs=0.02)


def test_a_chain_by_joints_is_not_stuck_either():
    moving = clip(frames=2)
    model = LimitModel.fit([clip(frames=60)], "box")
    session = Session(scene_of(model, moving))
    rest = moving.pose.rotations[0].ravel().tolist()
    where = forward(moving.skeleton, Pose(moving.pose.rotations[1], moving.pose.positions[0]))[0]
    target = where[moving.skeleton.index("LeftHand")].tolist()
    given = {"frame": 0, "joint": "LeftHand", "point": [0, 0, 0], "limits": True, "joints": None}
    direct = ask(session, "reach", rotations=rest, target=target, **given)
    crooked = np.array(moving.pose.rotations[0])
    crooked[1:] = quat.mul(crooked[1:], quat.exp([0.0, 2.5, 0.0]))
    stuck = ask(
        session, "reach", rotations=crooked.ravel().tolist(), start=rest, target=target, **given
    )
    assert direct["met"]
    assert stuck["met"]


def test_only_what_is_pulled_is_said_to_be_at_its_end(session):
    found = pulled(session, "LeftHand", [0.0, 1.5, 1.5])
    assert not found["met"]
    assert found["beyond"]
    sets = {name.split(".")[0] for name in (*found["atEnd"], *found["held"])}
    assert sets
    assert sets <= {"lumbar", "thoracic", "left_shoulder", "left_elbow", "left_wrist"}


def test_feet_that_are_pinned_stay_flat_in_a_crouch(session):
    where, how = forward(BONES, BODY.pose())
    feet = ("LeftFoot", "RightFoot")
    pins = {name: where[BONES.index(name)].tolist() for name in feet}
    turns = {name: how[BONES.index(name)].tolist() for name in feet}
    low = where[0] - [0.0, 0.15, 0.15]  # a moderate crouch
    found = pulled(session, "Pelvis", low, limb=[], pins=pins, turns=turns)
    there, turned = forward(BONES, pose_of(found))
    np.testing.assert_allclose(there[0], low, atol=5e-3)
    for name in feet:
        place = BONES.index(name)
        np.testing.assert_allclose(there[place], where[place], atol=5e-3)
        assert np.degrees(quat.angle_between(turned[place], how[place])) < 2.0
    assert found["values"]["left_knee.flexion"] > 40.0
    assert np.degrees(quat.angle_between(turned[0], how[0])) < 1.0  # the body stays upright
    deep = pulled(session, "Pelvis", where[0] - [0.0, 0.8, 0.15], limb=[], pins=pins, turns=turns)
    assert not deep["met"]
    # One knee alone would not help, since the other foot stays flat, too.
    assert deep["held"].keys() == {f"{side}_knee.flexion" for side in ("left", "right")}


def test_a_capture_whose_feet_are_pinned_crouches_upright():
    """By joints, without a figure, in the steps of a drag."""
    bones = canonical_skeleton()
    rest = bones.rest_pose()
    where = forward(bones, rest)[0]
    still = Clip(bones, Pose(rest.rotations[None], rest.positions[None]), 1.0, "still")
    session = Session(scene_of(LimitModel({}, bones), still))
    pins = {name: where[bones.index(name)].tolist() for name in ("leftFoot", "rightFoot")}
    given = {"frame": 0, "joint": "hips", "point": [0, 0, 0], "limits": True, "joints": None}
    begun, positions = rest.rotations.ravel().tolist(), np.array(rest.positions)
    found = {"rotations": rest.rotations}
    for down in np.linspace(0.0, 0.25, 11)[1:] * np.ptp(where[:, 1]):
        target = (where[0] - [0.0, down, 0.0]).tolist()
        now = {"rotations": np.ravel(found["rotations"]).tolist(), "start": begun}
        now["positions"] = positions.ravel().tolist()
        found = ask(session, "reach", **given, **now, target=target, pins=pins, turns={})
        positions[0] = found["root"]
    assert found["met"]
    turned = quat.angle_between(rest.rotations[0], found["rotations"][0].astype(float))
    assert np.degrees(turned) < 3.0


def test_a_root_is_free_where_nothing_moves_it():
    free = with_free_root(BODY)
    assert list(free.controls)[: len(BODY.controls)] == list(BODY.controls)
    moved = free.pose({"root.y": 0.5, "root.turn-y": 1.0})
    np.testing.assert_allclose(moved.positions[0], BODY.pose().positions[0] + [0.0, 0.5, 0.0])
    turn = quat.angle_between(moved.rotations[0], np.array([1.0, 0.0, 0.0, 0.0]))
    assert turn == pytest.approx(1.0)
    assert with_free_root(free) is free


def test_a_joint_that_is_turned_by_hand_stays_within_its_range(session):
    given = {**pose_request(BODY.pose()), "joint": "LeftLowerArm", "values": {}}
    axis = quat.log(BODY.pose({"left_elbow.flexion": 60.0}).rotations[BONES.index("LeftLowerArm")])
    wanted = quat.exp(axis).tolist()
    found = ask(session, "turn", rotation=wanted, limits=True, **given)
    assert found["values"]["left_elbow.flexion"] == pytest.approx(60.0, abs=0.5)
    back = ask(session, "turn", rotation=quat.exp(-axis).tolist(), limits=True, **given)
    straight = BODY.ranges[0][list(BODY.controls).index("left_elbow.flexion")]
    assert back["values"]["left_elbow.flexion"] == pytest.approx(straight, abs=0.5)
    assert max(back["outsideDeg"]) < 0.1
    free = ask(session, "turn", rotation=quat.exp(-axis).tolist(), limits=False, **given)
    assert max(free["outsideDeg"]) > 30.0


def test_a_pose_and_its_mirror_image(session):
    values = {"left_shoulder.abduction": 80.0, "left_knee.flexion": 30.0, "thoracic.bend": 10.0}
    other = {"right_shoulder.abduction": 80.0, "right_knee.flexion": 30.0, "thoracic.bend": -10.0}
    found = ask(session, "mirror", **pose_request(BODY.pose(values)))
    want = BODY.pose(other)
    assert np.degrees(quat.angle_between(want.rotations, found["rotations"])).max() < 0.1
    np.testing.assert_allclose(found["positions"], want.positions, atol=1e-5)
    fitted = ask(session, "fitted", **pose_request(pose_of(found)))
    assert fitted["offDeg"] < 0.5
    for name, value in other.items():
        assert fitted["values"][name] == pytest.approx(value, abs=1.0)


def test_a_limb_goes_first_and_others_help_as_little_as_they_can():
    goal = Reach("LeftHand", [0.8, 1.5, 0.1])
    limb = controls_of(BODY, ARM)
    alone = ControlDrag(BODY, REST, REST, limb).pull(goal)
    drag = ControlDrag(BODY, REST, REST, limb, SPINE)
    both = drag.pull(goal)
    assert alone.errors[0] > both.errors[0]
    assert both.converged
    nearer = Reach("LeftHand", [0.79, 1.5, 0.1])
    assert np.abs(drag.pull(nearer).controls[:6]).sum() < (np.abs(both.controls[:6]).sum())


def test_why_a_joint_is_outside(session):
    """Swing and twist are apart, and a human's joint is spoken of in clinical words."""
    pose = BODY.pose({"left_knee.flexion": 40.0})
    knee = BONES.index("LeftLowerLeg")
    axis = quat.log(pose.rotations[knee])
    rotations = np.array(BODY.pose().rotations)
    rotations[knee] = quat.exp(-axis)  # as far, the wrong way
    given = pose_request(Pose(rotations, BODY.pose().positions))
    why = ask(session, "why", joint="LeftLowerLeg", **given)
    assert (why["name"], why["move"]) == ("left knee", "extension")
    assert why["outsideDeg"] == pytest.approx(38.0, abs=2.0)
    assert why["swingDeg"] == pytest.approx(why["outsideDeg"], abs=3.0)
    assert abs(why["twistDeg"]) < 0.5 * why["swingDeg"]  # a knee turns a little as it bends
    limit = session.scene.model.limits["LeftLowerLeg"]
    assert limit.violation(np.array(why["legal"])) < 1e-6
    vertebra = ask(session, "why", joint="L3", **given)
    assert (vertebra["name"], vertebra["move"]) == ("spine", None)
    assert vertebra["outsideDeg"] == 0.0


@pytest.mark.parametrize(
    ("joint", "turn_deg", "words"),
    [
        ("LeftLowerArm", (60.0, 0.0, 0.0), ("left elbow", "extension")),
        ("LeftForearm", (0.0, -150.0, 0.0), ("left elbow", "pronation")),
        ("Head", (0.0, 90.0, 0.0), ("neck", "rotation to the left")),
        ("C4", (40.0, 0.0, 0.0), ("neck", "flexion")),
        ("T6", (0.0, 0.0, 30.0), ("spine", "bend to the right")),
        ("Rib5Left", (30.0, 0.0, 0.0), (None, None)),
    ],
)
def test_words_for_joints_that_are_several_of_a_rig(session, joint, turn_deg, words):
    place = BONES.index(joint)
    rotations = np.array(BODY.pose().rotations)
    rotations[place] = quat.mul(quat.exp(np.radians(turn_deg)), rotations[place])
    given = pose_request(Pose(rotations, BODY.pose().positions))
    why = ask(session, "why", joint=joint, **given)
    assert why["outsideDeg"] > 5.0
    assert (why["name"], why["move"]) == words
