"""Requests that are not what they should be, and pages that vanish or edit at once."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from websockets.sync.client import connect

from clips import clip
from joints import figure
from synovia import Box, Limit, LimitModel, RotationVector
from synovia.view import messages
from synovia.view.answers import HANDLERS, answer
from synovia.view.contents import head_joint, look_axis, up_axis
from synovia.view.messages import unpack
from synovia.view.server import PageServer
from synovia.view.session import Session, scene_of
from view.browser import needed


@pytest.fixture(scope="module")
def scene():
    seen = clip(frames=30)
    return scene_of(LimitModel.fit([seen], "reach-cone", joints=["LeftArm"], margin=0.1), seen)


@pytest.fixture
def session(scene):
    return Session(scene)


def told(session, asked):
    return unpack(answer(session, json.dumps({"id": 1, **asked})))[0]


def reach(scene, **changes):
    turns = scene.clip.pose.rotations[0].ravel().tolist()
    given = {"ask": "reach", "frame": 0, "rotations": turns, "joint": "LeftHand"}
    given |= {"point": [0, 0, 0], "target": [0.5, 1.2, 0.1], "limits": True, "joints": None}
    return {**given, "pins": {}, "root": None, **changes}


NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(({"target": bad}, "target") for bad in ("abc", [1, 2], [True, 0, 0], ["1", "2", "3"])),
        *(
            ({"target": bad}, "target")
            for bad in ([NAN, 0, 0], [[1, 2, 3]], {}, None, 5, [1e200] * 3)
        ),
        *(({"point": bad}, "point") for bad in ("", [None] * 3, [0, 0, 0, 0])),
        *(({"limits": bad}, "limits") for bad in (1, "true", None, [])),
        *(({"joints": bad}, "joints") for bad in ("LeftArm", [1], {"LeftArm": 1}, True, [["a"]])),
        ({"joints": ["Nobody"]}, "Nobody"),
        *(({"joint": bad}, "joint") for bad in (1, ["LeftHand"], {}, None, True)),
        ({"joint": "Nobody"}, "Nobody"),
        *(({"frame": bad}, "frame") for bad in (True, "0", 30, -1, 0.5, None)),
        *(({"rotations": bad}, "rotations") for bad in ("x" * 20, [0] * 20, [NAN] * 20, {}, None)),
        ({"rotations": ["1", "0", "0", "0"] * 5}, "rotations"),
        *(({"pins": bad}, "pins") for bad in ([], "LeftHand", 3, None)),
        ({"pins": {"LeftHand": [0, 0]}}, "LeftHand"),
        ({"pins": {"Nobody": [0, 0, 0]}}, "Nobody"),
        *(({"root": bad}, "root") for bad in ("here", [0, 0], [NAN, 0, 0], True)),
    ],
)
def test_what_is_given_must_be_of_its_kind(session, changes, said):
    """And the answer is a sentence that names it."""
    error = told(session, reach(session.scene, **changes))["error"]
    assert said in error
    assert "fault in synovia" not in error


@pytest.mark.parametrize(
    "changes", [{"axis": [0, 0, 0]}, {"axis": "z"}, {"axis": [1, 0]}, {"joints": []}, {"joints": 3}]
)
def test_a_look_must_have_an_axis_and_joints(session, changes):
    given = reach(session.scene, ask="look", joints=["LeftArm", "LeftForeArm"], axis=[1, 0, 0])
    assert "error" not in told(session, given)
    assert "error" in told(session, {**given, **changes})


@pytest.mark.parametrize("value", ["abc", "1", None, True, [1], [[1]], {}, NAN, float("inf")])
def test_controls_are_numbers(value):
    body = figure()
    posed = Session(scene_of(LimitModel({}, body.skeleton), figure=body))
    name = next(iter(body.controls))
    assert "error" not in told(posed, {"ask": "pose", "values": {name: 0.1}})
    for values in ({name: value}, value):
        if values != {}:
            assert "values must be" in told(posed, {"ask": "pose", "values": values})["error"]


@pytest.mark.parametrize("name", ["joint", "edit", "stroke", "as"])
@pytest.mark.parametrize("value", [[], {}, 1, True, ["LeftArm"]])
def test_words_are_words_whatever_is_asked_for(session, name, value):
    for ask in HANDLERS:
        assert f"{name} must be text" in told(session, {"ask": ask, name: value})["error"]
    assert not session.unsaved


def test_a_whole_body_with_a_pin_moves_its_root(session):
    scene = session.scene
    where = [0.75, 1.5, 0.0]
    given = reach(scene, joint="Hips", target=[0.05, 1.0, 0.02], pins={"LeftHand": where})
    header, arrays = unpack(answer(session, json.dumps({"id": 1, **given})))
    assert "error" not in header
    assert not np.array_equal(arrays["root"], scene.clip.skeleton.offsets[0])


def test_a_stretched_arm_can_be_pushed_along_itself(session):
    """From there all small turns move the hand sideways; a joint that may not turn does not."""
    scene = session.scene
    straight = np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    limit = Limit(RotationVector(), Box([-0.1, 0.0, -0.1], [0.1, 2.0, 0.1], np.eye(3)))
    wide = Limit(RotationVector(), Box(np.full(3, -1.5), np.full(3, 1.5), np.eye(3)))
    limits = {"Chest": wide, "LeftArm": wide, "LeftForeArm": limit}
    arm = Session(replace(scene, model=LimitModel(limits, scene.clip.skeleton)))
    given = reach(scene, rotations=straight.ravel().tolist(), target=[0.6, 1.5, 0.0])
    given |= {"joints": ["LeftArm", "LeftForeArm"]}
    header, arrays = unpack(answer(arm, json.dumps({"id": 1, **given})))
    assert header["met"]
    np.testing.assert_array_equal(arrays["rotations"][[0, 1, 4]], straight[:3])


def cone_point(session, right):
    """An edit of the arm's cone: its first corner, moved a little."""
    cone = session.scene.model.limits["LeftArm"].shape
    point = np.array(cone.points[0]) + right * np.array(cone.visible)
    point /= np.linalg.norm(point)
    return {"joint": "LeftArm", "edit": "move-point", "index": 0, "point": point.tolist()}


@contextmanager
def served(scene):
    try:
        server = PageServer(scene)
    except FileNotFoundError as error:
        needed(str(error))
    try:
        yield server
    finally:
        server.close()


def line_to(server):
    origin = f"http://127.0.0.1:{server.guard.port}"
    address = server.url.replace("http", "ws") + "socket"
    return connect(address, origin=origin, max_size=None, proxy=None)


def heard(line):
    return unpack(line.recv(timeout=200))[0]


def sent(line, **given):
    line.send(json.dumps({"id": 7, **given}))
    return heard(line)


def test_a_page_that_vanishes_in_mid_drag_leaves_a_valid_model_and_one_step(scene):
    with served(scene) as server:
        session = server.session
        with line_to(server) as other:
            with line_to(server) as line:
                for right in (0.02, 0.04):
                    edit = cone_point(session, right)
                    assert sent(line, ask="edit", stroke="a-1", **edit)["undo"]
                    assert heard(other)["news"]
                line.send(json.dumps({"id": 8, "ask": "edit", "stroke": "a-1"})[:-20])
                line.socket.close()  # no goodbye, in the middle of a message
            dragged = session.scene.model.limits["LeftArm"]
            assert dragged.contains(dragged.project(scene.clip.pose.rotations[:, 2])).all()
            told = sent(other, ask="edit", stroke="b-1", **cone_point(session, 0.03))
            assert "refused" not in told
            assert sent(other, ask="undo", joint=None)["undo"]
            assert (
                session.scene.model.limits["LeftArm"] is dragged
            )  # the other's stroke was its own
            assert sent(other, ask="undo", joint=None)["undo"] is None
            assert session.scene.model.limits["LeftArm"] is scene.model.limits["LeftArm"]


def test_two_pages_that_edit_at_once_see_both_and_share_one_history(scene):
    with served(scene) as server, line_to(server) as one, line_to(server) as two:
        session = server.session
        assert sent(one, ask="edit", stroke="a", **cone_point(session, 0.02))["unsaved"]
        assert heard(two)["undo"] == "move point, LeftArm"
        assert sent(two, ask="edit", stroke="b", **cone_point(session, 0.02))["unsaved"]
        assert heard(one)["news"]
        assert sent(one, ask="undo", joint="LeftArm")["what"] == "move point, LeftArm"
        assert heard(two)["redo"] == "move point, LeftArm"
        assert sent(two, ask="undo", joint="LeftArm")["unsaved"] is False
        assert heard(one)["undo"] is None
        assert "nothing to undo" in sent(one, ask="undo", joint=None)["error"]


def test_an_arm_alone_has_no_head_and_looks_to_the_front(scene):
    assert (up_axis(scene.clip), head_joint(scene.clip)) == ("y", None)
    assert look_axis(scene.clip, "LeftHand") == "z"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "1", None])
def test_what_a_brush_is_given_must_be_finite(bad):
    with pytest.raises(ValueError, match="radiusDeg must be a finite number of degrees"):
        messages.degrees({"radiusDeg": bad}, "radiusDeg")
    for centers in ([[0, 0, bad]], [[0, 0]], [], [[0, 0, 0]] * 3, bad):
        with pytest.raises(ValueError, match="centers must be 1 to 2 lists of 3 finite numbers"):
            messages.vectors({"centers": centers}, "centers", 2)
    np.testing.assert_array_equal(
        messages.vectors({"centers": [[1, 2, 3]]}, "centers", 2), [[1, 2, 3]]
    )
