"""Edits of limits as the page asks for them: answered, refused, undone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from synovia import Box, Clip, Limit, LimitModel, Pose, RotationVector, Skeleton, Union
from synovia.edit.reach_cone import delete_point, move_point
from synovia.view import messages
from synovia.view.answers import answer
from synovia.view.limit_edits import new_cone_limit
from synovia.view.scene import scene_of, with_limits
from synovia.view.session import Session

NAMES = ("Hips", "LeftArm", "LeftHand", "RightArm")


def two_arms(frames=1):
    """A skeleton with an arm on either side, at rest."""
    offsets = [[0.0, 1.0, 0.0], [0.2, 0.4, 0.0], [0.3, 0.0, 0.0], [-0.2, 0.4, 0.0]]
    skeleton = Skeleton(
        NAMES, [-1, 0, 1, 0], offsets, end_parents=[2, 3], end_offsets=[[0.1, 0, 0], [-0.3, 0, 0]]
    )
    rest = skeleton.rest_pose()
    pose = Pose(np.tile(rest.rotations, (frames, 1, 1)), np.tile(rest.positions, (frames, 1, 1)))
    return Clip(skeleton, pose, 0.1, "two arms")


def two_cones():
    """A limit of two cones that overlap: eight points about x, seven about halfway to z."""
    about_x = new_cone_limit(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    aside = new_cone_limit(np.array([1.0, 0.0, 0.0, 0.0]), np.sqrt([0.5, 0.0, 0.5]))
    return Limit(about_x.chart, Union((about_x.shape, delete_point(aside.shape, 3))))


class Asking:
    """A session, asked as the page asks it."""

    def __init__(self):
        still = two_arms()
        self.session = Session(scene_of(LimitModel({}, still.skeleton), still))

    def __call__(self, ask, **given):
        text = json.dumps({"id": 1, "ask": ask, **given})
        return messages.unpack(answer(self.session, text))

    def edit(self, edit, joint="LeftArm", **given):
        return self("edit", joint=joint, edit=edit, **given)[0]

    @property
    def limits(self):
        return self.session.scene.model.limits

    @property
    def cone(self):
        return self.limits["LeftArm"].shape


@pytest.fixture
def asking():
    made = Asking()
    assert "error" not in made.edit("draw", rotation=[1, 0, 0, 0])
    return made


def test_a_new_cone_is_around_the_bone(asking):
    assert len(asking.cone.points) == 8
    np.testing.assert_allclose(asking.cone.visible, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(asking.cone.points[:, 0], np.cos(np.radians(30.0)))
    np.testing.assert_allclose(np.degrees([asking.cone.low[0], asking.cone.high[0]]), [-45, 45])
    turned = Asking()
    half = np.sqrt(0.5)
    turned.edit("draw", rotation=[half, 0, 0, half])
    np.testing.assert_allclose(turned.limits["LeftArm"].chart.reference, [half, 0, 0, half])
    refused = turned.edit("draw", "Hips", rotation=[1, 0, 0, 0])
    assert "Hips is a root" in refused["error"]


def test_the_page_gets_points_and_twists(asking):
    arrays = asking("region", joint="LeftArm")[1]
    np.testing.assert_allclose(arrays["corners"], asking.cone.points, atol=1e-6)
    np.testing.assert_allclose(arrays["cornersTwistDeg"], [[-45.0, 45.0]] * 8, atol=1e-4)
    np.testing.assert_allclose(arrays["visible"], [asking.cone.visible], atol=1e-6)
    np.testing.assert_allclose(arrays["visibleTwistDeg"], [[-45.0, 45.0]], atol=1e-4)
    assert arrays["cornerCounts"].tolist() == [8]


def test_a_broken_star_is_refused_with_its_edge(asking):
    before = asking.cone
    inside = (before.points[4] + 0.2 * before.visible).tolist()
    header = asking.edit("move-point", index=0, point=inside)
    assert "no longer a star: edge " in header["error"]
    with pytest.raises(ValueError, match="must make a star") as caught:
        move_point(before, 0, np.array(inside) / np.linalg.norm(inside))
    broken = caught.value.broken
    assert header["edge"]["number"] == broken.edge
    np.testing.assert_allclose(header["edge"]["ends"], broken.ends)
    assert asking.cone is before
    assert "state" not in header  # nothing has changed
    crossed = asking.edit("smooth", rounds=99)
    assert "more than 1000 points" in crossed["error"]


@pytest.mark.parametrize(
    ("edit", "given", "reason"),
    [
        (
            "twist",
            {"index": 1, "lowDeg": 50, "highDeg": 10},
            "got 50.0° to 10.0°",
        ),
        ("twist", {"index": None, "lowDeg": 50, "highDeg": 10}, "must not end before it begins"),
        ("move-point", {"index": 8, "point": [1, 0, 0]}, "no point 8"),
        ("move-point", {"index": 0, "point": [0, 0, 0]}, "point must be a direction"),
        ("add-point", {"after": 8}, "after must be from 0 to 7"),
        ("move-visible", {"point": [-1, 0, 0]}, "no longer a star"),
        ("smooth", {"rounds": -1}, "rounds must be at least 0"),
        ("simplify", {"toleranceDeg": -1}, "tolerance must be at least 0"),
        ("copy", {"to": "Hips"}, "Hips is a root"),
        ("copy", {"to": "lefthnd"}, "no joint 'lefthnd'; did you mean LeftHand"),
        ("copy", {"to": "LeftArm"}, "has this limit already"),
    ],
)
def test_what_is_not_allowed_changes_nothing(asking, edit, given, reason):
    before = dict(asking.limits)
    header = asking.edit(edit, **given)
    assert reason in header["error"]
    assert dict(asking.limits) == before


def test_three_points_must_stay(asking):
    for index in (7, 5, 3, 1, 0):
        header = asking.edit("delete-point", index=index)
    assert len(asking.cone.points) == 4
    assert "no longer a star: edge " in header["error"]
    asking.edit("move-point", index=0, point=[0.9, 0.1, -0.4])
    for index in range(4):
        if "error" not in asking.edit("delete-point", index=index):
            break
    assert len(asking.cone.points) == 3
    assert "at least 3 points" in asking.edit("delete-point", index=0)["error"]


def test_points_are_for_cones_only(asking):
    limit = Limit(RotationVector(), Box([-1.0] * 3, [1.0] * 3, np.eye(3)))
    asking.session.edit(
        lambda model: with_limits(model, {**model.limits, "LeftArm": limit}), "box", None
    )
    refused = asking.edit("move-point", index=0, point=[1, 0, 0])["error"]
    assert refused == "only reach cones have points, this limit is a box"
    arrays = asking("region", joint="LeftArm")[1]
    assert len(arrays["corners"]) == len(arrays["cornerCounts"]) == len(arrays["visible"]) == 0


@pytest.fixture
def union(asking):
    limit = two_cones()
    asking.session.edit(
        lambda model: with_limits(model, {**model.limits, "LeftArm": limit}), "union", None
    )
    return asking


def test_the_page_gets_the_points_of_all_cones(union):
    arrays = union("region", joint="LeftArm")[1]
    first, second = union.cone.parts
    assert arrays["cornerCounts"].tolist() == [8, 7]
    np.testing.assert_allclose(arrays["corners"][8:], second.points, atol=1e-6)
    np.testing.assert_allclose(arrays["cornersTwistDeg"], [[-45.0, 45.0]] * 15, atol=1e-4)
    np.testing.assert_allclose(arrays["visible"], [first.visible, second.visible], atol=1e-6)
    np.testing.assert_allclose(arrays["visibleTwistDeg"], [[-45.0, 45.0]] * 2, atol=1e-4)


@pytest.mark.parametrize(
    ("edit", "given"),
    [
        ("move-point", {"index": 2, "point": [0.55, 0.3, 0.8]}),
        ("add-point", {"after": 6}),
        ("delete-point", {"index": 6}),
        ("move-visible", {"point": [0.7, 0.1, 0.75]}),
        ("twist", {"index": 6, "lowDeg": -20, "highDeg": 75.5}),
        ("twist", {"index": None, "lowDeg": -20, "highDeg": 75.5}),
        ("smooth", {"rounds": 1}),
    ],
)
def test_a_cone_of_a_union_is_edited_as_a_cone_is(union, edit, given):
    before = union.limits["LeftArm"]
    first, second = before.shape.parts
    alone = Asking()
    limit = Limit(before.chart, second)
    alone.session.edit(
        lambda model: with_limits(model, {**model.limits, "LeftArm": limit}), "cone", None
    )
    assert "error" not in alone.edit(edit, **given)
    assert "error" not in union.edit(edit, part=1, **given)
    assert union.cone.parts[0] is first
    made = union.cone.parts[1]
    assert made is not second
    for name in ("points", "low", "high", "visible", "visible_low", "visible_high"):
        np.testing.assert_array_equal(getattr(made, name), getattr(alone.cone, name))
    union("undo", joint="LeftArm")
    assert union.limits["LeftArm"] is before


def test_a_new_point_goes_to_the_nearest_edge_of_all_cones(union):
    assert "error" not in union.edit("add-point", point=[0.8, 0.1, -0.6])
    assert [len(part.points) for part in union.cone.parts] == [9, 7]
    assert "error" not in union.edit("add-point", point=[0.2, 0.1, 0.97])
    assert [len(part.points) for part in union.cone.parts] == [9, 8]
    union.edit("smooth", rounds=1)
    assert [len(part.points) for part in union.cone.parts] == [18, 16]


@pytest.mark.parametrize(
    ("edit", "given", "reason"),
    [
        ("move-point", {"index": 0, "point": [1, 0, 0]}, "which of the 2 cones is meant"),
        ("twist", {"index": None, "lowDeg": 0, "highDeg": 1}, "which of the 2 cones is meant"),
        ("delete-point", {"part": 2, "index": 0}, "part must be from 0 to 1, got 2"),
        ("delete-point", {"part": 1, "index": 7}, "no point 7; this cone has points 0 to 6"),
        ("move-visible", {"part": 1, "point": [-1, 0, 0]}, "no longer a star: cone 1, edge "),
    ],
)
def test_what_a_union_refuses(union, edit, given, reason):
    before = union.cone
    assert reason in union.edit(edit, **given)["error"]
    assert union.cone is before


def test_an_edit_that_is_unknown_is_an_error(asking):
    header = asking.edit("bend")
    assert header["error"].startswith("edit: expected one of move-point, ")
