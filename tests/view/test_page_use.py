"""The page in hands that are new to it, or rough: keys after clicks, nonsense, long names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clips import clip
from synovia import Clip, LimitModel, Pose
from synovia.view.limit_edits import new_cone_limit
from synovia.view.scene import scene_of
from view.browser import visit
from view.test_page_cones import cone_of, field, history, picked

LONG = "верхняя_левая_рука_с_очень_длинным_именем"


@pytest.fixture(scope="module")
def seen(browser):
    """A clip that leaves its limits, with a joint that has a long name."""
    tame, wild = (named(clip(size=size, frames=60)) for size in (0.5, 0.9))
    with visit(browser, scene_of(LimitModel.fit([tame], "box", margin=0.02), wild)) as page:
        yield page


@pytest.fixture
def cone(browser):
    """An arm with a cone that is edited, one of whose points is chosen."""
    for page in picked(
        browser, new_cone_limit(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    ):
        field(page, "Point").select_option("0")
        yield page


def named(given: Clip) -> Clip:
    names = [LONG if name == "LeftArm" else name for name in given.skeleton.names]
    return replace(given, skeleton=replace(given.skeleton, names=tuple(names)))


def playing(seen):
    """Whether Space began to play; then it is paused again."""
    plays = seen.page.get_by_role("button", name="Pause (Space)").count() == 1
    if plays:
        seen.page.keyboard.press("Space")
    return plays


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("treeitem", "Chest"),
        ("tab", "Look"),
        ("button", "Next frame (→)"),
        ("button", "Mesh, body, bones or both (B)"),
    ],
)
def test_space_plays_after_a_click_with_the_mouse(seen, role, name):
    seen.page.get_by_role(role, name=name).click()
    seen.page.keyboard.press("Space")
    assert playing(seen)


def test_space_still_clicks_what_the_keyboard_went_to(seen):
    other = seen.page.get_by_role("treeitem", name="LeftHand")
    seen.page.get_by_role("treeitem", name="Chest").click()
    other.focus()
    seen.page.keyboard.press("Space")
    assert other.get_attribute("aria-selected") == "true"
    assert not playing(seen)


def test_the_view_is_framed_for_the_keyboard_alone(seen):
    frame = "stage => getComputedStyle(stage).outlineStyle"
    stage = seen.page.locator("#stage")
    seen.page.get_by_role("button", name="Mesh, body, bones or both (B)").click()
    seen.page.keyboard.press("Home")
    assert stage.evaluate("stage => stage === document.activeElement")
    assert stage.evaluate(frame) == "none"
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Shift+Tab")
    assert stage.evaluate("stage => stage === document.activeElement")
    assert stage.evaluate(frame) == "solid"


def test_a_long_name_leaves_room_for_the_angle(seen):
    items = (
        seen.page.get_by_role("treeitem", name=LONG),
        seen.page.locator("#strip .row .name", has_text=LONG),
    )
    for item in items:
        item.scroll_into_view_if_needed()
        whole, angle = item.bounding_box(), item.locator("> span").bounding_box()
        assert item.locator("> span").inner_text().endswith("°")
        assert angle["x"] + angle["width"] <= whole["x"] + whole["width"]
        assert item.locator("bdi span").first.evaluate(
            "(name) => name.scrollWidth > name.clientWidth"
        )


def test_a_mode_begins_at_the_top_of_its_panel(seen):
    seen.page.get_by_role("treeitem", name="Chest").click()
    seen.page.locator("#inset").wait_for()
    seen.page.keyboard.press("3")
    seen.page.get_by_role("button", name="Remove").scroll_into_view_if_needed()
    assert seen.page.locator("#details").evaluate("(panel) => panel.scrollTop") > 0
    seen.page.keyboard.press("2")
    assert seen.page.locator("#details").evaluate("(panel) => panel.scrollTop") == 0
    seen.page.keyboard.press("1")


def test_a_joint_is_found_by_words_in_its_name(seen):
    search = seen.page.get_by_label("Find a joint")
    search.fill("arm fore")
    found = seen.page.get_by_role("treeitem").locator("bdi").all_inner_texts()
    search.fill("")
    assert found == ["LeftForeArm"]


def test_the_view_keeps_its_size_whatever_is_picked(seen):
    heights = []
    for pick in ("Chest", "Hips", None):  # with a limit, without one, nothing
        if pick is None:
            seen.page.keyboard.press("Escape")
        else:
            seen.pick(pick)
        seen.drawn()
        heights.append(seen.page.locator("#stage").bounding_box()["height"])
    assert len(set(heights)) == 1
    assert "Pick a joint" in seen.page.locator("#curve").inner_text()


def test_a_narrow_window_has_room_for_all(seen):
    """The menu of files closes by Esc, or by its button, and leaves no window."""
    seen.page.set_viewport_size({"width": 420, "height": 800})
    seen.drawn()
    try:
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 420
        inside = "(it) => it.scrollWidth <= it.clientWidth"
        for part in ("header", "footer", "aside"):
            assert seen.page.locator(part).evaluate(inside), part
        assert seen.page.locator("#stage").bounding_box()["width"] == 420
        button = seen.page.get_by_role("button", name="Open files, or export some")
        menu = seen.page.locator(".menu")
        for close in (button.click, lambda: seen.page.keyboard.press("Escape")):
            button.click()
            box = menu.bounding_box()
            assert 0 <= box["x"] <= 420 - box["width"]
            assert box["y"] + box["height"] <= 800
            close()
            assert menu.is_hidden()
    finally:
        seen.page.set_viewport_size({"width": 1200, "height": 600})


def test_all_keys_are_seen_at_once_on_a_laptop(browser):
    scene = scene_of(LimitModel.fit([clip(frames=20)], "box"), clip(frames=2))
    with visit(browser, scene) as page:
        page.page.set_viewport_size({"width": 1366, "height": 768})
        page.page.keyboard.press("?")
        sheet = page.page.get_by_role("dialog")
        assert sheet.evaluate("(each) => each.scrollHeight <= each.clientHeight")
        assert sheet.get_by_role("heading").all_inner_texts() == [
            *("Keys and mouse", "Mouse", "Time", "Pose", "View", "Page", "Edit")
        ]


def test_one_frame_says_so_beside_its_buttons(browser):
    some = clip(frames=20)
    one = replace(some, pose=Pose(some.pose.rotations[:1], some.pose.positions[:1]))
    with visit(browser, scene_of(LimitModel.fit([some], "box"), one)) as page:
        assert page.page.locator("#when").inner_text() == "One frame, nothing to play"
        assert not page.page.get_by_label("Frame", exact=True).is_visible()
        heights = page.page.locator("#transport button:visible").evaluate_all(
            "(all) => all.map((each) => each.clientHeight)"
        )
        assert len(set(heights)) == 1


def test_numbers_are_red_only_where_they_are_wrong(cone):
    away = field(cone, "Away from the bone, degrees")
    away.fill("30.5")
    away.press("Enter")
    cone.settle()
    assert cone.page.locator(".points input:invalid").count() == 0
    before, steps = cone_of(cone).points, len(history(cone))
    for nonsense in ("1e300", "-3", "999"):
        away.fill(nonsense)
        away.press("Enter")
        cone.settle()
        assert cone.page.locator(".points input:invalid").count() == 1
    rounds = field(cone, "Rounds of smoothing")
    for nonsense in ("", "0", "99"):
        rounds.fill(nonsense)
        cone.page.get_by_role("button", name="Smooth the outline (S)").click()
        cone.settle()
    assert np.array_equal(cone_of(cone).points, before)
    assert len(history(cone)) == steps


def test_a_number_that_was_typed_is_undone_from_its_field(cone):
    away = field(cone, "Away from the bone, degrees")
    before = cone_of(cone).points
    away.fill("35")
    away.press("Enter")
    cone.settle()
    assert len(history(cone)) == 1
    away.press("Control+z")
    cone.settle()
    assert len(history(cone)) == 0
    assert np.array_equal(cone_of(cone).points, before)
    away.press("Control+Shift+z")
    cone.settle()
    assert len(history(cone)) == 1
    # What is not taken over yet is the field's own.
    away.press("4")
    away.press("Control+z")
    cone.settle()
    assert len(history(cone)) == 1


def test_what_is_undone_is_said_in_every_mode(cone):
    said = cone.page.locator("#done")
    away = field(cone, "Away from the bone, degrees")
    away.fill("35")
    away.press("Enter")
    cone.settle()
    cone.page.get_by_role("treeitem", name="RightArm").click()
    away.page.keyboard.press("Control+z")
    cone.settle()
    assert said.inner_text() == "Undone: move point, LeftArm"
    cone.page.keyboard.press("1")
    cone.page.keyboard.press("Control+y")
    cone.settle()
    assert said.inner_text() == "Redone: move point, LeftArm"
    cone.page.keyboard.press("Control+y")
    cone.settle()
    assert said.inner_text() == "there is nothing to redo"


def test_one_range_of_twist_is_told_as_one(cone):
    cone.page.keyboard.press("1")
    assert cone.page.locator(".scale").inner_text().split("\n")[-2:] == ["90°", "everywhere"]
