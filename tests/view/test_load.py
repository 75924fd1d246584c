"""The page's server under load: hundreds of strangers, few descriptors, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from urllib.parse import urlparse

import pytest
from websockets.sync.client import connect

from clips import clip
from command_line import heed_ctrl_c
from synovia import LimitModel, load_limits, save_clip, save_limits
from synovia.view import messages
from view.browser import needed

resource = pytest.importorskip("resource", reason="limits of descriptors are of POSIX")
STRANGERS = 200
DESCRIPTORS = 128
CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))
from synovia.cli import main
sys.argv[0] = "synovia"
main()
"""


@contextlib.contextmanager
def served(folder):
    save_clip(clip(frames=30), folder / "walk.bvh")
    save_limits(LimitModel.fit([clip(frames=30)], "box"), folder / "arm.limits.json")
    words = ["view", "walk.bvh", "-l", "arm.limits.json", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, *words],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as running:
        try:
            line = running.stdout.readline().strip()
            if not line:
                needed(running.stderr.read())
            yield running, re.match(r"http://\S+", line)[0]
        finally:
            running.kill()


def opened(url):
    place = urlparse(url)
    link = url.replace("http", "ws") + "socket"
    return connect(link, origin=f"http://{place.netloc}", max_size=None, proxy=None)


def asked(line, what, **given):
    line.send(json.dumps({"id": 1, "ask": what, **given}))
    return messages.unpack(line.recv(timeout=60))[0]


def test_hundreds_of_idle_strangers_end_nothing(tmp_path):
    with served(tmp_path) as (running, url), contextlib.ExitStack() as stack:
        place = urlparse(url)
        first = stack.enter_context(opened(url))
        grown = {"joint": "LeftArm", "edit": "number", "field": "high", "index": 0, "deg": 77.0}
        assert asked(first, "edit", **grown, stroke=None)["state"]["unsaved"] is True
        for _ in range(STRANGERS):
            stranger = socket.create_connection((place.hostname, place.port), timeout=60)
            stack.enter_context(stranger)
        assert asked(first, "open")["state"]["undo"] == "number, LeftArm"
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"Synovia" in answer.read()
        second = stack.enter_context(opened(url))
        numbers = asked(second, "region", joint="LeftArm")["numbers"]
        assert any(abs(each["deg"] - 77.0) < 1e-6 for each in numbers)
        stack.close()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 0
        assert "the next start offers them" in running.stderr.read()
    kept = load_limits(tmp_path / "arm.unsaved.limits.json").limits["LeftArm"]
    assert kept.shape.high[0] == pytest.approx(1.3439, abs=1e-3)
