"""The page's files, pins and looks in a real browser: by mouse and keyboard, checked in Python."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from clips import clip
from synovia import Box, Clip, Limit, LimitModel, Pose, RotationVector, Skeleton, forward
from synovia import load_limits as load
from synovia import save_limits as write
from synovia.view.scene import scene_of, with_limits
from view.browser import visit


def box(size):
    return Limit(RotationVector(), Box(np.full(3, -size), np.full(3, size), np.eye(3)))


@pytest.fixture(scope="module")
def model():
    fitted = LimitModel.fit([clip(frames=30)], "box", joints=["Chest", "LeftForeArm"])
    return LimitModel({**fitted.limits, "LeftArm": box(1.2)}, fitted.skeleton)


@contextmanager
def at(browser, model, save_to=None):
    with visit(browser, scene_of(model, clip("walk", frames=30)), save_to=save_to) as seen:
        yield seen


def edited(seen, size=0.7):
    """Another limit for the arm, as an edit of another page would make it."""
    server = seen.server
    server.session.edit(
        lambda model: with_limits(model, {**model.limits, "LeftArm": box(size)}), "a new arm", None
    )
    server.notify_pages()
    seen.until(lambda: seen.page.title().startswith("•"))


def said(seen, text):
    seen.page.locator("#done", has_text=text).wait_for()


def test_saving_asks_before_it_replaces_the_loaded_file(browser, model, tmp_path):
    file = tmp_path / "arm.limits.json"
    write(model, file)
    before = file.read_bytes()
    with at(browser, model, file) as seen:
        assert seen.page.title() == "walk – Synovia"
        edited(seen)
        save = seen.page.get_by_role("button", name="Save (Ctrl S)")
        assert save.get_attribute("data-unsaved") is not None
        seen.page.keyboard.press("Control+s")
        dialog = seen.page.get_by_role("dialog", name="Overwrite")
        dialog.get_by_role("button", name="Cancel").click()
        assert file.read_bytes() == before
        save.click()
        dialog.get_by_role("button", name="Overwrite").click()
        said(seen, "Saved arm.limits.json")
        seen.until(lambda: seen.page.title() == "walk – Synovia")
        np.testing.assert_array_equal(load(file).limits["LeftArm"].shape.high, 0.7)
        assert load(file).provenance["edited"] == ["LeftArm"]
        edited(seen, 0.6)
        seen.page.locator("#search").focus()
        seen.page.keyboard.press("Control+s")  # no second question, also where one types
        seen.until(lambda: not seen.server.session.unsaved)
        np.testing.assert_array_equal(load(file).limits["LeftArm"].shape.high, 0.6)


def test_save_as_takes_a_name_and_says_what_is_wrong_with_it(browser, model, tmp_path):
    with at(browser, model, tmp_path / "arm.limits.json") as seen:
        edited(seen)
        seen.page.keyboard.press("Control+Shift+S")
        dialog = seen.page.get_by_role("dialog", name="Save as")
        name = dialog.get_by_role("textbox", name="Name of the file")
        assert name.input_value() == "arm.limits.json"
        name.fill("../arm")
        name.press("Enter")
        dialog.get_by_text("in the same directory").wait_for()
        name.fill("other arm")
        dialog.get_by_role("button", name="Save").click()
        said(seen, "Saved other arm.limits.json")
        dialog.wait_for(state="hidden")
        assert [each.name for each in tmp_path.iterdir()] == ["other arm.limits.json"]
        seen.until(lambda: "•" not in seen.page.title())
        (tmp_path / "there.limits.json").write_text("precious")
        seen.page.get_by_role("button", name="Save as (Ctrl Shift S)").click()
        name.fill("there")
        name.press("Enter")
        asked = seen.page.get_by_role("dialog", name="Overwrite")
        asked.get_by_text("there.limits.json").wait_for()
        seen.page.keyboard.press("Escape")
        assert (tmp_path / "there.limits.json").read_text() == "precious"
        assert dialog.is_visible()
        dialog.get_by_role("button", name="Cancel").click()


def test_without_a_file_it_downloads_the_same_bytes(browser, model, tmp_path):
    write(model, tmp_path / "plain.limits.json")
    with at(browser, model) as seen:
        seen.page.get_by_role("button", name="Save (Ctrl S)").click()
        told = seen.page.get_by_role("dialog", name="No file to save to")
        assert "synovia view -o mine.limits.json" in told.inner_text()
        assert 'view(…, save_to="mine.limits.json")' in told.inner_text()
        told.get_by_role("button", name="Close").click()
        seen.drawn()
        seen.page.keyboard.press("Control+s")
        with seen.page.expect_download() as coming:
            told.get_by_role("button", name="Download").click()
        coming.value.save_as(tmp_path / "got.limits.json")
        assert coming.value.suggested_filename == "limits.limits.json"
        got = (tmp_path / "got.limits.json").read_bytes()
        assert got == (tmp_path / "plain.limits.json").read_bytes()


def test_a_failure_is_said_and_leaving_is_asked_about(browser, model, tmp_path):
    with at(browser, model, tmp_path / "gone" / "arm.limits.json") as seen:
        seen.page.locator("h1").click()  # browsers ask only where somebody was active
        edited(seen)
        seen.page.keyboard.press("Control+s")
        said(seen, "Not saved")
        said(seen, "No such file or directory")
        assert seen.page.title().startswith("•")
        questions = []
        seen.page.on("dialog", lambda asked: (questions.append(asked.type), asked.dismiss()))
        seen.page.close(run_before_unload=True)
        seen.until(lambda: questions)
        assert questions == ["beforeunload"]
        assert not seen.page.is_closed()


def legs():
    """A body that stands along z on two legs, its knees a little bent, with a head."""
    names = ("Hips", "LeftThigh", "LeftLeg", "LeftFoot", "RightThigh", "RightLeg", "RightFoot")
    left, right = [[0.1, 0, 0]], [[-0.1, 0, 0]]
    leg = [[0, -0.15, -0.45], [0, 0.15, -0.45]]
    bones = Skeleton(
        (*names, "Spine", "Head"),
        [-1, 0, 1, 2, 0, 4, 5, 0, 7],
        np.array([[0, 0, 1], *left, *leg, *right, *leg, [0, 0, 0.3], [0, 0, 0.3]], float),
        end_parents=[3, 6, 8],
        end_offsets=[[0, -0.2, 0], [0, -0.2, 0], [0, 0, 0.2]],
    )
    rest = bones.rest_pose()
    return Clip(bones, Pose(rest.rotations[None], rest.positions[None]), 0.1, "stands")


@pytest.fixture(scope="module")
def standing():
    body = legs()
    limits = {name: box(0.6) for name in body.skeleton.names[1:]}
    return scene_of(LimitModel(limits, body.skeleton), body)


def places(scene, pose):
    return forward(scene.clip.skeleton, pose)[0]


def drag(seen, ask, x, y, right, down):
    before = sum(each["ask"] == ask for each in seen.asked)
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + right, y + down, steps=3)
    seen.until(lambda: sum(each["ask"] == ask for each in seen.asked) > before)
    seen.page.mouse.up()
    seen.settle()
    seen.drawn()
    return seen.answer(ask)


def pose_of(scene, arrays):
    positions = np.array(scene.frame(0).positions)
    positions[0] = arrays["root"]
    return Pose(arrays["rotations"].astype(float), positions)


def test_pinned_feet_stay_while_the_hips_are_dragged(browser, standing):
    with visit(browser, standing) as seen:
        seen.page.keyboard.press("2")
        for name in ("LeftFoot", "RightFoot"):
            seen.pick(name)
            seen.page.keyboard.press("k")
        pinned = seen.page.get_by_role("list", name="Pinned joints").get_by_role("listitem")
        assert pinned.count() == 2
        seen.page.get_by_label("Move this limb alone").uncheck()
        seen.pick("Hips")
        seen.page.keyboard.press(".")
        seen.drawn()
        _, arrays = drag(seen, "reach", *seen.middle, 10, 40)
        pose = pose_of(standing, arrays)
        where, start = places(standing, pose), places(standing, standing.frame(0))
        np.testing.assert_allclose(where[[3, 6]], start[[3, 6]], atol=1e-4)
        assert np.linalg.norm(where[0] - start[0]) > 0.02
        assert standing.model.violation(pose).max() < 1e-5
        seen.page.get_by_role("button", name="Unpin LeftFoot").click()
        assert pinned.count() == 1
        seen.pick("RightFoot")
        seen.page.get_by_role("button", name="Unpin RightFoot (K)").click()
        assert pinned.count() == 0
        seen.page.keyboard.press("k")
        assert pinned.count() == 1
        seen.page.keyboard.press("r")
        assert pinned.count() == 0


def test_joints_at_their_limits_are_told(browser, standing):
    with visit(browser, standing) as seen:
        seen.page.keyboard.press("2")
        seen.pick("LeftFoot")
        seen.page.keyboard.press(".")
        seen.drawn()
        header, arrays = drag(seen, "reach", *seen.middle, 150, -150)
        near = standing.model.distance(pose_of(standing, arrays)) > -np.radians(0.5)
        names = [standing.clip.skeleton.names[joint] for joint in np.flatnonzero(near)]
        assert header["atLimit"] == names != []
        told = seen.page.locator("#tried").inner_text()
        assert all(name in told for name in names)


def test_who_looks_and_along_which_axis_is_chosen(browser, standing):
    with visit(browser, standing) as seen:
        header, _ = seen.answer("open")
        assert (header["up"], header["looker"], header["lookAxis"]) == ("z", "Head", "-y")
        seen.page.keyboard.press("2")
        seen.page.get_by_label("Head looks at a ball").check()
        along = seen.page.get_by_label("The axis that it looks along")
        assert along.input_value() == "-y"
        seen.page.get_by_label("The joint that looks").select_option("Spine")
        assert seen.page.get_by_label("Spine looks at a ball").is_checked()
        along.select_option("x")
        # From the front, the ball is half a body to the right of the spine, on the same level.
        seen.page.keyboard.press("Numpad1")
        seen.pick("Spine")
        seen.page.keyboard.press(".")
        for _ in range(3):
            seen.page.keyboard.press("-")
        seen.drawn()
        x, y = seen.middle
        start = places(standing, standing.frame(0))
        size = np.linalg.norm(start - start[0], axis=1).max()
        height = seen.page.locator("#stage").bounding_box()["height"]
        tall = 2.0 * 1.04 * 0.3 * size / np.cos(np.radians(16.0)) / 0.85**3
        header, arrays = drag(seen, "look", x + 0.5 * size / tall * height, y, 0, -60)
        last = [each for each in seen.asked if each["ask"] == "look"][-1]
        assert (last["joints"], last["axis"]) == (["Spine"], [1, 0, 0])
        assert header["met"]
        np.testing.assert_array_equal(
            arrays["rotations"][[1, 2, 3, 4, 5, 6, 8]], [[1, 0, 0, 0]] * 7
        )
        assert arrays["rotations"][7, 2] < -0.02  # about y, so that x goes up


def test_the_curve_shows_the_distance_and_a_click_jumps(browser):
    narrow = LimitModel.fit([clip(size=0.4, frames=60)], "box", joints=["LeftArm"], margin=0.0)
    wild = clip("wild", size=0.8, frames=60)
    with visit(browser, scene_of(narrow, wild)) as seen:
        paper = seen.page.locator("#curve .paper")
        paper.locator("canvas").wait_for()
        limit, turns = narrow.limits["LeftArm"], wild.pose.rotations[:, 2]
        violation = np.degrees(limit.violation(turns))
        frame = int(violation.argmax())
        edges = paper.bounding_box()
        across = (frame + 0.5) / wild.frames
        seen.page.mouse.click(edges["x"] + across * edges["width"], edges["y"] + 30)
        assert seen.page.locator("#when").inner_text().startswith(f"{frame} / 59")
        assert f"{violation[frame]:.0f}° outside" in seen.page.locator("#curve b").inner_text()
        seen.pick("LeftHand")
        assert not paper.is_visible()


ODD_NAMES = (
    "hips",
    "זרוע שמאל",
    "ذراع‏",
    "🦾💪🏽",
    "<img src=x onerror=alert(1)>",
    "long" * 60,
    "a\tb",
)


def test_names_of_any_kind_are_shown_edited_and_saved(browser, tmp_path):
    bones = Skeleton(ODD_NAMES, np.arange(-1, 6), np.tile([0.02, 0.1, 0.0], (7, 1)))
    rest = bones.rest_pose()
    still = Clip(bones, Pose(rest.rotations[None], rest.positions[None]), 0.1, "<b>odd</b> سلام")
    model = LimitModel({name: box(0.4) for name in ODD_NAMES[1:]}, bones)
    file = tmp_path / "odd.limits.json"
    with visit(browser, scene_of(model, still), save_to=file) as seen:
        assert seen.page.title() == "<b>odd</b> سلام – Synovia"
        seen.page.keyboard.press("2")
        for number in (2, 4, 5):
            seen.page.get_by_role("treeitem").nth(number).click()
            seen.page.locator("#inset").wait_for()
            seen.page.keyboard.press("k")
        pinned = seen.page.get_by_role("list", name="Pinned joints").get_by_role("listitem")
        for number, name in enumerate((ODD_NAMES[2], ODD_NAMES[4], ODD_NAMES[5])):
            assert pinned.nth(number).text_content() == f"{name}✕"
        wide = seen.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        seen.page.keyboard.press("Control+s")
        said(seen, "Saved")
    assert list(load(file).limits) == list(ODD_NAMES[1:])


def test_a_file_that_others_changed_is_asked_about_by_name(browser, model, tmp_path):
    file = tmp_path / "arm.limits.json"
    with at(browser, model, file) as seen:
        edited(seen)
        seen.page.keyboard.press("Control+s")
        said(seen, "Saved arm.limits.json")
        file.write_text("theirs")
        edited(seen, 0.6)
        seen.page.keyboard.press("Control+s")
        dialog = seen.page.get_by_role("dialog", name="Overwrite")
        dialog.get_by_text("was changed by another program").wait_for()
        dialog.get_by_role("button", name="Cancel").click()
        assert file.read_text() == "theirs"


def test_edits_that_were_not_saved_are_offered_at_the_next_start(browser, model, tmp_path):
    file = tmp_path / "arm.limits.json"
    with at(browser, model, file) as seen:
        edited(seen)
    with at(browser, model, file) as seen:
        assert seen.server.scene.model.limits["LeftArm"].shape.high[0] == 1.2
        offer = seen.page.get_by_role("button", name="Bring back the edits that were not saved")
        offer.click()
        seen.until(lambda: seen.page.title().startswith("•"))
        assert seen.server.scene.model.limits["LeftArm"].shape.high[0] == 0.7
        offer.wait_for(state="detached")
        seen.page.wait_for_selector("main[aria-busy=false]")
        seen.page.keyboard.press("Control+s")
        said(seen, "Saved")
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
