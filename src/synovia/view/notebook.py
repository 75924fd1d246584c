"""The page inside a notebook: a frame, and who may put one around the page."""

from __future__ import annotations

import re
from html import escape

LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*")
"""Notebooks that are served on this machine, at any port."""
HEIGHT_PX = 640
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:(\d{1,5}|\*))?", re.IGNORECASE)


def check_origin(origin: str) -> str:
    """Return an origin such as http://localhost:8888; ValueError for anything else.

    What is more than that could end the policy it goes into, and begin another.
    """
    if not isinstance(origin, str) or not _ORIGIN.fullmatch(origin):
        raise ValueError(
            "the notebook must be named by its origin, such as http://localhost:8888, got "
            f"{origin!r:.60}"
        )
    return origin


def frame_html(url: str) -> str:
    """Return HTML that shows the page at this link."""
    return (
        f'<iframe src="{escape(url)}" title="Synovia" width="100%" height="{HEIGHT_PX}" '
        'style="border: 0; border-radius: 8px" referrerpolicy="no-referrer"></iframe>'
    )
