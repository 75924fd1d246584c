"""The wheel carries the built page, so that installing it needs no Node.js."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the page before the wheel is packed; an editable install leaves it to `make page`."""

    def dependencies(self) -> list[str]:
        """Return what building needs beside hatchling: Node.js, where the system has none."""
        page = self._page()
        return [] if page["node_is_there"]() else [page["PYPI_NODE"]]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page."""
        if version != "editable":
            self._page()["build"]()

    def _page(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root, "web", "build.py")))
