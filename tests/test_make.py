"""`make` announces what it installs."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = ("sh", "find", "test", "touch", "timeout", "true")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def root_make(tmp_path):
    """Run make as root would, with apt-get, pip and Python replaced by programs that log calls."""
    programs, venv, log = tmp_path / "programs", tmp_path / "venv", tmp_path / "log"
    (venv / "bin").mkdir(parents=True)
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name))
    for program in (programs / "apt-get", venv / "bin/pip", venv / "bin/python"):
        program.write_text(f'#!/bin/sh\necho {program.name} "$@" >> {log}\n')
        program.chmod(0o755)
    (programs / "id").write_text("#!/bin/sh\necho 0\n")
    (programs / "id").chmod(0o755)

    def run(target, **variables):
        log.write_text("")
        for stamp in venv.glob(".*"):
            stamp.unlink()
        if target == ".browser":
            (venv / ".tools").touch()
        command = [shutil.which("make"), f"VENV={venv}", "PYTHON=true", f"{venv}/{target}"]
        env = {"PATH": str(programs), **variables}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout, log.read_text()

    return run


def test_installing_the_browser_is_announced_and_can_be_skipped(root_make):
    output, calls = root_make(".browser")
    assert "apt-get installs chromium-headless-shell" in output
    assert "SYNOVIA_BROWSER=skip avoids that" in output
    assert "apt-get install" in calls
    output, calls = root_make(".browser", SYNOVIA_BROWSER="skip")
    assert "SYNOVIA_BROWSER=skip: tests of the page in a browser will be skipped" in output
    assert calls == ""


def test_installing_python_packages_is_announced(root_make):
    output, calls = root_make(".installed")
    assert calls.count("pip install") >= 2
    assert "pip installs NumPy" in output
    assert "pip installs Synovia and what its tests need into" in output
    assert output.count("delete it to undo that") == 2


def test_installing_packages_of_the_page_is_announced(tmp_path, capsys, monkeypatch):
    install = runpy.run_path(str(ROOT / "web/build.py"))["install"]
    (tmp_path / "package-lock.json").touch()
    calls = []
    monkeypatch.setitem(install.__globals__, "WEB", tmp_path)
    monkeypatch.setitem(install.__globals__, "_run", lambda *words: calls.append(words[0]))
    install()
    assert calls == ["ci"]
    assert "npm installs the page's build tools into web/node_modules" in capsys.readouterr().out
