"""The built page: light, and made of what the lock names, wherever that comes from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from synovia.view.server import PAGE, page_files

WEB = Path(__file__).parents[2] / "web"
HEAVIEST = 300_000
"""Bytes, compressed."""


def test_the_lock_names_no_registry():
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    assert all("resolved" not in package for package in lock["packages"].values())
    for name, package in lock["packages"].items():
        assert not name or package["integrity"].startswith("sha512-"), name


def test_the_page_is_light_and_loads_nothing_from_elsewhere():
    if not (PAGE / "index.html").is_file():
        pytest.skip("the page is not built: make page builds it")
    files = page_files()
    sent = {name: content for name, (_, content) in files.items() if not name.endswith(".br")}
    assert sum(len(gzip.compress(content)) for content in sent.values()) < HEAVIEST
    assert {f"{name}.br" for name in sent if name.endswith((".js", ".css"))} <= files.keys()
    index = files["index.html"][1].decode()
    assert "http" not in index
    assert "<script>" not in index
    assert "style=" not in index
