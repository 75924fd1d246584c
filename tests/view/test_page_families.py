"""Families of limits at the page, by mouse and keyboard: choose, sculpt and type."""

from __future__ import annotations

import numpy as np
import pytest

from clips import clip, person
from oracles import EXHAUSTIVE
from synovia import LimitModel, quat
from synovia.limit.softening import Beyond
from synovia.text import percent
from synovia.view.scene import scene_of
from view.browser import visit

ARM = "LeftArm"


@pytest.fixture
def seen(browser):
    """An arm that moves twice as far as its box allows, picked to be edited."""
    model = LimitModel.fit([clip(size=0.4, frames=40)], "box", margin=0.02, joints=[ARM])
    with visit(browser, scene_of(model, clip("wild", size=0.8, frames=60))) as page:
        page.page.keyboard.press("Home")  # where the tests are
        page.page.keyboard.press("3")
        page.page.get_by_role("heading", name=f"Edit {ARM}").wait_for()
        settle(page)
        yield page


def settle(seen):
    """Wait until all requests are answered, and the answers lead to no others."""
    before = -1
    while before != len(seen.asked):
        before = len(seen.asked)
        seen.settle()


def limit_of(seen, joint=ARM):
    return seen.server.session.scene.model.limits[joint]


def choose(seen, label, option):
    seen.page.get_by_label(label, exact=True).select_option(option)
    settle(seen)


def press_undo(seen):
    seen.page.get_by_role("button", name="Undo").click()
    settle(seen)


def fact(seen, name):
    return seen.page.locator(f"#fit-facts dt:has-text('{name}') + dd").inner_text()


def said(seen):
    return seen.page.locator("#said").inner_text()


def test_another_family_is_refitted_and_undone(seen):
    choose(seen, "From", "clip")
    before = limit_of(seen)
    choose(seen, "Family", "kdop")
    fitted = LimitModel.fit([seen.server.scene.clip], "kdop", joints=[ARM], margin=0.02)
    np.testing.assert_allclose(limit_of(seen).shape.high, fitted.limits[ARM].shape.high, atol=1e-6)
    assert fact(seen, "Volume").endswith("% of all rotations")
    choose(seen, "Chart", "rotation-vector")
    assert limit_of(seen).chart.name == "rotation-vector"
    seen.page.keyboard.press("Control+z")
    settle(seen)
    assert seen.page.get_by_label("Chart", exact=True).input_value() == "swing-twist"
    press_undo(seen)
    assert limit_of(seen) is before
    assert seen.page.get_by_label("Family", exact=True).input_value() == "oriented-box"


def move_along(seen, slider, share):
    """Move the mouse to a share of the slider's width, wherever the page shows it now."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    seen.page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])


def test_dragging_the_margin_is_one_step(seen):
    choose(seen, "From", "clip")
    before = limit_of(seen)
    slider = seen.page.get_by_label("Margin", exact=True)
    move_along(seen, slider, 0.1)
    seen.page.mouse.down()
    for share in np.linspace(0.2, 0.6, 5):
        move_along(seen, slider, share)
    seen.page.mouse.up()
    settle(seen)
    margin_deg = float(seen.page.get_by_label("Margin, in degrees").input_value())
    assert 15.0 < margin_deg < 21.0
    fitted = LimitModel.fit(
        [seen.server.scene.clip], "box", joints=[ARM], margin=np.radians(margin_deg)
    )
    np.testing.assert_allclose(limit_of(seen).shape.high, fitted.limits[ARM].shape.high)
    press_undo(seen)
    assert limit_of(seen) is before
    number = seen.page.get_by_label("Margin, in degrees")
    number.fill("4.5")
    number.press("Enter")
    settle(seen)
    wider = LimitModel.fit([seen.server.scene.clip], "box", joints=[ARM], margin=np.radians(4.5))
    np.testing.assert_allclose(limit_of(seen).shape.high, wider.limits[ARM].shape.high)

    wide = limit_of(seen)
    move_along(seen, slider, 0.2)
    seen.page.mouse.down()
    move_along(seen, slider, 0.7)
    seen.until(lambda: limit_of(seen) is not wide)
    seen.page.keyboard.press("Escape")  # takes it back
    seen.page.mouse.up()
    settle(seen)
    assert limit_of(seen) is wide
    assert float(slider.input_value()) == 4.5
    number.fill("9")
    number.press("Escape")
    assert number.input_value() == "4.5"
    assert limit_of(seen) is wide


def test_a_margin_that_is_not_allowed_is_pointed_at_and_changes_nothing(seen):
    choose(seen, "From", "clip")
    before = limit_of(seen)
    number = seen.page.get_by_label("Margin, in degrees")
    number.fill("-5")
    number.press("Enter")
    settle(seen)
    assert limit_of(seen) is before
    assert number.input_value() == "-5"  # as typed, to be mended, with the browser's own words
    assert "0" in number.evaluate("field => field.matches(':invalid') && field.validationMessage")
    number.fill("")
    number.press("Enter")
    settle(seen)
    assert number.evaluate("field => field.validity.valid && Number(field.value) >= 0")


def test_a_conversion_says_what_it_costs(seen):
    before = limit_of(seen)
    choose(seen, "From", "limit")
    assert seen.page.get_by_label("Margin", exact=True).is_disabled()
    choose(seen, "Family", "ellipsoid")
    there = before.to("ellipsoid", "swing-twist")
    np.testing.assert_allclose(limit_of(seen).shape.radii, there.limit.shape.radii)
    assert fact(seen, "Off by") == f"at most {np.degrees(there.error):.0f}°"
    assert fact(seen, "Gained") == percent(there.gained)


def test_a_clip_of_one_frame_can_only_be_converted(browser):
    model = LimitModel.fit([clip(frames=40)], "box", joints=[ARM])
    with visit(browser, scene_of(model, clip(frames=1))) as seen:
        seen.page.keyboard.press("3")
        seen.pick(ARM)
        settle(seen)
        sources = seen.page.get_by_label("From", exact=True)
        assert sources.input_value() == "limit"
        assert sources.locator("option:disabled").count() == 2
        assert "The clip has one frame." in seen.page.locator(".fit .why").inner_text()


def test_kept_samples_are_shown_and_refitted(browser):
    people = [person(f"{who}_1", seed, frames=40) for seed, who in enumerate(("ann", "bo", "cy"))]
    model = LimitModel.fit(people, "kdop", keep_samples=True, joints=[ARM])
    count = sum(len(sample.frames) for sample in model.samples[ARM])
    with visit(browser, scene_of(model, clip("wild", frames=30))) as seen:
        seen.page.keyboard.press("3")
        seen.pick(ARM)
        settle(seen)
        assert f"dots for {count} samples" in seen.page.locator("figcaption").inner_text()
        assert seen.page.get_by_label("From", exact=True).input_value() == "samples"
        choose(seen, "Family", "box")
        assert limit_of(seen).shape.name == "box"


def test_a_field_is_sculpted_in_the_enlarged_picture(seen):
    seen.page.get_by_role("button", name="Make it a distance field").click()
    settle(seen)
    before = limit_of(seen)
    assert before.shape.name == "distance-field"
    seen.page.get_by_role("button", name="Enlarge this picture").click()
    seen.page.locator(".inset.large").wait_for()
    seen.drawn()
    box = seen.page.locator("#inset").bounding_box()
    assert box["width"] > 500
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
    seen.page.mouse.move(x, y)
    seen.page.locator("#inset.brushing").wait_for()
    for key, sign in ((None, 1.0), ("Shift", -1.0)):
        start = limit_of(seen)
        if key:
            seen.page.keyboard.down(key)
        seen.page.mouse.down()
        seen.page.mouse.move(x + 12, y, steps=2)
        seen.page.mouse.up()
        if key:
            seen.page.keyboard.up(key)
        settle(seen)
        assert sign * (limit_of(seen).shape.measure - start.shape.measure) > 0.0
    strokes = [each for each in seen.asked if each.get("edit") == "brush"]
    assert sum(len(each["centers"]) for each in strokes) == 6
    assert len({each["stroke"] for each in strokes}) == 2
    for _ in range(2):
        seen.page.get_by_role("button", name="Undo").click()
        settle(seen)
    assert limit_of(seen) is before
    seen.page.keyboard.press("Escape")
    assert seen.page.locator(".inset.large").count() == 0
    assert seen.page.get_by_label("Family", exact=True).is_visible()


def test_a_brush_by_keyboard_and_a_turned_picture(seen):
    seen.page.get_by_role("button", name="Make it a distance field").click()
    settle(seen)
    before = limit_of(seen)
    number = seen.page.get_by_label("Radius of the brush, in degrees")
    number.fill("40")
    number.press("Enter")
    seen.page.get_by_role("button", name="Pull the boundary in").press("Enter")
    seen.page.get_by_role("button", name="Brush where the joint is now").press("Enter")
    settle(seen)
    (brush,) = [each for each in seen.asked if each.get("edit") == "brush"]
    assert (brush["radiusDeg"], brush["amountDeg"]) == (40, -1)
    turn = quat.mul(quat.inverse(before.chart.reference), seen.server.scene.frame(0).rotations[2])
    np.testing.assert_allclose(brush["centers"][0], quat.log(turn), atol=1e-4)


def test_the_present_pose_is_added(seen):
    pose = seen.server.scene.frame(0).rotations[2]
    add = seen.page.get_by_role("button", name="Add the present pose as a sample")
    assert not limit_of(seen).contains(pose)
    add.press("Enter")
    settle(seen)
    assert limit_of(seen).distance(pose) < 1e-6
    press_undo(seen)
    choose(seen, "From", "limit")
    for family in ("reach-cone", "union") if EXHAUSTIVE else ("reach-cone",):
        choose(seen, "Family", family)
        before = limit_of(seen)
        assert not before.contains(pose)
        add.click()
        settle(seen)
        assert limit_of(seen).shape.name == family
        assert limit_of(seen).distance(pose) < 1e-6
        assert seen.page.locator("#said").inner_text() == "Added: this pose is inside."
        press_undo(seen)
        assert limit_of(seen) is before


def test_numbers_are_typed(seen):
    choose(seen, "Family", "box")
    seen.page.get_by_text("Numbers", exact=True).click()
    before = limit_of(seen)
    number = seen.page.get_by_label("twist to, in degrees")
    assert float(number.input_value()) == pytest.approx(np.degrees(before.shape.high[2]), abs=1e-3)
    number.fill("75")
    number.press("Enter")
    settle(seen)
    assert np.degrees(limit_of(seen).shape.high) == pytest.approx(
        [*np.degrees(before.shape.high[:2]), 75.0]
    )
    number.fill("-170")
    number.press("Enter")
    settle(seen)
    assert "A range must not end before it starts" in said(seen)
    assert seen.page.get_by_text("must not end before it starts").count() == 1
    assert float(number.input_value()) == 75.0
    press_undo(seen)
    assert limit_of(seen) is before


def test_the_ghost_is_clamped_softly(seen):
    scene = seen.server.scene
    seen.page.get_by_text("How the ghost is clamped").press("Space")  # which does not play
    choose(seen, "Clamping", "beyond")
    number = seen.page.get_by_label("Softening radius, in degrees")
    number.fill("8")
    number.press("Enter")
    settle(seen)
    clamped = scene.model.project(scene.clip, softening=Beyond(np.radians(8.0)))
    header, arrays = seen.answer("clamp")
    np.testing.assert_allclose(
        arrays["clamped"], clamped.pose.rotations[:, header["changed"]], atol=1e-6
    )
    left = np.degrees(scene.model.check(clamped).violation.max())
    assert f"at most {left:.1f}° outside" in seen.page.locator(".softening").inner_text()
    choose(seen, "Clamping", "hard")
    assert "outside" not in seen.page.locator(".softening").inner_text()


def test_a_family_is_that_of_the_limit_unless_somebody_says_otherwise(seen):
    """The clip that happens to be shown is no evidence: what a limit allows is kept."""
    before = limit_of(seen)
    choose(seen, "Family", "ellipsoid")
    np.testing.assert_allclose(
        limit_of(seen).shape.radii, before.to("ellipsoid", "swing-twist").limit.shape.radii
    )


def test_an_edit_is_of_the_joint_that_was_picked_when_it_was_made(seen):
    """Whatever is picked while the answer is on its way."""
    names = {name: limit.shape.name for name, limit in seen.server.scene.model.limits.items()}
    seen.page.get_by_label("Family", exact=True).select_option("kdop")
    seen.page.get_by_label("Family", exact=True).select_option("distance-field")
    seen.page.get_by_role("treeitem", name="LeftForeArm", exact=True).click()
    settle(seen)
    now = {name: limit.shape.name for name, limit in seen.server.scene.model.limits.items()}
    assert now == {**names, ARM: "distance-field"}
    seen.page.keyboard.press("Control+z")
    settle(seen)
    assert limit_of(seen).shape.name == "kdop"


def test_what_can_be_undone_outlasts_the_page(seen):
    choose(seen, "Family", "kdop")
    seen.page.reload()
    seen.page.wait_for_selector("main[aria-busy=false]")
    seen.page.keyboard.press("3")
    press_undo(seen)
    assert limit_of(seen).shape.name == "box"
