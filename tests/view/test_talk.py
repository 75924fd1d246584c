"""What may wait at the server: edits overtake it, and it is of the limits as they are at last."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import threading

import numpy as np
import pytest
from websockets.sync.client import connect

from clips import clip
from synovia import LimitModel, quat
from synovia.view import messages
from synovia.view.answers import HANDLERS, SLOW_REQUESTS, parse_call
from synovia.view.scene import scene_of
from synovia.view.server import PageServer

WAIT = 60.0
FAR = quat.exp([0.0, 0.0, 2.0]).tolist()


@pytest.fixture
def server(tmp_path, monkeypatch):
    module = sys.modules["synovia.view.server"]
    (tmp_path / "index.html").write_text("<!doctype html>", encoding="utf-8")
    monkeypatch.setattr(module, "PAGE", tmp_path)
    module.page_files.cache_clear()
    seen = clip(frames=60)
    server = PageServer(scene_of(LimitModel.fit([seen], "box", margin=0.0), seen))
    yield server
    server.close()
    module.page_files.cache_clear()


@pytest.fixture
def line(server):
    origin = f"http://127.0.0.1:{server.guard.port}"
    address = server.url.replace("http", "ws") + "socket"
    with connect(address, origin=origin, max_size=None, proxy=None) as line:
        yield line


def send(line, number, ask, **given):
    line.send(json.dumps({"id": number, "ask": ask, **given}))


def received(line):
    return messages.unpack(line.recv(timeout=WAIT))


@pytest.fixture
def slow(monkeypatch):
    """Pictures that are begun, and wait for a word to go on: events for both, and how many."""
    begun, go_on, made = threading.Event(), threading.Event(), []
    region = HANDLERS["region"]

    @functools.wraps(region)  # with its annotations, from which requests are decoded
    def slowly(session, request):
        pictures = region(session, request)
        begun.set()
        assert go_on.wait(WAIT)
        made.append(request.joint)
        return pictures

    monkeypatch.setitem(HANDLERS, "region", slowly)
    return begun, go_on, made


def test_an_edit_does_not_wait_for_a_fine_picture(server, line, slow):
    begun, go_on, made = slow
    name = server.scene.clip.skeleton.names[1]
    send(line, 1, "region", joint=name)
    assert begun.wait(WAIT)
    send(line, 2, "edit", joint=name, edit="add-sample", rotation=FAR)
    header, _ = received(line)
    assert (header["id"], header.get("refused")) == (2, None)
    assert made == []
    go_on.set()
    header, arrays = received(line)
    # The picture that was begun is of older limits: it is not sent, but made anew.
    assert (header["id"], made) == (1, [name, name])
    present = server.scene.model.limits[name]
    assert present.contains(np.array(FAR))
    assert header["share"] == pytest.approx(present.volume(4000))
    send(line, 3, "region", joint=name)
    again = received(line)[1]
    assert all(np.array_equal(arrays[each], again[each]) for each in arrays)


def test_pictures_come_in_the_order_they_were_asked_for(server, line, slow):
    begun, go_on, made = slow
    names = server.scene.clip.skeleton.names[1:3]
    for number, name in enumerate(names):
        send(line, number, "region", joint=name)
    assert begun.wait(WAIT)
    send(line, 7, "open")
    assert received(line)[0]["id"] == 7
    go_on.set()
    assert [received(line)[0]["id"] for _ in names] == [0, 1]
    assert made == list(names)


def test_a_page_that_is_gone_is_not_answered(server, line, slow):
    begun, go_on, _ = slow
    send(line, 1, "region", joint=server.scene.clip.skeleton.names[1])
    assert begun.wait(WAIT)
    line.close()
    go_on.set()
    with connect(
        server.url.replace("http", "ws") + "socket",
        origin=f"http://127.0.0.1:{server.guard.port}",
        max_size=None,
        proxy=None,
    ) as other:
        send(other, 1, "region", joint=server.scene.clip.skeleton.names[1])
        assert "error" not in received(other)[0]


def test_only_what_changes_nothing_may_wait():
    assert set(SLOW_REQUESTS) <= set(HANDLERS)
    for ask in HANDLERS:
        assert parse_call(json.dumps({"id": 1, "ask": ask})).may_wait == (ask in SLOW_REQUESTS)
    assert not set(SLOW_REQUESTS) & {"edit", "undo", "redo", "save"}
    assert not parse_call("no request").may_wait
    assert not parse_call(b"region").may_wait


@pytest.mark.parametrize("shape", [(0, 3), (1, 4), (50, 3), (7, 2, 4), (40,), (0,)])
def test_differences_are_what_they_were_made_of(shape):
    rng = np.random.default_rng(3)
    floats = rng.normal(size=shape)
    small, large = rng.integers(0, 60_000, shape), rng.integers(0, 2**32 - 1, shape)
    answer = {
        "exact": messages.Differences(floats),
        "rounded": messages.Differences(floats, 1e-3),
        "small": messages.Differences(small),
        "large": messages.Differences(large),
    }
    kind = dataclasses.make_dataclass("Arrays", [(name, messages.Differences) for name in answer])
    _, arrays = messages.unpack(messages.pack(kind(**answer), id=1))
    np.testing.assert_array_equal(arrays["exact"], floats.astype(np.float32))
    np.testing.assert_allclose(arrays["rounded"], floats, atol=0.51e-3)
    np.testing.assert_array_equal(arrays["small"], small)
    np.testing.assert_array_equal(arrays["large"], large)
