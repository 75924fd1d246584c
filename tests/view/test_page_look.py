"""The page in a real browser, to look: at time, joints, limits and views, by mouse and keyboard."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from clips import clip
from synovia import LimitModel, Pose
from synovia.text import percent
from synovia.view.scene import scene_of
from view.browser import frame_of, text_of, visit
from view.test_cone_edits import two_arms

# These leave something behind, or ask how the page opens.
ALONE = {
    "test_labels_do_not_cover_each_other",
    "test_it_opens_on_the_worst_frame_and_says_why",
    "test_violations_below_a_threshold_are_passed_over",
}


@pytest.fixture(scope="module")
def shared(browser, scene):
    with visit(browser, scene) as page:
        yield page


@pytest.fixture
def seen(request, browser, scene, drawn):
    """A page of its own, or one for all that only look at it: to open one takes a second."""
    if not drawn and request.node.name not in ALONE:
        yield request.getfixturevalue("shared")
        return
    with visit(browser, scene, drawn=drawn) as page:
        yield page


def test_it_opens_at_the_worst_joint(seen, scene):
    worst = scene.model.check(scene.clip).joints[0]
    assert seen.page.title() == "wild – Synovia"
    assert text_of(seen, "aside h2:visible") == worst.name
    row = seen.page.locator("#strip .row .name").first
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
        seen.page.locator("#strip .row .name").first.click()
        assert text_of(seen, "#now") == f"{np.degrees(worst.worst):.0f}° outside"
        header, _ = seen.answer("open")
        names = header["names"]
        assert names[header["state"]["measuredFrom"][names.index("LeftArm")]] == "Hips"


def test_a_row_leads_to_its_worst_frame(seen, scene):
    joint = scene.model.check(scene.clip).joints[1]
    seen.page.locator("#strip .row .name").nth(1).click()
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
    keys.press("Home")
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
    picked = text_of(seen, "aside h2:visible")
    names = scene.model.check(scene.clip).names
    assert picked in [names[place] for place in np.flatnonzero(begins[later[0]])]
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
    seen.pick("LeftArm")
    seen.settle()
    for place in ("#curve .paper", "#transport [aria-label=Frame]"):  # Esc takes a drag back
        box = seen.page.locator(place).bounding_box()
        y = box["y"] + 0.5 * box["height"]
        seen.page.mouse.move(box["x"] + 0.34 * box["width"], y)
        seen.page.mouse.down()
        seen.page.mouse.move(box["x"] + 0.8 * box["width"], y, steps=2)
        seen.until(lambda: frame_of(seen) > 80)
        keys.press("Escape")
        seen.page.mouse.move(box["x"] + 0.9 * box["width"], y)
        seen.page.mouse.up()
        seen.until(lambda: frame_of(seen) == 40)


def test_a_joint_is_found_and_picked_from_the_tree(seen, scene):
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("forearm")
    shown = seen.page.get_by_role("treeitem")
    seen.until(lambda: shown.count() == 1)
    assert shown.all_inner_texts()[0].startswith("LeftForeArm")
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
    look = seen.page.get_by_role("button", name="Look at the picked joint (.)")
    look.click()
    seen.page.keyboard.press("Escape")
    assert look.is_disabled()
    seen.drawn()
    seen.page.mouse.click(*seen.middle)
    assert text_of(seen, "aside h2:visible") == "LeftForeArm"
    x, y = seen.middle
    seen.page.mouse.click(x - 300, y - 150)
    assert seen.page.get_by_text("What to do first").is_visible()


def test_the_panel_tells_of_the_limit(seen, scene):
    seen.pick("LeftArm")
    facts = text_of(seen, ".joint dl")
    assert "Reach cone" in facts
    assert "direction-twist" in facts
    share = scene.model.limits["LeftArm"].volume(4000)
    assert f"{percent(share)} of all rotations" in facts
    header, arrays = seen.answer("region")
    assert header["family"] == "reach-cone"
    widths = arrays["twistDeg"]
    ends = seen.page.locator(".scale .end").all_inner_texts()
    assert ends == [f"{widths.min():.0f}°", f"{widths.max():.0f}°"]


@pytest.mark.drawn
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
        if button == "left":
            pictures.append(seen.picture())
            seen.page.keyboard.press("Escape")  # takes it back
            assert seen.picture() == pictures[-2]
        seen.page.mouse.up(button=button)
        if modifier:
            seen.page.keyboard.up(modifier)
        if button != "left":
            pictures.append(seen.picture())
    seen.page.mouse.wheel(0, 300)
    pictures.append(seen.picture())
    assert len(set(pictures)) == len(pictures)


@pytest.mark.drawn
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
    seen.page.keyboard.press("+")
    assert len({before, turned, seen.picture()}) == 3


@pytest.mark.drawn
def test_bones_ghost_and_theme(seen):
    pictures = {seen.picture()}
    style = seen.page.get_by_role("button", name="Mesh, body, bones or both (B)")
    before = style.text_content()
    seen.page.keyboard.press("b")
    assert style.text_content() != before
    pictures.add(seen.picture())
    seen.page.keyboard.press("g")
    seen.settle()
    tool = seen.page.get_by_role("button", name="Ghost of the clamped clip (G)")
    assert tool.get_attribute("aria-pressed") == "true"
    pictures.add(seen.picture())
    tool.click()
    assert tool.get_attribute("aria-pressed") == "false"
    tool.click()
    dark_lines = lines_of_the_inset(seen)
    seen.page.keyboard.press("l")
    assert seen.page.locator("html").get_attribute("data-theme") == "dark"
    pictures.add(seen.picture())
    assert len(pictures) == 4
    seen.settle()
    seen.drawn()
    assert lines_of_the_inset(seen) > dark_lines + 0.5


def pixels(picture):
    """The colours (h, w, 3) of a PNG."""
    from matplotlib.image import imread

    return imread(BytesIO(picture), format="png")[..., :3]


def lines_of_the_inset(seen):
    """How light the axes among rotations are, at the rim, where nothing else is: from 0 to 1."""
    image = pixels(seen.page.locator("#inset").screenshot())
    column = image[4:24].mean(axis=-1)  # the axis that is up ends there
    ground = np.median(column)
    return float(column.ravel()[np.abs(column - ground).argmax()])


@pytest.mark.drawn
def test_joints_with_limits_are_marked_in_either_style(seen):
    """In the body, too: one sees what can be picked, and what is outside."""
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("a")
    seen.page.locator("#labels").evaluate("(each) => (each.hidden = true)")  # they cover dots
    seen.page.keyboard.press("Escape")
    for style in ("first", "second", "third"):
        picture = pixels(seen.picture())
        for colour in ("#0b7a70", "#dc2f45"):
            near = np.abs(picture - to_rgb(colour)).max(axis=-1) < 0.02
            assert near.sum() > 20, (style, colour)
        seen.page.keyboard.press("b")


def test_the_ghost_is_the_clamped_clip(seen, scene):
    seen.page.keyboard.press("g")
    seen.until(lambda: any(each["ask"] == "clamp" for each in seen.asked))
    seen.settle()
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


def test_labels_do_not_cover_each_other(seen):
    seen.page.keyboard.press("Home")
    for _ in range(12):  # from afar all joints are in one place
        seen.page.keyboard.press("-")
    seen.drawn()
    boxes = seen.page.evaluate(
        "() => [...document.querySelectorAll('#labels .label')].map((each) => {"
        " const { left, right, top, bottom } = each.getBoundingClientRect();"
        " return [left, right, top, bottom]; })"
    )
    assert len(boxes) > 1
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:number]:
            apart = left >= other[1] - 0.5 or other[0] >= right - 0.5
            assert apart or top >= other[3] - 0.5 or other[2] >= bottom - 0.5


def test_it_opens_on_the_worst_frame_and_says_why(seen, scene):
    report = scene.model.check(scene.clip)
    frame, place = np.unravel_index(report.violation.argmax(), report.violation.shape)
    assert frame_of(seen) == frame
    name = report.names[place]
    assert text_of(seen, "aside h2:visible") == name
    seen.page.locator("#why", has_text="Swing").wait_for()
    why = seen.answer("why")[0]
    assert why["joint"] == name
    assert why["outsideDeg"] == pytest.approx(np.degrees(report.violation.max()), abs=1e-3)
    assert scene.model.limits[name].violation(np.array(why["legal"])) < 1e-6
    seen.page.get_by_role("button", name="Widen the limit").click()
    seen.page.locator("#now", has_text="Inside its limit").wait_for()
    now = seen.server.scene.model
    place = scene.clip.skeleton.index(name)
    assert now.violation(scene.frame(int(frame)))[place] < 1e-6
    seen.page.keyboard.press("Control+z")
    seen.page.locator("#why", has_text="Swing").wait_for()
    seen.page.keyboard.press("Escape")
    assert not seen.page.locator("#why").is_visible()


def test_violations_below_a_threshold_are_passed_over(seen, scene):
    least = 0.7 * np.degrees(scene.model.check(scene.clip).violation.max())
    seen.page.get_by_label("Ignore violations below").fill(f"{least:.2f}")
    seen.page.locator("#stage").focus()
    seen.page.keyboard.press("Home")
    outside = np.degrees(scene.model.check(scene.clip).violation) > float(f"{least:.2f}")
    begins = outside & ~np.vstack([np.zeros_like(outside[:1]), outside[:-1]])
    seen.page.keyboard.press("n")
    assert frame_of(seen) == np.flatnonzero(begins[1:].any(axis=1))[0] + 1


def test_the_view_goes_with_the_root(browser, scene):
    """So a body that walks off looks, a frame on, as it does where it is."""
    pose = scene.clip.pose
    rotations = np.repeat(pose.rotations[:1], 2, axis=0)
    positions = np.repeat(pose.positions[:1], 2, axis=0)
    positions[1, 0] += [3.0, 0.0, 2.0]
    walk = replace(scene.clip, pose=Pose(rotations, positions))
    with visit(browser, scene_of(LimitModel({}, walk.skeleton), walk)) as seen:
        arm = seen.page.get_by_role("treeitem", name="LeftHand", exact=True)
        arm.click()
        seen.page.keyboard.press(".")
        seen.page.keyboard.press("Escape")
        seen.page.keyboard.press("ArrowRight")
        seen.drawn()
        seen.page.mouse.click(*seen.middle)
        assert text_of(seen, "aside h2:visible") == "LeftHand"


def test_branches_of_the_tree_fold(browser):
    still = two_arms(frames=1)
    with visit(browser, scene_of(LimitModel({}, still.skeleton), still)) as seen:
        shown = seen.page.get_by_role("treeitem")
        every = shown.all_inner_texts()
        fork = seen.page.locator("[role=treeitem][aria-expanded]").first
        name = fork.inner_text()
        fork.focus()
        fork.press("ArrowLeft")
        assert fork.get_attribute("aria-expanded") == "false"
        assert shown.all_inner_texts() == every[: every.index(name) + 1]
        box = fork.locator("bdi").bounding_box()
        seen.page.mouse.click(box["x"] - 6, box["y"] + 6)
        assert shown.all_inner_texts() == every
        fork.press("ArrowLeft")
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("hand" if any("Hand" in each for each in every) else every[-1])
        seen.page.keyboard.press("Enter")  # what is picked is unfolded
        assert shown.all_inner_texts() == every


def test_a_loop_is_played_over_and_over(seen):
    keys = seen.page.keyboard
    slider = seen.page.get_by_role("slider", name="Frame")
    for frame in (20, 24):
        slider.fill(str(frame))
        seen.page.locator(".pace button").click()
    seen.page.get_by_role("button", name="Play all frames again").wait_for()
    seen.page.locator("#stage").focus()
    keys.press("Space")
    shown = set()
    seen.until(lambda: shown.add(frame_of(seen)) or len(shown) > 2)
    keys.press("Space")
    assert shown <= set(range(20, 25))
