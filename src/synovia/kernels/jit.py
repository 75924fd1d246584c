"""The decorator of every kernel: numba where it is installed, plain Python where it is not."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import numba
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


def cache_directory() -> Path:
    """Return where machine code is kept between runs: a folder for each version of the kernels.

    Numba looks only at the file of the kernel itself, and would go on using the old code of
    another kernel that it calls; so the folder's name depends on all of them.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
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
    return root / "synovia" / version


CACHE = "" if numba is None else str(cache_directory())


def kernel(function):
    """Compile `function` when it is first called, and keep the machine code between runs."""
    if numba is None:
        return function
    options = {"nogil": True, "fastmath": FAST, "error_model": "numpy"}
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # nowhere to write, not even beside the source
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before
