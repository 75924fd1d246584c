"""A real browser for the tests of the page, and what every test of it demands."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlparse

import numpy as np
import pytest

from clips import clip
from synovia import LimitModel, forward
from synovia.view import messages
from synovia.view.answers import answer
from synovia.view.human import group_joints
from synovia.view.scene import scene_of
from synovia.view.server import PageServer, page_files
from synovia.view.session import Session

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--use-angle=swiftshader-webgl",  # for the canvases alone: all of a page would take long
    "--disable-gpu-compositing",
    "--enable-unsafe-swiftshader",
    "--webgl-antialiasing-mode=none",  # a quarter of what is to be drawn
    "--renderer-process-limit=1",  # a process for each page takes a quarter second to start
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
UNDRAWN = """
  for (const name of ["clear", "drawArrays", "drawArraysInstanced"])
    WebGL2RenderingContext.prototype[name] = () => {};
  for (const name of ["drawElements", "drawElementsInstanced"])
    WebGL2RenderingContext.prototype[name] = () => {};
"""
"""A page does all but the last step: without a graphics card that takes most of the time."""
EVERYTHING = """
  if (location.protocol === "http:") localStorage.setItem("synovia", '{"simple": "never"}');
"""
"""A page draws all it can, however busy the machine is."""
PATIENCE, STEP = 60_000, 20  # milliseconds: machines that run tests may be busy


def needed(reason):
    """Skip for a reason, or fail where the tests of the page must run, as in CI."""
    if os.environ.get("SYNOVIA_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def compile_answers():
    """Ask once, and wait as long as it takes, for what is compiled when it is first asked for.

    On a busy machine that may take longer than the tests wait for a page.
    """
    some = clip(frames=2)
    session = Session(scene_of(LimitModel.fit([clip(frames=20)], "reach-cone"), some))
    rotations = some.pose.rotations[0].ravel().tolist()
    reach = {"frame": 0, "rotations": rotations, "joint": "LeftHand", "point": [0.0, 0.0, 0.0]}
    reach |= {"target": [0.5, 0.5, 0.5], "limits": True, "joints": None}
    for number, (ask, given) in enumerate(
        [("check", {}), ("clamp", {"soften": None}), ("reach", reach)]
    ):
        text = json.dumps({"id": number, "ask": ask, **given})
        assert "error" not in messages.unpack(answer(session, text))[0]


@contextmanager
def browser():
    if os.environ.get("SYNOVIA_BROWSER") == "skip":
        pytest.skip("SYNOVIA_BROWSER=skip leaves out tests that need a browser")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        needed("no Chromium to test the page in: apt-get install chromium brings it")
    try:
        page_files()
    except FileNotFoundError as error:
        needed(str(error))
    from playwright.sync_api import sync_playwright

    compile_answers()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


def wait_until(page, condition):
    """Let `page` run until `condition()` is true."""
    for _ in range(PATIENCE // STEP):
        if condition():
            return
        page.wait_for_timeout(STEP)
    raise TimeoutError("the page did not get there")


class Visit:
    """A page that shows a scene, with what it says to Python and what it hears."""

    def __init__(self, page, server, drawn):
        self.page, self.server, self.is_drawn = page, server, drawn
        self.faults, self.asked, self.heard = [], [], []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._look)
        page.on("websocket", self._listen)

    def _hear(self, said):
        if said.type == "error" or (said.type == "warning" and "THREE" in said.text):
            self.faults.append(said.text)

    def _look(self, request):
        if urlparse(request.url).hostname not in ("127.0.0.1", None):
            self.faults.append(f"a request to {request.url}")

    def _listen(self, line):
        if urlparse(line.url).hostname != "127.0.0.1":
            self.faults.append(f"a socket to {line.url}")
        # A page that is loaded again counts anew; what the one before asks for last stays its own.
        self.asked, self.heard = asked, heard = [], []
        line.on("framesent", lambda text: asked.append(messages.parse_request(text)))
        line.on("framereceived", lambda text: heard.append(messages.unpack(text)))

    def open(self):
        self.page.goto(self.server.url)
        self.page.wait_for_selector("main[aria-busy=false]", timeout=PATIENCE)
        return self

    def answer(self, ask):
        """The last answer to a question of this kind."""
        numbers = {each["id"] for each in self.asked if each["ask"] == ask}
        return [heard for heard in self.heard if heard[0].get("id") in numbers][-1]

    def pick(self, name):
        """Pick a joint in the tree, and wait until its limit is drawn."""
        before = len(self.heard)
        headings = self.page.locator(".group")  # a group may be called as one of its joints is
        joints = self.page.locator(":not(.group)")
        item = self.page.get_by_role("treeitem", name=name, exact=True).and_(joints)
        if item.count() == 0:  # its group is folded
            skeleton = self.server.scene.clip.skeleton
            group = group_joints(skeleton)[skeleton.index(name)]
            self.page.get_by_role("treeitem", name=group, exact=True).and_(headings).click()
        was_picked = item.get_attribute("aria-selected") == "true"
        item.click()
        if name in self.server.scene.model.limits:
            self.until(lambda: was_picked or len(self.heard) > before)
            self.page.locator("#inset").wait_for(timeout=PATIENCE)

    def until(self, true):
        wait_until(self.page, true)

    def is_answered(self):
        """Whether there is an answer to all that the page asked for."""
        return {each["id"] for each in self.asked} <= {header.get("id") for header, _ in self.heard}

    def settle(self):
        """Wait until all that was asked for is answered, and what that leads to."""
        for _ in range(2):
            self.page.evaluate("() => new Promise((done) => setTimeout(done))")
            self.until(self.is_answered)
        self.page.evaluate("() => new Promise((done) => setTimeout(done))")

    @property
    def middle(self):
        box = self.page.locator("#stage").bounding_box()
        return box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]

    def picture(self):
        """The stage as it looks, once it is still, without the hint and the buttons over it.

        Their round corners are not always drawn quite the same.
        """
        assert self.is_drawn, "a test that looks at pictures is marked as drawn"
        self.drawn()
        covered = self.page.locator("#hint, #gizmo .views")
        return self.page.locator("#stage").screenshot(mask=[covered])

    def drawn(self):
        """Wait until what was asked for is on the screen, or would be."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )


@cache
def context_of(browser, drawn):
    """Where all visits are, so that they share a process; an empty page keeps it going.

    Pictures of the scene are drawn only where they are looked at.
    """
    context = browser.new_context(viewport={"width": 1200, "height": 600})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(EVERYTHING)
    if not drawn:
        context.add_init_script(UNDRAWN)
    context.new_page()
    return context


@contextmanager
def visit(browser, scene, save_to=None, *, drawn=False):
    """A page at a scene; at the end there was no fault and no request elsewhere."""
    server = PageServer(scene, save_to=save_to)
    context = context_of(browser, drawn)
    context.clear_cookies()  # each visit is somebody's first
    page = context.new_page()
    try:
        seen = Visit(page, server, drawn)
        yield seen.open()
        assert seen.faults == []
    finally:
        page.close()
        server.close()


def frame_of(seen):
    """The number of the frame that the page shows."""
    return int(seen.page.locator("#when").inner_text().split("/")[0])


def text_of(seen, where):
    """What is written at a place on the page."""
    return seen.page.locator(where).inner_text()


def arc_share(skeleton, joint):
    """How large the arc of a hinge is when it is looked at, as a share of the view's height."""
    number = skeleton.index(joint)
    where = forward(skeleton, skeleton.rest_pose())[0]
    size = np.linalg.norm(where - where[0], axis=1).max()
    below = skeleton.offsets[skeleton.parents == number]
    tips = [*below, *skeleton.end_offsets[skeleton.end_parents == number]]
    radius = np.clip(0.8 * max(np.linalg.norm(tip) for tip in tips), 0.1 * size, 0.25 * size)
    return 1.08 * radius / (2.0 * 1.04 * 0.3 * size / np.cos(np.radians(16.0)))
