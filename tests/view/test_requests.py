"""Requests that are not what they should be, and pages that vanish or edit at once."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from websockets.sync.client import connect

from clips import clip
from synovia import Box, Limit, LimitModel, RotationVector
from synovia.view.answers import answer
from synovia.view.display import head_joint, look_axis, up_axis
from synovia.view.messages import unpack
from synovia.view.scene import scene_of
from synovia.view.server import PageServer
from synovia.view.session import Session
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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"joints": ["Nobody"]}, "Nobody"),
        ({"joint": "Nobody"}, "Nobody"),
        *(({"frame": bad}, "frame must be from 0 to 29") for bad in (30, -1)),
        *(({"rotations": bad}, "rotations must be") for bad in ([0] * 20, [1, 0, 0, 0])),
        ({"pins": {"LeftHand": [0, 0]}}, "pins.LeftHand: expected 3 numbers, got [0, 0]"),
        ({"pins": {"Nobody": [0, 0, 0]}}, "Nobody"),
        ({"ask": "look", "joints": []}, "joints must be some"),
        ({"ask": "look", "joints": ["LeftArm"], "axis": [0, 0, 0]}, "axis"),
    ],
)
def test_values_must_suit_the_scene(session, changes, said):
    error = told(session, reach(session.scene, **changes))["error"]
    assert said in error
    assert "fault in synovia" not in error


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
    given |= {"joints": ["LeftArm", "LeftForeArm"], "thorough": True}
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
                    assert sent(line, ask="edit", stroke="a-1", **edit)["state"]["undo"]
                    assert "id" not in heard(other)
                line.send(json.dumps({"id": 8, "ask": "edit", "stroke": "a-1"})[:-20])
                line.socket.close()  # no goodbye, in the middle of a message
            dragged = session.scene.model.limits["LeftArm"]
            assert dragged.contains(dragged.project(scene.clip.pose.rotations[:, 2])).all()
            told = sent(other, ask="edit", stroke="b-1", **cone_point(session, 0.03))
            assert "error" not in told
            assert sent(other, ask="undo", joint=None)["state"]["undo"]
            assert (
                session.scene.model.limits["LeftArm"] is dragged
            )  # the other's stroke was its own
            assert sent(other, ask="undo", joint=None)["state"]["undo"] is None
            assert session.scene.model.limits["LeftArm"] is scene.model.limits["LeftArm"]


def test_an_arm_alone_has_no_head_and_looks_to_the_front(scene):
    assert (up_axis(scene.clip), head_joint(scene.clip)) == ("y", None)
    assert look_axis(scene.clip, "LeftHand") == "z"
