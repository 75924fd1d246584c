"""The page without eyes or a mouse: what a screen reader is told, and where Tab leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joints import figure, round_cone
from synovia import Box, DirectionTwist, Limit, LimitModel, RotationVector
from synovia.view.scene import scene_of
from view.browser import needed, visit

NAMED = {
    *("button", "checkbox", "combobox", "searchbox", "slider", "spinbutton", "tab", "textbox"),
    *("application", "dialog", "DisclosureTriangle", "image", "img", "tree", "treeitem"),
    *("tablist", "toolbar"),
}
"""Roles of what can be used, or looked at: each must have a name."""


@pytest.fixture(scope="module")
def seen(browser):
    """A figure with a cone and a box, so that every mode of the page has something to show."""
    body = figure()
    box = Limit(RotationVector(), Box(np.full(3, -0.4), np.full(3, 0.4), np.eye(3)))
    cone = Limit(DirectionTwist(axis=[0.0, 0.0, 1.0]), round_cone())
    scene = scene_of(LimitModel({"c7": box, "humerus": cone}, body.skeleton), figure=body)
    with visit(browser, scene) as page:
        yield page


def told(seen):
    """What the browser tells a screen reader: role and name of all that is not ignored."""
    line = seen.page.context.new_cdp_session(seen.page)
    nodes = line.send("Accessibility.getFullAXTree")["nodes"]
    line.detach()
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]


@pytest.mark.parametrize("mode", ["1", "2", "3", "4"])
def test_all_that_can_be_used_has_a_name(seen, mode):
    seen.page.keyboard.press(mode)
    for joint in ("humerus", "c7", "trunk"):
        seen.pick(joint)
        seen.drawn()
        nodes = told(seen)
        assert [node for node in nodes if node[0] in NAMED and not node[1].strip()] == []
        assert {"application", "tab", "treeitem", "slider"} <= {role for role, _ in nodes}


def test_dialogs_and_folded_parts_have_names(seen):
    seen.page.keyboard.press("3")
    seen.pick("c7")
    for part in ("Numbers", "How the ghost is clamped"):
        seen.page.locator("summary", has_text=part).press("Enter")
    assert not [node for node in told(seen) if node[0] in NAMED and not node[1].strip()]
    for key in ("?", "Control+s"):
        seen.page.keyboard.press(key)
        nodes = told(seen)
        assert ("dialog", seen.page.get_by_role("dialog").get_attribute("aria-label")) in nodes
        assert not [node for node in nodes if node[0] in NAMED and not node[1].strip()]
        seen.page.keyboard.press("Escape")


AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
STATES = {
    "Look": [("press", "1")],
    "Try": [("press", "2")],
    "Edit, a cone": [("press", "3")],
    "Edit, a box": [("press", "3"), ("pick", "c7")],
    "Controls": [("press", "4")],
    "nothing picked": [("press", "1"), ("press", "Escape")],
    "in the dark": [("press", "l"), ("press", "2")],
    "keys": [("press", "?")],
    "files": [("click", "Open files")],
    "no file to save to": [("press", "Control+s")],
    "sharing": [("click", "Open files"), ("click", "Share this view")],
    "a fit": [("click", "Open files"), ("click", "Fit limits from the clips")],
}
"""What is done before axe looks at the page."""


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_no_violations(seen, state):
    if not AXE.is_file():
        needed("axe-core is not installed: python web/build.py install")
    seen.page.keyboard.press("1")
    seen.pick("humerus")
    seen.page.locator("#stage").focus()
    for act, what in STATES[state]:
        if act == "press":
            seen.page.keyboard.press(what)
        elif act == "pick":
            seen.pick(what)
        else:
            seen.page.get_by_role("button", name=what).click()
    seen.settle()
    seen.page.evaluate(AXE.read_text("utf-8"))
    found = seen.page.evaluate("() => axe.run({ resultTypes: ['violations'] })")["violations"]
    told = [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]
    seen.page.keyboard.press("Escape")
    if state == "in the dark":
        seen.page.locator("#stage").focus()
        seen.page.keyboard.press("l")
    assert told == []


def test_tab_goes_through_the_page_in_order_and_one_sees_where(seen):
    """Header, joints, view, panel, time: what has the focus has a line around it."""
    seen.page.keyboard.press("3")
    seen.pick("humerus")
    seen.page.locator("#modes button").first.focus()
    where = []
    for _ in range(80):
        seen.page.keyboard.press("Tab")
        part, line = seen.page.evaluate(
            """() => {
                const at = document.activeElement;
                const part = at.closest("header, nav, main, aside, footer");
                return [part?.localName, getComputedStyle(at).outlineStyle];
            }"""
        )
        if part is None:
            break
        assert line != "none"
        where.append(part)
    order = list(dict.fromkeys(where))
    assert order == ["header", "nav", "main", "aside", "footer"]
    assert where == sorted(where, key=order.index)


def test_what_is_said_is_live_but_not_while_it_plays(seen):
    live = "(each) => each.getAttribute('role') + ' ' + each.getAttribute('aria-live')"
    for name in ("#said", "#notes", "#done", "#refit-said"):
        assert seen.page.locator(name).evaluate(live) == "status null"
    seen.page.locator("#stage").focus()
    seen.page.keyboard.press("Space")
    assert seen.page.locator("#now").evaluate(live) == "status off"
    seen.page.keyboard.press("Space")
    assert seen.page.locator("#now").evaluate(live) == "status polite"
    item = seen.page.get_by_role("treeitem", name="trunk", exact=True)
    assert item.get_attribute("aria-description") == "no limit"
