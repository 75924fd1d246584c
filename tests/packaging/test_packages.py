"""The sdist and the wheel, installed into empty environments.

`make test-packages` builds both into dist/ and runs these tests; SYNOVIA_SDIST and SYNOVIA_WHEEL
name them. They run on every supported Python that is installed.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SDIST, WHEEL = (Path(os.environ.get(name, "")) for name in ("SYNOVIA_SDIST", "SYNOVIA_WHEEL"))
pytestmark = pytest.mark.skipif(
    not WHEEL.is_file(), reason="`make test-packages` builds sdist and wheel and names them"
)
VERSIONS = ("3.11", "3.12", "3.13")
EXTRAS = ("draw", "dask", "torch", "mujoco", "usd")


def interpreter(version: str) -> str | None:
    """Return a Python of this version from PATH or pyenv."""
    name = f"python{version}"
    shims = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for candidate in [shutil.which(name), *map(str, shims.glob(f"{version}.*/bin/{name}"))]:
        works = candidate and subprocess.run([candidate, "-V"], capture_output=True).returncode == 0
        if works:
            return candidate
    return None


def run(*command: object, cwd: Path | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SYNOVIA"))}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(folder: Path, python: str, *requirements: str) -> Path:
    """Return the `bin` folder of a new environment with these packages."""
    run(python, "-m", "venv", folder)
    run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
    return folder / "bin"


@pytest.fixture(scope="module", params=VERSIONS)
def programs(request, tmp_path_factory):
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here")
    return environment(tmp_path_factory.mktemp("env"), python, str(WHEEL))


def test_fit_clamp_and_check_run_from_the_wheel(programs, tmp_path):
    assert run(programs / "synovia", "--version").strip().endswith(version())
    run(
        programs / "python",
        "-W",
        "error",
        "-c",
        "from synovia.demo import wild, range_of_motion; from synovia.io import save_clip;"
        "save_clip(wild(), 'wild.bvh'); save_clip(range_of_motion(), 'rom.bvh')",
        cwd=tmp_path,
    )
    run(programs / "synovia", "fit", "rom.bvh", "-o", "mine.limits.json", cwd=tmp_path)
    run(
        programs / "synovia",
        *("clamp", "wild.bvh", "-l", "mine.limits.json", "-o", "clamped.bvh"),
        cwd=tmp_path,
    )
    run(programs / "synovia", "check", "clamped.bvh", "-l", "mine.limits.json", cwd=tmp_path)


def test_the_kernels_are_compiled(programs):
    output = run(
        programs / "python",
        "-W",
        "error",
        "-c",
        "from synovia.kernels import jit; print(jit.NATIVE is not None)",
    )
    assert output.strip() == "True"


def test_the_runtime_is_the_same_as_in_the_checkout(programs, tmp_path):
    run(programs / "synovia", "runtime", "-o", tmp_path / "wheel")
    run(Path(sys.executable).with_name("synovia"), "runtime", "-o", tmp_path / "checkout")
    names = [path.name for path in (tmp_path / "checkout").iterdir()]
    assert "synovia.h" in names
    _, different, missing = filecmp.cmpfiles(
        tmp_path / "checkout", tmp_path / "wheel", names, shallow=False
    )
    assert (different, missing) == ([], [])


def test_the_command_of_the_container_serves_the_page(programs, tmp_path):
    """The container's command, on the loopback address and a free port."""
    text = (ROOT / "packaging/Containerfile").read_text()
    entry = json.loads(re.search(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)[1])
    changed = {"synovia": str(programs / "synovia"), "0.0.0.0": "127.0.0.1", "8000": "0"}
    server = subprocess.Popen(
        [changed.get(part, part) for part in entry], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        link = next(
            re.search(r"http://\S+", line)[0] for line in server.stdout if "http://" in line
        )
        with urllib.request.urlopen(link) as page:
            assert b"<!doctype html>" in page.read(200).lower()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def test_the_wheel_has_the_licenses_of_the_page():
    with zipfile.ZipFile(WHEEL) as wheel:
        licenses = wheel.read("synovia/view/page/licenses.md").decode()
    bundled = json.loads((ROOT / "web/package.json").read_text())["dependencies"]
    assert all(f"## {name} - {version}" in licenses for name, version in bundled.items())


def test_limits_are_applied_with_numpy_alone(tmp_path):
    bins = environment(tmp_path, sys.executable, "numpy")
    run(bins / "pip", "install", "--quiet", "--no-deps", WHEEL)
    output = run(
        bins / "python",
        "-W",
        "error",
        "-c",
        "import numpy, synovia; model = synovia.human_limits();"
        "import sys; print('scipy' in sys.modules, len(model.limits))",
    )
    assert output.split()[0] == "False"
    assert int(output.split()[1]) > 20


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_can_be_installed(extra):
    run(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", f"{WHEEL}[{extra}]")


def test_pipx_runs_the_wheel(tmp_path):
    bins = environment(tmp_path, sys.executable, "pipx")
    output = run(bins / "pipx", "run", "--spec", WHEEL, "synovia", "--version")
    assert output.strip().endswith(version())


def test_the_sdist_has_no_generated_files():
    with tarfile.open(SDIST) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"LICENSE", "README.md", "web/package-lock.json", "packaging/Containerfile"} <= set(
        names
    )
    generated = re.compile(r"node_modules|/view/page/|\.so$|\.venv|surfaces\.npz|__pycache__")
    assert [name for name in names if generated.search(name)] == []


def version() -> str:
    return re.search(r"synovia-([^-]+)-", WHEEL.name)[1]
