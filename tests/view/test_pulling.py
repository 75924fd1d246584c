"""A figure that is pulled and turned, as the page asks for it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from synovia import Clip, LimitModel, Pose, forward, human, human_limits, quat
from synovia.ik.drag import controls_of, with_free_root
from synovia.rigs import canonical_skeleton
from synovia.view import messages
from synovia.view.answers import answer
from synovia.view.scene import scene_of
from synovia.view.session import Session

BODY = human()
BONES = BODY.skeleton
ARM = ["LeftClavicle", "LeftScapula", "LeftUpperArm", "LeftLowerArm", "LeftForearm", "LeftHand"]
SPINE = controls_of(BODY, ["L5", "T5"])
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
    request = {"values": {}, "point": [0, 0, 0]}
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


def settled(session, joint, target, **given):
    """Pull as the page does, until the pose no longer changes."""
    found = None
    for _ in range(60):
        found = pulled(session, joint, target, last=found and found["values"], **given)
        if found["settled"]:
            break
    return found


@pytest.mark.parametrize("target", [[0.3, 1.9, 0.2], [0.35, 2.0, 0.05]])
def test_an_arm_that_is_pulled_up_takes_its_girdle_and_hardly_the_spine(session, target):
    found = settled(session, "LeftHand", target)
    assert found["met"]
    hand = forward(BONES, pose_of(found))[0][BONES.index("LeftHand")]
    np.testing.assert_allclose(hand, target, atol=2e-3)
    assert 5.0 < turned_deg(found, "LeftScapula") < 60.0
    assert bend_of_spine_deg(found) < 10.0
    np.testing.assert_allclose(
        ask(session, "pose", values=found["values"])["rotations"], found["rotations"], atol=1e-6
    )


def test_a_thorough_pull_ends_as_near_as_a_straight_one(session):
    """Whatever way the hand went before, it is not stuck there."""
    last = None
    for start, end in zip([[0.21, 0.83, 0.0], *PATH], PATH, strict=False):
        for share in np.linspace(0.1, 1.0, 10):
            target = (1.0 - share) * np.array(start) + share * np.array(end)
            last = pulled(session, "LeftHand", target, last=last and last["values"])
    end = pulled(session, "LeftHand", PATH[-1], last=last["values"], thorough=True)
    straight = pulled(session, "LeftHand", PATH[-1], thorough=True)
    assert end["left"] == pytest.approx(straight["left"], abs=2e-3)
    assert straight["left"] < 0.02  # metres: beside the other knee, thighs are in the way


def test_a_pull_that_fails_jumps_to_a_pose_that_meets_the_goal(session):
    """An arm behind the back cannot come to the mouth by small steps; from the start it can."""
    stuck = BODY.pose({"left_shoulder.flexion": -60.0, "left_shoulder.twist": 90.0}).controls
    names = list(BODY.controls)
    last = dict(zip(names, stuck.tolist(), strict=True))
    found = pulled(session, "LeftHand", [0.05, 1.55, 0.25], last=last, thorough=True)
    assert found["met"]


def test_only_what_is_pulled_is_said_to_be_at_its_end(session):
    found = settled(session, "LeftHand", [0.0, 1.5, 2.5])
    assert not found["met"]
    assert found["held"]
    sets = {name.split(".")[0] for name in found["atEnd"]}
    assert sets <= {"lumbar", "thoracic", "left_shoulder", "left_elbow", "left_wrist", "root"}


def test_feet_stay_flat_in_a_crouch(session):
    where, how = forward(BONES, BODY.pose())
    low = where[0] - [0.0, 0.15, 0.1]  # a moderate crouch
    found = settled(session, "Pelvis", low)
    there, turned = forward(BONES, pose_of(found))
    np.testing.assert_allclose(there[0], low, atol=5e-3)
    for name in ("LeftFoot", "RightFoot"):
        place = BONES.index(name)
        np.testing.assert_allclose(there[place], where[place], atol=5e-3)
        assert np.degrees(quat.angle_between(turned[place], how[place])) < 2.0
    assert found["values"]["left_knee.flexion"] > 40.0
    assert found["balanced"]
    assert abs(found["center"][0]) < 0.02
    free = pulled(session, "LeftHand", [0.3, 1.0, 0.3], feet=False)
    assert free["values"].get("root.y", 0.0) == 0.0


def test_pins_are_kept_beside_the_feet(session):
    where, _ = forward(BONES, BODY.pose())
    hand = BONES.index("RightHand")
    pins = {"RightHand": where[hand].tolist()}
    found = settled(session, "LeftHand", [0.35, 1.2, 0.45], pins=pins)
    there, _ = forward(BONES, pose_of(found))
    assert found["met"]
    np.testing.assert_allclose(there[hand], where[hand], atol=3e-3)


def test_a_capture_crouches_upright():
    """By joints, without a figure, in the steps of a drag."""
    bones = canonical_skeleton()
    rest = bones.rest_pose()
    where = forward(bones, rest)[0]
    still = Clip(bones, Pose(rest.rotations[None], rest.positions[None]), 1.0, "still")
    session = Session(scene_of(LimitModel({}, bones), still))
    given = {"frame": 0, "joint": "hips", "point": [0, 0, 0], "limits": True, "joints": None}
    begun, positions = rest.rotations.ravel().tolist(), np.array(rest.positions)
    found = {"rotations": rest.rotations}
    for down in np.linspace(0.0, 0.25, 21)[1:] * np.ptp(where[:, 1]):
        target = (where[0] - [0.0, down, 0.0]).tolist()
        now = {"rotations": np.ravel(found["rotations"]).tolist(), "start": begun}
        now |= {"positions": positions.ravel().tolist(), "startRoot": where[0].tolist()}
        found = ask(session, "reach", **given, **now, target=target)
        positions[0] = found["root"]
    assert found["met"]
    turned = quat.angle_between(rest.rotations[0], found["rotations"][0].astype(float))
    assert np.degrees(turned) < 15.0
    there, _ = forward(bones, Pose(quat.normalize(found["rotations"].astype(float)), positions))
    for name in ("leftFoot", "rightFoot"):
        foot = bones.index(name)
        np.testing.assert_allclose(there[foot], where[foot], atol=5e-3)


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


def test_a_limb_alone_moves_nothing_else(session):
    found = settled(session, "LeftHand", [0.8, 1.5, 0.1], joints=ARM)
    both = settled(session, "LeftHand", [0.8, 1.5, 0.1])
    assert not found["met"]
    assert both["met"]
    moved = {name for name, value in found["values"].items() if abs(value) > 0.01}
    assert moved <= {name for name in BODY.controls if name.startswith("left_")}


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


@pytest.mark.parametrize("degrees", [-40.0, 165.0])
@pytest.mark.parametrize("joint", ["LeftLowerLeg", "LeftLowerArm"])
def test_without_limits_a_hinge_goes_beyond_its_ends(session, joint, degrees):
    turns = session.scene.clip.pose.rotations[0]
    given = {"joint": joint, "frame": 0, "axis": 0, "deg": degrees, "values": None}
    free, held = (
        ask(session, "angle", rotations=turns.ravel().tolist(), limits=limits, **given)
        for limits in (False, True)
    )
    read_free, read_held = (
        ask(session, "angles", joint=joint, frame=0, rotations=pose["rotations"].ravel().tolist())
        for pose in (free, held)
    )
    flexion = read_held["axes"][0]
    end = flexion["lowDeg"] if degrees < 0.0 else flexion["highDeg"]
    assert read_held["axes"][0]["deg"] == pytest.approx(end, abs=1.5)
    assert read_free["axes"][0]["deg"] == pytest.approx(degrees, abs=1.0)
    assert max(held["outsideDeg"]) < 0.1 < 5.0 < max(free["outsideDeg"])


def test_angles_end_where_those_of_their_axis_do(session):
    """Beyond 90 degrees of valgus, it would be another flexion."""
    turns = session.scene.clip.pose.rotations[0].ravel().tolist()
    given = {"joint": "LeftLowerLeg", "frame": 0, "axis": 1, "deg": 170.0, "values": None}
    posed = ask(session, "angle", rotations=turns, limits=False, **given)["rotations"]
    read = ask(session, "angles", joint="LeftLowerLeg", frame=0, rotations=posed.ravel().tolist())
    assert read["axes"][1]["deg"] == pytest.approx(90.0, abs=0.1)
