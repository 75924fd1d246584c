"""The page: clinical angles, curves with bands, ranges of motion, the report, and repair."""

import csv
import io
from io import BytesIO

import numpy as np
import pytest

from synovia import Clip, Pose, quat
from synovia.population import angles_of, limits_for
from synovia.population.bands import ClinicalJoint, joint_bands, links
from synovia.view.human import alignment_of
from synovia.view.scene import scene_of
from twins import walker
from view.browser import frame_of, visit

KNEE, ELBOW = "mixamorig:LeftLeg", "mixamorig:LeftForeArm"


@pytest.fixture(scope="module")
def broken():
    """A walk with an elbow that bends backwards for a moment, in its human limits."""
    clip = walker(90)
    rotations = np.array(clip.pose.rotations)
    rotations[40:50, clip.skeleton.index(ELBOW)] = quat.exp(np.radians([0.0, 60.0, 0.0]))
    clip = Clip(clip.skeleton, Pose(rotations, clip.pose.positions), clip.frame_time, "wild")
    return scene_of(limits_for(clip).model, clip)


@pytest.fixture
def seen(browser, broken):
    with visit(browser, broken) as page:
        yield page


def flexion_now(seen, joint):
    """The knee's angles in the pose that the page asked about last."""
    asked = [each for each in seen.asked if each["ask"] == "angles" and each["joint"] == joint][-1]
    scene = seen.server.scene
    rotations = np.array(asked["rotations"]).reshape(1, -1, 4)
    pose = Pose(rotations, scene.clip.pose.positions[:1])
    known = alignment_of(scene.clip)
    return joint_bands(links(scene.model, known)["leftLowerLeg"], known, pose)


def test_the_room_along_each_axis_is_shown_and_sliders_set_angles(seen):
    seen.page.set_viewport_size({"width": 1200, "height": 900})
    seen.pick(KNEE)
    seen.settle()
    angles, bands, _ = flexion_now(seen, KNEE)
    room = round(np.degrees(bands[0, 0, 1] - angles[0, 0]))
    panel = seen.page.get_by_label("Angles of the left knee")
    assert f"{room}° to full flexion" in panel.inner_text()
    slider = panel.get_by_label("Left knee flexion", exact=True)
    assert slider.is_disabled()  # Look changes nothing
    seen.page.get_by_role("tab", name="Try").click()
    typed = panel.get_by_label("Left knee flexion, typed")
    typed.fill("90")
    typed.press("Enter")
    seen.until(lambda: typed.input_value() == "90")
    seen.settle()
    assert np.degrees(flexion_now(seen, KNEE)[0][0, 0]) == pytest.approx(90.0, abs=0.1)
    typed.fill("300")  # limits are kept: it goes as far as it can
    typed.press("Enter")
    seen.until(lambda: typed.input_value() not in ("90", "300"))
    seen.settle()
    angles, bands, _ = flexion_now(seen, KNEE)
    assert angles[0, 0] == pytest.approx(bands[0, 0, 1], abs=np.radians(0.5))
    assert "0° to full flexion" in panel.inner_text()
    seen.page.locator("#stage").focus()
    seen.page.keyboard.press("Control+z")
    seen.until(lambda: typed.input_value() == "90")


def test_a_slider_follows_the_keyboard(seen):
    seen.pick(KNEE)
    seen.page.get_by_role("tab", name="Try").click()
    slider = seen.page.get_by_label("Left knee flexion", exact=True)
    seen.until(slider.is_enabled)
    before = float(slider.input_value())
    slider.focus()
    for _ in range(3):
        seen.page.keyboard.press("ArrowRight")
    seen.settle()
    seen.until(lambda: float(slider.input_value()) > before + 0.5)


def test_a_low_window_leads_to_further_curves(seen):
    seen.page.set_viewport_size({"width": 1024, "height": 700})
    seen.pick("mixamorig:LeftArm")
    rows = seen.page.locator("#curve .curve")
    rows.first.wait_for()
    seen.settle()
    panel, picture = seen.page.locator("#curve"), seen.page.locator("#inset")
    assert rows.count() > 1
    top, height = panel.bounding_box()["y"], panel.bounding_box()["height"]
    before = picture.bounding_box()
    for number in [*range(1, rows.count()), 0]:
        seen.page.locator("#curve .further").nth(number - 1).click()
        row = rows.nth(number)
        seen.until(lambda row=row: abs(row.bounding_box()["y"] - top) < 2.0)
    assert height < 50.0  # one curve
    assert picture.bounding_box() == before


def test_curves_have_bands_and_several_joints_stay(seen):
    seen.page.set_viewport_size({"width": 1200, "height": 900})
    seen.pick(KNEE)
    rows = seen.page.locator("#curve .curve")
    rows.first.wait_for()
    assert rows.first.inner_text().startswith("Left knee flexion")
    _, arrays = seen.answer("curves")
    scene = seen.server.scene
    known = alignment_of(scene.clip)
    expected = np.degrees(
        angles_of("leftLowerLeg", known.canonical_rotations(scene.clip.pose)["leftLowerLeg"])
    )
    np.testing.assert_allclose(arrays["anglesDeg"].T, expected, atol=1e-3)
    joint = ClinicalJoint(links(scene.model, known)["leftLowerLeg"][0], known, scene.clip.pose)
    ends = np.degrees(joint.bands())
    np.testing.assert_allclose(arrays["lowDeg"].T, ends[..., 0], atol=0.05)
    np.testing.assert_allclose(arrays["highDeg"].T, ends[..., 1], atol=0.05)
    usual = ClinicalJoint(
        links(scene.model.usual, known)["leftLowerLeg"][0], known, scene.clip.pose
    )
    ends = np.degrees(usual.bands())
    np.testing.assert_allclose(arrays["usualLowDeg"].T, ends[..., 0], atol=0.05)
    np.testing.assert_allclose(arrays["usualHighDeg"].T, ends[..., 1], atol=0.05)
    assert (arrays["usualHighDeg"] < arrays["highDeg"] - 1.0).any()  # the usual band is narrower
    seen.page.get_by_label("Keep these curves").first.click()
    seen.pick(ELBOW)
    seen.until(lambda: "Left elbow flexion" in rows.first.inner_text())
    assert "Left knee flexion" in seen.page.locator("#curve").inner_text()
    outside = seen.page.locator("#curve .curve", has_text="Left elbow outside")
    outside.wait_for()
    box = outside.locator(".paper").bounding_box()
    seen.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 10)
    seen.until(lambda: abs(frame_of(seen) - 45) <= 1)
    assert "° outside" in outside.locator("b").inner_text()


def test_ranges_lead_to_frames_and_files(seen):
    seen.page.get_by_role("button", name="Open files").click()
    seen.page.get_by_role("button", name="Angles, report").click()
    table = seen.page.locator("#ranges table")
    table.wait_for()
    scene = seen.server.scene
    row = table.locator("tr", has_text="Left elbow")
    assert row.locator("td").nth(1).inner_text() == "−60°"
    assert row.locator("td").nth(3).inner_text() == "−3 to 143"
    with seen.page.expect_download() as download:
        seen.page.get_by_label("Table, CSV: download").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert next(each for each in rows if each["joint"] == "left elbow")["impossible_frames"] == "10"
    with seen.page.expect_download() as download:
        seen.page.get_by_label("Angles, CSV: download").click()
    assert len(download.value.path().read_text().splitlines()) == scene.clip.frames + 1
    with seen.page.expect_download() as download:
        seen.page.get_by_label("Report with plots").click()
    assert "left elbow: 4" in download.value.path().read_text("utf-8")
    row.locator("td").nth(1).get_by_role("button").click()
    seen.until(lambda: 40 <= frame_of(seen) < 50)
    assert "left elbow" in seen.page.locator("aside h2:visible").last.inner_text()


def test_repair_shows_before_and_after_is_undone_and_saved(seen):
    was = seen.page.locator("#strip").inner_text()
    assert "LeftForeArm" in was.replace("\n", "")  # long names are in two parts
    seen.page.get_by_role("button", name="Repair the clip").click()
    panel = seen.page.locator(".repair")
    panel.get_by_label("Head").uncheck()
    panel.get_by_role("button", name="Repair", exact=True).click()
    panel.locator(".met").wait_for(timeout=60_000)
    asked = next(each for each in seen.asked if each["ask"] == "repair")
    assert asked["keep"] == ["hands", "feet"]
    strip = seen.page.locator("#strip")
    seen.until(lambda: strip.inner_text() != was)  # the elbow is unusual at most
    before = panel.get_by_label("Show the clip before repair")
    after = panel.get_by_label("Show the clip after repair")
    assert after.get_attribute("aria-pressed") == "true"
    seen.page.locator("#stage").focus()
    seen.page.keyboard.press("Control+z")
    seen.until(lambda: before.get_attribute("aria-pressed") == "true")
    assert strip.inner_text() == was
    seen.page.keyboard.press("Control+Shift+z")
    seen.until(lambda: after.get_attribute("aria-pressed") == "true")
    sides = seen.page.locator("#sides")
    assert not sides.is_visible()
    panel.get_by_label("Side by side").click()
    assert sides.inner_text().split() == ["Before", "After"]
    before.click()
    assert not sides.is_visible()
    with seen.page.expect_download() as download:
        panel.get_by_label("Save clip").click()
    assert download.value.suggested_filename == "wild repaired.bvh"
    assert b"MOTION" in download.value.path().read_bytes()


@pytest.mark.drawn
def test_both_bodies_are_seen_side_by_side(browser, broken):
    with visit(browser, broken, drawn=True) as seen:
        seen.page.get_by_role("button", name="Repair the clip").click()
        panel = seen.page.locator(".repair")
        panel.get_by_role("button", name="Repair", exact=True).click()
        panel.get_by_label("Side by side").click(timeout=60_000)
        both = body_share(seen.picture())
        panel.get_by_label("Show the clip after repair").click()
        one = body_share(seen.picture())
    assert both > 1.3 * one  # at the same scale


def body_share(picture):
    """The share of the picture's middle that is clearly darker than the background."""
    imread = pytest.importorskip("matplotlib.image").imread
    return (imread(BytesIO(picture), format="png")[60:340, 90:, :3].min(axis=-1) < 0.75).mean()


def test_in_a_low_window_the_picture_of_the_limit_is_in_sight(seen):
    seen.page.set_viewport_size({"width": 1024, "height": 600})
    seen.page.locator("#stage").focus()
    seen.page.keyboard.press("Home")  # where the knee is inside
    seen.pick(KNEE)
    seen.page.get_by_label("Angles of the left knee").wait_for()
    seen.settle()
    picture = seen.page.locator("#inset").bounding_box()
    panel = seen.page.locator("aside").bounding_box()
    in_sight = panel["y"] + panel["height"] - picture["y"]
    assert in_sight > 0.5 * picture["height"]


def test_a_hinge_speaks_in_clinical_degrees(browser):
    """The default human's knee has the ends of its slider, not degrees from the reference."""
    import synovia
    from synovia.anatomy import limits_of

    figure = synovia.human()
    with visit(browser, scene_of(limits_of(figure), None, figure)) as page:
        page.page.locator("#search").fill("left knee")
        page.pick("LeftLowerLeg")
        page.page.get_by_role("tab", name="Edit").click()
        hinge = page.page.locator(".hinge")
        hinge.wait_for()
        ends = [
            float(hinge.get_by_label(f"{end}, in degrees").input_value()) for end in ("From", "To")
        ]
        control = figure.controls["left_knee.flexion"]
        assert ends == pytest.approx([control.low, control.high], abs=1.5)
        assert "Degrees of flexion" in hinge.inner_text()
