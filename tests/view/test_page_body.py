"""The page in a real browser: a human has bones and a skin."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest

from synovia import human
from synovia.anatomy import limits_of
from synovia.body.asset import load_human
from synovia.view.answers import HANDLERS
from synovia.view.scene import scene_of
from view.browser import visit


def ivory(picture):
    """The share of pixels that are as warm as bones: more red than blue, and light."""
    imread = pytest.importorskip("matplotlib.image").imread
    red, _, blue = np.moveaxis(imread(BytesIO(picture), format="png")[..., :3], -1, 0)
    return float(((red > blue + 0.05) & (red > 0.5)).mean())


def test_a_human_has_bones_and_a_skin(browser):
    figure = human()
    with visit(browser, scene_of(limits_of(figure), figure=figure), drawn=True) as seen:
        arrays = seen.answer("body")[1]
        skin = load_human().skin
        np.testing.assert_array_equal(arrays["skinVertices"], skin.vertices)
        np.testing.assert_array_equal(arrays["skinTriangles"], skin.triangles.ravel())
        np.testing.assert_allclose(arrays["skinWeights"], 255.0 * skin.weights)
        button = seen.page.get_by_role("button", name="Mesh, body, bones or both (B)")
        pictures = {}
        for _ in range(3):
            pictures[button.text_content()] = seen.picture()
            seen.page.keyboard.press("b")
        assert list(pictures) == ["Both", "Bones", "Body"]
        assert len(set(pictures.values())) == 3
        assert ivory(pictures["Bones"]) > 0.01
        assert ivory(pictures["Body"]) > 1.5 * ivory(pictures["Bones"])  # there is more skin
        search = seen.page.get_by_label("Find a joint")
        search.fill("knee")
        found = seen.page.get_by_role("treeitem").locator("bdi").all_inner_texts()
        assert found == ["LeftLowerLeg", "RightLowerLeg"]
        search.fill("")
        before = seen.picture()
        seen.pick("LeftUpperLeg")
        assert "left hip" in seen.page.locator("#details").inner_text()
        assert seen.picture() != before
    assert seen.faults == []


def test_without_an_answer_about_the_body_the_page_works(browser, scene, monkeypatch):
    def broken(session, request):
        raise ValueError("the body's file is damaged")

    monkeypatch.setitem(HANDLERS, "body", broken)
    with visit(browser, scene) as seen:  # which waits until the page is no longer busy
        note = seen.page.locator("#notes p", has_text="The body is not shown: the body's file is")
        note.wait_for()
        seen.pick("LeftArm")
