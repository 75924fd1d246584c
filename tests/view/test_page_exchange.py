"""Files in and out of the page in a real browser: dropped, chosen, mapped, taken home."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import gltfs
from clips import clip
from synovia import Box, Limit, LimitModel, RotationVector, load_clip, save_clip, save_limits
from synovia.demo import wild
from synovia.io import fbx
from synovia.view.folder import Folder
from synovia.view.scene import scene_of
from view.browser import UNDRAWN, visit

TIMES = """async (text) => {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const video = document.createElement("video");
  video.src = URL.createObjectURL(new Blob([bytes]));
  await new Promise((done) => (video.onloadedmetadata = done));
  video.currentTime = 3;
  await new Promise((done) => (video.onseeked = done));
  return [video.duration, video.currentTime, video.videoWidth];
}"""
"""How long a video is, where in it one can go, and how wide it is."""


@pytest.fixture(scope="module")
def model():
    return LimitModel.fit([clip(size=0.4, frames=60)], "box", margin=0.0)


@pytest.fixture
def at(browser, model, drawn):
    with visit(browser, scene_of(model, clip("walk", size=0.8, frames=30)), drawn=drawn) as seen:
        yield seen


def choose(seen, name):
    seen.page.get_by_role("button", name="Open files, or export some").click()
    exact = name.startswith(("Download the clip", "Download the pose"))
    seen.page.locator(".menu").get_by_title(name, exact=exact).click()


def taken(seen, name, folder):
    with seen.page.expect_download() as coming:
        choose(seen, name)
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


def shown_anew(seen, title):
    seen.until(lambda: title in seen.page.title())
    seen.page.wait_for_selector("main[aria-busy=false]")


def drop(seen, name, content, where="#stage"):
    """Drop a file on a part of the page, as a mouse would."""
    seen.page.evaluate(
        """([name, numbers, where]) => {
            const given = new DataTransfer();
            given.items.add(new File([Uint8Array.from(numbers)], name));
            const options = { dataTransfer: given, bubbles: true, cancelable: true };
            document.querySelector(where).dispatchEvent(new DragEvent("drop", options));
        }""",
        [name, list(content), where],
    )


def test_clips_and_limits_are_dropped_or_opened(at, tmp_path):
    save_clip(clip("run", size=0.7, frames=40), tmp_path / "run.bvh")
    drop(at, "run.bvh", (tmp_path / "run.bvh").read_bytes())
    shown_anew(at, "run – Synovia")
    assert at.server.scene.clip.frames == 40
    drop(at, "bad.bvh", b"HIERARCHY")
    at.page.locator("#done", has_text="bad.bvh").wait_for()
    with pytest.MonkeyPatch.context() as patched:  # as where there is no Blender
        patched.setenv("PATH", "")
        patched.setattr(fbx, "find_spec", lambda name: None)
        drop(at, "walk.fbx", b"Kaydara FBX Binary  \x00")
        at.page.locator("#done", has_text="walk.fbx: reading FBX needs Blender: pip").wait_for()
    tight = LimitModel.fit([clip(size=0.1, frames=60)], "box", joints=["LeftArm"])
    save_limits(tight, tmp_path / "tight.limits.json")
    at.page.get_by_label("File to open").set_input_files(tmp_path / "tight.limits.json")
    at.until(lambda: list(at.server.scene.model.limits) == ["LeftArm"])
    shown_anew(at, "• run")


@pytest.mark.drawn
def test_what_is_taken_home_is_what_python_makes(at, tmp_path):
    scene = at.server.scene
    frame = int(at.page.locator("#when").inner_text().split("/")[0])
    for label, suffix in (("", ".bvh"), (", as glTF", ".glb")):
        path = taken(at, f"Download the clip within its limits{label}", tmp_path)
        assert path.suffix == suffix
        assert scene.model.check(load_clip(path)).violation.max() < 1e-4
        as_what = label or ", as BVH"
        pose = load_clip(taken(at, f"Download the pose that is shown{as_what}", tmp_path))
        turns = scene.clip.pose.rotations[frame]
        np.testing.assert_allclose(
            np.abs((pose.pose.rotations[0] * turns).sum(axis=-1)), 1.0, atol=1e-6
        )
    whole = load_clip(taken(at, "Download the clip as it is, as glTF", tmp_path))
    np.testing.assert_allclose(
        np.abs((whole.pose.rotations * scene.clip.pose.rotations).sum(axis=-1)), 1.0, atol=1e-6
    )
    assert taken(at, "Download the violations", tmp_path).read_text().startswith("clip,frame,time")
    assert json.loads(taken(at, "Download the limits", tmp_path).read_text())["limits"]
    picture = taken(at, "Download what is seen", tmp_path).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5000


def test_a_turn_around_it_is_a_video(at, tmp_path):
    """It lasts five seconds, however slow drawing is."""
    content = taken(at, "Download a video", tmp_path).read_bytes()
    width = at.page.locator("#stage").evaluate("canvas => canvas.width")
    context = at.page.context.browser.new_context()
    found = context.new_page().evaluate(TIMES, base64.b64encode(content).decode())
    context.close()
    assert found == [pytest.approx(5, abs=0.05), 3, width]


def test_one_file_shows_it_all_without_python(browser, at, tmp_path):
    at.pick("Chest")
    at.page.keyboard.press("ArrowRight")
    shown = at.page.locator("#when").inner_text()
    choose(at, "Share this view")
    dialog = at.page.get_by_role("dialog", name="Share this view")
    dialog.get_by_label("Caption").fill("Look & see")
    link = dialog.get_by_role("textbox", name="Link").input_value()
    with at.page.expect_download() as coming:
        dialog.get_by_role("button", name="Page (HTML)").click()
    path = tmp_path / coming.value.suggested_filename
    coming.value.save_as(path)
    at.page.goto("about:blank")
    at.page.goto(link)
    at.page.wait_for_selector("main[aria-busy=false]")
    assert at.page.locator("#caption").inner_text() == "Look & see"
    assert at.page.locator("#when").inner_text() == shown
    context = browser.new_context(offline=True)
    context.add_init_script(UNDRAWN)
    try:
        page, faults = context.new_page(), []
        page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("main[aria-busy=false]")
        # It opens with what was seen, and so does a page with the link.
        assert page.locator("#caption").inner_text() == "Look & see"
        assert page.locator("#when").inner_text() == shown
        assert page.get_by_role("treeitem", name="Chest").get_attribute("aria-selected") == "true"
        page.get_by_role("treeitem", name="LeftArm", exact=True).click()
        page.locator("#inset").wait_for()
        page.locator("#curve canvas").wait_for()
        assert page.get_by_role("tab").all_inner_texts() == ["Look"]
        assert not page.locator("#files").is_visible()
        before = page.locator("#when").inner_text()
        page.keyboard.press("ArrowRight")
        assert page.locator("#when").inner_text() != before
        assert [each for each in faults if not each.startswith(("file:", "blob:", "data:"))] == []
    finally:
        context.close()


def test_the_folder_s_clips_are_listed_and_chosen(browser, model, tmp_path):
    for name, size in {"calm": 0.55, "wild": 0.9}.items():
        save_clip(clip(name, size=size, frames=20), tmp_path / f"{name}.bvh")
    paths = sorted(tmp_path.iterdir())
    with visit(browser, scene_of(model, load_clip(paths[0]))) as seen:
        seen.server.session.folder = Folder(paths, [path.stem for path in paths])
        seen.page.reload()
        seen.page.wait_for_selector("main[aria-busy=false]")
        rows = seen.page.get_by_role("region", name="Clips").get_by_role("listitem")
        seen.until(lambda: "…" not in "".join(rows.all_inner_texts()) and rows.count() == 2)
        name, angle, joint = rows.first.inner_text().split("\n")[:3]
        report = model.check(load_clip(tmp_path / "wild.bvh"))
        worst = report.violation.max(axis=0)
        assert (name, joint) == ("wild", report.names[worst.argmax()])
        assert angle == f"{np.degrees(worst.max()):.0f}°"
        rows.first.get_by_role("button").click()
        shown_anew(seen, "wild – Synovia")
        current = rows.locator("[aria-current=true]")
        seen.until(lambda: current.count() == 1)
        assert current.inner_text().startswith("wild")
        # The last finding of a clip is followed by those of the next clip in the list.
        seen.page.keyboard.press("End")
        seen.page.keyboard.press("n")
        shown_anew(seen, "calm – Synovia")


def test_a_file_with_meshes_shows_them_and_lists_its_clips(browser, tmp_path):
    content = gltfs.skinned().glb()
    (tmp_path / "figure.glb").write_bytes(content)
    walk = load_clip(tmp_path / "figure.glb#Walk")
    limit = Limit(RotationVector(), Box(np.full(3, -0.1), np.full(3, 0.1), np.eye(3)))
    scene = scene_of(LimitModel({"spine": limit}, walk.skeleton), walk)
    with visit(browser, scene) as seen:
        header, arrays = seen.answer("mesh")
        assert arrays["content"].tobytes() == content
        assert header["nodes"] == [1, 2, 4, 6]
        style = seen.page.get_by_role("button", name="Mesh, body, bones or both (B)")
        assert style.inner_text() == "Mesh"
        style.click()
        assert style.inner_text() == "Body"
        drop(seen, "other.glb", content)
        rows = seen.page.get_by_role("region", name="Clips").get_by_role("listitem")
        seen.until(lambda: rows.count() == 2)
        assert {text.split("\n")[0] for text in rows.all_inner_texts()} == {
            "other#Walk",
            "other#Wave",
        }


def test_limits_of_a_human_by_one_click_or_by_a_map(browser):
    body = wild()
    with visit(browser, scene_of(LimitModel({}, body.skeleton), body)) as seen:
        choose(seen, "Limits of a human")
        seen.until(lambda: len(seen.server.scene.model.limits) > 10)
        shown_anew(seen, "•")
    with visit(browser, scene_of(LimitModel({}, clip().skeleton), clip())) as seen:
        choose(seen, "Limits of a human")
        dialog = seen.page.get_by_role("dialog", name="Which joint is which")
        dialog.get_by_text("no human").wait_for()
        assert dialog.get_by_label("Role of LeftArm").input_value() == "leftUpperArm"
        dialog.get_by_role("button", name="Human limits").click()
        dialog.get_by_text("no human").wait_for()  # an arm alone is none
        last = [each for each in seen.asked if each["ask"] == "human"][-1]
        assert last["roles"]["LeftArm"] == "leftUpperArm"
        dialog.get_by_role("button", name="Cancel").click()
