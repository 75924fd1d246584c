"""The decorator of every kernel: numba where it is installed, plain Python where it is not."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

try:
    import numba
    from numba.extending import overload
except ImportError:
    numba = None  # type: ignore[assignment]
    warnings.warn(
        "numba is not installed: limits run uncompiled, some thousand times slower",
        RuntimeWarning,
        stacklevel=2,
    )

COMPILED = numba is not None

# Full fast-math may silently turn vectorisation off, and gives up NaN; these flags do neither.
FAST = {"contract", "nsz", "arcp"}


def cache_root() -> Path:
    """Return where machine code is kept between runs."""
    try:
        home = Path.home()
    except RuntimeError:  # nobody in particular, as in some containers
        home = Path(tempfile.gettempdir())
    if "NUMBA_CACHE_DIR" in os.environ:
        root = Path(os.environ["NUMBA_CACHE_DIR"])
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        root = home / "Library" / "Caches"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", home / ".cache"))
    return root / "synovia"


CACHE = "" if numba is None else str(cache_root())


ROOM = Path(__file__).parent
IMPORTS = re.compile(r"^from (\.|synovia\.kernels\.)(\w+) import", re.MULTILINE)
"""Of kernels by others: beside the file that imports them, or in this room."""


@cache
def dependencies(path: Path) -> frozenset[Path]:
    """Return a file of kernels and those that it uses, directly or not."""
    found = IMPORTS.findall(path.read_text(encoding="utf-8"))
    files = [(path.parent if near == "." else ROOM) / f"{name}.py" for near, name in found]
    return frozenset({path}).union(*map(dependencies, files))


@cache
def version_of(path: Path) -> str:
    """Return a name for a file of kernels in its present state.

    Numba looks only at the file of the kernel itself, and would go on using the old code of
    another kernel that it calls; so the name depends on all that it uses.
    """
    sources = b"".join(source.read_bytes() for source in sorted(dependencies(path)))
    return f"{path.stem}-{hashlib.sha256(sources).hexdigest()[:12]}"


def kernel(function):
    """Compile `function` when it is first called, and keep the machine code between runs."""
    if numba is None:
        return function
    options = {"nogil": True, "fastmath": FAST, "error_model": "numpy"}
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(Path(CACHE) / version_of(Path(function.__code__.co_filename)))
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # nowhere to write, not even beside the source
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before


def by_precision(single, double):
    """Return a kernel that is `double` for blocks of float64, and `single` for others.

    Settled when a caller is compiled: of an `if` both sides would be, though only one can run.
    """

    def chosen(p, o, depth, block, n):
        run = double if block.itemsize == 8 else single
        run(p, o, depth, block, n)

    if numba is not None:

        @overload(chosen, inline="always")
        def choose(p, o, depth, block, n):
            run = double if block.dtype == numba.float64 else single
            return lambda p, o, depth, block, n: run(p, o, depth, block, n)

    return chosen
