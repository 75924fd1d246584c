"""The page inside a notebook: its frame is allowed where it is shown, and nowhere else."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from html.parser import HTMLParser
from urllib.request import urlopen

import pytest

from clips import clip
from synovia import LimitModel, show
from synovia.view import frame_html
from view.browser import PATIENCE, needed, wait_until


@contextmanager
def shown(**options):
    page = show(LimitModel.fit([clip(frames=10)], "box"), clip(frames=10), **options)
    try:
        yield page
    finally:
        page.close()


@pytest.fixture(autouse=True)
def built():
    try:
        with shown():
            pass
    except FileNotFoundError as error:
        needed(str(error))


def ancestors(page):
    with urlopen(page.url, timeout=60) as answer:
        policy = answer.headers["Content-Security-Policy"].split("; ")
    return [rule for rule in policy if rule.startswith("frame-ancestors")]


def test_nobody_frames_the_page_before_a_notebook_shows_it():
    with shown() as page:
        assert ancestors(page) == ["frame-ancestors 'none'"]
        page._repr_html_()
        assert ancestors(page) == ["frame-ancestors http://localhost:* http://127.0.0.1:*"]
        with shown() as other:
            assert ancestors(other) == ["frame-ancestors 'none'"]


def test_a_page_that_is_closed_is_not_framed_and_says_so():
    with shown() as page:
        assert repr(page) == f"View({page.url})"
        assert page.url in page._repr_html_()
    assert repr(page) == "View(closed)"
    assert page._repr_html_() is None


def test_a_notebook_elsewhere_is_named():
    with shown(notebook="https://lab.example:8888") as page:
        assert ancestors(page) == ["frame-ancestors 'none'"]
        page._repr_html_()
        assert ancestors(page) == ["frame-ancestors https://lab.example:8888"]


@pytest.mark.parametrize(
    "origin",
    ["*", "lab.example", "https://a; script-src *", "https://a b", "http://a/", "", 3, "https://*"],
)
def test_what_is_no_origin_is_refused(origin):
    with pytest.raises(ValueError, match="origin"):
        show(LimitModel({}, clip(frames=1).skeleton), notebook=origin)


def test_the_frame_has_the_link_and_nothing_else():
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, dict(attributes)))

    link = 'http://127.0.0.1:1/a"><script>alert(1)</script>&b=<c>/'
    Reader().feed(frame_html(link))
    assert [tag for tag, _ in found] == ["iframe"]
    assert found[0][1]["src"] == link


@contextmanager
def notebook(html):
    """Another server on this machine, whose one page has this in it: its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = f"<!doctype html><title>notebook</title>{html}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_frame_works_where_it_is_allowed_and_only_there(browser):
    with (
        shown() as page,
        notebook(frame_html(page.url)) as address,
        shown(notebook="http://127.0.0.1:9") as other,
    ):
        tab = browser.new_page(viewport={"width": 900, "height": 700})
        faults = []
        tab.on("console", lambda said: said.type == "error" and faults.append(said.text))
        tab.goto(address)
        wait_until(tab, lambda: any("frame-ancestors" in fault for fault in faults))
        assert tab.frame_locator("iframe").locator("#stage").count() == 0
        page._repr_html_()
        faults.clear()
        tab.reload()
        inner = tab.frame_locator("iframe")
        inner.locator("main[aria-busy=false]").wait_for(timeout=PATIENCE)
        inner.get_by_role("treeitem", name="LeftArm", exact=True).click()
        assert inner.locator("aside h2:visible").inner_text() == "LeftArm"
        assert faults == []
        with notebook(other._repr_html_()) as elsewhere:
            tab.goto(elsewhere)
            wait_until(tab, lambda: any("frame-ancestors" in fault for fault in faults))
