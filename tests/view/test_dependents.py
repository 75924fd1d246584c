"""Limits that depend on another joint, at the page: numbers, maps, edits; in a browser, too."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from synovia import Box, Clip, Ellipsoid, Limit, LimitModel, RotationVector, Skeleton, quat
from synovia.io import load_limits
from synovia.limit import DependentMargin, DependentRange, gained_and_lost
from synovia.limit.node_grid import NodeGrid
from synovia.model import couple
from synovia.text import percent
from synovia.view.answers import answer
from synovia.view.messages import unpack
from synovia.view.scene import scene_of, with_limits
from synovia.view.session import Session
from test_dependent_model import DOWN, HINGE, LEG, clip_of, leg_model
from view.browser import arc_share, text_of, visit

CLOSE_DEG = 0.02


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "leg.limits.json"
    return Session(scene_of(leg_model(), clip_of()), path)


def ask(session, ask, **request):
    header, arrays = unpack(answer(session, json.dumps({"id": 1, "ask": ask, **request})))
    return {**header, **arrays}


def pose_at(clip, frame):
    return {"frame": frame, "rotations": clip.pose.rotations[frame].ravel().tolist()}


def edit(session, kind, frame=20, joint="Leg", **request):
    if kind != "mirror":
        request["pose"] = pose_at(session.scene.clip, frame)
        request.setdefault("radiusDeg", 10.0)
    return ask(session, "edit", edit=kind, joint=joint, stroke=None, **request)


def knee(deg):
    return quat.exp(HINGE * np.radians(deg))


def hip_of(session, frame):
    return session.scene.clip.pose.rotations[frame, 1]


def test_ends_are_those_at_the_drivers_rotation_in_clips_and_poses(session):
    told = ask(session, "dependence", joint="Leg")
    assert told["driver"] == "UpLeg"
    assert told["hinge"]
    assert [each["field"] for each in told["fields"]] == ["low", "high"]
    clip, each = session.scene.clip, session.scene.model.dependents["Leg"]
    assert session.state().drivers == [-1, -1, 1, -1]
    assert np.ptp(told["valuesDeg"][:, 1]) > 30.0
    for frame in (0, 20, 60):
        low, high = told["valuesDeg"][frame]
        at = each.limit_at(hip_of(session, frame))
        assert at.contains(knee(np.array([[low + CLOSE_DEG], [high - CLOSE_DEG]]))).all()
        assert not at.contains(knee(np.array([[low - CLOSE_DEG], [high + CLOSE_DEG]]))).any()
        here = ask(session, "ends", joint="Leg", pose=pose_at(clip, frame))["valuesDeg"]
        np.testing.assert_allclose(here, [low, high], atol=1e-4)


def test_a_map_has_the_numbers_at_every_direction(session):
    told = ask(session, "map", joint="Leg", pose=None)
    each, limit = session.scene.model.dependents["Leg"], session.scene.model.limits["UpLeg"]
    some = np.random.default_rng(0).integers(len(told["directions"]), size=40)
    bones = quat.rotate(limit.chart.reference, told["directions"][some].astype(float))
    shown = np.degrees(each.values_at(quat.between(DOWN, bones)))
    np.testing.assert_allclose(told["valuesDeg"][some], shown, atol=CLOSE_DEG)
    assert len(told["rim"]) > 10
    sides = told["directions"][told["faces"]]
    assert np.linalg.norm(sides - np.roll(sides, 1, axis=1), axis=-1).max() < 0.2

    free = LimitModel(couple({"Leg": each.limit}, {"Leg": each}), LEG)
    everywhere = ask(Session(scene_of(free, clip_of())), "map", joint="Leg", pose=None)
    np.testing.assert_allclose(everywhere["directions"].mean(axis=0), 0.0, atol=1e-6)


def test_a_map_by_rotations_is_that_of_the_poses_twist():
    nodes = 16
    each = DependentRange(
        leg_model().limits["Leg"], "UpLeg", DOWN, np.zeros(nodes), np.linspace(0.5, 2, nodes), HINGE
    )
    session = Session(scene_of(leg_model(dependents={"Leg": each}), clip_of()))
    pose = pose_at(session.scene.clip, 20)
    told = ask(session, "map", joint="Leg", pose=pose)
    assert told["twists"]
    bones = quat.rotate(np.array(told["reference"]), told["directions"].astype(float))
    here = int(np.argmax(bones @ quat.rotate(hip_of(session, 20), DOWN)))
    ends = ask(session, "ends", joint="Leg", pose=pose)["valuesDeg"]
    np.testing.assert_allclose(told["valuesDeg"][here], ends, atol=3.0)


def test_an_end_is_set_at_a_pose_undone_and_saved(session, tmp_path):
    before = session.scene.model
    hip, far = hip_of(session, 20), quat.exp(HINGE * -1.2)
    answered = edit(session, "number-here", field="high", deg=40.0)
    assert "error" not in answered
    assert answered["state"]["undo"] == "number here, Leg"
    model = session.scene.model
    at = model.dependents["Leg"].limit_at(hip)
    assert at.contains(knee(40.0 - CLOSE_DEG))
    assert not at.contains(knee(40.0 + CLOSE_DEG))
    assert model.limits["Leg"] is before.limits["Leg"]
    np.testing.assert_array_equal(
        model.dependents["Leg"].values_at(far), before.dependents["Leg"].values_at(far)
    )
    why = ask(session, "why", joint="Leg", **held_pose(session, 55.0))
    assert why["heldBy"] == "UpLeg"
    assert why["outsideDeg"] == pytest.approx(15.0, abs=CLOSE_DEG)
    assert ask(session, "save", **{"as": None, "overwrite": True})["saved"]
    loaded = load_limits(tmp_path / "leg.limits.json").dependents["Leg"]
    np.testing.assert_allclose(loaded.values, model.dependents["Leg"].values, atol=1e-12)
    assert not session.unsaved
    assert ask(session, "undo", joint="Leg")["state"]["unsaved"]
    assert session.scene.model.dependents["Leg"] is before.dependents["Leg"]


def held_pose(session, deg, frame=20):
    rotations = session.scene.clip.pose.rotations[frame].copy()
    rotations[2] = knee(deg)
    return {"frame": frame, "rotations": rotations.ravel().tolist()}


def test_an_end_beyond_the_joints_own_limit_widens_it_there_alone(session):
    before = session.scene.model.dependents["Leg"]
    edit(session, "number-here", field="high", deg=160.0, radiusDeg=0.0)
    after = session.scene.model.dependents["Leg"]
    assert after.limit_at(hip_of(session, 20)).contains(knee(160.0 - CLOSE_DEG))
    assert after.limit.contains(knee(160.0 - CLOSE_DEG))
    changed = (after.values != before.values).any(axis=1)
    assert 0 < changed.sum() <= 6


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"field": "high", "deg": -40.0}, "must not end before it starts"),
        ({"field": "margin", "deg": 4.0}, "field must be one of low, high"),
        ({"field": "high", "deg": 300.0}, "an end must be from"),
    ],
)
def test_edits_that_cannot_be_are_refused_with_a_reason(session, request_, why):
    before = session.scene
    assert why in edit(session, "number-here", **request_)["error"]
    assert session.scene is before
    assert "depends on no other" in edit(session, "number-here", joint="Foot", **request_)["error"]


def test_the_pose_is_allowed_or_the_dependence_removed(session):
    edit(session, "number-here", field="high", deg=40.0)
    pose = held_pose(session, 70.0)
    request = {"joint": "Leg", "stroke": None, "pose": pose, "radiusDeg": 0.0}
    assert "error" not in ask(session, "edit", edit="allow-here", **request)
    assert max(ask(session, "outside", **pose)["outsideDeg"]) < 1e-6
    again = ask(session, "edit", edit="allow-here", **request)
    assert again["error"] == "this pose is inside already"
    ball = Limit(RotationVector(), Ellipsoid(np.zeros(3), np.ones(3), np.eye(3)))
    with pytest.raises(ValueError, match="Leg depends on UpLeg, which a limit like this cannot"):
        session.edit(lambda model: with_limits(model, {**model.limits, "Leg": ball}), "ball", None)
    edit(session, "detach")
    assert not session.scene.model.dependents
    assert not session.model.dependents
    assert session.state().drivers == [-1] * 4


def test_a_margin_and_other_families_have_numbers_too():
    hip = leg_model()
    wide = replace(hip.limits["Foot"], margin=0.1)
    foot = DependentMargin(wide, "UpLeg", DOWN, np.full(66, 0.1))
    model = hip.with_limits(hip.limits | {"Foot": wide}, {"Foot": foot})
    session = Session(scene_of(model, clip_of()))
    told = ask(session, "dependence", joint="Foot")
    assert told["fields"] == [{"field": "margin", "label": "Margin"}]
    np.testing.assert_allclose(told["valuesDeg"], np.degrees(0.1), atol=1e-4)
    edit(session, "number-here", joint="Foot", field="margin", deg=12.0)
    here = ask(session, "ends", joint="Foot", pose=pose_at(session.scene.clip, 20))
    assert here["valuesDeg"] == pytest.approx([12.0])


def two_legs():
    """Legs on both sides, whose names have a prefix in the clip."""
    names = ("Hips", "LeftUpLeg", "LeftLeg", "RightUpLeg", "RightLeg")
    offsets = [[0, 1, 0], [0.1, 0, 0], [0, -0.4, 0], [-0.1, 0, 0], [0, -0.4, 0]]
    own = Skeleton(names, [-1, 0, 1, 0, 3], offsets)
    theirs = replace(own, names=tuple(f"mixamorig:{name}" for name in names))
    limits = {f"Left{name}": limit for name, limit in leg_model().limits.items() if name != "Foot"}
    each = replace(leg_model().dependents["Leg"], driver="LeftUpLeg")
    model = LimitModel(couple(limits, {"LeftLeg": each}), own)
    return model, still_clip(theirs)


def still_clip(skeleton):
    rest = skeleton.rest_pose()
    still = replace(rest, rotations=rest.rotations[None], positions=rest.positions[None])
    return Clip(skeleton, still, 1 / 30, "rest")


def test_edits_are_mirrored_kept_and_brought_back_by_the_names_of_the_file(tmp_path):
    path = tmp_path / "legs.limits.json"
    model, clip = two_legs()
    session = Session(scene_of(model, clip), path)
    edit(session, "number-here", 0, "mixamorig:LeftLeg", field="high", deg=30.0)
    edit(session, "mirror", joint="mixamorig:LeftLeg")
    saved = session.model.dependents
    assert {name: each.driver for name, each in saved.items()} == {
        "LeftLeg": "LeftUpLeg",
        "RightLeg": "RightUpLeg",
    }
    for each in saved.values():
        assert each.limit_at(quat.IDENTITY).contains(knee(30.0 - CLOSE_DEG))
        assert not each.limit_at(quat.IDENTITY).contains(knee(30.0 + CLOSE_DEG))
    session.keep_unsaved()
    again = Session(scene_of(model, clip), path)
    again.recover(restore=True)
    for name, each in saved.items():
        np.testing.assert_allclose(again.model.dependents[name].values, each.values, atol=1e-12)


def test_what_depends_on_the_middle_is_mirrored_there_and_what_cannot_be_is_refused():
    names = ("Hips", "LowerBack", "LeftArm", "RightArm", "Tail")
    places = [[0, 1, 0], [0.002, 0.2, 0], [0.2, 0.3, 0], [-0.2, 0.3, 0], [0.15, 0, 0]]
    skeleton = Skeleton(names, [-1, 0, 1, 1, 0], places)
    box = Box([-0.5, -0.4, -0.3], [0.3, 0.4, 0.5], np.eye(3))
    box = Limit(RotationVector(), box, margin=0.3)
    margins = np.random.default_rng(3).uniform(0.0, 0.3, 18)
    each = DependentMargin(box, "LowerBack", [0, 1, 0], margins)
    same = dict.fromkeys(names[2:4], each)
    model = LimitModel(couple(dict.fromkeys(names[1:], box), same), skeleton)
    session = Session(scene_of(model, still_clip(skeleton)))
    edit(session, "mirror", joint="LeftArm")
    made = session.model.dependents
    assert {name: other.driver for name, other in made.items()} == dict.fromkeys(same, "LowerBack")
    turns = quat.normalize(np.random.default_rng(4).normal(size=(50, 4)))
    there = turns * (1.0, 1.0, -1.0, -1.0)
    np.testing.assert_allclose(
        made["RightArm"].values_at(there), made["LeftArm"].values_at(turns), atol=1e-12
    )
    for driver, why in {"Tail": "no partner", "RightArm": "RightArm"}.items():
        held = {"LeftArm": replace(each, driver=driver)}
        beside = Session(scene_of(model.with_limits(model.limits, held), session.scene.clip))
        refused = edit(beside, "mirror", joint="LeftArm")["error"]
        assert refused.startswith(f"LeftArm depends on {driver}, which cannot be mirrored")
        assert why in refused
        assert beside.model.dependents.keys() == held.keys()


def ball_model():
    """A foot that turns all ways, less the farther the thigh is in front."""
    model = leg_model()
    shape = Box([-0.25, -0.05, -0.05], [0.25, 0.05, 0.05], np.eye(3))
    foot = Limit(RotationVector(), shape, margin=0.35)
    margin = 0.35 * (0.5 - 0.5 * NodeGrid(3, 4).nodes[:, 2])
    each = DependentMargin(foot, "UpLeg", DOWN, margin)
    return model.with_limits({**model.limits, "Foot": foot}, {"Foot": each})


@pytest.mark.parametrize("draft", [True, False])
def test_the_region_of_a_ball_joint_is_the_one_that_decides_in_the_pose(draft):
    session = Session(scene_of(ball_model(), clip_of()))
    each = session.scene.model.dependents["Foot"]
    shares = []
    for frame in (8, 22):
        told = ask(
            session, "here", joint="Foot", pose=pose_at(session.scene.clip, frame), draft=draft
        )
        rotations = quat.mul(
            np.array(told["reference"]), quat.exp(told["vectors"].astype(np.float64))
        )
        assert np.abs(each.distance(rotations, hip_of(session, frame))).max() < 0.01
        shares.append(told["share"])
    least, most = sorted(shares)
    assert least < 0.9 * most < ask(session, "region", joint="Foot")["share"]


def test_two_sides_are_the_same_in_the_mirror():
    model, clip = two_legs()
    session = Session(scene_of(model, clip))
    edit(session, "mirror", 0, "mixamorig:LeftLeg")
    for side, driver in (("Right", "mixamorig:RightUpLeg"), ("Left", "mixamorig:LeftUpLeg")):
        joint = f"mixamorig:{side}Leg"
        told = ask(session, "compare", joint=joint, to="mirror", pose=pose_at(clip, 0))
        assert told["drivers"] == [driver]
        assert told["gained"] + told["lost"] < 1e-3


def test_pairs_are_compared_in_the_pose():
    session = Session(scene_of(ball_model(), clip_of()))
    before = session.scene.model
    why = {
        each["name"]: each["why"]
        for each in ask(session, "compare", joint="Foot", to=None)["others"]
    }
    assert why["opened"] == "It has not changed since."
    edit(session, "number-here", joint="Foot", field="margin", deg=20.0, radiusDeg=60.0)
    each, was = session.scene.model.dependents["Foot"], before.dependents["Foot"]
    shares = []
    for frame in (20, 50):
        pose = pose_at(session.scene.clip, frame)
        told = ask(session, "compare", joint="Foot", to="opened", pose=pose)
        hip = hip_of(session, frame)
        assert told["drivers"] == ["UpLeg"]
        expected = gained_and_lost(was.limit_at(hip), each.limit_at(hip))
        assert (told["gained"], told["lost"]) == pytest.approx(expected)
        shares.append(told["gained"])
    assert shares[0] > 2.0 * shares[1]

    edit(session, "detach", joint="Foot")
    told = ask(session, "compare", joint="Foot", to="opened", pose=pose)
    assert told["drivers"] == ["UpLeg"]
    asked = {"id": 1, "ask": "compare", "joint": "Foot", "to": "opened", "pose": None}
    header, _ = unpack(answer(session, json.dumps(asked)))
    assert "pose must be given" in header["error"]


def shown(values):
    low, high = np.degrees(values)
    return f"As that is now: {low:.1f}° to {high:.1f}°"


def test_the_page_shows_what_depends_on_another_joint_while_that_moves(browser):
    clip, each = clip_of(30), leg_model().dependents["Leg"]
    frame = int(np.flatnonzero(leg_model().check(clip).held["Leg"].frames)[0])
    with visit(browser, scene_of(leg_model(), clip)) as seen:
        seen.pick("Leg")
        for number in (5, frame):
            seen.page.get_by_label("Frame", exact=True).fill(str(number))
            seen.settle()
            assert text_of(seen, "#here") == shown(each.values_at(clip.pose.rotations[number, 1]))
        seen.page.locator("#why .held").wait_for()
        assert text_of(seen, "#why .held").startswith("Held by UpLeg")

        seen.page.keyboard.press("2")
        seen.page.keyboard.press(".")
        seen.drawn()
        seen.page.mouse.move(*seen.middle)
        seen.page.mouse.down()
        seen.page.mouse.move(seen.middle[0] + 60, seen.middle[1] - 30, steps=4)
        seen.page.mouse.up()
        seen.until(lambda: any(request["ask"] == "ends" for request in seen.asked))
        seen.settle()
        turned = [request for request in seen.asked if request["ask"] == "ends"][-1]
        hip = quat.normalize(np.array(turned["pose"]["rotations"])[4:8])
        assert np.degrees(quat.angle_between(hip, clip.pose.rotations[frame, 1])) > 3.0
        assert text_of(seen, "#here") == shown(each.values_at(hip))


def test_ends_are_dragged_and_typed_at_a_pose_and_mapped(browser):
    clip, hip = clip_of(30), clip_of(30).pose.rotations[5, 1]
    with visit(browser, scene_of(leg_model(), clip)) as seen:

        def high():
            dependent = seen.server.scene.model.dependents["Leg"]
            return float(np.degrees(dependent.values_at(hip)[1]))

        seen.page.get_by_label("Frame", exact=True).fill("5")
        seen.pick("Leg")
        for key in ("3", ".", "Control+Numpad3", "Numpad5"):
            seen.page.keyboard.press(key)
        seen.settle()
        before = high()
        field = seen.page.get_by_label("To, in degrees", exact=True)
        assert float(field.input_value()) == pytest.approx(before, abs=0.06)
        field.fill("40")
        field.press("Enter")
        seen.settle()
        assert high() == pytest.approx(40.0, abs=0.01)
        field.press("Control+z")
        seen.settle()
        assert high() == pytest.approx(before)

        # Seen from the left, with the joint in the middle: z is to the left, y up.
        height = seen.page.locator("#stage").bounding_box()["height"]

        def place(deg):
            way = quat.rotate(quat.mul(hip, knee(deg)), DOWN)
            offset = arc_share(LEG, "Leg") * height * np.array([-way[2], -way[1]])
            return np.array(seen.middle) + offset

        seen.page.mouse.move(*place(before))
        seen.page.mouse.down()
        seen.page.mouse.move(*place(30.0), steps=5)
        seen.settle()
        assert high() == pytest.approx(30.0, abs=2.0)
        assert text_of(seen, "#here").endswith(f"to {high():.1f}°")  # it goes with the hand
        seen.page.mouse.up()
        seen.settle()
        assert text_of(seen, "#here").endswith(f"to {high():.1f}°")

        seen.page.get_by_label("Map over its directions").check()
        seen.until(lambda: seen.page.locator(".dependence .scale .end").count() == 2)
        seen.settle()
        values = seen.answer("map")[1]["valuesDeg"]
        width = values[:, 1] - values[:, 0]
        assert seen.page.locator(".dependence .scale .end").all_inner_texts() == [
            f"{width.min():.0f}°",
            f"{width.max():.0f}°",
        ]
        assert abs(int(text_of(seen, ".dependence .scale b")[:-1]) - high()) <= 1
        seen.page.get_by_label("Colours of the map").select_option("To")
        assert text_of(seen, ".dependence .scale > span >> nth=0") == "To"


def test_a_root_that_drives_a_joint_has_a_map_and_leaves_no_scale(browser):
    skeleton = Skeleton(
        ("Hips", "Spine", "Head"), [-1, 0, 1], [[0, 1, 0], [0, 0.3, 0], [0, 0.3, 0]]
    )
    box = Limit(RotationVector(), Box([-0.5] * 3, [0.5] * 3, np.eye(3)), margin=0.3)
    each = DependentMargin(box, "Hips", [0, 1, 0], np.linspace(0.0, 0.3, 6))
    model = LimitModel(couple({"Spine": box}, {"Spine": each}), skeleton)
    with visit(browser, scene_of(model, still_clip(skeleton))) as seen:
        seen.pick("Spine")
        scales = seen.page.locator(".scale")
        seen.page.get_by_label("Map over its directions").check()
        seen.until(lambda: scales.count() == 2)
        seen.pick("Head")
        assert scales.count() == 0


@pytest.mark.drawn
def test_the_sphere_shows_the_region_at_the_pose_and_pairs_are_compared_there(browser):
    with visit(browser, scene_of(ball_model(), clip_of(30)), drawn=True) as seen:
        seen.pick("Foot")
        now = seen.page.locator(".joint dl dd").last

        def show(frame):
            seen.page.get_by_label("Frame", exact=True).fill(str(frame))
            seen.until(lambda: any(is_fine_at(each, frame) for each in seen.asked))
            seen.settle()
            return now.inner_text()

        def is_fine_at(request, frame):
            return (
                request["ask"] == "here"
                and not request["draft"]
                and request["pose"]["frame"] == frame
            )

        allowed, less = show(8), show(22)
        assert float(less.split("%")[0]) < 0.9 * float(allowed.split("%")[0])
        told = seen.answer("here")[0]
        assert f"{percent(told['share'])} of all rotations" == less
        assert "UpLeg anywhere" in text_of(seen, ".dependence .key")

        edit(seen.server.session, "number-here", 22, "Foot", field="margin", deg=20.0)
        seen.server.notify_pages()
        compare = seen.page.get_by_label("Compare with", exact=True)
        seen.until(lambda: compare.locator("option[value=opened]").is_enabled())
        compare.select_option("opened")
        seen.page.locator("#compared", has_text="as UpLeg is now").wait_for()
        here = text_of(seen, "#compared")
        seen.page.get_by_label("Frame", exact=True).fill("8")
        seen.until(lambda: text_of(seen, "#compared") != here)
