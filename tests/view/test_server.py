"""The page's server alone: who is let in, what is sent, and what becomes of bad requests."""

from __future__ import annotations

import contextlib
import errno
import json
import mimetypes
import os
import socket
import sys
import threading

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from clips import clip
from synovia import LimitModel, show
from synovia.view import messages
from synovia.view.scene import scene_of
from synovia.view.server import Guard, PageServer

server_module = sys.modules["synovia.view.server"]


@pytest.fixture(scope="module")
def scene():
    seen = clip(frames=60)
    return scene_of(LimitModel.fit([seen], "box", margin=0.0), seen)


@pytest.fixture
def server(scene, tmp_path, monkeypatch):
    """A server of a page of two files: what is sent does not depend on what was built."""
    (tmp_path / "page" / "assets").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<!doctype html><p>é", encoding="utf-8")
    (tmp_path / "page" / "assets" / "index.js").write_text("1", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    monkeypatch.setattr(server_module, "PAGE", tmp_path / "page")
    server_module.page_files.cache_clear()
    server = PageServer(scene)
    yield server
    server.close()
    server_module.page_files.cache_clear()


def fetched(server, path, host=None, *, method="GET", more="", body=""):
    """The status line, the headers and the body of an answer, asked for in plain bytes."""
    name = f"127.0.0.1:{server.guard.port}" if host is None else host
    with socket.create_connection(("127.0.0.1", server.guard.port), timeout=60) as line:
        line.sendall(f"{method} {path} HTTP/1.1\r\nHost: {name}\r\n{more}\r\n{body}".encode())
        received = b""
        while part := line.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(row.split(": ", 1) for row in rest), body


def page(server):
    """A connection as the page opens it."""
    origin = f"http://127.0.0.1:{server.guard.port}"
    address = server.url.replace("http", "ws") + "socket"
    return connect(address, origin=origin, max_size=None, proxy=None)


def asked(line, ask, **given):
    line.send(json.dumps({"id": 7, "ask": ask, **given}))
    header, arrays = messages.unpack(line.recv(timeout=200))
    return header, arrays


def test_the_page_comes_with_the_token_and_a_strict_policy(server):
    status, headers, body = fetched(server, f"/{server.guard.token}/")
    assert (status, body.decode()) == (200, "<!doctype html><p>é")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    status, headers, _ = fetched(server, f"/{server.guard.token}/assets/index.js")
    assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")


def test_a_machine_that_calls_scripts_text_still_runs_the_page(server, monkeypatch):
    monkeypatch.setitem(mimetypes.types_map, ".js", "text/plain")
    server_module.page_files.cache_clear()
    assert server_module.page_files()["assets/index.js"][0] == "text/javascript"


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 address")
@pytest.mark.parametrize("address", ["::1", "::"])
@pytest.mark.usefixtures("server")
def test_addresses_of_both_kinds_are_listened_on(scene, address):
    there = PageServer(scene, allow_remote=address)
    try:
        assert there.url.startswith(f"http://[::1]:{there.guard.port}/")
        origin = f"http://[::1]:{there.guard.port}"
        link = there.url.replace("http", "ws") + "socket"
        with connect(link, origin=origin, max_size=None, proxy=None) as line:
            assert "error" not in asked(line, "open")[0]
    finally:
        there.close()


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/socket", "/{token}x/", "/{token}"])
def test_without_the_token_nobody_is_let_in(server, path):
    status, _, body = fetched(server, path.format(token=server.guard.token))
    assert status == 403
    assert server.guard.token.encode() not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "", "[::1]"])
def test_another_name_for_this_machine_is_refused(server, host):
    name = host.format(port=server.guard.port)
    assert fetched(server, f"/{server.guard.token}/", name)[0] == 421


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "assets/../../secret.txt",
        "..\\secret.txt",
        "/etc/passwd",
        "assets",
        "index.html/",
        "\x00",
    ],
)
def test_no_path_leads_out_of_the_page(server, path):
    status, _, body = fetched(server, f"/{server.guard.token}/{path}")
    assert status in (400, 404)
    assert b"secret" not in body


@pytest.mark.parametrize("origin", ["http://evil.example", None, "null", "https://127.0.0.1"])
def test_only_the_page_itself_opens_the_socket(server, origin):
    address = server.url.replace("http", "ws") + "socket"
    with pytest.raises(InvalidStatus, match="403"), connect(address, origin=origin, proxy=None):
        pass


def test_the_socket_answers(server, scene):
    with page(server) as line:
        header, arrays = asked(line, "open")
    assert header["id"] == 7
    assert header["names"] == list(scene.clip.skeleton.names)
    shape = scene.clip.pose.rotations.shape
    np.testing.assert_allclose(arrays["rotations"], scene.clip.pose.rotations, atol=4e-5)
    assert arrays["rotations"].shape == shape


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "JSON"),
        ("[" * 100_000, "JSON"),
        ("[]", "object"),
        ('"open"', "object"),
        ('{"ask": "open"}', "id"),
        ('{"id": 1.5, "ask": "open"}', "id"),
        ('{"id": 1, "ask": "fly"}', "one of open"),
        ('{"id": 1, "ask": "region"}', "the key 'joint' is missing"),
        ('{"id": 1, "ask": "region", "joint": "nobody"}', "no joint"),
        ('{"id": 1, "ask": "region", "joint": 3}', "joint: expected text, got 3"),
        ('{"id": 1, "ask": "pose", "values": {}}', "no figure"),
        ('{"id": 1, "ask": "outside", "frame": -1, "rotations": []}', "frame must be"),
        ('{"id": 1, "ask": "outside", "frame": 0, "rotations": [1, 2]}', "rotations must be"),
        ('{"id": 1, "ask": "outside", "frame": 0, "rotations": {}}', "rotations: expected"),
        (b"\x00\x01", "text"),
    ],
)
def test_a_bad_request_is_answered_with_the_reason(server, text, said):
    with page(server) as line:
        line.send(text)
        header, _ = messages.unpack(line.recv(timeout=200))
        assert said in header["error"]
        assert "id" in asked(line, "open")[0]  # and the line is still there


@pytest.mark.parametrize("twice", ["Host: 127.0.0.1:{port}", "Origin: a\r\nOrigin: a"])
def test_doubled_names_are_refused(server, twice):
    more = twice.format(port=server.guard.port) + "\r\n"
    assert fetched(server, f"/{server.guard.token}/", more=more)[0] == 400


def test_strangers_who_say_nothing_are_hung_up_on(server, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_UNAUTHENTICATED", 3)
    where = ("127.0.0.1", server.guard.port)
    with contextlib.ExitStack() as stack, page(server) as line:
        idle = [stack.enter_context(socket.create_connection(where, timeout=60)) for _ in range(6)]
        assert fetched(server, f"/{server.guard.token}/")[0] == 200
        assert [stranger.recv(1) for stranger in idle[:3]] == [b"", b"", b""]  # the oldest went
        assert "error" not in asked(line, "open")[0]  # who has the token stays


def test_slow_requests_have_a_time(scene, server, monkeypatch):
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.2)
    there = PageServer(scene)
    try:
        for start in (b"", b"GE", b"GET / HTTP/1.1\r\nHost: "):
            with socket.create_connection(("127.0.0.1", there.guard.port), timeout=60) as line:
                line.sendall(start)
                assert line.recv(1) == b""
    finally:
        there.close()


def test_accepting_goes_on_after_errors(server, monkeypatch):
    """A connection that is gone before it is accepted, and no descriptors for a while."""
    faults = [errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.EPERM]
    accept = socket.socket.accept

    def fail(listener):
        if faults:
            number = faults.pop()
            raise OSError(number, os.strerror(number))
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", fail)
    assert fetched(server, f"/{server.guard.token}/")[0] == 200
    assert not faults
    assert not server.closed


def test_pages_are_not_without_number(server, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_PAGES", 1)
    with page(server) as line:
        asked(line, "open")
        with pytest.raises(InvalidStatus, match="503"):
            page(server)


def test_an_end_that_nobody_asked_for_is_an_error(scene, server, monkeypatch):
    def fail(listener):
        raise RuntimeError("no more threads")

    there = PageServer(scene)
    try:
        monkeypatch.setattr(server_module.Listener, "accept", fail)
        socket.create_connection(("127.0.0.1", there.guard.port), timeout=60).close()
        with pytest.raises(OSError, match="ended: no more threads"):
            there.wait()
    finally:
        monkeypatch.undo()
        there.close()


def test_a_message_too_long_ends_the_line_and_nothing_else(server):
    with page(server) as line:
        line.send("x" * (messages.MAX_REQUEST_BYTES + 1))
        with pytest.raises(ConnectionClosed, match="1009"):
            line.recv(timeout=200)
    with page(server) as line:
        assert "error" not in asked(line, "open")[0]


def test_two_pages_get_their_own_answers(server, scene):
    found = {}

    def run(number):
        with page(server) as line:
            for _ in range(10):
                name = scene.clip.skeleton.names[1 + number]
                header, _ = asked(line, "region", joint=name)
                found.setdefault(number, set()).add(json.dumps(header["reference"]))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(found[number]) for number in range(2)] == [1, 1]
    assert found[0] != found[1]


def test_a_closed_server_hangs_up_and_can_be_closed_again(server):
    with page(server) as line:
        server.close()
        server.close()
        with pytest.raises(ConnectionClosed):
            line.recv(timeout=200)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.guard.port), timeout=60)


def test_a_port_in_use_is_said(server, scene):
    with pytest.raises(OSError, match="in use"):
        PageServer(scene, port=server.guard.port)


def test_a_page_that_was_not_built_is_said(scene, tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "PAGE", tmp_path)
    server_module.page_files.cache_clear()
    with pytest.raises(FileNotFoundError, match="make page"):
        PageServer(scene)


def test_the_handle_knows_link_and_model(server, scene):
    shown = show(scene.model, scene.clip)
    assert shown.url.startswith("http://127.0.0.1:")
    assert set(shown.model.limits) == set(scene.model.limits)
    shown.close()


def test_elsewhere_than_here_only_when_told():
    here = Guard("127.0.0.1", 80)
    assert here.allows_host("localhost:80")
    assert not here.allows_host("10.0.0.5:80")
    there = Guard("10.0.0.5", 80)
    assert there.allows_host("10.0.0.5:80")
    assert not there.allows_host("localhost:80")
    everywhere = Guard("0.0.0.0", 80, ("studio.lan",))
    assert everywhere.allows_host("studio.lan:80")
    assert everywhere.allows_host("10.0.0.5:80", "10.0.0.5")
    assert not everywhere.allows_host("10.0.0.5:80", "10.0.0.6")
    assert not everywhere.allows_host("evil.example:80", "10.0.0.5")
    assert everywhere.names == ["127.0.0.1", "localhost", "studio.lan"]
    assert everywhere.url.startswith("http://127.0.0.1:80/")
    assert not everywhere.allows_origin("http://evil.example:80", "studio.lan:80")
    assert here.token != there.token


@pytest.mark.parametrize(
    ("address", "name"),
    [("127.0.0.1", "localhost"), ("10.0.0.5", "10.0.0.5"), ("::1", "[::1]"), ("::", "studio.lan")],
)
def test_browsers_leave_out_the_port_of_http(address, name):
    hosts = ("studio.lan",) if address == "::" else ()
    guard = Guard(address, 80, hosts)
    for host in (name, f"{name}:80"):
        assert guard.allows_host(host)
        assert guard.allows_origin(f"http://{name}", host)
        assert not guard.allows_origin(f"https://{name}", host)
        assert not guard.allows_origin(f"http://{name}:8123", host)
        assert not Guard(address, 8123, hosts).allows_host(host)
    assert not guard.allows_host("")
    assert not guard.allows_host(f"{name}:8123")


def test_an_address_must_be_one(scene):
    with pytest.raises(ValueError, match="IP address"):
        PageServer(scene, allow_remote="studio.lan")
