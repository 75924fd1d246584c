"""The page: see a skeleton move inside its limits, in the browser."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..components import Figure
from ..io.limits import limits_path, save_limits
from ..model import LimitModel
from ..skeleton import Clip

if TYPE_CHECKING:
    from .server import PageServer

LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*")
"""Notebooks that are served on this machine, at any port."""
FRAME_HEIGHT_PX = 640
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:(\d{1,5}|\*))?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class View:
    """A page that is being served, until it is closed."""

    server: PageServer
    notebook: tuple[str, ...] = LOCAL_ORIGINS
    """The origins whose notebooks may show it."""

    @property
    def url(self) -> str:
        """The link to the page, with the token that gives access."""
        return self.server.url

    @property
    def model(self) -> LimitModel:
        """The current limits, with the joint names of the clip."""
        return self.server.scene.model

    def save(self, path: str | PathLike[str]) -> None:
        """Write the limits that were passed to `show`, with all edits, to a file.

        Joint names, skeleton, samples and joints that the clip does not have are kept.
        """
        save_limits(self.server.session.model, path)

    def __repr__(self) -> str:
        """Return the link, for use outside a notebook."""
        return f"View({'closed' if self.server.closed else self.url})"

    def _repr_html_(self) -> str | None:
        """Return HTML that shows the page in a notebook, and allow the notebook to show it.

        None if the page is closed, because a frame would show the browser's error.
        """
        if self.server.closed:
            return None
        self.server.allow_framing(self.notebook)
        return frame_html(self.url)

    def close(self) -> None:
        """Stop serving the page."""
        self.server.close()


def show(
    model: LimitModel,
    clip: Clip | None = None,
    *,
    figure: Figure | None = None,
    names: Mapping[str, str] | None = None,
    port: int = 0,
    save_to: str | PathLike[str] | None = None,
    notebook: str | None = None,
    compare: LimitModel | None = None,
) -> View:
    """Serve a page that shows `clip` within the limits of `model`, only on this machine.

    Joints are matched by name; `names` maps the clip's to the model's. Without a clip, the controls
    of the `figure`, if there is one, run through their ranges. Port 0 selects a free port. Edits
    are saved to the limits file `save_to`, or not at all if it is None. With other limits as
    `compare`, the page shows what those of `model` gain and lose relative to them.

    The result displays itself in a notebook. `notebook` is the notebook's origin, such as
    "https://lab.example:8888", and is needed only if it is not on this machine.
    """
    from .scene import scene_of, start_of
    from .server import PageServer

    origins = LOCAL_ORIGINS if notebook is None else (check_origin(notebook),)
    file = None if save_to is None else limits_path(save_to)
    scene = scene_of(model, clip, figure, names)
    if clip is None:
        scene = replace(scene, start=start_of(scene.figure))
    server = PageServer(scene, port=port, save_to=file)
    server.session.compared = None if compare is None else ("other limits", compare)
    return View(server, origins)


# The page inside a notebook: its frame, and the origins that may frame it.


def check_origin(origin: str) -> str:
    """Return an origin such as http://localhost:8888; ValueError for anything else.

    Other text could inject directives into the content security policy.
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
        f'<iframe src="{escape(url)}" title="Synovia" width="100%" height="{FRAME_HEIGHT_PX}" '
        'style="border: 0; border-radius: 8px" referrerpolicy="no-referrer"></iframe>'
    )


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
