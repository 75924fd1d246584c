"""The page in a real browser: scenes out of the ordinary, two pages, and a server that goes."""

from __future__ import annotations

from clips import chain, clip
from synovia import Clip, LimitModel, Skeleton
from synovia.view.scene import scene_of
from view.browser import text_of, visit


def test_two_pages_at_once(browser, scene, seen):
    page = seen.page.context.new_page()
    page.goto(seen.server.url)
    page.wait_for_selector("main[aria-busy=false]")
    seen.pick("Chest")
    worst = scene.model.check(scene.clip).joints[0].name
    assert page.locator("aside h2:visible").inner_text() == worst
    assert text_of(seen, "aside h2:visible") == "Chest"
    page.close()


def test_a_lost_connection_is_reported(seen):
    seen.server.close()
    notes = seen.page.locator("#notes")
    notes.get_by_text("The connection to Synovia is lost").wait_for()
    seen.page.get_by_role("treeitem", name="Chest", exact=True).click()  # this request fails
    seen.page.get_by_role("button", name="Download").click()
    seen.page.locator("#done", has_text="the connection to Synovia is lost").wait_for()


NAMES_IN_SCRIPTS = ("Hüfte", "胸", "ذراع", "предплечье", "<b>hand</b>")


def test_names_of_any_script_and_a_clip_of_one_frame(browser, scene):
    with visit(browser, scene_of(scene.model, chain(0, NAMES_IN_SCRIPTS))) as seen:
        assert "No joint of this clip has a limit" in text_of(seen, "#notes")
        assert "--map" in text_of(seen, "#notes")
        assert seen.page.get_by_role("treeitem").all_inner_texts() == list(NAMES_IN_SCRIPTS)
        assert seen.page.get_by_role("button", name="Play (Space)").is_disabled()
        assert "nothing to check" in text_of(seen, "#strip")
        assert "nothing to play" in text_of(seen, "#when")
        seen.page.get_by_role("button", name="Close this note").click()
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
