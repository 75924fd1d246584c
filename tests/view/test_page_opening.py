"""The page in a real browser: what it opens with, its tour, groups of joints, and the strip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clips import clip
from synovia import Clip, LimitModel, Pose, forward, human, quat
from synovia.anatomy import limits_of
from synovia.view.scene import RAISED_ARM, scene_of, start_of
from synovia.view.server import PageServer
from view.browser import frame_of, text_of, visit

BODY = human()


def shown_items(seen):
    return seen.page.get_by_role("treeitem").locator("bdi").all_inner_texts()


def test_the_human_opens_with_an_arm_raised_and_a_tour_that_stays_away(browser):
    scene = replace(scene_of(limits_of(BODY), figure=BODY), start=start_of(BODY))
    with visit(browser, scene) as seen:
        _, arrays = seen.answer("pose")
        pose = BODY.pose(RAISED_ARM.values)
        np.testing.assert_allclose(arrays["rotations"], pose.rotations, atol=1e-6)
        where = forward(BODY.skeleton, Pose(pose.rotations, pose.positions))[0]
        hand, head = (where[BODY.skeleton.index(name)] for name in ("LeftHand", "Head"))
        assert hand[1] > head[1]
        assert text_of(seen, "aside h2:visible") == "LeftUpperArm left shoulder"
        assert text_of(seen, "#now") == "Inside its limit"
        groups = ["Spine", "Cage", "Left arm", "Right arm", "Left leg", "Right leg"]
        arm = [name for name in BODY.skeleton.names if name in RAISED_ARM_JOINTS]
        assert shown_items(seen) == ["Pelvis", *groups[:3], *arm, *groups[3:]]
        leg = seen.page.get_by_role("treeitem", name="Left leg", exact=True)
        leg.focus()
        leg.press("ArrowRight")
        assert "LeftPatella" in shown_items(seen)
        leg.press("ArrowLeft")
        assert "LeftPatella" not in shown_items(seen)

        card = seen.page.locator("#tour")
        assert "1 of 3" in card.inner_text()
        card.get_by_role("button", name="Next step").press("Enter")
        assert "2 of 3" in card.inner_text()
        assert seen.page.get_by_role("tab", name="Try").get_attribute("aria-selected") == "true"
        card.get_by_role("button", name="Next step").click()
        assert "3 of 3" in card.inner_text()
        seen.page.keyboard.press("Escape")
        assert card.is_hidden()
        assert text_of(seen, "aside h2:visible") != ""
        other = PageServer(scene)  # another port, as at the next start
        try:
            seen.page.goto(other.url)
            seen.page.wait_for_selector("main[aria-busy=false]")
            assert card.is_hidden()
            seen.page.keyboard.press("?")
            seen.page.get_by_role("button", name="Show the tour").click()
            assert "1 of 3" in card.inner_text()
        finally:
            other.close()


RAISED_ARM_JOINTS = (
    "LeftClavicle",
    "LeftScapula",
    "LeftUpperArm",
    "LeftLowerArm",
    "LeftForearm",
    "LeftHand",
)


@pytest.fixture(scope="module")
def invented(scene):
    """A clip whose first frame is a pose far from the second, and farther outside than any."""
    moving = clip("wild", size=0.9, frames=120)
    turns = np.array(moving.pose.rotations)
    turns[0, 1:] = quat.exp(np.tile([1.2, -1.1, 1.0], (4, 1)))
    made = Clip(moving.skeleton, Pose(turns, moving.pose.positions), moving.frame_time, "wild")
    return replace(scene, clip=made)


def row_names(seen):
    return seen.page.locator("#strip .row .name bdi").all_inner_texts()


def test_a_frame_that_nobody_performed_is_grey_and_the_strip_is_looked_at_closely(
    browser, invented
):
    with visit(browser, invented) as seen:
        report = invented.model.check(invented.clip)
        violation = np.where(report.outside, report.violation, 0.0)[1:]
        order = np.argsort(-violation.max(axis=0), kind="stable")
        names = [report.names[k] for k in order if violation[:, k].max() > 0.0]
        assert frame_of(seen) == 1 + int(violation[:, order[0]].argmax())
        assert seen.page.locator("#stage.invented").count() == 0
        seen.page.keyboard.press("Home")
        assert seen.page.locator("#stage.invented").count() == 1
        assert "not performed" in text_of(seen, "#unperformed")
        seen.page.keyboard.press("ArrowRight")
        assert text_of(seen, "#unperformed") == ""

        assert row_names(seen) == names
        seen.page.get_by_label("Order of rows").select_option("tree")
        assert row_names(seen) == sorted(names, key=invented.clip.skeleton.names.index)

        row = seen.page.locator("#strip .row").first
        for _ in range(2):
            seen.page.get_by_role("button", name="Zoom into the time").click()
        box = row.locator("canvas").bounding_box()
        ends = []
        for share in (0.01, 0.99):
            x, y = box["x"] + share * box["width"], box["y"] + 0.5 * box["height"]
            seen.page.mouse.click(x, y)
            ends.append(frame_of(seen))
        assert ends[1] - ends[0] == pytest.approx(29, abs=1)
        assert ends[0] <= 1  # around the frame it was at
        seen.page.keyboard.press("End")  # the window goes along
        seen.page.mouse.click(x, y)
        assert frame_of(seen) > 110
        seen.page.keyboard.down("Control")
        for _ in range(4):
            seen.page.mouse.wheel(0, 400)
        seen.page.keyboard.up("Control")
        seen.page.mouse.click(box["x"] + 0.5 * box["width"], y)
        assert frame_of(seen) == pytest.approx(60, abs=1)

        enlarge = row.get_by_role("button", name="Enlarge the row of")
        enlarge.press("Enter")
        assert enlarge.get_attribute("aria-expanded") == "true"
        assert row.bounding_box()["height"] == 56
        for _ in range(2):  # of few frames, too
            seen.page.get_by_role("button", name="Zoom into the time").click()
        assert row.locator("canvas").bounding_box()["height"] == 56
        painted = row.locator("canvas").evaluate(
            "(it) => it.getContext('2d').getImageData(0, 0, it.width, it.height).data.filter("
            "(value, at) => at % 4 === 3 && value === 255).length / (it.width * it.height)"
        )
        assert 0.02 < painted < 0.9  # as high as the joint is outside


def test_a_clip_without_violations_opens_where_it_was_performed(browser, invented):
    with visit(browser, replace(invented, model=LimitModel({}, invented.clip.skeleton))) as seen:
        assert frame_of(seen) == 1
        assert seen.page.locator("#stage.invented").count() == 0
