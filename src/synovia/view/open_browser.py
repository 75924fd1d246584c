"""Open the page in the browser without showing its token in the list of processes."""

from __future__ import annotations

import contextlib
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path


def redirect_html(url: str) -> str:
    """Return a page that redirects to `url` at once."""
    link = escape(url)
    return (
        '<!doctype html>\n<meta charset="utf-8">\n<title>Synovia</title>\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta http-equiv="refresh" content="0; url={link}">\n'
        f'<p><a href="{link}">Open the page</a></p>\n'
    )


@contextlib.contextmanager
def open_browser(url: str) -> Iterator[None]:
    """Open `url` through a redirect file that only its owner can read.

    Arguments of processes are visible to all users of a machine, and the link contains a token.
    The file is removed at the end.
    """
    with tempfile.TemporaryDirectory(prefix="synovia-") as folder:  # which has mode 0700
        path = Path(folder) / "page.html"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(redirect_html(url).encode())
        webbrowser.open(path.as_uri())
        yield
