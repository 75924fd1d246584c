"""The npm package in Node and in a browser: the same answers as here."""

from __future__ import annotations

import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from synovia import save_limits
from synovia.native import build
from synovia.native.build import zig_compiler
from test_runtime import EXHAUSTIVE, check_answers, model_of, pair_model, small_limits

NPM = Path(__file__).parent.parent / "npm"
pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed"),
    pytest.mark.skipif(not zig_compiler(), reason="ziglang, which compiles it, is not installed"),
    pytest.mark.skipif(not NPM.exists(), reason="the npm package comes with a checkout"),
]
RUN = Path(__file__).with_name("run_npm.mjs")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("npm")
    for file in ("index.js", "package.json"):
        shutil.copy(NPM / file, folder)
    build.compile_wasm(folder / "synovia.wasm")
    return folder


def test_node_gives_the_same_answers(package, tmp_path):
    count = 100_000 if EXHAUSTIVE else 1_500  # more than are copied at once
    check_answers(["node", str(RUN), str(package / "index.js")], tmp_path, count)


def test_what_a_joint_depends_on_has_a_name(package, tmp_path):
    save_limits(pair_model(), tmp_path / "a.limits.bin")
    script = (
        'import { readFileSync } from "node:fs";'
        f'import {{ loadLimits }} from "{(package / "index.js").as_uri()}";'
        f'const limits = await loadLimits(readFileSync("{tmp_path / "a.limits.bin"}"));'
        'console.log(["knee", "toe", "collar"].map((each) => limits.dependsOn(each)));'
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True
    )
    assert done.stdout == "[ 'hip', 'free', null ]\n", done.stderr


def test_damage_is_an_error(package, tmp_path):
    script = (
        f'import {{ loadLimits }} from "{(package / "index.js").as_uri()}";'
        "await loadLimits(new Uint8Array(200)).catch((e) => console.log(e.message));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True
    )
    assert done.stdout == "limits: not a .limits.bin file\n", done.stderr


THREE = NPM.parent / "web" / "node_modules" / "three" / "build"


@pytest.mark.skipif(not THREE.exists(), reason="three.js is installed by `make page`")
def test_the_example_keeps_a_skinned_arm_within_its_limits_in_a_browser(package, browser, tmp_path):
    shutil.copytree(package, tmp_path / "synovia")
    example = tmp_path / "synovia" / "example"
    shutil.copytree(NPM / "example", example)
    for name in ("three.module.js", "three.core.js"):
        shutil.copy(THREE / name, example)
    limit = small_limits()["product"]
    limits = dict.fromkeys(("upper", "lower", "hand"), limit)
    save_limits(model_of(limits, offsets=[0.0, 1.0, 0.0]), example / "arm.limits.bin")
    handler = partial(Quiet, directory=tmp_path / "synovia")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(request.url))
        page.goto(f"http://127.0.0.1:{server.server_port}/example/index.html")
        page.wait_for_function("document.getElementById('count').textContent.includes('of 3')")
        turn = [0.5, 0.5, -0.5, 0.5]
        found = page.evaluate(
            """async (turn) => {
              const { loadLimits } = await import("synovia");
              const bytes = await (await fetch("arm.limits.bin")).arrayBuffer();
              return (await loadLimits(bytes)).project("hand", turn);
            }""",
            turn,
        )
        picture = page.screenshot()
        page.close()
        server.shutdown()
    assert errors == []
    np.testing.assert_allclose(found, limit.project(turn), atol=1e-9)
    assert len(picture) > 10_000  # the arm is drawn


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, format, *args):
        pass
