"""Measure the page in a browser: time to load, size, and smoothness of playback.

Run: python benchmarks/page_load.py. It needs Chromium and the test extras. Chromium draws in
software here, so that frame times are those of a machine without a graphics card. What the page
itself costs a frame of the human is counted without drawing, in processor time of its thread.
"""

from __future__ import annotations

import gzip
import json
import shutil
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from websockets.sync.client import connect

from synovia import Box, Clip, Limit, LimitModel, Pose, RotationVector, Skeleton, human, quat, show
from synovia.anatomy import limits_of
from synovia.body.asset import FILE
from synovia.view import View, messages
from synovia.view.server import page_files

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FRAMES, JOINTS = 5000, 60
WEIGHT_KB, WHOLE_KB, OPENING_S, HUMAN_S = 300.0, 450.0, 2.0, 1.5
REPEATS, PLAYED_S, REACHES, PULLS = 5, 4.0, 60, 40
FRAME_MS = 4.0


def main() -> None:
    """Print one line for each figure, with its limit."""
    print(f"page weight              {weight_kb():8.0f} kB   (under {WEIGHT_KB:.0f})")
    print(f"with bones and skin      {weight_kb() + body_kb():8.0f} kB   (under {WHOLE_KB:.0f})")
    shown = show(limits(), clip())
    trips_ms, solved_ms = reached(shown)
    print(
        f"reach, there and back    {median(trips_ms):8.1f} ms   (of which solved in "
        f"{median(solved_ms):.1f}; from {min(trips_ms):.1f} to {max(trips_ms):.1f})"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        print("no Chromium, so the rest is left out: apt-get install chromium brings it")
    else:
        in_browser(found, shown)
    shown.close()


def in_browser(path: str, shown: View) -> None:
    """Print the time to load, and the smoothness of playback."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        opened(browser, shown)  # what is compiled once does not count
        times = [opened(browser, shown) for _ in range(REPEATS)]
        print(
            f"{FRAMES} frames x {JOINTS} joints {median(times):8.2f} s    (under {OPENING_S:.0f}; "
            f"from {min(times):.2f} to {max(times):.2f})"
        )
        figure = human()
        person = show(limits_of(figure), figure=figure)
        opened(browser, person)
        seconds, spent = zip(*(opened_human(browser, person) for _ in range(REPEATS)), strict=True)
        print(
            f"the human                {median(seconds):8.2f} s    (under {HUMAN_S:.1f}; processor "
            f"time of the page's own thread {median(spent):.2f})"
        )
        for name, cost in human_frames(browser, person).items():
            print(
                f"{name:<25}{cost['ScriptDuration']:8.1f} ms   (script a frame, under "
                f"{FRAME_MS:.0f}; all of the page's thread {cost['TaskDuration']:.1f}; "
                f"{cost['calls']:.0f} draw calls, {cost['triangles']:,.0f} triangles)"
            )
        person.close()
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        corners, frames_ms, script_ms = played(page, shown)
        p50, p95, p99 = np.percentile(frames_ms, [50, 95, 99])
        print(
            f"playing, {corners:6d} vertices{p50:8.1f} ms   (50th percentile; 95th {p95:.1f}, 99th "
            f"{p99:.1f}; the page's own part {median(script_ms):.1f}; drawn in software)"
        )
        browser.close()


def skeleton() -> Skeleton:
    """Return a skeleton of five chains on a root."""
    parents, offsets = [-1], [[0.0, 1.0, 0.0]]
    ways = ((0, 1, 0), (1, 0.2, 0), (-1, 0.2, 0), (0.2, -1, 0), (-0.2, -1, 0))
    for joint in range(1, JOINTS):
        parents.append(0 if joint <= len(ways) else joint - len(ways))
        offsets.append(list(0.08 * np.array(ways[(joint - 1) % len(ways)])))
    return Skeleton(tuple(f"Joint{k}" for k in range(JOINTS)), parents, offsets)


def limits() -> LimitModel:
    """Return a limit for each joint but the root, which the clip leaves at times."""
    box = Limit(RotationVector(), Box(np.full(3, -0.28), np.full(3, 0.28), np.eye(3)))
    bones = skeleton()
    return LimitModel(dict.fromkeys(bones.names[1:], box), bones)


def clip() -> Clip:
    """Return a clip in which all joints swing with different periods."""
    rng, bones = np.random.default_rng(7), skeleton()
    seconds = np.linspace(0.0, FRAMES / 60.0, FRAMES)[:, None, None]
    pace, start = rng.uniform(0.5, 3.0, (JOINTS, 3)), rng.uniform(0.0, 6.0, (JOINTS, 3))
    turns = 0.3 * np.sin(pace * seconds + start)
    return Clip(
        bones,
        Pose(quat.exp(turns), np.tile(bones.offsets, (FRAMES, 1, 1))),
        1.0 / 60.0,
        f"{FRAMES} frames",
    )


def weight_kb() -> float:
    """Return the size of the built page in kB as browsers get it: in Brotli, or by gzip."""
    files = {path: content for path, (_, content) in page_files().items() if path}
    plain = [path for path in files if not path.endswith(".br")]
    packed = [files.get(f"{path}.br") or gzip.compress(files[path]) for path in plain]
    return sum(map(len, packed)) / 1000.0


def opened(browser: Browser, shown: View) -> float:
    """Return the seconds from navigation until everything is shown, in a new browser profile."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(shown.url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    seconds = time.perf_counter() - start
    context.close()
    return seconds


def opened_human(browser: Browser, shown: View) -> tuple[float, float]:
    """Return the seconds until the human is shown, and the processor time of the page's thread."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    start = time.perf_counter()
    page.goto(shown.url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    seconds = time.perf_counter() - start
    told = session.send("Performance.getMetrics")["metrics"]
    spent = next(each["value"] for each in told if each["name"] == "TaskDuration")
    context.close()
    return seconds, float(spent)


def body_kb() -> float:
    """Return the compressed size of the mesh of bones and skin, in kB."""
    return len(gzip.compress(FILE.read_bytes(), 9)) / 1000.0


COUNTING = """
  window.drawn = 0;
  window.busy = 0;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (act) => ask((now) => {
    const start = performance.now();
    act(now);
    window.busy += performance.now() - start;
  });
  for (const name of ["drawElements", "drawElementsInstanced"]) {
    const draw = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (mode, count, ...rest) {
      if (mode === this.TRIANGLES) window.drawn += count * (rest[2] ?? 1);
      return draw.call(this, mode, count, ...rest);
    };
  }
"""
PLAYING = """(seconds) => new Promise((done) => {
  const times = [];
  const busy = [];
  let last = performance.now();
  const end = last + 1000 * seconds;
  window.drawn = 0;
  const tick = (now) => {
    times.push(now - last);
    busy.push(window.busy);
    window.busy = 0;
    last = now;
    if (now < end) requestAnimationFrame(tick);
    else done([window.drawn / times.length, times.slice(2), busy.slice(2)]);
  };
  requestAnimationFrame(tick);
})"""


def played(page: Page, shown: View) -> tuple[int, list[float], list[float]]:
    """Return the number of drawn vertices, and the times of frames in playback, in milliseconds.

    Then those of the page's own work in each; the rest is the browser's, and its drawing. Of
    closed surfaces, there are half as many vertices as triangles.
    """
    page.add_init_script(COUNTING)
    page.goto(shown.url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    indices, times, busy = page.evaluate(PLAYING, PLAYED_S)
    return round(indices / 6), times, busy


COUNTED = """
  window.counts = { frames: 0, calls: 0, triangles: 0 };
  const { counts } = window;
  const { prototype } = WebGL2RenderingContext;
  const count = (mode, corners, instances) => {
    counts.calls++;
    if (mode === prototype.TRIANGLES) counts.triangles += (corners * instances) / 3;
  };
  prototype.drawElements = (mode, corners) => count(mode, corners, 1);
  prototype.drawElementsInstanced = (mode, corners, _t, _o, n) => count(mode, corners, n);
  prototype.drawArrays = (mode, _first, corners) => count(mode, corners, 1);
  prototype.drawArraysInstanced = (mode, _first, corners, n) => count(mode, corners, n);
  const bind = prototype.bindFramebuffer;
  let target = null;
  prototype.bindFramebuffer = function (where, framebuffer) {
    target = framebuffer;
    return bind.call(this, where, framebuffer);
  };
  prototype.clear = () => void (target === null && counts.frames++);
"""


def human_frames(browser: Browser, person: View) -> dict[str, dict[str, float]]:
    """Return the time of a frame during playback and while a hand is dragged.

    Milliseconds of script and of all of the page's thread, draw calls, triangles; with bones and
    skin, and shadows. Nothing is drawn: a slow drawing would be waited for, and counted.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(COUNTED)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(person.url)
    page.wait_for_selector("main[aria-busy=false]", timeout=120_000)
    for _ in range(2):
        page.keyboard.press("Escape")  # the tour, and what is picked

    def told() -> dict[str, float]:
        metrics = session.send("Performance.getMetrics")["metrics"]
        times = {each["name"]: 1000.0 * each["value"] for each in metrics}
        counts: dict[str, float] = page.evaluate("() => window.counts")
        return {name: times[name] for name in ("ScriptDuration", "TaskDuration")} | counts

    def cost(act: Callable[[], None]) -> dict[str, float]:
        before = told()
        act()
        after = told()
        frames = after["frames"] - before["frames"]
        return {name: (after[name] - before[name]) / frames for name in after}

    def play() -> None:
        page.keyboard.press("Space")
        page.wait_for_timeout(1000.0 * PLAYED_S)
        page.keyboard.press("Space")

    def pull() -> None:
        box = page.locator("#stage").bounding_box() or {}
        x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
        page.mouse.move(x, y)
        page.mouse.down()
        for k in range(PULLS):
            page.mouse.move(x + k, y - 2 * k)
            page.wait_for_timeout(60)
        page.mouse.up()

    page.keyboard.press("2")
    page.get_by_label("Find a joint").fill("LeftHand")
    page.keyboard.press("Enter")
    for key in (".", "Numpad1"):
        page.keyboard.press(key)
    page.locator("#inset").wait_for(timeout=120_000)
    page.wait_for_timeout(2000)
    pulling = cost(pull)
    for key in ("1", "r", "Escape", "a"):
        page.keyboard.press(key)
    playing = cost(play)
    context.close()
    return {"playing the human": playing, "pulling its hand": pulling}


def reached(shown: View) -> tuple[list[float], list[float]]:
    """Return times of requests that follow a moving target, and of the solver, in milliseconds."""
    address = shown.url.replace("http", "ws") + "socket"
    origin = shown.url.rsplit("/", 2)[0]
    bones, pose = skeleton(), clip().pose
    turns, last = pose.rotations[0], bones.names[-1]
    trips, solved = [], []
    with connect(address, origin=origin, max_size=None, proxy=None) as line:
        for k in range(REACHES):
            asked = {"id": k, "ask": "reach", "frame": 0, "rotations": turns.ravel().tolist()}
            asked |= {"joint": last, "point": [0, 0, 0], "limits": True, "joints": None}
            asked |= {"target": [-0.3 + 0.004 * k, 0.3, 0.1]}
            start = time.perf_counter()
            line.send(json.dumps(asked))
            header, arrays = messages.unpack(line.recv())
            trips.append(1000.0 * (time.perf_counter() - start))
            solved.append(header["ms"])
            turns = arrays["rotations"]
    return trips[5:], solved[5:]


if __name__ == "__main__":
    main()
