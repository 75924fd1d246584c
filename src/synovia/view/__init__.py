"""The page: see a skeleton move inside its limits, in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..clip import Clip
from ..components import Figure
from ..model import LimitModel

if TYPE_CHECKING:
    from .server import PageServer


@dataclass(frozen=True, eq=False)
class View:
    """A page that is being served, until it is closed."""

    server: PageServer

    @property
    def url(self) -> str:
        """The link to the page, with the token that lets one in."""
        return self.server.url

    @property
    def model(self) -> LimitModel:
        """The limits, by the names of the clip's joints."""
        return self.server.scene.model

    def close(self) -> None:
        """Stop serving the page."""
        self.server.close()


def view(
    model: LimitModel,
    clip: Clip | None = None,
    *,
    figure: Figure | None = None,
    names: Mapping[str, str] | None = None,
    port: int = 0,
) -> View:
    """Return a page that shows `clip` within the limits of `model`, served on this machine alone.

    Joints are matched by name, `names` mapping the clip's to the model's. Without a clip the
    `figure`, if there is one, runs its controls through their ranges. Port 0 is any that is free.
    """
    from .scene import scene_of
    from .server import PageServer

    return View(PageServer(scene_of(model, clip, figure, names), port=port))
