"""Licenses of the packages that are bundled into the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synovia.view.server import page_files
from synovia.view.session import Session
from synovia.view.standalone import standalone_html

BUNDLED = json.loads((Path(__file__).parents[2] / "web/package.json").read_text())["dependencies"]


@pytest.fixture(scope="module")
def built():
    try:
        return page_files()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_pages_and_exported_pages_have_the_licenses_of_what_they_bundle(built, scene):
    page = built["index.html"][1].decode()
    licenses = built["licenses.md"][1].decode()
    for name, version in BUNDLED.items():
        assert f"## {name} - {version}" in licenses
    assert licenses.count("Permission is hereby granted") == len(BUNDLED)
    assert licenses in page
    assert licenses in standalone_html(Session(scene), built)


def test_the_help_shows_them(seen):
    seen.page.keyboard.press("?")
    seen.page.get_by_text("Licenses of bundled software").click()
    shown = seen.page.locator("#help pre").inner_text()
    assert all(name in shown for name in BUNDLED)
