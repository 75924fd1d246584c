"""Reach cones edited in a real browser, by mouse and keyboard, and what Python has of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from synovia import LimitModel, quat
from synovia.view.answers import HANDLERS
from synovia.view.limit_edits import new_cone_limit
from synovia.view.scene import scene_of
from view.browser import PATIENCE, visit
from view.test_cone_edits import two_arms, two_cones

SIZE = float(np.hypot(0.5, 0.4))
RADIUS = 0.25 * SIZE  # of the sphere at the joint
HALF = 1.04 * 0.3 * SIZE / np.cos(np.radians(16.0))  # what half of the view's height shows


@pytest.fixture
def seen(browser, drawn):
    """An arm along x with a cone around it, seen from its end, without perspective."""
    cone = new_cone_limit(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    yield from picked(browser, cone, drawn=drawn)


@pytest.fixture
def union(browser):
    """The same arm, with a second cone to the left of the first."""
    yield from picked(browser, two_cones())


def picked(browser, limit, *, drawn=False):
    still = two_arms(frames=3)
    scene = scene_of(LimitModel({"LeftArm": limit}, still.skeleton), still)
    with visit(browser, scene, drawn=drawn) as page:
        page.pick("LeftArm")
        for key in ("3", ".", "Ctrl+Numpad3", "Numpad5"):
            page.page.keyboard.press(key.replace("Ctrl", "Control"))
        page.drawn()
        yield page


def cone_of(seen, joint="LeftArm"):
    return seen.server.session.scene.model.limits[joint].shape


def history(seen):
    return seen.server.session._history.past


def place(seen, direction):
    """Where a point on the sphere is in the window: z is to the left, y up."""
    point = RADIUS * np.asarray(direction)
    box = seen.page.locator("#stage").bounding_box()
    scale = 0.5 * box["height"] / HALF
    x, y = seen.middle
    return x - scale * point[2], y - scale * point[1]


def drag(seen, start, end, steps=10):
    seen.page.mouse.move(*start)
    seen.page.mouse.down()
    seen.page.mouse.move(*end, steps=steps)
    seen.settle()


def drop(seen):
    seen.page.mouse.up()
    seen.settle()


def at(away_deg, around_deg):
    """The direction so far from the bone, counter-clockwise from up as seen from its end."""
    away, around = np.radians(away_deg), np.radians(around_deg)
    return np.array([np.cos(away), np.sin(away) * np.cos(around), np.sin(away) * np.sin(around)])


def off_deg(a, b):
    return np.degrees(np.arccos(np.clip(np.dot(a, b), -1.0, 1.0)))


def said(seen):
    return seen.page.locator("#said").inner_text()


def field(seen, label):
    return seen.page.get_by_label(label, exact=True)


def press(seen, *keys):
    for key in keys:
        seen.page.keyboard.press(key)
        seen.settle()


def button(seen, name):
    seen.page.get_by_role("button", name=name).click()
    seen.settle()


def test_a_point_follows_the_mouse_and_a_drag_is_one_step(seen):
    before = cone_of(seen)
    corner = before.points[1]
    target = at(50.0, np.degrees(np.arctan2(corner[2], corner[1])) + 10.0)
    drag(seen, place(seen, corner), place(seen, target))
    drop(seen)
    after = cone_of(seen)
    moves = [each for each in seen.asked if each.get("edit") == "move-point"]
    assert len({each["stroke"] for each in moves}) == 1
    assert off_deg(after.points[1], target) < 2.0
    np.testing.assert_array_equal(np.delete(after.points, 1, 0), np.delete(before.points, 1, 0))
    assert len(history(seen)) == 1
    assert seen.page.get_by_label("Point", exact=True).input_value() == "1"
    assert float(field(seen, "Away from the bone, degrees").input_value()) == pytest.approx(
        off_deg(after.points[1], [1.0, 0.0, 0.0]), abs=0.06
    )
    seen.page.keyboard.press("Control+z")
    seen.settle()
    assert cone_of(seen) is before
    np.testing.assert_allclose(seen.answer("undo")[1]["corners"], before.points, atol=1e-6)
    seen.page.keyboard.press("Control+y")
    seen.settle()
    assert cone_of(seen) is after


@pytest.mark.drawn
def test_a_broken_star_is_refused_and_its_edge_is_red(seen):
    before = cone_of(seen)
    drag(seen, place(seen, before.points[0]), place(seen, before.points[4] * [1.0, 0.6, 0.6]))
    line = seen.page.locator("#said")
    assert "no longer a star" in said(seen).lower()
    edge = int(line.get_attribute("data-edge"))
    assert f"edge {edge} (from point {edge}" in said(seen)
    assert "missed" in line.get_attribute("class")
    valid = cone_of(seen)
    red = seen.picture()
    drop(seen)
    assert cone_of(seen) is valid
    assert line.get_attribute("data-edge") == str(edge)  # until the next edit succeeds
    drag(seen, place(seen, valid.points[2]), place(seen, 1.1 * valid.points[2]))
    drop(seen)
    assert line.get_attribute("data-edge") is None
    assert said(seen) == ""
    assert seen.picture() != red


def test_numbers_can_be_entered(seen):
    before = cone_of(seen)
    press(seen, "]")
    for label, value in [
        ("Away from the bone, degrees", "41.5"),
        ("Around it, degrees", "-80"),
        ("Twist from, degrees", "-80.25"),
        ("to, degrees", "20"),
    ]:
        field(seen, label).fill(value)
        press(seen, "Enter")
    after = cone_of(seen)
    assert off_deg(after.points[0], at(41.5, -80.0)) < 1e-3
    np.testing.assert_allclose(np.degrees([after.low[0], after.high[0]]), [-80.25, 20], atol=1e-4)
    np.testing.assert_array_equal(after.points[1:], before.points[1:])
    assert len(history(seen)) == 4
    field(seen, "to, degrees").fill("-90")
    press(seen, "Enter")
    assert "must not end before it begins" in said(seen)
    assert cone_of(seen) is after
    assert field(seen, "to, degrees").input_value() == "20"
    seen.page.get_by_label("Point", exact=True).select_option("visible0")
    field(seen, "Twist from, degrees").fill("-10")
    press(seen, "Enter")
    assert np.degrees(cone_of(seen).visible_low) == pytest.approx(-10.0)
    assert said(seen) == ""


def test_twists_are_dragged_by_their_fans(seen):
    corner = cone_of(seen).points[2]
    seen.page.mouse.click(*place(seen, corner))
    seen.settle()
    assert cone_of(seen).high[2] == pytest.approx(np.radians(45.0))
    # Seen from the bone's end, a twist of zero is up, and twists turn as the clock does not.
    swing = np.cross([1.0, 0.0, 0.0], corner)
    swing *= np.radians(30.0) / np.linalg.norm(swing)

    def end(twist_deg):
        way = quat.mul(quat.exp(swing), quat.exp(np.radians([twist_deg, 0.0, 0.0])))
        return 1.003 * corner + 0.34 * quat.rotate(way, np.array([0.0, 1.0, 0.0]))

    drag(seen, place(seen, end(45.0)), place(seen, end(100.0)))
    drop(seen)
    assert np.degrees(cone_of(seen).high[2]) == pytest.approx(100.0, abs=3.0)
    drag(seen, place(seen, end(-45.0)), place(seen, end(-20.0)))
    drop(seen)
    assert np.degrees(cone_of(seen).low[2]) == pytest.approx(-20.0, abs=3.0)
    assert len(history(seen)) == 2
    assert np.degrees(cone_of(seen).high[1]) == pytest.approx(45.0)
    for label, value in [("Twist from, degrees", "-180"), ("to, degrees", "180")]:
        field(seen, label).fill(value)
        press(seen, "Enter")
    drag(seen, place(seen, end(180.0)), place(seen, end(150.0)))  # free: either end narrows it
    drop(seen)
    found = np.degrees([cone_of(seen).low[2], cone_of(seen).high[2]])
    np.testing.assert_allclose(found, [-180.0, 150.0], atol=3.0)


def test_points_by_keyboard(seen):
    before = cone_of(seen)
    press(seen, "]", "]", "[")
    assert seen.page.get_by_label("Point", exact=True).input_value() == "0"
    for _ in range(4):
        seen.page.keyboard.down("ArrowUp")
    seen.page.keyboard.up("ArrowUp")
    seen.settle()
    assert off_deg(cone_of(seen).points[0], before.points[0]) == pytest.approx(4.0, abs=0.01)
    assert cone_of(seen).points[0, 1] > before.points[0, 1]
    assert len(history(seen)) == 1
    press(seen, "Shift+ArrowLeft")
    assert off_deg(cone_of(seen).points[0], before.points[0]) > 5.0
    assert len(history(seen)) == 2
    press(seen, "Control+z", "Control+z")
    assert cone_of(seen) is before
    press(seen, "i")
    assert len(cone_of(seen).points) == 9
    assert seen.page.get_by_label("Point", exact=True).input_value() == "1"
    press(seen, "Delete")
    np.testing.assert_array_equal(cone_of(seen).points, before.points)
    press(seen, "s")
    assert len(cone_of(seen).points) == 16
    press(seen, "Escape", "ArrowRight")  # no point is chosen, so the arrow is time's again
    assert seen.page.locator("#when").inner_text().startswith("1 ")
    assert seen.page.get_by_role("heading", name="Edit LeftArm").is_visible()
    press(seen, "Escape")
    assert seen.page.get_by_role("heading", name="Pick a joint to edit").is_visible()
    press(seen, "?")
    assert "delete the point" in seen.page.locator("#help").inner_text()


def test_keys_of_points_pass_their_list_and_cmd_is_ctrl(seen):
    before = cone_of(seen)
    chosen = seen.page.get_by_label("Point", exact=True)
    chosen.focus()
    press(seen, "]", "]")
    assert chosen.input_value() == "1"
    chosen.focus()
    press(seen, "Delete")
    assert len(cone_of(seen).points) == 7
    press(seen, "Meta+z")
    assert cone_of(seen) is before


def test_points_by_mouse(seen):
    before = cone_of(seen)
    beside = at(36.0, np.degrees(np.arctan2(*before.points[3, 1:][::-1])) + 20.0)
    seen.page.mouse.dblclick(*place(seen, beside))
    seen.settle()
    assert len(cone_of(seen).points) == 9
    new = int(seen.page.get_by_label("Point", exact=True).input_value())
    assert off_deg(cone_of(seen).points[new], beside) < 1.0
    button(seen, "Delete the point")
    np.testing.assert_array_equal(cone_of(seen).points, before.points)
    button(seen, "Add a point")
    assert len(cone_of(seen).points) == 9
    seen.page.get_by_label("Rounds of smoothing").fill("2")
    button(seen, "Smooth the outline")
    assert len(cone_of(seen).points) == 36
    press(seen, "Escape")
    seen.page.keyboard.press("b")
    aside = at(8.0, 90.0)
    drag(seen, place(seen, [1.0, 0.0, 0.0]), place(seen, aside))
    drop(seen)
    assert off_deg(cone_of(seen).visible, aside) < 1.5
    assert seen.page.get_by_label("Point", exact=True).input_value() == "visible0"
    assert seen.page.get_by_role("button", name="Delete the point").is_disabled()


def test_the_cones_of_a_union_are_edited(union):
    first, second = cone_of(union).parts
    chosen = union.page.get_by_label("Point", exact=True)
    corner = second.points[5]
    target = corner * [1.0, 1.15, 1.15]
    drag(union, place(union, corner), place(union, target))
    drop(union)
    assert cone_of(union).parts[0] is first
    moved = cone_of(union).parts[1]
    assert off_deg(moved.points[5], corner) > 1.0
    np.testing.assert_array_equal(np.delete(moved.points, 5, 0), np.delete(second.points, 5, 0))
    assert chosen.input_value() == "13"
    assert chosen.locator("option:checked").inner_text() == "Cone 1, point 5"
    field(union, "to, degrees").fill("60")
    press(union, "Enter")
    assert np.degrees(cone_of(union).parts[1].high[5]) == pytest.approx(60.0)
    union.page.locator("#stage").focus()
    press(union, "i")
    assert len(cone_of(union).parts[1].points) == 8
    assert chosen.locator("option:checked").inner_text() == "Cone 1, point 6"
    press(union, "Delete")
    np.testing.assert_array_equal(cone_of(union).parts[1].points, moved.points)
    aside = second.visible + 0.1 * np.array([0.0, 1.0, 0.0])
    drag(union, place(union, second.visible), place(union, aside))
    drop(union)
    assert chosen.input_value() == "visible1"
    assert off_deg(cone_of(union).parts[1].visible, second.visible) > 3.0
    valid = cone_of(union)
    drag(union, place(union, first.points[4]), place(union, first.points[0] * [1.0, 0.6, 0.6]))
    assert "No longer a star: cone 0, edge " in said(union)
    assert union.page.locator("#said").get_attribute("data-edge") is not None
    drop(union)
    assert cone_of(union).parts[1] is valid.parts[1]
    slice_of = int(cone_of(union).parts[0].slices(np.array([1.0, 0.0, 0.0])))
    told = f"between points {slice_of} and {(slice_of + 1) % 8} of cone 0."
    assert union.page.locator("#slice").inner_text().endswith(told)
    press(union, "Control+z")
    assert cone_of(union) is valid


def test_a_limit_can_be_removed_while_it_is_drawn(seen, monkeypatch):
    """The picture that was asked for is of nothing then, which is no fault."""
    begun, go_on, region = threading.Event(), threading.Event(), HANDLERS["region"]

    def slowly(session, asked):
        begun.set()
        assert go_on.wait(PATIENCE / 1000)
        return region(session, asked)

    monkeypatch.setitem(HANDLERS, "region", slowly)
    press = seen.page.keyboard.press
    press("s")
    seen.until(begun.is_set)
    seen.page.get_by_role("button", name="Remove the limit").click()
    seen.until(lambda: not seen.server.scene.model.limits)
    go_on.set()
    seen.settle()
    assert "error" in seen.answer("region")[0]
    assert said(seen) == "Removed."
    press("Control+z")
    seen.settle()
    assert "error" not in seen.answer("region")[0]
    assert seen.page.get_by_role("button", name="Remove the limit").is_visible()


def test_limits_are_drawn_mirrored_copied_and_removed(seen):
    limits = lambda: dict(seen.server.session.scene.model.limits)  # noqa: E731
    button(seen, "Mirror to the other side")
    assert said(seen) == "Mirrored to RightArm."
    there = cone_of(seen, "RightArm")
    np.testing.assert_allclose(there.visible, [-1.0, 0.0, 0.0], atol=1e-12)
    copy = seen.page.get_by_label("Joint to copy to")
    copy.fill("LeftHand")
    button(seen, "Copy to another joint")
    assert limits()["LeftHand"] is limits()["LeftArm"]
    copy.fill("Hips")
    press(seen, "Enter")
    assert "Hips is a root" in said(seen)
    button(seen, "Remove the limit")
    assert list(limits()) == ["LeftHand", "RightArm"]
    assert seen.page.get_by_role("treeitem", name="LeftArm").get_attribute("class") == "bare"
    assert seen.page.get_by_text("This joint has no limit.").is_visible()
    button(seen, "Draw a cone")
    assert len(cone_of(seen).points) == 8
    seen.page.get_by_label("Point", exact=True).select_option("visible0")
    seen.page.locator("#stage").focus()
    press(seen, "Shift+ArrowDown")
    bone = np.array([1.0, 0.0, 0.0])
    assert off_deg(cone_of(seen).visible, bone) == pytest.approx(5.0, abs=0.01)
    first = int(cone_of(seen).slices(bone))
    told = f"The bone is in the slice between points {first} and {(first + 1) % 8}."
    assert seen.page.locator("#slice").inner_text() == told
    for _ in range(5):
        press(seen, "Control+z")
    assert list(limits()) == ["LeftArm"]
    assert seen.page.get_by_role("button", name="Undo").is_disabled()
    press(seen, "m")
    assert list(limits()) == ["LeftArm", "RightArm"]
    seen.pick("Hips")
    assert not seen.page.get_by_role("button", name="Draw a cone").is_visible()


def test_points_are_relaxed_and_simplified_by_buttons(seen):
    count = len(cone_of(seen).points)
    button(seen, "Smooth the outline")
    before = cone_of(seen)
    assert len(before.points) == 2 * count
    button(seen, "Relax the points")
    assert len(cone_of(seen).points) == 2 * count
    assert not np.array_equal(cone_of(seen).points, before.points)
    seen.page.get_by_label("Degrees by which a point must matter").fill("3")
    button(seen, "Leave out points")
    assert 3 <= len(cone_of(seen).points) < 2 * count
