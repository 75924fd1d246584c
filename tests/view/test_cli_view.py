"""`synovia view`: what is shown, and what is said where it cannot be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from click.testing import CliRunner

from clips import clip
from command_line import heed_ctrl_c
from joints import figure
from synovia import LimitModel, save_clip, save_figure, save_limits
from synovia.cli import main
from synovia.cli.view import _folder_of, _load_inputs


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_clip(clip(frames=30), "walk.bvh")
    save_limits(LimitModel.fit([clip(frames=30)], "box"), "arm.limits.json")
    save_figure(figure(), "half.xml")
    return tmp_path


def failed(*arguments):
    result = CliRunner().invoke(main, ["view", "--no-browser", *arguments])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    return result.output


def test_clip_limits_and_figure_come_from_the_command_line(here):
    model, shown, body, names = _load_inputs(here / "walk.bvh", "arm.limits.json", None)
    assert set(model.limits) == {"Chest", "LeftArm", "LeftForeArm", "LeftHand"}
    assert (shown.frames, body, names) == (30, None, {})
    model, shown, body, _ = _load_inputs(here / "walk.bvh", None, None)
    assert not model.limits
    model, shown, body, _ = _load_inputs(None, "arm.limits.json", "half.xml")
    assert shown is None
    assert body.name == "half a body"


def test_a_folder_is_a_list_of_its_clips(here):
    save_clip(clip(frames=5), here / "run.bvh")
    found = _folder_of(here)
    assert [path.name for path in found.paths] == ["run.bvh", "walk.bvh"]
    assert found.names == ("run", "walk")
    assert _folder_of(here / "walk.bvh") is None
    (here / "empty").mkdir()
    assert "no clip" in failed("empty")


def test_what_is_wrong_is_said():
    assert "no such file" in failed("nowhere.bvh").lower()
    assert "no clip but limits: give it after --limits" in failed("arm.limits.json")
    assert "nowhere.json" in failed("walk.bvh", "-l", "nowhere.json")
    assert "nowhere.limits.json" in failed("walk.bvh", "--compare", "nowhere.limits.json")
    assert "human" in failed("--figure", "walk.bvh")
    assert "no joint 'Nobody'" in failed(
        "walk.bvh", "-l", "arm.limits.json", "--map", "LeftArm=Nobody"
    )
    assert "IP address" in failed("walk.bvh", "--allow-remote", "studio")
    assert "IP address" in failed("nowhere.bvh", "-l", "nowhere.json", "--allow-remote", "studio")
    assert ".limits.json" in failed("nowhere.bvh", "-o", "mine.json")
    assert "no such directory" in failed("nowhere.bvh", "-o", "nowhere/mine.limits.json")
    assert "a host must be" in failed("walk.bvh", "--host", "a/b", "--allow-remote", "::1")
    assert "needs --allow-remote" in failed("walk.bvh", "--host", "studio.lan")
    assert "65535" in failed("walk.bvh", "--port", "99999")


def test_the_help_teaches():
    said = CliRunner().invoke(main, ["view", "--help"]).output
    assert "synovia view wild.bvh -l human.limits.json" in said
    assert "--allow-remote" in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
def test_it_prints_the_link_and_ends_with_ctrl_c(here):
    """The page itself may not be built here: then that is what is said."""
    words = [sys.executable, "-m", "synovia", "view", "walk.bvh", "-l", "arm.limits.json"]
    words.append("--no-browser")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=heed_ctrl_c,
    ) as running:
        line = running.stdout.readline()
        if not line:
            assert "make page" in running.stderr.read()
            return
        url = re.match(r"http://127\.0\.0\.1:\d+/\S{20,}/$", line.strip())
        assert url, line
        with urllib.request.urlopen(url[0], timeout=60) as answer:
            assert b"Synovia" in answer.read()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 0
        assert running.stderr.read() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_no_signal_leaves_the_redirect_file_behind(here, name):
    number = getattr(signal, name)
    temporary = here / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "BROWSER": "true"}
    words = [sys.executable, "-m", "synovia", "view", "walk.bvh", "-l", "arm.limits.json"]
    with subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as running:
        while not list(temporary.glob("synovia-*/page.html")):
            if running.poll() is not None:
                assert "make page" in running.stderr.read()
                return
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait(timeout=60) == (0 if name == "SIGINT" else 128 + number)
        assert running.stderr.read() == ""
    assert list(temporary.iterdir()) == []
