"""Evidence at the page in a real browser: samples, two limits, fits from clips, joints mapped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clips import clip, person
from synovia import Clip, Limit, LimitModel, quat, save_clip, save_limits
from synovia.limit import gained_and_lost
from synovia.rigs import recognize
from synovia.text import percent
from synovia.view.folder import Folder
from synovia.view.scene import scene_of, with_limits
from twins import walker
from view.browser import text_of, visit
from view.test_page_exchange import choose, drop

ARM = "LeftArm"
PEOPLE = ("ann", "bo", "cy")


@pytest.fixture(scope="module")
def takes():
    return [person(f"{who}_1", seed, frames=90) for seed, who in enumerate(PEOPLE)]


@pytest.fixture(scope="module")
def model(takes):
    return LimitModel.fit(takes, "box", keep_samples=True, joints=["Chest", ARM], margin=0.02)


@pytest.fixture
def at(browser, model, drawn):
    with visit(browser, scene_of(model, clip("wild", size=0.9, frames=50)), drawn=drawn) as seen:
        yield seen


PLACES = [tuple(place) for place in np.random.default_rng(1).uniform(0.3, 0.7, (150, 2))]
"""All over the middle of a canvas, in no order, as shares of its sides."""


def place_on(seen, canvas, place):
    seen.page.locator(canvas).scroll_into_view_if_needed()
    box = seen.page.locator(canvas).bounding_box()
    return box["x"] + place[0] * box["width"], box["y"] + place[1] * box["height"]


def named_dots(seen, canvas, places=PLACES, enough=frozenset()):
    """What the mouse is told at places, by place, until it was told of enough performers."""
    told, known = {}, set()
    tip = seen.page.locator("#tip")
    for place in places:
        seen.page.mouse.move(*place_on(seen, canvas, place))
        if text := tip.evaluate("(tip) => (tip.hidden ? '' : tip.textContent)"):
            told[place] = text
            known.add(text.split(" · ")[0])
        if enough and enough <= known:
            break
    return told


@pytest.mark.drawn
def test_samples_are_named_by_performer_clip_and_frame_and_pose_the_body(at, model):
    at.pick(ARM)
    legend = at.page.get_by_role("region", name="Performers")
    rows = legend.locator(".rows label")
    kept = {each.performer: each for each in model.samples[ARM]}
    counts = [f"{who}\n{len(kept[who].rotations)}" for who in PEOPLE]
    assert [text.strip() for text in rows.all_inner_texts()] == counts
    everyone = named_dots(at, "#inset", enough=set(PEOPLE))
    assert {text.split(" · ")[0] for text in everyone.values()} == set(PEOPLE)
    rows.filter(has_text="bo").get_by_role("checkbox").uncheck()
    told = named_dots(at, "#inset", everyone)
    assert {text.split(" · ")[0] for text in told.values()} == {"ann", "cy"}
    place, text = next(iter(told.items()))
    at.page.mouse.click(*place_on(at, "#inset", place))
    at.page.locator("#done", has_text=f"{ARM} alone, as in").wait_for()
    who, where = text.split(" · ")
    assert where in text_of(at, "#done")
    sample = kept[who]
    (number,) = np.flatnonzero(sample.frames == int(where.split()[-1]))
    _, arrays = at.answer("recall")
    np.testing.assert_allclose(arrays["rotations"][2], sample.rotations[number], atol=1e-6)
    assert text_of(at, "#now") == "Inside its limit"
    assert model.limits[ARM].contains(arrays["rotations"][2].astype(float))
    legend.get_by_role("button", name="Show no performer").press("Enter")
    assert not named_dots(at, "#inset", everyone)
    before = at.picture()
    legend.get_by_role("button", name="Show all performers").press("Enter")
    legend.get_by_label("on sphere").check()
    assert at.picture() != before
    at.page.keyboard.press(".")
    at.drawn()
    told = named_dots(at, "#stage", enough={"ann"})
    assert told
    at.page.mouse.click(*place_on(at, "#stage", next(iter(told))))
    at.until(lambda: next(iter(told.values())).split(" · ")[1] in text_of(at, "#done"))
    assert at.page.get_by_role("heading", name=ARM, exact=True).is_visible()  # still picked


def test_why_names_the_nearest_pose_and_a_button_shows_it(at, model):
    at.pick(ARM)
    line = at.page.locator("#why .nearest")
    line.wait_for()
    frame = int(text_of(at, "#when").split("/")[0])
    turn = at.server.scene.clip.pose.rotations[frame, 2]
    nearest = min(
        (float(quat.angle_between(turn, each.rotations).min()), each.performer, each.clip)
        for each in model.samples[ARM]
    )
    assert f"{np.degrees(nearest[0]):.0f}° away: {nearest[1]} in {nearest[2]}" in line.inner_text()
    line.get_by_role("button").press("Enter")
    at.until(lambda: text_of(at, "#now") == "Inside its limit")


@pytest.mark.drawn
def test_two_limits_are_compared_on_the_sphere_and_in_per_cent(at, model, tmp_path):
    at.pick(ARM)
    compare = at.page.get_by_label("Compare with", exact=True)
    at.until(lambda: compare.locator("option").count() == 5)
    assert compare.locator("option[value=opened]").is_disabled()
    before = model.limits[ARM]
    wide = Limit(before.chart, before.shape.grow(0.15))
    at.server.session.edit(
        lambda model: with_limits(model, {**model.limits, ARM: wide}), "wider", None
    )
    at.server.notify_pages()
    at.until(lambda: compare.locator("option[value=opened]").is_enabled())
    plain = at.picture()
    compare.select_option("opened")
    told = at.page.locator("#compared")
    told.get_by_text("gained").wait_for()
    gained, lost = gained_and_lost(before, wide)
    text = " ".join(told.inner_text().split())
    assert text == f"gained {percent(gained)} lost {percent(lost)} of all rotations"
    assert at.picture() != plain
    narrow = LimitModel({ARM: Limit(before.chart, before.shape.grow(0.4))}, model.skeleton)
    save_limits(narrow, tmp_path / "narrow.limits.json")
    content = (tmp_path / "narrow.limits.json").read_bytes()
    drop(at, "narrow.limits.json", content, "#compared")
    gained, lost = gained_and_lost(narrow.limits[ARM], wide)
    at.until(lambda: f"lost {percent(lost)}" in told.inner_text())
    assert compare.input_value() == "file"
    assert at.server.scene.model.limits[ARM] is wide  # it is compared with, and nothing else
    at.page.keyboard.press("Control+z")
    at.until(lambda: at.server.scene.model.limits[ARM] is before)
    gained, lost = gained_and_lost(narrow.limits[ARM], before)
    at.until(lambda: f"lost {percent(lost)}" in told.inner_text())
    compare.select_option("")
    at.until(lambda: not told.inner_text())


def test_limits_are_fitted_from_the_list_stopped_and_undone(browser, model, takes, tmp_path):
    for each in takes:
        save_clip(each, tmp_path / f"{each.name}.bvh")
    paths = sorted(tmp_path.glob("*.bvh"))
    with visit(browser, scene_of(model, clip("wild", size=0.9, frames=50))) as seen:
        seen.server.session.folder = Folder(paths, [path.name for path in paths])
        choose(seen, "Fit limits from the clips")
        dialog = seen.page.get_by_role("dialog", name="Fit limits from clips")
        dialog.get_by_role("button", name="Fit from 3 clips").wait_for()
        dialog.get_by_label("All of cy").uncheck()
        dialog.get_by_label("bo_1.bvh").uncheck()
        dialog.get_by_label("bo_1.bvh").check()
        dialog.get_by_label("Family to fit").select_option("box")
        dialog.get_by_label("How wide").select_option("reject")
        dialog.get_by_label("Degrees or per cent").fill("200")
        dialog.get_by_role("button", name="Fit from 2 clips").click()
        assert dialog.is_visible()  # the browser says what is wrong with 200
        dialog.get_by_label("How wide").select_option("margin")
        dialog.get_by_label("Degrees or per cent").fill("4")
        dialog.get_by_role("button", name="Fit from 2 clips").press("Enter")
        seen.page.locator("#fitting").wait_for()
        seen.pick(ARM)  # the page goes on meanwhile
        seen.page.locator("#done", has_text="Limits for 4 joints").wait_for()
        source = seen.server.session.model
        assert [row["name"] for row in source.provenance["clips"]] == ["ann_1.bvh", "bo_1.bvh"]
        assert source.provenance["options"]["margin"] == pytest.approx(np.radians(4.0))
        seen.until(lambda: seen.page.locator("#evidence .rows label").count() == 2)
        seen.page.keyboard.press("Control+z")
        seen.until(lambda: seen.server.scene.model.limits[ARM] is model.limits[ARM])
        seen.until(lambda: seen.page.locator("#evidence .rows label").count() == 3)
        seen.server.session.folder.add(person("cy_2", frames=100_000), ".bvh")  # takes seconds
        choose(seen, "Fit limits from the clips")
        dialog.get_by_label("Family to fit").select_option("distance-field")
        dialog.get_by_role("button", name="Fit from 3 clips").click()
        # Pressed for longer than it takes until the page is told again how far the fit is.
        seen.page.get_by_role("button", name="Stop the fit").click(delay=500)
        seen.page.locator("#done", has_text="Stopped").wait_for()
        seen.page.locator("#fitting").wait_for(state="detached")
        assert seen.server.scene.model.limits[ARM] is model.limits[ARM]
        assert seen.server.session.model.provenance is model.provenance


def test_joints_without_names_are_mapped_by_two_and_get_human_limits(browser):
    walk = walker(20)
    known = recognize(walk.skeleton)
    names = tuple(f"bone{number}" for number in range(len(walk.skeleton)))
    body = Clip(replace(walk.skeleton, names=names), walk.pose, walk.frame_time, "walk")
    place = {role: walk.skeleton.index(joint) for role, joint in known.roles.items()}
    with visit(browser, scene_of(LimitModel({}, body.skeleton), body)) as seen:
        choose(seen, "Limits of a human")
        dialog = seen.page.get_by_role("dialog", name="Which joint is which")
        dialog.get_by_text("no human").wait_for()
        for role in ("leftUpperArm", "leftUpperLeg"):
            dialog.get_by_label(f"Role of bone{place[role]}", exact=True).select_option(role)
        for role in ("rightLowerLeg", "rightHand", "leftFoot"):
            joint = dialog.get_by_label(f"Role of bone{place[role]}", exact=True)
            seen.until(lambda joint=joint, role=role: joint.input_value() == role)
        dialog.get_by_text("A human, by").wait_for()
        dialog.get_by_role("button", name="Human limits").press("Enter")
        seen.until(lambda: len(seen.server.scene.model.limits) > 8)
        assert f"bone{place['rightLowerLeg']}" in seen.server.scene.model.limits
        seen.until(lambda: seen.page.title().startswith("•"))
        seen.page.wait_for_selector("main[aria-busy=false]")
