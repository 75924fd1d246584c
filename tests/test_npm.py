"""The npm package in Node: the same answers as here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from synovia.native import runtime
from synovia.native.build import zig_compiler
from test_runtime import check_answers

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
    runtime.compile_wasm(folder / "synovia.wasm")
    return folder


def test_node_gives_the_same_answers(package, tmp_path):
    check_answers(["node", str(RUN), str(package / "index.js")], tmp_path, 1_000)


def test_damage_is_an_error(package, tmp_path):
    script = (
        f'import {{ loadLimits }} from "{(package / "index.js").as_uri()}";'
        "await loadLimits(new Uint8Array(200)).catch((e) => console.log(e.message));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True
    )
    assert done.stdout == "limits: not a .limits.bin file\n", done.stderr
