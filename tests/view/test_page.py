"""The page in a real browser: each thing a person can do, by mouse and keyboard."""

from __future__ import annotations

import sys
import threading
import time
from io import BytesIO

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from clips import clip
from joints import figure
from synovia import Box, Clip, Limit, LimitModel, Pose, RotationVector, Skeleton, forward
from synovia.view.answers import answer
from synovia.view.scene import scene_of
from view.browser import PATIENCE, visit
from view.browser import browser as running

WILD = ("Chest", "LeftArm")
"""Joints whose limits the clip leaves."""


@pytest.fixture(scope="module")
def browser():
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def scene():
    """A clip of an arm that moves twice as far as its limits allow."""
    model = LimitModel.fit([clip(size=0.5, frames=120)], "box", margin=0.02)
    limits = {name: model.limits[name] for name in ("Chest", "LeftArm", "LeftForeArm")}
    cone = LimitModel.fit([clip(size=0.5, frames=120)], "reach-cone", margin=0.02)
    limits["LeftArm"] = cone.limits["LeftArm"]
    wild = clip("wild", size=0.9, frames=120)
    return scene_of(LimitModel(limits, model.skeleton), wild)


@pytest.fixture
def seen(browser, scene):
    with visit(browser, scene) as page:
        yield page


def frame_of(seen):
    return int(seen.page.locator("#when").inner_text().split("/")[0])


def text_of(seen, where):
    return seen.page.locator(where).inner_text()


def test_it_opens_at_the_worst_joint(seen, scene):
    worst = scene.model.check(scene.clip).joints[0]
    assert seen.page.title() == "wild – Synovia"
    assert text_of(seen, "aside h2:visible") == worst.name
    row = seen.page.locator("#strip .row button").first
    assert row.get_attribute("aria-label").startswith(
        f"{worst.name}: {np.degrees(worst.worst):.0f}° outside"
    )
    assert seen.page.locator("#strip .row").count() == sum(
        joint.frames > 0 for joint in scene.model.check(scene.clip).joints
    )


def test_a_limit_measured_from_an_ancestor_is_shown_so(browser):
    seen_from = {"LeftArm": "Hips"}
    rom = clip(size=0.5, frames=120)
    model = LimitModel.fit([rom], "reach-cone", joints=["LeftArm"], relative_to=seen_from)
    shown = scene_of(model, clip("wild", size=0.9, frames=60))
    worst = model.check(shown.clip).joints[0]
    with visit(browser, shown) as seen:
        assert text_of(seen, "aside h2:visible") == "LeftArm"
        seen.page.locator("#inset").wait_for()
        assert "Hips" in seen.page.locator("aside dd").all_inner_texts()
        seen.page.locator("#strip .row button").first.click()
        assert text_of(seen, "#now") == f"{np.degrees(worst.worst):.0f}° outside"
        header, _ = seen.answer("open")
        names = header["names"]
        assert names[header["measuredFrom"][names.index("LeftArm")]] == "Hips"


def test_a_row_leads_to_its_worst_frame(seen, scene):
    joint = scene.model.check(scene.clip).joints[1]
    seen.page.locator("#strip .row button").nth(1).click()
    assert frame_of(seen) == joint.worst_frame
    assert text_of(seen, "aside h2:visible") == joint.name
    said = text_of(seen, "#now")
    assert said == f"{np.degrees(joint.worst):.0f}° outside"
    seen.drawn()
    assert f"{joint.name} {said}" in seen.page.locator(".label").all_inner_texts()


def test_a_click_in_the_strip_jumps_there(seen, scene):
    canvas = seen.page.locator("#strip canvas").first
    box = canvas.bounding_box()
    seen.page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])
    assert abs(frame_of(seen) - 0.75 * scene.clip.frames) <= 1


def test_time_by_keyboard_and_mouse(seen, scene):
    keys, last = seen.page.keyboard, scene.clip.frames - 1
    for key, frame in [
        ("ArrowRight", 1),
        ("Shift+ArrowRight", 11),
        ("ArrowLeft", 10),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
    ]:
        keys.press(key)
        assert frame_of(seen) == frame
    begins = scene.model.check(scene.clip).outside
    begins &= ~np.vstack([np.zeros_like(begins[:1]), begins[:-1]])
    later = np.flatnonzero(begins.any(axis=1))
    later = later[later > 0]
    keys.press("n")
    assert frame_of(seen) == later[0]
    keys.press("n")
    keys.press("p")
    assert frame_of(seen) == later[0]
    seen.page.get_by_role("button", name="First frame (Home)").click()
    keys.press("Escape")
    seen.page.locator("#stage").focus()
    keys.press("Space")
    seen.until(lambda: frame_of(seen) > 2)
    keys.press("Space")
    stopped = frame_of(seen)
    seen.page.wait_for_timeout(200)
    assert frame_of(seen) == stopped
    slider = seen.page.get_by_role("slider", name="Frame")
    slider.fill("40")
    assert frame_of(seen) == 40


def test_a_joint_is_found_and_picked_from_the_tree(seen, scene):
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("forearm")
    shown = seen.page.get_by_role("treeitem")
    assert shown.all_inner_texts()[0].startswith("LeftForeArm")
    assert shown.count() == 1
    seen.page.keyboard.type("?")
    assert (shown.count(), text_of(seen, "nav p")) == (0, "No joint has this in its name.")
    seen.page.keyboard.press("Backspace")
    seen.page.keyboard.press("Enter")
    assert text_of(seen, "aside h2:visible") == "LeftForeArm"
    assert shown.count() == len(scene.clip.skeleton)
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Enter")
    assert text_of(seen, "aside h2:visible") == "LeftHand"
    assert text_of(seen, "#now") == "This joint has no limit."
    stops = seen.page.locator("#tree [tabindex='0']")
    assert [text.split()[0] for text in stops.all_inner_texts()] == ["LeftHand"]
    seen.page.keyboard.press("Escape")
    assert seen.page.get_by_text("What to do first").is_visible()


def test_a_joint_is_picked_by_a_click(seen):
    seen.pick("LeftForeArm")
    seen.page.keyboard.press(".")
    seen.page.keyboard.press("Escape")
    seen.page.mouse.click(*seen.middle)
    assert text_of(seen, "aside h2:visible") == "LeftForeArm"
    x, y = seen.middle
    seen.page.mouse.click(x - 300, y - 150)
    assert seen.page.get_by_text("What to do first").is_visible()


def test_the_panel_tells_of_the_limit(seen, scene):
    seen.pick("LeftArm")
    facts = text_of(seen, ".joint dl")
    assert "reach-cone" in facts
    assert "direction-twist" in facts
    share = 100.0 * scene.model.limits["LeftArm"].volume(4000)
    assert f"{share:.2g}% of all rotations" in facts
    header, arrays = seen.answer("region")
    assert header["family"] == "reach-cone"
    widths = arrays["twistDeg"]
    ends = seen.page.locator(".scale .end").all_inner_texts()
    assert ends == [f"{widths.min():.0f}°", f"{widths.max():.0f}°"]


def test_the_view_turns_pans_and_zooms(seen):
    seen.page.keyboard.press("Escape")
    x, y = seen.middle
    pictures = [seen.picture()]
    for button, modifier in (
        ("middle", None),
        ("middle", "Shift"),
        ("left", None),
        ("right", None),
    ):
        if modifier:
            seen.page.keyboard.down(modifier)
        seen.page.mouse.move(x - 200, y + 150)
        seen.page.mouse.down(button=button)
        seen.page.mouse.move(x - 150, y + 120, steps=3)
        seen.page.mouse.up(button=button)
        if modifier:
            seen.page.keyboard.up(modifier)
        pictures.append(seen.picture())
    seen.page.mouse.wheel(0, 300)
    pictures.append(seen.picture())
    assert len(set(pictures)) == len(pictures)


def test_numpad_views(seen):
    seen.page.keyboard.press("Escape")
    names = []
    for key in ("1", "3", "7"):
        for modifier in ("", "Control+"):
            seen.page.keyboard.press(f"{modifier}Numpad{key}")
            seen.drawn()
            names.append(text_of(seen, "#view"))
    assert names == ["Front", "Back", "Right", "Left", "Top", "Bottom"]
    seen.page.keyboard.press("Numpad5")
    seen.drawn()
    assert text_of(seen, "#view") == "Bottom, parallel"
    before = seen.picture()
    seen.page.keyboard.press("Numpad4")
    turned = seen.picture()
    seen.page.keyboard.press("Numpad6")
    seen.page.keyboard.press("a")
    assert len({before, turned, seen.picture()}) == 3


def test_bones_ghost_and_theme(seen):
    pictures = {seen.picture()}
    for key, tool in (("b", "Bones or body (B)"), ("g", "Ghost of the clamped clip (G)")):
        seen.page.keyboard.press(key)
        seen.until(lambda: len(seen.asked) == len(seen.heard))
        tool = seen.page.get_by_role("button", name=tool)
        assert tool.get_attribute("aria-pressed") == "true"
        pictures.add(seen.picture())
        tool.click()
        assert tool.get_attribute("aria-pressed") == "false"
        tool.click()
    seen.page.keyboard.press("l")
    assert seen.page.locator("html").get_attribute("data-theme") == "dark"
    pictures.add(seen.picture())
    assert len(pictures) == 4


def test_joints_with_limits_are_marked_in_either_style(seen):
    """In the body, too: one sees what can be picked, and what is outside."""
    seen.page.keyboard.press("Escape")
    for style in ("body", "bones"):
        picture = imread(BytesIO(seen.picture()), format="png")[..., :3]
        for colour in ("#0b7a70", "#dc2f45"):
            near = np.abs(picture - to_rgb(colour)).max(axis=-1) < 0.02
            assert near.sum() > 20, (style, colour)
        seen.page.keyboard.press("b")


def test_the_ghost_is_the_clamped_clip(seen, scene):
    seen.page.keyboard.press("g")
    seen.until(lambda: seen.asked[-1]["ask"] == "clamp" and len(seen.asked) == len(seen.heard))
    header, arrays = seen.answer("clamp")
    clamped = scene.model.project(scene.clip)
    rotations = scene.clip.pose.rotations.copy()
    rotations[:, header["changed"]] = arrays["clamped"]
    np.testing.assert_allclose(rotations, clamped.pose.rotations, atol=1e-6)


def test_keys_are_shown(seen):
    seen.page.keyboard.press("?")
    sheet = seen.page.get_by_role("dialog")
    assert "play and pause" in sheet.inner_text()
    assert sheet.evaluate("(each) => each.scrollTop") == 0  # and not at its end
    seen.page.keyboard.press("Escape")
    assert not sheet.is_visible()
    seen.page.get_by_role("button", name="Keys and mouse (?)").click()
    sheet.get_by_role("button", name="Close").click()
    assert not sheet.is_visible()


def dragged(seen, joint, right, down):
    """Drag a joint by pixels, and return Python's last answer, with the pose."""
    seen.pick(joint)
    seen.page.keyboard.press(".")
    seen.drawn()
    x, y = seen.middle
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + right, y + down, steps=4)
    seen.until(lambda: any(each["ask"] == "reach" for each in seen.asked))
    seen.until(lambda: len(seen.asked) == len(seen.heard))
    seen.page.mouse.up()
    seen.drawn()
    return seen.answer("reach")


def test_a_dragged_hand_takes_the_arm_with_it(seen, scene):
    seen.page.keyboard.press("2")
    assert seen.page.get_by_role("tab", name="Try").get_attribute("aria-selected") == "true"
    header, arrays = dragged(seen, "LeftHand", 40, 30)
    pose = Pose(arrays["rotations"].astype(float), scene.frame(0).positions)
    assert np.degrees(scene.model.violation(pose)).max() < 1e-3
    last = [each for each in seen.asked if each["ask"] == "reach"][-1]
    hand = forward(scene.clip.skeleton, pose)[0][4]
    assert np.linalg.norm(hand - last["target"]) == pytest.approx(header["left"], abs=1e-5)
    assert "ms" in text_of(seen, "#tried")
    seen.page.keyboard.press("2")  # that is where we are: nothing is lost
    assert "ms" in text_of(seen, "#tried")
    seen.page.keyboard.press("r")
    assert text_of(seen, "#tried") == ""


def test_a_pose_that_is_reset_in_mid_drag_stays_so(seen, monkeypatch):
    seen.page.keyboard.press("2")
    before = len(seen.heard)
    dragged(seen, "LeftHand", 40, 30)
    assert len(seen.heard) > before
    seen.page.keyboard.press("r")
    seen.drawn()
    at_rest = seen.picture()

    def slowly(session, text):
        time.sleep(0.3 if '"reach"' in text else 0.0)
        return answer(session, text)

    monkeypatch.setattr(sys.modules["synovia.view.server"], "answer", slowly)
    asked, (x, y) = len(seen.asked), seen.middle
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 60, y + 40, steps=4)
    seen.until(lambda: len(seen.asked) > asked)
    seen.page.keyboard.press("r")
    seen.page.mouse.move(x, y, steps=2)
    seen.until(lambda: len(seen.asked) == len(seen.heard))
    seen.page.mouse.up()
    seen.drawn()
    assert text_of(seen, "#tried") == ""
    assert len(seen.asked) == asked + 1  # what waited to be sent was dropped
    assert seen.picture() == at_rest


def test_a_late_answer_is_told_until_it_is_there(seen, monkeypatch):
    """As when a solver is compiled, which is done when it is used for the first time."""
    go_on = threading.Event()

    def waiting(session, text):
        assert '"reach"' not in text or go_on.wait(PATIENCE / 1000)
        return answer(session, text)

    monkeypatch.setattr(sys.modules["synovia.view.server"], "answer", waiting)
    seen.page.keyboard.press("2")
    seen.pick("LeftHand")
    seen.page.keyboard.press(".")
    seen.drawn()
    x, y = seen.middle
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 40, y + 30)
    seen.until(lambda: "compiled" in text_of(seen, "#late"))
    seen.page.mouse.up()
    assert text_of(seen, "#tried") == ""
    go_on.set()
    seen.until(lambda: text_of(seen, "#late") == "")
    seen.until(lambda: "ms" in text_of(seen, "#tried"))


def test_what_was_tried_is_judged_by_limits_that_another_page_has_changed(seen, scene):
    seen.page.keyboard.press("2")
    seen.page.get_by_label("Keep within the limits").uncheck()
    seen.page.get_by_label("Move this limb alone").uncheck()
    before = max(dragged(seen, "LeftHand", -420, -200)[0]["outsideDeg"])
    assert before > 1.0
    limits = dict(scene.model.limits)
    del limits["Chest"]  # the first: places in lists are others now
    seen.server.session.edit(lambda _: limits, "remove, Chest", None)
    seen.server.tell_pages()
    seen.until(lambda: seen.asked[-1]["ask"] == "outside")
    seen.until(lambda: len(seen.asked) + 1 == len(seen.heard))  # and the news
    angles = seen.answer("outside")[0]["outsideDeg"]
    names = [name for name in scene.clip.skeleton.names if name in limits]
    worst = names[int(np.argmax(angles))]
    seen.page.keyboard.press("3")
    seen.drawn()
    assert f"{worst} {max(angles):.0f}° outside" in text_of(seen, "#labels")
    assert "Chest" not in text_of(seen, "#labels")


def test_limits_on_and_off_are_compared_at_once(seen):
    seen.page.keyboard.press("2")
    seen.page.get_by_label("Move this limb alone").uncheck()
    kept, _ = dragged(seen, "LeftHand", -420, -200)
    assert max(kept["outsideDeg"]) < 1e-3
    target = seen.asked[-1]["target"]
    seen.page.get_by_label("Keep within the limits").uncheck()
    seen.until(lambda: seen.asked[-1].get("limits") is False)
    seen.until(lambda: len(seen.asked) == len(seen.heard))
    assert seen.asked[-1]["target"] == target
    assert max(seen.answer("reach")[0]["outsideDeg"]) > 1.0
    seen.page.keyboard.press("r")
    asked = len(seen.asked)
    seen.page.get_by_label("Keep within the limits").check()
    seen.drawn()
    assert len(seen.asked) == asked  # since the start nothing was dragged


def test_out_of_reach_is_said_with_what_holds_back(seen):
    seen.page.get_by_role("tab", name="Try").click()
    header, _ = dragged(seen, "LeftHand", -420, -200)
    assert not header["met"]
    assert "Out of reach" in text_of(seen, "#tried")
    for name in list(header["blockingDeg"])[:6]:
        assert name in text_of(seen, "#tried")


def test_without_limits_joints_leave_them_and_turn_red(seen):
    seen.page.get_by_role("tab", name="Try").click()
    seen.page.get_by_label("Keep within the limits").uncheck()
    seen.page.get_by_label("Move this limb alone").uncheck()
    header, _ = dragged(seen, "LeftHand", -420, -200)
    assert max(header["outsideDeg"]) > 1.0
    assert seen.page.locator(".label").count() > 0


def test_the_head_looks_at_a_ball(browser):
    upright = chain(0, ("Hips", "Chest", "Neck", "Head"))
    limit = Limit(RotationVector(), Box(-np.full(3, 0.2), np.full(3, 0.2), np.eye(3)))
    model = LimitModel(dict.fromkeys(("Chest", "Neck", "Head"), limit), upright.skeleton)
    with visit(browser, scene_of(model, upright)) as seen:
        seen.page.keyboard.press("2")
        before = seen.picture()
        seen.page.get_by_label("Head looks at a ball").check()
        assert seen.page.get_by_label("The joint that looks").bounding_box()["width"] > 90
        seen.page.keyboard.press("Numpad3")
        assert seen.picture() != before
        # Seen from the right, the ball is half a body to the right of the head, on the same level.
        seen.pick("Head")
        seen.page.keyboard.press(".")
        for _ in range(4):
            seen.page.keyboard.press("-")  # until the ball is in view
        seen.drawn()
        x, y = seen.middle
        size = np.linalg.norm([0.3, 0.06])
        height = seen.page.locator("#stage").bounding_box()["height"]
        seen_high = 2.0 * 1.04 * 0.3 * size / np.cos(np.radians(16.0)) / 0.85**4
        away = 0.5 * size / seen_high * height
        seen.page.mouse.move(x + away, y)
        seen.page.mouse.down()
        seen.page.mouse.move(x + away, y - 60, steps=4)
        seen.until(lambda: any(each["ask"] == "look" for each in seen.asked))
        seen.until(lambda: len(seen.asked) == len(seen.heard))
        seen.page.mouse.up()
        arrays = seen.answer("look")[1]
        pose = Pose(arrays["rotations"].astype(float), upright.pose.positions[0])
        assert model.violation(pose).max() < 1e-5
        assert (arrays["rotations"][1:, 0] < 1.0).all()  # all three have turned
        assert "ms" in text_of(seen, "#tried")


def test_controls_pose_a_figure(browser):
    body = figure()
    scene = scene_of(LimitModel({}, body.skeleton), figure=body)
    with visit(browser, scene) as seen:
        assert "no limits" in text_of(seen, "#notes")
        seen.page.keyboard.press("4")
        sliders = seen.page.locator(".controls input")
        names = [each.get_attribute("aria-label") for each in sliders.all()]
        assert names == list(body.controls)
        name, control = next(iter(body.controls.items()))
        assert float(sliders.first.get_attribute("min")) == control.low
        assert float(sliders.first.get_attribute("max")) == control.high
        before = seen.picture()
        sliders.first.press("End")
        seen.until(lambda: [each["ask"] for each in seen.asked].count("pose") == 2)
        seen.until(lambda: len(seen.asked) == len(seen.heard))
        np.testing.assert_allclose(
            seen.answer("pose")[1]["rotations"],
            body.pose({name: control.high}).rotations,
            atol=1e-6,
        )
        assert seen.picture() != before
        seen.page.get_by_role("button", name="Reset the pose (R)").last.click()
        assert float(sliders.first.input_value()) == pytest.approx(control.neutral)
        assert text_of(seen, ".controls [role=status]") == ""
        narrow = Limit(RotationVector(), Box(np.full(3, -0.01), np.full(3, 0.01), np.eye(3)))
        seen.server.session.edit(lambda limits: {**limits, "c7": narrow}, "narrow", None)
        seen.server.tell_pages()
        seen.until(lambda: seen.page.title().startswith("•"))
        sliders.first.evaluate("(each) => (each.max = 9)")  # more than the figure takes
        sliders.first.press("End")
        seen.page.get_by_text("Outside: c7").wait_for()
        assert seen.page.locator(".controls output.clamped").count() == 1
        seen.page.keyboard.press("Space")  # plays the clip, which is to look
        seen.until(lambda: frame_of(seen) > 3)
        tab = seen.page.get_by_role("tab", name="Look")
        assert tab.get_attribute("aria-selected") == "true"


def test_two_pages_at_once(browser, scene, seen):
    page = seen.page.context.new_page()
    page.goto(seen.server.url)
    page.wait_for_selector("body[data-ready]")
    seen.pick("Chest")
    worst = scene.model.check(scene.clip).joints[0].name
    assert page.locator("aside h2:visible").inner_text() == worst
    assert text_of(seen, "aside h2:visible") == "Chest"


def test_a_server_that_goes_is_said(seen):
    seen.server.close()
    seen.page.get_by_text("The line to synovia is gone").wait_for()
    seen.page.get_by_role("treeitem", name="Chest", exact=True).click()  # asks in vain
    seen.page.get_by_role("button", name="Download").click()
    seen.page.get_by_text("the line to synovia is gone", exact=True).wait_for()


NAMES_IN_SCRIPTS = ("Hüfte", "胸", "ذراع", "предплечье", "<b>hand</b>")


def chain(count, names=None):
    names = tuple(f"Joint{k}" for k in range(count)) if names is None else names
    offsets = np.tile([0.0, 0.1, 0.02], (len(names), 1))
    skeleton = Skeleton(names, np.arange(len(names)) - 1, offsets)
    rest = skeleton.rest_pose()
    return Clip(skeleton, Pose(rest.rotations[None], rest.positions[None]), 0.1, "one frame")


def test_names_of_any_script_and_a_clip_of_one_frame(browser, scene):
    with visit(browser, scene_of(scene.model, chain(0, NAMES_IN_SCRIPTS))) as seen:
        assert "No joint of this clip has a limit" in text_of(seen, "#notes")
        assert "--map" in text_of(seen, "#notes")
        assert seen.page.get_by_role("treeitem").all_inner_texts() == list(NAMES_IN_SCRIPTS)
        assert seen.page.get_by_role("button", name="Play (Space)").is_disabled()
        assert "nothing to check" in text_of(seen, "#strip")
        assert "nothing to play" in text_of(seen, "#when")
        seen.page.get_by_role("button", name="Put this note away").click()
        assert text_of(seen, "#notes") == ""


def test_limits_for_another_skeleton_are_said(browser, scene):
    some = clip("other", frames=3)
    renamed = Skeleton(
        ("Hips", "Chest", "LeftArm", "Elbow", "Wrist"), some.skeleton.parents, some.skeleton.offsets
    )
    other = Clip(renamed, some.pose, some.frame_time, "other")
    with visit(browser, scene_of(scene.model, other)) as seen:
        assert "other: has no LeftForeArm." in text_of(seen, "#notes")


def test_two_hundred_joints(browser):
    many = chain(200)
    with visit(browser, scene_of(LimitModel({}, many.skeleton), many)) as seen:
        assert seen.page.get_by_role("treeitem").count() == 200
        seen.page.get_by_role("treeitem", name="Joint199", exact=True).click()
        assert text_of(seen, "aside h2:visible") == "Joint199"
