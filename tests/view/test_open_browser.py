"""The browser is opened through a file that only its owner can read, not with the token."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from synovia import view

URL = "http://127.0.0.1:8123/se&cret/"


def test_the_browser_is_not_given_the_token(monkeypatch):
    opened = []
    monkeypatch.setattr(view.webbrowser, "open", opened.append)
    with view.open_browser(URL):
        (given,) = opened
        assert "cret" not in given
        file = Path(url2pathname(urlparse(given).path))
        text = file.read_text(encoding="utf-8")
        assert 'content="0; url=http://127.0.0.1:8123/se&amp;cret/"' in text
        if os.name == "posix":
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.parent.stat().st_mode & 0o777 == 0o700
    assert not file.parent.exists()
