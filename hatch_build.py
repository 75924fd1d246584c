"""Build hook: the wheel contains compiled kernels, the page and bodies, so users need no tools."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernels and builds the page before the wheel is packed.

    An editable install also compiles the kernels; `make page` builds the page.
    """

    def dependencies(self) -> list[str]:
        """Return the packages that replace a missing compiler or Node.js."""
        page = self._page()
        needed = [] if page["node_is_there"]() else [page["PYPI_NODE"]]
        if not any(map(shutil.which, ("cc", "gcc", "clang"))) and "CC" not in os.environ:
            needed.append("ziglang")
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, and build the page."""
        if version == "editable" and os.environ.get("SYNOVIA_KERNELS_LATER"):
            return  # make compiles them later, in parallel with other work
        sys.path.insert(0, str(Path(self.root, "src")))
        from synovia.native import build

        target = os.environ.get("SYNOVIA_TARGET", "")
        name = build.library_name(target or build.this_system())
        into = build.LIBRARY if version == "editable" else Path(self.directory, "native", name)
        if build.build(into, target):
            if version != "editable":
                build_data["force_include"][str(into)] = f"synovia/kernels/{name}"
            platform = build.TARGETS.get(target) or sysconfig.get_platform()
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{platform.replace('-', '_').replace('.', '_')}"
        if version != "editable":
            self._page()["build"]()

    def _page(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root, "web", "build.py")))
