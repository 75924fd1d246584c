"""The page in a real browser, to try: joints dragged within limits and without, balls, controls."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from clips import chain
from joints import figure
from synovia import Box, Limit, LimitModel, Pose, RotationVector, forward
from synovia.view.answers import answer_call
from synovia.view.scene import scene_of, with_limits
from view.browser import PATIENCE, frame_of, text_of, visit


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
    seen.settle()
    seen.page.mouse.up()
    seen.settle()
    seen.drawn()
    return seen.answer("reach")


def hold_back(monkeypatch):
    """Goals are answered only once what comes back is set."""
    go_on = threading.Event()

    def waiting(session, call):
        assert call.ask != "reach" or go_on.wait(PATIENCE / 1000)
        return answer_call(session, call)

    monkeypatch.setattr(sys.modules["synovia.view.server"], "answer_call", waiting)
    return go_on


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


@pytest.mark.drawn
def test_a_pose_that_is_reset_in_mid_drag_stays_so(seen, monkeypatch):
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("2")
    before = len(seen.heard)
    dragged(seen, "LeftHand", 40, 30)
    assert len(seen.heard) > before
    seen.page.keyboard.press("r")
    seen.drawn()
    at_rest = seen.picture()
    seen.page.keyboard.press("k")
    assert seen.picture() != at_rest  # a pin is seen
    seen.page.keyboard.press("k")

    go_on = hold_back(monkeypatch)
    asked, (x, y) = len(seen.asked), seen.middle
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 60, y + 40, steps=4)
    seen.until(lambda: len(seen.asked) > asked)
    seen.page.keyboard.press("r")
    seen.page.mouse.move(x, y, steps=2)
    go_on.set()
    seen.settle()
    seen.page.mouse.up()
    seen.settle()
    seen.drawn()
    assert text_of(seen, "#tried") == ""
    assert len(seen.asked) == asked + 1  # what waited to be sent was dropped
    assert seen.picture() == at_rest


def test_a_late_answer_is_told_until_it_is_there(seen, monkeypatch):
    """As when a machine is busy."""
    go_on = hold_back(monkeypatch)
    seen.page.keyboard.press("2")
    seen.pick("LeftHand")
    seen.page.keyboard.press(".")
    seen.drawn()
    x, y = seen.middle
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 40, y + 30)
    seen.until(lambda: "computing" in text_of(seen, "#late"))
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
    seen.server.session.edit(lambda model: with_limits(model, limits), "remove, Chest", None)
    seen.server.notify_pages()
    seen.until(lambda: seen.asked[-1]["ask"] == "outside")
    seen.until(seen.is_answered)
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
    with visit(browser, scene_of(model, upright), drawn=True) as seen:
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
        seen.settle()
        seen.page.mouse.up()
        arrays = seen.answer("look")[1]
        pose = Pose(arrays["rotations"].astype(float), upright.pose.positions[0])
        assert model.violation(pose).max() < 1e-5
        assert (arrays["rotations"][1:, 0] < 1.0).all()  # all three have turned
        assert "ms" in text_of(seen, "#tried")


def test_controls_pose_a_figure(browser):
    body = figure()
    scene = scene_of(LimitModel({}, body.skeleton), figure=body)
    with visit(browser, scene, drawn=True) as seen:
        assert "no limits" in text_of(seen, "#notes")
        seen.page.keyboard.press("4")
        sliders = seen.page.locator(".controls input[type=range]")
        names = [each.get_attribute("aria-label") for each in sliders.all()]
        assert names == list(body.controls)
        name, control = next(iter(body.controls.items()))
        assert float(sliders.first.get_attribute("min")) == control.low
        assert float(sliders.first.get_attribute("max")) == control.high
        before = seen.picture()
        sliders.first.press("End")
        seen.until(lambda: [each["ask"] for each in seen.asked].count("pose") == 1)
        seen.until(lambda: len(seen.asked) == len(seen.heard))
        np.testing.assert_allclose(
            seen.answer("pose")[1]["rotations"],
            body.pose({name: control.high}).rotations,
            atol=1e-6,
        )
        assert seen.picture() != before
        seen.page.get_by_role("button", name="Reset the pose (R)").last.click()
        assert float(sliders.first.input_value()) == pytest.approx(control.neutral)
        assert text_of(seen, ".controls .clamped[role=status]") == ""
        narrow = Limit(RotationVector(), Box(np.full(3, -0.01), np.full(3, 0.01), np.eye(3)))
        seen.server.session.edit(
            lambda model: with_limits(model, {**model.limits, "c7": narrow}), "narrow", None
        )
        seen.server.notify_pages()
        seen.until(lambda: seen.page.title().startswith("•"))
        sliders.first.evaluate("(each) => (each.max = 9)")  # more than the figure takes
        sliders.first.press("End")
        seen.page.locator(".controls input.clamped").wait_for()  # exactly one
        status = seen.page.locator(".controls .clamped[role=status]", has_text="Outside: c7")
        status.wait_for()
        seen.page.keyboard.press("Space")  # plays the clip, which is to look
        seen.until(lambda: frame_of(seen) > 3)
        tab = seen.page.get_by_role("tab", name="Look")
        assert tab.get_attribute("aria-selected") == "true"
