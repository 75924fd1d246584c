"""Poses at the page, in a real browser: pulled, slid, typed, turned; kept, undone, taken back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from synovia import Clip, Pose, forward, human, human_limits, quat
from synovia.view.scene import scene_of
from view.browser import text_of, visit
from view.test_page_cones import cone_of, drag, place
from view.test_page_cones import seen as cone_page  # noqa: F401  a fixture
from view.test_page_exchange import choose

BODY = human()
BONES = BODY.skeleton
RING = 0.11 / (2.0 * 1.04 * 0.3 / np.cos(np.radians(16.0)))
"""How large a ring is at a joint that is looked at, as a share of the view's height."""


@pytest.fixture(scope="module")
def scene():
    rest = BODY.pose()
    still = Pose(rest.rotations[None], rest.positions[None])
    return scene_of(human_limits(), Clip(BONES, still, 1.0 / 30.0, "rest"), BODY)


@pytest.fixture
def seen(browser, scene):
    with visit(browser, scene) as page:
        yield page


def look_at(seen, joint, *keys):
    seen.pick(joint)
    for key in (".", "Numpad1", "Numpad5", *keys):
        seen.page.keyboard.press(key)
    seen.settle()
    seen.drawn()


def pull(seen, right, up):
    """Drag what is in the middle by pixels, and hold it."""
    x, y = seen.middle
    drag(seen, (x, y), (x + right, y - up), steps=6)
    seen.until(seen.is_answered)
    seen.drawn()


def let_go(seen):
    seen.page.mouse.up()
    seen.settle()
    seen.drawn()


def shown_turns(seen):
    """The rotations of the pose that is shown, as the page would take it home."""
    with seen.page.expect_download():
        choose(seen, "Download the pose that is shown, as BVH")
    asked = [each for each in seen.asked if each["ask"] == "export"][-1]
    return np.reshape(asked["rotations"], (-1, 4))


def slider(seen, name):
    return seen.page.get_by_label(name, exact=True)


def test_a_pulled_hand_moves_the_sliders_and_stays_in_every_mode(seen):
    seen.page.keyboard.press("2")
    look_at(seen, "LeftHand")
    seen.page.keyboard.press("Escape")  # nothing is picked; dragging does that
    seen.settle()
    rest = shown_turns(seen)
    pull(seen, 60, 130)
    let_go(seen)
    header, arrays = seen.answer("pull")
    assert header["met"]
    picked = seen.page.get_by_role("treeitem", name="LeftHand", exact=True)
    assert picked.get_attribute("aria-selected") == "true"
    last = [each for each in seen.asked if each["ask"] == "pull"][-1]
    pose = Pose(quat.normalize(arrays["rotations"].astype(float)), arrays["positions"])
    hand = forward(BONES, pose)[0][BONES.index("LeftHand")]
    np.testing.assert_allclose(hand, last["target"], atol=2e-3)
    assert "Reached" in text_of(seen, "#tried")
    seen.page.keyboard.press("4")
    seen.settle()
    assert text_of(seen, ".controls .moves h3") == "left wrist"  # what moves the picked joint
    assert seen.page.locator(".controls .moves").bounding_box()["y"] < 600
    for name in ("left_shoulder.abduction", "left_elbow.flexion", "lumbar.flexion"):
        value = float(slider(seen, name).input_value())
        assert value == pytest.approx(header["values"][name], abs=1e-4)
    seen.page.keyboard.press("1")
    np.testing.assert_allclose(shown_turns(seen), arrays["rotations"], atol=1e-6)
    seen.page.keyboard.press("2")
    seen.page.keyboard.press("Control+z")
    seen.settle()
    np.testing.assert_array_equal(shown_turns(seen), rest)
    seen.page.keyboard.press("Control+Shift+Z")
    for key in "134":  # whatever one looks at meanwhile
        seen.page.keyboard.press(key)
        seen.settle()
    value = float(slider(seen, "left_elbow.flexion").input_value())
    assert value == pytest.approx(header["values"]["left_elbow.flexion"], abs=1e-4)


def test_escape_takes_a_drag_back(seen):
    seen.page.keyboard.press("2")
    look_at(seen, "LeftHand")
    rest = shown_turns(seen)
    pull(seen, 60, 130)
    assert "Reached" in text_of(seen, "#tried")
    seen.page.keyboard.press("Escape")
    asked = len(seen.asked)
    x, y = seen.middle
    seen.page.mouse.move(x + 90, y - 90, steps=3)
    let_go(seen)
    assert len(seen.asked) == asked
    assert text_of(seen, "#tried") == ""
    np.testing.assert_array_equal(shown_turns(seen), rest)
    assert seen.page.get_by_role("button", name="Undo the pose").is_disabled()
    pull(seen, 60, 130)
    let_go(seen)
    seen.page.keyboard.press("Control+z")
    assert text_of(seen, "#tried") == ""  # that was of another pose


def test_escape_takes_an_edit_back(cone_page):  # noqa: F811
    before = cone_of(cone_page)
    corner = before.points[0]
    start = place(cone_page, corner)
    drag(cone_page, start, (start[0] + 12, start[1] - 14))
    assert not np.array_equal(cone_of(cone_page).points, before.points)
    cone_page.page.keyboard.press("Escape")
    cone_page.settle()
    cone_page.page.mouse.up()
    cone_page.settle()
    assert np.array_equal(cone_of(cone_page).points, before.points)


def test_values_are_typed_and_reset(seen):
    seen.page.keyboard.press("4")
    seen.settle()
    typed = slider(seen, "left_shoulder.abduction, typed")
    typed.fill("90")
    typed.press("Enter")
    seen.settle()
    assert seen.asked[-1]["values"]["left_shoulder.abduction"] == 90.0
    assert float(slider(seen, "left_shoulder.abduction").input_value()) == 90.0
    row = seen.page.locator(".control", has=typed)
    assert row.locator("small").all_inner_texts() == ["-45°", "173°"]
    seen.page.get_by_role("button", name="Reset left_shoulder.abduction").click()
    seen.settle()
    assert float(slider(seen, "left_shoulder.abduction").input_value()) == 0.0
    seen.page.keyboard.press("Control+z")
    seen.settle()
    assert float(slider(seen, "left_shoulder.abduction").input_value()) == 90.0
    seen.pick("LeftScapula")
    seen.page.get_by_role("button", name="Reset LeftScapula").click()
    seen.settle()
    assert float(slider(seen, "left_shoulder.abduction").input_value()) == 0.0


def test_poses_are_kept_mirrored_copied_and_deleted(seen):
    page = seen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("4")
    seen.settle()
    rest = shown_turns(seen)
    typed = slider(seen, "left_elbow.flexion, typed")
    typed.fill("80")
    typed.press("Enter")
    seen.settle()
    bent = shown_turns(seen)
    wanted = BODY.pose({"left_elbow.flexion": 80.0}).rotations
    np.testing.assert_allclose(bent, wanted, atol=1e-6)
    page.get_by_label("Name of the pose").fill("Bent")
    page.keyboard.press("Enter")
    page.keyboard.press("r")  # which is for the view again
    seen.settle()
    np.testing.assert_allclose(shown_turns(seen), rest, atol=1e-6)
    page.get_by_role("button", name="Apply Bent").click()
    seen.settle()
    np.testing.assert_array_equal(shown_turns(seen), bent)
    page.get_by_role("button", name="Copy Bent as JSON").click()
    page.locator("#done", has_text="Bent is copied").wait_for()
    copied = json.loads(page.evaluate("() => navigator.clipboard.readText()"))
    assert copied["controls"]["left_elbow.flexion"] == 80.0
    assert list(copied["joints"]) == list(BONES.names)
    page.get_by_role("button", name="Mirror the pose").click()
    seen.settle()
    assert float(slider(seen, "right_elbow.flexion").input_value()) == pytest.approx(80.0, abs=0.5)
    assert float(slider(seen, "left_elbow.flexion").input_value()) == pytest.approx(0.0, abs=0.5)
    page.get_by_role("button", name="Delete Bent").click()
    assert page.get_by_role("button", name="Apply Bent").count() == 0


def test_a_ring_turns_a_joint_and_stops_at_its_range(seen):
    seen.page.keyboard.press("2")
    look_at(seen, "LeftUpperArm")
    height = seen.page.locator("#stage").bounding_box()["height"]
    x, y = seen.middle
    radius = RING * height

    def at(angle_deg):  # on the ring about z, which is towards us
        angle = np.radians(angle_deg)
        return x + radius * np.cos(angle), y - radius * np.sin(angle)

    seen.page.mouse.move(*at(45.0))
    seen.page.mouse.down()
    for angle in range(50, 106, 5):
        seen.page.mouse.move(*at(angle))
    seen.settle()
    let_go(seen)
    header, _ = seen.answer("turn")
    asked = [each for each in seen.asked if each["ask"] == "turn"][-1]
    wanted = np.degrees(quat.log(np.array(asked["rotation"])))
    assert wanted[2] == pytest.approx(60.0, abs=6.0)  # the ring goes along with the shoulder
    assert header["values"]["left_shoulder.abduction"] == pytest.approx(60.0, abs=12.0)
    assert max(header["outsideDeg"]) < 0.1


def test_a_hinge_has_an_arc_with_two_ends(seen):
    seen.page.keyboard.press("2")
    seen.pick("LeftLowerArm")
    hinge = seen.answer("region")[0]["hinge"]
    low, _, high = BODY.ranges
    elbow = list(BODY.controls).index("left_elbow.flexion")
    assert hinge["highDeg"] - hinge["lowDeg"] == pytest.approx(high[elbow] - low[elbow], abs=2.0)
    seen.pick("LeftUpperArm")
    assert seen.answer("region")[0]["hinge"] is None


def test_pins_keep_feet_flat_if_asked(seen):
    seen.page.keyboard.press("2")
    seen.pick("LeftFoot")
    seen.page.keyboard.press("k")
    seen.pick("RightFoot")
    seen.page.keyboard.press("k")
    seen.page.get_by_label("Pins also keep rotations").check()
    look_at(seen, "Pelvis")
    pull(seen, 0, -20)
    let_go(seen)
    asked = [each for each in seen.asked if each["ask"] == "pull"][-1]
    assert set(asked["pins"]) == set(asked["turns"]) == {"LeftFoot", "RightFoot"}
    _, arrays = seen.answer("pull")
    pose = Pose(quat.normalize(arrays["rotations"].astype(float)), arrays["positions"])
    where, how = forward(BONES, pose)
    rest = forward(BONES, BODY.pose())
    foot = BONES.index("LeftFoot")
    np.testing.assert_allclose(where[foot], rest[0][foot], atol=5e-3)
    assert np.degrees(quat.angle_between(how[foot], rest[1][foot])) < 2.0
    assert where[0][1] < rest[0][0][1] - 0.01


def test_escape_takes_a_slider_back(seen):
    seen.page.keyboard.press("4")
    seen.settle()
    elbow = slider(seen, "left_elbow.flexion")
    elbow.scroll_into_view_if_needed()
    box = elbow.bounding_box()
    y = box["y"] + 0.5 * box["height"]
    seen.page.mouse.move(box["x"] + 8, y)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=4)
    seen.settle()
    assert float(elbow.input_value()) > 40.0
    seen.page.keyboard.press("Escape")
    seen.drawn()
    seen.page.mouse.move(box["x"] + 0.8 * box["width"], y, steps=4)
    seen.page.mouse.up()
    seen.settle()
    assert float(elbow.input_value()) == 0.0
    assert seen.page.get_by_role("button", name="Undo the pose").is_disabled()
