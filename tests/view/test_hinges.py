"""Hinges: where they end, and ends that are moved; in the page, too, by mouse and keyboard."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import Clip, Pose, forward, human, human_limits, quat
from synovia.limit.hinge import hinge_path
from synovia.view.limit_edits import move_end
from synovia.view.scene import scene_of
from view.browser import arc_share, visit

BODY = human()
ELBOW = "LeftLowerArm"


def ends_deg(limit):
    path = hinge_path(limit)
    return np.degrees([path.low, path.high])


@pytest.mark.parametrize("joint", [ELBOW, "LeftLowerLeg", "LeftPatella"])
@pytest.mark.parametrize(("deg", "high"), [(20.0, True), (95.0, True), (-30.0, False)])
def test_an_end_goes_where_it_should_and_the_other_stays(joint, deg, high):
    before = ends_deg(human_limits().limits[joint])
    after = ends_deg(move_end(human_limits().limits[joint], np.radians(deg), high=high))
    assert after[int(high)] == pytest.approx(deg, abs=0.15)
    assert after[1 - int(high)] == pytest.approx(before[1 - int(high)], abs=0.05)


def test_ends_are_where_the_limit_ends():
    limit = human_limits().limits[ELBOW]
    path = hinge_path(limit)
    step = np.radians(0.05)
    inside = path.at(np.linspace(path.low, path.high, 50))
    assert limit.violation(inside).max() <= np.radians(0.5)
    assert not limit.contains(path.at(np.array([path.low - step, path.high + step]))).any()


def test_what_is_no_hinge_or_would_end_before_it_starts_is_refused():
    assert hinge_path(human_limits().limits["LeftUpperArm"]) is None
    with pytest.raises(ValueError, match="no hinge"):
        move_end(human_limits().limits["LeftUpperLeg"], 0.1, high=True)
    with pytest.raises(ValueError, match="must not end before it starts"):
        move_end(human_limits().limits[ELBOW], np.radians(-80.0), high=True)


def test_ends_of_a_hinge_are_typed_and_dragged(browser):
    rest = BODY.pose()
    still = Pose(rest.rotations[None], rest.positions[None])
    scene = scene_of(human_limits(), Clip(BODY.skeleton, still, 1.0 / 30.0, "rest"), BODY)
    with visit(browser, scene) as seen:
        seen.pick(ELBOW)
        for key in ("3", ".", "Control+Numpad3", "Numpad5"):
            seen.page.keyboard.press(key)
        seen.settle()
        low, high = (
            seen.page.get_by_label(f"{name}, in degrees", exact=True) for name in ("From", "To")
        )
        before = ends_deg(human_limits().limits[ELBOW])
        shown = np.array([float(low.input_value()), float(high.input_value())])
        shift = shown[0] - before[0]  # degrees of flexion, not from the reference
        np.testing.assert_allclose(shown, before + shift, atol=0.11)
        assert shown == pytest.approx([-5.0, 150.0], abs=6.0)
        high.fill(f"{100.0 + shift:.1f}")
        high.press("Enter")
        seen.settle()
        # Flexion is about the opposite axis, so that its greatest angle is the hinge's low end.
        assert ends_deg(seen.server.scene.model.limits[ELBOW])[0] == pytest.approx(-100.0, abs=0.1)
        high.press("Control+z")
        seen.settle()
        np.testing.assert_allclose(ends_deg(seen.server.scene.model.limits[ELBOW]), before)

        # Seen from the left, with the joint in the middle: z is to the left, y up.
        joint = BODY.skeleton.index(ELBOW)
        path = hinge_path(human_limits().limits[ELBOW])
        above = forward(BODY.skeleton, Pose(rest.rotations, rest.positions))[1][
            BODY.skeleton.parents[joint]
        ]
        bone = BODY.skeleton.rest_directions[joint]
        height = seen.page.locator("#stage").bounding_box()["height"]
        share = arc_share(BODY.skeleton, ELBOW)

        def place(deg):
            way = quat.rotate(quat.mul(above, path.at(np.radians(deg))), bone)
            return np.array(seen.middle) + share * height * np.array([-way[2], -way[1]])

        for to, cancel in ((40.0, False), (10.0, True)):
            start = ends_deg(seen.server.scene.model.limits[ELBOW])[1]
            seen.page.mouse.move(*place(start))
            seen.page.mouse.down()
            seen.page.mouse.move(*place(to), steps=5)
            seen.settle()
            assert ends_deg(seen.server.scene.model.limits[ELBOW])[1] == pytest.approx(to, abs=2)
            if cancel:
                seen.page.keyboard.press("Escape")
            seen.page.mouse.up()
            seen.settle()
            kept = ends_deg(seen.server.scene.model.limits[ELBOW])[1]
            assert kept == pytest.approx(40.0, abs=2)
