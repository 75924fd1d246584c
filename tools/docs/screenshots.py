"""Take screenshots of the page: python tools/docs/screenshots.py [FOLDER].

It needs Chromium and the test extras. Pictures are written to docs/img by default.
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
from synovia.edit.numbers import interval_along
from synovia.limit import DependentRange
from synovia.limit.node_grid import NodeGrid
from synovia.model import couple

HERE = Path(__file__).parents[2] / "docs" / "img"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
RELATIVE_TO = {"LeftUpperArm": "Sternum"}
DRAW_MS = 1500  # time until everything is drawn
LARGE, SMALL = (1440, 900), (1280, 720)
FRAMES, FRAME_MS = 36, 80  # of the animation: up and down in 3 seconds
CLIP_WIDTH, CLIP_SHARE = 640, 0.66  # its width in pixels, and its share of the view's height


def main(into: Path = HERE) -> None:
    """Write all screenshots."""
    body = human()
    clip = show(learn_limits(range_of_motion(), "reach-cone", "direction-twist"), wild())
    figure = show(limits_of(body), figure=body)
    people = [
        replace(range_of_motion(300, seed), name=f"{performer}_01")
        for seed, performer in enumerate(("ann", "ben", "cleo", "dan"))
    ]
    learned, narrow = (
        LimitModel.fit(
            clips,
            keep_samples=True,
            margin=0.05,
            joints=["LeftUpperArm", "LeftUpperLeg"],
            relative_to=RELATIVE_TO,
        )
        for clips in (people, people[:2])
    )
    compared_page = show(learned, wild(), compare=narrow)
    coupled = show(coupled_legs(people), range_of_motion(300))
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        opening(new_page(browser, figure.url, LARGE, "light"), into / "view-opening.png")
        outside(new_page(browser, clip.url, LARGE, "light"), into / "view.png")
        edited(new_page(browser, clip.url, SMALL, "light"), into / "view-edit.png")
        page = new_page(browser, compared_page.url, LARGE, "light")
        observed(page, into / "view-evidence.png")
        compared(page, into / "view-compare.png")
        depends(new_page(browser, coupled.url, LARGE, "light"), into / "view-depends.png")
        posed(new_page(browser, figure.url, SMALL, "dark"), into / "view-controls.png")
        raising(new_page(browser, figure.url, LARGE, "light"), into / "view-raising.webp")
        browser.close()
    clip.close()
    figure.close()
    compared_page.close()
    coupled.close()


def new_page(browser: Browser, url: str, size: tuple[int, int], theme: str) -> Page:
    """Return a page with a fresh profile, after it has loaded."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.goto(url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    return page


def leave_tour(page: Page) -> None:
    """Close the tour if it is open."""
    button = page.get_by_role("button", name="Leave the tour, for good (Esc)")
    if button.count():
        button.click()


def press(page: Page, *keys: str) -> None:
    """Focus the view and press keys."""
    page.locator("#stage").focus()
    for key in keys:
        page.keyboard.press(key)


def pick(page: Page, group: str, name: str) -> None:
    """Pick a joint in the list, and unfold its group if necessary."""
    item = page.get_by_role("treeitem", name=name, exact=True)
    if not item.count():
        page.get_by_role("treeitem", name=group, exact=True).click()
    item.click()
    page.locator("#inset").wait_for(timeout=120_000)


def take(page: Page, path: Path) -> None:
    """Take a screenshot after everything is drawn."""
    page.wait_for_timeout(2 * DRAW_MS)
    page.screenshot(path=path)


def opening(page: Page, path: Path) -> None:
    """Show the start of the page: the human with a raised arm, its cone, and the tour."""
    page.locator("#inset").wait_for(timeout=120_000)
    take(page, path)


def outside(page: Page, path: Path) -> None:
    """Show the worst frame of a shoulder in a clip, with the clamped pose as a ghost."""
    page.locator("#strip .row .name", has_text="RightUpperArm").click()
    page.locator("#inset").wait_for(timeout=120_000)
    press(page, "g", "a", "Numpad4", "Numpad4")
    take(page, path)


def edited(page: Page, path: Path) -> None:
    """Show the reach cone of a hip with a selected point and its twist limits."""
    press(page, "3")
    pick(page, "Left leg", "LeftUpperLeg")
    page.wait_for_timeout(DRAW_MS)
    page.get_by_label("Point", exact=True).select_option("7")
    press(page, "Home", ".", "Numpad1", "Numpad6", "Numpad6", "Numpad8")
    take(page, path)


def observed(page: Page, path: Path) -> None:
    """Show samples of a shoulder of four people, on the sphere and as rotation vectors."""
    pick(page, "Left arm", "LeftUpperArm")
    page.locator("#evidence").wait_for()
    page.get_by_label("Compare with", exact=True).select_option("")
    page.get_by_label("on sphere").check()
    press(page, "Home", ".", "-", "Numpad6")
    page.locator("#late:empty").wait_for(state="attached", timeout=120_000)
    take(page, path)


def compared(page: Page, path: Path) -> None:
    """Compare the limit of four people with that of two."""
    page.get_by_label("on sphere").uncheck()
    page.get_by_label("Compare with", exact=True).select_option("file")
    page.locator("#compared", has_text="gained").wait_for()
    page.locator("#compared").scroll_into_view_if_needed()
    take(page, path)


def coupled_legs(clips: Sequence[Clip]) -> LimitModel:
    """Return limits of a leg whose knee bends less when the thigh points backwards."""
    joints = ["LeftUpperLeg", "LeftLowerLeg"]
    cones = LimitModel.fit(clips, "reach-cone", joints=joints[:1], margin=0.05)
    boxes = LimitModel.fit(clips, "box", "rotation-vector", joints=joints[1:], margin=0.05)
    knee = boxes.limits["LeftLowerLeg"]
    along = max(knee.shape.axes, key=lambda axis: np.ptp(interval_along(knee.shape, axis) or 0.0))
    along = along if along[0] > 0.0 else -along  # flexion is positive
    low, high = interval_along(knee.shape, along) or (0.0, 0.0)
    ahead = NodeGrid(3, 8).nodes @ [0.0, 0.0, 1.0]
    bends = low + (high - low) * (0.6 + 0.4 * ahead)
    down = np.array([0.0, -1.0, 0.0])
    dependent = DependentRange(knee, "LeftUpperLeg", down, np.full(len(bends), low), bends, along)
    limits = {**cones.limits, "LeftLowerLeg": knee}
    return LimitModel(couple(limits, {"LeftLowerLeg": dependent}), clips[0].skeleton)


def depends(page: Page, path: Path) -> None:
    """Show the range of a knee in the current frame, and its map over directions of the thigh."""
    page.get_by_label("Frame", exact=True).fill("84")
    pick(page, "Left leg", "LeftLowerLeg")
    page.get_by_label("Map over its directions").check()
    page.locator(".dependence .scale b").wait_for()
    page.wait_for_timeout(DRAW_MS)
    press(page, "Control+Numpad3", "Numpad6", "Numpad6", "Numpad6", "-", "-")
    take(page, path)


def posed(page: Page, path: Path) -> None:
    """Show the human posed by its controls, and the limit of a shoulder."""
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
    """Show the human from behind with raised arms, filling the view."""
    leave_tour(page)
    press(page, "4")
    page.get_by_role("button", name="Reset the pose (R)", exact=True).click()
    raise_arms(page, 170)
    press(page, "Escape")
    page.wait_for_timeout(DRAW_MS)
    press(page, "Control+Numpad1", "a", "Numpad8")


def raise_arms(page: Page, degrees: int) -> None:
    """Raise both arms sideways by their controls."""
    for side in ("left", "right"):
        page.locator(f'input[aria-label="{side}_shoulder.abduction"]').fill(str(degrees))


def raising(page: Page, path: Path) -> None:
    """Write an animation of the human from behind, raising and lowering the arms."""
    show_raised(page)
    frames = []
    for share in (1.0 - np.cos(np.linspace(0.0, np.pi, FRAMES // 2 + 1))) / 2.0:
        raise_arms(page, round(170.0 * share))
        page.wait_for_timeout(DRAW_MS / 2)
        picture = Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB")
        middle, height = picture.width // 2, round(CLIP_SHARE * picture.height)
        frames.append(picture.crop((middle - CLIP_WIDTH // 2, 2, middle + CLIP_WIDTH // 2, height)))
    frames[0].save(
        path,
        save_all=True,
        append_images=[*frames[1:], *frames[-2:0:-1]],
        duration=FRAME_MS,
        loop=0,
        quality=80,
        method=6,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
