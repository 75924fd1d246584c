"""Take the pictures of the page from the running page: python tools/docs/screenshots.py.

It needs Chromium and the test extras. Each goes to docs/img, or to a folder that is named.
"""

import io
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from synovia import Clip, LimitModel, human, show
from synovia.anatomy import limits_of
from synovia.demo import learn_limits, range_of_motion, wild
from synovia.limit import DependentRange
from synovia.limit.intervals import interval_along
from synovia.limit.node_grid import node_directions
from synovia.model import couple

HERE = Path(__file__).parents[2] / "docs" / "img"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
ABOVE = {"LeftUpperArm": "Sternum"}
"""What joints are measured from, where that is not the parent."""
STILL = 1500  # milliseconds until all is drawn
LARGE, SMALL = (1440, 900), (1280, 720)
FRAMES, FRAME_MS = 36, 80
"""Of the clip: there and back again in some 3 seconds."""
CLIP_WIDTH, CLIP_SHARE = 640, 0.66
"""What it shows of the view: so many pixels of its width, and a share of its height from above."""


def main(into: Path = HERE) -> None:
    """Write the pictures of the page."""
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
    seen = show(learned, wild(), compare=narrow)
    coupled = show(coupled_legs(people), range_of_motion(300))
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        opening(new_page(browser, figure.url, LARGE, "light"), into / "view-opening.png")
        outside(new_page(browser, clip.url, LARGE, "light"), into / "view.png")
        edited(new_page(browser, clip.url, SMALL, "light"), into / "view-edit.png")
        page = new_page(browser, seen.url, LARGE, "light")
        observed(page, into / "view-evidence.png")
        compared(page, into / "view-compare.png")
        depends(new_page(browser, coupled.url, LARGE, "light"), into / "view-depends.png")
        posed(new_page(browser, figure.url, SMALL, "dark"), into / "view-controls.png")
        raising(new_page(browser, figure.url, LARGE, "light"), into / "view-raising.webp")
        browser.close()
    clip.close()
    figure.close()
    seen.close()
    coupled.close()


def new_page(browser: Browser, url: str, size: tuple[int, int], theme: str) -> Page:
    """Return a page that is ready, in a profile of its own."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.goto(url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    return page


def leave_tour(page: Page) -> None:
    """Leave the tour, if it is there."""
    button = page.get_by_role("button", name="Leave the tour, for good (Esc)")
    if button.count():
        button.click()


def press(page: Page, *keys: str) -> None:
    """Press keys, with the view in focus."""
    page.locator("#stage").focus()
    for key in keys:
        page.keyboard.press(key)


def pick(page: Page, group: str, name: str) -> None:
    """Pick a joint in the list, whose group is unfolded."""
    item = page.get_by_role("treeitem", name=name, exact=True)
    if not item.count():
        page.get_by_role("treeitem", name=group, exact=True).click()
    item.click()
    page.locator("#inset").wait_for(timeout=120_000)


def take(page: Page, path: Path) -> None:
    """Take a picture once all is still."""
    page.wait_for_timeout(2 * STILL)
    page.screenshot(path=path)


def opening(page: Page, path: Path) -> None:
    """What the page opens with: the human with an arm raised, its cone, and the tour."""
    page.locator("#inset").wait_for(timeout=120_000)
    take(page, path)


def outside(page: Page, path: Path) -> None:
    """A clip that leaves its limits, at its worst frame for a shoulder, with the ghost beside."""
    page.locator("#strip .row .name", has_text="RightUpperArm").click()
    page.locator("#inset").wait_for(timeout=120_000)
    press(page, "g", "a", "Numpad4", "Numpad4")
    take(page, path)


def edited(page: Page, path: Path) -> None:
    """The reach cone of a hip, with a point chosen and the twists that are legal there."""
    press(page, "3")
    pick(page, "Left leg", "LeftUpperLeg")
    page.wait_for_timeout(STILL)
    page.get_by_label("Point", exact=True).select_option("7")
    press(page, "Home", ".", "Numpad1", "Numpad6", "Numpad6", "Numpad8")
    take(page, path)


def observed(page: Page, path: Path) -> None:
    """What four people did with a shoulder, on the sphere and among rotations."""
    pick(page, "Left arm", "LeftUpperArm")
    page.locator("#evidence").wait_for()
    page.get_by_label("Compare with", exact=True).select_option("")
    page.get_by_label("on sphere").check()
    press(page, "Home", ".", "-", "Numpad6")
    page.locator("#late:empty").wait_for(state="attached", timeout=120_000)
    take(page, path)


def compared(page: Page, path: Path) -> None:
    """What the limit of four people allows beyond that of two."""
    page.get_by_label("on sphere").uncheck()
    page.get_by_label("Compare with", exact=True).select_option("file")
    page.locator("#compared", has_text="gained").wait_for()
    page.locator("#compared").scroll_into_view_if_needed()
    take(page, path)


def coupled_legs(clips: Sequence[Clip]) -> LimitModel:
    """Return limits of a leg whose knee bends less, the farther back the thigh points."""
    joints = ["LeftUpperLeg", "LeftLowerLeg"]
    cones = LimitModel.fit(clips, "reach-cone", joints=joints[:1], margin=0.05)
    boxes = LimitModel.fit(clips, "box", "rotation-vector", joints=joints[1:], margin=0.05)
    knee = boxes.limits["LeftLowerLeg"]
    along = max(knee.shape.axes, key=lambda axis: np.ptp(interval_along(knee.shape, axis) or 0.0))
    along = along if along[0] > 0.0 else -along  # bent is to the right of x
    low, high = interval_along(knee.shape, along) or (0.0, 0.0)
    ahead = node_directions(8) @ [0.0, 0.0, 1.0]
    bends = low + (high - low) * (0.6 + 0.4 * ahead)
    down = np.array([0.0, -1.0, 0.0])
    each = DependentRange(knee, "LeftUpperLeg", down, np.full(len(bends), low), bends, along)
    limits = {**cones.limits, "LeftLowerLeg": knee}
    return LimitModel(couple(limits, {"LeftLowerLeg": each}), clips[0].skeleton)


def depends(page: Page, path: Path) -> None:
    """A knee's arc as the thigh lets it be, and the map of its range over where that points."""
    page.get_by_label("Frame", exact=True).fill("84")
    pick(page, "Left leg", "LeftLowerLeg")
    page.get_by_label("Map over its directions").check()
    page.locator(".dependence .scale b").wait_for()
    page.wait_for_timeout(STILL)
    press(page, "Control+Numpad3", "Numpad6", "Numpad6", "Numpad6", "-", "-")
    take(page, path)


def posed(page: Page, path: Path) -> None:
    """The human with an arm raised by its controls, and what that shoulder allows."""
    leave_tour(page)
    press(page, "4")
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
    page.get_by_role("heading", name="Controls").scroll_into_view_if_needed()
    press(page, "a")
    take(page, path)


def show_raised(page: Page) -> None:
    """Show the human from behind with raised arms, as large as the view lets it be."""
    leave_tour(page)
    press(page, "4")
    page.get_by_role("button", name="Reset the pose (R)", exact=True).click()
    raise_arms(page, 170)
    press(page, "Escape")
    page.wait_for_timeout(STILL)
    press(page, "Control+Numpad1", "a", "Numpad8")


def raise_arms(page: Page, degrees: int) -> None:
    """Let the controls of both shoulders raise the arms sideways."""
    for side in ("left", "right"):
        page.locator(f'input[aria-label="{side}_shoulder.abduction"]').fill(str(degrees))


def raising(page: Page, path: Path) -> None:
    """A clip of the human from behind: its arms rise and sink, and the scapulae glide."""
    show_raised(page)
    up = []
    for share in (1.0 - np.cos(np.linspace(0.0, np.pi, FRAMES // 2 + 1))) / 2.0:
        raise_arms(page, round(170.0 * share))
        page.wait_for_timeout(STILL / 2)
        picture = Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB")
        middle, height = picture.width // 2, round(CLIP_SHARE * picture.height)
        up.append(picture.crop((middle - CLIP_WIDTH // 2, 2, middle + CLIP_WIDTH // 2, height)))
    up[0].save(
        path,
        save_all=True,
        append_images=[*up[1:], *up[-2:0:-1]],
        duration=FRAME_MS,
        loop=0,
        quality=80,
        method=6,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
