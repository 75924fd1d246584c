"""Take the pictures of the page, from the running page: python docs/make_screenshots.py.

It needs Chromium and the test extras. Each picture goes to docs/img.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from synovia import LimitModel, human, show
from synovia.anatomy import limits_of
from synovia.demo import learn_limits, range_of_motion, wild

HERE = Path(__file__).parent / "img"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
ABOVE = {"LeftUpperArm": "Sternum"}
"""What joints are measured from, where that is not the parent."""
STILL = 1500  # milliseconds until all is drawn


def main() -> None:
    """Write the pictures of the page in docs/img."""
    body = human()
    clip = show(learn_limits(range_of_motion(), "reach-cone", "direction-twist"), wild())
    figure = show(limits_of(body), figure=body)
    people = [
        replace(range_of_motion(300, seed), name=f"{who}_01")
        for seed, who in enumerate(("ann", "ben", "cleo", "dan"))
    ]
    learned, narrow = (
        LimitModel.fit(some, keep_samples=True, margin=0.05, **options)
        for some in (people, people[:2])
        for options in [{"joints": ["LeftUpperArm", "LeftUpperLeg"], "relative_to": ABOVE}]
    )
    seen = show(learned, wild())
    seen.server.session.compared = ("ann and ben", narrow)
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        outside(opened(page, clip.url))
        edited(page)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        observed(opened(page, seen.url))
        compared(page)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="dark")
        posed(opened(page, figure.url))
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=theme)
            raised(opened(page, figure.url), HERE / f"view-raised-{theme}.png")
        browser.close()
    clip.close()
    figure.close()
    seen.close()


def opened(page: Page, url: str) -> Page:
    """Return the page once it is ready."""
    page.goto(url)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    return page


def outside(page: Page) -> None:
    """A clip that leaves its limits, at its worst frame for a shoulder, with the ghost beside."""
    page.locator("#strip .row button", has_text="RightUpperArm").click()
    page.locator("#inset").wait_for(timeout=120_000)
    for key in ("g", "a", "Numpad4", "Numpad4"):
        page.keyboard.press(key)
    page.wait_for_timeout(STILL)
    page.screenshot(path=HERE / "view.png")


def edited(page: Page) -> None:
    """The reach cone of a hip, with a point chosen and the twists that are legal there."""
    page.keyboard.press("3")
    page.get_by_role("treeitem", name="LeftUpperLeg", exact=True).click()
    page.wait_for_timeout(STILL)
    page.get_by_label("Point", exact=True).select_option("7")
    page.locator("#stage").focus()
    for key in ("g", "Home", ".", "Numpad1", "Numpad6", "Numpad6", "Numpad8"):
        page.keyboard.press(key)
    page.wait_for_timeout(STILL)
    page.screenshot(path=HERE / "view-edit.png")


def observed(page: Page) -> None:
    """What four people did with a shoulder, on the sphere and among rotations."""
    page.get_by_role("treeitem", name="LeftUpperArm", exact=True).click()
    page.locator("#evidence").wait_for()
    page.get_by_label("Compare with", exact=True).select_option("")
    page.get_by_label("on sphere").check()
    page.locator("#stage").focus()
    for key in ("Home", ".", "-", "Numpad6"):
        page.keyboard.press(key)
    page.locator("#late:empty").wait_for(state="attached", timeout=120_000)
    page.wait_for_timeout(STILL)
    page.screenshot(path=HERE / "view-evidence.png")


def compared(page: Page) -> None:
    """What the limit of four people allows beyond that of two."""
    page.get_by_label("on sphere").uncheck()
    page.get_by_label("Compare with", exact=True).select_option("file")
    page.locator("#compared", has_text="gained").wait_for()
    page.locator("#compared").scroll_into_view_if_needed()
    page.wait_for_timeout(STILL)
    page.screenshot(path=HERE / "view-compare.png")


def posed(page: Page) -> None:
    """The human with an arm raised by its controls, and what that shoulder allows."""
    page.keyboard.press("4")
    for name, value in {
        "left_shoulder.abduction": 95,
        "left_elbow.flexion": 60,
        "right_shoulder.flexion": 40,
        "right_elbow.flexion": 35,
        "thoracic.bend": -8,
        "left_knee.flexion": 25,
        "left_hip.flexion": 20,
    }.items():
        page.locator(f'input[aria-label="{name}"]').fill(str(value))
    page.get_by_role("treeitem", name="LeftUpperArm", exact=True).click()
    page.get_by_role("heading", name="Controls").scroll_into_view_if_needed()
    page.wait_for_timeout(2 * STILL)
    page.screenshot(path=HERE / "view-controls.png")


def raised(page: Page, path: Path) -> None:
    """The human from behind with raised arms: bones in a veil of skin."""
    page.keyboard.press("4")
    for side in ("left", "right"):
        page.locator(f'input[aria-label="{side}_shoulder.abduction"]').fill("170")
    page.locator("#stage").focus()
    page.wait_for_timeout(STILL)
    for key in ("Control+Numpad1", "a", "Numpad8"):
        page.keyboard.press(key)
    page.wait_for_timeout(2 * STILL)
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
