"""The browser is shown the way by a file that only its owner can read, not by its arguments."""

from __future__ import annotations

import contextlib
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path


def redirect_html(url: str) -> str:
    """Return a page that leads to a link at once."""
    link = escape(url)
    return (
        '<!doctype html>\n<meta charset="utf-8">\n<title>Synovia</title>\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta http-equiv="refresh" content="0; url={link}">\n'
        f'<p><a href="{link}">Open the page</a></p>\n'
    )


@contextlib.contextmanager
def redirect_file(url: str) -> Iterator[Path]:
    """Write a file that leads to a link, for its owner alone; it is removed at the end.

    Who lists the processes of a machine sees their arguments, and a link with a token is a key.
    """
    with tempfile.TemporaryDirectory(prefix="synovia-") as folder:  # which has mode 0700
        path = Path(folder) / "page.html"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(redirect_html(url).encode())
        yield path


@contextlib.contextmanager
def open_browser(url: str) -> Iterator[None]:
    """Open a link in the browser, which may follow it until the end."""
    with redirect_file(url) as path:
        webbrowser.open(path.as_uri())
        yield
